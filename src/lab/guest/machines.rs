//! The five machines: who they are, which adapter they have, and who is at the other end.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use jiff::Timestamp;

use super::load::{Load, between, mix, unit};
use super::state::{Adapter, Address, Boot, Driver, Family, NetCounters, Netdev, Node, Process, State, scope, uuid};
use super::templates::fill;
use super::wire::{Side, Traffic, Wire};
use super::{gpus, hardware, log};

/// What tells one machine of the lab from another.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    family: Family,
    /// Last octet of its addresses.
    host: u8,
    /// Hardware address of the RDMA interface.
    mac: [u8; 6],
    side: Side,
}

const PLANS: [Plan; 5] = [
    Plan { name: "pv-a", family: Family::Pvrdma, host: 11, mac: [0x00, 0x50, 0x56, 0xb2, 0x66, 0x8c], side: Side::A },
    Plan { name: "pv-b", family: Family::Pvrdma, host: 12, mac: [0x00, 0x50, 0x56, 0xb2, 0x66, 0x9e], side: Side::B },
    Plan { name: "hca-a", family: Family::Mlx5, host: 21, mac: [0x0c, 0x42, 0xa1, 0x7c, 0x1d, 0x30], side: Side::A },
    Plan { name: "hca-b", family: Family::Mlx5, host: 22, mac: [0x0c, 0x42, 0xa1, 0x7c, 0x1e, 0x58], side: Side::B },
    // Who is at the other end of this one is no machine of the lab.
    Plan { name: "vf-a", family: Family::Mlx5Vf, host: 31, mac: [0x00, 0x50, 0x56, 0x8f, 0x31, 0x07], side: Side::A },
];

/// The machine with GPUs, which only some scenarios have. Who is at the other end of its virtual function is no machine of the lab.
const WITH_GPUS: Plan =
    Plan { name: "gpu-a", family: Family::Mlx5Vf, host: 41, mac: [0x00, 0x50, 0x56, 0x8f, 0x41, 0x07], side: Side::A };

/// The vmxnet3 of the VM with GPUs.
const VM_WITH_GPUS_MAC: [u8; 6] = [0x00, 0x50, 0x56, 0xb2, 0x20, 0x11];

/// BIOS UUID and hardware address of the VM with GPUs, which is on the first host whether its guest is read or not.
pub fn vm_with_gpus(seed: u64) -> (String, String) {
    (uuid(mix(seed, 900), 3), mac_text(VM_WITH_GPUS_MAC))
}

/// The Open MPI of the distribution.
pub const OPEN_MPI: &str = "4.1.4";

/// Names of all machines.
pub fn names() -> impl Iterator<Item = &'static str> {
    PLANS.iter().map(|plan| plan.name)
}

/// All machines of the lab as they are when it begins.
pub fn all(seed: u64, wall_began: Timestamp) -> Vec<State> {
    let wire = |family, index| {
        let seed = mix(seed, index);
        // The most octets per second: PVRDMA's own traffic is counted by nobody, its interface carries what a job says over
        // TCP; an HCA of 100 Gb/s comes close to its link, a virtual function shares one of 25 Gb/s.
        Arc::new(match family {
            Family::Pvrdma => Wire::new(seed, Traffic::Ethernet, 1.1e9, 9000),
            Family::Mlx5 => Wire::new(seed, Traffic::Roce, 92.0e9 / 8.0, 9000),
            Family::Mlx5Vf => Wire::new(seed, Traffic::Roce, 21.0e9 / 8.0, 9000),
        })
    };
    let wires = [wire(Family::Pvrdma, 1), wire(Family::Mlx5, 2), wire(Family::Mlx5Vf, 3)];
    PLANS
        .iter()
        .map(|plan| {
            let wire = match plan.family {
                Family::Pvrdma => &wires[0],
                Family::Mlx5 => &wires[1],
                Family::Mlx5Vf => &wires[2],
            };
            machine(*plan, mix(seed, 100 + u64::from(plan.host)), Arc::clone(wire), wall_began)
        })
        .collect()
}

