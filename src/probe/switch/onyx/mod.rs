//! NVIDIA (Mellanox) Onyx: blocks and tables of text.

use super::reads;
use crate::fabric::{Fact, Observation};
use crate::probe::Probe;

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!("onyx.interfaces", "ports: state, MTU, speed, errors, discards", Medium, pending, "show" "interfaces" "ethernet"),
    reads!("onyx.pfc", "priority flow control of ports", Medium, pending, "show" "dcb" "priority-flow-control"),
    reads!(
        "onyx.pfc-counters", "PFC frames of ports", Medium, pending,
        "show" "interfaces" "ethernet" "counters" "pfc" "prio" "all"
    ),
    reads!("onyx.lldp", "neighbours of ports", Medium, pending, "show" "lldp" "remote"),
    reads!("onyx.switchport", "VLANs of ports", Medium, pending, "show" "interfaces" "switchport"),
    reads!("onyx.roce", "RoCE mode: trust, ECN marking", Medium, pending, "show" "roce"),
    reads!("onyx.version", "model and version of the switch", Slow, pending, "show" "version"),
    reads!("onyx.hostname", "name of the switch", Slow, pending, "show" "hosts"),
];

fn pending(_: &Observation) -> Vec<Fact> {
    Vec::new()
}
