//! Modules, and launches of what is in them.

use core::ffi::{c_uint, c_void};
use std::{ptr, slice};

use cpu::driver::{self, DriverError};
use cust::context::CurrentContext;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::sys;

use crate::fake::with_fake;
use crate::{PTX, context, pinned, stream};

#[test]
fn a_product_through_cust() {
    with_fake("kernels::a_product_through_cust", "", |fake| {
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
    with_fake("kernels::a_product_over_mapped_memory", "", |fake| {
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
fn a_kernel_that_fails_ends_the_context() {
    with_fake("kernels::a_kernel_that_fails_ends_the_context", "launch_error=719", |_| {
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
    with_fake("kernels::a_kernel_out_of_bounds", "", |fake| {
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
    with_fake("kernels::launches_beyond_the_limits", "", |_| {
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
    with_fake("kernels::modules_that_do_not_load", "cc=8.0,max_ptx=8.0", |_| {
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