/// The machine with GPUs as it is when the lab begins.
pub fn with_gpus(seed: u64, wall_began: Timestamp) -> State {
    let wire = Arc::new(Wire::new(mix(seed, 4), Traffic::Roce, 21.0e9 / 8.0, 9000));
    let mut state = machine(WITH_GPUS, mix(seed, 100 + u64::from(WITH_GPUS.host)), wire, wall_began);
    gpus::install(&mut state);
    state.uuid = vm_with_gpus(seed).0;
    state.log = log::of_boot(&state);
    state
}

/// What a boot sets again.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// Interfaces as their files of settings say.
    pub netdevs: Vec<Netdev>,
    /// Kernel settings.
    pub settings: BTreeMap<&'static str, String>,
    /// Whether the adapter moderates its interrupts.
    pub adaptive_moderation: bool,
}

/// What a boot sets again on this machine.
pub fn fresh(state: &State) -> Fresh {
    let plan = PLANS.iter().chain([&WITH_GPUS]).find(|plan| plan.name == state.name);
    Fresh {
        netdevs: plan.map_or_else(|| state.netdevs.clone(), |plan| netdevs(*plan)),
        settings: settings(),
        adaptive_moderation: state.adapter.family != Family::Pvrdma,
    }
}

fn machine(plan: Plan, seed: u64, wire: Arc<Wire>, wall_began: Timestamp) -> State {
    let family = plan.family;
    let netdevs = netdevs(plan);
    // It has been up for two to nine days.
    let up = 86_400.0 * (2.0 + 7.0 * unit(seed, 3));
    let memlock = memlock(family);
    let chatter = Load::of_chatter(mix(seed, 4), 24_000.0);
    let mut state = State {
        name: plan.name.to_owned(),
        seed,
        kernel: ("6.1.0-57-amd64".to_owned(), "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)".to_owned()),
        machine_id: uuid(seed, 40).replace('-', ""),
        uuid: uuid(seed, 41),
        product: ("VMware, Inc.".to_owned(), "VMware7,1".to_owned()),
        gateway: Ipv4Addr::new(10, 20, 0, 1),
        boot: Boot { number: 0, at: -up, id: uuid(seed, 0) },
        adapter: adapter(plan),
        unloaded: None,
        open_mpi: OPEN_MPI,
        functions: hardware::functions(family),
        modules: hardware::modules(family),
        module_versions: hardware::module_versions(family),
        packages: hardware::packages(),
        nodes: nodes(family, seed),
        settings: settings(),
        processes: processes(seed, memlock),
        files: files(&netdevs),
        environment: environment(family, &netdevs[2].name),
        memlock,
        log: Vec::new(),
        wire,
        side: plan.side,
        peer: peer(plan),
        chatter,
        tools: tools(family),
        gpus: None,
        wall_began,
        netdevs,
    };
    state.log = log::of_boot(&state);
    state
}

/// Locked memory of a login, in bytes, as the machine was set up.
pub fn memlock(family: Family) -> Option<u64> {
    (family == Family::Pvrdma).then_some(8 << 20)
}

/// Who is at the other end, as the neighbour table names it.
fn peer(plan: Plan) -> Option<(Ipv4Addr, String)> {
    let other = PLANS.iter().find(|other| other.family == plan.family && other.side != plan.side)?;
    Some((Ipv4Addr::new(192, 168, 100, other.host), mac_text(other.mac)))
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

/// The address that the kernel makes from a hardware address.
fn link_local(mac: [u8; 6]) -> IpAddr {
    let mut octets = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 0];
    octets[8..11].copy_from_slice(&mac[..3]);
    octets[13..].copy_from_slice(&mac[3..]);
    octets[8] ^= 2;
    IpAddr::V6(Ipv6Addr::from(octets))
}

fn address(address: IpAddr, prefix: u8) -> Address {
    Address { address, prefix, scope: scope(address), lifetimes: None }
}

