//! How one figure comes about: warm-up, samples, each on memory that was poisoned before and is checked after.

use std::time::Duration;

use gpu::access::{Access, AccessError, Grid};

use super::memory::KernelMemory;
use super::plan::Plan;
use crate::device::{Device, DeviceError};
use crate::matmul;
use crate::memory::{HostBuffer, Stream};
use crate::report::Series;

/// The pattern that memory is measured with.
pub(super) const SEED: u32 = 0x5EED_0001;

/// The pattern that memory holds before something else is written to it.
pub(super) const POISON: u32 = 0xDEAD_0002;

/// How long a stream is held while it is filled. Enqueueing takes some microseconds for each piece of work; a virtual
/// machine takes longer now and then.
const HOLD: Duration = Duration::from_micros(300);

/// Samples that took so long together are enough, unless more were asked for.
const LONG_ENOUGH: Duration = Duration::from_millis(50);

/// Everything that a measurement needs.
pub struct Bench<'a> {
    /// The device.
    pub device: &'a Device,
    /// How much of everything.
    pub plan: &'a Plan,
    /// Called after each step.
    pub done: &'a (dyn Fn() + Sync),
}

/// Why a sample does not count.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The device or the budget refused, or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A kernel was not launched.
    #[error(transparent)]
    Access(#[from] AccessError<DeviceError>),
    /// A product could not be computed, or is wrong.
    #[error(transparent)]
    Product(#[from] matmul::MeasureError),
    /// What came out is not what went in.
    #[error("{0}; no figure of this run can be trusted")]
    Wrong(String),
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
#[error("bandwidth of {memory} memory, {step}, {}: {reason}", bytesize::ByteSize(*bytes))]
pub struct MeasureError {
    /// What was timed.
    pub step: &'static str,
    /// The kind of memory.
    pub memory: &'static str,
    /// Bytes of the buffer.
    pub bytes: u64,
    /// Why.
    pub reason: Box<Fault>,
}

impl Bench<'_> {
    /// Runs `one` as often as planned, more often if it is short, and keeps what it says it took, without the warm-up.
    pub(super) fn repeat(&self, mut one: impl FnMut() -> Result<Duration, Fault>) -> Result<Series, Fault> {
        for _ in 0..self.plan.warmup {
            one()?;
        }
        let (mut times, mut sum) = (Vec::new(), Duration::ZERO);
        while times.len() < self.plan.samples as usize
            || (sum < LONG_ENOUGH && times.len() < self.plan.samples_at_most as usize)
        {
            let time = one()?;
            sum += time;
            times.push(time);
        }
        (self.done)();
        Ok(Series::of(times))
    }

    /// Sees to it that what is enqueued next runs without gaps: the device waits until the queue is full. Where nothing can
    /// be enqueued ahead, waits for what was enqueued before.
    pub(super) fn hold<'s>(&self, stream: &'s Stream<'s, '_>, asynchronous: bool) -> Result<(), Fault> {
        if !asynchronous {
            stream.synchronize()?;
        } else if !self.device.is_simt() {
            Access(stream).spin(HOLD.as_nanos() as u64)?;
        }
        Ok(())
    }

    /// The grid for work that wants all of the device.
    pub(super) fn grid(&self) -> Grid {
        Grid::of(self.plan.blocks)
    }

    /// Fails unless memory holds the pattern of [`SEED`]; the device compares.
    pub(super) fn check<M: KernelMemory>(&self, memory: &mut M) -> Result<(), Fault> {
        let mut count = self.device.alloc::<u32>(1)?;
        let mut told = self.device.pinned::<u32>(1)?;
        told.as_mut_slice()[0] = u32::MAX;
        self.device.scope(|stream| {
            let mut count = stream.bind(&mut count);
            stream.fill(&mut count, 0)?;
            Access(stream).compare(self.grid(), memory.readable(stream)?.slice(), count.slice_mut(), SEED)?;
            stream.download(&count, &mut told)?;
            Ok::<_, Fault>(())
        })?;
        match told.as_slice()[0] {
            0 => Ok(()),
            wrong => Err(Fault::Wrong(format!("{wrong} words differ from what was written"))),
        }
    }
}

/// Names the step of a fault.
pub(super) fn at(step: &'static str, memory: &'static str, bytes: u64) -> impl Fn(Fault) -> MeasureError {
    move |reason| MeasureError { step, memory, bytes, reason: Box::new(reason) }
}

/// Words of so many bytes.
pub(super) fn words(bytes: u64) -> usize {
    (bytes / 4) as usize
}
