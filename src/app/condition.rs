//! How a target or a thing on it stands, in one word: the word and its gravity are what the tree, the header and the
//! panels show, so that colour is never the only carrier.

use super::connection::Connection;
use super::host_binding::unused;
use super::message::Severity;
use super::model::{Model, Target, TargetKind};
use crate::fabric::{
    Attribute, Entity, EntityId, PortState, QueuePairState, SourceId, State, TargetId, Timestamp, Value,
};
use crate::probe::switch::SwitchSystem;
use crate::probe::{Probe, esxi, linux};

/// How grave a condition is; the order is from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gravity {
    /// As it should be.
    Good,
    /// Nothing to judge.
    Neutral,
    /// Not known (yet), or not observable.
    Unknown,
    /// Too old to be trusted.
    Stale,
    /// Worth a look.
    Warning,
    /// Broken.
    Bad,
}

/// A word and its gravity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What is shown.
    pub word: String,
    /// How grave it is.
    pub gravity: Gravity,
}

impl Condition {
    /// A condition of this word.
    pub fn new(word: impl Into<String>, gravity: Gravity) -> Self {
        Self { word: word.into(), gravity }
    }
}

/// How long a target may be silent before its values are stale: three periods.
pub const STALE_PERIODS: u32 = 3;

/// How long a connected target may take to its first answer, in seconds: a slow one needs some to begin.
const FIRST_ANSWER_SECONDS: i64 = 15;

/// Seconds since the last tick of a target, if that is longer than three periods; before the first tick the seconds since
/// it was connected, if nothing at all came in time. `None` while it is fresh.
pub fn stale_for(target: &Target, period: std::time::Duration, now: Timestamp) -> Option<u64> {
    let (since, is_late) = match (target.last_sample, &target.connection) {
        (Some(last), _) => (last, is_longer(last, period, now)),
        (None, Connection::Connected { since, .. }) if target.last_report.is_none() => {
            (*since, now.duration_since(*since) > jiff::SignedDuration::from_secs(FIRST_ANSWER_SECONDS))
        }
        _ => return None,
    };
    is_late.then(|| u64::try_from(now.duration_since(since).as_secs()).unwrap_or(u64::MAX))
}

/// True if more than three periods have passed since a time.
pub fn is_longer(since: Timestamp, period: std::time::Duration, now: Timestamp) -> bool {
    jiff::SignedDuration::try_from(period * STALE_PERIODS).is_ok_and(|limit| now.duration_since(since) > limit)
}

/// How a target stands.
pub fn of_target(model: &Model, id: &TargetId) -> Condition {
    let Some(target) = model.targets.get(id) else { return Condition::new("unknown", Gravity::Unknown) };
    match &target.connection {
        Connection::Waiting => Condition::new("waiting", Gravity::Unknown),
        Connection::Connecting { attempt: 1 } => Condition::new("connecting", Gravity::Unknown),
        Connection::Connecting { attempt } => Condition::new(format!("connecting ({attempt})"), Gravity::Stale),
        Connection::Asking => Condition::new("asks", Gravity::Warning),
        Connection::BackingOff { until, .. } => {
            let seconds = until.duration_since(model.now).as_secs().max(0);
            Condition::new(format!("down, retry {seconds}s"), Gravity::Bad)
        }
        Connection::Failed { .. } => Condition::new("failed", Gravity::Bad),
        Connection::Connected { .. } => match stale_for(target, model.options.period, model.now) {
            Some(seconds) if target.last_sample.is_none() => {
                Condition::new(format!("silent {seconds}s"), Gravity::Stale)
            }
            Some(seconds) => Condition::new(format!("stale {seconds}s"), Gravity::Stale),
            None if target.last_sample.is_none() && target.last_report.is_none() => {
                Condition::new("reading", Gravity::Unknown)
            }
            None => answering(model, id, target),
        },
    }
}

/// How a target stands whose values come in: what calls for attention on it first.
fn answering(model: &Model, id: &TargetId, target: &Target) -> Condition {
    let findings = target.findings.len();
    if findings > 0 {
        let is_error = target.findings.values().any(|finding| finding.severity == Severity::Error);
        let noun = if findings == 1 { "finding" } else { "findings" };
        let gravity = if is_error { Gravity::Bad } else { Gravity::Warning };
        return Condition::new(format!("! {findings} {noun}"), gravity);
    }
    if is_slow(target, model.options.period) {
        return Condition::new("slow", Gravity::Warning);
    }
    match first_read(model, id) {
        Some((done, all)) => Condition::new(format!("reading {done} of {all}"), Gravity::Unknown),
        None => Condition::new("ok", Gravity::Good),
    }
}

