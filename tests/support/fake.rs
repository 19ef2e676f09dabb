//! The fake driver (`tests/fake-cuda`) for tests of any package: `#[path = "../tests/support/fake.rs"] mod fake;`.
//!
//! * A test of the library runs in a process of its own, because the driver is opened once per process:
//!   [`with_fake`] starts the test's own binary again for the one test, with the environment that it asks for.
//! * A test of the command line sets `PAGELOCK_LIBCUDA` to [`library`], and `FAKE_CUDA` and `FAKE_CUDA_LOG` as
//!   `tests/fake-cuda/config.rs` says.

#![allow(dead_code)] // each test binary uses a part

use std::env;
use std::ffi::{CStr, CString, OsStr, OsString, c_char};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The compiled fake. Compiles it if it is older than its sources.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let sources = sources();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake-cuda");
        let library = folder.join("libcuda.so.1");
        let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        if modified(&library).is_none_or(|built| built < newest(&sources)) {
            fs::create_dir_all(&folder).unwrap();
            // Several test processes may be here at once. Each compiles into a folder of its own and moves the result
            // into place, which is atomic.
            let own = tempfile::tempdir_in(&folder).unwrap();
            let fresh = own.path().join("libcuda.so.1");
            let output = Command::new(rustc())
                .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "fake_cuda", "-O", "-o"])
                .arg(&fresh)
                .arg(sources.join("lib.rs"))
                .output()
                .unwrap_or_else(|why| panic!("{:?}: {why}", rustc()));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            fs::rename(&fresh, &library).unwrap();
        }
        library
    })
}

/// `tests/fake-cuda`, seen from whichever package includes this file.
fn sources() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().map(|folder| folder.join("tests/fake-cuda")).find(|it| it.join("lib.rs").exists());
    folder.expect("the repository has tests/fake-cuda/lib.rs")
}

fn newest(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let times = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => newest(&entry.path()),
        false => entry.metadata().unwrap().modified().unwrap(),
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The compiler that cargo uses: named by RUSTC, or beside the cargo that runs the tests, or the one in PATH.
fn rustc() -> OsString {
    let beside = || {
        let rustc = Path::new(&env::var_os("CARGO")?).with_file_name("rustc");
        rustc.exists().then(|| rustc.into_os_string())
    };
    env::var_os("RUSTC").or_else(beside).unwrap_or_else(|| "rustc".into())
}

/// Runs `body` in a process of its own: starts this test binary for the test of this name, and panics if that fails.
/// `test` is the name as the test harness prints it.
pub fn isolated(test: &str, environment: &[(&str, &OsStr)], body: impl FnOnce()) {
    const CHILD: &str = "PAGELOCK_TEST_CHILD";
    if env::var(CHILD).is_ok_and(|child| child == test) {
        return body();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env_remove("FAKE_CUDA")
        .env_remove("FAKE_CUDA_LOG")
        .envs(environment.iter().copied())
        .env(CHILD, test)
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // A name that matches no test would succeed with nothing run.
    let ran = stdout.contains("1 passed");
    assert!(output.status.success() && ran, "{}\n{stdout}\n{stderr}", output.status);
}

/// [`isolated`], with the fake as the driver and `config` as its configuration.
pub fn with_fake(test: &str, config: &str, body: impl FnOnce(&Fake)) {
    let environment = [("PAGELOCK_LIBCUDA", library().as_os_str()), ("FAKE_CUDA", OsStr::new(config))];
    isolated(test, &environment, || body(&Fake::open()));
}

/// The fake that this process has open as its driver.
pub struct Fake(libloading::Library);

impl Fake {
    /// The library is loaded once per process: this is the one that the driver module has.
    pub fn open() -> Self {
        // SAFETY: the fake has no initialisers.
        Self(unsafe { libloading::Library::new(library()) }.unwrap())
    }

    fn number(&self, function: &str, argument: &str) -> u64 {
        let argument = CString::new(argument).unwrap();
        // SAFETY: the function has this signature in the fake's api/control.rs.
        unsafe {
            let function = self.0.get::<unsafe extern "C" fn(*const c_char) -> u64>(function).unwrap();
            function(argument.as_ptr())
        }
    }

    /// Starts anew: no context, no memory, no log.
    pub fn configure(&self, config: &str) {
        let argument = CString::new(config).unwrap();
        // SAFETY: the function has this signature in the fake's api/control.rs.
        let code = unsafe {
            let configure = self.0.get::<unsafe extern "C" fn(*const c_char) -> i32>("fake_cuda_configure").unwrap();
            configure(argument.as_ptr())
        };
        assert_eq!(code, 0, "{config} is not understood");
    }

    /// Everything that happened so far, a line per event.
    pub fn log(&self) -> Vec<String> {
        // SAFETY: the function has this signature in the fake's api/control.rs; the text is copied before the next call
        // of it, for a `Fake` is not shared between threads while it is asked.
        let text = unsafe {
            let log = self.0.get::<unsafe extern "C" fn() -> *const c_char>("fake_cuda_log").unwrap();
            CStr::from_ptr(log()).to_str().unwrap().to_owned()
        };
        text.lines().map(str::to_owned).collect()
    }

    /// The work that was executed, in order: `stream1 copy dev1+0 <- pinned1+0 bytes=64`.
    pub fn executed(&self) -> Vec<String> {
        self.log().iter().filter_map(|line| line.strip_prefix("  exec ")).map(str::to_owned).collect()
    }

    /// What was misused.
    pub fn violations(&self) -> Vec<String> {
        self.log().iter().filter_map(|line| line.strip_prefix("VIOLATION ")).map(str::to_owned).collect()
    }

    /// How often a driver function was called.
    pub fn calls(&self, function: &str) -> u64 {
        self.number("fake_cuda_calls", function)
    }

    /// How many of a kind are alive: `dev`, `pinned`, `registered`, `managed`, `stream`, `event`, `module`, or
    /// `pending` work.
    pub fn live(&self, kind: &str) -> u64 {
        match self.number("fake_cuda_live", kind) {
            u64::MAX => panic!("{kind} is no kind"),
            count => count,
        }
    }

    /// Fails if anything was misused or is still alive.
    pub fn assert_clean(&self) {
        // SAFETY: the function has this signature in the fake's api/control.rs.
        unsafe { self.0.get::<unsafe extern "C" fn() -> u64>("fake_cuda_leaks").unwrap()() };
        assert_eq!(self.violations(), [""; 0], "\n{}", self.log().join("\n"));
    }
}
