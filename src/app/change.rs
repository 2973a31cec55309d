//! A change of a target from the console: one remedy, asked for with its exact commands, applied only if the state that it
//! was made for is still there, verified by running the check again, and taken back on request. There is never more than
//! one under way.
//!
//! Before a command runs the state is read again and compared here; the outside only reads, writes its audit log, and runs
//! what it is told.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::diagnosis::Diagnosed;
use super::effect::Effect;
use super::events::Event;
use super::message::Severity;
use super::model::Model;
use crate::diagnose::cause::Cause;
use crate::diagnose::finding::Status;
use crate::diagnose::join::Basis;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{EntityId, Outcome, SourceId, State, TargetId, Text, Timestamp, Value};
use crate::probe::linux::stream;

/// What came of one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The command as it was run.
    pub command: Text,
    /// How it ended.
    pub outcome: Outcome,
    /// The first lines of what it printed, standard error first.
    pub said: Text,
}

impl Ran {
    /// True if it ended well.
    pub fn is_well(&self) -> bool {
        self.outcome == Outcome::Exit(0)
    }
}

/// What the outside says of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeNews {
    /// The state was read again; the reports came before this. Why not, if it could not be read.
    ReadAgain(Result<(), Text>),
    /// The commands ran, as far as they did: the first that fails is the last.
    Ran(Vec<Ran>),
    /// Nothing ran; why.
    Refused(Text),
    /// A script was written there, or why not.
    Exported(Result<Text, Text>),
}

/// What is asked of the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeAsked {
    /// Read these probes of a target now.
    ReadAgain {
        /// Number of the change.
        number: u64,
        /// Where.
        target: TargetId,
        /// Names of the probes.
        probes: Vec<SourceId>,
    },
    /// Note it in the audit log, then run these commands in order, until one fails.
    Run {
        /// Number of the change.
        number: u64,
        /// Where.
        target: TargetId,
        /// What is done, for the audit log.
        title: String,
        /// Id of the check behind it, for the audit log.
        check: String,
        /// True if a change is taken back.
        undo: bool,
        /// Program and arguments of each command.
        commands: Vec<Vec<String>>,
    },
    /// Note in the audit log how it was verified.
    Note {
        /// Number of the change.
        number: u64,
        /// Where.
        target: TargetId,
        /// How it came out.
        verdict: String,
    },
    /// Write a script with these lines into the working directory.
    Export {
        /// Name of the file.
        name: String,
        /// What is in it.
        text: String,
    },
}

/// How far a change is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It is shown; nobody has said yes.
    Asking,
    /// The state is read again.
    ReadingAgain,
    /// Its commands run.
    Applying,
    /// They ran; the state is read once more.
    Verifying,
    /// It is over: in words, and whether all is well.
    Over {
        /// How it came out.
        verdict: String,
        /// True if the check passes now.
        good: bool,
    },
}

impl Stage {
    /// True while something is under way that must not be disturbed.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::ReadingAgain | Self::Applying | Self::Verifying)
    }
}

/// A change, from the question to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Its number, from 1.
    pub number: u64,
    /// The check that found what it is against.
    pub check: String,
    /// What the check found it on.
    pub subject: EntityId,
    /// What the matter is.
    pub matter: String,
    /// All that helps against it.
    pub cures: Vec<Cure>,
    /// Which of them is shown.
    pub chosen: usize,
    /// True if it is taken back.
    pub undo: bool,
    /// How far it is.
    pub stage: Stage,
    /// What came of the commands.
    pub ran: Vec<Ran>,
    /// The state that it is made for, as it was when it was shown.
    expected: Vec<(Basis, Option<State<Value>>)>,
    /// What must be read again to see that.
    probes: BTreeSet<SourceId>,
}

impl Change {
    /// The remedy that is shown.
    pub fn cure(&self) -> Option<&Cure> {
        self.cures.get(self.chosen)
    }

    /// What is run, or done by hand: the remedy, or the way back.
    pub fn steps(&self) -> &[Step] {
        match self.cure() {
            Some(cure) if self.undo => &cure.undo,
            Some(cure) => &cure.steps,
            None => &[],
        }
    }

