//! A firewall of a guest between the nodes of a job: RDMA of an adapter passes it by, but jobs agree on their connections
//! over TCP on ports that nobody knows before, and RDMA in software goes through it.

use super::interface_choice::covers;
use super::jobs::{groups, has_mpi, system};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// No firewall of a guest stands between the nodes of a job.
pub const CHECK: Check = Check {
    id: "mpi.firewall",
    title: "No firewall of a guest stands between the nodes of a job",
    gate: "guests with Open MPI or UCX that run jobs together",
    rule: "fails if firewalld is active and neither the zone of the interface nor one for the peer's address lets everything in; \
           warns if ufw is switched on; passes if none is active",
    source: Source { text: "Open MPI FAQ: TCP and firewalls; firewalld zones", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let of_group = |group: Vec<&TargetId>| -> Vec<Judged> {
        group.iter().filter(|guest| has_mpi(scene, guest)).map(|guest| of_guest(scene, guest, &group)).collect()
    };
    groups(scene).into_iter().flat_map(of_group).collect()
}

/// IPv4 addresses of the interfaces of jobs: those under RDMA ports, each with its interface.
fn addresses<'a>(scene: &Scene<'a>, guest: &TargetId) -> Vec<(EntityId, &'a str)> {
    let netdevs = scene.ports(guest).into_iter().filter_map(|port| port.netdev);
    netdevs
        .flat_map(|netdev| {
            let list = scene.list(&netdev, Attribute::Addresses).unwrap_or_default();
            let addresses = list.iter().map(Text::as_str).filter(|address| address.contains('.'));
            addresses.map(move |address| (netdev.clone(), address)).collect::<Vec<_>>()
        })
        .collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId, group: &[&TargetId]) -> Judged {
    let id = system(guest);
    let service = |name: &str| EntityId::new(guest, Entity::Service(Text::new(name)));
    let is_active = |name: &str| scene.text(&service(name), Attribute::ServiceState) == Some("active");
    let ufw = service("ufw");
    if scene.flag(&ufw, Attribute::FirewallEnabled) == Some(true)
        && scene.text(&ufw, Attribute::ServiceState) != Some("inactive")
    {
        return by_ufw(scene, guest, group, &ufw);
    }
    let firewalld = service("firewalld");
    if is_active("firewalld") {
        return by_firewalld(scene, guest, group, &firewalld);
    }
    if let Some(name) = ["nftables", "iptables"].into_iter().find(|name| is_active(name)) {
        let decide = if name == "nftables" { "sudo nft list ruleset" } else { "sudo iptables -S" };
        let title = format!("{guest}: {name} loads rules at boot, and only root sees them");
        return Judged::unknown(&service(name), Lack::NotObservable, title, format!("on {guest}: {decide}"));
    }
    if scene.text(&firewalld, Attribute::ServiceState).is_none() {
        let (lack, why) = scene
            .unread(guest, "linux.services")
            .or_else(|| scene.lack(&firewalld, Attribute::ServiceState))
            .unwrap_or((Lack::NotObservable, format!("{guest} lists no services")));
        let decide = format!("on {guest}: sudo nft list ruleset; sudo iptables -S");
        return Judged::unknown(&id, lack, format!("firewall of {guest}: {why}"), decide);
    }
    Judged::pass(&id, format!("{guest}: no firewall is active"))
}

const CAUSE: &str = "jobs agree on their connections over TCP on ports that are chosen when they start; those are refused or \
                     dropped here, and the job hangs or ends with \"No route to host\" or \"TCP connection was broken\". RDMA of \
                     the adapter itself passes the guest's firewall by";

