//! What `check` says: the JSON document of `schema/check-1.json`, and text at 80 columns.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{Accepted, Outcome, qualification};
use crate::app::Problem;
use crate::cli::text::wrap;
use crate::config::Suppression;
use crate::diagnose::cause::Found;
use crate::diagnose::document::{evidence, finding};
use crate::diagnose::finding::{Confidence, Evidence, Finding, Remedy, Status};
use crate::fabric::text::clean_line;
use crate::fabric::{Entity, TargetId, Text, Timestamp};

/// The width that text is made for.
pub(super) const COLUMNS: usize = 80;

/// The layers from the wire up, as documents order them.
pub(super) const LAYERS: [&str; 7] = ["switch", "host", "vm", "guest", "gpu", "mpi", "tool"];

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    at: Timestamp,
    rdmascope: &'static str,
    targets: Vec<TargetDocument<'a>>,
    causes: Vec<CauseDocument>,
    findings: Vec<Finding>,
    suppressed: Vec<SuppressedDocument<'a>>,
    expired_suppressions: Vec<SuppressionDocument<'a>>,
    contradictions: Vec<ContradictionDocument>,
    qualification: Option<qualification::Document>,
    summary: Summary,
}

#[derive(Debug, Serialize)]
struct TargetDocument<'a> {
    name: &'a TargetId,
    kind: &'a str,
    reachable: bool,
    problem: Option<&'a Problem>,
}

#[derive(Debug, Serialize)]
struct CauseDocument {
    #[serde(flatten)]
    finding: Finding,
    symptoms: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct SuppressedDocument<'a> {
    #[serde(flatten)]
    finding: Finding,
    suppression: SuppressionDocument<'a>,
}

#[derive(Debug, Serialize)]
struct SuppressionDocument<'a> {
    check: &'a str,
    target: Option<&'a str>,
    reason: &'a str,
    expires: Option<String>,
    place: String,
}

/// A fact of which two probes tell different things.
#[derive(Debug, Serialize)]
struct ContradictionDocument {
    target: Text,
    subject: Text,
    property: &'static str,
    opinions: Vec<Evidence>,
}

/// How many findings of each status there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub fail: usize,
    pub warn: usize,
    pub info: usize,
    pub pass: usize,
    pub unknown: usize,
}

#[derive(Debug, Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    suppressed: usize,
    causes: usize,
    /// False if a target or a probe did not answer.
    complete: bool,
    layers: BTreeMap<&'static str, Counts>,
}

impl Counts {
    fn add(&mut self, status: Status) {
        let count = match status {
            Status::Fail => &mut self.fail,
            Status::Warn => &mut self.warn,
            Status::Info => &mut self.info,
            Status::Pass => &mut self.pass,
            Status::Unknown => &mut self.unknown,
        };
        *count += 1;
    }
}

impl Outcome {
    pub(super) fn document_of(&self, found: &Found) -> Finding {
        finding(found, &self.examined.examination.fabric, &self.examined.raw)
    }

    /// How many findings there are of each status, by layer.
    fn layers(&self) -> BTreeMap<&'static str, Counts> {
        let mut layers: BTreeMap<&'static str, Counts> = BTreeMap::new();
        for found in self.diagnosis.findings() {
            layers.entry(found.check.layer()).or_default().add(found.judged.status);
        }
        layers
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.diagnosis.findings().for_each(|found| counts.add(found.judged.status));
        counts
    }

    fn contradictions(&self) -> Vec<ContradictionDocument> {
        let (fabric, raw) = (&self.examined.examination.fabric, &self.examined.raw);
        let document = |one: &crate::diagnose::cause::Contradiction| ContradictionDocument {
            target: one.about.target.0.clone(),
            subject: Text::new(&one.about.entity.to_string()),
            property: one.attribute.name(),
            opinions: one.opinions.iter().map(|exhibit| evidence(exhibit, fabric, raw)).collect(),
        };
        self.diagnosis.contradictions.iter().map(document).collect()
    }
}

fn suppression(by: &Suppression) -> SuppressionDocument<'_> {
    SuppressionDocument {
        check: &by.check,
        target: by.target.as_deref(),
        reason: &by.reason,
        expires: by.expires.map(|day| day.to_string()),
        place: format!("{}:{}", clean_line(&by.place), by.line),
    }
}

