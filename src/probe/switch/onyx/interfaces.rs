//! Ports: state, MTU, speed and what they count, one block each.

use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::switch::answer::{
    Facts, as_switch, count, not_understood, nothing, number, on_or_off, port, speed, text, trouble,
};
use crate::probe::switch::names::{full_name, is_port};

/// Counters that are kept, by their labels below `Rx` and `Tx`.
const COUNTERS: &[&str] =
    &["bytes", "discard packets", "error packets", "fcs errors", "symbol errors", "pause packets"];

/// The port whose block begins with this line: `Eth1/1:`, `Eth1/1 (Po100):`.
fn begin(raw: &str) -> Option<String> {
    let name = full_name(raw.trim_end());
    (raw.starts_with("Eth") && is_port(&name) && !raw.trim_end_matches([':', ' ']).contains(':')).then_some(name)
}

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::OperationalState, Attribute::Mtu, Attribute::Speed];
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &attributes);
    }
    let mut facts = Facts::of(observation);
    let mut now: Option<(Entity, bool)> = None;
    let mut section = "";
    for (line, raw) in observation.lines() {
        if let Some(name) = begin(raw) {
            now = Some((port(&name), false));
            section = "";
            continue;
        }
        let Some((entity, is_up)) = &mut now else { continue };
        let raw = raw.trim();
        if let "Rx" | "Tx" = raw.trim_end_matches(':') {
            section = raw.trim_end_matches(':');
            continue;
        }
        if !section.is_empty() {
            if let Some((word, label)) = raw.split_once(' ')
                && COUNTERS.contains(&label.trim())
            {
                count(&mut facts, entity, &format!("{section} {}", label.trim()), word, line);
            }
            continue;
        }
        let Some((key, value)) = raw.split_once(':') else { continue };
        let value = value.trim();
        let mut say = |attribute, state: State<Value>| facts.say(entity, attribute, Some(state), line);
        match key.trim() {
            "Admin state" => say(Attribute::AdminUp, on_or_off(value)),
            "Operational state" => {
                *is_up = as_switch(value) == Some(true);
                say(Attribute::OperationalState, text(&value.to_ascii_lowercase()));
            }
            "Description" => say(Attribute::PortDescription, if value == "N\\A" { State::Empty } else { text(value) }),
            "MTU" => {
                let word = value.split(' ').next().unwrap_or(value);
                say(Attribute::Mtu, number(word).map_or_else(|| not_understood(word), |mtu| State::Known(mtu.into())));
            }
            "Actual speed" => {
                let state =
                    if *is_up { speed(value) } else { State::NotObservable(Text::new("without a link there is none")) };
                say(Attribute::Speed, state);
            }
            "Flow-control" => {
                let words: Vec<&str> = value.split_whitespace().collect();
                for (attribute, key) in [(Attribute::PauseRx, "receive"), (Attribute::PauseTx, "send")] {
                    let word = words.iter().position(|word| *word == key).and_then(|at| words.get(at + 1));
                    if let Some(word) = word {
                        say(attribute, on_or_off(word));
                    }
                }
            }
            _ => {}
        }
    }
    if facts.said.is_empty() {
        let first = observation.stdout.lines().map(str::trim).find(|line| !line.is_empty());
        return nothing(observation, &first.map_or(State::Empty, not_understood), &attributes);
    }
    facts.said
}

/// Frames of each priority. No public capture shows the layout: ports, priorities, directions and numbers are looked for.
pub(super) fn parse_pfc(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::CounterValue]);
    }
    let mut facts = Facts::of(observation);
    let (mut now, mut priority, mut direction): (Option<Entity>, Option<u8>, &str) = (None, None, "");
    for (line, raw) in observation.lines() {
        if let Some(name) = begin(raw) {
            now = Some(port(&name));
            (priority, direction) = (None, "");
            continue;
        }
        let raw = raw.trim();
        let lower = raw.to_ascii_lowercase();
        if lower.starts_with("pfc") || lower.starts_with("prio") {
            let digits: String = raw.chars().filter(char::is_ascii_digit).collect();
            priority = digits.parse().ok().filter(|priority| *priority < 8).or(priority);
        } else if let "rx" | "tx" = lower.trim_end_matches(':') {
            direction = if lower.starts_with("rx") { "rx" } else { "tx" };
        } else if let (Some(entity), Some(priority), Some((word, label)), false) =
            (&now, priority, raw.split_once(' '), direction.is_empty())
            && label.contains("pause")
            && !label.contains("duration")
        {
            count(&mut facts, entity, &format!("PFC{priority} {direction}"), word, line);
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::probe::Probe;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    fn of(name: &str) -> &'static Probe {
        PROBES.iter().find(|probe| probe.name == name).expect("a probe")
    }

    const INTERFACES: &str = "Eth1/1:
  Admin state                      : Enabled
  Operational state                : Up
  Last change in operational status: 1d and 02:52:51 ago (3 oper change)
  Description                      : esx01 vmnic4
  Mac address                      : b8:59:9f:00:00:01
  MTU                              : 9216 bytes (Maximum packet size 9238 bytes)
  Flow-control                     : receive off send off
  Actual speed                     : 100G
  Switchport mode                  : trunk

  Rx:
    482910                 packets
    9131                   bytes
    4                      discard packets
    7                      error packets
    7                      fcs errors
    12                     pause packets

  Tx:
    471120                 packets
    0                      discard packets
    1                      pause packets

Eth1/2 (Po100):
  Admin state                      : Disabled
  Operational state                : Down
  Description                      : N\\A
  MTU                              : 1500 bytes (Maximum packet size 1522 bytes)
  Actual speed                     : N/A
";

    #[test]
    fn ports_with_their_counters() {
        let facts = run(of("onyx.interfaces"), &[(INTERFACES, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Eth1/1", Attribute::OperationalState), "up");
        assert_eq!(is("Eth1/1", Attribute::AdminUp), "yes");
        assert_eq!(is("Eth1/1", Attribute::Mtu), "9216");
        assert_eq!(is("Eth1/1", Attribute::Speed), "100000000000");
        assert_eq!(is("Eth1/1", Attribute::PauseRx), "no");
        assert_eq!(is("Eth1/2", Attribute::AdminUp), "no");
        assert_eq!(is("Eth1/2", Attribute::PortDescription), "<empty>");
        assert!(is("Eth1/2", Attribute::Speed).starts_with("<not observable"));
        let counter = |name: &str| {
            let id = Entity::Counter { of: Text::new("Ethernet1/1"), name: Text::new(name) };
            shown(&facts, &id, Attribute::CounterValue)
        };
        assert_eq!(counter("Rx fcs errors"), "7");
        assert_eq!(counter("Rx pause packets"), "12");
        assert_eq!(counter("Tx pause packets"), "1");
    }

    #[test]
    fn frames_of_priorities() {
        let text =
            "Eth1/1\n  PFC 3\n  Rx:\n    12  pause packets\n    900  pause duration\n  Tx:\n    5  pause packets\n";
        let facts = run(of("onyx.pfc-counters"), &[(text, "", 0)]);
        let counter = |name: &str| Entity::Counter { of: Text::new("Ethernet1/1"), name: Text::new(name) };
        assert_eq!(shown(&facts, &counter("PFC3 rx"), Attribute::CounterValue), "12");
        assert_eq!(shown(&facts, &counter("PFC3 tx"), Attribute::CounterValue), "5");
    }

    survives_damage!(of("onyx.interfaces"), INTERFACES);
}
