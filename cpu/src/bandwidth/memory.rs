//! What the measurements ask of memory. A further kind of host memory is an implementation of [`HostMemory`], of
//! [`Destination`] if it is also copied to, and one entry in [`HOST_KINDS`]; if kernels reach it, also of [`KernelMemory`] and one in [`KERNEL_KINDS`].

use std::time::Duration;

use gpu::access::{Access, Grid, pattern};
use gpu::launch::{DeviceSlice, DeviceSliceMut};

use super::measurement::Measurement;
use super::staged::Staged;
use super::{Bench, Fault, MeasureError, access, copies, host, latency};
use crate::device::{Device, DeviceError};
use crate::memory::{
    DeviceBuffer, HostBuffer, MappedBuffer, PageableBuffer, PinnedBuffer, RegisteredBuffer, Stream, StreamBuffer,
    WriteCombinedBuffer,
};

/// Host memory that is copied from, as 32-bit words. It need not lend a slice: write-combined memory has none.
pub trait HostMemory: Sized + Send + Sync {
    /// The kind's name.
    const NAME: &'static str;
    /// Whether the copy engine reaches it, so that copies can be enqueued before they run.
    const ASYNCHRONOUS: bool;
    /// No more bytes than these are given to the CPU to read and write when its speed is measured.
    const CPU_BYTES_AT_MOST: u64 = u64::MAX;

    /// Allocates `words` words.
    ///
    /// # Errors
    /// There is not enough memory, or the budget does not allow it.
    fn allocate(device: &Device, words: usize) -> Result<Self, DeviceError>;

    /// How long the allocation took.
    fn allocation_time(&self) -> Duration;

    /// Copies all of it to the device.
    ///
    /// # Errors
    /// The device refuses.
    fn upload<'s>(&'s self, stream: &'s Stream<'s, '_>, to: &mut StreamBuffer<'s, u32>) -> Result<(), DeviceError>;

    /// The CPU writes the pattern of `seed`, with as many threads as it likes.
    fn set_pattern(&mut self, seed: u32);

    /// One thread of the CPU writes `word` everywhere.
    fn fill(&mut self, word: u32);

    /// Lets the CPU read all words, in the way that the kind has for it.
    fn read<R>(&self, read: impl FnOnce(&[u32]) -> R) -> R;
}

