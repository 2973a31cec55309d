//! One host: what is wrong, what differs from the others, then all that is known of it.

use super::super::condition::Gravity;
use super::super::model::Model;
use super::super::table::{Cell, Row, RowKey};
use super::{cell, compare, entity_row, judged, pvrdma, unread};
use crate::diagnose::qualify::Requirement;
use crate::fabric::{Attribute as A, Attribute, Entity, EntityId, State, TargetId};
use crate::probe::esxi::reboot;

/// How many lines of logs are shown: the last ones.
const SHOWN_MESSAGES: usize = 30;

/// The advanced setting that names the VMkernel adapter for PVRDMA.
const PVRDMA_VMKNIC: &str = "/Net/PVRDMAVmknic";

/// All sections of a host.
pub(super) fn sections(model: &Model, host: &TargetId) -> Vec<(String, Vec<Row>)> {
    let of = Of { model, host };
    let named = |entity: &Entity| entity.name();
    let list = |wanted: fn(&Entity) -> bool, first: &[Attribute]| -> Vec<Row> {
        of.entities(wanted).into_iter().filter_map(|id| entity_row(model, &id, named(&id.entity), first, &[])).collect()
    };
    let titled = |title: &str, rows: Vec<Row>| (title.to_owned(), rows);
    vec![
        titled("Attention", of.attention()),
        titled("Differs from other hosts", compare::against_others(model, host)),
        titled("Qualifies for PVRDMA", of.qualification()),
        titled(
            "RDMA devices",
            list(
                |entity| matches!(entity, Entity::RdmaDevice(_) | Entity::RdmaPort { .. }),
                &[A::PortState, A::OperationalState, A::PairedUplink, A::Driver, A::Firmware, A::Speed, A::Mtu],
            ),
        ),
        titled(
            "Uplinks",
            list(
                |entity| matches!(entity, Entity::Uplink(_)),
                &[
                    A::OperationalState,
                    A::Speed,
                    A::Driver,
                    A::DriverVersion,
                    A::Firmware,
                    A::PauseRx,
                    A::PauseTx,
                    A::DcbMode,
                    A::PfcEnabled,
                    A::PfcPriorities,
                ],
            ),
        ),
        titled(
            "Switches and port groups",
            list(
                |entity| matches!(entity, Entity::VirtualSwitch(_) | Entity::PortGroup(_)),
                &[A::SwitchKind, A::Uplinks],
            ),
        ),
        titled(
            "Switch ports",
            list(
                |entity| matches!(entity, Entity::SwitchPort { .. }),
                &[A::PortClient, A::PortLink, A::VlanId, A::ActiveUplinks],
            ),
        ),
        titled(
            "VMkernel adapters",
            list(|entity| matches!(entity, Entity::Vmknic(_)), &[A::Addresses, A::OnSwitch, A::Mtu]),
        ),
        titled("PCI functions", of.functions()),
        titled(
            "Virtual functions",
            list(|entity| matches!(entity, Entity::VirtualFunction { .. }), &[A::VirtualFunctionActive, A::OwnerWorld]),
        ),
        titled("Settings: configured and in force", of.settings()),
        titled("Modules", of.modules()),
        titled("Firewall", list(|entity| matches!(entity, Entity::Ruleset(_)), &[A::RulesetEnabled])),
        titled("Logs", of.messages()),
        titled(
            "This host",
            model
                .fabric
                .readings(&of.id(Entity::Host))
                .into_keys()
                .filter_map(|attribute| of.single(Entity::Host, attribute, attribute.label()))
                .collect(),
        ),
        titled("NUMA nodes", list(|entity| matches!(entity, Entity::NumaNode(_)), &[])),
        titled("Files", list(|entity| matches!(entity, Entity::FileLine { .. }), &[A::FileText])),
        titled("Software", list(|entity| matches!(entity, Entity::Package(_)), &[A::Version])),
        titled("Not read yet", unread::rows(model, host)),
    ]
}

struct Of<'a> {
    model: &'a Model,
    host: &'a TargetId,
}

