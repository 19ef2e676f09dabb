//! A measured figure without its samples, from a run or from a report of one: what parameters are made from.

use serde::Deserialize;

use super::measurement::{Measurement, Step};

/// One figure.
#[derive(Clone, Debug, Deserialize)]
pub struct Figure {
    /// What was timed.
    pub step: Step,
    /// The kind of memory.
    pub memory: String,
    /// Bytes of the buffer.
    pub size_bytes: u64,
    /// Dependent accesses, where their latency is the question.
    pub accesses: Option<u32>,
    /// Which kernel, where a matrix product is the question.
    pub kernel: Option<String>,
    /// M, N and K of the product.
    pub extent: Option<u32>,
    /// Times.
    pub time_ms: Median,
    /// Bytes moved over the median.
    pub gb_per_s: f64,
}

/// What of a [`Series`](crate::report::Series) counts here.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Median {
    /// The median.
    pub median: f64,
}

impl From<&Measurement> for Figure {
    fn from(one: &Measurement) -> Self {
        Self {
            step: one.step,
            memory: one.memory.into(),
            size_bytes: one.size_bytes,
            accesses: one.accesses,
            kernel: one.kernel.map(str::to_owned),
            extent: one.extent,
            time_ms: Median { median: one.time_ms.median },
            gb_per_s: one.gb_per_s,
        }
    }
}

impl Figure {
    /// Nanoseconds for each dependent access, where there are any.
    pub fn latency_ns(&self) -> Option<f64> {
        self.accesses.map(|accesses| self.time_ms.median * 1e6 / f64::from(accesses.max(1)))
    }
}
