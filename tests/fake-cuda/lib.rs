//! A fake `libcuda.so.1`: a deterministic CUDA driver in host memory, for tests without a device.
//!
//! `tests/support/fake.rs` compiles it (`rustc --crate-type cdylib`, no dependencies) and `PAGELOCK_LIBCUDA` points at
//! the result. It differs from a real driver in one direction only: it is stricter, and it tells.
//!
//! * **Nothing happens until somebody waits.** Asynchronous work is queued and executed when its stream, an event or
//!   the context is synchronized; a query executes one piece. Reading a result too early shows the old bytes.
//! * **Addresses never coincide.** The device address of an allocation is no host address, and the device address of
//!   pinned memory is not its host address, so that mixing them up shows.
//! * **Everything is logged**, what is called and what is executed, with names for addresses (`dev1+0`, `pinned2+16`).
//!   A line that begins with `VIOLATION` is a misuse: freeing what pending work uses, copying out of bounds, leaking.
//! * **Any call can be made to fail**, see [`config`].
//!
//! Kernels named `matmul_…(a, b, c, m, n, k)` compute the f32 product, and those named `access_…` touch memory as the ones
//! of `gpu` do. Others are checked, logged and do nothing.

#![allow(non_snake_case)]

mod access;
mod api;
mod config;
mod kernel;
mod memory;
mod ptx;
mod queue;
mod state;

/// Writes through a pointer that the caller of the driver gave.
///
/// This library trusts its callers as every C library does: the contract of each exported function is the driver's.
fn put<T>(pointer: *mut T, value: T) -> Result<(), i32> {
    if pointer.is_null() {
        return Err(error::INVALID_VALUE);
    }
    // SAFETY: not null, and writable by the contract of the exported function that it was given to.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Reads a C string that the caller of the driver gave.
fn text(pointer: *const std::ffi::c_char) -> Result<&'static str, i32> {
    if pointer.is_null() {
        return Err(error::INVALID_VALUE);
    }
    // SAFETY: not null, and NUL-terminated by the contract of the exported function. Nobody keeps the reference.
    unsafe { std::ffi::CStr::from_ptr(pointer) }.to_str().map_err(|_| error::INVALID_VALUE)
}

/// The codes of `CUresult` that the fake returns by itself.
mod error {
    pub const INVALID_VALUE: i32 = 1;
    pub const OUT_OF_MEMORY: i32 = 2;
    pub const NOT_INITIALIZED: i32 = 3;
    pub const NO_DEVICE: i32 = 100;
    pub const INVALID_DEVICE: i32 = 101;
    pub const INVALID_IMAGE: i32 = 200;
    pub const INVALID_CONTEXT: i32 = 201;
    pub const INVALID_PTX: i32 = 218;
    pub const UNSUPPORTED_PTX_VERSION: i32 = 222;
    pub const INVALID_HANDLE: i32 = 400;
    pub const NOT_FOUND: i32 = 500;
    pub const NOT_READY: i32 = 600;
    pub const ILLEGAL_ADDRESS: i32 = 700;
    pub const CONTEXT_IS_DESTROYED: i32 = 709;
    pub const HOST_MEMORY_ALREADY_REGISTERED: i32 = 712;
    pub const HOST_MEMORY_NOT_REGISTERED: i32 = 713;
    pub const MISALIGNED_ADDRESS: i32 = 716;
    pub const COOPERATIVE_LAUNCH_TOO_LARGE: i32 = 720;
    pub const NOT_PERMITTED: i32 = 800;
    pub const NOT_SUPPORTED: i32 = 801;
}
