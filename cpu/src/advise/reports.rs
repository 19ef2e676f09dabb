//! What the reports of `matmul` and `bandwidth` tell: jobs with their measurements, and machines.

use std::io::Read;
use std::path::{Path, PathBuf};

use gpu::matmul::{MatmulKernel, Shape, ShapeError};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::compare::MeasuredMode;
use super::job::{Compute, Job};
use super::machine::{Machine, Origin};
use crate::bandwidth::figure::{Figure, Median};
use crate::bandwidth::measurement::Step;
use crate::bandwidth::parameters::Parameters;
use crate::{bandwidth, report};

/// No measurement takes longer: 30 years. No rate is higher either.
const MOST_MS: f64 = 1e12;

/// A report that was read.
pub enum Report {
    /// Of `matmul`: what was done, on what, and what it took.
    Matmul {
        /// The device.
        device: String,
        /// Bytes that might be page-locked there.
        pinned_limit_bytes: Option<u64>,
        /// One entry a size.
        sizes: Vec<Measured>,
    },
    /// Of `bandwidth`: a machine.
    Bandwidth(Box<Machine>),
}

/// A product and what its modes took.
pub struct Measured {
    /// The product.
    pub shape: Shape,
    /// The same as a job, with its kernel's measured time.
    pub job: Job,
    /// Each mode.
    pub modes: Vec<MeasuredMode>,
}

/// Why a file is no report that can be used.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// It cannot be read.
    #[error("--from {}: {source}; name a report that `matmul --json` or `bandwidth --json` wrote", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no report.
    #[error(
        "--from {}: not a report of `matmul` or `bandwidth` ({reason}); write one with --json FILE", path.display()
    )]
    NoReport {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// What another program wrote.
    #[error(
        "--from {}: {program:?} wrote it, and only reports of pagelock can be read; write one with `matmul --json FILE` or \
         `bandwidth --json FILE`", path.display()
    )]
    Program {
        /// The file.
        path: PathBuf,
        /// The other program.
        program: String,
    },
    /// Another layout, most likely a newer one.
    #[error(
        "--from {}: its layout is version {found}, this program knows version {known}; take the program that wrote it \
         ({program}), or write the report anew with this one", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The layout that was found.
        found: u64,
        /// The one that is known here.
        known: u32,
        /// What wrote it.
        program: String,
    },
    /// A product that is none.
    #[error("--from {}: {reason}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: ShapeError,
    },
    /// A kernel that this program does not have.
    #[error("--from {}: kernel {kernel} is unknown here; known are {}", path.display(), known())]
    Kernel {
        /// The file.
        path: PathBuf,
        /// Its name.
        kernel: String,
    },
}

fn known() -> String {
    MatmulKernel::ALL.map(MatmulKernel::name).join(", ")
}

/// What every report says first, in whatever layout the rest is.
#[derive(Deserialize)]
struct Head {
    program: String,
    version: u64,
    measurements: Option<IgnoredAny>,
}

impl Head {
    /// Whether the rest can be understood.
    fn check(self, path: &Path) -> Result<(), ReportError> {
        let Self { program, version: found, measurements } = self;
        let path = || path.to_owned();
        if program.split_whitespace().next() != Some("pagelock") {
            return Err(ReportError::Program { path: path(), program });
        }
        let known = if measurements.is_some() { bandwidth::document::VERSION } else { report::document::VERSION };
        if found == u64::from(known) {
            Ok(())
        } else {
            Err(ReportError::Version { path: path(), found, known, program })
        }
    }
}

