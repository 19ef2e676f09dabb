//! Wrong products fail, and the verdict says how.

use proptest::prelude::*;

use super::*;

/// Both methods and both sources reject `c`.
fn rejected(inputs: &Inputs, c: &[f32]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for method in METHODS {
        for source in SOURCES {
            let verdict = inputs.verifier(method, source).check(c);
            assert_eq!(verdict.outcome, Outcome::Failed, "{method:?} {source:?}: {verdict}");
            verdicts.push(verdict);
        }
    }
    verdicts
}

#[test]
fn nan_everywhere() {
    let inputs = Inputs::random(70, 80, 33, 0);
    for verdict in rejected(&inputs, &vec![f32::NAN; 5600]) {
        assert_eq!(verdict.wrong_elements, verdict.compared_elements);
        assert_eq!(verdict.never_written_elements, 0);
    }
}

#[test]
fn zeros() {
    let inputs = Inputs::random(70, 80, 33, 0);
    for verdict in rejected(&inputs, &vec![0.0; 5600]) {
        assert_eq!(verdict.hint.as_deref(), Some("every element is zero"));
    }
}

#[test]
fn transposed() {
    let inputs = Inputs::random(80, 80, 33, 0);
    let c = inputs.exact();
    let transposed: Vec<f32> = (0..6400).map(|at| c[at % 80 * 80 + at / 80]).collect();
    for verdict in rejected(&inputs, &transposed) {
        assert_eq!(verdict.hint.as_deref(), Some("C matches the transposed product"));
    }
}

#[test]
fn shifted_by_one() {
    let inputs = Inputs::random(70, 80, 33, 0);
    let mut c = inputs.exact();
    c.rotate_right(1);
    rejected(&inputs, &c);
}

#[test]
fn one_term_missing_in_every_element() {
    for k in [2, 33, 1024] {
        let inputs = Inputs::random(50, 40, k, 0);
        let c = inputs.product(|a, b| fused(&a[1..], &b[1..]));
        rejected(&inputs, &c);
    }
}

#[test]
fn never_written() {
    let inputs = Inputs::random(70, 80, 33, 0);
    let poison = f32::from_bits(POISON);
    for verdict in rejected(&inputs, &vec![poison; 5600]) {
        assert_eq!((verdict.never_written_elements, verdict.wrong_elements), (5600, 0));
        assert!(verdict.hint.as_deref().unwrap().starts_with("nothing was written"));
    }

    let mut one = inputs.exact();
    one[4321] = poison;
    for verdict in rejected(&inputs, &one) {
        assert_eq!((verdict.never_written_elements, verdict.wrong_elements), (1, 0));
        assert_eq!(verdict.first_never_written, Some((54, 1)));
        let message = verdict.into_result().unwrap_err().to_string();
        assert!(
            message.contains("1 of 5600 were never written") && message.contains("first never written C[54, 1]"),
            "{message}"
        );
    }

    let mut last = inputs.exact();
    last[69 * 80..].fill(poison);
    for verdict in rejected(&inputs, &last) {
        let hint = "exactly the last row × all columns are never written; look at the last tile";
        assert_eq!((verdict.never_written_elements, verdict.hint.as_deref()), (80, Some(hint)));
    }
}

#[test]
fn another_poison() {
    let inputs = Inputs::random(3, 3, 3, 0);
    let mut c = inputs.exact();
    c[5] = f32::from_bits(0xFFFF_FFFF);
    for method in METHODS {
        let verdict = inputs.verifier(method, Source::Random).with_poison(0xFFFF_FFFF).check(&c);
        assert_eq!((verdict.never_written_elements, verdict.first_never_written), (1, Some((1, 2))));
    }
}

#[test]
fn a_wrong_tile_is_placed() {
    let inputs = Inputs::random(70, 80, 33, 0);
    let mut c = inputs.exact();
    for row in 64..70 {
        c[row * 80 + 64..][..16].fill(0.0);
    }
    let verdict = inputs.verifier(Method::Full, Source::Random).check(&c);
    let hint = "exactly the last 6 rows × the last 16 columns are wrong; look at the last tile";
    assert_eq!((verdict.wrong_elements, verdict.hint.as_deref()), (96, Some(hint)));
    let first = verdict.first_wrong.unwrap();
    assert_eq!((first.row, first.column, first.got), (64, 64, 0.0));
    let message = verdict.to_string();
    assert!(
        message.starts_with("C is not A·B: 96 of 5600 elements are wrong; first wrong C[64, 64] = 0e0, expected"),
        "{message}"
    );
}

/// One element of 8·10⁶ loses its own magnitude. The sign vectors find it if that exceeds the threshold of its row,
/// √K·u·‖a_i‖·‖b_j‖·√N: about 0.006 here, while elements are about 6, so all but 1 in 1000. This is no matter of
/// chance: a single wrong element has nothing to cancel with, and only rounding errors, a tenth of the threshold, blur
/// it.
#[test]
fn one_wrong_element_in_eight_million() {
    let inputs = Inputs::random(2900, 2900, 300, 0);
    let right = inputs.exact();
    let verifier = inputs.verifier(Method::Sampled, Source::Random);
    assert!(verifier.check(&right).passed());
    let mut found = 0;
    for at in (12_345..right.len()).step_by(840_001) {
        let mut c = right.clone();
        c[at] = 0.0;
        let verdict = verifier.check(&c);
        if right[at].abs() > 0.02 {
            assert_eq!(verdict.outcome, Outcome::Failed, "{at}: {verdict}");
            let first = verdict.first_wrong.unwrap();
            assert_eq!((first.row, first.column), (at / 2900, at % 2900));
            found += 1;
        }
    }
    assert!(found >= 9, "{found}");
}

/// Columns of small numbers are watched as closely as those of large ones.
#[test]
fn a_wrong_element_in_a_small_column() {
    let mut inputs = Inputs::random(1000, 100, 50, 0);
    for (at, b) in inputs.b.iter_mut().enumerate() {
        *b *= if at % 100 == 7 { 1e-9 } else { 1e9 };
    }
    let mut c = inputs.exact();
    c[507] += 1e-8;
    for verdict in rejected(&inputs, &c) {
        assert_eq!(verdict.first_wrong.map(|first| (first.row, first.column)), Some((5, 7)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_element_beyond_twice_its_tolerance_fails(
        m in 1_u64..30, n in 1_u64..30, k in 1_u64..100,
        seed in 0_u64..1000, at in any::<prop::sample::Index>(), factor in 2.5_f64..100.0, up in any::<bool>(),
        source in prop::sample::select(&SOURCES[..]),
    ) {
        let inputs = Inputs::random(m, n, k, seed);
        let mut c = inputs.product(fused);
        let at = at.index(c.len());
        let (row, column) = (at / n as usize, at % n as usize);
        let tolerance = Problem::new(inputs.shape, &inputs.a, &inputs.b, source).tolerance(row, column);
        let shift = if up { factor * tolerance } else { -factor * tolerance };
        c[at] = (f64::from(c[at]) + shift) as f32;
        let verdict = inputs.verifier(Method::Full, source).check(&c);
        prop_assert_eq!(verdict.outcome, Outcome::Failed);
        prop_assert_eq!(verdict.wrong_elements, 1);
        prop_assert_eq!(verdict.first_wrong.map(|first| (first.row, first.column)), Some((row, column)));
    }
}
