//! What can end `matmul` early.

use std::io;
use std::path::PathBuf;

use gpu::matmul::ShapeError;

use crate::device::DeviceError;
use crate::matmul::{MeasureError, NeedsError};
use crate::matrix::npy;
use crate::output;

/// Why there is no report, or no whole one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Three numbers that are no shape.
    #[error("{what}: {reason}")]
    Shape {
        /// Where they come from.
        what: String,
        /// What is wrong with them.
        reason: ShapeError,
    },
    /// `--out` can hold one product.
    #[error("--out holds one product; say which with one --size, with --m --n --k, or with --a and --b")]
    OutNeedsOneSize,
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
    /// An output with the name of an input.
    #[error("{output} would overwrite {}, which {input} reads; name another file", path.display())]
    OverwritesInput {
        /// Such as `--out`.
        output: &'static str,
        /// `--a` or `--b`.
        input: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// An input cannot be read.
    #[error("{option}: {reason}")]
    Input {
        /// `--a` or `--b`.
        option: &'static str,
        /// What is wrong with it.
        reason: npy::ReadError,
    },
    /// A and B do not fit together.
    #[error(
        "A from {} is {}×{}, B from {} is {}×{}: A needs as many columns as B has rows",
        a.display(), a_extents.0, a_extents.1, b.display(), b_extents.0, b_extents.1
    )]
    Fit {
        /// The file.
        a: PathBuf,
        /// Rows and columns.
        a_extents: (usize, usize),
        /// The file.
        b: PathBuf,
        /// Rows and columns.
        b_extents: (usize, usize),
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The product does not fit the machine.
    #[error(transparent)]
    Needs(#[from] NeedsError),
    /// A mode failed or its result is wrong.
    #[error(transparent)]
    Measure(#[from] MeasureError),
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
            Self::Shape { .. }
                | Self::OutNeedsOneSize
                | Self::TwoDocumentsOnStandardOutput
                | Self::SameFile { .. }
                | Self::OverwritesInput { .. }
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
