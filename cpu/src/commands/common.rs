//! What commands have in common: amounts of memory, and the documents that they write.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use serde::Serialize;

use super::Console;
use crate::output;

/// A file, or standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// `-`, or another name of it, such as `/dev/stdout`.
    Standard,
    /// A path.
    File(PathBuf),
}

impl From<PathBuf> for Destination {
    fn from(path: PathBuf) -> Self {
        if is_standard_output(&path) { Self::Standard } else { Self::File(path) }
    }
}

impl Destination {
    /// The path, of a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Standard => None,
            Self::File(path) => Some(path),
        }
    }
}

/// Whether a path is a name of standard output.
pub(super) fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-" || output::descriptor(path) == Some(1)
}

/// Writes a report as JSON, as CSV, or both: files first, for the reader of standard output may have left.
pub(super) fn write_documents<E: From<io::Error> + From<output::WriteError>>(
    (json, csv): (Option<&Destination>, Option<&Destination>),
    console: &mut Console,
    document: &impl Serialize,
    write_csv: impl Fn(&mut dyn Write) -> io::Result<()>,
) -> Result<(), E> {
    for on_standard_output in [false, true] {
        let wanted = |to: &&Destination| (**to == Destination::Standard) == on_standard_output;
        if let Some(destination) = json.filter(wanted) {
            write_document::<E>(destination, console, |writer| {
                serde_json::to_writer_pretty(&mut *writer, document)?;
                writeln!(writer)
            })?;
        }
        if let Some(destination) = csv.filter(wanted) {
            write_document::<E>(destination, console, &write_csv)?;
        }
    }
    Ok(())
}

fn write_document<E: From<io::Error> + From<output::WriteError>>(
    destination: &Destination,
    console: &mut Console,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), E> {
    match destination {
        Destination::Standard => console.raw(content)?,
        Destination::File(path) => output::write(path, |writer| content(writer))?,
    }
    Ok(())
}

/// What tells a file from others, under whatever name. Nothing for what is no regular file: `/dev/null` takes any number
/// of outputs.
pub(super) fn identity(path: &Path) -> Option<PathBuf> {
    match fs::metadata(path) {
        _ if output::descriptor(path).is_some() => None,
        Ok(found) if !found.is_file() => None,
        Ok(_) => fs::canonicalize(path).ok(),
        Err(_) => {
            // A loop of links has no end; writing says so.
            let path = output::followed(path).unwrap_or_else(|_| path.to_owned());
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
            Some(folder.join(path.file_name()?))
        }
    }
}

/// Reads 1048576, 512MB, 2GiB.
pub(super) fn byte_size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "not an amount of memory; write one such as 512MiB or 2GiB".into())
}
