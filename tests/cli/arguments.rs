//! Arguments that make no sense: what was asked, what is possible, exit code 2, nothing touched.

use gpu::matmul::MatmulKernel;

use crate::support::{Untouched, on_fake, simt, without_driver};

/// On the CPU device unless the arguments say otherwise, with outputs that must not be touched.
#[track_caller]
fn refused(code: i32, arguments: &[&str], parts: &[&str]) {
    let outputs = Untouched::new();
    let all = arguments.iter().map(|&word| word.to_owned()).chain(outputs.outputs());
    let run = if arguments.contains(&"--device") { without_driver(all) } else { simt(all) };
    let run = run.failed(code, parts);
    assert_eq!(run.stdout, "");
    outputs.assert();
}

#[test]
fn sizes_that_are_no_size() {
    refused(2, &["--size", "0"], &["'0'", "--size", "an extent is at least 1"]);
    refused(2, &["--size", "64,0"], &["'0'", "at least 1"]);
    refused(2, &["--size", "abc"], &["'abc'", "--size", "not a whole number", "1024"]);
    refused(2, &["--size", "-5"], &["'-5'", "at least 1"]);
    refused(2, &["--size", "1k"], &["'1k'", "not a whole number"]);
    refused(2, &["--size", "64,"], &["''", "not a whole number"]);
    refused(2, &["--size", "4294967296"], &["'4294967296'", "at most 4294967295", "smaller"]);
    refused(2, &["--size", "99999999999999999999999999"], &["at most 4294967295"]);
    refused(2, &["--m", "0", "--n", "1", "--k", "1"], &["'0'", "--m", "at least 1"]);
    refused(2, &["--m", "1", "--n", "x", "--k", "1"], &["'x'", "--n", "not a whole number"]);
}

#[test]
fn products_that_no_machine_holds() {
    let extents = ["--m", "4294967295", "--n", "4294967295", "--k", "4294967295"];
    refused(2, &extents, &["--m 4294967295", "2·M·N·K", "do not fit 64 bits", "smaller"]);
    refused(2, &["--size", "4294967295"], &["--size 4294967295", "do not fit 64 bits"]);
    // 4·(M·K + K·N + M·N) bytes, with an M·N·K that fits.
    let extents = ["--m", "2147483647", "--n", "2147483647", "--k", "1"];
    refused(2, &extents, &["the bytes of A, B and C", "do not fit 64 bits"]);
}

#[test]
fn products_that_this_machine_does_not_hold() {
    for size in ["400000", "1000000"] {
        refused(1, &["--size", size], &[size, "of host memory", "are available", "Take a smaller size"]);
    }
    // Checked for every size before the first is computed.
    refused(1, &["--size", "8,400000"], &["400000×400000×400000"]);
}

#[test]
fn more_pinned_memory_than_allowed() {
    let limit = ["--size", "256", "--pinned-limit", "100KiB"];
    refused(
        1,
        &limit,
        &["256×256×256", "mode pinned", "768.0 KiB", "100.0 KiB", "the limit that you set", "--pinned-limit"],
    );
    refused(1, &["--size", "64", "--mode", "mapped", "--pinned-limit", "0"], &["mode mapped", "48.0 KiB"]);
    refused(2, &["--pinned-limit", "much"], &["'much'", "not an amount of memory", "512MiB"]);
    refused(2, &["--pinned-limit", "-1"], &["'-1'", "not an amount of memory"]);
    // Every size is asked about before the first runs.
    refused(1, &["--size", "8,256", "--pinned-limit", "100KiB"], &["256×256×256", "mode pinned"]);
    // Pageable memory needs none, and a limit that suffices is no obstacle.
    simt(["--size", "64", "--mode", "pageable", "--pinned-limit", "0", "--iters", "1"]).succeeded();
    simt(["--size", "64", "--pinned-limit", "48KiB", "--iters", "1"]).succeeded();
}

