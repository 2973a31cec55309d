//! The open system `SONiC`: tables of its `show` program. The shells of vendors that call theirs the same print otherwise.

use super::reads;
use crate::fabric::{Fact, Observation};
use crate::probe::Probe;

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!("sonic.interfaces", "ports: state, MTU, speed, VLAN mode", Medium, pending, "show" "interfaces" "status"),
    reads!("sonic.pfc", "lossless priorities of ports", Medium, pending, "show" "pfc" "priority"),
    reads!("sonic.pfc-counters", "PFC frames of ports", Medium, pending, "show" "pfc" "counters"),
    reads!("sonic.counters", "errors and drops of ports", Medium, pending, "show" "interfaces" "counters"),
    reads!("sonic.lldp", "neighbours of ports", Medium, pending, "show" "lldp" "table"),
    reads!("sonic.vlans", "VLANs of ports", Medium, pending, "show" "vlan" "config"),
    reads!("sonic.ecn", "ECN profiles", Medium, pending, "show" "ecn"),
    reads!("sonic.pfc-watchdog", "PFC watchdog", Medium, pending, "pfcwd" "show" "config"),
    reads!("sonic.version", "model and version of the switch", Slow, pending, "show" "version"),
    reads!("sonic.hostname", "name of the switch", Slow, pending, "hostname"),
];

fn pending(_: &Observation) -> Vec<Fact> {
    Vec::new()
}
