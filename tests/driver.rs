//! The driver module, with no driver and with the fake one; and the fake itself.

use core::ffi::{c_uint, c_void};
use std::ffi::OsStr;
use std::{ptr, slice};

use cpu::driver::{self, DriverError};
use cust::context::{Context, CurrentContext};
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUresult};

#[path = "support/fake.rs"]
mod fake;
use fake::{Fake, isolated, with_fake};

const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry matmul_plain(
    .param .u64 .ptr .global .align 4 a, .param .u64 b, .param .u64 c,
    .param .u32 m, .param .u32 n, .param .u32 k
)
{ ret; }
.visible .entry nothing()
{ ret; }
";

/// Calls a driver function that needs no more explanation than its name, and makes its code a result.
macro_rules! cu {
    ($call:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: each test passes what the function's documentation asks for, or what the fake is to refuse.
        driver::call(stringify!($call), unsafe { sys::$call($($argument),*) })
    };
}

/// Ten bytes are enough for most.
fn device_memory(bytes: usize) -> u64 {
    let mut address = 0;
    cu!(cuMemAlloc_v2(&mut address, bytes)).unwrap();
    address
}

fn pinned(bytes: usize, flags: u32) -> *mut u8 {
    let mut address = ptr::null_mut();
    cu!(cuMemHostAlloc(&mut address, bytes, flags)).unwrap();
    address.cast()
}

fn context() -> Context {
    cust::quick_init().unwrap()
}

fn stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).unwrap()
}

