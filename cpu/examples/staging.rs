//! How pageable memory is staged best on this machine: threads × chunks × bytes of a chunk, beside the driver's own staging
//! and beside pinned memory.
//!
//! `cargo run --release -p cpu --example staging [MiB]`

use std::time::Instant;

use cpu::device::{Device, DeviceError, Selector};
use cpu::memory::{HostBuffer, PageableBuffer, PinnedBudget, StagingShape};

const RUNS: usize = 9;

fn main() -> Result<(), DeviceError> {
    let mib: usize = std::env::args().nth(1).and_then(|mib| mib.parse().ok()).unwrap_or(512);
    let sizes = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, mib << 20];
    let device = Device::open(Selector::Auto, PinnedBudget::from_available_memory())?;
    println!("{}; GB/s up and down, median of {RUNS}, for bytes: {sizes:?}", device.info().name);

    row("pinned", &sizes, |bytes| {
        let (from, mut to) = (device.pinned::<u8>(bytes)?, device.pinned::<u8>(bytes)?);
        let mut on_device = device.alloc(bytes)?;
        measure(bytes, &mut || device.scope(|s| s.upload(&from, &mut s.bind(&mut on_device)))).and_then(|up| {
            Ok((up, measure(bytes, &mut || device.scope(|s| s.download(&s.bind(&mut on_device), &mut to)))?))
        })
    })?;
    row("the driver's", &sizes, |bytes| {
        let (from, mut to) = (PageableBuffer::<u8>::zeroed(bytes)?, PageableBuffer::<u8>::zeroed(bytes)?);
        let mut on_device = device.alloc(bytes)?;
        let up =
            measure(bytes, &mut || device.scope(|s| s.upload_pageable(from.as_slice(), &mut s.bind(&mut on_device))))?;
        let down =
            measure(bytes, &mut || device.scope(|s| s.download_pageable(&s.bind(&mut on_device), to.as_mut_slice())))?;
        Ok((up, down))
    })?;
    for threads in [4, 8, 12, 15] {
        for (chunks, chunk_bytes) in
            [(2, 1 << 20), (2, 2 << 20), (2, 4 << 20), (3, 1 << 20), (3, 2 << 20), (4, 1 << 20)]
        {
            let shape = StagingShape { threads, chunks, chunk_bytes };
            let staging = device.staging(shape)?;
            row(&format!("{threads} x {chunks} x {} MiB", chunk_bytes >> 20), &sizes, |bytes| {
                let (from, mut to) = (PageableBuffer::<u8>::zeroed(bytes)?, PageableBuffer::<u8>::zeroed(bytes)?);
                let mut on_device = device.alloc(bytes)?;
                let up = measure(bytes, &mut || {
                    device.scope(|s| s.upload_staged(&staging, from.as_slice(), &mut s.bind(&mut on_device)))
                })?;
                let down = measure(bytes, &mut || {
                    device.scope(|s| s.download_staged(&staging, &s.bind(&mut on_device), to.as_mut_slice()))
                })?;
                Ok((up, down))
            })?;
        }
    }
    Ok(())
}

fn row(
    name: &str,
    sizes: &[usize],
    mut measured: impl FnMut(usize) -> Result<(f64, f64), DeviceError>,
) -> Result<(), DeviceError> {
    print!("{name:>16}");
    for &bytes in sizes {
        let (up, down) = measured(bytes)?;
        print!("  {up:5.1} {down:5.1}");
    }
    println!();
    Ok(())
}

/// GB/s of the median run, by wall time.
fn measure(bytes: usize, run: &mut dyn FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    run()?;
    let mut seconds = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(bytes as f64 / seconds[RUNS / 2] / 1e9)
}
