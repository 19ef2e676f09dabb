//! Managed memory: one address for host and device, and pages that migrate to whoever touches them.
//!
//! A page that a kernel touches while it is on the host stops the threads that touched it until the driver has moved it, and
//! the other way round for the CPU. [`Stream::prefetch_to_device`](super::Stream::prefetch_to_device) moves pages ahead and
//! in one go; [`Stream::advise`](super::Stream::advise) tells the driver how they will be used.
//!
//! The memory is not page-locked, so it is not on the [`PinnedBudget`](super::PinnedBudget): the system may still swap what
//! lies on the host. It has an account of its own, because a driver grants more than there is and then moves pages back and
//! forth, which can hang a machine: what is asked for and what there is already, wherever it lies, must fit the memory that
//! is free on the device and the memory that is available to the host, both. The driver does not tell where pages lie, so
//! what has moved to one side counts there twice: in effect, about half of either side can be managed.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gpu::device::Element;

use super::block::{HostBlock, byte_size};
use super::budget::AvailableMemory;
use super::host::{HostBuffer, HostKind, MappedMemory, Sealed, WritableMemory};
use crate::device::{Backend, DeviceError};

/// Memory whose pages migrate between the host and one device. Kernels of that device's streams use it through
/// [`map`](super::Stream::map), [`map_mut`](super::Stream::map_mut) or [`bind_managed`](super::Stream::bind_managed).
///
/// To a copy it is ordinary memory: `upload_pageable` from its slice and `download_pageable` into it are sound, and no copy
/// takes it for page-locked.
///
/// ```
/// use cpu::device::{Device, Selector};
/// use cpu::memory::{HostBuffer, PinnedBudget};
/// use gpu::matmul::{MatmulKernel, Shape};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open(Selector::Simt, PinnedBudget::limited_to(0))?;
/// let (mut a, mut c) = (device.managed(4)?, device.managed(4)?);
/// a.as_mut_slice().copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
/// device.scope(|stream| {
///     let mut c = stream.bind_managed(&mut c);
///     stream.prefetch_to_device(&a)?;
///     stream.prefetch_to_device(&c)?;
///     let a = stream.map(&a)?;
///     MatmulKernel::Tiled.launch(stream, Shape::new(2, 2, 2)?, a, a, c.slice_mut())?;
///     stream.prefetch_to_host(&c)?;
///     Ok::<_, Box<dyn std::error::Error>>(())
/// })?; // waits here; before that, `c` cannot be read
/// assert_eq!(c.as_slice(), [7.0, 10.0, 15.0, 22.0]);
/// # Ok(())
/// # }
/// ```
pub struct ManagedBuffer<T: Element>(HostBlock<T>);

/// Where pages can lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the memory of the device that allocated them.
    Device,
    /// In the memory of the host.
    Host,
}

/// What the driver may know of the use of some pages. It changes what accesses cost and never what they read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Read much and written hardly ever: whoever reads gets a copy, and a write ends the copies.
    ReadMostly,
    /// Where the pages are to stay. Others reach them over the link if they can, and migrate them if not.
    PreferredLocation(Location),
    /// Who will touch them: its page tables are kept up to date, so that it need not fault to find them.
    AccessedBy(Location),
}

/// Some elements of managed memory, for a prefetch or an advice. Whole buffers become one by themselves.
pub struct ManagedPart<'a> {
    address: u64,
    bytes: usize,
    /// None for an empty buffer's, which is everybody's.
    owner: Option<Arc<dyn Backend>>,
    lent: PhantomData<&'a ()>,
}

impl<T: Element> ManagedBuffer<T> {
    pub(crate) fn zeroed(backend: &Arc<dyn Backend>, len: usize) -> Result<Self, DeviceError> {
        if len == 0 {
            return Ok(Self(HostBlock::empty()));
        }
        let bytes = byte_size::<T>(len)? as u64;
        backend.info().check_managed()?;
        let device_free = backend.free_memory()?.free;
        let host_available = AvailableMemory::now().map_or(u64::MAX, AvailableMemory::least);
        let reservation = ManagedReservation::take(&ALIVE, bytes, device_free, host_available)?;
        Ok(Self(HostBlock::managed(backend, reservation, len)?))
    }

    /// The elements of a range, for a prefetch or an advice of no more than those. The driver deals in whole pages, so what
    /// shares a page with the first or the last of them goes with it, and may be another small buffer's.
    ///
    /// # Errors
    /// The range reaches beyond the end, or ends before it begins.
    pub fn part(&self, range: Range<usize>) -> Result<ManagedPart<'_>, DeviceError> {
        let len = self.0.len();
        let Range { start, end } = range;
        if start > end || end > len {
            return Err(DeviceError::OutOfRange { at: start, elements: end.saturating_sub(start), len });
        }
        Ok(ManagedPart {
            address: self.0.as_ptr() as usize as u64 + (start * size_of::<T>()) as u64,
            bytes: (end - start) * size_of::<T>(),
            owner: self.0.owner().cloned(),
            lent: PhantomData,
        })
    }

    /// All of them.
    pub(super) fn whole(&self) -> ManagedPart<'_> {
        let owner = self.0.owner().cloned();
        let (address, bytes) = (self.0.as_ptr() as usize as u64, self.0.len() * size_of::<T>());
        ManagedPart { address, bytes, owner, lent: PhantomData }
    }
}

