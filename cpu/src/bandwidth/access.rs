//! Kernels on memory, over the link and on the device: in order, with strides, in disorder, again and again.

use std::time::Duration;

use gpu::access::{Access, AccessError, Grid, pattern_sum};
use gpu::launch::{DeviceSlice, DeviceSliceMut};

use super::bench::{Bench, Fault, MeasureError, POISON, SEED, at, words};
use super::measurement::{Measurement, Step};
use super::memory::{KernelMemory, MAPPED};
use crate::device::DeviceError;
use crate::memory::{DeviceBuffer, HostBuffer, MappedBuffer, PinnedBuffer, Stream};

/// Distances between neighbouring threads' words.
const STRIDES: [u32; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// How often memory is read to find out from when on a copy pays.
const ROUNDS: [u32; 5] = [1, 2, 4, 8, 16];

/// A launch of a kernel that reads: on a stream, over memory, with sums to be left.
type Launch<'l> = dyn Fn(&Stream<'_, '_>, Grid, DeviceSlice<'_, u32>, DeviceSliceMut<'_, u32>) -> Outcome + 'l;
type Outcome = Result<(), AccessError<DeviceError>>;

/// Where a reading kernel leaves its sums, and where the host reads them.
pub(super) struct Sums {
    on_device: DeviceBuffer<u32>,
    on_host: PinnedBuffer<u32>,
    grid: Grid,
}

impl Sums {
    pub(super) fn new(bench: &Bench<'_>, grid: Grid) -> Result<Self, DeviceError> {
        let threads = grid.threads();
        Ok(Self { on_device: bench.device.alloc(threads)?, on_host: bench.device.pinned(threads)?, grid })
    }

    /// The device's time for one launch, and the sum of what it read.
    fn launch<M: KernelMemory>(
        &mut self,
        bench: &Bench<'_>,
        memory: &mut M,
        launch: &Launch<'_>,
    ) -> Result<(Duration, u32), Fault> {
        let Self { on_device, on_host, grid } = self;
        on_host.as_mut_slice().fill(POISON);
        let time = bench.device.scope(|stream| {
            let from = memory.readable(stream)?;
            let mut sums = stream.bind(on_device);
            stream.fill(&mut sums, 0xFF)?;
            bench.hold(stream, true)?;
            let start = stream.mark()?;
            launch(stream, *grid, from.slice(), sums.slice_mut())?;
            let end = stream.mark()?;
            stream.download(&sums, on_host)?;
            Ok::<_, Fault>(stream.elapsed(start, end)?)
        })?;
        Ok((time, self.total()))
    }

    fn total(&self) -> u32 {
        self.on_host.as_slice().iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }
}

/// Fails unless a reading kernel has read what was there.
pub(super) fn expect(sum: u32, expected: u32) -> Result<(), Fault> {
    match sum == expected {
        true => Ok(()),
        false => {
            Err(Fault::Wrong(format!("the sum of the words read is {sum:#x}, that of the words there {expected:#x}")))
        }
    }
}

/// Read, write, copy, strided, random.
pub(super) fn measure<M: KernelMemory>(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    let fault = |step: Step| at(step.name(), M::NAME, bytes);
    let grid = bench.grid();
    let mut sums = Sums::new(bench, grid).map_err(Fault::from).map_err(fault(Step::Read))?;
    let mut memory = patterned::<M>(bench, bytes).map_err(fault(Step::Read))?;
    let mut all = vec![
        read(bench, &mut sums, &mut memory, bytes).map_err(fault(Step::Read))?,
        copy(bench, &mut memory, bytes).map_err(fault(Step::Copy))?,
    ];
    for stride in STRIDES {
        all.push(strided(bench, &mut sums, &mut memory, bytes, stride).map_err(fault(Step::Strided))?);
    }
    all.push(random(bench, &mut sums, &mut memory, bytes).map_err(fault(Step::Random))?);
    all.push(write(bench, grid, &mut memory, bytes).map_err(fault(Step::Write))?);
    Ok(all)
}

/// Reads and writes with each grid of the sweep.
pub(super) fn grids<M: KernelMemory>(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    let fault = |step: Step| at(step.name(), M::NAME, bytes);
    let mut memory = patterned::<M>(bench, bytes).map_err(fault(Step::GridRead))?;
    let mut all = Vec::new();
    for &blocks in &bench.plan.sweep {
        let mut sums = Sums::new(bench, Grid::of(blocks)).map_err(Fault::from).map_err(fault(Step::GridRead))?;
        let one = read(bench, &mut sums, &mut memory, bytes).map_err(fault(Step::GridRead))?;
        all.push(Measurement { step: Step::GridRead, blocks: Some(blocks), ..one });
        let one = write(bench, Grid::of(blocks), &mut memory, bytes).map_err(fault(Step::GridWrite))?;
        all.push(Measurement { step: Step::GridWrite, blocks: Some(blocks), ..one });
    }
    Ok(all)
}

/// Memory that holds the pattern.
pub(super) fn patterned<M: KernelMemory>(bench: &Bench<'_>, bytes: u64) -> Result<M, Fault> {
    let mut memory = M::allocate(bench.device, words(bytes))?;
    memory.write_pattern(bench.device, bench.grid(), SEED)?;
    Ok(memory)
}

fn read<M: KernelMemory>(bench: &Bench<'_>, sums: &mut Sums, memory: &mut M, bytes: u64) -> Result<Measurement, Fault> {
    let expected = pattern_sum(0..words(bytes), SEED);
    let times = bench.repeat(|| {
        let (time, sum) = sums.launch(bench, memory, &|s, grid, from, to| Access(s).read(grid, from, to, 1))?;
        expect(sum, expected).map(|()| time)
    })?;
    Ok(Measurement::new(Step::Read, M::NAME, bytes, times))
}

fn strided<M: KernelMemory>(
    bench: &Bench<'_>,
    sums: &mut Sums,
    memory: &mut M,
    bytes: u64,
    stride: u32,
) -> Result<Measurement, Fault> {
    let touched = || (0..words(bytes)).step_by(stride as usize);
    let expected = pattern_sum(touched(), SEED);
    let times = bench.repeat(|| {
        let (time, sum) = sums.launch(bench, memory, &|s, grid, from, to| Access(s).strided(grid, from, to, stride))?;
        expect(sum, expected).map(|()| time)
    })?;
    let one = Measurement::new(Step::Strided, M::NAME, bytes, times).moving(4 * touched().count() as u64);
    Ok(Measurement { stride_words: Some(stride), ..one })
}

fn random<M: KernelMemory>(
    bench: &Bench<'_>,
    sums: &mut Sums,
    memory: &mut M,
    bytes: u64,
) -> Result<Measurement, Fault> {
    let touched = 1usize << words(bytes).ilog2().min(31);
    let expected = pattern_sum(0..touched, SEED);
    let times = bench.repeat(|| {
        let (time, sum) = sums.launch(bench, memory, &|s, grid, from, to| Access(s).random(grid, from, to))?;
        expect(sum, expected).map(|()| time)
    })?;
    Ok(Measurement::new(Step::Random, M::NAME, bytes, times).moving(4 * touched as u64))
}

fn write<M: KernelMemory>(bench: &Bench<'_>, grid: Grid, memory: &mut M, bytes: u64) -> Result<Measurement, Fault> {
    let times = bench.repeat(|| {
        memory.write_pattern(bench.device, bench.grid(), POISON)?;
        let time = bench.device.scope(|stream| {
            let mut to = memory.writable(stream)?;
            bench.hold(stream, true)?;
            let start = stream.mark()?;
            Access(stream).write(grid, to.slice_mut(), SEED)?;
            let end = stream.mark()?;
            Ok::<_, Fault>(stream.elapsed(start, end)?)
        })?;
        bench.check(memory).map(|()| time)
    })?;
    Ok(Measurement::new(Step::Write, M::NAME, bytes, times))
}

/// Into a second buffer of the same kind.
fn copy<M: KernelMemory>(bench: &Bench<'_>, from: &mut M, bytes: u64) -> Result<Measurement, Fault> {
    let mut to = M::allocate(bench.device, words(bytes))?;
    let times = bench.repeat(|| {
        to.write_pattern(bench.device, bench.grid(), POISON)?;
        let time = bench.device.scope(|stream| {
            let (from, mut to) = (from.readable(stream)?, to.writable(stream)?);
            bench.hold(stream, true)?;
            let start = stream.mark()?;
            Access(stream).copy(bench.grid(), from.slice(), to.slice_mut())?;
            let end = stream.mark()?;
            Ok::<_, Fault>(stream.elapsed(start, end)?)
        })?;
        bench.check(&mut to).map(|()| time)
    })?;
    Ok(Measurement::new(Step::Copy, M::NAME, bytes, times).moving(2 * bytes))
}

/// Reading mapped memory several times where it is, against copying it once and reading the copy as often.
pub(super) fn reuse(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    let fault = |step: Step| at(step.name(), MAPPED, bytes);
    let measure = |all: &mut Vec<Measurement>| -> Result<(), Fault> {
        let mut sums = Sums::new(bench, bench.grid())?;
        let mut memory: MappedBuffer<u32> = patterned(bench, bytes)?;
        let mut copy: DeviceBuffer<u32> = bench.device.alloc(words(bytes))?;
        let once = pattern_sum(0..words(bytes), SEED);
        for rounds in ROUNDS {
            let expected = once.wrapping_mul(rounds);
            let mut keep = |step, times| {
                let one = Measurement::new(step, MAPPED, bytes, times).moving(bytes * u64::from(rounds));
                all.push(Measurement { rounds: Some(rounds), ..one });
            };
            let times = bench.repeat(|| {
                let read: &Launch<'_> = &|s, grid, from, to| Access(s).read(grid, from, to, rounds);
                let (time, sum) = sums.launch(bench, &mut memory, read)?;
                expect(sum, expected).map(|()| time)
            })?;
            keep(Step::ReuseInPlace, times);
            let times = bench.repeat(|| {
                copy.write_pattern(bench.device, bench.grid(), POISON)?;
                let (time, sum) = copied(bench, &mut sums, &memory, &mut copy, rounds)?;
                expect(sum, expected).map(|()| time)
            })?;
            keep(Step::ReuseCopied, times);
        }
        Ok(())
    };
    let mut all = Vec::new();
    measure(&mut all).map_err(fault(Step::ReuseInPlace))?;
    Ok(all)
}

/// The device's time for one copy and `rounds` reads of it, and the sum of what was read.
fn copied(
    bench: &Bench<'_>,
    sums: &mut Sums,
    from: &MappedBuffer<u32>,
    to: &mut DeviceBuffer<u32>,
    rounds: u32,
) -> Result<(Duration, u32), Fault> {
    let Sums { on_device, on_host, grid } = sums;
    on_host.as_mut_slice().fill(POISON);
    let time = bench.device.scope(|stream| {
        let (mut to, mut results) = (stream.bind(to), stream.bind(on_device));
        stream.fill(&mut results, 0xFF)?;
        bench.hold(stream, true)?;
        let start = stream.mark()?;
        stream.upload(from, &mut to)?;
        Access(stream).read(*grid, to.slice(), results.slice_mut(), rounds)?;
        let end = stream.mark()?;
        stream.download(&results, on_host)?;
        Ok::<_, Fault>(stream.elapsed(start, end)?)
    })?;
    Ok((time, sums.total()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu::access::pattern;

    #[test]
    fn a_sum_that_is_not_that_of_the_pattern_is_a_fault() {
        let sum = pattern_sum(0..64, SEED);
        assert_eq!(sum, (0..64).fold(0u32, |sum, index| sum.wrapping_add(pattern(index, SEED))));
        assert!(expect(sum, sum).is_ok());
        assert!(matches!(expect(sum ^ 1, sum), Err(Fault::Wrong(_))));
    }
}
