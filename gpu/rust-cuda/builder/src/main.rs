//! Compiles the kernels to PTX with rust-cuda, one file per architecture.
//!
//! ```text
//! builder <out> sm_75 sm_80 sm_90a
//! ```
//!
//! writes `<out>/kernels_<architecture>.ptx`. The main workspace's `build/rust_cuda.rs` runs this and says where the
//! compiler, the backend and libnvvm are; by hand, with the nightly's folder first in PATH and both libraries on
//! LD_LIBRARY_PATH, it is `cargo run --release -- /tmp/ptx sm_80` in `gpu/rust-cuda`.

// How files are named, which header they have and what they must contain is build.rs's affair.
#[path = "../../../../build"]
mod build {
    #[allow(dead_code)] // build.rs uses the rest
    pub mod image;
    #[allow(dead_code)]
    pub mod sources;
}

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use build::image::{self, Image};
use build::sources::Sources;
use cuda_builder::{CudaBuilder, NvvmArch};

/// As in `Cargo.toml`.
const REVISION: &str = "946c91f";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((out, architectures)) = arguments.split_first().filter(|(_, architectures)| !architectures.is_empty())
    else {
        eprintln!("usage: builder <out> <architecture>…, as in builder /tmp/ptx sm_75 sm_80 sm_90a");
        return ExitCode::from(2);
    };
    let outcome = architectures.iter().try_for_each(|architecture| compile(architecture, Path::new(out)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compile(architecture: &str, out: &Path) -> Result<(), String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let nvvm = nvvm_architecture(architecture)?;
    // The digest is of what is compiled here, so that build.rs sees it where that is another checkout than its own.
    let sources = Sources::read(&gpu(&workspace))?;
    let ptx = CudaBuilder::new(workspace.join("kernels"))
        .arch(nvvm)
        // Where kernels want one rounding they say `mul_add`. Contracting the rest would make results that differ from
        // those of the other compilers and of simt.
        .fma_contraction(false)
        .build()
        .map_err(|reason| format!("cuda_builder, {architecture}: {reason}"))?;
    let body = fs::read_to_string(&ptx).map_err(|e| format!("cannot read {}: {e}", ptx.display()))?;
    let image = Image::new(architecture, &compiler(), &sources, &body)?;
    let file = out.join(image::file_name(architecture));
    fs::create_dir_all(out).and_then(|()| fs::write(&file, image.text)).map_err(|e| format!("{}: {e}", file.display()))
}

/// The folder of the kernels' first manifest, without `..` in its name, which would be a part of the digest.
fn gpu(workspace: &Path) -> PathBuf {
    let folder = workspace.join("..");
    folder.canonicalize().unwrap_or(folder)
}

fn nvvm_architecture(name: &str) -> Result<NvvmArch, String> {
    match name {
        "sm_75" => Ok(NvvmArch::Compute75),
        "sm_80" => Ok(NvvmArch::Compute80),
        "sm_90" => Ok(NvvmArch::Compute90),
        "sm_90a" => Ok(NvvmArch::Compute90a),
        "sm_100" => Ok(NvvmArch::Compute100),
        other => Err(format!("{other} is not known here: sm_75, sm_80, sm_90, sm_90a and sm_100 are")),
    }
}

/// Who compiles: upstream's revision, and the rustc in PATH, which is what `cuda_builder` starts.
fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    // `rustc 1.96.0-nightly (48cc71ee8 2026-04-01)`
    let version = version.split_whitespace().nth(1).unwrap_or("of an unknown version");
    format!("rust-cuda {REVISION}, rustc_codegen_nvvm (rustc {version})")
}