#[test]
fn arguments_that_contradict_each_other() {
    refused(2, &["--m", "3"], &["required", "--n", "--k"]);
    refused(2, &["--m", "3", "--k", "3"], &["required", "--n"]);
    refused(2, &["--size", "3", "--m", "3", "--n", "3", "--k", "3"], &["--size", "cannot be used with"]);
    refused(2, &["--a", "a.npy"], &["required", "--b"]);
    refused(2, &["--size", "3", "--a", "a.npy", "--b", "b.npy"], &["--size", "cannot be used with"]);
    refused(2, &["--m", "3", "--n", "3", "--k", "3", "--a", "a.npy", "--b", "b.npy"], &["cannot be used with"]);
    refused(2, &["--out", "/nonexistent/c.npy", "--size", "8,9"], &["--out holds one product", "one --size"]);
    refused(2, &["--out", "/nonexistent/c.npy"], &["--out holds one product", "--m --n --k"]);
}

#[test]
fn numbers_of_runs_that_measure_nothing() {
    refused(2, &["--iters", "0"], &["'0'", "--iters", "at least 1"]);
    refused(2, &["--iters", "-1"], &["'-1'", "--iters"]);
    refused(2, &["--iters", "some"], &["'some'", "--iters"]);
    refused(2, &["--warmup", "-1"], &["'-1'", "--warmup"]);
    refused(2, &["--warmup", "99999999999999999999"], &["--warmup", "at most 1000000"]);
    refused(2, &["--iters", "1000001"], &["--iters", "at most 1000000"]);
    refused(2, &["--seed", "x"], &["'x'", "--seed", "not a whole number"]);
    for seed in ["-1", "18446744073709551616"] {
        refused(2, &["--seed", seed], &[seed, "--seed", "from 0 to 18446744073709551615"]);
    }
    simt(["--size", "4", "--warmup", "0", "--iters", "1"]).succeeded();
}

#[test]
fn outputs_without_a_name() {
    for option in ["--out", "--json", "--csv"] {
        simt(["--size", "4", option, ""]).failed(2, &[option, "a value is required"]);
    }
    for path in ["-", "/dev/stdout"] {
        simt(["--size", "4", "--out", path]).failed(2, &["--out", "not written to standard output", "c.npy"]);
    }
    simt(["--size", "4", "--json", "-", "--csv", "/dev/stdout"]).failed(2, &["both want standard output"]);
}

#[test]
fn words_that_nobody_knows() {
    let kernels = MatmulKernel::ALL.map(MatmulKernel::name);
    refused(2, &["--kernel", "cublas"], &["'cublas'", &format!("auto, {}", kernels.join(", "))]);
    refused(2, &["--mode", "unified"], &["'unified'", "pageable", "pinned", "mapped", "managed", "prefetched"]);
    refused(2, &["--mode", "pinned,"], &["--mode", "pageable"]);
    refused(2, &["--verify", "half"], &["'half'", "full", "sampled", "off"]);
    refused(2, &["--szie", "3"], &["'--szie'", "--size"]);
    refused(2, &["stray"], &["'stray'"]);
    for device in ["gpu", "cuda:", "cuda:x", "cuda:-1", "simt:0", "", "CUDA:0"] {
        refused(2, &["--device", device], &["--device", "cuda:0"]);
    }
}

#[test]
fn devices_that_are_not_there() {
    let parts = ["NVIDIA driver's library could not be opened", "/nonexistent/libcuda.so.1", "PAGELOCK_LIBCUDA"];
    refused(1, &["--device", "cuda:0"], &parts);
    refused(1, &["--device", "cuda"], &parts);
    let run = on_fake("devices=1", ["--device", "cuda:7"]);
    run.failed(1, &["cuda:7 was asked for", "one GPU, cuda:0", "--device auto"]).left_nothing();
    let run = on_fake("devices=3", ["--device", "cuda:3"]);
    run.failed(1, &["cuda:3 was asked for", "3 GPUs, cuda:0 to cuda:2"]).left_nothing();
    let run = on_fake("devices=0", ["--device", "cuda:0"]);
    run.failed(1, &["cuInit", "CUDA_ERROR_NO_DEVICE"]).left_nothing();
}

#[test]
fn a_wrong_size_is_refused_before_any_device_is_opened() {
    let run = on_fake("", ["--size", "0"]).failed(2, &["at least 1"]);
    assert_eq!(run.log, [""; 0]);
    let run = on_fake("", ["--size", "4294967295"]).failed(2, &["64 bits"]);
    assert_eq!(run.log, [""; 0]);
}
