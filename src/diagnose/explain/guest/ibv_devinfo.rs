//! `ibv_devinfo`, with or without `-v`, and `ibv_devices`; what the verbs library says before it.

use super::ports::{Adapter, Ports};
use super::{Output, is_name, number, pair, text, word};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;

/// Keys of a device.
const OF_DEVICE: [&str; 22] = [
    "transport",
    "fw_ver",
    "node_guid",
    "sys_image_guid",
    "vendor_id",
    "vendor_part_id",
    "hw_ver",
    "board_id",
    "phys_port_cnt",
    "max_mr_size",
    "page_size_cap",
    "max_qp",
    "max_qp_wr",
    "device_cap_flags",
    "max_sge",
    "max_sge_rd",
    "max_cq",
    "max_cqe",
    "max_mr",
    "max_srq",
    "max_srq_wr",
    "max_pd",
];

/// Keys of a port.
const OF_PORT: [&str; 13] = [
    "state",
    "max_mtu",
    "active_mtu",
    "sm_lid",
    "port_lid",
    "port_lmc",
    "link_layer",
    "max_msg_sz",
    "active_width",
    "active_speed",
    "phys_state",
    "gid_tbl_len",
    "pkey_tbl_len",
];

/// Reads devices and their ports.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>, ports: &mut Ports) {
    let mut device = String::new();
    let mut port = String::new();
    let mut adapter = Adapter::Unclear;
    let mut listing = false;
    let mut depth: Option<(u64, u32, &str)> = None;
    for words in &output.lines {
        let line = words.text;
        if line.starts_with("No IB devices found") || line == "Failed to get IB devices list" {
            explained.is(Kind::IbvDevinfo);
            ports.finds_none(words.number, line);
            continue;
        }
        if let Some(name) = line.strip_prefix("hca_id:").map(str::trim).filter(|name| is_name(name)) {
            explained.is(Kind::IbvDevinfo);
            limits(explained, &device, adapter, depth.take());
            (device, port, adapter) = (output.owner(name), String::new(), Adapter::of_name(name));
            continue;
        }
        // The list of `ibv_devices`: a name and sixteen digits.
        if line.starts_with("device") && line.ends_with("node GUID") {
            explained.is(Kind::IbvDevinfo);
            listing = true;
            continue;
        }
        let mut cells = line.split_whitespace();
        if listing
            && let (Some(name), Some(guid), None) = (cells.next(), cells.next(), cells.next())
            && guid.len() == 16
            && guid.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            explained.fact(words.number, &format!("{}.node-guid", output.owner(name)), text(guid), None);
            continue;
        }
        if device.is_empty() {
            continue;
        }
        let Some((key, value)) = pair(line) else { continue };
        if key == "port" && value.parse::<u32>().is_ok() {
            port = format!("{}/{value}", device.rsplit(':').next().unwrap_or_default());
            ports.port(output.host, &port).adapter = adapter;
            continue;
        }
        if OF_DEVICE.contains(&key) {
            if key == "vendor_id" && value == "0x15ad" || key == "vendor_part_id" && value == "2080" {
                adapter = Adapter::Pvrdma;
            } else if key == "vendor_id" && value == "0xffffff" {
                adapter = Adapter::Software;
            }
            if key == "max_qp_wr" {
                depth = value.parse().ok().map(|depth| (depth, words.number, line));
            }
            explained.fact(words.number, &format!("{device}.{key}"), word(value), None);
        } else if !port.is_empty() && (OF_PORT.contains(&key) || key.starts_with("GID[")) {
            of_port(explained, output, ports, &port, (key, value), words.number, line);
        }
    }
    limits(explained, &device, adapter, depth);
}

/// What a PVRDMA adapter does not take, and programs ask for.
fn limits(explained: &mut Explained, device: &str, adapter: Adapter, depth: Option<(u64, u32, &str)>) {
    let (Adapter::Pvrdma, Some((depth, line, raw))) = (adapter, depth) else { return };
    let title = format!("{device} is PVRDMA: queues hold {depth} requests at most");
    let cause = "Programs that ask for deeper ones are refused with EINVAL (22): SPDK asks for shared receive queues of 4096, UCX rc_verbs for 4095. The \
                 vendor's id can read 0, and the GUID of the system image is always 0: that is normal for it.";
    let finding = Finding::new("guest.pvrdma-limits", Status::Info, Confidence::Proved, device, &title, cause);
    explained.finding(
        finding
            .shown(line, raw)
            .decided_by("The depth that the program asks for, against max_qp_wr and max_srq_wr")
            .helped_by("Compare", &["ibv_devinfo -v | grep -e max_qp_wr -e max_srq"], ""),
    );
}

/// One value of a port.
fn of_port(
    explained: &mut Explained,
    output: &Output<'_>,
    ports: &mut Ports,
    port: &str,
    (key, value): (&str, &str),
    line: u32,
    said: &str,
) {
    let first = value.split_whitespace().next().unwrap_or_default();
    let name = format!("{}.{key}", output.owner(port));
    match key {
        "state" | "phys_state" => {
            let state = first.trim_start_matches("PORT_");
            // The number in brackets is the library's own.
            explained.fact(line, &name, word(state), None);
            if key == "state" {
                ports.state(output.host, port, &state.replace("INITIALIZE", "INIT"), line, said);
            } else {
                state.clone_into(&mut ports.port(output.host, port).physical);
            }
        }
        "max_mtu" | "active_mtu" => match first.parse::<u64>() {
            Ok(octets) => {
                explained.fact(line, &name, number(octets), Some("octets"));
                if key == "max_mtu" {
                    ports.port(output.host, port).max_mtu = Some(octets);
                } else {
                    ports.port(output.host, port).active_mtu = Some((octets, line));
                }
            }
            Err(_) => explained.fact(line, &name, State::Failed("no size".into()), None),
        },
        "sm_lid" => {
            explained.fact(line, &name, word(value), None);
            ports.port(output.host, port).manager = first.parse().ok();
        }
        "link_layer" => {
            explained.fact(line, &name, word(value), None);
            ports.port(output.host, port).is_infiniband = value.eq_ignore_ascii_case("InfiniBand") || value == "IB";
        }
        "active_speed" => explained.fact(line, &name, text(value.split(" (").next().unwrap_or(value)), None),
        _ => explained.fact(line, &name, word(value), None),
    }
}
