//! Files that are either written whole or not at all.
//!
//! Results, reports and images go through [`write`](fn@write): what it interrupts or fails to finish leaves no file behind
//! and an existing one as it was.

mod links;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use links::write_to_descriptor;
pub use links::{descriptor, followed};

/// Why a file was not written. The target is as it was before.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The directory to write into does not exist.
    #[error("cannot write {path}: there is no directory {directory}; create it first", path = path.display(),
        directory = directory.display())]
    MissingDirectory {
        /// The file that was to be written.
        path: PathBuf,
        /// The directory that is missing, or no directory.
        directory: PathBuf,
    },
    /// The target is a directory.
    #[error("cannot write {path}: it is a directory; name a file in it", path = path.display())]
    IsDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The target exists and is marked read-only.
    #[error("cannot write {path}: it exists and is read-only; remove it or name another file", path = path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The directory does not allow new files.
    #[error("cannot write {path}: {directory} allows no new files ({source}); name a file elsewhere",
        path = path.display(), directory = directory.display())]
    Denied {
        /// The file that was to be written.
        path: PathBuf,
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk or the quota is full.
    #[error("cannot write {path}: no space is left; free some or name a file on another disk",
        path = path.display())]
    Full {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else.
    #[error("cannot write {path}: {source}", path = path.display())]
    Io {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes what `content` writes to `path`, whole or not at all.
///
/// The bytes go to a temporary file in the same directory, are flushed to the disk, and take the name `path` only then. A
/// new file gets the permissions that [`File::create`] would give it, a replaced one keeps its own; of a symbolic link
/// the file that it points to is replaced, or made. What is no regular file (a pipe, `/dev/null`) is written to
/// directly, and so is an open file of this process (`/dev/stdout`, `/proc/self/fd/3`), whatever it is.
///
/// ```
/// use std::io::Write;
///
/// let directory = tempfile::tempdir().unwrap();
/// let path = directory.path().join("report.txt");
/// cpu::output::write(&path, |file| writeln!(file, "12.5 GB/s")).unwrap();
/// assert_eq!(std::fs::read_to_string(path).unwrap(), "12.5 GB/s\n");
/// ```
///
/// # Errors
/// `content` fails, or the file cannot be created, written or renamed. Nothing is left behind then.
pub fn write<F>(path: impl AsRef<Path>, content: F) -> Result<(), WriteError>
where
    F: FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
{
    let path = path.as_ref();
    if let Some(number) = descriptor(path) {
        return write_to_descriptor(number, path, content).map_err(|error| classify(path, path, error));
    }
    let target = followed(path).map_err(|error| classify(path, path, error))?;
    let existing = fs::metadata(&target).ok();
    match &existing {
        Some(found) if found.is_dir() => return Err(WriteError::IsDirectory { path: path.to_owned() }),
        Some(found) if !found.is_file() => {
            return write_directly(&target, content).map_err(|e| classify(path, &target, e));
        }
        Some(found) if found.permissions().readonly() => return Err(WriteError::ReadOnly { path: path.to_owned() }),
        _ => write_and_rename(&target, existing.map(|found| found.permissions()), content),
    }
    .map_err(|error| classify(path, &target, error))
}

/// Finds out whether [`write`](fn@write) could write to `path`, by making and removing a temporary file beside it. For
/// asking before hours of work whether their result has a place to go.
///
/// # Errors
/// As [`write`](fn@write) would.
pub fn check(path: impl AsRef<Path>) -> Result<(), WriteError> {
    let path = path.as_ref();
    if descriptor(path).is_some() {
        return Ok(());
    }
    let target = followed(path).map_err(|error| classify(path, path, error))?;
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => Err(WriteError::IsDirectory { path: path.to_owned() }),
        Ok(found) if !found.is_file() => Ok(()),
        Ok(found) if found.permissions().readonly() => Err(WriteError::ReadOnly { path: path.to_owned() }),
        _ => match tempfile::NamedTempFile::new_in(directory(&target)) {
            Ok(_) => Ok(()),
            Err(error) => Err(classify(path, &target, error)),
        },
    }
}

fn write_directly<F>(target: &Path, content: F) -> io::Result<()>
where
    F: FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
{
    let file = OpenOptions::new().write(true).open(target)?;
    let mut writer = BufWriter::new(&file);
    content(&mut writer)?;
    writer.flush()
}

fn write_and_rename<F>(target: &Path, permissions: Option<fs::Permissions>, content: F) -> io::Result<()>
where
    F: FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
{
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pagelock-");
    #[cfg(unix)]
    {
        // What `File::create` asks for; the system takes the umask off.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(directory(target))?;
    let mut writer = BufWriter::with_capacity(1 << 20, temporary.as_file());
    content(&mut writer)?;
    writer.flush()?;
    drop(writer);
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions)?;
    }
    // Before the rename: after a crash there must not be an empty file under the name.
    temporary.as_file().sync_all()?;
    temporary.persist(target).map(drop).map_err(|error| error.error)
}

/// The directory that holds `target`.
fn directory(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => target,
    }
}

fn classify(path: &Path, target: &Path, source: io::Error) -> WriteError {
    let source = as_the_system_said(source);
    let (path, directory) = (path.to_owned(), directory(target).to_owned());
    match source.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory if !directory.is_dir() => {
            WriteError::MissingDirectory { path, directory }
        }
        ErrorKind::IsADirectory => WriteError::IsDirectory { path },
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => WriteError::Denied { path, directory, source },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => WriteError::Full { path, source },
        _ => WriteError::Io { path, source },
    }
}

/// Without the name of the temporary file, which `tempfile` adds and which tells nobody anything.
fn as_the_system_said(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path \"") {
        Some((said, _)) => io::Error::new(error.kind(), said),
        None => error,
    }
}

#[cfg(test)]
mod tests;
