//! What goes wrong in a kernel comes back as a value that says where, and the machine lives on.

#[macro_use]
mod common;

use std::env;
use std::panic::{catch_unwind, panic_any};
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use common::{Counters, ONE, count, global};
use gpu::device::{Dim3, GlobalMut, Gpu};
use simt::{Fault, Simt};

kernel!(Fine, block (64, 1, 1), shared 0, |gpu, (out,): (GlobalMut<u32>,)| {
    gpu.sync_threads();
    // SAFETY: the test passes 64 elements.
    unsafe { gpu.store(out, gpu.thread_idx().x as usize, gpu.thread_idx().x) };
});

/// A kernel with a barrier still does what it should.
fn assert_usable(simt: &Simt) {
    let mut out = vec![u32::MAX; 64];
    // SAFETY: 64 elements.
    unsafe { simt.launch::<Fine>(ONE, (global(&mut out),)) }.expect("the machine is usable");
    assert_eq!(out, (0..64).collect::<Vec<_>>());
}

kernel!(OutOfBounds, block (4, 8, 1), shared 0, |gpu, (_unused,): (u32,)| {
    let table = std::hint::black_box([1, 2, 3, 4]);
    gpu.sync_threads();
    if gpu.block_idx() == Dim3::new(1, 2, 0) && gpu.thread_idx() == Dim3::new(3, 5, 0) {
        std::hint::black_box(table[gpu.thread_idx().y as usize]);
    }
    gpu.sync_threads();
});

#[test]
fn a_panic_names_block_thread_message_and_place() {
    let simt = Simt::new().expect("threads");
    // SAFETY: the kernel touches no memory.
    let fault = unsafe { simt.launch::<OutOfBounds>(Dim3::new(3, 3, 1), (0,)) }.expect_err("a panic");
    let text = fault.to_string();
    let Fault::Panic { kernel, block, thread, message, location } = fault else { panic!("{text}") };
    assert_eq!((kernel, block, thread), ("OutOfBounds", Dim3::new(1, 2, 0), Dim3::new(3, 5, 0)));
    assert_eq!(message, "index out of bounds: the len is 4 but the index is 5");
    let location = location.expect("the hook is ours");
    assert!(location.contains("faults.rs:"), "{location}");
    assert_eq!(
        text,
        format!("kernel `OutOfBounds`: thread (3, 5, 0) of block (1, 2, 0) panicked at {location}: {message}")
    );
    assert_usable(&simt);
}

const CHILD: &str = "SIMT_TEST_CHILD";

/// Runs one test of this binary again in a process of its own, which finds [`CHILD`] set. Gives whether it succeeded
/// and what it wrote to standard error.
fn in_a_child(test: &str) -> (bool, String) {
    let output = Command::new(env::current_exe().expect("a path"))
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("the test binary starts");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_panic_prints_nothing() {
    if env::var_os(CHILD).is_some() {
        // SAFETY: the kernel touches no memory.
        unsafe { Simt::new().expect("threads").launch::<OutOfBounds>(Dim3::new(3, 3, 1), (0,)) }.expect_err("a panic");
        return;
    }
    assert_eq!(in_a_child("a_panic_prints_nothing"), (true, String::new()));
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("the second of two");
    }
}

kernel!(PanicsTwice, block (1, 1, 1), shared 0, |_, (_unused,): (u32,)| {
    let _second = PanicsWhenDropped;
    panic!("the first of two");
});

#[test]
fn an_abort_is_not_silent() {
    if env::var_os(CHILD).is_some() {
        // SAFETY: the kernel touches no memory.
        let _aborts = unsafe { Simt::new().expect("threads").launch::<PanicsTwice>(ONE, (0,)) };
        return;
    }
    let (success, printed) = in_a_child("an_abort_is_not_silent");
    assert!(!success && printed.contains("the second of two"), "{printed}");
}

/// Only where the compiler checks overflow, as the dev profile does.
#[cfg(debug_assertions)]
#[test]
fn an_overflow_is_a_fault() {
    kernel!(Underflow, block (8, 1, 1), shared 0, |gpu, (_unused,): (u32,)| {
        std::hint::black_box(gpu.thread_idx().x - 1);
    });
    // SAFETY: the kernel touches no memory.
    let fault = unsafe { Simt::new().expect("threads").launch::<Underflow>(ONE, (0,)) }.expect_err("an overflow");
    let Fault::Panic { thread, message, .. } = fault else { panic!("{fault}") };
    assert_eq!((thread, message.as_str()), (Dim3::new(0, 0, 0), "attempt to subtract with overflow"));
}

