//! Every word once in order, with a pattern, 16 bytes an access.

use super::{pattern, thread_of};
use crate::device::{GlobalMut, Gpu};
use crate::kernel;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Writes the pattern of `seed` to `quads` pieces of 16 bytes.
///
/// # Safety
/// `to` holds 4·quads words and is aligned to 16 bytes.
#[kernel(block = BLOCK)]
pub unsafe fn access_write(gpu: impl Gpu, to: GlobalMut<u32>, quads: u64, seed: u32) {
    let (thread, threads) = thread_of(gpu);
    let mut quad = thread;
    while quad < quads as usize {
        let first = 4 * quad;
        let words =
            [pattern(first, seed), pattern(first + 1, seed), pattern(first + 2, seed), pattern(first + 3, seed)];
        // SAFETY: quad < quads, and no other thread has this one.
        unsafe { gpu.store4(to, first, words) };
        quad += threads;
    }
}