fn by_firewalld(scene: &Scene<'_>, guest: &TargetId, group: &[&TargetId], firewalld: &EntityId) -> Judged {
    let zones: Vec<(EntityId, &str)> = scene
        .fabric
        .of_kind(guest, Entity::Ruleset(Text::new("")))
        .filter_map(|entity| {
            let Entity::Ruleset(name) = entity else { return None };
            Some((EntityId::new(guest, entity.clone()), name.as_str()))
        })
        .collect();
    if zones.is_empty() {
        let (lack, why) = scene
            .unread(guest, "linux.firewall-zones")
            .unwrap_or((Lack::NotObservable, format!("firewall-cmd lists no active zone on {guest}")));
        let decide = format!("on {guest}: sudo firewall-cmd --list-all-zones");
        return Judged::unknown(firewalld, lack, format!("{guest}: firewalld is active; {why}"), decide);
    }
    let has = |zone: &EntityId, attribute, what: &dyn Fn(&str) -> bool| {
        scene.list(zone, attribute).unwrap_or_default().iter().any(|one| what(one.as_str()))
    };
    let is_open = |zone: &EntityId| scene.text(zone, Attribute::ZoneTarget) == Some("ACCEPT");
    let peers: Vec<(&TargetId, EntityId, &str)> = group
        .iter()
        .filter(|other| **other != guest)
        .flat_map(|other| addresses(scene, other).into_iter().map(move |(netdev, address)| (*other, netdev, address)))
        .collect();
    for (netdev, address) in addresses(scene, guest) {
        let name = netdev.entity.name();
        // Of which network a peer is: only those on this interface's own network come in by it.
        let Some((peer, theirs, from)) = peers.iter().find(|(_, _, peer)| covers(&network(address), peer)) else {
            continue;
        };
        // Sources decide before interfaces do.
        let by_source = zones.iter().find(|(zone, _)| {
            has(zone, Attribute::ZoneSources, &|source| covers(source, from) || from.split('/').next() == Some(source))
        });
        let by_interface = zones.iter().find(|(zone, _)| has(zone, Attribute::ZoneInterfaces, &|other| other == name));
        let Some((zone, zone_name)) = by_source.or(by_interface) else { continue };
        if is_open(zone) {
            continue;
        }
        let add = |verb: &str| {
            let (source, zone) = (format!("--{verb}-source={}", network(address)), "--zone=trusted");
            vec![
                Step::run(&["firewall-cmd", "--permanent", zone, &source]),
                Step::run(&["firewall-cmd", zone, &source]),
            ]
        };
        return Judged::fail(
            firewalld,
            Confidence::Likely,
            format!("{guest}: firewalld keeps {peer} out ({name} is in zone {zone_name})"),
            CAUSE,
        )
        .shown(firewalld, Attribute::ServiceState, "firewalld is active")
        .shown(zone, Attribute::ZoneTarget, format!("zone {zone_name} does not let in what it was not told of"))
        .shown(zone, Attribute::ZoneOpen, format!("what zone {zone_name} lets in"))
        .shown(theirs, Attribute::Addresses, format!("{peer} comes from {from}"))
        .decided_by(format!(
            "on {peer}: nc -vz {} 5001, while nc -l 5001 runs on {guest}",
            address.split('/').next().unwrap_or(address)
        ))
        .cured_by(
            Cure::on(guest, "Trust the network of the jobs", Risk::None, add("add"))
                .undone_by(add("remove"), vec![(zone.clone(), Attribute::ZoneTarget)])
                .verified_by(&["mpi.firewall"])
                .noting("needs root; everything of that network is let in from then on"),
        )
        .reaching([netdev.clone(), system(guest)]);
    }
    Judged::pass(firewalld, format!("{guest}: firewalld lets the other nodes in"))
}

/// The network of an address with its length: `192.168.100.0/24`.
fn network(address: &str) -> String {
    let Some((number, length)) = address.split_once('/') else { return address.to_owned() };
    let (Ok(number), Ok(length)) = (number.parse::<std::net::Ipv4Addr>(), length.parse::<u32>()) else {
        return address.to_owned();
    };
    let mask = if length == 0 { 0 } else { u32::MAX << (32 - length.min(32)) };
    format!("{}/{length}", std::net::Ipv4Addr::from(u32::from(number) & mask))
}

