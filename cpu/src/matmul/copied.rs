//! Explicit copies: A and B to the device, C back. The modes `pageable`, `staged` and `pinned` differ in the type of the
//! host memory and in nothing else.
//!
//! The copy engine cannot read pageable memory, because the system may move it at any moment. The driver copies it to a
//! page-locked buffer of its own, chunk by chunk, and holds the caller meanwhile. Page-locked memory the engine reads and
//! writes by itself, at the link's speed and while the host does something else: all of a run is enqueued before any of it
//! is done. Staging by several threads is what pageable memory can be when it is done well.

use std::time::{Duration, Instant};

use gpu::matmul::{MatmulKernel, Shape};

use super::{Allocation, Mode, Problem, Stages, Strategy, StrategyError, poison};
use crate::device::{Device, DeviceError};
use crate::memory::{
    DeviceBuffer, HostBuffer, HostKind, PageableBuffer, PinnedBuffer, Staging, StagingShape, Stream, StreamBuffer,
};

/// Host memory that a product is copied from and to.
pub trait CopiedMemory: HostBuffer<f32> + Sized {
    /// The mode that uses it.
    const MODE: Mode;

    /// What carries the copies, where that takes more than a stream.
    type Carrier;

    /// Gets the carrier ready.
    ///
    /// # Errors
    /// There is not enough memory for it.
    fn carrier(device: &Device) -> Result<Self::Carrier, DeviceError>;

    /// Allocates `len` zeros.
    ///
    /// # Errors
    /// There is not enough memory.
    fn zeroed(device: &Device, len: usize) -> Result<Self, DeviceError>;

    /// Copies all of it to the device.
    ///
    /// # Errors
    /// The device refuses.
    fn upload<'scope>(
        &'scope self,
        stream: &'scope Stream<'scope, '_>,
        carrier: &Self::Carrier,
        to: &mut StreamBuffer<'scope, f32>,
    ) -> Result<(), DeviceError>;

    /// Overwrites all of it from the device.
    ///
    /// # Errors
    /// The device refuses.
    fn download<'scope>(
        &'scope mut self,
        stream: &'scope Stream<'scope, '_>,
        carrier: &Self::Carrier,
        from: &StreamBuffer<'scope, f32>,
    ) -> Result<(), DeviceError>;
}

impl CopiedMemory for PageableBuffer<f32> {
    const MODE: Mode = Mode::Pageable;
    type Carrier = ();

    fn carrier(_: &Device) -> Result<(), DeviceError> {
        Ok(())
    }

    fn zeroed(_: &Device, len: usize) -> Result<Self, DeviceError> {
        Self::zeroed(len)
    }

    fn upload<'scope>(
        &'scope self,
        stream: &'scope Stream<'scope, '_>,
        (): &(),
        to: &mut StreamBuffer<'scope, f32>,
    ) -> Result<(), DeviceError> {
        stream.upload_pageable(self.as_slice(), to)
    }

    fn download<'scope>(
        &'scope mut self,
        stream: &'scope Stream<'scope, '_>,
        (): &(),
        from: &StreamBuffer<'scope, f32>,
    ) -> Result<(), DeviceError> {
        stream.download_pageable(from, self.as_mut_slice())
    }
}

impl CopiedMemory for PinnedBuffer<f32> {
    const MODE: Mode = Mode::Pinned;
    type Carrier = ();

    fn carrier(_: &Device) -> Result<(), DeviceError> {
        Ok(())
    }

    fn zeroed(device: &Device, len: usize) -> Result<Self, DeviceError> {
        device.pinned(len)
    }

    fn upload<'scope>(
        &'scope self,
        stream: &'scope Stream<'scope, '_>,
        (): &(),
        to: &mut StreamBuffer<'scope, f32>,
    ) -> Result<(), DeviceError> {
        stream.upload(self, to)
    }

    fn download<'scope>(
        &'scope mut self,
        stream: &'scope Stream<'scope, '_>,
        (): &(),
        from: &StreamBuffer<'scope, f32>,
    ) -> Result<(), DeviceError> {
        stream.download(from, self)
    }
}

/// Ordinary memory that threads of ours stage, instead of the driver.
pub struct StagedBuffer(PageableBuffer<f32>);

impl HostBuffer<f32> for StagedBuffer {
    fn kind(&self) -> HostKind {
        self.0.kind()
    }

    fn as_slice(&self) -> &[f32] {
        self.0.as_slice()
    }

