//! What the inventory says of a cable is what the switch hears.

use super::ports::wired;
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::Attribute;

/// Inventory and LLDP agree.
pub const CHECK: Check = Check {
    id: "switch.neighbour",
    title: "The inventory names the switch port that hears the uplink",
    gate: "uplinks with RDMA of VMs for which the inventory names a switch and a port",
    rule: "warns if another port hears the uplink by LLDP; passes if the named port hears it, or none does and the switch lists its neighbours",
    source: Source {
        text: "IEEE 802.1AB; vSphere Networking: Enable Link Layer Discovery Protocol on a vSphere Distributed Switch",
        weak: false,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let declared = wired.cable.declared.as_ref()?;
        let name = format!("{} of {}", declared.entity.name(), declared.target);
        let Some(heard) = &wired.cable.heard else {
            let system = super::ports::system_of(scene, &declared.target);
            let source = system.map(|system| format!("{}.lldp", system.name())).unwrap_or_default();
            let unread = scene.unread(&declared.target, &source);
            return Some(match unread {
                Some((lack, why)) => {
                    let decide = system.map_or_else(String::new, |system| crate::probe::switch::command_for(system, "lldp", &declared.entity.name()));
                    Judged::unknown(declared, lack, format!("whether {} is plugged into {name}: {why}", wired.host()), format!("on {}: {decide}", declared.target))
                }
                None => Judged::pass(declared, format!("{name} hears nobody else than {}", wired.host())),
            });
        };
        if heard == declared {
            return Some(Judged::pass(declared, format!("{name} hears {}", wired.host())));
        }
        let is = format!("{} of {}", heard.entity.name(), heard.target);
        let what = format!("inventory: links of {}: switch {}, port {}", wired.uplink.target, heard.target, heard.entity.name());
        let judged = Judged::warn(
            heard,
            Confidence::Proved,
            format!("{} is plugged into {is}, and the inventory says {name}", wired.host()),
            "the port that hears the uplink is the one that is judged; whoever trusts the inventory changes the wrong port",
        );
        let attribute = [Attribute::NeighbourPort, Attribute::NeighbourChassis, Attribute::NeighbourName]
            .into_iter()
            .find(|attribute| scene.value(heard, *attribute).is_some())
            .unwrap_or(Attribute::NeighbourPort);
        Some(
            judged
                .shown(heard, attribute, format!("{is} hears {}", wired.host()))
                .cured_by(
                    Cure::by_hand("Correct the inventory, or the cable", vec![Step::ByHand(what)])
                        .verified_by(&["switch.neighbour"]),
                )
                .reaching(wired.way(scene)),
        )
    });
    let mut all: Vec<Judged> = judged.collect();
    all.extend(
        scene
            .joined
            .gaps
            .iter()
            .filter(|gap| gap.missing == "switch port" && gap.why.starts_with("the inventory says"))
            .map(|gap| {
                Judged::unknown(
                    &gap.about,
                    Lack::NotObservable,
                    gap.why.clone(),
                    "the configuration file: which port of the switch is it",
                )
            }),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().plugged("esx02", "vmnic2", "leaf1", "Et5"),
        healthy: || Site::sound().plugged("esx02", "vmnic2", "leaf1", "Et2"),
        unclear: || {
            let site = Site::sound().plugged("esx02", "vmnic2", "leaf1", "Et2");
            site.with("leaf1", fails("eos.lldp", 1, "Connection timed out"))
        },
    };

    #[test]
    fn without_a_word_in_the_inventory_there_is_nothing_to_compare() {
        assert_eq!(Site::sound().statuses(&CHECK), []);
        let no_such_port = Site::sound()
            .replacing("leaf1", "eos.lldp", "0c42.a17c.2110", "0c42.a17c.ffff")
            .replacing("leaf1", "eos.lldp", "esx02.lab.example", "other")
            .plugged("esx02", "vmnic2", "leaf1", "Ethernet99");
        assert_eq!(no_such_port.statuses(&CHECK), [Status::Unknown]);
    }
}