fn netdevs(plan: Plan) -> Vec<Netdev> {
    let management_mac =
        if plan.name == WITH_GPUS.name { VM_WITH_GPUS_MAC } else { [0x00, 0x50, 0x56, 0xb2, 0x10, plan.host] };
    let vmxnet3 = || Driver { name: "vmxnet3", version: "1.7.0.0-k-NAPI".to_owned(), firmware: String::new() };
    let (name, function, driver, speed, mtu, queues, others) = match plan.family {
        // What the hypervisor says of an emulated link is no rate of anything.
        Family::Pvrdma => ("ens192", "0000:0b:00.0", vmxnet3(), 100_000, (9000, 60, 9000), (8, 8), vec!["enp11s0f0"]),
        Family::Mlx5 => {
            let driver = Driver {
                name: "mlx5_core",
                version: "6.1.0-57-amd64".to_owned(),
                firmware: "20.35.1012 (MT_0000000224)".to_owned(),
            };
            ("ens224np0", "0000:13:00.0", driver, 100_000, (9000, 68, 9978), (8, 8), vec!["enp19s0np0"])
        }
        Family::Mlx5Vf => {
            let driver = Driver {
                name: "mlx5_core",
                version: "6.1.0-57-amd64".to_owned(),
                firmware: "20.35.1012 (MT_0000000224)".to_owned(),
            };
            ("ens224", "0000:13:00.0", driver, 25_000, (9000, 68, 9978), (4, 4), vec!["enp19s0"])
        }
    };
    let loopback = Netdev {
        index: 1,
        name: "lo".to_owned(),
        mac: "00:00:00:00:00:00".to_owned(),
        mtu: (65_536, 0, 0),
        admin_up: true,
        carrier: true,
        driver: None,
        function: None,
        bus_device: None,
        addresses: vec![address(Ipv4Addr::LOCALHOST.into(), 8), address(Ipv6Addr::LOCALHOST.into(), 128)],
        other_names: Vec::new(),
        speed: -1,
        queues: (1, 1),
        discipline: "noqueue",
        counted: NetCounters { bytes: (4_817_204, 4_817_204), packets: (31_077, 31_077), multicast: 0 },
    };
    let management = Netdev {
        index: 2,
        name: "ens160".to_owned(),
        mac: mac_text(management_mac),
        mtu: (1500, 60, 9000),
        driver: Some(vmxnet3()),
        function: Some("0000:03:00.0".to_owned()),
        addresses: vec![
            address(Ipv4Addr::new(10, 20, 0, plan.host).into(), 24),
            address(link_local(management_mac), 64),
        ],
        other_names: vec!["enp3s0".to_owned()],
        speed: 10_000,
        queues: (8, 8),
        discipline: "mq",
        counted: NetCounters::default(),
        ..loopback.clone()
    };
    let rdma = Netdev {
        index: 3,
        name: name.to_owned(),
        mac: mac_text(plan.mac),
        mtu,
        driver: Some(driver),
        function: Some(function.to_owned()),
        addresses: vec![address(Ipv4Addr::new(192, 168, 100, plan.host).into(), 24), address(link_local(plan.mac), 64)],
        other_names: others.into_iter().map(str::to_owned).collect(),
        speed,
        queues,
        ..management.clone()
    };
    vec![loopback, management, rdma]
}

/// A GUID of four groups from a hardware address, as firmware makes it: with two octets in its middle.
fn guid(mac: [u8; 6], middle: u16) -> String {
    let mut octets = [0; 8];
    octets[..3].copy_from_slice(&mac[..3]);
    octets[3..5].copy_from_slice(&middle.to_be_bytes());
    octets[5..].copy_from_slice(&mac[3..]);
    let pairs = octets.chunks(2).map(|pair| format!("{:02x}{:02x}", pair[0], pair[1]));
    pairs.collect::<Vec<_>>().join(":")
}

