//! NVIDIA Cumulus Linux: what NVUE says as JSON, and the kernel's own account of VLANs and counters.

mod counters;
mod ports;
mod printed;
mod roce;

use super::reads;
use crate::probe::{Listing, Pace, Probe, Read, Rhythm, Source, Word};

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!("cumulus.interfaces", "ports: state, MTU, speed", Medium, ports::parse, "nv" "show" "interface" "-o" "json"),
    reads!("cumulus.roce", "lossless class and ECN marking", Medium, roce::parse, "nv" "show" "qos" "roce" "-o" "json"),
    reads!(
        "cumulus.lldp", "neighbours of ports", Medium, ports::parse_lldp,
        "nv" "show" "interface" "--view=lldp" "-o" "json"
    ),
    reads!("cumulus.vlans", "VLANs of ports", Medium, ports::parse_vlans, "bridge" "-j" "vlan" "show"),
    Probe {
        name: "cumulus.counters",
        title: "pauses, errors and drops of ports",
        privilege_adds: "",
        pace: Pace::Medium,
        rhythm: Rhythm::PACE,
        sources: &[Source {
            name: "cumulus.counters",
            read: Read::Each {
                of: Listing::FrontPorts,
                argv: &[Word::Plain("ethtool"), Word::Plain("-S"), Word::Item("", "")],
                masked: false,
                timed: false,
            },
        }],
        parse: |observations| observations.first().map_or_else(Vec::new, |observation| counters::parse(observation)),
    },
    reads!("cumulus.system", "name and version of the switch", Slow, roce::parse_system, "nv" "show" "system" "-o" "json"),
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
