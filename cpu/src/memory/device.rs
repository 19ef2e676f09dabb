//! Memory of the device itself.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu::device::Element;

use super::block::byte_size;
use crate::device::{Backend, DeviceError};

/// `len` elements of device memory. The host cannot see them; a [`Stream`](super::Stream) moves them.
pub struct DeviceBuffer<T: Element> {
    address: u64,
    len: usize,
    allocation_time: Duration,
    /// None for an empty buffer, which owns nothing.
    backend: Option<Arc<dyn Backend>>,
    elements: PhantomData<T>,
}

impl<T: Element> DeviceBuffer<T> {
    /// Uninitialised memory; whatever is read from it before it is written is some bit pattern.
    pub(crate) fn new(backend: &Arc<dyn Backend>, len: usize) -> Result<Self, DeviceError> {
        let bytes = byte_size::<T>(len)?;
        let started = Instant::now();
        let (address, backend) = match bytes {
            0 => (0, None),
            _ => (backend.alloc(bytes)?, Some(backend.clone())),
        };
        Ok(Self { address, len, allocation_time: started.elapsed(), backend, elements: PhantomData })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How long the allocation took.
    pub fn allocation_time(&self) -> Duration {
        self.allocation_time
    }

    /// The device that allocated it; none for an empty buffer.
    pub(super) fn owner(&self) -> Option<&Arc<dyn Backend>> {
        self.backend.as_ref()
    }

    /// Whether this device allocated it. An empty buffer is everybody's.
    pub(super) fn belongs_to(&self, device: &Arc<dyn Backend>) -> bool {
        self.owner().is_none_or(|owner| Arc::ptr_eq(owner, device))
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T: Element> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if let Some(backend) = self.backend.take() {
            // SAFETY: `new` got the memory from this backend, and `take` above sees to it that it is freed once. No work uses
            // it: whatever was enqueued with it borrowed it for `'scope`, and `run_scope` waits before that ends.
            // If the driver refuses, the device is lost and so is the memory.
            let _ = unsafe { backend.free(self.address) };
        }
    }
}

impl<T: Element> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer<{}>({} elements)", T::NAME, self.len)
    }
}
