//! Any pasted text: what it is, what it says, what is wrong with it. A text can hold several things at once (prompts with
//! their output, a log behind a command); each part is read by what it is, and every line is judged against the list of
//! wrong advice, because people paste guides. A text that a mail program or a terminal wrapped is read unwrapped where that
//! makes more of it.

mod advice;
mod arguments;
mod cleaned;
mod esxi;
mod esxtop;
mod formats;
mod guest;
mod hidden;
mod host;
mod host_lines;
mod kind;
mod logs;
mod messages;
mod numbered;
mod own;
mod parts;
mod power_on;
mod rdma;
mod sources;
mod squeezed;
mod switch;
mod tables;
mod told;
mod vim;
mod vmx;
mod vmx_lines;
mod written;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use crate::diagnose::finding::Finding;
use crate::diagnose::myth::Context;
use crate::fabric::{State, Text};

pub use kind::{KNOWN, Kind};
use numbered::{Breaks, LONGEST_LINE, Numbered, numbered};
pub use own::is_recording;
use parts::{Line, Part, parts};
use written::Written;

/// So many facts of one text are told; what is more is counted.
const MOST_FACTS: usize = 20_000;
/// So many findings of one text are told.
const MOST_FINDINGS: usize = 2_000;

/// So many lines are shown for one finding.
const MOST_EVIDENCE: usize = 16;

/// So many lines of a configuration, or of the output of one command, are read; what has more is something else.
const MOST_LINES: usize = 20_000;

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

/// Texts larger than this are read as they are: wrapped ones and those of several sources were pasted.
const LARGEST_PASTE: usize = 1 << 20;

/// Says what a text is and what it means. Never fails: what is not known stays unknown.
pub fn explain(path: &str, bytes: &[u8]) -> Explained {
    if let Some(own) = own::read(path, bytes) {
        return own;
    }
    if let Some(saved) = esxtop::read(bytes) {
        return saved;
    }
    let text = String::from_utf8_lossy(bytes);
    let (text, breaks) = Breaks::of(text);
    let Numbered { lines, is_all, until } = numbered(&text);
    let written = if kind::script(path, &lines).is_some() { None } else { written::of(path, &lines) };
    let mut best = match written {
        Some(Written::Program) => {
            let mut none = Explained::default();
            none.leaves_out("it is source code: what it quotes was not said by a machine".to_owned());
            none
        }
        Some(Written::Page { own, is_mostly_own }) => page(path, &text, lines, &own, is_mostly_own),
        None => {
            let mut pasted = pasted(path, Some(bytes).filter(|_| is_all), &text, lines);
            pasted.weigh_quotations(&text);
            pasted
        }
    };
    if let Some(line) = until {
        best.leaves_out(format!("only what stands above line {line} was read: the text has too many short lines"));
    }
    for (number, line) in (1_u32..).zip(text.lines()) {
        if line.len() > LONGEST_LINE {
            best.leaves_out(format!("line {number} is longer than 1 MiB; what stands behind that was not read"));
        }
    }
    breaks.renumber(&mut best);
    best
}

/// What the lines of a text say. `bytes` is the input, where these are all its lines.
fn pasted(path: &str, bytes: Option<&[u8]>, text: &str, lines: Vec<Line<'_>>) -> Explained {
    let lines = cleaned::cleaned(text, lines);
    // A mark of the byte order and the like are seen in the bytes alone; where something was taken off, lines are read.
    let is_plain = lines.iter().all(|(_, line)| matches!(line, Cow::Borrowed(_)));
    let is_paste = text.len() <= LARGEST_PASTE;
    // A log of many megabytes is held once.
    let (first, lines) = if is_paste { (trimmed(lines.clone()), lines) } else { (trimmed(lines), Vec::new()) };
    let mut best = explain_lines(path, bytes.filter(|_| is_plain), &first, None);
    drop(first);
    if is_paste {
        for lines in parts::unwrapped(&lines) {
            best = best.or(explain_lines(path, None, &lines, None));
        }
        for groups in sources::groups(&lines) {
            best = best.or(explain_groups(path, &groups));
        }
    }
    best
}

