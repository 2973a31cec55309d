//! Paths of the sound site, of altered ones, and of pairs from real captures.

use super::HopKind::{GuestDevice, Host, SwitchInterface, Uplink, VirtualSwitch, VmAdapter};
use super::*;
use crate::diagnose::check::testing::{Output, Site, fails, says};
use crate::diagnose::check::{Moved, Movements, at_work};
use crate::fabric::{Entity, Text};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

fn path_of(site: &Site, one: &str, other: &str) -> Path {
    let joined = site.joined();
    let found = site.examine();
    let path = path(&site.scene(&joined), &found, &TargetId::new(one), &TargetId::new(other));
    // What a hop stands on leads to a line, as it does for checks.
    for hop in path.hops.iter().filter(|hop| matches!(hop.status, Status::Fail | Status::Warn)) {
        assert!(!hop.why.is_empty(), "{hop:#?}");
        assert!(hop.evidence.iter().any(|exhibit| site.leads_to_a_line(exhibit)), "{hop:#?}");
    }
    path
}

fn pvrdma(site: &Site) -> Path {
    path_of(site, "pv-a", "pv-b")
}

/// Kind and status of each hop.
fn shape(path: &Path) -> Vec<(HopKind, Status)> {
    path.hops.iter().map(|hop| (hop.kind, hop.status)).collect()
}

fn broken(path: &Path) -> Option<(&Hop, &str)> {
    path.first_broken.map(|at| (&path.hops[at], path.hops[at].why.as_str()))
}

fn value(hop: &Hop, name: &str) -> String {
    let found = hop.traits.iter().find(|one| one.name == name);
    found.map_or_else(|| "absent".to_owned(), |one| one.value.clone())
}

const CLOSED: &str = "Name                      Enabled\n------------------------  -------\nsshServer                    true\n\
                      pvrdma                      false\n";

#[test]
fn a_healthy_pair_is_in_order_from_guest_to_wire_and_up_again() {
    // Of the sound site without its switch, where it has one.
    let path = pvrdma(&at_work(Site::sound().without_target("leaf1")));
    let down = [GuestDevice, VmAdapter, VirtualSwitch, Host, Uplink];
    let mut wanted: Vec<(HopKind, Status)> = down.map(|kind| (kind, Status::Pass)).to_vec();
    wanted.extend([(SwitchInterface, Status::Unknown); 2]);
    wanted.extend(down.into_iter().rev().map(|kind| (kind, Status::Pass)));
    assert_eq!(shape(&path), wanted, "{path:#?}");
    assert_eq!(path.first_broken, None);
    let names: Vec<&str> = path.hops.iter().take(5).map(|hop| hop.name.as_str()).collect();
    assert_eq!(names, ["rocep11s0f1", "ethernet1", "dvs-rdma", "esx01", "vmrdma0"]);
    let of = |at: usize, name| value(&path.hops[at], name);
    assert_eq!((of(0, "gid"), of(0, "roce-mtu"), of(0, "mtu")), ("1 v2".into(), "4096".into(), "9000".into()));
    assert_eq!(of(0, "rate"), "absent", "the driver reports a rate that means nothing");
    assert_eq!((of(2, "port"), of(2, "vlan"), of(2, "uplinks")), ("16".into(), "100".into(), "vmnic2".into()));
    assert_eq!((of(3, "tag"), of(3, "ruleset")), ("vmk1".into(), "open".into()));
    assert_eq!((of(4, "rate"), of(4, "pfc")), ("100G".into(), "3".into()));
    assert!(path.hops[5].why.contains("query_networkhint --pnic-name=vmnic2 on esx01"), "{}", path.hops[5].why);
    assert_eq!((path.verdict.transport, path.verdict.confidence), (Transport::Rdma, Confidence::Likely), "{path:#?}");
}

#[test]
fn without_traffic_nothing_is_claimed() {
    let path = pvrdma(&Site::sound());
    assert_eq!(path.verdict.transport, Transport::NotDeterminable);
    assert_eq!(
        path.verdict.decide,
        "ib_write_bw between pv-a and pv-b for half a minute, while the console shows them"
    );
}

