//! What a machine allocates, it keeps and reuses. The mappings counted are those of the process, so this has one of its
//! own, with one test in it.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use std::fs;

use gpu::device::Dim3;
use simt::Simt;

const THREADS: u32 = 128;
const WORKERS: usize = 2;

kernel!(Waits, block (THREADS, 1, 1), shared 1024, |gpu, (panics,): (u32,)| {
    let on_the_heap = std::hint::black_box(vec![gpu.thread_idx().x; 100]);
    gpu.sync_threads();
    assert!(panics == 0 || on_the_heap[0] != 77);
    gpu.sync_threads();
});

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").expect("Linux").lines().count()
}

fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a resident size");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}

#[test]
fn a_thousand_launches_need_no_more_than_the_pool() {
    let before = mappings();
    let simt = Simt::with_workers(WORKERS).expect("threads");
    let launch = |panics| {
        // SAFETY: the kernel touches no memory of ours.
        let result = unsafe { simt.launch::<Waits>(Dim3::new(8, 1, 1), (panics,)) };
        assert_eq!(result.is_err(), panics != 0);
    };
    // Two mappings per stack, one stack per thread and worker, and room for the workers' own stacks and heaps.
    let pool = 2 * THREADS as usize * WORKERS;
    let slack = 64;
    for _ in 0..100 {
        launch(0);
        launch(1);
    }
    let (warm_mappings, warm_bytes) = (mappings(), resident_bytes());
    assert!(warm_mappings <= before + pool + slack, "{before} mappings before, {warm_mappings} after 200 launches");
    for _ in 0..500 {
        launch(0);
        launch(1);
    }
    let (mappings_now, bytes_now) = (mappings(), resident_bytes());
    assert!(mappings_now <= before + pool + slack, "{before} mappings before, {mappings_now} after 1200 launches");
    // A worker that had nothing to do until now may still touch its stacks, two pages each; a leak of one stack per
    // launch would be eight megabytes.
    let late = THREADS as usize * 2 * 4096;
    assert!(bytes_now <= warm_bytes + late + (2 << 20), "{warm_bytes} bytes resident before, {bytes_now} after");
    drop(simt);
    assert!(mappings() <= before + slack, "{before} mappings before the machine, {} after it", mappings());
}
