//! The forms of answers against real output: a machine with the values of a real guest must answer as that guest did, byte
//! for byte.

use std::net::IpAddr;

use super::{lab, root, run};
use crate::lab::guest::clock::Clock;
use crate::lab::guest::machines;
use crate::lab::guest::state::{
    Address, Boot, Driver, Family, Function, Module, NetCounters, Netdev, Node, State, scope,
};
use crate::lab::guest::{Guest, templates};
use crate::lab::machine::Machine;

macro_rules! capture {
    ($path:literal) => {
        include_str!(concat!("../../../../tests/fixtures/", $path))
    };
}

fn address(text: &str, prefix: u8, lifetimes: Option<(u32, u32)>) -> Address {
    let address: IpAddr = text.parse().expect("an address");
    Address { address, prefix, scope: scope(address), lifetimes }
}

fn netdev(index: u32, name: &str, mac: &str, mtu: (u64, u64, u64), addresses: Vec<Address>) -> Netdev {
    Netdev {
        index,
        name: name.to_owned(),
        mac: mac.to_owned(),
        mtu,
        admin_up: true,
        carrier: true,
        driver: None,
        function: None,
        bus_device: None,
        addresses,
        other_names: Vec::new(),
        speed: -1,
        queues: (1, 1),
        discipline: if name == "lo" { "noqueue" } else { "fq_codel" },
        counted: NetCounters::default(),
    }
}

fn loopback() -> Netdev {
    let addresses = vec![address("127.0.0.1", 8, None), address("::1", 128, None)];
    netdev(1, "lo", "00:00:00:00:00:00", (65_536, 0, 0), addresses)
}

fn blank() -> State {
    let clock = Clock::standing();
    let mut state = machines::all(1, clock.began()).swap_remove(0);
    state.boot = Boot { number: 0, at: 0.0, id: state.boot.id };
    state.kernel.0 = "6.1.0-57-amd64".to_owned();
    state
}

/// Vendor and device of a line of `lspci -nn`, and what stands around them.
fn function(text: &'static str) -> Function {
    let mut lines = text.lines();
    let first = lines.next().expect("a first line");
    let (address, rest) = first.split_once(' ').expect("an address");
    let (class_name, rest) = rest.split_once(" [").expect("a class");
    let (class, rest) = rest.split_once("]: ").expect("a class number");
    let (rest, revision) = rest.split_once(" (rev ").map_or((rest, "00)"), |(rest, revision)| (rest, revision));
    let (name, ids) = rest.rsplit_once(" [").expect("numbers");
    let hex = |text: &str| u16::from_str_radix(text, 16).expect("a number");
    let pair = |ids: &str| {
        let (vendor, device) = ids.trim_end_matches(']').split_once(':').expect("two numbers");
        (hex(vendor), hex(device))
    };
    let mut function = Function {
        address: format!("0000:{address}"),
        class_name,
        class: u32::from(hex(class)) << 8,
        name,
        ids: pair(ids),
        revision: u8::from_str_radix(revision.trim_end_matches(')'), 16).expect("a revision"),
        ..Function::default()
    };
    for line in lines {
        match line.trim().split_once(": ").expect("a name") {
            ("Subsystem", text) => {
                let (name, ids) = text.rsplit_once(" [").expect("numbers");
                let (vendor, device) = pair(ids);
                function.subsystem = Some((name, vendor, device));
            }
            ("Kernel driver in use", driver) => function.driver = Some(driver),
            (_, modules) => function.modules = modules.split(", ").collect(),
        }
    }
    function
}

fn modules(lsmod: &'static str) -> Vec<Module> {
    lsmod
        .lines()
        .skip(1)
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            Module {
                name: words[0],
                size: words[1].parse().expect("a size"),
                uses: words[2].parse().expect("a count"),
                users: words.get(3).copied().unwrap_or(""),
            }
        })
        .collect()
}

