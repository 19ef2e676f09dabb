//! `advise`: which kind of host memory a described job should use, and why. Nothing is measured here.

mod arguments;
mod document;
mod error;

use std::io::ErrorKind;

pub use arguments::Arguments;
pub use error::Error;

use self::document::{Advice, Document, write_csv};
use super::Console;
use super::common::{Destination, identity, write_documents};
use crate::advise::job::Compute;
use crate::advise::reports::{Measured, Report, is_standard_input};
use crate::advise::{Machine, compare, predict, recommend};
use crate::device::{Device, Selector};
use crate::memory::{AvailableMemory, PinnedBudget};
use crate::output;

/// Predicts and recommends.
///
/// # Errors
/// The arguments make no sense, a report cannot be used, there are no parameters for the machine, or output cannot be
/// written.
pub fn run(arguments: &Arguments, console: &mut Console) -> Result<(), Error> {
    check_outputs(arguments)?;
    let document = advise(arguments)?;
    if arguments.prints_tables() {
        match console.say(&document.to_string()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe && files(arguments).next().is_some() => {}
            outcome => outcome?,
        }
    }
    write_documents((arguments.json.as_ref(), arguments.csv.as_ref()), console, &document, |writer| {
        write_csv(&document, writer)
    })
}

fn advise(arguments: &Arguments) -> Result<Document, Error> {
    let report = arguments.from.as_deref().map(Report::read).transpose()?;
    match (report, &arguments.from) {
        (Some(Report::Matmul { .. }), Some(path)) if !arguments.job_options().is_empty() => {
            Err(Error::TwoJobs { path: path.clone(), options: arguments.job_options() })
        }
        (Some(Report::Matmul { device, pinned_limit_bytes, sizes }), _) => {
            let (machine, note) = of_report(arguments, &device, pinned_limit_bytes)?;
            let same = arguments.machine.is_none() || machine.has_device(&device);
            let elsewhere = || format!("the report is of a {device}: what it measured says nothing of this machine");
            let note = if same { note } else { Some(elsewhere()) };
            let advices = sizes.into_iter().map(|measured| of_measured(arguments, &machine, measured, same));
            let advices = advices.collect::<Result<_, _>>()?;
            Ok(Document::new(machine, note, advices))
        }
        (Some(Report::Bandwidth(machine)), Some(path)) => {
            if arguments.machine.is_some() {
                return Err(Error::TwoMachines { path: path.clone() });
            }
            if !arguments.describes_job() {
                return Err(Error::MachineWithoutJob { path: path.clone() });
            }
            described(arguments, *machine, None)
        }
        _ => {
            if !arguments.describes_job() {
                return Err(Error::NoJob);
            }
            // Before the machine is looked for: a job that makes no sense makes none on any.
            arguments.job()?;
            let (machine, note) = chosen(arguments)?;
            described(arguments, machine, note)
        }
    }
}

fn described(arguments: &Arguments, machine: Machine, note: Option<String>) -> Result<Document, Error> {
    let job = arguments.job()?;
    let predictions = predict(&job, &machine)?;
    let recommendation = recommend(&job, &machine, &predictions);
    let advice = Advice { job, shape: None, predictions, recommendation, comparison: None };
    Ok(Document::new(machine, note, vec![advice]))
}

/// A measured product, as a job for the machine it was measured on (`same`) or for another.
fn of_measured(arguments: &Arguments, machine: &Machine, measured: Measured, same: bool) -> Result<Advice, Error> {
    let Measured { shape, mut job, modes } = measured;
    if let Compute::Product { kernel, flops, kernel_ms } = &mut job.compute
        && (!same || machine.product_ms(kernel, "device", *flops).is_some())
    {
        // A prediction that holds a measurement of the same run would be held against itself, and one of another device
        // would mix two machines.
        *kernel_ms = None;
    }
    // What was measured has no part of the CPU in it.
    let comparison = if same { Some(compare(&predict(&job, machine)?, &modes)) } else { None };
    let job = arguments.with_circumstances(job)?;
    let predictions = predict(&job, machine)?;
    let recommendation = recommend(&job, machine, &predictions);
    Ok(Advice { job, shape: Some(shape.to_string()), predictions, recommendation, comparison })
}

/// The machine that was named, or this one.
fn chosen(arguments: &Arguments) -> Result<(Machine, Option<String>), Error> {
    if let Some(named) = arguments.machine.and_then(arguments::MachineChoice::named) {
        return Ok((Machine::named(named), None));
    }
    let device = Device::open(Selector::Auto, PinnedBudget::from_available_memory())?;
    let (mut machine, note) = Machine::find(&device.info().name)?;
    machine.pinned_limit_bytes = Some(device.budget().limit());
    machine.host_memory_bytes = AvailableMemory::now().map(AvailableMemory::least);
    Ok((machine, note))
}

/// The machine that was named, or the one whose device a report of `matmul` names.
fn of_report(
    arguments: &Arguments,
    device: &str,
    pinned_limit_bytes: Option<u64>,
) -> Result<(Machine, Option<String>), Error> {
    match arguments.machine {
        None => {
            let (machine, note) = Machine::find(device)?;
            Ok((Machine { pinned_limit_bytes, ..machine }, note))
        }
        Some(_) => chosen(arguments),
    }
}

fn files(arguments: &Arguments) -> impl Iterator<Item = (&'static str, &std::path::Path)> {
    let named = [("--json", &arguments.json), ("--csv", &arguments.csv)];
    named.into_iter().filter_map(|(option, to)| Some((option, to.as_ref()?.path()?)))
}

/// Is there a place for what is asked for, and for each a place of its own?
fn check_outputs(arguments: &Arguments) -> Result<(), Error> {
    if arguments.json == Some(Destination::Standard) && arguments.csv == Some(Destination::Standard) {
        return Err(Error::TwoDocumentsOnStandardOutput);
    }
    let from = arguments.from.as_deref().filter(|path| !is_standard_input(path)).map(|path| ("--from", path));
    let named: Vec<_> =
        from.into_iter().chain(files(arguments)).filter_map(|(option, path)| Some((option, identity(path)?))).collect();
    for (index, (option, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..index].iter().find(|(_, other)| other == path) {
            return Err(Error::SameFile { options: [other, option], path: path.clone() });
        }
    }
    files(arguments).try_for_each(|(_, path)| Ok(output::check(path)?))
}
