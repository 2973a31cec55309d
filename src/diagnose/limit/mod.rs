//! What limits a GPU in a VM: its own work and link, the clocks, and what its VM and host tell of processors, memory and
//! NUMA nodes, each over the last rows of its stream, all on our own clock. Fed row by row; pure; kept small.
//!
//! The rule is that starvation shows: a GPU that works little while its link is full. A GPU that is busy beside a busy
//! link may just be overlapping copies and work, as it should: that is the weakness of the rule as it was published, which
//! is kept as a profile of its own.

mod around;
mod factor;
mod gpu;
pub mod pcie;
mod rows;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod verdict;
pub mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use factor::Factor;
pub use rows::{Row, Rows};
pub use verdict::{Assessed, Lack, Outcome, Shown, Standing, Verdict};

use crate::config::GpuRule;
use crate::diagnose::check::{Threshold, Thresholds};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::{Joined, group_of};
use crate::fabric::{Entity, EntityId, Fabric, Measure, Measured, TargetId, Timestamp};
use around::Around;
use gpu::{Raised, Sight, Work};

/// Share of the link's ceiling from which on it counts as full.
pub const FULL: Threshold = Threshold {
    key: "gpu.pcie-bound.full",
    default: 80.0,
    unit: "percent",
    meaning: "share of the usable ceiling of the current link from which on it counts as full",
    source: "PCI Express: headers and coding leave 91 % of a link to data; copies of sound systems reach 80 to 90 % of that",
};
/// Ready time from which on a VM is starved.
pub const READY: Threshold = Threshold {
    key: "gpu.cpu-starved.ready",
    default: 10.0,
    unit: "percent",
    meaning: "ready time a virtual CPU from which on a VM waits too much",
    source: "field report",
};
/// Share of local memory below which a VM's memory is remote.
pub const LOCAL: Threshold = Threshold {
    key: "gpu.numa-remote.local",
    default: 80.0,
    unit: "percent",
    meaning: "share of a VM's memory on its home nodes below which it is remote",
    source: "field report",
};

/// What is wrong with the rule as it was published.
pub const WEAKNESS: &str = "told by the published rule (use above 85 % and more than 60 % of the link's theoretical rate towards the GPU): \
     use is the share of time in which any kernel ran, and 60 % lies below what a sound copy reaches, so a healthy program that \
     copies while it computes meets it, and a GPU that starves with low use does not; the default rule asks for little work beside a full link";

/// By which rule and numbers a verdict is made.
#[derive(Clone, Copy, Debug)]
pub struct Says<'a> {
    /// The rule.
    pub rule: GpuRule,
    /// The numbers that a site set.
    pub thresholds: &'a Thresholds,
}

/// The rows of everything that is measured, and the verdict on each GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    gpus: BTreeMap<EntityId, Gpu>,
    around: BTreeMap<EntityId, Rows>,
    /// Made anew from the rest when it is needed.
    #[serde(skip)]
    verdicts: BTreeMap<EntityId, Verdict>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Gpu {
    rows: Rows,
    raised: Raised,
}

impl Limits {
    /// A value that knows nothing, for whoever looks without any stream.
    pub const NONE: &'static Self = &Self { gpus: BTreeMap::new(), around: BTreeMap::new(), verdicts: BTreeMap::new() };

    /// Takes in a row of a stream.
    pub fn take(&mut self, row: &Measured) {
        let mut told: Vec<(&Entity, Vec<(Measure, f64)>)> = Vec::new();
        for gauge in &row.gauges {
            let wanted = matches!(gauge.entity, Entity::Gpu(_) | Entity::Group(_) | Entity::Host | Entity::Guest);
            if !wanted {
                continue;
            }
            // Streams tell one thing after the other.
            let place = match told.last() {
                Some((last, _)) if **last == gauge.entity => told.len() - 1,
                _ => told.iter().position(|(known, _)| **known == gauge.entity).unwrap_or_else(|| {
                    told.push((&gauge.entity, Vec::new()));
                    told.len() - 1
                }),
            };
            if let (Some(measure), Some(value)) = (Measure::from_name(gauge.name.as_str()), gauge.value)
                && value.is_finite()
            {
                told[place].1.push((measure, value));
            }
        }
        for (entity, numbers) in told {
            let id = EntityId::new(&row.target, entity.clone());
            match entity {
                Entity::Gpu(_) => self.gpus.entry(id).or_default().rows.take(row, numbers),
                _ => self.around.entry(id).or_default().take(row, numbers),
            }
        }
    }