/// A machine with the values of the PVRDMA guest that was captured.
fn pvrdma_guest() -> Guest {
    let mut state = blank();
    state.name = "pvguest".to_owned();
    let adapter = &mut state.adapter;
    adapter.device = "rocep0s16f1".to_owned();
    adapter.function = "0000:00:10.1".to_owned();
    adapter.node_guid = "5054:00ff:fe00:0231".to_owned();
    adapter.firmware = "0.0.14".to_owned();
    adapter.verbs_firmware = "0.0.014".to_owned();
    adapter.verbs_identity = ("0x0000".to_owned(), 2080, "0x0".to_owned());
    adapter.capabilities = vec!["PORT_ACTIVE_EVENT", "RC_RNR_NAK_GEN"];
    adapter.capability_mask = "0x00010000".to_owned();
    adapter.gid_types = vec!["IB/RoCE v1"];
    adapter.gid_entries = 6;
    let mut eth0 = netdev(
        2,
        "eth0",
        "52:54:00:12:34:56",
        (1500, 68, 65_535),
        vec![
            address("10.0.2.15", 24, None),
            address("fec0::5054:ff:fe12:3456", 64, Some((85_939, 13_939))),
            address("fe80::5054:ff:fe12:3456", 64, None),
        ],
    );
    eth0.bus_device = Some(("virtio", "virtio1".to_owned()));
    eth0.counted = NetCounters { bytes: (20_226, 36_558), packets: (200, 200), multicast: 0 };
    let mut eth1 = netdev(
        3,
        "eth1",
        "52:54:00:00:02:31",
        (1500, 60, 9000),
        vec![
            address("192.168.100.50", 24, None),
            address("fec0::5054:ff:fe00:231", 64, Some((86_384, 14_384))),
            address("fe80::5054:ff:fe00:231", 64, None),
        ],
    );
    eth1.driver = Some(Driver { name: "vmxnet3", version: "1.7.0.0-k-NAPI".to_owned(), firmware: String::new() });
    eth1.function = Some("0000:00:10.0".to_owned());
    eth1.other_names = vec!["enp0s16f0".to_owned(), "ens16f0".to_owned()];
    eth1.counted = NetCounters { bytes: (550, 672), packets: (5, 8), multicast: 5 };
    state.netdevs = vec![loopback(), eth0, eth1];
    state.nodes = vec![Node { processors: (0, 0), kibibytes: (706 * 1024, 617 * 1024) }];
    let list = capture!("pvrdma-guest/18-lspci-nnk.txt");
    let starts: Vec<usize> =
        list.match_indices("00:").map(|(at, _)| at).filter(|at| *at == 0 || list.as_bytes()[at - 1] == b'\n').collect();
    let ends = starts.iter().skip(1).copied().chain([list.len()]);
    state.functions = starts.iter().zip(ends).map(|(start, end)| function(&list[*start..end])).collect();
    state.modules = modules(capture!("pvrdma-guest/19-lsmod.txt"));
    state.packages.retain(|(name, ..)| {
        ["rdma-core", "librdmacm1", "libibverbs1", "ibverbs-providers", "perftest", "openmpi-bin", "ucx-utils"]
            .contains(name)
    });
    state.settings.insert("vm.swappiness", "60".to_owned());
    // Nothing runs on it: its boot is so fresh that no job has begun.
    state.wire.change(state.side, 0.0, |end| end.quiet_until = f64::INFINITY);
    Guest::new(state, Clock::standing())
}

/// A machine with the interfaces of the soft-RoCE guest.
fn soft_roce_guest(lifetimes: (u32, u32)) -> Guest {
    let mut state = blank();
    state.adapter.family = Family::Mlx5;
    state.adapter.device = "rxe0".to_owned();
    state.gateway = [10, 0, 2, 2].into();
    let mut eth0 = netdev(
        2,
        "eth0",
        "52:54:00:00:00:11",
        (1500, 68, 65_535),
        vec![
            address("10.0.2.15", 24, None),
            address("fec0::5054:ff:fe00:11", 64, Some(lifetimes)),
            address("fe80::5054:ff:fe00:11", 64, None),
        ],
    );
    eth0.bus_device = Some(("virtio", "virtio0".to_owned()));
    let driver = Driver { name: "virtio_net", version: "1.0.0".to_owned(), firmware: String::new() };
    (eth0.driver, eth0.function) = (Some(driver.clone()), Some("0000:00:03.0".to_owned()));
    let mut eth1 = netdev(
        3,
        "eth1",
        "52:54:00:00:01:11",
        (1500, 68, 65_535),
        vec![address("192.168.100.10", 24, None), address("fe80::5054:ff:fe00:111", 64, None)],
    );
    eth1.bus_device = Some(("virtio", "virtio1".to_owned()));
    (eth1.driver, eth1.function) = (Some(driver), Some("0000:00:04.0".to_owned()));
    eth1.counted = NetCounters { bytes: (0, 726), packets: (0, 9), multicast: 0 };
    state.netdevs = vec![loopback(), eth0, eth1];
    state.nodes = vec![Node { processors: (0, 0), kibibytes: (594_640, 503_436) }];
    state.modules = modules(capture!("lab/lsmod.txt"));
    Guest::new(state, Clock::standing())
}