/// How long the first reads of a host may take before they are no longer waited for, in seconds: a source that never
/// comes must not leave everything open for ever.
const FIRST_READ_SECONDS: i64 = 600;

/// How many of how many probes of a connected host or switch were read, while its first reads are under way. `None` once all were,
/// and for a host whose values were saved earlier, as much as there is of them.
pub fn first_read(model: &Model, id: &TargetId) -> Option<(usize, usize)> {
    let target = model.targets.get(id)?;
    let probes = match target.kind {
        TargetKind::Esxi => esxi::PROBES,
        TargetKind::Switch => switch_probes(target),
        TargetKind::Linux | TargetKind::Local | TargetKind::Unknown => return None,
    };
    under_way(model, target, probes)
}

/// How many of these were read of a target, while its first reads are under way.
fn under_way(model: &Model, target: &Target, probes: &[Probe]) -> Option<(usize, usize)> {
    let Connection::Connected { since, .. } = target.connection else { return None };
    let is_saved = target.last_report.is_some_and(|at| at < since);
    if is_saved || model.now.duration_since(since).as_secs() > FIRST_READ_SECONDS {
        return None;
    }
    let is_read = |probe: &&Probe| target.read.contains(&SourceId::new(probe.name));
    let done = probes.iter().filter(is_read).count();
    (done < probes.len()).then_some((done, probes.len()))
}

/// Likewise of a guest. Its tree and its panels do not wait for the last of so many, but whoever says what a guest lacks does.
pub fn first_read_of_guest(model: &Model, id: &TargetId) -> Option<(usize, usize)> {
    let target = model.targets.get(id).filter(|target| matches!(target.kind, TargetKind::Linux | TargetKind::Local))?;
    under_way(model, target, linux::PROBES)
}

/// What is read of a switch, as far as that is known by what was: each system has probes of its own. None before that.
pub fn switch_probes(target: &Target) -> &'static [Probe] {
    let is_read = |probe: &Probe| target.read.contains(&SourceId::new(probe.name));
    let of = SwitchSystem::ALL.into_iter().map(SwitchSystem::probes).find(|probes| probes.iter().any(is_read));
    of.unwrap_or_default()
}

/// True for a target that answers, but late: its last tick took longer than the pace of samples, or a read did not end in
/// time when it was tried last.
pub fn is_slow(target: &Target, period: std::time::Duration) -> bool {
    target.round_trip.is_some_and(|round_trip| round_trip > period) || !target.late.is_empty()
}

/// True if the values of a target are too old to be trusted, for whatever cause.
pub fn is_stale(model: &Model, id: &TargetId) -> bool {
    model
        .targets
        .get(id)
        .is_none_or(|target| !target.connection.is_up() || stale_for(target, model.options.period, model.now).is_some())
}

/// How a value stands, by what it is; `Neutral` where a value alone cannot be good or bad.
pub fn of_value(attribute: Attribute, state: &State<Value>) -> Gravity {
    match state {
        State::Known(Value::PortState(PortState::Active)) => Gravity::Good,
        State::Known(Value::PortState(PortState::Down) | Value::QueuePairState(QueuePairState::Error)) => Gravity::Bad,
        State::Known(Value::PortState(_) | Value::QueuePairState(QueuePairState::SendQueueError))
        | State::Failed(_) => Gravity::Warning,
        State::Known(Value::Text(text)) if attribute == Attribute::OperationalState => match text.as_str() {
            "up" => Gravity::Good,
            "down" | "lowerlayerdown" | "notpresent" => Gravity::Bad,
            "dormant" => Gravity::Warning,
            _ => Gravity::Neutral,
        },
        State::Known(Value::Text(text)) if attribute == Attribute::Severity => match text.as_str() {
            "error" => Gravity::Bad,
            "warning" => Gravity::Warning,
            _ => Gravity::Neutral,
        },
        State::Known(_) | State::Empty => Gravity::Neutral,
        State::NotAvailable
        | State::NotPublished(_)
        | State::NotObservable(_)
        | State::NeedsPrivilege(_)
        | State::NotInstalled(_) => Gravity::Unknown,
    }
}

