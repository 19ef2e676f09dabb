//! Everything that one call of `bandwidth` measured: what `--json` and `--csv` write. Units are in the names; GB are 10⁹
//! bytes.

use std::io::{self, Write};

use serde::Serialize;

use super::explain::explain;
use super::findings::Findings;
use super::{Measurement, Plan};
use crate::device::{Device, DeviceInfo};

/// The version of the document's layout. Rises when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// [`VERSION`].
    pub version: u32,
    /// `pagelock` and its own version.
    pub program: String,
    /// The device.
    pub device: DeviceInfo,
    /// Bytes that may be page-locked, and why.
    pub pinned_limit_bytes: u64,
    /// Where the limit comes from.
    pub pinned_limit_origin: String,
    /// Runs before the first sample of each figure.
    pub warmup_runs: u32,
    /// What the user should know, such as sizes that were left out.
    pub notes: Vec<String>,
    /// What the figures come to.
    pub findings: Findings,
    /// The same in words.
    pub explanation: Vec<String>,
    /// Every figure with every sample.
    pub measurements: Vec<Measurement>,
}

impl Document {
    /// Sums up.
    pub fn new(device: &Device, plan: &Plan, measurements: Vec<Measurement>) -> Self {
        let info = device.info().clone();
        let findings = Findings::of(&measurements, info.link.map(|link| link.bandwidth_gb_per_s()));
        let mut notes = plan.notes.clone();
        if !info.can_map_host_memory {
            notes.push(format!("{} cannot map host memory: kernels were measured on device memory alone", info.name));
        }
        if let (false, Err(why)) = (device.is_simt(), info.check_managed()) {
            notes.push(format!("managed memory was not measured: {why}"));
        }
        Self {
            version: VERSION,
            program: format!("pagelock {}", env!("CARGO_PKG_VERSION")),
            pinned_limit_bytes: device.budget().limit(),
            pinned_limit_origin: device.budget().origin().to_string(),
            warmup_runs: plan.warmup,
            notes,
            explanation: explain(&findings, &measurements, device.is_simt()),
            findings,
            measurements,
            device: info,
        }
    }
}

const HEADER: [&str; 16] = [
    "version",
    "device",
    "step",
    "memory",
    "size_bytes",
    "moved_bytes",
    "blocks",
    "stride_words",
    "rounds",
    "accesses",
    "median_ms",
    "spread_ms",
    "gb_per_s",
    "samples_ms",
    "kernel",
    "extent",
];

/// Writes one line per figure; the samples are in one field, separated by spaces.
///
/// # Errors
/// The writer's.
pub fn write_csv(document: &Document, writer: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(HEADER).map_err(io_error)?;
    let optional = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    for one in &document.measurements {
        let samples: Vec<String> = one.time_ms.samples.iter().map(f64::to_string).collect();
        let record: [String; 16] = [
            document.version.to_string(),
            document.device.name.clone(),
            one.step.name().into(),
            one.memory.into(),
            one.size_bytes.to_string(),
            one.moved_bytes.to_string(),
            optional(one.blocks),
            optional(one.stride_words),
            optional(one.rounds),
            optional(one.accesses),
            one.time_ms.median.to_string(),
            one.time_ms.spread().to_string(),
            one.gb_per_s.to_string(),
            samples.join(" "),
            one.kernel.unwrap_or_default().into(),
            optional(one.extent),
        ];
        csv.write_record(record).map_err(io_error)?;
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
