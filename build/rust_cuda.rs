//! rust-cuda: `gpu` through `cuda_builder` and the codegen backend rustc_codegen_nvvm.
//!
//! The backend needs a pinned nightly, LLVM 7 and libnvvm, and comes from git, so what calls it is a program in a
//! workspace of its own, `gpu/rust-cuda`, and runs as a process:
//!
//! ```text
//! PROGRAM <out> sm_75 sm_80 sm_90a
//! ```
//!
//! compiles the kernels and writes `<out>/kernels_<architecture>.ptx`, each with the header that the committed files have.
//! What it says on standard error is the reason, should it fail. PAGELOCK_RUST_CUDA_BUILDER names a program to run
//! instead, for instance one in a container.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::choice::{Failure, Workspace};
use super::image::{self, ARCHITECTURES, Image};
use super::nested;
use super::sources::Sources;
use super::surroundings::Nvvm;

/// What makes up the program, relative to the repository.
pub const WATCHED: [&str; 5] = [
    "gpu/rust-cuda/builder",
    "gpu/rust-cuda/kernels",
    "gpu/rust-cuda/Cargo.toml",
    "gpu/rust-cuda/Cargo.lock",
    "gpu/rust-cuda/rust-toolchain.toml",
];

/// The toolchain that `gpu/rust-cuda/rust-toolchain.toml` names.
const NIGHTLY: &str = "nightly-2026-04-02";

/// Where the backend may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// One that is there.
    Found,
    /// One that is there, or else one built now, which takes LLVM 7 and minutes.
    FoundOrBuilt,
}

/// Compiles the kernels with rust-cuda.
pub fn compile(workspace: &Workspace, sources: &Sources, backend: Backend) -> Result<Vec<Image>, Failure> {
    let target = workspace.scratch.join("rust-cuda");
    let mut program = match &workspace.surroundings.builder {
        Some(program) => {
            let mut command = Command::new(program);
            nested::clean_environment(&mut command);
            command
        }
        None => from_sources(workspace, &target, backend)?,
    };
    run(&mut program, workspace, sources).map_err(Failure::Failed)
}

fn run(program: &mut Command, workspace: &Workspace, sources: &Sources) -> Result<Vec<Image>, String> {
    let _lock = nested::lock(&workspace.scratch)?;
    let out = workspace.scratch.join("rust-cuda-ptx");
    // What an earlier build wrote must not pass for what this one did not.
    let emptied = match fs::remove_dir_all(&out) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => fs::create_dir_all(&out),
    };
    emptied.map_err(|e| format!("cannot empty {}: {e}", out.display()))?;

    program.arg(&out).args(ARCHITECTURES.iter().map(|architecture| architecture.name));
    let name = program.get_program().to_string_lossy().into_owned();
    let output = program.output().map_err(|e| {
        let named = workspace.surroundings.builder.as_ref().map_or("", |_| "; PAGELOCK_RUST_CUDA_BUILDER names it");
        format!("cannot start {name}: {e}{named}")
    })?;
    if !output.status.success() {
        let reason = nested::errors(&String::from_utf8_lossy(&output.stderr));
        return Err(format!("{name}: {}\n{reason}", output.status));
    }
    ARCHITECTURES.iter().map(|architecture| read(architecture.name, &out, &name, sources)).collect()
}

/// Reads what the program wrote, and believes none of it.
fn read(architecture: &str, out: &Path, program: &str, sources: &Sources) -> Result<Image, String> {
    let file = image::file_name(architecture);
    let text = match fs::read_to_string(out.join(&file)) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(format!("{program} ended well and did not write {file}"));
        }
        Err(e) => return Err(format!("cannot read {file}, which {program} wrote: {e}")),
    };
    let checked = Image::parse(text.replace("\r\n", "\n")).and_then(|image| {
        image.check(architecture, sources)?;
        Ok(image)
    });
    checked.map_err(|reason| format!("{file}, which {program} wrote: {reason}"))
}

