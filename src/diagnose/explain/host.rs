//! What the values of a host mean together: DCB and pause, owners of PCI devices, settings that wait for a reboot, the tags
//! of PVRDMA.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::Line;
use super::{Explained, Fact, Value, host_lines, rdma};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;
use crate::probe::esxi::reboot;

/// True for the name of an advanced setting.
pub(super) fn is_setting(name: &str) -> bool {
    name.split_once('.').is_some_and(|(group, rest)| {
        !group.is_empty()
            && !rest.is_empty()
            && !name.contains(' ')
            && group.chars().all(|c| c.is_ascii_alphanumeric())
            && group.starts_with(|c: char| c.is_ascii_uppercase())
    })
}

/// All conclusions. `of_others` are the lines that something else than a host printed.
pub(super) fn conclude(explained: &mut Explained, lines: &[Line<'_>], of_others: &BTreeSet<u32>) {
    let facts: Vec<Fact> = explained.facts.iter().filter(|fact| !of_others.contains(&fact.line)).cloned().collect();
    let mut found = Vec::new();
    found.extend(dcb(&facts));
    found.extend(pause(&facts));
    found.extend(owners(&facts));
    found.extend(pending(&facts));
    found.extend(tags(&facts));
    found.extend(host_lines::pairs(&facts, lines));
    found.extend(rdma::down(&facts));
    found.extend(host_lines::wiped(lines));
    for finding in found {
        explained.finding(finding);
    }
}

/// The facts of this name with what they are of.
pub(super) fn of<'a>(facts: &'a [Fact], name: &str) -> Vec<(&'a str, &'a Fact)> {
    facts
        .iter()
        .filter_map(|fact| {
            let owner = fact.name.as_str().strip_suffix(name)?.strip_suffix('.')?;
            Some((owner, fact))
        })
        .collect()
}

fn flag(fact: &Fact) -> Option<bool> {
    match fact.state.known()? {
        Value::Flag(flag) => Some(*flag),
        Value::Text(text) if text.to_lowercase().starts_with("true") => Some(true),
        Value::Text(text) if text.to_lowercase().starts_with("false") => Some(false),
        _ => None,
    }
}

/// The value in words; empty if there is none.
pub(super) fn words(fact: &Fact) -> String {
    match fact.state.known() {
        Some(Value::Text(text)) => text.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Flag(flag)) => flag.to_string(),
        None => String::new(),
    }
}

/// Names in a sentence; of very many, the first and how many more there are.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 12;
    match names.len().checked_sub(MOST).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
        None => names.join(", "),
    }
}

pub(super) fn shown(finding: Finding, facts: &[&Fact]) -> Finding {
    facts
        .iter()
        .take(super::MOST_EVIDENCE)
        .fold(finding, |finding, fact| finding.shown(fact.line, &format!("{}: {}", fact.name, words(fact))))
}

/// Adapters of which some negotiate PFC and others do not. Mode and PFC are told apart: one does not prove the other.
fn dcb(facts: &[Fact]) -> Option<Finding> {
    let pfc = of(facts, "pfc-enabled");
    let modes = of(facts, "mode");
    let with: Vec<&str> = pfc.iter().filter(|(_, fact)| flag(fact) == Some(true)).map(|(owner, _)| *owner).collect();
    let without: Vec<&str> =
        pfc.iter().filter(|(_, fact)| flag(fact) == Some(false)).map(|(owner, _)| *owner).collect();
    let cee: Vec<&str> = modes
        .iter()
        .filter(|(_, fact)| {
            let mode = words(fact).to_lowercase();
            mode.find("cee").is_some_and(|cee| mode.find("ieee").is_none_or(|ieee| cee < ieee))
        })
        .map(|(owner, _)| *owner)
        .collect();
    if without.is_empty() {
        return None;
    }
    let mut title = format!("PFC is not in force on {}", listed(&without));
    if !with.is_empty() {
        title.push_str(&format!(", but is on {}", listed(&with)));
    }
    let cause = if cee.is_empty() {
        "Without priority flow control, and without global pause, RoCE loses packets under load. What the adapter and the switch \
         negotiated is not told by this output."
            .to_owned()
    } else {
        format!(
            "{} negotiated DCBX in CEE mode in place of IEEE: a version of DCBX that adapter and switch do not share, so the PFC \
             setting is not applied. Why is not told by this output (firmware, driver or the switch port).",
            listed(&cee)
        )
    };
    let wanted: BTreeSet<&str> = without.iter().copied().collect();
    let evidence: Vec<&Fact> =
        pfc.iter().chain(&modes).filter(|(owner, _)| wanted.contains(owner)).map(|(_, fact)| *fact).collect();
    let finding =
        Finding::new("host.pfc-not-in-force", Status::Warn, Confidence::Possible, &listed(&without), &title, &cause);
    let decide = "Compare firmware, driver and module parameters of the two hosts, and the DCBX version of the two switch ports; then \
                  look which side drops";
    Some(shown(finding.decided_by(decide), &evidence))
}

