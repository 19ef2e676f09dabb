//! What the user types. What it means together is [`Job`](super::job::Job)'s to say.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use gpu::matmul::MatmulKernel;

use crate::commands::common::{Destination, byte_size, is_standard_output};
use crate::device::Selector;
use crate::matmul::Mode;

const EXAMPLES: &str = "\
Examples:
  cargo run -p cpu -- matmul                        the three modes at the default sizes
  cargo run -p cpu -- matmul --size 512,1000        square products
  cargo run -p cpu -- matmul --m 300 --n 200 --k 7  A is 300×7, B is 7×200
  cargo run -p cpu -- matmul --device simt          on the CPU, although there is a GPU
  cargo run -p cpu -- matmul --mode pinned --iters 50 --json report.json
  cargo run -p cpu -- matmul --a a.npy --b b.npy --out c.npy
  cargo run -p cpu -- matmul --explain              predicted beside measured, after `bandwidth`

Exit status: 0 if everything was done and every result verified (or --verify off),
1 if something failed or a result is wrong, 2 if the arguments make no sense.";

/// The options of `matmul`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Square products, M = N = K [default: 1024,4096,8192 on a GPU, 128,256,512 on the CPU]
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', value_parser = extent, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["m", "n", "k", "a", "b"])]
    pub(super) size: Vec<u32>,

    /// Rows of A and C
    #[arg(long, value_name = "M", value_parser = extent, allow_negative_numbers = true)]
    #[arg(requires_all = ["n", "k"], conflicts_with_all = ["a", "b"])]
    pub(super) m: Option<u32>,

    /// Columns of B and C
    #[arg(long, value_name = "N", value_parser = extent, allow_negative_numbers = true)]
    #[arg(requires_all = ["m", "k"], conflicts_with_all = ["a", "b"])]
    pub(super) n: Option<u32>,

    /// Columns of A, rows of B
    #[arg(long, value_name = "K", value_parser = extent, allow_negative_numbers = true)]
    #[arg(requires_all = ["m", "n"], conflicts_with_all = ["a", "b"])]
    pub(super) k: Option<u32>,

    /// How the matrices travel: pageable, staged, pinned, mapped, managed, prefetched [default: pageable,pinned,mapped]
    #[arg(long, value_name = "MODE[,MODE…]", value_delimiter = ',', value_enum, hide_possible_values = true)]
    pub(super) mode: Vec<Mode>,

    /// Which kernel; auto is the fastest
    #[arg(long, value_name = "KERNEL", value_parser = kernel(), default_value = AUTO)]
    pub(super) kernel: MatmulKernel,

    /// auto (a GPU if there is one), cuda:0 (this GPU or an error) or simt (the CPU)
    #[arg(long, value_name = "auto|cuda:I|simt", default_value_t = Selector::Auto)]
    pub(super) device: Selector,

    /// Takes the kernels from this file, to compare compilers [default: those in the program]
    #[arg(long, value_name = "FILE.ptx")]
    pub(super) kernels_from: Option<PathBuf>,

    /// Measured runs of each mode [default: 10 on a GPU, 3 on the CPU]
    #[arg(long, value_name = "RUNS", allow_negative_numbers = true)]
    #[arg(value_parser = measured_runs)]
    pub(super) iters: Option<u32>,

    /// Runs before the measured ones [default: 2 on a GPU, 1 on the CPU]
    #[arg(long, value_name = "RUNS", allow_negative_numbers = true)]
    #[arg(value_parser = runs)]
    pub(super) warmup: Option<u32>,

    /// Makes the same random matrices again, and lets verification draw the same elements, of files too [default: a new
    /// one each time, printed]
    #[arg(long, value_name = "SEED", value_parser = seed, allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,

    /// How much of each result is verified: every element; every row, and some elements; nothing [default: full up to about
    /// 2048³, then sampled]
    #[arg(long, value_name = "full|sampled|off", value_enum, hide_possible_values = true)]
    pub(super) verify: Option<VerifyChoice>,

    /// A, a NumPy file of f32 or f64
    #[arg(long, value_name = "FILE.npy", requires = "b")]
    pub(super) a: Option<PathBuf>,

    /// B, a NumPy file of f32 or f64
    #[arg(long, value_name = "FILE.npy", requires = "a")]
    pub(super) b: Option<PathBuf>,

    /// Writes C as a NumPy file of f32
    #[arg(long, value_name = "FILE.npy", value_parser = PathBufValueParser::new().try_map(matrix_file))]
    pub(super) out: Option<PathBuf>,

    /// Writes the report with every sample; `-` is standard output, instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = PathBufValueParser::new().map(Destination::from))]
    pub(super) json: Option<Destination>,

    /// Writes one line per run; `-` is standard output, instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = PathBufValueParser::new().map(Destination::from))]
    pub(super) csv: Option<Destination>,

    /// Holds a prediction against the measurement: by what `bandwidth` kept of this machine, or by a named default
    #[arg(long)]
    pub(super) explain: bool,

    /// The most page-locked memory to use, such as 2GiB [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = byte_size, allow_negative_numbers = true)]
    pub(super) pinned_limit: Option<ByteSize>,

    /// Prints nothing but errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum VerifyChoice {
    Full,
    Sampled,
    Off,
}