/// Host memory that is also copied to.
pub trait Destination: HostMemory {
    /// Overwrites all of it from the device.
    ///
    /// # Errors
    /// The device refuses.
    fn download<'s>(&'s mut self, stream: &'s Stream<'s, '_>, from: &StreamBuffer<'s, u32>) -> Result<(), DeviceError>;
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

            fn allocation_time(&self) -> Duration {
                HostBuffer::allocation_time(self)
            }

            fn upload<'s>(
                &'s self,
                stream: &'s Stream<'s, '_>,
                to: &mut StreamBuffer<'s, u32>,
            ) -> Result<(), DeviceError> {
                stream.$upload(self.$from(), to)
            }

            fn set_pattern(&mut self, seed: u32) {
                copies::fill(self.as_mut_slice(), seed);
            }

            fn fill(&mut self, word: u32) {
                self.as_mut_slice().fill(word);
            }

            fn read<R>(&self, read: impl FnOnce(&[u32]) -> R) -> R {
                read(self.as_slice())
            }
        }

        impl Destination for $buffer<u32> {
            fn download<'s>(
                &'s mut self,
                stream: &'s Stream<'s, '_>,
                from: &StreamBuffer<'s, u32>,
            ) -> Result<(), DeviceError> {
                stream.$download(from, self.$to())
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
impl Itself for RegisteredBuffer<u32> {}

host_memory! {
    PageableBuffer, "pageable", false, |_device, len| PageableBuffer::zeroed(len),
        upload_pageable(as_slice), download_pageable(as_mut_slice);
    PinnedBuffer, "pinned", true, |device, len| device.pinned(len), upload(itself), download(itself_mut);
    MappedBuffer, MAPPED, true, |device, len| device.mapped(len), upload(itself), download(itself_mut);
    RegisteredBuffer, "registered", true, |device, len| registered(device, len), upload(itself), download(itself_mut);
}

/// Bytes that are allocated behind registered memory and not registered, so that no two buffers share a page: what the
/// driver locks are pages. No system that we run on has larger ones.
const LARGEST_PAGE: usize = 64 << 10;

/// Zeroed memory, all of whose pages are there, and page-locked only then.
fn registered(device: &Device, words: usize) -> Result<RegisteredBuffer<u32>, DeviceError> {
    let mut memory = Vec::new();
    let bytes = 4 * words as u64;
    memory
        .try_reserve_exact(words.saturating_add(LARGEST_PAGE / 4))
        .map_err(|_| DeviceError::OutOfHostMemory { bytes })?;
    memory.resize(words, 0);
    device.register(memory).map_err(|refused| *refused.reason)
}

impl HostMemory for WriteCombinedBuffer<u32> {
    const NAME: &'static str = "write-combined";
    const ASYNCHRONOUS: bool = true;
    /// Reading it back crawls at some 100 MB/s; it is not cached, so less memory says as much.
    const CPU_BYTES_AT_MOST: u64 = 16 << 20;

    fn allocate(device: &Device, words: usize) -> Result<Self, DeviceError> {
        device.write_combined(words)
    }

    fn allocation_time(&self) -> Duration {
        WriteCombinedBuffer::allocation_time(self)
    }

    fn upload<'s>(&'s self, stream: &'s Stream<'s, '_>, to: &mut StreamBuffer<'s, u32>) -> Result<(), DeviceError> {
        stream.upload(self, to)
    }

    fn set_pattern(&mut self, seed: u32) {
        let mut at = 0;
        while at < self.len() {
            let end = self.len().min(at + (1 << 14));
            let words: Vec<u32> = (at..end).map(|index| pattern(index, seed)).collect();
            self.write(at, &words).expect("the words end inside");
            at = end;
        }
    }

    fn fill(&mut self, word: u32) {
        WriteCombinedBuffer::fill(self, word);
    }

    fn read<R>(&self, read: impl FnOnce(&[u32]) -> R) -> R {
        read(&self.read_back_slowly())
    }
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

macro_rules! mapped_memory {
    ($($buffer:ident),*) => { $(
        impl KernelMemory for $buffer<u32> {
            const NAME: &'static str = <Self as HostMemory>::NAME;

            fn allocate(device: &Device, words: usize) -> Result<Self, DeviceError> {
                HostMemory::allocate(device, words)
            }

            fn readable<'s>(&'s mut self, stream: &'s Stream<'s, '_>) -> Result<Readable<'s>, DeviceError> {
                Ok(Readable::Mapped(stream.map(self)?))
            }

            fn writable<'s>(&'s mut self, stream: &'s Stream<'s, '_>) -> Result<Writable<'s>, DeviceError> {
                Ok(Writable::Mapped(stream.map_mut(self)?))
            }
        }
    )* };
}
mapped_memory!(MappedBuffer, WriteCombinedBuffer, RegisteredBuffer);

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
    /// Whether it asks for a device that can map host memory.
    pub mapped: bool,
    /// Copies at one size.
    pub copies: Measure,
    /// Allocating and freeing at one size, unless another kind's figures are the same.
    pub allocation: Option<Measure>,
    /// The CPU's own access, unless another kind's figures are the same.
    pub cpu: Option<Measure>,
}

/// A kind of memory that kernels reach, in the list.
pub struct KernelEntry {
    /// Its name.
    pub name: &'static str,
    /// Whether it lies behind the link.
    pub over_link: bool,
    /// Reads, writes, strides, disorder.
    pub access: Measure,
    /// Reads and writes with grids of many sizes, asked of one kind only: the link is the same.
    pub grids: Option<Measure>,
    /// Dependent reads.
    pub latency: Measure,
}

const fn host_entry<B: Destination>(mapped: bool) -> HostEntry {
    HostEntry {
        name: B::NAME,
        mapped,
        copies: copies::measure::<B>,
        allocation: Some(host::allocation::<B>),
        cpu: Some(host::speed::<B>),
    }
}

const fn kernel_entry<B: KernelMemory>(over_link: bool) -> KernelEntry {
    KernelEntry { name: B::NAME, over_link, access: access::measure::<B>, grids: None, latency: latency::measure::<B> }
}

/// Every kind of host memory.
pub const HOST_KINDS: [HostEntry; 6] = [
    host_entry::<PageableBuffer<u32>>(false),
    // The memory is pageable, and so are its costs.
    HostEntry { allocation: None, cpu: None, ..host_entry::<Staged>(false) },
    host_entry::<PinnedBuffer<u32>>(false),
    host_entry::<MappedBuffer<u32>>(true),
    HostEntry {
        name: <WriteCombinedBuffer<u32> as HostMemory>::NAME,
        mapped: true,
        copies: copies::up::<WriteCombinedBuffer<u32>>,
        allocation: Some(host::allocation::<WriteCombinedBuffer<u32>>),
        cpu: Some(host::speed::<WriteCombinedBuffer<u32>>),
    },
    host_entry::<RegisteredBuffer<u32>>(true),
];

/// Every kind of memory that kernels reach.
pub const KERNEL_KINDS: [KernelEntry; 4] = [
    KernelEntry { grids: Some(access::grids::<MappedBuffer<u32>>), ..kernel_entry::<MappedBuffer<u32>>(true) },
    kernel_entry::<WriteCombinedBuffer<u32>>(true),
    kernel_entry::<RegisteredBuffer<u32>>(true),
    kernel_entry::<DeviceBuffer<u32>>(false),
];
