//! What the compilers that run as processes have in common: whose environment they see, who waits for whom, and which
//! lines of their output matter.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Takes from a process what the outer cargo and the user's flags for the host put into the environment.
pub fn clean_environment(command: &mut Command) {
    for (name, _) in env::vars_os().filter(|(name, _)| !is_passed_on(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

/// Whether a variable of the environment reaches the process.
fn is_passed_on(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_", "RUSTUP_HOME"];
    KEPT.iter().any(|kept| name.starts_with(kept)) || !(name.starts_with("CARGO") || name.starts_with("RUST"))
}

/// Puts folders before those of a search path such as PATH.
pub fn prepend(command: &mut Command, variable: &str, folders: impl IntoIterator<Item = PathBuf>) {
    let old = env::var_os(variable).unwrap_or_default();
    let old = env::split_paths(&old).filter(|folder| !folder.as_os_str().is_empty());
    // Only a folder with a separator in its name cannot be joined, and such a folder cannot be searched either.
    if let Ok(path) = env::join_paths(folders.into_iter().chain(old)) {
        command.env(variable, path);
    }
}

/// Waits until no other build uses the folder, which is made if need be. Let go of when dropped.
pub fn lock(scratch: &Path) -> Result<File, String> {
    let failed = |e| format!("cannot use {}: {e}", scratch.display());
    fs::create_dir_all(scratch).map_err(failed)?;
    let lock = File::create(scratch.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}

/// The lines of cargo's output from the first error on, or the last ones.
pub fn errors(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("error")).unwrap_or(lines.len().saturating_sub(20));
    lines[first..].iter().take(40).copied().collect::<Vec<_>>().join("\n")
}
