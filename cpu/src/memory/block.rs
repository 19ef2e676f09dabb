//! The allocations behind the host buffers: who made the memory, how it goes back, which account it is on.

use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu::device::Element;

use super::budget::{PinnedBudget, Reservation};
use super::managed::ManagedReservation;
use crate::device::{Backend, DeviceError, DeviceKind, HostAccess, HostFlags};

/// Page-locked or managed memory of `len` elements that frees itself the way it was allocated.
///
/// `pub` because the seal of [`PageLocked`](super::PageLocked) hands it out; nobody outside can name it or use it.
pub struct HostBlock<T: Element> {
    start: NonNull<T>,
    len: usize,
    allocation_time: Duration,
    /// None for an empty block, which owns nothing.
    owner: Option<Owner>,
}

struct Owner {
    backend: Arc<dyn Backend>,
    /// What the driver knows the memory by; `start` may lie inside.
    base: NonNull<u8>,
    origin: Origin,
}

/// How the memory came about, which says how it goes back; with its place on the account that it is on, which ends when
/// this is dropped. The accounts are never read here.
enum Origin {
    /// Page-locked when it was allocated.
    Allocated(#[allow(dead_code)] Reservation),
    /// Page-locked where it lay.
    Registered(#[allow(dead_code)] Reservation),
    /// Not page-locked: its pages migrate.
    Managed(#[allow(dead_code)] ManagedReservation),
}

impl<T: Element> HostBlock<T> {
    /// Reserves, then allocates, then writes zeros: page-locked memory comes with whatever was in it.
    pub(super) fn zeroed(
        backend: &Arc<dyn Backend>,
        budget: &PinnedBudget,
        len: usize,
        flags: HostFlags,
    ) -> Result<Self, DeviceError> {
        if len == 0 {
            return Ok(Self::empty());
        }
        let bytes = byte_size::<T>(len)?;
        let reservation = budget.reserve(bytes as u64)?;
        let started = Instant::now();
        let start = backend.alloc_host(bytes, flags)?.cast::<T>();
        let allocation_time = started.elapsed();
        // SAFETY: `Backend` promises `bytes` bytes that nobody else has, aligned for any `Element`. Zero bits are one.
        unsafe { start.write_bytes(0, len) };
        let base = start.cast();
        let owner = Owner { backend: backend.clone(), base, origin: Origin::Allocated(reservation) };
        Ok(Self { start, len, allocation_time, owner: Some(owner) })
    }

    /// Page-locks memory that is there already: `bytes` at `base`, of which `len` elements from `start` on are the block's.
    ///
    /// # Safety
    /// The bytes are allocated and nobody frees, moves or writes them, except through the block, until it is dropped; `start`
    /// lies inside, is aligned, and the elements are initialised. With `access` read-only nobody calls `as_mut_slice`.
    pub(super) unsafe fn registered(
        backend: &Arc<dyn Backend>,
        budget: &PinnedBudget,
        (base, bytes): (NonNull<u8>, usize),
        (start, len): (NonNull<T>, usize),
        access: HostAccess,
    ) -> Result<Self, DeviceError> {
        if bytes == 0 {
            // Registering nothing is an error in the driver. Here it is a block of nothing.
            return Ok(Self { start, len, allocation_time: Duration::ZERO, owner: None });
        }
        let reservation = budget.reserve(bytes as u64)?;
        let started = Instant::now();
        // SAFETY: the caller's: the bytes stay allocated until `drop` below unregisters them.
        unsafe { backend.register_host(base, bytes, access)? };
        let owner = Owner { backend: backend.clone(), base, origin: Origin::Registered(reservation) };
        Ok(Self { start, len, allocation_time: started.elapsed(), owner: Some(owner) })
    }

    /// Allocates managed memory and writes zeros, so that all of its pages begin on the host. The time is that until all of
    /// them were there; the zeros beyond the first of each page are not counted.
    pub(super) fn managed(
        backend: &Arc<dyn Backend>,
        reservation: ManagedReservation,
        len: usize,
    ) -> Result<Self, DeviceError> {
        let bytes = byte_size::<T>(len)?;
        let started = Instant::now();
        let start = backend.alloc_managed(bytes)?.cast::<T>();
        for page in (0..len).step_by((PAGE_BYTES / size_of::<T>()).max(1)) {
            // SAFETY: inside the allocation, of which `Backend` promises `bytes` bytes that nobody else has, aligned for any
            // `Element`, and which the CPU may touch at any time. Zero bits are an `Element`.
            unsafe { start.add(page).write_bytes(0, 1) };
        }
        let allocation_time = started.elapsed();
        // SAFETY: as above.
        unsafe { start.write_bytes(0, len) };
        let owner = Owner { backend: backend.clone(), base: start.cast(), origin: Origin::Managed(reservation) };
        Ok(Self { start, len, allocation_time, owner: Some(owner) })
    }

    /// No elements, and nobody's.
    pub(super) fn empty() -> Self {
        Self { start: NonNull::dangling(), len: 0, allocation_time: Duration::ZERO, owner: None }
    }

    pub(super) fn as_slice(&self) -> &[T] {
        // SAFETY: `zeroed` or `managed` allocated and initialised `len` elements (or none, at an aligned address), or they were
        // there when `registered` was called; `drop` alone frees them. The device writes them only while `Stream` holds the buffer's only borrow, so `self` is not borrowed then.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Elements. Not through a slice, as below.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first element. Not through a slice, so that the device or another thread may write what it points to while the
    /// block itself is shared.
    pub(super) fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
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
    /// number. Managed memory has one address for all. 0 for an empty block.
    pub(super) fn device_address(&self) -> Result<u64, DeviceError> {
        match &self.owner {
            Some(Owner { origin: Origin::Managed(_), .. }) => Ok(self.start.as_ptr() as usize as u64),
            Some(owner) => {
                // SAFETY: `zeroed` or `registered` got the block from this backend by that name, and only `drop` gives it back.
                // That it is mapped is known to the one caller, which asks it of `MappedMemory` and `Mailbox` alone.
                let base = unsafe { owner.backend.device_address_of(owner.base)? };
                Ok(base + (self.start.as_ptr() as usize - owner.base.as_ptr() as usize) as u64)
            }
            None => Ok(0),
        }
    }
}

impl<T: Element> Drop for HostBlock<T> {
    fn drop(&mut self) {
        if let Some(Owner { backend, base, origin }) = self.owner.take() {
            // SAFETY: `zeroed`, `registered` or `managed` got the block from this backend by that name, and `take` above sees
            // to it that it goes back once. No work uses it: whatever was enqueued with it borrowed it for `'scope`, and
            // `run_scope` waits before that ends.
            let freed = unsafe {
                match origin {
                    Origin::Allocated(_) => backend.free_host(base),
                    Origin::Registered(_) => backend.unregister_host(base),
                    Origin::Managed(_) => backend.free_managed(base),
                }
            };
            if freed.is_err() {
                std::mem::forget(origin); // the memory is still there, so it is still on its account
            }
        }
    }
}

// SAFETY: owns the memory that `start` points to, of elements that are `Send`; `Backend` is `Send + Sync`, and its calls
// work on every thread.
unsafe impl<T: Element> Send for HostBlock<T> {}
// SAFETY: `&self` gives `&[T]` of elements that are `Sync`, and calls of a `Backend` that is.
unsafe impl<T: Element> Sync for HostBlock<T> {}

/// The smallest page of the systems that we run on; touching larger pages several times costs little.
pub(super) const PAGE_BYTES: usize = 4096;

/// The bytes of `len` elements.
pub(super) fn byte_size<T>(len: usize) -> Result<usize, DeviceError> {
    len.checked_mul(size_of::<T>())
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or(DeviceError::TooLarge { elements: len, element_bytes: size_of::<T>() })
}
