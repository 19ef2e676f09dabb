//! A system that starts no more threads.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use crate::support::{NO_DRIVER, binary};

/// Runs the program as a user who may have this many processes and threads. Root may have any number, so root becomes
/// nobody first, and runs a copy in a folder that nobody can enter. Nothing where that is not possible.
fn limited(threads: u32) -> Option<Output> {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("program");
    fs::copy(binary(), &program).unwrap();
    let nobody = ["setpriv", "--reuid=65534", "--clear-groups"];
    let able = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let mut command = if able(Command::new(nobody[0]).args(&nobody[1..]).arg(&program).arg("--version")) {
        let mut command = Command::new(nobody[0]);
        command.args(&nobody[1..]);
        command
    } else if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) != 0) {
        Command::new("env")
    } else {
        return None;
    };
    command.args(["prlimit", &format!("--nproc={threads}")]).arg(program);
    command.args(["matmul", "--device", "simt", "--size", "100", "--iters", "1"]);
    let output = command.env("PAGELOCK_LIBCUDA", NO_DRIVER).output().unwrap();
    Some(output)
}

#[test]
fn no_thread_at_all_is_an_error() {
    let Some(output) = limited(1) else { return eprintln!("skipped: no other user can be had here") };
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("error: the CPU device cannot start") && text.contains("ulimit -u"), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn few_threads_are_enough() {
    // How many processes nobody has already is not known, so either outcome is right; a panic never is.
    for threads in 2..6 {
        let Some(output) = limited(threads) else { return };
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)) && !text.contains("panicked"), "{threads}: {text}");
    }
}
