//! Correct products pass, whatever the order of their sums; how close they come to their bounds is measured.

use proptest::prelude::*;
use rayon::prelude::*;

use super::*;
use crate::verify::bounds::{UNIT_ROUNDOFF, statistical, worst_case};

#[test]
fn every_order_of_summation_passes() {
    for (m, n, k) in
        [(64, 96, 1), (61, 67, 7), (40, 50, 1024), (9, 11, 8192), (1, 1, 1), (1, 300, 5), (300, 1, 5), (1, 1, 4099)]
    {
        let inputs = Inputs::random(m, n, k, k);
        for (name, sum) in ORDERS {
            let c = inputs.product(sum);
            for method in METHODS {
                for source in SOURCES {
                    let verdict = inputs.verifier(method, source).check(&c);
                    assert!(verdict.passed(), "{m}×{n}×{k} {name} {method:?} {source:?}: {verdict}");
                    assert_eq!(
                        verdict.freivalds.map_or(0, |freivalds| freivalds.suspicious_rows),
                        0,
                        "{name} {method:?}"
                    );
                }
            }
        }
    }
}

/// For each K, over many elements: the largest error of an element as a part of its bound for random inputs, and of a
/// row as a part of its threshold. The bounds promise the headroom that is asserted; `--nocapture` shows what was
/// measured.
#[test]
fn headroom_of_the_statistical_bounds() {
    for (m, n, k, trials, element, row) in [
        (512, 512, 1, 4, 1.0, 0.4),
        (512, 512, 2, 4, 1.0, 0.4),
        (512, 512, 8, 4, 1.0, 0.3),
        (512, 512, 16, 4, 0.6, 0.3),
        (512, 512, 64, 4, 0.6, 0.3),
        (256, 256, 256, 2, 0.3, 0.15),
        (128, 128, 1024, 2, 0.15, 0.08),
        (64, 64, 8192, 1, 0.05, 0.03),
    ] {
        for (name, sum) in ORDERS {
            let parts = (0..trials).into_par_iter().map(|seed| {
                let inputs = Inputs::random(m, n, k, 100 + seed);
                let c = inputs.product(sum);
                let full = inputs.verifier(Method::Full, Source::Random).check(&c);
                let (element, row) = (full.largest_error_over_tolerance, largest_row(&inputs, &c));
                (element, row)
            });
            let (e, r) = parts.reduce(|| (0.0, 0.0), |x, y| (f64::max(x.0, y.0), f64::max(x.1, y.1)));
            println!("K = {k:4}, {name:10}: element {e:.3}, row {r:.3} of the bound, {} elements", m * n * trials);
            assert!(e <= element && r <= row, "K = {k}, {name}: {e} and {r}");
        }
    }
}

/// The largest of 20 sign vectors' differences of a row, as a part of the row's threshold.
fn largest_row(inputs: &Inputs, c: &[f32]) -> f64 {
    let problem = Problem::new(inputs.shape, &inputs.a, &inputs.b, Source::Random);
    (0..10).map(|run| sampled::largest_excess(&problem, c, run)).fold(0.0, f64::max)
}

/// 0.1·1 summed 8192 times drifts: each rounding pushes the same way for a long stretch.
#[test]
fn constants_drift_beyond_the_square_root_and_within_the_worst_case() {
    let inputs = Inputs::constant(3, 5, 8192, 0.1, 1.0);
    let c = inputs.product(sequential);
    for method in METHODS {
        let given = inputs.verifier(method, Source::Given).check(&c);
        assert!(given.passed(), "{given}");
        let random = inputs.verifier(method, Source::Random).check(&c);
        assert_eq!((random.outcome, random.wrong_elements), (Outcome::Failed, 15), "{random}");
    }
    // More suspicious rows than are recomputed: noted, and not held against a given matrix.
    let inputs = Inputs::constant(40, 70, 8192, 0.1, 1.0);
    let verdict = inputs.verifier(Method::Sampled, Source::Given).check(&inputs.product(sequential));
    assert!(verdict.passed(), "{verdict}");
    assert_eq!(verdict.freivalds.unwrap().suspicious_rows, 40);
    assert!(verdict.to_string().contains("24 more rows exceed the statistical bound"), "{verdict}");
}

#[test]
fn factors() {
    assert_eq!(worst_case(1), UNIT_ROUNDOFF / (1.0 - UNIT_ROUNDOFF));
    assert_eq!(statistical(1), 8.0 * UNIT_ROUNDOFF);
    assert_eq!(statistical(10_000), 100.0 * UNIT_ROUNDOFF);
    // Where γ_K ceases to be defined, the bound goes on growing.
    let grown: Vec<f64> = [1 << 22, 1 << 23, (1 << 23) + 1, 1 << 24, 1 << 25, u32::MAX].map(worst_case).to_vec();
    assert!(grown.is_sorted() && grown.iter().all(|bound| bound.is_finite()), "{grown:?}");
    // A bound that tells little says so.
    let inputs = Inputs::random(1, 1, 1 << 21, 0);
    let verdict = inputs.verifier(Method::Full, Source::Given).check(&inputs.exact());
    assert!(verdict.passed() && verdict.to_string().contains("tells little"), "{verdict}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn correct_products_pass(m in 1_u64..40, n in 1_u64..40, k in 1_u64..200, seed in 0_u64..1000, order in 0_usize..4) {
        let inputs = Inputs::random(m, n, k, seed);
        let c = inputs.product(ORDERS[order].1);
        for method in METHODS {
            for source in SOURCES {
                let verdict = inputs.verifier(method, source).check(&c);
                prop_assert!(verdict.passed(), "{}", verdict);
            }
        }
    }

    /// Scales that differ by 10¹⁶ between columns, as in the user's files.
    #[test]
    fn scaled_columns_pass(n in 1_u64..40, k in 1_u64..100, seed in 0_u64..1000) {
        let mut inputs = Inputs::random(30, n, k, seed);
        for (at, b) in inputs.b.iter_mut().enumerate() {
            *b *= 10_f32.powi((at as i32 % n as i32) % 17 - 8);
        }
        let c = inputs.product(fused);
        for method in METHODS {
            let verdict = inputs.verifier(method, Source::Given).check(&c);
            prop_assert!(verdict.passed(), "{}", verdict);
        }
    }
}