#[test]
fn an_untagged_host_is_the_hop_that_is_broken() {
    let untagged = Site::sound()
        .replacing("esx02", "esxi.pvrdma-vmknic", "String Value: vmk1", "String Value:")
        .replacing("esx02", "esxi.advanced-changed", "String Value: vmk1", "String Value:");
    let path = pvrdma(&untagged);
    assert_eq!(path.verdict.transport, Transport::Tcp, "{path:#?}");
    assert_eq!(path.verdict.confidence, Confidence::Proved);
    let (hop, why) = broken(&path).expect("a broken hop");
    assert_eq!((hop.kind, hop.side, hop.name.as_str()), (HopKind::Host, Side::Other, "esx02"), "{why}");
    assert_eq!(hop.state, "Net.PVRDMAVmknic = (empty)");
}

#[test]
fn a_closed_ruleset_breaks_the_host_and_is_less_sure() {
    let path = pvrdma(&Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)));
    let (hop, why) = broken(&path).expect("a broken hop");
    assert_eq!((hop.kind, hop.target.as_str()), (HopKind::Host, "esx02"));
    assert_eq!(why, "esx02: the firewall ruleset pvrdma is closed", "in the words of the check");
    assert_eq!((path.verdict.transport, path.verdict.confidence), (Transport::Tcp, Confidence::Likely));
}

#[test]
fn a_ruleset_that_was_not_read_is_not_known() {
    let site = Site::sound().with("esx02", fails("esxi.firewall-rulesets", 1, "Connect to localhost failed"));
    let path = pvrdma(&site);
    let host = path.hops.iter().find(|hop| hop.name == "esx02").expect("the host");
    assert_eq!(host.status, Status::Unknown, "{host:#?}");
    assert_eq!(path.first_broken, None, "what is not known is not broken");
}

#[test]
fn another_vlan_breaks_the_port_and_says_nothing_of_tcp() {
    let list = Site::sound().printed("esx02", "esxi.net-dvs-list");
    let (before, after) = list.split_once("\tport 17:").expect("the port of pv-b");
    let list = format!("{before}\tport 17:{}", after.replace("VLAN 100", "VLAN 200"));
    let path = pvrdma(&Site::sound().with("esx02", says("esxi.net-dvs-list", &list)));
    let (hop, why) = broken(&path).expect("a broken hop");
    assert_eq!((hop.kind, hop.side), (HopKind::VirtualSwitch, Side::Other));
    assert_eq!(why, "its VLAN is 200, that of the other side is 100");
    assert_eq!(path.verdict.transport, Transport::NotDeterminable);
}

#[test]
fn one_uplink_too_many_means_tcp() {
    let site =
        Site::sound().replacing("esx02", "esxi.distributed-switches", "Uplinks: vmnic2", "Uplinks: vmnic2, vmnic3");
    let path = pvrdma(&site);
    assert_eq!(path.verdict.transport, Transport::Tcp, "{path:#?}");
    assert!(path.verdict.why.contains("vmnic2, vmnic3"), "{}", path.verdict.why);
    let (hop, why) = broken(&path).expect("a broken hop");
    assert_eq!((hop.kind, hop.side), (HopKind::VirtualSwitch, Side::Other), "{why}");
}

#[test]
fn two_vms_on_one_host_copy_memory() {
    let path = pvrdma(&Site::sound().moving_vms("esx02", "esx01"));
    assert_eq!((path.verdict.transport, path.verdict.confidence), (Transport::SameHost, Confidence::Proved));
    assert!(path.hops.iter().filter(|hop| hop.kind == HopKind::Host).all(|hop| hop.name == "esx01"));
}

#[test]
fn a_small_mtu_on_the_way_breaks_it_for_roce() {
    let small = Site::sound().replacing("esx02", "esxi.distributed-switches", "MTU: 9000", "MTU: 1500");
    let path = pvrdma(&small);
    let hop = path.hops.iter().find(|hop| hop.kind == HopKind::VirtualSwitch && hop.side == Side::Other).expect("it");
    assert_eq!(hop.status, Status::Fail, "{hop:#?}");
    assert!(hop.why.contains("1500 bytes"), "{}", hop.why);
}