/// The program in `gpu/rust-cuda`, compiled and run by the pinned nightly's cargo.
fn from_sources(workspace: &Workspace, target: &Path, backend: Backend) -> Result<Command, Failure> {
    let surroundings = &workspace.surroundings;
    let built = surroundings.backend(target);
    let nvvm = surroundings.nvvm();
    let mut missing = Vec::new();
    if built.is_none() && (backend == Backend::Found || !surroundings.has_llvm_7()) {
        missing.push("librustc_codegen_nvvm.so on LD_LIBRARY_PATH (or LLVM 7 to build one with: LLVM_CONFIG, or llvm-config in PATH)");
    }
    if nvvm.is_none() {
        missing.push("libnvvm.so.4 on LD_LIBRARY_PATH or in a CUDA toolkit");
    }
    let (true, Some(nvvm)) = (missing.is_empty(), nvvm) else {
        return Err(Failure::Absent(format!("missing: {}; and {NIGHTLY} is needed. {ADVICE}", missing.join("; "))));
    };
    let folder = workspace.root.join("gpu/rust-cuda");
    let nightly = Nightly::find(&folder).map_err(Failure::Failed)?;
    nightly.lock_dependencies(&folder, target, &nvvm).map_err(Failure::Failed)?;

    let mut command = nightly.cargo(&folder, target, &nvvm);
    command.args(["run", "--release", "--locked", "--package", "builder"]);
    if built.is_none() {
        command.args(["--features", "build-backend"]);
    }
    command.arg("--");
    Ok(command)
}

const ADVICE: &str = "guide/src/toolchains.md says how to install rust-cuda; without it PAGELOCK_KERNELS=auto and \
                      =rustc compile the same kernels";

/// A call of a compiler or of rustup that only asks. Rustup's stand-ins would install the toolchain that a file names to
/// answer: more than a gigabyte, which is for the user to want.
fn asking(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    nested::clean_environment(&mut command);
    command.env("RUSTUP_AUTO_INSTALL", "0");
    command
}

/// The toolchain that the backend is a plug-in of.
struct Nightly {
    /// The folder of the real cargo and rustc, not rustup's stand-ins for them: `cuda_builder` starts both by name.
    bin: PathBuf,
}

impl Nightly {
    /// The rustc in PATH if it is a nightly (or rustup's stand-in, which reads the workspace's toolchain file), else the
    /// pinned one of rustup.
    fn find(folder: &Path) -> Result<Self, String> {
        if let Some(nightly) = Self::of(OsStr::new("rustc"), folder) {
            return Ok(nightly);
        }
        let output = asking("rustup").args(["which", "--toolchain", NIGHTLY, "rustc"]).output();
        let rustc = output.ok().filter(|output| output.status.success());
        let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        rustc.and_then(|rustc| Self::of(OsStr::new(&rustc), folder)).ok_or_else(|| {
            format!(
                "rust-cuda's backend is a plug-in of one compiler, which is not here: the rustc in PATH is no nightly, and \
                 rustup has no {NIGHTLY}. `rustup toolchain install {NIGHTLY} --component rust-src --component rustc-dev \
                 --component llvm-tools-preview`, or put its folder first in PATH"
            )
        })
    }

    fn of(rustc: &OsStr, folder: &Path) -> Option<Self> {
        let ask = |question: &[&str]| {
            let output = asking(rustc).args(question).current_dir(folder).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        if !ask(&["--version"])?.contains("-nightly") {
            return None;
        }
        let bin = PathBuf::from(ask(&["--print", "sysroot"])?).join("bin");
        bin.join("cargo").is_file().then_some(Self { bin })
    }

    /// A call of the nightly's cargo in the workspace.
    fn cargo(&self, folder: &Path, target: &Path, nvvm: &Nvvm) -> Command {
        let mut command = Command::new(self.bin.join("cargo"));
        nested::clean_environment(&mut command);
        nested::prepend(&mut command, "PATH", [self.bin.clone()]);
        nested::prepend(&mut command, "LD_LIBRARY_PATH", [nvvm.folder.clone()]);
        if let Some(toolkit) = &nvvm.toolkit {
            command.env("CUDA_PATH", toolkit); // for the headers, the same toolkit as the library's
        }
        // Also where `cuda_builder` looks for a backend that was built here.
        command.env("CARGO_TARGET_DIR", target).current_dir(folder);
        command
    }

    /// Makes `gpu/rust-cuda/Cargo.lock` if there is none. `cuda_std` asks for any `glam` from 0.27 on and compiles with
    /// 0.30 at most, which only a lock file can say.
    fn lock_dependencies(&self, folder: &Path, target: &Path, nvvm: &Nvvm) -> Result<(), String> {
        let file = folder.join("Cargo.lock");
        if file.is_file() {
            return Ok(());
        }
        for arguments in [&["generate-lockfile"][..], &["update", "glam", "--precise", "0.30.9"]] {
            let output = self.cargo(folder, target, nvvm).args(arguments).output();
            let output = output.map_err(|e| format!("cannot start {}: {e}", self.bin.join("cargo").display()))?;
            if !output.status.success() {
                let _ = fs::remove_file(&file); // half a lock would be taken for a whole one next time
                let reason = nested::errors(&String::from_utf8_lossy(&output.stderr));
                return Err(format!("cargo {}: {}\n{reason}", arguments.join(" "), output.status));
            }
        }
        Ok(())
    }
}