    /// Program and arguments of each command, if all of it can be run from here.
    fn commands(&self) -> Option<Vec<Vec<String>>> {
        let words = |step: &Step| match step {
            Step::Run(words) => Some(words.clone()),
            Step::Configure(_) | Step::ByHand(_) => None,
        };
        let all: Option<Vec<Vec<String>>> = self.steps().iter().map(words).collect();
        all.filter(|commands| !commands.is_empty())
    }

    /// As a script for a person to run elsewhere.
    pub fn script(&self) -> Option<String> {
        let cure = self.cure()?;
        let mut lines = vec![
            "#!/bin/sh".to_owned(),
            format!("# {}", self.matter),
            format!("# {}", cure.title),
            format!("# on {}; risk: {}", cure.on.as_ref().map_or("no target", TargetId::as_str), cure.risk.words()),
        ];
        if !cure.note.is_empty() {
            lines.push(format!("# {}", cure.note));
        }
        let way_back = if self.undo { &cure.steps } else { &cure.undo };
        lines.extend(way_back.iter().map(|step| format!("# way back: {}", step.shown())));
        lines.push("set -e".to_owned());
        lines.extend(self.steps().iter().map(|step| match step {
            Step::Run(_) => step.shown(),
            Step::Configure(_) | Step::ByHand(_) => format!("# {}", step.shown()),
        }));
        Some(lines.join("\n") + "\n")
    }
}

/// Opens the question for what helps against a cause; a sentence why not, if there is nothing.
pub fn open(model: &mut Model, cause: &Cause) -> Result<(), &'static str> {
    if model.change.as_ref().is_some_and(|change| change.stage.is_busy()) {
        return Err("a change is under way; the next one when it is over");
    }
    let judged = &cause.found.judged;
    if judged.cures.is_empty() {
        return Err("no remedy is known for this; what would settle it stands below it");
    }
    model.changes += 1;
    model.change = Some(Change {
        number: model.changes,
        check: cause.found.check.id.to_owned(),
        subject: judged.subject.clone(),
        matter: judged.title.clone(),
        cures: judged.cures.clone(),
        chosen: 0,
        undo: false,
        stage: Stage::Asking,
        ran: Vec::new(),
        expected: Vec::new(),
        probes: BTreeSet::new(),
    });
    expect(model);
    Ok(())
}

/// Notes the state that what is shown is made for, and what reads it.
fn expect(model: &mut Model) {
    let Some(change) = &model.change else { return };
    let Some(cure) = change.cure() else { return };
    let mut about: BTreeSet<Basis> = cure.rests_on.iter().cloned().collect();
    // What shows the matter is read again to see whether it is over.
    let diagnosed = model.diagnosed();
    let found =
        diagnosed.found.iter().find(|found| found.check.id == change.check && found.judged.subject == change.subject);
    let evidence = found.into_iter().flat_map(|found| &found.judged.evidence);
    let shown: BTreeSet<Basis> =
        evidence.filter_map(|exhibit| Some((exhibit.about.clone(), exhibit.attribute?))).collect();
    let here = |basis: &&Basis| cure.on.as_ref() == Some(&basis.0.target);
    let probes = about
        .iter()
        .chain(&shown)
        .filter(here)
        .flat_map(|(id, attribute)| model.fabric.opinions(id, *attribute))
        .map(|(probe, _)| probe.clone())
        // What comes with each tick is read by no probe that could be asked; another one reads the same.
        .filter(|probe| probe.as_str() != stream::SOURCE)
        .collect();
    if about.is_empty() {
        about = shown;
    }
    let expected = about.into_iter().map(|basis| {
        let state = model.fabric.reading(&basis.0, basis.1).map(|reading| reading.state.clone());
        (basis, state)
    });
    let expected = expected.collect();
    if let Some(change) = &mut model.change {
        change.expected = expected;
        change.probes = probes;
    }
}

/// Shows the next remedy, as long as nothing runs.
pub fn next_cure(model: &mut Model) {
    if let Some(change) = model.change.as_mut().filter(|change| change.stage == Stage::Asking && !change.undo) {
        change.chosen = (change.chosen + 1) % change.cures.len().max(1);
    }
    expect(model);
}