/// The document of schema `rdmascope.check/1`.
pub(super) fn document(outcome: &Outcome) -> impl Serialize + use<'_> {
    let document = |found: &Found| outcome.document_of(found);
    let targets = outcome.examined.targets.iter().map(|target| TargetDocument {
        name: &target.name,
        kind: target.kind,
        reachable: target.reachable,
        problem: target.problem.as_ref(),
    });
    let causes = outcome.diagnosis.causes.iter().map(|cause| CauseDocument {
        finding: document(&cause.found),
        symptoms: cause.symptoms.iter().map(document).collect(),
    });
    let suppressed = outcome.accepted.iter().map(|accepted| SuppressedDocument {
        finding: document(&accepted.found),
        suppression: suppression(&accepted.by),
    });
    Document {
        schema: "rdmascope.check/1",
        at: outcome.at,
        rdmascope: env!("CARGO_PKG_VERSION"),
        targets: targets.collect(),
        causes: causes.collect(),
        findings: outcome.diagnosis.findings().map(document).collect(),
        suppressed: suppressed.collect(),
        expired_suppressions: outcome.expired.iter().map(suppression).collect(),
        contradictions: outcome.contradictions(),
        qualification: qualification::document(outcome),
        summary: Summary {
            counts: outcome.counts(),
            suppressed: outcome.accepted.len(),
            causes: outcome.diagnosis.causes.len(),
            complete: !outcome.is_incomplete(),
            layers: outcome.layers(),
        },
    }
}

/// The same for people.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut page = Page::default();
    for target in outcome.examined.targets.iter().filter(|target| target.problem.is_some()) {
        let problem = target.problem.as_ref().map(ToString::to_string).unwrap_or_default();
        let heading = if target.reachable { "not read to its end" } else { "not reached" };
        page.say(0, &format!("{}: {heading}: {problem}", target.name));
    }
    if !outcome.diagnosis.causes.is_empty() {
        page.heading("Causes, the surest first");
    }
    for (number, cause) in (1_usize..).zip(&outcome.diagnosis.causes) {
        let found = outcome.document_of(&cause.found);
        page.gap();
        page.say(0, &format!("{number}. {} {}  {}", found.status.name(), confidence(found.confidence), found.title));
        page.say(3, &found.check);
        page.say(3, &found.cause);
        page.items(3, "for", &found.evidence);
        page.items(3, "against", &found.against);
        for symptom in &cause.symptoms {
            page.say(3, &format!("explains: {} {}", symptom.judged.status.name(), clean_line(&symptom.judged.title)));
        }
        if !found.decide.is_empty() {
            page.say(3, &format!("would settle it: {}", found.decide));
        }
        for (cure, remedy) in cause.found.judged.cures.iter().zip(&found.remedies) {
            page.remedy(3, cure.on.as_ref(), remedy);
        }
    }
    let contradictions = outcome.contradictions();
    if !contradictions.is_empty() {
        page.heading("Two probes disagree");
    }
    for one in contradictions {
        page.say(2, &format!("{} {}: {}", one.target, one.subject, one.property));
        page.items(4, "", &one.opinions);
    }
    accepted(&mut page, outcome);
    listed(&mut page, outcome, Status::Info, "Worth knowing");
    listed(&mut page, outcome, Status::Unknown, "Not known");
    let with_gpus = gpu_guests(outcome);
    if !with_gpus.is_empty() {
        page.gap();
        page.say(0, &format!("What limits the GPUs of {} is not among this: it takes a while of measuring, and stands in the console's panel 9", with_gpus.join(", ")));
    }
    qualification::text(&mut page, outcome);
    page.heading("Passed");
    let layers = outcome.layers();
    for layer in LAYERS {
        let Some(counts) = layers.get(layer) else { continue };
        let all = counts.fail + counts.warn + counts.info + counts.pass + counts.unknown;
        page.say(2, &format!("{layer:7} {} of {all}", counts.pass));
    }
    if layers.is_empty() {
        page.say(2, "nothing: no check applies to what was read");
    }
    page.gap();
    page.say(0, &summary(outcome));
    page.0
}

fn accepted(page: &mut Page, outcome: &Outcome) {
    if !outcome.accepted.is_empty() {
        page.heading("Accepted here");
    }
    for Accepted { found, by } in &outcome.accepted {
        page.say(2, &format!("{} {}  {}", found.judged.status.name(), found.check.id, clean_line(&found.judged.title)));
        let until = by.expires.map_or(String::new(), |day| format!(", until {day}"));
        page.say(4, &format!("{}{until} ({}:{})", by.reason, clean_line(&by.place), by.line));
    }
    for by in &outcome.expired {
        let over = by.expires.map_or(String::new(), |day| format!("since {day} "));
        let what =
            format!("{}:{}: what accepts {} is over {over}({})", clean_line(&by.place), by.line, by.check, by.reason);
        page.say(0, &what);
    }
}

