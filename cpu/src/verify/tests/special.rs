//! NaN, infinities, overflow, and numbers below the normal range.

use super::*;

/// Both methods, source `Given`.
fn outcomes(inputs: &Inputs, c: &[f32]) -> [Verdict; 2] {
    METHODS.map(|method| inputs.verifier(method, Source::Given).check(c))
}

fn accepted(inputs: &Inputs, c: &[f32]) -> [Verdict; 2] {
    let verdicts = outcomes(inputs, c);
    verdicts.iter().for_each(|verdict| assert!(verdict.passed(), "{verdict}"));
    verdicts
}

fn rejected(inputs: &Inputs, c: &[f32]) {
    outcomes(inputs, c).iter().for_each(|verdict| assert_eq!(verdict.outcome, Outcome::Failed, "{verdict}"));
}

/// A 60×50×20 problem with a NaN and an infinity in A and an infinity in B.
fn contaminated() -> Inputs {
    let mut inputs = Inputs::random(60, 50, 20, 0);
    inputs.a[3 * 20 + 4] = f32::NAN;
    inputs.a[5 * 20 + 6] = f32::NEG_INFINITY;
    inputs.b[7 * 50 + 8] = f32::INFINITY;
    inputs
}

#[test]
fn what_is_not_finite_must_be_the_same() {
    let inputs = contaminated();
    for (_, sum) in ORDERS {
        let c = inputs.product(sum);
        let [full, sampled] = accepted(&inputs, &c);
        // Two rows of 50 and what is left of a column of 60.
        assert_eq!(full.not_finite_elements, 158);
        assert!(full.to_string().contains("158 of the compared elements are NaN or infinite"), "{full}");
        let freivalds = sampled.freivalds.unwrap();
        assert_eq!((freivalds.rows_left_out, freivalds.columns_left_out, freivalds.suspicious_rows), (2, 1, 0));
        assert!(sampled.to_string().contains("2 rows and 1 columns with NaN"), "{sampled}");

        for (at, replacement) in [
            (3 * 50, 1.0),                    // finite for NaN
            (3 * 50 + 1, f32::INFINITY),      // infinite for NaN
            (5 * 50, -c[5 * 50]),             // the other infinity
            (5 * 50, f32::NAN),               // NaN for infinite, nothing overflowed
            (9 * 50 + 8, f32::MAX),           // finite for infinite
            (3 * 50, f32::from_bits(POISON)), // never written where NaN is right
            (10 * 50, f32::NAN),              // NaN for finite
            (10 * 50, f32::INFINITY),         // infinite for finite
        ] {
            let mut wrong = c.clone();
            wrong[at] = replacement;
            let full = inputs.verifier(Method::Full, Source::Given).check(&wrong);
            assert_eq!(full.outcome, Outcome::Failed, "{at} {replacement}: {full}");
            assert_eq!(full.never_written_elements, u64::from(replacement.to_bits() == POISON));
        }
        // The sampled method sees these by its signs, its scan and its corners.
        for (at, replacement) in [(10 * 50, f32::NAN), (3 * 50, f32::from_bits(POISON)), (0, f32::NAN)] {
            let mut wrong = c.clone();
            wrong[at] = replacement;
            rejected(&inputs, &wrong);
        }
    }
}

/// Rows and columns that the signs leave out are sampled: a row that is wrong throughout is found.
#[test]
fn a_wrong_row_of_nan_is_sampled() {
    let inputs = contaminated();
    let mut c = inputs.product(fused);
    c[3 * 50..4 * 50].fill(0.0);
    rejected(&inputs, &c);
}

#[test]
fn overflow_must_be_infinite() {
    let inputs = Inputs::constant(3, 4, 8, 1e20, -1e20);
    accepted(&inputs, &[f32::NEG_INFINITY; 12]);
    for wrong in [f32::INFINITY, f32::NAN, f32::MIN, 0.0] {
        rejected(&inputs, &[wrong; 12]);
    }
}

