//! What the user types, and the job that it describes.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use gpu::matmul::{MatmulKernel, Shape};

use super::Error;
use crate::advise::{Compute, Job, Named, Pattern};
use crate::commands::common::{Destination, byte_size};
use crate::commands::matmul::kernel;

const EXAMPLES: &str = "\
Examples:
  cargo run -p cpu -- advise --in 8MB --out 4MB --repeat 1000       an image of 16 bits to one of 8
  cargo run -p cpu -- advise --in 1GiB --reads 3 --pattern random   read three times, here and there
  cargo run -p cpu -- advise --matmul 4096 --machine t4             a product, on a machine that is not here
  cargo run -p cpu -- advise --matmul 300x200x7 --repeat 100
  cargo run -p cpu -- advise --from report.json                     what matmul or bandwidth reported

All times are predicted by a model. Its parameters are what `bandwidth` measured on this machine, or
named defaults. Exit status: 0 if there is advice, 1 if there is none, 2 if the arguments make no sense.";

/// The options of `advise`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Bytes of each buffer that goes to the device, such as 64MiB or 8MB,1MB
    #[arg(long = "in", value_name = "SIZE[,SIZE…]", value_delimiter = ',', value_parser = bytes)]
    #[arg(allow_negative_numbers = true, conflicts_with = "matmul")]
    input: Vec<u64>,

    /// Bytes that come back [default: 0]
    #[arg(long = "out", value_name = "SIZE", value_parser = bytes, allow_negative_numbers = true)]
    #[arg(conflicts_with = "matmul")]
    output: Option<u64>,

    /// How often the kernel reads each byte of the input, on average [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "matmul")]
    reads: Option<f64>,

    /// In which order the kernel reads [default: sequential]
    #[arg(long, value_enum, conflicts_with = "matmul")]
    pattern: Option<Pattern>,

    /// Floating-point operations of the kernel, such as 1e9 [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["kernel_ms", "matmul"])]
    flops: Option<f64>,

    /// How fast the kernel computes, in TFLOP/s [default: as fast as the best matrix product on the machine]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, requires = "flops")]
    #[arg(conflicts_with_all = ["kernel_ms", "matmul"])]
    tflops: Option<f64>,

    /// The kernel's time on device memory, in ms, where it is known
    #[arg(long, value_name = "MS", allow_negative_numbers = true, conflicts_with = "matmul")]
    kernel_ms: Option<f64>,

    /// A matrix product instead: M = N = K, or M×N×K
    #[arg(long, value_name = "N|MxNxK", value_parser = product)]
    matmul: Option<Shape>,

    /// Which kernel of the product; auto is the fastest [default: auto]
    #[arg(long, value_name = "KERNEL", value_parser = kernel(), requires = "matmul")]
    #[arg(conflicts_with_all = ["input", "output", "reads", "pattern", "flops", "tflops", "kernel_ms"])]
    kernel: Option<MatmulKernel>,

    /// How often the job is done with the same buffers
    #[arg(long, value_name = "RUNS", default_value_t = 1, allow_negative_numbers = true)]
    repeat: u64,

    /// Whether the CPU writes the input before each run
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    cpu_writes: YesNo,

    /// Whether the CPU reads the output after each run
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    cpu_reads: YesNo,

    /// A report of matmul gives the jobs and what was measured; one of bandwidth gives the machine; `-` is standard input
    #[arg(long, value_name = "FILE.json|-")]
    pub(super) from: Option<PathBuf>,

    /// On which machine: this one, or one with a name [default: this, or the report's]
    #[arg(long, value_name = "this|t4|a100|h200", value_enum, hide_possible_values = true)]
    pub(super) machine: Option<MachineChoice>,

    /// Writes everything; `-` is standard output, instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = PathBufValueParser::new().map(Destination::from))]
    pub(super) json: Option<Destination>,

    /// Writes one line per strategy; `-` is standard output, instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = PathBufValueParser::new().map(Destination::from))]
    pub(super) csv: Option<Destination>,

    /// Prints nothing but errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

/// On which machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MachineChoice {
    /// The one that the program runs on.
    This,
    /// T4 on PCIe 3.0.
    T4,
    /// A100 on PCIe 4.0.
    A100,
    /// H200 on PCIe 5.0.
    H200,
}

