//! The `cu*` functions, defined here and forwarded to the driver.
//!
//! One table per noun. A row is the signature as `cust::sys` declares it; [`forward`] makes the definition of it. What
//! a row is called is what the driver exports: `cuMemAlloc_v2`, not the `cuMemAlloc` that C headers rename to it.

// The names are the driver's.
#![allow(non_snake_case)]

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use cust::sys::CUresult;

use super::{codes, library};

mod context;
mod device;
mod event;
mod graph;
mod memory;
mod module;
mod stream;
mod texture;
mod transfer;

/// Defines driver functions, and `NAMES` with their names.
///
/// A row is `name(parameter: type, …);`. Without a driver the definition returns `CUDA_ERROR_NOT_INITIALIZED`, as the
/// driver itself does before `cuInit`, or what stands after `else`. Where the driver lacks the function, it returns
/// `CUDA_ERROR_NOT_FOUND`.
macro_rules! forward {
    ($($name:ident($($parameter:ident: $type:ty),* $(,)?) $(else $absent:ident)?;)*) => {
        /// The functions of this table.
        pub(super) const NAMES: &[&core::ffi::CStr] = &[$(crate::driver::symbols::c_name(concat!(stringify!($name), "\0"))),*];

        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($parameter: $type),*) -> cust::sys::CUresult {
                static FUNCTION: crate::driver::symbols::Function =
                    crate::driver::symbols::Function::new(concat!(stringify!($name), "\0"))
                        $(.without_driver(cust::sys::CUresult::$absent))?;
                match FUNCTION.address() {
                    Ok(address) => {
                        // SAFETY: the driver's function of this name has this signature (`cust::sys`, generated from
                        // NVIDIA's header). Its result is received as an integer, which any result is; the enum's
                        // representation is the same.
                        let function = unsafe {
                            core::mem::transmute::<
                                core::ptr::NonNull<core::ffi::c_void>,
                                unsafe extern "C" fn($($type),*) -> i32,
                            >(address)
                        };
                        // SAFETY: the caller's contract is the driver's: the arguments pass through unchanged.
                        crate::driver::symbols::returned(unsafe { function($($parameter),*) })
                    }
                    Err(code) => code,
                }
            }
        )*
    };
}
use forward;

/// One function of the driver, looked up by its first call.
struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    without_driver: CUresult,
}

impl Function {
    const fn new(name: &'static str) -> Self {
        Self {
            name: c_name(name),
            address: AtomicPtr::new(ptr::null_mut()),
            without_driver: CUresult::CUDA_ERROR_NOT_INITIALIZED,
        }
    }

    const fn without_driver(mut self, code: CUresult) -> Self {
        self.without_driver = code;
        self
    }

    fn address(&self) -> Result<NonNull<c_void>, CUresult> {
        // Relaxed is enough: the address is all there is to publish, and every thread would find the same.
        if let Some(address) = NonNull::new(self.address.load(Ordering::Relaxed)) {
            return Ok(address);
        }
        let library = library().map_err(|_| returned(self.without_driver as i32))?;
        let address = library.symbol(self.name).ok_or_else(|| returned(CUresult::CUDA_ERROR_NOT_FOUND as i32))?;
        self.address.store(address.as_ptr(), Ordering::Relaxed);
        Ok(address)
    }
}

/// `name` ends in the NUL that `concat!` put there.
const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a function's name holds a NUL"),
    }
}

thread_local! {
    /// The number of this thread's latest failure, as the driver gave it.
    static LATEST_FAILURE: Cell<i32> = const { Cell::new(0) };
}

/// Turns the driver's number into the enum, and remembers a failure.
fn returned(number: i32) -> CUresult {
    if number != 0 {
        LATEST_FAILURE.set(number);
    }
    codes::result(number)
}

/// The number behind this thread's latest failed call. `cust` has a name for some sixty errors and calls all others
/// unknown, the enum of `cust::sys` for some ninety; this is the way back to the number.
pub(super) fn latest_failure() -> i32 {
    LATEST_FAILURE.get()
}

/// Every function that is defined here.
pub(super) fn names() -> impl Iterator<Item = &'static CStr> {
    let tables = [
        context::NAMES,
        device::NAMES,
        event::NAMES,
        graph::NAMES,
        memory::NAMES,
        module::NAMES,
        stream::NAMES,
        texture::NAMES,
        transfer::NAMES,
    ];
    tables.into_iter().flatten().copied()
}

// The two functions that have an answer without a driver: an error without words would help nobody. The answer is
// pagelock's own also where there is a driver, so that one error reads the same on every machine.

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: `text` may be written, by the caller's contract.
    unsafe { describe(text, codes::find(error as i32).map(|code| code.name)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: `text` may be written, by the caller's contract.
    unsafe { describe(text, codes::find(error as i32).map(|code| code.meaning)) }
}

/// # Safety
/// `text` is null or may be written.
unsafe fn describe(text: *mut *const c_char, found: Option<&'static CStr>) -> CUresult {
    if text.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: not null, so writable by contract; the text is static.
    unsafe { text.write(found.map_or(ptr::null(), CStr::as_ptr)) };
    if found.is_some() { CUresult::CUDA_SUCCESS } else { CUresult::CUDA_ERROR_INVALID_VALUE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_drivers() {
        let mut names: Vec<_> = names().map(|name| name.to_str().unwrap()).collect();
        assert!(names.iter().all(|name| name.starts_with("cu")), "{names:?}");
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn error_texts_need_no_driver() {
        let mut text = ptr::null();
        // SAFETY: `text` is writable; on success it is a static C string.
        let name = unsafe {
            assert_eq!(cuGetErrorName(CUresult::CUDA_ERROR_OUT_OF_MEMORY, &mut text), CUresult::CUDA_SUCCESS);
            CStr::from_ptr(text)
        };
        assert_eq!(name, c"CUDA_ERROR_OUT_OF_MEMORY");
        // SAFETY: null is allowed, and refused.
        let code = unsafe { cuGetErrorString(CUresult::CUDA_ERROR_NO_DEVICE, ptr::null_mut()) };
        assert_eq!(code, CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}
