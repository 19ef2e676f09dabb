//! The CPU as a device: the kernels run on the crate `simt`, and the kinds of memory do in copies what they do on
//! hardware. Device memory is memory of its own; a pageable copy goes through a bounce buffer in chunks; a pinned copy is
//! one copy; mapped and managed memory is not copied at all. Times are those of the CPU.

use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use simt::Simt as Machine;

use super::backend::{Backend, Copied, HostAccess, HostFlags, RawLaunch, RawStream};
use super::error::DeviceError;
use super::info::{DeviceInfo, DeviceKind, FreeMemory, KernelOrigin, ManagedSupport};
use crate::memory::{Advice, AvailableMemory, Location};

/// Bytes of the bounce buffer. A driver's is of this order too.
const BOUNCE_BYTES: usize = 64 << 10;

/// Memory is aligned as a driver would: to a page.
const ALIGNMENT: usize = 4096;

/// The CPU device.
pub struct Simt {
    shared: Arc<Shared>,
    info: DeviceInfo,
}

struct Shared {
    machine: Machine,
    bounce: Mutex<Vec<u8>>,
    /// The size of each live allocation, which freeing needs and CUDA's calls do not carry.
    sizes: Mutex<HashMap<usize, Layout>>,
    /// Where registered ranges begin, and their bytes.
    registered: Mutex<HashMap<usize, usize>>,
}

impl Simt {
    /// A device on all cores, or on as many as there may be threads.
    ///
    /// # Errors
    /// The operating system starts no thread.
    pub fn new() -> Result<Self, DeviceError> {
        let machine = Machine::new()?;
        let info = DeviceInfo {
            name: "CPU".into(),
            kind: DeviceKind::Simt { workers: machine.workers() },
            link: None,
            can_map_host_memory: true,
            managed_memory: ManagedSupport::Concurrent,
            kernels: KernelOrigin {
                architecture: "host".into(),
                compiler: format!("rustc {}, the program's own", env!("CARGO_PKG_RUST_VERSION")),
            },
            notes: Vec::new(),
        };
        let shared = Shared {
            machine,
            bounce: Mutex::new(vec![0; BOUNCE_BYTES]),
            sizes: Mutex::default(),
            registered: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared), info })
    }

    /// The same where a GPU would have been taken: says why it was not.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn instead_of_a_gpu(reason: &str) -> Result<Self, DeviceError> {
        let mut this = Self::new()?;
        this.info.notes.push(format!("running on the CPU ({reason}); --device cuda:0 says what to do about it"));
        Ok(this)
    }
}

impl Shared {
    fn sizes(&self) -> MutexGuard<'_, HashMap<usize, Layout>> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn registered(&self) -> MutexGuard<'_, HashMap<usize, usize>> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alloc(&self, bytes: usize) -> Result<NonNull<u8>, DeviceError> {
        let failed = || DeviceError::OutOfHostMemory { bytes: bytes as u64 };
        let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| failed())?;
        // SAFETY: `DeviceBuffer::new` and `HostBlock` never ask for 0 bytes, so the layout has a size.
        let start = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).ok_or_else(failed)?;
        self.sizes().insert(start.as_ptr() as usize, layout);
        Ok(start)
    }

    /// # Safety
    /// As [`Backend::free_host`].
    unsafe fn free(&self, start: *mut u8) {
        if let Some(layout) = self.sizes().remove(&(start as usize)) {
            // SAFETY: `alloc` made the memory with this layout, so says the entry, which was taken out: nobody frees it again.
            unsafe { alloc::dealloc(start, layout) }
        }
    }
}

// SAFETY: the global allocator's memory is nobody else's, aligned to a page by its layout, zeroed, and freed by `free` alone.
// Kernels run in this process, so the host address is the device address.
unsafe impl Backend for Simt {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_memory(&self) -> Result<FreeMemory, DeviceError> {
        let free = AvailableMemory::now().map_or(u64::MAX, AvailableMemory::least);
        Ok(FreeMemory { free, total: free })
    }

    fn alloc(&self, bytes: usize) -> Result<u64, DeviceError> {
        Ok(self.shared.alloc(bytes)?.as_ptr() as usize as u64)
    }

    unsafe fn free(&self, address: u64) -> Result<(), DeviceError> {
        // SAFETY: the caller promises that nothing uses the memory.
        unsafe { self.shared.free(address as usize as *mut u8) };
        Ok(())
    }

    fn alloc_host(&self, bytes: usize, _: HostFlags) -> Result<NonNull<u8>, DeviceError> {
        self.shared.alloc(bytes)
    }

