//! One measured figure, flat: the tables, the plot, JSON and CSV are views of a list of these.

use serde::{Deserialize, Serialize};

use crate::report::Series;

/// What was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A copy to the device.
    H2d,
    /// A copy to the host.
    D2h,
    /// Both at once; the bytes of both over the span of both.
    Both,
    /// A kernel reads every word in order.
    Read,
    /// A kernel writes every word in order.
    Write,
    /// A kernel reads every word and writes it elsewhere; both count.
    Copy,
    /// A kernel reads every `stride`-th word; those count.
    Strided,
    /// A kernel reads every word in a scrambled order.
    Random,
    /// As `read`, with a given grid.
    GridRead,
    /// As `write`, with a given grid.
    GridWrite,
    /// A kernel reads the memory `rounds` times where it is.
    ReuseInPlace,
    /// The memory is copied to the device and read there `rounds` times.
    ReuseCopied,
    /// One launch that reads little, where it is; from the call to the end of the wait, in the caller's time.
    SmallInPlace,
    /// The same after a copy to the device.
    SmallCopied,
    /// One thread follows a chain, `accesses` steps.
    Latency,
    /// One thread of the CPU adds up every word.
    CpuRead,
    /// One thread of the CPU writes every word.
    CpuWrite,
    /// Pages of managed memory are prefetched to the device.
    PrefetchH2d,
    /// They come to the device because a kernel reads them: the whole of its time.
    FaultH2d,
    /// They are prefetched to the host.
    PrefetchD2h,
    /// They come to the host because one thread of the CPU reads a word of each, in the caller's time.
    FaultD2h,
    /// Allocating.
    Allocate,
    /// Freeing.
    Free,
    /// A matrix product of `extent`³ by `kernel`, on memory where it is; the kernel alone.
    Product,
}

impl Step {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::H2d => "h2d",
            Self::D2h => "d2h",
            Self::Both => "both",
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
            Self::Strided => "strided",
            Self::Random => "random",
            Self::GridRead => "grid_read",
            Self::GridWrite => "grid_write",
            Self::ReuseInPlace => "reuse_in_place",
            Self::ReuseCopied => "reuse_copied",
            Self::SmallInPlace => "small_in_place",
            Self::SmallCopied => "small_copied",
            Self::Latency => "latency",
            Self::CpuRead => "cpu_read",
            Self::CpuWrite => "cpu_write",
            Self::PrefetchH2d => "prefetch_h2d",
            Self::FaultH2d => "fault_h2d",
            Self::PrefetchD2h => "prefetch_d2h",
            Self::FaultD2h => "fault_d2h",
            Self::Allocate => "allocate",
            Self::Free => "free",
            Self::Product => "product",
        }
    }
}

/// One figure with all of its samples.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// What was timed.
    pub step: Step,
    /// The kind of memory: `pageable`, `pinned`, `mapped`, …, `device`.
    pub memory: &'static str,
    /// Bytes of the buffer.
    pub size_bytes: u64,
    /// Bytes that the rate counts: what was asked for, not what the memory system fetched with it.
    pub moved_bytes: u64,
    /// Blocks of the grid, where that is the question.
    pub blocks: Option<u32>,
    /// Words from one access to the next, where that is the question.
    pub stride_words: Option<u32>,
    /// How often the memory is read, where that is the question.
    pub rounds: Option<u32>,
    /// Dependent accesses, where their latency is the question.
    pub accesses: Option<u32>,
    /// Which kernel, where a matrix product is the question.
    pub kernel: Option<&'static str>,
    /// M, N and K of the product.
    pub extent: Option<u32>,
    /// Times, in milliseconds.
    pub time_ms: Series,
    /// `moved_bytes` over the median, in 10⁹ bytes per second.
    pub gb_per_s: f64,
}

impl Measurement {
    /// A figure for a buffer of which every byte moves once.
    pub fn new(step: Step, memory: &'static str, bytes: u64, time_ms: Series) -> Self {
        Self {
            step,
            memory,
            size_bytes: bytes,
            moved_bytes: bytes,
            blocks: None,
            stride_words: None,
            rounds: None,
            accesses: None,
            kernel: None,
            extent: None,
            gb_per_s: rate(bytes, time_ms.median),
            time_ms,
        }
    }

    /// The same with another number of bytes moved.
    pub fn moving(mut self, bytes: u64) -> Self {
        self.moved_bytes = bytes;
        self.gb_per_s = rate(bytes, self.time_ms.median);
        self
    }

    /// Nanoseconds for each dependent access, where there are any.
    pub fn latency_ns(&self) -> Option<f64> {
        self.accesses.map(|accesses| self.time_ms.median * 1e6 / f64::from(accesses.max(1)))
    }
}

/// GB/s; 0 where the clock did not move.
fn rate(bytes: u64, milliseconds: f64) -> f64 {
    if milliseconds > 0.0 { bytes as f64 / milliseconds / 1e6 } else { 0.0 }
}

/// The figures of one step and one kind of memory, in the order measured.
pub fn select<'m>(all: &'m [Measurement], step: Step, memory: &'m str) -> impl Iterator<Item = &'m Measurement> {
    all.iter().filter(move |one| one.step == step && one.memory == memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rates_count_what_was_moved() {
        let series = Series::of([1, 2, 3].map(Duration::from_millis));
        let one = Measurement::new(Step::Read, "mapped", 4_000_000, series);
        assert_eq!(one.gb_per_s, 2.0, "4 MB in 2 ms");
        let one = one.moving(1_000_000);
        assert_eq!((one.gb_per_s, one.size_bytes), (0.5, 4_000_000));
        assert_eq!(rate(1, 0.0), 0.0, "a clock that stands still is no infinite rate");
    }

    #[test]
    fn names_are_those_of_the_documents() {
        for step in [Step::H2d, Step::PrefetchH2d, Step::FaultD2h, Step::ReuseInPlace, Step::CpuRead, Step::Product] {
            assert_eq!(serde_json::to_value(step).unwrap(), step.name());
        }
    }
}
