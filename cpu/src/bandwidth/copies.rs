//! Copies: to the device, to the host, both at once.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use gpu::access::pattern;
use rayon::prelude::*;

use super::bench::{Bench, Fault, MeasureError, POISON, SEED, at, words};
use super::measurement::{Measurement, Step};
use super::memory::{Destination, HostMemory, KernelMemory};
use crate::device::DeviceError;
use crate::memory::{DeviceBuffer, Stream};

/// Copies in both directions take too little time below this to be held against each other.
const SMALLEST_OF_BOTH: u64 = 1 << 20;

/// Words that one task of the CPU fills or compares.
const CHUNK: usize = 1 << 16;

/// To the device only.
pub(super) fn up<B: HostMemory>(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    measured_upload::<B>(bench, bytes).map(|(_, one)| vec![one])
}

/// Both directions alone, and both at once where the size is worth it.
pub(super) fn measure<B: Destination>(bench: &Bench<'_>, bytes: u64) -> Result<Vec<Measurement>, MeasureError> {
    let fault = |step: Step| at(step.name(), B::NAME, bytes);
    let (mut upload, one) = measured_upload::<B>(bench, bytes)?;
    let mut all = vec![one];
    let mut download = Download::<B>::new(bench, bytes).map_err(fault(Step::D2h))?;
    let times = bench.repeat(|| download.once(bench)).map_err(fault(Step::D2h))?;
    all.push(Measurement::new(Step::D2h, B::NAME, bytes, times));
    if bytes >= SMALLEST_OF_BOTH {
        let times = bench.repeat(|| both(bench, &mut upload, &mut download)).map_err(fault(Step::Both))?;
        all.push(Measurement::new(Step::Both, B::NAME, bytes, times).moving(2 * bytes));
    }
    Ok(all)
}

fn measured_upload<B: HostMemory>(bench: &Bench<'_>, bytes: u64) -> Result<(Upload<B>, Measurement), MeasureError> {
    let measure = || -> Result<_, Fault> {
        let mut upload = Upload::<B>::new(bench, bytes)?;
        let times = bench.repeat(|| upload.once(bench))?;
        Ok((upload, Measurement::new(Step::H2d, B::NAME, bytes, times)))
    };
    measure().map_err(at(Step::H2d.name(), B::NAME, bytes))
}

/// Host memory that holds the pattern, and where it goes.
struct Upload<B> {
    from: B,
    to: DeviceBuffer<u32>,
}

impl<B: HostMemory> Upload<B> {
    fn new(bench: &Bench<'_>, bytes: u64) -> Result<Self, Fault> {
        let to = bench.device.alloc(words(bytes))?;
        let mut from = B::allocate(bench.device, words(bytes))?;
        from.set_pattern(SEED);
        Ok(Self { from, to })
    }

    fn once(&mut self, bench: &Bench<'_>) -> Result<Duration, Fault> {
        self.poison(bench)?;
        let Self { from, to } = self;
        let time = bench.device.scope(|stream| {
            let mut to = stream.bind(to);
            timed(bench, stream, B::ASYNCHRONOUS, || from.upload(stream, &mut to))
        })?;
        self.check(bench)?;
        Ok(time)
    }

    fn poison(&mut self, bench: &Bench<'_>) -> Result<(), Fault> {
        self.to.write_pattern(bench.device, bench.grid(), POISON)
    }

    fn check(&mut self, bench: &Bench<'_>) -> Result<(), Fault> {
        bench.check(&mut self.to)
    }
}

/// Device memory that holds the pattern, and where it goes.
struct Download<B> {
    from: DeviceBuffer<u32>,
    /// What the destination holds before.
    poison: DeviceBuffer<u32>,
    to: B,
}

impl<B: Destination> Download<B> {
    fn new(bench: &Bench<'_>, bytes: u64) -> Result<Self, Fault> {
        let patterned = |seed| {
            let mut buffer: DeviceBuffer<u32> = bench.device.alloc(words(bytes))?;
            buffer.write_pattern(bench.device, bench.grid(), seed)?;
            Ok::<_, Fault>(buffer)
        };
        Ok(Self { from: patterned(SEED)?, poison: patterned(POISON)?, to: B::allocate(bench.device, words(bytes))? })
    }

    /// By a copy, not by the CPU: what the CPU has just written is in its caches, and the copy engine must take each line
    /// from there first. On the machine with the H200 that made copies of 64 MiB a third slower.
    fn poison(&mut self, bench: &Bench<'_>) -> Result<(), Fault> {
        let Self { poison, to, .. } = self;
        bench.device.scope(|stream| {
            let poison = stream.bind(poison);
            to.download(stream, &poison)
        })?;
        Ok(())
    }

