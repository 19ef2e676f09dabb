//! What won and why, in plain words and with the numbers that say so.

use gpu::matmul::{MatmulKernel, Shape};

use super::document::ModeReport;
use crate::matmul::Mode;

/// Differences below this are called a tie.
const TIE: f64 = 1.03;

/// Sentences about one size.
pub fn explain(kernel: MatmulKernel, shape: Shape, modes: &[ModeReport], on_simt: bool) -> Vec<String> {
    if on_simt { explain_simt(modes) } else { explain_gpu(kernel, shape, modes) }
}

/// No link lies between a CPU and itself: what can be seen is how often each mode copies, and no winner is named.
fn explain_simt(modes: &[ModeReport]) -> Vec<String> {
    let copied: Vec<String> = modes
        .iter()
        .map(|report| match report.mode {
            Mode::Pageable => {
                format!("pageable copies everything twice, through a bounce buffer ({})", ms(report.copy_ms()))
            }
            Mode::Staged => {
                format!("staged does so through chunks that several threads fill ({})", ms(report.copy_ms()))
            }
            Mode::Pinned => format!("pinned copies once ({})", ms(report.copy_ms())),
            Mode::Mapped => "mapped copies nothing".into(),
            Mode::Managed => "managed copies nothing".into(),
            Mode::Prefetched => "prefetched would move pages, of which none is elsewhere".into(),
        })
        .collect();
    if copied.is_empty() {
        return Vec::new();
    }
    vec![
        format!("What the modes do: {}.", copied.join(", ")),
        "The kernel takes the rest, and it is the same kernel on the same cores in every mode.".into(),
    ]
}

fn explain_gpu(kernel: MatmulKernel, shape: Shape, modes: &[ModeReport]) -> Vec<String> {
    let find = |mode| modes.iter().find(|report| report.mode == mode);
    let mut said: Vec<String> = winner(modes).into_iter().collect();
    if let (Some(pageable), Some(pinned)) = (find(Mode::Pageable), find(Mode::Pinned)) {
        said.push(copies(pageable, pinned));
        said.push(when_pinning_pays(pageable, pinned));
    }
    if let (Some(staged), Some(pinned)) = (find(Mode::Staged), find(Mode::Pinned)) {
        said.push(staging(staged, pinned));
    }
    if let Some(mapped) = find(Mode::Mapped) {
        said.push(zero_copy(kernel, shape, mapped, find(Mode::Pinned).or(find(Mode::Pageable))));
    }
    if let Some(managed) = find(Mode::Managed) {
        said.push(faults(managed, find(Mode::Prefetched)));
    }
    if let (Some(prefetched), Some(pinned)) = (find(Mode::Prefetched), find(Mode::Pinned)) {
        said.push(prefetches(prefetched, pinned));
    }
    said
}

/// Managed memory moves its pages at the kernel's touch, or ahead of it.
fn faults(managed: &ModeReport, prefetched: Option<&ModeReport>) -> String {
    let Some(prefetched) = prefetched else {
        return "Managed memory alone was measured; add --mode prefetched to see what its faults cost.".into();
    };
    let factor = managed.total_ms.median / prefetched.total_ms.median;
    format!(
        "Without prefetches managed memory takes {factor:.2} times as long as with them: by faults the kernel takes {} and \
         C another {} to come back; with prefetches the kernel takes {}, and all moves {}.",
        ms(managed.kernel_ms.median),
        ms(managed.d2h_ms.median),
        ms(prefetched.kernel_ms.median),
        ms(prefetched.copy_ms())
    )
}

fn prefetches(prefetched: &ModeReport, pinned: &ModeReport) -> String {
    format!(
        "Prefetched managed memory takes {:.2} times as long as pinned: its moves take {} where the copies take {}, and C is \
         moved both ways.",
        prefetched.total_ms.median / pinned.total_ms.median,
        ms(prefetched.copy_ms()),
        ms(pinned.copy_ms())
    )
}

