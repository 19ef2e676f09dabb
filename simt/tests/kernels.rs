//! The machine as kernels see it: indices, barriers, shared memory, many launches at once.

#[macro_use]
mod common;

use std::thread;

use common::{Counters, ONE, count, global};
use gpu::device::{Dim3, GlobalMut};
use simt::Simt;

kernel!(BlockSum, block (256, 1, 1), shared 256 * 4, |gpu, (input, sums): (gpu::device::Global<u32>, GlobalMut<u32>)| {
    // SAFETY: the test passes 256 inputs and one sum per block, and `x` < 256.
    unsafe {
        let tile = gpu.shared::<u32>(0);
        let (x, block) = (gpu.thread_idx().x, gpu.block_idx().x);
        gpu.store_shared(tile, x, gpu.load(input, (block * 256 + x) as usize));
        gpu.sync_threads();
        let mut half = 128;
        while half > 0 {
            if x < half {
                let sum = gpu.load_shared::<u32>(tile, x) + gpu.load_shared::<u32>(tile, x + half);
                gpu.store_shared(tile, x, sum);
            }
            gpu.sync_threads();
            half /= 2;
        }
        if x == 0 {
            gpu.store(sums, block as usize, gpu.load_shared(tile, 0));
        }
    }
});

/// Sums random numbers block by block and compares.
fn block_sums(simt: &Simt, blocks: u32) {
    let input: Vec<u32> = (0..blocks * 256).map(|_| rand::random_range(0..1 << 20)).collect();
    let mut sums = vec![u32::MAX; blocks as usize];
    let from = gpu::device::Global::at(input.as_ptr().expose_provenance() as u64);
    // SAFETY: 256 inputs and one sum per block.
    unsafe { simt.launch::<BlockSum>(Dim3::new(blocks, 1, 1), (from, global(&mut sums))) }.expect("a legal launch");
    let expected: Vec<u32> = input.chunks(256).map(|block| block.iter().sum()).collect();
    assert_eq!(sums, expected);
}

#[test]
fn a_reduction_through_shared_memory() {
    let simt = Simt::new().expect("threads");
    [1, 2, 63, 500].into_iter().for_each(|blocks| block_sums(&simt, blocks));
}

#[test]
fn one_machine_serves_many_host_threads_at_once() {
    let simt = Simt::with_workers(3).expect("threads");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (1..40).for_each(|blocks| block_sums(&simt, blocks)));
        }
    });
}

kernel!(ReadUnwritten, block (32, 1, 1), shared 32 * 4, |gpu, (out,): (GlobalMut<f32>,)| {
    let (x, block) = (gpu.thread_idx().x, gpu.block_idx().x);
    // SAFETY: the test passes 32 elements per block, and `x` < 32.
    unsafe {
        let tile = gpu.shared::<f32>(0);
        gpu.store(out, (block * 32 + x) as usize, gpu.load_shared(tile, x));
        gpu.store_shared(tile, x, 1.0); // what the next block must not see
    }
});

#[test]
fn shared_memory_that_nobody_wrote_is_nan_in_every_block() {
    let mut out = vec![0.0; 100 * 32];
    // SAFETY: 32 elements per block.
    unsafe {
        Simt::with_workers(2).expect("threads").launch::<ReadUnwritten>(Dim3::new(100, 1, 1), (global(&mut out),))
    }
    .expect("a legal launch");
    assert!(out.iter().all(|x| x.is_nan()));
}

/// Kernels that raise a counter per thread of the block, without and with a barrier before.
macro_rules! visit_threads {
    ($($name:ident, $block:tt, $waits:expr;)*) => { $(
        kernel!($name, block $block, shared 0, |gpu, (counters,): (u64,)| {
            let (index, extents) = (gpu.thread_idx(), gpu.block_dim());
            if $waits {
                gpu.sync_threads();
            }
            let linear = (index.z * extents.y + index.y) * extents.x + index.x;
            // SAFETY: the test passes a counter per thread of the block.
            unsafe { count(counters, linear as usize) };
        });
    )* };
}
visit_threads! {
    Row, (1024, 1, 1), false;
    RowWaits, (1024, 1, 1), true;
    Column, (1, 1024, 1), true;
    Depth, (1, 1, 64), false;
    DepthWaits, (1, 1, 64), true;
    Brick, (7, 5, 3), true;
    Single, (1, 1, 1), true;
}

#[test]
fn every_thread_of_a_block_runs_once() {
    fn visited<K: gpu::launch::Kernel<Args = (u64,)>>(simt: &Simt) {
        let threads = K::BLOCK.count() as usize;
        let counters = Counters::new(threads);
        // SAFETY: a counter per thread of the block, alive until the launch has returned.
        unsafe { simt.launch::<K>(Dim3::new(3, 1, 1), (counters.address(),)) }.expect("a legal launch");
        assert_eq!(counters.values(), vec![3; threads], "{} {}", K::NAME, K::BLOCK);
    }
    let simt = Simt::new().expect("threads");
    visited::<Row>(&simt);
    visited::<RowWaits>(&simt);
    visited::<Column>(&simt);
    visited::<Depth>(&simt);
    visited::<DepthWaits>(&simt);
    visited::<Brick>(&simt);
    visited::<Single>(&simt);
}

kernel!(VisitBlocks, block (2, 1, 1), shared 0, |gpu, (counters,): (u64,)| {
    let (index, extents) = (gpu.block_idx(), gpu.grid_dim());
    assert!(index.x < extents.x && index.y < extents.y && index.z < extents.z);
    let linear = (index.z * extents.y + index.y) * extents.x + index.x;
    // SAFETY: the test passes a counter per block of the grid, and the index was just compared with it.
    unsafe { count(counters, linear as usize) };
});

#[test]
fn every_block_of_a_grid_runs_once() {
    for workers in [1, 2, 5] {
        let simt = Simt::with_workers(workers).expect("threads");
        for grid in [ONE, Dim3::new(70_000, 1, 1), Dim3::new(3, 5, 7), Dim3::new(1, 65_535, 1), Dim3::new(2, 1, 999)] {
            let counters = Counters::new(grid.count() as usize);
            // SAFETY: a counter per block, alive until the launch has returned.
            unsafe { simt.launch::<VisitBlocks>(grid, (counters.address(),)) }.expect("a legal launch");
            assert!(counters.values().iter().all(|&visits| visits == 2), "grid {grid}, {workers} workers");
        }
    }
}

kernel!(PingPong, block (64, 1, 1), shared 64 * 4, |gpu, (out, rounds): (GlobalMut<u32>, u32)| {
    // SAFETY: `x` < 64, and a barrier lies between each write and the reads of others on both sides.
    unsafe {
        let ring = gpu.shared::<u32>(0);
        let x = gpu.thread_idx().x;
        gpu.store_shared(ring, x, x);
        for _ in 0..rounds {
            gpu.sync_threads();
            let from_neighbour: u32 = gpu.load_shared(ring, (x + 1) % 64);
            gpu.sync_threads();
            gpu.store_shared(ring, x, from_neighbour);
        }
        gpu.store(out, x as usize, gpu.load_shared(ring, x));
    }
});

#[test]
fn ten_thousand_barriers_in_step() {
    let mut out = vec![u32::MAX; 64];
    // SAFETY: an element per thread.
    unsafe { Simt::new().expect("threads").launch::<PingPong>(ONE, (global(&mut out), 5_000)) }
        .expect("a legal launch");
    assert_eq!(out, (0..64).map(|x| (x + 5_000) % 64).collect::<Vec<_>>());
}
