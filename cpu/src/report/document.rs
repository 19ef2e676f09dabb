//! The report as data: what `--json` writes. Units are in the names; GB are 10⁹ bytes, TFLOP 10¹² floating-point
//! operations.

use serde::Serialize;

use super::explain::explain;
use super::series::Series;
use crate::advise::{Comparison, MeasuredMode, Origin};
use crate::device::{Device, DeviceInfo};
use crate::matmul::{Measured, Mode, Plan};
use crate::verify::Verdict;
use gpu::matmul::{MatmulKernel, Shape};

/// The version of the document's layout. Rises when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// Everything that one call of `matmul` measured.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// [`VERSION`].
    pub version: u32,
    /// `pagelock` and its own version.
    pub program: String,
    /// The device.
    pub device: DeviceInfo,
    /// Bytes that may be page-locked, and why.
    pub pinned_limit_bytes: u64,
    /// Where the limit comes from.
    pub pinned_limit_origin: String,
    /// The kernel's name.
    pub kernel: &'static str,
    /// Where A and B come from.
    pub inputs: Inputs,
    /// What the user should know about the inputs, such as f64 values that were rounded.
    pub notes: Vec<String>,
    /// Runs before the measured ones.
    pub warmup_runs: u32,
    /// Where the parameters of the predictions come from, with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_by: Option<Origin>,
    /// One entry per size.
    pub sizes: Vec<SizeReport>,
}

/// Where A and B come from.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Inputs {
    /// Uniform in [−1, 1).
    Random {
        /// `--seed` with this makes the same matrices.
        seed: u64,
    },
    /// The user's files.
    Files {
        /// A.
        a: String,
        /// B.
        b: String,
    },
}

/// One size.
#[derive(Clone, Debug, Serialize)]
pub struct SizeReport {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// One entry per mode.
    pub modes: Vec<ModeReport>,
    /// What won and why, in words.
    pub explanation: Vec<String>,
    /// Predicted beside measured, with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// One mode at one size.
#[derive(Clone, Debug, Serialize)]
pub struct ModeReport {
    /// How the matrices travelled.
    pub mode: Mode,
    /// Allocating the host buffers, once.
    pub host_allocation_ms: f64,
    /// Allocating the device buffers, once.
    pub device_allocation_ms: f64,
    /// Freeing all of them, once.
    pub free_ms: f64,
    /// A and B to the device, in the device's time; in mode prefetched C too.
    pub h2d_ms: Series,
    /// The kernel, in the device's time.
    pub kernel_ms: Series,
    /// C to the host, in the device's time; in mode managed the CPU's, for touching each page of C.
    pub d2h_ms: Series,
    /// From host data to host result, in the caller's time.
    pub total_ms: Series,
    /// The bytes of A, B and C, each counted once, over the time in which they crossed the link: the copies and
    /// prefetches; the whole kernel in mode mapped, and in mode managed with what comes after it.
    pub link_gb_per_s: f64,
    /// 2·M·N·K over the kernel's time.
    pub kernel_tflop_per_s: f64,
    /// The total over that of mode pageable; absent where pageable was not measured.
    pub total_over_pageable: Option<f64>,
    /// The largest |C − reference| of all measured runs; absent where nothing was verified.
    pub largest_absolute_error: Option<f64>,
    /// The verdict of each measured run.
    pub verdicts: Vec<Verdict>,
}

impl Document {
    /// A document without sizes yet.
    pub fn new(device: &Device, plan: Plan, inputs: Inputs, notes: Vec<String>) -> Self {
        Self {
            version: VERSION,
            program: format!("pagelock {}", env!("CARGO_PKG_VERSION")),
            device: device.info().clone(),
            pinned_limit_bytes: device.budget().limit(),
            pinned_limit_origin: device.budget().origin().to_string(),
            kernel: plan.kernel.name(),
            inputs,
            notes,
            warmup_runs: plan.warmup,
            predicted_by: None,
            sizes: Vec::new(),
        }
    }
}

impl SizeReport {
    /// Sums up what was measured at one size.
    pub fn new(kernel: MatmulKernel, shape: Shape, measured: &[Measured], on_simt: bool) -> Self {
        let mut modes: Vec<ModeReport> = measured.iter().map(|mode| ModeReport::new(shape, mode)).collect();
        let pageable = modes.iter().find(|report| report.mode == Mode::Pageable).map(|report| report.total_ms.median);
        for report in &mut modes {
            report.total_over_pageable = pageable.map(|pageable| report.total_ms.median / pageable);
        }
        let explanation = explain(kernel, shape, &modes, on_simt);
        Self { m: shape.m(), n: shape.n(), k: shape.k(), modes, explanation, comparison: None }
    }
}

impl ModeReport {
    fn new(shape: Shape, measured: &Measured) -> Self {
        let stage = |pick: fn(&crate::matmul::Stages) -> std::time::Duration| {
            Series::of(measured.runs.iter().map(|run| pick(&run.stages)))
        };
        let (h2d, kernel, d2h) = (stage(|s| s.h2d), stage(|s| s.kernel), stage(|s| s.d2h));
        let bytes = (shape.a_len() + shape.b_len() + shape.c_len()) as f64 * size_of::<f32>() as f64;
        let on_the_link = match measured.mode {
            Mode::Mapped | Mode::Managed => kernel.median + d2h.median,
            Mode::Pageable | Mode::Staged | Mode::Pinned | Mode::Prefetched => h2d.median + d2h.median,
        };
        let verdicts: Vec<Verdict> = measured.runs.iter().map(|run| run.verdict.clone()).collect();
        let verified = verdicts.iter().filter(|verdict| verdict.passed());
        let milliseconds = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
        Self {
            mode: measured.mode,
            host_allocation_ms: milliseconds(measured.allocation.host),
            device_allocation_ms: milliseconds(measured.allocation.device),
            free_ms: milliseconds(measured.freeing),
            link_gb_per_s: per_millisecond(bytes, on_the_link) / 1e6,
            kernel_tflop_per_s: per_millisecond(shape.flops() as f64, kernel.median) / 1e9,
            total_ms: stage(|s| s.total),
            total_over_pageable: None,
            largest_absolute_error: verified.map(|verdict| verdict.largest_absolute_error).reduce(f64::max),
            verdicts,
            h2d_ms: h2d,
            kernel_ms: kernel,
            d2h_ms: d2h,
        }
    }

    /// What a prediction is held against.
    pub fn measured(&self) -> MeasuredMode {
        MeasuredMode {
            mode: self.mode.name().into(),
            host_allocation_ms: self.host_allocation_ms,
            h2d_ms: self.h2d_ms.median,
            kernel_ms: self.kernel_ms.median,
            d2h_ms: self.d2h_ms.median,
            total_ms: self.total_ms.median,
        }
    }

    /// Both copies, where there are any.
    pub fn copy_ms(&self) -> f64 {
        self.h2d_ms.median + self.d2h_ms.median
    }

    /// What allocating and freeing cost, once.
    pub fn setup_ms(&self) -> f64 {
        self.host_allocation_ms + self.device_allocation_ms + self.free_ms
    }
}

/// An amount over a time; 0 where the clock did not move.
fn per_millisecond(amount: f64, milliseconds: f64) -> f64 {
    if milliseconds > 0.0 { amount / milliseconds } else { 0.0 }
}
