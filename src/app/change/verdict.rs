//! How a change came out: what failed of it, whether the checks pass now, and whether the way back restored what was set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::super::diagnosis::Diagnosed;
use super::super::format;
use super::super::model::Model;
use super::{Change, Ran, settings};
use crate::diagnose::cause::Found;
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::attribute::Class;
use crate::fabric::{Attribute, EntityId, Outcome, State, TargetId, Value};

/// Ids of checks with the things of which they said no good.
pub(super) type Ailing = BTreeSet<(String, EntityId)>;

/// What is set on a target.
pub(super) type Settings = BTreeMap<EntityId, BTreeMap<Attribute, State<Value>>>;

/// What waits for a new start of its host says so under this id.
const PENDING: &str = "host.reboot-pending";

/// What is in trouble, or cannot be told, on a target.
pub(super) fn ailing(diagnosed: &Diagnosed, target: &TargetId) -> Ailing {
    let here = diagnosed.found.iter().filter(|found| found.judged.subject.target == *target && !is_fine(found));
    here.map(|found| (found.check.id.to_owned(), found.judged.subject.clone())).collect()
}

fn is_fine(found: &Found) -> bool {
    matches!(found.judged.status, Status::Pass | Status::Info)
}

impl Change {
    /// What failed of the commands, what was done before it and what was not begun; `None` if all went well.
    pub(super) fn failed(&self, ran: &[Ran]) -> Option<String> {
        let place = ran.iter().position(|one| !one.is_well())?;
        let one = ran.get(place)?;
        let how = match one.outcome {
            Outcome::Exit(status) => format!("ended with status {status}"),
            Outcome::TimedOut => "did not end in time; whether it took effect is not known".to_owned(),
            Outcome::Cut => "was cut off; whether it took effect is not known".to_owned(),
        };
        let list = |commands: Vec<String>| {
            if commands.is_empty() {
                return "nothing".to_owned();
            }
            commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
        };
        let done = list(ran.iter().take(place).map(|one| one.command.to_string()).collect());
        let steps = self.steps().iter().filter(|step| matches!(step, super::Step::Run(_)));
        let left = list(steps.skip(place + 1).map(super::Step::shown).collect());
        let said = if one.said.is_empty() { String::new() } else { format!(": {}", one.said) };
        Some(format!("`{}` {how}{said}; done before it: {done}; not begun: {left}", one.command))
    }
}

/// Whether the checks pass that show that a remedy helped.
pub(super) fn helped(model: &Model, change: &Change) -> (String, bool) {
    let Some(cure) = change.cure() else { return (String::new(), false) };
    let diagnosed = model.diagnosed();
    let is_own = |found: &Found| found.check.id == change.check && found.judged.subject == change.subject;
    let is_asked = |found: &Found| cure.verify.iter().any(|id| id == found.check.id);
    // Another thing of the same check counts if it is on the way of the matter, or if it was fine before.
    let is_concerned = |found: &Found| {
        let judged = &found.judged;
        let is_here = [cure.on.as_ref(), Some(&change.subject.target)].contains(&Some(&judged.subject.target));
        let is_new = is_here && !change.ailing.contains(&(found.check.id.to_owned(), judged.subject.clone()));
        let is_on_its_way = judged.reaches.iter().chain([&judged.subject]).any(|id| change.reach.contains(id));
        is_new || (is_on_its_way && judged.status != Status::Unknown)
    };
    let starts_anew = match cure.risk {
        Risk::RebootsHost => Some("the host"),
        Risk::RebootsGuest => Some("the guest"),
        Risk::None | Risk::DisruptsRdma | Risk::RestartsService => None,
    };
    let mut waits = String::new();
    for found in &diagnosed.found {
        let (id, title) = (found.check.id, &found.judged.title);
        if is_fine(found) || !(is_own(found) || (is_asked(found) && is_concerned(found))) {
            continue;
        }
        if found.judged.status == Status::Unknown {
            return (format!("applied; {id} cannot tell now: {title}"), false);
        }
        // What is set and not in force yet is what the remedy was to bring about.
        if let Some(what) = starts_anew
            && is_set(model, change)
        {
            if waits.is_empty() || is_own(found) {
                waits = format!("applied, and waits for {what} to start anew; until then {id} says: {title}");
            }
            continue;
        }
        return (format!("applied, and {id} still says: {title}"), false);
    }
    let mut verdict = match starts_anew {
        _ if !waits.is_empty() => waits,
        Some(what) if !took_effect(model, change) => {
            format!("applied and verified: {} passes; in force once {what} started anew", change.check)
        }
        _ => format!("applied and verified: {} passes", change.check),
    };
    let pending = |found: &&Found| {
        found.check.id == PENDING && !is_fine(found) && Some(&found.judged.subject.target) == cure.on.as_ref()
    };
    if let Some(found) = diagnosed.found.iter().find(pending).filter(|_| !verdict.contains(PENDING)) {
        let _ = write!(verdict, "; {PENDING} says: {}", found.judged.title);
    }
    for what in change.left() {
        let _ = write!(verdict, "; left to do by hand: {what}");
    }
    (verdict, true)
}

