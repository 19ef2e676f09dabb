//! `bandwidth` as a user runs it: on simt and on the fake driver. Nothing here asserts a speed.

#[path = "support/fake.rs"]
mod fake;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A driver that is not there.
const NO_DRIVER: &str = "/nonexistent/libcuda.so.1";

/// The program with no driver in sight, and a cache folder that is not the user's.
fn program(cache: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpu"));
    command.env("PAGELOCK_LIBCUDA", NO_DRIVER).env("XDG_CACHE_HOME", cache).env("HOME", cache);
    command.arg("bandwidth").args(arguments).stderr(Stdio::piped());
    command
}

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(mut command: Command) -> Run {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Runs on the CPU.
fn simt(arguments: &[&str]) -> Run {
    let cache = tempfile::tempdir().unwrap();
    let mut command = program(cache.path(), arguments);
    command.args(["--device", "simt"]);
    run(command)
}

/// Runs on the fake driver, and returns its log too.
fn on_fake(config: &str, arguments: &[&str]) -> (Run, Vec<String>) {
    let cache = tempfile::tempdir().unwrap();
    let log = cache.path().join("log");
    let mut command = program(cache.path(), arguments);
    command.args(["--device", "cuda:0"]);
    command.env("PAGELOCK_LIBCUDA", fake::library()).env("FAKE_CUDA", config).env("FAKE_CUDA_LOG", &log);
    let run = run(command);
    (run, fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect())
}

#[track_caller]
fn left_nothing(log: &[String]) {
    let violations: Vec<&String> = log.iter().filter(|line| line.contains("VIOLATION")).collect();
    assert!(violations.is_empty(), "{violations:#?}");
    assert_eq!(log.last().map(String::as_str), Some("exit alive=0 pinned=0 fatal=0"));
}

impl Run {
    #[track_caller]
    fn succeeded(self) -> Self {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{}", self.stdout);
        self
    }

    #[track_caller]
    fn failed(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert!(self.stderr.starts_with("error: ") && !self.stderr.contains("panicked"), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not in: {}", self.stderr);
        }
        self
    }
}

/// Every step and kind that a whole run has, with how many figures of each.
#[track_caller]
fn is_whole(document: &Value, sizes: usize, sweep: usize) {
    let measurements = document["measurements"].as_array().unwrap();
    let count = |step: &str, memory: &str| {
        measurements.iter().filter(|one| one["step"] == step && one["memory"] == memory).count()
    };
    for memory in ["pageable", "pinned", "mapped", "registered"] {
        for step in ["h2d", "d2h", "allocate", "free"] {
            assert_eq!(count(step, memory), sizes, "{step} {memory}");
        }
        assert_eq!((count("cpu_read", memory), count("cpu_write", memory)), (1, 1), "{memory}");
    }
    assert_eq!((count("h2d", "staged"), count("d2h", "staged")), (sizes, sizes));
    assert_eq!((count("allocate", "staged"), count("cpu_read", "staged")), (0, 0), "it is pageable memory");
    let combined = ["h2d", "d2h", "allocate", "cpu_read", "cpu_write"].map(|step| count(step, "write-combined"));
    assert_eq!(combined, [sizes, 0, sizes, 1, 1], "the CPU only writes it, so nothing is copied to it");
    for memory in ["mapped", "write-combined", "registered", "device"] {
        for step in ["read", "write", "copy", "random", "latency"] {
            assert_eq!(count(step, memory), 1, "{step} {memory}");
        }
        assert_eq!(count("strided", memory), 10, "{memory}");
    }
    assert_eq!((count("grid_read", "mapped"), count("grid_write", "mapped")), (sweep, sweep));
    assert_eq!((count("reuse_in_place", "mapped"), count("reuse_copied", "mapped")), (5, 5));
    assert_eq!((count("small_in_place", "mapped"), count("small_copied", "mapped")), (3, 3));
    let kernels = gpu::matmul::MatmulKernel::ALL.len();
    assert!(count("product", "device") >= kernels && count("product", "mapped") >= kernels, "each kernel on each");
    for one in measurements {
        let samples = one["time_ms"]["samples"].as_array().unwrap();
        assert!(samples.len() >= 5, "{one}");
        assert!(samples.iter().all(|sample| sample.as_f64().unwrap() >= 0.0), "{one}");
        assert!(one["size_bytes"].as_u64().unwrap() > 0 && one["gb_per_s"].as_f64().unwrap() >= 0.0, "{one}");
    }
}

#[test]
fn everything_on_simt_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (json, csv, svg) = (path("report.json"), path("figures.csv"), path("copies.svg"));
    fs::write(&json, "old").unwrap();
    let arguments = ["--sizes", "64KiB,4KiB,1MiB", "--json", &json, "--csv", &csv, "--plot", &svg];
    let run = simt(&arguments).succeeded();
    for part in ["Copies to the device (H2D), GB/s", "| 1 MiB", "stride 1024 words", "latency", "only a GPU can tell"] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
    let wide: Vec<&str> = run.stdout.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(wide.is_empty(), "{wide:#?}");

    let document: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(document["version"], 1);
    is_whole(&document, 3, 4);
    let measurements = document["measurements"].as_array().unwrap();
    let both = measurements.iter().filter(|one| one["step"] == "both").collect::<Vec<_>>();
    assert_eq!(both.len(), 5, "one for each kind that is copied both ways, at 1 MiB");
    assert!(both.iter().all(|one| one["moved_bytes"] == 2 << 20));
    assert!(document["findings"]["smallest_reading_grid"]["blocks"].as_u64().unwrap() >= 1);

    let csv = fs::read_to_string(&csv).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + measurements.len());
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
    assert_eq!((lines[0][0], lines[0][4], lines[0][13]), ("version", "size_bytes", "samples_ms"));
    assert_eq!(lines[1][13].split(' ').count(), 5, "{:?}", lines[1]);

    let svg = fs::read_to_string(&svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for part in ["pinned, to the device", "staged, to the host", "GB/s", "64 KiB", "<circle"] {
        assert!(svg.contains(part), "`{part}` is not in the plot");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    let opened = svg.matches("<text").count();
    assert!(opened > 10 && opened == svg.matches("</text>").count());
}

#[test]
fn everything_on_the_fake_driver() {
    let (run, log) = on_fake("", &["--sizes", "4KiB,64KiB", "--json", "-"]);
    let run = run.succeeded();
    left_nothing(&log);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    is_whole(&document, 2, 11);
    assert_eq!(document["device"]["kind"]["type"], "cuda");
    let text = document["explanation"].to_string();
    for part in ["the best copy reaches", "of 256 threads for reading", "One read of mapped memory takes"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    // Pages of managed memory, both ways to either side.
    let measurements = document["measurements"].as_array().unwrap();
    let managed = measurements.iter().filter(|one| one["memory"] == "managed");
    let steps: Vec<&str> = managed.map(|one| one["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["prefetch_h2d", "fault_h2d", "read", "prefetch_d2h", "fault_d2h"]);
    assert!(text.contains("by a kernel's faults"), "{text}");
    // The queue is filled while the device waits, for copies as for kernels.
    let spins = log.iter().filter(|line| line.contains("exec") && line.contains("launch spin ")).count();
    assert!(spins > 100, "{spins}");
}

#[test]
fn both_directions_on_the_fake_driver_use_two_streams() {
    let (run, log) = on_fake("", &["--sizes", "1MiB", "--json", "-"]);
    run.succeeded();
    left_nothing(&log);
    // Staging has streams of its own, one for each of its threads, and a set for each direction.
    let staging = 2 * cpu::memory::StagingShape::default().threads;
    let streams = log.iter().filter(|line| line.starts_with("cuStreamCreate")).count();
    // One for each direction; on a busy machine one direction may have ended, and lent its stream, before the other began.
    assert!([1 + staging, 2 + staging].contains(&streams), "{streams} streams, {staging} of them for staging");
}

#[test]
fn a_wrong_word_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let (run, log) = on_fake("wrong=5", &["--sizes", "4KiB", "--json", json.to_str().unwrap()]);
    run.failed(1, &["bandwidth of pageable memory, d2h", "1 words differ", "no figure of this run can be trusted"]);
    left_nothing(&log);
    assert!(!json.exists());
}

#[test]
fn a_device_that_fails_is_named_with_the_step() {
    let (run, _) = on_fake("fail=cuMemcpyDtoHAsync_v2:3:2", &["--sizes", "4KiB"]);
    run.failed(1, &["bandwidth of ", "4.0 KiB"]);
}

#[test]
fn a_device_that_cannot_map_is_measured_without() {
    let (run, log) = on_fake("no_map_host", &["--sizes", "4KiB", "--json", "-"]);
    let run = run.succeeded();
    left_nothing(&log);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(document["measurements"].as_array().unwrap().iter().all(|one| {
        let memory = one["memory"].as_str().unwrap();
        ["pageable", "staged", "pinned", "managed", "device"].contains(&memory)
    }));
    assert!(document["notes"].to_string().contains("cannot map host memory"), "{}", document["notes"]);
    assert!(document["findings"]["link_latency_ns"].is_null());
}

#[test]
fn what_was_found_is_kept_for_advice() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("pagelock/bandwidth-cpu.json");
    let simt = |more: &[&str]| {
        let mut command = program(cache.path(), &["--device", "simt", "--quick"]);
        command.args(more);
        run(command).succeeded()
    };
    simt(&["--no-save", "-q"]);
    simt(&["--max", "4KiB", "-q"]);
    assert!(!file.exists(), "a narrowed run is not kept");
    let run = simt(&[]);
    assert!(run.stdout.contains(file.to_str().unwrap()), "{}", run.stdout);
    let kept: cpu::bandwidth::parameters::Parameters = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!((kept.version, &*kept.device), (2, "CPU"));
    assert_eq!(kept.costs.len(), 6 * 5, "six kinds, 4 KiB to 1 MiB");
    assert_eq!((kept.kernels.len(), kept.cpu.len()), (4, 5));
    let kernels = gpu::matmul::MatmulKernel::ALL.len();
    assert!(kept.products.len() >= 2 * kernels, "on the device and mapped, the smallest extent at least");
    assert!(kept.launch_and_wait_ms.is_some() && kept.copy_launch_and_wait_ms.is_some());
}

#[test]
fn a_cache_folder_that_cannot_be_written_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let run = run(program(&file, &["--device", "simt", "--quick"])).succeeded();
    assert!(run.stdout.contains("nothing is kept for `advise`"), "{}", run.stdout);
}

#[test]
fn arguments_that_make_no_sense() {
    for (arguments, parts) in [
        (&["--sizes", "0"] as &[&str], ["0 bytes", "16"]),
        (&["--sizes", "4KiB,100"], ["no multiple of 16", "96 or 112"]),
        (&["--max", "1000001"], ["no multiple of 16", "--max"]),
        (&["--sizes", "-4"], ["not an amount of memory", "MiB"]),
        (&["--sizes", ""], ["not an amount of memory", "--sizes"]),
        (&["--sizes", "4KiB", "--max", "1MiB"], ["--sizes", "cannot be used with"]),
        (&["--samples", "4"], ["--samples", "5"]),
        (&["--json", "-", "--csv", "-"], ["standard output", "file"]),
        (&["--json", "same", "--plot", "same"], ["--json and --plot", "own"]),
        (&["--plot", "copies.png"], ["'copies.png'", "drawn as SVG and in no other format"]),
        (&["--max", "16EiB"], ["'16EiB'", "the most is 18446744073709551615, just below 16EiB"]),
    ] {
        simt(arguments).failed(2, &parts);
    }
    let folder = tempfile::tempdir().unwrap();
    run(program(folder.path(), &["--device", "gpu"])).failed(2, &["known are auto, cuda:0"]);
}

#[test]
fn what_does_not_fit_is_said_before_anything_is_measured() {
    simt(&["--max", "1EiB"]).failed(1, &["host memory", "--max"]);
    simt(&["--sizes", "1MiB", "--pinned-limit", "1MiB"]).failed(1, &["1.0 MiB", "--pinned-limit"]);
    simt(&["--sizes", "4KiB", "--json", "/nonexistent/report.json"]).failed(1, &["create it first"]);
    simt(&["--sizes", "4KiB", "--plot", "/"]).failed(1, &["directory"]);
    let folder = tempfile::tempdir().unwrap();
    run(program(folder.path(), &["--device", "cuda:0"])).failed(1, &[NO_DRIVER]);
    let (run, _) = on_fake("memory=1000000", &["--sizes", "1MiB"]);
    run.failed(1, &["device memory", "--sizes"]);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    for more in [&[] as &[&str], &["--json", "-"], &["--csv", "-"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = program(folder.path(), &["--device", "simt", "--sizes", "4KiB"]);
        let output = command.args(more).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), b"" as &[u8]));
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = program(folder.path(), &["--device", "simt", "--sizes", "4KiB"]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "a full disk is");
}

#[test]
fn quiet_is_quiet() {
    assert_eq!(simt(&["--sizes", "16", "--quiet"]).succeeded().stdout, "");
}
