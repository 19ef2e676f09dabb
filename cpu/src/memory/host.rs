//! Host buffers: the kind of memory is part of the type, because it decides what may be done with it.

use std::time::{Duration, Instant};

use gpu::device::Element;

use super::block::{HostBlock, PAGE_BYTES};
use super::budget::PinnedBudget;
use crate::device::{Backend, DeviceError, HostFlags};
use std::sync::Arc;

/// The kinds of host memory, as they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostKind {
    /// Ordinary memory. The copy engine cannot read it: the driver stages it through a buffer of its own.
    Pageable,
    /// Page-locked. The copy engine reads it directly, asynchronously.
    Pinned,
    /// Page-locked and visible to kernels under a device address: zero-copy.
    Mapped,
    /// Mapped, and not cached by the CPU: for data that the CPU only writes.
    WriteCombined,
    /// Memory that was there before it was page-locked and mapped.
    Registered,
    /// Pages that migrate between host and device, to whoever touches them.
    Managed,
}

impl HostKind {
    /// `pageable`, `pinned`, `mapped`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pageable => "pageable",
            Self::Pinned => "pinned",
            Self::Mapped => "mapped",
            Self::WriteCombined => "write-combined",
            Self::Registered => "registered",
            Self::Managed => "managed",
        }
    }
}

/// What every kind of host memory can do.
pub trait HostBuffer<T: Element> {
    /// The kind.
    fn kind(&self) -> HostKind;
    /// The elements.
    fn as_slice(&self) -> &[T];
    /// The elements, to be changed.
    fn as_mut_slice(&mut self) -> &mut [T];
    /// How long it took until all of the memory was there; filling it with zeros is not counted.
    fn allocation_time(&self) -> Duration;

    /// Elements.
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Host memory that the copy engine can read and write by itself, and that may therefore be used asynchronously.
///
/// Sealed: pageable memory must never be among them, because a copy from it is not asynchronous, whatever the call is
/// named.
pub trait PageLocked<T: Element>: sealed::Sealed<T> {}

/// Host memory that the device may also write: by a copy if it is page-locked, by a kernel if it is mapped. Sealed too.
pub trait WritableMemory<T: Element>: sealed::Sealed<T> {}

/// Host memory that kernels reach under a device address: over the link if it is page-locked, by migration if it is managed.
/// Sealed too.
pub trait MappedMemory<T: Element>: sealed::Sealed<T> {}

mod sealed {
    use super::{Element, HostBlock};

    /// Sealed per element: for a seal without `T`, another crate could add `PageLocked<TheirElement> for PinnedBuffer<u8>`
    /// and return any slice from it.
    pub trait Sealed<T: Element> {
        /// The allocation.
        fn block(&self) -> &HostBlock<T>;
        /// The allocation, borrowed alone.
        fn block_mut(&mut self) -> &mut HostBlock<T>;
    }
}
pub(super) use sealed::Sealed;

/// Ordinary memory, from the allocator that `Vec` uses.
pub struct PageableBuffer<T: Element> {
    elements: Vec<T>,
    allocation_time: Duration,
}

impl<T: Element + Default> PageableBuffer<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// The allocator has no such amount.
    pub fn zeroed(len: usize) -> Result<Self, DeviceError> {
        let bytes = super::block::byte_size::<T>(len)?;
        let started = Instant::now();
        let mut elements = Vec::new();
        elements.try_reserve_exact(len).map_err(|_| DeviceError::OutOfHostMemory { bytes: bytes as u64 })?;
        // The allocator promises pages and the system hands them out when they are first touched. Page-locked memory comes
        // with all of its pages, so a comparison of what allocating costs must count them here too.
        for page in elements.spare_capacity_mut().chunks_mut(PAGE_BYTES / size_of::<T>()) {
            page[0].write(T::default());
        }
        let allocation_time = started.elapsed();
        elements.resize(len, T::default());
        Ok(Self { elements, allocation_time })
    }
}

/// Page-locked memory, usable from every context (the portable flag).
pub struct PinnedBuffer<T: Element>(HostBlock<T>);

/// Page-locked memory that kernels reach under a device address: zero-copy. Portable too.
pub struct MappedBuffer<T: Element>(HostBlock<T>);

