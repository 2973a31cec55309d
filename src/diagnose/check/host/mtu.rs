//! What a guest sends must fit through switch and uplink of its host, and the VMkernel adapter must not send more either.

use std::collections::BTreeSet;

use super::bearing::{is_running, switch_of, tagged, trouble, vm_name, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::{Chain, LinkKind};
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// The path is as wide as what is sent.
pub const CHECK: Check = Check {
    id: "host.mtu",
    title: "Switch and uplink of the host let pass what guest and VMkernel send",
    gate: "PVRDMA adapters on a virtual switch; the guest's MTU where the guest is a target",
    rule: "fails if the MTU of the virtual switch or of its uplink is below that of the guest's interface; warns if it is below \
           that of the VMkernel adapter for PVRDMA; passes otherwise",
    source: Source {
        text: "vSphere Networking: MTU of a distributed switch; KB 318971 (health check of VLAN and MTU)",
        weak: false,
    },
    thresholds: &[],
    explains: &[
        "guest.roce-mtu",
        "guest.mtu-pair",
        "guest.retransmits",
        "switch.mtu",
        "guest.transport",
        "host.pvrdma-log",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for chain in scene.pvrdma_chains() {
        let Some(switch) = switch_of(scene, chain) else { continue };
        let judged = of_adapter(scene, chain, switch);
        // Several adapters on one switch: those that pass are told once.
        if judged.status != crate::diagnose::finding::Status::Pass || seen.insert(switch.clone()) {
            found.push(judged);
        }
    }
    found.sort_by(|one, other| one.subject.cmp(&other.subject));
    found
}

fn of_adapter(scene: &Scene<'_>, chain: &Chain, switch: &EntityId) -> Judged {
    let (host, name, vm) = (&switch.target, switch.entity.name(), vm_name(scene, &chain.vm));
    let Some(own) = scene.count(switch, Attribute::Mtu) else {
        let (lack, why) = why(scene, switch, Attribute::Mtu, "esxi.distributed-switches");
        let title = format!("the MTU of {name} on {host}: {why}");
        return Judged::unknown(switch, lack, title, "esxcli network vswitch dvs vmware list");
    };
    let uplink = chain.reaches(|to| matches!(to, Entity::Uplink(_)));
    let narrow =
        uplink.and_then(|uplink| Some((uplink, scene.count(uplink, Attribute::Mtu)?))).filter(|(_, mtu)| *mtu < own);
    let (narrowest, limit) = narrow.map_or((switch, own), |(uplink, mtu)| (uplink, mtu));
    let thing = narrowest.entity.name();
    let netdev = chain
        .links
        .iter()
        .find(|link| link.kind == LinkKind::GuestDevice && matches!(link.from.entity, Entity::Netdev(_)))
        .map(|link| &link.from);
    let sent = netdev.and_then(|netdev| Some((netdev, scene.count(netdev, Attribute::Mtu)?)));
    if let Some((netdev, mtu)) = sent.filter(|(_, mtu)| *mtu > limit) {
        let (guest, interface) = (&netdev.target, netdev.entity.name());
        return trouble(
            is_running(scene, &chain.vm),
            switch,
            Confidence::Proved,
            format!("{host}: {thing} lets {limit} bytes pass, {interface} of {guest} sends {mtu}"),
            format!(
                "the host drops what is longer without a word: small messages and pings work, transfers of {vm} stand still or \
                 time out"
            ),
        )
        .shown(narrowest, Attribute::Mtu, format!("MTU of {thing} is {limit}"))
        .shown(netdev, Attribute::Mtu, format!("MTU of {interface} in {guest} is {mtu}"))
        .cured_by(widen(&name, own.min(limit), mtu, switch))
        .cured_by(
            Cure::on(
                guest,
                &format!("Or lower the MTU of {interface} to {limit}"),
                Risk::DisruptsRdma,
                vec![set_guest(&interface, limit)],
            )
            .undone_by(vec![set_guest(&interface, mtu)], vec![(netdev.clone(), Attribute::Mtu)])
            .verified_by(&["host.mtu", "guest.mtu-pair"])
            .noting("on all guests that talk to each other; set it in the network configuration too, or it is lost at the next start"),
        )
        .reaching(scene.way_of(chain));
    }
    let vmknic =
        tagged(scene, host).filter(|vmknic| scene.text(vmknic, Attribute::OnSwitch).is_some_and(|on| on == name));
    if let Some((vmknic, mtu)) = vmknic
        .and_then(|vmknic| scene.count(&vmknic, Attribute::Mtu).map(|mtu| (vmknic, mtu)))
        .filter(|(_, mtu)| *mtu > limit)
    {
        let adapter = vmknic.entity.name();
        let set = |mtu: u64| {
            let mtu = mtu.to_string();
            vec![Step::run(&["esxcli", "network", "ip", "interface", "set", "-i", &adapter, "-m", &mtu])]
        };
        return Judged::warn(
            switch,
            Confidence::Proved,
            format!("{host}: {adapter}, tagged for PVRDMA, has MTU {mtu}, {thing} only {limit}"),
            "what the hosts say to each other about PVRDMA connections is dropped wherever it fills a whole packet",
        )
        .shown(narrowest, Attribute::Mtu, format!("MTU of {thing} is {limit}"))
        .shown(&vmknic, Attribute::Mtu, format!("MTU of {adapter} is {mtu}"))
        .cured_by(
            Cure::on(host, &format!("Lower the MTU of {adapter} to {limit}"), Risk::DisruptsRdma, set(limit))
                .undone_by(set(mtu), vec![(vmknic.clone(), Attribute::Mtu)])
                .verified_by(&["host.mtu"]),
        )
        .cured_by(widen(&name, own.min(limit), mtu, switch))
        .reaching(scene.way_of(chain));
    }
    match sent {
        Some((_, mtu)) => Judged::pass(switch, format!("{name} on {host} lets {limit} bytes pass, {vm} sends {mtu}")),
        None => Judged::pass(switch, format!("{name} on {host} lets {limit} bytes pass")),
    }
}

fn set_guest(interface: &str, mtu: u64) -> Step {
    Step::run(&["ip", "link", "set", "dev", interface, "mtu", &mtu.to_string()])
}

fn widen(name: &str, old: u64, new: u64, switch: &EntityId) -> Cure {
    let step =
        |mtu: u64| Step::ByHand(format!("vCenter: Networking > {name} > Settings > Edit > Advanced > MTU: {mtu}"));
    Cure::by_hand(&format!("Raise the MTU of {name} to {new}"), vec![step(new)])
        .risking(Risk::DisruptsRdma)
        .undone_by(vec![step(old)], vec![(switch.clone(), Attribute::Mtu)])
        .verified_by(&["host.mtu", "switch.mtu"])
        .noting("for all its hosts at once; the ports of the physical switches first. The uplinks lose their link for a moment")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || switch("   MTU: 1500\n   CDP Status: listen\n   Beacon Timeout: -1\n"),
        healthy: || Site::sound(),
        unclear: || switch("   CDP Status: listen\n   Beacon Timeout: -1\n"),
    };

    fn switch(lines: &str) -> Site {
        Site::sound().replacing(
            "esx02",
            "esxi.distributed-switches",
            "   MTU: 9000\n   CDP Status: listen\n   Beacon Timeout: -1\n",
            lines,
        )
    }

    #[test]
    fn the_switch_is_widened_or_the_guest_lowered() {
        let judged = (SAMPLES.trouble)().judge(&CHECK).pop().expect("judged");
        assert!(judged.title.starts_with("esx02: dvs-rdma lets 1500 bytes pass, "), "{}", judged.title);
        assert!(judged.title.ends_with(" of pv-b sends 9000"), "{}", judged.title);
        let shown = judged.cures[1].steps[0].shown();
        assert!(shown.starts_with("ip link set dev ") && shown.ends_with(" mtu 1500"), "{shown}");
    }

    #[test]
    fn without_the_guest_the_vmkernel_adapter_is_left() {
        let site = (SAMPLES.trouble)().without_target("pv-b");
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Warn]);
    }
}
