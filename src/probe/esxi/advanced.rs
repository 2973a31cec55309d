//! Advanced settings of a host: the VMkernel adapter tagged for PVRDMA, and everything that differs from its default
//! (`-d`), which spares reading more than a thousand settings that nobody touched.

use std::sync::Arc;

use super::block::Block;
use super::markdown;
use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

const PVRDMA: &str = "/Net/PVRDMAVmknic";

/// Advanced settings.
pub const PROBE: Probe = Probe {
    name: "esxi.advanced-settings",
    title: "advanced settings: Net.PVRDMAVmknic and all that differ from their defaults",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::leading(&["esxi.pvrdma-vmknic"], &[]).deciding(),
    sources: &[
        command!("esxi.pvrdma-vmknic", "esxcli" "system" "settings" "advanced" "list" "-o" "/Net/PVRDMAVmknic"),
        command!("esxi.advanced-changed", "esxcli" "system" "settings" "advanced" "list" "-d"),
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [tagged, changed] = observations else { return Vec::new() };
    let mut facts = Facts::of(tagged);
    match reply::blocks(tagged) {
        _ if reply::trouble(tagged).is_none() && of_markdown(&mut facts, &tagged.stdout, true) => {}
        Err(state) => {
            facts.say(&Entity::AdvancedSetting(Text::new(PVRDMA)), Attribute::SettingValue, Some(state), 0);
        }
        Ok(blocks) => settings(&mut facts, &blocks, |path| path.eq_ignore_ascii_case(PVRDMA)),
    }
    let mut said = facts.said;
    let mut facts = Facts::of(changed);
    match reply::blocks(changed) {
        _ if reply::trouble(changed).is_none() && of_markdown(&mut facts, &changed.stdout, false) => {}
        Err(state) => facts.say(&Entity::Host, Attribute::SettingValue, Some(state), 0),
        Ok(blocks) => settings(&mut facts, &blocks, |path| !path.eq_ignore_ascii_case(PVRDMA)),
    }
    said.extend(facts.said);
    said
}

/// `Net.PVRDMAVmknic` and `/Net/PVRDMAVmknic` are one.
fn path_of(written: &str) -> String {
    if written.starts_with('/') { written.to_owned() } else { format!("/{}", written.replace('.', "/")) }
}

fn settings(facts: &mut Facts<'_>, blocks: &[Block<'_>], wanted: impl Fn(&str) -> bool) {
    for block in blocks {
        let Some(path) = block.get(&["Path", "Name", "Key"]).filter(|path| !path.is_empty()).map(path_of) else {
            continue;
        };
        if !wanted(&path) {
            continue;
        }
        let is_text = block.get(&["Type"]).is_some_and(|kind| kind.eq_ignore_ascii_case("string"));
        let (value, default): (&[&str], &[&str]) = if is_text {
            (&["String Value", "Value"], &["Default String Value", "Default"])
        } else {
            (&["Int Value", "Value"], &["Default Int Value", "Default"])
        };
        let entity = Entity::AdvancedSetting(Text::new(&path));
        let mut say = |attribute, keys: &[&str], read: fn(&str) -> State<Value>| {
            if let Some(field) = block.field(keys) {
                facts.say(&entity, attribute, Some(read(&field.value)), field.line);
            }
        };
        let read = if is_text { reply::text } else { number };
        say(Attribute::SettingValue, value, read);
        say(Attribute::SettingDefault, default, read);
        say(Attribute::SettingDescription, &["Description"], reply::text);
    }
}

/// Titles of tables that reports make of the settings, in their order where they have none.
const TITLES: &[&str] = &["Name", "Description", "Value", "Default", "Min", "Max", "Valid"];

/// The settings of a table of Markdown; false if the text is none. `tagged` wants the one of PVRDMA, else all others.
fn of_markdown(facts: &mut Facts<'_>, text: &str, tagged: bool) -> bool {
    let Some(table) = markdown::read(text, 1, TITLES) else { return false };
    for row in table.rows() {
        let Some(path) = table.get(row, &["Name", "Path", "Key", "Option"]).filter(|path| !path.is_empty()) else {
            continue;
        };
        let path = path_of(path);
        if path.eq_ignore_ascii_case(PVRDMA) != tagged {
            continue;
        }
        let entity = Entity::AdvancedSetting(Text::new(&path));
        let of = |names: &[&str]| table.get(row, names);
        facts.say(&entity, Attribute::SettingValue, of(&["Value", "String Value", "Int Value"]).map(number), row.line);
        facts.say(&entity, Attribute::SettingDefault, of(&["Default", "Default Value"]).map(number), row.line);
        facts.say(&entity, Attribute::SettingDescription, of(&["Description"]).map(reply::text), row.line);
    }
    true
}

