//! `matmul --kernels-from FILE.ptx`, as a user calls it, on the fake driver.

#[path = "support/fake.rs"]
mod fake;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

/// A small product with kernels from a file, on a fake GPU.
fn matmul(file: &Path) -> Command {
    let mut command = on_simt(file);
    command.args(["--device", "cuda:0"]);
    command.env("PAGELOCK_LIBCUDA", fake::library()).env("FAKE_CUDA", "devices=1").env_remove("FAKE_CUDA_LOG");
    command
}

/// The same where there is no driver.
fn on_simt(file: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpu"));
    command.env("PAGELOCK_LIBCUDA", "/nowhere/libcuda.so.1");
    command.args(["matmul", "--size", "40", "--iters", "1", "--warmup", "0", "--kernels-from"]).arg(file);
    command
}

/// A file in a folder that lives as long as the test's process.
fn file(name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kernels-from-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn embedded() -> &'static str {
    ptx::IMAGES.iter().find(|image| image.architecture == "sm_80").unwrap().ptx
}

#[test]
fn the_compiler_in_the_header_and_the_file_are_reported() {
    let text: Vec<&str> = embedded()
        .lines()
        .map(|line| if line.starts_with("// compiler") { "// compiler: rust-cuda 946c91f" } else { line })
        .collect();
    let path = file("with-header.ptx", text.join("\n"));
    let report = format!("sm_80 (compiled by rust-cuda 946c91f, from {})", path.display());
    matmul(&path).assert().success().stdout(contains(report).and(contains("other kernel sources").not()));

    let output = matmul(&path).args(["--json", "-"]).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["device"]["kernels"]["architecture"], "sm_80");
    let compiler = document["device"]["kernels"]["compiler"].as_str().unwrap();
    assert!(compiler.starts_with("rust-cuda 946c91f, from "), "{compiler}");
}

#[test]
fn without_a_header_the_file_is_named() {
    let text: Vec<&str> = embedded().lines().skip(3).collect();
    let path = file("without-header.ptx", text.join("\n"));
    let report = format!("(compiled by an unnamed compiler, from {})", path.display());
    matmul(&path).assert().success().stdout(contains(report));
}

#[test]
fn kernels_of_other_sources_are_run_with_a_note() {
    let path = file("other-sources.ptx", embedded().replace("// sources: sha256 ", "// sources: sha256 0"));
    let note = format!("note     {} was made from other kernel sources than this program", path.display());
    matmul(&path).assert().success().stdout(contains(note));
}

#[test]
fn a_file_that_is_missing_is_named() {
    matmul(Path::new("/nowhere/kernels.ptx"))
        .assert()
        .code(1)
        .stderr(contains("error: cannot read kernels from /nowhere/kernels.ptx: No such file"));
}

#[test]
fn a_file_that_is_no_ptx_is_refused_before_the_driver_sees_it() {
    for (name, garbage, missing) in [
        ("garbage.ptx", &b"\xff\xfe\x00\x01"[..], ".version"),
        ("empty.ptx", b"", ".version"),
        ("prose.ptx", b"// a .version of events\n.target practice\n", ".version"),
        ("half.ptx", b".version 7.0\n", ".target"),
    ] {
        let why = format!("{name} is no PTX: it has no line `{missing} …`");
        matmul(&file(name, garbage)).assert().code(1).stderr(contains(why));
    }
}

#[test]
fn ptx_that_the_driver_refuses_is_named_with_the_drivers_reason() {
    let path = file("future.ptx", embedded().replace(".version 7.0", ".version 99.0"));
    let why = format!("cannot load the kernels in {} (PTX 99.0 for sm_80): ", path.display());
    matmul(&path).assert().code(1).stderr(contains(why));
}

#[test]
fn a_kernel_that_the_file_lacks_is_named_with_those_that_it_has() {
    let path = file("lacking.ptx", embedded().replace("matmul_tiled", "matmul_filed"));
    let why = format!("{} has no kernel matmul_tiled; it has ", path.display());
    matmul(&path).assert().code(1).stderr(contains(why).and(contains("matmul_filed")));
    matmul(&path).args(["--kernel", "naive"]).assert().success();
    let none = file("none.ptx", ".version 7.0\n.target sm_80\n");
    matmul(&none).assert().code(1).stderr(contains("has no kernel matmul_tiled; it has none"));
}

#[test]
fn on_the_cpu_it_is_an_error_that_says_so() {
    let path = file("cpu.ptx", embedded());
    let why = format!("kernels from {} need a GPU, and this would run on the CPU", path.display());
    on_simt(&path).assert().code(1).stderr(contains(&why));
    on_simt(&path).args(["--device", "simt"]).assert().code(1).stderr(contains(&why));
}
