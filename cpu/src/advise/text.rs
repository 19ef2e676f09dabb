//! Predictions as people read them, in less than 100 columns.

use comfy_table::{CellAlignment, Table, presets};

use super::compare::{ComparedMode, Comparison};
use super::predict::Prediction;
use crate::report::number;

/// A row for each strategy, the fastest over all runs first.
pub fn predictions(all: &[Prediction], repeats: u64) -> String {
    let mut sorted: Vec<&Prediction> = all.iter().collect();
    sorted.sort_by(|one, other| one.all_ms.total_cmp(&other.all_ms));
    let over = if repeats == 1 { "in all".into() } else { format!("× {repeats}") };
    let header = ["predicted, ms", "allocate", "write", "H2D", "kernel", "D2H", "read", "run", &over, "free"];
    let rows = sorted.into_iter().map(|one| {
        let times = [
            one.allocate_ms,
            one.cpu_write_ms,
            one.h2d_ms,
            one.kernel_ms,
            one.d2h_ms,
            one.cpu_read_ms,
            one.run_ms,
            one.all_ms,
            one.free_ms,
        ];
        let name = one.strategy.name().to_owned() + if one.does_not_fit.is_some() { " (does not fit)" } else { "" };
        std::iter::once(name).chain(times.map(number)).collect()
    });
    table(&header, rows)
}

/// What the columns mean.
pub fn notes() -> &'static str {
    "Everything in the table is predicted by a model, not measured. allocate, free: the host buffers, once. write, read: one \
     thread of the CPU on the input and the output. run: all but these two, with launching and waiting. The column after it: \
     all runs with allocating and freeing. write-combined: input in write-combined, output in pinned memory. registered: \
     ordinary memory, page-locked afterwards; where it is there already, less is to be allocated."
}

/// Predicted beside measured.
pub fn comparison(found: &Comparison) -> String {
    let header = ["predicted / measured, ms", "H2D", "kernel", "D2H", "total", "total off by"];
    let cell = |predicted: f64, measured: f64| format!("{} / {}", number(predicted), number(measured));
    let rows = found.modes.iter().map(|one: &ComparedMode| {
        vec![
            one.mode.clone(),
            cell(one.predicted_h2d_ms, one.measured_h2d_ms),
            cell(one.predicted_kernel_ms, one.measured_kernel_ms),
            cell(one.predicted_d2h_ms, one.measured_d2h_ms),
            cell(one.predicted_total_ms, one.measured_total_ms),
            one.total_deviation_percent.map_or_else(|| "-".into(), |percent| format!("{percent:+.0} %")),
        ]
    });
    let table = (!found.modes.is_empty()).then(|| table(&header, rows));
    let parts = [table, not_predicted(found), Some(winners(found))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Which measured modes are in no row.
fn not_predicted(found: &Comparison) -> Option<String> {
    let names = &found.not_predicted;
    (!names.is_empty()).then(|| format!("* Measured, but not predicted by the model: {}.", names.join(", ")))
}

fn winners(found: &Comparison) -> String {
    match (&found.predicted_winner, &found.measured_winner) {
        (Some(predicted), Some(measured)) if predicted == measured => {
            format!("* {predicted} was predicted to win, and did.")
        }
        (Some(predicted), Some(measured)) if found.not_predicted.contains(measured) => {
            format!("* {predicted} was predicted to win; measured winner: {measured} (not predicted by the model).")
        }
        (Some(predicted), Some(measured)) => format!("* {predicted} was predicted to win; {measured} did."),
        (None, Some(measured)) => format!("* Measured winner: {measured} (not predicted by the model)."),
        (_, None) => "* No mode was measured.".into(),
    }
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header.to_vec());
    rows.for_each(|row| {
        table.add_row(row);
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}
