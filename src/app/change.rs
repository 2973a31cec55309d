//! A change of a target from the console: one remedy, asked for with its exact commands, applied only if the state that it
//! was made for is still there, verified by running the check again, and taken back on request. There is never more than
//! one under way.
//!
//! Before a command runs the state is read again and compared here; the outside only reads, writes its audit log, and runs
//! what it is told.

pub mod script;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::verdict::{Ailing, Settings, ailing};
use super::condition;
use super::connection::Connection;
use super::diagnosis;
use super::effect::Effect;
use super::events::Event;
use super::message::Severity;
use super::model::Model;
use super::wizard::{self, FIRST_READ};
use crate::diagnose::cause::Cause;
use crate::diagnose::join::Basis;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::attribute::Class;
use crate::fabric::{Entity, EntityId, Outcome, SourceId, State, TargetId, Text, Timestamp, Value};
use crate::probe::linux::stream;

/// How long a service that starts anew is given before it is looked at again, in seconds, and how often.
const SERVICE_TAKES: u64 = 10;
const MOST_LOOKS: u32 = 6;

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
    /// Read these probes of a target.
    ReadAgain {
        /// Number of the change.
        number: u64,
        /// Where.
        target: TargetId,
        /// Names of the probes; all that are known where none is named.
        probes: Vec<SourceId>,
        /// Seconds to wait before it: a service that starts anew takes its time.
        after: u64,
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
    /// All that was set on the target when the remedy began: what the way back has to restore.
    #[serde(default)]
    before: Settings,
    /// True if the target was read to its end when it began: what was not there then was not there.
    #[serde(default)]
    was_whole: bool,
    /// What is on the way of the matter: a check of one of these says whether it is over.
    #[serde(default)]
    reach: BTreeSet<EntityId>,
    /// What was said to be in trouble on the target before.
    #[serde(default)]
    ailing: Ailing,
    /// How often it was looked whether it helped.
    #[serde(default)]
    looks: u32,
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

    /// Program and arguments of each command, if it can be run from here: what a person does may only come after it.
    fn commands(&self) -> Option<Vec<Vec<String>>> {
        let (mut commands, mut by_hand) = (Vec::new(), false);
        for step in self.steps() {
            match step {
                Step::Run(_) if by_hand => return None,
                Step::Run(words) => commands.push(words.clone()),
                Step::Configure(_) => return None,
                Step::ByHand(_) => by_hand = true,
            }
        }
        Some(commands).filter(|commands| !commands.is_empty())
    }

    /// What is left for a person once the commands ran.
    fn left(&self) -> impl Iterator<Item = &str> {
        self.steps().iter().filter_map(|step| match step {
            Step::ByHand(what) => Some(what.as_str()),
            Step::Run(_) | Step::Configure(_) => None,
        })
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
        reach: judged.reaches.iter().chain([&judged.subject]).cloned().collect(),
        cures: judged.cures.clone(),
        chosen: 0,
        undo: false,
        stage: Stage::Asking,
        ran: Vec::new(),
        expected: Vec::new(),
        probes: BTreeSet::new(),
        before: Settings::new(),
        was_whole: false,
        ailing: Ailing::new(),
        looks: 0,
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

/// Something was read. A matter that ticks alone showed when it was opened may have been read by a probe now, and only what
/// a probe reads can be read again before anything is done.
pub(super) fn read_more(model: &mut Model) {
    let waits = |change: &Change| change.stage == Stage::Asking && change.probes.is_empty();
    if model.change.as_ref().is_some_and(waits) {
        expect(model);
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
        let is_typed = change.steps().iter().any(|step| matches!(step, Step::Configure(_)));
        return Some(if is_typed {
            "a switch is never changed from here; copy its lines (y) or write them to a file (s)"
        } else {
            "this is done by hand; copy it (y) or write it as a script (s)"
        });
    }
    // What is known by a pasted answer cannot be reached from here.
    if change.cure().and_then(|cure| cure.on.as_ref()).is_some_and(|on| !model.targets.contains_key(on)) {
        return Some("this switch is not in the inventory; copy it (y) or write it as a script (s)");
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
    if !matches!(model.targets.get(&target).map(|target| &target.connection), Some(Connection::Connected { .. })) {
        model.screen.notice = Some((format!("nothing was done: {target} is not connected"), model.now));
        return Vec::new();
    }
    change.stage = Stage::ReadingAgain;
    change.ran.clear();
    let probes = change.probes.iter().cloned().collect();
    vec![Effect::Change(ChangeAsked::ReadAgain { number: change.number, target, probes, after: 0 })]
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
        return Err("there is no way back of this one; the remedy says why");
    }
    model.changes += 1;
    change.number = model.changes;
    change.undo = true;
    change.looks = 0;
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
    if let (FIRST_READ.., ChangeNews::ReadAgain(read)) = (number, &news) {
        return wizard::walking::was_read(model, number, read.clone());
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
            let failed = change.failed(&ran);
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
    if !change.undo {
        let (before, ailing) = (settings(model, &target), ailing(&model.diagnosed(), &target));
        let was_whole = condition::first_read(model, &target).is_none()
            && condition::first_read_of_guest(model, &target).is_none()
            && model.targets.get(&target).is_some_and(|known| known.late.is_empty());
        if let Some(change) = &mut model.change {
            (change.before, change.ailing, change.was_whole) = (before, ailing, was_whole);
        }
    }
    let Some(change) = &mut model.change else { return Vec::new() };
    let Some(cure) = change.cure() else { return Vec::new() };
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

/// All that is set on a target.
fn settings(model: &Model, target: &TargetId) -> Settings {
    let of = |entity: &Entity| {
        let id = EntityId::new(target, entity.clone());
        let readings = model.fabric.readings(&id).into_iter();
        let set = readings.filter(|(attribute, _)| attribute.class() == Class::Setting);
        let set: BTreeMap<_, _> = set.map(|(attribute, reading)| (attribute, reading.state.clone())).collect();
        (!set.is_empty()).then_some((id, set))
    };
    model.fabric.entities(target).filter_map(of).collect()
}

/// Everything of the target is read: what a check needs to pass may be a thing that was not there before.
fn verify(model: &mut Model) -> Vec<Effect> {
    let Some(change) = &mut model.change else { return Vec::new() };
    let after = if change.looks == 0 { 0 } else { SERVICE_TAKES };
    change.stage = Stage::Verifying;
    let Some(target) = change.cure().and_then(|cure| cure.on.clone()) else { return Vec::new() };
    vec![Effect::Change(ChangeAsked::ReadAgain { number: change.number, target, probes: Vec::new(), after })]
}

/// Runs the checks again and says how it came out. A change that was taken back is verified by all settings being as they
/// were.
fn verified(model: &mut Model) -> Vec<Effect> {
    diagnosis::judge_now(model);
    let Some(change) = &model.change else { return Vec::new() };
    let (verdict, good) = if change.undo { verdict::restored(model, change) } else { verdict::helped(model, change) };
    let may_come = !change.undo && change.cure().is_some_and(|cure| cure.risk == Risk::RestartsService);
    if !good && may_come && change.looks < MOST_LOOKS {
        if let Some(change) = &mut model.change {
            change.looks += 1;
        }
        return verify(model);
    }
    over(model, &verdict, good)
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