impl<'a> ManagedPart<'a> {
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn owner(&self) -> Option<&Arc<dyn Backend>> {
        self.owner.as_ref()
    }

    /// The same part of memory that is lent for longer than `self` says. A part is no access, it neither reads nor writes;
    /// its lifetime says for how long the memory is there.
    ///
    /// # Safety
    /// The memory is not freed during `'longer`.
    pub(super) unsafe fn lent_for<'longer>(self) -> ManagedPart<'longer> {
        ManagedPart { lent: PhantomData, ..self }
    }
}

impl<'a, T: Element> From<&'a ManagedBuffer<T>> for ManagedPart<'a> {
    fn from(buffer: &'a ManagedBuffer<T>) -> Self {
        buffer.whole()
    }
}

impl<T: Element> HostBuffer<T> for ManagedBuffer<T> {
    fn kind(&self) -> HostKind {
        HostKind::Managed
    }

    fn as_slice(&self) -> &[T] {
        self.0.as_slice()
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self.0.as_mut_slice()
    }

    /// The driver's call, and the CPU touching each page for the first time: until then there are none.
    fn allocation_time(&self) -> Duration {
        self.0.allocation_time()
    }
}

impl<T: Element> Sealed<T> for ManagedBuffer<T> {
    fn block(&self) -> &HostBlock<T> {
        &self.0
    }

    fn block_mut(&mut self) -> &mut HostBlock<T> {
        &mut self.0
    }
}

// And not `PageLocked`: a copy from it is not asynchronous.
impl<T: Element> MappedMemory<T> for ManagedBuffer<T> {}
impl<T: Element> WritableMemory<T> for ManagedBuffer<T> {}

/// Managed memory would be more than the device or the host has. Nothing was asked of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} of managed memory were asked for, beside {} that there are already; the device has {} free and the host {} available, \
     and all of it must fit on either side: a driver grants more, and pages that are moved back and forth can hang the machine. \
     Take a smaller size, or mapped memory, which stays on the host",
    bytesize::ByteSize(*asked), bytesize::ByteSize(*alive), bytesize::ByteSize(*device_free),
    bytesize::ByteSize(*host_available)
)]
pub struct ManagedExceeded {
    /// Bytes asked for.
    pub asked: u64,
    /// Managed bytes of this process at that moment, on whichever side.
    pub alive: u64,
    /// Bytes free on the device then.
    pub device_free: u64,
    /// Bytes available to the host then.
    pub host_available: u64,
}

/// Managed bytes of this process, of all devices: the host that they may come back to is one.
static ALIVE: AtomicU64 = AtomicU64::new(0);

/// Bytes on an account of managed memory until it is dropped.
pub(super) struct ManagedReservation {
    account: &'static AtomicU64,
    bytes: u64,
}

impl ManagedReservation {
    /// Counts the bytes before the driver is asked, so that two threads cannot both be granted what one of them may have.
    fn take(
        account: &'static AtomicU64,
        asked: u64,
        device_free: u64,
        host_available: u64,
    ) -> Result<Self, ManagedExceeded> {
        let most = device_free.min(host_available);
        let fits = |alive: u64| alive.checked_add(asked).filter(|&sum| sum <= most);
        match account.try_update(Ordering::AcqRel, Ordering::Acquire, fits) {
            Ok(_) => Ok(Self { account, bytes: asked }),
            Err(alive) => Err(ManagedExceeded { asked, alive, device_free, host_available }),
        }
    }
}

impl Drop for ManagedReservation {
    fn drop(&mut self) {
        self.account.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_must_fit_on_either_side() {
        static ACCOUNT: AtomicU64 = AtomicU64::new(0);
        let take = |asked, device, host| ManagedReservation::take(&ACCOUNT, asked, device, host);
        let first = take(60, 100, 200).unwrap();
        let refused = take(50, 100, 200).map(drop).unwrap_err();
        assert_eq!(refused, ManagedExceeded { asked: 50, alive: 60, device_free: 100, host_available: 200 });
        assert!(take(50, 200, 100).is_err(), "the host is asked too");
        assert!(take(u64::MAX, u64::MAX, u64::MAX).is_err(), "a sum that overflows fits nowhere");
        let second = take(40, 100, 100).unwrap();
        drop((first, second));
        assert_eq!(ACCOUNT.load(Ordering::Acquire), 0);
    }
}
