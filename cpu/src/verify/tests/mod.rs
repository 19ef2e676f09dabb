//! The comparer is compared: what it must accept, and what it must never accept.

mod detect;
mod orders;
mod special;

use gpu::matmul::Shape;

use super::*;
use crate::matrix::Matrix;

/// A problem with generated inputs.
struct Inputs {
    shape: Shape,
    a: Vec<f32>,
    b: Vec<f32>,
}

impl Inputs {
    fn random(m: u64, n: u64, k: u64, seed: u64) -> Self {
        let shape = Shape::new(m, n, k).unwrap();
        let a = Matrix::random(m as usize, k as usize, seed).into_data();
        let b = Matrix::random(k as usize, n as usize, seed + 1_000_000).into_data();
        Self { shape, a, b }
    }

    fn constant(m: u64, n: u64, k: u64, a: f32, b: f32) -> Self {
        let shape = Shape::new(m, n, k).unwrap();
        Self { shape, a: vec![a; shape.a_len()], b: vec![b; shape.b_len()] }
    }

    fn verifier(&self, method: Method, source: Source) -> Verifier<'_> {
        Verifier::new(self.shape, &self.a, &self.b, method, source, 11)
    }

    /// The product, with every element summed by `sum` from its row of A and its column of B.
    fn product(&self, sum: impl Fn(&[f32], &[f32]) -> f32) -> Vec<f32> {
        let (m, n, k) = (self.shape.m() as usize, self.shape.n() as usize, self.shape.k() as usize);
        let columns: Vec<Vec<f32>> = (0..n).map(|j| (0..k).map(|p| self.b[p * n + j]).collect()).collect();
        (0..m)
            .flat_map(|i| columns.iter().map(move |column| (i, column)))
            .map(|(i, b)| sum(&self.a[i * k..][..k], b))
            .collect()
    }

    /// The same in f64, rounded once. Fast, for large problems.
    fn exact(&self) -> Vec<f32> {
        full::reference(self.shape, &self.a, &self.b).iter().map(|&c| c as f32).collect()
    }
}

/// One after the other, product and sum rounded apart.
fn sequential(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// One after the other, fused: what the kernels do.
fn fused(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| a.mul_add(*b, sum))
}

/// Tile sums of 32, added up: split-K.
fn tiled(a: &[f32], b: &[f32]) -> f32 {
    a.chunks(32).zip(b.chunks(32)).fold(0.0, |sum, (a, b)| sum + fused(a, b))
}

/// Halves, recursively: blocked.
fn blocked(a: &[f32], b: &[f32]) -> f32 {
    let half = a.len() / 2;
    if half == 0 { sequential(a, b) } else { blocked(&a[..half], &b[..half]) + blocked(&a[half..], &b[half..]) }
}

type Sum = fn(&[f32], &[f32]) -> f32;
const ORDERS: [(&str, Sum); 4] = [("sequential", sequential), ("fused", fused), ("tiled", tiled), ("blocked", blocked)];

const METHODS: [Method; 2] = [Method::Full, Method::Sampled];
const SOURCES: [Source; 2] = [Source::Random, Source::Given];

#[test]
fn auto_takes_what_is_affordable() {
    let shape = |m, n, k| Shape::new(m, n, k).unwrap();
    assert_eq!(resolve(Method::Auto, shape(2048, 2048, 2048)), Method::Full);
    assert_eq!(resolve(Method::Auto, shape(2048, 2048, 2049)), Method::Sampled);
    // Few operations, but 8·2³⁰ bytes of f64.
    assert_eq!(resolve(Method::Auto, shape(1 << 15, 1 << 15, 1)), Method::Sampled);
    assert_eq!(resolve(Method::Full, shape(1 << 15, 1 << 15, 1)), Method::Full);
}

#[test]
fn off_is_neither_passed_nor_an_error() {
    let inputs = Inputs::random(2, 2, 2, 0);
    let verdict = inputs.verifier(Method::Off, Source::Random).check(&[0.0; 4]);
    assert!(!verdict.passed());
    assert_eq!(verdict.to_string(), "not verified (--verify off)");
    assert!(verdict.into_result().is_ok());
}

#[test]
fn verdicts_repeat() {
    let inputs = Inputs::random(200, 100, 50, 0);
    let mut c = inputs.exact();
    c[777] += 1.0;
    let (one, other) =
        (inputs.verifier(Method::Sampled, Source::Random), inputs.verifier(Method::Sampled, Source::Random));
    let (first, second) = (one.check(&c), one.check(&c));
    assert_eq!(other.check(&c), first);
    assert_eq!(other.check(&c), second);
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(alone.install(|| inputs.verifier(Method::Sampled, Source::Random).check(&c)), first);
}

#[test]
fn json_has_the_verdict() {
    let inputs = Inputs::random(3, 4, 5, 0);
    let json = serde_json::to_value(inputs.verifier(Method::Auto, Source::Random).check(&inputs.exact())).unwrap();
    assert_eq!(json["outcome"], "passed");
    assert_eq!(json["method"], "full");
    assert_eq!(json["compared_elements"], 12);
    let json = serde_json::to_value(inputs.verifier(Method::Auto, Source::Random).check(&[f32::NAN; 12])).unwrap();
    assert_eq!(json["wrong_elements"], 12);
    assert!(json["first_wrong"]["got"].is_null());
}
