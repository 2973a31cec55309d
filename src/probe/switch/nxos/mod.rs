//! Cisco NX-OS: tables and blocks of text, whose layout is that of the Nexus 9000.

use super::reads;
use crate::fabric::{Fact, Observation};
use crate::probe::Probe;

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!("nxos.interfaces", "ports: state, MTU, speed, errors, discards", Medium, pending, "show" "interface"),
    reads!("nxos.pfc", "priority flow control of ports", Medium, pending, "show" "interface" "priority-flow-control"),
    reads!("nxos.queuing", "queues of ports: drops, pauses", Medium, pending, "show" "queuing" "interface"),
    reads!("nxos.lldp", "neighbours of ports", Medium, pending, "show" "lldp" "neighbors" "detail"),
    reads!("nxos.switchport", "VLANs of ports", Medium, pending, "show" "interface" "switchport"),
    reads!(
        "nxos.queuing-policy", "ECN marking", Medium, pending,
        "show" "policy-map" "system" "type" "queuing"
    ),
    reads!(
        "nxos.network-qos", "lossless classes", Medium, pending,
        "show" "policy-map" "system" "type" "network-qos"
    ),
    reads!("nxos.pfc-watchdog", "PFC watchdog", Medium, pending, "show" "queuing" "pfc-queue"),
    reads!("nxos.version", "name, model and version of the switch", Slow, pending, "show" "version"),
];

fn pending(_: &Observation) -> Vec<Fact> {
    Vec::new()
}
