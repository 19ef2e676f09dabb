//! A driver call that failed: which, how, what it means and what to do.

use core::fmt;

use cust::error::CudaError;
use cust::sys::CUresult;

use super::{codes, symbols};

/// A driver call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverError {
    call: &'static str,
    number: i32,
}

/// Checks what a driver call returned. `name` is the function's, as the driver exports it or as NVIDIA documents it.
///
/// # Errors
/// The code is not `CUDA_SUCCESS`.
pub fn call(name: &'static str, code: CUresult) -> Result<(), DriverError> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(DriverError::new(name, code)) }
}

impl DriverError {
    /// The failure of `call`, made on the thread that made the call and before its next call, so that a code which
    /// `cust::sys` has no name for keeps its number.
    pub fn new(call: &'static str, code: CUresult) -> Self {
        Self { call, number: number_behind(code as i32) }
    }

    /// The failure of a `cust` function that stands for the driver function `call`. What [`new`](Self::new) says of
    /// threads holds here too: `cust` drops the numbers of a third of the errors, among them 222, the PTX that is too
    /// new.
    pub fn from_cust(call: &'static str, error: CudaError) -> Self {
        Self { call, number: number_behind(error as i32) }
    }

    /// The function that failed.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// The code. One that `cust::sys` has no name for is `CUDA_ERROR_UNKNOWN`.
    pub fn code(&self) -> CUresult {
        codes::result(self.number)
    }

    /// The number, as the driver gave it.
    pub fn number(&self) -> i32 {
        self.number
    }

    /// `CUDA_ERROR_…`.
    pub fn name(&self) -> &'static str {
        codes::find(self.number).map_or("an error newer than pagelock", |code| text(code.name))
    }

    /// What the code means.
    pub fn meaning(&self) -> &'static str {
        codes::find(self.number).map_or("NVIDIA's documentation of CUresult describes it", |code| text(code.meaning))
    }

    /// What to do about it, where that can be said in general.
    pub fn advice(&self) -> Option<&'static str> {
        codes::find(self.number).and_then(|code| code.advice)
    }

    /// Memory ran out, of the device or for page-locking.
    pub fn is_out_of_memory(&self) -> bool {
        self.number == CUresult::CUDA_ERROR_OUT_OF_MEMORY as i32
    }

    /// Not a failure but an answer: the work asked about has not ended.
    pub fn is_not_ready(&self) -> bool {
        self.number == CUresult::CUDA_ERROR_NOT_READY as i32
    }

    /// Every later call in this process will fail as well, including those that free memory.
    ///
    /// These are the codes of which NVIDIA's documentation of `CUresult` says that the context cannot be used anymore or
    /// that the process is left in an inconsistent state (226, 700, 702, 710, 714 to 719, 721, 810, 911), and three where
    /// that follows from the meaning (4, 214, 709).
    pub fn leaves_context_unusable(&self) -> bool {
        codes::find(self.number).is_some_and(|code| code.ends_context)
    }
}

/// 999 stands for every code that somebody on the way had no name for; the number is then what the driver last said.
fn number_behind(number: i32) -> i32 {
    let latest = symbols::latest_failure();
    if number == CUresult::CUDA_ERROR_UNKNOWN as i32 && latest != 0 { latest } else { number }
}

fn text(text: &'static core::ffi::CStr) -> &'static str {
    text.to_str().expect("the table is ASCII")
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed with {} ({}): {}", self.call, self.name(), self.number, self.meaning())?;
        if let Some(advice) = self.advice() {
            write!(f, ". {advice}")?;
        }
        if self.leaves_context_unusable() {
            f.write_str(". Nothing more can be done with the device in this process; start it anew")?;
        }
        Ok(())
    }
}

impl std::error::Error for DriverError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_no_error() {
        assert_eq!(call("cuInit", CUresult::CUDA_SUCCESS), Ok(()));
    }

    #[test]
    fn an_error_says_which_call_what_and_what_to_do() {
        let error = call("cuMemHostAlloc", CUresult::CUDA_ERROR_OUT_OF_MEMORY).unwrap_err();
        assert!(error.is_out_of_memory() && !error.leaves_context_unusable());
        let text = error.to_string();
        for part in ["cuMemHostAlloc", "CUDA_ERROR_OUT_OF_MEMORY", "(2)", "ulimit -l"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }

    #[test]
    fn a_fault_ends_the_context() {
        let error = call("cuStreamSynchronize", CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).unwrap_err();
        assert!(error.leaves_context_unusable());
        assert!(error.to_string().contains("start it anew"), "{error}");
    }

    #[test]
    fn custs_errors_keep_their_number() {
        let error = DriverError::from_cust("cuModuleLoadDataEx", CudaError::InvalidPtx);
        assert_eq!((error.number(), error.name()), (218, "CUDA_ERROR_INVALID_PTX"));
    }
}