/// How an entity stands, for the tree: the word of its main state.
pub fn of_entity(model: &Model, id: &EntityId) -> Condition {
    let attribute = match id.entity {
        Entity::Vm(_) => {
            let Some(word) = model.fabric.text(id, Attribute::PowerState) else {
                return Condition::new("?", Gravity::Unknown);
            };
            let short = match word {
                "poweredOn" => "on",
                "poweredOff" => "off",
                other => other,
            };
            return Condition::new(short, Gravity::Neutral);
        }
        Entity::RdmaDevice(_) => {
            return [Attribute::PortState, Attribute::OperationalState]
                .into_iter()
                .find_map(|attribute| {
                    let state = &model.fabric.reading(id, attribute)?.state;
                    let word = state.known()?.to_string();
                    let gravity = match super::host_binding::gravity(attribute, state) {
                        Gravity::Bad if unused::is_unused(model, id) => {
                            return Some(Condition::new("unused", Gravity::Neutral));
                        }
                        Gravity::Bad if unused::is_undecided(model, id) => Gravity::Unknown,
                        gravity => gravity,
                    };
                    Some(Condition::new(word, gravity))
                })
                .unwrap_or_else(|| Condition::new("", Gravity::Neutral));
        }
        Entity::RdmaPort { .. } => Attribute::PortState,
        Entity::Netdev(_) | Entity::SwitchInterface(_) => Attribute::OperationalState,
        Entity::QueuePair { .. } => Attribute::QueuePairState,
        Entity::KernelMessage { .. } => Attribute::Severity,
        _ => return Condition::new("", Gravity::Neutral),
    };
    match model.fabric.reading(id, attribute) {
        None => Condition::new("?", Gravity::Unknown),
        Some(reading) => {
            let word = match &reading.state {
                State::Known(value) => value.to_string(),
                other => other.name().replace('-', " "),
            };
            Condition::new(word, of_value(attribute, &reading.state))
        }
    }
}

/// The gravest condition on a target, its own included.
pub fn worst_of(model: &Model, id: &TargetId) -> Gravity {
    let ports = model
        .fabric
        .ports(id)
        .map(|(device, port)| of_entity(model, &EntityId::new(id, Entity::port(device, port))).gravity)
        .filter(|gravity| *gravity >= Gravity::Warning);
    ports.chain([of_target(model, id).gravity]).max().unwrap_or(Gravity::Unknown)
}

/// Numbers for the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Targets whose values come in.
    pub up: usize,
    /// Connected targets that are silent.
    pub stale: usize,
    /// Targets without a connection.
    pub down: usize,
    /// Targets on the way or waiting for an answer.
    pub pending: usize,
    /// What calls for attention on hosts.
    pub findings: usize,
}

/// Counts the targets by how they stand.
pub fn tally(model: &Model) -> Tally {
    let mut tally = Tally::default();
    for target in model.targets.values() {
        tally.findings += target.findings.len();
        match &target.connection {
            Connection::Connected { .. } => {
                if stale_for(target, model.options.period, model.now).is_some() {
                    tally.stale += 1;
                } else {
                    tally.up += 1;
                }
            }
            Connection::BackingOff { .. } | Connection::Failed { .. } => tally.down += 1,
            Connection::Waiting | Connection::Connecting { .. } | Connection::Asking => tally.pending += 1,
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::model::Options;
    use super::super::{Message, update};
    use super::*;
    use crate::fabric::{Observation, Outcome, Report, Sample};

    #[test]
    fn a_target_that_answers_late_is_slow_until_it_answers_in_time() {
        let id = TargetId::new("guest-a");
        let at = |second| Timestamp::from_second(second).expect("a small number");
        let mut model = Model::new(vec![(id.clone(), Target::new(TargetKind::Linux))], Options::default(), at(0));
        let connection = Connection::Connected { since: at(0), via: "x".into() };
        update(&mut model, Message::Connection { target: id.clone(), at: at(0), connection });
        let word = |model: &Model| of_target(model, &id).word;
        let sample = |model: &mut Model, second: u32, milliseconds| {
            let sample = Sample {
                target: id.clone(),
                at: at(second.into()),
                round_trip: Duration::from_millis(milliseconds),
                uptime_centiseconds: u64::from(second) * 100,
                boot_id: None,
                counters: vec![],
                gauges: vec![],
                facts: vec![],
                observation: None,
                clock_offset_ms: None,
            };
            update(model, Message::Sample(sample));
        };
        let report = |model: &mut Model, second, outcome| {
            let observation = Observation { target: id.clone(), ..Observation::of_text("linux.x", "") };
            let observations = vec![Arc::new(observation.with_outcome(outcome))];
            let report = Report { target: id.clone(), probe: SourceId::new("linux.x"), observations, facts: vec![] };
            update(model, Message::Report { at: at(second), report });
        };
        sample(&mut model, 1, 3);
        assert_eq!(word(&model), "ok");
        sample(&mut model, 2, 1_900);
        assert_eq!(word(&model), "slow", "longer than the pace of samples");
        sample(&mut model, 3, 3);
        assert_eq!(word(&model), "ok");
        report(&mut model, 3, Outcome::TimedOut);
        assert_eq!(word(&model), "slow");
        report(&mut model, 4, Outcome::Exit(1));
        assert_eq!(word(&model), "ok", "it ended, if not well");
    }
}