fn winner(modes: &[ModeReport]) -> Option<String> {
    let mut ranked: Vec<&ModeReport> = modes.iter().collect();
    ranked.sort_by(|one, other| one.total_ms.median.total_cmp(&other.total_ms.median));
    let (first, second) = (ranked.first()?, ranked.get(1)?);
    let factor = second.total_ms.median / first.total_ms.median;
    let (first_name, second_name) = (first.mode.name(), second.mode.name());
    Some(if factor < TIE {
        format!(
            "{first_name} and {second_name} are even, {} against {}.",
            ms(first.total_ms.median),
            ms(second.total_ms.median)
        )
    } else {
        format!(
            "{first_name} is the fastest, {} from host data to host result; {second_name} takes {factor:.2} times as long.",
            ms(first.total_ms.median)
        )
    })
}

fn copies(pageable: &ModeReport, pinned: &ModeReport) -> String {
    let share = 100.0 * pageable.copy_ms() / pageable.total_ms.median;
    format!(
        "Copies take {} from pageable memory ({share:.0} % of that run) and {} from pinned memory: {:.1} against {:.1} GB/s.",
        ms(pageable.copy_ms()),
        ms(pinned.copy_ms()),
        pageable.link_gb_per_s,
        pinned.link_gb_per_s
    )
}

fn staging(staged: &ModeReport, pinned: &ModeReport) -> String {
    format!(
        "Pageable memory that several threads stage reaches {:.2} of the pinned copies' speed, with {} to set up.",
        pinned.copy_ms() / staged.copy_ms(),
        ms(staged.setup_ms())
    )
}

/// Pinning costs once and saves at each use.
fn when_pinning_pays(pageable: &ModeReport, pinned: &ModeReport) -> String {
    let extra = pinned.setup_ms() - pageable.setup_ms();
    let saved = pageable.total_ms.median - pinned.total_ms.median;
    if saved <= 0.0 {
        return "Pinning does not pay here: a run from pinned memory takes no less time.".into();
    }
    if extra <= 0.0 {
        return format!("Pinning pays from the first use: it costs no more to set up and saves {} a run.", ms(saved));
    }
    let uses = (extra / saved).ceil();
    format!(
        "Allocating and freeing the pinned buffers costs {} more than pageable ones and each run saves {}, so pinning pays from \
         the {} use on.",
        ms(extra),
        ms(saved),
        ordinal(uses as u64)
    )
}

/// Zero-copy moves each byte once or many times, depending on how often the kernel reads it.
fn zero_copy(kernel: MatmulKernel, shape: Shape, mapped: &ModeReport, copied: Option<&ModeReport>) -> String {
    let Some(copied) = copied else {
        return "Zero-copy alone was measured; add --mode pinned to see what copying costs.".into();
    };
    let name = copied.mode.name();
    let factor = mapped.total_ms.median / copied.total_ms.median;
    let (reads_a, reads_b) = kernel.reads(shape);
    let reads = format!("{} reads each element of A {reads_a} times and of B {reads_b} times", kernel.name());
    if factor < 1.0 {
        return format!(
            "Zero-copy takes {factor:.2} times as long as {name}: the copies that it saves cost more than reading over the \
             link, though {reads} (the device's cache absorbs repeated reads of small matrices)."
        );
    }
    let mut said = format!(
        "Zero-copy takes {factor:.1} times as long as {name}: {reads}, and what no cache holds crosses the link again."
    );
    if copied.copy_ms() > 0.0 {
        let crossings = mapped.kernel_ms.median / copied.copy_ms();
        said +=
            &format!(" In the time of its kernel, {name} copies would carry the three matrices {crossings:.0} times.");
    }
    said
}

/// A time as it is said.
pub(crate) fn ms(milliseconds: f64) -> String {
    match milliseconds {
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 1.0 => format!("{ms:.2} ms"),
        ms => format!("{:.0} µs", ms * 1e3),
    }
}

