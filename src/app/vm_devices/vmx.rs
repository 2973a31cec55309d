//! The VMX of a VM as it was read on its host: its lines, with what the rules find at each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::condition::Gravity;
use super::super::model::Model;
use super::super::table::{Cell, Origin, Row, RowKey};
use crate::diagnose::lint::{Finding, HostView, PowerOn, Severity, Subject, Verdict, lint};
use crate::fabric::{Attribute, Entity, EntityId, Observation, SourceId, Value};
use crate::probe::esxi::each::items;
use crate::probe::esxi::{VMX_FILES, path_of, tail_of};
use crate::probe::vmx::Dictionary;

/// The file, within what was read of all VMs of the host.
#[derive(Clone, Debug)]
pub(super) struct File {
    observation: Arc<Observation>,
    /// Lines of output before the first one of the file.
    before: u32,
    text: String,
}

/// A path as the shell of the host knows it: `[ds] vm/vm.vmx` is `/vmfs/volumes/ds/vm/vm.vmx`.
fn path(text: &str) -> String {
    path_of(text).unwrap_or_else(|| text.trim().to_owned())
}

impl File {
    /// The file of a VM, if it was read and is still at hand.
    pub(super) fn of(model: &Model, vm: &EntityId) -> Option<Self> {
        let wanted = path(model.fabric.text(vm, Attribute::VmxPath)?);
        let observation = model.raw.newest(&vm.target, &SourceId::new(VMX_FILES))?.clone();
        let (items, _) = items(&observation);
        let found = items
            .iter()
            .find(|item| path(item.name) == wanted)
            .or_else(|| items.iter().find(|item| tail_of(item.name) == tail_of(&wanted)))?;
        let (before, text) = (found.first.saturating_sub(1), found.output.to_owned());
        Some(Self { observation, before, text })
    }

    /// What would happen at power-on, and what the rules find.
    pub(super) fn findings(&self, model: &Model, vm: &EntityId) -> Vec<Shown> {
        let dictionary = Dictionary::parse(self.text.as_bytes());
        let host = HostView::of(&model.fabric, &vm.target);
        let snapshots = model.fabric.value(vm, Attribute::SnapshotCount).and_then(Value::as_count);
        let subject = Subject { vmx: &dictionary, host: host.as_ref(), snapshots };
        let findings = lint(&subject);
        let power_on = self.power_on(vm, &PowerOn::of(&subject, &findings));
        std::iter::once(power_on).chain(findings.iter().map(|finding| self.shown(vm, finding))).collect()
    }

    fn power_on(&self, vm: &EntityId, power_on: &PowerOn) -> Shown {
        let gravity = if power_on.verdict == Verdict::Fails { Gravity::Bad } else { Gravity::Neutral };
        let text = format!("power-on: {}: {}", power_on.verdict.name(), power_on.reason);
        let cell = Cell { text, gravity, source: Some(self.origin(0)) };
        Shown { entity: vm.entity.clone(), line: None, label: "VMX".to_owned(), cell }
    }

    fn shown(&self, vm: &EntityId, finding: &Finding) -> Shown {
        let found = &finding.found;
        let fails = found.power_on_fails.as_ref().map(|why| format!("; power-on fails: {why}")).unwrap_or_default();
        Shown {
            entity: vm.entity.clone(),
            line: found.line,
            label: match (&found.line, &found.key) {
                (Some(line), _) => format!("VMX line {line}"),
                (None, Some(key)) => key.clone(),
                (None, None) => "VMX".to_owned(),
            },
            cell: Cell {
                text: format!("{} ({}){fails}", found.message, finding.rule.id),
                gravity: match finding.rule.severity {
                    Severity::Error => Gravity::Bad,
                    Severity::Warning => Gravity::Warning,
                    Severity::Info => Gravity::Neutral,
                },
                source: Some(self.origin(found.line.unwrap_or(0))),
            },
        }
    }

    /// Where a line of the file stands in what was read.
    fn origin(&self, line: u32) -> Origin {
        Origin::Line(self.observation.reference(), self.before + line)
    }

    /// Its lines, each with the findings at it; what is said of no line comes first.
    pub(super) fn rows(&self, model: &Model, vm: &EntityId, findings: &[Shown]) -> Vec<Row> {
        let mut at: BTreeMap<u32, Vec<&Shown>> = BTreeMap::new();
        for finding in findings {
            at.entry(finding.line.unwrap_or(0)).or_default().push(finding);
        }
        let row = |number: u32, label: String, cells: Vec<Cell>| Row {
            key: RowKey::Entity(vm.entity.clone(), format!("vmx-{number}").into()),
            label,
            cells,
        };
        let of = |number: u32| {
            at.get(&number).into_iter().flatten().map(|finding| finding.cell.clone()).map(|mut cell| {
                cell.text = format!("← {}", cell.text);
                cell
            })
        };
        let old = super::super::host_binding::age(self.observation.at, model.now);
        let mut rows = Vec::new();
        let read = Cell {
            text: format!("{} lines{old}", self.text.lines().count()),
            gravity: Gravity::Neutral,
            source: Some(self.origin(0)),
        };
        rows.push(row(0, "read".to_owned(), [read].into_iter().chain(of(0)).collect()));
        for (number, line) in (1u32..).zip(self.text.lines()) {
            let text = crate::fabric::text::clean_line(line);
            let cell = Cell { text, gravity: Gravity::Neutral, source: Some(self.origin(number)) };
            rows.push(row(number, number.to_string(), [cell].into_iter().chain(of(number)).collect()));
        }
        rows
    }
}

/// A finding as it is drawn.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    entity: Entity,
    line: Option<u32>,
    label: String,
    cell: Cell,
}

/// Findings that are worth a look before everything else.
pub(super) fn attention(findings: &[Shown]) -> Vec<Row> {
    findings
        .iter()
        .filter(|finding| finding.cell.gravity >= Gravity::Warning)
        .map(|finding| Row {
            key: RowKey::Entity(finding.entity.clone(), "finding".into()),
            label: finding.label.clone(),
            cells: vec![finding.cell.clone()],
        })
        .collect()
}
