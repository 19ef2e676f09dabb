//! The advice as text, JSON and CSV. Every time that a model gave has `predicted` in its name.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

use crate::advise::machine::Origin;
use crate::advise::{Comparison, Compute, Job, Machine, Pattern, Prediction, Recommendation, text};
use crate::amount;
use crate::bandwidth::table::wrapped;
use crate::report::number;

/// The version of the document's layout. Rises when a field changes its meaning or goes away.
const VERSION: u32 = 1;

/// Everything.
#[derive(Serialize)]
pub struct Document {
    version: u32,
    program: String,
    /// Nothing in here was measured but what says so.
    predicted: bool,
    device: String,
    parameters: Origin,
    note: Option<String>,
    /// What page-locked buffers were held against; null where that was not checked.
    pinned_limit_bytes: Option<u64>,
    /// What all buffers were held against; null where that was not checked.
    host_memory_bytes: Option<u64>,
    jobs: Vec<Advice>,
    #[serde(skip)]
    machine: Machine,
}

/// One job.
#[derive(Serialize)]
pub struct Advice {
    /// What there is to do.
    pub job: Job,
    /// M×N×K, of a product out of a report.
    pub shape: Option<String>,
    /// What each strategy would take.
    pub predictions: Vec<Prediction>,
    /// What to use.
    pub recommendation: Recommendation,
    /// Predicted beside measured, of a product out of a report.
    pub comparison: Option<Comparison>,
}

impl Document {
    /// Sums up.
    pub fn new(machine: Machine, note: Option<String>, jobs: Vec<Advice>) -> Self {
        Self {
            version: VERSION,
            program: format!("pagelock {}", env!("CARGO_PKG_VERSION")),
            predicted: true,
            device: machine.parameters.device.clone(),
            parameters: machine.origin.clone(),
            note,
            pinned_limit_bytes: machine.pinned_limit_bytes,
            host_memory_bytes: machine.host_memory_bytes,
            jobs,
            machine,
        }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", wrapped(&self.machine.to_string(), "machine  "))?;
        if let Origin::Named { sources, .. } = &self.parameters {
            sources.iter().try_for_each(|source| writeln!(f, "{}", wrapped(source, "source   ")))?;
        }
        if let Some(note) = &self.note {
            writeln!(f, "{}", wrapped(note, "note     "))?;
        }
        if self.machine.parameters.device_memory_bytes.is_none() {
            writeln!(f, "{}", wrapped(NO_LINK, "note     "))?;
        }
        if let Some(unchecked) = unchecked(&self.machine) {
            writeln!(f, "{}", wrapped(unchecked, "note     "))?;
        }
        for Advice { job, shape, predictions, recommendation, comparison } in &self.jobs {
            writeln!(f, "{}\n", wrapped(&described(job, shape.as_deref(), &self.machine), "job      "))?;
            writeln!(f, "{}", text::predictions(predictions, job.repeats))?;
            for reason in &recommendation.reasons {
                writeln!(f, "{}", wrapped(reason, "* "))?;
            }
            if let Some(comparison) = comparison {
                writeln!(f, "\n{}\n", text::comparison(comparison))?;
            }
        }
        write!(f, "\n{}", wrapped(text::notes(), ""))
    }
}

/// Of simt.
const NO_LINK: &str = "no link lies between a CPU and itself: this is advice for simt, not for a GPU; --machine t4, a100 or \
                       h200 takes the figures of one";

/// Which limits of the host nobody knows.
fn unchecked(machine: &Machine) -> Option<&'static str> {
    match (machine.host_memory_bytes, machine.pinned_limit_bytes) {
        (Some(_), _) => None,
        (None, Some(_)) => Some(
            "whether the buffers fit in the host's memory is not checked: how much it has is not known; what may be \
             page-locked is checked",
        ),
        (None, None) => Some(
            "whether the buffers fit in the host's memory, and in what may be page-locked, is not checked: neither is known \
             of that host",
        ),
    }
}

/// The job in a sentence.
fn described(job: &Job, shape: Option<&str>, machine: &Machine) -> String {
    let inputs: Vec<String> = job.input_bytes.iter().map(|bytes| amount::exact(*bytes)).collect();
    let inputs = if inputs.is_empty() { "nothing".into() } else { inputs.join(" and ") };
    let order = match job.pattern {
        Pattern::Sequential => "in order",
        Pattern::Random => "here and there",
    };
    let work = match job.compute {
        Compute::Flops { flops: 0.0, .. } => "no arithmetic to speak of".into(),
        Compute::Flops { flops, tflop_per_s: Some(rate) } => format!("{flops:.3e} FLOP at {} TFLOP/s", number(rate)),
        Compute::Flops { flops, .. } => match machine.best_tflop_per_s() {
            Some((rate, kernel)) => {
                format!("{flops:.3e} FLOP at {} TFLOP/s (what kernel {kernel} reaches; --tflops)", number(rate))
            }
            None => format!("{flops:.3e} FLOP"),
        },
        Compute::Kernel { kernel_ms } => format!("a kernel of {} ms on device memory", number(kernel_ms)),
        Compute::Product { kernel, kernel_ms: Some(ms), .. } => {
            format!("kernel {kernel}, measured on device memory: {} ms", number(ms))
        }
        Compute::Product { kernel, .. } => format!("kernel {kernel}"),
    };
    let by_cpu = match (job.cpu_writes, job.cpu_reads) {
        (true, true) => "; the CPU writes the input and reads the output each time",
        (true, false) => "; the CPU writes the input each time",
        (false, true) => "; the CPU reads the output each time",
        (false, false) => "",
    };
    let shape = shape.map_or_else(String::new, |shape| format!("the product {shape}: "));
    let times = if job.repeats == 1 { "once".into() } else { format!("{} times", job.repeats) };
    format!(
        "{shape}{inputs} in, {} out, each byte of the input read {} times {order}; {work}; {times}{by_cpu}",
        amount::exact(job.output_bytes),
        number(job.reads_per_byte)
    )
}

const HEADER: [&str; 15] = [
    "device",
    "parameters",
    "job",
    "strategy",
    "recommended",
    "predicted_allocate_ms",
    "predicted_cpu_write_ms",
    "predicted_h2d_ms",
    "predicted_kernel_ms",
    "predicted_d2h_ms",
    "predicted_cpu_read_ms",
    "predicted_overhead_ms",
    "predicted_run_ms",
    "predicted_all_ms",
    "predicted_free_ms",
];

/// Writes one line per job and strategy.
///
/// # Errors
/// The writer's.
pub fn write_csv(document: &Document, writer: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(HEADER).map_err(io_error)?;
    let origin = match &document.parameters {
        Origin::Kept { .. } => "kept",
        Origin::Report { .. } => "report",
        Origin::Named { .. } => "named",
    };
    for (index, advice) in document.jobs.iter().enumerate() {
        for one in &advice.predictions {
            let words = [
                document.device.clone(),
                origin.into(),
                index.to_string(),
                one.strategy.name().into(),
                (advice.recommendation.strategy == Some(one.strategy)).to_string(),
            ];
            let times = [
                one.allocate_ms,
                one.cpu_write_ms,
                one.h2d_ms,
                one.kernel_ms,
                one.d2h_ms,
                one.cpu_read_ms,
                one.overhead_ms,
                one.run_ms,
                one.all_ms,
                one.free_ms,
            ];
            csv.write_record(words.into_iter().chain(times.map(|ms| ms.to_string()))).map_err(io_error)?;
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
