//! How kernels touch memory, each way in its purest form: what `bandwidth` measures over the link and on the device.
//!
//! Every kernel takes any grid. Thread `t` of `T` takes pieces `t`, `t + T`, `t + 2T`, …, so that the lanes of a warp are
//! always on neighbouring pieces, and what it read goes into a sum that the host can check: nothing can be skipped.
//!
//! | kernel | touches |
//! |---|---|
//! | [`read`] | every word, 16 bytes an access, four accesses in flight, once or several times |
//! | [`write`](mod@write) | every word, 16 bytes an access, with a pattern |
//! | [`copy`](mod@copy) | reads and writes every word |
//! | [`strided`] | every `stride`-th word |
//! | [`random`] | every word once, in a scrambled order |
//! | [`chase`] | one word, which says where the next one is: pure latency |
//! | [`check`] | compares with the pattern and counts what differs |
//! | [`mailbox`] | host memory that the CPU polls meanwhile: a message, then a flag |
//! | [`spin`] | nothing: holds the stream while the host fills it |

pub mod chase;
pub mod check;
pub mod copy;
#[cfg(not(target_os = "cuda"))]
mod host;
pub mod mailbox;
pub mod random;
pub mod read;
pub mod spin;
pub mod strided;
pub mod write;

#[cfg(not(target_os = "cuda"))]
pub use host::{Access, AccessError, Flag, Grid, cycle, pattern_sum};

use crate::device::Gpu;

/// This thread's number among all of the grid, and how many there are.
#[inline(always)]
fn thread_of(gpu: impl Gpu) -> (usize, usize) {
    let (block, thread) = (gpu.block_idx().x as usize, gpu.thread_idx().x as usize);
    let (blocks, threads) = (gpu.grid_dim().x as usize, gpu.block_dim().x as usize);
    (block * threads + thread, blocks * threads)
}

/// What the pattern of `seed` holds at word `index`: an invertible scramble, so that a word at a wrong place differs.
#[inline(always)]
pub fn pattern(index: usize, seed: u32) -> u32 {
    let mut word = (index as u32).wrapping_mul(0x9E37_79B1) ^ seed;
    word ^= word >> 15;
    word.wrapping_mul(0x85EB_CA77)
}
