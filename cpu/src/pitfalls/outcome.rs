//! What a demonstration came to: its numbers, the sentence made of them, and whether it showed what it claims.

use std::fmt;

use serde::Serialize;

use super::Fault;
use crate::report::Series;
use std::time::Duration;

/// Something measured or counted, with the text that stands for it in a sentence.
#[derive(Clone, Debug, Serialize)]
pub struct Number {
    /// What it is, for programs.
    pub name: String,
    /// As measured, not rounded.
    pub value: f64,
    /// `ms`, `bytes` or `count`.
    pub unit: &'static str,
    /// As people read it.
    pub text: String,
}

impl Number {
    /// The median of some times.
    pub fn median(name: &str, times: impl IntoIterator<Item = Duration>) -> Self {
        let value = Series::of(times).median;
        let text = if value < 1.0 { format!("{:.1} µs", value * 1e3) } else { format!("{value:.3} ms") };
        Self { name: name.into(), value, unit: "ms", text }
    }

    /// One time.
    pub fn time(name: &str, time: Duration) -> Self {
        Self::median(name, [time])
    }

    /// How many.
    pub fn count(name: &str, count: u64) -> Self {
        Self { name: name.into(), value: count as f64, unit: "count", text: count.to_string() }
    }

    /// A size.
    pub fn bytes(name: &str, bytes: u64) -> Self {
        Self { name: name.into(), value: bytes as f64, unit: "bytes", text: bytesize::ByteSize(bytes).to_string() }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether a demonstration showed what it claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "why", rename_all = "kebab-case")]
pub enum Verdict {
    /// It did.
    Shown,
    /// It could have, and the numbers say otherwise.
    Otherwise,
    /// This device cannot show it, for this reason.
    NotHere(String),
    /// It came to no end, for this reason.
    Failed(String),
}

impl Verdict {
    /// By what the numbers say.
    pub fn of(shown: bool) -> Self {
        if shown { Self::Shown } else { Self::Otherwise }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown => write!(f, "Shown."),
            Self::Otherwise => write!(f, "NOT SHOWN: what was found here says otherwise."),
            Self::NotHere(why) => write!(f, "Cannot be shown here: {why}."),
            Self::Failed(why) => write!(f, "FAILED: {why}."),
        }
    }
}

/// What the numbers of a comparison mean, in words for each way that it can go.
pub struct Meaning {
    /// How many times as much counts as shown.
    pub threshold: f64,
    /// More than that.
    pub shown: &'static str,
    /// More, and no more than that.
    pub less: &'static str,
    /// No more at all.
    pub reverse: &'static str,
}

impl Meaning {
    /// Whether `one` is more than the threshold times `other`, and the words for what it is.
    pub fn of(&self, one: f64, other: f64) -> (bool, &'static str) {
        match one {
            one if one > self.threshold * other => (true, self.shown),
            one if one > other => (false, self.less),
            _ => (false, self.reverse),
        }
    }
}

/// What a demonstration came to.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What happened, with every one of the numbers.
    pub happened: String,
    /// The numbers.
    pub numbers: Vec<Number>,
    /// What a compiler or an error said, in its own words.
    pub message: Option<String>,
    /// Whether it is as claimed.
    pub verdict: Verdict,
}

impl Outcome {
    /// Of a demonstration that came to no end.
    pub fn failed(why: &Fault) -> Self {
        let happened = "The demonstration came to no end, and nothing that it measured is shown.".into();
        Self { happened, numbers: Vec::new(), message: None, verdict: Verdict::Failed(why.to_string()) }
    }
}
