//! What the verbs library tells: `ibv_devices`, `ibv_devinfo`, `ibstat`.

use crate::lab::guest::templates::Append as _;
use std::net::IpAddr;

use super::{Scene, fails, not_found, says};
use crate::lab::guest::state::Family;
use crate::lab::guest::templates::{fill, gid_groups, lists, without_colons};
use crate::lab::machine::Answer;
use crate::probe::linux::rdma_sysfs::roce_mtu;

/// `ibv_devices`.
pub fn devices(scene: &Scene<'_>) -> Answer {
    let adapter = &scene.moment.state.adapter;
    let mut text = lists::ibv_devices(&adapter.device, &adapter.node_guid);
    if !scene.moment.state.has_device() {
        // The two lines of the head.
        text = text.split_inclusive('\n').take(2).collect();
    }
    says(text)
}

/// `show_gids` of the adapter's vendor: only where its tools are installed.
pub fn show_gids(scene: &Scene<'_>) -> Answer {
    let state = scene.moment.state;
    if state.adapter.family == Family::Pvrdma {
        return not_found("show_gids");
    }
    let gids = state.gids();
    let rows: Vec<_> = gids
        .iter()
        .enumerate()
        .map(|(index, (address, kind))| {
            let version = if *kind == "RoCE v2" { "v2" } else { "v1" };
            (state.adapter.device.as_str(), index, *address, version, state.rdma_netdev().name.as_str())
        })
        .collect();
    says(lists::show_gids(&rows))
}

/// `ibv_devinfo [-v] [-l] [-d DEVICE] [-i PORT]`.
pub fn devinfo(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let moment = &scene.moment;
    let adapter = &moment.state.adapter;
    let (mut verbose, mut words) = (false, words.iter().copied());
    while let Some(word) = words.next() {
        match word {
            "-v" => verbose = true,
            "-l" if !moment.state.has_device() => return says("0 HCAs found:\n\n"),
            "-l" => return says(format!("1 HCA found:\n\t{}\n\n", adapter.device)),
            "-i" => drop(words.next()),
            "-d" => {
                let name = words.next().unwrap_or("");
                if name != adapter.device || !moment.state.has_device() {
                    // Source: capture "ibv_devinfo -d nope".
                    return fails(format!("IB device '{name}' wasn't found\n"), 255);
                }
            }
            _ => return fails("", 1),
        }
    }
    if !moment.state.has_device() {
        // Source: rdma-core libibverbs/examples/devinfo.c.
        return fails("No IB devices found\n", 255);
    }
    let active = moment.is_active();
    let limits = match (verbose, adapter.family) {
        (false, _) => String::new(),
        (true, Family::Pvrdma) => fill(include_str!("../templates/ibv_devinfo-v-pvrdma.txt"), &[]),
        (true, _) => fill(include_str!("../templates/ibv_devinfo-v-mlx5.txt"), &[]),
    };
    let mut more = String::new();
    if verbose {
        // Width and speed of a link that is down: source of libibverbs, the codes behind the words are the kernel's.
        let (width, speed) = if active { adapter.verbs_rate } else { ("4X (2)", "10.0 Gbps (4)") };
        more = fill(
            include_str!("../templates/ibv_devinfo-v-port.txt"),
            &[
                ("capabilities", adapter.capability_mask.clone()),
                ("lanes", if adapter.family == Family::Pvrdma { "1 (1)" } else { "invalid value (0)" }.to_owned()),
                ("gids", adapter.gid_entries.to_string()),
                ("width", width.to_owned()),
                ("speed", speed.to_owned()),
                ("physical", if active { "LINK_UP (5)" } else { "DISABLED (3)" }.to_owned()),
            ],
        );
        for (index, (address, kind)) in moment.state.gids().into_iter().enumerate() {
            // Those of RoCE v1 stand in eight groups, those of v2 as addresses.
            let value = match address {
                _ if kind == "IB/RoCE v1" => gid_groups(address),
                IpAddr::V4(v4) => format!("::ffff:{v4}"),
                IpAddr::V6(v6) => v6.to_string(),
            };
            let kind = kind.trim_start_matches("IB/");
            more.add(format_args!("\t\t\tGID[{index:>3}]:\t\t{value}, {kind}\n"));
        }
    }
    let mtu = roce_mtu(moment.state.rdma_netdev().mtu.0).unwrap_or(256);
    // The numbers of the sizes: 1 is 256, each further one is twice the last.
    let mtu = format!("{mtu} ({})", mtu.ilog2() - 7);
    more.push('\n');
    says(
        fill(
            include_str!("../templates/ibv_devinfo.txt"),
            &[
                ("device", adapter.device.clone()),
                ("firmware", adapter.verbs_firmware.clone()),
                ("node_guid", adapter.node_guid.clone()),
                ("system_guid", adapter.system_guid.clone()),
                ("vendor", adapter.verbs_identity.0.clone()),
                ("part", adapter.verbs_identity.1.to_string()),
                ("hardware", adapter.verbs_identity.2.clone()),
                ("board", adapter.model.1.clone()),
                ("limits", limits),
                ("state", if active { "PORT_ACTIVE (4)" } else { "PORT_DOWN (1)" }.to_owned()),
                ("mtu", mtu),
                ("more", more),
            ],
        )
        .trim_end()
        .to_owned()
            + "\n\n",
    )
}

/// `ibstat [-l]`: it needs `ib_umad`.
pub fn ibstat(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let moment = &scene.moment;
    let adapter = &moment.state.adapter;
    if !moment.state.has_device() {
        return says("");
    }
    if words.contains(&"-l") {
        return says(format!("{}\n", adapter.device));
    }
    let active = moment.is_active();
    let rate = if active { adapter.rates.0 } else { adapter.rates.1 };
    let firmware_end = if adapter.family == Family::Pvrdma { "\n" } else { "" };
    // The identifier of a port is that of its default address.
    let port_guid = moment.state.gids().into_iter().find_map(|(address, _)| match address {
        IpAddr::V6(v6) if v6.segments()[0] == 0xfe80 => Some(format!("{:016x}", u128::from(v6) & u128::from(u64::MAX))),
        _ => None,
    });
    says(fill(
        include_str!("../templates/ibstat.txt"),
        &[
            ("device", adapter.device.clone()),
            ("model", adapter.model.0.clone()),
            ("firmware", format!("{}{firmware_end}", adapter.firmware)),
            ("hardware", adapter.model.2.clone()),
            ("node_guid", without_colons(&adapter.node_guid)),
            ("system_guid", without_colons(&adapter.system_guid)),
            ("state", if active { "Active" } else { "Down" }.to_owned()),
            ("physical", if active { "LinkUp" } else { "Disabled" }.to_owned()),
            ("rate", rate.split(' ').next().unwrap_or("").to_owned()),
            ("capabilities", adapter.capability_mask.clone()),
            ("port_guid", port_guid.unwrap_or_else(|| "0000000000000000".to_owned())),
        ],
    ))
}
