//! Puts together what is told of a text: each thing once, not too much of it, and as quoted where the text only quotes it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Explained, Fact, Kind, MOST_EVIDENCE, MOST_FACTS, MOST_FINDINGS, Value, written};
use crate::diagnose::finding::{Confidence, Evidence, Finding, Status};
use crate::diagnose::lint::catalogue;
use crate::fabric::text::clean_line;
use crate::fabric::{State, Text};

impl Explained {
    /// True if it is something that is known.
    pub fn is_recognised(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// How much was made of the text. What the wrapping itself breaks speaks against a reading of it.
    pub(super) fn weight(&self) -> usize {
        let is_broken =
            |check: &str| check == "vm.vmsd-malformed" || catalogue().any(|rule| rule.of_grammar && rule.id == check);
        let broken = self.findings.iter().filter(|finding| is_broken(&finding.check)).count();
        let said = self.findings.iter().filter(|finding| !finding.check.starts_with("vmx.")).count();
        (1000 + self.facts.len() + 1000 * said).saturating_sub(5 * broken)
    }

    /// Tells that something was not read; each thing once.
    pub(super) fn leaves_out(&mut self, what: String) {
        if !self.not_read.contains(&what) && self.not_read.len() < MOST_EVIDENCE {
            self.not_read.push(what);
        }
    }

    /// The one of two readings of the same text that makes more of it.
    pub(super) fn or(self, other: Self) -> Self {
        if other.weight() > self.weight() { other } else { self }
    }

    /// Adds what another part of the text says.
    pub(super) fn add(&mut self, other: Self) {
        for kind in other.kinds {
            self.is(kind);
        }
        for fact in other.facts {
            self.fact(fact.line, fact.name.as_str(), fact.state, fact.unit);
        }
        for finding in other.findings {
            self.finding(finding);
        }
        for what in other.not_read {
            self.leaves_out(what);
        }
    }

    /// The same, said as what a text only quotes: of those findings that `is_quoted`.
    pub(super) fn quoted(mut self, is_quoted: impl Fn(&Finding) -> bool) -> Self {
        const WHY: &str =
            "This text only quotes it: of which machine, and whether it still holds or is warned of, it does not say.";
        self.places.clear();
        for mut finding in std::mem::take(&mut self.findings) {
            if is_quoted(&finding) && !finding.cause.starts_with(WHY) {
                finding.confidence = Confidence::Possible;
                if matches!(finding.status, Status::Fail | Status::Warn) {
                    finding.status = Status::Info;
                }
                finding.cause = format!("{WHY} {}", finding.cause);
            }
            self.finding(finding);
        }
        self
    }

    /// Of a finding that rests on nothing but sentences and lines of code which quote something, says that they do. Advice
    /// and rules for a configuration are about what is written.
    pub(super) fn weigh_quotations(&mut self, text: &str) {
        let is_weighed = |finding: &Finding| !finding.check.starts_with("vmx.") && !finding.check.contains(".myth-");
        let of = |finding: &Finding| finding.evidence.iter().filter_map(|shown| shown.line).collect::<Vec<u32>>();
        let mut shown: BTreeMap<u32, bool> =
            self.findings.iter().filter(|finding| is_weighed(finding)).flat_map(of).map(|line| (line, false)).collect();
        if let Some(last) = shown.last_key_value().map(|(line, _)| *line) {
            for (number, line) in (1..=last).zip(text.lines()) {
                if let Some(is_quotation) = shown.get_mut(&number) {
                    *is_quotation = written::quotes(line);
                }
            }
        }
        let is_quoted = |finding: &Finding| {
            let lines = of(finding);
            is_weighed(finding) && !lines.is_empty() && lines.iter().all(|line| shown.get(line) == Some(&true))
        };
        if self.findings.iter().any(is_quoted) {
            *self = std::mem::take(self).quoted(is_quoted);
        }
    }

    /// Says what the text is.
    pub(super) fn is(&mut self, kind: Kind) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// Tells a value.
    pub(super) fn fact(&mut self, line: u32, name: &str, state: State<Value>, unit: Option<&'static str>) {
        if self.facts.len() < MOST_FACTS {
            self.facts.push(Fact { name: Text::new(name), state, unit, line });
        } else {
            self.leaves_out(format!("only the first {MOST_FACTS} values are told"));
        }
    }

    /// Tells what is wrong or worth knowing; what is said of several lines is one finding with all of them.
    pub(super) fn finding(&mut self, mut finding: Finding) {
        // Messages quote the text, which may be hostile.
        for said in [&mut finding.title, &mut finding.cause, &mut finding.decide] {
            *said = clean_line(said);
        }
        for command in finding.remedies.iter_mut().flat_map(|remedy| &mut remedy.commands) {
            *command = clean_line(command);
        }
        let same = |known: &Finding| {
            known.check == finding.check
                && known.status == finding.status
                && known.subject == finding.subject
                && known.title == finding.title
                && known.cause == finding.cause
        };
        let mut hasher = DefaultHasher::new();
        (&finding.check, &finding.subject, &finding.title, &finding.cause).hash(&mut hasher);
        let places = self.places.entry(hasher.finish()).or_default();
        match places.iter().copied().find(|at| self.findings.get(*at).is_some_and(same)) {
            Some(at) => add_evidence(&mut self.findings[at], finding.evidence),
            None if self.findings.len() < MOST_FINDINGS => {
                places.push(self.findings.len());
                self.findings.push(finding);
            }
            None => self.leaves_out(format!("only the first {MOST_FINDINGS} findings are told")),
        }
    }
}

/// Shows further lines for a finding, each once and not too many.
pub(super) fn add_evidence(finding: &mut Finding, evidence: Vec<Evidence>) {
    for shown in evidence {
        if finding.evidence.len() < MOST_EVIDENCE && !finding.evidence.contains(&shown) {
            finding.evidence.push(shown);
        }
    }
}
