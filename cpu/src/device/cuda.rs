//! A GPU through the CUDA driver API: `cust` for contexts, devices, streams and events, its raw bindings for what it lacks
//! or hides (the error of a refused PTX version, the flags of host memory, launches by parameter pointers).

mod managed;
mod queue;

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

use cust::context::{Context, CurrentContext};
use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::error::CudaError;
use cust::stream::{Stream as CudaStream, StreamFlags};
use cust::{CudaFlags, sys};
use ptx::Image;

use self::queue::Queue;
use super::backend::{Backend, HostAccess, HostFlags, RawStream};
use super::error::DeviceError;
use super::info::{DeviceInfo, DeviceKind, FreeMemory, KernelOrigin};
use super::kernels::{KernelFile, KernelSource};
use super::link;
use crate::driver::{self, DriverError};
use crate::memory::Advice;

/// A GPU.
pub struct Cuda {
    shared: Arc<Shared>,
    info: DeviceInfo,
    can_register_read_only: bool,
}

/// The context and what lives in it. Streams keep it alive.
struct Shared {
    device: CudaDevice,
    context: Context,
    module: Module,
    /// The file that the module is from, if it is from one.
    file: Option<KernelFile>,
    functions: Mutex<HashMap<&'static str, Function>>,
}

/// A loaded image of kernels. Belongs to a context that must be current when it is dropped; `Shared` sees to that.
struct Module(sys::CUmodule);

// SAFETY: a handle; CUDA's driver API is thread-safe, and a module belongs to a context, not to a thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

#[derive(Clone, Copy)]
struct Function(sys::CUfunction);

// SAFETY: a handle, as `Module`.
unsafe impl Send for Function {}

impl Cuda {
    /// Opens a GPU and loads the kernels: of those in the program, the best that it and its driver take.
    pub fn open(ordinal: u32, kernels: &KernelSource) -> Result<Self, DeviceError> {
        driver::library()?;
        cust::init(CudaFlags::empty()).map_err(of("cuInit"))?;
        let found = CudaDevice::num_devices().map_err(of("cuDeviceGetCount"))?;
        if ordinal >= found {
            return Err(DeviceError::NoSuchDevice { asked: ordinal, found });
        }
        let device = CudaDevice::get_device(ordinal).map_err(of("cuDeviceGet"))?;
        let attribute = |which| device.get_attribute(which).map_err(of("cuDeviceGetAttribute"));
        let major = attribute(DeviceAttribute::ComputeCapabilityMajor)? as u32;
        let minor = attribute(DeviceAttribute::ComputeCapabilityMinor)? as u32;
        let name = device.name().map_err(of("cuDeviceGetName"))?;
        let context = Context::new(device).map_err(of("cuDevicePrimaryCtxRetain"))?;
        let mut notes = Vec::new();
        let (module, origin, file) = match kernels {
            KernelSource::Embedded => {
                let (module, image) = load_best(&name, (major, minor), &mut notes)?;
                (
                    module,
                    KernelOrigin { architecture: image.architecture.into(), compiler: image.compiler.into() },
                    None,
                )
            }
            KernelSource::File(path) => {
                let file = KernelFile::read(path)?;
                let module = load(file.text()).map_err(|reason| file.refused(reason))?;
                notes.extend(file.note());
                (module, file.origin(), Some(file))
            }
        };
        // From here on dropping it unloads the module, whatever else fails.
        let shared = Arc::new(Shared { device, context, module, file, functions: Mutex::default() });
        let info = DeviceInfo {
            link: pci_bus_id(&device).and_then(|id| link::of_gpu_at(&id)),
            kind: DeviceKind::Cuda {
                ordinal,
                compute_capability: (major, minor),
                multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)? as u32,
                driver: driver::version()?.to_string(),
                memory_bytes: device.total_memory().map_err(of("cuDeviceTotalMem"))? as u64,
            },
            kernels: origin,
            can_map_host_memory: attribute(DeviceAttribute::CanMapHostMemory)? != 0,
            managed_memory: managed::support(device, found),
            name,
            notes,
        };
        Ok(Self { shared, info, can_register_read_only: can_register_read_only(&device) })
    }
}

impl Cuda {
    /// The driver's refusal, with what it has left.
    fn out_of_memory(&self, bytes: usize) -> DeviceError {
        match self.free_memory() {
            Ok(FreeMemory { free, total }) => DeviceError::OutOfDeviceMemory { asked: bytes as u64, free, total },
            Err(error) => error,
        }
    }
}

/// Whether memory that nobody may write can be page-locked; an older driver does not know the question.
fn can_register_read_only(device: &CudaDevice) -> bool {
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED;
    let mut value = 0;
    // SAFETY: a place to write to; the device came from the driver.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device.as_raw()) };
    code == sys::CUresult::CUDA_SUCCESS && value != 0
}

