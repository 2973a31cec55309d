//! What the rows of the VM and of the host around a GPU say: processors, memory, NUMA nodes.

use std::collections::BTreeMap;

use super::gpu::{Raised, Work};
use super::rows::{Row, Rows};
use super::verdict::{Assessed, Lack};
use super::window::{self, Seen};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::Joined;
use crate::fabric::{Attribute, Entity, EntityId, Fabric, Measure, TargetId, Value};

/// One mebibyte.
const MEBIBYTE: f64 = 1_048_576.0;
/// Neighbours lost a lot from this much on.
const NEIGHBOURS_LOST: f64 = 512.0 * MEBIBYTE;
/// Or where so much more was taken within the last rows.
const TAKEN_NOW: f64 = 256.0 * MEBIBYTE;
/// The published rule: a jump of the balloon by more than this.
const PUBLISHED_JUMP: f64 = 2e9;
/// Swapping counts from this rate on, in bytes per second.
const SWAPPING: f64 = 1_000_000.0;
/// States of the host's memory: from `soft` on the host takes memory back.
const SOFT: f64 = 2.0;
/// And from this one on it begins to be short.
const CLEAR: f64 = 1.0;
/// Co-stop counts from this share on, in percent a virtual CPU.
const STOPPED: f64 = 3.0;
/// A limit that holds the VM back counts from this share on, in percent a virtual CPU.
const LIMITED: f64 = 5.0;

/// The VM and the host around a GPU, as far as they are known.
pub(super) struct Around<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) joined: &'a Joined,
    /// The guest.
    pub(super) guest: &'a TargetId,
    /// Its VM on its host.
    pub(super) vm: Option<&'a EntityId>,
    /// The VM as `esxtop` names it, with its rows.
    pub(super) group: Option<(&'a EntityId, &'a Rows)>,
    /// What VMware Tools say in the guest.
    pub(super) tools: Option<(&'a EntityId, &'a Rows)>,
    /// The host, with its rows.
    pub(super) host: Option<(&'a EntityId, &'a Rows)>,
    /// Ready time from which on a VM is starved, in percent a virtual CPU.
    pub(super) ready_from: f64,
    /// Share of local memory below which it is remote, in percent.
    pub(super) local_below: f64,
    /// Whether the published rule holds.
    pub(super) published: bool,
}

