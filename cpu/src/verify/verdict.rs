//! What a check came to, for people, for JSON, and as an error.

use std::fmt;

use serde::Serialize;
use thiserror::Error;

use super::Source;
use super::bounds::Problem;
use super::tally::{Entry, Region, Tally, Unwritten};

/// How a verdict was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodUsed {
    /// Every element was compared.
    Full,
    /// Every row was checked with sign vectors, and some elements were recomputed.
    Sampled,
    /// Nothing was looked at.
    Off,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing wrong was found.
    Passed,
    /// Something is wrong.
    Failed,
    /// Nothing was looked at.
    NotVerified,
}

/// What the sign vectors covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Freivalds {
    /// Sign vectors.
    pub rounds: u32,
    /// Rows of C that they covered.
    pub rows: u64,
    /// Rows of A that hold NaN or infinity, or whose products may overflow f32; elements there were sampled instead.
    pub rows_left_out: u64,
    /// Columns of B that hold NaN or infinity; elements there were sampled instead.
    pub columns_left_out: u64,
    /// Rows of C that differ by more than the statistical bound.
    pub suspicious_rows: u64,
    /// Of these, the rows that were recomputed whole, the most suspicious first.
    pub recomputed_rows: u64,
}

/// The result of one [`Verifier::check`](super::Verifier::check).
///
/// In JSON, numbers that are not finite become null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Passed, failed, or not verified.
    pub outcome: Outcome,
    /// How it was reached.
    pub method: MethodUsed,
    /// M, rows of C.
    pub rows: u64,
    /// N, columns of C.
    pub columns: u64,
    /// Elements compared one by one, with the f64 product of their row and column.
    pub compared_elements: u64,
    /// Of these, the elements that are beyond their tolerance.
    pub wrong_elements: u64,
    /// Elements that still hold the poison; both methods look at all elements for this.
    pub never_written_elements: u64,
    /// Elements compared that are NaN or infinite, and rightly so.
    pub not_finite_elements: u64,
    /// The largest |got − expected|, in the unit of C; infinite if something is NaN that should not be.
    pub largest_absolute_error: f64,
    /// The largest error as a multiple of its tolerance: at most 1 if nothing is wrong.
    pub largest_error_over_tolerance: f64,
    /// Where the error is largest as a multiple of its tolerance.
    pub worst: Option<Entry>,
    /// The first wrong element, by row and column.
    pub first_wrong: Option<Entry>,
    /// The first element that was never written, as row and column.
    pub first_never_written: Option<(usize, usize)>,
    /// Of the sampled method.
    pub freivalds: Option<Freivalds>,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// What a failure looks like.
    pub hint: Option<String>,
}

/// C is not A·B.
///
/// Says how many elements are wrong or were never written, where the first is, what was got and expected, and what the
/// failure looks like.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{0}")]
pub struct VerifyError(Box<Verdict>);

impl VerifyError {
    /// The verdict.
    pub fn verdict(&self) -> &Verdict {
        &self.0
    }
}

impl Verdict {
    /// Whether C was verified and is right. False also when nothing was verified.
    pub fn passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    /// The verdict, unless C is wrong. A verdict that nothing was verified is no error.
    ///
    /// # Errors
    /// C is not A·B.
    pub fn into_result(self) -> Result<Self, VerifyError> {
        if self.outcome == Outcome::Failed { Err(VerifyError(Box::new(self))) } else { Ok(self) }
    }

    /// The verdict of `--verify off`.
    pub(super) fn not_verified(shape: gpu::matmul::Shape) -> Self {
        Self {
            outcome: Outcome::NotVerified,
            method: MethodUsed::Off,
            rows: shape.m().into(),
            columns: shape.n().into(),
            compared_elements: 0,
            wrong_elements: 0,
            never_written_elements: 0,
            not_finite_elements: 0,
            largest_absolute_error: 0.0,
            largest_error_over_tolerance: 0.0,
            worst: None,
            first_wrong: None,
            first_never_written: None,
            freivalds: None,
            notes: Vec::new(),
            hint: None,
        }
    }

