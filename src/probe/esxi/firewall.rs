//! Rulesets of a host's firewall. `pvrdma` (TCP 28250 to 28761, both ways) is closed unless someone opened it.

use std::sync::Arc;

use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, Text};
use crate::probe::{Pace, Probe, Rhythm};

/// Rulesets.
pub const PROBE: Probe = Probe {
    name: "esxi.firewall",
    title: "firewall rulesets",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PRESSING.deciding(),
    sources: &[command!("esxi.firewall-rulesets", "esxcli" "network" "firewall" "ruleset" "list")],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Facts::of(observation);
    let table = match reply::table(observation, &["Name", "Enabled"], &["Name", "Ruleset"]) {
        Ok(table) => table,
        Err(state) => {
            facts.say(&Entity::Ruleset(Text::new("pvrdma")), Attribute::RulesetEnabled, Some(state), 0);
            return facts.said;
        }
    };
    for row in table.rows() {
        let Some(name) = table.get(row, &["Name", "Ruleset"]).filter(|name| !name.is_empty()) else { continue };
        let entity = Entity::Ruleset(Text::new(name));
        facts.say(&entity, Attribute::RulesetEnabled, table.get(row, &["Enabled"]).map(reply::flag), row.line);
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// As it was published; the second is the form of 8.0 U2.
    const LIST: &str = "Name                      Enabled\n------------------------  -------\nsshServer                    true\n\
                        pvrdma                      false\n";
    const NEW: &str = "Name       Enabled  Enable/Disable configurable  Allowed IP configurable\n\
                       ---------  -------  ---------------------------  -----------------------\n\
                       sshServer     true                         true                     true\n\
                       pvrdma       false                         true                     true\n";

    #[test]
    fn rulesets_of_all_versions() {
        for text in [LIST.to_owned(), NEW.to_owned(), with_carriage_returns(NEW)] {
            let facts = run(&PROBE, &[(&text, "", 0)]);
            assert_eq!(shown(&facts, &Entity::Ruleset(Text::new("pvrdma")), Attribute::RulesetEnabled), "no");
            assert_eq!(shown(&facts, &Entity::Ruleset(Text::new("sshServer")), Attribute::RulesetEnabled), "yes");
        }
        let facts = run(&PROBE, &[(HOSTD_DEAD, "", 1)]);
        assert!(shown(&facts, &Entity::Ruleset(Text::new("pvrdma")), Attribute::RulesetEnabled).contains("hostd"));
    }

    survives_damage!(PROBE, NEW);
}
