//! What one access costs when nothing else is in flight, and what one launch costs that hardly reads anything.

use std::time::{Duration, Instant};

use gpu::access::{Access, Grid, cycle, pattern, pattern_sum};

use super::access::expect;
use super::bench::{Bench, Fault, MeasureError, SEED, at, words};
use super::measurement::{Measurement, Step};
use super::memory::{KernelMemory, MAPPED};
use crate::memory::{HostBuffer, PinnedBuffer};
use crate::report::Series;

/// Bytes of the small reads.
const SMALL: [u64; 3] = [16, 256, 4096];

/// One thread follows a random chain through all of the memory.
pub(super) fn measure<M: KernelMemory>(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    let measure = || -> Result<Measurement, Fault> {
        let chain = cycle(words(bytes) as u32, u64::from(SEED));
        let steps = bench.plan.chain_steps;
        let expected = (0..steps).fold(0u32, |at, _| chain[at as usize]);
        let mut memory = M::allocate(bench.device, chain.len())?;
        put(bench, &chain, &mut memory)?;
        // Twice the chain, so that writing it takes the chain out of the device's caches.
        let mut cache = bench.device.alloc::<u32>(2 * words(bytes))?;
        let mut end = bench.device.alloc::<u32>(1)?;
        let mut told = bench.device.pinned::<u32>(1)?;
        let times = bench.repeat(|| {
            told.as_mut_slice()[0] = u32::MAX;
            // The first steps of the chain are the same each time and would come from a cache.
            cache.write_pattern(bench.device, bench.grid(), SEED)?;
            let time = bench.device.scope(|stream| {
                let (from, mut end) = (memory.readable(stream)?, stream.bind(&mut end));
                stream.fill(&mut end, 0xFF)?;
                bench.hold(stream, true)?;
                let start = stream.mark()?;
                // SAFETY: `put` copied a chain made by `cycle` for as many words, and nothing has written to it since.
                unsafe { Access(stream).chase(from.slice(), end.slice_mut(), steps)? };
                let stop = stream.mark()?;
                stream.download(&end, &mut told)?;
                Ok::<_, Fault>(stream.elapsed(start, stop)?)
            })?;
            match told.as_slice()[0] {
                word if word == expected => Ok(time),
                word => Err(Fault::Wrong(format!("the chain ends at word {word}, not {expected}"))),
            }
        })?;
        let one = Measurement::new(Step::Latency, M::NAME, bytes, times).moving(4 * u64::from(steps));
        Ok(Measurement { accesses: Some(steps), ..one })
    };
    Ok(vec![measure().map_err(at(Step::Latency.name(), M::NAME, bytes))?])
}

/// Brings words into memory of any kind: by a copy to the device and a kernel's copy from there.
fn put<M: KernelMemory>(bench: &Bench<'_>, words: &[u32], memory: &mut M) -> Result<(), Fault> {
    let mut staging = bench.device.alloc::<u32>(words.len())?;
    bench.device.scope(|stream| {
        let (mut staging, mut to) = (stream.bind(&mut staging), memory.writable(stream)?);
        stream.upload_pageable(words, &mut staging)?;
        Access(stream).copy(bench.grid(), staging.slice(), to.slice_mut())?;
        Ok(())
    })
}

/// A few bytes for one launch: read where they are, or copied first. In the caller's time, for the launch is the point.
pub(super) fn small(bench: &Bench<'_>) -> Result<Vec<Measurement>, MeasureError> {
    let mut all = Vec::new();
    for bytes in SMALL {
        for step in [Step::SmallInPlace, Step::SmallCopied] {
            let times = small_reads(bench, bytes, step).map_err(at(step.name(), MAPPED, bytes))?;
            all.push(Measurement::new(step, MAPPED, bytes, times));
        }
    }
    Ok(all)
}

fn small_reads(bench: &Bench<'_>, bytes: u64, step: Step) -> Result<Series, Fault> {
    let grid = Grid::of(1);
    let mut memory = bench.device.mapped::<u32>(words(bytes))?;
    let mut copy = bench.device.alloc::<u32>(words(bytes))?;
    let mut sums = bench.device.alloc::<u32>(grid.threads())?;
    let mut told: PinnedBuffer<u32> = bench.device.pinned(grid.threads())?;
    memory.as_mut_slice().iter_mut().enumerate().for_each(|(index, word)| *word = pattern(index, SEED));
    let expected = pattern_sum(0..words(bytes), SEED);
    bench.repeat(|| {
        told.as_mut_slice().fill(u32::MAX);
        let time = bench.device.scope(|stream| {
            let mut sums = stream.bind(&mut sums);
            stream.fill(&mut sums, 0xFF)?;
            let mut copy = stream.bind(&mut copy);
            stream.synchronize()?;
            let started = Instant::now();
            if step == Step::SmallCopied {
                stream.upload(&memory, &mut copy)?;
                Access(stream).read(grid, copy.slice(), sums.slice_mut(), 1)?;
            } else {
                Access(stream).read(grid, stream.map(&memory)?, sums.slice_mut(), 1)?;
            }
            stream.synchronize()?;
            let time: Duration = started.elapsed();
            stream.download(&sums, &mut told)?;
            Ok::<_, Fault>(time)
        })?;
        expect(told.as_slice().iter().fold(0, |sum, word| sum.wrapping_add(*word)), expected).map(|()| time)
    })
}
