//! `esxcli rdma`.

use super::super::Said;
use super::super::print::{Column, fields, row, table};
use super::super::state::{State, Uplink};
use super::unknown;
use crate::lab::guest::load::whole;

pub fn answer(state: &State, words: &[&str], device: Option<&str>) -> Said {
    let devices: Vec<(&str, &Uplink)> =
        state.uplinks.iter().filter_map(|uplink| Some((uplink.rdma.as_deref()?, uplink))).collect();
    let wanted = devices.iter().filter(|(name, _)| device.is_none_or(|device| device == *name));
    Ok(match words {
        ["device", "list"] => list(state, &devices),
        ["device", "vmknic", "list"] => {
            // A device is bound to the VMkernel adapters of its switch.
            let rows: Vec<Vec<String>> = wanted
                .filter(|(_, uplink)| state.dvs_uplinks.contains(&uplink.name))
                .map(|(name, _)| row([name, "vmk1", "defaultTcpipStack"]))
                .collect();
            table(&[Column::Left("Device"), Column::Left("Vmknic"), Column::Left("NetStack")], &rows)
        }
        ["device", "protocol", "list"] => {
            let rows: Vec<Vec<String>> = wanted.map(|(name, _)| row([name, "true", "true", "false"])).collect();
            let truths = ["RoCE v1", "RoCE v2", "iWARP"].map(Column::Right);
            table(&[&[Column::Left("Device")], &truths[..]].concat(), &rows)
        }
        ["device", "stats", "get"] => match device {
            None => return Err("Error: Missing required parameter -d|--device".to_owned()),
            Some(name) => match state.rdma(name) {
                None => return Err(format!("Unable to find device {name}: Not found")),
                Some(uplink) => stats(state, uplink),
            },
        },
        _ => return unknown(&[&["rdma"], words].concat()),
    })
}

/// Source: a published output of a host with nenic: the speed has its unit and a blank in it.
fn list(state: &State, devices: &[(&str, &Uplink)]) -> String {
    let rows: Vec<Vec<String>> = devices
        .iter()
        .map(|(name, uplink)| {
            let speed = if uplink.up { format!("{} Gbps", uplink.speed / 1000) } else { "0".to_owned() };
            let on_switch = state.dvs_uplinks.contains(&uplink.name) && uplink.mtu >= 9000;
            row([
                name,
                "nmlx5_rdma",
                if uplink.up { "Active" } else { "Down" },
                if on_switch { "4096" } else { "1024" },
                &speed,
                uplink.name,
                "MT28908 Family  [ConnectX-6]",
            ])
        })
        .collect();
    let columns = [
        Column::Left("Name"),
        Column::Left("Driver"),
        Column::Left("State"),
        Column::Right("MTU"),
        Column::Left("Speed"),
        Column::Left("Paired Uplink"),
        Column::Left("Description"),
    ];
    table(&columns, &rows)
}

/// Source: a public header of the VMkernel: the fields are those of the VMkernel's own structure, the labels are UNSOURCED.
fn stats(state: &State, uplink: &Uplink) -> String {
    let carries = state.dvs_uplinks.contains(&uplink.name);
    let (back, octets) = if carries { state.carried.rdma } else { (0.0, 0.0) };
    let (back, octets) = (whole(back), whole(octets));
    let running = carries && state.carried.rdma_now;
    let pairs: u64 = if running { 6 } else { 0 };
    let values: [(&str, u64); 32] = [
        ("Packets received", back / 4100),
        ("Packets sent", octets / 4100),
        ("Bytes received", back),
        ("Bytes sent", octets),
        ("Error packets received", 0),
        ("Error packets sent", 0),
        ("Error length packets received", 0),
        ("Unicast packets received", back / 4100),
        ("Multicast packets received", 0),
        ("Unicast bytes received", back),
        ("Multicast bytes received", 0),
        ("Unicast packets sent", octets / 4100),
        ("Multicast packets sent", 0),
        ("Unicast bytes sent", octets),
        ("Multicast bytes sent", 0),
        ("Queue pairs allocated", pairs + 1),
        ("Queue pairs in RESET state", 0),
        ("Queue pairs in INIT state", 0),
        ("Queue pairs in RTR state", 0),
        ("Queue pairs in RTS state", pairs + 1),
        ("Queue pairs in SQD state", 0),
        ("Queue pairs in SQE state", 0),
        ("Queue pairs in ERR state", 0),
        ("Queue pair events", 0),
        ("Completion queues allocated", pairs + 2),
        ("Completion queue events", octets / 65_536),
        ("Shared receive queues allocated", 0),
        ("Shared receive queue events", 0),
        ("Protection domains allocated", 2),
        ("Memory regions allocated", pairs * 3 + 1),
        ("Address handles allocated", 0),
        ("Memory windows allocated", 0),
    ];
    fields(&values.map(|(label, value)| (label, value.to_string())))
}
