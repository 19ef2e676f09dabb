//! rustc's own `nvptx64-nvidia-cuda` target, which needs nothing but the source of `core`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::choice::{Failure, Workspace};
use super::image::{ARCHITECTURES, Image};
use super::nested;
use super::sources::Sources;

/// A compiler whose `core` can be compiled for the GPU.
struct Toolchain {
    sysroot: PathBuf,
    version: String,
}

/// Compiles the kernels with the active toolchain, or with Debian's.
pub fn compile(workspace: &Workspace, sources: &Sources) -> Result<Vec<Image>, Failure> {
    let toolchains = candidates();
    if toolchains.is_empty() {
        return Err(Failure::Absent(
            "no rustc here has the source of `core`. With rustup: `rustup component add rust-src`. \
             On Debian: `apt-get install rustc-web cargo-web rust-web-src`."
                .into(),
        ));
    }
    let mut reasons = Vec::new();
    for toolchain in toolchains {
        match toolchain.compile_all(workspace, sources) {
            Ok(images) => return Ok(images),
            Err(reason) => reasons.push(format!("rustc {}: {reason}", toolchain.version)),
        }
    }
    Err(Failure::Failed(reasons.join("\n")))
}

/// The active toolchain, then `/usr/bin/rustc`, where they have the source of `core`.
fn candidates() -> Vec<Toolchain> {
    let active = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut found: Vec<Toolchain> = Vec::new();
    for rustc in [active, OsString::from("/usr/bin/rustc")] {
        if let Some(toolchain) = Toolchain::with_core_source(&rustc)
            && found.iter().all(|other| other.sysroot != toolchain.sysroot)
        {
            found.push(toolchain);
        }
    }
    found
}

impl Toolchain {
    fn with_core_source(rustc: &OsString) -> Option<Self> {
        let print = |argument: &[&str]| {
            let output = Command::new(rustc).args(argument).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let sysroot = PathBuf::from(print(&["--print", "sysroot"])?);
        // `rustc 1.95.0 (59807616e 2026-04-14)`
        let version = print(&["--version"])?.split_whitespace().nth(1)?.to_owned();
        let core = sysroot.join("lib/rustlib/src/rust/library/core/src/lib.rs");
        core.is_file().then_some(Self { sysroot, version })
    }

    fn compile_all(&self, workspace: &Workspace, sources: &Sources) -> Result<Vec<Image>, String> {
        // The output's name does not depend on the architecture, so two builds must not interleave.
        let _lock = nested::lock(&workspace.scratch)?;
        ARCHITECTURES.iter().map(|architecture| self.compile(architecture.name, workspace, sources)).collect()
    }

    fn compile(&self, architecture: &str, workspace: &Workspace, sources: &Sources) -> Result<Image, String> {
        let target = workspace.scratch.join(format!("rustc-{}", self.version));
        let output = self.cargo(architecture, &workspace.root, &target).output();
        let output = output.map_err(|e| format!("cannot start cargo: {e}"))?;
        if !output.status.success() {
            return Err(format!("{}\n{}", output.status, nested::errors(&String::from_utf8_lossy(&output.stderr))));
        }
        let assembly = target.join("nvptx64-nvidia-cuda/kernels/deps/gpu.s");
        let body = fs::read_to_string(&assembly).map_err(|e| format!("cannot read {}: {e}", assembly.display()))?;
        Image::new(architecture, &format!("rustc {}, nvptx64-nvidia-cuda", self.version), sources, &body)
    }

    /// The nested cargo call. Its environment is the user's, less what the outer cargo and the user's flags for the
    /// host put there.
    fn cargo(&self, architecture: &str, root: &Path, target: &Path) -> Command {
        let bin = self.sysroot.join("bin");
        let mut command = Command::new(bin.join("cargo"));
        nested::clean_environment(&mut command);
        nested::prepend(&mut command, "PATH", [bin.clone()]);
        command
            .env("RUSTC", bin.join("rustc"))
            .env("RUSTC_BOOTSTRAP", "1") // -Zbuild-std and the features of the nvptx target on a stable compiler
            .current_dir(root)
            .args(["rustc", "--package", "gpu", "--lib", "--crate-type", "cdylib", "--profile", "kernels"])
            .args(["--target", "nvptx64-nvidia-cuda", "-Zbuild-std=core", "--target-dir"])
            .arg(target)
            .args(["--", "--emit=asm", "-C", &format!("target-cpu={architecture}")])
            .args(["-C", "linker=/bin/true"]); // PTX is text: there is nothing to link
        command
    }
}