    fn as_mut_slice(&mut self) -> &mut [f32] {
        self.0.as_mut_slice()
    }

    fn allocation_time(&self) -> Duration {
        self.0.allocation_time()
    }
}

impl CopiedMemory for StagedBuffer {
    const MODE: Mode = Mode::Staged;
    type Carrier = Staging;

    fn carrier(device: &Device) -> Result<Staging, DeviceError> {
        device.staging(StagingShape::default())
    }

    fn zeroed(_: &Device, len: usize) -> Result<Self, DeviceError> {
        Ok(Self(PageableBuffer::zeroed(len)?))
    }

    fn upload<'scope>(
        &'scope self,
        stream: &'scope Stream<'scope, '_>,
        staging: &Staging,
        to: &mut StreamBuffer<'scope, f32>,
    ) -> Result<(), DeviceError> {
        stream.upload_staged(staging, self.as_slice(), to)
    }

    fn download<'scope>(
        &'scope mut self,
        stream: &'scope Stream<'scope, '_>,
        staging: &Staging,
        from: &StreamBuffer<'scope, f32>,
    ) -> Result<(), DeviceError> {
        stream.download_staged(staging, from, self.as_mut_slice())
    }
}

/// The matrices in host memory and on the device.
pub struct Copied<B: CopiedMemory> {
    shape: Shape,
    a: B,
    b: B,
    c: B,
    carrier: B::Carrier,
    carrier_time: Duration,
    on_device: [DeviceBuffer<f32>; 3],
}

impl<B: CopiedMemory> Copied<B> {
    /// Allocates both sides and fills in the inputs.
    ///
    /// # Errors
    /// The host, the budget or the device has not enough memory.
    pub fn new(device: &Device, Problem { shape, a, b }: Problem<'_>) -> Result<Self, DeviceError> {
        let on_device = [device.alloc(shape.a_len())?, device.alloc(shape.b_len())?, device.alloc(shape.c_len())?];
        let started = Instant::now();
        let carrier = B::carrier(device)?;
        let carrier_time = started.elapsed();
        let (host_a, host_b) = (B::zeroed(device, a.len())?, B::zeroed(device, b.len())?);
        let c = B::zeroed(device, shape.c_len())?;
        let mut this = Self { shape, a: host_a, b: host_b, c, carrier, carrier_time, on_device };
        this.a.as_mut_slice().copy_from_slice(a);
        this.b.as_mut_slice().copy_from_slice(b);
        Ok(this)
    }
}

impl<B: CopiedMemory> Strategy for Copied<B> {
    fn mode(&self) -> Mode {
        B::MODE
    }

    fn allocation(&self) -> Allocation {
        Allocation {
            host: self.a.allocation_time() + self.b.allocation_time() + self.c.allocation_time() + self.carrier_time,
            device: self.on_device.iter().map(DeviceBuffer::allocation_time).sum(),
        }
    }

    fn poison(&mut self, device: &Device) -> Result<(), DeviceError> {
        poison(self.c.as_mut_slice());
        let Self { c, carrier, on_device: [_, _, device_c], .. } = self;
        device.scope(|stream| c.upload(stream, carrier, &mut stream.bind(device_c)))
    }

    fn run(&mut self, device: &Device, kernel: MatmulKernel) -> Result<Stages, StrategyError> {
        let Self { shape, a, b, c, carrier, on_device: [device_a, device_b, device_c], .. } = self;
        let started = Instant::now();
        device.scope(|stream| {
            let mut device_a = stream.bind(device_a);
            let mut device_b = stream.bind(device_b);
            let mut device_c = stream.bind(device_c);
            let start = stream.mark()?;
            a.upload(stream, carrier, &mut device_a)?;
            b.upload(stream, carrier, &mut device_b)?;
            let uploaded = stream.mark()?;
            kernel.launch(stream, *shape, device_a.slice(), device_b.slice(), device_c.slice_mut())?;
            let computed = stream.mark()?;
            c.download(stream, carrier, &device_c)?;
            let downloaded = stream.mark()?;
            stream.synchronize()?;
            let total = started.elapsed();
            Ok(Stages {
                h2d: stream.elapsed(start, uploaded)?,
                kernel: stream.elapsed(uploaded, computed)?,
                d2h: stream.elapsed(computed, downloaded)?,
                total,
            })
        })
    }

    fn product(&self) -> &[f32] {
        self.c.as_slice()
    }
}