#[test]
fn without_a_driver() {
    isolated("without_a_driver", &[("PAGELOCK_LIBCUDA", OsStr::new("/nonexistent/libcuda.so.1"))], || {
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
    with_fake("a_driver_without_devices", "devices=0", |_| {
        let driver::Error::Call(error) = driver::init().unwrap_err() else { panic!("the library opens") };
        assert_eq!((error.call(), error.name()), ("cuInit", "CUDA_ERROR_NO_DEVICE"));
        assert!(error.to_string().contains("nvidia-smi"), "{error}");
        assert_eq!(driver::version().unwrap().to_string(), "13.0");
    });
}

#[test]
fn devices_and_version() {
    with_fake("devices_and_version", "devices=2,driver=12080,cc=8.6,memory=4096", |fake| {
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
    with_fake("a_driver_that_lacks_functions", "", |_| {
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
fn a_product_through_cust() {
    with_fake("a_product_through_cust", "", |fake| {
        let (m, n, k) = (5usize, 7usize, 3usize);
        let a: Vec<f32> = (0..m * k).map(|i| i as f32 * 0.5 - 3.0).collect();
        let b: Vec<f32> = (0..k * n).map(|i| 2.0 - i as f32 * 0.25).collect();
        let expected: Vec<f32> =
            (0..m * n).map(|i| (0..k).fold(0.0, |sum, l| a[i / n * k + l].mul_add(b[l * n + i % n], sum))).collect();
        {
            let _context = context();
            let module = Module::from_ptx(PTX, &[]).unwrap();
            let function = module.get_function("matmul_plain").unwrap();
            let stream = stream();
            let [start, end] = [(); 2].map(|()| Event::new(EventFlags::DEFAULT).unwrap());
            let (host_a, host_b) = (LockedBuffer::from_slice(&a).unwrap(), LockedBuffer::from_slice(&b).unwrap());
            let mut host_c = LockedBuffer::new(&f32::NAN, m * n).unwrap();
            // SAFETY: the buffers are filled before they are read, and live until the stream is synchronized.
            unsafe {
                let mut device_a = DeviceBuffer::<f32>::uninitialized(m * k).unwrap();
                let mut device_b = DeviceBuffer::<f32>::uninitialized(k * n).unwrap();
                let device_c = DeviceBuffer::<f32>::uninitialized(m * n).unwrap();
                start.record(&stream).unwrap();
                device_a.async_copy_from(&host_a[..], &stream).unwrap();
                device_b.async_copy_from(&host_b[..], &stream).unwrap();
                cust::launch!(function<<<(1, 1), (16, 16), 0, stream>>>(
                    device_a.as_device_ptr(), device_b.as_device_ptr(), device_c.as_device_ptr(),
                    m as u32, n as u32, k as u32
                ))
                .unwrap();
                device_c.async_copy_to(&mut host_c[..], &stream).unwrap();
                end.record(&stream).unwrap();
                assert!(host_c.iter().all(|value| value.is_nan()), "nothing happens before somebody waits");
                stream.synchronize().unwrap();
            }
            assert_eq!(&host_c[..], expected);
            assert!(end.elapsed_time_f32(&start).unwrap() >= 0.0);
        }
        let executed = fake.executed();
        let words: Vec<_> = executed.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
        assert_eq!(words, ["record", "copy", "copy", "launch", "copy", "record"]);
        assert_eq!(executed[1], "stream1 copy dev1+0 <- pinned1+0 bytes=60");
        fake.assert_clean();
    });
}

#[test]
fn a_product_over_mapped_memory() {
    with_fake("a_product_over_mapped_memory", "", |fake| {
        {
            let _context = context();
            let module = Module::from_ptx(PTX, &[]).unwrap();
            let function = module.get_function("matmul_plain").unwrap();
            let host = pinned(12, 2).cast::<f32>();
            // SAFETY: twelve bytes are three floats.
            unsafe { slice::from_raw_parts_mut(host, 3).copy_from_slice(&[2.0, 21.0, 0.0]) };
            let mut mapped = 0;
            cu!(cuMemHostGetDevicePointer_v2(&mut mapped, host.cast(), 0)).unwrap();
            assert_ne!(mapped, host as u64);
            let (mut b, mut c, mut one) = (mapped + 4, mapped + 8, 1u32);
            let mut a = mapped;
            let one = ptr::from_mut(&mut one).cast::<c_void>();
            let mut arguments = [
                ptr::from_mut(&mut a).cast(),
                ptr::from_mut(&mut b).cast(),
                ptr::from_mut(&mut c).cast(),
                one,
                one,
                one,
            ];
            let (function, arguments) = (function.to_raw(), arguments.as_mut_ptr());
            let null = ptr::null_mut();
            cu!(cuLaunchKernel(function, 1, 1, 1, 16, 16, 1, 0, null, arguments, null.cast())).unwrap();
            // SAFETY: as above; the fake runs kernels on this thread, and none runs now.
            assert_eq!(unsafe { host.add(2).read() }, 0.0);
            CurrentContext::synchronize().unwrap();
            // SAFETY: as above.
            assert_eq!(unsafe { host.add(2).read() }, 42.0);
            cu!(cuMemFreeHost(host.cast())).unwrap();
        }
        fake.assert_clean();
    });
}

#[test]
fn registered_memory() {
    with_fake("registered_memory", "", |fake| {
        let _context = context();
        let mut buffer = vec![0u8; 64];
        let address = buffer.as_mut_ptr().cast::<c_void>();
        assert_eq!(cu!(cuMemHostRegister_v2(address, 0, 2)).unwrap_err().number(), 1);
        cu!(cuMemHostRegister_v2(address, 32, 2)).unwrap();
        let again = cu!(cuMemHostRegister_v2(address.wrapping_byte_add(16), 32, 2)).unwrap_err();
        assert_eq!(again.name(), "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED");
        cu!(cuMemHostRegister_v2(address.wrapping_byte_add(32), 32, 0)).unwrap();
        let mut mapped = 0;
        cu!(cuMemHostGetDevicePointer_v2(&mut mapped, address.wrapping_byte_add(4), 0)).unwrap();
        assert_ne!(mapped, address as u64 + 4);
        let host = pinned(8, 0).cast();
        assert_eq!(cu!(cuMemHostRegister_v2(host, 8, 0)).unwrap_err().number(), 1);
        cu!(cuMemFreeHost(host)).unwrap();
        cu!(cuMemHostUnregister(address)).unwrap();
        cu!(cuMemHostUnregister(address.wrapping_byte_add(32))).unwrap();
        assert_eq!(cu!(cuMemHostUnregister(address)).unwrap_err().number(), 713);
        assert_eq!(fake.violations(), ["cuMemHostUnregister of registered1, which was freed before"]);
        assert_eq!(fake.live("registered"), 0);
    });
}

#[test]
fn pageable_memory_is_staged_and_waited_for() {
    with_fake("pageable_memory_is_staged_and_waited_for", "", |fake| {
        let _context = context();
        let stream = stream();
        let (mut from, mut to) = ([1u8; 16], [0u8; 16]);
        let device = device_memory(16);
        cu!(cuMemcpyHtoDAsync_v2(device, from.as_ptr().cast(), 16, stream.as_inner())).unwrap();
        from.fill(2); // too late: the bytes were taken
        assert_eq!(fake.live("pending"), 1);
        cu!(cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), device, 16, stream.as_inner())).unwrap();
        assert_eq!((to, fake.live("pending")), ([1; 16], 0));

        let host = pinned(16, 0);
        cu!(cuMemcpyHtoDAsync_v2(device, host.cast(), 16, stream.as_inner())).unwrap();
        // SAFETY: sixteen bytes of our own, which nothing else uses at this moment.
        unsafe { host.write_bytes(3, 16) }; // in time: pinned memory is read when the copy runs
        cu!(cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), device, 16, stream.as_inner())).unwrap();
        assert_eq!(to, [3; 16]);
        cu!(cuMemFreeHost(host.cast())).unwrap();
        cu!(cuMemFree_v2(device)).unwrap();
        assert_eq!(fake.violations(), [""; 0]);
    });
}

#[test]
fn fills_and_copies_of_rows() {
    with_fake("fills_and_copies_of_rows", "", |fake| {
        let _context = context();
        let device = device_memory(64);
        cu!(cuMemsetD32Async(device, 0x0403_0201, 16, ptr::null_mut())).unwrap();
        let mut rows = [0u8; 12];
        // The two middle bytes of each row of four, three rows, to rows of four.
        let copy = sys::CUDA_MEMCPY2D_st {
            srcXInBytes: 1,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: ptr::null(),
            srcDevice: device,
            srcArray: ptr::null_mut(),
            srcPitch: 4,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            dstHost: rows.as_mut_ptr().cast(),
            dstDevice: 0,
            dstArray: ptr::null_mut(),
            dstPitch: 4,
            WidthInBytes: 2,
            Height: 3,
        };
        cu!(cuMemcpy2DAsync_v2(&copy, ptr::null_mut())).unwrap();
        assert_eq!(rows, [2, 3, 0, 0, 2, 3, 0, 0, 2, 3, 0, 0]);
        cu!(cuMemFree_v2(device)).unwrap();
        assert_eq!(fake.violations(), [""; 0]);
    });
}

#[test]
fn streams_wait_for_events_and_the_default_stream() {
    with_fake("streams_wait_for_events_and_the_default_stream", "", |fake| {
        let _context = context();
        let device = device_memory(16);
        let (first, second) = (stream(), stream());
        // cust's `wait_event` takes the event by value, and so destroys it at once.
        let mut event = ptr::null_mut();
        cu!(cuEventCreate(&mut event, 2)).unwrap();
        cu!(cuMemsetD8Async(device, 1, 16, first.as_inner())).unwrap();
        cu!(cuEventRecord(event, first.as_inner())).unwrap();
        cu!(cuStreamWaitEvent(second.as_inner(), event, 0)).unwrap();
        cu!(cuMemsetD8Async(device, 2, 16, second.as_inner())).unwrap();
        assert!(cu!(cuEventQuery(event)).unwrap_err().is_not_ready());
        second.synchronize().unwrap();
        cu!(cuEventQuery(event)).unwrap();
        cu!(cuEventDestroy_v2(event)).unwrap();
        let fill = |stream: &str| format!("{stream} fill dev1+0 bytes=16");
        assert_eq!(
            fake.executed(),
            [fill("stream1"), "stream2 wait event1".into(), "stream1 record event1".into(), fill("stream2")]
        );

        // A blocking stream's work comes before what the default stream is given later. (cust drops NON_BLOCKING from
        // the flags, so all three streams are blocking ones.)
        cu!(cuMemsetD8Async(device, 3, 16, first.as_inner())).unwrap();
        let mut byte = 0u8;
        cu!(cuMemcpyDtoH_v2(ptr::from_mut(&mut byte).cast(), device, 1)).unwrap();
        assert_eq!(byte, 3);
        cu!(cuMemFree_v2(device)).unwrap();
        assert_eq!(fake.violations(), [""; 0]);
    });
}

#[test]
fn events_that_are_not_done() {
    with_fake("events_that_are_not_done", "", |_| {
        let _context = context();
        let stream = stream();
        let [start, end, untimed] = [EventFlags::DEFAULT, EventFlags::DEFAULT, EventFlags::DISABLE_TIMING]
            .map(|flags| Event::new(flags).unwrap());
        assert_eq!(end.elapsed_time_f32(&start).unwrap_err(), CudaError::InvalidHandle); // never recorded
        start.record(&stream).unwrap();
        end.record(&stream).unwrap();
        untimed.record(&stream).unwrap();
        assert_eq!(end.elapsed_time_f32(&start).unwrap_err(), CudaError::NotReady);
        assert_eq!(untimed.elapsed_time_f32(&start).unwrap_err(), CudaError::InvalidHandle);
        end.synchronize().unwrap();
        assert!(end.elapsed_time_f32(&start).unwrap() >= 0.0);
        stream.synchronize().unwrap();
    });
}

#[test]
fn memory_runs_out() {
    with_fake("memory_runs_out", "memory=1000,pinned=100,oom_at=cuMemHostAlloc:2", |fake| {
        let _context = context();
        let first = pinned(60, 0);
        let refused = |result: Result<(), DriverError>| assert!(result.unwrap_err().is_out_of_memory());
        let mut address = ptr::null_mut();
        refused(cu!(cuMemHostAlloc(&mut address, 1, 0))); // the second call, by configuration
        refused(cu!(cuMemHostAlloc(&mut address, 60, 0))); // 120 bytes
        refused(cu!(cuMemAlloc_v2(&mut 0, 1001)));
        assert!(address.is_null());
        let device = device_memory(900);
        let (mut free, mut total) = (0, 0);
        cu!(cuMemGetInfo_v2(&mut free, &mut total)).unwrap();
        assert_eq!((free, total), (100, 1000));
        cu!(cuMemFree_v2(device)).unwrap();
        cu!(cuMemFreeHost(first.cast())).unwrap();
        assert_eq!((fake.calls("cuMemHostAlloc"), fake.live("pinned"), fake.live("dev")), (3, 0, 0));
    });
}

#[test]
fn a_kernel_that_fails_ends_the_context() {
    with_fake("a_kernel_that_fails_ends_the_context", "launch_error=719", |_| {
        let _context = context();
        let module = Module::from_ptx(PTX, &[]).unwrap();
        let function = module.get_function("nothing").unwrap();
        let stream = stream();
        // SAFETY: the kernel takes nothing and does nothing.
        unsafe { cust::launch!(function<<<1, 1, 0, stream>>>()) }.expect("the launch itself succeeds");
        let error = DriverError::from_cust("cuStreamSynchronize", stream.synchronize().unwrap_err());
        assert_eq!(error.name(), "CUDA_ERROR_LAUNCH_FAILED");
        assert!(error.leaves_context_unusable());
        assert_eq!(cu!(cuMemAlloc_v2(&mut 0, 16)).unwrap_err().number(), 719);
    });
}

#[test]
fn a_kernel_out_of_bounds() {
    with_fake("a_kernel_out_of_bounds", "", |fake| {
        let _context = context();
        let module = Module::from_ptx(PTX, &[]).unwrap();
        let function = module.get_function("matmul_plain").unwrap();
        let stream = stream();
        let buffer = DeviceBuffer::from_slice(&[1.0f32; 4]).unwrap();
        let (a, b, c) = (buffer.as_device_ptr(), buffer.as_device_ptr(), buffer.as_device_ptr());
        // SAFETY: not sound for a device; the fake checks, which is what is tested.
        unsafe { cust::launch!(function<<<1, 1, 0, stream>>>(a, b, c, 3u32, 1u32, 2u32)) }.unwrap();
        assert_eq!(stream.synchronize().unwrap_err(), CudaError::IllegalAddress);
        assert_eq!(fake.violations(), ["matmul_plain of 24 bytes at dev1+0, which ends at 16"]);
    });
}

#[test]
fn launches_beyond_the_limits() {
    with_fake("launches_beyond_the_limits", "", |_| {
        let _context = context();
        let module = Module::from_ptx(PTX, &[]).unwrap();
        let function = module.get_function("nothing").unwrap().to_raw();
        let launch = |grid: [c_uint; 3], block: [c_uint; 3], shared: c_uint| {
            let ([gx, gy, gz], [bx, by, bz], null) = (grid, block, ptr::null_mut());
            cu!(cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, null, null.cast(), null.cast()))
        };
        launch([1, 1, 1], [32, 32, 1], 48 << 10).unwrap();
        for (grid, block, shared) in [
            ([0, 1, 1], [1, 1, 1], 0),
            ([1, 65536, 1], [1, 1, 1], 0),
            ([1, 1, 1], [33, 32, 1], 0),
            ([1, 1, 1], [1, 1, 65], 0),
            ([1, 1, 1], [1, 1, 1], (48 << 10) + 1),
        ] {
            assert_eq!(launch(grid, block, shared).unwrap_err().number(), 1, "{grid:?} {block:?} {shared}");
        }
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        cu!(cuFuncSetAttribute(function, attribute, 100 << 10)).unwrap();
        launch([1, 1, 1], [1, 1, 1], 100 << 10).unwrap();
        let (null, many) = (ptr::null_mut(), 1000);
        let error = cu!(cuLaunchCooperativeKernel(function, many, 1, 1, 1, 1, 1, 0, null, null.cast())).unwrap_err();
        assert_eq!(error.name(), "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE");
        CurrentContext::synchronize().unwrap();
    });
}

#[test]
fn modules_that_do_not_load() {
    with_fake("modules_that_do_not_load", "cc=8.0,max_ptx=8.0", |_| {
        let _context = context();
        let number = |ptx: &str| match Module::from_ptx(ptx, &[]) {
            Ok(_) => 0,
            Err(error) => DriverError::from_cust("cuModuleLoadDataEx", error).number(),
        };
        assert_eq!(number(PTX), 0);
        assert_eq!(number("hello"), 200); // not taken for PTX
        assert_eq!(number(""), 200);
        assert_eq!(number(".version 7.0\n.visible .entry nothing() { ret; }"), 218);
        // cust itself knows 222 as an unknown error only.
        assert_eq!(number(&PTX.replace("7.0", "8.1")), 222);
        assert_eq!(number(&PTX.replace("sm_80", "sm_90")), 218); // a newer device's
        let module = Module::from_ptx(PTX, &[]).unwrap();
        assert_eq!(module.get_function("absent").unwrap_err(), CudaError::NotFound);

        let mut log = [0u8; 64];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len())];
        let image = c".version 7.0".as_ptr().cast();
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        cu!(cuModuleLoadDataEx(&mut ptr::null_mut(), image, 2, options, values)).unwrap_err();
        assert!(log.starts_with(b"no .target\0"), "{:?}", String::from_utf8_lossy(&log));
    });
}

