//! Stands in for rust-cuda's `cuda_builder` where that cannot be fetched: the names and types that `gpu/rust-cuda` uses,
//! written from reading upstream. `.ci/rust-cuda.sh` compiles the builder against it. What it "compiles" is the file
//! that `CUDA_BUILDER_STAND_IN` names, with `{arch}` for `sm_…`.

use std::path::{Path, PathBuf};
use std::{env, fmt};

/// The virtual architectures; upstream has more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NvvmArch {
    Compute75,
    Compute80,
    Compute90,
    Compute90a,
    Compute100,
}

#[derive(Debug)]
#[non_exhaustive]
pub enum CudaBuilderError {
    BuildFailed,
}

impl fmt::Display for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Build failed")
    }
}

pub struct CudaBuilder {
    arch: NvvmArch,
}

impl CudaBuilder {
    pub fn new(_path_to_crate_root: impl AsRef<Path>) -> Self {
        Self { arch: NvvmArch::Compute75 }
    }

    pub fn arch(self, arch: NvvmArch) -> Self {
        Self { arch }
    }

    pub fn fma_contraction(self, _fma_contraction: bool) -> Self {
        self
    }

    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        let file = env::var("CUDA_BUILDER_STAND_IN").map_err(|_| CudaBuilderError::BuildFailed)?;
        let arch = format!("{:?}", self.arch).to_lowercase().replace("compute", "sm_");
        Ok(file.replace("{arch}", &arch).into())
    }
}