#[test]
fn hosts_that_are_not_in_the_inventory_are_one_hop_that_is_not_known() {
    let path = path_of(&at_work(Site::sound()), "hca-a", "hca-b");
    let (pass, unknown) = (Status::Pass, Status::Unknown);
    assert_eq!(shape(&path), [(GuestDevice, pass), (VmAdapter, unknown), (VmAdapter, unknown), (GuestDevice, pass)]);
    assert!(path.hops[1].why.contains("what would tell: the ESXi host of this VM in the inventory"), "{path:#?}");
    assert_eq!(value(&path.hops[0], "rate"), "100G");
    assert_eq!(path.verdict.transport, Transport::Rdma, "its own counters move and its queue pairs meet");
    let quiet = path_of(&Site::sound(), "hca-a", "hca-b");
    assert_eq!((quiet.verdict.transport, quiet.verdict.confidence), (Transport::Rdma, Confidence::Likely));
    assert!(quiet.verdict.why.contains("no counter shows that anything went over them"), "{}", quiet.verdict.why);
}

#[test]
fn a_virtual_function_talks_to_an_adapter_by_subnet() {
    let path = path_of(&Site::sound(), "vf-a", "hca-b");
    assert_eq!(path.hops.first().map(|hop| hop.status), Some(Status::Pass), "{path:#?}");
    assert_eq!(path.verdict.transport, Transport::NotDeterminable, "no queue pairs join these two");
}

#[test]
fn a_silent_guest_and_one_without_rdma_are_said_to_be() {
    let path = pvrdma(&Site::sound().silent("pv-b", "connection timed out"));
    let last = path.hops.last().expect("the guest");
    assert_eq!((last.status, last.name.as_str()), (Status::Unknown, "no RDMA device"));
    assert!(last.why.contains("pv-b was not reached: connection timed out"), "{}", last.why);
    assert_eq!(path.verdict.transport, Transport::NotDeterminable);
    // Nothing at all: still a path of two ends.
    assert_eq!(path_of(&Site::new(), "x", "y").hops.len(), 4);
}

fn counter(target: &str, of: &str, name: &str) -> EntityId {
    EntityId::new(&TargetId::new(target), Entity::Counter { of: Text::new(of), name: Text::new(name) })
}

const PAYLOAD: u64 = 10_000_000_000;

/// The verdict after a payload during which these counters moved.
fn tried(site: &Site, moved: &[(&str, &str, &str, u64)]) -> Verdict {
    let moved: BTreeMap<EntityId, Moved> = moved
        .iter()
        .map(|(target, of, name, by)| (counter(target, of, name), Moved { by: *by, over: Duration::from_secs(5) }))
        .collect();
    let moved = Movements(moved);
    let joined = site.joined();
    let found = site.examine();
    let trial = Trial { payload: PAYLOAD, moved: &moved };
    let (one, other) = (TargetId::new("pv-a"), TargetId::new("pv-b"));
    path_during(&site.scene(&joined), &found, &one, &other, Some(&trial)).verdict
}

#[test]
fn a_known_payload_decides() {
    let site = Site::sound();
    let bytes = |host, by| (host, "vmrdma0", "Bytes sent", by);
    let tagged = |host, by| (host, "dvs-rdma/10", "bytesInUnicast", by);
    for (moved, transport, sure) in [
        (vec![bytes("esx01", PAYLOAD), bytes("esx02", PAYLOAD / 2)], Transport::Rdma, Confidence::Proved),
        (vec![bytes("esx01", PAYLOAD)], Transport::Rdma, Confidence::Likely),
        (vec![("esx01", "vmrdma0", "Packets sent", PAYLOAD / 4096)], Transport::Rdma, Confidence::Likely),
        (vec![("esx01", "vmrdma0", "Queue pairs in RTS state", 2)], Transport::Rdma, Confidence::Likely),
        (vec![tagged("esx01", PAYLOAD), tagged("esx02", PAYLOAD)], Transport::Tcp, Confidence::Proved),
        // Half of half, or far too much, is other traffic.
        (vec![bytes("esx01", PAYLOAD / 4), bytes("esx02", 0)], Transport::NotDeterminable, Confidence::Possible),
        (vec![tagged("esx01", PAYLOAD * 9)], Transport::NotDeterminable, Confidence::Possible),
        (vec![], Transport::NotDeterminable, Confidence::Possible),
    ] {
        let verdict = tried(&site, &moved);
        assert_eq!((verdict.transport, verdict.confidence), (transport, sure), "{moved:?}: {verdict:#?}");
        assert!(!verdict.evidence.is_empty() || transport == Transport::NotDeterminable, "{verdict:#?}");
    }
}

