//! What there is to do.

use gpu::matmul::{MatmulKernel, Shape};
use serde::Serialize;

/// A job, as far as the model needs it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// Bytes of each buffer that goes to the device.
    pub input_bytes: Vec<u64>,
    /// Bytes of the buffer that comes back; 0 if none does.
    pub output_bytes: u64,
    /// How often the kernel reads each byte of the input from its memory, on average, before any cache. Between 0 and 1 if
    /// it reads only a part.
    pub reads_per_byte: f64,
    /// In which order it reads.
    pub pattern: Pattern,
    /// What it computes.
    pub compute: Compute,
    /// How often all of this is done with the same buffers.
    pub repeats: u64,
    /// Whether the CPU writes the input each time.
    pub cpu_writes: bool,
    /// Whether the CPU reads the output each time.
    pub cpu_reads: bool,
}

/// In which order a kernel reads its input. It writes in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Neighbouring threads read neighbouring words.
    Sequential,
    /// 4 bytes here, 4 bytes there.
    Random,
}

/// The work of the kernel, apart from moving bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Compute {
    /// So many floating-point operations.
    Flops {
        /// How many.
        flops: f64,
        /// At this rate; absent: as fast as the best kernel of the matrix product on the machine.
        tflop_per_s: Option<f64>,
    },
    /// A kernel whose time on device memory is known.
    Kernel {
        /// Its time.
        kernel_ms: f64,
    },
    /// A matrix product of ours.
    Product {
        /// Which kernel.
        kernel: &'static str,
        /// 2·M·N·K.
        flops: f64,
        /// Its time on device memory, where that is known from a measurement.
        kernel_ms: Option<f64>,
    },
}

/// Why something is no job.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    /// Nothing to carry.
    #[error("a job that carries nothing needs no advice; say how many bytes go in (--in) or come out (--out)")]
    Nothing,
    /// A number that is none, is negative or beyond all measure.
    #[error("{what} is {value}; {allowed}")]
    Number {
        /// Which.
        what: &'static str,
        /// What it was.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// No runs.
    #[error("--repeat is 0; a job is done once at least")]
    NoRepeats,
    /// More bytes than fit 64 bits.
    #[error(
        "the input and the output come to more bytes than 64 bits can count, which is {}, just below 16 EiB; take smaller \
         ones",
        u64::MAX
    )]
    TooLarge,
}

impl Job {
    /// A product of ours: A and B in, C out, done once, with inputs that are there and a result that nobody reads.
    pub fn product(kernel: MatmulKernel, shape: Shape) -> Self {
        let bytes = |elements: usize| elements as u64 * size_of::<f32>() as u64;
        let (a, b) = (bytes(shape.a_len()), bytes(shape.b_len()));
        let (reads_a, reads_b) = kernel.reads(shape);
        let read = reads_a as f64 * a as f64 + reads_b as f64 * b as f64;
        Self {
            input_bytes: vec![a, b],
            output_bytes: bytes(shape.c_len()),
            reads_per_byte: read / (a as f64 + b as f64),
            pattern: Pattern::Sequential,
            compute: Compute::Product { kernel: kernel.name(), flops: shape.flops() as f64, kernel_ms: None },
            repeats: 1,
            cpu_writes: false,
            cpu_reads: false,
        }
    }

    /// The same if it makes sense.
    ///
    /// # Errors
    /// It carries nothing, or a number is none that can be computed with.
    pub fn checked(self) -> Result<Self, JobError> {
        let sum = self.input_bytes.iter().try_fold(self.output_bytes, |sum, bytes| sum.checked_add(*bytes));
        match sum {
            None => return Err(JobError::TooLarge),
            Some(0) => return Err(JobError::Nothing),
            Some(_) => {}
        }
        if self.repeats == 0 {
            return Err(JobError::NoRepeats);
        }
        number("--reads", self.reads_per_byte, 0.0..=1e9, "between 0 and 1000000000 is possible")?;
        match self.compute {
            Compute::Flops { flops, tflop_per_s } => {
                number("--flops", flops, 0.0..=1e24, "between 0 and 1e24 is possible")?;
                let rate = tflop_per_s.unwrap_or(1.0);
                number("--tflops", rate, 1e-6..=1e6, "between 0.000001 and 1000000 TFLOP/s is possible")?;
            }
            Compute::Kernel { kernel_ms } => {
                number("--kernel-ms", kernel_ms, 0.0..=1e12, "between 0 and 1e12 ms is possible")?;
            }
            Compute::Product { .. } => {}
        }
        Ok(self)
    }

    /// All bytes that go in.
    pub fn bytes_in(&self) -> f64 {
        self.input_bytes.iter().map(|bytes| *bytes as f64).sum()
    }

    /// All bytes, in and out.
    pub fn bytes(&self) -> u64 {
        self.input_bytes.iter().fold(self.output_bytes, |sum, bytes| sum.saturating_add(*bytes))
    }
}

fn number(
    what: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    allowed: &'static str,
) -> Result<(), JobError> {
    // A NaN is in no range.
    if range.contains(&value) { Ok(()) } else { Err(JobError::Number { what, value, allowed }) }
}
