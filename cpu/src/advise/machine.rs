//! What a job would run on: parameters, and where they come from.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::curve::Curve;
use super::named::Named;
use super::reports::is_standard_input;
use crate::bandwidth::parameters::{Cost, CpuSpeed, Kept, KernelSpeed, Parameters};

/// A machine as the model sees it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its figures.
    pub parameters: Parameters,
    /// Whose they are.
    pub origin: Origin,
    /// Bytes that may be page-locked, where that is known.
    pub pinned_limit_bytes: Option<u64>,
    /// Bytes of host memory that can be had, where that is known: now, on the machine that the program runs on.
    pub host_memory_bytes: Option<u64>,
}

/// Where parameters come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Origin {
    /// `bandwidth` measured them on this machine and kept them.
    Kept {
        /// The file.
        path: PathBuf,
    },
    /// A report of `bandwidth`.
    Report {
        /// The file.
        path: PathBuf,
    },
    /// A named default.
    Named {
        /// Which.
        machine: Named,
        /// Whether we measured what it is made of.
        measured_by_us: bool,
        /// Where each figure comes from.
        sources: Vec<&'static str>,
    },
}

/// There are no parameters for a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{why}, and no named machine is one with a {device}; run `cargo run -p cpu -- bandwidth` on it first, or take the \
         defaults of another machine with --machine t4, a100 or h200"
)]
pub struct NoMachine {
    /// The device.
    pub device: String,
    /// What was found instead.
    pub why: String,
}

impl Machine {
    /// The machine with a device of this name: what `bandwidth` kept of it, or else the named default that it fits, with a
    /// line that says why.
    ///
    /// # Errors
    /// There is neither.
    pub fn find(device: &str) -> Result<(Self, Option<String>), NoMachine> {
        let why = match Parameters::load(device) {
            Kept::Good { path, parameters } => {
                return Ok((Self::without_limits(*parameters, Origin::Kept { path }), None));
            }
            Kept::Nothing => format!("nothing is kept of a {device}"),
            Kept::OtherVersion { path, version } => {
                format!("what is kept of a {device} has the layout of version {version} ({})", path.display())
            }
            Kept::Damaged { path } => format!("what is kept of a {device} cannot be read ({})", path.display()),
        };
        let Some(named) = Named::of_device(device) else { return Err(NoMachine { device: device.into(), why }) };
        let note = format!(
            "{why}, so the named machine {} stands in; `cargo run -p cpu -- bandwidth` measures this one",
            named.name()
        );
        Ok((Self::named(named), Some(note)))
    }

    /// Whether its device is one of this name.
    pub fn has_device(&self, device: &str) -> bool {
        let named = matches!(&self.origin, Origin::Named { machine, .. } if Named::of_device(device) == Some(*machine));
        named || self.parameters.device == device
    }

    /// A named machine.
    pub fn named(machine: Named) -> Self {
        let (measured_by_us, sources) = (machine.measured_by_us(), machine.sources().to_vec());
        let origin = Origin::Named { machine, measured_by_us, sources };
        Self::without_limits(machine.parameters(), origin)
    }

    /// A machine of whose memory nothing is known but the device's.
    pub(super) fn without_limits(parameters: Parameters, origin: Origin) -> Self {
        Self { parameters, origin, pinned_limit_bytes: None, host_memory_bytes: None }
    }

    fn costs(&self, memory: &str, time: impl Fn(&Cost) -> Option<f64>) -> Curve {
        let rows = self.parameters.costs.iter().filter(|cost| cost.memory == memory);
        Curve::new(rows.filter_map(|cost| Some((cost.size_bytes as f64, time(cost)?))))
    }

    /// The time of a copy to the device.
    pub(super) fn h2d_ms(&self, memory: &str, bytes: u64) -> Option<f64> {
        self.costs(memory, |cost| cost.h2d_ms).at(bytes as f64).map(|ms| self.at_least_a_call(ms, bytes))
    }

    /// The time of a copy to the host.
    pub(super) fn d2h_ms(&self, memory: &str, bytes: u64) -> Option<f64> {
        self.costs(memory, |cost| cost.d2h_ms).at(bytes as f64).map(|ms| self.at_least_a_call(ms, bytes))
    }

    /// A copy takes the caller at least the time to ask for it: what a small one adds to a launch.
    fn at_least_a_call(&self, ms: f64, bytes: u64) -> f64 {
        let Parameters { launch_and_wait_ms, copy_launch_and_wait_ms, .. } = &self.parameters;
        let call = copy_launch_and_wait_ms.zip(*launch_and_wait_ms).map_or(0.0, |(with, without)| with - without);
        if bytes == 0 { 0.0 } else { ms.max(call) }
    }

    /// Allocating and freeing.
    pub(super) fn allocation_ms(&self, memory: &str, bytes: u64) -> Option<(f64, f64)> {
        let allocate = self.costs(memory, |cost| cost.allocate_ms).at(bytes as f64)?;
        let free = self.costs(memory, |cost| cost.free_ms).at(bytes as f64).unwrap_or(0.0);
        Some((allocate, free))
    }

    /// How kernels get on with a kind of memory.
    pub(super) fn kernel_speed(&self, memory: &str) -> Option<&KernelSpeed> {
        self.parameters.kernels.iter().find(|speed| speed.memory == memory)
    }

    /// How a thread of the CPU gets on with a kind of memory.
    pub(super) fn cpu_speed(&self, memory: &str) -> Option<&CpuSpeed> {
        self.parameters.cpu.iter().find(|speed| speed.memory == memory)
    }

    /// The time of a product's kernel on a kind of memory, from the products that were measured.
    pub fn product_ms(&self, kernel: &str, memory: &str, flops: f64) -> Option<f64> {
        let rows = self.parameters.products.iter().filter(|one| one.kernel == kernel && one.memory == memory);
        Curve::new(rows.map(|one| (cube_flops(one.extent), one.kernel_ms))).at(flops)
    }

    /// The rate and the name of the best kernel of the product on device memory.
    pub fn best_tflop_per_s(&self) -> Option<(f64, &str)> {
        let on_device = self.parameters.products.iter().filter(|one| one.memory == "device" && one.kernel_ms > 0.0);
        let rates = on_device.map(|one| (cube_flops(one.extent) / one.kernel_ms / 1e9, &*one.kernel));
        rates.max_by(|one, other| one.0.total_cmp(&other.0))
    }
}

/// 2·N³.
fn cube_flops(extent: u32) -> f64 {
    2.0 * f64::from(extent).powi(3)
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = &self.parameters.device;
        match &self.origin {
            Origin::Kept { path } => write!(f, "{device}, as `bandwidth` measured it here ({})", path.display()),
            Origin::Report { path } if is_standard_input(path) => {
                write!(f, "{device}, as `bandwidth` reports it (standard input)")
            }
            Origin::Report { path } => write!(f, "{device}, as `bandwidth` reports it ({})", path.display()),
            Origin::Named { machine, measured_by_us: true, .. } => {
                write!(
                    f,
                    "{device}, the named machine {}: figures that we recorded on one, not on yours",
                    machine.name()
                )
            }
            Origin::Named { machine, measured_by_us: false, .. } => {
                write!(f, "{device}, the named machine {}: from public figures, not measured by us", machine.name())
            }
        }
    }
}
