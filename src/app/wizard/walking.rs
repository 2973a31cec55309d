//! The way from a symptom, step by step. Each step has read what it needs and nothing else, from the targets concerned; when
//! that is there, the checks run, and it goes on by itself. It stops where a proved cause explains the symptom, and it passes
//! by what is excluded; what was passed by can be looked at all the same.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::change::ChangeAsked;
use super::super::connection::Connection;
use super::super::diagnosis;
use super::super::effect::Effect;
use super::super::model::{Model, TargetKind};
use super::about::{self, About};
use crate::diagnose::cause::Cause;
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::wizard::{Standing, Step, Symptom, Walk, by_name, probes_of, walk};
use crate::fabric::{SourceId, TargetId, Text, Timestamp};
use crate::probe::{Probe, esxi, linux};

/// Reads for the wizard have numbers of their own, from this one on: changes never get so far.
pub const FIRST_READ: u64 = 1 << 32;

/// What was read within so many seconds is not read again for a step.
const FRESH_SECONDS: i64 = 15;

/// What was read for a step of the same walk is not read again for another one within so many seconds: a host takes its time.
const WALK_SECONDS: i64 = 180;

/// A read that is not answered within so many seconds is given up.
const PATIENCE_SECONDS: i64 = 60;

/// A read that is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Its number.
    pub number: u64,
    /// Of which target.
    pub target: TargetId,
    /// What is read.
    pub probes: Vec<SourceId>,
    /// Since when.
    pub since: Timestamp,
}

/// A step that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Looked {
    /// Which one, from 0.
    pub step: usize,
    /// Targets that could not be read for it, and why.
    pub unread: Vec<(TargetId, Text)>,
}

/// A walk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Walking {
    /// The name of the symptom.
    pub symptom: String,
    /// What it is seen on.
    pub about: About,
    /// When it began.
    pub begun: Timestamp,
    /// The step that is looked at, from 0; the number of steps once all were.
    pub at: usize,
    /// True if it stands still: the cause is proved, or there is no further step.
    pub stopped: bool,
    /// Steps that were looked at.
    pub looked: Vec<Looked>,
    /// What is being read for the present step.
    pub reading: Vec<Reading>,
    /// What could not be read for the present step.
    pub unread: Vec<(TargetId, Text)>,
    /// True if one step alone is looked at, on request.
    pub alone: bool,
}

impl Walking {
    /// A walk that has not begun.
    pub fn new(symptom: &Symptom, about: About, begun: Timestamp) -> Self {
        Self {
            symptom: symptom.name.to_owned(),
            about,
            begun,
            at: 0,
            stopped: false,
            looked: Vec::new(),
            reading: Vec::new(),
            unread: Vec::new(),
            alone: false,
        }
    }

    /// Its symptom.
    pub fn symptom(&self) -> Option<&'static Symptom> {
        by_name(&self.symptom)
    }

    /// What became of a step, if it was looked at.
    pub fn looked_at(&self, step: usize) -> Option<&Looked> {
        self.looked.iter().find(|looked| looked.step == step)
    }

    /// True while the step is being read.
    pub fn is_reading(&self, step: usize) -> bool {
        self.at == step && !self.reading.is_empty()
    }
}

/// Looks at what the checks said, from a symptom on.
pub fn see<T>(model: &Model, walking: &Walking, look: impl FnOnce(&Walk<'_>) -> T) -> Option<T> {
    let symptom = walking.symptom()?;
    let diagnosed = model.diagnosed();
    let concerned = about::targets(model, &walking.about);
    let is_reading = |target: &TargetId| walking.reading.iter().any(|reading| reading.target == *target);
    Some(look(&walk(symptom, &diagnosed.diagnosis, &concerned, &is_reading)))
}

/// Why a step cannot be what explains the symptom, whatever is found out about it.
pub fn excluded(model: &Model, walking: &Walking, step: &Step) -> Option<String> {
    let About::Pair(one, other) = &walking.about else { return None };
    let diagnosed = model.diagnosed();
    let of = |check: &str, status: Status| {
        diagnosed.found.iter().find(|found| {
            let judged = &found.judged;
            let names = |guest: &TargetId| judged.title.split([' ', ',']).any(|word| word == guest.as_str());
            found.check.id == check && judged.status == status && names(one) && names(other)
        })
    };
    let is_of_wire = step.checks.iter().all(|check| check.starts_with("host.") || check.starts_with("switch."));
    if is_of_wire && let Some(same) = of("vm.same-host", Status::Info) {
        return Some(format!("{}: the hypervisor copies in memory, nothing reaches the wire", same.judged.title));
    }
    None
}

/// The first cause that is proved and explains the symptom, among those of the steps that were looked at.
pub fn proof<'a>(walk: &Walk<'a>, walking: &Walking) -> Option<&'a Cause> {
    let seen: BTreeSet<&str> = walk
        .steps
        .iter()
        .enumerate()
        .filter(|(place, _)| walking.looked_at(*place).is_some())
        .flat_map(|(_, walked)| walked.step.checks)
        .copied()
        .collect();
    let is_seen = |cause: &Cause| {
        seen.contains(cause.found.check.id) || cause.symptoms.iter().any(|one| seen.contains(one.check.id))
    };
    walk.causes.iter().copied().find(|cause| {
        let judged = &cause.found.judged;
        // What nothing helps with is what it did to others: its own cause is still to be found.
        let is_end =
            judged.confidence == Confidence::Proved && judged.status == Status::Fail && !judged.cures.is_empty();
        is_end && is_seen(cause)
    })
}