#[test]
fn a_counter_that_never_counted_says_nothing() {
    let still = tried(&Site::sound(), &[("esx01", "vmrdma0", "Bytes sent", 0)]);
    assert!(still.why.contains("vmrdma0 of esx01 counts and stood still"), "{}", still.why);
    let zeros = Site::sound().printed("esx01", "esxi.rdma-stats");
    let zeros: String = zeros
        .lines()
        .map(|line| match line.split_once(": ") {
            Some((label, _)) if !line.starts_with('@') => format!("{label}: 0\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let site = Site::sound().with("esx01", says("esxi.rdma-stats", &zeros));
    let verdict = tried(&site, &[("esx01", "vmrdma0", "Bytes sent", 0)]);
    assert!(verdict.why.contains("was never seen to count"), "{}", verdict.why);
}

#[test]
fn what_moved_stands_above_what_seems_to_lack() {
    let site = Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED));
    let verdict =
        tried(&site, &[("esx01", "vmrdma0", "Bytes sent", PAYLOAD), ("esx02", "vmrdma0", "Bytes received", PAYLOAD)]);
    assert_eq!((verdict.transport, verdict.confidence), (Transport::Rdma, Confidence::Likely));
    assert!(verdict.why.contains("though esx02 seems not to qualify"), "{}", verdict.why);
}

/// A real soft-RoCE guest, as its capture tells; the other one differs in its addresses.
fn soft(site: Site, name: &str, number: &str, queue_pairs: &str) -> Site {
    let (last, hexadecimal) = if number == "1" { ("10", "0a") } else { ("11", "0b") };
    let change = |text: &str| {
        text.replace("192.168.100.10", &format!("192.168.100.{last}"))
            .replace("c0a8:640a", &format!("c0a8:64{hexadecimal}"))
            .replace(":0111", &format!(":011{number}"))
    };
    let mut sysfs = String::new();
    for line in change(include_str!("../../../tests/fixtures/soft-roce/14-sysfs-values.txt")).lines() {
        if let Some((path, value)) = line.split_once(": ")
            && !value.starts_with("cat:")
        {
            writeln!(sysfs, "/sys/class/infiniband/{path}:{value}").expect("a String takes all");
        }
    }
    let link = change(include_str!("../../../tests/fixtures/soft-roce/03-rdma-j-d-link-show.txt"));
    let addresses = change(include_str!("../../../tests/fixtures/soft-roce/20-ip-j-d-s-addr-show.txt"));
    let outputs: Vec<Output<'_>> = vec![
        says("linux.rdma-link", &link),
        says("linux.rdma-sysfs", &sysfs),
        says("linux.gids", &sysfs),
        says("linux.ip-addresses", &addresses),
        says("linux.netdev-files", "/sys/class/net/eth1/address:52:54:00:00:01:11\n/sys/class/net/eth1/mtu:1500\n"),
        says("linux.rdma-netdev-mtu", "/sys/class/net/eth1/mtu:1500\n"),
        says("linux.queue-pairs", queue_pairs),
        says("linux.system-files", "/sys/class/dmi/id/sys_vendor:QEMU\n"),
    ];
    site.guest(name, &outputs)
}

/// The queue pairs of a real run, as root sees them on each side.
fn queue_pairs(section: &str) -> &'static str {
    let text = include_str!("../../../tests/fixtures/soft-roce/perftest/qp-root-and-unprivileged.txt");
    let (_, behind) = text.split_once(&format!("## {section}\n")).expect("a section");
    behind.lines().find(|line| line.starts_with('[')).expect("JSON")
}

