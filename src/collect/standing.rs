//! What stands of a target over its connections: what was read last of a host that is to be spared, when each thing is due
//! there, and the rest it is owed. A link that drops again and again makes it work no more than one that holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::kind::System;
use super::schedule::Schedule;
use super::switch;
use super::work::Work;
use crate::fabric::Observation;
use crate::probe::Probe;

/// How a host is spared. Only tests of real time do otherwise than the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sparing {
    /// False: everything is read at its pace, whatever that costs the host.
    pub governed: bool,
    /// How many times faster than real time the time of its schedule goes by.
    pub haste: u32,
}

impl Default for Sparing {
    fn default() -> Self {
        Self { governed: true, haste: 1 }
    }
}

/// What stands of one target.
#[derive(Debug)]
pub struct Standing {
    /// What is read of it.
    pub probes: Arc<[Probe]>,
    /// When what is read.
    pub schedule: Schedule,
    /// What was read last of probes of which some sources lead.
    pub kept: BTreeMap<&'static str, Vec<Arc<Observation>>>,
    /// What it worked besides, for what somebody waits for: the batches are owed for it.
    pub besides: Arc<Work>,
    system: System,
    sparing: Sparing,
    /// What the times of the schedule count from.
    start: Instant,
    /// When its last connection ended.
    ended: Option<Instant>,
}

impl Standing {
    /// Of a target that was never read.
    pub fn new(system: System, probes: Arc<[Probe]>, sparing: Sparing) -> Self {
        let schedule = match system {
            System::Esxi if sparing.governed => Schedule::sparing(&probes),
            System::Switch(_) => Schedule::every(&probes, switch::PERIOD),
            System::Esxi | System::Linux => Schedule::new(&probes),
        };
        let (kept, besides) = (BTreeMap::new(), Arc::default());
        Self { probes, schedule, kept, besides, system, sparing, start: Instant::now(), ended: None }
    }

    /// The target is connected again: what stands of it, if it is a host that is to be spared and was one before.
    pub fn connected(before: Option<Self>, system: System, probes: Arc<[Probe]>, sparing: Sparing) -> Self {
        let Some(mut standing) = before.filter(|before| (before.system, system) == (System::Esxi, System::Esxi)) else {
            return Self::new(system, probes, sparing);
        };
        let away = standing.ended.take().map_or(Duration::ZERO, |ended| standing.in_its_time(ended.elapsed()));
        standing.schedule.connected_again(standing.now(), away);
        standing
    }

    /// The connection ended, whatever ran over it.
    pub fn ended(&mut self) {
        self.schedule.broken_off(self.now());
        self.charge();
        self.ended = Some(Instant::now());
    }

    /// What was worked besides the batches since this was done last is charged.
    pub fn charge(&mut self) {
        let worked = self.in_its_time(self.besides.take());
        self.schedule.owes(worked);
    }

    /// The time of the schedule.
    pub fn now(&self) -> Duration {
        self.in_its_time(self.start.elapsed())
    }

    /// So much time in that of the schedule.
    pub fn in_its_time(&self, time: Duration) -> Duration {
        time.saturating_mul(self.sparing.haste)
    }

    /// When the next batch starts; `None` if there is nothing to read.
    pub fn next(&self) -> Option<Instant> {
        self.schedule.next(self.now()).map(|at| self.start + at / self.sparing.haste.max(1))
    }
}
