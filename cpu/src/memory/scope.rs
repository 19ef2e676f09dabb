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
//! `tests/compile_fail` has the programs that try, `tests/compile_pass` one that uses all of it rightly. What the compiler
//! does not see is checked when it is used, and is an error then: memory of another [`Device`](crate::device::Device), and
//! a kernel launched on one stream over slices of another.

mod mailbox;
mod managed;
mod ranges;

use std::fmt::Display;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use gpu::device::{Dim3, Element};
use gpu::launch::{Args, DeviceSlice, DeviceSliceMut, Domain, Kernel, Launch};

use super::block::HostBlock;
use super::device::DeviceBuffer;
use super::host::{MappedMemory, PageLocked, WritableMemory};
use super::staged::Staging;
use crate::device::{Backend, Copied, DeviceError, RawLaunch, RawStream};
pub use managed::StreamManaged;

/// A queue of work that the device does in order, for as long as its scope.
///
/// It stays on the thread that opened the scope: neither `Send` nor `Sync`.
pub struct Stream<'scope, 'env: 'scope> {
    raw: &'scope dyn RawStream,
    device: &'scope Arc<dyn Backend>,
    domain: Domain,
    /// Invariant, as in `std::thread::Scope`. Without that, `'scope` could shrink into the closure, and this would
    /// compile, though `local` is freed before anybody waits:
    ///
    /// ```compile_fail,E0597
    /// # use cpu::device::{Device, DeviceError, Selector};
    /// # use cpu::memory::PinnedBudget;
    /// # let device = Device::open(Selector::Simt, PinnedBudget::limited_to(8)).unwrap();
    /// # let mut on_device = device.alloc::<f32>(1).unwrap();
    /// device.scope(|stream| {
    ///     let local = device.pinned::<f32>(1)?;
    ///     stream.upload(&local, &mut stream.bind(&mut on_device))?; // error: `local` does not live long enough
    ///     Ok::<_, DeviceError>(())
    /// });
    /// ```
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Device memory bound to one stream. What is enqueued with it happens in the order in which it was enqueued.
pub struct StreamBuffer<'scope, T: Element> {
    buffer: &'scope mut DeviceBuffer<T>,
    /// The stream's, or one that no stream has if the memory is another device's.
    domain: Domain,
    /// Invariant, so that a buffer bound to one scope's stream does not pass for one of a shorter scope inside it, whose
    /// stream is not ordered with the first. See
    /// `tests/compile_fail/memory_bound_to_one_scope_cannot_be_used_by_another.rs`.
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// A point in a stream's work; the time between two can be asked for.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'scope> {
    index: usize,
    /// Invariant: the index means nothing to another stream.
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// Runs `body` with a stream of its own and waits for the stream's work, whatever becomes of `body`. The stream comes back
/// for the next scope, unless `body` panics.
pub(crate) fn run_scope<'env, R, E: From<DeviceError>>(
    device: &Arc<dyn Backend>,
    raw: Box<dyn RawStream>,
    body: impl for<'scope> FnOnce(&'scope Stream<'scope, 'env>) -> Result<R, E>,
) -> (Result<R, E>, Box<dyn RawStream>) {
    let stream = Stream { raw: &*raw, device, domain: Domain::unique(), scope: PhantomData, env: PhantomData };
    // The order is the proof: nothing leaves this function before the wait, a panic included. `'env` is a parameter of
    // this function, so what is borrowed for it outlives the call; `body` must do with any `'scope` inside `'env`, so it
    // can lend nothing shorter.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| body(&stream)));
    let waited = wait(&*raw);
    let outcome = outcome.unwrap_or_else(|payload| panic::resume_unwind(payload));
    let outcome = outcome.and_then(|value| waited.map(|()| value).map_err(E::from));
    (outcome, raw)
}

