//! Any pasted text: what it is, what it says, what is wrong with it. A text can hold several things at once (prompts with
//! their output, a log behind a command); each part is read by what it is, and every line is judged against the list of
//! wrong advice, because people paste guides. A text that a mail program or a terminal wrapped is read unwrapped where that
//! makes more of it.

mod arguments;
mod host;
mod kind;
mod logs;
mod parts;
mod squeezed;
mod tables;
mod vim;
mod vmx;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::diagnose::finding::{Confidence, Evidence, Finding, Status};
use crate::diagnose::myth::{self, Context};
use crate::fabric::text::clean_line;
use crate::fabric::{State, Text};

pub use kind::Kind;
use parts::{Part, parts};

/// So many facts of one text are told; what is more is counted.
const MOST_FACTS: usize = 20_000;
/// So many findings of one text are told.
const MOST_FINDINGS: usize = 2_000;

/// So many lines are shown for one finding.
const MOST_EVIDENCE: usize = 16;

/// A value as it stands in a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A word.
    Text(Text),
    /// A whole number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
}

/// One value of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What it is of and what it is: `vmnic3.pfc-enabled`.
    pub name: Text,
    /// The value, or how it is missing.
    pub state: State<Value>,
    /// Its unit, where it has one.
    pub unit: Option<&'static str>,
    /// The line, from 1.
    pub line: u32,
}

/// What a text is and says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// What it is; empty if it is nothing that is known.
    pub kinds: Vec<Kind>,
    /// What it says.
    pub facts: Vec<Fact>,
    /// What is wrong or worth knowing.
    pub findings: Vec<Finding>,
}

impl Explained {
    /// True if it is something that is known.
    pub fn is_recognised(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// How much was made of the text. What the wrapping itself breaks speaks against a reading of it.
    fn weight(&self) -> usize {
        const BROKEN: [&str; 5] =
            ["vmx.no-equals", "vmx.no-name", "vmx.open-quote", "vmx.after-value", "vm.vmsd-malformed"];
        let broken = self.findings.iter().filter(|finding| BROKEN.contains(&finding.check.as_str())).count();
        let said = self.findings.iter().filter(|finding| !finding.check.starts_with("vmx.")).count();
        (1000 + self.facts.len() + 1000 * said).saturating_sub(5 * broken)
    }

    fn is(&mut self, kind: Kind) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    fn fact(&mut self, line: u32, name: &str, state: State<Value>, unit: Option<&'static str>) {
        if self.facts.len() < MOST_FACTS {
            self.facts.push(Fact { name: Text::new(name), state, unit, line });
        }
    }

    fn finding(&mut self, mut finding: Finding) {
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
        match self.findings.iter().position(same) {
            Some(at) => add_evidence(&mut self.findings[at], finding.evidence),
            None if self.findings.len() < MOST_FINDINGS => self.findings.push(finding),
            None => {}
        }
    }
}

/// Shows further lines for a finding, each once and not too many.
fn add_evidence(finding: &mut Finding, evidence: Vec<Evidence>) {
    for shown in evidence {
        if finding.evidence.len() < MOST_EVIDENCE && !finding.evidence.contains(&shown) {
            finding.evidence.push(shown);
        }
    }
}

/// A value as written: an empty one, one that a tool called not available, yes and no, a number, a word.
fn value(written: &str) -> State<Value> {
    let written = written.trim();
    match written {
        "" => State::Empty,
        "N/A" | "n/a" | "<unset>" => State::NotAvailable,
        _ if written.eq_ignore_ascii_case("true") => State::Known(Value::Flag(true)),
        _ if written.eq_ignore_ascii_case("false") => State::Known(Value::Flag(false)),
        _ => State::Known(written.parse().map_or_else(|_| Value::Text(Text::new(written)), Value::Number)),
    }
}

/// Says what a text is and what it means. Never fails: what is not known stays unknown.
pub fn explain(path: &str, bytes: &[u8]) -> Explained {
    let text = String::from_utf8_lossy(bytes);
    let text: Cow<'_, str> =
        if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text };
    let mut best = explain_lines(path, bytes, &numbered(&text));
    for lines in parts::unwrapped(&text) {
        let other = explain_lines(path, bytes, &lines);
        if other.weight() > best.weight() {
            best = other;
        }
    }
    best
}

/// The lines of a text with their numbers.
fn numbered(text: &str) -> Vec<(u32, Cow<'_, str>)> {
    (1..).zip(text.lines().map(|line| Cow::Borrowed(line.trim_end()))).collect()
}

