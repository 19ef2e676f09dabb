//! What the measurements ask of memory. A further kind of host memory is an implementation of [`HostMemory`] and one entry
//! in [`HOST_KINDS`]; if kernels reach it, also of [`KernelMemory`] and one in [`KERNEL_KINDS`].

use gpu::access::{Access, Grid};
use gpu::launch::{DeviceSlice, DeviceSliceMut};

use super::measurement::Measurement;
use super::{Bench, Fault, MeasureError, access, copies, host, latency};
use crate::device::{Device, DeviceError};
use crate::memory::{DeviceBuffer, HostBuffer, MappedBuffer, PageableBuffer, PinnedBuffer, Stream, StreamBuffer};

/// Host memory that is copied from and to, as 32-bit words.
pub trait HostMemory: Sized + Send + Sync {
    /// The kind's name.
    const NAME: &'static str;
    /// Whether the copy engine reaches it, so that copies can be enqueued before they run.
    const ASYNCHRONOUS: bool;

    /// Allocates `words` words.
    ///
    /// # Errors
    /// There is not enough memory, or the budget does not allow it.
    fn allocate(device: &Device, words: usize) -> Result<Self, DeviceError>;

    /// How long the allocation took.
    fn allocation_time(&self) -> std::time::Duration;

    /// Copies all of it to the device.
    ///
    /// # Errors
    /// The device refuses.
    fn upload<'s>(&'s self, stream: &'s Stream<'s, '_>, to: &mut StreamBuffer<'s, u32>) -> Result<(), DeviceError>;

    /// Overwrites all of it from the device.
    ///
    /// # Errors
    /// The device refuses.
    fn download<'s>(&'s mut self, stream: &'s Stream<'s, '_>, from: &StreamBuffer<'s, u32>) -> Result<(), DeviceError>;

    /// The words, for the CPU to read.
    fn words(&self) -> &[u32];

    /// The words, for the CPU to write.
    fn words_mut(&mut self) -> &mut [u32];
}

macro_rules! host_memory {
    ($($buffer:ident, $kind:expr, $asynchronous:literal, |$device:ident, $len:ident| $allocate:expr,
       $upload:ident($from:ident), $download:ident($to:ident);)*) => { $(
        impl HostMemory for $buffer<u32> {
            const NAME: &'static str = $kind;
            const ASYNCHRONOUS: bool = $asynchronous;

            fn allocate($device: &Device, $len: usize) -> Result<Self, DeviceError> {
                $allocate
            }

            fn allocation_time(&self) -> std::time::Duration {
                HostBuffer::allocation_time(self)
            }

            fn upload<'s>(
                &'s self,
                stream: &'s Stream<'s, '_>,
                to: &mut StreamBuffer<'s, u32>,
            ) -> Result<(), DeviceError> {
                stream.$upload(self.$from(), to)
            }

            fn download<'s>(
                &'s mut self,
                stream: &'s Stream<'s, '_>,
                from: &StreamBuffer<'s, u32>,
            ) -> Result<(), DeviceError> {
                stream.$download(from, self.$to())
            }

            fn words(&self) -> &[u32] {
                self.as_slice()
            }

            fn words_mut(&mut self) -> &mut [u32] {
                self.as_mut_slice()
            }
        }
    )* };
}

/// So that page-locked buffers can be named in the macro as the others are.
trait Itself {
    fn itself(&self) -> &Self {
        self
    }
    fn itself_mut(&mut self) -> &mut Self {
        self
    }
}
impl Itself for PinnedBuffer<u32> {}
impl Itself for MappedBuffer<u32> {}

host_memory! {
    PageableBuffer, "pageable", false, |_device, len| PageableBuffer::zeroed(len),
        upload_pageable(as_slice), download_pageable(as_mut_slice);
    PinnedBuffer, "pinned", true, |device, len| device.pinned(len), upload(itself), download(itself_mut);
    MappedBuffer, MAPPED, true, |device, len| device.mapped(len), upload(itself), download(itself_mut);
}

/// Memory that kernels reach.
pub trait KernelMemory: Sized {
    /// The kind's name.
    const NAME: &'static str;

    /// Allocates `words` words.
    ///
    /// # Errors
    /// There is not enough memory, or the device cannot reach it.
    fn allocate(device: &Device, words: usize) -> Result<Self, DeviceError>;

    /// For kernels of this stream to read.
    ///
    /// # Errors
    /// The memory is another device's.
    fn readable<'s>(&'s mut self, stream: &'s Stream<'s, '_>) -> Result<Readable<'s>, DeviceError>;

    /// For kernels of this stream to write.
    ///
    /// # Errors
    /// The memory is another device's.
    fn writable<'s>(&'s mut self, stream: &'s Stream<'s, '_>) -> Result<Writable<'s>, DeviceError>;

