//! The switch itself: name, model, version, and the profiles of marking that hold for all its ports.

use crate::fabric::{Attribute, Entity, Fact, Observation, State};
use crate::probe::switch::answer::{Facts, nothing, text, trouble};

pub(super) fn parse_hostname(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::Hostname]);
    }
    let mut facts = Facts::of(observation);
    if let Some((line, name)) = observation.lines().find(|(_, line)| !line.trim().is_empty()) {
        facts.say(&Entity::Switch, Attribute::Hostname, Some(text(name.trim())), line);
    }
    facts.said
}

pub(super) fn parse_version(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::SwitchVersion, Attribute::SwitchModel];
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &attributes);
    }
    let mut facts = Facts::of(observation);
    for (line, raw) in observation.lines() {
        let Some((key, value)) = raw.split_once(':') else { continue };
        let attribute = match key.trim() {
            "SONiC Software Version" => Attribute::SwitchVersion,
            "HwSKU" => Attribute::SwitchModel,
            _ => continue,
        };
        facts.say(&Entity::Switch, attribute, Some(text(value.trim())), line);
    }
    facts.said
}

/// A profile marks with ECN if its `ecn` says so (`ecn_all`, `ecn_green`, ...); which queues use it stands elsewhere.
pub(super) fn parse_ecn(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::EcnEnabled]);
    }
    let mut facts = Facts::of(observation);
    let mut best: Option<(bool, u32)> = None;
    for (line, raw) in observation.lines() {
        let mut words = raw.split_whitespace();
        if let (Some("ecn"), Some(word)) = (words.next(), words.next()) {
            let on = word.starts_with("ecn_") && word != "ecn_none";
            if best.is_none() || on {
                best = Some((on, line));
            }
        }
    }
    match best {
        Some((on, line)) => facts.say(&Entity::Switch, Attribute::EcnEnabled, Some(State::Known(on.into())), line),
        // Profiles are listed, and there is none.
        None => facts.say(&Entity::Switch, Attribute::EcnEnabled, Some(State::Empty), 0),
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

    const ECN: &str = "Profile: AZURE_LOSSLESS
-----------------------  -------
red_max_threshold        2097152
ecn                      ecn_all
green_min_threshold      1048576
-----------------------  -------
";

    #[test]
    fn profiles_and_the_switch() {
        let is = |text: &str| shown(&run(of("sonic.ecn"), &[(text, "", 0)]), &Entity::Switch, Attribute::EcnEnabled);
        assert_eq!(is(ECN), "yes");
        assert_eq!(is(&ECN.replace("ecn_all", "ecn_none")), "no");
        assert_eq!(is(""), "<empty>");
        let text = "\nSONiC Software Version: SONiC.202305\nDistribution: Debian 11.6\nPlatform: x86_64-mlnx_msn3700-r0\nHwSKU: ACS-MSN3700\n";
        let facts = run(of("sonic.version"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::SwitchVersion), "SONiC.202305");
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::SwitchModel), "ACS-MSN3700");
        let facts = run(of("sonic.hostname"), &[("leaf3\n", "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::Hostname), "leaf3");
    }

    survives_damage!(of("sonic.ecn"), ECN);
}
