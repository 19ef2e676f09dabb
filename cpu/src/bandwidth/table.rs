//! The figures as people read them, in less than 100 columns.

use comfy_table::{CellAlignment, Table, presets};

use super::document::Document;
use super::explain::size;
use super::managed::{MANAGED, STEPS};
use super::measurement::{Measurement, Step, select};
use super::memory::{DEVICE, HOST_KINDS, KERNEL_KINDS, MAPPED};
use crate::report::number;

/// What stands above the tables: device, link, kernels, notes.
pub fn heading(document: &Document) -> String {
    let info = &document.device;
    let mut lines = vec![format!("device   {} ({})", info.name, info.kind)];
    lines.extend(info.link.map(|link| format!("link     {link}")));
    lines.push(format!("kernels  {} (compiled by {})", info.kernels.architecture, info.kernels.compiler));
    lines.extend(info.notes.iter().chain(&document.notes).map(|note| format!("note     {note}")));
    lines.join("\n")
}

/// All tables, each with its title.
pub fn tables(document: &Document) -> Vec<String> {
    let all = &document.measurements[..];
    let milliseconds: fn(&Measurement) -> String = |one| time(one, 1.0);
    let of_sizes = [
        ("Copies to the device (H2D), GB/s", Step::H2d, rate as fn(&Measurement) -> String),
        ("Copies to the host (D2H), GB/s", Step::D2h, rate),
        ("One copy each way at once, GB/s in sum", Step::Both, rate),
        ("Allocating, ms", Step::Allocate, milliseconds),
        ("Freeing, ms", Step::Free, milliseconds),
    ];
    let of_sizes = of_sizes.into_iter().map(|(title, step, cell)| per_size(title, all, step, cell));
    let others = [cpu(all), kernels(all), grids(all), reuse(all), small(all), managed(all), products(all)];
    of_sizes.chain(others).flatten().collect()
}

/// What the columns mean; printed once, under the last table.
pub fn notes() -> &'static str {
    "GB/s: 10⁹ bytes per second, of the median, ± half the distance between the quartiles. Only bytes that were asked for \
     count, not those that a memory system fetches with them. Every sample was checked."
}

/// A row for each size, a column for each kind of host memory; in several tables where one is too wide.
fn per_size(title: &str, all: &[Measurement], step: Step, cell: fn(&Measurement) -> String) -> Option<String> {
    let kinds: Vec<&str> =
        HOST_KINDS.iter().map(|kind| kind.name).filter(|name| select(all, step, name).next().is_some()).collect();
    let sizes: Vec<u64> = select(all, step, kinds.first()?).map(|one| one.size_bytes).collect();
    Some(of_kinds(title, &kinds, &|kinds| {
        let rows = sizes.iter().map(|&bytes| {
            let cells = kinds.iter().map(|kind| {
                let one = select(all, step, kind).find(|one| one.size_bytes == bytes);
                one.map_or_else(|| "-".into(), cell)
            });
            std::iter::once(size(bytes)).chain(cells).collect()
        });
        (std::iter::once("size").chain(kinds.iter().copied()).map(String::from).collect(), rows.collect())
    }))
}

/// A header and rows.
type Content = (Vec<String>, Vec<Vec<String>>);

/// One table of all kinds, or two of half as many where it would be wider than text may be.
fn of_kinds(title: &str, kinds: &[&str], content: &dyn Fn(&[&str]) -> Content) -> String {
    let (header, rows) = content(kinds);
    let whole = table(title, header, rows);
    if kinds.len() < 2 || whole.lines().all(|line| line.chars().count() <= WIDTH) {
        return whole;
    }
    let (first, second) = kinds.split_at(kinds.len().div_ceil(2));
    let second = of_kinds(&format!("{title} (continued)"), second, content);
    format!("{}\n\n{second}", of_kinds(title, first, content))
}

fn cpu(all: &[Measurement]) -> Option<String> {
    let rows: Vec<Vec<String>> = HOST_KINDS
        .iter()
        .filter_map(|kind| {
            let read = select(all, Step::CpuRead, kind.name).next()?;
            let write = select(all, Step::CpuWrite, kind.name).next()?;
            Some(vec![kind.name.into(), size(read.size_bytes), rate(read), rate(write)])
        })
        .collect();
    let header = ["memory", "size", "read", "write"].map(String::from).to_vec();
    (!rows.is_empty()).then(|| table("One thread of the CPU, GB/s", header, rows))
}

/// A row for each way to touch memory, columns for the link and the device.
fn kernels(all: &[Measurement]) -> Option<String> {
    let measured = |kind: &&str| select(all, Step::Read, kind).next().is_some();
    let kinds: Vec<&str> = KERNEL_KINDS.iter().map(|kind| kind.name).filter(measured).collect();
    let bytes = select(all, Step::Read, DEVICE).next()?.size_bytes;
    let steps = [Step::Read, Step::Write, Step::Copy, Step::Strided, Step::Random];
    Some(of_kinds(&format!("Kernels on {}, GB/s", size(bytes)), &kinds, &|kinds| {
        let mut rows = Vec::new();
        for one in steps.into_iter().flat_map(|step| select(all, step, DEVICE)) {
            let label = match (one.step, one.stride_words) {
                (Step::Copy, _) => "read + write".into(),
                (step, None) => step.name().into(),
                (_, Some(stride)) => format!("stride {stride} words"),
            };
            let cells = kinds.iter().map(|kind| {
                let same = |other: &&Measurement| other.stride_words == one.stride_words;
                select(all, one.step, kind).find(same).map_or_else(|| "-".into(), rate)
            });
            rows.push(std::iter::once(label).chain(cells).collect());
        }
        let latencies = kinds.iter().map(|kind| {
            let one = select(all, Step::Latency, kind).find_map(Measurement::latency_ns);
            one.map_or_else(|| "-".into(), |ns| format!("{ns:.0} ns"))
        });
        rows.push(std::iter::once("latency".into()).chain(latencies).collect());
        (std::iter::once("access").chain(kinds.iter().copied()).map(String::from).collect(), rows)
    }))
}