/// `3rd`.
pub(crate) fn ordinal(number: u64) -> String {
    let suffix = match (number % 10, number % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Series;
    use std::time::Duration;

    fn report(mode: Mode, setup: u64, h2d: u64, kernel: u64, d2h: u64) -> ModeReport {
        let series = |ms| Series::of([Duration::from_millis(ms)]);
        ModeReport {
            mode,
            host_allocation_ms: setup as f64,
            device_allocation_ms: 0.0,
            free_ms: 0.0,
            h2d_ms: series(h2d),
            kernel_ms: series(kernel),
            d2h_ms: series(d2h),
            total_ms: series(h2d + kernel + d2h),
            link_gb_per_s: 0.0,
            kernel_tflop_per_s: 0.0,
            total_over_pageable: None,
            largest_absolute_error: None,
            verdicts: Vec::new(),
        }
    }

    fn said(modes: &[ModeReport]) -> String {
        explain(MatmulKernel::Tiled, Shape::new(64, 64, 64).unwrap(), modes, false).join(" ")
    }

    #[test]
    fn the_number_of_uses_is_the_extra_cost_over_the_saving() {
        let text = said(&[report(Mode::Pageable, 0, 60, 20, 40), report(Mode::Pinned, 170, 20, 20, 10)]);
        assert!(text.contains("pays from the 3rd use on"), "170 ms / 70 ms a run: {text}");
        assert!(text.contains("pinned is the fastest"), "{text}");
    }

    #[test]
    fn pinning_that_saves_nothing_does_not_pay() {
        let text = said(&[report(Mode::Pageable, 0, 10, 20, 10), report(Mode::Pinned, 170, 10, 20, 10)]);
        assert!(text.contains("does not pay"), "{text}");
        assert!(text.contains("even"), "{text}");
    }

    #[test]
    fn zero_copy_that_loses_is_explained_by_its_kernel() {
        let text = said(&[report(Mode::Pinned, 0, 10, 20, 10), report(Mode::Mapped, 0, 0, 400, 0)]);
        assert!(text.contains("takes 10.0 times as long as pinned"), "{text}");
        assert!(text.contains("reads each element of A 2 times"), "64 columns are 2 tiles of 32: {text}");
        assert!(text.contains("carry the three matrices 20 times"), "400 ms over 20 ms: {text}");
    }

    #[test]
    fn faults_are_held_against_prefetches_and_those_against_copies() {
        let modes = [
            report(Mode::Pinned, 0, 10, 20, 10),
            report(Mode::Managed, 0, 0, 100, 60),
            report(Mode::Prefetched, 0, 30, 20, 30),
        ];
        let text = said(&modes);
        assert!(
            text.contains(
                "takes 2.00 times as long as with them: by faults the kernel takes 100 ms and C another 60.00 ms"
            ),
            "{text}"
        );
        assert!(
            text.contains("2.00 times as long as pinned: its moves take 60.00 ms where the copies take 20"),
            "{text}"
        );
        assert!(said(&modes[1..2]).contains("add --mode prefetched"));
    }

    #[test]
    fn one_mode_alone_and_none() {
        assert!(said(&[report(Mode::Mapped, 0, 0, 1, 0)]).contains("add --mode pinned"));
        assert!(said(&[]).is_empty());
    }

    #[test]
    fn a_cpu_makes_no_claim_about_pinning() {
        let modes = [report(Mode::Pageable, 0, 60, 20, 40), report(Mode::Pinned, 170, 20, 20, 10)];
        let text = explain(MatmulKernel::Tiled, Shape::new(8, 8, 8).unwrap(), &modes, true).join(" ");
        assert!(text.contains("pinned copies once (30.00 ms)"), "{text}");
        assert!(!text.contains("pays") && !text.contains("fastest"), "{text}");
    }

    #[test]
    fn ordinals() {
        let spoken: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 112].into_iter().map(ordinal).collect();
        assert_eq!(spoken, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]);
    }
}
