//! What the user types.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use super::Error;
use crate::bandwidth::Wishes;
use crate::commands::common::{Destination, byte_size, identity};
use crate::device::Selector;

const EXAMPLES: &str = "\
Examples:
  cargo run -p cpu -- bandwidth                          everything, up to 1 GiB on a GPU
  cargo run -p cpu -- bandwidth --quick                  in some seconds
  cargo run -p cpu -- bandwidth --sizes 64KiB,1MiB,64MiB these sizes
  cargo run -p cpu -- bandwidth --json report.json --plot copies.svg

Sizes: 1MiB is 1048576 bytes, 1MB is 1000000. Exit status: 0 if every sample was right, 1 if something
failed or a sample is wrong, 2 if the arguments make no sense.";

/// The options of `bandwidth`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Sizes of copies and allocations [default: 4 KiB, 16 KiB, … up to --max]
    #[arg(long, value_name = "SIZE[,SIZE…]", value_delimiter = ',', value_parser = whole_accesses)]
    #[arg(allow_negative_numbers = true, conflicts_with = "max")]
    pub(super) sizes: Vec<u64>,

    /// The largest size [default: 1 GiB on a GPU, 4 MiB on the CPU]
    #[arg(long, value_name = "SIZE", value_parser = whole_accesses, allow_negative_numbers = true)]
    pub(super) max: Option<u64>,

    /// Measured runs of each figure [default: 5; on a GPU up to 41 of what takes milliseconds]
    #[arg(long, value_name = "RUNS", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(5..=10_000))]
    pub(super) samples: Option<u32>,

    /// Fewer and smaller measurements
    #[arg(long)]
    pub(super) quick: bool,

    /// auto (a GPU if there is one), cuda:0 (this GPU or an error) or simt (the CPU)
    #[arg(long, value_name = "auto|cuda:I|simt", default_value_t = Selector::Auto)]
    pub(super) device: Selector,

    /// Writes the report with every sample; `-` is standard output, instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = PathBufValueParser::new().map(Destination::from))]
    pub(super) json: Option<Destination>,

    /// Writes one line per figure; `-` is standard output, instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = PathBufValueParser::new().map(Destination::from))]
    pub(super) csv: Option<Destination>,

    /// Draws the copies over their sizes
    #[arg(long, value_name = "FILE.svg", value_parser = PathBufValueParser::new().try_map(svg))]
    pub(super) plot: Option<PathBuf>,

    /// Does not keep what was found for `advise`. With --sizes or --max nothing is kept either
    #[arg(long)]
    pub(super) no_save: bool,

    /// The most page-locked memory to use, such as 2GiB [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = byte_size, allow_negative_numbers = true)]
    pub(super) pinned_limit: Option<ByteSize>,

    /// Prints nothing but errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Arguments {
    /// What of it the plan is made from.
    pub(super) fn wishes(&self) -> Wishes {
        Wishes { sizes: self.sizes.clone(), max: self.max, samples: self.samples, quick: self.quick }
    }

    /// Whether the run is whole enough to be kept for later advice.
    pub(super) fn saves(&self) -> bool {
        !self.no_save && self.sizes.is_empty() && self.max.is_none()
    }

    /// Whether tables go to standard output.
    pub(super) fn prints_tables(&self) -> bool {
        let taken = [&self.json, &self.csv].into_iter().flatten().any(|to| *to == Destination::Standard);
        !self.quiet && !taken
    }

    /// The files that are to be written, each with the option that names it.
    pub(super) fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let document = |to: &Option<Destination>| Some(to.as_ref()?.path()?.to_owned());
        let files = [("--json", document(&self.json)), ("--csv", document(&self.csv)), ("--plot", self.plot.clone())];
        files.into_iter().filter_map(|(option, path)| Some((option, path?))).collect()
    }

    /// # Errors
    /// Two outputs want the same place.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.json == Some(Destination::Standard) && self.csv == Some(Destination::Standard) {
            return Err(Error::TwoDocumentsOnStandardOutput);
        }
        let files: Vec<_> =
            self.files().into_iter().filter_map(|(option, path)| Some((option, identity(&path)?))).collect();
        for (index, (option, path)) in files.iter().enumerate() {
            if let Some((other, _)) = files[..index].iter().find(|(_, other)| other == path) {
                return Err(Error::SameFile { options: [other, option], path: path.clone() });
            }
        }
        Ok(())
    }
}

/// Reads `--plot`. A name that promises another format would lie.
fn svg(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.extension() {
        Some(other) if !other.eq_ignore_ascii_case("svg") => {
            Err("plots are drawn as SVG and in no other format; name a file such as copies.svg")
        }
        _ => Ok(path),
    }
}

/// Reads a size that kernels can touch 16 bytes at a time.
fn whole_accesses(text: &str) -> Result<u64, String> {
    let bytes = byte_size(text)?.as_u64();
    match bytes {
        0 => Err("there is nothing to measure about 0 bytes; the smallest size is 16".into()),
        bytes if !bytes.is_multiple_of(16) => Err(format!(
            "{bytes} bytes are no multiple of 16, and kernels touch 16 bytes at a time; take {} or {}",
            (bytes / 16 * 16).max(16),
            (bytes / 16).saturating_add(1).saturating_mul(16)
        )),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::whole_accesses;

    #[test]
    fn sizes_are_whole_accesses() {
        assert_eq!(whole_accesses("4KiB"), Ok(4096));
        assert_eq!(whole_accesses("16"), Ok(16));
        for (text, what) in [
            ("0", "smallest size is 16"),
            ("100", "take 96 or 112"),
            ("7", "take 16 or 16"),
            ("-5", "512MiB"),
            ("much", "512MiB"),
            ("", "512MiB"),
        ] {
            assert!(whole_accesses(text).unwrap_err().contains(what), "{text}: {:?}", whole_accesses(text));
        }
    }
}
