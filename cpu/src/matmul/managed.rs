//! Managed memory: A, B and C have one address for host and device, and their pages migrate.
//!
//! In mode `managed` nobody moves them ahead: the kernel stops at each page that is still on the host until the driver has
//! fetched it, so what crosses the link on the way there is a part of the kernel's time. In mode `prefetched` all three
//! matrices are moved before the kernel, C too (a page that is only written is moved all the same, or faults), and C is moved
//! back after it.
//!
//! A result counts when the CPU can read it, so the total of both modes includes the CPU touching a word of each page of C. In
//! mode `managed` that is what fetches C, and it stands in column D2H, in the CPU's time. (Where a coherent link lets the CPU
//! read the device's memory in place, nothing has to be fetched, and the touch costs that little.)
//!
//! Every run begins with all pages on the host. [`poison`](Strategy::poison) sees to that, outside of the time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use gpu::matmul::{MatmulKernel, Shape};

use super::{Allocation, Mode, Problem, Stages, Strategy, StrategyError, poison};
use crate::device::{Device, DeviceError};
use crate::memory::{HostBuffer, ManagedBuffer};

/// Elements of the smallest page that a system moves.
const PAGE_ELEMENTS: usize = 4096 / size_of::<f32>();

/// The matrices in managed memory.
pub struct Managed {
    shape: Shape,
    prefetches: bool,
    a: ManagedBuffer<f32>,
    b: ManagedBuffer<f32>,
    c: ManagedBuffer<f32>,
}

impl Managed {
    /// Allocates and fills in the inputs.
    ///
    /// # Errors
    /// The device has no managed memory that the CPU may use meanwhile, or it would not fit the device or the host.
    pub fn new(device: &Device, Problem { shape, a, b }: Problem<'_>, prefetches: bool) -> Result<Self, DeviceError> {
        let (managed_a, managed_b) = (device.managed(a.len())?, device.managed(b.len())?);
        let mut this = Self { shape, prefetches, a: managed_a, b: managed_b, c: device.managed(shape.c_len())? };
        this.a.as_mut_slice().copy_from_slice(a);
        this.b.as_mut_slice().copy_from_slice(b);
        Ok(this)
    }

    /// The stages that the device sees, up to the moment when its work has ended; the total is that of the caller.
    fn on_device(&mut self, device: &Device, kernel: MatmulKernel) -> Result<Stages, StrategyError> {
        let Self { shape, prefetches, a, b, c } = self;
        let started = Instant::now();
        device.scope(|stream| {
            let (a, b, mut c) = (stream.bind_managed(a), stream.bind_managed(b), stream.bind_managed(c));
            let start = stream.mark()?;
            if *prefetches {
                for matrix in [&a, &b, &c] {
                    stream.prefetch_to_device(matrix)?;
                }
            }
            let moved = if *prefetches { stream.mark()? } else { start };
            kernel.launch(stream, *shape, a.slice(), b.slice(), c.slice_mut())?;
            let computed = stream.mark()?;
            if *prefetches {
                stream.prefetch_to_host(&c)?;
            }
            let back = if *prefetches { stream.mark()? } else { computed };
            stream.synchronize()?;
            let total = started.elapsed();
            let between = |from, to| if *prefetches { stream.elapsed(from, to) } else { Ok(Duration::ZERO) };
            Ok(Stages {
                h2d: between(start, moved)?,
                kernel: stream.elapsed(moved, computed)?,
                d2h: between(computed, back)?,
                total,
            })
        })
    }
}

impl Strategy for Managed {
    fn mode(&self) -> Mode {
        if self.prefetches { Mode::Prefetched } else { Mode::Managed }
    }

    fn allocation(&self) -> Allocation {
        let host = self.a.allocation_time() + self.b.allocation_time() + self.c.allocation_time();
        Allocation { host, device: Duration::ZERO }
    }

    fn poison(&mut self, device: &Device) -> Result<(), DeviceError> {
        // After a run the pages of A and B are on the device, where the next one would find them. C comes back with the CPU's
        // writes anyway; all at once is faster.
        let Self { a, b, c, .. } = self;
        device.scope(|stream| [&*a, &*b, &*c].into_iter().try_for_each(|matrix| stream.prefetch_to_host(matrix)))?;
        poison(self.c.as_mut_slice());
        Ok(())
    }

    fn run(&mut self, device: &Device, kernel: MatmulKernel) -> Result<Stages, StrategyError> {
        let stages = self.on_device(device, kernel)?;
        let started = Instant::now();
        touch(self.c.as_slice());
        let touching = started.elapsed();
        let d2h = if self.prefetches { stages.d2h } else { touching };
        Ok(Stages { d2h, total: stages.total + touching, ..stages })
    }

    fn product(&self) -> &[f32] {
        self.c.as_slice()
    }
}

/// Reads a word of each page, which fetches those that are elsewhere.
fn touch(matrix: &[f32]) {
    for element in matrix.iter().step_by(PAGE_ELEMENTS) {
        black_box(*element);
    }
}
