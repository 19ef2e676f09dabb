//! What the fake is there to find.

use std::ptr;

use cpu::driver;
use cust::context::CurrentContext;
use cust::module::Module;
use cust::sys;

use crate::fake::{Fake, with_fake};
use crate::{PTX, context, device_memory, pinned, stream};

/// The fake finds what it is there to find. Each case is one misuse and what the fake says.
#[test]
fn misuse_is_found() {
    with_fake("misuse::misuse_is_found", "", |fake| {
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
    with_fake("misuse::leaks_are_found", "", |fake| {
        let _context = context();
        device_memory(8);
        std::mem::forget(stream());
        let clean = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fake.assert_clean()));
        assert!(clean.is_err());
        assert_eq!(fake.violations(), ["leaked dev1 of 8 bytes", "leaked stream1"]);
    });
}
