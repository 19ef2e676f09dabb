//! What goes wrong for people with host memory and devices, each as a small demonstration that runs here and now.
//!
//! No number in a text is canned: a demonstration measures, keeps what it measured as [`Number`]s, writes them into its
//! sentence and picks the sentence by them. Where a device cannot show the thing (a copy on the CPU device has no link
//! to cross), it says why and shows what there is. Where Rust refuses the program, the compiler's recorded message is
//! shown, the one that the compile-fail tests compare with.
//!
//! | file | pitfalls |
//! |---|---|
//! | `copies` | asynchronous in name only, small copies, pinning for one copy |
//! | `memory` | too much pinned, reading write-combined memory, registering twice |
//! | `managed` | managed memory without prefetches |
//! | `kernels` | zero-copy read again and again, the first run, comparing with NaN |
//! | `polling` | a flag that overtakes its message |
//! | `compiler` | what does not compile |

mod compiler;
mod copies;
mod kernels;
mod managed;
mod memory;
mod outcome;
mod polling;

use gpu::access::AccessError;
use gpu::matmul::LaunchError;

use crate::device::{Device, DeviceError, DeviceKind};
pub use outcome::{Meaning, Number, Outcome, Verdict};

/// A pitfall with its demonstration.
pub struct Pitfall {
    /// What `pitfalls NAME` calls it.
    pub name: &'static str,
    /// What is wrong with what people expect, in one line.
    pub claim: &'static str,
    /// What people expect.
    pub expected: &'static str,
    /// Why it is otherwise.
    pub reason: &'static str,
    /// What to do.
    pub advice: &'static str,
    /// Shows it.
    pub run: fn(&Setting<'_>) -> Result<Outcome, Fault>,
}

/// All of them, in the order in which they are told.
pub fn all() -> impl Iterator<Item = &'static Pitfall> {
    // First launches are first, so that the device is fresh.
    [&kernels::FIRST_RUN]
        .into_iter()
        .chain(&copies::ALL)
        .chain(&memory::ALL)
        .chain([&kernels::REUSE, &managed::WITHOUT_PREFETCH, &kernels::NAN, &polling::WRITE_THEN_POLL])
        .chain(&compiler::ALL)
}

/// Why a demonstration came to no end.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The device or the budget refused, or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An access kernel was not launched.
    #[error(transparent)]
    Access(#[from] AccessError<DeviceError>),
    /// A product was not launched.
    #[error(transparent)]
    Launch(#[from] LaunchError<DeviceError>),
    /// What came out is not what went in.
    #[error("{0}; nothing that was measured can be trusted")]
    Wrong(String),
}

/// Timed runs of everything; one more before them does not count.
const SAMPLES: usize = 5;

/// Where demonstrations run.
pub struct Setting<'a> {
    /// The device.
    pub device: &'a Device,
}

impl Setting<'_> {
    /// Words of a buffer: `on_gpu` bytes on a GPU, little on the CPU device, and at most a quarter of what may be
    /// pinned.
    fn words(&self, on_gpu: u64) -> usize {
        let budget = self.device.budget();
        let most = if self.device.is_simt() { on_gpu.min(256 << 10) } else { on_gpu };
        let bytes = most.min((budget.limit() - budget.used()) / 4).max(4096);
        (bytes / 4096 * 1024) as usize
    }

    /// Blocks that fill the device.
    fn blocks(&self) -> u32 {
        match self.device.info().kind {
            DeviceKind::Cuda { multiprocessors, .. } => 8 * multiprocessors,
            DeviceKind::Simt { workers } => workers as u32,
        }
    }

    /// The verdict of something that shows on a GPU only.
    fn on_gpu(&self, shown: bool, why_not_here: &str) -> Verdict {
        match self.device.is_simt() {
            true => Verdict::NotHere(why_not_here.to_owned()),
            false => Verdict::of(shown),
        }
    }
}

/// Runs `one` once for warmth and [`SAMPLES`] times for the record.
fn repeated<T>(mut one: impl FnMut() -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    one()?;
    (0..SAMPLES).map(|_| one()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_follow_the_numbers_whichever_way_they_go() {
        for (meaning, shown, less) in [
            (copies::PIECES_MEAN, "more than twice as much", "at most twice as much"),
            (managed::FAULTS_MEAN, "more than half as long again", "at most half as long again"),
            (kernels::FIRST_MEANS, "more than half as long again", "at most half as long again"),
            (memory::READS_MEAN, "more than twice as long", "at most twice as long"),
        ] {
            let at = meaning.threshold;
            for (one, other, is_shown, said) in [
                (at + 0.1, 1.0, true, shown),
                (at, 1.0, false, less),
                (1.1, 1.0, false, less),
                (1.0, 1.0, false, "no "),
                (1.0, 5.0, false, "no "), // the other way, and by more than the threshold
                (0.0, 0.0, false, "no "),
            ] {
                let (found, words) = meaning.of(one, other);
                assert_eq!(found, is_shown, "{one} and {other}: {words}");
                assert!(words.contains(said), "{one} and {other}: {words}");
            }
        }
    }

    #[test]
    fn names_are_unique_and_claims_are_one_line() {
        let mut names: Vec<_> = all().map(|pitfall| pitfall.name).collect();
        assert!(all().all(|pitfall| pitfall.claim.len() <= 100 && !pitfall.claim.contains('\n')));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
