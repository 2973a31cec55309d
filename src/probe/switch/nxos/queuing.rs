//! Queues of ports: what they dropped, how often each priority was paused; and the watchdog of paused queues.

use crate::fabric::{Attribute, Entity, Fact, Observation, State};
use crate::probe::switch::answer::{Facts, as_switch, count, nothing, number, port, trouble};
use crate::probe::switch::names::is_port;

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::CounterValue]);
    }
    let mut facts = Facts::of(observation);
    let mut now: Option<Entity> = None;
    let mut group: Option<u8> = None;
    for (line, raw) in observation.lines() {
        let raw = raw.trim();
        if let Some(name) = raw.split_once("Queuing for ").and_then(|(_, rest)| rest.split_whitespace().next()) {
            now = is_port(name).then(|| port(name));
            group = None;
            continue;
        }
        let Some(entity) = &now else { continue };
        if let Some(found) = group_of(raw) {
            group = Some(found);
            continue;
        }
        let cells: Vec<&str> = raw.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if let (Some(group), Some(at)) = (group, cells.iter().position(|cell| *cell == "Dropped Pkts")) {
            // Unicast, out of band, multicast: one queue.
            let numbers: Vec<u64> = cells[at + 1..].iter().map_while(|cell| number(cell)).collect();
            let sum = numbers.iter().try_fold(0_u64, |sum, one| sum.checked_add(*one));
            if let (false, Some(sum)) = (numbers.is_empty(), sum) {
                count(&mut facts, entity, &format!("QOS GROUP {group} Dropped Pkts"), &sum.to_string(), line);
            }
        }
        for label in ["WRED Drop Pkts", "Ingress MMU Drop Pkts"] {
            if let Some(word) = raw.trim_matches('|').trim().strip_prefix(label) {
                count(&mut facts, entity, label, word.trim_matches(['|', ' ', ':']), line);
            }
        }
        let words: Vec<&str> = raw.split_whitespace().collect();
        if let [cos, _, _, _, sent, _, received] = words[..]
            && cos.parse::<u8>().is_ok_and(|cos| cos < 8)
        {
            count(&mut facts, entity, &format!("COS {cos} TxPause"), sent, line);
            count(&mut facts, entity, &format!("COS {cos} RxPause"), received, line);
        }
    }
    facts.said
}

/// 3 of `|   QOS GROUP 3   |` and of `| QOS GROUP 3 [Shutdown] PFC [YES] PFC-COS [3]`.
fn group_of(line: &str) -> Option<u8> {
    line.split_once("QOS GROUP ")?.1.split_whitespace().next()?.trim_matches('|').parse().ok()
}

pub(super) fn parse_watchdog(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::PfcWatchdog]);
    }
    let mut facts = Facts::of(observation);
    let mut now: Option<Entity> = None;
    let mut group: Option<u8> = None;
    for (line, raw) in observation.lines() {
        let raw = raw.trim();
        if let Some((name, state)) = raw.split_once(" Interface PFC watchdog: [") {
            now = is_port(name).then(|| port(name));
            group = None;
            if let (Some(entity), Some(is_on)) = (&now, as_switch(state.trim_end_matches(']'))) {
                let word = if is_on { "enabled" } else { "disabled" };
                facts.say(entity, Attribute::PfcWatchdog, Some(State::Known(word.into())), line);
            }
            continue;
        }
        let Some(entity) = &now else { continue };
        group = group_of(raw).or(group);
        let cells: Vec<&str> = raw.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if let ([label @ ("Shutdown" | "Total pkts dropped"), word], Some(group)) = (&cells[..], group) {
            count(&mut facts, entity, &format!("QOS GROUP {group} watchdog {label}"), word, line);
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::fabric::Text;
    use crate::probe::Probe;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    fn of(name: &str) -> &'static Probe {
        PROBES.iter().find(|probe| probe.name == name).expect("a probe")
    }

    const QUEUES: &str = "Egress Queuing for Ethernet2/1 [System]
+-------------------------------------------------------------------+
|                              QOS GROUP 0                          |
+-------------------------------------------------------------------+
|                |  Unicast       | OOBFC Unicast  |  Multicast     |
+-------------------------------------------------------------------+
|        Tx Pkts |              12|              22|              34|
|   Dropped Pkts |               1|               0|               2|
+-------------------------------------------------------------------+
|                              QOS GROUP 3                          |
+-------------------------------------------------------------------+
|        Tx Pkts |              50|   Dropped Pkts |               6|
+-------------------------------------------------------------------+
Port Egress Statistics
--------------------------------------------------------
WRED Drop Pkts                              9
Ingress Queuing for Ethernet2/1
Port Ingress Statistics
--------------------------------------------------------
Ingress MMU Drop Pkts                      10
Ingress MMU Drop Bytes                   1024
PFC Statistics
----------------------------------------------------------------------------
TxPPP:                    11, RxPPP:                    12
----------------------------------------------------------------------------
COS QOS Group        PG   TxPause   TxCount         RxPause         RxCount
   0         -         -  Inactive         0        Inactive               0
   3         3         3  Active           7        Active                 8
----------------------------------------------------------------------------
";

    #[test]
    fn drops_and_pauses_of_queues() {
        let facts = run(of("nxos.queuing"), &[(QUEUES, "", 0)]);
        let is = |name: &str| {
            let counter = Entity::Counter { of: Text::new("Ethernet2/1"), name: Text::new(name) };
            shown(&facts, &counter, Attribute::CounterValue)
        };
        assert_eq!(is("QOS GROUP 0 Dropped Pkts"), "3");
        assert_eq!(is("QOS GROUP 3 Dropped Pkts"), "6");
        assert_eq!(is("WRED Drop Pkts"), "9");
        assert_eq!(is("Ingress MMU Drop Pkts"), "10");
        assert_eq!(is("COS 3 TxPause"), "7");
        assert_eq!(is("COS 3 RxPause"), "8");
    }

    #[test]
    fn the_watchdog() {
        let text = "Ethernet1/23 Interface PFC watchdog: [Enabled]\nDisable-action                     : No\n\
                    +----------------------------------------------------+\n| QOS GROUP 3 [Shutdown] PFC [YES] PFC-COS [3]\n\
                    +----------------------------------------------------+\n|                               |  Stats             |\n\
                    |                       Shutdown|                   1|\n|             Total pkts dropped|                   4|\n\
                    Ethernet1/24 Interface PFC watchdog: [Disabled]\n";
        let facts = run(of("nxos.pfc-watchdog"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &port("Eth1/23"), Attribute::PfcWatchdog), "enabled");
        assert_eq!(shown(&facts, &port("Eth1/24"), Attribute::PfcWatchdog), "disabled");
        let counter =
            Entity::Counter { of: Text::new("Ethernet1/23"), name: Text::new("QOS GROUP 3 watchdog Shutdown") };
        assert_eq!(shown(&facts, &counter, Attribute::CounterValue), "1");
    }

    survives_damage!(of("nxos.queuing"), QUEUES);
}
