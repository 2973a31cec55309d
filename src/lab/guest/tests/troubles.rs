//! What happens to a machine changes exactly what it should, and what is set shows in all that is read later.

use std::collections::BTreeMap;

use super::{Lab, file, lab, number, out, root, run};
use crate::lab::machine::{Machine, NotRead, Trouble};

/// All files of sysfs about RDMA and interfaces, and the boot id: path and content.
fn picture(machine: &dyn Machine) -> BTreeMap<String, String> {
    let patterns = [
        "/sys/class/infiniband/*/*",
        "/sys/class/infiniband/*/ports/1/*",
        "/sys/class/infiniband/*/ports/1/*counters/*",
        "/sys/class/infiniband/*/ports/1/gids/[0-7]",
        "/sys/class/infiniband/*/ports/1/gid_attrs/*/[0-7]",
        "/sys/class/net/*/*",
        "/sys/class/net/*/statistics/*",
        "/sys/bus/pci/devices/*/*",
        "/proc/sys/kernel/random/boot_id",
        "/proc/sys/*/*",
    ];
    let paths = patterns.iter().flat_map(|pattern| machine.expand(pattern));
    paths
        .filter_map(|path| match machine.read(&path, &root()) {
            Ok(bytes) => Some((path, String::from_utf8(bytes).expect("text"))),
            Err(NotRead::Directory | NotRead::Missing | NotRead::Denied) => None,
            Err(NotRead::Invalid) => Some((path, "EINVAL".to_owned())),
        })
        .collect()
}

/// The ends of the paths whose content differs.
fn differences(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let differ = one.iter().filter(|(path, content)| other.get(*path) != Some(*content)).map(|(path, _)| path.clone());
    differ.collect()
}

fn log(machine: &dyn Machine) -> Vec<String> {
    out(machine, "dmesg", &root()).lines().map(|line| line.split_once("] ").expect("a time").1.to_owned()).collect()
}

#[test]
fn a_link_that_goes_down_changes_its_port_and_interface_and_nothing_else() {
    for (name, interface, down, up) in [
        (
            "pv-a",
            "ens192",
            "vmxnet3 0000:0b:00.0 ens192: NIC Link is Down",
            "vmxnet3 0000:0b:00.0 ens192: NIC Link is Up 100000 Mbps",
        ),
        (
            "hca-a",
            "ens224np0",
            "mlx5_core 0000:13:00.0 ens224np0: Link down",
            "mlx5_core 0000:13:00.0 ens224np0: Link up",
        ),
        ("vf-a", "ens224", "mlx5_core 0000:13:00.0 ens224: Link down", "mlx5_core 0000:13:00.0 ens224: Link up"),
    ] {
        let lab = Lab::new(31);
        lab.at(33);
        let machine = lab.machine(name);
        let before = picture(machine);
        let lines = log(machine).len();
        machine.suffer(Trouble::LinkDown, true);
        let after = picture(machine);
        let device = machine.expand("/sys/class/infiniband/*").swap_remove(0);
        let mut expected = vec![format!("{device}/ports/1/phys_state"), format!("{device}/ports/1/state")];
        if name != "pv-a" {
            expected.insert(1, format!("{device}/ports/1/rate"));
        }
        expected.extend(
            ["carrier", "duplex", "operstate", "speed"].map(|file| format!("/sys/class/net/{interface}/{file}")),
        );
        assert_eq!(differences(&before, &after), expected, "{name}");
        assert_eq!(file(machine, &format!("{device}/ports/1/state")), "1: DOWN\n");
        assert_eq!(file(machine, &format!("/sys/class/net/{interface}/carrier")), "0\n");
        assert_eq!(log(machine)[lines..], [down.to_owned()]);
        let link = out(machine, "rdma link", &root());
        assert!(link.contains(" state DOWN physical_state DISABLED "), "{link}");
        let ip = out(machine, &format!("ip link show {interface}"), &root());
        assert!(ip.contains("<NO-CARRIER,BROADCAST,MULTICAST,UP> ") && ip.contains(" state DOWN "), "{ip}");
        assert!(out(machine, "ibv_devinfo", &root()).contains("PORT_DOWN (1)"));
        // The same trouble again is no news.
        machine.suffer(Trouble::LinkDown, true);
        lab.at(43);
        assert_eq!(log(machine).len(), lines + 1);
        machine.suffer(Trouble::LinkDown, false);
        assert_eq!(log(machine)[lines + 1..], [up.to_owned()]);
        assert_eq!(file(machine, &format!("{device}/ports/1/state")), "4: ACTIVE\n");
    }
}

