//! What the figures mean, in plain words and with the numbers that say so.

use bytesize::ByteSize;

use super::findings::{Best, Findings, SmallestGrid};
use super::managed::MANAGED;
use super::measurement::{Measurement, Step, select};
use super::memory::{DEVICE, MAPPED};

/// Sentences about a run.
pub fn explain(findings: &Findings, all: &[Measurement], on_simt: bool) -> Vec<String> {
    let mut said = Vec::new();
    if on_simt {
        said.push(
            "No link lies between a CPU and itself: device memory and every kind of host memory are the same memory here, \
             pageable copies take a detour through a bounce buffer, and the rest is what simt costs. The figures show that \
             everything works; what a link does, only a GPU can tell: --device cuda:0."
                .into(),
        );
        return said;
    }
    said.extend(limit(findings));
    said.extend(findings.both_over_one.map(both));
    said.push(match findings.pinned_beats_pageable_from_bytes {
        Some(bytes) => {
            format!("Copies to the device are faster from pinned than from pageable memory from {} on.", size(bytes))
        }
        None => "Copies to the device are not faster from pinned than from pageable memory at the largest size.".into(),
    });
    said.extend(in_place(findings, all));
    said.extend(grids(findings.smallest_reading_grid, findings.smallest_writing_grid));
    said.extend(latency(findings));
    said.extend(small(all));
    said.extend(managed(all));
    said
}

fn limit(findings: &Findings) -> Option<String> {
    let (Some(up), Some(down)) = (&findings.best_h2d, &findings.best_d2h) else { return None };
    let one = |best: &Best| {
        let share = best.share_of_limit.map_or_else(String::new, |share| format!(" ({:.0} % of it)", 100.0 * share));
        format!("{:.1} GB/s{share} from {} memory at {}", best.gb_per_s, best.memory, size(best.size_bytes))
    };
    let limit = match findings.link_limit_gb_per_s {
        Some(limit) => format!("The link's limit is {limit:.1} GB/s each way"),
        None => "The link's limit is not known".into(),
    };
    let down = one(down).replacen("from", "into", 1);
    Some(format!("{limit}; the best copy reaches {} to the device and {down} to the host.", one(up)))
}

/// Below this, two directions are not much more than one.
const WORTH_OVERLAPPING: f64 = 1.3;

fn both(factor: f64) -> String {
    let meaning = if factor >= WORTH_OVERLAPPING {
        "sending the next piece while the last result comes back is worth it"
    } else {
        "the directions stand in each other's way, and overlapping them gains little"
    };
    format!("Copies both ways at once carry {factor:.2} times what one way carries: {meaning}.")
}

fn in_place(findings: &Findings, all: &[Measurement]) -> Option<String> {
    let rate = |step, memory| select(all, step, memory).last().map(|one| one.gb_per_s);
    let (read, write) = (rate(Step::Read, MAPPED)?, rate(Step::Write, MAPPED)?);
    let device = rate(Step::Read, DEVICE)?;
    let crossover = match findings.copy_pays_from_reads {
        Some(1) => "even what is read once is read faster after a copy".into(),
        Some(reads) => format!("what is read {reads} times or more is read faster after a copy"),
        None => "reading in place won however often the memory was read".into(),
    };
    Some(format!(
        "A kernel reads mapped memory at {read:.1} GB/s and writes it at {write:.1}; device memory it reads at {device:.0}. \
         So {crossover}."
    ))
}

fn grids(reading: Option<SmallestGrid>, writing: Option<SmallestGrid>) -> Option<String> {
    let (reading, writing) = (reading?, writing?);
    let blocks = |grid: SmallestGrid| format!("{} block{}", grid.blocks, if grid.blocks == 1 { "" } else { "s" });
    Some(format!(
        "To fill the link it takes {} of 256 threads for reading ({:.1} GB/s) and {} for writing ({:.1}); the rest of the \
         device is free for other work.",
        blocks(reading),
        reading.gb_per_s,
        blocks(writing),
        writing.gb_per_s
    ))
}

fn latency(findings: &Findings) -> Option<String> {
    let (link, device) = (findings.link_latency_ns?, findings.device_latency_ns?);
    let factor = if device > 0.0 { link / device } else { 0.0 };
    Some(format!(
        "One read of mapped memory takes {link:.0} ns, {factor:.1} times one of device memory ({device:.0} ns): code that \
         waits for each word before it knows the next one pays that every time."
    ))
}

fn small(all: &[Measurement]) -> Option<String> {
    let at = |step| select(all, step, MAPPED).last().map(|one| (one.size_bytes, one.time_ms.median * 1e3));
    let ((bytes, in_place), (_, copied)) = (at(Step::SmallInPlace)?, at(Step::SmallCopied)?);
    Some(format!(
        "A launch that reads {} takes {in_place:.1} µs in place and {copied:.1} µs after a copy, wait included.",
        size(bytes)
    ))
}

fn managed(all: &[Measurement]) -> Option<String> {
    let rate = |step| select(all, step, MANAGED).last().map(|one| one.gb_per_s);
    let (ahead, faults) = (rate(Step::PrefetchH2d)?, rate(Step::FaultH2d)?);
    let (back, by_cpu) = (rate(Step::PrefetchD2h)?, rate(Step::FaultD2h)?);
    let resident = rate(Step::Read)?;
    Some(format!(
        "Pages of managed memory come to the device at {ahead:.1} GB/s by prefetch and at {faults:.1} by a kernel's faults, to \
         the host at {back:.1} by prefetch and at {by_cpu:.1} by the CPU's; once they are on the device a kernel reads them at \
         {resident:.0}."
    ))
}

/// `64 KiB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 && bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        bytes if bytes < 1 << 10 => format!("{bytes} B"),
        bytes => ByteSize(bytes).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Findings {
        let best = |gb_per_s| {
            Some(Best { memory: "pinned", size_bytes: 1 << 30, gb_per_s, share_of_limit: Some(gb_per_s / 63.0) })
        };
        let grid = |blocks| Some(SmallestGrid { blocks, gb_per_s: 51.0, best_gb_per_s: 51.2 });
        Findings {
            link_limit_gb_per_s: Some(63.0),
            best_h2d: best(55.44),
            best_d2h: best(55.3),
            both_over_one: Some(1.81),
            pinned_beats_pageable_from_bytes: Some(64 << 10),
            copy_pays_from_reads: Some(2),
            smallest_reading_grid: grid(16),
            smallest_writing_grid: grid(1),
            link_latency_ns: Some(1200.0),
            device_latency_ns: Some(600.0),
        }
    }

    #[test]
    fn the_numbers_are_in_the_sentences() {
        let text = explain(&findings(), &[], false).join("\n");
        for part in [
            "limit is 63.0 GB/s each way; the best copy reaches 55.4 GB/s (88 % of it) from pinned memory at 1 GiB to the",
            "into pinned memory",
            "1.81 times what one way carries: sending",
            "from 64 KiB on",
            "16 blocks of 256 threads for reading",
            "1 block for writing",
            "1200 ns, 2.0 times",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
    }

    #[test]
    fn a_cpu_makes_no_claim_about_links() {
        let text = explain(&findings(), &[], true).join("\n");
        assert!(text.contains("only a GPU can tell") && !text.contains("times"), "{text}");
    }

    #[test]
    fn sizes_are_short() {
        let printed: Vec<String> = [16, 4096, 1 << 20, 1 << 30, 48 << 10].map(size).to_vec();
        assert_eq!(printed, ["16 B", "4 KiB", "1 MiB", "1 GiB", "48 KiB"]);
    }
}
