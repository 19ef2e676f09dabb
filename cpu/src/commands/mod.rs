//! The command line: one file per subcommand.
//!
//! Exit codes: 0 if everything asked for was done and verified (or the reader of the output has left, as `head` does), 1 if
//! something failed or a result is wrong, 2 if the arguments make no sense.

pub mod advise;
pub mod bandwidth;
mod common;
mod console;
pub mod doctor;
pub mod matmul;
pub mod pitfalls;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use console::Console;

use crate::doctor::Verdict;

/// Kernels written in Rust, driven over pageable, pinned, zero-copy and managed host memory, verified, measured and explained.
#[derive(Debug, Parser)]
#[command(
    name = "pagelock",
    bin_name = "cargo run -p cpu --",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One matrix product over every kind of host memory: verified, staged, compared, explained
    Matmul(Box<matmul::Arguments>),
    /// What the way to the device carries: copies, kernels over the link, latency, for every kind of host memory
    Bandwidth(Box<bandwidth::Arguments>),
    /// Which kind of host memory a described job should use, and why: predicted from this machine's figures
    Advise(Box<advise::Arguments>),
    /// What is here, whether it is as it should be, what to do: driver, GPUs, link, memory, kernels
    Doctor(doctor::Arguments),
    /// What goes wrong for people with host memory and devices, shown here and now, each with its numbers
    Pitfalls(pitfalls::Arguments),
}

/// What a command fails with.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Matmul(#[from] matmul::Error),
    #[error(transparent)]
    Bandwidth(#[from] bandwidth::Error),
    #[error(transparent)]
    Advise(#[from] advise::Error),
    #[error(transparent)]
    Pitfalls(#[from] pitfalls::Error),
}

impl Failure {
    fn is_usage(&self) -> bool {
        match self {
            Self::Matmul(error) => error.is_usage(),
            Self::Bandwidth(error) => error.is_usage(),
            Self::Advise(error) => error.is_usage(),
            Self::Pitfalls(error) => error.is_usage(),
        }
    }

    fn is_reader_gone(&self) -> bool {
        match self {
            Self::Matmul(error) => error.is_reader_gone(),
            Self::Bandwidth(error) => error.is_reader_gone(),
            Self::Advise(error) => error.is_reader_gone(),
            Self::Pitfalls(error) => error.is_reader_gone(),
        }
    }
}

/// Runs the program; `main` has nothing to add.
pub fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let mut console = Console::new();
    let outcome: Result<(), Failure> = match command {
        Command::Matmul(arguments) => matmul::run(&arguments, &mut console).map_err(Failure::from),
        Command::Bandwidth(arguments) => bandwidth::run(&arguments, &mut console).map_err(Failure::from),
        Command::Advise(arguments) => advise::run(&arguments, &mut console).map_err(Failure::from),
        Command::Doctor(arguments) => match doctor::run(&arguments, &mut console) {
            Ok(Verdict::Bad) => return ExitCode::FAILURE,
            Ok(_) => Ok(()),
            Err(error) => Err(matmul::Error::from(error).into()),
        },
        Command::Pitfalls(arguments) => match pitfalls::run(&arguments, &mut console) {
            Ok(false) => return ExitCode::FAILURE,
            Ok(true) => Ok(()),
            Err(error) => Err(error.into()),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_reader_gone() => ExitCode::SUCCESS,
        Err(error) => {
            console.clear_progress();
            // Not `eprintln!`, which panics if standard error cannot be written. The exit code says it all the same.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(if error.is_usage() { 2 } else { 1 })
        }
    }
}
