//! The example `file_input`, small: on the CPU device and on the fake driver, each in a process of its own, because what a
//! process keeps in memory is counted.

use std::ffi::OsStr;

use cpu::device::{Device, Selector};
use cpu::memory::PinnedBudget;

#[path = "support/fake.rs"]
mod fake;
#[path = "../cpu/examples/file_input.rs"]
#[allow(dead_code)] // its `main`
mod file_input;

/// Large beside everything else that a test keeps, and no whole number of pages.
const BYTES: u64 = (64 << 20) + 100;

fn holds_on(selector: Selector) {
    let device = Device::open(selector, PinnedBudget::limited_to(256 << 20)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trial = file_input::run(&device, folder.path(), BYTES).unwrap();
    trial.verdict().unwrap();
    assert_eq!(device.budget().used(), 0);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the file is removed");
}

#[test]
#[cfg(target_os = "linux")]
fn a_registered_file_is_not_copied_on_simt() {
    fake::isolated("a_registered_file_is_not_copied_on_simt", &[("PAGELOCK_LIBCUDA", OsStr::new(""))], || {
        holds_on(Selector::Simt);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_registered_file_is_not_copied_on_the_fake() {
    fake::with_fake("a_registered_file_is_not_copied_on_the_fake", "", |fake| {
        holds_on(Selector::Cuda(0));
        assert_eq!((fake.calls("cuMemHostRegister_v2"), fake.live("registered")), (2, 0));
        fake.assert_clean();
    });
}
