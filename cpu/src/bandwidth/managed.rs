//! Managed memory: how fast its pages come to the device and back, in one go or one fault after the other.

use std::hint::black_box;
use std::time::{Duration, Instant};

use gpu::access::{Access, pattern_sum};

use super::access::expect;
use super::bench::{Bench, Fault, MeasureError, SEED, at, words};
use super::copies;
use super::measurement::{Measurement, Step};
use crate::device::DeviceError;
use crate::memory::{DeviceBuffer, HostBuffer, Location, ManagedBuffer, PinnedBuffer};

/// The name of managed memory in documents.
pub const MANAGED: &str = "managed";

/// Words of the smallest page that a system moves.
const PAGE_WORDS: usize = 4096 / 4;

/// What is measured, in this order.
pub const STEPS: [Step; 5] = [Step::PrefetchH2d, Step::FaultH2d, Step::Read, Step::PrefetchD2h, Step::FaultD2h];

/// Memory whose pages are moved, and where a kernel that reads it leaves its sums.
struct Pages {
    memory: ManagedBuffer<u32>,
    sums: DeviceBuffer<u32>,
    told: PinnedBuffer<u32>,
    expected: u32,
}

/// Pages to the device and back, both ways to each, and a kernel that finds them there.
pub(super) fn measure(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    let fault = |step: Step| at(step.name(), MANAGED, bytes);
    let mut pages = Pages::new(bench, bytes).map_err(Fault::from).map_err(fault(STEPS[0]))?;
    let one = |step| {
        let times = bench.repeat(|| pages.sample(bench, step)).map_err(fault(step))?;
        Ok(Measurement::new(step, MANAGED, bytes, times))
    };
    STEPS.into_iter().map(one).collect()
}

impl Pages {
    fn new(bench: &Bench<'_>, bytes: u64) -> Result<Self, DeviceError> {
        let (len, threads) = (words(bytes), bench.grid().threads());
        let mut memory = bench.device.managed(len)?;
        copies::fill(memory.as_mut_slice(), SEED);
        let (sums, told) = (bench.device.alloc(threads)?, bench.device.pinned(threads)?);
        Ok(Self { memory, sums, told, expected: pattern_sum(0..len, SEED) })
    }

    /// Puts all pages where the step does not want them, and takes its time.
    fn sample(&mut self, bench: &Bench<'_>, step: Step) -> Result<Duration, Fault> {
        let (from, to) = match step {
            Step::PrefetchH2d | Step::FaultH2d => (Location::Host, Location::Device),
            Step::PrefetchD2h | Step::FaultD2h => (Location::Device, Location::Host),
            _ => (Location::Device, Location::Device),
        };
        self.move_to(bench, from)?;
        match step {
            Step::PrefetchH2d | Step::PrefetchD2h => {
                let time = self.move_to(bench, to)?;
                self.read_by_kernel(bench)?; // which checks what arrived
                Ok(time)
            }
            Step::FaultD2h => self.read_by_cpu(),
            _ => self.read_by_kernel(bench),
        }
    }

    /// The device's time for moving all pages.
    fn move_to(&self, bench: &Bench<'_>, to: Location) -> Result<Duration, Fault> {
        bench.device.scope(|stream| {
            bench.hold(stream, true)?;
            let start = stream.mark()?;
            match to {
                Location::Device => stream.prefetch_to_device(&self.memory)?,
                Location::Host => stream.prefetch_to_host(&self.memory)?,
            }
            let end = stream.mark()?;
            Ok(stream.elapsed(start, end)?)
        })
    }

    /// The device's time for reading all words, wherever they are.
    fn read_by_kernel(&mut self, bench: &Bench<'_>) -> Result<Duration, Fault> {
        let Self { memory, sums, told, expected } = self;
        told.as_mut_slice().fill(!0);
        let time = bench.device.scope(|stream| {
            let mut sums = stream.bind(sums);
            stream.fill(&mut sums, 0xFF)?;
            bench.hold(stream, true)?;
            let start = stream.mark()?;
            Access(stream).read(bench.grid(), stream.map(memory)?, sums.slice_mut(), 1)?;
            let end = stream.mark()?;
            stream.download(&sums, told)?;
            Ok::<_, Fault>(stream.elapsed(start, end)?)
        })?;
        expect(told.as_slice().iter().fold(0, |sum, word| sum.wrapping_add(*word)), *expected)?;
        Ok(time)
    }

    /// The CPU's time for reading a word of each page; then it reads the others too, to check them.
    fn read_by_cpu(&self) -> Result<Duration, Fault> {
        let words = self.memory.as_slice();
        let started = Instant::now();
        words.iter().step_by(PAGE_WORDS).for_each(|word| {
            black_box(*word);
        });
        let time = started.elapsed();
        expect(words.iter().fold(0, |sum, word| sum.wrapping_add(*word)), self.expected)?;
        Ok(time)
    }
}
