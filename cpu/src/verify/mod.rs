//! Is C = A·B right?
//!
//! One comparer for the whole workspace. It passes an element only if `|got − expected| <= tolerance`, so that NaN
//! fails; the expectation is computed in f64, the tolerance grows with K, and no two inputs share one fixed epsilon.
//!
//! # Two methods
//! * **Full**: the product in f64 (through nalgebra's matrixmultiply), every element compared. Costs 2·M·N·K once per
//!   problem and M·N per run.
//! * **Sampled**: Freivalds' check of every row of C, and some two thousand elements, the four corners among them,
//!   recomputed as f64 dot products. Costs about 4·(M·K + K·N + M·N) per run: for 8192³ a thousandth of the product.
//!
//! Freivalds (Probabilistic machines can use less running time, IFIP 1977): C = A·B exactly if C·x = A·(B·x) for all x,
//! and a random x of signs exposes a wrong row with a probability of at least 1/2. Here the arithmetic is inexact, so a
//! row is *suspicious* where the two sides differ by more than rounding explains. Suspicious rows are recomputed whole
//! in f64 and judged element by element; a sign vector thus accuses, and only an element convicts.
//!
//! # What the sampled method can miss
//! A row's threshold is the statistical bound of a whole row, √N times that of an element: with random inputs at 8192³
//! it is about 1.3 where elements are about 30 in magnitude. One element off by its own magnitude is found unless that
//! magnitude lies below the threshold (4 of 100 elements at 8192³, 1 of 200 at 2048³); a wrong tile, row or k-term is
//! found with certainty for all practical purposes. An error below the threshold in a single element is found only if
//! it is among the recomputed ones. `--verify full` looks at everything.
//!
//! # What is never accepted
//! Outputs are filled with [`POISON`] before each run. An element that still has these exact bits was never written;
//! it is counted apart from elements that are merely wrong, and one suffices to fail.
//!
//! The bounds, with their sources, are derived in `verify/bounds.rs`.

mod bounds;
mod full;
mod sampled;
mod tally;
mod verdict;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use gpu::matmul::Shape;

use crate::threads;
use bounds::Problem;
pub use tally::Entry;
pub use verdict::{Freivalds, MethodUsed, Outcome, Verdict, VerifyError};

/// The bits that outputs are filled with before a run: a quiet NaN with a payload that no arithmetic produces.
///
/// The hardware's own NaNs are 0x7FC0_0000 (x86, with either sign) and 0x7FFF_FFFF (CUDA), so that a NaN that was
/// computed differs from one that was left. The exception is a NaN that was read: x86 hands its payload on, so an
/// element that was *added to* what it held before also counts as never written on a device that is a CPU.
pub const POISON: u32 = 0x7FC0_DEAD;

/// Floating-point operations up to which [`Method::Auto`] compares everything: those of 2048³.
const FULL_FLOPS: u64 = 2 * 2048 * 2048 * 2048;

/// Bytes of f64 copies up to which [`Method::Auto`] compares everything: 1 GiB.
const FULL_BYTES: u64 = 1 << 30;

/// How much of C to look at: `--verify full|sampled|off`, nothing said is `Auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Full while the product takes no more than 2·2048³ operations and its f64 copies no more than 1 GiB, else
    /// sampled.
    #[default]
    Auto,
    /// Every element against the f64 product. Takes 8·(M·K + K·N + M·N) bytes.
    Full,
    /// Every row by Freivalds' check, some elements recomputed.
    Sampled,
    /// Nothing is verified, and the verdict says so.
    Off,
}

/// Where A and B come from: it decides which rounding errors can be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Generated, uniform in [−1, 1): signs cancel, the rounding errors of a sum grow like √K or less.
    Random,
    /// The user's: rounding errors may all push the same way and grow like K.
    Given,
}

/// Everything that the verification of one problem shares between runs.
///
/// ```
/// use cpu::verify::{Method, Source, Verifier};
/// use gpu::matmul::Shape;
///
/// let shape = Shape::new(1, 1, 2).unwrap(); // M, N, K
/// let verifier = Verifier::new(shape, &[1.0, 2.0], &[3.0, 4.0], Method::Auto, Source::Given, 0);
/// assert!(verifier.check(&[11.0]).passed());
/// assert!(!verifier.check(&[f32::NAN]).passed());
/// ```
pub struct Verifier<'a> {
    problem: Problem<'a>,
    poison: u32,
    plan: Plan,
}