/// Why what is shown cannot be applied from here, if that is so.
pub fn obstacle(model: &Model) -> Option<&'static str> {
    let change = model.change.as_ref()?;
    if change.stage.is_busy() {
        return Some("it is under way");
    }
    if change.stage != Stage::Asking {
        return Some("it is over");
    }
    if change.cure().is_none_or(|cure| cure.on.is_none()) || change.commands().is_none() {
        return Some("this is done by hand; copy it (y) or write it as a script (s)");
    }
    if change.expected.is_empty() || change.probes.is_empty() {
        return Some(
            "nothing that was read says what state this was made for; copy it (y) or write it as a script (s)",
        );
    }
    if !model.options.allow_changes {
        return Some(
            "read-only: copy it (y) or write it as a script (s); --allow-changes lets it be applied from here",
        );
    }
    None
}

/// What was typed to confirm; begins only if it is the name of the target.
pub fn confirm(model: &mut Model, typed: &str) -> Vec<Effect> {
    if let Some(why) = obstacle(model) {
        model.screen.notice = Some((why.to_owned(), model.now));
        return Vec::new();
    }
    let Some(change) = &mut model.change else { return Vec::new() };
    let Some(target) = change.cure().and_then(|cure| cure.on.clone()) else { return Vec::new() };
    if typed.trim() != target.as_str() {
        let said = format!("nothing was done: what was typed is not {target}");
        model.screen.notice = Some((said, model.now));
        return Vec::new();
    }
    change.stage = Stage::ReadingAgain;
    change.ran.clear();
    vec![read_again(change, target)]
}

fn read_again(change: &Change, target: TargetId) -> Effect {
    let probes = change.probes.iter().cloned().collect();
    Effect::Change(ChangeAsked::ReadAgain { number: change.number, target, probes })
}

/// Opens the question for the way back of a change that is over.
pub fn open_undo(model: &mut Model) -> Result<(), &'static str> {
    let Some(change) = &mut model.change else { return Err("nothing was changed yet") };
    if change.stage.is_busy() {
        return Err("a change is under way; the way back when it is over");
    }
    if change.undo || change.ran.is_empty() {
        return Err("nothing was changed that could be taken back");
    }
    if change.cure().is_none_or(|cure| cure.undo.is_empty()) {
        return Err("there is no way back of this one");
    }
    model.changes += 1;
    change.number = model.changes;
    change.undo = true;
    change.stage = Stage::Asking;
    change.ran.clear();
    expect(model);
    Ok(())
}

/// Takes in what the outside says of a change.
pub fn news(model: &mut Model, number: u64, at: Timestamp, news: ChangeNews) -> Vec<Effect> {
    model.now = model.now.max(at);
    if let ChangeNews::Exported(written) = &news {
        let said = match written {
            Ok(path) => format!("written: {path}"),
            Err(why) => format!("the script was not written: {why}"),
        };
        model.screen.notice = Some((said, model.now));
        return Vec::new();
    }
    let Some(change) = model.change.as_ref().filter(|change| change.number == number) else { return Vec::new() };
    match (&change.stage, news) {
        (Stage::ReadingAgain, ChangeNews::ReadAgain(read)) => {
            match read.err().map(|why| why.to_string()).or_else(|| moved(model)) {
                Some(why) => over(model, &format!("nothing was done: {why}"), false),
                None => begin(model),
            }
        }
        (Stage::Applying, ChangeNews::Ran(ran)) => {
            let failed = ran.iter().find(|one| !one.is_well()).map(|one| {
                let how = match one.outcome {
                    Outcome::Exit(status) => format!("ended with status {status}"),
                    Outcome::TimedOut => "did not end in time; whether it took effect is not known".to_owned(),
                    Outcome::Cut => "was cut off; whether it took effect is not known".to_owned(),
                };
                format!("`{}` {how}: {}", one.command, one.said)
            });
            if let Some(change) = &mut model.change {
                change.ran = ran;
            }
            match failed {
                Some(why) => over(model, &why, false),
                None => verify(model),
            }
        }
        (Stage::Applying, ChangeNews::Refused(why)) => over(model, &format!("nothing was done: {why}"), false),
        (Stage::Verifying, ChangeNews::ReadAgain(read)) => match read {
            Ok(()) => verified(model),
            Err(why) => over(model, &format!("it was applied, and could not be verified: {why}"), false),
        },
        _ => Vec::new(),
    }
}

