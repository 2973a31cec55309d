//! Whether the addresses are there after the next start.

use super::ask;
use crate::diagnose::check::{Check, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, EntityId, State};

/// Addresses last.
pub const CHECK: Check = Check {
    id: "guest.address-persistence",
    title: "The addresses of the RoCE interfaces are set for the next start too",
    gate: "interfaces under RoCE ports in use that have an IPv4 address",
    rule: "warns if no file sets an address, if the files set other ones, or if what sets them is not started at boot",
    source: Source { text: "netplan, NetworkManager, ifcfg, ifupdown and systemd-networkd manuals", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let ports = ask::ports(scene);
    let fits = |port: &&Port| !port.is_infiniband && ask::is_in_use(scene, port);
    ports.iter().filter(fits).filter_map(|port| judge_netdev(scene, port.netdev.as_ref()?, port)).collect()
}

fn judge_netdev(scene: &Scene<'_>, netdev: &EntityId, port: &Port) -> Option<Judged> {
    let guest = &netdev.target;
    let name = netdev.entity.name();
    let addresses = ask::addresses(scene, netdev);
    let (address, length) = *addresses.iter().find(|(address, _)| address.is_ipv4())?;
    let reading = scene.fabric.reading(netdev, Attribute::AddressPersistence)?;
    let (title, cause) = match &reading.state {
        State::Known(text) => {
            let text = text.to_string();
            let named = text.contains(&address.to_string()) || text.contains("DHCP");
            if named && !text.contains("not started at boot") {
                return Some(Judged::pass(
                    netdev,
                    format!("{guest}: the address of {name} is set for the next start: {text}"),
                ));
            }
            (
                format!("{guest}: {name} will not have {address} after the next start"),
                format!("the settings say {text}: the GID of the address goes with it, and with it every connection"),
            )
        }
        State::Empty => (
            format!("{guest}: address {address} of {name} is lost at the next start"),
            "no file of the network settings sets an address: it was set by hand; the GID goes with it".to_owned(),
        ),
        _ => {
            let decide =
                format!("the network settings of {name}: netplan get, nmcli connection show, or the files below /etc");
            return Some(ask::untold(
                scene,
                netdev,
                Attribute::AddressPersistence,
                "linux.persistence-interfaces",
                &decide,
            ));
        }
    };
    let with_length = format!("{address}/{length}");
    let steps: Vec<Step> = ask::lasting(scene, netdev, ask::Lasting::Address(&with_length))
        .into_iter()
        .filter(|step| matches!(step, Step::ByHand(_)))
        .collect();
    let steps = if steps.is_empty() {
        vec![Step::ByHand(format!("in the network settings of {name}: address {with_length}, started at boot"))]
    } else {
        steps
    };
    Some(
        Judged::warn(netdev, Confidence::Proved, title, cause)
            .shown(netdev, Attribute::Addresses, format!("{with_length} now"))
            .shown(netdev, Attribute::AddressPersistence, "what the settings say of the addresses")
            .cured_by(
                Cure::by_hand("Set the address in the network settings", steps)
                    .verified_by(&["guest.address-persistence"]),
            )
            .reaching(ask::here(scene, port)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    const SET: &str =
        "/etc/network/interfaces:iface ens192 inet static\n/etc/network/interfaces:\taddress 192.168.100.11/24\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || {
            Site::sound().replacing(
                "pv-a",
                "linux.persistence-ifupdown",
                "address 192.168.100.11/24",
                "address 192.168.77.11/24",
            )
        },
        healthy: Site::sound,
        unclear: || {
            let denied = "grep: /etc/network/interfaces: Permission denied\n";
            Site::sound().with("pv-a", fails("linux.persistence-ifupdown", 2, denied))
        },
    };

    #[test]
    fn an_address_that_no_file_sets_is_lost() {
        let site = Site::sound().replacing(
            "pv-a",
            "linux.persistence-ifupdown",
            SET,
            "/etc/network/interfaces:iface ens192 inet manual\n",
        );
        let judged = site.judge(&CHECK);
        assert!(
            judged.iter().any(|judged| judged.status == Status::Warn && judged.title.contains("lost")),
            "{judged:#?}"
        );
    }

    #[test]
    fn dhcp_sets_one_too() {
        let site = Site::sound().replacing(
            "pv-a",
            "linux.persistence-ifupdown",
            SET,
            "/etc/network/interfaces:iface ens192 inet dhcp\n",
        );
        assert!(site.statuses(&CHECK).iter().all(|status| *status == Status::Pass), "{:#?}", site.judge(&CHECK));
    }
}
