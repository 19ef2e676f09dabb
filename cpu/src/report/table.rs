//! The report as people read it.

use comfy_table::{CellAlignment, Table, presets};

use super::document::{Document, Inputs, ModeReport, SizeReport};
use crate::verify::Verdict;

/// What stands above the tables: device, link, driver, kernels, inputs.
pub fn heading(document: &Document) -> String {
    let info = &document.device;
    let mut lines = vec![format!("device   {} ({})", info.name, info.kind)];
    if let Some(link) = info.link {
        lines.push(format!("link     {link}"));
    }
    lines.push(format!(
        "kernels  {}, {} (compiled by {})",
        document.kernel, info.kernels.architecture, info.kernels.compiler
    ));
    lines.push(match &document.inputs {
        Inputs::Random { seed } => format!("inputs   random in [-1, 1), --seed {seed}"),
        Inputs::Files { a, b } => format!("inputs   A from {a}, B from {b}"),
    });
    lines.extend(info.notes.iter().chain(&document.notes).map(|note| format!("note     {note}")));
    lines.join("\n")
}

/// The table of one size, with what it means.
pub fn size_table(size: &SizeReport) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(HEADER);
    for mode in &size.modes {
        table.add_row(row(mode));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let runs = size.modes.first().map_or(0, |mode| mode.total_ms.samples.len());
    let mut text = format!("C = A·B, M = {}, N = {}, K = {}, median of {runs}\n{table}\n", size.m, size.n, size.k);
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
        Some(verdict) if verdict.passed() => format!("each of {} runs {verdict}\n", verdicts.len()),
        Some(verdict) => format!("{verdict}\n"),
    }
}

const HEADER: [&str; 11] =
    ["mode", "alloc", "H2D", "kernel", "D2H", "total", "spread", "GB/s", "TFLOP/s", "/pageable", "max error"];

fn row(mode: &ModeReport) -> [String; 11] {
    [
        mode.mode.name().to_owned(),
        number(mode.host_allocation_ms + mode.device_allocation_ms),
        number(mode.h2d_ms.median),
        number(mode.kernel_ms.median),
        number(mode.d2h_ms.median),
        number(mode.total_ms.median),
        format!("±{}", number(mode.total_ms.spread())),
        number(mode.link_gb_per_s),
        number(mode.kernel_tflop_per_s),
        mode.total_over_pageable.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")),
        mode.largest_absolute_error.map_or_else(|| "-".into(), |error| format!("{error:.1e}")),
    ]
}

/// What the columns mean; printed once, under the last table.
pub fn table_notes() -> &'static str {
    "Times in ms. alloc: host and device buffers, once. H2D, kernel, D2H: device time. total: wall time from host data to \
     host result, ± half the distance between the quartiles. GB/s: bytes of A, B and C over the copies, or over the kernel \
     in mode mapped. TFLOP/s: 2·M·N·K over the kernel. /pageable: total over that of mode pageable. max error: the largest \
     difference from the f64 product."
}

/// Three significant digits, no exponent.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0);
    format!("{value:.*}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_keep_three_digits() {
        let printed: Vec<String> = [0.0, 0.000123, 0.0123, 0.5, 1.234, 12.34, 123.4, 12345.0].map(number).to_vec();
        assert_eq!(printed, ["0", "0.000123", "0.0123", "0.500", "1.23", "12.3", "123", "12345"]);
    }
}
