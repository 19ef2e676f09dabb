//! Every element against the product in f64.

use gpu::matmul::Shape;
use nalgebra::{DMatrix, DMatrixViewMut};
use rayon::prelude::*;

use super::bounds::Problem;
use super::tally::Tally;
use super::verdict::{MethodUsed, Verdict};

/// Rows of C that one task computes at a time: enough to pay for matrixmultiply's packing of B.
const ROWS: usize = 128;

/// A·B in f64, M×N row-major.
///
/// nalgebra stores columns, and a row-major matrix read by columns is its transpose; so this computes Cᵀ = Bᵀ·Aᵀ, and
/// nothing is transposed.
pub(super) fn reference(shape: Shape, a: &[f32], b: &[f32]) -> Vec<f64> {
    let (n, k) = (shape.n() as usize, shape.k() as usize);
    let wide = |x: &[f32]| x.par_iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let b_transposed = DMatrix::from_vec(n, k, wide(b));
    let mut c = vec![0.0; shape.c_len()];
    c.par_chunks_mut(ROWS * n).zip(a.par_chunks(ROWS * k)).for_each(|(c, a)| {
        let rows = a.len() / k;
        let a_transposed = DMatrix::from_iterator(k, rows, a.iter().map(|&a| f64::from(a)));
        DMatrixViewMut::from_slice(c, n, rows).gemm(1.0, &b_transposed, &a_transposed, 0.0);
    });
    c
}

/// Compares all of `c` with `reference`.
pub(super) fn check(problem: &Problem<'_>, reference: &[f64], c: &[f32], poison: u32) -> Verdict {
    let n = problem.shape.n() as usize;
    let tally = c
        .par_chunks(n)
        .zip(reference.par_chunks(n))
        .enumerate()
        .fold(Tally::default, |mut tally, (i, (got, expected))| {
            for (j, (&got, &expected)) in got.iter().zip(expected).enumerate() {
                tally.see(problem, poison, i, j, got, expected);
            }
            tally
        })
        .reduce(Tally::default, Tally::merge);
    let expected = |i: usize, j: usize| reference[i * n + j];
    Verdict::new(problem, MethodUsed::Full, tally, None, c, &expected)
}
