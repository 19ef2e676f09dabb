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
    let (most, is_most) = (ByteSize(u64::MAX), text == u64::MAX.to_string());
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        // What 64 bits cannot count is read as the most that they can, or not at all without a unit.
        Ok(size) if size != most || is_most => Ok(size),
        Err(_) if !is_digits => Err("not an amount of memory; write one such as 512MiB or 2GiB".into()),
        _ => Err(format!("more bytes than 64 bits can count; the most is {}, just below 16EiB", u64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::byte_size;

    #[test]
    fn amounts_beyond_64_bits_are_refused_with_the_limit() {
        for text in ["16EiB", "19EB", "100000000000EiB", "18446744073709551616", "18446744073709551616B"] {
            let refused = byte_size(text).unwrap_err();
            assert!(refused.contains("the most is 18446744073709551615, just below 16EiB"), "{text}: {refused}");
        }
        assert_eq!(byte_size("18446744073709551615").unwrap().as_u64(), u64::MAX);
        assert_eq!(byte_size("15EiB").unwrap().as_u64(), 15 << 60);
    }
}
