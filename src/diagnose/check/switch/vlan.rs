//! The VLAN of the VMs' ports passes the port of the physical switch.

use std::collections::BTreeMap;

use super::cures;
use super::ports::{Wired, list_or_none, missing, system_of, wired};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::LinkKind;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId};
use crate::probe::switch::names::allows;

/// The VLAN passes.
pub const CHECK: Check = Check {
    id: "switch.vlan",
    title: "The switch port lets the VLANs of RDMA adapters pass",
    gate: "ports of switches behind RDMA adapters whose virtual port has one VLAN",
    rule: "fails if the trunk does not allow the VLAN, or the port is an access port while the host tags; passes if it is allowed",
    source: Source {
        text: "vSphere Networking: VLAN Configuration (virtual switch tagging needs a trunk port)",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.neighbour", "guest.transport", "guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// VLANs with which the host tags frames of the adapters behind a port, each with the virtual port that says so.
fn tags(scene: &Scene<'_>, wired: &Wired<'_>) -> BTreeMap<u64, EntityId> {
    let ports =
        wired.chains.iter().flat_map(|chain| chain.links.iter()).filter(|link| link.kind == LinkKind::AdapterPort);
    ports
        .filter_map(|link| {
            let value = scene.value(&link.to, Attribute::VlanId)?.to_string();
            // 0 tags nothing, 4095 and ranges leave tagging to the guest.
            let vlan = value.trim().parse::<u64>().ok().filter(|vlan| (1..4095).contains(vlan))?;
            Some((vlan, link.to.clone()))
        })
        .collect()
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let tags = tags(scene, &wired);
        if tags.is_empty() {
            return None;
        }
        let (port, name) = (&wired.port, wired.name());
        let list: Vec<String> = tags.keys().map(u64::to_string).collect();
        let what = format!("VLAN {}", list.join(", "));
        let mode = scene.text(port, Attribute::PortMode);
        let allowed = list_or_none(scene, port, Attribute::AllowedVlans);
        let native = scene.count(port, Attribute::UntaggedVlan);
        let refused: Vec<(&u64, &EntityId)> = match (mode, allowed) {
            (Some(mode), _) if mode.starts_with("access") => tags.iter().collect(),
            (_, Some(ranges)) => tags.iter().filter(|(vlan, _)| !allows(ranges, **vlan)).collect(),
            (Some(mode), None) if mode.starts_with("routed") => tags.iter().collect(),
            _ => {
                let (lack, why, decide) = missing(scene, &wired, Attribute::AllowedVlans, "switchport");
                return Some(Judged::unknown(port, lack, format!("whether {name} lets {what} pass: {why}"), decide));
            }
        };
        let Some((vlan, virtual_port)) = refused.first() else {
            return Some(Judged::pass(port, format!("{name} lets {what} pass")));
        };
        let system = system_of(scene, &port.target);
        let is_trunk = allowed.is_some();
        let (shows, says) = if is_trunk {
            let ranges: Vec<&str> = allowed.unwrap_or_default().iter().map(crate::fabric::Text::as_str).collect();
            (
                Attribute::AllowedVlans,
                format!(
                    "{} allows {}",
                    port.entity.name(),
                    if ranges.is_empty() { "none".to_owned() } else { ranges.join(", ") }
                ),
            )
        } else {
            (Attribute::PortMode, format!("{} is {}", port.entity.name(), mode.unwrap_or("no trunk")))
        };
        let why = if is_trunk {
            format!("the trunk does not allow VLAN {vlan}")
        } else {
            format!(
                "the host tags frames with VLAN {vlan}, and the port takes untagged ones (VLAN {})",
                native.unwrap_or(1)
            )
        };
        let cure = if is_trunk {
            let (steps, undo) = cures::allow_vlan(system, port, **vlan);
            Cure::on(&port.target, "Allow the VLAN on the trunk", Risk::None, steps)
                .undone_by(undo, vec![(port.clone(), shows)])
        } else {
            let step = format!(
                "{}: make {} a trunk that allows VLAN {vlan}, or set the port group to VLAN 0",
                port.target,
                port.entity.name()
            );
            Cure::by_hand("Make the port a trunk", vec![Step::ByHand(step)]).risking(Risk::DisruptsRdma)
        };
        Some(
            Judged::fail(
                port,
                Confidence::Proved,
                format!("{name} does not let VLAN {vlan} of the RDMA adapters behind {} pass", wired.host()),
                format!("{why}: what the VMs send is dropped at the first switch, and no neighbour answers"),
            )
            .shown(port, shows, says)
            .shown(virtual_port, Attribute::VlanId, format!("{} has VLAN {vlan}", virtual_port.entity))
            .cured_by(cure.verified_by(&["switch.vlan"]))
            .reaching(wired.way(scene)),
        )
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with("trunk", "1,101-200"),
        healthy: || with("trunk", "100"),
        unclear: || Site::sound().with("leaf1", fails("eos.switchport", 1, "Connection timed out")),
    };

    fn with(mode: &str, allowed: &str) -> Site {
        let text = format!(
            "{{\n\"switchports\": {{\n\"Ethernet1\": {{\"enabled\": true, \"switchportInfo\": {{\"mode\": \"trunk\", \"trunkAllowedVlans\": \"ALL\"}}}},\n\
             \"Ethernet2\": {{\"enabled\": true, \"switchportInfo\": {{\"mode\": \"{mode}\", \"accessVlanId\": 20, \"trunkAllowedVlans\": \"{allowed}\"}}}}}}}}\n"
        );
        Site::sound().with("leaf1", crate::diagnose::check::testing::says("eos.switchport", &text))
    }

    #[test]
    fn access_ports_and_lists_of_vlans() {
        for (mode, allowed, status) in [
            ("trunk", "1-4094", Status::Pass),
            ("trunk", "NONE", Status::Fail),
            ("trunk", "99,101", Status::Fail),
            ("access", "1-4094", Status::Fail),
        ] {
            assert_eq!(with(mode, allowed).statuses(&CHECK)[1], status, "{mode} {allowed}");
        }
    }
}
