//! What a bug report needs and a newcomer wants to know: what is here, whether it is as it should be, and what to do where
//! it is not.
//!
//! Each line is a [`Finding`] with a verdict of its own. [`examine`] never fails and never guesses: what cannot be found
//! out says so.

mod gpu;
mod host;
mod library;
mod numa;

use std::fmt;

use serde::Serialize;

use crate::memory::PinnedBudget;

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What was looked at, such as `PCIe`.
    pub subject: String,
    /// What was found.
    pub found: String,
    /// Whether that is as it should be.
    pub verdict: Verdict,
    /// What to do about it, or what it means.
    pub advice: Option<String>,
}

/// Whether a finding is as it should be. Ordered: the worst is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Works, and something about it is worth knowing.
    Note,
    /// Does not work.
    Bad,
}

/// Findings that belong together.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Such as `host` or `cuda:0`.
    pub title: String,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Finding {
    fn good(subject: &str, found: impl Into<String>) -> Self {
        Self { subject: subject.into(), found: found.into(), verdict: Verdict::Good, advice: None }
    }

    fn note(subject: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Note, advice: Some(advice.into()), ..Self::good(subject, found) }
    }

    fn bad(subject: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Bad, advice: Some(advice.into()), ..Self::good(subject, found) }
    }
}

/// Looks at everything: the host, the driver, every GPU.
pub fn examine(budget: &PinnedBudget) -> Vec<Section> {
    let mut sections = vec![host::examine(budget)];
    let (driver, devices) = library::examine();
    sections.push(driver);
    sections.extend((0..devices).map(gpu::examine));
    sections
}

/// The worst verdict of all.
pub fn worst(sections: &[Section]) -> Verdict {
    let verdicts = sections.iter().flat_map(|section| &section.findings).map(|finding| finding.verdict);
    verdicts.max().unwrap_or(Verdict::Good)
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let width = self.findings.iter().map(|finding| finding.subject.chars().count()).max().unwrap_or(0);
        for Finding { subject, found, verdict, advice } in &self.findings {
            let mark = match verdict {
                Verdict::Good => "ok  ",
                Verdict::Note => "note",
                Verdict::Bad => "BAD ",
            };
            writeln!(f, "  {mark}  {subject:width$}  {found}")?;
            if let Some(advice) = advice {
                writeln!(f, "        {:width$}  -> {advice}", "")?;
            }
        }
        Ok(())
    }
}
