//! The driver's shared library.

use core::ffi::{CStr, c_void};
use core::fmt;
use core::ptr::NonNull;
use std::env;
use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::symbols;

/// The environment variable that names the library to open, instead of the usual places. It is read when the driver is
/// first needed; changing it later changes nothing.
pub const LIBRARY_VARIABLE: &str = "PAGELOCK_LIBCUDA";

/// Where the driver is looked for, in order. The first is the loader's own search, which is right nearly everywhere.
/// The others are the two systems that keep the driver where the loader does not look: WSL and NixOS.
const CANDIDATES: [&str; 3] = ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"];

/// The driver's library, open until the process ends.
#[derive(Debug)]
pub struct Library {
    handle: libloading::Library,
    path: PathBuf,
}

/// Why the library did not open, or is not the one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// What was tried, and the loader's reason for each.
    attempts: Vec<(OsString, String)>,
    /// Whether [`LIBRARY_VARIABLE`] said what to try.
    from_variable: bool,
}

/// The driver's library, opened by the first call.
///
/// # Errors
/// No file could be opened, or what was opened is no driver. The answer is kept: a later call does not try again.
pub fn library() -> Result<&'static Library, LoadError> {
    static LIBRARY: OnceLock<Result<Library, LoadError>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| match env::var_os(LIBRARY_VARIABLE) {
            Some(path) if !path.is_empty() => Library::open(&[path.as_os_str()], true),
            _ => Library::open(&CANDIDATES.map(OsStr::new), false),
        })
        .as_ref()
        .map_err(LoadError::clone)
}

impl Library {
    fn open(candidates: &[&OsStr], from_variable: bool) -> Result<Self, LoadError> {
        let mut attempts = Vec::new();
        for &candidate in candidates {
            // SAFETY: opening a library runs its initialisers. Those of NVIDIA's driver are made to run at any time;
            // whoever names another file in the variable vouches for it, as with LD_LIBRARY_PATH.
            match unsafe { libloading::Library::new(candidate) } {
                Ok(handle) => {
                    let library = Self { handle, path: candidate.into() };
                    // The one function that every driver has, since CUDA 1.0.
                    if library.symbol(c"cuInit").is_some() {
                        return Ok(library);
                    }
                    attempts.push((candidate.to_owned(), "not NVIDIA's driver: it has no function cuInit".into()));
                }
                Err(error) => {
                    // The error says that opening failed; the loader's own words are its source.
                    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                    attempts.push((candidate.to_owned(), reason));
                }
            }
        }
        Err(LoadError { attempts, from_variable })
    }

    /// What was opened: a path, or the bare name that the loader found by itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The address of a function, for those that [`cust::sys`] does not declare (`cuLaunchKernelEx`,
    /// `cuTensorMapEncodeTiled`). `None` if this driver lacks it.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the type asked for is a pointer that nothing here dereferences.
        let symbol = unsafe { self.handle.get::<*mut c_void>(name) }.ok()?;
        NonNull::new(*symbol)
    }

    /// The functions that pagelock or `cust` may call and this driver lacks. Calling one gives
    /// `CUDA_ERROR_NOT_FOUND`.
    pub fn missing(&self) -> Vec<&'static CStr> {
        symbols::names().filter(|name| self.symbol(name).is_none()).collect()
    }
}

impl LoadError {
    /// The first file that was tried and why it did not open, in a few words.
    pub fn first_reason(&self) -> String {
        self.reasons().next().unwrap_or_default()
    }

    /// Whether [`LIBRARY_VARIABLE`] named the file: then someone meant it to be there.
    pub fn is_from_variable(&self) -> bool {
        self.from_variable
    }

    fn reasons(&self) -> impl Iterator<Item = String> {
        self.attempts.iter().map(|(path, reason)| {
            let path = path.to_string_lossy();
            // The loader's reasons usually begin with the path.
            if reason.contains(&*path) { reason.clone() } else { format!("{path}: {reason}") }
        })
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.reasons().collect();
        write!(f, "the NVIDIA driver's library could not be opened: {}", reasons.join("; "))?;
        if self.from_variable {
            write!(f, ". {LIBRARY_VARIABLE} names this file; correct it, or unset it to use the system's driver")
        } else {
            write!(
                f,
                ". Install NVIDIA's driver (in a container, start it with the GPU: `--gpus all`), or set \
                 {LIBRARY_VARIABLE} to the path of libcuda.so.1"
            )
        }
    }
}

impl std::error::Error for LoadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_says_what_was_tried_and_what_to_do() {
        let error = Library::open(&[OsStr::new("/nonexistent/libcuda.so.1")], true).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/libcuda.so.1"), "{error}");
        assert!(error.contains("PAGELOCK_LIBCUDA"), "{error}");
        assert_eq!(error.matches("/nonexistent/libcuda.so.1").count(), 1, "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn another_library_is_no_driver() {
        // The C library is open already, so the loader finds it under this name on every glibc.
        if !cfg!(target_env = "gnu") {
            return;
        }
        let error = Library::open(&[OsStr::new("libc.so.6")], true).unwrap_err().to_string();
        for part in ["libc.so.6: not NVIDIA's driver", "no function cuInit", "PAGELOCK_LIBCUDA names this file"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_place_that_was_tried_is_named() {
        let error = Library::open(&["/nonexistent/a", "/nonexistent/b"].map(OsStr::new), false).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("/nonexistent/a") && error.contains("/nonexistent/b"), "{error}");
        assert!(error.contains("Install"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_library_gives_the_loaders_reason() {
        let path = env::temp_dir().join(format!("pagelock-no-library-{}", std::process::id()));
        std::fs::write(&path, "hello").unwrap();
        let error = Library::open(&[path.as_os_str()], true).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("too short") || error.contains("invalid ELF"), "{error}");
    }
}