/// What is another than when the question was shown, in words.
fn moved(model: &Model) -> Option<String> {
    let change = model.change.as_ref()?;
    change.expected.iter().find_map(|((id, attribute), before)| {
        let now = model.fabric.reading(id, *attribute).map(|reading| &reading.state);
        if now == before.as_ref() {
            return None;
        }
        let word = |state: Option<&State<Value>>| {
            state.map_or("gone".to_owned(), |state| super::format::state(*attribute, state))
        };
        Some(format!(
            "{id} {} was {} when this was shown and is {} now; look again",
            attribute.label(),
            word(before.as_ref()),
            word(now)
        ))
    })
}

fn begin(model: &mut Model) -> Vec<Effect> {
    let Some(change) = &mut model.change else { return Vec::new() };
    let (Some(cure), Some(commands)) = (change.cure(), change.commands()) else { return Vec::new() };
    let Some(target) = cure.on.clone() else { return Vec::new() };
    let title = if change.undo { format!("take back: {}", cure.title) } else { cure.title.clone() };
    let asked = ChangeAsked::Run {
        number: change.number,
        target: target.clone(),
        title: title.clone(),
        check: change.check.clone(),
        undo: change.undo,
        commands,
    };
    change.stage = Stage::Applying;
    tell(model, &target, Severity::Warning, format!("change: {title}"));
    vec![Effect::Change(asked)]
}

fn verify(model: &mut Model) -> Vec<Effect> {
    let Some(change) = &mut model.change else { return Vec::new() };
    change.stage = Stage::Verifying;
    let Some(target) = change.cure().and_then(|cure| cure.on.clone()) else { return Vec::new() };
    vec![read_again(change, target)]
}

/// Runs the checks again and says how it came out. A change that was taken back is verified by the matter being there
/// again, as it was.
fn verified(model: &mut Model) -> Vec<Effect> {
    model.check();
    let diagnosed = model.diagnosed();
    let Some(change) = &model.change else { return Vec::new() };
    let (verdict, good) = judge(change, &diagnosed);
    over(model, &verdict, good)
}

fn judge(change: &Change, diagnosed: &Diagnosed) -> (String, bool) {
    let of_subject =
        |id: &str| diagnosed.found.iter().find(|found| found.check.id == id && found.judged.subject == change.subject);
    if change.undo {
        return ("taken back: the state before is restored as far as the commands ended well".to_owned(), true);
    }
    let checks: Vec<String> = match change.cure() {
        Some(cure) if !cure.verify.is_empty() => cure.verify.iter().map(ToString::to_string).collect(),
        _ => vec![change.check.clone()],
    };
    for id in checks {
        match of_subject(&id).map(|found| (found.judged.status, &found.judged.title)) {
            Some((Status::Fail | Status::Warn, title)) => {
                return (format!("applied, and {id} still says: {title}"), false);
            }
            Some((Status::Unknown, title)) => {
                return (format!("applied; {id} cannot tell now: {title}"), false);
            }
            Some((Status::Pass | Status::Info, _)) | None => {}
        }
    }
    (format!("applied and verified: {} passes", change.check), true)
}

fn over(model: &mut Model, verdict: &str, good: bool) -> Vec<Effect> {
    let Some(change) = &mut model.change else { return Vec::new() };
    change.stage = Stage::Over { verdict: verdict.to_owned(), good };
    let number = change.number;
    let Some(target) = change.cure().and_then(|cure| cure.on.clone()) else { return Vec::new() };
    let severity = if good { Severity::Info } else { Severity::Error };
    tell(model, &target, severity, format!("change: {verdict}"));
    vec![Effect::Change(ChangeAsked::Note { number, target, verdict: verdict.to_owned() })]
}

fn tell(model: &mut Model, target: &TargetId, severity: Severity, text: String) {
    let (at, target) = (model.now, Some(target.clone()));
    model.events.push(Event { number: 0, at, target, severity, text, entity: None, evidence: None, line: 0 });
}
