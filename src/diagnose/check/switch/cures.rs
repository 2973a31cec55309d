//! How a switch of each system is told to do something, and how that is taken back.

use super::ports::configure;
use crate::diagnose::remedy::Step;
use crate::fabric::EntityId;
use crate::probe::switch::{SwitchSystem, names};

/// What to type, and what takes it back.
pub(super) type Both = (Vec<Step>, Vec<Step>);

/// Priority flow control on a port for one priority, and back to the mode in which it is.
pub(super) fn pfc_on(system: Option<SwitchSystem>, port: &EntityId, priority: u64, mode: Option<&str>) -> Both {
    let set = format!("priority-flow-control priority {priority} no-drop");
    let lines = |on: &[&str], off: &[&str]| (configure(system, port, on), configure(system, port, off));
    match system {
        Some(SwitchSystem::Eos) => lines(
            &["priority-flow-control on", &set],
            &[&format!("no priority-flow-control priority {priority}"), "no priority-flow-control"],
        ),
        Some(SwitchSystem::NxOs) => {
            let is_off = mode.is_some_and(|mode| mode.eq_ignore_ascii_case("off"));
            let before = if is_off { "priority-flow-control mode off" } else { "priority-flow-control mode auto" };
            lines(&["priority-flow-control mode on"], &[before])
        }
        Some(SwitchSystem::Onyx) => lines(
            &[
                "dcb priority-flow-control mode on force",
                "exit",
                &format!("dcb priority-flow-control priority {priority} enable"),
            ],
            &["no dcb priority-flow-control mode force"],
        ),
        Some(SwitchSystem::Cumulus) => {
            lines(&["nv set qos roce", "nv config apply"], &["nv unset qos roce", "nv config apply"])
        }
        Some(SwitchSystem::Sonic) => lines(
            &[&format!("sudo config interface pfc priority PORT {priority} on")],
            &[&format!("sudo config interface pfc priority PORT {priority} off")],
        ),
        None => (vec![by_hand(port, &format!("lossless class for priority {priority} on this port"))], Vec::new()),
    }
}

/// One more priority that a port with flow control keeps lossless; what it keeps already stays.
pub(super) fn lossless(system: Option<SwitchSystem>, port: &EntityId, priority: u64) -> Both {
    let lines = |on: &str, off: &str| (configure(system, port, &[on]), configure(system, port, &[off]));
    match system {
        Some(SwitchSystem::Eos) => lines(
            &format!("priority-flow-control priority {priority} no-drop"),
            &format!("no priority-flow-control priority {priority} no-drop"),
        ),
        Some(SwitchSystem::Sonic) => lines(
            &format!("sudo config interface pfc priority PORT {priority} on"),
            &format!("sudo config interface pfc priority PORT {priority} off"),
        ),
        // A policy of the whole system says it there, for all ports.
        Some(SwitchSystem::NxOs) => {
            let step = format!(
                "in the policy-map type network-qos of system qos: a class with pause pfc-cos {priority}, and what is marked with \
                 {priority} classified into it, for all ports at once"
            );
            (vec![by_hand(port, &step)], Vec::new())
        }
        Some(SwitchSystem::Onyx | SwitchSystem::Cumulus) | None => {
            (vec![by_hand(port, &format!("lossless class for priority {priority}, for all ports at once"))], Vec::new())
        }
    }
}

/// The MTU of a port.
pub(super) fn mtu(system: Option<SwitchSystem>, port: &EntityId, wanted: u64, before: u64) -> Both {
    let lines = |mtu: u64| match system {
        Some(SwitchSystem::Cumulus) => {
            configure(system, port, &[&format!("nv set interface PORT link mtu {mtu}"), "nv config apply"])
        }
        Some(SwitchSystem::Sonic) => configure(system, port, &[&format!("sudo config interface mtu PORT {mtu}")]),
        Some(_) => configure(system, port, &[&format!("mtu {mtu}")]),
        None => vec![by_hand(port, &format!("MTU {mtu}"))],
    };
    (lines(wanted), lines(before))
}

/// A VLAN that a trunk lets pass.
pub(super) fn allow_vlan(system: Option<SwitchSystem>, port: &EntityId, vlan: u64) -> Both {
    let lines = |on: &[&str], off: &[&str]| (configure(system, port, on), configure(system, port, off));
    match system {
        Some(SwitchSystem::Eos | SwitchSystem::NxOs | SwitchSystem::Onyx) => {
            let word = if system == Some(SwitchSystem::Onyx) { "allowed-vlan" } else { "allowed vlan" };
            let command = |verb: &str| format!("switchport trunk {word} {verb} {vlan}");
            lines(&[&command("add")], &[&command("remove")])
        }
        Some(SwitchSystem::Cumulus) => lines(
            &[&format!("nv set interface PORT bridge domain br_default vlan {vlan}"), "nv config apply"],
            &[&format!("nv unset interface PORT bridge domain br_default vlan {vlan}"), "nv config apply"],
        ),
        Some(SwitchSystem::Sonic) => lines(
            &[&format!("sudo config vlan member add {vlan} PORT")],
            &[&format!("sudo config vlan member del {vlan} PORT")],
        ),
        None => (vec![by_hand(port, &format!("VLAN {vlan} tagged on this port"))], Vec::new()),
    }
}

