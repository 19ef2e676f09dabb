//! `cargo run -p cpu -- COMMAND`: the command line of pagelock. What a command does is in [`cpu::commands`].

use std::process::ExitCode;

fn main() -> ExitCode {
    cpu::commands::main()
}
