//! What the user types, and what it means once it was checked.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use gpu::matmul::MatmulKernel;

use super::Error;
use crate::device::{KernelSource, Selector};
use crate::matmul::{Mode, Plan};
use crate::verify::Method;

/// The options of `matmul`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Square products, M = N = K [default: 1024,4096,8192 on a GPU, 128,256,512 on the CPU]
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', conflicts_with_all = ["m", "n", "k", "a", "b"])]
    size: Vec<u64>,

    /// Rows of A and C
    #[arg(long, value_name = "M", requires_all = ["n", "k"], conflicts_with_all = ["a", "b"])]
    m: Option<u64>,

    /// Columns of B and C
    #[arg(long, value_name = "N", requires_all = ["m", "k"])]
    n: Option<u64>,

    /// Columns of A, rows of B
    #[arg(long, value_name = "K", requires_all = ["m", "n"])]
    k: Option<u64>,

    /// How the matrices travel
    #[arg(long, value_name = "MODE[,MODE…]", value_delimiter = ',', value_enum, default_values = ["pageable", "pinned", "mapped"])]
    mode: Vec<Mode>,

    /// Which kernel; auto is the fastest
    #[arg(long, value_enum, default_value_t = KernelChoice::Auto)]
    kernel: KernelChoice,

    /// auto (a GPU if there is one), cuda:0 (this GPU or an error) or simt (the CPU)
    #[arg(long, default_value_t = Selector::Auto)]
    device: Selector,

    /// Takes the kernels from this file, to compare compilers [default: those in the program]
    #[arg(long, value_name = "FILE.ptx")]
    kernels_from: Option<PathBuf>,

    /// Measured runs of each mode [default: 10 on a GPU, 3 on the CPU]
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    iters: Option<u32>,

    /// Runs before the measured ones [default: 2 on a GPU, 1 on the CPU]
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    warmup: Option<u32>,

    /// Makes the same random matrices again [default: a new one each time, printed]
    #[arg(long)]
    seed: Option<u64>,

    /// How much of each result is verified [default: full up to about 2048³, then sampled]
    #[arg(long, value_enum)]
    verify: Option<VerifyChoice>,

    /// A, a NumPy file of f32 or f64
    #[arg(long, value_name = "FILE.npy", requires = "b")]
    a: Option<PathBuf>,

    /// B, a NumPy file of f32 or f64
    #[arg(long, value_name = "FILE.npy", requires = "a")]
    b: Option<PathBuf>,

    /// Writes C as a NumPy file of f32
    #[arg(long, value_name = "FILE.npy")]
    out: Option<PathBuf>,

    /// Writes the report with every sample; `-` is standard output, instead of the tables
    #[arg(long, value_name = "FILE|-")]
    json: Option<Destination>,

    /// Writes one line per run; `-` is standard output, instead of the tables
    #[arg(long, value_name = "FILE|-")]
    csv: Option<Destination>,

    /// The most page-locked memory to use, such as 2GiB [default: half of what is available]
    #[arg(long, value_name = "SIZE")]
    pinned_limit: Option<ByteSize>,

    /// Prints nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KernelChoice {
    Auto,
    Naive,
    Coalesced,
    Tiled,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VerifyChoice {
    /// Every element against the f64 product
    Full,
    /// Every row by Freivalds' check, some elements against f64
    Sampled,
    /// Nothing
    Off,
}

/// A file, or standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// `-`
    Standard,
    /// A path.
    File(PathBuf),
}

impl FromStr for Destination {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Standard } else { Self::File(text.into()) })
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
    /// Print nothing.
    pub quiet: bool,
}

/// What to multiply.
#[derive(Debug)]
pub enum Extents {
    /// The device's default sizes.
    Default,
    /// M = N = K, several.
    Square(Vec<u64>),
    /// M, N, K.
    Rectangular(u64, u64, u64),
    /// A and B from files.
    Files(PathBuf, PathBuf),
}

impl Job {
    /// Checks the arguments.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn from_arguments(arguments: &Arguments) -> Result<Self, Error> {
        let extents = match (&arguments.a, &arguments.b, arguments.m, arguments.n, arguments.k) {
            (Some(a), Some(b), ..) => Extents::Files(a.clone(), b.clone()),
            (.., Some(m), Some(n), Some(k)) => Extents::Rectangular(m, n, k),
            _ if arguments.size.is_empty() => Extents::Default,
            _ => Extents::Square(arguments.size.clone()),
        };
        let one_size = match &extents {
            Extents::Square(sizes) => sizes.len() == 1,
            Extents::Default => false,
            Extents::Rectangular(..) | Extents::Files(..) => true,
        };
        if arguments.out.is_some() && !one_size {
            return Err(Error::OutNeedsOneSize);
        }
        if arguments.json == Some(Destination::Standard) && arguments.csv == Some(Destination::Standard) {
            return Err(Error::TwoDocumentsOnStandardOutput);
        }
        check_different_files(arguments)?;
        let mut modes = arguments.mode.clone();
        let mut seen = Vec::new();
        modes.retain(|mode| {
            !seen.contains(mode) && {
                seen.push(*mode);
                true
            }
        });
        Ok(Self {
            extents,
            modes,
            kernel: match arguments.kernel {
                KernelChoice::Naive => MatmulKernel::Naive,
                KernelChoice::Coalesced => MatmulKernel::Coalesced,
                KernelChoice::Auto | KernelChoice::Tiled => MatmulKernel::Tiled,
            },
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
            quiet: arguments.quiet,
        })
    }

    /// Whether tables go to standard output.
    pub fn prints_tables(&self) -> bool {
        let taken = [&self.json, &self.csv].into_iter().flatten().any(|to| *to == Destination::Standard);
        !self.quiet && !taken
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

/// Two outputs of one name would overwrite each other.
fn check_different_files(arguments: &Arguments) -> Result<(), Error> {
    let documents = [&arguments.json, &arguments.csv].map(|to| to.as_ref().and_then(Destination::path));
    let mut outputs: Vec<&Path> = documents.into_iter().flatten().chain(arguments.out.as_deref()).collect();
    outputs.sort();
    match outputs.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::SameFile { path: pair[0].to_owned() }),
        None => Ok(()),
    }
}