/// What has to be read of each target.
type Wanted = Vec<(TargetId, Vec<SourceId>)>;

/// Targets that cannot be read, and why.
type Unread = Vec<(TargetId, Text)>;

/// What has to be read for a step: of each target that is concerned the probes that its checks look at and that were not
/// read just now. Targets that cannot be read are named with why.
fn wanted(model: &Model, walking: &Walking, step: &Step) -> (Wanted, Unread) {
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    let concerned = about::targets(model, &walking.about);
    let concerned = if walking.about == About::Site { model.order.iter().cloned().collect() } else { concerned };
    for target in concerned {
        let Some(known) = model.targets.get(&target) else { continue };
        let names = probes(model, &target, step);
        if names.is_empty() {
            continue;
        }
        match &known.connection {
            Connection::Connected { .. } => {
                let stale: Vec<SourceId> =
                    names.into_iter().filter(|name| !is_fresh(model, walking.begun, &target, name)).collect();
                if !stale.is_empty() {
                    all.push((target, stale));
                }
            }
            Connection::BackingOff { problem, .. } | Connection::Failed { problem } => {
                unread.push((target, Text::new(&problem.to_string())));
            }
            Connection::Waiting | Connection::Connecting { .. } | Connection::Asking => {
                unread.push((target, Text::new("it is not connected yet")));
            }
        }
    }
    (all, unread)
}

/// The probes of a target that the checks of a step look at.
pub fn probes(model: &Model, target: &TargetId, step: &Step) -> Vec<SourceId> {
    let Some(known) = model.targets.get(target) else { return Vec::new() };
    let there: &[Probe] = match known.kind {
        TargetKind::Linux | TargetKind::Local => linux::PROBES,
        TargetKind::Esxi => esxi::PROBES,
        TargetKind::Switch => super::super::condition::switch_probes(known),
        TargetKind::Unknown => return Vec::new(),
    };
    let names = probes_of(step.checks);
    // The systems of switches name the same thing alike; where one has it under another name, all of it is read.
    let what = |name: &str| name.split_once('.').map_or(String::new(), |(_, what)| what.to_owned());
    let is_switch = known.kind == TargetKind::Switch;
    let is_wanted = |probe: &&Probe| {
        names.iter().any(|name| {
            *name == probe.name || (is_switch && name.starts_with("eos.") && what(name) == what(probe.name))
        })
    };
    let mut found: Vec<SourceId> = there.iter().filter(is_wanted).map(|probe| SourceId::new(probe.name)).collect();
    let asks_switch = is_switch && names.iter().any(|name| name.starts_with("eos."));
    if asks_switch && found.is_empty() {
        found = there.iter().map(|probe| SourceId::new(probe.name)).collect();
    }
    found
}

/// True if a probe was read just now, or a while ago in this walk.
fn is_fresh(model: &Model, begun: Timestamp, target: &TargetId, probe: &SourceId) -> bool {
    let all = linux::PROBES.iter().chain(esxi::PROBES);
    let sources = all.chain(crate::probe::switch::probe(probe.as_str())).find(|one| one.name == probe.as_str());
    sources.is_some_and(|one| {
        one.sources.iter().all(|source| {
            let newest = model.raw.newest(target, &source.id());
            newest.is_some_and(|read| {
                let limit = if read.at >= begun { WALK_SECONDS } else { FRESH_SECONDS };
                model.now.duration_since(read.at).as_secs() < limit
            })
        })
    })
}

/// Begins a walk, or goes on with it, as far as nothing has to be read first.
pub fn go_on(model: &mut Model) -> Vec<Effect> {
    loop {
        let Some(walking) = &model.screen.wizard.walk else { return Vec::new() };
        if walking.stopped || !walking.reading.is_empty() {
            return Vec::new();
        }
        let Some(step) = walking.symptom().and_then(|symptom| symptom.steps.get(walking.at)) else {
            stop(model);
            return Vec::new();
        };
        if walking.looked_at(walking.at).is_none() && excluded(model, walking, step).is_none() {
            let (wanted, unread) = wanted(model, walking, step);
            if !wanted.is_empty() {
                return read(model, wanted, unread);
            }
            set_unread(model, unread);
        }
        seen(model);
    }
}

fn stop(model: &mut Model) {
    if let Some(walking) = &mut model.screen.wizard.walk {
        walking.stopped = true;
        walking.alone = false;
    }
}

