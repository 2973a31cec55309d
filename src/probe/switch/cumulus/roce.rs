//! The RoCE profile of the switch, which sets flow control, marking and trust for all its ports; and the switch itself.

use super::json;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::switch::answer::{Facts, as_switch, nothing, text, trouble};
use crate::probe::switch::lined::Node;
use crate::probe::switch::names::priorities;

const ATTRIBUTES: [Attribute; 5] = [
    Attribute::PfcEnabled,
    Attribute::PfcPriorities,
    Attribute::EcnEnabled,
    Attribute::EcnClasses,
    Attribute::TrustedMarking,
];

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    // What is printed for people says the same.
    let printed = trouble(observation).is_none().then(|| super::printed::as_json(&observation.stdout)).flatten();
    let root = match printed.as_deref().and_then(Node::read).map_or_else(|| json(observation), Ok) {
        Ok(root) => root,
        Err(state) => return nothing(observation, &state, &ATTRIBUTES),
    };
    // With what is applied beside it, what is operational counts.
    let root = root.get("operational").unwrap_or(&root);
    let is_off =
        ["enable", "state"].iter().filter_map(|key| root.get(key)?.word()).any(|word| as_switch(word) == Some(false));
    if is_off || (root.get("pfc").is_none() && root.get("congestion-control").is_none()) {
        let state = State::NotObservable(Text::new("the RoCE profile is off; flow control can be set without it"));
        return nothing(observation, &state, &ATTRIBUTES);
    }
    let mut facts = Facts::of(observation);
    let mut say = |attribute, state: State<Value>, line: u32| facts.say(&Entity::Switch, attribute, Some(state), line);
    if let Some(pfc) = root.get("pfc") {
        let on = |key: &str| pfc.get(key).and_then(Node::word).and_then(as_switch);
        let is_on = on("rx-enabled") != Some(false) && on("tx-enabled") != Some(false);
        say(Attribute::PfcEnabled, State::Known(is_on.into()), pfc.line);
        if let Some(found) = pfc.get("pfc-priority") {
            say(Attribute::PfcPriorities, classes(found), found.line);
        }
    } else {
        // Lossy: the profile is on and keeps nothing lossless.
        say(Attribute::PfcEnabled, State::Known(false.into()), root.line);
        say(Attribute::PfcPriorities, State::Empty, root.line);
    }
    if let Some(congestion) = root.get("congestion-control") {
        if let Some((found, mode)) = congestion.get("congestion-mode").and_then(|found| Some((found, found.word()?))) {
            let marks = mode.to_ascii_lowercase().contains("ecn");
            say(Attribute::EcnEnabled, State::Known(marks.into()), found.line);
        }
        if let Some(found) = congestion.get("enabled-tc") {
            say(Attribute::EcnClasses, classes(found), found.line);
        }
    }
    if let Some((found, mode)) = root.at(&["trust", "trust-mode"]).and_then(|found| Some((found, found.word()?))) {
        say(Attribute::TrustedMarking, text(mode), found.line);
    }
    facts.said
}

/// `3`, `0,3`, or an object with one key for each.
fn classes(node: &Node) -> State<Value> {
    if let Some(word) = node.word() {
        return priorities(word);
    }
    let keys: Vec<&str> = node.fields().map(|(key, _)| key).collect();
    priorities(&keys.join(","))
}

pub(super) fn parse_system(observation: &Observation) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => return nothing(observation, &state, &[Attribute::Hostname, Attribute::SwitchVersion]),
    };
    let mut facts = Facts::of(observation);
    for (attribute, keys) in [
        (Attribute::Hostname, ["hostname", "hostname"]),
        (Attribute::SwitchVersion, ["product-release", "build"]),
        (Attribute::SwitchModel, ["product-name", "platform"]),
    ] {
        let found = keys.iter().find_map(|key| root.get(key)).and_then(|found| Some((found, found.word()?)));
        if let Some((found, word)) = found {
            facts.say(&Entity::Switch, attribute, Some(text(word)), found.line);
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

    const ROCE: &str = r#"{
  "congestion-control": {
    "congestion-mode": "ECN",
    "enabled-tc": "0,3",
    "max-threshold": "1.43 MB",
    "min-threshold": "146.48 KB"
  },
  "enable": "on",
  "mode": "lossless",
  "pfc": {
    "pfc-priority": "3",
    "rx-enabled": "enabled",
    "tx-enabled": "enabled"
  },
  "trust": {
    "trust-mode": "pcp,dscp"
  }
}
"#;

    #[test]
    fn profiles() {
        let is = |text: &str, attribute| shown(&run(of("cumulus.roce"), &[(text, "", 0)]), &Entity::Switch, attribute);
        assert_eq!(is(ROCE, Attribute::PfcEnabled), "yes");
        assert_eq!(is(ROCE, Attribute::PfcPriorities), "3");
        assert_eq!(is(ROCE, Attribute::EcnClasses), "0, 3");
        assert_eq!(is(ROCE, Attribute::TrustedMarking), "pcp,dscp");
        let objects = ROCE.replace("\"0,3\"", "{\"0\": {}, \"3\": {}}");
        assert_eq!(is(&objects, Attribute::EcnClasses), "0, 3");
        assert!(is("{\"enable\": \"off\"}", Attribute::PfcEnabled).starts_with("<not observable"));
        let lossy = "{\"enable\": \"on\", \"mode\": \"lossy\", \"congestion-control\": {\"congestion-mode\": \"ECN\"}}";
        assert_eq!(is(lossy, Attribute::PfcEnabled), "no");
        assert!(is("Error: GET /nvue_v1/qos/roce responded with 404", Attribute::PfcEnabled).starts_with("<failed"));
    }

    #[test]
    fn the_switch() {
        let text = "{\"build\": \"Cumulus Linux 5.8.0\", \"hostname\": \"leaf4\", \"product-name\": \"Cumulus Linux\", \"product-release\": \"5.8.0\"}";
        let facts = run(of("cumulus.system"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::Hostname), "leaf4");
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::SwitchVersion), "5.8.0");
    }

    survives_damage!(of("cumulus.roce"), ROCE);
}