/// Both outputs of a command as a terminal shows them.
fn both(machine: &dyn Machine, command: &str) -> String {
    let answer = run(machine, command, &root());
    // The tool complains before it prints what it has.
    answer.stderr + &answer.stdout
}

#[test]
fn a_pvrdma_guest_answers_as_the_real_one() {
    let guest = pvrdma_guest();
    for (command, expected) in [
        ("uname -a", capture!("pvrdma-guest/01-uname-a.txt")),
        ("rdma -d link show", capture!("pvrdma-guest/02-rdma-d-link-show.txt")),
        ("rdma -j -d link show", capture!("pvrdma-guest/03-rdma-j-d-link-show.txt")),
        ("rdma -d dev show", capture!("pvrdma-guest/04-rdma-d-dev-show.txt")),
        ("rdma -j -d dev show", capture!("pvrdma-guest/05-rdma-j-d-dev-show.txt")),
        ("rdma system show", capture!("pvrdma-guest/06-rdma-system-show.txt")),
        ("rdma res show", capture!("pvrdma-guest/07-rdma-res-show.txt")),
        ("rdma -j res show", capture!("pvrdma-guest/08-rdma-j-res-show.txt")),
        ("rdma res show qp", capture!("pvrdma-guest/09-rdma-res-show-qp.txt")),
        ("rdma -j res show qp", capture!("pvrdma-guest/10-rdma-j-res-show-qp.txt")),
        ("rdma statistic show", capture!("pvrdma-guest/11-rdma-statistic-show.txt")),
        ("rdma -j statistic show", capture!("pvrdma-guest/12-rdma-j-statistic-show.txt")),
        ("ibstat", capture!("pvrdma-guest/15-ibstat.txt")),
        ("ibv_devices", capture!("pvrdma-guest/16-ibv-devices.txt")),
        ("ibv_devinfo", capture!("pvrdma-guest/17-ibv-devinfo.txt")),
        ("lspci -nnk", capture!("pvrdma-guest/18-lspci-nnk.txt")),
        ("lsmod", capture!("pvrdma-guest/19-lsmod.txt")),
        ("ip -j -d -s addr show", capture!("pvrdma-guest/20-ip-j-d-s-addr-show.txt")),
        ("ip link show", capture!("pvrdma-guest/21-ip-link-show.txt")),
        ("ethtool -i eth1", capture!("pvrdma-guest/22-ethtool-i-eth1.txt")),
        ("ethtool -S eth1", capture!("pvrdma-guest/23-ethtool-s-eth1.txt")),
        ("ulimit -l", capture!("pvrdma-guest/25-ulimit-l.txt")),
        ("numactl --hardware", capture!("pvrdma-guest/26-numactl-hardware.txt")),
        (
            "cat /sys/kernel/mm/transparent_hugepage/enabled /proc/sys/vm/swappiness",
            capture!("pvrdma-guest/27-cat-sys-kernel-mm-transparent-hugepage-enabl.txt"),
        ),
        (
            "dpkg-query -W rdma-core librdmacm1 libibverbs1 ibverbs-providers perftest openmpi-bin ucx-utils",
            capture!("pvrdma-guest/28-dpkg-query-w-rdma-core-librdmacm1-libibverbs.txt"),
        ),
        ("nvidia-smi", capture!("pvrdma-guest/31-nvidia-smi.txt")),
    ] {
        assert_eq!(both(&guest, command), expected, "{command}");
    }
    assert_eq!(run(&guest, "rdma statistic show", &root()).status, 1);
    assert_eq!(run(&guest, "nvidia-smi", &root()).status, 127);
}

