//! How far a correct f32 product may be from the exact one.
//!
//! With u = 2⁻²⁴, the unit roundoff of f32, and e = fl(aᵀb) − aᵀb for vectors of length K, in any order of summation,
//! with or without fused multiply-add:
//!
//! * **Worst case**: |e| ≤ γ_K·|a|ᵀ|b| ≤ γ_K·‖a‖·‖b‖, γ_K = K·u/(1 − K·u). (Higham, Accuracy and Stability of Numerical
//!   Algorithms, 2nd ed., §3.1; the second step is Cauchy and Schwarz.) It is reached in kind: adding a constant 0.1
//!   8192 times makes each rounding push the same way for a long stretch, and the error grows like K. Where K·u passes
//!   1/2, γ_K is replaced by 2·K·u: Jeannerod and Rump (Improved error bounds for inner products in floating-point
//!   arithmetic, SIAM J. Matrix Anal. Appl. 34, 2013) prove K·u for all K.
//! * **Statistical**: rounding errors that are independent and of mean zero add like a random walk, and
//!   |e| ≤ λ·√K·u·‖a‖·‖b‖ with a probability that λ makes as high as one likes. (Higham and Mary, A new approach to
//!   probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019.) If the *data* are random of mean zero, as
//!   generated inputs are, the bound does not even grow with K: it is c·u. (Higham and Mary, Sharper probabilistic
//!   backward error analysis for basic linear algebra kernels with random data, SIAM J. Sci. Comput. 42, 2020.) So
//!   λ = 1 leaves a headroom of about √K for generated inputs; only at small K, where √K ≈ 1, has it to be more. Hence
//!   [`statistical`] is max(√K, 8)·u, and an element is never allowed more than the worst case.
//!
//!   Measured over sequential, fused, tiled and blocked sums of uniform inputs (`tests::orders` repeats it): up to K =
//!   8 the bound is the worst case, which is certain, and K = 1 attains it. At K = 16 and 64 the worst of 6.7·10⁷
//!   elements reaches 0.57 of it, at 1024 of 3·10⁴ 0.08, at 8192 0.02; the worst row reaches 0.25 of its threshold at K
//!   = 1, 0.18 at 64, 0.05 at 1024.
//! * **Underflow**: K·`f32::MIN_POSITIVE` is added, for a product or a sum may lose that much below the normal range,
//!   also on a device that flushes denormals to zero. Elements below K·1.2·10⁻³⁸ are therefore not told from zero.
//! * **Overflow**: all partial sums in any order lie in [−Q, P], P the sum of the positive products and Q that of the
//!   negative ones. Where P·(1 + γ_K) stays within f32, +∞ is wrong, and so with Q and −∞; NaN can arise from ∞ − ∞ if
//!   both may overflow. Beyond, which of them appears depends on the order, so each possible one is accepted, and so is
//!   a finite result within its tolerance.
//! * **Inputs that are not finite**: f64 and f32 agree whatever the order: a product or a sum is NaN in both or
//!   infinite with the same sign in both. The one exception is ∞ met by an overflow of the other sign, which may be
//!   NaN.

use std::ops::RangeInclusive;

use gpu::matmul::Shape;
use rayon::prelude::*;

use super::Source;

/// Unit roundoff of f32, 2⁻²⁴: half the distance from 1 to the next number.
pub(super) const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

/// λ: how many times √K·u·‖a‖·‖b‖ an element of a product of random inputs may be off.
const LAMBDA: f64 = 1.0;

/// The least that λ·√K is taken for. The error of an element in units of u·‖a‖·‖b‖ hardly depends on K, but its tail is
/// longer than that of a Gaussian, since the error is a product of roundings and partial sums: at K = 64 the largest of
/// 10⁶ is 3.5, of 6.7·10⁷ it is 4.5. Each factor of ten adds about a half, so 8 is far beyond any number of elements.
const LEAST_GROWTH: f64 = 8.0;

/// γ_K, and 2·K·u where γ_K has no meaning.
pub(super) fn worst_case(k: u32) -> f64 {
    let ku = f64::from(k) * UNIT_ROUNDOFF;
    if ku <= 0.5 { ku / (1.0 - ku) } else { 2.0 * ku }
}

/// max(λ·√K, 8)·u.
pub(super) fn statistical(k: u32) -> f64 {
    (LAMBDA * f64::from(k).sqrt()).max(LEAST_GROWTH) * UNIT_ROUNDOFF
}

/// A product to verify, with the norms that its bounds are made of.
pub(super) struct Problem<'a> {
    pub shape: Shape,
    pub a: &'a [f32],
    pub b: &'a [f32],
    pub source: Source,
    /// ‖a_i‖ for each row of A; not finite where the row is not.
    pub row_norms: Vec<f64>,
    /// ‖b_j‖ for each column of B; not finite where the column is not.
    pub column_norms: Vec<f64>,
    /// What ‖a_i‖·‖b_j‖ is multiplied with.
    factor: f64,
    /// K·`f32::MIN_POSITIVE`.
    pub underflow: f64,
}

