//! The open system `SONiC`: tables of its `show` program. The shells of vendors that call theirs the same print otherwise.

mod counters;
mod ports;
mod system;

use super::reads;
use crate::probe::Probe;

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!("sonic.interfaces", "ports: state, MTU, speed", Medium, ports::parse, "show" "interfaces" "status"),
    reads!("sonic.pfc", "lossless priorities of ports", Medium, ports::parse_pfc, "show" "pfc" "priority"),
    reads!("sonic.pfc-counters", "PFC frames of ports", Medium, counters::parse_pfc, "show" "pfc" "counters"),
    reads!("sonic.counters", "errors and drops of ports", Medium, counters::parse, "show" "interfaces" "counters"),
    reads!("sonic.lldp", "neighbours of ports", Medium, ports::parse_lldp, "show" "lldp" "table"),
    reads!("sonic.vlans", "VLANs of ports", Medium, ports::parse_vlans, "show" "vlan" "config"),
    reads!("sonic.ecn", "ECN profiles", Medium, system::parse_ecn, "show" "ecn"),
    reads!("sonic.pfc-watchdog", "PFC watchdog", Medium, ports::parse_watchdog, "pfcwd" "show" "config"),
    reads!("sonic.version", "model and version of the switch", Slow, system::parse_version, "show" "version"),
    reads!("sonic.hostname", "name of the switch", Slow, system::parse_hostname, "hostname"),
];
