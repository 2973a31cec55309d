//! Any pasted text: what it is, what it says, what is wrong with it. A text can hold several things at once (prompts with
//! their output, a log behind a command); each part is read by what it is, and every line is judged against the list of
//! wrong advice, because people paste guides. A text that a mail program or a terminal wrapped is read unwrapped where that
//! makes more of it.

mod arguments;
mod guest;
mod hidden;
mod host;
mod host_lines;
mod kind;
mod logs;
mod messages;
mod own;
mod parts;
mod power_on;
mod rdma;
mod squeezed;
mod tables;
mod vim;
mod vmx;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::diagnose::finding::{Confidence, Evidence, Finding, Status};
use crate::diagnose::lint::catalogue;
use crate::diagnose::myth::{self, Context};
use crate::fabric::text::clean_line;
use crate::fabric::{State, Text};

pub use kind::{KNOWN, Kind};
pub use own::is_recording;
use parts::{Part, parts};

/// So many facts of one text are told; what is more is counted.
const MOST_FACTS: usize = 20_000;
/// So many findings of one text are told.
const MOST_FINDINGS: usize = 2_000;

/// So many lines are shown for one finding.
const MOST_EVIDENCE: usize = 16;

/// So many lines of a configuration, or of the output of one command, are read; what has more is something else.
const MOST_LINES: usize = 20_000;

/// So long is a line that is read, in bytes.
const LONGEST_LINE: usize = 1 << 20;

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
    /// What it is for and how it is looked at, where that is by another command.
    pub next: Option<String>,
    /// What of the text was not read or is not told, and why: a few words each.
    pub not_read: Vec<String>,
    /// The places of findings, by a hash of what makes them one.
    places: HashMap<u64, Vec<usize>>,
}

