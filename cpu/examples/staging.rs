//! How pageable memory is staged best on this machine.
//!
//! `cargo run --release -p cpu --example staging [MiB]`
//!
//! First threads × chunks × bytes of a chunk at some large sizes, beside pinned memory; then, for every size from 64 KiB to
//! 64 MiB, our staging and the driver's in turn: from which size on is ours the faster?

use std::time::Instant;

use cpu::device::{Device, DeviceError, Selector};
use cpu::memory::{HostBuffer, PageableBuffer, PinnedBudget, Staging, StagingShape};

const RUNS: usize = 9;

/// Whatever the size: nothing is left to the driver.
const ALWAYS: StagingShape =
    StagingShape { threads: 15, chunks: 3, chunk_bytes: 2 << 20, upload_from: 0, download_from: 0 };

fn main() -> Result<(), DeviceError> {
    let mib: usize = std::env::args().nth(1).and_then(|mib| mib.parse().ok()).unwrap_or(512);
    let device = Device::open(Selector::Auto, PinnedBudget::from_available_memory())?;
    println!("{}; GB/s up and down, medians, by wall time", device.info().name);
    shapes(&device, &[16 << 20, 64 << 20, mib << 20])?;
    crossover(&device)
}

/// A line for each shape.
fn shapes(device: &Device, sizes: &[usize]) -> Result<(), DeviceError> {
    println!("\n{:>16}  {sizes:?}", "bytes");
    print!("{:>16}", "pinned");
    for &bytes in sizes {
        let (from, mut to) = (device.pinned::<u8>(bytes)?, device.pinned::<u8>(bytes)?);
        let mut on_device = device.alloc(bytes)?;
        let up = median(RUNS, &mut || device.scope(|s| s.upload(&from, &mut s.bind(&mut on_device))))?;
        let down = median(RUNS, &mut || device.scope(|s| s.download(&s.bind(&mut on_device), &mut to)))?;
        print!("  {:5.1} {:5.1}", rate(bytes, up), rate(bytes, down));
    }
    println!();
    for (threads, chunks, chunk_bytes) in [
        (4, 3, 2 << 20),
        (8, 2, 2 << 20),
        (8, 3, 2 << 20),
        (12, 3, 2 << 20),
        (15, 3, 2 << 20),
        (15, 3, 1 << 20),
        (15, 4, 1 << 20),
        (16, 3, 2 << 20),
    ] {
        let staging = device.staging(StagingShape { threads, chunks, chunk_bytes, ..ALWAYS })?;
        print!("{:>16}", format!("{threads} x {chunks} x {} MiB", chunk_bytes >> 20));
        for &bytes in sizes {
            let mut pair = Pageable::new(device, bytes)?;
            let up = median(RUNS, &mut || pair.up(device, Some(&staging)))?;
            let down = median(RUNS, &mut || pair.down(device, Some(&staging)))?;
            print!("  {:5.1} {:5.1}", rate(bytes, up), rate(bytes, down));
        }
        println!();
    }
    Ok(())
}

/// A line for each size: the driver's staging and ours, run by run in turn, so that both meet the same noise.
fn crossover(device: &Device) -> Result<(), DeviceError> {
    const TURNS: usize = 41;
    println!("\n{:>16}  driver up, ours up; driver down, ours down", "KiB");
    let staging = device.staging(StagingShape { threads: StagingShape::default().threads, ..ALWAYS })?;
    for bytes in (16..=26).map(|power| 1usize << power) {
        let mut pair = Pageable::new(device, bytes)?;
        let mut seconds = [const { Vec::new() }; 4];
        for turn in 0..TURNS + 3 {
            let [a, b, c, d] = &mut seconds;
            for (times, staging) in [(a, None), (b, Some(&staging))] {
                times.push(timed(&mut || pair.up(device, staging))?);
            }
            for (times, staging) in [(c, None), (d, Some(&staging))] {
                times.push(timed(&mut || pair.down(device, staging))?);
            }
            if turn < 3 {
                seconds.iter_mut().for_each(Vec::clear); // warm-up
            }
        }
        let [a, b, c, d] = seconds.map(|times| rate(bytes, middle(times)));
        println!("{:>16}  {a:5.1} {b:5.1}  {c:5.1} {d:5.1}", bytes >> 10);
    }
    Ok(())
}

/// Ordinary memory on both sides of a device buffer.
struct Pageable {
    from: PageableBuffer<u8>,
    to: PageableBuffer<u8>,
    on_device: cpu::memory::DeviceBuffer<u8>,
}

impl Pageable {
    fn new(device: &Device, bytes: usize) -> Result<Self, DeviceError> {
        let (from, to) = (PageableBuffer::zeroed(bytes)?, PageableBuffer::zeroed(bytes)?);
        Ok(Self { from, to, on_device: device.alloc(bytes)? })
    }

    fn up(&mut self, device: &Device, staging: Option<&Staging>) -> Result<(), DeviceError> {
        let Self { from, on_device, .. } = self;
        device.scope(|s| match staging {
            Some(staging) => s.upload_staged(staging, from.as_slice(), &mut s.bind(on_device)),
            None => s.upload_pageable(from.as_slice(), &mut s.bind(on_device)),
        })
    }

    fn down(&mut self, device: &Device, staging: Option<&Staging>) -> Result<(), DeviceError> {
        let Self { to, on_device, .. } = self;
        device.scope(|s| match staging {
            Some(staging) => s.download_staged(staging, &s.bind(on_device), to.as_mut_slice()),
            None => s.download_pageable(&s.bind(on_device), to.as_mut_slice()),
        })
    }
}

/// Seconds of the median run, after one to warm up.
fn median(runs: usize, run: &mut dyn FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    run()?;
    (0..runs).map(|_| timed(run)).collect::<Result<_, _>>().map(middle)
}

fn timed(run: &mut dyn FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed().as_secs_f64())
}

fn middle(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn rate(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / seconds / 1e9
}
