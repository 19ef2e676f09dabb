//! Every call fails in turn, the first time and the later times: nothing leaks, and the error names the call.

use cpu::device::DeviceError;
use cpu::memory::HostBuffer;

use crate::fake::with_fake;
use crate::{USES, open, write_file};

/// The calls that any kind of memory makes to get, use and address it; what the errors call them.
const CALLS: [(&str, &str); 11] = [
    ("cuMemHostAlloc", "cuMemHostAlloc"),
    ("cuMemHostRegister_v2", "cuMemHostRegister"),
    ("cuMemHostGetDevicePointer_v2", "cuMemHostGetDevicePointer"),
    ("cuMemAlloc_v2", "cuMemAlloc"),
    ("cuStreamCreateWithPriority", "cuStreamCreateWithPriority"),
    ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"),
    ("cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync"),
    ("cuMemsetD8Async", "cuMemsetD8Async"),
    ("cuModuleGetFunction", "cuModuleGetFunction"),
    ("cuLaunchKernel", "cuLaunchKernel"),
    ("cuEventRecord", "cuEventRecord"),
];

/// NOT_SUPPORTED: a code that means nothing else to anybody, so that the error is the driver's own.
const CODE: i32 = 801;

#[test]
fn whatever_fails_nothing_leaks_and_the_error_names_the_call() {
    with_fake("failures::whatever_fails_nothing_leaks_and_the_error_names_the_call", "", |fake| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        write_file(&path);
        let mut failures = 0;
        for (kind, uses) in USES {
            for (call, named) in CALLS {
                for nth in 1.. {
                    let device = open(fake, &format!("fail={call}:{nth}:{CODE}")).unwrap();
                    let outcome = uses(&device, &path);
                    let reached = fake.calls(call) >= nth;
                    assert_eq!(outcome.is_err(), reached, "{kind}, {call} {nth}: {outcome:?}");
                    assert_eq!(device.budget().used(), 0, "{kind}, {call} {nth}");
                    if let Err(error) = outcome {
                        assert!(error.to_string().contains(named), "{kind}, {call} {nth}: {error}");
                        // The failure is over, and the device works.
                        uses(&device, &path).unwrap_or_else(|why| panic!("{kind} after {call} {nth}: {why}"));
                    }
                    drop(device);
                    fake.assert_clean();
                    if !reached {
                        break;
                    }
                    failures += 1;
                }
            }
        }
        assert!(failures > 40, "{failures}");
    });
}

/// Registering fails with codes that have errors of their own.
#[test]
fn registering_fails_with_an_error_for_each_code() {
    with_fake("failures::registering_fails_with_an_error_for_each_code", "", |fake| {
        for code in [1, 2, 712, 801] {
            let device = open(fake, &format!("fail=cuMemHostRegister_v2:1:{code}")).unwrap();
            let refused = device.register(vec![4u8; 10]).map(drop).unwrap_err();
            let is_right = match (code, &*refused.reason) {
                (2, DeviceError::NotPinned { asked, .. }) => *asked == 10,
                (712, DeviceError::AlreadyRegistered { bytes }) => *bytes == 10,
                (_, DeviceError::Driver(error)) => error.number() == code && error.call() == "cuMemHostRegister",
                _ => false,
            };
            assert!(is_right, "{code}: {refused:?}");
            assert_eq!((refused.memory, device.budget().used()), (vec![4u8; 10], 0));
            drop(device);
            fake.assert_clean();
        }
    });
}

/// It is still page-locked, so it still counts.
#[test]
fn what_could_not_be_unregistered_stays_on_the_account() {
    with_fake("failures::what_could_not_be_unregistered_stays_on_the_account", "", |fake| {
        let device = open(fake, "fail=cuMemHostUnregister:2:1,fail=cuMemFreeHost:1:1").unwrap();
        let [first, second, third] = [100, 20, 3].map(|bytes| device.register(vec![0u8; bytes]).unwrap());
        drop(first);
        assert_eq!((device.budget().used(), fake.live("registered")), (23, 2));
        assert_eq!(second.into_memory().len(), 20, "the memory is its owner's all the same");
        assert_eq!((device.budget().used(), fake.live("registered")), (23, 2));
        drop(third);
        assert_eq!((device.budget().used(), fake.live("registered")), (20, 1));
        drop(device.mailbox(5).unwrap());
        assert_eq!((device.budget().used(), fake.live("pinned")), (40, 1));
        drop(device.write_combined::<u8>(7).unwrap());
        assert_eq!((device.budget().used(), fake.live("pinned")), (40, 1));
        assert!(device.pinned::<u8>(1).unwrap().allocation_time().as_secs() < 10);
    });
}
