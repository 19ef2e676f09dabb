//! libcuda, opened when it is first needed.
//!
//! # Why
//! A program linked against `libcuda.so.1` does not start on a machine without NVIDIA's driver: the loader stops it
//! before `main` could print a word. pagelock starts everywhere, and says in one line what it found ([`init`]).
//!
//! # How it links
//! [`cust`] asks the linker for `-lcuda` and refers to some hundred `cu*` functions.
//! 1. `cpu/cuda-link/lib64/libcuda.so` is an empty linker script. It satisfies the flag and links nothing.
//! 2. The private module `symbols` defines every one of those functions, and the ones that pagelock calls itself,
//!    under its own name. A definition looks the real function up in the driver when it is first called, and forwards
//!    to it.
//! 3. [`library`](library()) opens the driver, once per process.
//!
//! A program that uses `cust` and nothing of this crate has to mention it (`use cpu as _;`), or the linker drops the
//! definitions. `cust::sys::cuXxx` and the definitions here are the same functions: call the former.
//!
//! # What the detour buys besides
//! * A function that an old driver lacks is an error code at the call, not a program that does not start.
//! * `cust` declares the result code as a Rust `enum`. A newer driver answers with codes that this enum has no variant
//!   for, and merely receiving such a value is undefined behaviour. The definitions receive a plain integer, pass on
//!   `CUDA_ERROR_UNKNOWN`, and keep the number for [`DriverError`].
//! * `PAGELOCK_LIBCUDA=/path/to/libcuda.so.1` names another file: a driver in an unusual place, or a test's fake.
//!
//! # Example
//! ```
//! match cpu::driver::init() {
//!     Ok(version) => println!("the driver speaks CUDA {version}"),
//!     Err(why) => println!("no CUDA: {why}"),
//! }
//! ```

mod codes;
mod error;
mod library;
mod symbols;
mod version;

pub use error::{DriverError, call};
pub use library::{LIBRARY_VARIABLE, Library, LoadError, library};
pub use version::{Version, version};

/// Why there is no driver to work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library did not open.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The library opened, and a call failed.
    #[error(transparent)]
    Call(#[from] DriverError),
}

/// Opens the driver and starts it. Cheap when called again.
///
/// # Errors
/// There is no driver, or the driver refuses: most often because there is no device.
pub fn init() -> Result<Version, Error> {
    library()?;
    // SAFETY: cuInit takes flags, of which 0 is the only value, and may be called at any time from any thread.
    call("cuInit", unsafe { cust::sys::cuInit(0) })?;
    version()
}
