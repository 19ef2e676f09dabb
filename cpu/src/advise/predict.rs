//! The model: what each strategy would take.
//!
//! * A copy takes what copies of its size from its kind of memory took, each buffer on its own, and at least what asking
//!   for a copy costs.
//! * A kernel takes the longest of its arithmetic, its reads, its writes, and both together; on device memory at the
//!   speed of device memory, in mode mapped at that of the link. No cache is assumed to hold host memory. The kernels of the
//!   matrix product take what was measured, for their caches matter.
//! * To each run comes what a launch and the wait for it cost the caller.
//! * Buffers on the device, and what copies could overlap with, are left out.

use serde::Serialize;

use super::job::{Compute, Job, Pattern};
use super::machine::Machine;
use super::strategy::Strategy;
use crate::amount::like;

/// What one strategy would take, in milliseconds. All of it is predicted, and the names in documents say so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Which.
    pub strategy: Strategy,
    /// Allocating the host buffers, once.
    #[serde(rename = "predicted_allocate_ms")]
    pub allocate_ms: f64,
    /// Freeing them, once.
    #[serde(rename = "predicted_free_ms")]
    pub free_ms: f64,
    /// One thread of the CPU writes the input; 0 if it does not.
    #[serde(rename = "predicted_cpu_write_ms")]
    pub cpu_write_ms: f64,
    /// Copies to the device.
    #[serde(rename = "predicted_h2d_ms")]
    pub h2d_ms: f64,
    /// The kernel.
    #[serde(rename = "predicted_kernel_ms")]
    pub kernel_ms: f64,
    /// The copy to the host.
    #[serde(rename = "predicted_d2h_ms")]
    pub d2h_ms: f64,
    /// One thread of the CPU reads the output; 0 if it does not.
    #[serde(rename = "predicted_cpu_read_ms")]
    pub cpu_read_ms: f64,
    /// What a launch and the wait for it cost the caller.
    #[serde(rename = "predicted_overhead_ms")]
    pub overhead_ms: f64,
    /// One run: all but allocating and freeing.
    #[serde(rename = "predicted_run_ms")]
    pub run_ms: f64,
    /// All runs, allocating and freeing.
    #[serde(rename = "predicted_all_ms")]
    pub all_ms: f64,
    /// Why it cannot be had on this machine.
    pub does_not_fit: Option<String>,
}

impl Prediction {
    /// What is paid once.
    pub fn setup_ms(&self) -> f64 {
        self.allocate_ms + self.free_ms
    }

    /// So many runs, with what is paid once.
    pub fn of_runs_ms(&self, runs: u64) -> f64 {
        self.setup_ms() + runs as f64 * self.run_ms
    }

    /// The parts of a run by name.
    pub fn stages(&self) -> [(&'static str, f64); 6] {
        [
            ("the CPU's writing", self.cpu_write_ms),
            ("the copies to the device", self.h2d_ms),
            ("the kernel", self.kernel_ms),
            ("the copy to the host", self.d2h_ms),
            ("the CPU's reading", self.cpu_read_ms),
            ("launching and waiting", self.overhead_ms),
        ]
    }
}

/// The model lacks something.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unpredictable {
    /// No kernel's rate is known.
    #[error(
        "how fast {machine} computes is not known: its parameters have no matrix product; run `cargo run -p cpu -- bandwidth` \
         again, or say it with --flops and --tflops, or with --kernel-ms"
    )]
    NoRate {
        /// The machine.
        machine: String,
    },
    /// No copies were measured.
    #[error("the parameters of {machine} have no strategy that is whole; run `cargo run -p cpu -- bandwidth` again")]
    NoCosts {
        /// The machine.
        machine: String,
    },
}

/// What each strategy would take that the machine's parameters know enough of.
///
/// # Errors
/// The parameters know enough of none, or nothing of how fast the machine computes.
pub fn predict(job: &Job, machine: &Machine) -> Result<Vec<Prediction>, Unpredictable> {
    let arithmetic = arithmetic_ms(job, machine)?;
    let all: Vec<Prediction> =
        Strategy::ALL.into_iter().filter_map(|strategy| one(job, machine, strategy, arithmetic)).collect();
    if all.is_empty() { Err(Unpredictable::NoCosts { machine: machine.parameters.device.clone() }) } else { Ok(all) }
}

fn one(job: &Job, machine: &Machine, strategy: Strategy, arithmetic: f64) -> Option<Prediction> {
    let (input, output) = (strategy.input(), strategy.output());
    let (h2d_ms, d2h_ms) = if strategy.copies() {
        let up = job.input_bytes.iter().map(|&bytes| machine.h2d_ms(input, bytes)).sum::<Option<f64>>()?;
        (up, if job.output_bytes == 0 { 0.0 } else { machine.d2h_ms(output, job.output_bytes)? })
    } else {
        (0.0, 0.0)
    };
    let kernel_ms = if strategy.copies() {
        on_device_ms(job, machine, arithmetic)
    } else {
        over_link_ms(job, machine, arithmetic)?
    };
    let (input, output) = (Strategy::as_allocated(input), Strategy::as_allocated(output));
    let (allocate_ms, free_ms) = allocation_ms(job, machine, strategy);
    let cpu_write_ms = match job.cpu_writes {
        true => job.bytes_in() / machine.cpu_speed(input)?.write_gb_per_s.max(f64::MIN_POSITIVE) / 1e6,
        false => 0.0,
    };
    let cpu_read_ms = match job.cpu_reads {
        true => job.output_bytes as f64 / machine.cpu_speed(output)?.read_gb_per_s.max(f64::MIN_POSITIVE) / 1e6,
        false => 0.0,
    };
    let overhead_ms = machine.parameters.launch_and_wait_ms.unwrap_or(0.0);
    let run_ms = cpu_write_ms + h2d_ms + kernel_ms + d2h_ms + cpu_read_ms + overhead_ms;
    Some(Prediction {
        strategy,
        allocate_ms,
        free_ms,
        cpu_write_ms,
        h2d_ms,
        kernel_ms,
        d2h_ms,
        cpu_read_ms,
        overhead_ms,
        run_ms,
        all_ms: allocate_ms + free_ms + job.repeats as f64 * run_ms,
        does_not_fit: does_not_fit(job, machine, strategy),
    })
}

