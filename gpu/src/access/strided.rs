//! Every `stride`-th word: what is left of the bandwidth when neighbouring lanes are not on neighbouring words.
//!
//! The memory system moves sectors of 32 bytes. From a stride of 8 words on, each access fetches a sector of its own and
//! uses 4 bytes of it.

use super::thread_of;
use crate::device::{Global, GlobalMut, Gpu};
use crate::kernel;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Reads words 0, stride, 2·stride, … below `words` and leaves each thread's sum in `sums`.
///
/// # Safety
/// `from` holds `words` words; `sums` one for each thread of the grid; `stride` is at least 1.
#[kernel(block = BLOCK)]
pub unsafe fn access_strided(gpu: impl Gpu, from: Global<u32>, sums: GlobalMut<u32>, words: u64, stride: u32) {
    let (thread, threads) = thread_of(gpu);
    let (words, stride) = (words as usize, stride as usize);
    let step = threads * stride;
    let mut word = thread * stride;
    let mut sum = 0u32;
    while word + 3 * step < words {
        // SAFETY: the last of the four is inside, and so are those before it.
        let (a, b, c, d) = unsafe {
            (
                gpu.load(from, word),
                gpu.load(from, word + step),
                gpu.load(from, word + 2 * step),
                gpu.load(from, word + 3 * step),
            )
        };
        sum = sum.wrapping_add(a).wrapping_add(b).wrapping_add(c).wrapping_add(d);
        word += 4 * step;
    }
    while word < words {
        // SAFETY: word < words.
        sum = sum.wrapping_add(unsafe { gpu.load(from, word) });
        word += step;
    }
    // SAFETY: one element for each thread.
    unsafe { gpu.store(sums, thread, sum) };
}
