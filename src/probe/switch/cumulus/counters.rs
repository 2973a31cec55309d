//! What ports count, as their driver names it: `HwIfInPfc3Pkt`.

use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};
use crate::probe::esxi::{each, reply};
use crate::probe::switch::answer::{Facts, count, port};
use crate::probe::switch::counting;
use crate::probe::switch::names::is_port;

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let (items, left_out) = each::items(observation);
    if left_out > 0 {
        let words = format!("{left_out} more were not read: one read looks into {} at most", crate::probe::MOST_ITEMS);
        facts.say(&Entity::Switch, Attribute::CounterValue, Some(State::Failed(Text::new(&words))), 0);
    }
    for item in items.iter().filter(|item| is_port(item.name)) {
        let entity = port(item.name);
        if let Some(state) = reply::trouble_of(item, "ethtool") {
            facts.say(&entity, Attribute::CounterValue, Some(state), 0);
            continue;
        }
        for (line, raw) in (item.first..).zip(item.output.lines()) {
            let Some((label, word)) = raw.trim().split_once(':') else { continue };
            if label.starts_with("HwIf") && counting::role(label).is_some() {
                count(&mut facts, &entity, label, word, line);
            }
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    const COUNTERS: &str = "@item swp1
NIC statistics:
     HwIfInOctets: 9131
     HwIfInDiscards: 4
     HwIfInErrors: 0
     HwIfInPausePkt: 0
     HwIfInPfc3Pkt: 12
     HwIfOutPfc3Pkt: 7
     HwIfOutQ3WredDrops: 1

@status 0
@item swp2
no stats available

@status 94
";

    #[test]
    fn counters_of_each_port() {
        let probe = PROBES.iter().find(|probe| probe.name == "cumulus.counters").expect("a probe");
        let facts = run(probe, &[(COUNTERS, "", 0)]);
        let is = |name: &str| {
            let counter = Entity::Counter { of: Text::new("swp1"), name: Text::new(name) };
            shown(&facts, &counter, Attribute::CounterValue)
        };
        assert_eq!(is("HwIfInPfc3Pkt"), "12");
        assert_eq!(is("HwIfInDiscards"), "4");
        assert!(shown(&facts, &port("swp2"), Attribute::CounterValue).starts_with("<failed"));
    }

    survives_damage!(PROBES.iter().find(|probe| probe.name == "cumulus.counters").expect("a probe"), COUNTERS);
}
