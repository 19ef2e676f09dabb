//! A pitfall of managed memory: pages that a kernel has to fetch by itself.

use std::time::Duration;

use gpu::access::{Access, Grid, pattern, pattern_sum};

use super::{Fault, Meaning, Number, Outcome, Pitfall, Setting, Verdict, repeated};
use crate::memory::{DeviceBuffer, HostBuffer, ManagedBuffer, PinnedBuffer};

pub(super) const WITHOUT_PREFETCH: Pitfall = Pitfall {
    name: "managed-without-prefetch",
    claim: "a kernel on managed memory stops at every page that is still on the host",
    expected: "Managed memory is where it is needed, so a kernel on it runs as on device memory.",
    reason: "A page migrates when it is touched: the threads that touch it wait for a fault, the driver's answer and the \
             move, a few pages at a time. A prefetch moves all of them in one go.",
    advice: "Prefetch to the device before the kernel and to the host after it. Where CONCURRENT_MANAGED_ACCESS is 0 the \
             CPU crashes if it touches managed memory during a kernel; such devices are refused here.",
    run: without_prefetch,
};

const SEED: u32 = 0x5EED_0004;

/// A run by faults against one with a prefetch.
pub(super) const FAULTS_MEAN: Meaning = Meaning {
    threshold: 1.5,
    shown: "faults took more than half as long again",
    less: "faults took longer, but at most half as long again",
    reverse: "faults took no longer",
};

struct Reader {
    grid: Grid,
    memory: ManagedBuffer<u32>,
    sums: DeviceBuffer<u32>,
    told: PinnedBuffer<u32>,
}

impl Reader {
    /// The device's time for reading memory that is all on the host, with the prefetch if there is one.
    fn read(&mut self, setting: &Setting<'_>, prefetches: bool) -> Result<Duration, Fault> {
        setting.device.scope(|stream| stream.prefetch_to_host(&self.memory))?;
        self.read_where_it_is(setting, prefetches)
    }

    fn read_where_it_is(&mut self, setting: &Setting<'_>, prefetches: bool) -> Result<Duration, Fault> {
        let Self { grid, memory, sums, told } = self;
        let time = setting.device.scope(|stream| {
            let mut sums = stream.bind(sums);
            let start = stream.mark()?;
            if prefetches {
                stream.prefetch_to_device(&*memory)?;
            }
            Access(stream).read(*grid, stream.map(&*memory)?, sums.slice_mut(), 1)?;
            let end = stream.mark()?;
            stream.download(&sums, told)?;
            Ok::<_, Fault>(stream.elapsed(start, end)?)
        })?;
        let sum = told.as_slice().iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
        match sum == pattern_sum(0..memory.len(), SEED) {
            true => Ok(time),
            false => Err(Fault::Wrong("the kernel's sum is not that of what was there".into())),
        }
    }
}

fn without_prefetch(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let device = setting.device;
    let words = setting.words(64 << 20);
    let bytes = Number::bytes("bytes", 4 * words as u64);
    if let Err(why) = device.info().check_managed() {
        let happened = format!("{bytes} were to be read; nothing was.");
        let verdict = Verdict::NotHere("the device has no managed memory that could be used safely".into());
        return Ok(Outcome { happened, numbers: vec![bytes], message: Some(why.to_string()), verdict });
    }
    let grid = Grid::of(setting.blocks());
    let mut memory = device.managed(words)?;
    memory.as_mut_slice().iter_mut().enumerate().for_each(|(index, word)| *word = pattern(index, SEED));
    let (sums, told) = (device.alloc(grid.threads())?, device.pinned(grid.threads())?);
    let mut reader = Reader { grid, memory, sums, told };

    let faults = Number::median("without_prefetch", repeated(|| reader.read(setting, false))?);
    let prefetched = Number::median("with_prefetch", repeated(|| reader.read(setting, true))?);
    // The last run has left the pages on the device.
    let resident = Number::median("on_device", repeated(|| reader.read_where_it_is(setting, false))?);
    let (longer, meaning) = FAULTS_MEAN.of(faults.value, prefetched.value);
    let happened = format!(
        "A kernel read {bytes} of managed memory that was on the host. By faults alone that took {faults}, with a prefetch, \
         which is counted, {prefetched}: {meaning}. Once the pages were on the device it took {resident}."
    );
    let verdict =
        setting.on_gpu(longer, "host and device share one memory on the CPU device, so no page is ever elsewhere");
    Ok(Outcome { happened, numbers: vec![bytes, faults, prefetched, resident], message: None, verdict })
}
