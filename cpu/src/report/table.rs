//! The report as people read it.

use comfy_table::{CellAlignment, Table, presets};

use super::document::{Document, Inputs, ModeReport, SizeReport};
use crate::device::DeviceKind;
use crate::matmul::Mode;
use crate::verify::Verdict;

/// What stands above the tables: device, link, driver, kernels, inputs.
pub fn heading(document: &Document) -> String {
    let info = &document.device;
    let mut lines = vec![format!("device   {} ({})", info.name, info.kind)];
    if let Some(link) = info.link {
        lines.push(format!("link     {link}"));
    }
    let origin = compiled_by(&info.kernels.compiler);
    lines.push(format!("kernels  {}, {} ({origin})", document.kernel, info.kernels.architecture));
    if let (DeviceKind::Simt { .. }, Some(image)) = (&info.kind, ptx::IMAGES.first()) {
        let architectures: Vec<&str> = ptx::IMAGES.iter().map(|image| image.architecture).collect();
        lines.push(format!(
            "ptx      for a GPU there is {} ({})",
            architectures.join(", "),
            compiled_by(image.compiler)
        ));
    }
    lines.push(match &document.inputs {
        Inputs::Random { seed } => format!("inputs   random in [-1, 1), --seed {seed}"),
        Inputs::Files { a, b } => format!("inputs   A from {a}, B from {b}"),
    });
    lines.extend(info.notes.iter().chain(&document.notes).map(|note| format!("note     {note}")));
    lines.join("\n")
}

/// `compiled by rustc 1.96.0, …`, or what says so itself: `committed, made by rustc 1.96.0, …`.
fn compiled_by(compiler: &str) -> String {
    if compiler.starts_with("committed, ") { compiler.into() } else { format!("compiled by {compiler}") }
}

/// In which unit the table tells how fast the kernel was: a CPU would be 0.00 of a GPU's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    TflopPerS,
    GflopPerS,
}

impl Rate {
    fn of(on_simt: bool) -> Self {
        if on_simt { Self::GflopPerS } else { Self::TflopPerS }
    }

    fn name(self) -> &'static str {
        match self {
            Self::TflopPerS => "TFLOP/s",
            Self::GflopPerS => "GFLOP/s",
        }
    }

    fn of_tflop(self, tflop_per_s: f64) -> f64 {
        match self {
            Self::TflopPerS => tflop_per_s,
            Self::GflopPerS => tflop_per_s * 1e3,
        }
    }
}

/// The table of one size, with what it means.
pub fn size_table(size: &SizeReport, on_simt: bool) -> String {
    let rate = Rate::of(on_simt);
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header(rate));
    for mode in &size.modes {
        table.add_row(row(mode, rate));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let runs = size.modes.first().map_or(0, |mode| mode.total_ms.samples.len());
    let mut text = format!("C = A·B, M = {}, N = {}, K = {}, {}\n{table}\n", size.m, size.n, size.k, median_of(runs));
    text += &verification(size);
    for sentence in &size.explanation {
        text += &format!("* {sentence}\n");
    }
    text
}

/// What verification said of the run with the largest error, and of how many that is the worst.
fn verification(size: &SizeReport) -> String {
    let verdicts: Vec<&Verdict> = size.modes.iter().flat_map(|mode| &mode.verdicts).collect();
    let over_tolerance = |verdict: &&&Verdict| verdict.largest_error_over_tolerance;
    let worst = verdicts.iter().max_by(|one, other| over_tolerance(one).total_cmp(&over_tolerance(other)));
    match worst {
        None => String::new(),
        Some(verdict) if verdict.passed() => match verdicts.len() {
            1 => format!("the run was {verdict}\n"),
            runs => format!("each of {runs} runs {verdict}\n"),
        },
        Some(verdict) => format!("{verdict}\n"),
    }
}

fn median_of(runs: usize) -> String {
    if runs == 1 { "one run".into() } else { format!("median of {runs}") }
}

fn header(rate: Rate) -> [&'static str; 11] {
    ["mode", "alloc", "H2D", "kernel", "D2H", "total", "spread", "GB/s", rate.name(), "/pageable", "max error"]
}

fn row(mode: &ModeReport, rate: Rate) -> [String; 11] {
    // One run has no spread, which is another thing than one of 0.
    let spread = match mode.total_ms.samples.len() {
        0 | 1 => "-".into(),
        _ => format!("±{}", number(mode.total_ms.spread())),
    };
    [
        mode.mode.name().to_owned(),
        number(mode.host_allocation_ms + mode.device_allocation_ms),
        number(mode.h2d_ms.median),
        number(mode.kernel_ms.median),
        number(mode.d2h_ms.median),
        number(mode.total_ms.median),
        spread,
        number(mode.link_gb_per_s),
        number(rate.of_tflop(mode.kernel_tflop_per_s)),
        mode.total_over_pageable.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")),
        mode.largest_absolute_error
            .map_or_else(|| "-".into(), |error| if error == 0.0 { "0".into() } else { format!("{error:.1e}") }),
    ]
}

/// What the columns mean, in these modes; printed once, under the last table.
pub fn table_notes(modes: &[Mode], on_simt: bool) -> String {
    let mut notes = format!(
        "Times in ms. alloc: host and device buffers, once. H2D (A and B, host to device), kernel, D2H (C, device to host): \
         device time. total: wall time from host data to host result; spread: ± half the distance between the quartiles. \
         GB/s: bytes of A, B and C over the copies, or over the kernel in mode mapped. {}: 2·M·N·K over the kernel. \
         /pageable: total over that of mode pageable. max error: the largest difference from the f64 product.",
        Rate::of(on_simt).name()
    );
    if modes.iter().any(|mode| mode.is_managed()) {
        notes = format!("{notes}\n{OF_MANAGED}");
    }
    if on_simt { format!("{notes}\n{NO_LINK}") } else { notes }
}

/// What the columns mean in two modes that are not among the usual ones.
const OF_MANAGED: &str = "Mode managed: pages of A, B and C come to the device within the kernel; D2H is the CPU touching \
     each page of C; GB/s are over both. Mode prefetched: H2D moves A, B and C, D2H moves C. Either total ends when the CPU \
     has touched each page of C, and every run begins with all pages on the host.";

/// Said once: it is the same at every size.
const NO_LINK: &str = "Which mode wins where a link lies between, only a GPU can tell: --device cuda:0.";

/// Three significant digits, no exponent.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 12.0);
    format!("{value:.*}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_keep_three_digits() {
        let printed: Vec<String> = [0.0, 0.0000000123, 0.0123, 0.5, 1.234, 12.34, 123.4, 12345.0].map(number).to_vec();
        assert_eq!(printed, ["0", "0.0000000123", "0.0123", "0.500", "1.23", "12.3", "123", "12345"]);
    }
}
