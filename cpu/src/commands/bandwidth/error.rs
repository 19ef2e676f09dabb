//! What can end `bandwidth` early.

use std::io;
use std::path::PathBuf;

use crate::bandwidth::{MeasureError, PlanError};
use crate::device::DeviceError;
use crate::output;

/// Why there is no report, or no whole one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `--json -` and `--csv -`.
    #[error("--json - and --csv - both want standard output; give one of them a file")]
    TwoDocumentsOnStandardOutput,
    /// Two outputs with one name.
    #[error("{} and {} both go to {}; give each a file of its own", options[0], options[1], path.display())]
    SameFile {
        /// Such as `--json` and `--csv`.
        options: [&'static str; 2],
        /// The file.
        path: PathBuf,
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A size does not fit the machine.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A measurement failed, or a sample is wrong.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// An output cannot be written.
    #[error(transparent)]
    Output(#[from] output::WriteError),
    /// The plot cannot be drawn.
    #[error("--plot: the curves cannot be drawn: {0}")]
    Plot(String),
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}; make room there, or send it elsewhere")]
    Console(#[from] io::Error),
}

impl Error {
    /// Whether the arguments are to blame, before anything was tried.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::TwoDocumentsOnStandardOutput | Self::SameFile { .. })
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
