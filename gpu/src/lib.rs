//! The kernels of pagelock, written once in `no_std` Rust.
//!
//! The same source is compiled three ways: to PTX by rustc's `nvptx64` target, to PTX by rust-cuda, and for the host,
//! where the crate `simt` runs it thread by thread. A kernel is a function marked [`kernel`]; it sees the machine only
//! through [`device::Gpu`]: who am I, what is in memory, wait for the others.
//!
//! | module | what is there |
//! |---|---|
//! | [`access`] | how kernels touch memory: in order, strided, scrambled, chained |
//! | [`device`] | the little a kernel needs, one interface with an implementation per compiler |
//! | [`launch`] | the host's view of a kernel: its name, block shape, shared memory, typed arguments |
//! | [`matmul`] | matrix products, one file per rung of the ladder |
//!
//! Nothing in here knows which host drives it.

// rust-cuda's builder makes every crate `no_std` itself, and saying it twice is a warning.
#![cfg_attr(not(all(target_os = "cuda", feature = "rust-cuda")), no_std)]
#![cfg_attr(
    all(target_os = "cuda", not(feature = "rust-cuda")),
    feature(abi_ptx, asm_experimental_arch, core_float_math, stdarch_nvptx)
)]
#![cfg_attr(all(target_os = "cuda", feature = "rust-cuda"), feature(asm_experimental_arch))]
// The attribute of crates.io's cuda_std, which the host checks against, expands to a condition on `nvptx`, no more a
// target.
#![cfg_attr(feature = "rust-cuda", allow(unexpected_cfgs))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod access;
pub mod device;
#[cfg(not(target_os = "cuda"))]
pub mod launch;
pub mod matmul;

pub use gpu_macros::kernel;

// With rust-cuda the handler is `cuda_std`'s.
#[cfg(all(target_os = "cuda", not(feature = "rust-cuda")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    device::trap()
}
