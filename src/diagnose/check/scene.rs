//! What a check sees: what is known of every target, how it was joined, which targets were reached, which counters moved,
//! and what the site declared. Nothing else: no file, no clock, and nothing that a lab knows.

use std::collections::BTreeMap;
use std::time::Duration;

use super::thresholds::Thresholds;
use crate::diagnose::join::Joined;
use crate::fabric::{EntityId, Fabric, TargetId, Text, Timestamp};

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineKind {
    /// A Linux system.
    Guest,
    /// An ESXi host.
    Host,
    /// A switch.
    Switch,
}

/// Whether a target answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It was read to the end.
    Yes,
    /// Some of it was read; why not all.
    Partly(Text),
    /// Nothing came from it; why.
    No(Text),
}

/// One target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// What it is.
    pub kind: MachineKind,
    /// Whether it answered.
    pub reached: Reached,
}

/// By how much a counter moved between two reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// By this much; resets and wraps are taken out.
    pub by: u64,
    /// In this time.
    pub over: Duration,
}

impl Moved {
    /// How much a second; `None` if no time passed.
    pub fn per_second(self) -> Option<f64> {
        let seconds = self.over.as_secs_f64();
        (seconds > 0.0).then(|| self.by as f64 / seconds)
    }
}

/// Counters that were read twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Movements(pub BTreeMap<EntityId, Moved>);

impl Movements {
    /// How a counter moved; `None` if it was not read twice.
    pub fn of(&self, counter: &EntityId) -> Option<Moved> {
        self.0.get(counter).copied()
    }
}

/// What a check sees.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// What is known.
    pub fabric: &'a Fabric,
    /// What belongs together.
    pub joined: &'a Joined,
    /// The targets.
    pub machines: &'a BTreeMap<TargetId, Machine>,
    /// Counters that were read twice.
    pub movements: &'a Movements,
    /// The numbers that a site may set.
    pub thresholds: &'a Thresholds,
    /// When it is.
    pub now: Timestamp,
}