fn adapter(plan: Plan) -> Adapter {
    let text = |words: [&str; 3]| (words[0].to_owned(), words[1].to_owned(), words[2].to_owned());
    match plan.family {
        // Source: tests/fixtures/public/01-ibv_devinfo-v-pvrdma.txt and the driver's own words (VMW_PVRDMA-1.0.1.0-k). The
        // host offers RoCE v2 alone, so udev names the device after RoCE. UNSOURCED: the length of the table.
        Family::Pvrdma => Adapter {
            family: plan.family,
            device: "rocep11s0f1".to_owned(),
            function: "0000:0b:00.1".to_owned(),
            netdev: 2,
            node_guid: guid(plan.mac, 0),
            system_guid: "0000:0000:0000:0000".to_owned(),
            firmware: "3.0.0".to_owned(),
            verbs_firmware: "3.0.000".to_owned(),
            model: text(["VMW_PVRDMA-1.0.1.0-k", "1", "1"]),
            description: String::new(),
            verbs_identity: ("0x15ad".to_owned(), 2080, "0x1".to_owned()),
            capabilities: vec!["PORT_ACTIVE_EVENT", "RC_RNR_NAK_GEN", "MEM_MGT_EXTENSIONS"],
            capability_mask: "0x04010000".to_owned(),
            rates: ("2.5 Gb/sec (1X SDR)", "2.5 Gb/sec (1X SDR)"),
            verbs_rate: ("1X (1)", "2.5 Gbps (1)"),
            gid_entries: 16,
            gid_types: vec!["RoCE v2"],
            adaptive_moderation: false,
        },
        // Source: published outputs: MT4123, firmware 20.35.1012, board MT_0000000224. The rate of a port that is down is what mlx5 begins with
        // before it looks (mlx5_query_port_roce). UNSOURCED: capabilities.
        Family::Mlx5 | Family::Mlx5Vf => {
            let is_vf = plan.family == Family::Mlx5Vf;
            Adapter {
                family: plan.family,
                device: if is_vf { "rocep19s0" } else { "mlx5_0" }.to_owned(),
                function: "0000:13:00.0".to_owned(),
                netdev: 2,
                // UNSOURCED for a virtual function: its identifier is given by the host.
                node_guid: if is_vf { guid(plan.mac, 0xfffe) } else { guid(plan.mac, 0x0300) },
                system_guid: guid([0x0c, 0x42, 0xa1, 0x7c, plan.mac[4], plan.mac[5]], 0x0300),
                firmware: "20.35.1012".to_owned(),
                verbs_firmware: "20.35.1012".to_owned(),
                model: text([if is_vf { "MT4124" } else { "MT4123" }, "MT_0000000224", "0"]),
                description: format!("{} {}", plan.name, if is_vf { "rocep19s0" } else { "mlx5_0" }),
                verbs_identity: ("0x02c9".to_owned(), if is_vf { 4124 } else { 4123 }, "0x0".to_owned()),
                capabilities: vec![
                    "BAD_PKEY_CNTR",
                    "BAD_QKEY_CNTR",
                    "AUTO_PATH_MIG",
                    "CHANGE_PHY_PORT",
                    "PORT_ACTIVE_EVENT",
                    "SYS_IMAGE_GUID",
                    "RC_RNR_NAK_GEN",
                    "MEM_WINDOW",
                    "XRC",
                    "MEM_MGT_EXTENSIONS",
                    "MEM_WINDOW_TYPE_2B",
                    "RAW_IP_CSUM",
                    "MANAGED_FLOW_STEERING",
                ],
                capability_mask: "0x04010000".to_owned(),
                rates: (if is_vf { "25 Gb/sec (1X EDR)" } else { "100 Gb/sec (4X EDR)" }, "40 Gb/sec (4X QDR)"),
                verbs_rate: if is_vf { ("1X (1)", "25.0 Gbps (32)") } else { ("4X (2)", "25.0 Gbps (32)") },
                gid_entries: if is_vf { 128 } else { 255 },
                gid_types: vec!["IB/RoCE v1", "RoCE v2"],
                adaptive_moderation: true,
            }
        }
    }
}

