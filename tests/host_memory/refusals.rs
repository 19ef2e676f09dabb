//! Each refusal is an error of its own, and costs nothing.

use core::ffi::c_void;

use cpu::device::DeviceError;
use cpu::driver;
use cpu::memory::{HostBuffer, RegisterFileError, StagingShape};
use cust::sys;

use crate::fake::with_fake;
use crate::{WORDS, open, write_file};

/// One byte more than the budget has, of each kind. The driver is not asked.
#[test]
fn the_budget_refuses_every_kind() {
    with_fake("refusals::the_budget_refuses_every_kind", "", |fake| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        write_file(&path);
        let device = open(fake, "").unwrap();
        let limit = device.budget().limit() as usize;
        let rest = device.pinned::<u8>(limit - 4 * WORDS + 1).unwrap(); // leaves one byte less than what is asked for
        let allocated = fake.calls("cuMemHostAlloc");
        let one = StagingShape { threads: 1, chunks: 2, chunk_bytes: 1, ..StagingShape::default() };
        // SAFETY: the test's own file, which nobody writes any more.
        let file = match unsafe { device.register_file::<u32>(&path, 0) } {
            Err(RegisterFileError::Device { reason, path: named }) if named == path => Err(*reason),
            other => panic!("{:?}", other.map(drop)),
        };
        let refused: [(&str, Result<(), DeviceError>); 7] = [
            ("pinned", device.pinned::<u32>(WORDS).map(drop)),
            ("mapped", device.mapped::<u32>(WORDS).map(drop)),
            ("write-combined", device.write_combined::<u32>(WORDS).map(drop)),
            ("mailbox", device.mailbox(WORDS).map(drop)),
            ("staging", device.staging(one).map(drop)),
            ("registered buffer", device.register(vec![1u32; WORDS]).map(drop).map_err(|refused| *refused.reason)),
            ("registered file", file),
        ];
        for (kind, outcome) in refused {
            let Err(DeviceError::Budget(error)) = outcome else { panic!("{kind}: {outcome:?}") };
            let asked = if kind == "staging" { 256 << 10 } else { 4 * WORDS as u64 };
            assert_eq!((error.asked, error.used, error.limit), (asked, device.budget().used(), limit as u64), "{kind}");
        }
        assert_eq!((fake.calls("cuMemHostAlloc"), fake.calls("cuMemHostRegister_v2")), (allocated, 0));
        drop((rest, device));
        fake.assert_clean();
    });
}

/// The budget allows it and the driver does not: another error, with the call.
#[test]
fn the_driver_refuses_what_the_budget_allows() {
    with_fake("refusals::the_driver_refuses_what_the_budget_allows", "", |fake| {
        let device = open(fake, "pinned=100").unwrap();
        let memory = vec![9u8; 101];
        let address = memory.as_ptr();
        let refused = device.register(memory).map(drop).unwrap_err();
        let outcomes = [
            ("cuMemHostAlloc", device.pinned::<u8>(101).map(drop).unwrap_err()),
            ("cuMemHostAlloc", device.mapped::<u8>(101).map(drop).unwrap_err()),
            ("cuMemHostAlloc", device.write_combined::<u8>(101).map(drop).unwrap_err()),
            ("cuMemHostRegister", *refused.reason),
        ];
        for (call, error) in outcomes {
            assert!(matches!(error, DeviceError::NotPinned { asked: 101, .. }), "{error:?}");
            assert!(error.to_string().contains(call), "{error}");
        }
        assert_eq!((refused.memory.as_ptr(), refused.memory), (address, vec![9u8; 101]), "the memory comes back");
        assert_eq!(device.budget().used(), 0);
        drop(device);
        fake.assert_clean();
    });
}

/// A part of the memory is registered already: by another library of the process, for in safe code a `Vec` has one owner.
#[test]
fn memory_that_is_registered_already_is_refused() {
    with_fake("refusals::memory_that_is_registered_already_is_refused", "", |fake| {
        let device = open(fake, "").unwrap();
        for (offset, bytes) in [(0, 1), (1, 30), (60, 4), (0, 64)] {
            let mut memory = vec![1u8; 64];
            let part = memory.as_mut_ptr().wrapping_add(offset).cast::<c_void>();
            // SAFETY: inside the memory, which is not freed before it was unregistered below. The context of the device is
            // current since it was opened.
            driver::call("cuMemHostRegister", unsafe { sys::cuMemHostRegister_v2(part, bytes, 0) }).unwrap();
            let refused = device.register(memory).map(drop).unwrap_err();
            assert!(matches!(*refused.reason, DeviceError::AlreadyRegistered { bytes: 64 }), "{refused}");
            assert_eq!((device.budget().used(), fake.live("registered")), (0, 1));
            // SAFETY: registered above, by this start.
            driver::call("cuMemHostUnregister", unsafe { sys::cuMemHostUnregister(part) }).unwrap();
            // Now it can be.
            assert_eq!(device.register(refused.memory).unwrap().into_memory(), [1; 64]);
        }
        drop(device);
        fake.assert_clean();
    });
}

/// Nothing is a buffer of nothing. The driver, to which registering nothing is an error, is not asked.
#[test]
fn nothing_is_allocated_for_no_elements() {
    with_fake("refusals::nothing_is_allocated_for_no_elements", "", |fake| {
        let folder = tempfile::tempdir().unwrap();
        let (empty, few) = (folder.path().join("empty"), folder.path().join("few"));
        std::fs::write(&empty, []).unwrap();
        std::fs::write(&few, [1, 2, 3, 4, 5]).unwrap();
        let device = open(fake, "").unwrap();
        assert!(device.pinned::<u32>(0).unwrap().is_empty());
        assert!(device.mapped::<u32>(0).unwrap().is_empty());
        assert!(device.write_combined::<u32>(0).unwrap().is_empty());
        assert!(device.mailbox(0).unwrap().is_empty());
        assert!(device.register(Vec::<u32>::new()).unwrap().is_empty());
        // SAFETY: the test's own files, which nobody writes any more.
        assert!(unsafe { device.register_file::<u32>(&empty, 0) }.unwrap().is_empty());
        assert_eq!((fake.calls("cuMemHostAlloc"), fake.calls("cuMemHostRegister_v2")), (0, 0));
        // A file without a whole element from there on is registered, and has none.
        // SAFETY: as above.
        let none = unsafe { device.register_file::<u32>(&few, 4) }.unwrap();
        assert_eq!((none.len(), device.budget().used()), (0, 5));
        let nothing = device.scope(|stream| Ok::<_, DeviceError>(stream.map(&none)?.len()));
        assert_eq!(nothing.unwrap(), 0);
        drop((none, device));
        fake.assert_clean();
    });
}

/// A device that cannot do it says so, and that is no error of the driver.
#[test]
fn a_device_that_cannot_map_refuses_all_that_is_mapped() {
    with_fake("refusals::a_device_that_cannot_map_refuses_all_that_is_mapped", "", |fake| {
        let device = open(fake, "no_map_host").unwrap();
        let refused = [
            device.mapped::<u8>(1).map(drop).unwrap_err(),
            device.write_combined::<u8>(1).map(drop).unwrap_err(),
            device.mailbox(1).map(drop).unwrap_err(),
            *device.register(vec![1u8]).map(drop).unwrap_err().reason,
        ];
        for error in refused {
            assert!(matches!(error, DeviceError::CannotMap { .. }), "{error}");
        }
        assert_eq!(device.pinned::<u8>(1).unwrap().len(), 1);
        assert_eq!(device.budget().used(), 0);
        drop(device);
        fake.assert_clean();
    });
}
