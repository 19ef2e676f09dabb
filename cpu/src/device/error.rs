//! What can go wrong between the host and a device.

use std::time::Duration;

use bytesize::ByteSize;

use super::kernels::KernelFileError;
use crate::driver::{self, DriverError, LoadError};
use crate::memory::{BudgetExceeded, ManagedExceeded};

/// An error of a device or of the memory around it.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no CUDA driver.
    #[error(transparent)]
    NoDriver(#[from] LoadError),
    /// The driver refused or failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The driver is there and sees no GPU with that number.
    #[error("cuda:{asked} was asked for; {}. --device auto takes what is there", found_devices(*found))]
    NoSuchDevice {
        /// The number asked for.
        asked: u32,
        /// How many there are.
        found: u32,
    },
    /// No embedded image runs on the device.
    #[error(
        "{name} has compute capability {major}.{minor}; the kernels are compiled for 7.5 (Turing) and later. \
         --device simt runs them on the CPU"
    )]
    TooOld {
        /// The device.
        name: String,
        /// Compute capability.
        major: u32,
        /// Compute capability.
        minor: u32,
    },
    /// The driver could load none of the images.
    #[error(
        "the driver (for CUDA {driver}) cannot load the kernels (PTX {ptx_version} for {architecture}): {reason}. \
         Or run on the CPU, with --device simt"
    )]
    KernelsNotLoaded {
        /// The CUDA version that the driver supports.
        driver: String,
        /// The oldest PTX version that was tried.
        ptx_version: String,
        /// Its architecture.
        architecture: String,
        /// The driver's error.
        reason: DriverError,
    },
    /// Kernels that were to come from a file.
    #[error(transparent)]
    KernelFile(#[from] KernelFileError),
    /// Page-locked memory beyond the budget; the driver was not asked.
    #[error(transparent)]
    Budget(#[from] BudgetExceeded),
    /// The device has no such amount of memory.
    #[error(
        "the device has no {} left ({} free of {}); take a smaller size",
        ByteSize(*asked), ByteSize(*free), ByteSize(*total)
    )]
    OutOfDeviceMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes free at that moment.
        free: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The driver could not pin that much.
    #[error(
        "the driver could not page-lock {}, though the budget allows it: containers, WSL and `ulimit -l` set limits of \
         their own. Take a smaller size, or --mode pageable. The driver said: {reason}",
        ByteSize(*asked)
    )]
    NotPinned {
        /// Bytes asked for.
        asked: u64,
        /// The driver's error.
        reason: DriverError,
    },
    /// The host has no such amount of memory.
    #[error("the host has no {} of memory left; take a smaller size", ByteSize(*bytes))]
    OutOfHostMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The bytes of a buffer do not fit an address.
    #[error("{elements} elements of {element_bytes} bytes are more than an address space holds; take a smaller size")]
    TooLarge {
        /// Elements asked for.
        elements: usize,
        /// Bytes each.
        element_bytes: usize,
    },
    /// Part of the memory is page-locked already.
    #[error(
        "{} of memory were to be page-locked, and part of them is already: a range can be registered once. \
         Use the buffer that has it, or drop that first", ByteSize(*bytes)
    )]
    AlreadyRegistered {
        /// Bytes of the range.
        bytes: u64,
    },
    /// The device cannot page-lock memory that nobody may write.
    #[error("{name} cannot page-lock read-only memory, such as a file mapped for reading; read the file instead")]
    CannotRegisterReadOnly {
        /// The device.
        name: String,
    },
    /// The system starts no more threads.
    #[error("{asked} threads could not be started: {why}. Take fewer")]
    NoStagingThreads {
        /// Threads asked for.
        asked: usize,
        /// What the system said.
        why: String,
    },
    /// Elements beyond the end of a buffer.
    #[error("{elements} elements from {at} on reach beyond the {len} that the buffer has")]
    OutOfRange {
        /// Where they begin.
        at: usize,
        /// How many.
        elements: usize,
        /// Elements of the buffer.
        len: usize,
    },
    /// Nobody wrote what was waited for.
    #[error(
        "word {word} of a mailbox was still {found} after {waited:.1?}; the kernel that was to write it failed, has not \
         begun, or waits for an answer: look at the error of its scope, or wait longer"
    )]
    NoAnswer {
        /// Which word.
        word: usize,
        /// What it held.
        found: u32,
        /// How long it was polled.
        waited: Duration,
    },
    /// A copy between buffers of different lengths.
    #[error("a copy of {from} elements into a buffer of {to}; both sides must have the same length")]
    LengthMismatch {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        to: usize,
    },
    /// Memory of one device in a scope of another.
    #[error(
        "memory that came from one device ({memory}) was used in a scope of another ({stream}); allocate it from the \
         `Device` whose scope uses it"
    )]
    OtherDevice {
        /// The device that allocated it.
        memory: String,
        /// The device whose stream was to use it.
        stream: String,
    },
    /// The device cannot map host memory.
    #[error("{name} cannot map host memory, so zero-copy is not possible there; take --mode pageable,pinned")]
    CannotMap {
        /// The device.
        name: String,
    },
    /// The device has no managed memory.
    #[error(
        "{name} has no managed memory (the driver's attribute MANAGED_MEMORY is 0): pages cannot migrate to it. Take mapped \
         or pinned memory; of a product, --mode mapped or --mode pinned"
    )]
    CannotManage {
        /// The device.
        name: String,
    },
    /// Managed memory that the CPU could not touch safely.
    #[error(
        "managed memory was asked for, and {name} cannot share it with the CPU while a kernel runs (the driver's attribute \
         CONCURRENT_MANAGED_ACCESS is 0): the CPU would crash if it touched any of it meanwhile, lent to that kernel or not. \
         Take mapped or pinned memory; of a product, --mode mapped or --mode pinned"
    )]
    ManagedNotConcurrent {
        /// The GPU.
        name: String,
    },
    /// More managed memory than there is on one of the sides; the driver was not asked.
    #[error(transparent)]
    Managed(#[from] ManagedExceeded),
    /// The CPU device needs threads and gets none.
    #[error("the CPU device cannot start: {0}; raise the limit, or end other processes of the same user")]
    NoThreads(#[from] simt::StartError),
    /// A kernel failed on the CPU device.
    #[error(transparent)]
    Fault(#[from] simt::Fault),
    /// A kernel failed on the GPU, and with it the context.
    #[error("after the launch of {kernel}: {reason}")]
    KernelFailed {
        /// The last kernel launched before the failure was seen.
        kernel: &'static str,
        /// The driver's error.
        reason: DriverError,
    },
}

impl From<driver::Error> for DeviceError {
    fn from(error: driver::Error) -> Self {
        match error {
            driver::Error::Load(error) => Self::NoDriver(error),
            driver::Error::Call(error) => Self::Driver(error),
        }
    }
}

impl DeviceError {
    /// Whether an error of a wait still means that the work has ended: the driver tears a context's work down when one of
    /// these is reported, and a CPU device works synchronously.
    pub(crate) fn work_has_ended(&self) -> bool {
        match self {
            Self::Driver(error) | Self::KernelFailed { reason: error, .. } => error.leaves_context_unusable(),
            Self::Fault(_) => true,
            _ => false,
        }
    }
}

fn found_devices(found: u32) -> String {
    match found {
        0 => "the driver sees no GPU".into(),
        1 => "there is one GPU, cuda:0".into(),
        n => format!("there are {n} GPUs, cuda:0 to cuda:{}", n - 1),
    }
}