#[test]
fn a_newer_drivers_error_keeps_its_number() {
    with_fake("a_newer_drivers_error_keeps_its_number", "fail=cuMemAlloc_v2:1:226,fail=cuCtxSynchronize:1:950", |_| {
        let _context = context();
        let error = cu!(cuMemAlloc_v2(&mut 0, 16)).unwrap_err();
        assert_eq!(error.code(), CUresult::CUDA_ERROR_UNKNOWN);
        assert_eq!((error.number(), error.name()), (226, "CUDA_ERROR_CONTAINED"));
        assert!(error.leaves_context_unusable());
        let error = DriverError::from_cust("cuCtxSynchronize", CurrentContext::synchronize().unwrap_err());
        assert_eq!(error.number(), 950);
        assert!(error.to_string().contains("newer than pagelock (950)"), "{error}");
    });
}

#[test]
fn calls_from_a_callback_are_refused() {
    unsafe extern "C" fn frees(host: *mut c_void) {
        assert_eq!(cu!(cuMemFreeHost(host)).unwrap_err().name(), "CUDA_ERROR_NOT_PERMITTED");
    }
    with_fake("calls_from_a_callback_are_refused", "", |fake| {
        let _context = context();
        let host = pinned(16, 0);
        cu!(cuLaunchHostFunc(ptr::null_mut(), Some(frees), host.cast())).unwrap();
        assert_eq!(fake.violations(), [""; 0]);
        CurrentContext::synchronize().unwrap();
        assert_eq!(fake.violations(), ["cuMemFreeHost from within a stream's callback"]);
        cu!(cuMemFreeHost(host.cast())).unwrap();
    });
}

