//! What every mode can do, and what it tells about a run.

use std::time::Duration;

use gpu::matmul::{LaunchError, MatmulKernel};

use super::Mode;
use crate::device::{Device, DeviceError};

/// A way for a product to travel to the device and back. Its buffers are allocated once and used again and again.
pub trait Strategy {
    /// Which.
    fn mode(&self) -> Mode;

    /// What allocating took.
    fn allocation(&self) -> Allocation;

    /// Makes ready for the next run: overwrites the result, on the host and on the device, with a NaN that marks what nobody
    /// writes, and brings back to the host what an earlier run has moved. Not a part of any run's time.
    ///
    /// # Errors
    /// The device fails.
    fn poison(&mut self, device: &Device) -> Result<(), DeviceError>;

    /// Computes the product once, from the inputs in host memory to the result in host memory.
    ///
    /// # Errors
    /// The device refuses or fails.
    fn run(&mut self, device: &Device, kernel: MatmulKernel) -> Result<Stages, StrategyError>;

    /// The result of the last run: M·N elements, row-major.
    fn product(&self) -> &[f32];
}

/// Why a product could not be computed: what the shape-checking launch wrapper says, with the device's errors inside.
pub type StrategyError = LaunchError<DeviceError>;

/// What allocating took, once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocation {
    /// The three host buffers.
    pub host: Duration,
    /// The three device buffers, where there are any.
    pub device: Duration,
}

/// Where the time of one run went.
#[derive(Clone, Copy, Debug)]
pub struct Stages {
    /// A and B to the device, in the device's time; with C where its pages are moved.
    pub h2d: Duration,
    /// The kernel, in the device's time, with whatever it waits for.
    pub kernel: Duration,
    /// C to the host, in the device's time; in mode managed the CPU's, for touching each page of C.
    pub d2h: Duration,
    /// Everything, in the caller's time: from the first call to the moment the result can be read.
    pub total: Duration,
}
