//! On the fake driver: everything that a driver can refuse, and products that are wrong.

use crate::support::{Run, Untouched, on_fake};

/// All modes at a small size, with outputs that a failure must not touch.
#[track_caller]
fn fails(config: &str, more: &[&str], parts: &[&str]) -> Run {
    let outputs = Untouched::new();
    let c = outputs.path("c.npy");
    let small = ["--device", "cuda:0", "--m", "5", "--n", "7", "--k", "3", "--iters", "2", "--warmup", "1", "--out"];
    let words = small.into_iter().chain([c.to_str().unwrap()]).chain(more.iter().copied());
    let run = on_fake(config, words.map(str::to_owned).chain(outputs.outputs())).failed(1, parts);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    outputs.assert();
    run
}

#[test]
fn more_device_memory_than_there_is() {
    let size = ["--device", "cuda:0", "--size", "256"];
    let run = on_fake("memory=700000", size);
    run.failed(1, &["256×256×256", "768.0 KiB of device memory", "mode pageable", "smaller size", "--mode mapped"])
        .left_nothing();
    on_fake("memory=700000", size.into_iter().chain(["--mode", "mapped"])).succeeded().left_nothing();
}

#[test]
fn managed_memory_where_it_would_not_be_safe() {
    for (config, attribute) in [("no_managed", "MANAGED_MEMORY"), ("sequential_managed=0", "CONCURRENT_MANAGED_ACCESS")]
    {
        for mode in ["managed", "prefetched"] {
            let size = ["--device", "cuda:0", "--size", "16", "--mode", mode];
            let run = on_fake(config, size);
            run.failed(1, &["16×16×16", &format!("mode {mode}"), "Fake H200", attribute, "--mode mapped"])
                .left_nothing();
        }
        on_fake(config, ["--device", "cuda:0", "--size", "16"]).succeeded().left_nothing();
    }
}

#[test]
fn device_memory_runs_out_at_the_nth_allocation() {
    // A, B and C, in modes pageable and pinned.
    for nth in 1..=6 {
        let mode = if nth <= 3 { "mode pageable" } else { "mode pinned" };
        let run = fails(&format!("oom_at=cuMemAlloc_v2:{nth}"), &[], &[mode, "the device has no", "smaller size"]);
        run.left_nothing();
    }
    on_fake("oom_at=cuMemAlloc_v2:7", ["--size", "8"]).succeeded().left_nothing();
}

#[test]
fn pinned_memory_runs_out_at_the_nth_allocation() {
    for nth in 1..=6 {
        let mode = if nth <= 3 { "mode pinned" } else { "mode mapped" };
        let parts = [mode, "could not page-lock", "ulimit -l", "--mode pageable", "CUDA_ERROR_OUT_OF_MEMORY"];
        fails(&format!("oom_at=cuMemHostAlloc:{nth}"), &[], &parts).left_nothing();
    }
    on_fake("oom_at=cuMemHostAlloc:7", ["--size", "8"]).succeeded().left_nothing();
    // A system that pins little, as WSL: what there is serves the pageable mode.
    fails("pinned=100", &[], &["mode pinned", "could not page-lock"]).left_nothing();
    on_fake("pinned=100", ["--size", "8", "--mode", "pageable"]).succeeded().left_nothing();
}

#[test]
fn any_call_may_be_refused() {
    // Each is made at least once by a run over all modes; 1 is CUDA_ERROR_INVALID_VALUE, which ends no context.
    for call in [
        "cuDeviceGetCount",
        "cuDeviceGet",
        "cuDeviceGetAttribute",
        "cuDeviceGetName",
        "cuDeviceTotalMem_v2",
        "cuDevicePrimaryCtxRetain",
        "cuModuleGetFunction",
        "cuMemGetInfo_v2",
        "cuMemAlloc_v2",
        "cuMemHostAlloc",
        "cuMemHostGetDevicePointer_v2",
        "cuStreamCreateWithPriority",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuLaunchKernel",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuEventElapsedTime",
    ] {
        let name = call.trim_end_matches("_v2");
        let run = fails(&format!("fail={call}:1:1"), &[], &[name, "CUDA_ERROR_INVALID_VALUE"]);
        run.left_nothing();
    }
    // In the middle of a run, with work enqueued.
    for nth in 2..8 {
        fails(&format!("fail=cuMemcpyHtoDAsync_v2:{nth}:1"), &[], &["cuMemcpyHtoDAsync"]).left_nothing();
        fails(&format!("fail=cuEventRecord:{nth}:1"), &[], &["cuEventRecord"]).left_nothing();
    }
}