/// Only where the standard library checks preconditions.
#[cfg(debug_assertions)]
#[test]
fn a_violated_precondition_is_not_silent() {
    kernel!(Unreachable, block (1, 1, 1), shared 0, |_, (_unused,): (u32,)| {
        // SAFETY: wrong, it is reached; the standard library notices and aborts.
        unsafe { std::hint::unreachable_unchecked() }
    });
    if env::var_os(CHILD).is_some() {
        // SAFETY: as said in the kernel.
        let _aborts = unsafe { Simt::new().expect("threads").launch::<Unreachable>(ONE, (0,)) };
        return;
    }
    let (success, printed) = in_a_child("a_violated_precondition_is_not_silent");
    assert!(!success && printed.contains("unsafe precondition(s) violated"), "{printed}");
}

kernel!(OddPayload, block (1, 1, 1), shared 0, |_, (_unused,): (u32,)| { panic_any(7_u32) });

#[test]
fn a_payload_that_is_no_text() {
    // SAFETY: the kernel touches no memory.
    let fault = unsafe { Simt::new().expect("threads").launch::<OddPayload>(ONE, (0,)) }.expect_err("a panic");
    let Fault::Panic { message, .. } = fault else { panic!("{fault}") };
    assert_eq!(message, "a panic whose payload is no text");
}

/// Counts when it is dropped, and waits at a barrier there, which must not wait while unwinding.
struct Guard<G: Gpu> {
    gpu: G,
    counters: u64,
}

impl<G: Gpu> Drop for Guard<G> {
    fn drop(&mut self) {
        // SAFETY: the test passes a counter per thread of the block.
        unsafe { count(self.counters, self.gpu.thread_idx().x as usize) };
        self.gpu.sync_threads();
    }
}

kernel!(PanicAmongGuards, block (32, 1, 1), shared 0, |gpu, (counters,): (u64,)| {
    let _guard = Guard { gpu, counters };
    gpu.sync_threads();
    assert_ne!(gpu.thread_idx().x, 11, "eleven");
    gpu.sync_threads();
});

#[test]
fn destructors_of_suspended_threads_run() {
    let simt = Simt::with_workers(1).expect("threads");
    for _ in 0..3 {
        let counters = Counters::new(32);
        // SAFETY: a counter per thread, alive until the launch has returned.
        let fault = unsafe { simt.launch::<PanicAmongGuards>(ONE, (counters.address(),)) }.expect_err("a panic");
        assert!(matches!(fault, Fault::Panic { thread: Dim3 { x: 11, .. }, .. }), "{fault}");
        // Below 11 at the second barrier, 11 itself, above 11 at the first.
        assert_eq!(counters.values(), [1; 32]);
        assert_usable(&simt);
    }
}

kernel!(PanicFromOn, block (1, 1, 1), shared 0, |gpu, (counters, from): (u64, u32)| {
    // SAFETY: the test passes one counter.
    unsafe { count(counters, 0) };
    assert!(gpu.block_idx().x < from, "block {}", gpu.block_idx().x);
});

#[test]
fn the_lowest_faulting_block_is_reported_and_the_others_stop() {
    let simt = Simt::with_workers(4).expect("threads");
    for _ in 0..50 {
        let counters = Counters::new(1);
        // SAFETY: one counter, alive until the launch has returned.
        let fault = unsafe { simt.launch::<PanicFromOn>(Dim3::new(1_000_000, 1, 1), (counters.address(), 2_500)) }
            .expect_err("a panic");
        assert!(matches!(&fault, Fault::Panic { message, .. } if message == "block 2500"), "{fault}");
        // All below, and at most one that faulted on each worker.
        assert!(counters.values()[0] <= 2_500 + 4, "{} blocks ran", counters.values()[0]);
    }
    assert_usable(&simt);
}

kernel!(HalfWaits, block (8, 4, 1), shared 0, |gpu, (barriers,): (u32,)| {
    for _ in 0..barriers {
        gpu.sync_threads();
    }
    if gpu.thread_idx().y >= 1 {
        gpu.sync_threads();
    }
});

#[test]
fn a_barrier_that_some_threads_never_reach_is_a_fault() {
    let simt = Simt::new().expect("threads");
    for barriers in [0, 1, 5] {
        // SAFETY: the kernel touches no memory.
        let fault = unsafe { simt.launch::<HalfWaits>(Dim3::new(2, 1, 1), (barriers,)) }.expect_err("a divergence");
        assert_eq!(
            fault,
            Fault::BarrierDivergence {
                kernel: "HalfWaits",
                block: Dim3::new(0, 0, 0),
                waiting: 24,
                left: 8,
                waiting_thread: Dim3::new(0, 1, 0),
                left_thread: Dim3::new(0, 0, 0),
            }
        );
        assert_eq!(
            fault.to_string(),
            "kernel `HalfWaits`: 24 threads of block (0, 0, 0) wait at a barrier, among them (0, 1, 0), but 8 have \
             returned, among them (0, 0, 0); move the barrier out of the branch, so that all threads reach it"
        );
    }
    assert_usable(&simt);
}

