//! The VMkernel adapters for PVRDMA of two hosts speak to each other over TCP: each needs an address, and one that the other
//! reaches.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::bearing::{Carrier, alike, carriers, is_empty, tagged, way, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId};

/// The tagged adapter can be reached.
pub const CHECK: Check = Check {
    id: "host.pvrdma-vmknic-address",
    title: "The VMkernel adapters for PVRDMA have addresses in one subnet",
    gate: "hosts with a VM that has a PVRDMA adapter, and a VMkernel adapter that is tagged for PVRDMA",
    rule: "fails if the tagged adapter has no IPv4 address, is disabled, or has the address of another host; warns if hosts \
           with PVRDMA adapters are in different subnets; passes otherwise",
    source: Source { text: "vSphere Networking: Tag a VMkernel Adapter for PVRDMA", weak: false },
    thresholds: &[],
    explains: &["guest.transport", "vm.host-qualifies", "host.pvrdma-log"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let carriers = carriers(scene);
    let tagged: Vec<(&Carrier<'_>, EntityId)> =
        carriers.iter().filter_map(|carrier| Some((carrier, tagged(scene, carrier.host)?))).collect();
    let subnets: Vec<(EntityId, String)> =
        tagged.iter().filter_map(|(_, vmknic)| Some((vmknic.clone(), subnet(first(scene, vmknic)?)?))).collect();
    let apart: BTreeMap<&EntityId, &(EntityId, String)> =
        alike(&subnets).map(|alike| alike.odd.iter().map(|(id, _)| (id, alike.model)).collect()).unwrap_or_default();
    let twin = |vmknic: &EntityId| {
        let own = address(first(scene, vmknic)?);
        tagged
            .iter()
            .map(|(_, other)| other)
            .find(|other| *other < vmknic && first(scene, other).is_some_and(|text| address(text) == own))
    };
    tagged
        .iter()
        .map(|(carrier, vmknic)| of_host(scene, carrier, vmknic, twin(vmknic), apart.get(vmknic).copied()))
        .collect()
}

/// `192.168.100.101/24`.
fn first<'a>(scene: &Scene<'a>, vmknic: &EntityId) -> Option<&'a str> {
    scene.list(vmknic, Attribute::Addresses)?.first().map(crate::fabric::Text::as_str)
}

fn address(text: &str) -> &str {
    text.split('/').next().unwrap_or(text)
}

/// The network of an address with the length of its mask.
fn subnet(text: &str) -> Option<String> {
    let (address, length) = text.split_once('/')?;
    let (address, length): (Ipv4Addr, u32) = (address.parse().ok()?, length.parse().ok()?);
    let mask = u32::MAX.checked_shl(32_u32.checked_sub(length)?).unwrap_or(0);
    Some(format!("{}/{length}", Ipv4Addr::from(u32::from(address) & mask)))
}