#[test]
fn a_kernel_that_fails_is_named_and_nothing_further_runs() {
    for (mode, kernel) in [("pageable", "tiled"), ("pinned", "naive"), ("mapped", "coalesced")] {
        let more = ["--mode", mode, "--kernel", kernel];
        let parts = [
            &*format!("mode {mode}, kernel {kernel}"),
            &*format!("matmul_{kernel}"),
            "CUDA_ERROR_LAUNCH_FAILED (719)",
            "Nothing more can be done with the device in this process",
        ];
        let run = fails("launch_error=719", &more, &parts);
        assert_eq!(run.log.iter().filter(|line| line.starts_with("cuLaunchKernel ")).count(), 1);
        assert!(!run.log.iter().any(|line| line.contains("VIOLATION")), "{}", run.log.join("\n"));
        assert!(run.log.last().unwrap().ends_with("fatal=719"), "{:?}", run.log.last());
    }
    // Whichever call is the first to hear of it.
    for call in ["cuEventRecord:3", "cuMemcpyDtoHAsync_v2:1", "cuStreamSynchronize:2"] {
        fails(&format!("fail={call}:719"), &["--mode", "pageable"], &["after the launch of matmul_tiled", "(719)"]);
    }
}

#[test]
fn a_driver_that_does_not_start() {
    // Under `auto` too: this GPU is there and does not work.
    for device in ["cuda:0", "auto"] {
        let run = on_fake("fail=cuInit:1:803", ["--device", device, "--size", "8"]);
        run.failed(1, &["cuInit", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)", "reboot"]).left_nothing();
    }
}

#[test]
fn a_device_that_cannot_map_host_memory() {
    // Found out before the other modes are measured.
    let run = fails("no_map_host", &[], &["mode mapped", "cannot map host memory", "--mode pageable,pinned"]);
    assert!(!run.log.iter().any(|line| line.starts_with("cuLaunchKernel")));
    assert_eq!(run.stdout, "");
    run.left_nothing();
    on_fake("no_map_host", ["--size", "8", "--mode", "pageable,pinned"]).succeeded().left_nothing();
}

#[test]
fn a_wait_that_fails_without_an_answer_ends_the_process() {
    let outputs = Untouched::new();
    let run = on_fake(
        "fail=cuStreamSynchronize:1:999",
        ["--size", "8", "--mode", "pinned"].map(str::to_owned).into_iter().chain(outputs.outputs()),
    );
    assert_eq!((run.code, run.signal), (None, Some(6)), "SIGABRT: {}", run.stderr);
    for part in ["did not say that its work has ended", "no longer lent", "Aborting", "cuStreamSynchronize", "999"] {
        assert!(run.stderr.contains(part), "`{part}` is not in: {}", run.stderr);
    }
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert!(!run.log.iter().any(|line| line.starts_with("cuMemFree")), "nothing was freed under the device");
    outputs.assert();
}

#[test]
fn a_wrong_product_is_an_error() {
    for mode in ["pageable", "pinned", "mapped"] {
        let more = ["--mode", mode, "--kernel", "coalesced"];
        let parts = [
            &*format!("mode {mode}, kernel coalesced"),
            "C is not A·B",
            "1 of 35 elements are wrong",
            "C[1, 2] = ",
            "expected ",
        ];
        let run = fails("wrong=9", &more, &parts).left_nothing();
        let got = number_after(&run.stderr, "C[1, 2] = ");
        let expected = number_after(&run.stderr, "expected ");
        assert!((got - expected - 1.0).abs() < 1e-4, "{}", run.stderr);
        assert!(!run.stdout.contains("verified"), "{}", run.stdout);
    }
}

fn number_after(text: &str, mark: &str) -> f64 {
    let rest = text.split_once(mark).unwrap().1;
    rest.split([',', ' ']).next().unwrap().parse().unwrap()
}

#[test]
fn an_element_that_nobody_wrote_is_an_error() {
    for mode in ["pageable", "pinned", "mapped"] {
        for verify in ["full", "sampled"] {
            let parts = ["C is not A·B", "1 of 35 were never written", "first never written C[1, 2]"];
            fails("unwritten=9", &["--mode", mode, "--verify", verify], &parts).left_nothing();
        }
    }
}

#[test]
fn nothing_is_claimed_where_nothing_was_verified() {
    let run = on_fake("wrong=9", ["--m", "5", "--n", "7", "--k", "3", "--verify", "off"]).succeeded().left_nothing();
    assert!(run.stdout.contains("not verified (--verify off)"), "{}", run.stdout);
    assert!(!run.stdout.contains("runs verified"), "{}", run.stdout);
}
