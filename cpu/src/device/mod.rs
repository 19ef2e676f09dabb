//! The device that kernels run on: one private trait, `Backend`, and two devices behind it, a GPU through CUDA and the CPU
//! through `simt`. [`Device`] is the safe side of both.
//!
//! ```
//! use cpu::device::{Device, Selector};
//! use cpu::memory::{HostBuffer, PinnedBudget};
//! use gpu::matmul::{MatmulKernel, Shape};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(Selector::Simt, PinnedBudget::from_available_memory())?;
//! let shape = Shape::new(2, 2, 2)?;
//! let (mut a, mut b, mut c) = (device.pinned(4)?, device.pinned(4)?, device.pinned::<f32>(4)?);
//! a.as_mut_slice().copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
//! b.as_mut_slice().copy_from_slice(&[5.0, 6.0, 7.0, 8.0]);
//! let (mut da, mut db, mut dc) = (device.alloc(4)?, device.alloc(4)?, device.alloc(4)?);
//!
//! device.scope(|stream| {
//!     let (mut da, mut db, mut dc) = (stream.bind(&mut da), stream.bind(&mut db), stream.bind(&mut dc));
//!     stream.upload(&a, &mut da)?;
//!     stream.upload(&b, &mut db)?;
//!     MatmulKernel::Tiled.launch(stream, shape, da.slice(), db.slice(), dc.slice_mut())?;
//!     stream.download(&dc, &mut c)?;
//!     Ok::<_, Box<dyn std::error::Error>>(())
//! })?; // waits here
//!
//! assert_eq!(c.as_slice(), [19.0, 22.0, 43.0, 50.0]);
//! # Ok(())
//! # }
//! ```

mod backend;
mod cuda;
mod error;
mod info;
mod kernels;
mod link;
mod select;
mod simt;

use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use gpu::device::Element;

pub(crate) use backend::{Backend, Copied, HostAccess, HostFlags, RawLaunch, RawStream};
pub(crate) use cuda::pci_bus_id;
pub use error::DeviceError;
pub use info::{DeviceInfo, DeviceKind, FreeMemory, KernelOrigin, Link, ManagedSupport};
pub use kernels::{KernelFileError, KernelSource};
pub use select::Selector;

use crate::memory::{
    DeviceBuffer, HostBuffer, Mailbox, ManagedBuffer, MappedBuffer, PinnedBudget, PinnedBuffer, RefusedMemory,
    RegisterFileError, RegisteredBuffer, RegisteredFile, Staging, StagingShape, Stream, WriteCombinedBuffer, run_scope,
};

/// A device that is ready to work, with the budget for memory that is pinned for it.
pub struct Device {
    backend: Arc<dyn Backend>,
    budget: PinnedBudget,
    /// Streams that no scope uses: making one takes longer than a small product.
    idle: Mutex<Vec<Box<dyn RawStream>>>,
}

impl Device {
    /// Opens the device that is asked for. `auto` is the first GPU, and the CPU where there is no driver or no GPU; a GPU
    /// that is there and cannot be used is an error, so that nobody measures a CPU by mistake.
    ///
    /// # Errors
    /// No such device, its driver cannot load the kernels, or the CPU device gets no thread.
    pub fn open(selector: Selector, budget: PinnedBudget) -> Result<Self, DeviceError> {
        Self::open_with(selector, budget, &KernelSource::Embedded)
    }

    /// As [`open`](Self::open), with kernels from elsewhere than the program. Only a GPU can load such.
    ///
    /// # Errors
    /// As [`open`](Self::open); the kernels cannot be read or loaded, or the device is the CPU.
    pub fn open_with(selector: Selector, budget: PinnedBudget, kernels: &KernelSource) -> Result<Self, DeviceError> {
        let simt = || match kernels {
            KernelSource::Embedded => Ok(Arc::new(simt::Simt::new()?)),
            KernelSource::File(path) => Err(DeviceError::from(KernelFileError::OnSimt { path: path.clone() })),
        };
        let backend: Arc<dyn Backend> = match selector {
            Selector::Simt => simt()?,
            Selector::Cuda(ordinal) => Arc::new(cuda::Cuda::open(ordinal, kernels)?),
            Selector::Auto => match cuda::Cuda::open(0, kernels) {
                Ok(cuda) => Arc::new(cuda),
                Err(error) => match (absence(&error), kernels) {
                    (Some(reason), KernelSource::Embedded) => Arc::new(simt::Simt::instead_of_a_gpu(&reason)?),
                    (Some(_), KernelSource::File(_)) => simt()?,
                    (None, _) => return Err(error),
                },
            },
        };
        Ok(Self { backend, budget, idle: Mutex::default() })
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        self.backend.info()
    }

    /// Whether kernels run on the CPU.
    pub fn is_simt(&self) -> bool {
        matches!(self.info().kind, DeviceKind::Simt { .. })
    }

    /// The budget for page-locked memory.
    pub fn budget(&self) -> &PinnedBudget {
        &self.budget
    }

    /// The same device with a budget of its own.
    pub(crate) fn with_budget(&self, budget: PinnedBudget) -> Self {
        Self { backend: self.backend.clone(), budget, idle: Mutex::default() }
    }

    /// Asks the device to page-lock what it has page-locked already, which no safe call can: to show that it refuses.
    /// Should it not, that is undone.
    pub(crate) fn register_again<T: Element>(&self, buffer: &RegisteredBuffer<T>) -> Result<(), DeviceError> {
        let memory = buffer.as_slice();
        let start = NonNull::from(memory).cast::<u8>();
        // SAFETY: the buffer is borrowed, so that its memory stays allocated until the call below has undone this. Nothing
        // is written through the address.
        unsafe { self.backend.register_host(start, size_of_val(memory), HostAccess::ReadWrite)? };
        // SAFETY: registered by the call above, and no work was enqueued with it.
        unsafe { self.backend.unregister_host(start) }
    }