#[test]
fn a_soft_roce_pair_has_no_host_and_its_packets_prove_rdma() {
    let site = soft(Site::new(), "softroce1", "1", queue_pairs("softroce1"));
    let peer = queue_pairs("softroce1").replace(r#""lqpn":19,"rqpn":17"#, r#""lqpn":17,"rqpn":19"#);
    let site = soft(site, "softroce2", "2", &peer);
    let path = path_of(&site, "softroce1", "softroce2");
    assert_eq!(shape(&path), [(HopKind::GuestDevice, Status::Pass); 2], "{path:#?}");
    assert_eq!(value(&path.hops[0], "kind"), "software");
    assert!(path.verdict.why.contains("RDMA in software"), "{:#?}", path.verdict);
    assert_eq!((path.verdict.transport, path.verdict.confidence), (Transport::Rdma, Confidence::Likely));
    let moved = site.moved(counter("softroce1", "rxe0", "sent_pkts"), 125_000, 5).moved(
        counter("softroce2", "rxe0", "rcvd_pkts"),
        125_000,
        5,
    );
    let path = path_of(&moved, "softroce1", "softroce2");
    assert!(path.verdict.why.contains("both devices move"), "{:#?}", path.verdict);
}

/// A guest with InfiniBand ports.
fn infiniband(site: Site, name: &str, lid: &str, manager: &str, key: &str) -> Site {
    let port = format!(
        "/sys/class/infiniband/mlx5_0/node_type:1: CA\n/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE\n\
         /sys/class/infiniband/mlx5_0/ports/1/phys_state:5: LinkUp\n\
         /sys/class/infiniband/mlx5_0/ports/1/rate:100 Gb/sec (4X EDR)\n\
         /sys/class/infiniband/mlx5_0/ports/1/link_layer:InfiniBand\n/sys/class/infiniband/mlx5_0/ports/1/lid:{lid}\n\
         /sys/class/infiniband/mlx5_0/ports/1/sm_lid:{manager}\n/sys/class/infiniband/mlx5_0/ports/1/pkeys/0:{key}\n"
    );
    site.guest(name, &[says("linux.rdma-sysfs", &port)])
}

#[test]
fn infiniband_ports_show_lid_subnet_manager_and_partition() {
    let pair = |manager, key| {
        let site = infiniband(Site::new(), "ib-a", "0x3", "0x1", "0xffff");
        path_of(&infiniband(site, "ib-b", "0x23", manager, key), "ib-a", "ib-b")
    };
    let path = pair("0x1", "0xffff");
    let hop = &path.hops[0];
    assert_eq!(
        (value(hop, "lid"), value(hop, "sm-lid"), value(hop, "pkey")),
        ("3".into(), "1".into(), "0xffff".into())
    );
    assert_eq!((value(hop, "gid"), value(hop, "pfc")), ("absent".into(), "absent".into()));
    assert_eq!(path.first_broken, None, "{path:#?}");
    for (manager, key, why) in [
        ("0x0", "0xffff", "no subnet manager"),
        ("0x7", "0xffff", "two subnets"),
        ("0x1", "0x8001", "its partition is 0x8001"),
        ("0x1", "0x7fff", ""),
    ] {
        let path = pair(manager, key);
        match broken(&path) {
            Some((_, found)) => assert!(!why.is_empty() && found.contains(why), "{found}"),
            None => assert!(why.is_empty(), "{path:#?}"),
        }
    }
}

#[test]
fn of_several_ports_the_pair_that_can_talk_is_taken_and_said() {
    let two = |addresses: [&str; 2]| {
        let mut sysfs = String::new();
        let mut list = Vec::new();
        let mut links = Vec::new();
        for (number, address) in addresses.iter().enumerate() {
            let base = format!("/sys/class/infiniband/mlx5_{number}");
            write!(
                sysfs,
                "{base}/node_type:1: CA\n{base}/ports/1/state:4: ACTIVE\n{base}/ports/1/link_layer:Ethernet\n"
            )
            .expect("a String takes all");
            links.push(format!(
                r#"{{"ifindex":{number},"ifname":"mlx5_{number}","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth{number}"}}"#
            ));
            list.push(format!(
                r#"{{"ifname":"eth{number}","mtu":9000,"addr_info":[{{"family":"inet","local":"{address}","prefixlen":24}}]}}"#
            ));
        }
        (sysfs, format!("[{}]", links.join(",")), format!("[{}]", list.join(",")))
    };
    let mut site = Site::new();
    for (name, addresses) in [("a", ["10.1.0.1", "10.2.0.1"]), ("b", ["10.9.0.2", "10.2.0.2"])] {
        let (sysfs, links, list) = two(addresses);
        let files = "/sys/class/net/eth0/mtu:9000\n/sys/class/net/eth1/mtu:9000\n";
        site = site.guest(
            name,
            &[
                says("linux.rdma-link", &links),
                says("linux.rdma-sysfs", &sysfs),
                says("linux.ip-addresses", &list),
                says("linux.netdev-files", files),
            ],
        );
    }
    let path = path_of(&site, "a", "b");
    let guests: Vec<&Hop> = path.hops.iter().filter(|hop| hop.kind == HopKind::GuestDevice).collect();
    assert_eq!(guests.iter().map(|hop| hop.name.as_str()).collect::<Vec<_>>(), ["mlx5_1", "mlx5_1"], "{path:#?}");
    assert_eq!(value(guests[0], "chosen"), "2 of 2, subnet 10.2.0.0/24");
}

/// esx02 with two uplinks, both with a link, that the teaming of its ports names alike.
fn two_uplinks() -> Site {
    Site::sound()
        .replacing("esx02", "esxi.distributed-switches", "Uplinks: vmnic2", "Uplinks: vmnic2, vmnic3")
        .replacing("esx02", "esxi.net-dvs-list", "active = Uplink 1;", "active = Uplink 1; Uplink 2;")
}

#[test]
fn of_two_uplinks_each_and_the_port_behind_it_are_judged() {
    let refused = "{\n\"switchports\": {\n\"Ethernet1\": {\"enabled\": true, \"switchportInfo\": {\"mode\": \"trunk\", \
                   \"trunkAllowedVlans\": \"ALL\"}},\n\"Ethernet2\": {\"enabled\": true, \"switchportInfo\": {\"mode\": \
                   \"trunk\", \"accessVlanId\": 20, \"trunkAllowedVlans\": \"1,101-200\"}}}}\n";
    let site = two_uplinks().with("leaf1", says("eos.switchport", refused));
    let joined = site.joined();
    let chain = joined.chains.iter().find(|chain| chain.is_pvrdma() && chain.vm.target.as_str() == "esx02");
    let chain = chain.expect("the adapter of pv-b");
    assert!(chain.reaches(|entity| matches!(entity, Entity::Uplink(_))).is_none(), "none is known to carry it");
    let possible: Vec<String> = chain.possible_uplinks().map(|uplink| uplink.entity.name()).collect();
    assert_eq!(possible, ["vmnic2", "vmnic3"]);
    let path = pvrdma(&site);
    let hops: Vec<&Hop> = path.hops.iter().filter(|hop| hop.side == Side::Other && hop.kind >= Uplink).collect();
    assert_eq!(hops.iter().filter(|hop| hop.kind == Uplink).count(), 2, "{path:#?}");
    assert!(hops.iter().filter(|hop| hop.kind == Uplink).all(|hop| value(hop, "one-of") == "vmnic2, vmnic3"));
    let port = hops.iter().find(|hop| hop.name == "Ethernet2").expect("the port behind vmnic2");
    assert_eq!(port.status, Status::Fail, "{port:#?}");
    assert!(port.why.contains("VLAN 100"), "{port:#?}");
    let found = site.examine();
    let vlan = found.iter().find(|one| one.check.id == "switch.vlan" && one.judged.status == Status::Fail);
    let reaches = &vlan.expect("the check looks at both ports").judged.reaches;
    assert!(reaches.iter().any(|id| id.target.as_str() == "pv-b"), "{reaches:?}");
}

#[test]
fn a_known_lack_is_the_verdict_though_the_switches_were_not_read() {
    let unread = |site: Site| {
        let dead = |source| fails(source, 1, "Connect to localhost failed");
        site.with("esx02", dead("esxi.distributed-switches")).with("esx02", dead("esxi.net-dvs-list"))
    };
    let open = pvrdma(&unread(Site::sound()));
    assert_eq!(open.verdict.transport, Transport::NotDeterminable);
    assert!(open.verdict.why.contains("whether esx02 qualifies is not known"), "{:?}", open.verdict);
    let untagged = unread(Site::sound())
        .replacing("esx02", "esxi.pvrdma-vmknic", "String Value: vmk1", "String Value:")
        .replacing("esx02", "esxi.advanced-changed", "String Value: vmk1", "String Value:");
    let path = pvrdma(&untagged);
    assert_eq!((path.verdict.transport, path.verdict.confidence), (Transport::Tcp, Confidence::Proved), "{path:#?}");
    assert!(path.verdict.why.contains("esx02 does not qualify"), "{:?}", path.verdict);
}
