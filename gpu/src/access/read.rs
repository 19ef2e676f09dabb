//! Every word once in order, 16 bytes an access; or the whole several times.

use super::thread_of;
use crate::device::{Global, GlobalMut, Gpu};
use crate::kernel;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Reads `quads` pieces of 16 bytes, `rounds` times, and leaves each thread's sum of words in `sums`.
///
/// Four accesses are in flight for each thread before the first is used: one alone would wait for the link at each step.
///
/// # Safety
/// `from` holds 4·quads words and is aligned to 16 bytes; `sums` one for each thread of the grid.
#[kernel(block = BLOCK)]
pub unsafe fn access_read(gpu: impl Gpu, from: Global<u32>, sums: GlobalMut<u32>, quads: u64, rounds: u32) {
    let (thread, threads) = thread_of(gpu);
    let quads = quads as usize;
    let mut sum = 0u32;
    for _ in 0..rounds {
        let mut quad = thread;
        while quad + 3 * threads < quads {
            // SAFETY: the last of the four is inside, and so are those before it.
            let (a, b, c, d) = unsafe {
                (
                    gpu.load4(from, 4 * quad),
                    gpu.load4(from, 4 * (quad + threads)),
                    gpu.load4(from, 4 * (quad + 2 * threads)),
                    gpu.load4(from, 4 * (quad + 3 * threads)),
                )
            };
            sum = sum.wrapping_add(total(a)).wrapping_add(total(b)).wrapping_add(total(c)).wrapping_add(total(d));
            quad += 4 * threads;
        }
        while quad < quads {
            // SAFETY: quad < quads.
            sum = sum.wrapping_add(total(unsafe { gpu.load4(from, 4 * quad) }));
            quad += threads;
        }
    }
    // SAFETY: one element for each thread.
    unsafe { gpu.store(sums, thread, sum) };
}

#[inline(always)]
fn total([a, b, c, d]: [u32; 4]) -> u32 {
    a.wrapping_add(b).wrapping_add(c).wrapping_add(d)
}
