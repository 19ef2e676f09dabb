//! What the figures come to. Pure functions of numbers, so that they can be tried with made-up ones.

use serde::Serialize;

use super::measurement::{Measurement, Step, select};
use super::memory::{DEVICE, MAPPED};

/// A grid counts as the best when it is this close to it.
const CLOSE: f64 = 0.99;

/// What the figures come to. Absent is what was not measured.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// What the link could carry one way, in theory.
    pub link_limit_gb_per_s: Option<f64>,
    /// The fastest copy to the device, and its share of the limit.
    pub best_h2d: Option<Best>,
    /// The fastest copy to the host.
    pub best_d2h: Option<Best>,
    /// Both directions at once over the better of one, at the largest size, of pinned memory.
    pub both_over_one: Option<f64>,
    /// From this size on pinned memory is the faster to copy from.
    pub pinned_beats_pageable_from_bytes: Option<u64>,
    /// From how many reads on a copy is the faster; absent also where reading in place wins throughout.
    pub copy_pays_from_reads: Option<u32>,
    /// The smallest grid that reads over the link as fast as any.
    pub smallest_reading_grid: Option<SmallestGrid>,
    /// The smallest grid that writes over the link as fast as any.
    pub smallest_writing_grid: Option<SmallestGrid>,
    /// One dependent read of mapped memory.
    pub link_latency_ns: Option<f64>,
    /// One dependent read of device memory.
    pub device_latency_ns: Option<f64>,
}

/// The fastest of some figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// The kind of memory.
    pub memory: &'static str,
    /// The size.
    pub size_bytes: u64,
    /// Its rate.
    pub gb_per_s: f64,
    /// Of the link's limit.
    pub share_of_limit: Option<f64>,
}

/// A grid and what it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SmallestGrid {
    /// Blocks of 256 threads.
    pub blocks: u32,
    /// Its rate.
    pub gb_per_s: f64,
    /// The rate of the best grid.
    pub best_gb_per_s: f64,
}

impl Findings {
    /// Sums up.
    pub fn of(all: &[Measurement], link_limit_gb_per_s: Option<f64>) -> Self {
        let grid = |step| smallest_grid(select(all, step, MAPPED).filter_map(|one| Some((one.blocks?, one.gb_per_s))));
        let latency = |memory| select(all, Step::Latency, memory).find_map(Measurement::latency_ns);
        let times = |step| select(all, step, MAPPED).filter_map(|one| Some((one.rounds?, one.time_ms.median)));
        let copies = |memory| select(all, Step::H2d, memory).map(|one| (one.size_bytes, one.time_ms.median));
        Self {
            link_limit_gb_per_s,
            best_h2d: best(all, Step::H2d, link_limit_gb_per_s),
            best_d2h: best(all, Step::D2h, link_limit_gb_per_s),
            both_over_one: both_over_one(all),
            pinned_beats_pageable_from_bytes: wins_from(copies("pinned"), copies("pageable")),
            copy_pays_from_reads: wins_from(times(Step::ReuseCopied), times(Step::ReuseInPlace)),
            smallest_reading_grid: grid(Step::GridRead),
            smallest_writing_grid: grid(Step::GridWrite),
            link_latency_ns: latency(MAPPED),
            device_latency_ns: latency(DEVICE),
        }
    }
}

fn best(all: &[Measurement], step: Step, limit: Option<f64>) -> Option<Best> {
    let one = all.iter().filter(|one| one.step == step).max_by(|one, other| one.gb_per_s.total_cmp(&other.gb_per_s))?;
    Some(Best {
        memory: one.memory,
        size_bytes: one.size_bytes,
        gb_per_s: one.gb_per_s,
        share_of_limit: limit.map(|limit| one.gb_per_s / limit),
    })
}

fn both_over_one(all: &[Measurement]) -> Option<f64> {
    let both = select(all, Step::Both, "pinned").last()?;
    let alone =
        |step| select(all, step, "pinned").find(|one| one.size_bytes == both.size_bytes).map(|one| one.gb_per_s);
    let one = alone(Step::H2d)?.max(alone(Step::D2h)?);
    (one > 0.0).then(|| both.gb_per_s / one)
}

