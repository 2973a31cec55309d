//! What `tune` says, for people: the line first, then why each item of it is there.

use std::fmt::Write as _;

use super::Outcome;
use super::trial::Trial;
use crate::cli::text::wrap;
use crate::tune::advice::{Candidate, Form, Item, Layer, quoted};
use crate::tune::line::Verdict;
use crate::tune::mpi::build::Remark;

const COLUMNS: usize = 80;

/// Everything.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (guest, what) in
        outcome.guests.iter().zip(std::iter::repeat("")).chain(outcome.hosts.iter().zip(std::iter::repeat("its host ")))
    {
        if let Some(problem) = &guest.problem {
            said(&mut text, 0, &format!("{what}{}: {problem}", guest.target));
        }
    }
    for (line, what) in &outcome.strange {
        said(&mut text, 0, &format!("line {line} of the file of hosts is not understood: {what}"));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let chosen = outcome.chosen();
    if let Some(candidate) = chosen.and_then(|place| outcome.advice.candidates.get(place)) {
        // Copied as it is, with its comment.
        let ran = outcome.trials.iter().any(|trial| trial.has_run() && Some(trial.candidate) == chosen);
        let sure = if ran { "it ran in the trial" } else { candidate.sure.name() };
        let _ = writeln!(text, "# {} ({sure})", candidate.way.words());
        let _ = writeln!(text, "{}\n", candidate.line("./PROGRAM"));
    }
    environment(&mut text, &outcome.advice.items);
    trials(&mut text, outcome);
    builds(&mut text, &outcome.advice.build);
    if let Some(candidate) = chosen.and_then(|place| outcome.advice.candidates.get(place)) {
        heading(&mut text, "Why");
        candidate.items.iter().for_each(|one| item(&mut text, one));
    }
    let beside = outcome.advice.items.iter().filter(|item| item.form != Form::Variable || item.layer != Layer::Nccl);
    let beside: Vec<&Item> = beside.collect();
    if !beside.is_empty() {
        heading(&mut text, "Beside the line");
        for one in beside {
            item(&mut text, one);
        }
    }
    others(&mut text, outcome, chosen);
    comments(&mut text, outcome);
    text
}

fn heading(text: &mut String, words: &str) {
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    text.push_str(words);
    text.push('\n');
}

fn said(text: &mut String, indent: usize, words: &str) {
    for line in wrap(words, COLUMNS - indent) {
        let _ = writeln!(text, "{}{}", " ".repeat(indent), line.trim_end());
    }
}

fn item(text: &mut String, item: &Item) {
    let of = item.guest.as_ref().map(|guest| format!(" on {guest}")).unwrap_or_default();
    let now = item.present.as_ref().map(|now| format!("   (now: {now})")).unwrap_or_default();
    said(text, 2, &format!("{}{of}{now}", item.written()));
    said(text, 6, &format!("{}.", item.reason));
    let decide = if item.decide.is_empty() { String::new() } else { format!("; decides: {}", item.decide) };
    said(text, 6, &format!("{}: {}{decide}", item.sure.name(), item.source));
}

/// What programs without a launcher's -x need, ready to be copied.
fn environment(text: &mut String, items: &[Item]) {
    let mut before = None;
    for item in items.iter().filter(|item| item.form == Form::Variable) {
        if before != Some(&item.guest) {
            let guest = item.guest.as_ref().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "# NCCL on {guest}");
            before = Some(&item.guest);
        }
        let _ = writeln!(text, "export {}={}", item.name, quoted(&item.value));
    }
    if before.is_some() {
        text.push('\n');
    }
}

fn trials(text: &mut String, outcome: &Outcome) {
    if outcome.trials.is_empty() {
        return;
    }
    heading(text, "Trial");
    for trial in &outcome.trials {
        said(text, 2, &format!("{}: {}", trial.way.words(), trial.words()));
        for finding in &trial.findings {
            said(text, 6, &finding.title);
            said(text, 8, &finding.cause);
            if !finding.decide.is_empty() {
                said(text, 8, &format!("decides: {}", finding.decide));
            }
        }
        if trial.has_run() {
            ranks(text, trial);
        }
    }
}

fn ranks(text: &mut String, trial: &Trial) {
    said(text, 6, &format!("{}.", trial.used.words()));
    for rank in &trial.used.ranks {
        let carrier = trial.used.of_rank(rank).map_or("not told", crate::tune::mpi::used::Carrier::words);
        let mut shown = rank.transports.join(", ");
        if shown.is_empty() {
            shown = rank.pml.clone().unwrap_or_default();
        }
        said(
            text,
            8,
            &format!(
                "{} process {}: {carrier} ({shown}; {} queue pairs in RTS)",
                rank.node, rank.process, rank.queue_pairs
            ),
        );
    }
}

fn builds(text: &mut String, build: &[Remark]) {
    if build.is_empty() {
        return;
    }
    heading(text, "What is installed");
    for remark in build {
        let sign = if remark.is_trouble { "!" } else { "-" };
        said(text, 2, &format!("{sign} {}", remark.title));
        said(text, 6, &remark.cause);
        said(text, 6, &format!("{}: {}; decides: {}", remark.sure.name(), remark.source, remark.decide));
    }
}

/// Lines for when the first one does not run.
fn others(text: &mut String, outcome: &Outcome, chosen: Option<usize>) {
    let failed = |place: usize| outcome.trials.iter().any(|trial| trial.candidate == place && !trial.has_run());
    let rest: Vec<&Candidate> = outcome
        .advice
        .candidates
        .iter()
        .enumerate()
        .filter(|(place, _)| Some(*place) != chosen && !failed(*place))
        .map(|(_, candidate)| candidate)
        .collect();
    if rest.is_empty() {
        return;
    }
    heading(text, "If that does not run");
    for candidate in rest {
        let _ = writeln!(text, "# {}", candidate.way.words());
        let _ = writeln!(text, "{}\n", candidate.line("./PROGRAM"));
    }
}

fn comments(text: &mut String, outcome: &Outcome) {
    let Some(comments) = &outcome.comments else { return };
    heading(text, "The line that was given");
    if comments.is_empty() {
        said(text, 2, "nothing in it is an option of a launcher, a parameter of Open MPI or a variable of UCX or NCCL");
    }
    for comment in comments {
        let sign = match comment.verdict {
            Verdict::Fine => "ok",
            Verdict::Harmless | Verdict::Unknown => "- ",
            Verdict::Better => "* ",
            Verdict::Gone | Verdict::WrongName | Verdict::Opposite => "! ",
        };
        said(text, 2, &format!("{sign} line {}: {}   ({})", comment.line, comment.written, comment.verdict.words()));
        said(text, 8, &format!("{}.", comment.reason.trim_end_matches('.')));
        if !comment.instead.is_empty() {
            said(text, 8, &format!("instead: {}", comment.instead));
        }
        said(text, 8, &format!("source: {}", comment.source));
    }
}
