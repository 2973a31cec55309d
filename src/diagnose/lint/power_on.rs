//! What the findings say about the next power-on: it fails if one of them is known to make it fail; it is not known as
//! long as an error stands whose effect on the power-on is not known; else nothing in the file is against it.

use super::{Finding, Severity};

/// What would happen at power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing that was found prevents it.
    Starts,
    /// At least one finding is known to prevent it.
    Fails,
    /// Something is wrong whose effect on the power-on is not known.
    Unknown,
}

impl Verdict {
    /// The word of documents: `starts`, `fails` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::Fails => "fails",
            Self::Unknown => "unknown",
        }
    }
}

/// The verdict on the next power-on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerOn {
    /// What would happen.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
}

/// Judges the findings of one file, gravest first as [`super::lint`] returns them.
pub fn power_on(findings: &[Finding]) -> PowerOn {
    let mut fatal = findings.iter().filter_map(|finding| Some((finding, finding.found.power_on_fails.as_ref()?)));
    if let Some((first, why)) = fatal.next() {
        let more = fatal.count();
        let place = first.found.line.map_or_else(String::new, |line| format!("line {line}: "));
        let rest = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        return PowerOn { verdict: Verdict::Fails, reason: format!("{place}{why}{rest}") };
    }
    let undecided = |finding: &&Finding| finding.rule.severity == Severity::Error;
    if let Some(first) = findings.iter().find(undecided) {
        let place = first.found.line.map_or_else(String::new, |line| format!("line {line}: "));
        let reason = format!("{place}{}; what the host makes of it at power-on is not known", first.found.message);
        return PowerOn { verdict: Verdict::Unknown, reason };
    }
    PowerOn { verdict: Verdict::Starts, reason: "nothing in the file is known to prevent it".to_owned() }
}