#[derive(Deserialize)]
struct Document {
    program: String,
    device: Device,
    kernel: Option<String>,
    sizes: Option<Vec<Size>>,
    measurements: Option<Vec<Figure>>,
    findings: Option<Findings>,
    pinned_limit_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Device {
    name: String,
    kind: Kind,
}

#[derive(Deserialize)]
struct Kind {
    memory_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Findings {
    link_limit_gb_per_s: Option<f64>,
}

#[derive(Deserialize)]
struct Size {
    m: u64,
    n: u64,
    k: u64,
    modes: Vec<Mode>,
}

#[derive(Deserialize)]
struct Mode {
    mode: String,
    host_allocation_ms: f64,
    h2d_ms: Median,
    kernel_ms: Median,
    d2h_ms: Median,
    total_ms: Median,
}

/// Whether a path stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Report {
    /// Reads a report, of whichever command; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is no report, or one of another program or layout.
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        let mut text = Vec::new();
        let read = match is_standard_input(path) {
            true => std::io::stdin().lock().read_to_end(&mut text).map(drop),
            false => std::fs::read(path).map(|content| text = content),
        };
        read.map_err(|source| ReportError::Read { path: path.into(), source })?;
        let no_report = |reason: String| ReportError::NoReport { path: path.into(), reason };
        let head: Head = serde_json::from_slice(&text).map_err(|why| no_report(why.to_string()))?;
        head.check(path)?;
        let document: Document = serde_json::from_slice(&text).map_err(|why| no_report(why.to_string()))?;
        let Document { program, device, kernel, sizes, measurements, findings, pinned_limit_bytes } = document;
        let times = sizes.iter().flatten().flat_map(|size| &size.modes).flat_map(Mode::times);
        let figures = measurements.iter().flatten().map(|one| one.time_ms.median.min(one.gb_per_s));
        let largest = measurements.iter().flatten().map(|one| one.time_ms.median.max(one.gb_per_s));
        if let Some(time) = times.chain(figures).chain(largest).find(|time| !(0.0..=MOST_MS).contains(time)) {
            return Err(no_report(format!(
                "a figure is {time:e}, and what was measured lies between 0 and {MOST_MS:e}"
            )));
        }
        // A copy or a kernel that takes no time has no rate.
        let takes_time = |one: &&Figure| !matches!(one.step, Step::Allocate | Step::Free);
        if let Some(one) = measurements.iter().flatten().filter(takes_time).find(|one| one.time_ms.median == 0.0) {
            return Err(no_report(format!("{} of {} memory takes 0 ms", one.step.name(), one.memory)));
        }
        match (kernel, sizes, measurements) {
            (Some(kernel), Some(sizes), None) if !sizes.is_empty() => {
                let sizes = sizes.into_iter().map(|size| size.measured(path, &kernel)).collect::<Result<_, _>>()?;
                Ok(Self::Matmul { device: device.name, pinned_limit_bytes, sizes })
            }
            (None, None, Some(figures)) if !figures.is_empty() => {
                let limit = findings.and_then(|findings| findings.link_limit_gb_per_s);
                let memory = device.kind.memory_bytes;
                let parameters = Parameters::from_figures(&program, &device.name, memory, limit, &figures);
                let origin = Origin::Report { path: path.into() };
                let machine = Machine { pinned_limit_bytes, ..Machine::without_limits(parameters, origin) };
                Ok(Self::Bandwidth(Box::new(machine)))
            }
            _ => Err(no_report("neither sizes with their modes nor measurements".into())),
        }
    }
}

impl Mode {
    /// Every time of it, in milliseconds.
    fn times(&self) -> [f64; 5] {
        let Self { host_allocation_ms, h2d_ms, kernel_ms, d2h_ms, total_ms, .. } = self;
        [*host_allocation_ms, h2d_ms.median, kernel_ms.median, d2h_ms.median, total_ms.median]
    }
}

impl Size {
    fn measured(self, path: &Path, kernel: &str) -> Result<Measured, ReportError> {
        let Self { m, n, k, modes } = self;
        let shape = Shape::new(m, n, k).map_err(|reason| ReportError::Shape { path: path.into(), reason })?;
        let known = MatmulKernel::ALL.into_iter().find(|one| one.name() == kernel);
        let known = known.ok_or_else(|| ReportError::Kernel { path: path.into(), kernel: kernel.into() })?;
        let mut job = Job::product(known, shape);
        // The kernel is the same in every mode that copies.
        let copied =
            ["pinned", "staged", "pageable"].iter().find_map(|name| modes.iter().find(|one| one.mode == *name));
        if let (Compute::Product { kernel_ms, .. }, Some(mode)) = (&mut job.compute, copied) {
            *kernel_ms = Some(mode.kernel_ms.median).filter(|ms| ms.is_finite() && *ms >= 0.0);
        }
        Ok(Measured { shape, job, modes: modes.into_iter().map(MeasuredMode::from).collect() })
    }
}

impl From<Mode> for MeasuredMode {
    fn from(mode: Mode) -> Self {
        Self {
            host_allocation_ms: mode.host_allocation_ms,
            h2d_ms: mode.h2d_ms.median,
            kernel_ms: mode.kernel_ms.median,
            d2h_ms: mode.d2h_ms.median,
            total_ms: mode.total_ms.median,
            mode: mode.mode,
        }
    }
}
