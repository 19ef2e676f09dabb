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
    a_copy_would_be_noticed(&trial);
    assert_eq!(device.budget().used(), 0);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the file is removed");
}

/// The verdict can fail: on a second copy, a short one too, on what stays, and on what the device saw.
fn a_copy_would_be_noticed(trial: &file_input::Trial) {
    let spoilt: [fn(&mut file_input::Trial); 7] = [
        |it| it.memory[1].anonymous += it.bytes,
        |it| it.memory[1].shared += it.bytes / 4,
        |it| it.memory[1].peak = it.memory[0].total().max(it.memory[0].peak) + 2 * it.bytes,
        |it| it.memory[2].file += it.bytes,
        |it| it.pinned[2] += 1,
        |it| it.mismatches = 1,
        |it| it.mismatches_of_corrupted = 0,
    ];
    for (number, spoil) in spoilt.into_iter().enumerate() {
        let mut trial = trial.clone();
        spoil(&mut trial);
        assert!(trial.verdict().is_err(), "{number}: {}", trial.table());
    }
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
