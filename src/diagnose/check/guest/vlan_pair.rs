//! Two guests reach each other on the wire only if what they send leaves their hosts in the same VLAN.

use crate::diagnose::check::{Check, Exhibit, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::Chain;
use crate::diagnose::path::{End, Vlan, ends, vlan_of};
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// The adapters of a pair are in one VLAN.
pub const CHECK: Check = Check {
    id: "guest.vlan-pair",
    title: "The adapters of two guests that talk to each other are in the same VLAN",
    gate: "pairs of guests whose adapters are on virtual switches",
    rule: "fails if the VLANs of the two ports differ (where a port is a trunk: that which the guest tags); passes if they are \
           the same",
    source: Source { text: "vSphere Networking: VLAN Configuration", weak: false },
    thresholds: &[],
    explains: &["guest.neighbour", "guest.queue-pairs", "guest.packet-loss"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene
        .pairs
        .iter()
        .filter_map(|(one, other)| {
            let (one, other) = ends(scene, one, other);
            Some(judge_pair(scene, &one, &other, port_of(one.chain?)?, port_of(other.chain?)?))
        })
        .collect()
}

fn port_of(chain: &Chain) -> Option<&EntityId> {
    chain.reaches(|entity| matches!(entity, Entity::SwitchPort { .. } | Entity::PortGroup(_)))
}

fn judge_pair(
    scene: &Scene<'_>,
    one: &End<'_>,
    other: &End<'_>,
    first_port: &EntityId,
    second_port: &EntityId,
) -> Judged {
    let way = || one.chain.into_iter().chain(other.chain).flat_map(|chain| scene.way_of(chain));
    let (first, second) = (vlan_of(scene, one), vlan_of(scene, other));
    let (Some((first, by_first)), Some((second, by_second))) = (&first, &second) else {
        let (guest, port) = if first.is_none() { (one, first_port) } else { (other, second_port) };
        let (lack, why) = scene
            .lack(port, Attribute::VlanId)
            .unwrap_or((Lack::NotObservable, "its VLAN is not worded as one that is known".to_owned()));
        let title = format!("the VLAN of the adapter of {} is not known: {why}", guest.guest);
        let decide = format!("net-dvs -l on {}, or vCenter: the port group of the adapter", port.target);
        return Judged::unknown(second_port, lack, title, decide).reaching(way());
    };
    match first.meets(second) {
        Some(true) => Judged::pass(second_port, format!("{} and {} are in VLAN {first}", one.guest, other.guest)),
        None => {
            let (guest, vlan) = if matches!(first, Vlan::Trunk(_)) { (one, first) } else { (other, second) };
            let title = format!("the port of {} is a {vlan}, and the guest does not tag on it", guest.guest);
            let decide = format!("ip -d link show on {}: which VLAN carries the traffic", guest.guest);
            Judged::unknown(second_port, Lack::NotObservable, title, decide).reaching(way())
        }
        Some(false) => {
            let shown = |(about, attribute): &(EntityId, Attribute), guest: &End<'_>, vlan: &Vlan| {
                Exhibit::of(about, *attribute, format!("{} sends in VLAN {vlan}", guest.guest))
            };
            let group = |port: &EntityId| {
                scene
                    .text(port, Attribute::PortGroupKey)
                    .map(|key| scene.declared.port_group(key).unwrap_or(key).to_owned())
            };
            let which = group(second_port).map_or_else(String::new, |group| format!(" ({group})"));
            let step = format!(
                "vCenter: Networking > the port group of {}{which} > Edit Settings > VLAN: {first}, or move its adapter to a port \
                 group of VLAN {first}",
                other.guest
            );
            let undo = format!("vCenter: set the VLAN of that port group back to {second}");
            let cure = Cure::by_hand("Put both adapters into one VLAN", vec![Step::ByHand(step)])
                .risking(Risk::DisruptsRdma)
                .undone_by(vec![Step::ByHand(undo)], vec![(second_port.clone(), Attribute::VlanId)])
                .verified_by(&["guest.vlan-pair"])
                .noting("which of the two is the wrong one only its administrator knows");
            Judged::fail(
                second_port,
                Confidence::Proved,
                format!("{} is in VLAN {first} and {} in VLAN {second}", one.guest, other.guest),
                "frames of one VLAN do not reach the other: the ports stay ACTIVE, and neighbours are not resolved or \
                 connections end in time-outs",
            )
            .shown_by([shown(by_first, one, first), shown(by_second, other, second)])
            .cured_by(cure)
            .reaching(way())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::without_rdma;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    /// Port 17 of esx02 carries pv-b; that its VLAN differs shows at this port alone.
    fn moved_to(vlan: &str) -> Site {
        let site = Site::sound();
        let list = site.printed("esx02", "esxi.net-dvs-list");
        let (before, after) = list.split_once("\tport 17:").expect("the port of pv-b");
        let after = after.replace("VLAN 100", vlan);
        let text = format!("{before}\tport 17:{after}");
        site.with("esx02", crate::diagnose::check::testing::says("esxi.net-dvs-list", &text))
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || moved_to("VLAN 200"),
        healthy: Site::sound,
        unclear: || Site::sound().with("esx02", fails("esxi.net-dvs-list", 127, "sh: net-dvs: not found")),
    };

    #[test]
    fn a_trunk_on_which_the_guest_does_not_tag_leaves_it_open() {
        assert_eq!(moved_to("Guest VLAN tagging").statuses(&CHECK), [Status::Unknown]);
        assert_eq!(moved_to("VLAN 0").statuses(&CHECK), [Status::Fail]);
    }

    #[test]
    fn an_adapter_without_a_driver_is_judged_all_the_same() {
        let gone = without_rdma(moved_to("VLAN 200"), "pv-b");
        assert_eq!(gone.statuses(&CHECK), [Status::Fail]);
        assert_eq!(without_rdma(Site::sound(), "pv-b").statuses(&CHECK), [Status::Pass]);
    }

    #[test]
    fn a_pair_without_virtual_switches_is_not_judged() {
        assert_eq!(Site::new().pair("a", "b").statuses(&CHECK), []);
        assert_eq!(Site::sound().statuses(&CHECK).len(), 1, "the passed-through pair has no port");
    }
}
