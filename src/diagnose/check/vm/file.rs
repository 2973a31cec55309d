//! The VMX of a VM, and what the rules for such files find in it. The rules are those of `lint`; a check takes those that
//! are its own.

use std::collections::BTreeSet;

use super::machine::Vm;
use crate::diagnose::check::{Exhibit, Lack, Scene};
use crate::diagnose::lint::{Finding, HostView, Rule, Subject, lint_by};
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Text};
use crate::probe::vmx::Dictionary;

/// The file of a VM; why not, where it is not known.
pub(super) fn of(scene: &Scene<'_>, vm: &Vm) -> Result<Dictionary, (Lack, String)> {
    match scene.list(&vm.id, Attribute::VmxLines) {
        Some(lines) => {
            let text: Vec<&str> = lines.iter().map(Text::as_str).collect();
            Ok(Dictionary::parse(text.join("\n").as_bytes()))
        }
        None => Err(scene
            .unread(&vm.host, "esxi.vmx-files")
            .or_else(|| scene.lack(&vm.id, Attribute::VmxLines))
            .unwrap_or_else(|| (Lack::NotObservable, format!("{} does not show the VMX of {}", vm.host, vm.name)))),
    }
}

/// What some of the rules find in it beside this host.
pub(super) fn findings(
    scene: &Scene<'_>,
    vm: &Vm,
    vmx: &Dictionary,
    host: Option<&HostView>,
    wanted: impl Fn(&Rule) -> bool,
) -> Vec<Finding> {
    lint_by(&Subject { vmx, host, snapshots: scene.count(&vm.id, Attribute::SnapshotCount) }, wanted)
}

/// The line of a finding as evidence; the beginning of the file where something is missing in it.
pub(super) fn exhibit(vm: &Vm, finding: &Finding) -> Exhibit {
    let says = match &finding.found.key {
        Some(key) if finding.found.line.is_none() => format!("VMX without {key}"),
        _ => format!("VMX, {}", finding.rule.id),
    };
    let below = finding.found.line.unwrap_or(1).saturating_sub(1);
    Exhibit::of(&vm.id, Attribute::VmxLines, says).below(below)
}

/// The assignments that mend these findings, with the way back. `None` if the rules know none.
pub(super) fn mended(vm: &Vm, vmx: &Dictionary, findings: &[&Finding], title: &str) -> Option<Cure> {
    let mut seen = BTreeSet::new();
    let changes: Vec<&(String, Option<String>)> = findings
        .iter()
        .flat_map(|finding| &finding.found.fix)
        .filter(|(key, _)| seen.insert(key.to_ascii_lowercase()))
        .collect();
    if changes.is_empty() {
        return None;
    }
    let path = "Edit Settings > VM Options > Advanced > Edit Configuration";
    let step = |key: &str, value: Option<&str>| {
        Step::ByHand(match value {
            Some(value) => format!("vCenter: {} > {path}: {} = \"{}\"", vm.name, Text::new(key), Text::new(value)),
            None => format!("vCenter: {} > {path}: take {} out", vm.name, Text::new(key)),
        })
    };
    let mut steps: Vec<Step> = changes.iter().map(|(key, value)| step(key, value.as_deref())).collect();
    if vm.is_on() {
        steps.insert(0, Step::ByHand(format!("shut {} down", vm.name)));
        steps.push(Step::ByHand(format!("start {}", vm.name)));
    }
    let undo = changes.iter().map(|(key, _)| step(key, vmx.value(key))).collect();
    let risk = if vm.is_on() { Risk::RebootsGuest } else { Risk::None };
    Some(Cure::by_hand(title, steps).risking(risk).undone_by(undo, vec![(vm.id.clone(), Attribute::VmxLines)]).noting(
        "without vCenter: the same lines in the VMX while the VM is off, then vim-cmd vmsvc/reload with its number",
    ))
}
