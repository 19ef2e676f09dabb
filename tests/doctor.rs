//! `doctor` as a user runs it: without a driver, on the fake driver as it should be, and with each thing off that it must
//! see. The machine's own driver, if there is one, plays no part.

#[path = "support/fake.rs"]
mod fake;

use std::ffi::OsStr;
use std::process::{Command, Output};

/// Runs `doctor` with this driver library and this `FAKE_CUDA`.
fn doctor(library: &OsStr, configuration: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpu"));
    command.arg("doctor").args(arguments).env("PAGELOCK_LIBCUDA", library).env("FAKE_CUDA", configuration);
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    (status.code().unwrap(), String::from_utf8(stdout).unwrap())
}

fn on_fake(configuration: &str) -> (i32, String) {
    doctor(fake::library().as_os_str(), configuration, &[])
}

/// The line about a subject, with its verdict.
fn line<'t>(text: &'t str, subject: &str) -> &'t str {
    let found = text.lines().find(|line| line.get(8..).is_some_and(|rest| rest.starts_with(subject)));
    found.unwrap_or_else(|| panic!("nothing about {subject}:\n{text}"))
}

#[test]
fn no_driver_is_no_fault() {
    // An empty variable names nothing. Where there is a driver, this test has nothing to see.
    let (code, text) = doctor(OsStr::new(""), "", &[]);
    if line(&text, "library").contains("ok ") {
        return;
    }
    assert_eq!(code, 0, "{text}");
    assert!(line(&text, "library").contains("note") && text.contains("libcuda.so.1"), "{text}");
    assert!(text.contains("runs on the CPU"), "{text}");
    assert!(line(&text, "program").contains("sm_80 (PTX"), "{text}");
}

#[test]
fn a_named_driver_that_is_not_one_is_a_fault() {
    for (library, reason) in [("/nonexistent/libcuda.so.1", "cannot open"), ("libc.so.6", "no function cuInit")] {
        let (code, text) = doctor(OsStr::new(library), "", &[]);
        assert_eq!(code, 1, "{text}");
        let found = line(&text, "library");
        for part in ["BAD", library, reason, "PAGELOCK_LIBCUDA"] {
            assert!(found.contains(part), "`{part}` is not in: {text}");
        }
    }
}

#[test]
fn a_gpu_that_works_is_described() {
    let (code, text) = on_fake("devices=2,driver=13000,cc=9.0");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("\ncuda:0\n") && text.contains("\ncuda:1\n"), "{text}");
    for (subject, found) in [
        ("version", "CUDA 13.0"),
        ("device", "compute capability 9.0"),
        ("kernels", "sm_90a"),
        ("map host memory", "yes"),
    ] {
        let line = line(&text, subject);
        assert!(line.contains(found) && line.contains("ok"), "{line}");
    }
    assert!(!text.contains("BAD "), "{text}");
}

#[test]
fn what_is_off_is_named_with_what_to_do() {
    for (configuration, subject, verdict, part, code) in [
        ("devices=0", "GPUs", "note", "none", 0),
        ("fail=cuInit:1:803", "start", "BAD", "803", 1),
        ("cc=6.1", "device", "BAD", "7.5", 1),
        ("max_ptx=3.0", "device", "BAD", "PTX", 1),
        ("max_ptx=7.0", "kernels", "ok", "sm_80", 0),
        ("no_map_host", "map host memory", "note", "no", 0),
    ] {
        let (exit, text) = on_fake(configuration);
        let found = line(&text, subject);
        assert!(found.contains(verdict) && found.contains(part), "{configuration}: {found}\n{text}");
        assert_eq!(exit, code, "{configuration}: {text}");
        assert!(verdict == "ok" || text.contains("  -> "), "{configuration}: no advice\n{text}");
    }
}

#[test]
fn the_document_parses_and_agrees() {
    let (code, text) = doctor(fake::library().as_os_str(), "cc=6.1", &["--json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!((document["verdict"].as_str(), code), (Some("bad"), 1));
    let titles: Vec<&str> =
        document["sections"].as_array().unwrap().iter().map(|section| section["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["host", "driver", "cuda:0"]);
}