/// The first point from which on `one` takes less time than `other` at every point that both have.
pub fn wins_from<P: Copy + PartialEq>(
    one: impl Iterator<Item = (P, f64)>,
    other: impl Iterator<Item = (P, f64)>,
) -> Option<P> {
    let other: Vec<(P, f64)> = other.collect();
    let mut first = None;
    for (point, time) in one {
        let Some((_, against)) = other.iter().find(|(at, _)| *at == point) else { continue };
        first = if time < *against { first.or(Some(point)) } else { None };
    }
    first
}

/// The first grid that comes within 1 % of the best; grids come in ascending order.
pub fn smallest_grid(rates: impl Iterator<Item = (u32, f64)>) -> Option<SmallestGrid> {
    let rates: Vec<(u32, f64)> = rates.collect();
    let best_gb_per_s = rates.iter().map(|(_, rate)| *rate).reduce(f64::max)?;
    let &(blocks, gb_per_s) = rates.iter().find(|(_, rate)| *rate >= CLOSE * best_gb_per_s)?;
    Some(SmallestGrid { blocks, gb_per_s, best_gb_per_s })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Series;
    use std::time::Duration;

    #[test]
    fn the_smallest_grid_is_within_one_percent_of_the_best() {
        let rates = [(1, 3.4), (2, 6.9), (4, 13.6), (8, 27.0), (16, 50.9), (32, 51.2), (64, 51.3), (128, 50.0)];
        let found = smallest_grid(rates.into_iter()).unwrap();
        assert_eq!(found, SmallestGrid { blocks: 16, gb_per_s: 50.9, best_gb_per_s: 51.3 });
        assert_eq!(smallest_grid([(1, 50.7), (2, 51.3)].into_iter()).unwrap().blocks, 2, "1.2 % is too far");
        assert_eq!(smallest_grid([].into_iter()), None);
    }

    #[test]
    fn a_win_must_last() {
        let pinned = [(4, 9.0), (16, 5.0), (64, 9.0), (256, 10.0), (1024, 20.0)];
        let pageable = [(4, 8.0), (16, 6.0), (64, 8.0), (256, 12.0), (1024, 40.0)];
        let from = |one: &[(u64, f64)], other: &[(u64, f64)]| wins_from(one.iter().copied(), other.iter().copied());
        assert_eq!(from(&pinned, &pageable), Some(256), "a win at 16 that 64 takes back is none");
        assert_eq!(from(&pageable, &pinned), None);
        assert_eq!(from(&pinned, &pinned), None, "a tie is no win");
        assert_eq!(from(&pinned, &pageable[3..]), Some(256), "points that one side lacks say nothing");
    }

    fn one(step: Step, memory: &'static str, bytes: u64, ms: u64) -> Measurement {
        Measurement::new(step, memory, bytes, Series::of([Duration::from_millis(ms)]))
    }

    #[test]
    fn figures_are_found_and_summed_up() {
        let rounds = |step, rounds, ms| Measurement { rounds: Some(rounds), ..one(step, MAPPED, 100_000_000, ms) };
        let all = [
            one(Step::H2d, "pageable", 100_000_000, 10),
            one(Step::H2d, "pinned", 100_000_000, 2),
            one(Step::D2h, "pinned", 100_000_000, 4),
            one(Step::Both, "pinned", 100_000_000, 4).moving(200_000_000),
            rounds(Step::ReuseInPlace, 1, 2),
            rounds(Step::ReuseCopied, 1, 3),
            rounds(Step::ReuseInPlace, 2, 4),
            rounds(Step::ReuseCopied, 2, 3),
            Measurement { accesses: Some(1000), ..one(Step::Latency, MAPPED, 4096, 1) },
        ];
        let found = Findings::of(&all, Some(63.0));
        let best = found.best_h2d.unwrap();
        assert_eq!((best.memory, best.gb_per_s), ("pinned", 50.0));
        assert!((best.share_of_limit.unwrap() - 50.0 / 63.0).abs() < 1e-9);
        assert_eq!(found.both_over_one, Some(1.0), "50 GB/s both ways over 50 one way");
        assert_eq!(found.pinned_beats_pageable_from_bytes, Some(100_000_000));
        assert_eq!(found.copy_pays_from_reads, Some(2));
        assert_eq!(found.link_latency_ns, Some(1000.0));
        assert_eq!(found.device_latency_ns, None);
    }

    #[test]
    fn nothing_measured_is_nothing_found() {
        let found = Findings::of(&[], None);
        assert!(found.best_h2d.is_none() && found.both_over_one.is_none() && found.copy_pays_from_reads.is_none());
    }
}
