//! Asynchronous work that cannot outlive the memory it uses.
//!
//! A guard that waits when it is dropped proves nothing, because a guard can be leaked: `mem::forget` is safe. So there is
//! no guard. Work is enqueued inside a closure, on a [`Stream`] that exists only there; [`run_scope`] waits for all of it
//! after the closure has returned, failed or panicked. Whatever the work uses is borrowed for `'scope`, which is longer
//! than the closure and ends only after the wait:
//!
//! * a source that is being copied cannot be changed or dropped;
//! * a destination that is being written cannot be read;
//! * memory bound to one stream cannot be used by another.
//!
//! `tests/compile_fail` has the programs that try.

use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use gpu::device::{Dim3, Element};
use gpu::launch::{Args, DeviceSlice, DeviceSliceMut, Domain, Kernel, Launch};

use super::device::DeviceBuffer;
use super::host::{HostBuffer, MappedBuffer, PageLocked};
use crate::device::{Copied, DeviceError, RawLaunch, RawStream};

/// A queue of work that the device does in order, for as long as its scope.
pub struct Stream<'scope, 'env: 'scope> {
    raw: &'scope dyn RawStream,
    domain: Domain,
    // Both lifetimes are invariant, as in `std::thread::Scope`. Without that, `'scope` could shrink into the closure, and
    // this would compile: the closure borrows a local buffer, enqueues a copy from it and returns.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Device memory bound to one stream. What is enqueued with it happens in the order in which it was enqueued.
pub struct StreamBuffer<'scope, T: Element> {
    buffer: &'scope mut DeviceBuffer<T>,
    domain: Domain,
    // Invariant, so that a buffer bound to one scope's stream does not pass for one of a shorter scope inside it.
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// A point in a stream's work; the time between two can be asked for.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'scope> {
    index: usize,
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// Runs `body` with a stream of its own and waits for the stream's work, whatever becomes of `body`.
pub(crate) fn run_scope<'env, R, E: From<DeviceError>>(
    raw: Box<dyn RawStream>,
    body: impl for<'scope> FnOnce(&'scope Stream<'scope, 'env>) -> Result<R, E>,
) -> (Result<R, E>, Box<dyn RawStream>) {
    let stream = Stream { raw: &*raw, domain: Domain::unique(), scope: PhantomData, env: PhantomData };
    // The order is the proof: nothing leaves this function before the wait, a panic included.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| body(&stream)));
    let waited = raw.synchronize();
    if let Err(error) = &waited
        && !error.work_has_ended()
    {
        abort_because_transfers_may_go_on(error);
    }
    let outcome = outcome.unwrap_or_else(|payload| panic::resume_unwind(payload));
    let outcome = outcome.and_then(|value| waited.map(|()| value).map_err(E::from));
    (outcome, raw)
}

/// The last resort: the borrows end when the scope returns, so it must not return while the device may still write.
fn abort_because_transfers_may_go_on(error: &DeviceError) -> ! {
    eprintln!(
        "pagelock: waiting for the device failed and did not say that its work has ended; \
         going on could let it write to memory that is no longer lent to it. Aborting. The error: {error}"
    );
    std::process::abort()
}

