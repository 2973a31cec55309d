//! The uplink that RDMA of VMs leaves by has a link.

use super::bearing::{names, rdma_uplinks, trouble, way, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::Attribute;

/// The uplink is up.
pub const CHECK: Check = Check {
    id: "host.uplink-link",
    title: "The uplink under the VMs' RDMA adapters has a link",
    gate: "uplinks that PVRDMA adapters or virtual functions of VMs leave by",
    rule: "fails if the uplink is taken down or has no link; passes if it has one",
    source: Source { text: "ESXCLI Command Reference: esxcli network nic list", weak: false },
    thresholds: &[],
    explains: &[
        "host.rdma-port-active",
        "guest.transport",
        "guest.neighbour",
        "guest.port-active",
        "guest.netdev-up",
        "guest.vf-state",
        "host.pvrdma-log",
        "host.device-log",
        "host.link-flaps",
        "switch.interface-up",
        "vm.host-qualifies",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    rdma_uplinks(scene)
        .iter()
        .map(|used| {
            let (id, host, name) = (&used.id, &used.id.target, used.id.entity.name());
            let vms = names(scene, &used.chains);
            if scene.flag(id, Attribute::AdminUp) == Some(false) {
                let set = |word: &str| vec![Step::run(&["esxcli", "network", "nic", word, "-n", &name])];
                return trouble(
                    used.runs,
                    id,
                    Confidence::Proved,
                    format!("{host}: {name} is taken down"),
                    format!("somebody switched the uplink off on the host: nothing of {vms} leaves by it"),
                )
                .shown(id, Attribute::AdminUp, format!("admin status of {name} is down"))
                .cured_by(
                    Cure::on(host, &format!("Take {name} up"), Risk::None, set("up"))
                        .undone_by(set("down"), vec![(id.clone(), Attribute::AdminUp)])
                        .verified_by(&["host.uplink-link"]),
                )
                .reaching(way(scene, &used.chains));
            }
            match scene.flag(id, Attribute::Carrier) {
                Some(true) => Judged::pass(id, format!("{name} of {host} has a link")),
                Some(false) => trouble(
                    used.runs,
                    id,
                    Confidence::Proved,
                    format!("{host}: {name} has no link"),
                    format!(
                        "nothing of {vms} reaches another host: a cable, a transceiver, or the port of the switch that is shut \
                         down. In a guest with PVRDMA the port stays ACTIVE all the same"
                    ),
                )
                .shown(id, Attribute::Carrier, format!("link status of {name} is down"))
                .cured_by(
                    Cure::by_hand(
                        "Bring the link back",
                        vec![Step::ByHand(format!(
                            "look at the port of the switch that {name} is plugged into (shut down, error-disabled, another \
                             speed or FEC), then at cable and transceiver"
                        ))],
                    )
                    .verified_by(&["host.uplink-link", "host.rdma-port-active"]),
                )
                .reaching(way(scene, &used.chains)),
                None => {
                    let (lack, why) = why(scene, id, Attribute::Carrier, "esxi.nic-list");
                    let title = format!("the link of {name} of {host}: {why}");
                    Judged::unknown(id, lack, title, "esxcli network nic list")
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    const UP: &str = "vmnic2  0000:5e:00.0  nmlx5_core  Up            Up           100000  Full";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || link("vmnic2  0000:5e:00.0  nmlx5_core  Up            Down              0  Half"),
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.nic-list", 1, "Connect to localhost failed")),
    };

    fn link(row: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.nic-list", UP, row)
    }

    #[test]
    fn taken_down_by_hand_is_taken_up_by_a_command() {
        let site = link("vmnic2  0000:5e:00.0  nmlx5_core  Down          Down              0  Half");
        let judged = site.judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.cures[0].steps[0].shown(), "esxcli network nic up -n vmnic2");
        assert_eq!(judged.cures[0].undo[0].shown(), "esxcli network nic down -n vmnic2");
    }

    #[test]
    fn an_uplink_that_carries_no_rdma_may_be_down() {
        // vmnic1 and vmnic3 of both hosts have no link.
        assert_eq!(Site::sound().statuses(&CHECK), [Status::Pass, Status::Pass]);
    }
}