impl Around<'_> {
    fn processors(&self, row: &Row) -> Option<f64> {
        let of_vm = || {
            let count = self.fabric.value(self.vm?, Attribute::ProcessorCount)?.as_count()?;
            u32::try_from(count).ok().map(f64::from)
        };
        row.get(Measure::VmProcessors).or_else(of_vm).filter(|count| *count >= 1.0)
    }

    /// A share of time for each virtual CPU, of a measure that adds them up.
    fn each(&self, row: &Row, measure: Measure) -> Option<f64> {
        Some(row.get(measure)? / self.processors(row)?)
    }

    fn mean_each(&self, rows: &Rows, measure: Measure) -> Option<f64> {
        let values: Vec<f64> =
            rows.iter().rev().take(window::HOST.of).filter_map(|row| self.each(row, measure)).collect();
        // No more than four.
        #[allow(clippy::cast_precision_loss)]
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    pub(super) fn cpu_starved(&self, raised: &mut Raised, work: Work) -> Assessed {
        let Some((group, rows)) = self.group else { return Assessed::unseen(Lack::NotRead) };
        let over = |measure, from: f64| {
            move |row: &Row| self.each(row, measure).map(|value| (value >= from, value >= from / 2.0))
        };
        let ready = window::HOST.look(&mut raised.ready, rows.iter().map(over(Measure::Ready, self.ready_from)));
        let stopped = window::HOST.look(&mut raised.stopped, rows.iter().map(over(Measure::CoStop, STOPPED)));
        let limited = window::HOST.look(&mut raised.limited, rows.iter().map(over(Measure::MaxLimited, LIMITED)));
        let each = |measure| self.mean_each(rows, measure);
        let told = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.1} %"));
        let says = format!(
            "ready {} and co-stop {} of the time a virtual CPU",
            told(each(Measure::Ready)),
            told(each(Measure::CoStop))
        );
        let held: Vec<(Measure, usize, usize)> =
            [(Measure::Ready, ready), (Measure::CoStop, stopped), (Measure::MaxLimited, limited)]
                .into_iter()
                .filter_map(|(measure, seen)| match seen {
                    Seen::Holds(met, of) => Some((measure, met, of)),
                    _ => None,
                })
                .collect();
        if held.is_empty() {
            return match ready {
                Seen::TooFew => Assessed::unseen(Lack::TooFew),
                Seen::Untold => {
                    Assessed::unseen(Lack::Missing("esxtop does not tell the ready time of its VM".to_owned()))
                }
                _ => Assessed::clear(says),
            };
        }
        let mut assessed = Self::weighed(work, says);
        for (measure, met, of) in held {
            let value = told(each(measure));
            assessed = assessed.shown(
                group,
                measure,
                format!("{} {value} a virtual CPU, in {met} of {of} samples", measure.label()),
            );
        }
        if let Some(vm) = self.vm
            && let Some(count) = self.fabric.value(vm, Attribute::ProcessorCount)
        {
            assessed = assessed.read(vm, Attribute::ProcessorCount, format!("{count} virtual CPUs"));
        }
        assessed
    }

    /// A trouble around the GPU is its limit where the GPU works less than it could.
    fn weighed(work: Work, says: String) -> Assessed {
        let limits = work == Work::Low;
        Assessed::holds(limits, if limits { Confidence::Likely } else { Confidence::Possible }, says)
    }

    /// The NUMA node of the host that the GPU is near, by the chain of its function.
    fn node_of_gpu(&self, gpu: &EntityId) -> Option<(u32, EntityId)> {
        let Entity::Gpu(address) = &gpu.entity else { return None };
        let function = EntityId::new(self.guest, Entity::PciFunction(address.clone()));
        let chain = self.joined.chain_of(&function)?;
        let on_host = chain.links.iter().find(|link| link.kind == crate::diagnose::join::LinkKind::FunctionNuma)?;
        match on_host.to.entity {
            Entity::NumaNode(node) => Some((node, on_host.from.clone())),
            _ => None,
        }
    }

    pub(super) fn numa_remote(&self, raised: &mut Raised, gpu: &EntityId, work: Work) -> Assessed {
        let Some((group, rows)) = self.group else { return Assessed::unseen(Lack::NotRead) };
        let below = self.local_below;
        let remote = |row: &Row| row.get(Measure::NumaLocal).map(|local| (local < below, local < below + 10.0));
        let remote = window::HOST.look(&mut raised.remote, rows.iter().map(remote));
        let node = self.node_of_gpu(gpu);
        let away = |row: &Row| {
            let (node, _) = node.as_ref()?;
            let homes = row.get(Measure::HomeNodes).filter(|homes| *homes >= 1.0)?;
            // Bits, whole by their nature; a host has a few nodes.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let is_away = (homes as u64).checked_shr(*node).is_some_and(|rest| rest & 1 == 0);
            Some((is_away, is_away))
        };
        let away = window::HOST.look(&mut raised.away, rows.iter().map(away));
        let local = rows.mean(Measure::NumaLocal, window::HOST.of);
        let local =
            local.map_or("locality is not told".to_owned(), |local| format!("{local:.0} % of its memory is local"));
        match (away, remote) {
            (Seen::Holds(met, of), _) => {
                let (node, function) = node.unwrap_or_else(|| (0, gpu.clone()));
                let says = format!("the VM runs on other NUMA nodes than node {node}, which its GPU is near; {local}");
                Self::weighed(work, says)
                    .shown(
                        group,
                        Measure::HomeNodes,
                        format!("node {node} is no home of the VM in {met} of {of} samples"),
                    )
                    .read(&function, Attribute::NumaNode, format!("its GPU is near node {node}"))
            }
            (_, Seen::Holds(met, of)) => {
                let mut assessed = Self::weighed(work, format!("only {local}")).shown(
                    group,
                    Measure::NumaLocal,
                    format!("{local}, in {met} of {of} samples"),
                );
                if let Some((node, function)) = node {
                    assessed = assessed.read(&function, Attribute::NumaNode, format!("its GPU is near node {node}"));
                } else if let Some((host, _)) = self.host
                    && let Some(count) = self.fabric.value(host, Attribute::NumaNodeCount)
                {
                    assessed = assessed.read(host, Attribute::NumaNodeCount, format!("the host has {count} nodes"));
                }
                assessed
            }
            (_, Seen::TooFew) => Assessed::unseen(Lack::TooFew),
            (Seen::Untold | Seen::TooFew, Seen::Untold) => {
                Assessed::unseen(Lack::Missing("esxtop does not tell the NUMA locality of its VM".to_owned()))
            }
            _ => Assessed::clear(local),
        }
    }

    /// Memory taken from the VM itself, which must have all of it reserved.
    pub(super) fn reservation(&self, raised: &mut Raised, work: Work) -> Assessed {
        let limits = work == Work::Low;
        let mut seen = Vec::new();
        for (place, told) in [self.group, self.tools].into_iter().enumerate() {
            let Some((id, rows)) = told else { continue };
            let taken = |row: &Row| {
                let values: Vec<f64> = [Measure::VmBalloon, Measure::VmSwapped, Measure::VmSwapIn]
                    .into_iter()
                    .filter_map(|measure| row.get(measure))
                    .collect();
                (!values.is_empty()).then(|| values.iter().any(|value| *value > 0.0)).map(|taken| (taken, taken))
            };
            match window::HOST.look(&mut raised.taken[place], rows.iter().map(taken)) {
                Seen::Holds(met, of) => {
                    let balloon = rows.newest(Measure::VmBalloon).unwrap_or_default();
                    let swapped = rows.newest(Measure::VmSwapped).unwrap_or_default();
                    let says = format!("balloon {} MB, swapped {} MB", mebibytes(balloon), mebibytes(swapped));
                    return self.with_reservation(
                        Assessed::holds(limits, Confidence::Proved, says.clone()).grave(true).shown(
                            id,
                            if balloon > 0.0 { Measure::VmBalloon } else { Measure::VmSwapped },
                            format!("{says}, in {met} of {of} samples"),
                        ),
                    );
                }
                other => seen.push(other),
            }
        }
        // What the slow reads of host and guest say holds without any stream.
        let guest = EntityId::new(self.guest, Entity::Guest);
        for id in self.vm.into_iter().chain([&guest]) {
            for attribute in [Attribute::Balloon, Attribute::HostSwap] {
                let value = self.fabric.value(id, attribute).and_then(Value::as_count);
                if let Some(megabytes) = value.filter(|megabytes| *megabytes > 0) {
                    let says = format!("{} {megabytes} MB", attribute.label());
                    return self.with_reservation(
                        Assessed::holds(limits, Confidence::Proved, says.clone()).grave(true).read(id, attribute, says),
                    );
                }
            }
        }
        if seen.contains(&Seen::Clear) {
            return Assessed::clear("no balloon and no swap".to_owned());
        }
        match seen.first() {
            Some(Seen::TooFew) => Assessed::unseen(Lack::TooFew),
            Some(_) => Assessed::unseen(Lack::Missing("balloon and swap of its VM are not told".to_owned())),
            None => Assessed::unseen(Lack::NotRead),
        }
    }

    fn with_reservation(&self, assessed: Assessed) -> Assessed {
        match self.vm {
            Some(vm) => match self.fabric.value(vm, Attribute::MemoryReservation) {
                Some(value) => assessed.read(vm, Attribute::MemoryReservation, format!("{value} MB are reserved")),
                None => assessed,
            },
            None => assessed,
        }
    }

    /// Memory that the host takes from others.
    pub(super) fn memory_pressure(&self, raised: &mut Raised, groups: &BTreeMap<EntityId, Rows>) -> Assessed {
        let Some((host, rows)) = self.host else { return Assessed::unseen(Lack::NotRead) };
        let own = self.group.and_then(|(_, rows)| rows.newest(Measure::VmBalloon)).unwrap_or_default();
        let lost = |row: &Row| row.get(Measure::HostBalloon).map(|all| (all - own).max(0.0));
        let least = rows.iter().filter_map(lost).fold(f64::INFINITY, f64::min);
        let mut before = None;
        let presses = |row: &Row| {
            let (state, lost) = (row.get(Measure::MemoryState), lost(row));
            if self.published {
                let jumped = lost.zip(before).map(|(now, then): (f64, f64)| now - then > PUBLISHED_JUMP);
                before = lost.or(before);
                return jumped.map(|jumped| (jumped, jumped));
            }
            let swaps = [Measure::HostSwapIn, Measure::HostSwapOut].into_iter().filter_map(|measure| row.get(measure));
            let swaps: Vec<f64> = swaps.collect();
            if state.is_none() && lost.is_none() && swaps.is_empty() {
                return None;
            }
            let is_short = state.is_some_and(|state| state >= SOFT);
            let swaps_now = swaps.iter().any(|rate| *rate >= SWAPPING);
            let is_taken = lost.is_some_and(|lost| {
                // A balloon that a limit of its own VM fills for ever says nothing of the host.
                (lost >= NEIGHBOURS_LOST && state.is_none_or(|state| state >= CLEAR)) || lost - least >= TAKEN_NOW
            });
            let any = is_short || swaps_now || is_taken;
            Some((any, any))
        };
        let rule = if self.published { window::Rule { raise: 1, clear: 0, of: 4 } } else { window::HOST };
        let met: Vec<Option<(bool, bool)>> = rows.iter().map(presses).collect();
        let seen = rule.look(&mut raised.pressure, met.into_iter());
        let state = rows.newest(Measure::MemoryState);
        let state =
            state.map_or("memory state not told".to_owned(), |state| format!("memory state {}", state_name(state)));
        let taken = rows.newest(Measure::HostBalloon).map(|all| (all - own).max(0.0));
        let taken = taken.map_or(String::new(), |taken| format!(", {} MB taken from other VMs", mebibytes(taken)));
        let says = format!("{state}{taken}");
        match seen {
            Seen::TooFew => Assessed::unseen(Lack::TooFew),
            Seen::Untold => Assessed::unseen(Lack::Missing("esxtop does not tell the memory of the host".to_owned())),
            Seen::Clear => Assessed::clear(says),
            Seen::Holds(met, of) => {
                let mut assessed = Assessed::holds(false, Confidence::Likely, says.clone()).shown(
                    host,
                    Measure::MemoryState,
                    format!("{says}, in {met} of {of} samples"),
                );
                let swap = rows.newest(Measure::HostSwapIn).filter(|rate| *rate >= SWAPPING);
                if let Some(rate) = swap {
                    assessed = assessed.shown(
                        host,
                        Measure::HostSwapIn,
                        format!("{} MB/s read back from swap", mebibytes(rate)),
                    );
                }
                for (group, lost) in neighbours(groups, &host.target, self.group.map(|(id, _)| id)) {
                    let text = format!("{} lost {} MB to its balloon", group.entity.name(), mebibytes(lost));
                    assessed = assessed.shown(group, Measure::VmBalloon, text);
                }
                if let Some(total) = self.fabric.value(host, Attribute::MemoryTotal).and_then(Value::as_count) {
                    let text = format!("the host has {} MB", total / 1_048_576);
                    assessed = assessed.read(host, Attribute::MemoryTotal, text);
                }
                assessed
            }
        }
    }
}

/// The three neighbours that lost most.
fn neighbours<'a>(
    groups: &'a BTreeMap<EntityId, Rows>,
    host: &TargetId,
    own: Option<&EntityId>,
) -> Vec<(&'a EntityId, f64)> {
    let mut lost: Vec<(&EntityId, f64)> = groups
        .iter()
        .filter(|(id, _)| id.target == *host && Some(*id) != own && matches!(id.entity, Entity::Group(_)))
        .filter_map(|(id, rows)| Some((id, rows.newest(Measure::VmBalloon)?)))
        .filter(|(_, lost)| *lost >= MEBIBYTE)
        .collect();
    lost.sort_by(|one, other| other.1.total_cmp(&one.1));
    lost.truncate(3);
    lost
}

/// The state of a host's memory, as `esxtop` words it.
fn state_name(state: f64) -> &'static str {
    match state {
        state if state < 1.0 => "high",
        state if state < 2.0 => "clear",
        state if state < 3.0 => "soft",
        state if state < 4.0 => "hard",
        _ => "low",
    }
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.0}", bytes / MEBIBYTE)
}