fn grids(all: &[Measurement]) -> Option<String> {
    let rows: Vec<Vec<String>> = select(all, Step::GridRead, MAPPED)
        .zip(select(all, Step::GridWrite, MAPPED))
        .map(|(read, write)| {
            let blocks = read.blocks.map_or_else(String::new, |blocks| blocks.to_string());
            vec![blocks, rate(read), rate(write)]
        })
        .collect();
    let header = ["blocks", "read", "write"].map(String::from).to_vec();
    let bytes = select(all, Step::GridRead, MAPPED).next()?.size_bytes;
    Some(table(&format!("Grids of 256 threads a block on {} of mapped memory, GB/s", size(bytes)), header, rows))
}

fn reuse(all: &[Measurement]) -> Option<String> {
    let rows: Vec<Vec<String>> = select(all, Step::ReuseInPlace, MAPPED)
        .zip(select(all, Step::ReuseCopied, MAPPED))
        .map(|(in_place, copied)| {
            let rounds = in_place.rounds.map_or_else(String::new, |rounds| rounds.to_string());
            let ratio = in_place.time_ms.median / copied.time_ms.median.max(f64::MIN_POSITIVE);
            vec![rounds, time(in_place, 1.0), time(copied, 1.0), format!("{ratio:.2}")]
        })
        .collect();
    let bytes = select(all, Step::ReuseInPlace, MAPPED).next()?.size_bytes;
    let header = ["reads", "in place", "copied first", "ratio"].map(String::from).to_vec();
    Some(table(&format!("Reading {} of mapped memory several times, ms", size(bytes)), header, rows))
}

fn small(all: &[Measurement]) -> Option<String> {
    let rows: Vec<Vec<String>> = select(all, Step::SmallInPlace, MAPPED)
        .zip(select(all, Step::SmallCopied, MAPPED))
        .map(|(in_place, copied)| vec![size(in_place.size_bytes), time(in_place, 1e3), time(copied, 1e3)])
        .collect();
    let header = ["size", "in place", "copied first"].map(String::from).to_vec();
    (!rows.is_empty()).then(|| table("One launch that reads little, from call to result, µs", header, rows))
}

/// A row for each way in which pages move, and one for a kernel that finds them there.
fn managed(all: &[Measurement]) -> Option<String> {
    let rows: Vec<Vec<String>> = STEPS
        .into_iter()
        .flat_map(|step| select(all, step, MANAGED))
        .map(|one| {
            let label = match one.step {
                Step::PrefetchH2d => "to the device, prefetched",
                Step::FaultH2d => "to the device, by a kernel's faults",
                Step::PrefetchD2h => "to the host, prefetched",
                Step::FaultD2h => "to the host, by the CPU's faults",
                _ => "read by a kernel on the device",
            };
            vec![label.into(), rate(one)]
        })
        .collect();
    let bytes = select(all, STEPS[0], MANAGED).next()?.size_bytes;
    Some(table(
        &format!("Pages of {} of managed memory", size(bytes)),
        ["pages", "GB/s"].map(String::from).to_vec(),
        rows,
    ))
}

/// A row for each kernel and extent; a kernel that would take too long has no figure.
fn products(all: &[Measurement]) -> Option<String> {
    let rows: Vec<Vec<String>> = select(all, Step::Product, DEVICE)
        .map(|one| {
            let same = |other: &&Measurement| (other.kernel, other.extent) == (one.kernel, one.extent);
            let mapped = select(all, Step::Product, MAPPED).find(same);
            vec![
                format!("{} {}", one.kernel.unwrap_or_default(), one.extent.unwrap_or_default()),
                time(one, 1.0),
                mapped.map_or_else(|| "-".into(), |one| time(one, 1.0)),
            ]
        })
        .collect();
    let header = ["kernel, M = N = K", "device", "mapped"].map(String::from).to_vec();
    (!rows.is_empty()).then(|| table("Matrix products, the kernel alone on memory of a kind, ms", header, rows))
}

/// The rate with its spread.
fn rate(one: &Measurement) -> String {
    let relative = if one.time_ms.median > 0.0 { one.time_ms.spread() / one.time_ms.median } else { 0.0 };
    format!("{} ±{:.0}%", number(one.gb_per_s), 100.0 * relative)
}

/// The time in a unit of so many to a millisecond, with its spread.
fn time(one: &Measurement, units: f64) -> String {
    format!("{} ±{}", number(one.time_ms.median * units), number(one.time_ms.spread() * units))
}

fn table(title: &str, header: Vec<String>, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header);
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{title}\n{table}")
}

/// Columns that text may have.
const WIDTH: usize = 100;

/// Breaks text into lines; the first begins with `mark`, the others with as many blanks.
pub fn wrapped(text: &str, mark: &str) -> String {
    let (mut lines, mut line) = (String::new(), mark.to_owned());
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &line;
            lines.push('\n');
            line = " ".repeat(mark.chars().count());
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    lines + &line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_broken_between_words() {
        let text = wrapped(&"word ".repeat(50), "* ");
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.starts_with("* word") && text.lines().skip(1).all(|line| line.starts_with("  word")), "{text}");
        assert_eq!(text.split_whitespace().filter(|word| *word == "word").count(), 50);
        assert_eq!(wrapped("", "* "), "* ");
    }
}
