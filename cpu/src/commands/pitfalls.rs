//! `pitfalls`: what goes wrong for people, shown here and now.

use std::io::{self, Write};

use bytesize::ByteSize;
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use serde::Serialize;

use super::Console;
use super::common::{Destination, byte_size};
use crate::bandwidth::table::wrapped;
use crate::device::{Device, DeviceError, Selector};
use crate::memory::PinnedBudget;
use crate::output;
use crate::pitfalls::{Outcome, Pitfall, Setting, Verdict, all};

const EXAMPLES: &str = "\
Examples:
  cargo run -p cpu -- pitfalls                       the list, then all of them
  cargo run -p cpu -- pitfalls pageable-async        this one
  cargo run -p cpu -- pitfalls --json report.json    with the numbers for programs

Exit status: 0 if each showed what it claims or says why it cannot here, 1 if one did not or came to no
end (the others run all the same), 2 if the arguments make no sense.";

/// The options of `pitfalls`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Which ones [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// auto (a GPU if there is one), cuda:0 (this GPU or an error) or simt (the CPU)
    #[arg(long, value_name = "auto|cuda:I|simt", default_value_t = Selector::Auto)]
    device: Selector,

    /// The most page-locked memory to use, such as 2GiB [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = byte_size, allow_negative_numbers = true)]
    pinned_limit: Option<ByteSize>,

    /// Writes what was found as JSON; `-` is standard output, instead of the text
    #[arg(long, value_name = "FILE|-", value_parser = PathBufValueParser::new().map(Destination::from))]
    json: Option<Destination>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such pitfall.
    #[error("there is no pitfall `{name}`; there are {}", all().map(|it| it.name).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The document cannot be written.
    #[error(transparent)]
    Output(#[from] output::WriteError),
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}; make room there, or send it elsewhere")]
    Console(#[from] io::Error),
}

impl Error {
    /// Whether the arguments are to blame, before anything was tried.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }

    /// Whether whoever reads the output has seen enough and left.
    pub fn is_reader_gone(&self) -> bool {
        match self {
            Self::Console(error) | Self::Output(output::WriteError::Io { source: error, .. }) => {
                error.kind() == io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    device: &'a str,
    simt: bool,
    pitfalls: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    claim: &'static str,
    expected: &'static str,
    #[serde(flatten)]
    outcome: Outcome,
    reason: &'static str,
    advice: &'static str,
}

/// Runs and tells. False if one of them did not show what it claims, though it could have, or came to no end.
///
/// # Errors
/// There is no such pitfall or device, or output cannot be written.
pub fn run(arguments: &Arguments, console: &mut Console) -> Result<bool, Error> {
    let chosen = choose(&arguments.names)?;
    if let Some(path) = arguments.json.as_ref().and_then(Destination::path) {
        output::check(path)?;
    }
    let limit = arguments.pinned_limit.map(|limit| limit.as_u64());
    let budget = limit.map_or_else(PinnedBudget::from_available_memory, PinnedBudget::limited_to);
    let device = Device::open(arguments.device, budget)?;
    let setting = Setting { device: &device };
    let tells = arguments.json != Some(Destination::Standard);
    if tells {
        console.say(&heading(arguments, &device))?;
    }
    let mut entries = Vec::new();
    for &Pitfall { name, claim, expected, reason, advice, run } in chosen {
        // What one cannot do, such as pin more than is allowed, says nothing of the others.
        let outcome = run(&setting).unwrap_or_else(|fault| {
            console.warn(&format!("error: {name}: {fault}"));
            Outcome::failed(&fault)
        });
        let entry = Entry { name, claim, expected, outcome, reason, advice };
        if tells {
            console.say(&told(&entry))?;
        }
        entries.push(entry);
    }
    let is_well = |entry: &Entry| matches!(entry.outcome.verdict, Verdict::Shown | Verdict::NotHere(_));
    let all_well = entries.iter().all(is_well);
    let document = Document { version: 1, device: &device.info().name, simt: device.is_simt(), pitfalls: entries };
    let write = |out: &mut dyn Write| {
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    };
    match &arguments.json {
        None => {}
        Some(Destination::Standard) => console.raw(write)?,
        Some(Destination::File(path)) => output::write(path, |out| write(out))?,
    }
    Ok(all_well)
}

fn choose(names: &[String]) -> Result<Vec<&'static Pitfall>, Error> {
    if names.is_empty() {
        return Ok(all().collect());
    }
    let find = |name: &String| all().find(|it| it.name == name).ok_or_else(|| Error::Unknown { name: name.clone() });
    names.iter().map(find).collect()
}

/// The device; and, where nothing was named, what there is.
fn heading(arguments: &Arguments, device: &Device) -> String {
    let mut text = format!("Pitfalls on {}\n", device.info().name);
    if arguments.names.is_empty() {
        let width = all().map(|pitfall| pitfall.name.len()).max().unwrap_or(0) + 2;
        for pitfall in all() {
            text += &format!("\n  {:<width$}{}", pitfall.name, pitfall.claim);
        }
        text.push('\n');
    }
    text
}

fn told(entry: &Entry) -> String {
    let Entry { name, claim, expected, outcome, reason, advice } = entry;
    let verdict = outcome.verdict.to_string();
    let part = |title: &str, text: &str| format!("\n{}", wrapped(text, &format!("  {title:<10}")));
    let mut text = format!("{name}: {claim}") + &part("expected", expected) + &part("happened", &outcome.happened);
    for line in outcome.message.iter().flat_map(|message| message.lines()) {
        text += format!("\n    | {line}").trim_end();
    }
    text + &part("verdict", &verdict) + &part("why", reason) + &part("do", advice) + "\n"
}
