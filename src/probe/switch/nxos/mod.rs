//! Cisco NX-OS: tables and blocks of text, whose layout is that of the Nexus 9000.

mod interfaces;
mod lldp;
mod pfc;
mod policy;
mod queuing;

use super::reads;
use crate::probe::Probe;

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!(
        "nxos.interfaces", "ports: state, MTU, speed, errors, discards", Medium, interfaces::parse,
        "show" "interface"
    ),
    reads!(
        "nxos.pfc", "priority flow control of ports", Medium, pfc::parse,
        "show" "interface" "priority-flow-control"
    ),
    reads!("nxos.queuing", "queues of ports: drops, pauses", Medium, queuing::parse, "show" "queuing" "interface"),
    reads!("nxos.lldp", "neighbours of ports", Medium, lldp::parse, "show" "lldp" "neighbors" "detail"),
    reads!("nxos.switchport", "VLANs of ports", Medium, interfaces::parse_vlans, "show" "interface" "switchport"),
    reads!(
        "nxos.queuing-policy", "ECN marking", Medium, policy::parse_queuing,
        "show" "policy-map" "system" "type" "queuing"
    ),
    reads!(
        "nxos.network-qos", "lossless classes", Medium, policy::parse_network,
        "show" "policy-map" "system" "type" "network-qos"
    ),
    reads!("nxos.pfc-watchdog", "PFC watchdog", Medium, queuing::parse_watchdog, "show" "queuing" "pfc-queue" "detail"),
    reads!("nxos.version", "name, model and version of the switch", Slow, policy::parse_version, "show" "version"),
];
