//! Files that are either written whole or not at all.
//!
//! Results, reports and images go through [`write`](fn@write): what it interrupts or fails to finish leaves no file behind
//! and an existing one as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

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
    #[error("cannot write {path}: no space is left ({source}); free some or name a file on another disk",
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
/// the file that it points to is replaced. What is no regular file (`/dev/stdout`, a pipe) is written to directly.
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
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
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
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn failure_leaves_nothing_and_the_old_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        let fail = |file: &mut BufWriter<&File>| {
            file.write_all(b"half")?;
            Err(io::Error::from(ErrorKind::StorageFull))
        };
        assert!(matches!(write(&path, fail), Err(WriteError::Full { .. })));
        assert!(names(directory.path()).is_empty());

        write(&path, |file| file.write_all(b"old")).unwrap();
        assert!(write(&path, fail).is_err());
        assert_eq!(names(directory.path()), ["a.csv"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_panic_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        let result = std::panic::catch_unwind(|| write(&path, |_| panic!("on purpose")));
        assert!(result.is_err());
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn wrong_targets_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let nothing = |_: &mut BufWriter<&File>| Ok(());
        assert!(matches!(write(directory.path(), nothing), Err(WriteError::IsDirectory { .. })));
        let error = write(directory.path().join("no/a.csv"), nothing).unwrap_err();
        assert!(matches!(error, WriteError::MissingDirectory { .. }), "{error}");
        assert!(error.to_string().contains("create it first"), "{error}");
        let file = directory.path().join("file");
        write(&file, nothing).unwrap();
        assert!(matches!(write(file.join("a.csv"), nothing), Err(WriteError::MissingDirectory { .. })));
        assert!(matches!(write("", nothing), Err(WriteError::Io { .. } | WriteError::MissingDirectory { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_an_ordinary_file() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let directory = tempfile::tempdir().unwrap();
        let (ordinary, ours) = (directory.path().join("ordinary"), directory.path().join("ours"));
        File::create(&ordinary).unwrap();
        write(&ours, |_| Ok(())).unwrap();
        assert_eq!(mode(&ours), mode(&ordinary));

        fs::set_permissions(&ours, fs::Permissions::from_mode(0o640)).unwrap();
        write(&ours, |_| Ok(())).unwrap();
        assert_eq!(mode(&ours), 0o640);

        fs::set_permissions(&ours, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(matches!(write(&ours, |_| Ok(())), Err(WriteError::ReadOnly { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_survive() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, |file| file.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");

        write("/dev/null", |file| file.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
