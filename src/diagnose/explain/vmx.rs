//! A VMX or a VMSD inside a text: its values, and what the rules for a VM's configuration say about it.

use std::collections::BTreeMap;

use super::parts::Line;
use super::{Explained, value};
use crate::diagnose::finding::{Confidence, Evidence, Finding, Status};
use crate::diagnose::lint::{Severity, Subject, lint};
use crate::fabric::{State, Text};
use crate::probe::esxi::{MASK, secret};
use crate::probe::vmx::{Content, Dictionary};

/// Reads the lines. `bytes` is the whole input, read as it is if it `is_whole`: a byte order mark is part of it.
pub(super) fn read(explained: &mut Explained, bytes: &[u8], is_whole: bool, lines: &[Line<'_>], snapshots: bool) {
    let (lines, more) = lines.split_at(lines.len().min(super::MOST_LINES));
    if let Some((number, _)) = more.first() {
        explained.leaves_out(format!("of this configuration, what stands from line {number} on was not read"));
    }
    let as_it_is = is_whole && more.is_empty() && bytes.split(|byte| *byte == b'\n').count() <= lines.len() + 1;
    let dictionary = if as_it_is && !snapshots { Dictionary::parse(bytes) } else { part(lines, snapshots) };
    let dictionary = dictionary.without_secrets();
    let mut seen = BTreeMap::new();
    for entry in dictionary.entries() {
        // A name that stands twice is told with its line; documents have room for one value a name.
        let count = seen.entry(entry.key.to_ascii_lowercase()).or_insert(0_u32);
        *count += 1;
        let name = if *count == 1 { entry.key.clone() } else { format!("{} (again, line {})", entry.key, entry.line) };
        let shown = shown(&entry.key, &entry.value);
        explained.fact(entry.line, &name, shown, unit(&entry.key));
    }
    if snapshots {
        count(explained, &dictionary);
        return;
    }
    // One finding for each rule, with all lines that break it.
    let mut found: Vec<Finding> = Vec::new();
    for finding in lint(&Subject { vmx: &dictionary, host: None, snapshots: None }) {
        let (status, confidence) = match (finding.rule.severity, finding.rule.source.weak) {
            (Severity::Error, weak) => (Status::Fail, if weak { Confidence::Likely } else { Confidence::Proved }),
            (Severity::Warning, weak) => (Status::Warn, if weak { Confidence::Likely } else { Confidence::Proved }),
            (Severity::Info, _) => (Status::Info, Confidence::Likely),
        };
        let subject = finding.found.key.clone().unwrap_or_default();
        let mut cause = finding.found.message.clone();
        if let Some(fails) = &finding.found.power_on_fails {
            cause.push_str(&format!(" At power-on: {fails}"));
        }
        let mut shown = Finding::new(finding.rule.id, status, confidence, &subject, finding.rule.title, &cause);
        "vm".clone_into(&mut shown.layer);
        if let Some(line) = finding.found.line {
            let at = lines.binary_search_by_key(&line, |(number, _)| *number);
            shown.evidence.push(Evidence::of_line(line, at.map_or("", |at| &*lines[at].1)));
        }
        if !finding.found.fix.is_empty() {
            let commands = finding.found.fix.iter().map(|(key, value)| match value {
                Some(value) => format!("{key} = \"{value}\""),
                None => format!("(take out) {key}"),
            });
            shown.remedies.push(crate::diagnose::finding::Remedy {
                title: "Change the VMX while the VM is off, then let the host reload it".to_owned(),
                commands: commands.collect(),
                risk: "a VMX that is edited while the VM runs is overwritten".to_owned(),
                undo: "put the old lines back".to_owned(),
                verify: "rdmascope lint".to_owned(),
            });
        }
        match found.iter_mut().find(|known| known.check == shown.check && known.status == shown.status) {
            Some(known) => merge(known, shown),
            None => found.push(shown),
        }
    }
    for finding in found {
        explained.finding(finding);
    }
}

/// So long is what a finding says of all its lines together, in bytes; further lines are shown without words of their own.
const LONGEST_CAUSE: usize = 1200;

/// Adds what a rule said of another line.
fn merge(known: &mut Finding, other: Finding) {
    if !known.cause.contains(&other.cause) && known.cause.len() + other.cause.len() < LONGEST_CAUSE {
        known.cause.push_str("; ");
        known.cause.push_str(&other.cause);
    }
    super::told::add_evidence(known, other.evidence);
    for remedy in other.remedies {
        match known.remedies.first_mut() {
            Some(first) => {
                for command in remedy.commands {
                    if first.commands.len() < MOST_COMMANDS && !first.commands.contains(&command) {
                        first.commands.push(command);
                    }
                }
            }
            None => known.remedies.push(remedy),
        }
    }
}

/// So many changes are told for one rule.
const MOST_COMMANDS: usize = 32;

/// The lines as a file of their own, that keep the numbers they have in the input.
fn part(lines: &[Line<'_>], snapshots: bool) -> Dictionary {
    let mut text = String::new();
    for (_, line) in lines {
        // A VMSD is sometimes pasted with a mark of a comment before each line.
        text.push_str(if snapshots { line.strip_prefix("# ").unwrap_or(line) } else { line });
        text.push('\n');
    }
    let mut dictionary = Dictionary::parse(text.as_bytes());
    for (read, (number, _)) in dictionary.lines.iter_mut().zip(lines) {
        read.number = *number;
        if let Content::Entry(entry) = &mut read.content {
            entry.line = *number;
        }
    }
    dictionary
}

/// The value of a setting, unless it is nobody's business.
pub(super) fn shown(key: &str, written: &str) -> State<super::Value> {
    if secret(key) || written.contains(MASK) { State::NotObservable(Text::new("masked")) } else { value(written) }
}

fn unit(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    match key.as_str() {
        "memsize" | "sched.mem.min" | "sched.mem.minsize" | "sched.mem.max" => Some("MB"),
        "pcipassthru.64bitmmiosizegb" => Some("GB"),
        _ => None,
    }
}

/// How many snapshots a VMSD counts, and how many of them it describes.
fn count(explained: &mut Explained, dictionary: &Dictionary) {
    let described = dictionary
        .entries()
        .filter(|entry| {
            let key = entry.key.to_ascii_lowercase();
            key.strip_prefix("snapshot")
                .and_then(|rest| rest.strip_suffix(".uid"))
                .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
        })
        .count();
    let counted = dictionary.get("snapshot.numSnapshots");
    let number = counted.and_then(|entry| entry.value.trim().parse::<usize>().ok());
    let malformed = dictionary.lines.iter().find(|line| matches!(line.content, Content::Malformed(_)));
    if let Some(line) = malformed {
        let title = "A line of the VMSD is no assignment";
        explained.finding(
            Finding::new(
                "vm.vmsd-malformed",
                Status::Warn,
                Confidence::Proved,
                "VMSD",
                title,
                "The host would not read it.",
            )
            .shown(line.number, "malformed"),
        );
    }
    let snapshots = number.unwrap_or(described);
    if snapshots == 0 {
        return;
    }
    let mut cause = "A VM with a passthrough device cannot be snapshotted while it runs, and one with snapshots has the device list \
                     of each of them: removing or adding passthrough or PVRDMA devices changes what a revert means."
        .to_owned();
    if number.is_some_and(|number| number > described) {
        cause.push_str(&format!(
            " {described} of them are described here, so part of the list is missing from this text."
        ));
    }
    let title = format!("The VM has {snapshots} {}", if snapshots == 1 { "snapshot" } else { "snapshots" });
    let line = counted.map_or(1, |entry| entry.line);
    let excerpt = counted
        .map_or_else(|| format!("{described} described"), |entry| format!("{} = \"{}\"", entry.key, entry.value));
    explained.finding(
        Finding::new("vm.snapshots", Status::Info, Confidence::Proved, "snapshots", &title, &cause)
            .shown(line, &excerpt),
    );
}
