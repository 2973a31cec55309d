//! The list of all ports in one line each, as Arista EOS and Cisco NX-OS print it (`show interfaces status`): port, name,
//! status, VLAN, duplex, speed, type. The name is free text, and columns are narrow: a row is read from its status on.

use super::answer::{Facts, duplex, port, speed, text};
use super::names::{full_name, is_port};
use crate::fabric::{Attribute, Fact, Observation, State, Text};

/// What the status can be, with what it means; NX-OS cuts words to nine letters.
const STATUSES: &[(&str, &str)] = &[
    ("connected", "up"),
    ("notconnect", "down (not connected)"),
    ("notconnec", "down (not connected)"),
    ("errdisabled", "down (err-disabled)"),
    ("err-disab", "down (err-disabled)"),
    ("disabled", "down (disabled)"),
    ("xcvrAbsen", "down (no transceiver)"),
    ("sfpAbsent", "down (no transceiver)"),
    ("linkFlapE", "down (err-disabled: link flaps)"),
    ("suspended", "down (suspended)"),
    ("suspndByV", "down (suspended)"),
    ("inactive", "down (inactive)"),
    ("noOperMem", "down (no member is up)"),
];

/// True for the titles of the list.
pub fn is_title(line: &str) -> bool {
    let mut words = line.split_whitespace();
    ["Port", "Name", "Status", "Vlan", "Duplex", "Speed", "Type"].iter().all(|title| words.any(|word| word == *title))
}

/// The facts of the list; nothing if this is none.
pub(super) fn parse(observation: &Observation) -> Option<Vec<Fact>> {
    observation.stdout.lines().find(|line| is_title(line))?;
    let mut facts = Facts::of(observation);
    for (line, raw) in observation.lines() {
        let words: Vec<&str> = raw.split_whitespace().collect();
        let Some((name, rest)) = words.split_first().filter(|(name, _)| is_port(name)) else { continue };
        // A name may be one of these words too: the status is followed by three more.
        let status = |word: &&str| STATUSES.iter().find(|(status, _)| status == word);
        let Some(at) = (0..rest.len().saturating_sub(3)).rev().find(|at| status(&rest[*at]).is_some()) else {
            continue;
        };
        let [vlan, kind, rate, ..] = rest[at + 1..] else { continue };
        let entity = port(name);
        let meaning = status(&rest[at]).map_or("", |(_, meaning)| *meaning);
        let is_up = meaning == "up";
        let of_link =
            |state| if is_up { state } else { State::NotObservable(Text::new("without a link there is none")) };
        let description = rest[..at].join(" ");
        if !matches!(description.as_str(), "" | "--") {
            facts.say(&entity, Attribute::PortDescription, Some(text(&description)), line);
        }
        facts.say(&entity, Attribute::OperationalState, Some(State::Known(meaning.into())), line);
        facts.say(&entity, Attribute::AdminUp, Some(State::Known((rest[at] != "disabled").into())), line);
        if let Ok(vlan) = vlan.parse::<u64>() {
            facts.say(&entity, Attribute::PortMode, Some(State::Known("access".into())), line);
            facts.say(&entity, Attribute::UntaggedVlan, Some(State::Known(vlan.into())), line);
        } else if vlan == "trunk" || vlan == "routed" {
            facts.say(&entity, Attribute::PortMode, Some(State::Known(vlan.into())), line);
        } else if is_port(vlan) {
            // `in Po10` of EOS ends with the bundle.
            facts.say(&entity, Attribute::PortChannel, Some(text(&full_name(vlan))), line);
        }
        // `a-full` and `a-100G` were negotiated.
        facts.say(&entity, Attribute::Duplex, Some(of_link(duplex(kind))), line);
        facts.say(&entity, Attribute::Speed, Some(of_link(speed(rate))), line);
    }
    (!facts.said.is_empty()).then_some(facts.said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::linux::guest_testing::shown;

    #[test]
    fn lists_of_both_systems() {
        let eos = "Port       Name           Status       Vlan       Duplex Speed  Type            Flags Encapsulation\n\
                   Et1        esx01 vmnic4   connected    trunk      full   100G   100GBASE-CR4\n\
                   Et5                       notconnect   1          full   100G   Not Present\n\
                   Et6        connected to x errdisabled  20         full   100G   100GBASE-CR4\n\
                   Po10       spine          connected    routed     full   200G   N/A\n";
        let facts = parse(&Observation::of_text("eos.interfaces", eos)).expect("a list");
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Et1", Attribute::OperationalState), "up");
        assert_eq!(is("Et1", Attribute::PortDescription), "esx01 vmnic4");
        assert_eq!(is("Et1", Attribute::Speed), "100000000000");
        assert_eq!(is("Et1", Attribute::PortMode), "trunk");
        assert_eq!(is("Et5", Attribute::OperationalState), "down (not connected)");
        assert_eq!(is("Et5", Attribute::UntaggedVlan), "1");
        assert!(is("Et5", Attribute::Speed).starts_with("<not observable"));
        assert_eq!(is("Et6", Attribute::OperationalState), "down (err-disabled)");
        assert_eq!(is("Po10", Attribute::PortMode), "routed");
        let nxos = "--------------------------------------------------------------------------------\n\
                    Port          Name               Status    Vlan      Duplex  Speed   Type\n\
                    --------------------------------------------------------------------------------\n\
                    Eth1/1        esx01 vmnic4       connected trunk     full    100G    QSFP-100G-CR4\n\
                    Eth1/5        --                 xcvrAbsen 1         auto    auto    --\n\
                    Eth1/6        --                 disabled  1         auto    auto    --\n";
        let facts = parse(&Observation::of_text("nxos.interfaces", nxos)).expect("a list");
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Eth1/1", Attribute::OperationalState), "up");
        assert_eq!(is("Eth1/5", Attribute::OperationalState), "down (no transceiver)");
        assert_eq!(is("Eth1/5", Attribute::PortDescription), "absent");
        assert_eq!(is("Eth1/6", Attribute::AdminUp), "no");
        assert_eq!(parse(&Observation::of_text("nxos.interfaces", "Ethernet1/1 is up\n")), None);
    }
}