/// Partial sums may overflow although the sum is small: which of ±∞ and NaN appears depends on the order, and each that
/// some order yields is right. So is the small sum.
#[test]
fn overflow_on_the_way() {
    let shape = Shape::new(1, 1, 2).unwrap();
    let inputs = Inputs { shape, a: vec![1e20, 1e20], b: vec![2e18, -2e18] };
    // ±2·10³⁸ and their sums are all within f32: no order overflows.
    accepted(&inputs, &[0.0]);
    [f32::INFINITY, f32::NEG_INFINITY, f32::NAN].iter().for_each(|&wrong| rejected(&inputs, &[wrong]));

    let inputs = Inputs { shape, a: vec![1e20, 1e20], b: vec![1e19, -1e18] };
    // 10³⁹ overflows to +∞, −10³⁸ does not overflow.
    accepted(&inputs, &[f32::INFINITY]);
    [f32::NEG_INFINITY, f32::NAN].iter().for_each(|&wrong| rejected(&inputs, &[wrong]));

    let inputs = Inputs { shape, a: vec![1e20, 1e20], b: vec![1e19, -1e19] };
    [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0].iter().for_each(|&right| {
        accepted(&inputs, &[right]);
    });
    rejected(&inputs, &[f32::MAX]);
    rejected(&inputs, &[f32::from_bits(POISON)]);

    // An infinite input that meets an overflow of the other sign.
    let inputs = Inputs { shape, a: vec![f32::INFINITY, 1e20], b: vec![1.0, -1e20] };
    accepted(&inputs, &[f32::NAN]);
    accepted(&inputs, &[f32::INFINITY]);
    rejected(&inputs, &[f32::NEG_INFINITY]);
}

/// Right at the edge of f32, rounding decides.
#[test]
fn the_edge_of_f32() {
    let inputs = Inputs::constant(1, 1, 1, f32::MAX, 1.0);
    accepted(&inputs, &[f32::MAX]);
    accepted(&inputs, &[f32::INFINITY]);
    rejected(&inputs, &[f32::NEG_INFINITY]);
    let inputs = Inputs::constant(1, 1, 1, f32::MAX, 0.999);
    rejected(&inputs, &[f32::INFINITY]);
}

/// Large inputs of both signs in a problem too large to compare whole: rows that may overflow are sampled.
#[test]
fn rows_that_may_overflow_are_sampled() {
    let mut inputs = Inputs::random(100, 90, 40, 0);
    inputs.a[20 * 40..21 * 40].fill(1e38);
    inputs.b.iter_mut().for_each(|b| *b *= 1e3);
    let c = inputs.product(fused);
    assert!(c[20 * 90..21 * 90].iter().any(|c| !c.is_finite()));
    let [_, sampled] = accepted(&inputs, &c);
    assert_eq!(sampled.freivalds.map(|freivalds| (freivalds.rows_left_out, freivalds.suspicious_rows)), Some((1, 0)));
}

#[test]
fn below_the_normal_range() {
    let mut inputs = Inputs::random(20, 30, 10, 0);
    inputs.a.iter_mut().for_each(|a| *a *= 1e-40);
    for (_, sum) in ORDERS {
        accepted(&inputs, &inputs.product(sum));
    }
    // A device that flushes denormals is accepted, an element in the normal range is not.
    accepted(&inputs, &[0.0; 600]);
    let mut c = vec![0.0; 600];
    c[45] = 1e-36;
    rejected(&inputs, &c);

    // Products that underflow beside ones that do not.
    let mut inputs = Inputs::random(20, 30, 10, 0);
    inputs.a.iter_mut().step_by(2).for_each(|a| *a *= 1e-30);
    inputs.b.iter_mut().for_each(|b| *b *= 1e-12);
    for (_, sum) in ORDERS {
        accepted(&inputs, &inputs.product(sum));
    }
}

#[test]
fn zero_rows_and_columns() {
    let mut inputs = Inputs::random(20, 30, 10, 0);
    inputs.a[..10].fill(0.0);
    inputs.b.iter_mut().step_by(30).for_each(|b| *b = -0.0);
    let mut c = inputs.product(fused);
    accepted(&inputs, &c);
    c[5] = 1e-30;
    rejected(&inputs, &c);
    accepted(&Inputs::constant(4, 4, 4, 0.0, 0.0), &[0.0; 16]);
}