/// Loads the first image that the driver takes, best first. An image whose PTX version is newer than the driver is passed
/// over: an older architecture's is often old enough.
fn load_best(
    name: &str,
    (major, minor): (u32, u32),
    notes: &mut Vec<String>,
) -> Result<(Module, &'static Image), DeviceError> {
    let mut refused: Option<(DriverError, &Image)> = None;
    for image in ptx::candidates(major, minor) {
        match load(image.ptx) {
            Ok(module) => {
                if let Some((reason, better)) = refused {
                    notes.push(format!(
                        "taking the kernels for {}: the driver cannot load those for {}, PTX {} ({}, {}); update it",
                        image.architecture,
                        better.architecture,
                        better.ptx_version(),
                        reason.name(),
                        reason.number()
                    ));
                }
                return Ok((module, image));
            }
            Err(reason) => refused = Some((reason, image)),
        }
    }
    Err(match refused {
        None => DeviceError::TooOld { name: name.into(), major, minor },
        Some((reason, image)) => DeviceError::KernelsNotLoaded {
            driver: driver::version().map_or_else(|_| "?".into(), |version| version.to_string()),
            ptx_version: image.ptx_version().into(),
            architecture: image.architecture.into(),
            reason,
        },
    })
}

fn load(text: &str) -> Result<Module, DriverError> {
    let text =
        CString::new(text).map_err(|_| DriverError::new("cuModuleLoadData", sys::CUresult::CUDA_ERROR_INVALID_PTX))?;
    let mut module = ptr::null_mut();
    // SAFETY: a place to write to, and a text that `CString` has ended with a NUL.
    driver::call("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&mut module, text.as_ptr().cast()) })?;
    Ok(Module(module))
}

/// Where a GPU sits on the PCI bus, such as `0000:01:00.0`.
pub(crate) fn pci_bus_id(device: &CudaDevice) -> Option<String> {
    let mut text = [0; 32];
    // SAFETY: a buffer of ours, as long as the call is told.
    let code = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), text.len() as i32, device.as_raw()) };
    driver::call("cuDeviceGetPCIBusId", code).ok()?;
    // SAFETY: the driver wrote a string that ends with a NUL inside the buffer, which was zeroed.
    Some(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
}

/// Turns an error of `cust`, which forgets the call, into one that names it.
fn of(call: &'static str) -> impl Fn(CudaError) -> DeviceError {
    move |error| DriverError::from_cust(call, error).into()
}

impl Shared {
    /// Makes the context current on this thread. Called before every other call: which thread drops or uses a buffer is
    /// not ours to know.
    fn bind(&self) -> Result<(), DeviceError> {
        CurrentContext::set_current(&self.context).map_err(of("cuCtxSetCurrent"))
    }

    fn function(&self, name: &'static str, shared_bytes: u32) -> Result<Function, DeviceError> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&function) = functions.get(name) {
            return Ok(function);
        }
        let text = CString::new(name).unwrap_or_default();
        let mut function = ptr::null_mut();
        // SAFETY: a place to write to; the module is unloaded in `drop` only; `CString` has ended the name with a NUL.
        let code = unsafe { sys::cuModuleGetFunction(&mut function, self.module.0, text.as_ptr()) };
        if let (sys::CUresult::CUDA_ERROR_NOT_FOUND, Some(file)) = (code, &self.file) {
            return Err(file.lacks(name).into());
        }
        driver::call("cuModuleGetFunction", code)?;
        if shared_bytes > DEFAULT_SHARED_BYTES {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: a function of the module, found above.
            let code = unsafe { sys::cuFuncSetAttribute(function, attribute, shared_bytes as i32) };
            driver::call("cuFuncSetAttribute", code)?;
        }
        functions.insert(name, Function(function));
        Ok(Function(function))
    }
}

/// Shared memory that a block may have without asking for more.
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

impl Drop for Shared {
    fn drop(&mut self) {
        if self.bind().is_ok() {
            // SAFETY: `load` made the module, and nothing of it runs: each stream keeps an `Arc` of this, so all are gone, and
            // `run_scope` has waited for each before it let go of it.
            let _ = unsafe { sys::cuModuleUnload(self.module.0) };
        }
    }
}

// SAFETY: the driver's allocations are nobody else's and aligned to 256 bytes (device) or a page (host). They live until they
// are freed or their context is destroyed, and `shared` retains that.
unsafe impl Backend for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_memory(&self) -> Result<FreeMemory, DeviceError> {
        self.shared.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places of ours to write to.
        driver::call("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok(FreeMemory { free: free as u64, total: total as u64 })
    }

    fn alloc(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.shared.bind()?;
        let mut address = 0;
        // SAFETY: a place of ours to write to.
        let outcome = driver::call("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut address, bytes) });
        match outcome {
            Ok(()) => Ok(address),
            Err(error) if error.is_out_of_memory() => Err(self.out_of_memory(bytes)),
            Err(error) => Err(error.into()),
        }
    }

    unsafe fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.shared.bind()?;
        // SAFETY: the caller promises that `alloc` gave the address and that nothing uses it.
        Ok(driver::call("cuMemFree", unsafe { sys::cuMemFree_v2(address) })?)
    }

