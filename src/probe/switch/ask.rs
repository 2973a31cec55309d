//! For a switch that is not in the inventory: the command that shows one thing of one port, to be run by someone else, whose
//! answer is pasted. The parser of the source reads it, however many ports it shows.

use super::SwitchSystem;
use super::names::is_sendable;

/// The command of a source (`pfc`, `interfaces`, `lldp`, ...: its name without the system) for one port. Where the name of
/// the port is no plain one, or the system shows the thing for all ports only, it is the command for all of them; an empty
/// text where the system has no such source.
pub fn command_for(system: SwitchSystem, what: &str, interface: &str) -> String {
    let all = || {
        let source = super::source(&format!("{}.{what}", system.name()));
        source.map(|source| source.read.shown()).unwrap_or_default()
    };
    if !is_sendable(interface) {
        return all();
    }
    let port = interface;
    match (system, what) {
        (SwitchSystem::Eos, "interfaces") => format!("show interfaces {port} | json"),
        (SwitchSystem::Eos, "pfc") => format!("show priority-flow-control interfaces {port} status"),
        (SwitchSystem::Eos, "pfc-counters") => format!("show priority-flow-control interfaces {port} counters | json"),
        (SwitchSystem::Eos, "lldp") => format!("show lldp neighbors {port} detail | json"),
        (SwitchSystem::Eos, "switchport") => format!("show interfaces {port} switchport | json"),
        (SwitchSystem::Eos, "ecn") => format!("show qos interfaces {port} ecn"),
        (SwitchSystem::Eos, "trust") => format!("show qos interfaces {port} trust"),
        (SwitchSystem::Eos, "flow-control") => format!("show interfaces {port} flowcontrol | json"),
        (SwitchSystem::NxOs, "interfaces") => format!("show interface {port}"),
        (SwitchSystem::NxOs, "pfc") => format!("show interface {port} priority-flow-control"),
        (SwitchSystem::NxOs, "queuing") => format!("show queuing interface {port}"),
        (SwitchSystem::NxOs, "lldp") => format!("show lldp neighbors interface {port} detail"),
        (SwitchSystem::NxOs, "switchport") => format!("show interface {port} switchport"),
        (SwitchSystem::Sonic, "interfaces") => format!("show interfaces status {port}"),
        (SwitchSystem::Sonic, "pfc") => format!("show pfc priority {port}"),
        (SwitchSystem::Cumulus, "counters") => format!("ethtool -S {port}"),
        _ => all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::switch::SwitchSystem as S;

    #[test]
    fn commands_for_one_port_and_for_all() {
        assert_eq!(
            command_for(S::Eos, "pfc", "Ethernet1/5"),
            "show priority-flow-control interfaces Ethernet1/5 status"
        );
        assert_eq!(command_for(S::NxOs, "pfc", "Ethernet1/5"), "show interface Ethernet1/5 priority-flow-control");
        assert_eq!(command_for(S::Cumulus, "roce", "swp1"), "nv show qos roce -o json");
        assert_eq!(command_for(S::Eos, "no-such", "Ethernet1"), "");
        for hostile in ["", "Ethernet1; reload", "Ethernet1 | bash x", "$(reload)", "a\nb"] {
            let command = command_for(S::Eos, "pfc", hostile);
            assert_eq!(command, "show priority-flow-control status", "{hostile:?}");
        }
    }

    #[test]
    fn every_source_has_one_system_and_a_command() {
        for system in S::ALL {
            for probe in system.probes() {
                assert!(probe.name.starts_with(&format!("{}.", system.name())), "{}", probe.name);
                assert_eq!(probe.sources.len(), 1);
                assert_eq!(probe.sources[0].name, probe.name);
                assert!(!probe.sources[0].read.shown().is_empty());
                assert_eq!(super::super::source(probe.name), probe.sources.first());
            }
        }
    }
}