/// Mapped page-locked memory that the CPU does not cache: its writes are gathered and go out in whole lines, without the
/// snooping that cached memory needs. Reading it crawls, so there is no slice to read from: it can be written, and it can be
/// read back by a call that says what it is.
pub struct WriteCombinedBuffer<T: Element>(HostBlock<T>);

impl<T: Element> PinnedBuffer<T> {
    pub(crate) fn zeroed(backend: &Arc<dyn Backend>, budget: &PinnedBudget, len: usize) -> Result<Self, DeviceError> {
        let flags = HostFlags { portable: true, mapped: false, write_combined: false };
        Ok(Self(HostBlock::zeroed(backend, budget, len, flags)?))
    }
}

impl<T: Element> MappedBuffer<T> {
    pub(crate) fn zeroed(backend: &Arc<dyn Backend>, budget: &PinnedBudget, len: usize) -> Result<Self, DeviceError> {
        let flags = HostFlags { portable: true, mapped: true, write_combined: false };
        Ok(Self(HostBlock::zeroed(backend, budget, len, flags)?))
    }
}

impl<T: Element> WriteCombinedBuffer<T> {
    pub(crate) fn zeroed(backend: &Arc<dyn Backend>, budget: &PinnedBudget, len: usize) -> Result<Self, DeviceError> {
        let flags = HostFlags { portable: true, mapped: true, write_combined: true };
        Ok(Self(HostBlock::zeroed(backend, budget, len, flags)?))
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.0.as_slice().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How long it took until all of the memory was there.
    pub fn allocation_time(&self) -> Duration {
        self.0.allocation_time()
    }

    /// Writes elements from `at` on. In order and in one go is what the memory is good at.
    ///
    /// # Errors
    /// They reach beyond the end; nothing is written then.
    pub fn write(&mut self, at: usize, elements: &[T]) -> Result<(), DeviceError> {
        let len = self.len();
        let end = at.checked_add(elements.len()).filter(|&end| end <= len);
        let end = end.ok_or(DeviceError::OutOfRange { at, elements: elements.len(), len })?;
        self.0.as_mut_slice()[at..end].copy_from_slice(elements);
        Ok(())
    }

    /// Writes one element everywhere.
    pub fn fill(&mut self, element: T) {
        self.0.as_mut_slice().fill(element);
    }

    /// Copies the elements out, past the CPU's caches: some hundred times slower than ordinary memory on most machines. The
    /// name is long so that nobody calls it in a loop.
    pub fn read_back_slowly(&self) -> Vec<T> {
        self.0.as_slice().to_vec()
    }
}

impl<T: Element> HostBuffer<T> for PageableBuffer<T> {
    fn kind(&self) -> HostKind {
        HostKind::Pageable
    }

    fn as_slice(&self) -> &[T] {
        &self.elements
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.elements
    }

    fn allocation_time(&self) -> Duration {
        self.allocation_time
    }
}

macro_rules! cached {
    ($($buffer:ident is $kind:expr),*) => { $(
        impl<T: Element> HostBuffer<T> for $buffer<T> {
            fn kind(&self) -> HostKind {
                $kind
            }

            fn as_slice(&self) -> &[T] {
                self.0.as_slice()
            }

            fn as_mut_slice(&mut self) -> &mut [T] {
                self.0.as_mut_slice()
            }

            fn allocation_time(&self) -> Duration {
                self.0.allocation_time()
            }
        }

    )* };
}
cached!(PinnedBuffer is HostKind::Pinned, MappedBuffer is HostKind::Mapped);

macro_rules! page_locked {
    ($($buffer:ident)*) => { $(
        impl<T: Element> sealed::Sealed<T> for $buffer<T> {
            fn block(&self) -> &HostBlock<T> {
                &self.0
            }

            fn block_mut(&mut self) -> &mut HostBlock<T> {
                &mut self.0
            }
        }
        impl<T: Element> PageLocked<T> for $buffer<T> {}
        impl<T: Element> WritableMemory<T> for $buffer<T> {}
    )* };
}
page_locked!(PinnedBuffer MappedBuffer WriteCombinedBuffer);

impl<T: Element> MappedMemory<T> for MappedBuffer<T> {}
impl<T: Element> MappedMemory<T> for WriteCombinedBuffer<T> {}