    /// Judges what was seen. `expected` gives any element of the product.
    pub(super) fn new(
        problem: &Problem<'_>,
        method: MethodUsed,
        tally: Tally,
        freivalds: Option<Freivalds>,
        c: &[f32],
        expected: &dyn Fn(usize, usize) -> f64,
    ) -> Self {
        // With generated inputs no correct row is suspicious, so one that was not looked into is held to be wrong.
        let unresolved = freivalds.map_or(0, |freivalds| freivalds.suspicious_rows - freivalds.recomputed_rows);
        let accused = problem.source == Source::Random && unresolved > 0;
        let failed = tally.wrong > 0 || tally.unwritten.count > 0 || accused;
        Self {
            outcome: if failed { Outcome::Failed } else { Outcome::Passed },
            method,
            compared_elements: tally.compared,
            wrong_elements: tally.wrong,
            never_written_elements: tally.unwritten.count,
            not_finite_elements: tally.not_finite,
            largest_absolute_error: tally.largest.map_or(0.0, |entry| entry.absolute_error),
            largest_error_over_tolerance: tally.worst.map_or(0.0, |entry| entry.error_over_tolerance()),
            worst: tally.worst,
            first_wrong: tally.first_wrong,
            first_never_written: tally.unwritten.first,
            freivalds,
            notes: notes(problem, &tally, freivalds, unresolved),
            hint: if failed { hint(problem, method, &tally, c, expected) } else { None },
            ..Self::not_verified(problem.shape)
        }
    }

    fn elements(&self) -> u64 {
        self.rows * self.columns
    }
}

/// What a reader of the verdict should know about the inputs and the bounds.
fn notes(problem: &Problem<'_>, tally: &Tally, freivalds: Option<Freivalds>, unresolved: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if tally.not_finite > 0 {
        notes.push(format!("{} of the compared elements are NaN or infinite, as they must be", tally.not_finite));
    }
    if let Some(Freivalds { rows_left_out, columns_left_out, .. }) = freivalds
        && rows_left_out + columns_left_out > 0
    {
        notes.push(format!(
            "{rows_left_out} rows and {columns_left_out} columns with NaN, infinity or possible overflow were sampled \
             instead of covered by sign vectors"
        ));
    }
    if unresolved > 0 {
        notes.push(format!("{unresolved} more rows exceed the statistical bound and were not recomputed"));
    }
    let worst_case = super::bounds::worst_case(problem.shape.k());
    if problem.source == Source::Given && worst_case > 0.1 {
        notes.push(format!(
            "at K = {} the worst-case bound is {worst_case:.1} of ‖a‖·‖b‖ and tells little",
            problem.shape.k()
        ));
    }
    notes
}

/// Says what a failure looks like, where that is a fact about the elements that were seen.
fn hint(
    problem: &Problem<'_>,
    method: MethodUsed,
    tally: &Tally,
    c: &[f32],
    expected: &dyn Fn(usize, usize) -> f64,
) -> Option<String> {
    let Unwritten { count, region, .. } = tally.unwritten;
    if count == c.len() as u64 {
        return Some("nothing was written: the kernel did not run, or it wrote elsewhere".into());
    }
    if count > 0 {
        return region.and_then(|region| place(problem, region, count, "never written"));
    }
    if c.iter().all(|&c| c == 0.0) {
        return Some("every element is zero".into());
    }
    if is_transposed(problem, c, expected) {
        return Some("C matches the transposed product".into());
    }
    // The sampled method sees too few of the wrong elements to say where they are.
    let region = tally.region.filter(|_| method == MethodUsed::Full)?;
    place(problem, region, tally.wrong, "wrong")
}

