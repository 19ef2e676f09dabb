//! What memory of a kind costs the CPU: allocating, freeing, reading, writing.

use std::hint::black_box;
use std::time::Instant;

use super::bench::{Bench, Fault, MeasureError, SEED, at, words};
use super::measurement::{Measurement, Step};
use super::memory::HostMemory;
use crate::report::Series;

/// Until all pages are there, and until they are gone.
pub(super) fn allocation<B: HostMemory>(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    let mut freeing = Vec::new();
    let allocate = || {
        let buffer = B::allocate(bench.device, words(bytes))?;
        let time = buffer.allocation_time();
        let started = Instant::now();
        drop(buffer);
        freeing.push(started.elapsed());
        Ok(time)
    };
    let times = bench.repeat(allocate).map_err(at(Step::Allocate.name(), B::NAME, bytes))?;
    let freeing = Series::of(freeing.into_iter().skip(bench.plan.warmup as usize));
    Ok(vec![
        Measurement::new(Step::Allocate, B::NAME, bytes, times),
        Measurement::new(Step::Free, B::NAME, bytes, freeing),
    ])
}

/// One thread of the CPU reads all of it, and writes all of it.
pub(super) fn speed<B: HostMemory>(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    let bytes = bytes.min(B::CPU_BYTES_AT_MOST);
    let measure = || -> Result<Vec<Measurement>, Fault> {
        let mut buffer = B::allocate(bench.device, words(bytes))?;
        let mut word = SEED;
        let writing = bench.repeat(|| {
            word = word.wrapping_add(2);
            let started = Instant::now();
            black_box(&mut buffer).fill(black_box(word));
            let time = started.elapsed();
            buffer.read(|words| all_hold(words, word)).map(|()| time)
        })?;
        let reading = bench.repeat(|| {
            let started = Instant::now();
            let sum = black_box(buffer.read(|words| sum(black_box(words))));
            let time = started.elapsed();
            super::access::expect(sum, word.wrapping_mul(words(bytes) as u32)).map(|()| time)
        })?;
        Ok(vec![
            Measurement::new(Step::CpuRead, B::NAME, bytes, reading),
            Measurement::new(Step::CpuWrite, B::NAME, bytes, writing),
        ])
    };
    measure().map_err(at(Step::CpuRead.name(), B::NAME, bytes))
}

/// Wrapping, as the reading kernels add.
fn sum(words: &[u32]) -> u32 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

fn all_hold(words: &[u32], word: u32) -> Result<(), Fault> {
    match words.iter().filter(|&&found| found != word).count() {
        0 => Ok(()),
        wrong => Err(Fault::Wrong(format!("{wrong} words differ from what the CPU wrote"))),
    }
}
