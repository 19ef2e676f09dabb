//! On the fake driver: whole runs, and which kernels a device and its driver get.

use gpu::matmul::MatmulKernel;
use ptx::Image;

use crate::support::{Run, on_fake};

const SMALL: [&str; 10] = ["--device", "cuda:0", "--m", "33", "--n", "17", "--k", "40", "--iters", "2"];

fn small(config: &str, more: &[&str]) -> Run {
    on_fake(config, SMALL.iter().chain(more))
}

/// Frees of memory, or whatever ends work, come after a wait for all that was enqueued.
#[track_caller]
fn freed_only_after_waiting(log: &[String]) {
    let (mut pending, mut frees) = (false, 0);
    for line in log {
        match line.split(' ').next().unwrap_or_default() {
            "cuMemcpyHtoDAsync_v2"
            | "cuMemcpyDtoHAsync_v2"
            | "cuMemsetD8Async"
            | "cuLaunchKernel"
            | "cuMemPrefetchAsync" => pending = true,
            "cuStreamSynchronize" => pending = false,
            free @ ("cuMemFreeHost" | "cuMemFree_v2" | "cuModuleUnload") => {
                assert!(!pending, "{free} while work is pending:\n{}", log.join("\n"));
                frees += 1;
            }
            _ => {}
        }
    }
    assert!(frees > 0);
}

#[test]
fn every_kernel_in_every_mode() {
    for kernel in MatmulKernel::ALL.map(MatmulKernel::name) {
        for mode in ["pageable", "pinned", "mapped", "managed", "prefetched"] {
            let run = small("", &["--kernel", kernel, "--mode", mode]).succeeded().left_nothing();
            freed_only_after_waiting(&run.log);
            assert!(run.stdout.contains("Fake H200 (cuda:0, compute capability 9.0"), "{}", run.stdout);
            assert!(run.stdout.contains("each of 2 runs verified: all 561 elements"), "{}", run.stdout);
            let executed = |what: &str| run.log.iter().filter(|line| line.contains(what)).count();
            assert_eq!(executed(&format!("launch matmul_{kernel} ")), 4, "2 measured runs, 2 before");
            let copies = ["pageable", "pinned"].contains(&mode);
            assert_eq!(executed("cuMemcpyDtoHAsync_v2 ") > 0, copies, "{}", run.log.join("\n"));
            assert_eq!(executed("cuMemAlloc_v2 ") > 0, copies);
            assert_eq!(executed("cuMemHostAlloc ") > 0, ["pinned", "mapped"].contains(&mode));
            assert_eq!(executed("cuMemAllocManaged "), if ["managed", "prefetched"].contains(&mode) { 3 } else { 0 });
        }
    }
}

#[test]
fn all_modes_in_one_run_leave_nothing() {
    let run = small("", &["--seed", "3"]).succeeded().left_nothing();
    freed_only_after_waiting(&run.log);
    assert!(run.stdout.contains("each of 6 runs verified"), "{}", run.stdout);
    assert!(run.stdout.contains("driver for CUDA 13.0"), "{}", run.stdout);
    let auto = on_fake("", ["--size", "12", "--iters", "1"]).succeeded().left_nothing();
    assert!(auto.stdout.contains("Fake H200 (cuda:0"), "auto takes the GPU: {}", auto.stdout);
    assert!(!auto.stdout.contains("\nnote "), "{}", auto.stdout);
    let second = on_fake("devices=2", ["--device", "cuda:1", "--size", "12"]).succeeded().left_nothing();
    assert!(second.stdout.contains("(cuda:1,"), "{}", second.stdout);
    let second_device = |run: &Run| run.log.iter().any(|line| line == "cuDevicePrimaryCtxRetain device=1");
    assert!(second_device(&second) && !second_device(&auto));
}

#[test]
fn asked_for_the_cpu_the_driver_is_left_alone() {
    let run = on_fake("", ["--device", "simt", "--size", "8"]).succeeded();
    assert_eq!(run.log, [""; 0]);
}

#[test]
fn each_device_gets_the_best_image_that_it_can_load() {
    for (capability, architecture) in
        [("7.5", "sm_75"), ("8.0", "sm_80"), ("8.6", "sm_80"), ("9.0", "sm_90a"), ("10.0", "sm_80")]
    {
        let run = small(&format!("cc={capability}"), &[]).succeeded().left_nothing();
        assert!(run.stdout.contains(&format!("kernels  tiled, {architecture} (")), "{}", run.stdout);
        assert!(!run.stdout.contains("\nnote "), "the best was taken: {}", run.stdout);
    }
    let run = small("cc=6.1", &[]).failed(1, &["compute capability 6.1", "7.5", "--device simt"]);
    run.left_nothing();
}

/// `8.0` as a number that orders.
fn version(image: &Image) -> (u32, u32) {
    let (major, minor) = image.ptx_version().split_once('.').unwrap();
    (major.parse().unwrap(), minor.parse().unwrap())
}

#[test]
fn a_driver_older_than_an_image_gets_an_older_one_and_a_note() {
    let images: Vec<&Image> = ptx::candidates(9, 0).collect();
    let best = version(images[0]);
    let Some(other) = images.iter().find(|image| version(image) < best) else { return };
    let (major, minor) = version(other);
    let run = small(&format!("max_ptx={major}.{minor},driver=11040"), &[]).succeeded().left_nothing();
    assert!(run.stdout.contains(&format!("kernels  tiled, {} (", other.architecture)), "{}", run.stdout);
    let note = run.stdout.lines().find(|line| line.starts_with("note ")).expect("a note");
    for part in [images[0].architecture, images[0].ptx_version(), "222", other.architecture] {
        assert!(note.contains(part), "`{part}` is not in: {note}");
    }
}

#[test]
fn a_driver_older_than_every_image_is_an_error_with_a_way_out() {
    let oldest = ptx::candidates(9, 0).last().unwrap();
    let parts = ["for CUDA 10.0", oldest.ptx_version(), oldest.architecture, "Update NVIDIA's driver", "--device simt"];
    // Under `auto` too: nobody should measure a CPU by mistake.
    for device in ["cuda:0", "auto"] {
        let run = on_fake("max_ptx=5.0,driver=10000", ["--device", device, "--size", "8"]);
        let run = run.failed(1, &parts).left_nothing();
        assert_eq!(run.stdout, "");
    }
}
