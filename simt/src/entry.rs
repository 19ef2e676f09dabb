//! One thread of a kernel, in the copy that this processor runs best.
//!
//! `f32::mul_add` is one instruction where the compiler may assume FMA, and a call of a library function where it may
//! not. A build for all x86-64 processors may not. So each kernel is compiled twice, and the copy is chosen at run
//! time. The copies are whole: kernels and the methods of their `Gpu` are `#[inline(always)]`, and what is inlined is
//! compiled for the features of the function that it is inlined into.

use gpu::device::host::HostThread;
use gpu::launch::Kernel;

/// Runs one thread of `K`.
///
/// Calling it is safe if the kernel's contract holds for the arguments and the processor is the one that [`best`] ran
/// on.
pub(crate) type Entry<K> = unsafe fn(HostThread<'_>, <K as Kernel>::Args);

/// The copy for this processor.
pub(crate) fn best<K: Kernel>() -> Entry<K> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return with_fma::<K>;
    }
    portable::<K>
}

/// # Safety
/// The kernel's contract, on a processor with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_fma<K: Kernel>(thread: HostThread<'_>, args: K::Args) {
    // SAFETY: the caller promises that the kernel's contract holds.
    unsafe { K::run(thread, args) }
}

/// # Safety
/// The kernel's contract.
unsafe fn portable<K: Kernel>(thread: HostThread<'_>, args: K::Args) {
    // SAFETY: the caller promises that the kernel's contract holds.
    unsafe { K::run(thread, args) }
}
