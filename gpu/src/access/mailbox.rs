//! One block writes a message to host memory and raises a flag, round after round, while the CPU polls the flag: the flag
//! is stored with release, or, as the mistake, without.
//!
//! Words of the mailbox, each flag in a cache line of its own:
//!
//! | word | written by | holds |
//! |---|---|---|
//! | [`FLAG`] | the kernel | the number of the round whose message is complete |
//! | [`ANSWER`] | the CPU | the number of the round that it has read, or [`STOP`] |
//! | from [`MESSAGE`] on | the kernel | the pattern of the round |

use super::pattern;
use crate::device::{Gpu, SystemWords};
use crate::kernel;

/// Threads per block.
pub const BLOCK: u32 = 256;
/// The word that the kernel raises.
pub const FLAG: usize = 0;
/// The word that the CPU answers with.
pub const ANSWER: usize = 32;
/// Where the message begins.
pub const MESSAGE: usize = 64;
/// An answer that ends the kernel, and a flag that ends the CPU's polling: no round has this number.
pub const STOP: u32 = u32::MAX;

/// Writes rounds 1 to `rounds`, each when the one before was answered. Ends early if an answer is [`STOP`], or does not come
/// within `patience` nanoseconds: a kernel that waits for ever cannot be ended. `release` is 1, or 0 for a flag that orders
/// nothing.
///
/// # Safety
/// `words` holds `MESSAGE + message` words.
#[kernel(block = BLOCK, shared = 4)]
pub unsafe fn access_mailbox(
    gpu: impl Gpu,
    words: SystemWords,
    message: u32,
    rounds: u32,
    release: u32,
    patience: u64,
) {
    let thread = gpu.thread_idx().x;
    // SAFETY: the first of the four bytes declared.
    let goes_on = unsafe { gpu.shared::<u32>(0) };
    let mut round = 1;
    while round <= rounds {
        let mut word = thread;
        while word < message {
            // SAFETY: word < message.
            unsafe { gpu.store_relaxed_system(words, MESSAGE + word as usize, pattern(word as usize, round)) };
            word += BLOCK;
        }
        // Orders the block's stores before what its first thread does next, for the block. For the CPU, release does.
        gpu.sync_threads();
        if thread == 0 {
            // SAFETY: both words lie before the message; the shared word is read after the next barrier.
            unsafe {
                match release {
                    0 => gpu.store_relaxed_system(words, FLAG, round),
                    _ => gpu.store_release_system(words, FLAG, round),
                }
                gpu.store_shared(goes_on, 0, u32::from(is_answered(gpu, words, round, patience)));
            }
        }
        gpu.sync_threads();
        // SAFETY: thread 0 has written it, before the barrier. It writes it again behind the next one.
        if unsafe { gpu.load_shared(goes_on, 0) } == 0 {
            return;
        }
        round += 1;
    }
}

/// Polls until the CPU has answered this round; false if it ends the kernel or says nothing.
///
/// # Safety
/// As [`access_mailbox`].
#[inline(always)]
unsafe fn is_answered(gpu: impl Gpu, words: SystemWords, round: u32, patience: u64) -> bool {
    let start = gpu.nanoseconds();
    loop {
        // SAFETY: lies before the message.
        let answer = unsafe { gpu.load_acquire_system(words, ANSWER) };
        if answer == round {
            return true;
        }
        if answer == STOP || gpu.nanoseconds().saturating_sub(start) > patience {
            return false;
        }
    }
}
