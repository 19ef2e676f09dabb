//! The choice, and its reasons in words that are computed from the numbers.

use serde::Serialize;

use super::job::{Compute, Job};
use super::machine::Machine;
use super::predict::{Prediction, predict};
use super::strategy::Strategy;
use crate::report::{ms, number, ordinal};

/// Differences below this are called a tie.
const TIE: f64 = 1.03;

/// Beyond so many reads of each byte nobody asks for the crossover.
const MOST_READS: f64 = 1e6;

/// What to use, and why. All of it rests on predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// The fastest over all runs, with allocating and freeing, of those that fit; absent where none does.
    pub strategy: Option<Strategy>,
    /// The fastest for one run whose buffers are there already.
    pub fastest_run: Option<Strategy>,
    /// From which run on page-locking has paid for itself against pageable memory; absent where it never does.
    pub pinning_pays_from_run: Option<u64>,
    /// The strategy that `reasons` set against pageable memory, and from which run on it is ahead: the recommended one, or
    /// where that is pageable the first to get ahead. Absent where pageable memory does not fit or is not known.
    pub overtakes_pageable: Option<Overtakes>,
    /// From how many reads of each byte on copying wins over zero-copy; 0 where it always does, absent where it never does
    /// or where the job's reads are given by its kernel.
    pub copying_wins_from_reads: Option<f64>,
    /// In words.
    pub reasons: Vec<String>,
}

/// A strategy against pageable memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overtakes {
    /// Which.
    pub strategy: Strategy,
    /// The first run after which it has taken less in all; absent where that never comes.
    pub from_run: Option<u64>,
}

/// Chooses.
pub fn recommend(job: &Job, machine: &Machine, all: &[Prediction]) -> Recommendation {
    let mut fitting: Vec<&Prediction> = all.iter().filter(|one| one.does_not_fit.is_none()).collect();
    let fastest_run = fastest(&fitting, |one| one.run_ms);
    fitting.sort_by(|one, other| one.all_ms.total_cmp(&other.all_ms));
    let find = |strategy| all.iter().find(|one| one.strategy == strategy);
    let pinning_pays_from_run =
        find(Strategy::Pageable).zip(find(Strategy::Pinned)).and_then(|(from, to)| pays(from, to));
    let overtaking = overtaking(&fitting);
    let crossover = crossover(job, machine);

    let mut reasons = Vec::new();
    match fitting.first() {
        None => reasons.push(
            "no strategy fits: cut the job into pieces that do, and send one while the last is worked on.".into(),
        ),
        Some(best) => {
            reasons.push(winner(job, best, fitting.get(1).copied(), all));
            reasons.extend(fitting.get(1).and_then(|second| decides(job, best, second)));
            reasons.push(largest_part(best));
            reasons.extend(once_there(best, &fitting, fastest_run));
        }
    }
    reasons.extend(overtaking.map(|(pageable, other)| against_pageable(pageable, other)));
    reasons.extend(reads(job, find(Strategy::Mapped), find(Strategy::Pinned), crossover));
    reasons.extend(assumed(job, machine));
    reasons.extend(missing(all));
    Recommendation {
        strategy: fitting.first().map(|one| one.strategy),
        fastest_run,
        pinning_pays_from_run,
        overtakes_pageable: overtaking
            .map(|(pageable, other)| Overtakes { strategy: other.strategy, from_run: pays(pageable, other) }),
        copying_wins_from_reads: crossover,
        reasons,
    }
}

/// The one with the least of something; the first of equals.
pub(super) fn fastest(all: &[&Prediction], time: impl Fn(&Prediction) -> f64) -> Option<Strategy> {
    all.iter().min_by(|one, other| time(one).total_cmp(&time(other))).map(|one| one.strategy)
}

fn runs(repeats: u64) -> String {
    if repeats == 1 { "one run".into() } else { format!("{repeats} runs") }
}

