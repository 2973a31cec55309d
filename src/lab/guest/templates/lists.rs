//! Capture: `lspci -nnk`, `lsmod`, `numactl --hardware`, `dpkg-query -W`, `ibv_devices` of a PVRDMA guest
//! (tests/fixtures/pvrdma-guest, 16, 18, 19, 26, 28), and `/proc/modules`, `lspci`, `lspci -nn` of a Debian 12 guest.

use std::net::IpAddr;

use super::{gid_groups, without_colons};
use crate::lab::guest::state::{Function, Module, Node};
use crate::lab::guest::templates::Append as _;

/// How `lspci` is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pci {
    /// `-nn`: numbers beside the names.
    pub numbers: bool,
    /// `-k`: drivers.
    pub drivers: bool,
    /// `-D`: with the domain.
    pub domain: bool,
}

/// One function of `lspci`.
pub fn function(function: &Function, asked: Pci) -> String {
    let address = if asked.domain { &function.address } else { function.address.trim_start_matches("0000:") };
    let revision = if function.revision == 0 { String::new() } else { format!(" (rev {:02x})", function.revision) };
    let (class, ids) = if asked.numbers {
        (
            format!("{} [{:04x}]", function.class_name, function.class >> 8),
            format!(" [{:04x}:{:04x}]", function.ids.0, function.ids.1),
        )
    } else {
        (function.class_name.to_owned(), String::new())
    };
    let mut text = format!("{address} {class}: {}{ids}{revision}\n", function.name);
    if asked.drivers {
        if let Some((name, vendor, device)) = function.subsystem {
            let ids = if asked.numbers { format!(" [{vendor:04x}:{device:04x}]") } else { String::new() };
            text.add(format_args!("\tSubsystem: {name}{ids}\n"));
        }
        if let Some(driver) = function.driver {
            text.add(format_args!("\tKernel driver in use: {driver}\n"));
        }
        if !function.modules.is_empty() {
            text.add(format_args!("\tKernel modules: {}\n", function.modules.join(", ")));
        }
    }
    text
}

/// `lsmod`.
pub fn lsmod(modules: &[Module]) -> String {
    let mut text = "Module                  Size  Used by\n".to_owned();
    for module in modules {
        let users = if module.users.is_empty() { String::new() } else { format!(" {}", module.users) };
        text.add(format_args!("{:<19} {:>8}  {}{users}\n", module.name, module.size, module.uses));
    }
    text
}

/// `/proc/modules`: addresses are hidden from all but root.
pub fn proc_modules(modules: &[Module], is_root: bool) -> String {
    let mut address = 0xffff_ffff_c060_0000_u64;
    let mut text = String::new();
    for module in modules {
        address -= module.size.next_multiple_of(0x1000) + 0x2000;
        let users = if module.users.is_empty() { "-".to_owned() } else { format!("{},", module.users) };
        let shown = if is_root { address } else { 0 };
        text.add(format_args!("{} {} {} {users} Live 0x{shown:016x}\n", module.name, module.size, module.uses));
    }
    text
}

/// `numactl --hardware`. Memory is told in MiB.
pub fn numactl(nodes: &[Node]) -> String {
    let count = nodes.len();
    let list = if count == 1 { "0".to_owned() } else { format!("0-{}", count - 1) };
    let mut text = format!("available: {count} nodes ({list})\n");
    for (number, node) in nodes.iter().enumerate() {
        let processors: Vec<String> =
            (node.processors.0..=node.processors.1).map(|processor| processor.to_string()).collect();
        text.add(format_args!("node {number} cpus: {}\n", processors.join(" ")));
        text.add(format_args!("node {number} size: {} MB\n", node.kibibytes.0 / 1024));
        text.add(format_args!("node {number} free: {} MB\n", node.kibibytes.1 / 1024));
    }
    text.push_str("node distances:\nnode ");
    for number in 0..count {
        text.add(format_args!("{number:>3} "));
    }
    text.push('\n');
    for number in 0..count {
        text.add(format_args!("{number:>3}: "));
        for other in 0..count {
            text.add(format_args!("{:>3} ", if other == number { 10 } else { 20 }));
        }
        text.push('\n');
    }
    text
}

/// `show_gids`: device, port, index, identifier, IPv4 address if it is one, version, interface.
///
/// Capture: tests/fixtures/public/58-show_gids-tabs-missing-version.txt, of an adapter without versions and interfaces.
pub fn show_gids(rows: &[(&str, usize, IpAddr, &str, &str)]) -> String {
    let mut text =
        "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"
            .to_owned();
    for (device, index, address, version, netdev) in rows {
        let v4 = if address.is_ipv4() { format!("{address}  \t") } else { "\t\t".to_owned() };
        text.add(format_args!("{device}\t1\t{index}\t{}\t{v4}{version}\t{netdev}\n", gid_groups(*address)));
    }
    text.add(format_args!("n_gids_found={}\n", rows.len()));
    text
}

/// `ibv_devices`.
pub fn ibv_devices(device: &str, node_guid: &str) -> String {
    format!(
        "    device          \t   node GUID\n    ------          \t----------------\n    {device:<16}\t{}\n",
        without_colons(node_guid)
    )
}
