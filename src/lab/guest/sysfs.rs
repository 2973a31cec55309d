//! `/sys` and `/dev` of a machine: RDMA devices and ports, interfaces, PCI functions, NUMA nodes, modules, memory.

use std::fmt::Write as _;

use super::counters::{hardware_counters, port_counters};
use super::gpus;
use super::state::{Family, Moment, Netdev, State};
use super::templates::gid_groups;
use super::tree::{Entry, Tree};
use crate::lab::machine::NotRead;

/// Where PCI functions have their folders. All of them hang below one host bridge; what a real machine has in between
/// (root ports) shows only in the path.
fn function_folder(state: &State, address: &str) -> String {
    let bus = address.get(5..7).unwrap_or("00");
    // Behind a root port of the virtual hardware.
    let port = state.functions.iter().find(|function| function.class >> 8 == 0x0604 && bus != "00");
    match port {
        Some(port) => format!("/sys/devices/pci0000:00/{}/{address}", root_port(state, bus).unwrap_or(&port.address)),
        None => format!("/sys/devices/pci0000:00/{address}"),
    }
}

/// The root port in front of a bus: the machine's own ones in turn.
fn root_port<'a>(state: &'a State, bus: &str) -> Option<&'a str> {
    let ports: Vec<&str> = state
        .functions
        .iter()
        .filter(|function| function.ids == (0x15ad, 0x07a0))
        .map(|function| function.address.as_str())
        .collect();
    let number = usize::from_str_radix(bus, 16).ok()?;
    // Bus 03 is behind 00:15.0, 0b behind 00:16.0, 13 behind 00:17.0, 1b behind 00:18.0.
    ports.get(number / 8).copied()
}