/// Adapters without global pause, where nothing says that PFC is on instead.
fn pause(facts: &[Fact]) -> Vec<Finding> {
    let (rx, tx) = (of(facts, "pause-rx"), of(facts, "pause-tx"));
    let with = |all: Vec<(&'_ str, &Fact)>, wanted: bool| -> BTreeSet<String> {
        all.into_iter().filter(|(_, fact)| flag(fact) == Some(wanted)).map(|(owner, _)| owner.to_owned()).collect()
    };
    let pfc = with(of(facts, "pfc-enabled"), true);
    let has_pfc = |owner: &str| pfc.contains(owner);
    let pick = |wanted: bool| -> Vec<(&str, &Fact)> {
        let same = with(tx.clone(), wanted);
        rx.iter().filter(|(owner, fact)| flag(fact) == Some(wanted) && same.contains(*owner)).copied().collect()
    };
    let (on, off) = (pick(true), pick(false));
    let off: Vec<(&str, &Fact)> = off.into_iter().filter(|(owner, _)| !has_pfc(owner)).collect();
    let mut found = Vec::new();
    if !off.is_empty() {
        let names: Vec<&str> = off.iter().map(|(owner, _)| *owner).collect();
        let title = format!("Global pause is off on {}", listed(&names));
        let cause = "Drivers differ in their default. For an uplink that carries RDMA, no pause and no PFC means a lossy network; with \
                     PFC on, pause has to be off, and all is well.";
        let finding =
            Finding::new("host.pause-off", Status::Warn, Confidence::Possible, &listed(&names), &title, cause)
                .decided_by(
                    "esxcli network nic dcb status get -n NAME: is PFC enabled there, and does the adapter carry RDMA?",
                );
        let evidence: Vec<&Fact> = off.iter().map(|(_, fact)| *fact).collect();
        found.push(shown(finding, &evidence));
    }
    if !on.is_empty() {
        let names: Vec<&str> = on.iter().map(|(owner, _)| *owner).collect();
        let title = format!("Global pause is on, both ways, on {}", listed(&names));
        let finding = Finding::new(
            "host.pause-on",
            Status::Pass,
            Confidence::Proved,
            &listed(&names),
            &title,
            "Pause and PFC exclude each other.",
        );
        let evidence: Vec<&Fact> = on.iter().map(|(_, fact)| *fact).collect();
        found.push(shown(finding, &evidence));
    }
    found
}