/// Where the bad elements are, if that is less than everywhere.
fn place(problem: &Problem<'_>, region: Region, count: u64, what: &str) -> Option<String> {
    let (m, n) = (problem.shape.m() as usize, problem.shape.n() as usize);
    let Region { rows: (top, bottom), columns: (left, right) } = region;
    if count == 1 || region.area() == m as u64 * n as u64 {
        return None;
    }
    let range = |first: usize, last: usize, extent: usize, name: &str| match (first, last) {
        (0, last) if last + 1 == extent => format!("all {name}s"),
        (first, last) if first == last && last + 1 == extent => format!("the last {name}"),
        (first, last) if last + 1 == extent => format!("the last {} {name}s", extent - first),
        (first, last) if first == last => format!("{name} {first}"),
        (first, last) => format!("{name}s {first} to {last}"),
    };
    let (rows, columns) = (range(top, bottom, m, "row"), range(left, right, n, "column"));
    let every = if region.area() == count { "exactly" } else { "only elements in" };
    let edge = (top > 0 && bottom + 1 == m && m - top <= m / 2) || (left > 0 && right + 1 == n && n - left <= n / 2);
    let advice = if edge { "; look at the last tile" } else { "" };
    Some(format!("{every} {rows} × {columns} are {what}{advice}"))
}

/// Whether c_ij is what c_ji should be, for random-looking elements of a square C that is not symmetric itself.
fn is_transposed(problem: &Problem<'_>, c: &[f32], expected: &dyn Fn(usize, usize) -> f64) -> bool {
    /// Elements asked, and the stride between them: a prime, so that rows and columns vary.
    const ASKED: usize = 64;
    const STRIDE: usize = 1_000_003;
    let n = problem.shape.n() as usize;
    if problem.shape.m() as usize != n {
        return false;
    }
    let asked = (0..ASKED).map(|step| step * STRIDE % c.len()).map(|index| (index / n, index % n));
    let mut telling = 0;
    for (i, j) in asked.filter(|(i, j)| i != j) {
        let (got, transposed) = (c[i * n + j], expected(j, i));
        if !problem.judge(j, i, got, transposed).right {
            return false;
        }
        telling += usize::from(!problem.judge(i, j, got, expected(i, j)).right);
    }
    telling > 0
}

/// `1.23e-5`, and 0 as such.
fn scientific(error: f64) -> String {
    if error == 0.0 { "0".into() } else { format!("{error:.2e}") }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome {
            Outcome::NotVerified => return write!(f, "not verified (--verify off)"),
            Outcome::Passed => self.fmt_passed(f)?,
            Outcome::Failed => self.fmt_failed(f)?,
        }
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl Verdict {
    fn fmt_passed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.freivalds {
            None => match self.elements() {
                1 => write!(f, "verified: the one element")?,
                elements => write!(f, "verified: all {elements} elements")?,
            },
            Some(freivalds) => write!(
                f,
                "verified: {} of {} rows with {} sign vectors, {} elements recomputed",
                freivalds.rows, self.rows, freivalds.rounds, self.compared_elements
            )?,
        }
        let percent = 100.0 * self.largest_error_over_tolerance;
        let error = scientific(self.largest_absolute_error);
        write!(f, ", largest error {error}, at most {percent:.1} % of the error bound")
    }

    fn fmt_failed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match self.method {
            MethodUsed::Full => format!("{} elements", self.elements()),
            _ => format!("{} recomputed elements", self.compared_elements),
        };
        write!(f, "C is not A·B: {} of {of} are wrong", self.wrong_elements)?;
        if self.never_written_elements > 0 {
            write!(f, ", {} of {} were never written", self.never_written_elements, self.elements())?;
        }
        if let Some(freivalds) = self.freivalds.filter(|freivalds| freivalds.suspicious_rows > 0) {
            write!(f, ", {} of {} rows differ beyond rounding", freivalds.suspicious_rows, freivalds.rows)?;
        }
        if let Some(Entry { row, column, got, expected, tolerance, .. }) = self.first_wrong {
            write!(f, "; first wrong C[{row}, {column}] = {got:e}, expected {expected:.8e} ± {tolerance:.1e}")?;
        }
        if let Some((row, column)) = self.first_never_written {
            write!(f, "; first never written C[{row}, {column}]")?;
        }
        match self.worst.filter(|_| self.wrong_elements > 0) {
            Some(worst) => write!(
                f,
                "; largest error {:.2e}, worst at [{}, {}]",
                self.largest_absolute_error, worst.row, worst.column
            ),
            None => Ok(()),
        }
    }
}
