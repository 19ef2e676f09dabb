//! Freivalds' check of all rows, some elements recomputed, and suspicious rows recomputed whole.
//!
//! For a vector x of signs, weighted by w_j = 1/‖b_j‖ so that a column of small numbers counts as much as one of large
//! ones, a correct row i of C has Σ_j x_j·c_ij − (A·B·x)_i = Σ_j x_j·e_ij, a sum of N rounding errors with random
//! signs. It is of the size of √(Σ_j (w_j·e_ij)²); with the statistical bound for each e_ij, that is max(√K,
//! 8)·u·‖a_i‖·√N. (Unweighted, it would be …·‖a_i‖·‖B‖_F.)

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

use super::bounds::{self, Problem};
use super::tally::{Tally, Unwritten};
use super::verdict::{Freivalds, MethodUsed, Verdict};

/// Sign vectors per check.
const ROUNDS: usize = 2;

/// Elements recomputed besides the corners, and again as many where rows or columns are left out of the sign vectors.
const SAMPLES: usize = 2048;

/// Suspicious rows that are recomputed whole.
const RECOMPUTED_ROWS: usize = 16;

/// Columns are weighted as if their norm were at least this, 2⁻⁶⁶: below, a weight would turn the underflow of f32 into
/// a tolerance for the whole row.
const LEAST_NORM: f64 = 1.0 / (1_u128 << 66) as f64;

/// A row whose two sides differ by more than rounding explains.
struct Suspicion {
    row: usize,
    /// The difference over its threshold; ∞ for NaN.
    excess: f64,
}

/// Which rows and columns the sign vectors cover, and the vectors.
struct Signs {
    /// For each row: all finite, and no product with it can overflow f32.
    rows: Vec<bool>,
    /// For each column: all finite.
    columns: Vec<bool>,
    /// ±w_j, 0 for columns left out.
    x: [Vec<f64>; ROUNDS],
    /// Σ_j w_j.
    weights: f64,
    /// Σ_j w_j·‖b_j‖ and √(Σ_j (w_j·‖b_j‖)²).
    sum: f64,
    root: f64,
}

impl Signs {
    fn draw(problem: &Problem<'_>, random: &mut Pcg64) -> Self {
        let columns: Vec<bool> = problem.column_norms.iter().map(|norm| norm.is_finite()).collect();
        let longest = problem.column_norms.iter().copied().filter(|norm| norm.is_finite()).fold(0.0, f64::max);
        let reach = longest * (1.0 + bounds::worst_case(problem.shape.k()));
        // NaN and ∞ compare false.
        let rows = problem.row_norms.iter().map(|norm| norm * reach < f64::from(f32::MAX)).collect();
        let weight: Vec<f64> = problem
            .column_norms
            .iter()
            .map(|norm| if norm.is_finite() { 1.0 / norm.max(LEAST_NORM) } else { 0.0 })
            .collect();
        let relative =
            || weight.iter().zip(&problem.column_norms).filter(|(w, _)| **w != 0.0).map(|(w, norm)| w * norm);
        let (sum, root) = (relative().sum(), relative().map(|x| x * x).sum::<f64>().sqrt());
        let x = std::array::from_fn(|_| {
            let mut bits = 0_u64;
            let signed = |(j, &weight): (usize, &f64)| {
                if j % 64 == 0 {
                    bits = random.random();
                }
                if bits >> (j % 64) & 1 == 0 { weight } else { -weight }
            };
            weight.iter().enumerate().map(signed).collect()
        });
        Self { rows, columns, x, weights: weight.iter().sum(), sum, root }
    }

    /// What rounding explains in row i.
    fn threshold(&self, problem: &Problem<'_>, i: usize) -> f64 {
        let (n, k) = (f64::from(problem.shape.n()), f64::from(problem.shape.k()));
        // The sums here are f64 and have errors too, (N + K)·2⁻⁵³ of the sum of magnitudes at most.
        let own = (n + k) * (f64::EPSILON / 2.0) * self.sum;
        problem.row_norms[i] * (bounds::statistical(problem.shape.k()) * self.root + own)
            + problem.underflow * self.weights
    }
}