/// The path from one folder to another one as a relative link.
fn relative(from: &str, to: &str) -> String {
    let split = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (from, to) = (split(from), split(to));
    // The kernel always names the target itself, also where it is a folder on the way.
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// A line.
fn line(text: impl std::fmt::Display) -> String {
    format!("{text}\n")
}

/// Puts all of `/sys` and `/dev` into a tree.
pub fn fill(tree: &mut Tree, state: &State) {
    functions(tree, state);
    for place in 0..state.netdevs.len() {
        netdev(tree, state, place);
    }
    if state.has_device() {
        device(tree, state);
        port(tree, state);
    }
    nodes(tree, state);
    for module in &state.modules {
        tree.put(&format!("/sys/module/{}", module.name), Entry::Folder(std::collections::BTreeMap::new(), None));
        tree.fixed(&format!("/sys/module/{}/refcnt", module.name), line(module.uses));
    }
    for (name, version) in &state.module_versions {
        tree.fixed(&format!("/sys/module/{name}/version"), line(version));
    }
    for (path, content) in [
        ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("/sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
        ("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"),
        ("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n"),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n"),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n"),
    ] {
        tree.fixed(path, content);
    }
    tree.fixed("/sys/class/dmi/id/sys_vendor", line(&state.product.0));
    tree.fixed("/sys/class/dmi/id/product_name", line(&state.product.1));
    let uuid = line(&state.uuid);
    tree.put("/sys/class/dmi/id/product_uuid", Entry::File(0o400, Box::new(move |_| Ok(uuid.clone()))));
    tree.fixed("/sys/devices/system/cpu/online", line(range(0, state.processors() - 1)));
}

fn range(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

fn functions(tree: &mut Tree, state: &State) {
    for function in &state.functions {
        let folder = function_folder(state, &function.address);
        let subsystem = function.subsystem.unwrap_or_default();
        for (name, content) in [
            ("vendor", format!("0x{:04x}", function.ids.0)),
            ("device", format!("0x{:04x}", function.ids.1)),
            ("class", format!("0x{:06x}", function.class)),
            ("revision", format!("0x{:02x}", function.revision)),
            ("subsystem_vendor", format!("0x{:04x}", subsystem.1)),
            ("subsystem_device", format!("0x{:04x}", subsystem.2)),
            ("numa_node", "-1".to_owned()),
        ] {
            tree.fixed(&format!("{folder}/{name}"), line(content));
        }
        if function.ids.0 == gpus::VENDOR {
            gpus::link_files(tree, &folder, &function.address);
        } else if let Some((speed, width, speed_max, width_max)) = function.link {
            tree.fixed(&format!("{folder}/current_link_speed"), line(speed));
            tree.fixed(&format!("{folder}/current_link_width"), line(width));
            tree.fixed(&format!("{folder}/max_link_speed"), line(speed_max));
            tree.fixed(&format!("{folder}/max_link_width"), line(width_max));
        }
        if let Some(driver) = function.driver {
            let target = format!("/sys/bus/pci/drivers/{driver}");
            tree.link(&format!("{folder}/driver"), &relative(&folder, &target));
            tree.link(&format!("{target}/{}", function.address), &relative(&target, &folder));
        }
        let bus = format!("/sys/bus/pci/devices/{}", function.address);
        tree.link(&bus, &relative("/sys/bus/pci/devices", &folder));
    }
}

/// The interface at a place of the list.
fn of<'a>(moment: &'a Moment<'_>, place: usize) -> &'a Netdev {
    &moment.state.netdevs[place]
}

fn netdev(tree: &mut Tree, state: &State, place: usize) {
    let netdev = &state.netdevs[place];
    let device = netdev.function.as_ref().map(|function| function_folder(state, function));
    let folder = match (&device, &netdev.bus_device) {
        (Some(function), Some((_, bus_device))) => format!("{function}/{bus_device}/net/{}", netdev.name),
        (Some(function), None) => format!("{function}/net/{}", netdev.name),
        (None, _) => format!("/sys/devices/virtual/net/{}", netdev.name),
    };
    tree.link(&format!("/sys/class/net/{}", netdev.name), &relative("/sys/class/net", &folder));
    if device.is_some() {
        let hardware = folder.rsplit_once("/net/").map_or("", |(hardware, _)| hardware);
        tree.link(&format!("{folder}/device"), &relative(&folder, hardware));
        if let Some(driver) = &netdev.driver {
            let bus = netdev.bus_device.as_ref().map_or("pci", |(bus, _)| bus);
            let target = format!("/sys/bus/{bus}/drivers/{}", driver.name);
            tree.link(&format!("{hardware}/driver"), &relative(hardware, &target));
        }
    }
    tree.link(&format!("{folder}/subsystem"), &relative(&folder, "/sys/class/net"));
    let mut put = |name: &str, entry| tree.put(&format!("{folder}/{name}"), entry);
    put("address", Entry::fixed(line(&netdev.mac)));
    put("broadcast", Entry::fixed(line(if netdev.is_loopback() { "00:00:00:00:00:00" } else { "ff:ff:ff:ff:ff:ff" })));
    put("ifindex", Entry::fixed(line(netdev.index)));
    put("type", Entry::fixed(line(if netdev.is_loopback() { "772" } else { "1" })));
    put("tx_queue_len", Entry::fixed(line(1000)));
    put("uevent", Entry::fixed(format!("INTERFACE={}\nIFINDEX={}\n", netdev.name, netdev.index)));
    put("mtu", Entry::File(0o644, Box::new(move |moment| Ok(line(of(moment, place).mtu.0)))));
    put("operstate", Entry::text(move |moment| line(operational_state(of(moment, place)))));
    put("flags", Entry::File(0o644, Box::new(move |moment| Ok(line(flags(of(moment, place)))))));
    put(
        "carrier",
        Entry::File(
            0o644,
            Box::new(move |moment| {
                let netdev = of(moment, place);
                // An interface that is administratively down answers EINVAL.
                if netdev.admin_up { Ok(line(u8::from(netdev.carrier))) } else { Err(NotRead::Invalid) }
            }),
        ),
    );
    put("speed", Entry::file(move |moment| speed(of(moment, place)).map(line)));
    put("duplex", Entry::file(move |moment| Ok(line(if speed(of(moment, place))? > 0 { "full" } else { "unknown" }))));
    for name in STATISTICS {
        put(
            &format!("statistics/{name}"),
            Entry::text(move |moment| {
                let counters = moment.net_counters(of(moment, place));
                line(match name {
                    "rx_bytes" => counters.bytes.0,
                    "tx_bytes" => counters.bytes.1,
                    "rx_packets" => counters.packets.0,
                    "tx_packets" => counters.packets.1,
                    "multicast" => counters.multicast,
                    _ => 0,
                })
            }),
        );
    }
}

/// Files in `statistics/` of an interface.
///
/// Source: capture "ls /sys/class/net/eth1/statistics" of a Debian 12 guest.
const STATISTICS: [&str; 24] = [
    "collisions",
    "multicast",
    "rx_bytes",
    "rx_compressed",
    "rx_crc_errors",
    "rx_dropped",
    "rx_errors",
    "rx_fifo_errors",
    "rx_frame_errors",
    "rx_length_errors",
    "rx_missed_errors",
    "rx_nohandler",
    "rx_over_errors",
    "rx_packets",
    "tx_aborted_errors",
    "tx_bytes",
    "tx_carrier_errors",
    "tx_compressed",
    "tx_dropped",
    "tx_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_packets",
    "tx_window_errors",
];

/// `operstate` of an interface.
pub fn operational_state(netdev: &Netdev) -> &'static str {
    match (netdev.is_loopback(), netdev.is_running()) {
        (true, true) => "unknown",
        (false, true) => "up",
        (_, false) => "down",
    }
}

fn flags(netdev: &Netdev) -> String {
    let kind = if netdev.is_loopback() { 0x8 } else { 0x1002 };
    format!("{:#x}", kind | u32::from(netdev.admin_up))
}

/// Speed in Mb/s. Loopback has none, and an interface that is administratively down does not tell it.
fn speed(netdev: &Netdev) -> Result<i64, NotRead> {
    if netdev.is_loopback() || !netdev.admin_up {
        return Err(NotRead::Invalid);
    }
    Ok(if netdev.carrier { netdev.speed } else { -1 })
}

fn device(tree: &mut Tree, state: &State) {
    let adapter = &state.adapter;
    let function = function_folder(state, &adapter.function);
    let folder = format!("{function}/infiniband/{}", adapter.device);
    tree.link(&format!("/sys/class/infiniband/{}", adapter.device), &relative("/sys/class/infiniband", &folder));
    tree.link(&format!("{folder}/device"), &relative(&folder, &function));
    tree.link(&format!("{folder}/subsystem"), &relative(&folder, "/sys/class/infiniband"));
    // The driver of PVRDMA ends its firmware with a newline of its own.
    let firmware_end = if adapter.family == Family::Pvrdma { "\n" } else { "" };
    for (name, content) in [
        ("node_type", "1: CA".to_owned()),
        ("fw_ver", format!("{}{firmware_end}", adapter.firmware)),
        ("node_guid", adapter.node_guid.clone()),
        ("sys_image_guid", adapter.system_guid.clone()),
        ("hca_type", adapter.model.0.clone()),
        ("board_id", adapter.model.1.clone()),
        ("hw_rev", adapter.model.2.clone()),
        ("node_desc", adapter.description.clone()),
        ("uevent", format!("NAME={}", adapter.device)),
    ] {
        tree.fixed(&format!("{folder}/{name}"), line(content));
    }
    let verbs = format!("{function}/infiniband_verbs/uverbs0");
    tree.link("/sys/class/infiniband_verbs/uverbs0", &relative("/sys/class/infiniband_verbs", &verbs));
    tree.fixed("/sys/class/infiniband_verbs/abi_version", "6\n");
    tree.fixed(&format!("{verbs}/ibdev"), line(&adapter.device));
    // UNSOURCED for mlx5; PVRDMA's version 3 is in its driver's header (pvrdma-abi.h).
    tree.fixed(&format!("{verbs}/abi_version"), if adapter.family == Family::Pvrdma { "3\n" } else { "1\n" });
    tree.put("/dev/infiniband/rdma_cm", Entry::Device(0o666, 10, 124));
    tree.put("/dev/infiniband/uverbs0", Entry::Device(0o666, 231, 192));
    if state.modules.iter().any(|module| module.name == "ib_umad") {
        tree.put("/dev/infiniband/umad0", Entry::Device(0o600, 231, 0));
        tree.put("/dev/infiniband/issm0", Entry::Device(0o600, 231, 64));
    }
    tree.link(&format!("/dev/infiniband/by-ibdev/uverbs-{}", adapter.device), "../uverbs0");
}

fn port(tree: &mut Tree, state: &State) {
    let adapter = &state.adapter;
    let port = format!("{}/infiniband/{}/ports/1", function_folder(state, &adapter.function), adapter.device);
    let mut put = |name: &str, entry| tree.put(&format!("{port}/{name}"), entry);
    put("state", Entry::text(|moment| line(if moment.is_active() { "4: ACTIVE" } else { "1: DOWN" })));
    // Source: capture "link down" of a soft-RoCE guest; mlx5 tells the same (mlx5_query_port_roce). UNSOURCED for PVRDMA.
    put("phys_state", Entry::text(|moment| line(if moment.is_active() { "5: LinkUp" } else { "3: Disabled" })));
    put(
        "rate",
        Entry::text(|moment| {
            let rates = moment.state.adapter.rates;
            line(if moment.is_active() { rates.0 } else { rates.1 })
        }),
    );
    // Messages of the connection manager: nothing here connects through it. UNSOURCED: the names of the files.
    for folder in ["cm_rx_duplicates", "cm_rx_msgs", "cm_tx_msgs", "cm_tx_retries"] {
        for name in ["apr", "drep", "dreq", "lap", "mra", "rej", "rep", "req", "rtu", "sidr_rep", "sidr_req"] {
            put(&format!("{folder}/{name}"), Entry::fixed("0\n"));
        }
    }
    put("link_layer", Entry::fixed("Ethernet\n"));
    put("cap_mask", Entry::fixed(line(&adapter.capability_mask)));
    for (name, content) in
        [("lid", "0x0"), ("lid_mask_count", "0"), ("sm_lid", "0x0"), ("sm_sl", "0"), ("pkeys/0", "0xffff")]
    {
        put(name, Entry::fixed(line(content)));
    }
    for index in 0..adapter.gid_entries {
        put(
            &format!("gids/{index}"),
            Entry::text(move |moment| {
                let value = moment.state.gids().get(index).map(|(address, _)| gid_groups(*address));
                line(value.unwrap_or_else(|| "0000:0000:0000:0000:0000:0000:0000:0000".to_owned()))
            }),
        );
        // The kernel refuses to tell type and interface of an entry that is not in use.
        put(
            &format!("gid_attrs/types/{index}"),
            Entry::file(move |moment| {
                moment.state.gids().get(index).map(|(_, kind)| line(kind)).ok_or(NotRead::Invalid)
            }),
        );
        put(
            &format!("gid_attrs/ndevs/{index}"),
            Entry::file(move |moment| {
                moment.state.gids().get(index).map(|_| line(&moment.state.rdma_netdev().name)).ok_or(NotRead::Invalid)
            }),
        );
    }
    for name in port_counters(adapter.family) {
        put(&format!("counters/{name}"), Entry::text(move |moment| line(moment.port_counter(name))));
    }
    let hardware = hardware_counters(adapter.family);
    if !hardware.is_empty() {
        put("hw_counters/lifespan", Entry::File(0o644, Box::new(|_| Ok("10\n".to_owned()))));
    }
    for name in hardware {
        put(&format!("hw_counters/{name}"), Entry::text(move |moment| line(moment.port_counter(name))));
    }
}

fn nodes(tree: &mut Tree, state: &State) {
    for (number, node) in state.nodes.iter().enumerate() {
        let folder = format!("/sys/devices/system/node/node{number}");
        tree.fixed(&format!("{folder}/cpulist"), line(range(node.processors.0, node.processors.1)));
        let distances: Vec<&str> =
            (0..state.nodes.len()).map(|other| if other == number { "10" } else { "20" }).collect();
        tree.fixed(&format!("{folder}/distance"), line(distances.join(" ")));
        // Source: capture "cat /sys/devices/system/node/node0/meminfo", its first three lines.
        let mut meminfo = String::new();
        let used = node.kibibytes.0 - node.kibibytes.1;
        for (name, value) in [("MemTotal:", node.kibibytes.0), ("MemFree:", node.kibibytes.1), ("MemUsed:", used)] {
            let _infallible = writeln!(meminfo, "Node {number} {name:<9}{value:>15} kB");
        }
        tree.fixed(&format!("{folder}/meminfo"), meminfo);
    }
}
