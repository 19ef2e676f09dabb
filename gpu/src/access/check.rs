//! Compares memory with a pattern on the device, at the device's speed, after every sample.

use super::{pattern, thread_of};
use crate::device::{Global, GlobalMut, Gpu};
use crate::kernel;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Adds the number of the first `words` words that differ from the pattern of `seed` to `mismatches[0]`.
///
/// # Safety
/// `from` holds `words` words; `mismatches` one, in device memory.
#[kernel(block = BLOCK)]
pub unsafe fn access_check(gpu: impl Gpu, from: Global<u32>, mismatches: GlobalMut<u32>, words: u64, seed: u32) {
    let (thread, threads) = thread_of(gpu);
    let mut word = thread;
    let mut wrong = 0;
    while word < words as usize {
        // SAFETY: word < words.
        wrong += u32::from(unsafe { gpu.load(from, word) } != pattern(word, seed));
        word += threads;
    }
    if wrong > 0 {
        // SAFETY: one element, touched by atomic additions alone.
        unsafe { gpu.atomic_add(mismatches, 0, wrong) };
    }
}
