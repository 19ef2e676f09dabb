//! `matmul`: one product over every kind of host memory.

mod arguments;
mod error;
mod estimate;
mod explain;
mod inputs;
mod job;

use std::io::ErrorKind;

pub use arguments::Arguments;
pub(super) use arguments::kernel;
pub use error::Error;

use self::inputs::Inputs;
use self::job::{Extents, Job};
use super::Console;
use super::common::write_documents;
use crate::device::Device;
use crate::matmul::{Measured, Plan, Problem, check_needs, measure};
use crate::matrix::{MatrixView, npy};
use crate::memory::PinnedBudget;
use crate::output;
use crate::report::document::{Document, SizeReport};
use crate::report::{heading, size_table, table_notes, write_csv};
use crate::verify::Verifier;

/// Measures, verifies and reports.
///
/// # Errors
/// The arguments make no sense, something does not fit, the device fails, a result is wrong, or output cannot be written.
/// Nothing is left half-written.
pub fn run(arguments: &Arguments, console: &mut Console) -> Result<(), Error> {
    let job = Job::from_arguments(arguments)?;
    // Before anything is computed: is there a place for its result?
    job.files().try_for_each(output::check)?;
    let inputs = Inputs::read(&job)?;
    let budget = job.pinned_limit.map_or_else(PinnedBudget::from_available_memory, PinnedBudget::limited_to);
    let device = Device::open_with(job.device, budget, &job.kernels)?;
    let shapes = inputs.shapes(&job, device.is_simt())?;
    for &shape in &shapes {
        check_needs(&device, shape, &job.modes, job.verify.bytes_needed(shape))?;
    }

    let plan = job.plan(device.is_simt());
    let mut document = Document::new(&device, plan, inputs.described(), inputs.notes());
    let predictor = job.explain.then(|| explain::find(&device));
    if let Some(found) = &predictor {
        explain::announce(found, &mut document);
    }
    print(&job, console, &heading(&document))?;
    for shape in shapes {
        let (a, b) = inputs.matrices(shape);
        let problem = Problem { shape, a: a.data(), b: b.data() };
        let measured = measure_all(&job, &device, problem, plan, &inputs, console)?;
        let mut size = SizeReport::new(plan.kernel, shape, &measured, device.is_simt());
        print(&job, console, &format!("\n{}", size_table(&size, device.is_simt()).trim_end()))?;
        if let Some(Ok((machine, _))) = &predictor {
            print(&job, console, &format!("\n{}", explain::explain(machine, plan.kernel, shape, &mut size)))?;
        }
        document.sizes.push(size);
    }
    print(&job, console, &format!("\n{}", table_notes(&job.modes, device.is_simt())))?;
    write(&job, &document, console)
}

/// Prints a part of the report for people, where it is wanted. When its reader leaves, the work goes on if there are files
/// to be written.
fn print(job: &Job, console: &mut Console, text: &str) -> Result<(), Error> {
    if !job.prints_tables() {
        return Ok(());
    }
    match console.say(text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe && job.files().next().is_some() => Ok(()),
        outcome => Ok(outcome?),
    }
}

/// Every mode at one size; writes the product if asked to.
fn measure_all(
    job: &Job,
    device: &Device,
    problem: Problem<'_>,
    plan: Plan,
    inputs: &Inputs,
    console: &mut Console,
) -> Result<Vec<Measured>, Error> {
    let Problem { shape, a, b } = problem;
    let steps = u64::from(plan.warmup + plan.iterations);
    if !job.quiet {
        console.start_progress(steps * job.modes.len() as u64, format!("{shape} verification"));
    }
    // The default sizes are quick by choice; the user's own may not be.
    if device.is_simt() && !job.quiet && !matches!(job.extents, Extents::Default) {
        let runs = steps * job.modes.len() as u64;
        if let Some(warning) = estimate::warning(device, plan.kernel, shape, runs) {
            console.warn(&warning);
        }
    }
    let verifier = Verifier::new(shape, a, b, job.verify, inputs.source(), inputs.seed());
    let mut product = None;
    let mut all = Vec::new();
    for &mode in &job.modes {
        if !job.quiet {
            console.start_progress(steps, format!("{shape} {}", mode.name()));
        }
        let keep = |c: &[f32]| {
            if job.out.is_some() && product.is_none() {
                product = Some(c.to_vec());
            }
        };
        all.push(measure(device, problem, mode, plan, &verifier, || console.step(), keep)?);
    }
    console.clear_progress();
    if let (Some(path), Some(product)) = (&job.out, product) {
        npy::write(path, &MatrixView::new(shape.m() as usize, shape.n() as usize, &product))?;
    }
    Ok(all)
}

/// Writes the documents: files first, for the reader of standard output may have left.
fn write(job: &Job, document: &Document, console: &mut Console) -> Result<(), Error> {
    write_documents((job.json.as_ref(), job.csv.as_ref()), console, document, |writer| write_csv(document, writer))
}
