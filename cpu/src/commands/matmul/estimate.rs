//! About how long the runs of one size take on the CPU, asked before they begin.

use std::time::{Duration, Instant};

use gpu::matmul::{LaunchError, MatmulKernel, Shape};

use crate::device::{Device, DeviceError};

/// What takes less is not worth a line.
const LONG: Duration = Duration::from_secs(20);

/// Operations below which nothing is estimated: less than a second on any machine.
const SHORT_FLOPS: u64 = 100_000_000;

/// Extents of the product that is timed: a few hundredths of a second, and as many blocks as there are workers at most.
const SAMPLE_EXTENT: u32 = 128;

/// One line about runs that will take long; nothing about others, or where the device fails, which the runs themselves
/// will say better.
pub fn warning(device: &Device, kernel: MatmulKernel, shape: Shape, runs: u64) -> Option<String> {
    if shape.flops().saturating_mul(runs) < SHORT_FLOPS {
        return None;
    }
    let sample = [shape.m(), shape.n(), shape.k()].map(|extent| u64::from(extent.min(SAMPLE_EXTENT)));
    let sample = Shape::new(sample[0], sample[1], sample[2]).ok()?;
    let seconds = time(device, kernel, sample).ok()?.as_secs_f64();
    let expected = seconds * shape.flops() as f64 / sample.flops() as f64 * runs as f64;
    (expected > LONG.as_secs_f64()).then(|| {
        format!(
            "note: {runs} runs of {shape} with kernel {} take about {} on this CPU; a smaller size or fewer --iters take \
             less, and Ctrl-C leaves nothing behind",
            kernel.name(),
            spoken(expected)
        )
    })
}

/// The time of a kernel on zeros, once it has run before.
fn time(device: &Device, kernel: MatmulKernel, shape: Shape) -> Result<Duration, LaunchError<DeviceError>> {
    let (mut a, mut b) = (device.alloc(shape.a_len())?, device.alloc(shape.b_len())?);
    let mut c = device.alloc(shape.c_len())?;
    let mut run = || {
        let start = Instant::now();
        device.scope(|stream| {
            let (a, b, mut c) = (stream.bind(&mut a), stream.bind(&mut b), stream.bind(&mut c));
            kernel.launch(stream, shape, a.slice(), b.slice(), c.slice_mut())
        })?;
        Ok(start.elapsed())
    };
    run().and(run())
}

/// `40 seconds`, `3 minutes`, `2 hours`.
fn spoken(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} seconds"),
        seconds if seconds < 90.0 * 60.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds if seconds < 48.0 * 3600.0 => format!("{:.0} hours", seconds / 3600.0),
        seconds => format!("{:.0} days", seconds / 86400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Selector;
    use crate::memory::PinnedBudget;

    #[test]
    fn only_what_takes_long_is_announced() {
        let device = Device::open(Selector::Simt, PinnedBudget::limited_to(0)).unwrap();
        let said = |size, runs| warning(&device, MatmulKernel::Tiled, Shape::new(size, size, size).unwrap(), runs);
        assert_eq!(said(64, 1), None);
        let text = said(30_000, 1_000_000).unwrap();
        assert!(text.contains("1000000 runs of 30000×30000×30000") && text.contains(" days"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn times_are_spoken() {
        assert_eq!([42.3, 300.0, 7300.0, 1e6].map(spoken), ["42 seconds", "5 minutes", "2 hours", "12 days"]);
    }
}
