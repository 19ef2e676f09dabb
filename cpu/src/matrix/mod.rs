//! Matrices on the host: generated, read from files, written to files.

pub mod npy;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

use crate::threads;

/// A matrix of f32, row-major, at least 1×1.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f32>,
}

/// A borrowed matrix of f32, row-major, at least 1×1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixView<'a> {
    rows: usize,
    columns: usize,
    data: &'a [f32],
}

impl Matrix {
    /// `data` as `rows` rows of `columns` elements.
    ///
    /// # Panics
    /// An extent is 0, or `data` has not rows·columns elements.
    pub fn new(rows: usize, columns: usize, data: Vec<f32>) -> Self {
        MatrixView::new(rows, columns, &data);
        Self { rows, columns, data }
    }

    /// Uniform in [−1, 1), in steps of 2⁻²³; the same for a seed on every machine and with any number of threads.
    ///
    /// Elements 2·i and 2·i + 1 are the upper halves of the two words of the i-th output of PCG XSL RR 128/64 (O'Neill,
    /// PCG, 2014), seeded with `seed`. Each thread jumps to the place where its part of the sequence begins.
    ///
    /// # Panics
    /// An extent is 0, or rows·columns elements do not fit the address space.
    pub fn random(rows: usize, columns: usize, seed: u64) -> Self {
        /// Elements per task: even, and enough to make the jump cheap.
        const CHUNK: usize = 1 << 16;
        let length = rows.checked_mul(columns).expect("the elements of a matrix fit the address space");
        let mut data = vec![0.0; length];
        let start = Pcg64::seed_from_u64(seed);
        threads::start();
        data.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
            let mut random = start.clone();
            random.advance((index * (CHUNK / 2)) as u128);
            for pair in chunk.chunks_mut(2) {
                let word = random.next_u64();
                for (element, word) in pair.iter_mut().zip([word as u32, (word >> 32) as u32]) {
                    // 24 bits fit the significand: no step here rounds.
                    *element = (word >> 8) as f32 * f32::EPSILON - 1.0;
                }
            }
        });
        Self::new(rows, columns, data)
    }

    /// Rows, at least 1.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns, at least 1.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All elements, row by row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// All elements, row by row.
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }

    /// The matrix, borrowed.
    pub fn view(&self) -> MatrixView<'_> {
        MatrixView { rows: self.rows, columns: self.columns, data: &self.data }
    }
}

impl<'a> MatrixView<'a> {
    /// `data` as `rows` rows of `columns` elements.
    ///
    /// # Panics
    /// An extent is 0, or `data` has not rows·columns elements.
    pub fn new(rows: usize, columns: usize, data: &'a [f32]) -> Self {
        assert!(rows > 0 && columns > 0, "a matrix has at least one row and one column, not {rows}×{columns}");
        assert_eq!(rows.checked_mul(columns), Some(data.len()), "elements of a {rows}×{columns} matrix");
        Self { rows, columns, data }
    }

    /// Rows, at least 1.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns, at least 1.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All elements, row by row.
    pub fn data(&self) -> &'a [f32] {
        self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_is_the_same_everywhere() {
        let whole = Matrix::random(301, 1001, 7);
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(alone.install(|| Matrix::random(301, 1001, 7)), whole);
        // The sequence does not depend on the shape, nor on how it was cut into chunks.
        assert_eq!(Matrix::random(1001, 301, 7).data(), whole.data());
        assert_eq!(Matrix::random(1, 70_001, 7).data(), &whole.data()[..70_001]);
        assert_ne!(Matrix::random(301, 1001, 8), whole);
        // Recorded: a change of the generator is a change of every published measurement.
        let bits: Vec<u32> = Matrix::random(1, 4, 42).data().iter().map(|x| x.to_bits()).collect();
        assert_eq!(bits, [1_049_362_528, 3_205_236_366, 3_207_025_742, 3_204_813_776]);
    }

    #[test]
    fn random_is_uniform() {
        let matrix = Matrix::random(1000, 1000, 1);
        let (mut sum, mut squares, mut buckets) = (0.0, 0.0, [0_u32; 16]);
        for &x in matrix.data() {
            assert!((-1.0..1.0).contains(&x));
            sum += f64::from(x);
            squares += f64::from(x) * f64::from(x);
            buckets[((x + 1.0) * 8.0) as usize] += 1;
        }
        // Standard deviations for 10⁶ draws: mean 5.8·10⁻⁴, mean square 3.0·10⁻⁴, bucket 242; five of each.
        assert!((sum / 1e6).abs() < 2.9e-3, "{sum}");
        assert!((squares / 1e6 - 1.0 / 3.0).abs() < 1.5e-3, "{squares}");
        assert!(buckets.iter().all(|&count| count.abs_diff(62_500) < 1210), "{buckets:?}");
    }
}
