//! The panic hook belongs to the whole process, so this has a process of its own.

#[macro_use]
mod common;

use std::panic::{catch_unwind, set_hook};
use std::sync::atomic::{AtomicU32, Ordering};

use common::ONE;
use simt::{Fault, Simt};

static CALLS: AtomicU32 = AtomicU32::new(0);

kernel!(Panics, block (1, 1, 1), shared 0, |_, (_unused,): (u32,)| { panic!("on a fiber") });

#[test]
fn the_hook_of_before_hears_of_every_panic_but_those_of_kernels() {
    set_hook(Box::new(|_| {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }));
    let simt = Simt::with_workers(1).expect("threads");
    let _another = Simt::with_workers(1).expect("threads"); // installs nothing twice
    for calls in 0..3 {
        assert_eq!(CALLS.load(Ordering::Relaxed), calls);
        // SAFETY: the kernel touches no memory.
        let fault = unsafe { simt.launch::<Panics>(ONE, (0,)) }.expect_err("a panic");
        assert!(matches!(fault, Fault::Panic { location: Some(_), .. }), "{fault}");
        assert_eq!(CALLS.load(Ordering::Relaxed), calls);
        catch_unwind(|| panic!("on the host")).expect_err("a panic");
    }
}
