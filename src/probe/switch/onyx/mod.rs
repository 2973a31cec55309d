//! NVIDIA (Mellanox) Onyx: blocks and tables of text.

mod interfaces;
mod tables;

use super::reads;
use crate::probe::Probe;

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!(
        "onyx.interfaces", "ports: state, MTU, speed, errors, discards", Medium, interfaces::parse,
        "show" "interfaces" "ethernet"
    ),
    reads!("onyx.pfc", "priority flow control of ports", Medium, tables::parse_pfc, "show" "dcb" "priority-flow-control"),
    reads!(
        "onyx.pfc-counters", "PFC frames of ports", Medium, interfaces::parse_pfc,
        "show" "interfaces" "ethernet" "counters" "pfc" "prio" "all"
    ),
    reads!("onyx.lldp", "neighbours of ports", Medium, tables::parse_lldp, "show" "lldp" "interfaces" "ethernet" "remote"),
    reads!("onyx.switchport", "VLANs of ports", Medium, tables::parse_vlans, "show" "interfaces" "switchport"),
    reads!("onyx.roce", "RoCE mode: trust, ECN marking", Medium, tables::parse_roce, "show" "roce"),
    reads!("onyx.version", "model and version of the switch", Slow, tables::parse_version, "show" "version"),
    reads!("onyx.hostname", "name of the switch", Slow, tables::parse_hostname, "show" "hosts"),
];
