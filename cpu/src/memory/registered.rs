//! Memory that was there before: page-locked and mapped afterwards, and given back.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use gpu::device::Element;
use memmap2::{Mmap, MmapOptions};

use super::block::HostBlock;
use super::budget::PinnedBudget;
use super::host::{HostBuffer, HostKind, MappedMemory, PageLocked, Sealed, WritableMemory};
use crate::device::{Backend, DeviceError, HostAccess};

/// A `Vec` that is page-locked and mapped where it lies. Any base and any length will do; what the driver locks are whole
/// pages, what is accounted are the bytes of the elements.
pub struct RegisteredBuffer<T: Element> {
    // Dropped first: the memory must be there until it was unregistered.
    block: HostBlock<T>,
    memory: Vec<T>,
}

/// Memory that was not page-locked, with the reason.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct RefusedMemory<T: Element> {
    /// Why.
    #[source]
    pub reason: Box<DeviceError>,
    /// The memory, as it was.
    pub memory: Vec<T>,
}

impl<T: Element> RegisteredBuffer<T> {
    pub(crate) fn new(
        backend: &Arc<dyn Backend>,
        budget: &PinnedBudget,
        mut memory: Vec<T>,
    ) -> Result<Self, RefusedMemory<T>> {
        let len = memory.len();
        let start = NonNull::new(memory.as_mut_ptr()).unwrap_or(NonNull::dangling());
        // SAFETY: the elements stay where they are when the `Vec` moves into the buffer, which neither grows nor drops it
        // before the block, and touches them through the block alone.
        let block = unsafe {
            let whole = (start.cast(), len * size_of::<T>());
            HostBlock::registered(backend, budget, whole, (start, len), HostAccess::ReadWrite)
        };
        match block {
            Ok(block) => Ok(Self { block, memory }),
            Err(reason) => Err(RefusedMemory { reason: Box::new(reason), memory }),
        }
    }

    /// Gives the memory back, no longer page-locked.
    pub fn into_memory(self) -> Vec<T> {
        let Self { block, memory } = self;
        drop(block);
        memory
    }
}

impl<T: Element> HostBuffer<T> for RegisteredBuffer<T> {
    fn kind(&self) -> HostKind {
        HostKind::Registered
    }

    fn as_slice(&self) -> &[T] {
        self.block.as_slice()
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self.block.as_mut_slice()
    }

    fn allocation_time(&self) -> Duration {
        self.block.allocation_time()
    }
}

/// A file that kernels read where the system's page cache has it.
pub struct RegisteredFile<T: Element> {
    // Dropped first: the mapping must be there until it was unregistered.
    block: HostBlock<T>,
    _mapping: Mmap,
    elements: PhantomData<T>,
}

/// Why a file was not mapped and page-locked.
#[derive(Debug, thiserror::Error)]
pub enum RegisterFileError {
    /// It cannot be opened or mapped.
    #[error("{path} cannot be mapped: {source}", path = path.display())]
    Map {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The elements would begin beyond the end, or between two places that an element can be at.
    #[error(
        "{path}: elements of {element_bytes} bytes were to begin at byte {offset} of {bytes}; \
         take a multiple of {element_bytes} that lies inside", path = path.display()
    )]
    Offset {
        /// The file.
        path: PathBuf,
        /// Where they were to begin.
        offset: usize,
        /// Bytes of the file.
        bytes: usize,
        /// Bytes of an element.
        element_bytes: usize,
    },
    /// The budget or the device refuses.
    #[error("{path}: {reason}", path = path.display())]
    Device {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: Box<DeviceError>,
    },
}

impl<T: Element> RegisteredFile<T> {
    /// # Safety
    /// Nobody changes or shortens the file while the buffer lives.
    pub(crate) unsafe fn open(
        backend: &Arc<dyn Backend>,
        budget: &PinnedBudget,
        path: &Path,
        offset: usize,
    ) -> Result<Self, RegisterFileError> {
        let unmapped = |source| RegisterFileError::Map { path: path.to_owned(), source };
        let file = File::open(path).map_err(unmapped)?;
        // SAFETY: the caller's: the file stays as it is.
        let mapping = unsafe { MmapOptions::new().map(&file) }.map_err(unmapped)?;
        let (bytes, element_bytes) = (mapping.len(), size_of::<T>());
        if offset > bytes || !offset.is_multiple_of(element_bytes) {
            return Err(RegisterFileError::Offset { path: path.to_owned(), offset, bytes, element_bytes });
        }
        let base = NonNull::new(mapping.as_ptr().cast_mut()).unwrap_or(NonNull::dangling());
        // SAFETY: the offset is inside the mapping or at its end.
        let start = unsafe { base.add(offset) }.cast::<T>();
        let len = (bytes - offset) / element_bytes;
        // SAFETY: the mapping lives in the buffer, after the block; it begins at a page, so `start` is aligned; every bit
        // pattern is an `Element`; nobody writes it, by the caller's promise and because this type lends no `&mut`.
        let block =
            unsafe { HostBlock::registered(backend, budget, (base, bytes), (start, len), HostAccess::ReadOnly) };
        let block =
            block.map_err(|reason| RegisterFileError::Device { path: path.to_owned(), reason: Box::new(reason) })?;
        Ok(Self { block, _mapping: mapping, elements: PhantomData })
    }

    /// The elements, read from the page cache.
    pub fn as_slice(&self) -> &[T] {
        self.block.as_slice()
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How long page-locking took, which reads what the page cache does not have yet.
    pub fn registration_time(&self) -> Duration {
        self.block.allocation_time()
    }
}

macro_rules! registered {
    ($($buffer:ident)*) => { $(
        impl<T: Element> Sealed<T> for $buffer<T> {
            fn block(&self) -> &HostBlock<T> {
                &self.block
            }

            fn block_mut(&mut self) -> &mut HostBlock<T> {
                &mut self.block
            }
        }
        impl<T: Element> PageLocked<T> for $buffer<T> {}
        impl<T: Element> MappedMemory<T> for $buffer<T> {}
    )* };
}
registered!(RegisteredBuffer RegisteredFile);

// A `RegisteredFile` is not: it is mapped for reading.
impl<T: Element> WritableMemory<T> for RegisteredBuffer<T> {}