    unsafe fn free_host(&self, start: NonNull<u8>) -> Result<(), DeviceError> {
        // SAFETY: the caller promises that nothing uses the memory.
        unsafe { self.shared.free(start.as_ptr()) };
        Ok(())
    }

    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize, _: HostAccess) -> Result<(), DeviceError> {
        let mut registered = self.shared.registered();
        let (first, end) = (start.as_ptr() as usize, start.as_ptr() as usize + bytes);
        // As a driver would: ranges may touch and share a page, but not overlap.
        if registered.iter().any(|(&other, &bytes)| first < other + bytes && other < end) {
            return Err(DeviceError::AlreadyRegistered { bytes: bytes as u64 });
        }
        registered.insert(first, bytes);
        Ok(())
    }

    unsafe fn unregister_host(&self, start: NonNull<u8>) -> Result<(), DeviceError> {
        self.shared.registered().remove(&(start.as_ptr() as usize));
        Ok(())
    }

    unsafe fn device_address_of(&self, start: NonNull<u8>) -> Result<u64, DeviceError> {
        Ok(start.as_ptr() as usize as u64)
    }

    fn alloc_managed(&self, bytes: usize) -> Result<NonNull<u8>, DeviceError> {
        self.shared.alloc(bytes)
    }

    unsafe fn free_managed(&self, start: NonNull<u8>) -> Result<(), DeviceError> {
        // SAFETY: the caller promises that nothing uses the memory.
        unsafe { self.shared.free(start.as_ptr()) };
        Ok(())
    }

    unsafe fn advise(&self, _: u64, _: usize, _: Advice, _: bool) -> Result<(), DeviceError> {
        Ok(()) // host and device are one: there is nowhere else for a page to be
    }

    fn stream(&self) -> Result<Box<dyn RawStream>, DeviceError> {
        Ok(Box::new(SimtStream { shared: self.shared.clone(), marks: Mutex::default() }))
    }
}

/// A queue that is always empty: each piece of work is done when it is enqueued.
struct SimtStream {
    shared: Arc<Shared>,
    marks: Mutex<Vec<Instant>>,
}

impl SimtStream {
    fn marks(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Safety
    /// `bytes` can be read at `from` and written at `to`, and the two do not overlap.
    unsafe fn copy(&self, to: *mut u8, from: *const u8, bytes: usize, kind: Copied) {
        match kind {
            // SAFETY: the caller promises both sides and that they do not overlap.
            Copied::PageLocked => unsafe { ptr::copy_nonoverlapping(from, to, bytes) },
            Copied::Pageable => {
                let mut bounce = self.shared.bounce.lock().unwrap_or_else(PoisonError::into_inner);
                for done in (0..bytes).step_by(BOUNCE_BYTES) {
                    let chunk = BOUNCE_BYTES.min(bytes - done);
                    // SAFETY: `done + chunk <= bytes`, so the chunk is inside both of the caller's sides; it is at most as
                    // long as the bounce buffer, which is ours and locked, so it overlaps neither.
                    unsafe {
                        ptr::copy_nonoverlapping(from.add(done), bounce.as_mut_ptr(), chunk);
                        ptr::copy_nonoverlapping(bounce.as_ptr(), to.add(done), chunk);
                    }
                }
            }
        }
    }
}

// SAFETY: each method has done its work when it returns, so nothing is ever pending.
unsafe impl RawStream for SimtStream {
    unsafe fn copy_to_device(&self, to: u64, from: *const u8, bytes: usize, kind: Copied) -> Result<(), DeviceError> {
        // SAFETY: the caller promises both sides; `to` is an allocation of `alloc`, which no host buffer overlaps.
        unsafe { self.copy(to as usize as *mut u8, from, bytes, kind) };
        Ok(())
    }

    unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize, kind: Copied) -> Result<(), DeviceError> {
        // SAFETY: as above.
        unsafe { self.copy(to, from as usize as *const u8, bytes, kind) };
        Ok(())
    }

    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller promises that `to` has the bytes.
        unsafe { ptr::write_bytes(to as usize as *mut u8, byte, bytes) };
        Ok(())
    }

    unsafe fn prefetch(&self, _: u64, _: usize, _: Location) -> Result<(), DeviceError> {
        Ok(()) // it is there already
    }

    unsafe fn launch(&self, launch: RawLaunch<'_>) -> Result<(), DeviceError> {
        Ok((launch.on_simt)(&self.shared.machine)?)
    }

    fn mark(&self) -> Result<usize, DeviceError> {
        let mut marks = self.marks();
        marks.push(Instant::now());
        Ok(marks.len() - 1)
    }

    fn elapsed(&self, from: usize, to: usize) -> Result<Duration, DeviceError> {
        let marks = self.marks();
        Ok(marks[to].saturating_duration_since(marks[from]))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn reset(&mut self) {
        self.marks().clear();
    }
}
