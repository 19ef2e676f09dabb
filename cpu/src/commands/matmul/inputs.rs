//! Where A and B come from: a generator, or the user's files.

use std::path::{Path, PathBuf};

use gpu::matmul::Shape;

use super::error::Error;
use super::job::{Extents, Job};
use crate::matrix::{Matrix, npy};
use crate::report::document;
use crate::verify::Source;

/// The source of A and B.
pub enum Inputs {
    /// Made from a seed, for each shape anew.
    Random {
        /// The seed.
        seed: u64,
    },
    /// Read from files.
    Files {
        /// A and where it came from.
        a: Box<File>,
        /// B and where it came from.
        b: Box<File>,
        /// Of what verification draws.
        seed: u64,
    },
}

/// A matrix that was read.
pub struct File {
    path: PathBuf,
    read: npy::Loaded,
}

impl Inputs {
    /// Reads the files, if the job names any, and checks that they fit together.
    ///
    /// # Errors
    /// A file cannot be read, or A's columns are not B's rows.
    pub fn read(job: &Job) -> Result<Self, Error> {
        // Short enough to be typed again.
        let seed = job.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
        let Extents::Files(a, b) = &job.extents else { return Ok(Self::Random { seed }) };
        let (a, b) = (File::read("--a", a)?, File::read("--b", b)?);
        if a.matrix().columns() != b.matrix().rows() {
            return Err(Error::Fit {
                a_extents: (a.matrix().rows(), a.matrix().columns()),
                b_extents: (b.matrix().rows(), b.matrix().columns()),
                a: a.path,
                b: b.path,
            });
        }
        Ok(Self::Files { a: Box::new(a), b: Box::new(b), seed })
    }

    /// The products to compute.
    ///
    /// # Errors
    /// The product of two files is too large.
    pub fn shapes(&self, job: &Job, on_simt: bool) -> Result<Vec<Shape>, Error> {
        let shape = |what: &str, m: u64, n: u64, k: u64| {
            Shape::new(m, n, k).map_err(|reason| Error::Shape { what: what.into(), reason })
        };
        let default: &[u64] = if on_simt { &[128, 256, 512] } else { &[1024, 4096, 8192] };
        match (self, &job.extents) {
            (Self::Files { a, b, .. }, _) => {
                let (m, n, k) = (a.matrix().rows(), b.matrix().columns(), b.matrix().rows());
                Ok(vec![shape("the product of the files", m as u64, n as u64, k as u64)?])
            }
            (_, Extents::Shapes(shapes)) => Ok(shapes.clone()),
            _ => default.iter().map(|&size| shape("the default sizes", size, size, size)).collect(),
        }
    }

    /// A and B of a shape.
    pub fn matrices(&self, shape: Shape) -> (std::borrow::Cow<'_, Matrix>, std::borrow::Cow<'_, Matrix>) {
        use std::borrow::Cow::{Borrowed, Owned};
        let (m, n, k) = (shape.m() as usize, shape.n() as usize, shape.k() as usize);
        match self {
            Self::Random { seed } => {
                (Owned(Matrix::random(m, k, *seed)), Owned(Matrix::random(k, n, seed.wrapping_add(1) ^ SEED_OF_B)))
            }
            Self::Files { a, b, .. } => (Borrowed(a.matrix()), Borrowed(b.matrix())),
        }
    }

    /// What verification may assume of the rounding errors.
    pub fn source(&self) -> Source {
        match self {
            Self::Random { .. } => Source::Random,
            Self::Files { .. } => Source::Given,
        }
    }

    /// The seed of what verification draws.
    pub fn seed(&self) -> u64 {
        match self {
            Self::Random { seed } | Self::Files { seed, .. } => *seed,
        }
    }

    /// For the report.
    pub fn described(&self) -> document::Inputs {
        match self {
            Self::Random { seed } => document::Inputs::Random { seed: *seed },
            Self::Files { a, b, .. } => document::Inputs::Files { a: a.name(), b: b.name() },
        }
    }

    /// What the user should know about the files, such as f64 values that were rounded.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Random { .. } => Vec::new(),
            Self::Files { a, b, .. } => [a, b].into_iter().filter_map(|file| file.note()).collect(),
        }
    }
}

/// Keeps B from being a shifted A when two seeds are neighbours.
const SEED_OF_B: u64 = 0x9E37_79B9_7F4A_7C15;

impl File {
    fn read(option: &'static str, path: &Path) -> Result<Self, Error> {
        let read = npy::read(path).map_err(|reason| Error::Input { option, reason })?;
        Ok(Self { path: path.to_owned(), read })
    }

    fn matrix(&self) -> &Matrix {
        &self.read.matrix
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn note(&self) -> Option<String> {
        let rounding = self.read.rounding?;
        Some(format!("{}: {rounding}", self.name()))
    }
}
