//! What was seen while elements were compared, kept per thread and merged.

use serde::Serialize;

use super::bounds::Problem;

/// One element of C and what was expected there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Row of C, from 0.
    pub row: usize,
    /// Column of C, from 0.
    pub column: usize,
    /// What the device computed. (JSON has no NaN and no infinity; they become null.)
    pub got: f32,
    /// The product in f64.
    pub expected: f64,
    /// How far `got` may be from `expected`.
    pub tolerance: f64,
    /// |got − expected|; infinite where just one of them is finite.
    pub absolute_error: f64,
}

impl Entry {
    /// The error as a multiple of its tolerance: at most 1 if right.
    pub fn error_over_tolerance(&self) -> f64 {
        if self.absolute_error == 0.0 { 0.0 } else { self.absolute_error / self.tolerance }
    }
}

/// The smallest rectangle around some elements: rows and columns, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub rows: (usize, usize),
    pub columns: (usize, usize),
}

impl Region {
    fn at(row: usize, column: usize) -> Self {
        Self { rows: (row, row), columns: (column, column) }
    }

    fn join(self, other: Self) -> Self {
        let join = |a: (usize, usize), b: (usize, usize)| (a.0.min(b.0), a.1.max(b.1));
        Self { rows: join(self.rows, other.rows), columns: join(self.columns, other.columns) }
    }

    /// Elements inside.
    pub fn area(&self) -> u64 {
        (self.rows.1 - self.rows.0 + 1) as u64 * (self.columns.1 - self.columns.0 + 1) as u64
    }
}

/// Elements that still hold the poison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unwritten {
    pub count: u64,
    /// The first, as row and column.
    pub first: Option<(usize, usize)>,
    pub region: Option<Region>,
}

impl Unwritten {
    fn see(&mut self, row: usize, column: usize) {
        self.merge(Self { count: 1, first: Some((row, column)), region: Some(Region::at(row, column)) });
    }

    /// Looks through row `row` of C.
    pub fn scan(row: usize, elements: &[f32], poison: u32) -> Self {
        let mut seen = Self::default();
        // The poison is rare: ask for it in a loop that the compiler vectorises, find it in one that it does not.
        if elements.iter().fold(false, |any, c| any | (c.to_bits() == poison)) {
            for (column, _) in elements.iter().enumerate().filter(|(_, c)| c.to_bits() == poison) {
                seen.see(row, column);
            }
        }
        seen
    }

    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.region = [self.region, other.region].into_iter().flatten().reduce(Region::join);
    }
}

/// The comparisons so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Elements compared, those never written included.
    pub compared: u64,
    /// Beyond their tolerance.
    pub wrong: u64,
    pub unwritten: Unwritten,
    /// Right, and not finite.
    pub not_finite: u64,
    /// Around the wrong ones.
    pub region: Option<Region>,
    pub first_wrong: Option<Entry>,
    /// The largest |got − expected|.
    pub largest: Option<Entry>,
    /// The largest error as a multiple of its tolerance.
    pub worst: Option<Entry>,
}

impl Tally {
    /// Compares one element.
    pub fn see(&mut self, problem: &Problem<'_>, poison: u32, row: usize, column: usize, got: f32, expected: f64) {
        self.compared += 1;
        if got.to_bits() == poison {
            return self.unwritten.see(row, column);
        }
        let judgement = problem.judge(row, column, got, expected);
        let (tolerance, absolute_error) = (judgement.tolerance, judgement.error);
        let entry = Entry { row, column, got, expected, tolerance, absolute_error };
        self.largest = larger(self.largest, Some(entry), |entry| entry.absolute_error);
        self.worst = larger(self.worst, Some(entry), Entry::error_over_tolerance);
        if !judgement.right {
            self.wrong += 1;
            self.first_wrong = earlier(self.first_wrong, Some(entry));
            let here = Region::at(row, column);
            self.region = Some(self.region.map_or(here, |region| region.join(here)));
        } else if !got.is_finite() {
            self.not_finite += 1;
        }
    }

    /// Both together; the order does not matter.
    pub fn merge(mut self, other: Self) -> Self {
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.unwritten.merge(other.unwritten);
        self.not_finite += other.not_finite;
        self.region = [self.region, other.region].into_iter().flatten().reduce(Region::join);
        self.first_wrong = earlier(self.first_wrong, other.first_wrong);
        self.largest = larger(self.largest, other.largest, |entry| entry.absolute_error);
        self.worst = larger(self.worst, other.worst, Entry::error_over_tolerance);
        self
    }
}

fn earlier(a: Option<Entry>, b: Option<Entry>) -> Option<Entry> {
    [a, b].into_iter().flatten().min_by_key(|entry| (entry.row, entry.column))
}

/// The entry with the larger key; of equals the earlier, so that the result does not depend on threads.
fn larger(a: Option<Entry>, b: Option<Entry>, key: impl Fn(&Entry) -> f64) -> Option<Entry> {
    let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
    let order = key(&x).total_cmp(&key(&y)).then_with(|| (y.row, y.column).cmp(&(x.row, x.column)));
    if order.is_ge() { a } else { b }
}