    fn once(&mut self, bench: &Bench<'_>) -> Result<Duration, Fault> {
        self.poison(bench)?;
        let Self { from, to, .. } = self;
        let time = bench.device.scope(|stream| {
            let from = stream.bind(from);
            timed(bench, stream, B::ASYNCHRONOUS, || to.download(stream, &from))
        })?;
        self.check()?;
        Ok(time)
    }

    /// The CPU compares: it is the CPU that the bytes are for.
    fn check(&self) -> Result<(), Fault> {
        match self.to.read(|words| differing(words, SEED)) {
            0 => Ok(()),
            wrong => Err(Fault::Wrong(format!("{wrong} words differ from what the device held"))),
        }
    }
}

/// The device's time for what `enqueue` enqueues.
fn timed<'s>(
    bench: &Bench<'_>,
    stream: &'s Stream<'s, '_>,
    asynchronous: bool,
    enqueue: impl FnOnce() -> Result<(), DeviceError>,
) -> Result<Duration, Fault> {
    bench.hold(stream, asynchronous)?;
    let start = stream.mark()?;
    enqueue()?;
    let end = stream.mark()?;
    Ok(stream.elapsed(start, end)?)
}

/// From the start of the earlier copy to the end of the later one. Each direction has a thread and a stream of its own.
fn both<B: Destination>(bench: &Bench<'_>, up: &mut Upload<B>, down: &mut Download<B>) -> Result<Duration, Fault> {
    up.poison(bench)?;
    down.poison(bench)?;
    let (Upload { from: host, to: on_device }, Download { from: other_on_device, to: other_host, .. }) =
        (&mut *up, &mut *down);
    let host = &*host;
    let (barrier, origin) = (Barrier::new(2), Instant::now());
    let (sent, received) = std::thread::scope(|threads| {
        let receiving = threads.spawn(|| {
            barrier.wait();
            bench.device.scope(|stream| {
                let from = stream.bind(other_on_device);
                interval(bench, stream, origin, B::ASYNCHRONOUS, || other_host.download(stream, &from))
            })
        });
        // Before anything that can fail: a thread that never comes would keep the other one waiting.
        barrier.wait();
        let sent = bench.device.scope(|stream| {
            let mut to = stream.bind(on_device);
            interval(bench, stream, origin, B::ASYNCHRONOUS, || host.upload(stream, &mut to))
        });
        (sent, receiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let span = span(sent?, received?);
    up.check(bench)?;
    down.check()?;
    Ok(span)
}

/// When what `enqueue` enqueues begins and ends, after `origin`. Events of two streams have no common clock, so each stream
/// sets its own against the host's while it is idle, which is right to some microseconds.
fn interval<'s>(
    bench: &Bench<'_>,
    stream: &'s Stream<'s, '_>,
    origin: Instant,
    asynchronous: bool,
    enqueue: impl FnOnce() -> Result<(), DeviceError>,
) -> Result<(Duration, Duration), Fault> {
    let idle = stream.mark()?;
    let seen = origin.elapsed();
    bench.hold(stream, asynchronous)?;
    let start = stream.mark()?;
    enqueue()?;
    let end = stream.mark()?;
    Ok((seen + stream.elapsed(idle, start)?, seen + stream.elapsed(idle, end)?))
}

/// From the earlier start to the later end.
fn span(one: (Duration, Duration), other: (Duration, Duration)) -> Duration {
    one.1.max(other.1).saturating_sub(one.0.min(other.0))
}

pub(super) fn fill(words: &mut [u32], seed: u32) {
    words.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, words)| {
        words.iter_mut().enumerate().for_each(|(index, word)| *word = pattern(chunk * CHUNK + index, seed));
    });
}

fn differing(words: &[u32], seed: u32) -> usize {
    let in_chunk = |(chunk, words): (usize, &[u32])| {
        words.iter().enumerate().filter(|&(index, word)| *word != pattern(chunk * CHUNK + index, seed)).count()
    };
    words.par_chunks(CHUNK).enumerate().map(in_chunk).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_word_is_found_wherever_it_is() {
        let mut words = vec![0; 2 * CHUNK + 5];
        fill(&mut words, SEED);
        assert_eq!(differing(&words, SEED), 0);
        for index in [0, CHUNK, 2 * CHUNK + 4] {
            words[index] ^= 1;
        }
        assert_eq!(differing(&words, SEED), 3);
        fill(&mut words, POISON);
        assert!(differing(&words, SEED) > 2 * CHUNK, "poison is no pattern");
    }

    #[test]
    fn the_span_of_two_copies_covers_both() {
        let ms = Duration::from_millis;
        assert_eq!(span((ms(5), ms(9)), (ms(6), ms(12))), ms(7));
        assert_eq!(span((ms(6), ms(12)), (ms(5), ms(9))), ms(7));
        assert_eq!(span((ms(1), ms(9)), (ms(2), ms(3))), ms(8), "one inside the other");
    }
}