#[test]
fn the_files_of_a_pvrdma_device_are_those_of_the_real_one() {
    let guest = pvrdma_guest();
    let folder = "/sys/class/infiniband/";
    // The list was made by a loop over the names: a name, then what cat said of it.
    let mut compared = 0;
    for line in capture!("pvrdma-guest/14-sysfs-values.txt").lines() {
        let (name, value) = line.split_once(": ").expect("a name");
        if name.contains('*') {
            assert!(guest.expand(&format!("{folder}{name}")).is_empty(), "{name}");
            continue;
        }
        let path = format!("{folder}{name}");
        let answer = run(&guest, &format!("cat {path}"), &root());
        let said = match answer.status {
            0 => answer.stdout.lines().next().unwrap_or("").to_owned(),
            _ => answer.stderr.trim_end().replace(folder, ""),
        };
        assert_eq!(said, value, "{name}");
        compared += 1;
    }
    assert!(compared > 25, "{compared}");
    assert_eq!(
        guest.link("/sys/class/infiniband/rocep0s16f1").as_deref(),
        Some("../../devices/pci0000:00/0000:00:10.1/infiniband/rocep0s16f1")
    );
    let listing = capture!("pvrdma-guest/13-sysfs-listing.txt").rsplit_once("ports/1/:\n").expect("the port").1;
    let names: Vec<&str> = listing
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .filter(|name| !name.starts_with(['.', '0']))
        .collect();
    let ours = run(&guest, "ls /sys/class/infiniband/rocep0s16f1/ports/1", &root()).stdout;
    assert_eq!(ours.lines().collect::<Vec<_>>(), names);
    assert_eq!(super::file(&guest, "/sys/class/infiniband/rocep0s16f1/fw_ver"), "0.0.14\n\n");
}

#[test]
fn ip_answers_as_the_real_one() {
    let guest = soft_roce_guest((86_355, 14_355));
    for (command, expected) in [
        ("ip addr", capture!("lab/ip-addr.txt")),
        ("ip addr show dev eth1", capture!("lab/ip-addr-show-dev-eth1.txt")),
        ("ip -4 addr show eth1", capture!("lab/ip-4-addr-show-eth1.txt")),
        ("ip -s link show eth1", capture!("lab/ip-s-link-show-eth1.txt")),
        ("ip -j link show eth1", capture!("lab/ip-j-link-show-eth1.txt")),
        ("ip -j -s link show eth1", capture!("lab/ip-j-s-link-show-eth1.txt")),
        ("ip -br link", capture!("lab/ip-br-link.txt")),
        ("ip -br addr", capture!("lab/ip-br-addr.txt")),
        ("ip route", capture!("lab/ip-route.txt")),
        ("rdma", capture!("lab/rdma.txt")),
        ("rdma link", capture!("lab/rdma-link.txt")),
        ("rdma -p -j link", capture!("lab/rdma-p-j-link.txt")),
        ("ibv_devinfo -l", capture!("lab/ibv_devinfo-l.txt")),
        ("lsmod", capture!("lab/lsmod.txt")),
    ] {
        assert_eq!(both(&guest, command), expected, "{command}");
    }
    let guest = soft_roce_guest((86_354, 14_354));
    assert_eq!(both(&guest, "ip -j addr"), capture!("lab/ip-j-addr.txt"));
    let meminfo = super::file(&guest, "/sys/devices/system/node/node0/meminfo");
    assert!(capture!("lab/node0-meminfo.txt").starts_with(&meminfo), "{meminfo}");
}

#[test]
fn links_lead_where_the_real_ones_lead() {
    let guest = soft_roce_guest((1, 1));
    let list = "stat -c %N /sys/class/net/* /sys/class/net/*/device/driver";
    assert_eq!(both(&guest, list), capture!("guest-probes/linux.netdev-links.txt"));
    let pci = pvrdma_guest();
    assert_eq!(
        pci.link("/sys/bus/pci/devices/0000:00:10.1/driver").as_deref(),
        Some("../../../bus/pci/drivers/vmw_pvrdma"),
        "as for the functions in guest-probes/linux.pci-drivers.txt"
    );
    let ours = pci.link("/sys/class/infiniband/rocep0s16f1/device");
    assert_eq!(ours.as_deref(), Some("../../../0000:00:10.1"));
}

#[test]
fn refusals_are_those_of_the_real_tools() {
    let guest = soft_roce_guest((1, 1));
    let mut compared = 0;
    for block in capture!("lab/refusals.txt").split("$ ").filter(|block| !block.is_empty()) {
        let (command, rest) = block.split_once('\n').expect("a command");
        let (said, status) = rest.rsplit_once("[exit ").expect("a status");
        let answer = run(&guest, command, &root());
        assert_eq!((answer.stderr + &answer.stdout).as_str(), said, "{command}");
        assert_eq!(format!("{}]\n", answer.status), status, "{command}");
        compared += 1;
    }
    assert!(compared > 15, "{compared}");
}