    /// Forgets all of a target.
    pub fn forget(&mut self, target: &TargetId) {
        self.gpus.retain(|id, _| id.target != *target);
        self.around.retain(|id, _| id.target != *target);
        self.verdicts.retain(|id, _| id.target != *target);
    }

    /// The verdict on a GPU, as it was made last.
    pub fn of(&self, gpu: &EntityId) -> Option<&Verdict> {
        self.verdicts.get(gpu)
    }

    /// All verdicts, in the order of targets and addresses.
    pub fn all(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.values()
    }

    /// The rows of a GPU.
    pub fn rows(&self, gpu: &EntityId) -> Option<&Rows> {
        self.gpus.get(gpu).map(|gpu| &gpu.rows)
    }

    /// True if no GPU is measured.
    pub fn is_empty(&self) -> bool {
        self.gpus.is_empty()
    }

    /// Makes the verdicts of now. True if one of them says something else than before.
    pub fn judge(&mut self, fabric: &Fabric, joined: &Joined, says: Says<'_>, now: Timestamp) -> bool {
        // What ended long ago says nothing, and its number is bounded by what runs.
        self.gpus.retain(|_, gpu| !gpu.rows.is_stale(now));
        self.around.retain(|_, rows| !rows.is_stale(now));
        let mut verdicts = BTreeMap::new();
        let mut changed = false;
        for (id, gpu) in &mut self.gpus {
            let verdict = verdict(id, gpu, &self.around, fabric, joined, says);
            changed |= self.verdicts.get(id).is_none_or(|before| differs(before, &verdict));
            verdicts.insert(id.clone(), verdict);
        }
        changed |= self.verdicts.len() != verdicts.len();
        self.verdicts = verdicts;
        changed
    }
}

/// True if something else is said, numbers aside.
fn differs(before: &Verdict, now: &Verdict) -> bool {
    before.standing != now.standing
        || before.vm != now.vm
        || before.factors.len() != now.factors.len()
        || before.factors.iter().zip(&now.factors).any(|((_, before), (_, now))| before.outcome != now.outcome)
}

fn verdict(
    id: &EntityId,
    gpu: &mut Gpu,
    measured: &BTreeMap<EntityId, Rows>,
    fabric: &Fabric,
    joined: &Joined,
    says: Says<'_>,
) -> Verdict {
    let Gpu { rows, raised } = gpu;
    let sight = Sight { id, rows, fabric, rule: says.rule, full_from: says.thresholds.of(&FULL) / 100.0 };
    let vm = joined.vm_of(&id.target);
    let group = vm.and_then(|vm| group_of(fabric, vm));
    let host = vm.map(|vm| EntityId::new(&vm.target, Entity::Host));
    let guest = EntityId::new(&id.target, Entity::Guest);
    let around = Around {
        fabric,
        joined,
        guest: &id.target,
        vm,
        group: group.as_ref().and_then(|id| measured.get_key_value(id)),
        tools: measured.get_key_value(&guest),
        host: host.as_ref().and_then(|id| measured.get_key_value(id)),
        ready_from: says.thresholds.of(&READY),
        local_below: says.thresholds.of(&LOCAL),
        published: says.rule == GpuRule::Published,
    };
    let work = sight.work(raised);
    let bound = sight.pcie_bound(raised, work);
    let mut factors = BTreeMap::new();
    factors.insert(Factor::PcieDegraded, sight.pcie_degraded(raised, bound.is_held()));
    factors.insert(Factor::PcieBound, bound);
    factors.insert(Factor::Thermal, sight.thermal(raised, work));
    factors.insert(Factor::Power, sight.power(raised));
    factors.insert(Factor::ReservationBroken, around.reservation(raised, work));
    factors.insert(Factor::CpuStarved, around.cpu_starved(raised, work));
    factors.insert(Factor::NumaRemote, around.numa_remote(raised, id, work));
    factors.insert(Factor::MemoryPressure, around.memory_pressure(raised, measured));
    let held_up = factors.iter().find(|(_, assessed)| assessed.is_held()).map(|(factor, _)| *factor);
    factors.insert(Factor::InputStarved, sight.input(raised, work, held_up));
    sum_up(&sight, vm.cloned(), work, factors)
}

