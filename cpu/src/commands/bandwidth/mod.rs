//! `bandwidth`: what the way between host and device carries, for every kind of host memory.

mod arguments;
mod error;

use std::io::{ErrorKind, Write};

pub use arguments::Arguments;
pub use error::Error;

use super::Console;
use super::common::write_documents;
use crate::bandwidth::document::{Document, write_csv};
use crate::bandwidth::parameters::Parameters;
use crate::bandwidth::{Bench, Plan, measure, plot, table};
use crate::device::Device;
use crate::memory::PinnedBudget;
use crate::output;

/// Measures, checks and reports.
///
/// # Errors
/// The arguments make no sense, something does not fit, the device fails, a sample is wrong, or output cannot be written.
/// Nothing is left half-written.
pub fn run(arguments: &Arguments, console: &mut Console) -> Result<(), Error> {
    arguments.check()?;
    // Before anything is measured: is there a place for its result?
    arguments.files().iter().try_for_each(|(_, path)| output::check(path))?;
    let limit = arguments.pinned_limit.map(|limit| limit.as_u64());
    let budget = limit.map_or_else(PinnedBudget::from_available_memory, PinnedBudget::limited_to);
    let device = Device::open(arguments.device, budget)?;
    let plan = Plan::new(&device, &arguments.wishes())?;

    if !arguments.quiet {
        console.start_progress(plan.steps(), "bandwidth".into());
    }
    let measurements = measure(&Bench { device: &device, plan: &plan, done: &|| console.step() })?;
    console.clear_progress();
    let mut document = Document::new(&device, &plan, measurements);
    if arguments.saves() {
        // What cannot be kept is no reason to lose what was measured.
        document.notes.push(match Parameters::of(&document).save() {
            Ok(path) => format!("what `advise` needs is kept in {}", path.display()),
            Err(reason) => format!("nothing is kept for `advise`: {reason}"),
        });
    }
    // Files first, for the reader of standard output may have left.
    write(arguments, &document, console)?;
    print(arguments, console, &report(&document))
}

/// Everything that people read.
fn report(document: &Document) -> String {
    let mut text = table::heading(document);
    for table in table::tables(document) {
        text += &format!("\n\n{table}");
    }
    text += &format!("\n\n{}\n", table::wrapped(table::notes(), ""));
    for sentence in &document.explanation {
        text += &format!("\n{}", table::wrapped(sentence, "* "));
    }
    text
}

/// Prints the report where it is wanted. That its reader leaves is no failure if there are files, which were written.
fn print(arguments: &Arguments, console: &mut Console, text: &str) -> Result<(), Error> {
    if !arguments.prints_tables() {
        return Ok(());
    }
    match console.say(text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => Ok(outcome?),
    }
}

fn write(arguments: &Arguments, document: &Document, console: &mut Console) -> Result<(), Error> {
    if let Some(path) = &arguments.plot {
        let svg = plot::svg(document).map_err(|why| Error::Plot(why.to_string()))?;
        output::write(path, |writer| writer.write_all(svg.as_bytes()))?;
    }
    write_documents((arguments.json.as_ref(), arguments.csv.as_ref()), console, document, |writer| {
        write_csv(document, writer)
    })
}
