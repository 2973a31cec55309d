//! `lint --fix`: the changes that findings propose, shown before they are made, and made only while the VM is off.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use super::super::args::Format;
pub(super) use super::super::consent::Consent;
use super::super::consent::ask;
use super::super::{Failure, output};
use super::report::{Change, Fixed};
use crate::config::Defect;
use crate::diagnose::lint::Finding;
use crate::engine::vmx_file;
use crate::fabric::Timestamp;
use crate::fabric::text::clean_line;
use crate::probe::vmx::{Assignment, Dictionary, edited};

/// The changes that the findings propose; of two for one key that of the graver finding. A name that the file assigns twice
/// with different values is left alone: which of them was meant is for a person to say.
pub(super) fn proposed(file: &Dictionary, findings: &[Finding]) -> Vec<Assignment> {
    let is_settled = |key: &str| {
        let mut values = file.all(key).map(|entry| entry.value.as_str());
        let first = values.next();
        values.all(|value| Some(value) == first)
    };
    let mut seen = HashSet::new();
    let mut changes: Vec<Assignment> = Vec::new();
    for (key, value) in findings.iter().flat_map(|finding| &finding.found.fix) {
        if seen.insert(key.to_ascii_lowercase()) && is_settled(key) {
            changes.push((key.clone(), value.clone()));
        }
    }
    changes
}

/// Shows what would be changed, asks if it must, and does it. `None` if there is nothing to do.
pub(super) fn fix(
    path: &Path,
    before: &Dictionary,
    findings: &[Finding],
    consent: Consent,
    format: Format,
) -> Result<Option<Fixed>, Failure> {
    let changes = proposed(before, findings);
    let refused = |changes, why| Ok(Some(Fixed { changes, backup: None, refused: Some(why) }));
    let bytes = match edited(before, &changes) {
        Ok(bytes) if bytes == before.bytes => return Ok(None),
        Ok(bytes) => bytes,
        Err(error) => return refused(Vec::new(), error.to_string()),
    };
    // What is told of it is told without secrets.
    let after = Dictionary::parse(&bytes);
    let (old, new) = (before.without_secrets(), after.without_secrets());
    let told: Vec<Change> = changes
        .iter()
        .map(|(key, value)| Change {
            key: key.clone(),
            before: old.value(key).map(str::to_owned),
            after: value.clone(),
        })
        .collect();
    match vmx_file::in_use_by(path) {
        Ok(None) => {}
        Ok(Some(lock)) => return refused(told, vmx_file::in_use(&lock)),
        Err(error) => return refused(told, format!("its folder cannot be read: {error}")),
    }
    let shown = difference(path, &old, &new, &changes);
    // Documents stay alone on standard output.
    if format == Format::Text {
        output::print(&shown)?;
    } else {
        output::complain_lines(shown.trim_end());
    }
    match consent {
        Consent::Given => {}
        Consent::Ask => {
            if !ask(&format!("Write this to {}?", clean_line(&path.display().to_string()))) {
                return refused(told, "you did not want it".to_owned());
            }
        }
        Consent::Nobody => {
            let what = "needs --yes where there is no terminal to ask at; nothing was written";
            return Err(Defect::somewhere("--fix", what).into());
        }
    }
    let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    match vmx_file::replace(path, &before.bytes, &bytes, &stamp) {
        Ok(backup) => Ok(Some(Fixed { changes: told, backup: Some(backup.display().to_string()), refused: None })),
        Err(defect) => refused(told, defect.what),
    }
}

/// The lines that go (`-`) and come (`+`), with their numbers.
fn difference(path: &Path, before: &Dictionary, after: &Dictionary, changes: &[Assignment]) -> String {
    let lines = |file: &Dictionary, key: &str| -> Vec<(u32, String)> {
        let line = |number: u32| file.lines.get(usize::try_from(number).ok()?.checked_sub(1)?);
        file.all(key).filter_map(|entry| Some((entry.line, clean_line(&file.text(line(entry.line)?))))).collect()
    };
    let mut shown: Vec<(u32, char, String)> = Vec::new();
    for (key, _) in changes {
        let (old, new) = (lines(before, key), lines(after, key));
        let stays = |line: &str, other: &[(u32, String)]| other.iter().any(|(_, text)| text == line);
        shown.extend(old.iter().filter(|(_, text)| !stays(text, &new)).map(|(at, text)| (*at, '-', text.clone())));
        // A repeated assignment goes even if its text stands elsewhere too.
        if old.len() > new.len() && old.iter().all(|(_, text)| stays(text, &new)) {
            shown.extend(old.iter().skip(new.len()).map(|(at, text)| (*at, '-', text.clone())));
        }
        shown.extend(new.iter().filter(|(_, text)| !stays(text, &old)).map(|(at, text)| (*at, '+', text.clone())));
    }
    shown.sort_by_key(|(at, sign, _)| (*at, *sign == '+'));
    let mut text = format!("{}\n", clean_line(&path.display().to_string()));
    for (at, sign, line) in shown {
        let _ = writeln!(text, "  {sign} {at:>4}  {line}");
    }
    text
}
