//! What `tune` says as the JSON document of `schema/tune-1.json`.

use serde::Serialize;

use super::trial::Trial;
use super::{Guest, Outcome};
use crate::app::Problem;
use crate::diagnose::finding::Finding;
use crate::fabric::{TargetId, Timestamp};
use crate::tune::advice::{Candidate, Item};
use crate::tune::line::Comment;
use crate::tune::mpi::build::Remark;

#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    at: Timestamp,
    rdmascope: &'static str,
    guests: Vec<GuestDocument<'a>>,
    hosts: Vec<GuestDocument<'a>>,
    /// The place of the line that is advised, from 0.
    chosen: Option<usize>,
    candidates: Vec<CandidateDocument<'a>>,
    items: Vec<ItemDocument<'a>>,
    build: Vec<RemarkDocument<'a>>,
    comments: Option<Vec<CommentDocument<'a>>>,
    trials: Vec<TrialDocument<'a>>,
    not_understood: Vec<LineDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct GuestDocument<'a> {
    name: &'a TargetId,
    reachable: bool,
    problem: Option<&'a Problem>,
}

#[derive(Debug, Serialize)]
struct CandidateDocument<'a> {
    way: &'static str,
    confidence: &'static str,
    words: Vec<String>,
    items: Vec<ItemDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ItemDocument<'a> {
    layer: &'static str,
    form: &'static str,
    name: &'a str,
    value: &'a str,
    guest: Option<&'a TargetId>,
    reason: &'a str,
    source: &'a str,
    confidence: &'static str,
    decide: Option<&'a str>,
    present: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct RemarkDocument<'a> {
    guest: Option<&'a TargetId>,
    is_trouble: bool,
    title: &'a str,
    cause: &'a str,
    source: &'a str,
    confidence: &'static str,
    decide: &'a str,
}

#[derive(Debug, Serialize)]
struct CommentDocument<'a> {
    line: u32,
    written: &'a str,
    verdict: &'static str,
    reason: &'a str,
    source: &'a str,
    instead: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct TrialDocument<'a> {
    candidate: usize,
    way: &'static str,
    ran: bool,
    how: String,
    program: Option<&'a str>,
    status: Option<u32>,
    seconds: Option<f64>,
    findings: &'a [Finding],
    carrier: Option<&'static str>,
    slowest: Option<&'a str>,
    ranks: Vec<RankDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct RankDocument<'a> {
    node: &'a str,
    process: u32,
    pml: Option<&'a str>,
    transports: &'a [String],
    queue_pairs: usize,
    carrier: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct LineDocument<'a> {
    line: u32,
    text: &'a str,
}

fn guest(guest: &Guest) -> GuestDocument<'_> {
    GuestDocument { name: &guest.target, reachable: guest.reachable, problem: guest.problem.as_ref() }
}

/// The document.
pub(super) fn document(outcome: &Outcome) -> Document<'_> {
    Document {
        schema: "rdmascope.tune/1",
        at: outcome.at,
        rdmascope: env!("CARGO_PKG_VERSION"),
        guests: outcome.guests.iter().map(guest).collect(),
        hosts: outcome.hosts.iter().map(guest).collect(),
        chosen: outcome.chosen(),
        candidates: outcome.advice.candidates.iter().map(candidate).collect(),
        items: outcome.advice.items.iter().map(item).collect(),
        build: outcome.advice.build.iter().map(remark).collect(),
        comments: outcome.comments.as_ref().map(|all| all.iter().map(comment).collect()),
        trials: outcome.trials.iter().map(trial).collect(),
        not_understood: outcome.strange.iter().map(|(line, text)| LineDocument { line: *line, text }).collect(),
    }
}

fn candidate(candidate: &Candidate) -> CandidateDocument<'_> {
    CandidateDocument {
        way: candidate.way.name(),
        confidence: candidate.sure.name(),
        words: candidate.words(),
        items: candidate.items.iter().map(item).collect(),
    }
}

fn item(item: &Item) -> ItemDocument<'_> {
    ItemDocument {
        layer: item.layer.name(),
        form: item.form.name(),
        name: &item.name,
        value: &item.value,
        guest: item.guest.as_ref(),
        reason: &item.reason,
        source: item.source,
        confidence: item.sure.name(),
        decide: Some(item.decide.as_str()).filter(|decide| !decide.is_empty()),
        present: item.present.as_deref(),
    }
}

fn remark(remark: &Remark) -> RemarkDocument<'_> {
    RemarkDocument {
        guest: remark.guest.as_ref(),
        is_trouble: remark.is_trouble,
        title: &remark.title,
        cause: &remark.cause,
        source: remark.source,
        confidence: remark.sure.name(),
        decide: &remark.decide,
    }
}

fn comment(comment: &Comment) -> CommentDocument<'_> {
    CommentDocument {
        line: comment.line,
        written: &comment.written,
        verdict: comment.verdict.name(),
        reason: &comment.reason,
        source: comment.source,
        instead: Some(comment.instead.as_str()).filter(|instead| !instead.is_empty()),
    }
}

fn trial(trial: &Trial) -> TrialDocument<'_> {
    let ran = trial.result.as_ref().ok();
    let carrier = crate::tune::mpi::used::Carrier::words;
    TrialDocument {
        candidate: trial.candidate,
        way: trial.way.name(),
        ran: trial.has_run(),
        how: trial.words(),
        program: ran.and_then(|ran| ran.program.as_deref()),
        status: ran.and_then(|ran| ran.status),
        seconds: ran.map(|ran| ran.took.as_secs_f64()),
        findings: &trial.findings,
        carrier: trial.used.carrier().map(carrier),
        slowest: trial.used.slowest().map(|(node, _)| node),
        ranks: trial
            .used
            .ranks
            .iter()
            .map(|rank| RankDocument {
                node: &rank.node,
                process: rank.process,
                pml: rank.pml.as_deref(),
                transports: &rank.transports,
                queue_pairs: rank.queue_pairs,
                carrier: trial.used.of_rank(rank).map(carrier),
            })
            .collect(),
    }
}
