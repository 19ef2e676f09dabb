//! The kernel sources as one digest, which says whether a PTX file belongs to them.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What makes up the kernels, relative to the repository.
pub const WATCHED: [&str; 4] = ["gpu/src", "gpu/Cargo.toml", "gpu/macros/src", "gpu/macros/Cargo.toml"];

/// The kernel sources.
pub struct Sources {
    /// SHA-256 over names and contents, in hexadecimal.
    pub digest: String,
    /// The names of the kernels that they declare, which are the entry points that PTX must have.
    pub kernels: Vec<String>,
}

impl Sources {
    /// Reads every source below `gpu`.
    pub fn read(gpu: &Path) -> Result<Self, String> {
        let root = gpu.parent().unwrap_or(gpu);
        let mut files = Vec::new();
        for watched in WATCHED {
            collect(&root.join(watched), &mut files)?;
        }
        files.sort();
        let mut hash = Sha256::new();
        let mut kernels = Vec::new();
        for file in &files {
            let text = fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
            let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
            let text = text.replace("\r\n", "\n"); // a checkout with converted line ends is still the same source
            hash.update(format!("{name} {}\n", text.len()));
            kernels.extend(declared_kernels(&text));
            hash.update(text);
        }
        Ok(Self { digest: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), kernels })
    }
}

/// The function names after `#[kernel(…)]`. A kernel that a macro declares has no name here yet and is not found.
fn declared_kernels(text: &str) -> impl Iterator<Item = String> {
    let attribute = |line: &str| line.trim_start().starts_with("#[kernel(");
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        lines.by_ref().find(|line| attribute(line))?;
        let (_, declaration) = lines.by_ref().find_map(|line| line.split_once("fn "))?;
        Some(declaration.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect::<String>())
    })
    .filter(|name| !name.is_empty())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let unreadable = |e| format!("cannot read {}: {e}", path.display());
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() || path.extension().is_some_and(|e| e == "rs" || e == "toml") {
            collect(&path, files)?;
        }
    }
    Ok(())
}