/// What a page says: what it shows is read without its own words. Advice is judged wherever it stands, because people paste
/// guides; whether the page gives it or warns of it, nobody can tell from its words.
fn page(path: &str, text: &str, mut lines: Vec<Line<'_>>, own: &[bool], is_mostly_own: bool) -> Explained {
    let context = Context::of_lines(lines.iter().map(|(_, line)| &**line));
    let words: Vec<Line<'_>> = lines.iter().zip(own).filter(|(_, own)| **own).map(|(line, _)| line.clone()).collect();
    let mut advice = Explained::default();
    advice::judge(&mut advice, &hidden::without_secrets(path, &words), context);
    if !advice.findings.is_empty() {
        advice.is(Kind::Text);
    }
    for ((_, line), own) in lines.iter_mut().zip(own) {
        if *own {
            *line = Cow::Borrowed("");
        }
    }
    let mut all = pasted(path, None, text, lines);
    if is_mostly_own {
        all = all.quoted(|_| true);
    }
    if all.is_recognised() {
        advice.kinds.clear();
    }
    all.add(advice.quoted(|_| true));
    if !all.is_recognised() {
        all.leaves_out("it is a page of text: what its sentences quote was not said by a machine".to_owned());
    }
    all
}

/// What the lines of each source say, and all of it together.
fn explain_groups(path: &str, groups: &[sources::Group<'_>]) -> Explained {
    let hosts: BTreeSet<&str> = groups.iter().filter_map(|group| group.host.as_deref()).collect();
    let mut all = Explained::default();
    for group in groups {
        let host = group.host.as_deref().filter(|_| hosts.len() > 1);
        let mut best = explain_lines(path, None, &trimmed(group.lines.clone()), host);
        for lines in parts::unwrapped(&group.lines) {
            best = best.or(explain_lines(path, None, &lines, host));
        }
        all.add(best);
    }
    all
}

/// The lines without blanks at their ends.
fn trimmed(mut lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    for (_, line) in &mut lines {
        match line {
            Cow::Borrowed(text) => *text = text.trim_end(),
            Cow::Owned(text) => text.truncate(text.trim_end().len()),
        }
    }
    lines
}

/// What lines say. `bytes` is the input, where these are all its lines as they are.
fn explain_lines(path: &str, bytes: Option<&[u8]>, lines: &[Line<'_>], host: Option<&str>) -> Explained {
    let lines = &*hidden::without_secrets(path, lines);
    let mut explained = Explained::default();
    let mut context = Context::of_lines(lines.iter().map(|(_, line)| &**line));
    let script = kind::script(path, lines);
    context.script |= script.is_some();
    let mut shell = Shell::default();
    let switches = read_parts(&mut explained, bytes, lines, script, host, &mut shell);
    // A script looks for messages, it says none.
    if script.is_none() {
        logs::read(&mut explained, lines);
    }
    guest::read(&mut explained, lines);
    host::conclude(&mut explained, lines, &switches.iter().map(|said| said.line).collect());
    switch::conclude(&mut explained, &switches);
    advice::judge(&mut explained, lines, context);
    advice::once(&mut explained);
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
    bytes: Option<&[u8]>,
    lines: &[Line<'_>],
    script: Option<Kind>,
    source: Option<&str>,
    shell: &mut Shell,
) -> Vec<switch::Said> {
    let parts = match script {
        Some(kind) => {
            explained.is(kind);
            vec![Part::whole(lines)]
        }
        None => parts(lines),
    };
    let hosts: BTreeSet<&str> = parts.iter().filter_map(|part| part.host.as_deref()).collect();
    let mut switches = Vec::new();
    for whole in &parts {
        let host = whole.host.as_deref().filter(|_| hosts.len() > 1).or(source);
        let mut part = Cow::Borrowed(whole);
        let mut is_read = switch::read(explained, &mut switches, host, &part);
        esxi::read(explained, host, &part, &mut is_read);
        formats::read(explained, host, &part, &mut is_read);
        if is_read.contains(&true) {
            let rest: Vec<bool> = is_read.iter().map(|is_read| !is_read).collect();
            let Some(rest) = part.only(&rest) else { continue };
            part = Cow::Owned(rest);
        }
        let part = &*part;
        let each = if script.is_some() { vec![None; part.lines.len()] } else { kind::of_each(&part.lines) };
        let kinds = kind::of_lines(&part.lines, &each);
        let of_command = part.command.as_ref().map(|(_, command)| kind::of_command(command));
        let is_told = |kind: &Kind| *kind != Kind::Shell && !kind::is_guest_log(Some(*kind));
        for kind in of_command.into_iter().chain(kinds.iter().copied()).filter(is_told) {
            explained.is(kind);
        }
        if script.is_none() {
            shell.add(part, &each);
        }
        let read = |kind| kinds.contains(&kind);
        let is_vmx = read(Kind::Vmx) || read(Kind::Vmsd);
        let mut others = (!is_vmx).then(|| part.without_logs(&each)).flatten();
        if is_vmx {
            let (is_setting, is_list) = (read(Kind::Vmx), read(Kind::Vmsd));
            let of_vmx = vmx_lines::of_vmx(part, &each);
            let counts = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
            let is_whole = part.lines.iter().zip(&of_vmx).all(|((_, line), of_vmx)| *of_vmx || !counts(line));
            if is_whole {
                let bytes = bytes.filter(|_| lines.len() == part.lines.len() && !(is_setting && is_list));
                configuration(explained, bytes, &part.lines, is_setting, is_list);
            } else {
                let own = part.lines.iter().zip(&of_vmx).filter(|(_, of_vmx)| **of_vmx).map(|(line, _)| line.clone());
                configuration(explained, None, &own.collect::<Vec<_>>(), is_setting, is_list);
                let rest: Vec<bool> =
                    of_vmx.iter().zip(&each).map(|(of_vmx, kind)| !of_vmx && !kind::is_log(*kind)).collect();
                // Where nothing else is known, prose stands beside it.
                let is_mixed = kinds.iter().any(|kind| !matches!(kind, Kind::Vmx | Kind::Vmsd | Kind::Shell));
                others = part.only(&rest).filter(|_| is_mixed);
            }
        }
        if let Some(part) = others {
            tables::read(explained, host, &part);
        }
        if read(Kind::VimCmd) {
            vim::read(explained, host, part);
        }
        arguments::read(explained, host, &part.lines);
    }
    switches
}

/// Reads a VMX, a VMSD, or one below the other.
fn configuration(explained: &mut Explained, bytes: Option<&[u8]>, lines: &[Line<'_>], is_vmx: bool, is_vmsd: bool) {
    if !(is_vmx && is_vmsd) {
        vmx::read(explained, bytes.unwrap_or_default(), bytes.is_some(), lines, is_vmsd);
        return;
    }
    let begins = |at: usize, word: &str| {
        lines.get(at).is_some_and(|(_, line)| line.trim_start_matches(['\u{feff}', '#', ' ']).starts_with(word))
    };
    // Both kinds name their encoding in their first line.
    let is_snapshot = |at: usize| begins(at, "snapshot") || begins(at, ".encoding") && begins(at + 1, "snapshot");
    let (mut snapshots, mut settings) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        if is_snapshot(at) { snapshots.push(line.clone()) } else { settings.push(line.clone()) }
    }
    vmx::read(explained, &[], false, &settings, false);
    vmx::read(explained, &[], false, &snapshots, true);
}

#[cfg(test)]
mod tests;