fn winner(job: &Job, best: &Prediction, second: Option<&Prediction>, all: &[Prediction]) -> String {
    let what = format!("{}, allocating included", runs(job.repeats));
    let name = best.strategy.name();
    let Some(second) = second else {
        return format!("{name} is the only one {}: {} predicted for {what}.", alone(all), ms(best.all_ms));
    };
    let (other, factor) = (second.strategy.name(), second.all_ms / best.all_ms.max(f64::MIN_POSITIVE));
    if factor < TIE {
        return format!(
            "{name} and {other} are predicted to be even for {what}: {} against {}.",
            ms(best.all_ms),
            ms(second.all_ms)
        );
    }
    format!(
        "{name} is predicted to be the fastest for {what}: {}; {other} comes next and takes {factor:.2} times as long.",
        ms(best.all_ms)
    )
}

/// Why the only one that fits is the only one: the others do not, or nobody knows their figures.
fn alone(all: &[Prediction]) -> String {
    match all.len() {
        1 => "whose figures are known".into(),
        known if known < Strategy::ALL.len() => {
            let known: Vec<&str> = all.iter().map(|one| one.strategy.name()).collect();
            format!("that fits of those whose figures are known ({})", known.join(", "))
        }
        _ => "that fits".into(),
    }
}

/// The part in which the winner is ahead of the next the most.
fn decides(job: &Job, best: &Prediction, second: &Prediction) -> Option<String> {
    let runs = job.repeats as f64;
    let setup = ("allocating and freeing", best.setup_ms(), second.setup_ms());
    let stages = best.stages().into_iter().zip(second.stages());
    let parts = stages.map(|((name, best), (_, second))| (name, best * runs, second * runs)).chain([setup]);
    let (name, ours, theirs) = parts.max_by(|one, other| (one.2 - one.1).total_cmp(&(other.2 - other.1)))?;
    let ahead = second.all_ms / best.all_ms.max(f64::MIN_POSITIVE) >= TIE;
    ahead.then(|| {
        format!("What decides: {name}, {} over all against {} with {}.", ms(ours), ms(theirs), second.strategy.name())
    })
}

fn largest_part(best: &Prediction) -> String {
    let (name, time) =
        best.stages().into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or(("nothing", 0.0));
    format!(
        "Of a run's {}, {name} takes {} ({:.0} %).",
        ms(best.run_ms),
        ms(time),
        100.0 * time / best.run_ms.max(f64::MIN_POSITIVE)
    )
}

/// What wins where the buffers are there already, if that is another and by more than a tie.
fn once_there(best: &Prediction, fitting: &[&Prediction], fastest_run: Option<Strategy>) -> Option<String> {
    let run = fitting.iter().find(|one| Some(one.strategy) == fastest_run && one.strategy != best.strategy)?;
    (best.run_ms >= TIE * run.run_ms).then_some(())?;
    Some(format!(
        "Where the buffers are there already, {} is predicted to be the fastest: {} a run against {}.",
        run.strategy.name(),
        ms(run.run_ms),
        ms(best.run_ms)
    ))
}

/// The first run at which the dearer setup has been earned.
fn pays(from: &Prediction, to: &Prediction) -> Option<u64> {
    let (extra, saved) = (to.setup_ms() - from.setup_ms(), from.run_ms - to.run_ms);
    match (extra <= 0.0, saved > 0.0) {
        (true, true) => Some(1),
        (false, true) => Some((extra / saved).ceil().max(1.0) as u64),
        _ => None,
    }
}

/// Pageable memory, and what is to be set against it: the best of all, or where that is pageable memory itself, the first
/// to get ahead of it, or else what gets closest. `fitting` has the best first.
fn overtaking<'p>(fitting: &[&'p Prediction]) -> Option<(&'p Prediction, &'p Prediction)> {
    let pageable = fitting.iter().copied().find(|one| one.strategy == Strategy::Pageable)?;
    let others = || fitting.iter().copied().filter(|one| one.strategy != Strategy::Pageable);
    let other = match fitting.first() {
        Some(best) if best.strategy != Strategy::Pageable => Some(*best),
        _ => others()
            .filter(|one| pays(pageable, one).is_some())
            .min_by_key(|one| pays(pageable, one))
            .or(others().next()),
    };
    Some((pageable, other?))
}