impl MachineChoice {
    /// The named default, if it is one.
    pub(super) fn named(self) -> Option<Named> {
        match self {
            Self::This => None,
            Self::T4 => Some(Named::T4),
            Self::A100 => Some(Named::A100),
            Self::H200 => Some(Named::H200),
        }
    }
}

impl Arguments {
    /// The job that was described, unless a report of `matmul` gives it.
    ///
    /// # Errors
    /// It makes no sense.
    pub(super) fn job(&self) -> Result<Job, Error> {
        let job = match self.matmul {
            Some(shape) => Job::product(self.kernel.unwrap_or(MatmulKernel::ALL[MatmulKernel::ALL.len() - 1]), shape),
            None => Job {
                input_bytes: self.input.clone(),
                output_bytes: self.output.unwrap_or(0),
                reads_per_byte: self.reads.unwrap_or(1.0),
                pattern: self.pattern.unwrap_or(Pattern::Sequential),
                compute: match self.kernel_ms {
                    Some(kernel_ms) => Compute::Kernel { kernel_ms },
                    None => Compute::Flops { flops: self.flops.unwrap_or(0.0), tflop_per_s: self.tflops },
                },
                repeats: 1,
                cpu_writes: false,
                cpu_reads: false,
            },
        };
        self.with_circumstances(job)
    }

    /// A job with how often and by whom its data is touched.
    ///
    /// # Errors
    /// It makes no sense.
    pub(super) fn with_circumstances(&self, job: Job) -> Result<Job, Error> {
        let job = Job {
            repeats: self.repeat,
            cpu_writes: self.cpu_writes == YesNo::Yes,
            cpu_reads: self.cpu_reads == YesNo::Yes,
            ..job
        };
        Ok(job.checked()?)
    }

    /// Whether a job is described at all.
    pub(super) fn describes_job(&self) -> bool {
        self.matmul.is_some() || !self.input.is_empty() || self.output.is_some()
    }

    /// The options that say something of the job, as they were typed.
    pub(super) fn job_options(&self) -> Vec<&'static str> {
        let given = [
            ("--in", !self.input.is_empty()),
            ("--out", self.output.is_some()),
            ("--reads", self.reads.is_some()),
            ("--pattern", self.pattern.is_some()),
            ("--flops", self.flops.is_some()),
            ("--tflops", self.tflops.is_some()),
            ("--kernel-ms", self.kernel_ms.is_some()),
            ("--matmul", self.matmul.is_some()),
            ("--kernel", self.kernel.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(option, _)| option).collect()
    }

    /// Whether tables go to standard output.
    pub(super) fn prints_tables(&self) -> bool {
        let taken = [&self.json, &self.csv].into_iter().flatten().any(|to| *to == Destination::Standard);
        !self.quiet && !taken
    }
}

/// Reads an amount of memory.
fn bytes(text: &str) -> Result<u64, String> {
    byte_size(text).map(|size| size.as_u64())
}

/// Reads 4096, 300x200x7 or 300×200×7.
fn product(text: &str) -> Result<Shape, String> {
    let expected = || "write one extent such as 4096, or M, N and K such as 300x200x7".to_string();
    let extents = text.split(['x', 'X', '×']).map(|extent| extent.trim().parse::<u64>().map_err(|_| expected()));
    match extents.collect::<Result<Vec<u64>, _>>()?[..] {
        [side] => Shape::new(side, side, side),
        [m, n, k] => Shape::new(m, n, k),
        _ => return Err(expected()),
    }
    .map_err(|reason| reason.to_string())
}

#[cfg(test)]
mod tests {
    use super::product;
    use gpu::matmul::Shape;

    #[test]
    fn products_are_one_extent_or_three() {
        let shape = |m, n, k| Ok(Shape::new(m, n, k).unwrap());
        assert_eq!(product("4096"), shape(4096, 4096, 4096));
        assert_eq!(product("300x200x7"), shape(300, 200, 7));
        assert_eq!(product("300×200×7"), shape(300, 200, 7));
        for text in ["", "x", "3x4", "1x2x3x4", "-1", "1.5", "0", "4294967296", "4294967295x4294967295x4294967295"] {
            assert!(product(text).is_err(), "{text}");
        }
    }
}
