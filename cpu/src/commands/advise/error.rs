//! Why there is no advice.

use std::io;
use std::path::PathBuf;

use crate::advise::reports::ReportError;
use crate::advise::{JobError, NoMachine, Unpredictable};
use crate::device::DeviceError;
use crate::output;

/// Why there is no advice.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing is described.
    #[error(
        "no job is described; say what goes in and comes out (--in 64MiB --out 64MiB), name a product (--matmul 4096), or \
         name a report (--from report.json)"
    )]
    NoJob,
    /// A report of `bandwidth` alone.
    #[error("--from {} is a report of bandwidth, which gives the machine; describe a job too, such as --in 64MiB", path.display())]
    MachineWithoutJob {
        /// The file.
        path: PathBuf,
    },
    /// A report of `matmul` and a job.
    #[error("--from {} is a report of matmul, which gives the jobs; leave out {}", path.display(), options.join(", "))]
    TwoJobs {
        /// The file.
        path: PathBuf,
        /// What describes another job.
        options: Vec<&'static str>,
    },
    /// A report of `bandwidth` and a machine.
    #[error("--from {} is a report of bandwidth, which gives the machine; leave out --machine", path.display())]
    TwoMachines {
        /// The file.
        path: PathBuf,
    },
    /// What is described is no job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// `--json -` and `--csv -`.
    #[error("--json - and --csv - both want standard output; give one of them a file")]
    TwoDocumentsOnStandardOutput,
    /// Two outputs, or an output and the report, with one name.
    #[error("{} and {} are both {}; give each a file of its own", options[0], options[1], path.display())]
    SameFile {
        /// Such as `--json` and `--csv`.
        options: [&'static str; 2],
        /// The file.
        path: PathBuf,
    },
    /// A report cannot be used.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// There are no parameters.
    #[error(transparent)]
    Machine(#[from] NoMachine),
    /// The parameters do not suffice.
    #[error(transparent)]
    Unpredictable(#[from] Unpredictable),
    /// An output cannot be written.
    #[error(transparent)]
    Output(#[from] output::WriteError),
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}; make room there, or send it elsewhere")]
    Console(#[from] io::Error),
}

impl Error {
    /// Whether the arguments are to blame, before anything was tried.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoJob
                | Self::MachineWithoutJob { .. }
                | Self::TwoJobs { .. }
                | Self::TwoMachines { .. }
                | Self::Job(_)
                | Self::TwoDocumentsOnStandardOutput
                | Self::SameFile { .. }
        )
    }

    /// Whether whoever reads the output has seen enough and left, as `head` does. That is no failure.
    pub fn is_reader_gone(&self) -> bool {
        match self {
            Self::Console(error) | Self::Output(output::WriteError::Io { source: error, .. }) => {
                error.kind() == io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }
}