/// What of that which the remedy was made for reads otherwise now.
fn moved<'a>(model: &'a Model, change: &'a Change) -> impl Iterator<Item = Attribute> + 'a {
    let is_other = |((id, attribute), before): &&((EntityId, Attribute), Option<State<Value>>)| {
        model.fabric.reading(id, *attribute).map(|reading| &reading.state) != before.as_ref()
    };
    change.expected.iter().filter(is_other).map(|((_, attribute), _)| *attribute)
}

/// True if something of it is set otherwise, in force or not.
fn is_set(model: &Model, change: &Change) -> bool {
    moved(model, change).next().is_some()
}

/// True if something of it is otherwise than it was, and not only set so.
fn took_effect(model: &Model, change: &Change) -> bool {
    moved(model, change).any(|attribute| attribute.class() != Class::Setting)
}

/// Whether all that is set on the target is as it was before the remedy.
pub(super) fn restored(model: &Model, change: &Change) -> (String, bool) {
    let Some(target) = change.cure().and_then(|cure| cure.on.as_ref()) else { return (String::new(), false) };
    let now = settings(model, target);
    let all = |of: &Settings| {
        let each = of.iter().flat_map(|(id, set)| set.keys().map(move |attribute| (id.clone(), *attribute)));
        each.collect::<BTreeSet<_>>()
    };
    let keys: BTreeSet<(EntityId, Attribute)> = all(&change.before).union(&all(&now)).cloned().collect();
    let differs: Vec<String> = keys
        .iter()
        .filter_map(|(id, attribute)| {
            let (before, now) = (change.before.get(id), now.get(id));
            let of = |set: Option<&BTreeMap<Attribute, State<Value>>>| set.and_then(|set| set.get(attribute)).cloned();
            let (before, now) = (of(before), of(now));
            let word = |state: &Option<State<Value>>| {
                state.as_ref().map_or("not there".to_owned(), |state| format::state(*attribute, state))
            };
            // Of what was not read then, or is not read now, nobody can say whether it is as it was.
            let is_read = |state: &Option<State<Value>>| match state {
                Some(State::Known(_) | State::Empty) => true,
                Some(_) => false,
                None => change.was_whole,
            };
            let differs = is_read(&before) && is_read(&now) && before != now;
            differs.then(|| format!("{id} {} was {} and is {}", attribute.label(), word(&before), word(&now)))
        })
        .collect();
    match differs.as_slice() {
        [] => (format!("taken back: all {} settings of {target} are as before", keys.len()), true),
        [one] => (format!("taken back, and one setting is not as before: {one}"), false),
        [first, rest @ ..] => (
            format!("taken back, and {} settings are not as before: {first}, and {} more", differs.len(), rest.len()),
            false,
        ),
    }
}
