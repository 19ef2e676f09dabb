//! What the arguments mean, once they were checked against each other: everything that can be known without a device.

use std::path::{Path, PathBuf};

use gpu::matmul::{MatmulKernel, Shape};

use super::Error;
use super::arguments::{Arguments, VerifyChoice};
use crate::commands::common::{Destination, identity};
use crate::device::{KernelSource, Selector};
use crate::matmul::{Mode, Plan};
use crate::verify::Method;

/// The arguments once they were checked against each other.
#[derive(Debug)]
pub struct Job {
    /// What to multiply.
    pub extents: Extents,
    /// How the matrices travel, each mode once.
    pub modes: Vec<Mode>,
    /// Which kernel.
    pub kernel: MatmulKernel,
    /// Which device.
    pub device: Selector,
    /// Where its kernels come from.
    pub kernels: KernelSource,
    iterations: Option<u32>,
    warmup: Option<u32>,
    /// Of the random matrices.
    pub seed: Option<u64>,
    /// How much of each result is verified.
    pub verify: Method,
    /// Where C goes.
    pub out: Option<PathBuf>,
    /// Where the document goes.
    pub json: Option<Destination>,
    /// Where the samples go.
    pub csv: Option<Destination>,
    /// Bytes that may be page-locked.
    pub pinned_limit: Option<u64>,
    /// Predict, too.
    pub explain: bool,
    /// Print nothing.
    pub quiet: bool,
}

/// What to multiply.
#[derive(Debug)]
pub enum Extents {
    /// The device's default sizes.
    Default,
    /// These.
    Shapes(Vec<Shape>),
    /// A and B from files.
    Files(PathBuf, PathBuf),
}

impl Job {
    /// Checks the arguments.
    ///
    /// # Errors
    /// They contradict each other, or name a product that no machine holds.
    pub fn from_arguments(arguments: &Arguments) -> Result<Self, Error> {
        let extents = Extents::from_arguments(arguments)?;
        let one_size = match &extents {
            Extents::Default => false,
            Extents::Shapes(shapes) => shapes.len() == 1,
            Extents::Files(..) => true,
        };
        if arguments.out.is_some() && !one_size {
            return Err(Error::OutNeedsOneSize);
        }
        if arguments.json == Some(Destination::Standard) && arguments.csv == Some(Destination::Standard) {
            return Err(Error::TwoDocumentsOnStandardOutput);
        }
        check_different_files(arguments)?;
        Ok(Self {
            extents,
            modes: modes(&arguments.mode),
            kernel: arguments.kernel,
            device: arguments.device,
            kernels: arguments.kernels_from.clone().map_or(KernelSource::Embedded, KernelSource::File),
            iterations: arguments.iters,
            warmup: arguments.warmup,
            seed: arguments.seed,
            verify: match arguments.verify {
                None => Method::Auto,
                Some(VerifyChoice::Full) => Method::Full,
                Some(VerifyChoice::Sampled) => Method::Sampled,
                Some(VerifyChoice::Off) => Method::Off,
            },
            out: arguments.out.clone(),
            json: arguments.json.clone(),
            csv: arguments.csv.clone(),
            pinned_limit: arguments.pinned_limit.map(|limit| limit.as_u64()),
            explain: arguments.explain,
            quiet: arguments.quiet,
        })
    }

    /// Whether tables go to standard output.
    pub fn prints_tables(&self) -> bool {
        let taken = [&self.json, &self.csv].into_iter().flatten().any(|to| *to == Destination::Standard);
        !self.quiet && !taken
    }

    /// The files that are to be written.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let documents = [&self.json, &self.csv].into_iter().flatten().filter_map(Destination::path);
        documents.chain(self.out.as_deref())
    }

    /// How often each mode runs.
    pub fn plan(&self, on_simt: bool) -> Plan {
        let (iterations, warmup) = if on_simt { (3, 1) } else { (10, 2) };
        Plan {
            kernel: self.kernel,
            iterations: self.iterations.unwrap_or(iterations),
            warmup: self.warmup.unwrap_or(warmup),
        }
    }
}

impl Extents {
    fn from_arguments(arguments: &Arguments) -> Result<Self, Error> {
        let shape = |what: String, [m, n, k]: [u32; 3]| {
            Shape::new(m.into(), n.into(), k.into()).map_err(|reason| Error::Shape { what, reason })
        };
        Ok(match (&arguments.a, &arguments.b, arguments.m, arguments.n, arguments.k) {
            (Some(a), Some(b), ..) => Self::Files(a.clone(), b.clone()),
            (.., Some(m), Some(n), Some(k)) => {
                Self::Shapes(vec![shape(format!("--m {m} --n {n} --k {k}"), [m, n, k])?])
            }
            _ if arguments.size.is_empty() => Self::Default,
            _ => {
                let square = |&size: &u32| shape(format!("--size {size}"), [size; 3]);
                Self::Shapes(arguments.size.iter().map(square).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// Each mode once, in the order asked for; all of them if none was.
fn modes(asked: &[Mode]) -> Vec<Mode> {
    let mut modes = Vec::new();
    for &mode in if asked.is_empty() { &Mode::ARTICLE[..] } else { asked } {
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    modes
}

/// Two outputs of one name would overwrite each other, and an output with the name of an input the input.
fn check_different_files(arguments: &Arguments) -> Result<(), Error> {
    let document = |to: &Option<Destination>| to.as_ref().and_then(Destination::path).map(Path::to_owned);
    let named = [
        ("--a", arguments.a.clone()),
        ("--b", arguments.b.clone()),
        ("--out", arguments.out.clone()),
        ("--json", document(&arguments.json)),
        ("--csv", document(&arguments.csv)),
    ];
    let files: Vec<(&str, PathBuf)> =
        named.into_iter().filter_map(|(option, path)| Some((option, identity(&path?)?))).collect();
    for (index, (option, path)) in files.iter().enumerate() {
        let earlier = files[..index].iter().find(|(_, other)| other == path).map(|&(option, _)| option);
        match earlier {
            // One matrix may be read twice.
            Some("--a") if *option == "--b" => {}
            Some(input @ ("--a" | "--b")) => {
                return Err(Error::OverwritesInput { output: option, input, path: path.clone() });
            }
            Some(other) => return Err(Error::SameFile { options: [other, option], path: path.clone() }),
            None => {}
        }
    }
    Ok(())
}
