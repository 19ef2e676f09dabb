//! Runs a mode again and again and verifies every result.

use std::time::{Duration, Instant};

use gpu::matmul::MatmulKernel;

use super::{Allocation, Mode, Problem, Stages, StrategyError};
use crate::device::{Device, DeviceError};
use crate::verify::{Verdict, Verifier, VerifyError};

/// What to do with each mode.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The kernel.
    pub kernel: MatmulKernel,
    /// Runs before the measured ones: caches, clocks and page tables settle. They are verified too.
    pub warmup: u32,
    /// Measured runs.
    pub iterations: u32,
}

/// One measured run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where its time went.
    pub stages: Stages,
    /// What verification said.
    pub verdict: Verdict,
}

/// All runs of one mode.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The mode.
    pub mode: Mode,
    /// What allocating took.
    pub allocation: Allocation,
    /// What freeing took.
    pub freeing: Duration,
    /// The measured runs, in order. At least one.
    pub runs: Vec<Run>,
}

/// Why a mode has no figures.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// Its memory could not be had.
    #[error("mode {}: {reason}", mode.name())]
    Prepare {
        /// The mode.
        mode: Mode,
        /// Why.
        reason: DeviceError,
    },
    /// A run failed.
    #[error("mode {}, kernel {}: {reason}", mode.name(), kernel.name())]
    Run {
        /// The mode.
        mode: Mode,
        /// The kernel.
        kernel: MatmulKernel,
        /// Why.
        reason: StrategyError,
    },
    /// A result is wrong.
    #[error("mode {}, kernel {}: {reason}", mode.name(), kernel.name())]
    Wrong {
        /// The mode.
        mode: Mode,
        /// The kernel.
        kernel: MatmulKernel,
        /// What is wrong.
        reason: VerifyError,
    },
}

/// Runs one mode as planned. After each run `done` is called; after the last, `keep` gets the product.
///
/// # Errors
/// Memory cannot be had, the device fails, or a result is wrong: then there are no figures at all.
pub fn measure(
    device: &Device,
    problem: Problem<'_>,
    mode: Mode,
    plan: Plan,
    verifier: &Verifier<'_>,
    mut done: impl FnMut(),
    keep: impl FnOnce(&[f32]),
) -> Result<Measured, MeasureError> {
    let kernel = plan.kernel;
    let prepare = |reason| MeasureError::Prepare { mode, reason };
    let mut strategy = mode.prepare(device, problem).map_err(prepare)?;
    let allocation = strategy.allocation();
    let mut runs = Vec::with_capacity(plan.iterations as usize);
    for iteration in 0..plan.warmup + plan.iterations {
        strategy.poison(device).map_err(prepare)?;
        let stages = strategy.run(device, kernel).map_err(|reason| MeasureError::Run { mode, kernel, reason })?;
        let verdict = verifier.check(strategy.product()).into_result();
        let verdict = verdict.map_err(|reason| MeasureError::Wrong { mode, kernel, reason })?;
        if iteration >= plan.warmup {
            runs.push(Run { stages, verdict });
        }
        done();
    }
    keep(strategy.product());
    let started = Instant::now();
    drop(strategy);
    Ok(Measured { mode, allocation, freeing: started.elapsed(), runs })
}
