//! The untyped allocations behind the host buffers: who made the memory, how it goes back, what it costs the budget.

use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu::device::Element;

use super::budget::{PinnedBudget, Reservation};
use crate::device::{Backend, DeviceError, DeviceKind, HostFlags};

/// Page-locked memory of `len` elements that frees itself the way it was allocated.
///
/// `pub` because the seal of [`PageLocked`](super::PageLocked) hands it out; nobody outside can name it or use it.
pub struct LockedBlock<T: Element> {
    start: NonNull<T>,
    len: usize,
    allocation_time: Duration,
    /// None for an empty block, which owns nothing.
    owner: Option<Owner>,
}

struct Owner {
    backend: Arc<dyn Backend>,
    reservation: Reservation,
}

impl<T: Element> LockedBlock<T> {
    /// Reserves, then allocates, then writes zeros: page-locked memory comes with whatever was in it.
    pub(super) fn zeroed(
        backend: &Arc<dyn Backend>,
        budget: &PinnedBudget,
        len: usize,
        flags: HostFlags,
    ) -> Result<Self, DeviceError> {
        if len == 0 {
            let start = NonNull::dangling();
            return Ok(Self { start, len, allocation_time: Duration::ZERO, owner: None });
        }
        let bytes = byte_size::<T>(len)?;
        let reservation = budget.reserve(bytes as u64)?;
        let started = Instant::now();
        let start = backend.alloc_host(bytes, flags)?.cast::<T>();
        let allocation_time = started.elapsed();
        // SAFETY: `Backend` promises `bytes` bytes that nobody else has, aligned for any `Element`. Zero bits are one.
        unsafe { start.write_bytes(0, len) };
        Ok(Self { start, len, allocation_time, owner: Some(Owner { backend: backend.clone(), reservation }) })
    }

    pub(super) fn as_slice(&self) -> &[T] {
        // SAFETY: `zeroed` allocated and initialised `len` elements (or none, at an aligned address), which `drop` alone
        // frees. The device writes them only while `Stream` holds the buffer's only borrow, so `self` is not borrowed then.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The device that allocated it; none for an empty block.
    pub(super) fn owner(&self) -> Option<&Arc<dyn Backend>> {
        self.owner.as_ref().map(|owner| &owner.backend)
    }

    /// Whether this device allocated it. An empty block is everybody's.
    pub(super) fn belongs_to(&self, device: &Arc<dyn Backend>) -> bool {
        self.owner().is_none_or(|owner| Arc::ptr_eq(owner, device))
    }

    /// Whether this device can copy it without staging: what one GPU page-locks is locked for all (the portable flag), what
    /// the CPU device calls page-locked is so for no GPU, and the CPU copies anything.
    pub(super) fn is_locked_for(&self, device: &Arc<dyn Backend>) -> bool {
        let is_gpu = |device: &Arc<dyn Backend>| matches!(device.info().kind, DeviceKind::Cuda { .. });
        self.owner().is_none_or(|owner| is_gpu(owner) || !is_gpu(device))
    }

    pub(super) fn allocation_time(&self) -> Duration {
        self.allocation_time
    }

    /// Asks the device where it sees this memory; under unified addressing that is often, but not always, the same
    /// number. 0 for an empty block.
    pub(super) fn device_address(&self) -> Result<u64, DeviceError> {
        match &self.owner {
            // SAFETY: `zeroed` got the block from this backend, and only `drop` frees it. That it was allocated with the
            // mapped flag is known to the one caller, `MappedBuffer`.
            Some(owner) => unsafe { owner.backend.device_address_of(self.start.cast()) },
            None => Ok(0),
        }
    }
}

impl<T: Element> Drop for LockedBlock<T> {
    fn drop(&mut self) {
        if let Some(Owner { backend, reservation }) = self.owner.take() {
            // SAFETY: `zeroed` got the block from this backend, and `take` above sees to it that it is freed once. No work
            // uses it: whatever was enqueued with it borrowed it for `'scope`, and `run_scope` waits before that ends.
            match unsafe { backend.free_host(self.start.cast()) } {
                Ok(()) => drop(reservation),
                Err(_) => reservation.keep(), // still pinned, so still on the account
            }
        }
    }
}

// SAFETY: owns the memory that `start` points to, of elements that are `Send`; `Backend` is `Send + Sync`, and its calls
// work on every thread.
unsafe impl<T: Element> Send for LockedBlock<T> {}
// SAFETY: `&self` gives `&[T]` of elements that are `Sync`, and calls of a `Backend` that is.
unsafe impl<T: Element> Sync for LockedBlock<T> {}

/// The bytes of `len` elements.
pub(super) fn byte_size<T>(len: usize) -> Result<usize, DeviceError> {
    len.checked_mul(size_of::<T>())
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or(DeviceError::TooLarge { elements: len, element_bytes: size_of::<T>() })
}
