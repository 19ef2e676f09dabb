//! Opening the driver, asking what it is and has, and its errors.

use std::ffi::OsStr;
use std::ptr;

use cpu::driver::{self, DriverError};
use cust::context::CurrentContext;
use cust::error::CudaError;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{self, CUresult};

use crate::context;
use crate::fake::{self, isolated, with_fake};

#[test]
fn without_a_driver() {
    isolated("library::without_a_driver", &[("PAGELOCK_LIBCUDA", OsStr::new("/nonexistent/libcuda.so.1"))], || {
        assert_eq!(cust::init(cust::CudaFlags::empty()).unwrap_err(), CudaError::NoDevice);
        assert_eq!(cust::device::Device::num_devices().unwrap_err(), CudaError::NoDevice);
        let error = cu!(cuMemFree_v2(0)).unwrap_err();
        assert_eq!(error.code(), CUresult::CUDA_ERROR_NOT_INITIALIZED);

        let load = driver::library().unwrap_err();
        assert_eq!(driver::init().unwrap_err(), driver::Error::Load(load.clone()));
        assert_eq!(driver::version().unwrap_err(), driver::Error::Load(load.clone()));
        let text = load.to_string();
        for part in ["/nonexistent/libcuda.so.1", "cannot open shared object", "PAGELOCK_LIBCUDA"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
        assert!(CudaError::NoDevice.to_string().contains("no CUDA device was found"), "{}", CudaError::NoDevice);
    });
}

#[test]
fn a_driver_without_devices() {
    with_fake("library::a_driver_without_devices", "devices=0", |_| {
        let driver::Error::Call(error) = driver::init().unwrap_err() else { panic!("the library opens") };
        assert_eq!((error.call(), error.name()), ("cuInit", "CUDA_ERROR_NO_DEVICE"));
        assert!(error.to_string().contains("nvidia-smi"), "{error}");
        assert_eq!(driver::version().unwrap().to_string(), "13.0");
    });
}

#[test]
fn devices_and_version() {
    with_fake("library::devices_and_version", "devices=2,driver=12080,cc=8.6,memory=4096", |fake| {
        assert_eq!(driver::init().unwrap(), driver::Version { major: 12, minor: 8 });
        assert_eq!(driver::library().unwrap().path(), fake::library());
        let devices: Vec<_> = cust::device::Device::devices().unwrap().map(Result::unwrap).collect();
        assert_eq!(devices.len(), 2);
        assert_eq!(devices[1].name().unwrap(), "Fake H200");
        assert_eq!(devices[1].total_memory().unwrap(), 4096);
        let attribute = |attribute| devices[0].get_attribute(attribute).unwrap();
        use cust::device::DeviceAttribute::{CanMapHostMemory, ComputeCapabilityMajor, ComputeCapabilityMinor};
        assert_eq!((attribute(ComputeCapabilityMajor), attribute(ComputeCapabilityMinor)), (8, 6));
        assert_eq!(attribute(CanMapHostMemory), 1);
        fake.configure("no_map_host");
        driver::init().unwrap();
        assert_eq!(attribute(CanMapHostMemory), 0);
    });
}

#[test]
fn a_driver_that_lacks_functions() {
    with_fake("library::a_driver_that_lacks_functions", "", |_| {
        driver::init().unwrap();
        let missing = driver::library().unwrap().missing();
        assert!(missing.contains(&c"cuGraphCreate") && !missing.contains(&c"cuMemAlloc_v2"), "{missing:?}");
        assert!(driver::library().unwrap().symbol(c"cuLaunchKernelEx").is_none());
        let error = cu!(cuGraphCreate(&mut ptr::null_mut(), 0)).unwrap_err();
        assert_eq!(error.code(), CUresult::CUDA_ERROR_NOT_FOUND);
        assert!(error.to_string().contains("too old"), "{error}");
    });
}

#[test]
fn a_newer_drivers_error_keeps_its_number() {
    with_fake(
        "library::a_newer_drivers_error_keeps_its_number",
        "fail=cuMemAlloc_v2:1:226,fail=cuCtxSynchronize:1:950",
        |_| {
            let _context = context();
            let error = cu!(cuMemAlloc_v2(&mut 0, 16)).unwrap_err();
            assert_eq!(error.code(), CUresult::CUDA_ERROR_UNKNOWN);
            assert_eq!((error.number(), error.name()), (226, "CUDA_ERROR_CONTAINED"));
            assert!(error.leaves_context_unusable());
            let error = DriverError::from_cust("cuCtxSynchronize", CurrentContext::synchronize().unwrap_err());
            assert_eq!(error.number(), 950);
            assert!(error.to_string().contains("newer than pagelock (950)"), "{error}");
        },
    );
}

#[test]
fn the_log_goes_to_a_file() {
    let path = std::env::temp_dir().join("pagelock-fake-cuda-log");
    let environment = [("PAGELOCK_LIBCUDA", fake::library().as_os_str()), ("FAKE_CUDA_LOG", path.as_os_str())];
    let _ = std::fs::remove_file(&path);
    isolated("library::the_log_goes_to_a_file", &environment, || drop(context()));
    let log = std::fs::read_to_string(&path).unwrap();
    assert!(log.starts_with("cuInit\n") && log.contains("cuDevicePrimaryCtxRetain device=0\n"), "{log}");
}

/// Not run, only linked: as much of `cust` as can be named without a device, so that a function that it refers to and
/// the tables lack is an error of the linker here, and not in some program.
#[test]
fn all_of_cust_links() {
    use cust::memory::array::ArrayObject;
    use cust::memory::{DeviceBox, DeviceVariable, LockedBox, UnifiedBox, UnifiedBuffer};
    let functions = [
        cust::link::Linker::new as *const (),
        cust::link::Linker::complete as *const (),
        cust::external::ExternalMemory::import as *const (),
        cust::external::ExternalMemory::mapped_buffer::<f32> as *const (),
        cust::memory::mem_get_info as *const (),
        cust::context::legacy::Context::create_and_push as *const (),
        cust::context::legacy::CurrentContext::get_resource_limit as *const (),
        cust::context::legacy::ContextStack::pop as *const (),
        cust::function::Function::suggested_launch_configuration as *const (),
        cust::function::Function::available_dynamic_shared_memory_per_block as *const (),
        ArrayObject::new as *const (),
        ArrayObject::drop as *const (),
        DeviceBox::<f32>::new as *const (),
        DeviceBox::<f32>::drop_async as *const (),
        DeviceBuffer::<u32>::zeroed as *const (),
        DeviceBuffer::<u32>::uninitialized_async as *const (),
        DeviceVariable::<u32>::new as *const (),
        LockedBox::<u32>::new as *const (),
        UnifiedBox::<u32>::new as *const (),
        UnifiedBuffer::<u32>::drop as *const (),
        Module::from_file::<&str> as *const (),
        Stream::add_callback::<Box<dyn FnOnce() + Send>> as *const (),
    ];
    assert!(std::hint::black_box(functions).iter().all(|function| !function.is_null()));
}