fn number(word: &str) -> State<Value> {
    match (word.parse::<u64>(), word.parse::<i64>()) {
        (Ok(number), _) => State::Known(number.into()),
        (_, Ok(number)) => State::Known(number.into()),
        _ => reply::text(word),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// The layout that was published of another option.
    const TAGGED: &str = "   Path: /Net/PVRDMAVmknic\n   Type: string\n   Int Value: 0\n   Default Int Value: 0\n   Min Value: 0\n   \
        Max Value: 0\n   String Value: vmk1\n   Default String Value:\n   Valid Characters: *\n   Description: Vmknic for PVRDMA\n";
    const CHANGED: &str = "   Path: /UserVars/SuppressShellWarning\n   Type: integer\n   Int Value: 1\n   Default Int Value: 0\n   \
        String Value:\n   Description: Don't show warning for enabled local and remote shell access\n\n   \
        Path: /Net/PVRDMAVmknic\n   Type: string\n   String Value: vmk1\n";

    #[test]
    fn the_tag_is_a_name_empty_or_unknown() {
        let setting = Entity::AdvancedSetting(Text::new(PVRDMA));
        let tagged = |text: &str| shown(&run(&PROBE, &[(text, "", 0), ("", "", 0)]), &setting, Attribute::SettingValue);
        assert_eq!(tagged(TAGGED), "vmk1");
        assert_eq!(tagged(&with_carriage_returns(TAGGED)), "vmk1");
        assert_eq!(tagged(&TAGGED.replace("String Value: vmk1", "String Value:")), "<empty>");
        assert_eq!(tagged(&TAGGED.replace("/Net/PVRDMAVmknic", "Net.PVRDMAVmknic")), "vmk1");
        let facts = run(&PROBE, &[(HOSTD_DEAD, "", 1), (HOSTD_DEAD, "", 1)]);
        assert!(shown(&facts, &setting, Attribute::SettingValue).contains("hostd"));
    }

    #[test]
    fn what_differs_from_its_default() {
        let facts = run(&PROBE, &[(TAGGED, "", 0), (CHANGED, "", 0)]);
        let setting = Entity::AdvancedSetting(Text::new("/UserVars/SuppressShellWarning"));
        assert_eq!(shown(&facts, &setting, Attribute::SettingValue), "1");
        assert_eq!(shown(&facts, &setting, Attribute::SettingDefault), "0");
    }

    #[test]
    fn a_report_in_markdown_says_the_same() {
        let table = include_str!("../../../tests/fixtures/public/08-esxi-advanced-options-table.txt");
        let facts = run(&PROBE, &[(table, "", 0), (table, "", 0)]);
        let tag = Entity::AdvancedSetting(Text::new(PVRDMA));
        assert_eq!(shown(&facts, &tag, Attribute::SettingValue), "<empty>", "an empty cell is a value");
        let other = Entity::AdvancedSetting(Text::new("/Net/PTSwitchingTimeout"));
        assert_eq!(shown(&facts, &other, Attribute::SettingValue), "20000");
        let quoted = "| `/Net/PVRDMAVmknic` | `Vmknic for PVRDMA` | `vmk1` | `` |\n";
        let facts = run(&PROBE, &[(quoted, "", 0), ("", "", 0)]);
        assert_eq!(shown(&facts, &tag, Attribute::SettingValue), "vmk1");
    }

    #[test]
    fn the_json_form_says_the_same() {
        let json = r#"[{"Path": "/Net/PVRDMAVmknic", "Type": "string", "IntValue": 0, "StringValue": "vmk1", "DefaultStringValue": ""}]"#;
        let facts = run(&PROBE, &[(json, "", 0), ("[]", "", 0)]);
        let tag = Entity::AdvancedSetting(Text::new(PVRDMA));
        assert_eq!(shown(&facts, &tag, Attribute::SettingValue), "vmk1");
        assert_eq!(shown(&facts, &tag, Attribute::SettingDefault), "<empty>");
    }

    survives_damage!(PROBE, TAGGED, CHANGED);
}
