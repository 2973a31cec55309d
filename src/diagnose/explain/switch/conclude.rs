//! What the facts of a switch mean: what keeps RDMA from a network that loses nothing, as far as one end can tell it. The
//! host behind a port is not in the text, so what only the two ends together decide is told as possible, with what would
//! settle it.

use std::collections::{BTreeMap, BTreeSet};

use super::Said;
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::counter::SharedRole;
use crate::fabric::{Attribute, Entity, Value};
use crate::probe::switch::counting::{is_watchdog, role};
use crate::probe::switch::{SwitchSystem, command_for};

/// So many names stand in a title.
const MOST: usize = 12;

/// The usual lossless priority of RoCE.
const USUAL: &str = "3";

/// A port, or the switch as a whole, by the name under which it is told.
type Name = String;

/// All findings.
pub(super) fn findings(all: &[Said]) -> Vec<Finding> {
    let seen = Seen::of(all);
    let mut found = Vec::new();
    found.extend(seen.down());
    found.extend(seen.flow_control());
    found.extend(seen.priorities());
    found.extend(seen.marking());
    found.extend(seen.sizes());
    found.extend(seen.both_pauses());
    found.extend(seen.trust());
    found.extend(seen.counters());
    found
}

struct Seen<'a> {
    /// What is said of each thing, the last word of each attribute.
    things: BTreeMap<Name, BTreeMap<Attribute, &'a Said>>,
    counters: Vec<(Name, &'a str, u64, &'a Said)>,
}

fn name(said: &Said) -> Name {
    let own = match &said.fact.entity {
        Entity::Switch => "the switch".to_owned(),
        Entity::Counter { of, .. } => of.to_string(),
        entity => entity.name(),
    };
    said.host.as_ref().map_or_else(|| own.clone(), |host| format!("{host}:{own}"))
}

fn listed<'a>(names: impl IntoIterator<Item = &'a Name>) -> String {
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    match names.len().checked_sub(MOST).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
        None => names.join(", "),
    }
}

/// What is said of the ports of a finding, shown with the lines that say it.
fn shown<'a>(finding: Finding, said: impl IntoIterator<Item = &'a Said>) -> Finding {
    let mut lines = BTreeSet::new();
    let each = said.into_iter().filter(|said| lines.insert(said.line)).take(super::super::MOST_EVIDENCE);
    each.fold(finding, |finding, said| finding.shown(said.line, &said.excerpt))
}

impl<'a> Seen<'a> {
    fn of(all: &'a [Said]) -> Self {
        let mut seen = Self { things: BTreeMap::new(), counters: Vec::new() };
        for said in all {
            if let Entity::Counter { name: label, .. } = &said.fact.entity {
                if let Some(count) = said.fact.reading.state.known().and_then(Value::as_count) {
                    seen.counters.push((name(said), label.as_str(), count, said));
                }
                continue;
            }
            seen.things.entry(name(said)).or_default().insert(said.fact.attribute, said);
        }
        seen
    }

    /// Ports with a known value of an attribute.
    fn known(&self, attribute: Attribute) -> Vec<(&Name, &'a Value, &'a Said)> {
        let of = |(name, facts): (_, &BTreeMap<Attribute, &'a Said>)| {
            let said = *facts.get(&attribute)?;
            Some((name, said.fact.reading.state.known()?, said))
        };
        self.things.iter().filter_map(of).collect()
    }

    fn flags(&self, attribute: Attribute, wanted: bool) -> Vec<(&Name, &'a Said)> {
        let is_it = |value: &Value| matches!(value, Value::Flag(flag) if *flag == wanted);
        self.known(attribute)
            .into_iter()
            .filter(|(_, value, _)| is_it(value))
            .map(|(name, _, said)| (name, said))
            .collect()
    }

    fn text(&self, name: &Name, attribute: Attribute) -> Option<String> {
        self.things.get(name)?.get(&attribute)?.fact.reading.state.known().map(ToString::to_string)
    }

    fn system(&self) -> Option<SwitchSystem> {
        self.things.values().flat_map(BTreeMap::values).next().map(|said| said.system)
    }

    /// The command that shows something of the first of these ports.
    fn command(&self, what: &str, names: &[&Name]) -> String {
        let port = names.first().map_or("", |name| name.rsplit(':').next().unwrap_or(name));
        self.system().map(|system| command_for(system, what, port)).unwrap_or_default()
    }