/// Reads `--out`. Tables and a matrix on one stream would be neither.
fn matrix_file(path: PathBuf) -> Result<PathBuf, &'static str> {
    match is_standard_output(&path) {
        true => Err("C is not written to standard output; name a file, such as c.npy"),
        false => Ok(path),
    }
}

const AUTO: &str = "auto";

/// Reads the name of a kernel, whichever there are; the last rung of the ladder is the fastest.
pub(in crate::commands) fn kernel() -> impl TypedValueParser<Value = MatmulKernel> {
    const ALL: &[MatmulKernel] = &MatmulKernel::ALL;
    let names = ALL.iter().map(|kernel| kernel.name());
    PossibleValuesParser::new([AUTO].into_iter().chain(names))
        .map(|name| ALL.iter().copied().find(|kernel| kernel.name() == name).unwrap_or(ALL[ALL.len() - 1]))
}

/// Whether this is a whole number, whatever its size.
fn check_whole(text: &str) -> Result<(), String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a whole number; write one such as 1024".into());
    }
    Ok(())
}

/// Reads the number of runs before the measured ones.
fn runs(text: &str) -> Result<u32, String> {
    check_whole(text)?;
    match text.parse() {
        Ok(runs @ 0..=MAX_RUNS) => Ok(runs),
        _ if text.starts_with('-') => Err("runs cannot be fewer than 0".into()),
        _ => Err(format!("at most {MAX_RUNS} runs")),
    }
}

const MAX_RUNS: u32 = 1_000_000;

/// Reads the number of measured runs.
fn measured_runs(text: &str) -> Result<u32, String> {
    match runs(text)? {
        0 => Err("nothing is measured in 0 runs; at least 1".into()),
        runs => Ok(runs),
    }
}

/// Reads a seed.
fn seed(text: &str) -> Result<u64, String> {
    check_whole(text)?;
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// Reads M, N or K.
fn extent(text: &str) -> Result<u32, String> {
    check_whole(text)?;
    match text.parse() {
        Ok(0) => Err("an extent is at least 1".into()),
        Ok(extent) => Ok(extent),
        Err(_) if text.starts_with('-') => Err("an extent is at least 1".into()),
        Err(_) => Err(format!("an extent is at most {}, 32 bits; take a smaller one", u32::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_whole_numbers_of_32_bits() {
        assert_eq!(extent("1"), Ok(1));
        assert_eq!(extent("4294967295"), Ok(u32::MAX));
        for (text, what) in [
            ("0", "at least 1"),
            ("-3", "at least 1"),
            ("4294967296", "at most 4294967295"),
            ("99999999999999999999999", "at most"),
            ("", "whole number"),
            ("-", "whole number"),
            ("1k", "whole number"),
            ("1.5", "whole number"),
            ("１", "whole number"),
        ] {
            assert!(extent(text).unwrap_err().contains(what), "{text}");
        }
    }
}