fn nodes(family: Family, seed: u64) -> Vec<Node> {
    let free = |index| between(seed, index, 21_000_000, 26_000_000);
    match family {
        Family::Mlx5 => vec![
            Node { processors: (0, 7), kibibytes: (32_880_212, free(50)) },
            Node { processors: (8, 15), kibibytes: (33_027_928, free(51)) },
        ],
        Family::Pvrdma | Family::Mlx5Vf => vec![Node { processors: (0, 7), kibibytes: (32_880_212, free(50)) }],
    }
}

fn settings() -> BTreeMap<&'static str, String> {
    [
        ("vm.swappiness", "60"),
        ("vm.zone_reclaim_mode", "0"),
        ("kernel.numa_balancing", "1"),
        ("kernel.dmesg_restrict", "1"),
        ("net.core.rmem_max", "212992"),
        ("net.core.wmem_max", "212992"),
        ("net.ipv4.tcp_congestion_control", "cubic"),
    ]
    .into_iter()
    .map(|(name, value)| (name, value.to_owned()))
    .collect()
}

pub fn processes(seed: u64, memlock: Option<u64>) -> Vec<Process> {
    let pid = |index: u64, low: u64| u32::try_from(between(seed, index, low, low + 60)).unwrap_or(1);
    let kernel_default = Some(8 << 20);
    [
        (1, "systemd", kernel_default),
        (pid(60, 500), "systemd-udevd", kernel_default),
        (pid(61, 600), "vmtoolsd", kernel_default),
        (pid(62, 700), "irqbalance", kernel_default),
        (pid(63, 800), "sshd", memlock),
        // Its unit says LimitMEMLOCK=infinity, as that of the distribution does.
        (pid(64, 900), "slurmd", None),
    ]
    .map(|(pid, command, memlock)| Process { pid, command: command.to_owned(), memlock, is_roots: true })
    .to_vec()
}

/// Settings of the network, as the installer of the distribution writes them: everybody may read them.
fn files(netdevs: &[Netdev]) -> Vec<(String, String, u16)> {
    let first = |netdev: &Netdev| {
        netdev.addresses.first().map_or(String::new(), |address| format!("{}/{}", address.address, address.prefix))
    };
    let content = fill(
        include_str!("templates/interfaces.txt"),
        &[
            ("management", netdevs[1].name.clone()),
            ("management_address", first(&netdevs[1])),
            ("netdev", netdevs[2].name.clone()),
            ("address", first(&netdevs[2])),
            ("mtu", netdevs[2].mtu.0.to_string()),
        ],
    );
    vec![("/etc/network/interfaces".to_owned(), content, 0o644)]
}

/// Variables of every login. UNSOURCED: an administrator's choice for this kind of adapter.
pub fn environment(family: Family, netdev: &str) -> Vec<(String, String)> {
    let variables: &[(&str, &str)] = match family {
        // The adapter offers shared receive queues of 1024 requests; UCX asks for 4095 by itself.
        Family::Pvrdma => &[
            ("UCX_TLS", "rc_v,ud_v,sm,self"),
            ("UCX_NET_DEVICES", "rocep11s0f1:1"),
            ("UCX_RC_VERBS_RX_QUEUE_LEN", "1024"),
            ("OMPI_MCA_pml", "ucx"),
        ],
        Family::Mlx5 => &[("UCX_NET_DEVICES", "mlx5_0:1"), ("OMPI_MCA_pml", "ucx"), ("NCCL_IB_HCA", "mlx5_0")],
        Family::Mlx5Vf => &[("UCX_NET_DEVICES", "rocep19s0:1")],
    };
    let named = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    named.chain([("OMPI_MCA_btl_tcp_if_include".to_owned(), netdev.to_owned())]).collect()
}

/// All memory of these machines is reserved, as their adapters demand.
fn tools(family: Family) -> Vec<(&'static str, &'static str)> {
    vec![
        ("balloon", "0 MB"),
        ("swap", "0 MB"),
        ("memlimit", "4294967295 MB"),
        ("memres", if family == Family::Mlx5 { "65536 MB" } else { "32768 MB" }),
        ("cpures", "0 MHz"),
        ("cpulimit", "4294967295 MHz"),
        ("speed", "1995 MHz"),
    ]
}
