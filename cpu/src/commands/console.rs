//! Where a command talks to: text on standard output, progress on standard error while that is a terminal.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use crate::threads;

/// Standard output and a progress bar that keeps out of its way.
pub struct Console {
    progress: Option<ProgressBar>,
}

impl Console {
    /// A console without progress.
    pub fn new() -> Self {
        Self { progress: None }
    }

    /// Writes text and a line end to standard output, at once.
    ///
    /// # Errors
    /// Standard output is closed, for instance because a pipe's reader has left.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        self.raw(|out| writeln!(out, "{text}"))
    }

    /// Lets `write` write to standard output.
    ///
    /// # Errors
    /// As [`say`](Self::say).
    pub fn raw(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut write = Some(write);
        let mut go = || {
            let mut out = BufWriter::new(io::stdout().lock());
            write.take().map_or(Ok(()), |write| write(&mut out))?;
            out.flush()
        };
        match &self.progress {
            Some(bar) => bar.suspend(go),
            None => go(),
        }
    }

    /// Writes a line to standard error, for people and not in the way of what a pipe carries. Nobody need read it.
    pub fn warn(&self, text: &str) {
        let go = || {
            let _ = writeln!(io::stderr(), "{text}");
        };
        match &self.progress {
            Some(bar) => bar.suspend(go),
            None => go(),
        }
    }

    /// Shows how many of `steps` are done. Nothing is shown where standard error is no terminal.
    pub fn start_progress(&mut self, steps: u64, what: String) {
        self.clear_progress();
        if !io::stderr().is_terminal() {
            return;
        }
        let bar = ProgressBar::new(steps).with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {elapsed}, left {left}") {
            bar.set_style(style.with_key("left", left));
        }
        // The ticker panics where no thread can be started; the bar then moves with each step.
        if threads::startable(1) == 1 {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        self.progress = Some(bar);
    }

    /// One step is done.
    pub fn step(&self) {
        if let Some(bar) = &self.progress {
            bar.inc(1);
        }
    }

    /// Takes the progress off the terminal.
    pub fn clear_progress(&mut self) {
        if let Some(bar) = self.progress.take() {
            bar.finish_and_clear();
        }
    }
}

/// How long the rest takes, which nobody knows before the first step is done.
fn left(state: &ProgressState, text: &mut dyn fmt::Write) {
    let _ = match state.pos() {
        0 => write!(text, "?"),
        _ => write!(text, "{:#}", HumanDuration(state.eta())),
    };
}

impl Default for Console {
    fn default() -> Self {
        Self::new()
    }
}
