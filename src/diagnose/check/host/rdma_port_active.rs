//! The RDMA device under PVRDMA adapters is active.

use super::bearing::{UsedUplink, rdma_of, rdma_uplinks, trouble, way, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, PortState, Value};

/// The RDMA device is active.
pub const CHECK: Check = Check {
    id: "host.rdma-port-active",
    title: "The RDMA device under the VMs' adapters is active",
    gate: "uplinks with an RDMA device that PVRDMA adapters or virtual functions of VMs leave by",
    rule: "fails if the state is down or disabled; warns if it is on its way to active; passes if it is active",
    source: Source { text: "ESXCLI Command Reference: esxcli rdma device list", weak: false },
    thresholds: &[],
    explains: &["guest.transport", "vm.host-qualifies", "host.pvrdma-log"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    rdma_uplinks(scene)
        .iter()
        .filter_map(|used| {
            let device = rdma_of(scene, &used.id)?;
            let (host, name, uplink) = (&device.target, device.entity.name(), used.id.entity.name());
            let Some(Value::PortState(state)) = scene.value(&device, Attribute::PortState) else {
                let (lack, why) = why(scene, &device, Attribute::PortState, "esxi.rdma-devices");
                let title = format!("the state of {name} of {host}: {why}");
                return Some(Judged::unknown(&device, lack, title, "esxcli rdma device list"));
            };
            let words = format!("{name} is {state}");
            Some(match state {
                PortState::Active | PortState::ActiveDefer => {
                    Judged::pass(&device, format!("{name} of {host} is active on {uplink}"))
                }
                PortState::Init | PortState::Armed => Judged::warn(
                    &device,
                    Confidence::Proved,
                    format!("{host}: {name} on {uplink} is {state}, not active"),
                    "the adapter is still coming up, or stuck on the way: until it is active it carries no RDMA",
                )
                .shown(&device, Attribute::PortState, words)
                .decided_by("esxcli rdma device list, once more after a minute; then the messages of its driver in vmkernel.log")
                .reaching(way(scene, &used.chains)),
                _ => down(scene, used, &device, &words),
            })
        })
        .collect()
}

/// A device that is down: without a link it cannot be otherwise, with one the driver is stuck.
fn down(scene: &Scene<'_>, used: &UsedUplink<'_>, device: &EntityId, words: &str) -> Judged {
    let (host, uplink) = (&device.target, used.id.entity.name());
    let judged = trouble(
        used.runs,
        device,
        Confidence::Proved,
        format!("{host}: {words}, on {uplink}"),
        "a device that is not active carries no RDMA: PVRDMA to other hosts goes over TCP, or not at all where the uplink has no \
         link"
            .to_owned(),
    )
    .shown(device, Attribute::PortState, words)
    .reaching(way(scene, &used.chains));
    if scene.flag(&used.id, Attribute::Carrier) == Some(false) {
        return judged.shown(&used.id, Attribute::Carrier, format!("{uplink} has no link")).decided_by(format!(
            "bring the link of {uplink} back first (host.uplink-link): its RDMA device follows it"
        ));
    }
    judged.cured_by(
        Cure::on(host, &format!("Take {uplink} down and up again"), Risk::DisruptsRdma, bounce(&uplink))
            .without_undo(
                "the uplink is switched on at the end, as it was before",
                vec![(device.clone(), Attribute::PortState), (used.id.clone(), Attribute::AdminUp)],
            )
            .verified_by(&["host.rdma-port-active"])
            .noting("all traffic of the uplink stands still meanwhile; if it stays down, its driver says why in vmkernel.log"),
    )
}

fn bounce(uplink: &str) -> Vec<Step> {
    ["down", "up"].iter().map(|word| Step::run(&["esxcli", "network", "nic", word, "-n", uplink])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || state("Down  "),
        healthy: || state("Active"),
        // What a firmware of tomorrow may say.
        unclear: || {
            let table = "Name     Driver      MTU   Paired Uplink  Description\n\
                         -------  ----------  ----  -------------  ----------------------------\n\
                         vmrdma0  nmlx5_rdma  4096  vmnic2         MT28908 Family  [ConnectX-6]\n";
            Site::sound().with("esx02", says("esxi.rdma-devices", table))
        },
    };

    fn state(word: &str) -> Site {
        Site::sound().replacing(
            "esx02",
            "esxi.rdma-devices",
            "nmlx5_rdma  Active  4096",
            &format!("nmlx5_rdma  {word}  4096"),
        )
    }

    #[test]
    fn without_a_link_nothing_is_restarted() {
        let with_link = state("Down  ").judge(&CHECK).pop().expect("judged");
        assert_eq!(with_link.cures[0].steps[1].shown(), "esxcli network nic up -n vmnic2");
        let up = "nmlx5_core  Up            Up           100000  Full";
        let none = "nmlx5_core  Up            Down              0  Half";
        let without =
            state("Down  ").replacing("esx02", "esxi.nic-list", up, none).judge(&CHECK).pop().expect("judged");
        assert!(without.cures.is_empty() && without.decide.contains("host.uplink-link"), "{without:#?}");
    }

    #[test]
    fn a_device_on_its_way_is_a_warning_and_an_unused_one_is_nobodys_matter() {
        assert_eq!(state("Init  ").statuses(&CHECK), [Status::Pass, Status::Warn]);
        // vmrdma1 of both hosts is down and carries nothing.
        assert_eq!(Site::sound().statuses(&CHECK), [Status::Pass, Status::Pass]);
    }
}
