//! Judges what a text advises: every line against the list of wrong advice.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Explained, MOST_EVIDENCE, parts};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::diagnose::lint::catalogue;
use crate::diagnose::myth::{self, Context};

/// Takes out what is said twice: a rule for a VM's configuration about lines of which the list of wrong advice says the same.
pub(super) fn once(explained: &mut Explained) {
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
pub(super) fn judge(explained: &mut Explained, lines: &[(u32, Cow<'_, str>)], context: Context) {
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
