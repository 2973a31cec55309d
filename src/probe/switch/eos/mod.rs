//! Arista EOS. Every command is an exec of its own; most print JSON, whose keys do not move with the width of a column.

use super::reads;
use crate::fabric::{Fact, Observation};
use crate::probe::Probe;

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!("eos.interfaces", "ports: state, MTU, speed, errors, discards", Medium, pending, "show" "interfaces" "|" "json"),
    reads!("eos.pfc", "priority flow control of ports", Medium, pending, "show" "priority-flow-control" "status"),
    reads!("eos.pfc-counters", "PFC frames of ports", Medium, pending, "show" "priority-flow-control" "counters" "|" "json"),
    reads!("eos.lldp", "neighbours of ports", Medium, pending, "show" "lldp" "neighbors" "detail" "|" "json"),
    reads!("eos.switchport", "VLANs of ports", Medium, pending, "show" "interfaces" "switchport" "|" "json"),
    reads!("eos.ecn", "ECN marking of ports", Medium, pending, "show" "qos" "interfaces" "ecn"),
    reads!(
        "eos.ecn-counters", "frames marked by ECN", Medium, pending,
        "show" "qos" "interfaces" "ecn" "counters" "queue" "|" "json"
    ),
    reads!("eos.trust", "trusted markings of ports", Medium, pending, "show" "qos" "interfaces" "trust"),
    reads!("eos.flow-control", "global pause of ports", Medium, pending, "show" "interfaces" "flowcontrol" "|" "json"),
    reads!("eos.hostname", "name of the switch", Slow, pending, "show" "hostname" "|" "json"),
    reads!("eos.version", "model and version of the switch", Slow, pending, "show" "version" "|" "json"),
];

fn pending(_: &Observation) -> Vec<Fact> {
    Vec::new()
}
