//! Boot-time settings of the VMkernel: what is configured for the next boot, what is in force, what is the default. All
//! that differ in any way are told, and those that matter to RDMA and passthrough in any case.

use std::sync::Arc;

use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// Told even where they have their defaults.
const MATTERS: &[&str] = &[
    "disableACSCheck",
    "enableACSCheckForRP",
    "noIOMMU",
    "iovDisableIR",
    "pciBarAllocPolicy",
    "enablePCIEHotplug",
    "disablePciPassthrough",
    "rdmaRoceIPBasedGidGeneration",
    "rdmaUseTeamingPolicy",
    "maxVmnics",
    "hyperthreading",
    "netNetqueueEnabled",
];

/// Boot-time settings.
pub const PROBE: Probe = Probe {
    name: "esxi.kernel-settings",
    title: "boot-time settings of the VMkernel",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[command!("esxi.kernel-setting-list", "esxcli" "system" "settings" "kernel" "list")],
    parse,
};

const TITLES: &[&str] = &["Name", "Type", "Configured", "Runtime", "Default", "Description"];

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Facts::of(observation);
    let table = match reply::table(observation, TITLES, &["Name", "Setting"]) {
        Ok(table) => table,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::SettingRuntime, Some(state), 0);
            return facts.said;
        }
    };
    for row in table.rows() {
        let of = |names: &[&str]| table.get(row, names);
        let Some(name) = of(&["Name", "Setting"]).filter(|name| !name.is_empty()) else { continue };
        let (configured, runtime, default) = (of(&["Configured"]), of(&["Runtime"]), of(&["Default"]));
        let same = |left: Option<&str>, right: Option<&str>| match (left, right) {
            (Some(left), Some(right)) => left.eq_ignore_ascii_case(right),
            _ => true,
        };
        let differs = !(same(configured, runtime) && same(configured, default));
        if !differs && !MATTERS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            continue;
        }
        let entity = Entity::KernelSetting(Text::new(name));
        facts.say(&entity, Attribute::SettingValue, configured.map(value), row.line);
        facts.say(&entity, Attribute::SettingRuntime, runtime.map(value), row.line);
        facts.say(&entity, Attribute::SettingDefault, default.map(value), row.line);
        facts.say(&entity, Attribute::SettingDescription, of(&["Description"]).map(reply::text), row.line);
    }
    facts.said
}

/// `TRUE` and `FALSE` are flags, numbers numbers.
fn value(word: &str) -> State<Value> {
    if word.eq_ignore_ascii_case("true") {
        State::Known(true.into())
    } else if word.eq_ignore_ascii_case("false") {
        State::Known(false.into())
    } else if let Ok(number) = word.parse::<u64>() {
        State::Known(number.into())
    } else {
        reply::text(word)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, reordered, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// A published row; the other rows have the same layout.
    const LIST: &str = "Name                 Type    Configured  Runtime  Default  Description\n\
                        -------------------  ------  ----------  -------  -------  -----------\n\
                        disableACSCheck      Bool    FALSE       FALSE    FALSE    Bypass ACS capability checks on all PCIE devices\n\
                        enablePCIEHotplug    Bool    FALSE       TRUE     TRUE     Enable PCIe hotplug\n\
                        maxPCPUS             uint32  768         768      768      Maximum number of processors\n\
                        logPort              String              none     com2     Port for logging\n";

    #[test]
    fn what_matters_and_what_differs() {
        for text in [LIST.to_owned(), with_carriage_returns(LIST), reordered(LIST)] {
            let facts = run(&PROBE, &[(&text, "", 0)]);
            let of = |name, attribute| shown(&facts, &Entity::KernelSetting(Text::new(name)), attribute);
            assert_eq!(of("disableACSCheck", Attribute::SettingValue), "no");
            assert_eq!(of("enablePCIEHotplug", Attribute::SettingValue), "no");
            assert_eq!(of("enablePCIEHotplug", Attribute::SettingRuntime), "yes", "waits for a reboot");
            assert_eq!(of("maxPCPUS", Attribute::SettingValue), "absent");
            assert_eq!(of("logPort", Attribute::SettingValue), "<empty>");
        }
        let facts = run(&PROBE, &[(HOSTD_DEAD, "", 1)]);
        assert!(shown(&facts, &Entity::Host, Attribute::SettingRuntime).contains("hostd"));
    }

    survives_damage!(PROBE, LIST);
}