#[test]
fn counters_stand_still_while_a_link_is_down_and_go_on_afterwards() {
    let lab = Lab::new(31);
    lab.at(33);
    let (machine, peer) = (lab.machine("hca-a"), lab.machine("hca-b"));
    let sent = |machine: &dyn Machine| number(machine, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data");
    machine.suffer(Trouble::LinkDown, true);
    let before = (sent(machine), sent(peer));
    lab.at(50);
    assert_eq!((sent(machine), sent(peer)), before, "nobody sends to a link that is down");
    assert_eq!(file(peer, "/sys/class/infiniband/mlx5_0/ports/1/state"), "4: ACTIVE\n", "the peer's own link is up");
    machine.suffer(Trouble::LinkDown, false);
    assert_eq!((sent(machine), sent(peer)), before, "a counter does not jump");
    lab.at(60);
    assert!(sent(machine) > before.0 && sent(peer) > before.1);
}

#[test]
fn loss_raises_retransmissions_and_breaks_queue_pairs() {
    let lab = Lab::new(31);
    let machine = lab.machine("hca-a");
    let counter = |name: &str| number(machine, &format!("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/{name}"));
    let rate = |from: u64| {
        lab.at(from);
        let before = number(machine, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data");
        lab.at(from + 10);
        number(machine, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data") - before
    };
    let names = ["local_ack_timeout_err", "packet_seq_err", "out_of_sequence", "duplicate_request"];
    let healthy = rate(20);
    assert!(names.iter().all(|name| counter(name) == 0));
    let before = picture(machine);
    machine.suffer(Trouble::Loss, true);
    assert_eq!(differences(&before, &picture(machine)), Vec::<String>::new(), "nothing changes at once");
    let lossy = rate(30);
    assert!(lossy * 2 < healthy, "{lossy} {healthy}");
    for name in names {
        let one = counter(name);
        assert!(one > 0, "{name}");
        lab.at(50);
        assert!(counter(name) > one, "{name}");
        lab.at(40);
    }
    lab.at(50);
    let broken = |machine: &dyn Machine| {
        out(machine, "rdma res show qp", &root()).lines().filter(|line| line.contains(" state ERR ")).count()
    };
    assert!(broken(machine) >= 1);
    assert_eq!(broken(machine), broken(lab.machine("hca-b")), "both ends are broken");
    assert!(file(machine, "/sys/class/infiniband/mlx5_0/ports/1/state").contains("ACTIVE"));
    machine.suffer(Trouble::Loss, false);
    let after = counter("packet_seq_err");
    lab.at(60);
    assert_eq!((counter("packet_seq_err"), broken(machine)), (after, 0));
    // What a driver does not publish cannot rise.
    let pvrdma = lab.machine("pv-a");
    let files = pvrdma.expand("/sys/class/infiniband/*/ports/1/*counters/*");
    pvrdma.suffer(Trouble::Loss, true);
    lab.at(70);
    assert!(files.is_empty() && broken(pvrdma) >= 1);
}

#[test]
fn a_reboot_begins_anew() {
    let lab = Lab::new(31);
    lab.at(100);
    let machine = lab.machine("hca-a");
    let boot = file(machine, "/proc/sys/kernel/random/boot_id");
    let identity = (file(machine, "/etc/machine-id"), file(machine, "/sys/class/dmi/id/product_uuid"));
    out(machine, "ip link set ens224np0 mtu 1500", &root());
    out(machine, "sysctl -w vm.swappiness=1", &root());
    machine.suffer(Trouble::LinkDown, true);
    machine.suffer(Trouble::LinkDown, false);
    assert!(number(machine, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data") > 1 << 32);
    machine.suffer(Trouble::Reboot, true);
    assert_ne!(file(machine, "/proc/sys/kernel/random/boot_id"), boot);
    assert_eq!((file(machine, "/etc/machine-id"), file(machine, "/sys/class/dmi/id/product_uuid")), identity);
    assert!(file(machine, "/proc/uptime").starts_with("0.00 "));
    for path in machine.expand("/sys/class/infiniband/*/ports/1/counters/*") {
        assert_eq!(file(machine, &path), "0\n", "{path}");
    }
    assert_eq!(number(machine, "/sys/class/net/ens160/statistics/rx_bytes"), 0);
    assert_eq!(file(machine, "/sys/class/net/ens224np0/mtu"), "9000\n", "a file sets it at each boot");
    assert_eq!(file(machine, "/proc/sys/vm/swappiness"), "60\n", "set by hand, gone with the boot");
    assert!(!log(machine).iter().any(|line| line.ends_with("Link down")));
    assert!(log(machine)[0].starts_with("Linux version "));
    lab.at(110);
    assert!(file(machine, "/proc/uptime").starts_with("10.00 "));
    assert_eq!(number(machine, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"), 0, "nothing runs yet");
    lab.at(140);
    assert!(number(machine, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data") > 0);
    // The other machines know nothing of it.
    let peer = file(lab.machine("hca-b"), "/proc/uptime");
    assert!(peer.split('.').next().expect("seconds").parse::<u64>().expect("a number") > 86_400);
}

#[test]
fn what_is_set_shows_in_all_that_is_read_later() {
    let lab = Lab::new(31);
    lab.at(10);
    let machine = lab.machine("pv-a");
    assert_eq!(run(machine, "ip link set ens192 mtu 1500", &lab_login()).status, 2);
    assert_eq!(file(machine, "/sys/class/net/ens192/mtu"), "9000\n");
    out(machine, "ip link set dev ens192 mtu 1500", &root());
    assert_eq!(file(machine, "/sys/class/net/ens192/mtu"), "1500\n");
    assert!(out(machine, "ip link show ens192", &root()).contains(" mtu 1500 "));
    assert!(out(machine, "ip -j addr show ens192", &root()).contains("\"mtu\":1500"));
    assert!(out(machine, "ibv_devinfo", &root()).contains("active_mtu:\t\t1024 (3)"));
    out(machine, "ip link set ens192 mtu 9000", &root());
    assert!(out(machine, "ibv_devinfo", &root()).contains("active_mtu:\t\t4096 (5)"));

    out(machine, "ip addr add 192.168.200.7/24 dev ens192", &root());
    let gids = "/sys/class/infiniband/rocep11s0f1/ports/1/gids/2";
    assert_eq!(file(machine, gids), "0000:0000:0000:0000:0000:ffff:c0a8:c807\n");
    assert!(out(machine, "ip addr", &root()).contains("inet 192.168.200.7/24 scope global ens192"));
    out(machine, "ip addr del 192.168.200.7/24 dev ens192", &root());
    assert_eq!(file(machine, gids), "0000:0000:0000:0000:0000:0000:0000:0000\n");
    assert_eq!(
        machine.read("/sys/class/infiniband/rocep11s0f1/ports/1/gid_attrs/types/2", &root()),
        Err(NotRead::Invalid)
    );

    let counter = || number(machine, "/sys/class/net/ens192/statistics/tx_bytes");
    out(machine, "ip link set ens192 down", &root());
    assert_eq!(machine.read("/sys/class/net/ens192/carrier", &root()), Err(NotRead::Invalid));
    assert_eq!(file(machine, "/sys/class/net/ens192/flags"), "0x1002\n");
    assert!(out(machine, "rdma link", &root()).contains("state DOWN"));
    assert!(!out(machine, "ip addr show ens192", &root()).contains("fe80::"));
    let before = counter();
    lab.at(30);
    assert_eq!(counter(), before);
    out(machine, "ip link set ens192 up", &root());
    assert!(out(machine, "rdma link", &root()).contains("state ACTIVE"));
    assert_eq!(
        log(machine).last().map(String::as_str),
        Some("vmxnet3 0000:0b:00.0 ens192: NIC Link is Up 100000 Mbps")
    );

    assert_eq!(run(machine, "sysctl vm.swappiness=10", &lab_login()).status, 255);
    assert_eq!(out(machine, "sysctl -w vm.swappiness=10", &root()), "vm.swappiness = 10\n");
    assert_eq!(file(machine, "/proc/sys/vm/swappiness"), "10\n");
}

fn lab_login() -> crate::lab::machine::Login {
    lab()
}

#[test]
fn a_smaller_mtu_costs_throughput_and_makes_more_packets() {
    let lab = Lab::new(31);
    lab.at(20);
    let machine = lab.machine("hca-b");
    let counter = |name: &str| number(machine, &format!("/sys/class/infiniband/mlx5_0/ports/1/counters/{name}"));
    let size = |from: u64| {
        lab.at(from);
        let before = (counter("port_xmit_data"), counter("port_xmit_packets"));
        lab.at(from + 10);
        (counter("port_xmit_data") - before.0) * 4 / (counter("port_xmit_packets") - before.1)
    };
    assert!(size(20) > 3000);
    out(machine, "ip link set ens224np0 mtu 1500", &root());
    let now = size(30);
    assert!((900..=1024 + 58).contains(&now), "{now}");
}
