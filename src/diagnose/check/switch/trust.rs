//! The port sorts arriving frames by the marking that the host sets.

use super::cures;
use super::ports::{missing, system_of, wired, with_attribute};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, Entity, EntityId, Text};
use crate::probe::switch::SwitchSystem;

/// The marking is believed.
pub const CHECK: Check = Check {
    id: "switch.trust",
    title: "The switch port believes the marking that the host sets",
    gate: "ports with PFC on into which uplinks with RDMA of VMs are plugged, on systems that set trust by port",
    rule: "fails if the port believes no marking, or another one than the driver of the uplink sorts by; passes otherwise",
    source: Source {
        text: "Arista EOS manual: Quality of Service, trust modes; nmlx5_core module parameter trust_state",
        weak: false,
    },
    thresholds: &[],
    explains: &["switch.drops", "host.pause-drops", "guest.retransmits", "guest.packet-loss"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// What the driver of an uplink sorts by, where it is one that says it: 2 of `trust_state` is DSCP, 1 is the priority in the
/// VLAN tag.
fn sorts_by(scene: &Scene<'_>, uplink: &EntityId) -> Option<(&'static str, EntityId)> {
    let driver = scene.text(uplink, Attribute::Driver)?;
    let id = EntityId::new(
        &uplink.target,
        Entity::ModuleParameter { module: Text::new(driver), name: Text::new("trust_state") },
    );
    match scene.value(&id, Attribute::ParameterValue)?.to_string().trim() {
        "2" => Some(("dscp", id)),
        "1" => Some(("cos", id)),
        _ => None,
    }
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, name) = (&wired.port, wired.name());
        if scene.flag(&wired.pfc(scene), Attribute::PfcEnabled) != Some(true) {
            return None;
        }
        let system = system_of(scene, &port.target);
        let Some(about) = with_attribute(scene, &wired, Attribute::TrustedMarking) else {
            // The others sort by maps and policies, and have no such setting.
            if !matches!(system, Some(SwitchSystem::Eos)) {
                return None;
            }
            let (lack, why, decide) = missing(scene, &wired, Attribute::TrustedMarking, "trust");
            return Some(Judged::unknown(port, lack, format!("which marking {name} believes: {why}"), decide));
        };
        let trusted = scene.text(&about, Attribute::TrustedMarking)?.to_ascii_lowercase();
        let host = sorts_by(scene, &wired.uplink);
        let wanted = host.as_ref().map_or("dscp", |(wanted, _)| *wanted);
        let believes = |marking: &str| {
            trusted.contains(marking) || (marking == "cos" && trusted.contains("pcp")) || trusted == "both" || trusted == "l2,l3"
        };
        let is_none = trusted == "none" || trusted == "port";
        if !is_none && (host.is_none() || believes(wanted)) {
            return Some(Judged::pass(port, format!("{name} believes {trusted}")));
        }
        let (steps, undo) = cures::trust(system, port, wanted, &trusted);
        let (title, cause) = if is_none {
            (
                format!("{name} believes no marking"),
                "all frames fall into the default class, whatever the host marks: RDMA is not in the lossless class and is dropped \
                 when buffers fill"
                    .to_owned(),
            )
        } else {
            (
                format!("{name} sorts by {}, {} marks by {}", trusted.to_uppercase(), wired.host(), wanted.to_uppercase()),
                format!(
                    "frames without the {} that the port looks for fall into the default class: RDMA is not in the lossless class",
                    if wanted == "dscp" { "priority in a VLAN tag" } else { "DSCP" }
                ),
            )
        };
        let mut judged = Judged::fail(port, Confidence::Likely, title, cause)
            .shown(&about, Attribute::TrustedMarking, format!("{}: trusts {trusted}", port.entity.name()))
            .shown(&wired.pfc(scene), Attribute::PfcEnabled, format!("{}: PFC is on", port.entity.name()));
        if let Some((_, parameter)) = &host {
            judged = judged.shown(parameter, Attribute::ParameterValue, format!("{}: sorts by {wanted}", wired.host()));
        }
        Some(
            judged
                .cured_by(
                    Cure::on(&port.target, "Believe the marking of the host", Risk::None, steps)
                        .undone_by(undo, vec![(about.clone(), Attribute::TrustedMarking)])
                        .verified_by(&["switch.trust"]),
                )
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
        trouble: || with("UNTRUSTED"),
        healthy: || with("DSCP"),
        unclear: || Site::sound().with("leaf1", fails("eos.trust", 1, "Connection timed out")),
    };

    fn with(trust: &str) -> Site {
        Site::sound().replacing("leaf1", "eos.trust", "Ethernet2          DSCP", &format!("Ethernet2          {trust}"))
    }

    #[test]
    fn the_other_marking_is_the_wrong_one() {
        let judged = with("COS").judge(&CHECK);
        assert_eq!(judged[1].status, Status::Fail);
        assert!(judged[1].title.contains("COS") && judged[1].title.contains("DSCP"), "{}", judged[1].title);
        // A driver that does not say what it sorts by claims nothing.
        let silent = with("COS").without("esx02", "esxi.module-parameters");
        assert!(!silent.statuses(&CHECK).contains(&Status::Fail));
    }
}