kernel!(LastLeaves, block (8, 4, 1), shared 0, |gpu, (_unused,): (u32,)| {
    if gpu.thread_idx() != Dim3::new(7, 3, 0) {
        gpu.sync_threads();
    }
});

#[test]
fn the_thread_that_left_is_named_even_if_it_is_the_last() {
    // SAFETY: the kernel touches no memory.
    let fault = unsafe { Simt::new().expect("threads").launch::<LastLeaves>(ONE, (0,)) }.expect_err("a divergence");
    let Fault::BarrierDivergence { waiting, left, waiting_thread, left_thread, .. } = fault else { panic!("{fault}") };
    assert_eq!((waiting, left), (31, 1));
    assert_eq!((waiting_thread, left_thread), (Dim3::new(0, 0, 0), Dim3::new(7, 3, 0)));
}

#[test]
fn launches_beyond_the_limits_are_refused() {
    let simt = Simt::with_workers(1).expect("threads");
    let mut out = vec![u32::MAX; 64];
    let cases = [
        (Dim3::new(0, 1, 1), "grid.x is 0, allowed is 1 to 2147483647"),
        (Dim3::new(1 << 31, 1, 1), "grid.x is 2147483648, allowed is 1 to 2147483647"),
        (Dim3::new(1, 65_536, 1), "grid.y is 65536, allowed is 1 to 65535"),
        (Dim3::new(1, 1, 70_000), "grid.z is 70000, allowed is 1 to 65535"),
    ];
    for (grid, expected) in cases {
        // SAFETY: 64 elements, if anything ran.
        let fault = unsafe { simt.launch::<Fine>(grid, (global(&mut out),)) }.expect_err("beyond the limits");
        let text = fault.to_string();
        assert!(text.starts_with(&format!("kernel `Fine` does not fit the device: {expected}; ")), "{text}");
    }
    kernel!(Greedy, block (1, 1, 1), shared 227 * 1024 + 1, |_, (_unused,): (u32,)| {});
    kernel!(Crowded, block (64, 17, 1), shared 0, |_, (_unused,): (u32,)| {});
    // SAFETY: the kernels touch no memory.
    let [greedy, crowded] = unsafe { [simt.launch::<Greedy>(ONE, (0,)), simt.launch::<Crowded>(ONE, (0,))] };
    let what = |result: Result<(), Fault>| match result {
        Err(Fault::Limit { limit, .. }) => (limit.what, limit.asked, limit.most),
        other => panic!("{other:?}"),
    };
    assert_eq!(what(greedy), ("bytes of shared memory per block", 232_449, 232_448));
    assert_eq!(what(crowded), ("threads per block", 1088, 1024));
    assert_eq!(out, [u32::MAX; 64], "a refused launch ran");
}

static MACHINE: LazyLock<Simt> = LazyLock::new(|| Simt::with_workers(2).expect("threads"));
static NESTED: Mutex<Option<Result<(), Fault>>> = Mutex::new(None);

kernel!(Launches, block (1, 1, 1), shared 0, |_, (_unused,): (u32,)| {
    // SAFETY: the kernel touches no memory.
    *NESTED.lock().expect("one thread") = Some(unsafe { MACHINE.launch::<OddPayload>(ONE, (0,)) });
});

#[test]
fn a_kernel_cannot_launch_kernels() {
    // SAFETY: the kernel touches no memory of ours.
    unsafe { MACHINE.launch::<Launches>(ONE, (0,)) }.expect("the outer launch is legal");
    assert_eq!(*NESTED.lock().expect("one thread"), Some(Err(Fault::Nested { kernel: "OddPayload" })));
}

kernel!(Recovers, block (32, 1, 1), shared 0, |gpu, (counters,): (u64,)| {
    let caught = catch_unwind(|| panic!("handled"));
    gpu.sync_threads();
    if caught.is_err() {
        // SAFETY: the test passes a counter per thread.
        unsafe { count(counters, gpu.thread_idx().x as usize) };
    }
});

#[test]
fn a_panic_that_the_kernel_handles_is_no_fault() {
    let counters = Counters::new(32);
    // SAFETY: a counter per thread, alive until the launch has returned.
    unsafe { Simt::new().expect("threads").launch::<Recovers>(ONE, (counters.address(),)) }.expect("no fault");
    assert_eq!(counters.values(), [1; 32]);
}