/// What is to be said about one element.
pub(super) struct Judgement {
    pub right: bool,
    /// |got − expected|; 0 where both are the same and not finite, ∞ where only one is finite.
    pub error: f64,
    pub tolerance: f64,
}

impl<'a> Problem<'a> {
    pub fn new(shape: Shape, a: &'a [f32], b: &'a [f32], source: Source) -> Self {
        let worst = worst_case(shape.k());
        let factor = match source {
            Source::Random => worst.min(statistical(shape.k())),
            Source::Given => worst,
        };
        Self {
            shape,
            a,
            b,
            source,
            row_norms: a.par_chunks(shape.k() as usize).map(norm).collect(),
            column_norms: column_norms(b, shape.n() as usize),
            // The reference has rounding errors of its own: K·2⁻⁵³ at most.
            factor: factor + f64::from(shape.k()) * (f64::EPSILON / 2.0),
            underflow: f64::from(shape.k()) * f64::from(f32::MIN_POSITIVE),
        }
    }

    /// The products of row i of A and column j of B, exact in f64.
    fn products(&self, i: usize, j: usize) -> impl Iterator<Item = f64> {
        let (n, k) = (self.shape.n() as usize, self.shape.k() as usize);
        let column = self.b[j..].iter().step_by(n);
        self.a[i * k..][..k].iter().zip(column).map(|(&a, &b)| f64::from(a) * f64::from(b))
    }

    /// Element (i, j) of the product, in f64.
    pub fn dot(&self, i: usize, j: usize) -> f64 {
        self.products(i, j).sum()
    }

    /// Between which values any partial sum of element (i, j) lies, whatever the order. Infinite products are left out.
    fn partial_sums(&self, i: usize, j: usize) -> RangeInclusive<f64> {
        let (mut low, mut high) = (0.0, 0.0);
        for product in self.products(i, j).filter(|product| product.is_finite()) {
            low += product.min(0.0);
            high += product.max(0.0);
        }
        low..=high
    }

    /// How far element (i, j) may be off.
    pub fn tolerance(&self, i: usize, j: usize) -> f64 {
        self.factor * self.row_norms[i] * self.column_norms[j] + self.underflow
    }

    /// Judges element (i, j): `got` by the device, `expected` in f64.
    pub fn judge(&self, i: usize, j: usize, got: f32, expected: f64) -> Judgement {
        if !expected.is_finite() {
            let same = if expected.is_nan() { got.is_nan() } else { f64::from(got) == expected };
            let right = same || (expected.is_infinite() && got.is_nan() && self.may_overflow(i, j, -expected));
            return Judgement { right, error: if right { 0.0 } else { f64::INFINITY }, tolerance: 0.0 };
        }
        let tolerance = self.tolerance(i, j);
        let error = (f64::from(got) - expected).abs();
        if error <= tolerance {
            return Judgement { right: true, error, tolerance };
        }
        if got.is_finite() {
            return Judgement { right: false, error, tolerance };
        }
        let right = match got {
            f32::INFINITY => self.may_overflow(i, j, f64::INFINITY),
            f32::NEG_INFINITY => self.may_overflow(i, j, f64::NEG_INFINITY),
            _ => self.may_overflow(i, j, f64::INFINITY) && self.may_overflow(i, j, f64::NEG_INFINITY),
        };
        Judgement { right, error: if right { 0.0 } else { f64::INFINITY }, tolerance }
    }

    /// Whether some order of summation overflows to `infinity`, of either sign.
    fn may_overflow(&self, i: usize, j: usize, infinity: f64) -> bool {
        let sums = self.partial_sums(i, j);
        let furthest = if infinity > 0.0 { *sums.end() } else { -*sums.start() };
        furthest * (1.0 + worst_case(self.shape.k())) + self.underflow > f64::from(f32::MAX)
    }
}

/// ‖x‖ in f64; squares of f32 cannot overflow there.
fn norm(x: &[f32]) -> f64 {
    x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
}

/// The norms of the columns of `b`, whose rows have `n` elements. Sums fixed blocks of rows, so that the result does
/// not depend on the number of threads.
fn column_norms(b: &[f32], n: usize) -> Vec<f64> {
    /// Rows in a block; beyond 256 blocks they grow instead, lest the partial sums outgrow B.
    const ROWS: usize = 64;
    let rows = ROWS.max((b.len() / n).div_ceil(256));
    let blocks: Vec<Vec<f64>> = b
        .par_chunks(rows * n)
        .map(|block| {
            let mut squares = vec![0.0; n];
            for row in block.chunks_exact(n) {
                squares.iter_mut().zip(row).for_each(|(sum, &b)| *sum += f64::from(b) * f64::from(b));
            }
            squares
        })
        .collect();
    let mut total = vec![0.0; n];
    for block in &blocks {
        total.iter_mut().zip(block).for_each(|(total, part)| *total += part);
    }
    total.iter().map(|square: &f64| square.sqrt()).collect()
}