/// What [`Verifier::check`] will do.
enum Plan {
    /// Compare with the product, M×N row-major.
    Full(Vec<f64>),
    /// Draw vectors and positions from the seed and the number of checks so far.
    Sampled {
        seed: u64,
        checks: AtomicU64,
    },
    Off,
}

impl<'a> Verifier<'a> {
    /// Prepares to verify products of `a`, M×K, and `b`, K×N, both row-major.
    ///
    /// Cost: the norms of A's rows and B's columns, M·K + K·N; with the full method also the f64 product, 2·M·N·K
    /// operations on all cores (2048³: about 0.3 s on two cores) and 8·(M·K + K·N + M·N) bytes, of which M·N stay.
    /// The same `seed` gives the same verdicts in the same order of checks.
    ///
    /// # Panics
    /// The lengths of `a` and `b` are not those of the shape.
    pub fn new(shape: Shape, a: &'a [f32], b: &'a [f32], method: Method, source: Source, seed: u64) -> Self {
        assert_eq!(a.len(), shape.a_len(), "A of a {shape} product");
        assert_eq!(b.len(), shape.b_len(), "B of a {shape} product");
        threads::start();
        let problem = Problem::new(shape, a, b, source);
        let plan = match resolve(method, shape) {
            Method::Off => Plan::Off,
            Method::Sampled => Plan::Sampled { seed, checks: AtomicU64::new(0) },
            Method::Full | Method::Auto => Plan::Full(full::reference(shape, a, b)),
        };
        Self { problem, poison: POISON, plan }
    }

    /// The same, but outputs were filled with `poison`, the bits of some NaN, instead of [`POISON`].
    #[must_use]
    pub fn with_poison(mut self, poison: u32) -> Self {
        self.poison = poison;
        self
    }

    /// Judges `c`, M×N row-major.
    ///
    /// Cost: full, M·N comparisons (2048²: 0.03 s on two cores). Sampled, one pass over A and C, two over B and some
    /// two thousand dot products of length K (8192³: 0.14 s on two cores); up to sixteen rows more where a row is
    /// suspicious. Vectors and positions are fresh in each call.
    ///
    /// # Panics
    /// The length of `c` is not M·N.
    pub fn check(&self, c: &[f32]) -> Verdict {
        assert_eq!(c.len(), self.problem.shape.c_len(), "C of a {} product", self.problem.shape);
        match &self.plan {
            Plan::Full(reference) => full::check(&self.problem, reference, c, self.poison),
            Plan::Sampled { seed, checks } => {
                let run = checks.fetch_add(1, Ordering::Relaxed);
                sampled::check(&self.problem, c, self.poison, *seed, run)
            }
            Plan::Off => Verdict::not_verified(self.problem.shape),
        }
    }

    /// The method that [`Method::Auto`] came to mean.
    pub fn method(&self) -> MethodUsed {
        match self.plan {
            Plan::Full(_) => MethodUsed::Full,
            Plan::Sampled { .. } => MethodUsed::Sampled,
            Plan::Off => MethodUsed::Off,
        }
    }
}

impl Method {
    /// Bytes of host memory that verification takes beside A, B and C.
    pub fn bytes_needed(self, shape: Shape) -> u64 {
        match resolve(self, shape) {
            Self::Full | Self::Auto => copies_in_f64(shape),
            Self::Sampled | Self::Off => 0, // norms and vectors: a few per row and column
        }
    }
}

/// Bytes of A, B and C in f64, which the full method needs.
fn copies_in_f64(shape: Shape) -> u64 {
    8 * (shape.a_len() as u64 + shape.b_len() as u64 + shape.c_len() as u64)
}

/// `Auto` decided by the size of the problem; the others stay.
fn resolve(method: Method, shape: Shape) -> Method {
    if method != Method::Auto {
        return method;
    }
    let bytes = copies_in_f64(shape);
    if shape.flops() <= FULL_FLOPS && bytes <= FULL_BYTES { Method::Full } else { Method::Sampled }
}