#[test]
fn an_unprivileged_login_is_refused_as_the_real_one() {
    let guest = soft_roce_guest((1, 1));
    let said = |command: &str| {
        let answer = run(&guest, command, &lab());
        (answer.stderr, answer.status)
    };
    for command in ["ip link set eth1 mtu 1500", "ip addr add 1.2.3.4/24 dev eth1"] {
        assert_eq!(said(command), ("RTNETLINK answers: Operation not permitted\n".to_owned(), 2), "{command}");
    }
    let dmesg = capture!("soft-roce-unprivileged/33-dmesg-tail-20.txt");
    assert_eq!(said("dmesg"), (dmesg.to_owned(), 1));
    for command in ["sudo -n true", "sudo -n ip link", "sudo -n cat /etc/machine-id"] {
        assert_eq!(said(command), ("sudo: a password is required\n".to_owned(), 1), "{command}");
    }
    assert_eq!(said("sudo -n rdma link").1, 0);
    assert_eq!(said("sudo -n dmesg"), (String::new(), 0));
    assert_eq!(run(&guest, "id", &lab()).stdout, "uid=1000(lab) gid=1000(lab) groups=1000(lab)\n");
    assert_eq!(run(&guest, "sudo -n id", &root()).stdout, "uid=0(root) gid=0(root) groups=0(root)\n");
}

#[test]
fn limits_and_status_keep_their_form() {
    // The captures were read with grep: a path before each line.
    let without_path = |text: &str, path: &str| {
        text.lines()
            .filter_map(|line| line.strip_prefix(path)?.strip_prefix(':'))
            .map(|line| format!("{line}\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let expected = without_path(capture!("guest-probes/linux.limits-login.txt"), "/proc/self/limits");
    let mut state = blank();
    state.nodes = vec![Node { processors: (0, 0), kibibytes: (2284 * 256, 1) }];
    assert_eq!(crate::lab::guest::procfs::limits(&state, Some(8_388_608)), expected);
    // Of the status file only the names of the lines are fixed.
    let expected = without_path(capture!("guest-probes/linux.system-files.txt"), "/proc/self/status");
    let names = |text: &str| {
        text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let ours = names(templates::body(include_str!("../templates/status.txt")));
    assert!(ours.iter().all(|name| names(&expected).contains(name)), "{ours:?}");
}

#[test]
fn the_table_of_identifiers_has_the_tabs_of_the_real_one() {
    let v6: IpAddr = "fe80::ff:fe00:1".parse().expect("an address");
    let v4: IpAddr = "192.0.2.100".parse().expect("an address");
    let rows = [("qedr0", 0, v6, "", ""), ("qedr0", 1, v4, "", "")];
    // The capture lost what stood at the ends of its lines.
    let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let capture = capture!("public/58-show_gids-tabs-missing-version.txt");
    assert_eq!(trimmed(&templates::lists::show_gids(&rows)), trimmed(capture));
}

#[test]
fn counters_of_mlx5_stand_in_the_order_of_the_real_tool() {
    let capture = capture!("public/14-rdma-statistic-wrapped.txt").replace('\n', " ");
    let names: Vec<&str> =
        capture.split(' ').skip(2).step_by(2).filter(|name| !name.is_empty() && !name.starts_with("cc_")).collect();
    assert_eq!(names, crate::lab::guest::counters::HARDWARE_COUNTERS);
}

#[test]
fn the_head_of_a_pvrdma_devices_details_is_that_of_the_real_one() {
    let clock = Clock::standing();
    let guest = Guest::new(machines::all(1, clock.began()).swap_remove(0), clock);
    let ours = both(&guest, "ibv_devinfo -v");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let capture = words(capture!("public/01-ibv_devinfo-v-pvrdma.txt"));
    let ours = words(&ours);
    let differ: Vec<(&String, &String)> = capture.iter().zip(&ours).filter(|(one, other)| one != other).collect();
    // Only what is each machine's own: the name and the identifier.
    assert_eq!(differ.len(), 2, "{differ:?}");
}