/// Returns when the stream's work has ended, with the error that it met; or not at all.
pub(super) fn wait(raw: &dyn RawStream) -> Result<(), DeviceError> {
    /// Aborts when it is dropped, which happens only if the wait panics.
    struct AbortOnPanic;
    impl Drop for AbortOnPanic {
        fn drop(&mut self) {
            abort_because_transfers_may_go_on(&"the wait panicked");
        }
    }
    let guard = AbortOnPanic;
    let waited = raw.synchronize();
    std::mem::forget(guard);
    match waited {
        Err(error) if !error.work_has_ended() => abort_because_transfers_may_go_on(&error),
        waited => waited,
    }
}

/// The last resort: the borrows end when the scope returns, so it must not return while the device may still write.
fn abort_because_transfers_may_go_on(why: &dyn Display) -> ! {
    // Not `eprintln!`, which panics if nobody reads standard error, and so would unwind past the wait.
    let _ = writeln!(
        io::stderr(),
        "pagelock: waiting for the device failed and did not say that its work has ended; \
         going on could let it write to memory that is no longer lent to it. Aborting. The error: {why}"
    );
    std::process::abort()
}

impl<'scope> Stream<'scope, '_> {
    /// Lends device memory to this stream until the scope ends. Memory that came from another [`Device`] is refused when
    /// it is used.
    ///
    /// [`Device`]: crate::device::Device
    pub fn bind<T: Element>(&'scope self, buffer: &'scope mut DeviceBuffer<T>) -> StreamBuffer<'scope, T> {
        // An address means nothing to another device: on the CPU it would be a wild pointer.
        let domain = if buffer.belongs_to(self.device) { self.domain } else { Domain::unique() };
        StreamBuffer { buffer, domain, scope: PhantomData }
    }

    /// Memory bound to this stream is this device's, unless it was foreign when it was bound.
    fn check_device<T: Element>(&self, buffer: &StreamBuffer<'scope, T>) -> Result<(), DeviceError> {
        if buffer.domain == self.domain { Ok(()) } else { Err(self.foreign(buffer.buffer.owner())) }
    }

    #[cold]
    fn foreign(&self, owner: Option<&Arc<dyn Backend>>) -> DeviceError {
        let name = |device: &Arc<dyn Backend>| device.info().name.clone();
        DeviceError::OtherDevice { memory: owner.map_or_else(String::new, name), stream: name(self.device) }
    }

    /// Page-locked memory is portable among GPUs. What the CPU device calls pinned is ordinary memory to a GPU.
    fn check_locked<T: Element>(&self, memory: &impl PageLocked<T>) -> Result<(), DeviceError> {
        let block = memory.block();
        if block.is_locked_for(self.device) { Ok(()) } else { Err(self.foreign(block.owner())) }
    }

    /// Enqueues a copy to the device from page-locked memory. Returns at once.
    ///
    /// # Errors
    /// The lengths differ, one side is another device's, or the device refuses.
    pub fn upload<T: Element>(
        &'scope self,
        from: &'scope impl PageLocked<T>,
        to: &mut StreamBuffer<'scope, T>,
    ) -> Result<(), DeviceError> {
        self.check_locked(from)?;
        self.copy_in(from.block().as_slice(), to, Copied::PageLocked)
    }

    /// Copies to the device from ordinary memory. The driver stages the bytes through a buffer of its own and holds the
    /// caller until the last of them has left this memory; calling it asynchronous would not make it so.
    ///
    /// # Errors
    /// The lengths differ, the destination is another device's, or the device refuses.
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
        self.check_device(to)?;
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: both sides have this many bytes and the device is the memory's, both checked above. The source is
        // borrowed for `'scope`, so nobody writes or frees it before `run_scope` has waited; the destination is too, and
        // `to` is borrowed alone. `kind` is `PageLocked` only if `upload` has checked it.
        unsafe { self.raw.copy_to_device(to.buffer.address(), from.as_ptr().cast(), to.buffer.bytes(), kind) }
    }

    /// Copies to the device from ordinary memory through page-locked chunks that several threads fill, and waits for it: at
    /// nearly the link's speed, where the driver's own staging runs at a fraction of it. What was enqueued before ends first.
    ///
    /// # Errors
    /// The lengths differ, one side is another device's, or the device fails.
    pub fn upload_staged<T: Element>(
        &'scope self,
        staging: &Staging,
        from: &[T],
        to: &mut StreamBuffer<'scope, T>,
    ) -> Result<(), DeviceError> {
        same_length(from.len(), to.buffer.len())?;
        self.check_device(to)?;
        self.check_staging(staging)?;
        let (address, bytes) = (to.buffer.address(), to.buffer.bytes());
        if bytes < staging.shape().upload_from {
            if bytes > 0 {
                // SAFETY: both sides have this many bytes and the device is the memory's, both checked above. The source is
                // lent for the call alone, so the call waits.
                unsafe { self.raw.copy_to_device(address, from.as_ptr().cast(), bytes, Copied::Pageable)? };
            }
            return wait(self.raw);
        }
        self.raw.synchronize()?;
        // SAFETY: both sides have this many bytes and the device is the memory's, both checked above. Both are borrowed for
        // the call, which returns when the copies have ended; nothing else is enqueued on this stream meanwhile.
        unsafe { staging.upload(address, from.as_ptr().cast(), bytes) }
    }

    /// Copies from the device to ordinary memory through page-locked chunks that several threads empty, and waits for it.
    /// What was enqueued before ends first.
    ///
    /// # Errors
    /// The lengths differ, one side is another device's, or the device fails.
    pub fn download_staged<T: Element>(
        &'scope self,
        staging: &Staging,
        from: &StreamBuffer<'scope, T>,
        to: &mut [T],
    ) -> Result<(), DeviceError> {
        same_length(from.buffer.len(), to.len())?;
        self.check_device(from)?;
        self.check_staging(staging)?;
        let (address, bytes) = (from.buffer.address(), from.buffer.bytes());
        if bytes < staging.shape().download_from {
            if bytes > 0 {
                // SAFETY: as in `upload_staged`; the destination is lent alone, and for the call alone, so the call waits.
                unsafe { self.raw.copy_to_host(to.as_mut_ptr().cast(), address, bytes, Copied::Pageable)? };
            }
            return wait(self.raw);
        }
        self.raw.synchronize()?;
        // SAFETY: as in `upload_staged`; the destination is borrowed alone.
        unsafe { staging.download(to.as_mut_ptr().cast(), address, bytes) }
    }

    fn check_staging(&self, staging: &Staging) -> Result<(), DeviceError> {
        if staging.belongs_to(self.device) { Ok(()) } else { Err(self.foreign(Some(staging.owner()))) }
    }

    /// Enqueues a copy from the device to page-locked memory. Returns at once; the destination is borrowed until the
    /// scope has waited, so it cannot be read too early.
    ///
    /// # Errors
    /// The lengths differ, one side is another device's, or the device refuses.
    pub fn download<T: Element>(
        &'scope self,
        from: &StreamBuffer<'scope, T>,
        to: &'scope mut (impl PageLocked<T> + WritableMemory<T>),
    ) -> Result<(), DeviceError> {
        self.check_locked(to)?;
        self.copy_out(from, to.block_mut().as_mut_slice(), Copied::PageLocked)
    }

    /// Copies from the device to ordinary memory, after the work enqueued before, and waits for it.
    ///
    /// # Errors
    /// The lengths differ, the source is another device's, or the device refuses.
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
        self.check_device(from)?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: both sides have this many bytes and the device is the memory's, both checked above. The destination is
        // borrowed alone for `'scope`, so nobody reads, writes or frees it before `run_scope` has waited; the source is
        // bound to this stream, which orders every write of it. `kind` as in `copy_in`.
        unsafe { self.raw.copy_to_host(to.as_mut_ptr().cast(), from.buffer.address(), from.buffer.bytes(), kind) }
    }

    /// Enqueues filling device memory with one byte.
    ///
    /// # Errors
    /// The memory is another device's, or the device refuses.
    pub fn fill<T: Element>(&'scope self, buffer: &mut StreamBuffer<'scope, T>, byte: u8) -> Result<(), DeviceError> {
        self.check_device(buffer)?;
        if buffer.buffer.is_empty() {
            return Ok(());
        }
        // SAFETY: the buffer says how many bytes it has, the device is the memory's, checked above, and it is bound to this
        // stream until `run_scope` has waited. Every bit pattern is an `Element`.
        unsafe { self.raw.fill(buffer.buffer.address(), byte, buffer.buffer.bytes()) }
    }

    /// Lets kernels of this stream read host memory where it is: over the link (zero-copy), or by migration if it is managed.
    ///
    /// # Errors
    /// The memory is another device's, or the driver does not tell its device address.
    pub fn map<T: Element>(
        &'scope self,
        buffer: &'scope impl MappedMemory<T>,
    ) -> Result<DeviceSlice<'scope, T>, DeviceError> {
        let address = self.mapped_address(buffer.block())?;
        // SAFETY: the memory is mapped, so says its type, at the address that its own device told for it. It is borrowed for
        // `'scope`: nobody writes or frees it before `run_scope` has waited for this domain's work.
        Ok(unsafe { DeviceSlice::from_raw_in(self.domain, address, buffer.block().as_slice().len()) })
    }

    /// Lets kernels of this stream write host memory where it is: over the link (zero-copy), or by migration if it is managed.
    ///
    /// # Errors
    /// The memory is another device's, or the driver does not tell its device address.
    pub fn map_mut<T: Element>(
        &'scope self,
        buffer: &'scope mut (impl MappedMemory<T> + WritableMemory<T>),
    ) -> Result<DeviceSliceMut<'scope, T>, DeviceError> {
        let address = self.mapped_address(buffer.block())?;
        // SAFETY: as in `map`, and borrowed alone, so nobody reads it either.
        Ok(unsafe { DeviceSliceMut::from_raw_in(self.domain, address, buffer.block().as_slice().len()) })
    }

    /// The driver tells the address that the memory has for the context that is current. Asked on behalf of another device
    /// it could be another one, so only the device that mapped the memory uses it.
    fn mapped_address<T: Element>(&self, block: &HostBlock<T>) -> Result<u64, DeviceError> {
        if !block.belongs_to(self.device) {
            return Err(self.foreign(block.owner()));
        }
        block.device_address()
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

// SAFETY: a stream's domain is its own. Memory gets it in this file only: borrowed for `'scope`, which ends after `run_scope`
// has waited for everything that was enqueued.
unsafe impl Launch for Stream<'_, '_> {
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
                // SAFETY: the caller promises that the kernel's contract holds for these arguments.
                on_simt: &|machine| unsafe { machine.launch::<K>(grid, args) },
            };
            // SAFETY: the caller promises that the kernel's contract holds until it has ended. One pointer to each
            // parameter, of its type, is what `Args` promises, and that they are this entry point's, `Kernel`.
            unsafe { self.raw.launch(launch) }
        })
    }
}

impl<T: Element> StreamBuffer<'_, T> {
    /// The memory as a kernel's input.
    pub fn slice(&self) -> DeviceSlice<'_, T> {
        // SAFETY: the buffer is borrowed alone for `'scope`, so it lives until `run_scope` has waited, and only work of the
        // one stream that it is bound to touches it, in order. If it is another device's, no stream has its domain.
        unsafe { DeviceSlice::from_raw_in(self.domain, self.buffer.address(), self.buffer.len()) }
    }

    /// The memory as a kernel's output.
    pub fn slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: as above, and `self` is borrowed alone, so no other slice is given to the same launch.
        unsafe { DeviceSliceMut::from_raw_in(self.domain, self.buffer.address(), self.buffer.len()) }
    }
}

fn same_length(from: usize, to: usize) -> Result<(), DeviceError> {
    if from == to { Ok(()) } else { Err(DeviceError::LengthMismatch { from, to }) }
}
