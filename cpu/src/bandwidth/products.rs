//! What the kernels of the matrix product take, on device memory and on mapped memory: the advisor's examples of work that
//! reads what it is given many times.

use gpu::matmul::{MatmulKernel, Shape};

use super::bench::{Bench, Fault, MeasureError, SEED, at};
use super::measurement::{Measurement, Step};
use super::memory::{DEVICE, MAPPED};
use crate::matmul::{self, Mode, Problem, check_needs};
use crate::matrix::Matrix;
use crate::report::Series;
use crate::verify::{Method, Source, Verifier};

/// No product is begun that is expected to take longer than this, in milliseconds: the rate does not change much any more.
const LONGEST_MS: f64 = 300.0;

/// Every kernel, at growing extents.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>, MeasureError> {
    let mut all = Vec::new();
    for kernel in MatmulKernel::ALL {
        for (mode, memory) in [(Mode::Pinned, DEVICE), (Mode::Mapped, MAPPED)] {
            if mode == Mode::Mapped && !bench.device.info().can_map_host_memory {
                continue;
            }
            all.extend(curve(bench, kernel, mode, memory)?);
        }
    }
    Ok(all)
}

/// One kernel on memory of one kind, until the next extent would take too long or does not fit.
fn curve(
    bench: &Bench<'_>,
    kernel: MatmulKernel,
    mode: Mode,
    memory: &'static str,
) -> Result<Vec<Measurement>, MeasureError> {
    let mut all: Vec<Measurement> = Vec::new();
    for &extent in &bench.plan.extents {
        let last = all.last().and_then(|one| Some((one.time_ms.median, f64::from(one.extent?))));
        if last.is_some_and(|(ms, before)| ms * (f64::from(extent) / before).powi(3) > LONGEST_MS) {
            break;
        }
        let bytes = 4 * u64::from(extent).pow(2);
        let Some(times) = product(bench, kernel, mode, extent).map_err(at(Step::Product.name(), memory, bytes))? else {
            break;
        };
        all.push(times);
    }
    Ok(all)
}

/// One product, every run of it verified; nothing where it does not fit.
fn product(bench: &Bench<'_>, kernel: MatmulKernel, mode: Mode, extent: u32) -> Result<Option<Measurement>, Fault> {
    let Ok(shape) = Shape::new(extent.into(), extent.into(), extent.into()) else { return Ok(None) };
    if check_needs(bench.device, shape, &[mode], Method::Sampled.bytes_needed(shape)).is_err() {
        return Ok(None);
    }
    let side = extent as usize;
    let [a, b] = [SEED, SEED + 1].map(|seed| Matrix::random(side, side, seed.into()));
    let verifier = Verifier::new(shape, a.data(), b.data(), Method::Sampled, Source::Random, SEED.into());
    let problem = Problem { shape, a: a.data(), b: b.data() };
    let plan = matmul::Plan { kernel, warmup: bench.plan.warmup, iterations: bench.plan.samples };
    let measured = matmul::measure(bench.device, problem, mode, plan, &verifier, || (), |_| ())?;
    (bench.done)();
    let memory = if mode == Mode::Mapped { MAPPED } else { DEVICE };
    let times = Series::of(measured.runs.iter().map(|run| run.stages.kernel));
    let one =
        Measurement::new(Step::Product, memory, 3 * 4 * u64::from(extent).pow(2), times).moving(asked(kernel, shape));
    Ok(Some(Measurement { kernel: Some(kernel.name()), extent: Some(extent), ..one }))
}

/// Bytes that the kernel asks memory for, before any cache.
fn asked(kernel: MatmulKernel, shape: Shape) -> u64 {
    let (reads_a, reads_b) = kernel.reads(shape);
    4 * (reads_a * shape.a_len() as u64 + reads_b * shape.b_len() as u64 + shape.c_len() as u64)
}