/// What the kernel's arithmetic takes, on whatever memory.
fn arithmetic_ms(job: &Job, machine: &Machine) -> Result<f64, Unpredictable> {
    let (flops, rate) = match job.compute {
        Compute::Kernel { kernel_ms } | Compute::Product { kernel_ms: Some(kernel_ms), .. } => return Ok(kernel_ms),
        Compute::Product { kernel, flops, .. } => match machine.product_ms(kernel, "device", flops) {
            Some(ms) => return Ok(ms),
            None => (flops, None),
        },
        Compute::Flops { flops, tflop_per_s } => (flops, tflop_per_s),
    };
    if flops == 0.0 {
        return Ok(0.0);
    }
    let rate = rate.or_else(|| machine.best_tflop_per_s().map(|(rate, _)| rate));
    let rate = rate.ok_or_else(|| Unpredictable::NoRate { machine: machine.parameters.device.clone() })?;
    Ok(flops / rate / 1e9)
}

/// A time that was measured on device memory holds its memory accesses already.
fn on_device_ms(job: &Job, machine: &Machine, arithmetic: f64) -> f64 {
    match job.compute {
        Compute::Kernel { .. } | Compute::Product { .. } => arithmetic,
        Compute::Flops { .. } => arithmetic.max(moving_ms(job, machine, "device").unwrap_or(0.0)),
    }
}

fn over_link_ms(job: &Job, machine: &Machine, arithmetic: f64) -> Option<f64> {
    let measured = match job.compute {
        Compute::Product { kernel, flops, .. } => machine.product_ms(kernel, "mapped", flops),
        Compute::Flops { .. } | Compute::Kernel { .. } => None,
    };
    match measured {
        Some(ms) => Some(ms),
        None => Some(arithmetic.max(moving_ms(job, machine, "mapped")?)),
    }
}

/// What a kernel's reads and writes take on a kind of memory, side by side.
fn moving_ms(job: &Job, machine: &Machine, memory: &str) -> Option<f64> {
    let speed = machine.kernel_speed(memory)?;
    let ms = |bytes: f64, gb_per_s: f64| bytes / gb_per_s.max(f64::MIN_POSITIVE) / 1e6;
    let (read, written) = (job.reads_per_byte * job.bytes_in(), job.output_bytes as f64);
    let writing = ms(written, speed.write_gb_per_s);
    Some(match job.pattern {
        Pattern::Random => ms(read, speed.random_gb_per_s).max(writing),
        Pattern::Sequential => ms(read, speed.read_gb_per_s).max(writing).max(ms(read + written, speed.copy_gb_per_s)),
    })
}

/// Allocating and freeing the host buffers, and what staging keeps page-locked; 0 for what was not measured.
fn allocation_ms(job: &Job, machine: &Machine, strategy: Strategy) -> (f64, f64) {
    let kinds = [strategy.input(), strategy.output()].map(Strategy::as_allocated);
    let inputs = job.input_bytes.iter().map(|&bytes| (kinds[0], bytes));
    let own = inputs.chain([(kinds[1], job.output_bytes)]);
    // Registered memory is ordinary memory first.
    let ordinary = (strategy == Strategy::Registered).then(|| {
        let all = job.input_bytes.iter().copied().chain([job.output_bytes]);
        all.map(|bytes| (Strategy::Pageable.name(), bytes))
    });
    let staging = (strategy == Strategy::Staged).then_some((Strategy::Pinned.name(), machine.parameters.staging_bytes));
    let buffers = own.chain(ordinary.into_iter().flatten()).chain(staging).filter(|(_, bytes)| *bytes > 0);
    buffers
        .filter_map(|(kind, bytes)| machine.allocation_ms(kind, bytes))
        .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Why the strategy cannot be had, where the machine's limits are known.
fn does_not_fit(job: &Job, machine: &Machine, strategy: Strategy) -> Option<String> {
    let bytes = job.bytes();
    let staging = if strategy == Strategy::Staged { machine.parameters.staging_bytes } else { 0 };
    // Where the device has no memory of its own, what is copied there lies in host memory too.
    let copies = u64::from(strategy.copies() && machine.parameters.device_memory_bytes.is_none());
    let on_host = bytes.saturating_mul(1 + copies).saturating_add(staging);
    let locked = match strategy {
        Strategy::Pageable => 0,
        Strategy::Staged => staging,
        _ => bytes,
    };
    let device = machine.parameters.device_memory_bytes.filter(|memory| strategy.copies() && bytes > *memory);
    let host = machine.host_memory_bytes.filter(|available| on_host > *available);
    let budget = machine.pinned_limit_bytes.filter(|limit| locked > *limit);
    match (device, host, budget) {
        (Some(memory), ..) => {
            Some(format!("it takes {} of device memory, {} are there", like(bytes, bytes), like(memory, bytes)))
        }
        (None, Some(available), _) => {
            Some(format!("it takes {} of host memory, {} are available", like(on_host, bytes), like(available, bytes)))
        }
        (None, None, Some(limit)) => {
            Some(format!("it takes {} of page-locked memory, {} are allowed", like(locked, bytes), like(limit, bytes)))
        }
        (None, None, None) => None,
    }
}
