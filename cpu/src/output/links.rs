//! Where a name leads: over symbolic links, to a file that need not be there yet, or to an open file of this process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// As many as Linux follows.
const MAX_LINKS: usize = 40;

/// The file that a path leads to, over links of which the last may point to nothing yet; `canonicalize` refuses those.
///
/// # Errors
/// The links lead in a circle.
pub fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match next(&path) {
            Some(target) => path = target,
            None => return Ok(fs::canonicalize(&path).unwrap_or(path)),
        }
    }
    Err(io::Error::other(format!(
        "more than {MAX_LINKS} symbolic links, which may lead in a circle; name the file itself"
    )))
}

/// Where a link points to, from where it lies.
fn next(path: &Path) -> Option<PathBuf> {
    let target = fs::read_link(path).ok()?;
    // A relative target starts at the link's folder, an absolute one replaces it.
    Some(path.parent().unwrap_or(Path::new("")).join(target))
}

/// The number of the open file that a path is another name of: 1 for `/dev/stdout`, 3 for `/proc/self/fd/3`. To follow
/// such a link to the end would be to replace the file that the shell opened for us, and leave the shell the old one.
pub fn descriptor(path: &Path) -> Option<u32> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Some(number) = number_in_proc(&path) {
            return Some(number);
        }
        path = next(&path)?;
    }
    None
}

fn number_in_proc(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let own = fs::canonicalize("/proc/self/fd").ok()?;
    (fs::canonicalize(path.parent()?).ok()? == own).then_some(number)
}

/// Writes behind what was written to the open file before.
pub(super) fn write_to_descriptor<F>(number: u32, path: &Path, content: F) -> io::Result<()>
where
    F: FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
{
    let file = match number {
        #[cfg(unix)]
        1 | 2 => {
            use std::os::fd::AsFd;
            let (out, error) = (io::stdout(), io::stderr());
            let shared = if number == 1 { out.as_fd() } else { error.as_fd() };
            shared.try_clone_to_owned()?.into()
        }
        // Opened again: the number itself may only be used by whoever owns it.
        _ => OpenOptions::new().append(true).open(path)?,
    };
    let mut writer = BufWriter::new(&file);
    content(&mut writer)?;
    writer.flush()
}
