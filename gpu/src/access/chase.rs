//! One thread follows a chain: each word says where the next one is, so nothing can be in flight but one access. Time over
//! steps is the latency of one access.

use crate::device::{Global, GlobalMut, Gpu};
use crate::kernel;

/// Follows the chain from word 0 for `steps` steps and leaves where it ended in `end`.
///
/// # Safety
/// Every word of `from` is an index into `from`; `end` holds one word.
#[kernel(block = 1)]
pub unsafe fn access_chase(gpu: impl Gpu, from: Global<u32>, end: GlobalMut<u32>, steps: u32) {
    let mut at = 0u32;
    for _ in 0..steps {
        // SAFETY: the chain stays inside.
        at = unsafe { gpu.load(from, at as usize) };
    }
    // SAFETY: one element.
    unsafe { gpu.store(end, 0, at) };
}
