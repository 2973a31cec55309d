//! Priority flow control of ports. The lossless priorities stand as a bit map in hexadecimal digits, with or without a
//! blank before them: `On (8)`, `On(8)`.

use crate::fabric::{Attribute, Fact, Observation, State};
use crate::probe::switch::answer::{Facts, as_switch, count, not_understood, nothing, port, trouble};
use crate::probe::switch::names::{is_port, listed};

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::PfcEnabled, Attribute::PfcPriorities]);
    }
    let mut facts = Facts::of(observation);
    for (line, raw) in observation.lines() {
        let words: Vec<&str> = raw.split_whitespace().collect();
        let [name, mode, oper, rest @ ..] = &words[..] else { continue };
        if !is_port(name) || as_switch(oper.split('(').next().unwrap_or(oper)).is_none() {
            continue;
        }
        let entity = port(name);
        let is_on = oper.to_ascii_lowercase().starts_with("on");
        facts.say(&entity, Attribute::PfcMode, Some(State::Known(mode.to_ascii_lowercase().as_str().into())), line);
        facts.say(&entity, Attribute::PfcEnabled, Some(State::Known(is_on.into())), line);
        let bits = raw.split_once('(').and_then(|(_, after)| after.split_once(')')).map(|(bits, _)| bits.trim());
        let priorities = match (is_on, bits) {
            (false, _) => State::Empty,
            (true, None) => State::NotAvailable,
            (true, Some(bits)) => match u8::from_str_radix(bits.trim_start_matches("0x"), 16) {
                Ok(map) => listed((0..8).filter(|priority| map & (1 << priority) != 0).collect()),
                Err(_) => not_understood(bits),
            },
        };
        facts.say(&entity, Attribute::PfcPriorities, Some(priorities), line);
        if let [.., received, sent] = rest {
            count(&mut facts, &entity, "PFC RxPPP", received, line);
            count(&mut facts, &entity, "PFC TxPPP", sent, line);
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::fabric::{Entity, Text};
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    const TABLE: &str = "slot  1
=======

============================================================
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
============================================================
Ethernet1/1        Auto Off            0          0
Ethernet1/2        Auto On   (8)       4088353    1890
Ethernet1/3        On   On(18)         0          12
Ethernet1/4        On   On   (0)       0          0
";

    #[test]
    fn modes_maps_and_frames() {
        let probe = PROBES.iter().find(|probe| probe.name == "nxos.pfc").expect("a probe");
        let facts = run(probe, &[(TABLE, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Eth1/1", Attribute::PfcMode), "auto");
        assert_eq!(is("Eth1/1", Attribute::PfcEnabled), "no");
        assert_eq!(is("Eth1/1", Attribute::PfcPriorities), "<empty>");
        assert_eq!(is("Eth1/2", Attribute::PfcPriorities), "3");
        assert_eq!(is("Eth1/3", Attribute::PfcPriorities), "3, 4");
        assert_eq!(is("Eth1/4", Attribute::PfcPriorities), "<empty>");
        let counter = |of: &str, name: &str| Entity::Counter { of: Text::new(of), name: Text::new(name) };
        assert_eq!(shown(&facts, &counter("Ethernet1/2", "PFC RxPPP"), Attribute::CounterValue), "4088353");
        assert_eq!(shown(&facts, &counter("Ethernet1/3", "PFC TxPPP"), Attribute::CounterValue), "12");
        assert_eq!(shown(&facts, &counter("Ethernet1/1", "PFC TxPPP"), Attribute::CounterValue), "0");
    }

    survives_damage!(PROBES.iter().find(|probe| probe.name == "nxos.pfc").expect("a probe"), TABLE);
}
