//! The report as a table of samples, one line a run.

use std::io::{self, Write};

use super::document::Document;

const HEADER: [&str; 11] =
    ["device", "kernel", "m", "n", "k", "mode", "run", "h2d_ms", "kernel_ms", "d2h_ms", "total_ms"];

/// Writes every measured run.
///
/// # Errors
/// The writer's.
pub fn write_csv(document: &Document, writer: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(HEADER).map_err(io_error)?;
    for size in &document.sizes {
        for mode in &size.modes {
            for run in 0..mode.total_ms.samples.len() {
                let times = [&mode.h2d_ms, &mode.kernel_ms, &mode.d2h_ms, &mode.total_ms];
                let [h2d, kernel, d2h, total] = times.map(|series| series.samples[run].to_string());
                let (m, n, k) = (size.m.to_string(), size.n.to_string(), size.k.to_string());
                let run = run.to_string();
                csv.write_record([
                    &document.device.name,
                    document.kernel,
                    &m,
                    &n,
                    &k,
                    mode.mode.name(),
                    &run,
                    &h2d,
                    &kernel,
                    &d2h,
                    &total,
                ])
                .map_err(io_error)?;
            }
        }
    }
    csv.flush()
}

/// The writer's own error: csv's conversion would hide its kind, and a pipe whose reader has left is told by the kind.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
