//! The rules for a VM's configuration file: what would fail at power-on, what is wrong, what is worth knowing.

mod host;
mod power_on;
mod rules;

pub use host::{HostFunction, HostView};
pub use power_on::{PowerOn, Verdict};
pub use rules::RULES;

use crate::probe::esxi::MASK;
use crate::probe::vmx::Dictionary;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Works, but not as it should.
    Warning,
    /// Does not work.
    Error,
}

/// What a rule rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is written, in words that can be found again.
    pub text: &'static str,
    /// True if no public document says so (a report from the field, own knowledge).
    pub weak: bool,
}

/// One rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its id, `vmx.pvrdma-spelling`.
    pub id: &'static str,
    /// How grave its findings are.
    pub severity: Severity,
    /// What it looks for, one sentence.
    pub title: &'static str,
    /// For which versions of ESXi or virtual hardware it holds; empty for all.
    pub versions: &'static str,
    /// What it rests on.
    pub source: Source,
    /// Looks.
    pub check: fn(&Subject<'_>) -> Vec<Found>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The file.
    pub vmx: &'a Dictionary,
    /// The host on which the VM shall start, if one was given.
    pub host: Option<&'a HostView>,
    /// Number of snapshots by the VMSD beside the file; `None` if there is no such file.
    pub snapshots: Option<u64>,
}

/// What a rule found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Line of the file, from 1; `None` where something is missing.
    pub line: Option<u32>,
    /// Name of the key that is wrong or missing.
    pub key: Option<String>,
    /// What is wrong and why, with the arithmetic.
    pub message: String,
    /// What happens at power-on because of it, if it makes that fail.
    pub power_on_fails: Option<String>,
    /// The assignments that mend it: key and new value, `None` to take the key out.
    pub fix: Vec<(String, Option<String>)>,
}

/// A finding of one rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// What it found.
    pub found: Found,
}

/// Runs all rules; the gravest findings first, then by line. The rules see the file without its secrets, so none can tell
/// one; a change whose value they do not know is none.
pub fn lint(subject: &Subject<'_>) -> Vec<Finding> {
    let vmx = subject.vmx.without_secrets();
    let subject = &Subject { vmx: &vmx, ..*subject };
    let mut findings: Vec<Finding> = RULES
        .iter()
        .flat_map(|rule| (rule.check)(subject).into_iter().map(move |found| Finding { rule, found }))
        .collect();
    for finding in &mut findings {
        finding.found.fix.retain(|(_, value)| value.as_ref().is_none_or(|value| !value.contains(MASK)));
    }
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.rule.severity), finding.found.line));
    findings
}

/// All rules in the order of their documentation.
pub fn catalogue() -> impl Iterator<Item = &'static Rule> {
    RULES.iter()
}