impl Of<'_> {
    fn id(&self, entity: Entity) -> EntityId {
        EntityId::new(self.host, entity)
    }

    fn entities(&self, wanted: impl Fn(&Entity) -> bool) -> Vec<EntityId> {
        self.model
            .fabric
            .entities(self.host)
            .filter(|entity| wanted(entity))
            .map(|entity| self.id(entity.clone()))
            .collect()
    }

    /// A row of one attribute.
    fn single(&self, entity: Entity, attribute: Attribute, label: &str) -> Option<Row> {
        let cell = cell(self.model, &self.id(entity.clone()), attribute, "")?;
        let key = RowKey::Entity(entity, attribute.name().into());
        Some(Row { key, label: label.to_owned(), cells: vec![cell] })
    }

    /// How the host stands to what PVRDMA needs, as the checks said it; then what its RDMA devices work on.
    fn qualification(&self) -> Vec<Row> {
        let mut rows = super::qualify::of_one(self.model, self.host);
        let setting = self.id(Entity::AdvancedSetting(PVRDMA_VMKNIC.into()));
        if let Some(name) = self.model.fabric.text(&setting, Attribute::SettingValue).filter(|name| !name.is_empty())
            && let Some(row) = rows.iter_mut().find(|row| row.label == Requirement::Tag.name())
        {
            let adapter = self.id(Entity::Vmknic(name.into()));
            let facts = [Attribute::Addresses, Attribute::OnSwitch, Attribute::Mtu];
            let told = facts.into_iter().filter_map(|fact| cell(self.model, &adapter, fact, fact.label()));
            row.cells.extend(told);
        }
        for id in self.entities(|entity| matches!(entity, Entity::RdmaDevice(_))) {
            let cells: Vec<Cell> =
                [Attribute::PairedUplink, Attribute::RoceV1, Attribute::RoceV2, Attribute::RdmaVmknics]
                    .into_iter()
                    .filter_map(|attribute| cell(self.model, &id, attribute, attribute.label()))
                    .collect();
            if !cells.is_empty() {
                let key = RowKey::Entity(id.entity.clone(), "qualifies".into());
                rows.push(Row { key, label: id.entity.name(), cells });
            }
        }
        rows
    }

    /// True if a value is known to be nothing.
    fn is_blank(&self, entity: &Entity, attribute: Attribute) -> bool {
        match self.model.fabric.reading(&self.id(entity.clone()), attribute).map(|reading| &reading.state) {
            Some(State::Empty) => true,
            Some(State::Known(value)) => value.to_string().trim().is_empty(),
            _ => false,
        }
    }

    /// What is wrong, before everything else: what the checks found, then values that are wrong by themselves and of which
    /// no check told.
    fn attention(&self) -> Vec<Row> {
        let judged = judged::of_host(self.model, self.host);
        let is_told = |check: &str| judged.iter().any(|(found, _)| found.check.id == check);
        let is_about = |id: &EntityId| {
            judged.iter().any(|(found, _)| {
                found.judged.subject == *id || found.judged.evidence.iter().any(|exhibit| exhibit.about == *id)
            })
        };
        let mut rows: Vec<Row> = judged.iter().map(|(_, row)| row.clone()).collect();
        rows.extend(pvrdma::of_host(self.model, self.host));
        if !is_told("host.reboot-pending") {
            rows.extend(self.single(Entity::Host, Attribute::RebootPending, "reboot pending").filter(is_grave));
            rows.extend(self.settings().into_iter().filter(is_grave));
            rows.extend(self.functions().into_iter().filter(is_grave));
        }
        for id in self.entities(|entity| matches!(entity, Entity::RdmaDevice(_))).iter().filter(|id| !is_about(id)) {
            let states = [Attribute::PortState, Attribute::OperationalState];
            let cells: Vec<Cell> =
                states.into_iter().filter_map(|attribute| cell(self.model, id, attribute, "")).collect();
            let key = RowKey::Entity(id.entity.clone(), "state".into());
            rows.extend(Some(Row { key, label: id.entity.name(), cells }).filter(is_grave));
        }
        if !is_told("host.management-agent") {
            let tool = self.single(Entity::Host, Attribute::CommandLineTool, Attribute::CommandLineTool.label());
            rows.extend(tool.filter(is_grave));
        }
        if !is_told("host.dcb-mode") {
            for id in self.entities(|entity| matches!(entity, Entity::Uplink(_))) {
                let label = format!("{} {}", id.entity.name(), Attribute::DcbMode.label());
                rows.extend(self.single(id.entity, Attribute::DcbMode, &label).filter(is_grave));
            }
        }
        let grave = self.messages().into_iter().rev().filter(|row| row.gravity() >= Gravity::Bad);
        let is_untold =
            |row: &Row| !matches!(&row.key, RowKey::Entity(entity, _) if is_about(&self.id(entity.clone())));
        rows.extend(grave.filter(is_untold).take(3));
        for row in &mut rows {
            if let RowKey::Entity(_, word) = &mut row.key {
                *word = format!("attention-{word}").into();
            }
        }
        rows
    }

    /// Functions that matter: graphics and network devices, and all that is passed through or waits for a reboot.
    fn functions(&self) -> Vec<Row> {
        self.entities(|entity| matches!(entity, Entity::PciFunction(_)))
            .into_iter()
            .filter(|id| compare::function_matters(self.model, id))
            .filter_map(|id| {
                let first = [
                    Attribute::FunctionKind,
                    Attribute::DeviceName,
                    Attribute::KernelName,
                    Attribute::CurrentOwner,
                    Attribute::PassthroughEnabled,
                    Attribute::NumaNode,
                ];
                let mut row = entity_row(self.model, &id, id.entity.name(), &first, &[Attribute::ConfiguredOwner])?;
                let owner = |attribute| self.model.fabric.text(&id, attribute);
                if let (Some(now), Some(next)) = (owner(Attribute::CurrentOwner), owner(Attribute::ConfiguredOwner))
                    && reboot::is_owner_pending(next, now)
                {
                    let text =
                        format!("owner is {now}, configured is {next}: waits for a reboot, or its record is stale");
                    row.cells.insert(0, Cell::of(text, Gravity::Warning, &id, Attribute::ConfiguredOwner));
                }
                Some(row)
            })
            .collect()
    }

    /// Settings, those first whose configured value is not the one in force.
    fn settings(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self
            .entities(|entity| matches!(entity, Entity::KernelSetting(_) | Entity::AdvancedSetting(_)))
            .into_iter()
            .filter_map(|id| {
                let value = |attribute| self.model.fabric.value(&id, attribute);
                let text = |attribute| value(attribute).map(ToString::to_string);
                let (set, runs) = (text(Attribute::SettingValue), text(Attribute::SettingRuntime));
                let default = text(Attribute::SettingDefault);
                let is_flag = value(Attribute::SettingValue).is_some_and(|value| value.as_flag().is_some());
                let mut cells = Vec::new();
                cells.extend(cell(self.model, &id, Attribute::SettingValue, ""));
                match (&set, &runs) {
                    (Some(set), Some(runs)) if reboot::is_pending(set, runs, default.as_deref(), is_flag) => cells
                        .insert(
                            0,
                            Cell::of(
                                format!("configured {set}, in force {runs}: waits for a reboot"),
                                Gravity::Warning,
                                &id,
                                Attribute::SettingRuntime,
                            ),
                        ),
                    (_, Some(_)) => cells.extend(cell(self.model, &id, Attribute::SettingRuntime, "in force")),
                    _ => {}
                }
                cells.extend(cell(self.model, &id, Attribute::SettingDefault, "default"));
                let key = RowKey::Entity(id.entity.clone(), "setting".into());
                (!cells.is_empty()).then(|| Row { key, label: id.entity.name(), cells })
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.gravity()));
        rows
    }

    /// Modules, with the whole option string and the parameters that are set.
    fn modules(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for id in self.entities(|entity| matches!(entity, Entity::Module(_))) {
            let first =
                [Attribute::Version, Attribute::ModuleLoaded, Attribute::ModuleEnabled, Attribute::ModuleOptions];
            rows.extend(entity_row(self.model, &id, id.entity.name(), &first, &[]));
            let Entity::Module(module) = &id.entity else { continue };
            for parameter in
                self.entities(|entity| matches!(entity, Entity::ModuleParameter { module: of, .. } if of == module))
            {
                if self.is_blank(&parameter.entity, Attribute::ParameterValue) {
                    continue;
                }
                let Entity::ModuleParameter { name, .. } = &parameter.entity else { continue };
                rows.extend(self.single(parameter.entity.clone(), Attribute::ParameterValue, &format!("  {name}")));
            }
        }
        rows
    }

    /// Lines of logs that matter, the last ones.
    fn messages(&self) -> Vec<Row> {
        let mut messages =
            self.entities(|entity| matches!(entity, Entity::LogMessage { .. } | Entity::KernelMessage { .. }));
        // Of several logs: by time, whatever file they stand in.
        messages.sort_by_key(|id| match &id.entity {
            Entity::LogMessage { stamp, ordinal, .. } | Entity::KernelMessage { stamp, ordinal } => (*stamp, *ordinal),
            _ => (0, 0),
        });
        let skipped = messages.len().saturating_sub(SHOWN_MESSAGES);
        messages
            .into_iter()
            .skip(skipped)
            .filter_map(|id| {
                let label = match &id.entity {
                    Entity::LogMessage { stamp, .. } if *stamp > 0 => i64::try_from(*stamp)
                        .ok()
                        .and_then(|stamp| crate::fabric::Timestamp::from_microsecond(stamp).ok())
                        .map_or_else(|| "-".to_owned(), |at| at.strftime("%m-%d %H:%M:%S").to_string()),
                    _ => "-".to_owned(),
                };
                let first = [Attribute::Severity, Attribute::Message];
                let mut row = entity_row(self.model, &id, label, &first, &[])?;
                if let Some(message) = row.cells.get_mut(1) {
                    message.text = message.text.trim_start_matches("message ").to_owned();
                }
                Some(row)
            })
            .collect()
    }
}

fn is_grave(row: &Row) -> bool {
    row.gravity() >= Gravity::Warning
}
