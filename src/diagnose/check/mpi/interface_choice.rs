//! Jobs over TCP take every interface that is up. A bridge of containers has the same address on every node: a rank that
//! calls it reaches its own node.

use super::jobs::{Setting, groups, has_mpi, parameter, set_anew, set_first, system, variable};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// Jobs are kept off interfaces that lead nowhere.
pub const CHECK: Check = Check {
    id: "mpi.interface-choice",
    title: "Jobs use interfaces that lead to the other nodes",
    gate: "guests that run jobs together, with Open MPI or UCX",
    rule: "fails if btl_tcp_if_include names nothing that the guest has and Open MPI needs it; warns if an address of a bridge for \
           containers or VMs is on two nodes and nothing keeps jobs off it",
    source: Source { text: "UCX issue 9383; Open MPI issue 11789", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let of_group = |group: Vec<&TargetId>| -> Vec<Judged> {
        group.iter().filter(|guest| has_mpi(scene, guest)).filter_map(|guest| of_guest(scene, guest, &group)).collect()
    };
    groups(scene).into_iter().flat_map(of_group).collect()
}

/// True for the name of a bridge that containers or VMs make on every node alike.
fn is_bridge(name: &str) -> bool {
    let numbered = ["docker", "virbr", "lxcbr", "lxdbr", "podman", "cni", "flannel.", "cbr"];
    let is_numbered = |start: &&str| {
        name.strip_prefix(*start).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let made_by_docker = name
        .strip_prefix("br-")
        .is_some_and(|rest| rest.len() == 12 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    numbered.iter().any(is_numbered) || made_by_docker
}

/// Interfaces of a guest that are up, each with its IPv4 addresses: `172.17.0.1/16`.
fn interfaces<'a>(scene: &Scene<'a>, guest: &'a TargetId) -> Vec<(EntityId, &'a str, Vec<&'a str>)> {
    let netdevs = scene.fabric.of_kind(guest, Entity::Netdev(Text::new("")));
    netdevs
        .filter_map(|entity| {
            let Entity::Netdev(name) = entity else { return None };
            let id = EntityId::new(guest, entity.clone());
            let addresses = scene.list(&id, Attribute::Addresses).unwrap_or_default();
            let addresses = addresses.iter().map(Text::as_str).filter(|address| address.contains('.')).collect();
            Some((id, name.as_str(), addresses))
        })
        .collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId, group: &[&TargetId]) -> Option<Judged> {
    let own = interfaces(scene, guest);
    let id = system(guest);
    if own.is_empty() {
        let source = "linux.ip-addresses";
        let (lack, why) =
            scene.unread(guest, source).unwrap_or((Lack::NotObservable, format!("{guest} lists no interface")));
        return Some(Judged::unknown(
            &id,
            lack,
            format!("interfaces of {guest}: {why}"),
            format!("on {guest}: ip -br addr"),
        ));
    }
    if own.iter().all(|(_, _, addresses)| addresses.is_empty()) {
        let source = "linux.ip-addresses";
        let (lack, why) = scene.unread(guest, source)?;
        return Some(Judged::unknown(
            &id,
            lack,
            format!("addresses of {guest}: {why}"),
            format!("on {guest}: ip -br addr"),
        ));
    }
    let include = parameter(scene, guest, "btl_tcp_if_include");
    if let Some(setting) = &include
        && let Some(judged) = in_vain(scene, guest, setting, &own)
    {
        return Some(judged);
    }
    let by_ucx = parameter(scene, guest, "pml").is_some_and(|pml| pml.words() == ["ucx"]);
    let is_kept_off = |name: &str, address: &str| {
        let excluded = parameter(scene, guest, "btl_tcp_if_exclude");
        let covers = |setting: &Setting<'_>| setting.words().iter().any(|word| *word == name || covers(word, address));
        if by_ucx {
            let over_tcp = variable(scene, guest, "UCX_TLS").is_none_or(|tls| {
                tls.value.starts_with('^') || tls.words().iter().any(|word| matches!(*word, "tcp" | "all"))
            });
            return !over_tcp
                || variable(scene, guest, "UCX_NET_DEVICES").is_some_and(|devices| devices.value != "all");
        }
        include.is_some() || excluded.is_some_and(|setting| covers(&setting))
    };
    let elsewhere = |address: &str| {
        group.iter().copied().filter(|other| *other != guest).find_map(|other| {
            let theirs = interfaces(scene, other);
            let found = theirs.into_iter().find(|(_, _, addresses)| addresses.contains(&address));
            found.map(|(id, ..)| (other, id))
        })
    };
    for (netdev, name, addresses) in &own {
        let shared = addresses.iter().find_map(|address| Some((*address, elsewhere(address)?)));
        if let Some((address, (other, theirs))) = shared
            && is_bridge(name)
            && !is_kept_off(name, address)
        {
            let first = scene.ports(guest).into_iter().find_map(|port| port.netdev);
            let good = first.map_or_else(|| "eth0".to_owned(), |netdev| netdev.entity.name());
            let device = scene.ports(guest).first().map(super::jobs::ucx_name).unwrap_or_default();
            let (variable, value) =
                if by_ucx { ("UCX_NET_DEVICES", device) } else { ("OMPI_MCA_btl_tcp_if_include", good) };
            return Some(
                Judged::warn(
                    &id,
                    Confidence::Likely,
                    format!("{guest}: nothing keeps jobs off {name}, whose address {address} {other} has too"),
                    "a rank that is told this address calls its own node: \"Connection refused\", \"Destination is unreachable\", or \
                     a job that hangs while it starts",
                )
                .shown(netdev, Attribute::Addresses, format!("{name} of {guest} has {address}"))
                .shown(&theirs, Attribute::Addresses, format!("{other} has it too"))
                .decided_by("dest_addr in the error of the job: is it an address of that bridge?")
                .cured_by(set_first(guest, variable, &value).verified_by(&["mpi.interface-choice"])),
            );
        }
    }
    Some(Judged::pass(&id, format!("{guest}: jobs use interfaces that lead to the other nodes")))
}

/// What is said of a list of which nothing is there.
fn in_vain(
    scene: &Scene<'_>,
    guest: &TargetId,
    setting: &Setting<'_>,
    own: &[(EntityId, &str, Vec<&str>)],
) -> Option<Judged> {
    let is_there = |word: &&str| {
        own.iter().any(|(_, name, addresses)| name == word || addresses.iter().any(|address| covers(word, address)))
    };
    let words = setting.words();
    if words.iter().any(is_there) {
        return None;
    }
    let by_ucx = parameter(scene, guest, "pml").is_some_and(|pml| pml.words() == ["ucx"]);
    let netdev = scene.ports(guest).into_iter().find_map(|port| port.netdev);
    let better = netdev.as_ref().map_or_else(String::new, |netdev| netdev.entity.name());
    let title = format!("{guest}: {} names nothing that this guest has", setting.written);
    let judged = if by_ucx {
        Judged::warn(
            &setting.id,
            Confidence::Proved,
            title,
            "Open MPI says \"Did not find interface\" and ignores it; ucx carries messages meanwhile, and only jobs without it go \
             astray",
        )
    } else {
        Judged::fail(
            &setting.id,
            Confidence::Proved,
            title,
            "Open MPI says \"An invalid value was given for btl_tcp_if_include\" and has no interface left for TCP, or takes every \
             one",
        )
    };
    let mut judged = judged.shown(&setting.id, setting.attribute, setting.written.clone());
    if let Some(netdev) = netdev {
        judged = judged.shown(&netdev, Attribute::Addresses, format!("the guest has {}", netdev.entity.name()));
    }
    Some(judged.cured_by(set_anew(guest, setting, &better).verified_by(&["mpi.interface-choice"])))
}

/// True if a network in CIDR form holds an address.
pub fn covers(network: &str, address: &str) -> bool {
    let parse = |text: &str| text.split('/').next()?.parse::<std::net::Ipv4Addr>().ok();
    let Some((_, length)) = network.split_once('/') else { return false };
    let (Some(network), Some(address), Ok(length)) = (parse(network), parse(address), length.parse::<u32>()) else {
        return false;
    };
    let mask = if length == 0 { 0 } else { u32::MAX << (32 - length.min(32)) };
    u32::from(network) & mask == u32::from(address) & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || docker(docker(free(Site::sound(), "hca-a"), "hca-a"), "hca-b"),
        healthy: || docker(docker(Site::sound(), "hca-a"), "hca-b"),
        unclear: || Site::sound().with("hca-a", fails("linux.ip-addresses", 1, "sh: 1: Cannot fork")),
    };

    /// A bridge of Docker, with the address that it has everywhere.
    fn docker(site: Site, guest: &str) -> Site {
        let docker = "[{\"ifindex\":9,\"ifname\":\"docker0\",\"flags\":[\"BROADCAST\",\"MULTICAST\",\"UP\",\"LOWER_UP\"],\"mtu\":1500,\
                      \"operstate\":\"UP\",\"link_type\":\"ether\",\"address\":\"02:42:5e:11:22:33\",\"addr_info\":[{\"family\":\"inet\",\
                      \"local\":\"172.17.0.1\",\"prefixlen\":16,\"scope\":\"global\",\"label\":\"docker0\"}]},{";
        let mtu = "/sys/class/net/ens160/mtu:";
        site.replacing(guest, "linux.ip-addresses", "[{\"ifindex\":1", &format!("{docker}\"ifindex\":1")).replacing(
            guest,
            "linux.netdev-files",
            mtu,
            &format!("/sys/class/net/docker0/mtu:1500\n{mtu}"),
        )
    }

    /// A guest on which nothing chooses devices.
    fn free(site: Site, guest: &str) -> Site {
        site.replacing(guest, "linux.environment", "UCX_NET_DEVICES", "UCX_OTHER")
    }

    #[test]
    fn a_bridge_on_one_node_only_leads_nobody_astray() {
        let site = docker(free(Site::sound(), "hca-a"), "hca-a");
        assert!(site.statuses(&CHECK).iter().all(|status| *status == Status::Pass));
    }

    #[test]
    fn names_of_bridges() {
        for name in ["docker0", "virbr0", "br-0123456789ab", "cni0", "flannel.1", "lxdbr0"] {
            assert!(is_bridge(name), "{name}");
        }
        for name in ["ens192", "br-ex", "bridge0", "docker", "cnix", "br0"] {
            assert!(!is_bridge(name), "{name}");
        }
    }

    #[test]
    fn a_list_that_names_nothing_of_the_guest() {
        let site = Site::sound()
            .replacing("pv-a", "linux.environment", "if_include=ens192", "if_include=192.0.2.0/24")
            .replacing("pv-a", "linux.open-mpi", "if_include:value:ens192", "if_include:value:192.0.2.0/24");
        assert_eq!(site.statuses(&CHECK)[0..2], [Status::Pass, Status::Pass], "of the other pair");
        let judged = site.judge(&CHECK);
        assert!(
            judged.iter().any(|judged| judged.status == Status::Warn && judged.title.contains("192.0.2.0/24")),
            "{judged:#?}"
        );
        let right = Site::sound()
            .replacing("pv-a", "linux.environment", "if_include=ens192", "if_include=192.168.100.0/24")
            .replacing("pv-a", "linux.open-mpi", "if_include:value:ens192", "if_include:value:192.168.100.0/24");
        assert!(right.statuses(&CHECK).iter().all(|status| *status == Status::Pass));
    }
}
