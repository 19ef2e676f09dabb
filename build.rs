//! Compiles `gpu` to PTX, one file per architecture, and hands the text to `src/lib.rs` for embedding.
//!
//! Three compilers, in this order: rust-cuda, rustc's own `nvptx64` target, the PTX committed in `gpu/ptx`.
//! `PAGELOCK_KERNELS=auto|rust-cuda|rustc|committed` overrides. Under `auto` a compiler that is absent is
//! passed over, one that fails too and with a warning that says why; a compiler asked for by name must succeed.

mod build {
    pub mod choice;
    pub mod committed;
    pub mod image;
    pub mod nested;
    pub mod rust_cuda;
    pub mod rustc;
    pub mod sources;
    pub mod surroundings;
}

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use build::choice::{self, Request};
use build::image::{ARCHITECTURES, Image};
use build::sources::Sources;
use build::surroundings::Surroundings;

fn main() {
    if let Err(reason) = run() {
        eprintln!("\npagelock: the kernels could not be compiled to PTX.\n\n{reason}\n");
        process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let watched = ["build", "gpu/ptx"].into_iter().chain(build::sources::WATCHED).chain(build::rust_cuda::WATCHED);
    for path in watched.map(|path| root.join(path)).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for variable in ["PAGELOCK_KERNELS"].into_iter().chain(build::surroundings::VARIABLES) {
        println!("cargo::rerun-if-env-changed={variable}");
    }

    let asked = match env::var("PAGELOCK_KERNELS") {
        Err(env::VarError::NotUnicode(asked)) => Some(asked.to_string_lossy().into_owned()),
        asked => asked.ok(),
    };
    let request = Request::parse(asked.as_deref())?;
    let sources = Sources::read(&root.join("gpu"))?;
    let surroundings = Surroundings::from_environment();
    if let Some(builder) = surroundings.builder.as_ref().filter(|builder| builder.exists()) {
        println!("cargo::rerun-if-changed={}", builder.display()); // a script that was mended is run again
    }
    let workspace = choice::Workspace { root, scratch: scratch(&out), surroundings };
    let compiled = choice::compile(request, &workspace, &sources)?;
    for warning in &compiled.warnings {
        println!("cargo::warning={warning}");
    }
    embed(&out, &compiled.images)
}

/// Writes the PTX files and a Rust file that lists them.
fn embed(out: &Path, images: &[Image]) -> Result<(), String> {
    let mut list = String::from("&[\n");
    for (image, architecture) in images.iter().zip(ARCHITECTURES) {
        let file = out.join(image.file_name());
        fs::write(&file, &image.text).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
        list += &format!(
            "    Image {{ architecture: {:?}, minimum: ({}, {}), exact: {}, compiler: {:?}, ptx: include_str!({:?}) }},\n",
            architecture.name, architecture.major, architecture.minor, architecture.exact, image.compiler, file,
        );
    }
    list += "]\n";
    fs::write(out.join("images.rs"), list).map_err(|e| format!("cannot write images.rs: {e}"))
}

/// Where nested builds keep their artifacts: one folder beside the profiles of the target folder, so that `core` is
/// compiled once and not again for every profile.
fn scratch(out: &Path) -> PathBuf {
    // OUT_DIR is <target>/<profile>/build/<package>-<hash>/out
    out.ancestors().nth(4).unwrap_or(out).join("kernels-ptx")
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|e| format!("{name}: {e}; build.rs is run by cargo"))
}
