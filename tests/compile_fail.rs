//! What must not compile does not, and says why: each program in `tests/compile_fail` is named for the claim that it tests,
//! and its `.stderr` is what rustc 1.95.0 answers. `TRYBUILD=overwrite cargo test -p cpu --test compile_fail` records them
//! anew.

use cpu::device::{Device, Selector};
use cpu::memory::PinnedBudget;

#[path = "compile_pass/everything_used_rightly.rs"]
mod everything_used_rightly;

#[test]
fn what_must_not_compile() {
    trybuild::TestCases::new().compile_fail("../tests/compile_fail/*.rs");
}

/// A module of this test and not a case for trybuild, which would compile all dependencies once more to link it.
#[test]
fn what_must_compile_and_run() {
    let device = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 20)).unwrap();
    everything_used_rightly::run(&device).unwrap();
    assert_eq!(device.budget().used(), 0);
}