fn explain_lines(path: &str, bytes: &[u8], lines: &[(u32, Cow<'_, str>)]) -> Explained {
    let mut explained = Explained::default();
    let whole = lines.iter().map(|(_, line)| &**line).collect::<Vec<_>>().join("\n");
    let mut context = Context::of(&whole);
    let script = kind::script(path, &whole);
    context.script |= script.is_some();
    let parts = match script {
        Some(kind) => {
            explained.is(kind);
            vec![Part::whole(lines)]
        }
        None => parts(lines),
    };
    let hosts: BTreeSet<&str> = parts.iter().filter_map(|part| part.host.as_deref()).collect();
    for part in &parts {
        let host = part.host.as_deref().filter(|_| hosts.len() > 1);
        if let Some((_, command)) = &part.command {
            explained.is(kind::of_command(command));
        }
        let kinds = if script.is_some() { Vec::new() } else { kind::of_lines(&part.lines) };
        for kind in &kinds {
            explained.is(*kind);
        }
        let read = |kind| kinds.contains(&kind);
        if read(Kind::Vmx) || read(Kind::Vmsd) {
            vmx::read(&mut explained, bytes, lines.len() == part.lines.len(), &part.lines, read(Kind::Vmsd));
        }
        if !read(Kind::Vmx) && !read(Kind::Vmsd) {
            tables::read(&mut explained, host, &part.without_logs());
        }
        if read(Kind::VimCmd) {
            vim::read(&mut explained, host, part);
        }
        arguments::read(&mut explained, host, &part.lines);
    }
    logs::read(&mut explained, lines);
    host::conclude(&mut explained, lines);
    judge(&mut explained, lines, context);
    once(&mut explained);
    if explained.kinds.is_empty() && !explained.findings.is_empty() {
        explained.is(Kind::Text);
    }
    explained
}

/// Rules for a VM's configuration that say of a key what the list of wrong advice says too.
const SAME: [&str; 7] = [
    "vmx.no-such-key",
    "vmx.irrelevant-key",
    "vmx.pvrdma-keys",
    "vmx.pvrdma-pair-removed",
    "vmx.host-setting",
    "vmx.vgpu-mig-name",
    "vmx.numa-default",
];

/// Takes out what is said twice: a rule about a line of which the list of wrong advice speaks.
fn once(explained: &mut Explained) {
    let lines = |finding: &Finding| finding.evidence.iter().filter_map(|shown| shown.line).collect::<Vec<u32>>();
    let judged: BTreeSet<u32> =
        explained.findings.iter().filter(|finding| finding.check.contains(".myth-")).flat_map(lines).collect();
    explained.findings.retain(|finding| {
        let told = lines(finding);
        let same = SAME.contains(&finding.check.as_str()) && !told.is_empty();
        !(same && told.iter().all(|line| judged.contains(line)))
    });
}

/// Judges every line against the list of wrong advice: one finding for each piece of it, with all its lines.
fn judge(explained: &mut Explained, lines: &[(u32, Cow<'_, str>)], context: Context) {
    let mut found: Vec<(&'static myth::Myth, Vec<(u32, &str)>)> = Vec::new();
    for (number, line) in lines {
        // A prompt can be glued to the output before it.
        let (before, line) = line.split_at(parts::prompt_at(line));
        for myth in myth::judge(before, context).into_iter().chain(myth::judge(line, context)) {
            match found.iter_mut().find(|(known, _)| known.id == myth.id) {
                Some((_, places)) if places.len() < MOST_EVIDENCE => places.push((*number, line)),
                Some(_) => {}
                None => found.push((myth, vec![(*number, line)])),
            }
        }
    }
    for (myth, places) in found {
        let status = match myth.verdict {
            myth::Verdict::Irrelevant => Status::Info,
            myth::Verdict::Opposite => Status::Fail,
            _ => Status::Warn,
        };
        let confidence = if myth.weak { Confidence::Likely } else { Confidence::Proved };
        let title = format!("{}: {}", myth.verdict.words(), myth.claim);
        let cause = format!("{} (Source: {}{})", myth.truth, myth.source, if myth.weak { "; weak" } else { "" });
        let subject = places.first().map_or("", |(_, line)| line.trim());
        let finding = Finding::new(myth.id, status, confidence, subject, &title, &cause);
        explained.finding(places.iter().fold(finding, |finding, (number, line)| finding.shown(*number, line)));
    }
}

#[cfg(test)]
mod tests;
