//! The scene that the checks see, made of the model: targets and whether they answer, what came of each source, counters
//! that moved within the last minute.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::condition;
use super::super::connection::Connection;
use super::super::model::{Model, Target, TargetKind};
use crate::diagnose::check::{Answers, Machine, MachineKind, Moved, Movements, Reached, Scene, pairs};
use crate::fabric::{Entity, EntityId, TargetId, Text};

/// Over how long counters are looked at, in seconds.
const WINDOW_SECONDS: i64 = 60;

/// Shows the scene of now to `look`.
pub fn with<T>(model: &Model, look: impl FnOnce(&Scene<'_>) -> T) -> T {
    let machines = machines(model);
    let movements = movements(model);
    let scene = Scene {
        fabric: &model.fabric,
        joined: model.joined(),
        machines: &machines,
        pairs: &[],
        movements: &movements,
        thresholds: &model.options.site.thresholds,
        declared: &model.options.site.declared,
        limits: &model.limits,
        now: model.now,
        judged: None,
        kept: None,
    };
    let pairs = pairs(&scene);
    look(&Scene { pairs: &pairs, ..scene })
}

fn machines(model: &Model) -> BTreeMap<TargetId, Machine> {
    let mut machines: BTreeMap<TargetId, Machine> = BTreeMap::new();
    for (id, target) in &model.targets {
        let kind = match target.kind {
            TargetKind::Linux | TargetKind::Local => MachineKind::Guest,
            TargetKind::Esxi => MachineKind::Host,
            TargetKind::Switch => MachineKind::Switch,
            TargetKind::Unknown => continue,
        };
        let within = target.clock_within.map_or(0, |within| u64::try_from(within.as_millis()).unwrap_or(u64::MAX));
        let clock = target.clock_offset_ms.map(|offset| (offset, within));
        let reached = reached(model, id, target);
        machines.insert(id.clone(), Machine { kind, reached, answers: Answers::default(), clock });
    }
    // A switch that somebody pasted is read as far as it was pasted.
    for pasted in &model.pasted {
        let machine =
            Machine { kind: MachineKind::Switch, reached: Reached::Yes, answers: Answers::default(), clock: None };
        machines.entry(pasted.switch.clone()).or_insert(machine);
    }
    for observation in model.raw.all_newest() {
        if let Some(machine) = machines.get_mut(&observation.target) {
            machine.answers.take(observation);
        }
    }
    machines
}

/// A target that was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Which.
    pub target: TargetId,
    /// Why: how far it is, or what went wrong.
    pub why: Text,
    /// True if it is on its way; false if something went wrong.
    pub is_coming: bool,
}

/// The targets that were not read to their ends, in their order.
pub fn unread(model: &Model) -> Vec<Unread> {
    let of = |id: &TargetId| {
        let target = model.targets.get(id)?;
        let is_coming = !matches!(target.connection, Connection::BackingOff { .. } | Connection::Failed { .. });
        match reached(model, id, target) {
            Reached::Yes => None,
            Reached::Partly(why) | Reached::No(why) => Some(Unread { target: id.clone(), why, is_coming }),
        }
    };
    model.order.iter().filter_map(of).collect()
}

fn reached(model: &Model, id: &TargetId, target: &Target) -> Reached {
    let problem = match &target.connection {
        Connection::BackingOff { problem, .. } | Connection::Failed { problem } => {
            Some(Text::new(&problem.to_string()))
        }
        Connection::Connected { .. } => None,
        Connection::Waiting | Connection::Connecting { .. } | Connection::Asking => {
            Some(Text::new("it is not connected yet"))
        }
    };
    match problem {
        Some(problem) if target.last_report.is_none() => Reached::No(problem),
        Some(problem) => Reached::Partly(problem),
        None if target.last_report.is_none() => Reached::No(Text::new("nothing was read of it yet")),
        None => match condition::first_read(model, id).or_else(|| condition::first_read_of_guest(model, id)) {
            Some((done, all)) => Reached::Partly(Text::new(&format!("{done} of {all} probes were read so far"))),
            None => Reached::Yes,
        },
    }
}

fn movements(model: &Model) -> Movements {
    let mut movements = BTreeMap::new();
    let since = model.now - jiff::SignedDuration::from_secs(WINDOW_SECONDS);
    for (key, series) in model.series.iter().filter(|(_, series)| series.raw.is_some()) {
        let of = match &key.entity {
            Entity::RdmaPort { device, port: 1 } => device.clone(),
            other => Text::new(&other.name()),
        };
        let (mut by, mut seconds) = (0.0, 0.0);
        let points: Vec<_> = series.points.iter().rev().take_while(|point| point.at >= since).collect();
        for pair in points.windows(2) {
            let [later, earlier] = pair else { continue };
            let time = later.at.duration_since(earlier.at).as_secs_f64();
            if let Some(rate) = later.value.filter(|_| time > 0.0) {
                by += rate * time;
                seconds += time;
            }
        }
        insert(&mut movements, &key.target, of, &key.name, by, seconds);
    }
    for target in model.targets.keys() {
        for (key, series) in model.slow.of(target) {
            if let Some(mean) = series.means.back() {
                let of = Text::new(&key.entity.name());
                insert(&mut movements, target, of, &key.name, mean.value * mean.seconds(), mean.seconds());
            }
        }
    }
    Movements(movements)
}

fn insert(movements: &mut BTreeMap<EntityId, Moved>, target: &TargetId, of: Text, name: &Text, by: f64, seconds: f64) {
    if seconds > 0.0 && by.is_finite() && by >= 0.0 {
        let id = EntityId::new(target, Entity::Counter { of, name: name.clone() });
        // More than a counter can count is nothing that was counted.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let by = by.round() as u64;
        movements.insert(id, Moved { by, over: Duration::from_secs_f64(seconds) });
    }
}
