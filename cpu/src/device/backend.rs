//! What a device must be able to do. Everything else in this crate is written on top of these two traits, once for both
//! devices; they deal in addresses and bytes, and the types that make them safe are in [`memory`](crate::memory).

use std::ffi::c_void;
use std::ptr::NonNull;
use std::time::Duration;

use gpu::device::Dim3;

use super::error::DeviceError;
use super::info::{DeviceInfo, FreeMemory};
use crate::memory::{Advice, Location};

/// How page-locked memory is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostFlags {
    /// Page-locked for every context, not only the one that allocates.
    pub portable: bool,
    /// Visible to kernels.
    pub mapped: bool,
    /// Not cached by the CPU: its writes are combined, its reads crawl.
    pub write_combined: bool,
}

/// What may be done with host memory that is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostAccess {
    /// Host and device read and write it.
    ReadWrite,
    /// Nobody writes it, as a file that is mapped for reading.
    ReadOnly,
}

/// What kind of host memory a copy touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// The copy engine cannot reach it.
    Pageable,
    /// The copy engine reads and writes it by itself.
    PageLocked,
}

/// A kernel launch without its types.
pub(crate) struct RawLaunch<'a> {
    /// The entry point's name.
    pub kernel: &'static str,
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Shared memory per block.
    pub shared_bytes: u32,
    /// A pointer to each parameter.
    pub parameters: &'a mut [*mut c_void],
    /// The same launch for the CPU device, which needs the kernel's type.
    pub on_simt: &'a dyn Fn(&simt::Simt) -> Result<(), simt::Fault>,
}

/// A device: memory, streams, a description of itself. Any thread may call it, whichever context is current there.
///
/// # Safety
/// `alloc`, `alloc_host` and `alloc_managed` return memory of at least the size asked for, aligned to 256 bytes, that nobody else has, and
/// that lives until it is freed, also if freeing fails. `device_address_of` returns the address at which this device's
/// kernels reach all of it; managed memory they reach at its own, and the CPU may touch it at any time. Device memory may be read before it is written: it holds some bits.
pub(crate) unsafe trait Backend: Send + Sync {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;

    /// Free and total memory of the device now.
    fn free_memory(&self) -> Result<FreeMemory, DeviceError>;

    /// Allocates device memory; `bytes` is not 0.
    fn alloc(&self, bytes: usize) -> Result<u64, DeviceError>;

    /// Frees device memory.
    ///
    /// # Safety
    /// It came from `alloc` of this device, was not freed, and no work that uses it is pending.
    unsafe fn free(&self, address: u64) -> Result<(), DeviceError>;

    /// Allocates page-locked host memory; `bytes` is not 0. Its contents are whatever they are.
    fn alloc_host(&self, bytes: usize, flags: HostFlags) -> Result<NonNull<u8>, DeviceError>;

    /// Frees page-locked host memory.
    ///
    /// # Safety
    /// It came from `alloc_host` of this device, was not freed, and no work that uses it is pending.
    unsafe fn free_host(&self, start: NonNull<u8>) -> Result<(), DeviceError>;

    /// Page-locks and maps host memory that is there already; `bytes` is not 0. No part of it may be registered already.
    ///
    /// # Safety
    /// It stays allocated until it was unregistered.
    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize, access: HostAccess) -> Result<(), DeviceError>;

    /// Undoes `register_host`.
    ///
    /// # Safety
    /// It was registered with this device by that start, and no work that uses it is pending.
    unsafe fn unregister_host(&self, start: NonNull<u8>) -> Result<(), DeviceError>;

    /// Where the device sees mapped host memory.
    ///
    /// # Safety
    /// It came from `alloc_host` of this device with the mapped flag, or was registered with it, and is alive.
    unsafe fn device_address_of(&self, start: NonNull<u8>) -> Result<u64, DeviceError>;

    /// Allocates managed memory, which host and device reach under the one address that is returned; `bytes` is not 0. Its
    /// contents are whatever they are. Only asked for where `info` says that host and device may use it at the same time.
    fn alloc_managed(&self, bytes: usize) -> Result<NonNull<u8>, DeviceError>;

    /// Frees managed memory.
    ///
    /// # Safety
    /// It came from `alloc_managed` of this device, was not freed, and no work that uses it is pending.
    unsafe fn free_managed(&self, start: NonNull<u8>) -> Result<(), DeviceError>;

    /// Gives advice about managed memory, or takes it back.
    ///
    /// # Safety
    /// `bytes` at `address` lie inside memory that came from `alloc_managed` of this device and is alive.
    unsafe fn advise(&self, address: u64, bytes: usize, advice: Advice, holds: bool) -> Result<(), DeviceError>;

    /// A new stream.
    fn stream(&self) -> Result<Box<dyn RawStream>, DeviceError>;
}

/// A queue of work, done in order.
///
/// # Safety
/// When `synchronize` returns `Ok`, or an error of which [`DeviceError::work_has_ended`] says so, nothing that was enqueued
/// before touches memory any more. What an enqueueing method fails to enqueue does not run. Work that is enqueued on one
/// stream happens in that order.
pub(crate) unsafe trait RawStream: Send {
    /// Enqueues a copy of host memory to the device.
    ///
    /// # Safety
    /// `bytes` can be read at `from` and written at `to` until the stream was synchronised; `kind` is true of `from`.
    unsafe fn copy_to_device(&self, to: u64, from: *const u8, bytes: usize, kind: Copied) -> Result<(), DeviceError>;

    /// Enqueues a copy of device memory to the host.
    ///
    /// # Safety
    /// `bytes` can be read at `from` and written at `to`, by this work alone, until the stream was synchronised; `kind` is
    /// true of `to`.
    unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize, kind: Copied) -> Result<(), DeviceError>;

    /// Enqueues filling device memory with a byte.
    ///
    /// # Safety
    /// `bytes` can be written at `to` until the stream was synchronised.
    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), DeviceError>;

    /// Enqueues moving pages of managed memory.
    ///
    /// # Safety
    /// `bytes` at `address` lie inside memory that came from `alloc_managed` of this device and is alive until the stream was
    /// synchronised.
    unsafe fn prefetch(&self, address: u64, bytes: usize, to: Location) -> Result<(), DeviceError>;

    /// Enqueues a kernel.
    ///
    /// # Safety
    /// The parameters are of the kernel's types, and its contract holds until the stream was synchronised.
    unsafe fn launch(&self, launch: RawLaunch<'_>) -> Result<(), DeviceError>;

    /// Marks the point after everything enqueued so far; returns its number.
    fn mark(&self) -> Result<usize, DeviceError>;

    /// The device's time between two marks; waits for the later one.
    fn elapsed(&self, from: usize, to: usize) -> Result<Duration, DeviceError>;

    /// Waits until a mark is reached.
    fn wait_for(&self, mark: usize) -> Result<(), DeviceError> {
        self.elapsed(mark, mark).map(drop)
    }

    /// Waits for everything enqueued so far.
    fn synchronize(&self) -> Result<(), DeviceError>;

    /// Forgets all marks, for reuse by the next scope.
    fn reset(&mut self);
}
