//! The switch itself: its name, model and version.

use super::json;
use crate::fabric::{Attribute, Entity, Fact, Observation};
use crate::probe::switch::answer::{Facts, nothing, text};

pub(super) fn parse_hostname(observation: &Observation) -> Vec<Fact> {
    say(observation, &[(Attribute::Hostname, "hostname")])
}

pub(super) fn parse_version(observation: &Observation) -> Vec<Fact> {
    say(observation, &[(Attribute::SwitchModel, "modelName"), (Attribute::SwitchVersion, "version")])
}

fn say(observation: &Observation, keys: &[(Attribute, &str)]) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => {
            let attributes: Vec<Attribute> = keys.iter().map(|(attribute, _)| *attribute).collect();
            return nothing(observation, &state, &attributes);
        }
    };
    let mut facts = Facts::of(observation);
    for (attribute, key) in keys {
        if let Some((node, word)) = root.get(key).and_then(|node| Some((node, node.word()?))) {
            facts.say(&Entity::Switch, *attribute, Some(text(word)), node.line);
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::probe::linux::guest_testing::{run, shown};

    #[test]
    fn names_and_versions() {
        let of = |name: &str| PROBES.iter().find(|probe| probe.name == name).expect("a probe");
        let facts =
            run(of("eos.hostname"), &[("{\n    \"hostname\": \"leaf1\",\n    \"fqdn\": \"leaf1.lab\"\n}\n", "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::Hostname), "leaf1");
        let version = "{\n    \"mfgName\": \"Arista\",\n    \"modelName\": \"DCS-7060CX2-32S-F\",\n    \"version\": \"4.31.2F\"\n}\n";
        let facts = run(of("eos.version"), &[(version, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::SwitchModel), "DCS-7060CX2-32S-F");
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::SwitchVersion), "4.31.2F");
        let facts = run(of("eos.version"), &[("% Invalid input\n", "", 0)]);
        assert!(shown(&facts, &Entity::Switch, Attribute::SwitchModel).starts_with("<not published"));
    }
}
