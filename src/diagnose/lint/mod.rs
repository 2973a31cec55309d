//! The rules for a VM's configuration file: what would fail at power-on, what is wrong, what is worth knowing.

mod host;
mod power_on;
mod rules;

pub use host::{HostFunction, HostView, Passthrough};
pub use power_on::{PowerOn, Verdict};
pub use rules::{RULES, passthrough_limit};

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
    /// What its findings mean for the next power-on, where they do not say so themselves.
    pub at_power_on: AtPowerOn,
    /// Entries of the list of wrong advice that say the same of a line.
    pub myths: &'static [&'static str],
    /// True if what it finds are lines that are no assignment.
    pub of_grammar: bool,
    /// Looks.
    pub check: fn(&Subject<'_>) -> Vec<Found>,
}

/// What the findings of a rule mean for the next power-on, as long as no single one says that it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtPowerOn {
    /// By the severity: an error leaves the outcome open, anything else does not.
    BySeverity,
    /// The VM starts all the same: the guest or the device suffers.
    Starts,
    /// Nobody knows what the host makes of it.
    Open,
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

/// So many findings of one rule are told; files are made by anybody, and one finding a line can be millions.
pub const MOST_OF_A_RULE: usize = 200;

/// What a rule finds, and how much more there would be.
fn found_by(rule: &Rule, subject: &Subject<'_>) -> Vec<Found> {
    let mut found = (rule.check)(subject);
    let Some(more) = found.len().checked_sub(MOST_OF_A_RULE).filter(|more| *more > 0) else { return found };
    // What makes the power-on fail must not be among those that are left out.
    found.sort_by_key(|one| one.power_on_fails.is_none());
    found.truncate(MOST_OF_A_RULE);
    let message = format!("and {more} more of this kind, which are not listed");
    found.push(Found { message, ..Found::default() });
    found
}

/// Runs all rules; the gravest findings first, then by line. The rules see the file without its secrets, so none can tell
/// one; a change whose value they do not know is none. Of one rule [`MOST_OF_A_RULE`] are told, and a last one without
/// a line that counts the rest.
pub fn lint(subject: &Subject<'_>) -> Vec<Finding> {
    lint_by(subject, |_| true)
}

/// The same with some of the rules.
pub fn lint_by(subject: &Subject<'_>, wanted: impl Fn(&Rule) -> bool) -> Vec<Finding> {
    let vmx = subject.vmx.without_secrets();
    let subject = &Subject { vmx: &vmx, ..*subject };
    let mut findings: Vec<Finding> = RULES
        .iter()
        .filter(|rule| wanted(rule))
        .flat_map(|rule| found_by(rule, subject).into_iter().map(move |found| Finding { rule, found }))
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