#[test]
fn another_thread_has_no_context() {
    with_fake("another_thread_has_no_context", "", |fake| {
        let context = context();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(cu!(cuMemAlloc_v2(&mut 0, 16)).unwrap_err().name(), "CUDA_ERROR_INVALID_CONTEXT");
                CurrentContext::set_current(&context).unwrap();
                cu!(cuMemFree_v2(device_memory(16))).unwrap();
            });
        });
        assert_eq!(fake.violations(), ["cuMemAlloc_v2 without a current context"]);
    });
}

/// The fake finds what it is there to find. Each case is one misuse and what the fake says.
#[test]
fn misuse_is_found() {
    with_fake("misuse_is_found", "", |fake| {
        misuse(
            fake,
            "cuMemFreeHost of pinned1 while work that uses it is pending: copy dev1+0 <- pinned1+0 bytes=8",
            || {
                let (host, device) = (pinned(8, 0), device_memory(8));
                cu!(cuMemcpyHtoDAsync_v2(device, host.cast(), 8, ptr::null_mut())).unwrap();
                cu!(cuMemFreeHost(host.cast())).unwrap();
                CurrentContext::synchronize().unwrap();
            },
        );
        misuse(fake, "cuMemFree_v2 of dev1 while work that uses it is pending: fill dev1+0 bytes=8", || {
            let device = device_memory(8);
            cu!(cuMemsetD8Async(device, 0, 8, ptr::null_mut())).unwrap();
            cu!(cuMemFree_v2(device)).unwrap();
            CurrentContext::synchronize().unwrap();
        });
        misuse(
            fake,
            "cuMemHostUnregister of registered1 while work that uses it is pending: copy dev1+0 <- registered1+0 bytes=8",
            || {
                let (mut host, device) = ([0u8; 8], device_memory(8));
                cu!(cuMemHostRegister_v2(host.as_mut_ptr().cast(), 8, 0)).unwrap();
                cu!(cuMemcpyHtoDAsync_v2(device, host.as_ptr().cast(), 8, ptr::null_mut())).unwrap();
                cu!(cuMemHostUnregister(host.as_mut_ptr().cast())).unwrap();
                CurrentContext::synchronize().unwrap();
            },
        );
        misuse(fake, "cuStreamDestroy_v2 of stream1 while work is pending: fill dev1+0 bytes=8", || {
            let (stream, device) = (stream(), device_memory(8));
            cu!(cuMemsetD8Async(device, 0, 8, stream.as_inner())).unwrap();
        });
        misuse(fake, "cuEventDestroy_v2 of event1 while work that uses it is pending: record event1", || {
            let mut event = ptr::null_mut();
            cu!(cuEventCreate(&mut event, 0)).unwrap();
            cu!(cuEventRecord(event, ptr::null_mut())).unwrap();
            cu!(cuEventDestroy_v2(event)).unwrap();
        });
        misuse(fake, "cuModuleUnload of module1 while work that uses it is pending: launch nothing", || {
            let module = Module::from_ptx(PTX, &[]).unwrap();
            let (function, null) = (module.get_function("nothing").unwrap().to_raw(), ptr::null_mut());
            cu!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null, null.cast(), null.cast())).unwrap();
        });
        misuse(fake, "cuMemFree_v2 of pinned1: the wrong function for this memory", || {
            cu!(cuMemFree_v2(pinned(8, 0) as u64)).unwrap_err();
        });
        misuse(fake, "cuMemFreeHost of registered1: the wrong function for this memory", || {
            let mut host = [0u8; 8];
            cu!(cuMemHostRegister_v2(host.as_mut_ptr().cast(), 8, 0)).unwrap();
            cu!(cuMemFreeHost(host.as_mut_ptr().cast())).unwrap_err();
        });
        misuse(fake, "cuMemHostUnregister of pinned1: the wrong function for this memory", || {
            cu!(cuMemHostUnregister(pinned(8, 0).cast())).unwrap_err();
        });
        misuse(fake, "cuMemFree_v2 of dev1, which was freed before", || {
            let device = device_memory(8);
            cu!(cuMemFree_v2(device)).unwrap();
            cu!(cuMemFree_v2(device)).unwrap_err();
        });
        misuse(fake, "cuMemcpyHtoD_v2 of 9 bytes at dev1+0, which ends at 8", || {
            cu!(cuMemcpyHtoD_v2(device_memory(8), [0u8; 9].as_ptr().cast(), 9)).unwrap_err();
        });
        misuse(fake, "cuMemcpyDtoH_v2 of 9 bytes at pinned1+0, which ends at 8", || {
            cu!(cuMemcpyDtoH_v2(pinned(8, 0).cast(), device_memory(16), 9)).unwrap_err();
        });
        misuse(fake, "cuMemsetD8_v2 with the host address of pinned1, where a device address belongs", || {
            cu!(cuMemsetD8_v2(pinned(8, 2) as u64, 0, 8)).unwrap_err();
        });
        misuse(fake, "cuMemsetD8_v2 with an address that is not device memory", || {
            cu!(cuMemsetD8_v2(0x1000, 0, 8)).unwrap_err();
        });
        misuse(fake, "cuMemHostGetDevicePointer_v2 of memory that is not mapped", || {
            cu!(cuMemHostGetDevicePointer_v2(&mut 0, pinned(8, 0).cast(), 0)).unwrap_err();
        });
    });
}

fn misuse(fake: &Fake, expected: &str, body: impl FnOnce()) {
    fake.configure("");
    let _context = context();
    body();
    let violations = fake.violations();
    assert!(violations[0].starts_with(expected), "expected {expected}, got {violations:#?}");
}

#[test]
fn leaks_are_found() {
    with_fake("leaks_are_found", "", |fake| {
        let _context = context();
        device_memory(8);
        std::mem::forget(stream());
        let clean = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fake.assert_clean()));
        assert!(clean.is_err());
        assert_eq!(fake.violations(), ["leaked dev1 of 8 bytes", "leaked stream1"]);
    });
}

#[test]
fn the_log_goes_to_a_file() {
    let path = std::env::temp_dir().join("pagelock-fake-cuda-log");
    let environment = [("PAGELOCK_LIBCUDA", fake::library().as_os_str()), ("FAKE_CUDA_LOG", path.as_os_str())];
    let _ = std::fs::remove_file(&path);
    isolated("the_log_goes_to_a_file", &environment, || drop(context()));
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
