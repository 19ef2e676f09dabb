//! Where a GPU's kernels come from: the images in the program, or a PTX file, so that what different compilers make of
//! the same kernels can be compared on one machine.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use super::info::KernelOrigin;
use crate::driver::DriverError;

/// Which kernels a device is to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KernelSource {
    /// The best of the images in the program.
    #[default]
    Embedded,
    /// A PTX file.
    File(PathBuf),
}

/// A PTX file with what it says of itself.
#[derive(Clone, Debug)]
pub struct KernelFile {
    path: PathBuf,
    text: String,
    target: String,
    version: String,
}

/// What is wrong with a file of kernels.
#[derive(Debug, thiserror::Error)]
pub enum KernelFileError {
    /// The CPU was asked for, or `auto` found no GPU.
    #[error(
        "kernels from {} need a GPU, and this would run on the CPU, whose kernels are part of the program. \
         --device cuda:0 says why no GPU is used",
        path.display()
    )]
    OnSimt {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read kernels from {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// It is something else.
    #[error("{} is no PTX: it has no line `{missing} …`. `PAGELOCK_KERNELS` and guide/src/toolchains.md make some", path.display())]
    NotPtx {
        /// The file.
        path: PathBuf,
        /// The directive that all PTX has.
        missing: &'static str,
    },
    /// The driver does not take it.
    #[error("the driver cannot load the kernels in {} (PTX {version} for {target}): {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Its PTX version.
        version: String,
        /// Its architecture.
        target: String,
        /// The driver's error.
        reason: DriverError,
    },
    /// A kernel that is to run is not in it.
    #[error("{} has no kernel {kernel}; it has {}", path.display(), Listed(has))]
    LacksKernel {
        /// The file.
        path: PathBuf,
        /// The kernel.
        kernel: &'static str,
        /// Those that are there.
        has: Vec<String>,
    },
}

impl KernelFile {
    /// Reads a file and looks whether it is PTX; what is in it is the driver's to judge.
    pub fn read(path: &Path) -> Result<Self, KernelFileError> {
        let bytes = fs::read(path).map_err(|reason| KernelFileError::Unreadable { path: path.to_owned(), reason })?;
        // What is not UTF-8 is no PTX either, and lacks the directives below.
        let text = String::from_utf8(bytes).unwrap_or_default();
        let directive = |missing: &'static str| {
            let line = text.lines().find_map(|line| line.trim_start().strip_prefix(missing));
            let value = line.map(|rest| rest.split("//").next().unwrap_or_default().trim().to_owned());
            value.filter(|value| !value.is_empty()).ok_or(KernelFileError::NotPtx { path: path.to_owned(), missing })
        };
        let (version, target) = (directive(".version")?, directive(".target")?);
        Ok(Self { path: path.to_owned(), target, version, text })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What a report says: the compiler, if the file names one as those of this project do, and the file.
    pub fn origin(&self) -> KernelOrigin {
        let compiler = header(&self.text, "// compiler: ").unwrap_or("an unnamed compiler");
        KernelOrigin {
            architecture: self.target.clone(),
            compiler: format!("{compiler}, from {}", self.path.display()),
        }
    }

    /// A warning, if the file says that it was made from other sources than the program's kernels.
    pub fn note(&self) -> Option<String> {
        let theirs = header(&self.text, SOURCES)?;
        let ours = ptx::IMAGES.iter().find_map(|image| header(image.ptx, SOURCES))?;
        (theirs != ours)
            .then(|| format!("{} was made from other kernel sources than this program", self.path.display()))
    }

    /// The driver refused the file.
    pub fn refused(&self, reason: DriverError) -> KernelFileError {
        let (path, version, target) = (self.path.clone(), self.version.clone(), self.target.clone());
        KernelFileError::Refused { path, version, target, reason }
    }

    /// The driver found no such kernel in the file.
    pub fn lacks(&self, kernel: &'static str) -> KernelFileError {
        let names = self.text.split(".entry ").skip(1).filter_map(|rest| rest.split(['(', '\n', ' ']).next());
        KernelFileError::LacksKernel { path: self.path.clone(), kernel, has: names.map(str::to_owned).collect() }
    }
}

const SOURCES: &str = "// sources: sha256 ";

/// A field of the header that this project's PTX files have.
fn header<'t>(text: &'t str, field: &str) -> Option<&'t str> {
    text.lines().take(3).find_map(|line| line.strip_prefix(field))
}

struct Listed<'a>(&'a [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("none") } else { f.write_str(&self.0.join(", ")) }
    }
}
