//! `--explain`: the model's prediction beside the measurement.

use gpu::matmul::{MatmulKernel, Shape};

use crate::advise::{Job, Machine, assumed, compare, predict, text};
use crate::bandwidth::table::wrapped;
use crate::device::Device;
use crate::report::document::{Document, SizeReport};

/// Looks for what predicts this device's times.
pub fn find(device: &Device) -> Result<(Machine, Option<String>), String> {
    Machine::find(&device.info().name).map_err(|none| {
        let on = if device.is_simt() { " --device simt" } else { "" };
        format!("--explain: {}, so nothing is predicted; run `cargo run -p cpu -- bandwidth{on}` first", none.why)
    })
}

/// Says by what is predicted, or why nothing is.
pub fn announce(found: &Result<(Machine, Option<String>), String>, document: &mut Document) {
    match found {
        Ok((machine, note)) => {
            document.notes.push(format!("predicted by the figures of {machine}"));
            document.notes.extend(note.clone());
            document.predicted_by = Some(machine.origin.clone());
        }
        Err(why) => document.notes.push(why.clone()),
    }
}

/// Predicts a size and puts it beside what was measured.
pub fn explain(machine: &Machine, kernel: MatmulKernel, shape: Shape, size: &mut SizeReport) -> String {
    let job = Job::product(kernel, shape);
    match predict(&job, machine) {
        Ok(predictions) => {
            let measured: Vec<_> = size.modes.iter().map(|mode| mode.measured()).collect();
            let comparison = compare(&predictions, &measured);
            let text = text::comparison(&comparison);
            size.comparison = Some(comparison);
            assumed(&job, machine).map_or(text.clone(), |said| format!("{text}\n{}", wrapped(&said, "* ")))
        }
        Err(why) => wrapped(&format!("--explain: {why}"), "* "),
    }
}
