//! Reads and writes every word, 16 bytes an access: both directions of the link at once.

use super::thread_of;
use crate::device::{Global, GlobalMut, Gpu};
use crate::kernel;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Copies `quads` pieces of 16 bytes, two in flight for each thread.
///
/// # Safety
/// `from` and `to` hold 4·quads words each, are aligned to 16 bytes and do not overlap.
#[kernel(block = BLOCK)]
pub unsafe fn access_copy(gpu: impl Gpu, from: Global<u32>, to: GlobalMut<u32>, quads: u64) {
    let (thread, threads) = thread_of(gpu);
    let quads = quads as usize;
    let mut quad = thread;
    while quad + threads < quads {
        // SAFETY: both are inside, and no other thread has them.
        unsafe {
            let (one, other) = (gpu.load4(from, 4 * quad), gpu.load4(from, 4 * (quad + threads)));
            gpu.store4(to, 4 * quad, one);
            gpu.store4(to, 4 * (quad + threads), other);
        }
        quad += 2 * threads;
    }
    if quad < quads {
        // SAFETY: inside, and no other thread has it.
        unsafe { gpu.store4(to, 4 * quad, gpu.load4(from, 4 * quad)) };
    }
}
