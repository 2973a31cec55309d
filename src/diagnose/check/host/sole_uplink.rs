//! PVRDMA knows no teaming: the RDMA adapter is the only uplink of the switch.

use super::bearing::{Carrier, carriers, is_empty, rdma_of, uplinks_of, why};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId};

/// The switch has one uplink.
pub const CHECK: Check = Check {
    id: "host.sole-uplink",
    title: "The switch of the PVRDMA adapters has exactly one uplink on the host",
    gate: "hosts with a VM that has a PVRDMA adapter on a virtual switch",
    rule: "fails if the switch has no uplink or several on the host; passes if it has one",
    source: Source { text: "vSphere Networking: PVRDMA Support", weak: false },
    thresholds: &[],
    explains: &["guest.transport", "vm.host-qualifies", "host.rdma-device", "host.pvrdma-log", "guest.neighbour"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let of_host = |carrier: &Carrier<'_>| -> Vec<Judged> {
        carrier.switches.iter().copied().map(|switch| of_switch(scene, carrier, switch)).collect()
    };
    carriers(scene).iter().flat_map(of_host).collect()
}

fn of_switch(scene: &Scene<'_>, carrier: &Carrier<'_>, switch: &EntityId) -> Judged {
    let (host, name) = (carrier.host, switch.entity.name());
    let uplinks = uplinks_of(scene, switch);
    let vms = carrier.names(scene);
    if uplinks.is_empty() && !is_empty(scene, switch, Attribute::Uplinks) {
        let (lack, why) = why(scene, switch, Attribute::Uplinks, "esxi.distributed-switches");
        let title = format!("the uplinks of {name} on {host}: {why}");
        return Judged::unknown(switch, lack, title, "esxcli network vswitch dvs vmware list");
    }
    match &uplinks[..] {
        [one] => Judged::pass(switch, format!("{} is the only uplink of {name} on {host}", one.entity.name())),
        [] => carrier
            .trouble(
                switch,
                Confidence::Proved,
                format!("{host}: {name} has no uplink"),
                format!("the PVRDMA adapters of {vms} are on {name}, and nothing leaves the host from there"),
            )
            .shown(switch, Attribute::Uplinks, format!("{name} lists no uplink"))
            .shown_by(given_away(scene, carrier))
            .cured_by(
                Cure::by_hand(
                    &format!("Give {name} its RDMA adapter as uplink"),
                    vec![Step::ByHand(format!(
                        "vCenter: Networking > {name} > Add and Manage Hosts > Manage host networking > physical adapters of \
                         {host}: assign the RDMA adapter; if it is in passthrough, take it out of it first"
                    ))],
                )
                .verified_by(&["host.sole-uplink", "host.rdma-device"]),
            )
            .reaching(carrier.way(scene)),
        several => {
            let names: Vec<String> = several.iter().map(|uplink| uplink.entity.name()).collect();
            // The one with an RDMA device and a link stays.
            let keep = several
                .iter()
                .find(|uplink| {
                    rdma_of(scene, uplink).is_some() && scene.flag(uplink, Attribute::Carrier) != Some(false)
                })
                .or_else(|| several.iter().find(|uplink| rdma_of(scene, uplink).is_some()))
                .unwrap_or(&several[0])
                .entity
                .name();
            let others: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != keep).collect();
            let by_hand = |what: &str| {
                format!(
                    "vCenter: Networking > {name} > Add and Manage Hosts > Manage host networking > physical adapters of {host}: \
                     {what} {}",
                    others.join(", ")
                )
            };
            carrier
                .trouble(
                    switch,
                    Confidence::Proved,
                    format!("{host}: {name} has {} uplinks ({})", several.len(), names.join(", ")),
                    format!(
                        "PVRDMA works without teaming only: the RDMA adapter has to be the sole uplink of {name}; with several \
                         the host does not do RDMA for {vms}, or not by the adapter that was meant"
                    ),
                )
                .shown(switch, Attribute::Uplinks, format!("{name} lists {}", names.join(", ")))
                .cured_by(
                    Cure::by_hand(
                        &format!("Leave {keep} as the only uplink of {name}"),
                        vec![Step::ByHand(by_hand("unassign"))],
                    )
                    .risking(Risk::DisruptsRdma)
                    .undone_by(vec![Step::ByHand(by_hand("assign again"))], vec![(switch.clone(), Attribute::Uplinks)])
                    .verified_by(&["host.sole-uplink"]),
                )
                .reaching(carrier.way(scene))
        }
    }
}

fn given_away(scene: &Scene<'_>, carrier: &Carrier<'_>) -> Vec<Exhibit> {
    super::passthrough_owner::given_away(scene, carrier.host)
        .into_iter()
        .map(|(function, words)| Exhibit::of(&function, Attribute::CurrentOwner, words))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || uplinks("Uplinks: vmnic2, vmnic3"),
        healthy: || Site::sound(),
        unclear: || Site::sound().replacing("esx02", "esxi.distributed-switches", "   Uplinks: vmnic2\n", ""),
    };

    fn uplinks(line: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.distributed-switches", "Uplinks: vmnic2", line)
    }

    #[test]
    fn none_is_as_bad_as_two() {
        assert_eq!(uplinks("Uplinks:").statuses(&CHECK), [Status::Pass, Status::Fail]);
        let two = uplinks("Uplinks: vmnic3, vmnic2").judge(&CHECK).pop().expect("judged");
        // vmnic3 has no link.
        assert_eq!(two.cures[0].title, "Leave vmnic2 as the only uplink of dvs-rdma");
        assert!(matches!(&two.cures[0].undo[..], [Step::ByHand(words)] if words.ends_with("assign again vmnic3")));
    }

    #[test]
    fn without_the_list_of_switches_there_is_no_switch_to_judge() {
        let site = Site::sound().with("esx02", fails("esxi.distributed-switches", 1, "Connect to localhost failed"));
        assert!(site.judge(&CHECK).iter().all(|judged| judged.status != Status::Fail));
    }
}