fn of_host(
    scene: &Scene<'_>,
    carrier: &Carrier<'_>,
    vmknic: &EntityId,
    twin: Option<&EntityId>,
    apart: Option<&(EntityId, String)>,
) -> Judged {
    let (host, name) = (carrier.host, vmknic.entity.name());
    let reach = way(scene, &carrier.chains);
    if scene.flag(vmknic, Attribute::AdminUp) == Some(false) {
        let set =
            |state: &str| vec![Step::run(&["esxcli", "network", "ip", "interface", "set", "-i", &name, "-e", state])];
        return carrier
            .trouble(
                vmknic,
                Confidence::Proved,
                format!("{host}: {name}, tagged for PVRDMA, is disabled"),
                "an adapter that is disabled sends nothing, so PVRDMA finds no way to the other hosts but TCP"
                    .to_owned(),
            )
            .shown(vmknic, Attribute::AdminUp, format!("{name} is not enabled"))
            .cured_by(
                Cure::on(host, &format!("Enable {name}"), Risk::None, set("true"))
                    .undone_by(set("false"), vec![(vmknic.clone(), Attribute::AdminUp)])
                    .verified_by(&["host.pvrdma-vmknic-address"]),
            )
            .reaching(reach);
    }
    if is_empty(scene, vmknic, Attribute::Addresses) {
        let by_hand = format!(
            "vCenter: Hosts > Configure > VMkernel adapters > {name} > Edit > IPv4 settings: a static address in the subnet of \
             the other hosts' adapters for PVRDMA"
        );
        return carrier
            .trouble(
                vmknic,
                Confidence::Proved,
                format!("{host}: {name}, tagged for PVRDMA, has no IPv4 address"),
                "hosts agree on PVRDMA connections over TCP between these adapters: without an address there is no RDMA"
                    .to_owned(),
            )
            .shown(vmknic, Attribute::Addresses, format!("{name} has no address"))
            .cured_by(
                Cure::by_hand(&format!("Give {name} an address"), vec![Step::ByHand(by_hand)])
                    .verified_by(&["host.pvrdma-vmknic-address"]),
            )
            .reaching(reach);
    }
    let Some(text) = first(scene, vmknic) else {
        let (lack, why) = why(scene, vmknic, Attribute::Addresses, "esxi.vmknic-addresses");
        let title = format!("the address of {name} of {host}: {why}");
        return Judged::unknown(vmknic, lack, title, "esxcli network ip interface ipv4 get");
    };
    if let Some(twin) = twin {
        let by_hand =
            format!("vCenter: Hosts > Configure > VMkernel adapters > {name} > Edit > IPv4 settings: a free address");
        return carrier
            .trouble(
                vmknic,
                Confidence::Proved,
                format!("{host} and {}: both adapters for PVRDMA have {}", twin.target, address(text)),
                "two hosts with one address: answers go to either of them, and connections between the two cannot come up"
                    .to_owned(),
            )
            .shown(vmknic, Attribute::Addresses, format!("{name} of {host} has {text}"))
            .shown(twin, Attribute::Addresses, format!("{} of {} too", twin.entity.name(), twin.target))
            .cured_by(
                Cure::by_hand(&format!("Give {name} of {host} another address"), vec![Step::ByHand(by_hand)])
                    .verified_by(&["host.pvrdma-vmknic-address"]),
            )
            .reaching(reach);
    }
    if let Some((other, wanted)) = apart {
        let theirs = first(scene, other).unwrap_or_default();
        let by_hand = format!(
            "vCenter: Hosts > Configure > VMkernel adapters > {name} > Edit > IPv4 settings: an address in {wanted}"
        );
        return Judged::warn(
            vmknic,
            Confidence::Likely,
            format!("{host} and {}: their adapters for PVRDMA are in different subnets", other.target),
            format!(
                "{text} and {theirs}: between them a router has to pass what the hosts say to each other; without one PVRDMA \
                 between the two goes over TCP"
            ),
        )
        .shown(vmknic, Attribute::Addresses, format!("{name} of {host} has {text}"))
        .shown(other, Attribute::Addresses, format!("{} of {} has {theirs}", other.entity.name(), other.target))
        .decided_by(format!("vmkping -I {name} {} on {host}", address(theirs)))
        .cured_by(
            Cure::by_hand(&format!("Move {name} of {host} into {wanted}"), vec![Step::ByHand(by_hand)])
                .verified_by(&["host.pvrdma-vmknic-address"]),
        )
        .reaching(reach);
    }
    Judged::pass(vmknic, format!("{name} of {host} has {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    /// A row of an adapter that waits for an address from DHCP.
    const NONE: &str = "vmk1  0.0.0.0          0.0.0.0        0.0.0.0          DHCP          0.0.0.0       false";
    const ROW: &str = "vmk1  192.168.100.102  255.255.255.0  192.168.100.255  STATIC        0.0.0.0       false";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().replacing("esx02", "esxi.vmknic-addresses", ROW, NONE),
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.vmknic-addresses", 1, "Connect to localhost failed")),
    };

    #[test]
    fn the_same_address_twice_and_another_subnet() {
        let twice = Site::sound().replacing("esx02", "esxi.vmknic-addresses", "192.168.100.102", "192.168.100.101");
        assert_eq!(twice.statuses(&CHECK), [Status::Pass, Status::Fail]);
        let apart = Site::sound().replacing("esx02", "esxi.vmknic-addresses", "192.168.100.102", "192.168.101.102");
        let judged = apart.judge(&CHECK);
        assert_eq!((judged[0].status, judged[1].status), (Status::Pass, Status::Warn));
        assert_eq!(judged[1].decide, "vmkping -I vmk1 192.168.100.101 on esx02");
    }

    #[test]
    fn a_disabled_adapter() {
        let at = "vmk1\n   Name: vmk1\n   MAC Address: 00:50:56:6a:1c:41\n   Enabled: ";
        let site = Site::sound().replacing("esx02", "esxi.vmknic-list", &format!("{at}true"), &format!("{at}false"));
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Fail]);
    }

    #[test]
    fn networks() {
        assert_eq!(subnet("10.1.2.3/16").as_deref(), Some("10.1.0.0/16"));
        assert_eq!(subnet("10.1.2.3/0").as_deref(), Some("0.0.0.0/0"));
        assert_eq!((subnet("10.1.2.3"), subnet("10.1.2.3/99"), subnet("x/8")), (None, None, None));
    }
}