fn set_unread(model: &mut Model, unread: Vec<(TargetId, Text)>) {
    if let Some(walking) = &mut model.screen.wizard.walk {
        walking.unread = unread;
    }
}

/// Asks for what a step needs.
fn read(model: &mut Model, wanted: Wanted, unread: Unread) -> Vec<Effect> {
    let (since, mut effects) = (model.now, Vec::new());
    let view = &mut model.screen.wizard;
    let Some(walking) = &mut view.walk else { return Vec::new() };
    walking.unread = unread;
    for (target, probes) in wanted {
        let number = FIRST_READ + view.reads;
        view.reads += 1;
        walking.reading.push(Reading { number, target: target.clone(), probes: probes.clone(), since });
        effects.push(Effect::Change(ChangeAsked::ReadAgain { number, target, probes, after: 0 }));
    }
    effects
}

/// The present step was looked at: the next one is.
fn seen(model: &mut Model) {
    if !model.is_just_checked() {
        diagnosis::judge_now(model);
    }
    let Some(walking) = &mut model.screen.wizard.walk else { return };
    let step = walking.at;
    let unread = std::mem::take(&mut walking.unread);
    walking.looked.retain(|looked| looked.step != step);
    walking.looked.push(Looked { step, unread });
    if walking.alone {
        stop(model);
        return;
    }
    walking.at += 1;
    let Some(walking) = model.screen.wizard.walk.clone() else { return };
    let is_proved = see(model, &walking, |walk| proof(walk, &walking).is_some()) == Some(true);
    let steps = walking.symptom().map_or(0, |symptom| symptom.steps.len());
    if is_proved || walking.at >= steps {
        stop(model);
    }
}

/// A read of the wizard is over.
pub fn was_read(model: &mut Model, number: u64, result: Result<(), Text>) -> Vec<Effect> {
    let Some(walking) = &mut model.screen.wizard.walk else { return Vec::new() };
    let Some(place) = walking.reading.iter().position(|reading| reading.number == number) else { return Vec::new() };
    let reading = walking.reading.remove(place);
    if let Err(why) = result {
        walking.unread.push((reading.target, why));
    }
    if walking.reading.is_empty() {
        seen(model);
        return go_on(model);
    }
    Vec::new()
}

/// Gives up reads that nobody answers, and those of targets that are gone.
pub fn give_up(model: &mut Model) -> Vec<Effect> {
    let Some(walking) = &model.screen.wizard.walk else { return Vec::new() };
    let over: Vec<(u64, &str)> = walking
        .reading
        .iter()
        .filter_map(|reading| {
            if !model.targets.contains_key(&reading.target) {
                return Some((reading.number, "it is no longer in the inventory"));
            }
            let waited = model.now.duration_since(reading.since).as_secs();
            (waited >= PATIENCE_SECONDS).then_some((reading.number, "no answer in time"))
        })
        .collect();
    let mut effects = Vec::new();
    for (number, why) in over {
        effects.extend(was_read(model, number, Err(Text::new(why))));
    }
    effects
}

/// Looks at one step now, whatever was passed by.
pub fn look_at(model: &mut Model, step: usize) -> Vec<Effect> {
    if let Some(walking) = &mut model.screen.wizard.walk
        && walking.reading.is_empty()
    {
        walking.at = step;
        walking.alone = true;
        walking.stopped = false;
        walking.looked.retain(|looked| looked.step != step);
    }
    let effects = go_on(model);
    if effects.is_empty()
        && let Some(walking) = &mut model.screen.wizard.walk
    {
        walking.stopped |= walking.reading.is_empty();
    }
    effects
}

/// How long the slowest read of a step took: reads go side by side, so their sum would be more than the time that passed.
/// `None` where nobody measured it.
pub fn took(model: &Model, walking: &Walking, step: &Step) -> Option<std::time::Duration> {
    let concerned = about::targets(model, &walking.about);
    let of = |target: &TargetId| {
        let all = linux::PROBES.iter().chain(esxi::PROBES);
        let all: Vec<&Probe> = all
            .chain(model.targets.get(target).map(super::super::condition::switch_probes).unwrap_or_default())
            .collect();
        let names = probes(model, target, step);
        let sources = all.into_iter().filter(|probe| names.iter().any(|name| name.as_str() == probe.name));
        sources
            .flat_map(|probe| probe.sources)
            .filter_map(|source| model.raw.newest(target, &source.id())?.duration)
            .max()
    };
    concerned.iter().filter_map(of).max()
}

/// How a step stands on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It was looked at.
    Seen(Standing),
    /// It is being read.
    Running,
    /// It comes later.
    Waits,
    /// The cause is proved without it.
    NotNeeded,
    /// It cannot be the cause.
    Excluded,
}

impl StepState {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Seen(standing) => standing.words(),
            Self::Running => "running",
            Self::Waits => "waits",
            Self::NotNeeded => "not needed",
            Self::Excluded => "excluded",
        }
    }
}
