//! Zero-copy: page-locked memory that the kernel reads and writes over the link.
//!
//! Nothing is copied and no device memory is used. What the kernel reads twice crosses the link twice, unless a cache of
//! the device still has it: a product reads each element of A about N/tile times, so the larger the product, the more this
//! mode loses.

use std::time::{Duration, Instant};

use gpu::matmul::{MatmulKernel, Shape};

use super::{Allocation, Mode, Problem, Stages, Strategy, StrategyError, poison};
use crate::device::{Device, DeviceError};
use crate::memory::{HostBuffer, MappedBuffer};

/// The matrices in mapped page-locked memory, and nowhere else.
pub struct Mapped {
    shape: Shape,
    a: MappedBuffer<f32>,
    b: MappedBuffer<f32>,
    c: MappedBuffer<f32>,
}

impl Mapped {
    /// Allocates and fills in the inputs.
    ///
    /// # Errors
    /// The budget or the driver has not enough memory, or the device cannot map host memory.
    pub fn new(device: &Device, Problem { shape, a, b }: Problem<'_>) -> Result<Self, DeviceError> {
        let (mapped_a, mapped_b) = (device.mapped(a.len())?, device.mapped(b.len())?);
        let mut this = Self { shape, a: mapped_a, b: mapped_b, c: device.mapped(shape.c_len())? };
        this.a.as_mut_slice().copy_from_slice(a);
        this.b.as_mut_slice().copy_from_slice(b);
        Ok(this)
    }
}

impl Strategy for Mapped {
    fn mode(&self) -> Mode {
        Mode::Mapped
    }

    fn allocation(&self) -> Allocation {
        let host = self.a.allocation_time() + self.b.allocation_time() + self.c.allocation_time();
        Allocation { host, device: Duration::ZERO }
    }

    fn poison(&mut self, _: &Device) -> Result<(), DeviceError> {
        poison(self.c.as_mut_slice());
        Ok(())
    }

    fn run(&mut self, device: &Device, kernel: MatmulKernel) -> Result<Stages, StrategyError> {
        let Self { shape, a, b, c } = self;
        let started = Instant::now();
        device.scope(|stream| {
            let (a, b, c) = (stream.map(a)?, stream.map(b)?, stream.map_mut(c)?);
            let start = stream.mark()?;
            kernel.launch(stream, *shape, a, b, c)?;
            let computed = stream.mark()?;
            stream.synchronize()?;
            let total = started.elapsed();
            Ok(Stages { h2d: Duration::ZERO, kernel: stream.elapsed(start, computed)?, d2h: Duration::ZERO, total })
        })
    }

    fn product(&self) -> &[f32] {
        self.c.as_slice()
    }
}