fn against_pageable(pageable: &Prediction, other: &Prediction) -> String {
    let (extra, saved) = (other.setup_ms() - pageable.setup_ms(), pageable.run_ms - other.run_ms);
    let name = other.strategy.name();
    match pays(pageable, other) {
        None if extra < 0.0 => format!(
            "Against pageable memory, {name} costs {} less to set up and a run takes {} longer.",
            ms(-extra),
            ms(-saved)
        ),
        None => format!("Against pageable memory, {name} is not predicted to pay: a run takes no less time."),
        Some(_) if extra <= 0.0 => format!(
            "Against pageable memory, {name} pays from the first run: it costs no more to set up and saves {} a run.",
            ms(saved)
        ),
        Some(run) => format!(
            "Against pageable memory, {name} costs {} more to set up and saves {} a run, so it pays from the {} run on.",
            ms(extra),
            ms(saved),
            ordinal(run)
        ),
    }
}

/// From how many reads on a run from pinned memory takes less than one in place. Both take longer with more reads, and in
/// place more so, for the link is slower than the device's memory.
fn crossover(job: &Job, machine: &Machine) -> Option<f64> {
    if matches!(job.compute, Compute::Product { .. }) {
        return None;
    }
    let copying_wins = |reads: f64| {
        let all = predict(&Job { reads_per_byte: reads, ..job.clone() }, machine).ok()?;
        let run = |strategy| all.iter().find(|one| one.strategy == strategy).map(|one| one.run_ms);
        Some(run(Strategy::Pinned)? < run(Strategy::Mapped)?)
    };
    if copying_wins(0.0)? {
        return Some(0.0);
    }
    if !copying_wins(MOST_READS)? {
        return None;
    }
    let (mut low, mut high) = (0.0, MOST_READS);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if copying_wins(middle)? { high = middle } else { low = middle }
    }
    Some(high)
}

fn reads(
    job: &Job,
    mapped: Option<&Prediction>,
    pinned: Option<&Prediction>,
    crossover: Option<f64>,
) -> Option<String> {
    let (mapped, pinned) = (mapped?, pinned?);
    let read = number(job.reads_per_byte);
    if matches!(job.compute, Compute::Product { .. }) {
        let factor = mapped.run_ms / pinned.run_ms.max(f64::MIN_POSITIVE);
        return Some(format!(
            "The kernel reads each byte of the input {read} times; over the link that makes a zero-copy run {factor:.2} times \
             as long as one that copies."
        ));
    }
    Some(match crossover {
        Some(reads) if reads <= 0.0 => "Copying wins over zero-copy however little of the input is read.".into(),
        Some(reads) => format!(
            "Zero-copy wins up to {} reads of each byte of the input, copying beyond; this job has {read}.",
            number(reads)
        ),
        None => {
            "Zero-copy takes no longer than copying however often the input is read: the arithmetic hides the link."
                .into()
        }
    })
}

/// What the model had to assume of the job's kernel, because the machine's parameters do not have it.
pub fn assumed(job: &Job, machine: &Machine) -> Option<String> {
    let Compute::Product { kernel, flops, kernel_ms: None } = job.compute else { return None };
    if machine.product_ms(kernel, "device", flops).is_some() {
        return None;
    }
    let (rate, best) = machine.best_tflop_per_s()?;
    Some(format!(
        "Kernel {kernel} is not among the figures of this machine: it is taken to be as fast as {best}, {} TFLOP/s.",
        number(rate)
    ))
}

/// What does not fit, and what is not there.
fn missing(all: &[Prediction]) -> Vec<String> {
    let refused = all
        .iter()
        .filter_map(|one| Some(format!("{} does not fit: {}.", one.strategy.name(), one.does_not_fit.as_ref()?)));
    let absent: Vec<&str> = Strategy::ALL
        .into_iter()
        .filter(|strategy| all.iter().all(|one| one.strategy != *strategy))
        .map(Strategy::name)
        .collect();
    let absent = (!absent.is_empty()).then(|| format!("The parameters say nothing of {}.", absent.join(", ")));
    refused.chain(absent).collect()
}