/// ECN marking of one traffic class; thresholds are those of the makers' guides for RoCE.
pub(super) fn ecn_on(system: Option<SwitchSystem>, port: &EntityId, class: u64) -> Both {
    let lines = |on: &[&str], off: &[&str]| (configure(system, port, on), configure(system, port, off));
    match system {
        Some(SwitchSystem::Eos) => lines(
            &[
                &format!("tx-queue {class}"),
                "random-detect ecn minimum-threshold 150 kbytes maximum-threshold 1500 kbytes max-mark-probability 100",
            ],
            &[&format!("tx-queue {class}"), "no random-detect ecn"],
        ),
        Some(SwitchSystem::Onyx) => lines(
            &[&format!("traffic-class {class} congestion-control ecn minimum-absolute 150 maximum-absolute 1500")],
            &[&format!("no traffic-class {class} congestion-control")],
        ),
        Some(SwitchSystem::Cumulus) => {
            lines(&["nv set qos roce", "nv config apply"], &["nv unset qos roce", "nv config apply"])
        }
        Some(SwitchSystem::NxOs) => {
            let step = format!(
                "in the policy-map type queuing of the switch, class c-out-8q-q{class}: random-detect minimum-threshold 150 kbytes \
                 maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn"
            );
            (vec![by_hand(port, &step)], Vec::new())
        }
        _ => (
            vec![by_hand(
                port,
                &format!("ECN marking for traffic class {class} (a WRED profile with ECN on its queue)"),
            )],
            Vec::new(),
        ),
    }
}

/// Which marking a port believes.
pub(super) fn trust(system: Option<SwitchSystem>, port: &EntityId, wanted: &str, before: &str) -> Both {
    let eos = |word: &str| if word == "none" { "no qos trust".to_owned() } else { format!("qos trust {word}") };
    let onyx = |word: &str| format!("qos trust {}", if word == "dscp" { "L3" } else { "L2" });
    match system {
        Some(SwitchSystem::Eos) => (configure(system, port, &[&eos(wanted)]), configure(system, port, &[&eos(before)])),
        Some(SwitchSystem::Onyx) => {
            (configure(system, port, &[&onyx(wanted)]), configure(system, port, &[&onyx(before)]))
        }
        _ => (vec![by_hand(port, &format!("trust {wanted} on this port"))], Vec::new()),
    }
}

/// A port that was shut down.
pub(super) fn enable(system: Option<SwitchSystem>, port: &EntityId) -> Both {
    let lines = |on: &[&str], off: &[&str]| (configure(system, port, on), configure(system, port, off));
    match system {
        Some(SwitchSystem::Cumulus) => lines(
            &["nv set interface PORT link state up", "nv config apply"],
            &["nv set interface PORT link state down", "nv config apply"],
        ),
        Some(SwitchSystem::Sonic) => {
            lines(&["sudo config interface startup PORT"], &["sudo config interface shutdown PORT"])
        }
        Some(_) => lines(&["no shutdown"], &["shutdown"]),
        None => (vec![by_hand(port, "enable this port")], Vec::new()),
    }
}

/// A port that is a member of a bundle, out of it. The mode of the bundle is not read: the way back assumes LACP.
pub(super) fn leave_bundle(system: Option<SwitchSystem>, port: &EntityId, bundle: &str) -> Both {
    let lines = |on: &[&str], off: &[&str]| (configure(system, port, on), configure(system, port, off));
    let number: String = bundle.chars().filter(char::is_ascii_digit).collect();
    match system {
        _ if !names::is_sendable(bundle) || number.is_empty() => {
            (vec![by_hand(port, "take it out of its bundle")], Vec::new())
        }
        Some(SwitchSystem::Eos | SwitchSystem::NxOs | SwitchSystem::Onyx) => {
            lines(&["no channel-group"], &[&format!("channel-group {number} mode active")])
        }
        Some(SwitchSystem::Cumulus) => lines(
            &[&format!("nv unset interface {bundle} bond member PORT"), "nv config apply"],
            &[&format!("nv set interface {bundle} bond member PORT"), "nv config apply"],
        ),
        Some(SwitchSystem::Sonic) => lines(
            &[&format!("sudo config portchannel member del {bundle} PORT")],
            &[&format!("sudo config portchannel member add {bundle} PORT")],
        ),
        None => (vec![by_hand(port, "take it out of its bundle")], Vec::new()),
    }
}

/// Global pause off, in the directions in which it is on: what is received, what is sent.
pub(super) fn pause_off(system: Option<SwitchSystem>, port: &EntityId, (received, sent): (bool, bool)) -> Both {
    let lines = |word: &str, force: &str| {
        let directions = [("send", sent), ("receive", received)].into_iter().filter(|(_, is_on)| *is_on);
        let all: Vec<String> = directions.map(|(way, _)| format!("flowcontrol {way} {word}{force}")).collect();
        configure(system, port, &all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    match system {
        Some(SwitchSystem::Eos | SwitchSystem::NxOs) => (lines("off", ""), lines("on", "")),
        Some(SwitchSystem::Onyx) => (lines("off", " force"), lines("on", " force")),
        _ => (vec![by_hand(port, "link pause off on this port")], Vec::new()),
    }
}

fn by_hand(port: &EntityId, what: &str) -> Step {
    Step::ByHand(format!("{}: {}: {what}", port.target, port.entity.name()))
}
