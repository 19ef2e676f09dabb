//! Host memory in its kinds, device memory, copies and fills.

use core::ffi::c_void;
use std::ptr;

use cpu::driver::{self, DriverError};
use cust::sys;

use crate::fake::with_fake;
use crate::{context, device_memory, pinned, stream};

#[test]
fn registered_memory() {
    with_fake("memory::registered_memory", "", |fake| {
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
    with_fake("memory::pageable_memory_is_staged_and_waited_for", "", |fake| {
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
    with_fake("memory::fills_and_copies_of_rows", "", |fake| {
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
fn memory_runs_out() {
    with_fake("memory::memory_runs_out", "memory=1000,pinned=100,oom_at=cuMemHostAlloc:2", |fake| {
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

/// Any base will do, between two elements too, and ranges may share a page as long as they do not overlap.
#[test]
fn bases_need_no_alignment_and_ranges_may_share_a_page() {
    with_fake("memory::bases_need_no_alignment_and_ranges_may_share_a_page", "", |fake| {
        let _context = context();
        let mut pages = vec![0u8; 2 * 4096];
        let page = pages.as_mut_ptr().wrapping_add(pages.as_ptr().align_offset(4096));
        let at = |offset: usize| page.wrapping_add(offset).cast::<c_void>();
        let ranges = [(1, 6), (7, 1), (8, 4), (4001, 95)].map(|(offset, bytes)| (at(offset), bytes));
        for (start, bytes) in ranges {
            cu!(cuMemHostRegister_v2(start, bytes, 2)).unwrap();
        }
        assert_eq!(fake.live("registered"), 4);
        // Of an overlap it does not matter where it is: at the front, at the end, inside, around, the same.
        let overlaps = [(0, 2), (6, 2), (2, 1), (0, 4096), (7, 1)].map(|(offset, bytes)| (at(offset), bytes));
        for (start, bytes) in overlaps {
            assert_eq!(cu!(cuMemHostRegister_v2(start, bytes, 2)).unwrap_err().number(), 712, "{bytes} bytes");
        }
        // Neither the first that was registered nor the last is unregistered first.
        for (start, _) in [ranges[2], ranges[0], ranges[3], ranges[1]] {
            cu!(cuMemHostUnregister(start)).unwrap();
        }
        assert_eq!((fake.live("registered"), fake.violations()), (0, vec![]));
    });
}

/// Memory goes back the way it came; the other call is an error of its own, and the memory is what it was.
#[test]
fn memory_does_not_go_back_by_the_other_call() {
    with_fake("memory::memory_does_not_go_back_by_the_other_call", "", |fake| {
        let _context = context();
        let (host, mut own) = (pinned(8, 0), [0u8; 8]);
        let registered = own.as_mut_ptr().cast::<c_void>();
        cu!(cuMemHostRegister_v2(registered, 8, 0)).unwrap();
        assert_eq!(cu!(cuMemHostUnregister(host.cast())).unwrap_err().call(), "cuMemHostUnregister");
        assert_eq!(cu!(cuMemFreeHost(registered)).unwrap_err().call(), "cuMemFreeHost");
        assert_eq!((fake.live("pinned"), fake.live("registered")), (1, 1));
        cu!(cuMemFreeHost(host.cast())).unwrap();
        cu!(cuMemHostUnregister(registered)).unwrap();
        // And what was never registered is not either.
        assert_eq!(cu!(cuMemHostUnregister(registered.wrapping_byte_add(1))).unwrap_err().number(), 713);
        assert_eq!((fake.live("pinned"), fake.live("registered")), (0, 0));
    });
}
