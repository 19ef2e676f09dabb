//! `doctor`: what is here, whether it is as it should be, what to do where it is not.

use std::io;

use bytesize::ByteSize;
use clap::Args;
use serde::Serialize;

use super::Console;
use super::common::byte_size;
use crate::doctor::{Section, Verdict, examine, worst};
use crate::memory::PinnedBudget;

/// The options of `doctor`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Prints the findings as JSON, for a bug report
    #[arg(long)]
    json: bool,

    /// The limit that you would give to another command
    #[arg(long, value_name = "SIZE", value_parser = byte_size, allow_negative_numbers = true)]
    pinned_limit: Option<ByteSize>,
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    verdict: Verdict,
    sections: &'a [Section],
}

/// Examines and reports. The verdict is [`Verdict::Bad`] if something is here that does not work; having no GPU is not bad.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(arguments: &Arguments, console: &mut Console) -> io::Result<Verdict> {
    let limit = arguments.pinned_limit.map(|limit| limit.as_u64());
    let budget = limit.map_or_else(PinnedBudget::from_available_memory, PinnedBudget::limited_to);
    let sections = examine(&budget);
    let verdict = worst(&sections);
    if arguments.json {
        let document = Document { version: 1, verdict, sections: &sections };
        console.raw(|out| {
            serde_json::to_writer_pretty(&mut *out, &document)?;
            writeln!(out)
        })?;
    } else {
        for section in &sections {
            console.say(&section.to_string())?;
        }
        console.say(match verdict {
            Verdict::Good => "Everything is as it should be.",
            Verdict::Note => "Everything works; the notes say what is worth knowing.",
            Verdict::Bad => "Something does not work; the lines marked BAD say what to do.",
        })?;
    }
    Ok(verdict)
}
