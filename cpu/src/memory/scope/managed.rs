//! Managed memory in a scope: lent to kernels, moved ahead of them, and talked about with the driver.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use gpu::device::Element;
use gpu::launch::{DeviceSlice, DeviceSliceMut, Domain};

use super::Stream;
use crate::device::DeviceError;
use crate::memory::host::Sealed;
use crate::memory::managed::{Advice, Location, ManagedBuffer, ManagedPart};

/// Managed memory bound to one stream, for kernels to read and write in turn, with prefetches between them. The host touches
/// it again when the scope has ended.
pub struct StreamManaged<'scope, T: Element> {
    buffer: &'scope mut ManagedBuffer<T>,
    /// The stream's, or one that no stream has if the memory is another device's.
    domain: Domain,
    /// Invariant, as in [`StreamBuffer`](super::StreamBuffer).
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<'scope> Stream<'scope, '_> {
    /// Lends managed memory to this stream until the scope ends. Memory that came from another [`Device`] is refused when it
    /// is used.
    ///
    /// [`Device`]: crate::device::Device
    pub fn bind_managed<T: Element>(&'scope self, buffer: &'scope mut ManagedBuffer<T>) -> StreamManaged<'scope, T> {
        let domain = if buffer.block().belongs_to(self.device) { self.domain } else { Domain::unique() };
        StreamManaged { buffer, domain, scope: PhantomData }
    }

    /// Enqueues moving pages to the device, so that kernels after it find them there. Returns at once. Whole buffers, bound
    /// ones and [parts](ManagedBuffer::part) will do; pages that are there already are left alone.
    ///
    /// # Errors
    /// The memory is another device's, or the device refuses.
    pub fn prefetch_to_device(&'scope self, memory: impl Into<ManagedPart<'scope>>) -> Result<(), DeviceError> {
        self.prefetch(memory.into(), Location::Device)
    }

    /// Enqueues moving pages to the host, so that the CPU finds them there after the scope. Returns at once.
    ///
    /// # Errors
    /// The memory is another device's, or the device refuses.
    pub fn prefetch_to_host(&'scope self, memory: impl Into<ManagedPart<'scope>>) -> Result<(), DeviceError> {
        self.prefetch(memory.into(), Location::Host)
    }

    fn prefetch(&'scope self, part: ManagedPart<'scope>, to: Location) -> Result<(), DeviceError> {
        self.check_part(&part)?;
        if part.bytes() == 0 {
            return Ok(());
        }
        // SAFETY: the part lies inside managed memory, so says its type, of this device, checked above, and is lent for
        // `'scope`, so that it lives until `run_scope` has waited. No byte of it changes.
        unsafe { self.raw.prefetch(part.address(), part.bytes(), to) }
    }

    /// Tells the driver how some pages will be used. It holds from now on, not in the order of the stream, until
    /// [`unadvise`](Self::unadvise) or until the memory is freed.
    ///
    /// # Errors
    /// The memory is another device's, or the device refuses.
    pub fn advise(&'scope self, memory: impl Into<ManagedPart<'scope>>, advice: Advice) -> Result<(), DeviceError> {
        self.tell(memory.into(), advice, true)
    }

    /// Takes an advice back.
    ///
    /// # Errors
    /// The memory is another device's, or the device refuses.
    pub fn unadvise(&'scope self, memory: impl Into<ManagedPart<'scope>>, advice: Advice) -> Result<(), DeviceError> {
        self.tell(memory.into(), advice, false)
    }

    fn tell(&'scope self, part: ManagedPart<'scope>, advice: Advice, holds: bool) -> Result<(), DeviceError> {
        self.check_part(&part)?;
        if part.bytes() == 0 {
            return Ok(());
        }
        // SAFETY: the part lies inside managed memory, so says its type, of this device, checked above, and is lent for
        // longer than the call.
        unsafe { self.device.advise(part.address(), part.bytes(), advice, holds) }
    }

    /// A part of another device's memory means nothing to this one: on the CPU it may not even be an address.
    fn check_part(&self, part: &ManagedPart<'_>) -> Result<(), DeviceError> {
        match part.owner() {
            Some(owner) if !Arc::ptr_eq(owner, self.device) => Err(self.foreign(Some(owner))),
            _ => Ok(()),
        }
    }
}

impl<'scope, T: Element> StreamManaged<'scope, T> {
    /// The memory as a kernel's input.
    pub fn slice(&self) -> DeviceSlice<'_, T> {
        // SAFETY: one address for host and device. The buffer is borrowed alone for `'scope`, so it lives and the CPU does
        // not touch it until `run_scope` has waited; only work of the one stream that it is bound to does, in order. If it is
        // another device's, no stream has its domain.
        unsafe { DeviceSlice::from_raw_in(self.domain, self.address(), self.buffer.block().len()) }
    }

    /// The memory as a kernel's output.
    pub fn slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: as above, and `self` is borrowed alone, so no other slice is given to the same launch.
        unsafe { DeviceSliceMut::from_raw_in(self.domain, self.address(), self.buffer.block().len()) }
    }

    /// As [`ManagedBuffer::part`].
    ///
    /// # Errors
    /// The range reaches beyond the end, or ends before it begins.
    pub fn part(&self, range: Range<usize>) -> Result<ManagedPart<'scope>, DeviceError> {
        let part = self.buffer.part(range)?;
        // SAFETY: the buffer is borrowed for `'scope`, so it is not dropped before that ends.
        Ok(unsafe { part.lent_for() })
    }

    fn address(&self) -> u64 {
        self.buffer.block().as_ptr() as usize as u64
    }
}

impl<'scope, T: Element> From<&StreamManaged<'scope, T>> for ManagedPart<'scope> {
    fn from(bound: &StreamManaged<'scope, T>) -> Self {
        // SAFETY: the buffer is borrowed for `'scope`, so it is not dropped before that ends.
        unsafe { bound.buffer.whole().lent_for() }
    }
}
