//! Readers that leave, and places that take nothing.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use crate::support::{NO_DRIVER, binary};

/// Several tables, so that there is something left to print when the reader has gone.
const TABLES: [&str; 8] = ["matmul", "--device", "simt", "--size", "32,33,34", "--iters", "2", "--warmup=0"];

fn program(more: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.env("PAGELOCK_LIBCUDA", NO_DRIVER).args(TABLES).args(more).stderr(Stdio::piped());
    command
}

/// Reads one line, as `head -1` does, and leaves.
fn head(more: &[&str]) -> (String, Output) {
    let mut child = program(more).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (line, child.wait_with_output().unwrap())
}

/// Nobody ever reads.
fn unread(more: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    program(more).stdout(writer).output().unwrap()
}

#[track_caller]
fn quiet(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_reader_that_leaves_ends_the_program_quietly() {
    let (line, output) = head(&[]);
    assert!(line.starts_with("device "), "{line}");
    quiet(&output);
    let (line, output) = head(&["--json", "-"]);
    assert_eq!(line, "{\n");
    quiet(&output);
    let (line, output) = head(&["--csv", "-"]);
    assert!(line.starts_with("device,"), "{line}");
    quiet(&output);
}

#[test]
fn nobody_reads_from_the_start() {
    quiet(&unread(&[]));
    quiet(&unread(&["--json", "-"]));
    // Less than csv's own buffer, and more.
    quiet(&unread(&["--csv", "-"]));
    let sizes = vec!["2"; 50].join(",");
    quiet(&unread(&["--csv", "-", "--size", &sizes]));
    quiet(&unread(&["--json", "/dev/stdout", "--quiet"]));
}

#[test]
fn the_files_are_written_when_the_reader_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let (json, csv) = (folder.path().join("report.json"), folder.path().join("samples.csv"));
    let (json_name, csv_name) = (json.to_str().unwrap(), csv.to_str().unwrap());
    let (_, output) = head(&["--json", json_name, "--csv", csv_name]);
    quiet(&output);
    let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(document["sizes"].as_array().unwrap().len(), 3);
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + 3 * 3 * 2);

    fs::remove_file(&csv).unwrap();
    quiet(&unread(&["--json", "-", "--csv", csv_name]));
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + 3 * 3 * 2);
}

#[test]
fn a_closed_standard_output_is_no_panic() {
    for more in ["", "--json -", "--csv -"] {
        let script = format!("exec \"$0\" {} {more} >&-", TABLES.join(" "));
        let output = Command::new("sh").args(["-c", &script, binary()]).output().unwrap();
        quiet(&output);
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    for more in [&[] as &[&str], &["--json", "-"], &["--csv", "-"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = program(more).stdout(full).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.starts_with("error: cannot write to standard output: No space left"), "{message}");
        assert!(!message.contains("panicked"), "{message}");
    }
}

#[test]
fn a_full_standard_error_is_no_panic() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let output = program(&["--out", "/nonexistent/c.npy"]).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = program(&["--json", "/nonexistent/report.json"]).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let output = program(&["--iters", "0"]).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
