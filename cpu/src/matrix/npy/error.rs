//! Why a matrix was not read.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a matrix was not read: the file, what was found, what to do.
#[derive(Debug, Error)]
pub enum ReadError {
    /// There is no such file.
    #[error("there is no file {}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file may not be read.
    #[error("{} may not be read ({source}); change its permissions", path.display())]
    Denied {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path names a directory.
    #[error("{} is a directory; name a .npy file in it", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The path names a pipe or a device.
    #[error("{} is no regular file; save it as a .npy file first", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is an archive of several arrays.
    #[error("{} is an .npz archive; save the one matrix with numpy.save(\"a.npy\", archive[\"…\"])", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
    },
    /// The file does not begin as an `.npy` file does.
    #[error("{} is no .npy file: it begins with {found}, not with \\x93NUMPY; write it with numpy.save", path.display())]
    Magic {
        /// The file.
        path: PathBuf,
        /// Its first bytes, escaped.
        found: String,
    },
    /// A version of the format that does not exist yet.
    #[error("{} has version {major}.{minor} of the .npy format; 1.0 to 3.0 are known", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The header is no header.
    #[error("the header of {} is broken: {reason}; write the file again with numpy.save", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The elements are neither f32 nor f64.
    #[error("{} holds elements of type {found}; f32 and f64 can be read: save it as one of them, as with \
        matrix.astype(\"float32\")", path.display())]
    ElementType {
        /// The file.
        path: PathBuf,
        /// NumPy's description of the type.
        found: String,
    },
    /// The array has not two dimensions.
    #[error("{} holds an array of shape {shape:?} with {} dimension(s), a matrix has 2; save array.reshape(rows, columns)",
        path.display(), shape.len())]
    Dimensions {
        /// The file.
        path: PathBuf,
        /// The shape that was found.
        shape: Vec<u64>,
    },
    /// The matrix has no elements.
    #[error("{} holds a {rows}×{columns} matrix without elements; both extents must be at least 1", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Rows.
        rows: u64,
        /// Columns.
        columns: u64,
    },
    /// The file is shorter than its header says.
    #[error("{} is cut short: its header promises {expected} bytes, the file has {found}; copy or write it again",
        path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes that the header promises, itself included.
        expected: u128,
        /// Bytes in the file.
        found: u64,
    },
    /// The file is longer than its header says.
    #[error("{} goes on after its matrix: its header promises {expected} bytes, the file has {found}; save one matrix \
        per file", path.display())]
    Trailing {
        /// The file.
        path: PathBuf,
        /// Bytes that the header promises, itself included.
        expected: u128,
        /// Bytes in the file.
        found: u64,
    },
    /// The file changed while it was read.
    #[error("{} became shorter while it was read; wait until it is written", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The matrix does not fit memory.
    #[error("{} needs {bytes} bytes of memory, which cannot be had; read a smaller matrix", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// Bytes in f32.
        bytes: u64,
    },
    /// Anything else that the system reports.
    #[error("{} cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ReadError {
    pub(super) fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path, source },
            _ => Self::Io { path, source },
        }
    }
}
