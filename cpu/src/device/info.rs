//! What a device says of itself.

use std::fmt;

use serde::Serialize;

use super::error::DeviceError;

/// A device, described for reports.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceInfo {
    /// Such as `NVIDIA H200`.
    pub name: String,
    /// What kind of device.
    pub kind: DeviceKind,
    /// The link to the host, where there is one that can be asked about.
    pub link: Option<Link>,
    /// Whether kernels can work on page-locked host memory (zero-copy).
    pub can_map_host_memory: bool,
    /// Whether pages can migrate between the host and this device, while kernels run.
    pub managed_memory: ManagedSupport,
    /// What the kernels are.
    pub kernels: KernelOrigin,
    /// Anything that the user should know, such as a better image that the driver could not load.
    pub notes: Vec<String>,
}

/// Whether a device has managed memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ManagedSupport {
    /// Host and device may use it at the same time.
    Concurrent,
    /// It has, and the CPU would crash if it touched any of it while a kernel runs, lent to that kernel or not: no borrow
    /// says when none does. So it is refused.
    NotConcurrent {
        /// The GPU of which that is so: managed memory is every GPU's, so one is enough.
        gpu: String,
    },
    /// It has none.
    None,
}

impl DeviceInfo {
    /// Whether managed memory can be had here.
    ///
    /// # Errors
    /// It cannot, for the reason in the error.
    pub fn check_managed(&self) -> Result<(), DeviceError> {
        match &self.managed_memory {
            ManagedSupport::Concurrent => Ok(()),
            ManagedSupport::NotConcurrent { gpu } => Err(DeviceError::ManagedNotConcurrent { name: gpu.clone() }),
            ManagedSupport::None => Err(DeviceError::CannotManage { name: self.name.clone() }),
        }
    }
}

/// The two kinds of device.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum DeviceKind {
    /// A GPU.
    Cuda {
        /// Its number, as in `--device cuda:0`.
        ordinal: u32,
        /// Major and minor.
        compute_capability: (u32, u32),
        /// Streaming multiprocessors.
        multiprocessors: u32,
        /// The CUDA version that the driver supports, such as `13.0`.
        driver: String,
        /// Bytes of device memory.
        memory_bytes: u64,
    },
    /// The CPU, shaped like a GPU.
    Simt {
        /// Blocks that run at once.
        workers: usize,
    },
}

/// The link between host and device, a PCI Express connection.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Link {
    /// Generation now; a GPU that is idle may lower it.
    pub generation: u32,
    /// Generation at most.
    pub max_generation: u32,
    /// Lanes now.
    pub width: u32,
    /// Lanes at most.
    pub max_width: u32,
}

/// Where the kernels came from.
#[derive(Clone, Debug, Serialize)]
pub struct KernelOrigin {
    /// Such as `sm_90a`, or `host` on simt.
    pub architecture: String,
    /// Who compiled them.
    pub compiler: String,
}

/// Device memory now.
#[derive(Clone, Copy, Debug)]
pub struct FreeMemory {
    /// Bytes free.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}

impl Link {
    /// What the link can carry one way, in GB/s: the transfer rate less the line code, before packet headers. About 90 %
    /// of it is what a large copy reaches.
    ///
    /// Source: PCI Express Base Specification; 2.5, 5, 8, 16, 32, 64 GT/s a lane, 8b/10b up to generation 2, then
    /// 128b/130b, and 242/256 in generation 6's flits.
    pub fn bandwidth_gb_per_s(&self) -> f64 {
        let per_lane = match self.max_generation {
            0 | 1 => 2.5 * 0.8,
            2 => 5.0 * 0.8,
            3 => 8.0 * 128.0 / 130.0,
            4 => 16.0 * 128.0 / 130.0,
            5 => 32.0 * 128.0 / 130.0,
            _ => 64.0 * 242.0 / 256.0,
        };
        per_lane / 8.0 * f64::from(self.max_width)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PCIe {}.0 x{}", self.generation, self.width)?;
        if (self.generation, self.width) != (self.max_generation, self.max_width) {
            write!(f, " now, {}.0 x{} at most", self.max_generation, self.max_width)?;
        }
        write!(f, " ({:.0} GB/s each way in theory)", self.bandwidth_gb_per_s())
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cuda { ordinal, compute_capability: (major, minor), multiprocessors, driver, memory_bytes } => {
                write!(
                    f,
                    "cuda:{ordinal}, compute capability {major}.{minor}, {multiprocessors} multiprocessors, \
                 {:.0} GiB, driver for CUDA {driver}",
                    *memory_bytes as f64 / f64::from(1 << 30)
                )
            }
            Self::Simt { workers: 1 } => write!(f, "simt, one block at a time"),
            Self::Simt { workers } => write!(f, "simt, {workers} blocks at once"),
        }
    }
}
