//! What the tests share: kernels declared by hand, and memory as the kernels see it.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::sync::atomic::{AtomicU32, Ordering};

use gpu::device::{Dim3, Element, GlobalMut};

pub const ONE: Dim3 = Dim3::new(1, 1, 1);

/// Declares a kernel: `kernel!(Name, block (x, y, z), shared bytes, |gpu, (a, b): (A, B)| { … })`.
macro_rules! kernel {
    ($name:ident, block $block:tt, shared $shared:expr, |$gpu:pat_param, $args:tt : $types:ty| $body:block) => {
        struct $name;

        // SAFETY: no compiled kernel has this name.
        unsafe impl gpu::launch::Kernel for $name {
            const NAME: &'static str = stringify!($name);
            const BLOCK: gpu::device::Dim3 = {
                let (x, y, z) = $block;
                gpu::device::Dim3::new(x, y, z)
            };
            const SHARED_BYTES: u32 = $shared;
            type Args = $types;

            #[inline(always)]
            unsafe fn run<G: gpu::device::Gpu>($gpu: G, $args: Self::Args) $body
        }
    };
}

/// Host memory as an argument of a kernel.
pub fn global<T: Element>(memory: &mut [T]) -> GlobalMut<T> {
    GlobalMut::at(memory.as_mut_ptr().expose_provenance() as u64)
}

/// Counters that kernels on any worker may raise at once.
pub struct Counters(Box<[AtomicU32]>);

impl Counters {
    pub fn new(len: usize) -> Self {
        Self((0..len).map(|_| AtomicU32::new(0)).collect())
    }

    /// The argument to pass to a kernel, which hands it to [`count`].
    pub fn address(&self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    pub fn values(&self) -> Vec<u32> {
        self.0.iter().map(|counter| counter.load(Ordering::Relaxed)).collect()
    }
}

/// Raises a counter from inside a kernel.
///
/// # Safety
/// The address is that of live [`Counters`], and `index` is inside.
pub unsafe fn count(counters: u64, index: usize) {
    let first = std::ptr::with_exposed_provenance::<AtomicU32>(counters as usize);
    // SAFETY: the caller's.
    unsafe { &*first.add(index) }.fetch_add(1, Ordering::Relaxed);
}