    /// Free and total device memory.
    ///
    /// # Errors
    /// The driver does not answer.
    pub fn free_memory(&self) -> Result<FreeMemory, DeviceError> {
        self.backend.free_memory()
    }

    /// Device memory, uninitialised.
    ///
    /// # Errors
    /// The device has not that much.
    pub fn alloc<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>, DeviceError> {
        DeviceBuffer::new(&self.backend, len)
    }

    /// Page-locked memory, zeroed.
    ///
    /// # Errors
    /// The budget or the driver refuses.
    pub fn pinned<T: Element>(&self, len: usize) -> Result<PinnedBuffer<T>, DeviceError> {
        PinnedBuffer::zeroed(&self.backend, &self.budget, len)
    }

    /// Page-locked memory that kernels can read and write over the link, zeroed.
    ///
    /// # Errors
    /// The budget or the driver refuses, or the device cannot map host memory.
    pub fn mapped<T: Element>(&self, len: usize) -> Result<MappedBuffer<T>, DeviceError> {
        MappedBuffer::zeroed(&self.backend, &self.budget, len)
    }

    /// Mapped page-locked memory that the CPU only writes, zeroed.
    ///
    /// # Errors
    /// As [`mapped`](Self::mapped).
    pub fn write_combined<T: Element>(&self, len: usize) -> Result<WriteCombinedBuffer<T>, DeviceError> {
        WriteCombinedBuffer::zeroed(&self.backend, &self.budget, len)
    }

    /// Mapped page-locked words that the CPU and kernels use at the same time, through atomic operations alone; zeroed.
    ///
    /// # Errors
    /// As [`mapped`](Self::mapped).
    pub fn mailbox(&self, words: usize) -> Result<Mailbox, DeviceError> {
        Mailbox::zeroed(&self.backend, &self.budget, words)
    }

    /// Page-locks and maps memory that is there already. The memory belongs to the buffer until
    /// [`into_memory`](RegisteredBuffer::into_memory) gives it back, no longer page-locked.
    ///
    /// # Errors
    /// The budget or the driver refuses, or part of it is registered already. The memory comes back with the reason.
    pub fn register<T: Element>(&self, memory: Vec<T>) -> Result<RegisteredBuffer<T>, RefusedMemory<T>> {
        RegisteredBuffer::new(&self.backend, &self.budget, memory)
    }

    /// Maps a file and page-locks the mapping: kernels read the file's pages over the link, with no read and no copy before.
    /// The elements are those from byte `offset` on; what is left of the last one is not among them.
    ///
    /// # Errors
    /// The file cannot be mapped, `offset` lies beyond its end or fits no element's alignment, the budget or the driver
    /// refuses, or the device cannot page-lock memory that is read-only.
    ///
    /// # Safety
    /// Nobody changes or shortens the file while the buffer lives, in this process or another: its elements are lent as
    /// `&[T]`.
    pub unsafe fn register_file<T: Element>(
        &self,
        path: impl AsRef<Path>,
        offset: usize,
    ) -> Result<RegisteredFile<T>, RegisterFileError> {
        // SAFETY: the caller's.
        unsafe { RegisteredFile::open(&self.backend, &self.budget, path.as_ref(), offset) }
    }

    /// Memory whose pages migrate between the host and this device, zeroed on the host. It is not page-locked and not on
    /// the budget.
    ///
    /// # Errors
    /// The device has no such memory, or none that the CPU may touch while a kernel runs; it would not fit the device or the
    /// host, which is found out before the driver is asked; or the driver refuses.
    pub fn managed<T: Element>(&self, len: usize) -> Result<ManagedBuffer<T>, DeviceError> {
        ManagedBuffer::zeroed(&self.backend, len)
    }

    /// Threads and page-locked chunks that carry pageable memory.
    ///
    /// # Errors
    /// The budget or the driver refuses the chunks, or the system the threads.
    pub fn staging(&self, shape: StagingShape) -> Result<Staging, DeviceError> {
        Staging::new(&self.backend, &self.budget, shape)
    }

    /// Runs asynchronous work and waits for it: on every way out of `body`, a panic included.
    ///
    /// # Errors
    /// Those of `body`; else the first that the work met.
    pub fn scope<'env, R, E: From<DeviceError>>(
        &self,
        body: impl for<'scope> FnOnce(&'scope Stream<'scope, 'env>) -> Result<R, E>,
    ) -> Result<R, E> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let stream = idle.map_or_else(|| self.backend.stream(), Ok)?;
        let (outcome, mut stream) = run_scope(&self.backend, stream, body);
        if outcome.is_ok() {
            stream.reset();
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
        }
        outcome
    }
}

/// Why there is no GPU here, in a few words; nothing where there is one that does not work.
fn absence(error: &DeviceError) -> Option<String> {
    match error {
        DeviceError::NoDriver(error) => Some(format!("no NVIDIA driver: {}", error.first_reason())),
        DeviceError::NoSuchDevice { found: 0, .. } => Some("the driver sees no GPU".into()),
        DeviceError::Driver(error) if error.code() == cust::sys::CUresult::CUDA_ERROR_NO_DEVICE => {
            Some(format!("the driver sees no GPU: {} failed with {}", error.call(), error.name()))
        }
        _ => None,
    }
}
