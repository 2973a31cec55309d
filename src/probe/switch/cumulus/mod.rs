//! NVIDIA Cumulus Linux: what NVUE says as JSON, and the kernel's own account of VLANs and counters.

use super::reads;
use crate::fabric::{Fact, Observation};
use crate::probe::{Listing, Pace, Probe, Read, Rhythm, Source, Word};

/// What is read on a switch.
pub const PROBES: &[Probe] = &[
    reads!("cumulus.interfaces", "ports: state, MTU, speed, drops, errors", Medium, pending, "nv" "show" "interface" "-o" "json"),
    reads!("cumulus.roce", "lossless class and ECN marking", Medium, pending, "nv" "show" "qos" "roce" "-o" "json"),
    reads!("cumulus.lldp", "neighbours of ports", Medium, pending, "nv" "show" "interface" "--view=lldp" "-o" "json"),
    reads!("cumulus.vlans", "VLANs of ports", Medium, pending, "bridge" "-j" "vlan" "show"),
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
        parse: |observations| observations.first().map_or_else(Vec::new, |observation| pending(observation)),
    },
    reads!("cumulus.system", "name and version of the switch", Slow, pending, "nv" "show" "system" "-o" "json"),
];

fn pending(_: &Observation) -> Vec<Fact> {
    Vec::new()
}
