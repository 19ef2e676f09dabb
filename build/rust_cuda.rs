//! rust-cuda: `gpu` through `cuda_builder` and the codegen backend rustc_codegen_nvvm.
//!
//! The backend needs a pinned nightly, LLVM 7 and libnvvm, and comes from git, so it lives in a workspace of its own and
//! is run as a process. This build knows no such workspace yet, so the compiler is always absent.

use super::choice::{Failure, Workspace};
use super::image::Image;
use super::sources::Sources;

/// Compiles the kernels with rust-cuda.
pub fn compile(_workspace: &Workspace, _sources: &Sources) -> Result<Vec<Image>, Failure> {
    Err(Failure::Absent(
        "this version of pagelock has no rust-cuda build yet; PAGELOCK_KERNELS=rustc or auto compiles the same kernels"
            .into(),
    ))
}
