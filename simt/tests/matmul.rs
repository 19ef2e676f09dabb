//! Every rung of the ladder against a product in f64, at every element.

use gpu::launch::{DeviceSlice, DeviceSliceMut};
use gpu::matmul::{LaunchError, MatmulKernel, Shape};
use nalgebra::DMatrix;
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simt::{Fault, Simt};

/// A machine for the whole file: the tests of one binary run at once, and so do their launches.
static SIMT: std::sync::LazyLock<Simt> = std::sync::LazyLock::new(|| Simt::new().expect("threads"));

fn shape(m: u64, n: u64, k: u64) -> Shape {
    Shape::new(m, n, k).expect("a small shape")
}

fn random(len: usize, rng: &mut StdRng) -> Vec<f32> {
    (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn launch(kernel: MatmulKernel, shape: Shape, a: &[f32], b: &[f32], c: &mut [f32]) -> Result<(), LaunchError<Fault>> {
    // SAFETY: the addresses and lengths of live slices, `c` borrowed alone until the launch has returned.
    let (a, b, c) = unsafe {
        (
            DeviceSlice::from_raw(a.as_ptr().expose_provenance() as u64, a.len()),
            DeviceSlice::from_raw(b.as_ptr().expose_provenance() as u64, b.len()),
            DeviceSliceMut::from_raw(c.as_mut_ptr().expose_provenance() as u64, c.len()),
        )
    };
    kernel.launch(&*SIMT, shape, a, b, c)
}

/// Compares C with A·B. A sum of k products in any order, each step rounded once, is off by at most k·u·(|A|·|B|) to
/// first order, u = ε/2; the tolerance is twice that and one more ε. An element passes only if its difference is at
/// most the tolerance, so that NaN fails.
fn compare(shape: Shape, a: &[f32], b: &[f32], c: &[f32]) -> Result<(), String> {
    let (m, n, k) = (shape.m() as usize, shape.n() as usize, shape.k() as usize);
    let matrix =
        |rows, columns, of: &[f32]| DMatrix::from_row_iterator(rows, columns, of.iter().map(|&x| f64::from(x)));
    let (a, b) = (matrix(m, k, a), matrix(k, n, b));
    let (expected, scale) = (&a * &b, a.abs() * b.abs());
    let unit = (k + 1) as f64 * f64::from(f32::EPSILON);
    let passes = |row, column| {
        let difference = (f64::from(c[row * n + column]) - expected[(row, column)]).abs();
        difference <= unit * scale[(row, column)]
    };
    let cells = || (0..m).flat_map(|row| (0..n).map(move |column| (row, column)));
    let wrong = cells().filter(|&(row, column)| !passes(row, column)).count();
    match cells().find(|&(row, column)| !passes(row, column)) {
        None => Ok(()),
        Some((row, column)) => Err(format!(
            "{wrong} of {} elements are wrong, first ({row}, {column}): expected {}, got {}",
            m * n,
            expected[(row, column)],
            c[row * n + column]
        )),
    }
}

/// Runs every kernel on fresh inputs from `seed` into a poisoned C.
fn verify(shape: Shape, seed: u64) -> Result<(), String> {
    let mut rng = StdRng::seed_from_u64(seed);
    for kernel in MatmulKernel::ALL {
        let (a, b) = (random(shape.a_len(), &mut rng), random(shape.b_len(), &mut rng));
        let mut c = vec![f32::NAN; shape.c_len()];
        launch(kernel, shape, &a, &b, &mut c).map_err(|error| error.to_string())?;
        compare(shape, &a, &b, &c).map_err(|error| format!("{} {shape}, seed {seed}: {error}", kernel.name()))?;
    }
    Ok(())
}

#[test]
fn shapes_that_fit_and_shapes_that_do_not() -> Result<(), String> {
    let shapes = [
        (1, 1, 1),      // the least
        (31, 41, 37),   // primes
        (1, 100, 50),   // one row
        (100, 1, 50),   // one column
        (40, 50, 1),    // one product per element
        (1, 1, 1000),   // one long sum
        (64, 96, 128),  // whole tiles
        (33, 17, 65),   // one more than whole tiles
        (128, 128, 33), // a tile and one along K
    ];
    shapes.into_iter().try_for_each(|(m, n, k)| verify(shape(m, n, k), rand::random()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_shapes(m in 1..150_u64, n in 1..150_u64, k in 1..150_u64, seed in any::<u64>()) {
        verify(shape(m, n, k), seed).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn the_comparison_refuses_wrong_answers() {
    let shape = shape(5, 7, 9);
    let mut rng = StdRng::seed_from_u64(rand::random());
    let (a, b) = (random(shape.a_len(), &mut rng), random(shape.b_len(), &mut rng));
    let mut right = vec![f32::NAN; shape.c_len()];
    launch(MatmulKernel::Naive, shape, &a, &b, &mut right).expect("a legal launch");

    let wrong = |change: &dyn Fn(&mut [f32])| {
        let mut c = right.clone();
        change(&mut c);
        compare(shape, &a, &b, &c).expect_err("a wrong answer")
    };
    assert_eq!(compare(shape, &a, &b, &right), Ok(()));
    assert!(wrong(&|c| c[34] = f32::NAN).contains("1 of 35 elements are wrong, first (4, 6)"));
    assert!(wrong(&|c| c[8] += 1e-4).contains("1 of 35 elements are wrong, first (1, 1)"));
    wrong(&|c| c.fill(0.0));
    wrong(&|c| c.rotate_right(1));
}

#[test]
fn buffers_of_the_wrong_length_are_refused() {
    let shape = shape(4, 5, 6);
    let lengths = [shape.a_len(), shape.b_len(), shape.c_len()];
    for kernel in MatmulKernel::ALL {
        for (which, name) in ["A", "B", "C"].into_iter().enumerate() {
            for wrong in [0, lengths[which] - 1, lengths[which] + 1] {
                let mut got = lengths;
                got[which] = wrong;
                let (a, b, mut c) = (vec![1.0; got[0]], vec![1.0; got[1]], vec![f32::NAN; got[2]]);
                let error = launch(kernel, shape, &a, &b, &mut c).expect_err("a wrong length");
                let expected = lengths[which];
                let message = format!("a 4×5×6 product needs {expected} elements in {name}, the buffer has {wrong}");
                assert_eq!(error.to_string(), message);
                assert!(c.iter().all(|c| c.is_nan()), "a refused launch wrote C");
            }
        }
    }
}