fn by_ufw(scene: &Scene<'_>, guest: &TargetId, group: &[&TargetId], ufw: &EntityId) -> Judged {
    let own = addresses(scene, guest);
    let known = own.first().map(|(_, address)| network(address));
    let network = known.clone().unwrap_or_else(|| "the network of the jobs".to_owned());
    let peers: Vec<String> = group.iter().filter(|other| **other != guest).map(ToString::to_string).collect();
    Judged::warn(
        ufw,
        Confidence::Likely,
        format!("{guest}: ufw is switched on between it and {}", peers.join(", ")),
        CAUSE,
    )
    .shown(ufw, Attribute::FirewallEnabled, "ufw is switched on; unless a rule lets it in, what comes is dropped")
    .decided_by(format!("on {guest}: sudo ufw status verbose (a rule \"ALLOW IN {network}\"?)"))
    .cured_by(match known {
        Some(network) => Cure::on(
            guest,
            "Let the network of the jobs in",
            Risk::None,
            vec![Step::run(&["ufw", "allow", "from", &network])],
        )
        .undone_by(
            vec![Step::run(&["ufw", "delete", "allow", "from", &network])],
            vec![(ufw.clone(), Attribute::FirewallEnabled)],
        )
        .verified_by(&["mpi.firewall"])
        .noting("needs root"),
        None => Cure::by_hand(
            "Let the network of the jobs in",
            vec![Step::ByHand("ufw allow from NETWORK, with the network that the nodes of the job share".to_owned())],
        )
        .verified_by(&["mpi.firewall"]),
    })
    .reaching(own.into_iter().map(|(netdev, _)| netdev))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with_zones(PUBLIC),
        healthy: || with_zones(TRUSTED),
        unclear: || {
            Site::sound().with("pv-a", fails("linux.services", 1, "Failed to list units: Connection timed out"))
        },
    };

    const PUBLIC: &str = "public (active)\n  target: default\n  icmp-block-inversion: no\n  interfaces: ens160 ens192\n  sources: \n  \
                          services: cockpit dhcpv6-client ssh\n  ports: \n  protocols: \n  forward: yes\n";
    const TRUSTED: &str = "public (active)\n  target: default\n  interfaces: ens160 ens192\n  sources: \n  services: ssh\n  ports: \n\n\
                           trusted (active)\n  target: ACCEPT\n  interfaces: \n  sources: 192.168.100.0/24\n  services: \n  ports: \n";

    fn with_zones(zones: &str) -> Site {
        let off = "Id=firewalld.service\nLoadState=not-found\nActiveState=inactive";
        let on = "Id=firewalld.service\nLoadState=loaded\nActiveState=active";
        Site::sound().replacing("pv-a", "linux.services", off, on).with("pv-a", says("linux.firewall-zones", zones))
    }

    fn of_pv_a(site: &Site) -> Status {
        let judged = site.judge(&CHECK);
        judged.into_iter().find(|judged| judged.subject.target.as_str() == "pv-a").expect("judged").status
    }

    #[test]
    fn the_zone_of_the_jobs_decides() {
        let other = "public (active)\n  target: default\n  interfaces: ens160\n  ports: \n\ntrusted (active)\n  target: ACCEPT\n  interfaces: ens192\n  ports: \n";
        assert_eq!(of_pv_a(&with_zones(other)), Status::Pass);
        assert_eq!(of_pv_a(&with_zones("")), Status::Unknown, "active, and no zone is told");
        let refused = with_zones("").with("pv-a", fails("linux.firewall-zones", 253, "Authorization failed."));
        assert_eq!(of_pv_a(&refused), Status::Unknown);
    }

    #[test]
    fn ufw_and_rules_that_only_root_sees() {
        let on = "/etc/ufw/ufw.conf:ENABLED=yes\n";
        let off = "/etc/ufw/ufw.conf:ENABLED=no\n";
        let active = |unit: &str| {
            let old = format!("Id={unit}.service\nLoadState=not-found\nActiveState=inactive");
            let new = format!("Id={unit}.service\nLoadState=loaded\nActiveState=active");
            Site::sound().replacing("pv-a", "linux.services", &old, &new)
        };
        assert_eq!(of_pv_a(&active("ufw").with("pv-a", says("linux.firewall-ufw", on))), Status::Warn);
        assert_eq!(of_pv_a(&active("ufw").with("pv-a", says("linux.firewall-ufw", off))), Status::Pass);
        assert_eq!(of_pv_a(&active("nftables")), Status::Unknown);
    }
}
