//! The PTX committed in `gpu/ptx`, for machines without a compiler for it.

use std::fs;

use super::choice::{Failure, Workspace};
use super::image::{ARCHITECTURES, Image};
use super::sources::Sources;

/// Reads the committed files and refuses those that were not made from these sources.
pub fn read(workspace: &Workspace, sources: &Sources) -> Result<Vec<Image>, Failure> {
    ARCHITECTURES.iter().map(|architecture| read_one(architecture.name, workspace, sources)).collect()
}

fn read_one(architecture: &str, workspace: &Workspace, sources: &Sources) -> Result<Image, Failure> {
    let relative = format!("gpu/ptx/kernels_{architecture}.ptx");
    let text = fs::read_to_string(workspace.root.join(&relative))
        .map_err(|e| Failure::Failed(format!("cannot read {relative}: {e}. {ADVICE}")))?;
    let mut image = Image::parse(text.replace("\r\n", "\n"))
        .map_err(|reason| Failure::Failed(format!("{relative}: {reason}. {ADVICE}")))?;
    image.check(architecture, sources).map_err(|reason| Failure::Failed(format!("{relative}: {reason}. {ADVICE}")))?;
    // What the program tells of itself; the header in the text stays that of the compiler.
    image.compiler = format!("{COMMITTED}{}", image.compiler);
    Ok(image)
}

/// Before the name of the compiler, in [`Image::compiler`] of a committed file.
pub const COMMITTED: &str = "committed, made by ";

const ADVICE: &str = "Get a compiler for the kernels: with rustup `rustup component add rust-src`, on Debian \
                      `apt-get install rustc-web cargo-web rust-web-src`; or unset PAGELOCK_KERNELS where one is there. \
                      The next build then compiles them afresh, and `cargo refresh-ptx` rewrites the committed files.";
