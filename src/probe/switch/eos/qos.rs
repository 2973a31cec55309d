//! Marking: which queues mark congestion, how many frames they marked, and which marking of arriving frames is believed.

use super::json;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};
use crate::probe::switch::answer::{Facts, count, not_understood, nothing, port, trouble};
use crate::probe::switch::lined::Node;
use crate::probe::switch::names::{is_port, listed};

pub(super) fn parse_ecn(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::EcnEnabled, Attribute::EcnClasses]);
    }
    let mut facts = Facts::of(observation);
    let mut now: Option<(Entity, u32, Vec<u8>, bool)> = None;
    for (line, text) in observation.lines() {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let [name] = words[..]
            && name.ends_with(':')
            && is_port(name.trim_end_matches(':'))
        {
            say_ecn(&mut facts, now.replace((port(name), line, Vec::new(), false)));
            continue;
        }
        let (Some((_, at, classes, is_read)), Some((queue, thresholds))) = (&mut now, words.split_first()) else {
            continue;
        };
        // Multicast queues carry no RDMA.
        let Ok(queue) = queue.trim_start_matches("UC").trim_start_matches("TxQ").parse::<u8>() else { continue };
        *is_read = true;
        let is_set = thresholds.iter().take(2).filter(|word| word.parse::<f64>().is_ok()).count() == 2;
        if queue < 8 && is_set {
            *at = if classes.is_empty() { line } else { *at };
            classes.push(queue);
        }
    }
    say_ecn(&mut facts, now);
    facts.said
}

fn say_ecn(facts: &mut Facts<'_>, port: Option<(Entity, u32, Vec<u8>, bool)>) {
    if let Some((entity, line, classes, true)) = port {
        facts.say(&entity, Attribute::EcnEnabled, Some(State::Known((!classes.is_empty()).into())), line);
        facts.say(&entity, Attribute::EcnClasses, Some(listed(classes)), line);
    }
}

pub(super) fn parse_ecn_counters(observation: &Observation) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => return nothing(observation, &state, &[Attribute::CounterValue]),
    };
    let mut facts = Facts::of(observation);
    for (name, node) in
        root.get("intfQueueCounters").into_iter().flat_map(Node::fields).filter(|(name, _)| is_port(name))
    {
        for (queue, found) in node.get("queueCounters").into_iter().flat_map(Node::fields) {
            // `-` stands for a queue that marks nothing.
            if let Some(word) = found.word() {
                count(&mut facts, &port(name), &format!("ECN marked {}", Text::new(queue)), word, found.line);
            }
        }
    }
    facts.said
}

pub(super) fn parse_trust(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::TrustedMarking]);
    }
    let mut facts = Facts::of(observation);
    for (line, text) in observation.lines() {
        let mut words = text.split_whitespace();
        let (Some(name), Some(trust)) = (words.next().filter(|name| is_port(name)), words.next()) else { continue };
        let state = match trust.to_ascii_lowercase().as_str() {
            "untrusted" => State::Known("none".into()),
            "cos" => State::Known("cos".into()),
            "dscp" => State::Known("dscp".into()),
            _ => not_understood(trust),
        };
        facts.say(&port(name), Attribute::TrustedMarking, Some(state), line);
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

    const ECN: &str = "Ethernet4:

Tx-Queue    Minimum Threshold    Maximum Threshold    Threshold Unit    Max Mark Probability
---------------------------------------------------------------------------------------------
   7               -                    -                  -                    -
   3              150                 1500              kbytes                 100
   0               -                    -                  -                    -

Ethernet5:

Tx-Queue    Minimum Threshold    Maximum Threshold    Threshold Unit    Max Mark Probability
---------------------------------------------------------------------------------------------
   7               -                    -                  -                    -
   3               -                    -                  -                    -
";

    #[test]
    fn marking_of_queues() {
        let facts = run(of("eos.ecn"), &[(ECN, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Et4", Attribute::EcnEnabled), "yes");
        assert_eq!(is("Et4", Attribute::EcnClasses), "3");
        assert_eq!(is("Et5", Attribute::EcnEnabled), "no");
        assert_eq!(is("Et5", Attribute::EcnClasses), "<empty>");
        let facts = run(of("eos.ecn"), &[("Ethernet4:\n\nEthernet5:\n", "", 0)]);
        assert!(facts.is_empty(), "a port of which no queue is shown says nothing");
    }

    #[test]
    fn a_queue_without_marking_is_no_zero() {
        let text = "{\n \"intfQueueCounters\": {\n  \"Ethernet4\": {\n   \"queueCounters\": {\"0\": \"-\", \"3\": \"17\"}}}}\n";
        let facts = run(of("eos.ecn-counters"), &[(text, "", 0)]);
        let counter = |name: &str| Entity::Counter { of: Text::new("Ethernet4"), name: Text::new(name) };
        assert_eq!(shown(&facts, &counter("ECN marked 3"), Attribute::CounterValue), "17");
        assert_eq!(shown(&facts, &counter("ECN marked 0"), Attribute::CounterValue), "absent");
        let facts =
            run(of("eos.ecn-counters"), &[("{\n \"errors\": [\n  \"Not supported on this platform\"\n ]\n}\n", "", 0)]);
        assert!(shown(&facts, &Entity::Switch, Attribute::CounterValue).starts_with("<not published"));
    }

    #[test]
    fn trust_of_ports() {
        let text = "Port                  Trust Mode\n               Operational     Configured\n---------------------------------------------\n\
                    Ethernet4          DSCP            DSCP\nEthernet5           COS         DEFAULT\nEthernet6     UNTRUSTED       UNTRUSTED\n";
        let facts = run(of("eos.trust"), &[(text, "", 0)]);
        let is = |name| shown(&facts, &port(name), Attribute::TrustedMarking);
        assert_eq!([is("Et4"), is("Et5"), is("Et6")], ["dscp", "cos", "none"]);
    }

    survives_damage!(of("eos.ecn"), ECN);
}
