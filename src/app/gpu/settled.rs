//! What of GPUs stays for minutes or for ever: links of `NVLink`, MIG instances, processes, errors of memory, states and settings.

use std::collections::BTreeMap;

use super::super::condition::Gravity;
use super::super::table::{Cell, Origin, Row};
use super::{Builder, missing};
use crate::fabric::{Attribute, Entity, EntityId, State, Value};

impl Builder<'_> {
    /// One row a GPU: how many of its links are active, how fast, and with which errors.
    pub(super) fn nvlinks(&self) -> Vec<Row> {
        let mut links: BTreeMap<String, Vec<EntityId>> = BTreeMap::new();
        for link in self.entities(|entity| matches!(entity, Entity::NvLink { .. })) {
            if let Entity::NvLink { gpu, .. } = &link.entity {
                links.entry(gpu.as_str().to_owned()).or_default().push(link);
            }
        }
        let row = |gpu: &EntityId| {
            let links = links.get(&gpu.entity.name())?;
            let is = |link: &&EntityId, wanted: bool| {
                self.model.fabric.value(link, Attribute::NvLinkActive) == Some(&Value::Flag(wanted))
            };
            let active: Vec<&EntityId> = links.iter().filter(|link| is(link, true)).collect();
            let down: Vec<String> = links
                .iter()
                .filter(|link| is(link, false))
                .filter_map(|link| match &link.entity {
                    Entity::NvLink { link, .. } => Some(link.to_string()),
                    _ => None,
                })
                .collect();
            let source = links.first().map(|link| Origin::Reading(link.clone(), Attribute::NvLinkActive));
            let gravity = if active.is_empty() || down.is_empty() { Gravity::Neutral } else { Gravity::Warning };
            let count = Cell { source, ..Cell::said(format!("{} of {} active", active.len(), links.len()), gravity) };
            let speed = active.iter().find_map(|link| self.known(link, Attribute::NvLinkSpeed, "each"));
            let inactive = (!down.is_empty() && !active.is_empty())
                .then(|| Cell::said(format!("not active: {}", down.join(" ")), Gravity::Warning));
            let errors: u64 = links.iter().filter_map(|link| self.count(link, Attribute::NvLinkErrors)).sum();
            let errors = (errors > 0).then(|| Cell::said(format!("{errors} errors"), Gravity::Warning));
            Self::row(gpu, "nvlink", self.label(gpu), self.aged(gpu, vec![Some(count), inactive, speed, errors]))
        };
        self.gpus.iter().filter_map(row).collect()
    }

    /// One row an instance.
    pub(super) fn instances(&self) -> Vec<Row> {
        let row = |id: &EntityId| {
            let Entity::MigInstance { gpu, instance, compute } = &id.entity else { return None };
            let part = compute.map_or_else(String::new, |compute| format!("/{compute}"));
            let label = format!("{} {instance}{part}", self.label_at(gpu.as_str()));
            let cells = vec![
                self.cell(id, Attribute::MigProfile, ""),
                self.known(id, Attribute::MigPlacement, "at"),
                self.known(id, Attribute::GpuMemory, "memory"),
                self.known(id, Attribute::MigUuid, ""),
            ];
            Self::row(id, "mig", label, cells)
        };
        self.entities(|entity| matches!(entity, Entity::MigInstance { .. })).iter().filter_map(row).collect()
    }

    /// One row a process, those with the most memory first.
    pub(super) fn processes(&self) -> Vec<Row> {
        let mut all = self.entities(|entity| matches!(entity, Entity::GpuProcess { .. }));
        all.sort_by_key(|id| std::cmp::Reverse(self.count(id, Attribute::GpuProcessMemory)));
        let row = |id: &EntityId| {
            let Entity::GpuProcess { gpu, process } = &id.entity else { return None };
            let cells =
                vec![self.cell(id, Attribute::GpuProcessName, ""), self.cell(id, Attribute::GpuProcessMemory, "")];
            Self::row(id, "process", format!("{} pid {process}", self.label_at(gpu.as_str())), cells)
        };
        all.iter().filter_map(row).collect()
    }

    /// A flag that is bad news if it is set.
    fn alarm(&self, gpu: &EntityId, attribute: Attribute, words: &str, gravity: Gravity) -> Option<Cell> {
        let is_set = self.model.fabric.value(gpu, attribute) == Some(&Value::Flag(true));
        is_set.then(|| Cell::of(words, gravity, gpu, attribute))
    }

    /// A number that is bad news above zero.
    fn errors_of(&self, gpu: &EntityId, attribute: Attribute, words: &str, gravity: Gravity) -> Option<Cell> {
        let reading = self.model.fabric.reading(gpu, attribute)?;
        match &reading.state {
            State::Known(Value::Count(count)) => {
                let gravity = if *count > 0 { gravity } else { Gravity::Good };
                Some(Cell::of(format!("{words} {count}"), gravity, gpu, attribute))
            }
            state @ State::Failed(_) => Some(Cell::of(
                format!("{words} {}", super::format::state(attribute, state)),
                missing(state),
                gpu,
                attribute,
            )),
            _ => None,
        }
    }

    /// Errors of memory, and what was done about them.
    pub(super) fn errors(&self) -> Vec<Row> {
        use Gravity::{Bad, Neutral, Warning};
        let row = |gpu: &EntityId| {
            let cells = vec![
                self.alarm(gpu, Attribute::RemapFailed, "a row could not be remapped: replace the GPU", Bad),
                self.alarm(gpu, Attribute::RemapPending, "a remapped row waits for a reset", Warning),
                self.alarm(gpu, Attribute::RetirementPending, "a retired page waits for a reboot", Warning),
                self.errors_of(gpu, Attribute::EccUncorrected, "uncorrected", Bad),
                self.errors_of(gpu, Attribute::EccCorrected, "corrected", Neutral),
                self.errors_of(gpu, Attribute::EccUncorrectedEver, "uncorrected ever", Neutral),
                self.errors_of(gpu, Attribute::RemappedUncorrectable, "rows remapped", Neutral),
                self.errors_of(gpu, Attribute::RetiredDoubleBit, "pages retired", Neutral),
            ];
            Self::row(gpu, "errors", self.label(gpu), cells)
        };
        self.gpus.iter().filter_map(row).collect()
    }

    /// What holds the clocks, which state it is in, and what the driver wants done.
    pub(super) fn states(&self) -> Vec<Row> {
        let row = |gpu: &EntityId| {
            let action = self.model.fabric.text(gpu, Attribute::RecoveryAction).filter(|action| *action != "none");
            let action = action.map(|action| {
                Cell::of(format!("driver wants: {action}"), Gravity::Bad, gpu, Attribute::RecoveryAction)
            });
            let health = self.model.fabric.text(gpu, Attribute::GpuHealth).filter(|health| *health != "yes");
            let health = health.map(|health| Cell::of(health.to_owned(), Gravity::Bad, gpu, Attribute::GpuHealth));
            let cells = vec![
                health,
                action,
                self.known(gpu, Attribute::PerformanceState, ""),
                self.known(gpu, Attribute::ClockReasons, "clocks held by"),
                self.known(gpu, Attribute::PcieGenerationMax, "PCIe up to gen"),
                self.known(gpu, Attribute::PcieLanesMax, "lanes up to"),
                self.known(gpu, Attribute::PcieReplays, "replays"),
            ];
            Self::row(gpu, "state", self.label(gpu), self.aged(gpu, cells))
        };
        self.gpus.iter().filter_map(row).collect()
    }

    /// A setting with what it is after the next reset, where that differs.
    fn pending(&self, gpu: &EntityId, now: Attribute, later: Attribute, words: &str) -> Option<Cell> {
        let cell = self.known(gpu, now, words)?;
        let (now_is, later_is) = (self.model.fabric.value(gpu, now), self.model.fabric.value(gpu, later));
        match later_is {
            Some(later_is) if now_is != Some(later_is) => {
                let text = format!("{}, after a reset {}", cell.text, super::format::value(later, later_is));
                Some(Cell { text, gravity: Gravity::Warning, ..cell })
            }
            _ => Some(cell),
        }
    }

    /// Model, modes and limits.
    pub(super) fn settings(&self) -> Vec<Row> {
        let row = |gpu: &EntityId| {
            let memory = self.bytes_of(gpu, Attribute::GpuMemory);
            let cells = vec![
                self.cell(gpu, Attribute::GpuModel, ""),
                memory.map(|text| Cell::of(text, Gravity::Neutral, gpu, Attribute::GpuMemory)),
                self.pending(gpu, Attribute::MigMode, Attribute::MigModePending, "MIG"),
                self.pending(gpu, Attribute::EccMode, Attribute::EccModePending, "ECC"),
                self.known(gpu, Attribute::ComputeMode, "compute"),
                self.known(gpu, Attribute::PersistenceMode, "persistence"),
                self.known(gpu, Attribute::GpuVirtualization, "virtualisation"),
                self.known(gpu, Attribute::PowerLimit, "limit"),
                self.known(gpu, Attribute::PowerLimitMax, "up to"),
                self.known(gpu, Attribute::Vbios, "VBIOS"),
                self.known(gpu, Attribute::GpuUuid, ""),
                Some(Cell::said(gpu.entity.name(), Gravity::Neutral)),
            ];
            Self::row(gpu, "settings", self.label(gpu), cells)
        };
        self.gpus.iter().filter_map(row).collect()
    }

    /// The topology as the driver tells it: in a VM that of virtual bridges, which says nothing of the real one.
    pub(super) fn ways(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut by_first: BTreeMap<String, (EntityId, Vec<Cell>)> = BTreeMap::new();
        for id in self.entities(|entity| matches!(entity, Entity::GpuPath { .. })) {
            let Entity::GpuPath { from, to } = &id.entity else { continue };
            let cell = self.known(&id, Attribute::TopologyLevel, to.as_str()).filter(|_| from != to);
            let entry = by_first.entry(from.as_str().to_owned()).or_insert_with(|| (id.clone(), Vec::new()));
            entry.1.extend(cell);
        }
        for (from, (id, cells)) in by_first {
            rows.extend(Self::row(&id, "ways", from, cells.into_iter().map(Some).collect()));
        }
        rows
    }
}