    /// Lets a kernel write the pattern of `seed`.
    ///
    /// # Errors
    /// The device fails.
    fn write_pattern(&mut self, device: &Device, grid: Grid, seed: u32) -> Result<(), Fault> {
        device.scope(|stream| Ok(Access(stream).write(grid, self.writable(stream)?.slice_mut(), seed)?))
    }
}

/// Memory lent to a stream for reading.
pub enum Readable<'s> {
    /// Device memory.
    Bound(StreamBuffer<'s, u32>),
    /// Host memory that kernels reach.
    Mapped(DeviceSlice<'s, u32>),
}

/// Memory lent to a stream for writing.
pub enum Writable<'s> {
    /// Device memory.
    Bound(StreamBuffer<'s, u32>),
    /// Host memory that kernels reach.
    Mapped(DeviceSliceMut<'s, u32>),
}

impl Readable<'_> {
    /// As a kernel's input.
    pub fn slice(&self) -> DeviceSlice<'_, u32> {
        match self {
            Self::Bound(buffer) => buffer.slice(),
            Self::Mapped(slice) => *slice,
        }
    }
}

impl Writable<'_> {
    /// As a kernel's output.
    pub fn slice_mut(&mut self) -> DeviceSliceMut<'_, u32> {
        match self {
            Self::Bound(buffer) => buffer.slice_mut(),
            Self::Mapped(slice) => slice.reborrow(),
        }
    }
}

impl KernelMemory for DeviceBuffer<u32> {
    const NAME: &'static str = DEVICE;

    fn allocate(device: &Device, words: usize) -> Result<Self, DeviceError> {
        device.alloc(words)
    }

    fn readable<'s>(&'s mut self, stream: &'s Stream<'s, '_>) -> Result<Readable<'s>, DeviceError> {
        Ok(Readable::Bound(stream.bind(self)))
    }

    fn writable<'s>(&'s mut self, stream: &'s Stream<'s, '_>) -> Result<Writable<'s>, DeviceError> {
        Ok(Writable::Bound(stream.bind(self)))
    }
}

impl KernelMemory for MappedBuffer<u32> {
    const NAME: &'static str = MAPPED;

    fn allocate(device: &Device, words: usize) -> Result<Self, DeviceError> {
        device.mapped(words)
    }

    fn readable<'s>(&'s mut self, stream: &'s Stream<'s, '_>) -> Result<Readable<'s>, DeviceError> {
        Ok(Readable::Mapped(stream.map(self)?))
    }

    fn writable<'s>(&'s mut self, stream: &'s Stream<'s, '_>) -> Result<Writable<'s>, DeviceError> {
        Ok(Writable::Mapped(stream.map_mut(self)?))
    }
}

/// The name of device memory in documents.
pub const DEVICE: &str = "device";

/// The name of mapped memory, over which the questions about zero-copy are asked.
pub const MAPPED: &str = "mapped";

/// What is measured of one kind at one size, or once.
type Measure = fn(&Bench<'_>, u64) -> Result<Vec<Measurement>, MeasureError>;

/// A kind of host memory in the list.
pub struct HostEntry {
    /// Its name.
    pub name: &'static str,
    /// Whether it is taken out of the budget for page-locked memory.
    pub page_locked: bool,
    /// Whether it asks for a device that can map host memory.
    pub mapped: bool,
    /// Copies at one size.
    pub copies: Measure,
    /// Allocating and freeing at one size.
    pub allocation: Measure,
    /// The CPU's own access.
    pub cpu: Measure,
}

/// A kind of memory that kernels reach, in the list.
pub struct KernelEntry {
    /// Its name.
    pub name: &'static str,
    /// Whether it lies behind the link.
    pub over_link: bool,
    /// Reads, writes, strides, disorder.
    pub access: Measure,
    /// Reads and writes with grids of many sizes.
    pub grids: Measure,
    /// Dependent reads.
    pub latency: Measure,
}

const fn host_entry<B: HostMemory>(mapped: bool) -> HostEntry {
    HostEntry {
        name: B::NAME,
        page_locked: B::ASYNCHRONOUS,
        mapped,
        copies: copies::measure::<B>,
        allocation: host::allocation::<B>,
        cpu: host::speed::<B>,
    }
}

const fn kernel_entry<B: KernelMemory>(over_link: bool) -> KernelEntry {
    KernelEntry {
        name: B::NAME,
        over_link,
        access: access::measure::<B>,
        grids: access::grids::<B>,
        latency: latency::measure::<B>,
    }
}

/// Every kind of host memory.
pub const HOST_KINDS: [HostEntry; 3] = [
    host_entry::<PageableBuffer<u32>>(false),
    host_entry::<PinnedBuffer<u32>>(false),
    host_entry::<MappedBuffer<u32>>(true),
];

/// Every kind of memory that kernels reach.
pub const KERNEL_KINDS: [KernelEntry; 2] =
    [kernel_entry::<MappedBuffer<u32>>(true), kernel_entry::<DeviceBuffer<u32>>(false)];