impl<'scope> Stream<'scope, '_> {
    /// Lends device memory to this stream until the scope ends.
    pub fn bind<T: Element>(&'scope self, buffer: &'scope mut DeviceBuffer<T>) -> StreamBuffer<'scope, T> {
        StreamBuffer { buffer, domain: self.domain, scope: PhantomData }
    }

    /// Enqueues a copy to the device from page-locked memory. Returns at once.
    ///
    /// # Errors
    /// The lengths differ, or the device refuses.
    pub fn upload<T: Element>(
        &'scope self,
        from: &'scope impl PageLocked<T>,
        to: &mut StreamBuffer<'scope, T>,
    ) -> Result<(), DeviceError> {
        self.copy_in(from.as_slice(), to, Copied::PageLocked)
    }

    /// Copies to the device from ordinary memory. The driver stages the bytes through a buffer of its own and holds the
    /// caller until the last of them has left this memory; calling it asynchronous would not make it so.
    ///
    /// # Errors
    /// The lengths differ, or the device refuses.
    pub fn upload_pageable<T: Element>(
        &'scope self,
        from: &'scope [T],
        to: &mut StreamBuffer<'scope, T>,
    ) -> Result<(), DeviceError> {
        self.copy_in(from, to, Copied::Pageable)
    }

    fn copy_in<T: Element>(
        &'scope self,
        from: &'scope [T],
        to: &mut StreamBuffer<'scope, T>,
        kind: Copied,
    ) -> Result<(), DeviceError> {
        same_length(from.len(), to.buffer.len())?;
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: both sides have this many bytes, checked above, and both are borrowed until the scope has waited.
        unsafe { self.raw.copy_to_device(to.buffer.address(), from.as_ptr().cast(), to.buffer.bytes(), kind) }
    }

    /// Enqueues a copy from the device to page-locked memory. Returns at once; the destination is borrowed until the
    /// scope has waited, so it cannot be read too early.
    ///
    /// # Errors
    /// The lengths differ, or the device refuses.
    pub fn download<T: Element>(
        &'scope self,
        from: &StreamBuffer<'scope, T>,
        to: &'scope mut impl PageLocked<T>,
    ) -> Result<(), DeviceError> {
        self.copy_out(from, to.as_mut_slice(), Copied::PageLocked)
    }

    /// Copies from the device to ordinary memory, after the work enqueued before, and waits for it.
    ///
    /// # Errors
    /// The lengths differ, or the device refuses.
    pub fn download_pageable<T: Element>(
        &'scope self,
        from: &StreamBuffer<'scope, T>,
        to: &'scope mut [T],
    ) -> Result<(), DeviceError> {
        self.copy_out(from, to, Copied::Pageable)
    }

    fn copy_out<T: Element>(
        &'scope self,
        from: &StreamBuffer<'scope, T>,
        to: &'scope mut [T],
        kind: Copied,
    ) -> Result<(), DeviceError> {
        same_length(from.buffer.len(), to.len())?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: both sides have this many bytes, checked above; the destination is borrowed alone and the source kept
        // alive until the scope has waited.
        unsafe { self.raw.copy_to_host(to.as_mut_ptr().cast(), from.buffer.address(), from.buffer.bytes(), kind) }
    }

    /// Enqueues filling device memory with one byte.
    ///
    /// # Errors
    /// The device refuses.
    pub fn fill<T: Element>(&'scope self, buffer: &mut StreamBuffer<'scope, T>, byte: u8) -> Result<(), DeviceError> {
        if buffer.buffer.is_empty() {
            return Ok(());
        }
        // SAFETY: the buffer has this many bytes and is bound to this stream until the scope has waited.
        unsafe { self.raw.fill(buffer.buffer.address(), byte, buffer.buffer.bytes()) }
    }

    /// Lets kernels of this stream read host memory over the link: zero-copy.
    ///
    /// # Errors
    /// The driver does not tell the memory's device address.
    pub fn map<T: Element>(
        &'scope self,
        buffer: &'scope MappedBuffer<T>,
    ) -> Result<DeviceSlice<'scope, T>, DeviceError> {
        let address = buffer.device_address()?;
        // SAFETY: the memory is mapped and borrowed until the scope has waited; nobody can write it meanwhile.
        Ok(unsafe { DeviceSlice::from_raw(address, buffer.len()) }.in_domain(self.domain))
    }

    /// Lets kernels of this stream write host memory over the link: zero-copy.
    ///
    /// # Errors
    /// The driver does not tell the memory's device address.
    pub fn map_mut<T: Element>(
        &'scope self,
        buffer: &'scope mut MappedBuffer<T>,
    ) -> Result<DeviceSliceMut<'scope, T>, DeviceError> {
        let address = buffer.device_address()?;
        // SAFETY: the memory is mapped and borrowed alone until the scope has waited.
        Ok(unsafe { DeviceSliceMut::from_raw(address, buffer.len()) }.in_domain(self.domain))
    }

    /// Marks the point after everything enqueued so far.
    ///
    /// # Errors
    /// The device refuses.
    pub fn mark(&'scope self) -> Result<Mark<'scope>, DeviceError> {
        Ok(Mark { index: self.raw.mark()?, scope: PhantomData })
    }

    /// The device's time between two marks; waits until the later one is reached.
    ///
    /// # Errors
    /// The work before the marks failed.
    pub fn elapsed(&'scope self, from: Mark<'scope>, to: Mark<'scope>) -> Result<Duration, DeviceError> {
        self.raw.elapsed(from.index, to.index)
    }

    /// Waits for everything enqueued so far. The scope waits by itself; this is for measuring.
    ///
    /// # Errors
    /// Some of the work failed.
    pub fn synchronize(&'scope self) -> Result<(), DeviceError> {
        self.raw.synchronize()
    }
}

impl Launch for Stream<'_, '_> {
    type Error = DeviceError;

    fn domain(&self) -> Domain {
        self.domain
    }

    unsafe fn launch<K: Kernel>(&self, grid: Dim3, args: K::Args) -> Result<(), DeviceError> {
        let mut values = args;
        values.with_pointers(|parameters| {
            let launch = RawLaunch {
                kernel: K::NAME,
                grid,
                block: K::BLOCK,
                shared_bytes: K::SHARED_BYTES,
                parameters,
                // SAFETY: the caller's: the kernel's contract holds for these arguments.
                on_simt: &|machine| unsafe { machine.launch::<K>(grid, args) },
            };
            // SAFETY: the caller's: the kernel's contract holds; the parameters are the kernel's own types.
            unsafe { self.raw.launch(launch) }
        })
    }
}

impl<T: Element> StreamBuffer<'_, T> {
    /// The memory as a kernel's input.
    pub fn slice(&self) -> DeviceSlice<'_, T> {
        // SAFETY: the buffer lives until the scope has waited, and the stream orders what is done with it.
        unsafe { DeviceSlice::from_raw(self.buffer.address(), self.buffer.len()) }.in_domain(self.domain)
    }

    /// The memory as a kernel's output.
    pub fn slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: as above, and borrowed alone.
        unsafe { DeviceSliceMut::from_raw(self.buffer.address(), self.buffer.len()) }.in_domain(self.domain)
    }
}

fn same_length(from: usize, to: usize) -> Result<(), DeviceError> {
    if from == to { Ok(()) } else { Err(DeviceError::LengthMismatch { from, to }) }
}
