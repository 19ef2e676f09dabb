//! The untyped allocations behind the host buffers: who made the memory, how it goes back, what it costs the budget.

use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu::device::Element;

use super::budget::{PinnedBudget, Reservation};
use crate::device::{Backend, DeviceError, HostFlags};

/// Page-locked memory of `len` elements that frees itself the way it was allocated.
pub(super) struct LockedBlock<T: Element> {
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
    pub fn zeroed(
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
        // SAFETY: the backend gave `bytes` bytes, aligned to a page; all zeros is an `Element`.
        unsafe { start.write_bytes(0, len) };
        Ok(Self { start, len, allocation_time, owner: Some(Owner { backend: backend.clone(), reservation }) })
    }

    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `len` initialised elements that live as long as `self`; the device writes them only while a scope
        // holds the buffer's only borrow.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    pub fn allocation_time(&self) -> Duration {
        self.allocation_time
    }

    /// Asks the device where it sees this memory; under unified addressing that is often, but not always, the same
    /// number. 0 for an empty block.
    pub fn device_address(&self) -> Result<u64, DeviceError> {
        match &self.owner {
            // SAFETY: the block came from this backend and is alive.
            Some(owner) => unsafe { owner.backend.device_address_of(self.start.cast()) },
            None => Ok(0),
        }
    }
}

impl<T: Element> Drop for LockedBlock<T> {
    fn drop(&mut self) {
        if let Some(Owner { backend, reservation }) = self.owner.take() {
            // SAFETY: the block came from this backend and is freed once. No work uses it: whatever was enqueued with it
            // borrowed it for a scope, and scopes wait.
            match unsafe { backend.free_host(self.start.cast()) } {
                Ok(()) => drop(reservation),
                Err(_) => reservation.keep(), // still pinned, so still on the account
            }
        }
    }
}

// SAFETY: owns plain memory, and `Element` is `Send`; freeing binds the context to whatever thread drops it.
unsafe impl<T: Element> Send for LockedBlock<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Element> Sync for LockedBlock<T> {}

/// The bytes of `len` elements.
pub(super) fn byte_size<T>(len: usize) -> Result<usize, DeviceError> {
    len.checked_mul(size_of::<T>())
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or(DeviceError::TooLarge { elements: len, element_bytes: size_of::<T>() })
}