/// Ranks what holds: what is proved wrong around the VM, then what the GPU shows, then the rest, each in the order of the
/// factors.
fn sum_up(sight: &Sight<'_>, vm: Option<EntityId>, work: Work, factors: BTreeMap<Factor, Assessed>) -> Verdict {
    let mut held: Vec<(Factor, &Assessed)> = factors
        .iter()
        .filter(|(_, assessed)| assessed.is_held())
        .map(|(factor, assessed)| (*factor, assessed))
        .collect();
    held.sort_by_key(|(factor, assessed)| {
        let is_grave = *factor == Factor::ReservationBroken;
        let limits = assessed.outcome == Outcome::Holds { limits: true };
        (!is_grave, !limits, *factor)
    });
    let (_, works) = sight.at_work();
    let published = sight.rule == GpuRule::Published;
    // What only stands beside a GPU holds none back that has nothing to do.
    let first = held.first().filter(|(factor, assessed)| {
        work != Work::Idle
            || *factor == Factor::ReservationBroken
            || assessed.outcome == Outcome::Holds { limits: true }
    });
    let (standing, says, confidence, disproved_by) = match (first, work) {
        (Some((factor, assessed)), _) => {
            let beside = match assessed.outcome {
                Outcome::Holds { limits: false } => format!("; the GPU does not show it: {works}"),
                _ => String::new(),
            };
            let says = format!("{}{beside}", assessed.says);
            (Standing::Limited(*factor), says, assessed.confidence, factor.disproved_by())
        }
        (None, Work::TooFew) => (
            Standing::TooFewSamples,
            format!("{} of {} samples so far", sight.rows.iter().len(), window::GPU.of),
            Confidence::Possible,
            "a few seconds more",
        ),
        (None, Work::Untold) => (
            Standing::Unclear,
            "neither its use nor the share of busy multiprocessors is published".to_owned(),
            Confidence::Possible,
            "dcgmi dmon -e 1002,1009,1010 on the guest: with MIG only DCGM tells the work of a GPU",
        ),
        (None, Work::Idle) => {
            let beside = held.first().map(|(factor, _)| format!("; beside it: {}", factor.name())).unwrap_or_default();
            let says = format!("it has nothing to do: {works}{beside}");
            (Standing::Idle, says, Confidence::Likely, "a job on it that waits")
        }
        (None, Work::Low) => (
            Standing::Healthy,
            format!("{works}, and nothing that is seen holds it up"),
            Confidence::Possible,
            "a profile of its job (nsys) that shows it waiting",
        ),
        (None, Work::Busy) => (
            Standing::Healthy,
            format!("{works}: the GPU itself is the limit"),
            Confidence::Likely,
            "the same job that is faster with fewer copies: nsys shows whether kernels wait for them",
        ),
    };
    let runner_up = first.and(held.get(1)).map(|(factor, _)| *factor);
    let of_published = matches!(standing, Standing::Limited(Factor::PcieBound | Factor::MemoryPressure));
    let weakness = (published && of_published).then_some(WEAKNESS);
    Verdict {
        gpu: sight.id.clone(),
        vm,
        at: sight.rows.last_at().unwrap_or_default(),
        standing,
        runner_up,
        says,
        confidence,
        disproved_by: disproved_by.to_owned(),
        weakness,
        factors,
    }
}
