//! A process that has used up its memory mappings gets a fault and not a crash. It is a process of its own.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use std::fs;

use common::{Counters, ONE, count};
use corosensei::stack::DefaultStack;
use simt::{Fault, Simt};

struct Guard(u64);

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: the test passes one counter.
        unsafe { count(self.0, 0) };
    }
}

kernel!(Crowd, block (1024, 1, 1), shared 0, |gpu, (counters,): (u64,)| {
    let _guard = Guard(counters);
    gpu.sync_threads();
});

#[test]
fn no_stack_is_a_fault_that_says_what_to_change() {
    let limit = fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|limit| limit.trim().parse().ok());
    if limit.is_none_or(|limit: usize| limit > 200_000) {
        return; // using up so many takes too long
    }
    let counters = Counters::new(1);
    let simt = Simt::with_workers(1).expect("threads");
    // SAFETY: one counter, alive until the launch has returned.
    let launch = || unsafe { simt.launch::<Crowd>(ONE, (counters.address(),)) };

    let mut hoard: Vec<_> = std::iter::from_fn(|| DefaultStack::new(4096).ok()).collect();
    hoard.truncate(hoard.len() - 200);
    let fault = launch().expect_err("there are stacks for some 200 threads");
    let Fault::NoStack { thread, .. } = &fault else { panic!("{fault}") };
    assert!((100..300).contains(&thread.x), "{fault}");
    assert!(fault.to_string().contains("raise vm.max_map_count"), "{fault}");
    assert_eq!(counters.values()[0], thread.x, "the threads that had started were unwound");

    drop(hoard);
    launch().expect("the machine is usable");
    assert_eq!(counters.values()[0], 1024 + thread.x);
}