    fn alloc_host(&self, bytes: usize, flags: HostFlags) -> Result<NonNull<u8>, DeviceError> {
        if flags.mapped && !self.info.can_map_host_memory {
            return Err(DeviceError::CannotMap { name: self.info.name.clone() });
        }
        self.shared.bind()?;
        let mut bits = 0;
        if flags.portable {
            bits |= sys::CU_MEMHOSTALLOC_PORTABLE;
        }
        if flags.mapped {
            bits |= sys::CU_MEMHOSTALLOC_DEVICEMAP;
        }
        if flags.write_combined {
            bits |= sys::CU_MEMHOSTALLOC_WRITECOMBINED;
        }
        let mut start: *mut c_void = ptr::null_mut();
        // SAFETY: a place of ours to write to.
        let outcome = driver::call("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&mut start, bytes, bits) });
        outcome.map_err(|reason| match reason.is_out_of_memory() {
            true => DeviceError::NotPinned { asked: bytes as u64, reason },
            false => reason.into(),
        })?;
        NonNull::new(start.cast()).ok_or(DeviceError::OutOfHostMemory { bytes: bytes as u64 })
    }

    unsafe fn free_host(&self, start: NonNull<u8>) -> Result<(), DeviceError> {
        self.shared.bind()?;
        // SAFETY: the caller promises that `alloc_host` gave the memory and that nothing uses it.
        Ok(driver::call("cuMemFreeHost", unsafe { sys::cuMemFreeHost(start.as_ptr().cast()) })?)
    }

    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize, access: HostAccess) -> Result<(), DeviceError> {
        if !self.info.can_map_host_memory {
            return Err(DeviceError::CannotMap { name: self.info.name.clone() });
        }
        if access == HostAccess::ReadOnly && !self.can_register_read_only {
            return Err(DeviceError::CannotRegisterReadOnly { name: self.info.name.clone() });
        }
        self.shared.bind()?;
        let mut bits = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        if access == HostAccess::ReadOnly {
            bits |= sys::CU_MEMHOSTREGISTER_READ_ONLY;
        }
        // SAFETY: the caller's: the memory is there and stays until it was unregistered.
        let code = unsafe { sys::cuMemHostRegister_v2(start.as_ptr().cast(), bytes, bits) };
        driver::call("cuMemHostRegister", code).map_err(|reason| match reason.code() {
            sys::CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED => {
                DeviceError::AlreadyRegistered { bytes: bytes as u64 }
            }
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceError::NotPinned { asked: bytes as u64, reason },
            _ => reason.into(),
        })
    }

    unsafe fn unregister_host(&self, start: NonNull<u8>) -> Result<(), DeviceError> {
        self.shared.bind()?;
        // SAFETY: the caller's.
        Ok(driver::call("cuMemHostUnregister", unsafe { sys::cuMemHostUnregister(start.as_ptr().cast()) })?)
    }

    unsafe fn device_address_of(&self, start: NonNull<u8>) -> Result<u64, DeviceError> {
        self.shared.bind()?;
        let mut address = 0;
        // SAFETY: a place of ours to write to; the caller promises that `alloc_host` gave the memory, mapped, and that it lives.
        let code = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, start.as_ptr().cast(), 0) };
        driver::call("cuMemHostGetDevicePointer", code)?;
        Ok(address)
    }

    fn alloc_managed(&self, bytes: usize) -> Result<NonNull<u8>, DeviceError> {
        let start = self.shared.alloc_managed(bytes).map_err(|reason| match reason {
            DeviceError::Driver(error) if error.is_out_of_memory() => self.out_of_memory(bytes),
            other => other,
        })?;
        start.ok_or(DeviceError::OutOfHostMemory { bytes: bytes as u64 })
    }

    unsafe fn free_managed(&self, start: NonNull<u8>) -> Result<(), DeviceError> {
        // SAFETY: the caller's. Managed memory is freed as device memory is, by the one address that it has.
        unsafe { self.free(start.as_ptr() as usize as u64) }
    }

    unsafe fn advise(&self, address: u64, bytes: usize, advice: Advice, holds: bool) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.shared.advise(address, bytes, advice, holds) }
    }

    fn stream(&self) -> Result<Box<dyn RawStream>, DeviceError> {
        self.shared.bind()?;
        // cust drops NON_BLOCKING, which changes nothing here: nobody uses the default stream.
        let stream = CudaStream::new(StreamFlags::NON_BLOCKING, None).map_err(of("cuStreamCreateWithPriority"))?;
        Ok(Box::new(Queue::new(stream, self.shared.clone())))
    }
}
