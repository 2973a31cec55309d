//! A site made of raw text: each target is a set of outputs, read by the real parsers and joined by the real join. Tests of
//! checks begin here, so that a check that cannot be fed by what a target prints is noticed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Check, Judged, Machine, MachineKind, Moved, Movements, Reached, Scene, Thresholds};
use crate::diagnose::finding::Status;
use crate::diagnose::join::{Joined, join};
use crate::fabric::{EntityId, Fabric, Observation, Outcome, Report, SourceId, TargetId, Text, Timestamp};
use crate::probe::{Probe, esxi, linux};

/// What one source gave.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    source: &'a str,
    stdout: &'a str,
    stderr: &'a str,
    status: u32,
}

/// A source that was read: its name, and what it printed.
pub const fn says<'a>(source: &'a str, stdout: &'a str) -> Output<'a> {
    Output { source, stdout, stderr: "", status: 0 }
}

/// A source that could not be read: its name, the exit status, and what it printed on standard error.
pub const fn fails<'a>(source: &'a str, status: u32, stderr: &'a str) -> Output<'a> {
    Output { source, stdout: "", stderr, status }
}

/// A site under construction.
#[derive(Debug, Default)]
pub struct Site {
    fabric: Fabric,
    machines: BTreeMap<TargetId, Machine>,
    movements: Movements,
    thresholds: Thresholds,
    order: Vec<TargetId>,
}

impl Site {
    /// An empty site.
    pub fn new() -> Self {
        Self::default()
    }

    /// A Linux guest that printed these outputs, by name of the source: `linux.rdma-link`.
    #[must_use]
    pub fn guest(self, name: &str, outputs: &[Output<'_>]) -> Self {
        self.target(name, MachineKind::Guest, linux::PROBES, outputs)
    }

    /// An ESXi host that printed these outputs, by name of the source: `esxi.version`.
    #[must_use]
    pub fn host(self, name: &str, outputs: &[Output<'_>]) -> Self {
        self.target(name, MachineKind::Host, esxi::PROBES, outputs)
    }

    /// A target of the inventory that did not answer.
    #[must_use]
    pub fn unreached(mut self, name: &str, kind: MachineKind, why: &str) -> Self {
        self.enlist(name, kind, Reached::No(Text::new(why)));
        self
    }

    /// A counter that was read twice.
    #[must_use]
    pub fn moved(mut self, counter: EntityId, by: u64, seconds: u64) -> Self {
        self.movements.0.insert(counter, Moved { by, over: Duration::from_secs(seconds) });
        self
    }

    /// A threshold that the site set.
    #[must_use]
    pub fn with_threshold(mut self, key: &str, value: f64) -> Self {
        self.thresholds.set(key, value);
        self
    }

    fn enlist(&mut self, name: &str, kind: MachineKind, reached: Reached) -> TargetId {
        let target = TargetId::new(name);
        self.machines.insert(target.clone(), Machine { kind, reached });
        self.order.push(target.clone());
        target
    }

    /// Reads these outputs with every probe of which at least one source is there. The other sources of such a probe were
    /// not run: no shell found their programs.
    fn target(mut self, name: &str, kind: MachineKind, probes: &[Probe], outputs: &[Output<'_>]) -> Self {
        let target = self.enlist(name, kind, Reached::Yes);
        let mut used = Vec::new();
        for probe in probes {
            let given = |source: &str| outputs.iter().find(|output| output.source == source);
            if !probe.sources.iter().any(|source| given(source.name).is_some()) {
                continue;
            }
            let observations: Vec<Arc<Observation>> = probe
                .sources
                .iter()
                .map(|source| {
                    let output = given(source.name).copied().unwrap_or(fails(source.name, 127, "not found"));
                    used.push(source.name);
                    let mut observation = Observation::of_text(source.name, output.stdout)
                        .with_stderr(output.stderr)
                        .with_outcome(Outcome::Exit(output.status));
                    observation.target = target.clone();
                    Arc::new(observation)
                })
                .collect();
            let facts = (probe.parse)(&observations);
            self.fabric.apply(&Report {
                target: target.clone(),
                probe: SourceId::new(probe.name),
                observations,
                facts,
            });
        }
        for output in outputs {
            assert!(used.contains(&output.source), "no probe has a source named {}", output.source);
        }
        self
    }

    /// What this check says of the site.
    pub fn judge(&self, check: &Check) -> Vec<Judged> {
        let joined = self.joined();
        (check.judge)(&self.scene(&joined))
    }

    /// The statuses that a check gives, in the order of its subjects.
    pub fn statuses(&self, check: &Check) -> Vec<Status> {
        self.judge(check).into_iter().map(|judged| judged.status).collect()
    }

    /// What belongs together on this site.
    pub fn joined(&self) -> Joined {
        join(&self.fabric, &self.order)
    }

    /// The site as checks see it.
    pub fn scene<'a>(&'a self, joined: &'a Joined) -> Scene<'a> {
        Scene {
            fabric: &self.fabric,
            joined,
            machines: &self.machines,
            movements: &self.movements,
            thresholds: &self.thresholds,
            now: Timestamp::UNIX_EPOCH,
        }
    }
}