/// PCI devices whose owner in force is not the one that was configured, and those that are passed through: one finding for
/// all devices of which the same is true.
fn owners(facts: &[Fact]) -> Vec<Finding> {
    let current: BTreeMap<&str, &Fact> = of(facts, "current-owner").into_iter().collect();
    let mut groups: Vec<(String, String, Vec<&str>, Vec<&Fact>)> = Vec::new();
    for (device, configured) in of(facts, "configured-owner") {
        let Some(current) = current.get(device) else { continue };
        let (wanted, now) = (words(configured), words(current));
        let in_force = wanted == now && wanted.to_lowercase().contains("passthru");
        if !in_force && !reboot::is_owner_pending(&wanted, &now) {
            continue;
        }
        match groups.iter_mut().find(|(other, then, ..)| *other == wanted && *then == now) {
            Some((_, _, devices, evidence)) => {
                devices.push(device);
                evidence.extend([configured, *current]);
            }
            None => groups.push((wanted, now, vec![device], vec![configured, *current])),
        }
    }
    let finding = |(wanted, now, devices, evidence): (String, String, Vec<&str>, Vec<&Fact>)| {
        let names = listed(&devices);
        let finding = if wanted == now {
            let title = if devices.len() == 1 {
                format!("{names} is passed through, and that is in force")
            } else {
                format!("{names} are passed through, and that is in force")
            };
            let cause = "Configured and current owner are both VM Passthru.";
            Finding::new("host.passthrough-in-force", Status::Pass, Confidence::Proved, &names, &title, cause)
        } else {
            let title = format!("{names}: configured owner {wanted}, current owner {now}");
            let cause = "The change waits for a reboot of the host, or the configured entry is a stale record.";
            Finding::new("host.owner-pending", Status::Warn, Confidence::Likely, &names, &title, cause).decided_by(
                "Has the host started since the change? Compare with `esxcli hardware pci pcipassthru list`",
            )
        };
        shown(finding, &evidence)
    };
    groups.into_iter().map(finding).collect()
}

/// Kernel settings whose configured value is not in force.
fn pending(facts: &[Fact]) -> Option<Finding> {
    let by_name = |title| of(facts, title).into_iter().collect::<BTreeMap<&str, &Fact>>();
    let (runtime, default) = (by_name("runtime"), by_name("default"));
    let (mut names, mut told, mut evidence) = (Vec::new(), Vec::new(), Vec::new());
    for (name, configured) in of(facts, "configured") {
        let default = default.get(name).map(|fact| words(fact));
        let is_flag = flag(configured).is_some();
        let waits =
            |runtime: &&&Fact| reboot::is_pending(&words(configured), &words(runtime), default.as_deref(), is_flag);
        let Some(runtime) = runtime.get(name).filter(waits) else { continue };
        names.push(name);
        told.push(format!("{name}: configured {}, in force {}", words(configured), words(runtime)));
        evidence.extend([configured, *runtime]);
    }
    if names.is_empty() {
        return None;
    }
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let cause = "A kernel setting takes effect when the host starts.";
    let finding =
        Finding::new("host.reboot-pending", Status::Warn, Confidence::Proved, &listed(&names), &listed(&told), cause);
    Some(shown(finding, &evidence))
}

/// The VMkernel adapter for PVRDMA, and its firewall ruleset.
fn tags(facts: &[Fact]) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(fact) = facts.iter().find(|fact| fact.name.eq_ignore_ascii_case("Net.PVRDMAVmknic"))
        && fact.state == State::Empty
    {
        let cause = "That is the default. If a VM on this host has a PVRDMA adapter, the host is not prepared for it: its traffic goes \
                     over TCP in silence. Where no VM uses PVRDMA nothing is wrong.";
        let finding = Finding::new(
            "host.pvrdma-vmknic-empty",
            Status::Info,
            Confidence::Proved,
            "Net.PVRDMAVmknic",
            "No VMkernel adapter is tagged for PVRDMA",
            cause,
        )
        .decided_by("Does a VM of this host have a PVRDMA adapter?")
        .helped_by(
            "Tag the VMkernel adapter and open the firewall ruleset",
            &[
                "esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmkN",
                "esxcli network firewall ruleset set -r pvrdma -e true",
            ],
            "esxcli system settings advanced list -o /Net/PVRDMAVmknic",
        );
        found.push(finding.shown(fact.line, "Net.PVRDMAVmknic is empty"));
    }
    if let Some(fact) =
        facts.iter().find(|fact| fact.name.as_str() == "pvrdma.enabled" || fact.name.ends_with(":pvrdma.enabled"))
        && flag(fact) == Some(false)
    {
        let cause = "PVRDMA talks between hosts over TCP 28250 to 28761 to set up connections; closed is the default.";
        let finding = Finding::new(
            "host.pvrdma-ruleset-closed",
            Status::Warn,
            Confidence::Likely,
            "pvrdma",
            "The firewall ruleset pvrdma is closed",
            cause,
        );
        found.push(shown(finding.decided_by("Does a VM of this host have a PVRDMA adapter?"), &[fact]));
    }
    found
}
