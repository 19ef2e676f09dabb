//! Runs the program and looks at what it left.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::fake;

/// A driver that is not there.
pub const NO_DRIVER: &str = "/nonexistent/libcuda.so.1";

/// The program with no driver in sight, whatever the machine has.
pub fn program() -> Command {
    let mut command = Command::new(binary());
    command.env("PAGELOCK_LIBCUDA", NO_DRIVER).env_remove("FAKE_CUDA").env_remove("FAKE_CUDA_LOG");
    command.timeout(Duration::from_secs(60)).arg("matmul");
    command
}

/// The program's file.
pub fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_cpu")
}

/// What a run came to.
pub struct Run {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Of the fake driver, a line per event.
    pub log: Vec<String>,
}

impl Run {
    pub fn of(output: Output, log: Vec<String>) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        let Output { status, stdout, stderr } = output;
        Self { code: status.code(), signal: status.signal(), stdout: text(stdout), stderr: text(stderr), log }
    }

    /// Exit code 0 and nothing on standard error: in a pipe there is no progress.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{}", self.stdout);
        self
    }

    /// This exit code and one message that has all of these parts.
    #[track_caller]
    pub fn failed(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        assert_eq!(self.stderr.matches("error: ").count(), 1, "one error, said once: {}", self.stderr);
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("RUST_BACKTRACE"), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not in: {}", self.stderr);
        }
        self
    }

    /// The driver was used as it must be, and nothing was alive at the end.
    #[track_caller]
    pub fn left_nothing(self) -> Self {
        let violations: Vec<&String> = self.log.iter().filter(|line| line.contains("VIOLATION")).collect();
        assert!(violations.is_empty(), "{violations:#?}");
        assert_eq!(self.log.last().map(String::as_str), Some("exit alive=0 pinned=0 fatal=0"));
        self
    }

    /// Standard output as JSON. serde_json is strict: `NaN` and `Infinity` are no JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("{why}: {}", self.stdout))
    }
}

/// Runs on the CPU.
pub fn simt<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    let mut command = program();
    command.args(["--device", "simt"]).args(arguments);
    Run::of(command.output().unwrap(), Vec::new())
}

/// Runs with no driver in sight and no device asked for.
pub fn without_driver<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    Run::of(program().args(arguments).output().unwrap(), Vec::new())
}

/// Runs on the fake driver, configured as `tests/fake-cuda/config.rs` says.
pub fn on_fake<S: AsRef<OsStr>>(config: &str, arguments: impl IntoIterator<Item = S>) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = program();
    command.env("PAGELOCK_LIBCUDA", fake::library()).env("FAKE_CUDA", config).env("FAKE_CUDA_LOG", &log);
    let output = command.args(arguments).output().unwrap();
    let log = fs::read_to_string(log).unwrap_or_default();
    Run::of(output, log.lines().map(str::to_owned).collect())
}

/// A folder that a run must leave as it was: an old file in it keeps its content, and no new one appears.
pub struct Untouched {
    folder: TempDir,
}

const OLD: &str = "what was here before";

impl Untouched {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("old"), OLD).unwrap();
        Self { folder }
    }

    /// `--json` onto the old file and `--csv` onto a new one.
    pub fn outputs(&self) -> [String; 4] {
        let path = |name: &str| self.folder.path().join(name).to_str().unwrap().to_owned();
        ["--json".into(), path("old"), "--csv".into(), path("new.csv")]
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    #[track_caller]
    pub fn assert(&self) {
        assert_eq!(names(self.folder.path()), ["old"]);
        assert_eq!(fs::read_to_string(self.path("old")).unwrap(), OLD);
    }
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