impl Explained {
    /// True if it is something that is known.
    pub fn is_recognised(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// How much was made of the text. What the wrapping itself breaks speaks against a reading of it.
    fn weight(&self) -> usize {
        let is_broken =
            |check: &str| check == "vm.vmsd-malformed" || catalogue().any(|rule| rule.of_grammar && rule.id == check);
        let broken = self.findings.iter().filter(|finding| is_broken(&finding.check)).count();
        let said = self.findings.iter().filter(|finding| !finding.check.starts_with("vmx.")).count();
        (1000 + self.facts.len() + 1000 * said).saturating_sub(5 * broken)
    }

    /// Tells that something was not read; each thing once.
    fn leaves_out(&mut self, what: String) {
        if !self.not_read.contains(&what) && self.not_read.len() < MOST_EVIDENCE {
            self.not_read.push(what);
        }
    }

    fn is(&mut self, kind: Kind) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    fn fact(&mut self, line: u32, name: &str, state: State<Value>, unit: Option<&'static str>) {
        if self.facts.len() < MOST_FACTS {
            self.facts.push(Fact { name: Text::new(name), state, unit, line });
        } else {
            self.leaves_out(format!("only the first {MOST_FACTS} values are told"));
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
    if let Some(own) = own::read(path, bytes) {
        return own;
    }
    let text = String::from_utf8_lossy(bytes);
    let text: Cow<'_, str> =
        if has_lone_return(&text) { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text };
    let mut best = explain_lines(path, bytes, &numbered(&text));
    for lines in parts::unwrapped(&text) {
        let other = explain_lines(path, bytes, &lines);
        if other.weight() > best.weight() {
            best = other;
        }
    }
    for (number, line) in (1_u32..).zip(text.lines()) {
        if line.len() > LONGEST_LINE {
            best.leaves_out(format!("line {number} is longer than 1 MiB; what stands behind that was not read"));
        }
    }
    best
}

/// True if a carriage return ends a line alone.
fn has_lone_return(text: &str) -> bool {
    text.match_indices('\r').any(|(at, _)| !text[at + 1..].starts_with('\n'))
}

/// The lines of a text with their numbers.
fn numbered(text: &str) -> Vec<(u32, Cow<'_, str>)> {
    let cut = |line: &str| line.floor_char_boundary(LONGEST_LINE);
    (1..).zip(text.lines().map(|line| Cow::Borrowed(line[..cut(line)].trim_end()))).collect()
}

fn explain_lines(path: &str, bytes: &[u8], lines: &[(u32, Cow<'_, str>)]) -> Explained {
    let lines = &*hidden::without_secrets(path, lines);
    let mut explained = Explained::default();
    let mut context = Context::of_lines(lines.iter().map(|(_, line)| &**line));
    let script = kind::script(path, lines);
    context.script |= script.is_some();
    let mut shell = Shell::default();
    read_parts(&mut explained, bytes, lines, script, &mut shell);
    logs::read(&mut explained, lines);
    guest::read(&mut explained, lines);
    host::conclude(&mut explained, lines);
    judge(&mut explained, lines, context);
    once(&mut explained);
    shell.decide(&mut explained);
    if explained.kinds.is_empty() && !explained.findings.is_empty() {
        explained.is(Kind::Text);
    }
    explained
}

/// Commands of shells. A paste is not understood because it has a prompt in it: only if it is nothing but commands, or
/// if there is something to say about one of them.
#[derive(Default)]
struct Shell {
    /// The lines of commands.
    commands: BTreeSet<u32>,
    /// True if something else stands in the text.
    others: bool,
}

impl Shell {
    fn add(&mut self, part: &Part<'_>, each: &[Option<Kind>]) {
        if let Some((line, command)) = &part.command {
            match kind::of_command(command) {
                Kind::Shell => {
                    self.commands.insert(*line);
                    self.others |= !kind::is_tool(command);
                }
                _ => self.others = true,
            }
        }
        for ((number, line), kind) in part.lines.iter().zip(each) {
            if *kind == Some(Kind::Shell) {
                self.commands.insert(*number);
            } else {
                self.others |= !line.trim().is_empty() && !line.trim_start().starts_with('#');
            }
        }
    }

    fn decide(&self, explained: &mut Explained) {
        let judged = explained.findings.iter().flat_map(|finding| &finding.evidence).filter_map(|shown| shown.line);
        let judged = judged.into_iter().any(|line| self.commands.contains(&line));
        if !self.commands.is_empty() && (judged || !self.others) {
            explained.is(Kind::Shell);
        }
    }
}

fn read_parts(
    explained: &mut Explained,
    bytes: &[u8],
    lines: &[(u32, Cow<'_, str>)],
    script: Option<Kind>,
    shell: &mut Shell,
) {
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
        let each = if script.is_some() { vec![None; part.lines.len()] } else { kind::of_each(&part.lines) };
        let kinds = kind::of_lines(&part.lines, &each);
        let of_command = part.command.as_ref().map(|(_, command)| kind::of_command(command));
        for kind in of_command.into_iter().chain(kinds.iter().copied()).filter(|kind| *kind != Kind::Shell) {
            explained.is(kind);
        }
        if script.is_none() {
            shell.add(part, &each);
        }
        let read = |kind| kinds.contains(&kind);
        let is_vmx = read(Kind::Vmx) || read(Kind::Vmsd);
        let mut others = (!is_vmx).then(|| part.without_logs(&each)).flatten();
        if is_vmx && kinds.iter().all(|kind| matches!(kind, Kind::Vmx | Kind::Vmsd | Kind::Shell)) {
            vmx::read(explained, bytes, lines.len() == part.lines.len(), &part.lines, read(Kind::Vmsd));
        } else if is_vmx {
            let of_vmx = kind::of_vmx(&part.lines, &each);
            let own: Vec<_> =
                part.lines.iter().zip(&of_vmx).filter(|(_, of_vmx)| **of_vmx).map(|(line, _)| line.clone()).collect();
            vmx::read(explained, bytes, false, &own, read(Kind::Vmsd));
            let rest: Vec<bool> =
                of_vmx.iter().zip(&each).map(|(of_vmx, kind)| !of_vmx && !kind::is_log(*kind)).collect();
            others = part.only(&rest);
        }
        if let Some(part) = others {
            tables::read(explained, host, &part);
        }
        if read(Kind::VimCmd) {
            vim::read(explained, host, part);
        }
        arguments::read(explained, host, &part.lines);
    }
}

/// Takes out what is said twice: a rule for a VM's configuration about lines of which the list of wrong advice says the same.
fn once(explained: &mut Explained) {
    let lines = |finding: &Finding| finding.evidence.iter().filter_map(|shown| shown.line).collect::<Vec<u32>>();
    let mut judged: BTreeSet<(String, u32)> = BTreeSet::new();
    for finding in explained.findings.iter().filter(|finding| finding.check.contains(".myth-")) {
        judged.extend(lines(finding).into_iter().map(|line| (finding.check.clone(), line)));
    }
    explained.findings.retain(|finding| {
        let Some(rule) = catalogue().find(|rule| rule.id == finding.check) else { return true };
        let told = lines(finding);
        let is_said = |line: &u32| rule.myths.iter().any(|myth| judged.contains(&((*myth).to_owned(), *line)));
        told.is_empty() || !told.iter().all(is_said)
    });
}

/// Judges every line against the list of wrong advice: one finding for each piece of it, with all its lines.
fn judge(explained: &mut Explained, lines: &[(u32, Cow<'_, str>)], context: Context) {
    let mut found: Vec<(&'static myth::Myth, Vec<(u32, &str)>)> = Vec::new();
    // Pieces of which enough lines are known; they are not looked for any more.
    let mut enough = 0_u64;
    for (number, line) in lines {
        let candidates = myth::candidates(line) & !enough;
        if candidates == 0 {
            continue;
        }
        // A prompt can be glued to the output before it.
        let (before, line) = line.split_at(parts::prompt_at(line));
        let said = |line| myth::judge_for(line, context, candidates);
        for (at, myth) in said(before).into_iter().chain(said(line)) {
            let place = found.iter().position(|(known, _)| known.id == myth.id).unwrap_or_else(|| {
                found.push((myth, Vec::new()));
                found.len() - 1
            });
            let places = &mut found[place].1;
            if places.len() < MOST_EVIDENCE {
                places.push((*number, line));
            } else {
                enough |= 1 << at;
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