/// Judges `c`. The `run`th check of a seed draws its own vectors and positions.
pub(super) fn check(problem: &Problem<'_>, c: &[f32], poison: u32, seed: u64, run: u64) -> Verdict {
    let mut random = Pcg64::seed_from_u64(seed ^ run.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let signs = Signs::draw(problem, &mut random);
    let (unwritten, mut suspicions) = freivalds(problem, &signs, c, poison, 1.0);
    let suspicious = suspicions.len();
    suspicions.sort_by(|a, b| b.excess.total_cmp(&a.excess).then(a.row.cmp(&b.row)));
    suspicions.truncate(RECOMPUTED_ROWS);
    let rows: Vec<usize> = suspicions.iter().map(|suspicion| suspicion.row).collect();

    let positions = positions(problem, &signs, &rows, &mut random);
    let mut tally = recompute_rows(problem, &rows, c, poison).merge(recompute(problem, &positions, c, poison));
    // The scan saw every element; the tallies only some of the same.
    tally.unwritten = unwritten;
    let left_out = |covered: &[bool]| covered.iter().filter(|covered| !**covered).count() as u64;
    let freivalds = Freivalds {
        rounds: ROUNDS as u32,
        rows: problem.row_norms.len() as u64 - left_out(&signs.rows),
        rows_left_out: left_out(&signs.rows),
        columns_left_out: left_out(&signs.columns),
        suspicious_rows: suspicious as u64,
        recomputed_rows: rows.len() as u64,
    };
    Verdict::new(problem, MethodUsed::Sampled, tally, Some(freivalds), c, &|i, j| problem.dot(i, j))
}

/// Compares C·x with A·(B·x) row by row, and looks for the poison on the way.
///
/// Returns the rows whose difference is more than `least` times their threshold.
fn freivalds(problem: &Problem<'_>, signs: &Signs, c: &[f32], poison: u32, least: f64) -> (Unwritten, Vec<Suspicion>) {
    let (n, k) = (problem.shape.n() as usize, problem.shape.k() as usize);
    let times_x = |row: &[f32]| {
        let [x0, x1] = &signs.x;
        if signs.columns.iter().all(|&covered| covered) {
            dots::<false>(row, x0, x1)
        } else {
            dots::<true>(row, x0, x1)
        }
    };
    let bx: Vec<[f64; ROUNDS]> = problem.b.par_chunks(n).map(times_x).collect();
    let bx: [Vec<f64>; ROUNDS] = std::array::from_fn(|round| bx.iter().map(|y| y[round]).collect());
    c.par_chunks(n)
        .zip(problem.a.par_chunks(k))
        .enumerate()
        .map(|(row, (c, a))| {
            let unwritten = Unwritten::scan(row, c, poison);
            if !signs.rows[row] {
                return (unwritten, None);
            }
            let (got, expected) = (times_x(c), dots::<false>(a, &bx[0], &bx[1]));
            let threshold = signs.threshold(problem, row);
            // The threshold is positive: a NaN here is one in C.
            let excess = (0..ROUNDS).map(|round| (got[round] - expected[round]).abs() / threshold);
            let excess = excess.fold(0.0, |most, e| if e.is_nan() { f64::INFINITY } else { f64::max(most, e) });
            (unwritten, (excess > least).then_some(Suspicion { row, excess }))
        })
        .fold(
            || (Unwritten::default(), Vec::new()),
            |(mut unwritten, mut suspicions), (scanned, suspicion)| {
                unwritten.merge(scanned);
                suspicions.extend(suspicion);
                (unwritten, suspicions)
            },
        )
        .reduce(
            || (Unwritten::default(), Vec::new()),
            |(mut unwritten, mut suspicions), (more_unwritten, more)| {
                unwritten.merge(more_unwritten);
                suspicions.extend(more);
                (unwritten, suspicions)
            },
        )
}

/// `row`·x and `row`·y in f64. With `SKIP`, elements whose weight is 0 are left out whatever they are: 0·NaN is NaN.
fn dots<const SKIP: bool>(row: &[f32], x: &[f64], y: &[f64]) -> [f64; ROUNDS] {
    /// Independent sums, so that the loop is bound by throughput and not by the latency of one addition.
    const LANES: usize = 16;
    let value = |r: f32, weight: f64| if SKIP && weight == 0.0 { 0.0 } else { f64::from(r) };
    let (mut sums_x, mut sums_y) = ([0.0; LANES], [0.0; LANES]);
    let (rows, xs, ys) = (row.chunks_exact(LANES), x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest = rows.remainder().iter().zip(xs.remainder()).zip(ys.remainder());
    let rest = rest.fold([0.0; ROUNDS], |sums, ((&r, &x), &y)| {
        let r = value(r, x);
        [sums[0] + r * x, sums[1] + r * y]
    });
    for ((rows, xs), ys) in rows.zip(xs).zip(ys) {
        for lane in 0..LANES {
            let r = value(rows[lane], xs[lane]);
            sums_x[lane] += r * xs[lane];
            sums_y[lane] += r * ys[lane];
        }
    }
    [rest[0] + sums_x.iter().sum::<f64>(), rest[1] + sums_y.iter().sum::<f64>()]
}

/// Elements to recompute: the corners, random ones, and more in rows and columns that the sign vectors leave out. Each
/// once, in order, and none in `rows`, which are recomputed anyway.
fn positions(problem: &Problem<'_>, signs: &Signs, rows: &[usize], random: &mut Pcg64) -> Vec<(usize, usize)> {
    let (m, n) = (problem.shape.m() as usize, problem.shape.n() as usize);
    let mut positions = vec![(0, 0), (0, n - 1), (m - 1, 0), (m - 1, n - 1)];
    if m * n <= SAMPLES {
        positions.extend((0..m * n).map(|index| (index / n, index % n)));
    } else {
        positions.extend((0..SAMPLES).map(|_| (random.random_range(0..m), random.random_range(0..n))));
        let left_out = |covered: &[bool]| (0..covered.len()).filter(|&at| !covered[at]).collect::<Vec<_>>();
        let (bad_rows, bad_columns) = (left_out(&signs.rows), left_out(&signs.columns));
        if !bad_rows.is_empty() {
            let row = |random: &mut Pcg64| bad_rows[random.random_range(0..bad_rows.len())];
            positions.extend((0..SAMPLES).map(|_| (row(random), random.random_range(0..n))));
        }
        if !bad_columns.is_empty() {
            let column = |random: &mut Pcg64| bad_columns[random.random_range(0..bad_columns.len())];
            positions.extend((0..SAMPLES).map(|_| (random.random_range(0..m), column(random))));
        }
    }
    positions.sort_unstable();
    positions.dedup();
    positions.retain(|(row, _)| !rows.contains(row));
    positions
}

/// Compares single elements with f64 dot products.
///
/// All positions go through B together, row by row: a dot product of its own would fetch a page of B for each term. The
/// strips are fixed, so that the sums do not depend on the number of threads.
fn recompute(problem: &Problem<'_>, positions: &[(usize, usize)], c: &[f32], poison: u32) -> Tally {
    /// Strips of B, each with its own sums.
    const STRIPS: usize = 64;
    let (n, k) = (problem.shape.n() as usize, problem.shape.k() as usize);
    let height = k.div_ceil(STRIPS);
    let strips: Vec<Vec<f64>> = problem
        .b
        .par_chunks(height * n)
        .enumerate()
        .map(|(strip, b)| {
            let mut sums = vec![0.0; positions.len()];
            for (p, b) in (strip * height..).zip(b.chunks_exact(n)) {
                for (sum, &(i, j)) in sums.iter_mut().zip(positions) {
                    *sum += f64::from(problem.a[i * k + p]) * f64::from(b[j]);
                }
            }
            sums
        })
        .collect();
    let mut tally = Tally::default();
    for (at, &(i, j)) in positions.iter().enumerate() {
        let expected = strips.iter().map(|sums| sums[at]).sum();
        tally.see(problem, poison, i, j, c[i * n + j], expected);
    }
    tally
}

/// Compares whole rows with their f64 products. B is read once, a strip of columns per task.
fn recompute_rows(problem: &Problem<'_>, rows: &[usize], c: &[f32], poison: u32) -> Tally {
    /// Columns in a strip: the sums of sixteen rows stay in the first-level cache.
    const STRIP: usize = 256;
    let (n, k) = (problem.shape.n() as usize, problem.shape.k() as usize);
    if rows.is_empty() {
        return Tally::default();
    }
    (0..n.div_ceil(STRIP))
        .into_par_iter()
        .map(|strip| {
            let first = strip * STRIP;
            let width = STRIP.min(n - first);
            let mut sums = vec![0.0; rows.len() * width];
            for (p, b) in problem.b.chunks_exact(n).enumerate() {
                for (sums, &row) in sums.chunks_exact_mut(width).zip(rows) {
                    let a = f64::from(problem.a[row * k + p]);
                    sums.iter_mut().zip(&b[first..]).for_each(|(sum, &b)| *sum += a * f64::from(b));
                }
            }
            let mut tally = Tally::default();
            for (sums, &row) in sums.chunks_exact(width).zip(rows) {
                for (j, &expected) in (first..).zip(sums) {
                    tally.see(problem, poison, row, j, c[row * n + j], expected);
                }
            }
            tally
        })
        .reduce(Tally::default, Tally::merge)
}

/// The largest difference of a row as a part of its threshold, for the measurement of the headroom.
#[cfg(test)]
pub(super) fn largest_excess(problem: &Problem<'_>, c: &[f32], seed: u64) -> f64 {
    let signs = Signs::draw(problem, &mut Pcg64::seed_from_u64(seed));
    let (_, rows) = freivalds(problem, &signs, c, super::POISON, 0.0);
    rows.iter().map(|row| row.excess).fold(0.0, f64::max)
}
