//! What the findings say about the next power-on: it fails if one of them is known to make it fail; it is not known as
//! long as an error stands whose effect on the power-on is not known; else nothing in the file is against it.

use super::{Finding, Severity};

/// Errors that are known not to keep a VM from starting: the guest or the device suffers.
const STARTS: &[&str] =
    &["vmx.efi-missing", "vmx.pvrdma-keys", "vmx.pvrdma-standard-switch", "vmx.pvrdma-pair-removed"];
/// Findings below an error whose effect on the power-on is not known.
const OPEN: &[&str] = &[
    "vmx.byte-order-mark",
    "vmx.encoding-mismatch",
    "vmx.passthrough-id-form",
    "vmx.passthrough-other-device",
    "vmx.vgpu-profile",
];

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
    let undecided = |finding: &&Finding| {
        let (rule, error) = (finding.rule.id, finding.rule.severity == Severity::Error);
        (error && !STARTS.contains(&rule)) || OPEN.contains(&rule)
    };
    if let Some(first) = findings.iter().find(undecided) {
        let place = first.found.line.map_or_else(String::new, |line| format!("line {line}: "));
        let reason = format!("{place}{}; what the host makes of it at power-on is not known", first.found.message);
        return PowerOn { verdict: Verdict::Unknown, reason };
    }
    PowerOn { verdict: Verdict::Starts, reason: "nothing in the file is known to prevent it".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::lint::{Subject, catalogue, lint};
    use crate::probe::vmx::Dictionary;

    fn verdict(text: &str) -> PowerOn {
        let vmx = Dictionary::parse(text.as_bytes());
        power_on(&lint(&Subject { vmx: &vmx, host: None, snapshots: None }))
    }

    #[test]
    fn the_lists_name_rules_of_the_right_severity() {
        let severity = |id: &str| catalogue().find(|rule| rule.id == id).map(|rule| rule.severity);
        assert!(STARTS.iter().all(|id| severity(id) == Some(Severity::Error)));
        assert!(OPEN.iter().all(|id| severity(id) == Some(Severity::Warning)));
    }

    #[test]
    fn a_known_failure_stands_above_what_is_not_known() {
        assert_eq!(verdict("memSize = \"4096\"\n").verdict, Verdict::Starts);
        let unknown = verdict("a b\nmemSize = \"4096\"\n");
        assert_eq!(unknown.verdict.name(), "unknown");
        assert!(unknown.reason.starts_with("line 1: "), "{}", unknown.reason);
        let fails = verdict("a b\nmemSize = \"4096\"\nmemsize = \"4096\"\nMEMSIZE = \"4096\"\n");
        assert_eq!(fails.verdict.name(), "fails");
        assert!(fails.reason.starts_with("line 3: ") && fails.reason.ends_with("(and 1 more)"), "{}", fails.reason);
    }
}
