//! Arista EOS. Every command is an exec of its own; most print JSON, whose keys do not move with the width of a column.
//! Flow control and marking are read as text: their JSON has no published form.

mod interfaces;
mod interfaces_text;
mod lldp;
mod pfc;
mod qos;
mod system;

use super::reads;
use crate::probe::Probe;

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!(
        "eos.interfaces", "ports: state, MTU, speed, errors, discards", Medium, interfaces::parse,
        "show" "interfaces" "|" "json"
    ),
    reads!("eos.pfc", "priority flow control of ports", Medium, pfc::parse, "show" "priority-flow-control" "status"),
    reads!(
        "eos.pfc-counters", "PFC frames of ports", Medium, pfc::parse_counters,
        "show" "priority-flow-control" "counters" "|" "json"
    ),
    reads!("eos.lldp", "neighbours of ports", Medium, lldp::parse, "show" "lldp" "neighbors" "detail" "|" "json"),
    reads!("eos.switchport", "VLANs of ports", Medium, interfaces::parse_vlans, "show" "interfaces" "switchport" "|" "json"),
    reads!("eos.ecn", "ECN marking of ports", Medium, qos::parse_ecn, "show" "qos" "interfaces" "ecn"),
    reads!(
        "eos.ecn-counters", "frames marked by ECN", Medium, qos::parse_ecn_counters,
        "show" "qos" "interfaces" "ecn" "counters" "queue" "|" "json"
    ),
    reads!("eos.trust", "trusted markings of ports", Medium, qos::parse_trust, "show" "qos" "interfaces" "trust"),
    reads!(
        "eos.flow-control", "global pause of ports", Medium, interfaces::parse_pause,
        "show" "interfaces" "flowcontrol" "|" "json"
    ),
    reads!("eos.hostname", "name of the switch", Slow, system::parse_hostname, "show" "hostname" "|" "json"),
    reads!("eos.version", "model and version of the switch", Slow, system::parse_version, "show" "version" "|" "json"),
];

/// The JSON of a whole answer, or why there is none.
fn json(
    observation: &crate::fabric::Observation,
) -> Result<super::lined::Node, crate::fabric::State<crate::fabric::Value>> {
    if let Some(state) = super::answer::trouble(observation) {
        return Err(state);
    }
    super::lined::Node::read(&observation.stdout).ok_or_else(|| {
        let line = observation.stdout.lines().map(str::trim).find(|line| !line.is_empty());
        line.map_or(crate::fabric::State::Empty, super::answer::not_understood)
    })
}