fn listed(page: &mut Page, outcome: &Outcome, status: Status, heading: &str) {
    let all: Vec<&Found> = outcome.diagnosis.findings().filter(|found| found.judged.status == status).collect();
    if !all.is_empty() {
        page.heading(heading);
    }
    for found in all {
        page.say(2, &format!("{}  {}", found.check.id, clean_line(&found.judged.title)));
        if !found.judged.cause.is_empty() {
            page.say(4, &clean_line(&found.judged.cause));
        }
        if !found.judged.decide.is_empty() {
            page.say(4, &format!("would settle it: {}", clean_line(&found.judged.decide)));
        }
    }
}

fn summary(outcome: &Outcome) -> String {
    let counts = outcome.counts();
    let mut parts = vec![
        counted(outcome.diagnosis.causes.len(), "cause"),
        counted(counts.fail, "failure"),
        counted(counts.warn, "warning"),
        format!("{} passed", counts.pass),
        format!("{} not known", counts.unknown),
    ];
    if !outcome.accepted.is_empty() {
        parts.push(format!("{} accepted", outcome.accepted.len()));
    }
    let incomplete = if outcome.is_incomplete() { "; not everything could be read" } else { "" };
    format!("{}{incomplete}", parts.join(", "))
}

/// Guests with a GPU that NVIDIA's driver serves.
fn gpu_guests(outcome: &Outcome) -> Vec<&str> {
    let fabric = &outcome.examined.examination.fabric;
    let names = outcome.examined.targets.iter().map(|target| &target.name);
    names
        .filter(|name| fabric.entities(name).any(|entity| matches!(entity, Entity::Gpu(_))))
        .map(TargetId::as_str)
        .collect()
}

fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

pub(super) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Proved => "proved",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

/// The longest command that is told whole beside its evidence, in characters.
const LONGEST_COMMAND: usize = 72;

/// A command as it names where something was read. Some search a log for dozens of words: who needs them all finds them in the JSON
/// document and in the console.
fn shortened(command: &str) -> String {
    if command.chars().count() <= LONGEST_COMMAND {
        return command.to_owned();
    }
    let kept: String = command.chars().take(LONGEST_COMMAND).collect();
    format!("{} …", kept.trim_end())
}

/// One item as a line: `esx02, line 4 of esxcli ... at 2026-...: the words`.
pub(super) fn item(shown: &Evidence) -> String {
    let mut place = Vec::new();
    place.extend(shown.target.as_ref().map(ToString::to_string));
    place.extend(match (&shown.command, shown.line) {
        (Some(command), Some(line)) => Some(format!("`{}` line {line}", shortened(command))),
        (Some(command), None) => Some(format!("`{}`", shortened(command))),
        (None, Some(line)) => Some(format!("line {line}")),
        (None, None) => None,
    });
    place.extend(
        shown.at.as_ref().map(|at| at.split('.').next().unwrap_or_default().trim_end_matches('Z').to_owned() + "Z"),
    );
    // Columns of a table are many blanks, which say nothing here.
    let excerpt: Vec<&str> = shown.excerpt.split_whitespace().collect();
    format!("{}  ({})", excerpt.join(" "), place.join(", "))
}

/// Text as it grows, line by line.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    fn gap(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    pub(super) fn heading(&mut self, heading: &str) {
        self.gap();
        let _ = writeln!(self.0, "{heading}");
    }

    /// A line as it is, which is short enough.
    pub(super) fn line(&mut self, line: &str) {
        let _ = writeln!(self.0, "{}", line.trim_end());
    }

    /// A paragraph; its further lines stand two columns to the right.
    pub(super) fn say(&mut self, indent: usize, what: &str) {
        if what.is_empty() {
            return;
        }
        for (number, piece) in wrap(&clean_line(what), COLUMNS - indent - 2).iter().enumerate() {
            let more = if number > 0 { 2 } else { 0 };
            let _ = writeln!(self.0, "{}{}", " ".repeat(indent + more), piece.trim_end());
        }
    }

    fn items(&mut self, indent: usize, word: &str, items: &[Evidence]) {
        for shown in items {
            let word = if word.is_empty() { String::new() } else { format!("{word}: ") };
            self.say(indent, &format!("{word}{}", item(shown)));
        }
    }

    fn remedy(&mut self, indent: usize, on: Option<&TargetId>, remedy: &Remedy) {
        let on = on.map_or(String::new(), |target| format!(" on {target}"));
        self.say(indent, &format!("what helps{on}: {} (risk: {})", remedy.title, remedy.risk));
        remedy.commands.iter().for_each(|command| self.say(indent + 2, command));
        if !remedy.undo.is_empty() {
            self.say(indent + 2, &format!("back: {}", remedy.undo));
        }
        if !remedy.verify.is_empty() {
            self.say(indent + 2, &format!("verified by: {}", remedy.verify));
        }
    }
}