    fn down(&self) -> Vec<Finding> {
        let states = self.known(Attribute::OperationalState);
        let is_up = |value: &Value| value.to_string().starts_with("up");
        let any_up = states.iter().any(|(_, value, _)| is_up(value));
        let down: Vec<_> = states.iter().filter(|(_, value, _)| !is_up(value)).collect();
        let (mut disabled, mut shut, mut dark) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value, said) in down {
            let words = value.to_string().to_ascii_lowercase();
            let is_shut = self.text(name, Attribute::AdminUp).is_some_and(|word| word == "no")
                || words.contains("administratively");
            if words.contains("err") {
                disabled.push((*name, *said));
            } else if is_shut || words.contains("disabled") {
                shut.push((*name, *said));
            } else {
                dark.push((*name, *said));
            }
        }
        let mut found = Vec::new();
        let mut tell = |ports: Vec<(&Name, &'a Said)>, status, what: &str, cause: &str, decide: &str| {
            if ports.is_empty() {
                return;
            }
            let names = listed(ports.iter().map(|(name, _)| *name));
            let title = format!("{names}: {what}");
            let finding = Finding::new("switch.interface-up", status, Confidence::Proved, &names, &title, cause)
                .decided_by(decide);
            found.push(shown(finding, ports.into_iter().map(|(_, said)| said)));
        };
        tell(
            disabled,
            Status::Fail,
            "disabled by the switch because of an error",
            "The port stays off until the error is gone and somebody switches it off and on again; nothing behind it reaches the network.",
            "Why the switch disabled it: show interfaces status errdisabled (EOS), show interface status err-disabled (NX-OS)",
        );
        tell(
            shut,
            if any_up { Status::Info } else { Status::Warn },
            "shut down",
            "Somebody, or a template, shut it down. Ports that are not used usually are.",
            "Is an uplink with RDMA plugged in here?",
        );
        tell(
            dark,
            if any_up { Status::Info } else { Status::Warn },
            "no link",
            "Cable, transceiver, speed or the other end. A port into which nothing is plugged has no link either.",
            "Is something plugged in? Then the state of the uplink at the host: esxcli network nic list",
        );
        found
    }

    fn flow_control(&self) -> Vec<Finding> {
        let on = self.flags(Attribute::PfcEnabled, true);
        let off = self.flags(Attribute::PfcEnabled, false);
        let is_set = |name: &Name, word: &str| self.text(name, Attribute::PfcMode).is_some_and(|mode| mode == word);
        let (waiting, off): (Vec<_>, Vec<_>) = off.into_iter().partition(|(name, _)| is_set(name, "on"));
        let (left, off): (Vec<_>, Vec<_>) = off.into_iter().partition(|(name, _)| is_set(name, "auto"));
        let mut found = Vec::new();
        let mut tell = |ports: &[(&Name, &'a Said)], status, confidence, title: &str, cause: &str, decide: String| {
            if !ports.is_empty() {
                let names = listed(ports.iter().map(|(name, _)| *name));
                let finding =
                    Finding::new("switch.pfc", status, confidence, &names, &title.replace("{}", &names), cause)
                        .decided_by(&decide);
                found.push(shown(finding, ports.iter().map(|(_, said)| *said)));
            }
        };
        let names = |ports: &[(&Name, &'a Said)]| listed(ports.iter().map(|(name, _)| *name));
        let host = || {
            "On the host: esxcli network nic dcb status get -n vmnicN; mode, PFC and priority have to be the same at both ends".to_owned()
        };
        tell(
            &waiting,
            Status::Warn,
            Confidence::Likely,
            "PFC is configured on {}, and is not active",
            "The switch waits for the other end: it does not send DCBX, sends another version of it, or there is no link. Until then the \
             port pauses nobody and drops.",
            host(),
        );
        tell(
            &left,
            Status::Warn,
            Confidence::Likely,
            "PFC of {} is left to DCBX (auto), and is off",
            "The adapter did not agree to it: many drivers of ESXi do not negotiate PFC, and in mode auto the switch then leaves it off.",
            host(),
        );
        let title = if on.is_empty() {
            "PFC is off on {}".to_owned()
        } else {
            format!("PFC is off on {{}}, but is on on {}", names(&on))
        };
        tell(
            &off,
            if on.is_empty() { Status::Info } else { Status::Warn },
            Confidence::Possible,
            &title,
            "A port without PFC drops when its buffers fill, and RoCE sends whole windows again. Ports that carry no RDMA need none.",
            format!("Which of these ports lead to an RDMA uplink: {}", self.command("lldp", &[])),
        );
        tell(
            &on,
            Status::Pass,
            Confidence::Proved,
            "PFC is on on {}",
            "The other end has to keep the same priority lossless.",
            String::new(),
        );
        found
    }

    fn priorities(&self) -> Vec<Finding> {
        let mut by: BTreeMap<String, Vec<(&Name, &'a Said)>> = BTreeMap::new();
        for (name, _) in self.flags(Attribute::PfcEnabled, true) {
            let Some(said) = self.things.get(name).and_then(|facts| facts.get(&Attribute::PfcPriorities)) else {
                continue;
            };
            let list = said.fact.reading.state.known().map(ToString::to_string).unwrap_or_default();
            if said.fact.reading.state.known().is_some() || said.fact.reading.state == crate::fabric::State::Empty {
                by.entry(list).or_default().push((name, *said));
            }
        }
        let mut found = Vec::new();
        let several = by.len() > 1;
        for (list, ports) in by {
            let names = listed(ports.iter().map(|(name, _)| *name));
            let (status, title, cause) = if list.is_empty() {
                (
                    Status::Warn,
                    format!("PFC is on on {names}, and no priority is lossless"),
                    "Without a priority the switch pauses nothing: it is on in name only.",
                )
            } else if list == USUAL {
                continue;
            } else {
                (
                    if several { Status::Warn } else { Status::Info },
                    format!("Priority {list} is lossless on {names}, not {USUAL} alone"),
                    "Host and switches on the way have to keep the same priority lossless; the usual one of RoCE is 3. Each further lossless \
                     priority takes buffers from the others.",
                )
            };
            let finding = Finding::new("switch.pfc-priority", status, Confidence::Possible, &names, &title, cause)
                .decided_by("On the host: esxcli network nic dcb status get -n vmnicN (PFC configuration), and pfctx/pfcrx of the driver module");
            found.push(shown(finding, ports.into_iter().map(|(_, said)| said)));
        }
        found
    }

    fn marking(&self) -> Option<Finding> {
        let off = self.flags(Attribute::EcnEnabled, false);
        if off.is_empty() {
            return None;
        }
        let lossless: BTreeSet<&Name> =
            self.flags(Attribute::PfcEnabled, true).into_iter().map(|(name, _)| name).collect();
        let is_lossless =
            off.iter().any(|(name, _)| lossless.contains(name) || *name == "the switch" && !lossless.is_empty());
        let names = listed(off.iter().map(|(name, _)| *name));
        let (status, confidence) =
            if is_lossless { (Status::Warn, Confidence::Likely) } else { (Status::Info, Confidence::Possible) };
        let finding = Finding::new(
            "switch.ecn",
            status,
            confidence,
            &names,
            &format!("No queue of {names} marks congestion with ECN"),
            "Senders of RoCE slow down when frames are marked (DCQCN); without marking they learn of a full queue by pauses alone, which stop \
             everyone in that class.",
        )
        .decided_by("Does RDMA pass these ports? The queue of its lossless class needs ECN; thresholds are in the guide of the maker");
        Some(shown(finding, off.into_iter().map(|(_, said)| said)))
    }

    fn sizes(&self) -> Option<Finding> {
        /// Frames of RoCE with an MTU of 4096 and their headers need more than this.
        const LEAST: u64 = 4200;
        let all = self.known(Attribute::Mtu);
        let count = |value: &Value| value.as_count().unwrap_or(u64::MAX);
        let small: Vec<_> = all.iter().filter(|(_, value, _)| count(value) < LEAST).collect();
        let (_, smallest, _) = small.iter().min_by_key(|(_, value, _)| count(value))?;
        let names = listed(small.iter().map(|(name, ..)| *name));
        let others: Vec<&Name> =
            all.iter().filter(|(_, value, _)| count(value) >= LEAST).map(|(name, ..)| *name).collect();
        let mut title = format!("The MTU of {names} is {smallest}");
        if !others.is_empty() {
            title.push_str(&format!(", that of {} is large", listed(others.iter().copied())));
        }
        let finding = Finding::new(
            "switch.mtu",
            if others.is_empty() { Status::Info } else { Status::Warn },
            Confidence::Possible,
            &names,
            &title,
            "RoCE with its largest MTU (4096) needs frames of more than 4200 bytes. A port drops what is larger than its MTU without a word: \
             small messages pass, large ones are sent again until the queue pair fails.",
        )
        .decided_by("The MTU of the uplink and of the VMkernel adapter behind the port: esxcli network nic list, esxcli network ip interface list");
        Some(shown(finding, small.iter().map(|(.., said)| *said)))
    }

    fn both_pauses(&self) -> Option<Finding> {
        let lossless: BTreeSet<&Name> =
            self.flags(Attribute::PfcEnabled, true).into_iter().map(|(name, _)| name).collect();
        let mut pauses = self.flags(Attribute::PauseRx, true);
        pauses.extend(self.flags(Attribute::PauseTx, true));
        pauses.retain(|(name, _)| lossless.contains(name));
        if pauses.is_empty() {
            return None;
        }
        let names: BTreeSet<&Name> = pauses.iter().map(|(name, _)| *name).collect();
        let names = listed(names);
        let finding = Finding::new(
            "switch.pause-with-pfc",
            Status::Warn,
            Confidence::Proved,
            &names,
            &format!("{names}: global pause is on beside PFC"),
            "The two exclude each other: one end may pause the whole link while the other waits for a pause of one priority.",
        );
        Some(shown(finding, pauses.into_iter().map(|(_, said)| said)))
    }

    fn trust(&self) -> Option<Finding> {
        let all = self.known(Attribute::TrustedMarking);
        let none: Vec<_> =
            all.iter().filter(|(_, value, _)| matches!(value.to_string().as_str(), "none" | "port")).collect();
        if none.is_empty() {
            return None;
        }
        let names = listed(none.iter().map(|(name, ..)| *name));
        let finding = Finding::new(
            "switch.trust",
            Status::Warn,
            Confidence::Possible,
            &names,
            &format!("{names}: no marking of arriving frames is believed"),
            "All frames fall into the default class, whatever the host marks: RDMA is not in the lossless class.",
        )
        .decided_by("Does RDMA arrive at these ports? Then they have to trust what the host marks, DSCP or the priority of the VLAN tag");
        Some(shown(finding, none.iter().map(|(.., said)| *said)))
    }

    fn counters(&self) -> Vec<Finding> {
        let counted = |wanted: &dyn Fn(&str) -> bool| -> Vec<&(Name, &'a str, u64, &'a Said)> {
            self.counters.iter().filter(|(_, label, count, _)| *count > 0 && wanted(label)).collect()
        };
        let mut found = Vec::new();
        let watched = counted(&|label| is_watchdog(label) && !label.contains("Restore"));
        if !watched.is_empty() {
            let names: BTreeSet<&Name> = watched.iter().map(|(name, ..)| name).collect();
            let names = listed(names);
            let finding = Finding::new(
                "switch.pause-storm",
                Status::Warn,
                Confidence::Likely,
                &names,
                &format!("{names}: the PFC watchdog has stepped in"),
                "A priority stayed paused for longer than the watchdog allows, so the switch dropped its frames: an adapter behind the port, \
                 or behind the next switch, does not take what is sent to it.",
            )
            .decided_by("Which port receives pauses all the time; read the counters twice");
            found.push(shown(finding, watched.iter().map(|(.., said)| *said)));
        }
        let mut tell = |check, of: &[SharedRole], what: &str, cause: &str| {
            let risen = counted(&|label| role(label).is_some_and(|role| of.contains(&role)));
            if risen.is_empty() {
                return;
            }
            let names: BTreeSet<&Name> = risen.iter().map(|(name, ..)| name).collect();
            let names = listed(names);
            let title = format!("{names}: {what} since the counters were last cleared");
            let finding = Finding::new(check, Status::Info, Confidence::Possible, &names, &title, cause).decided_by(
                "Read the counters twice, some seconds apart, while RDMA is busy: only what rises is happening now",
            );
            found.push(shown(finding, risen.iter().map(|(.., said)| *said)));
        };
        tell(
            "switch.drops",
            &[SharedRole::Discard, SharedRole::Drop],
            "frames were discarded",
            "Each lost frame costs RoCE a whole window. A total tells neither when they were lost nor of which class they were.",
        );
        tell(
            "switch.errors",
            &[SharedRole::Error],
            "frames with errors were counted",
            "Cable, transceiver or error correction is the usual cause of errors that rise; plugging a cable counts some, too.",
        );
        found
    }
}
