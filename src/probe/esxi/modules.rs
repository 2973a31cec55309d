//! Modules of the VMkernel, and the options of those that carry RDMA. The whole option string is one value: setting a
//! parameter without the others wipes the others.

use std::sync::Arc;

use super::block;
use super::each;
use super::reply::{self, Facts, command, for_each};
use super::table::Table;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};
use crate::probe::{Pace, Probe, Rhythm};

/// Modules and their parameters.
pub const PROBE: Probe = Probe {
    name: "esxi.modules",
    title: "modules of the VMkernel, their whole options and parameters",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE.last(),
    sources: &[
        command!("esxi.module-list", "esxcli" "system" "module" "list"),
        for_each!("esxi.module-get", Drivers, "esxcli" "system" "module" "get" "-m"),
        for_each!("esxi.module-options", Drivers, "esxcfg-module" "-g"),
        for_each!("esxi.module-parameters", Drivers, "esxcli" "system" "module" "parameters" "list" "-m"),
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [list, details, options, parameters] = observations else { return Vec::new() };
    let mut all = list_facts(list);
    all.extend(detail_facts(details));
    all.extend(option_facts(options));
    all.extend(parameter_facts(parameters));
    all
}

fn list_facts(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let table = match reply::table(observation, &["Name", "Is Loaded", "Is Enabled"], &["Name"]) {
        Ok(table) => table,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::ModuleLoaded, Some(state), 0);
            return facts.said;
        }
    };
    for row in table.rows() {
        let Some(name) = table.get(row, &["Name"]).filter(|name| !name.is_empty()) else { continue };
        let entity = Entity::Module(Text::new(name));
        facts.say(&entity, Attribute::ModuleLoaded, table.get(row, &["Is Loaded"]).map(reply::flag), row.line);
        facts.say(&entity, Attribute::ModuleEnabled, table.get(row, &["Is Enabled"]).map(reply::flag), row.line);
    }
    facts.said
}

fn detail_facts(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let (items, left_out) = each::items(observation);
    reply::say_left_out(&mut facts, Attribute::Version, left_out);
    for item in items {
        let entity = Entity::Module(Text::new(item.name));
        if let Some(state) = reply::trouble_of(&item, &observation.command) {
            facts.say(&entity, Attribute::Version, Some(state), 0);
            continue;
        }
        let block = block::block(item.output, item.first);
        for (attribute, key) in [(Attribute::Version, "Version"), (Attribute::SignedStatus, "Signed Status")] {
            if let Some(field) = block.field(&[key]) {
                facts.say(&entity, attribute, Some(reply::text(&field.value)), field.line);
            }
        }
    }
    facts.said
}

/// `nmlx5_core enabled = 1 options = 'pfctx=0x08 trust_state=2'`.
fn option_facts(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let (items, left_out) = each::items(observation);
    reply::say_left_out(&mut facts, Attribute::ModuleOptions, left_out);
    for item in items {
        let entity = Entity::Module(Text::new(item.name));
        if let Some(state) = reply::trouble_of(&item, "esxcfg-module") {
            facts.say(&entity, Attribute::ModuleOptions, Some(state), 0);
            continue;
        }
        let found =
            (item.first..).zip(item.output.lines()).find_map(|(number, line)| Some((number, option_string(line)?)));
        let (line, state) = if let Some((line, options)) = found {
            (line, reply::text(options))
        } else {
            let said = item.output.lines().map(str::trim).find(|line| !line.is_empty());
            let nothing = || State::Failed(Text::new("esxcfg-module printed nothing"));
            (0, said.map_or_else(nothing, reply::not_understood))
        };
        facts.say(&entity, Attribute::ModuleOptions, Some(state), line);
    }
    facts.said
}

/// What stands between the quotation marks behind `options =`, which may hold marks itself.
pub fn option_string(line: &str) -> Option<&str> {
    let (_, rest) = line.trim().split_once("options")?;
    let value = rest.trim_start().strip_prefix('=')?.trim();
    let inner = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    Some(inner.unwrap_or(value).trim())
}

fn parameter_facts(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let (items, left_out) = each::items(observation);
    reply::say_left_out(&mut facts, Attribute::ParameterValue, left_out);
    for item in items {
        if let Some(state) = reply::trouble_of(&item, &observation.command) {
            facts.say(&Entity::Module(Text::new(item.name)), Attribute::ParameterValue, Some(state), 0);
            continue;
        }
        for parameter in parameters(item.output, item.first) {
            let (module, name) = (Text::new(item.name), Text::new(&parameter.name));
            let entity = Entity::ModuleParameter { module, name };
            let line = parameter.line;
            facts.say(&entity, Attribute::ParameterType, Some(reply::text(&parameter.kind)), line);
            facts.say(&entity, Attribute::ParameterValue, Some(reply::text(&parameter.value)), line);
            facts.say(&entity, Attribute::SettingDescription, Some(reply::text(&parameter.description)), line);
        }
    }
    facts.said
}

/// One parameter of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type, `array of int`.
    pub kind: String,
    /// Its configured value; empty means the driver's default.
    pub value: String,
    /// What the driver says of it, all lines as one.
    pub description: String,
    /// Number of its first line.
    pub line: u32,
}

/// The parameters of a module. Descriptions run over several lines, which begin anywhere: only a line with a type where
/// types stand begins a parameter.
pub fn parameters(output: &str, first: u32) -> Vec<Parameter> {
    const TITLES: &[&str] = &["Name", "Type", "Value", "Description"];
    let Some(head) = Table::read(output, first, TITLES) else { return Vec::new() };
    let Some(kind) = head.column(&["Type"]) else { return Vec::new() };
    let (name, value, last) = (head.column(&["Name"]), head.column(&["Value"]), head.column(&["Description"]));
    let begins = |row: &super::table::Row| is_type(row.cell(kind)) && name.is_none_or(|name| is_name(row.cell(name)));
    let mut found: Vec<Parameter> = Vec::new();
    let Some(table) = Table::read_rows(output, first, TITLES, |_| true) else { return found };
    for row in table.rows() {
        let cell = |column: Option<usize>| column.map_or("", |column| row.cell(column)).to_owned();
        if begins(row) {
            found.push(Parameter {
                name: cell(name),
                kind: cell(Some(kind)),
                value: cell(value),
                description: cell(last),
                line: row.line,
            });
        } else if let Some(above) = found.last_mut() {
            if !above.description.is_empty() {
                above.description.push(' ');
            }
            above.description.push_str(row.raw().trim());
        }
    }
    found
}

fn is_type(word: &str) -> bool {
    let word = word.strip_prefix("array of ").unwrap_or(word);
    matches!(
        word,
        "int" | "uint" | "string" | "bool" | "short" | "ushort" | "long" | "ulong" | "byte" | "charp" | "char"
    )
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, item, run, shown, survives_damage, with_carriage_returns, wrapped};
    use super::*;

    const OPTIONS: &str = include_str!("../../../tests/fixtures/esxi/17-esxcfg-module-g.txt");
    /// As they were published.
    const LIST: &str = "\
Name                           Is Loaded  Is Enabled
-----------------------------  ---------  ----------
nmlx5_core                          true        true
vrdma                              false        true
";
    const GET: &str = "   Module: nmlx5_core\n   Module File: /usr/lib/vmware/vmkmod/nmlx5_core\n   License: BSD\n   Version: 4.21.71.101\n   \
        Signed Status: VMware Signed\n   Signature Issuer: VMware\n";
    const PARAMETERS: &str = "\
Name         Type           Value  Description
-----------  -------------  -----  -----------
max_vfs      array of uint         Number of PCI VFs to initialize
pfctx        int            0x08   Priority based Flow Control policy on TX.
   Bit mask of 8 bits, one for each priority.
Name of nothing: a line that begins at the margin
trust_state  int                   Port policy to calculate the switch priority
";

    fn module(name: &str) -> Entity {
        Entity::Module(Text::new(name))
    }

    #[test]
    fn modules_with_their_whole_options() {
        let options: String = OPTIONS
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| item(line.split(' ').next().unwrap_or(""), line, 0))
            .collect();
        let facts = run(
            &PROBE,
            &[
                (LIST, "", 0),
                (&item("nmlx5_core", GET, 0), "", 0),
                (&options, "", 0),
                (&item("nmlx5_core", PARAMETERS, 0), "", 0),
            ],
        );
        let of = |attribute| shown(&facts, &module("nmlx5_core"), attribute);
        assert_eq!(of(Attribute::ModuleLoaded), "yes");
        assert_eq!(of(Attribute::Version), "4.21.71.101");
        assert_eq!(of(Attribute::SignedStatus), "VMware Signed");
        assert_eq!(of(Attribute::ModuleOptions), "pfctx=0x08 pfcrx=0x08 trust_state=2 max_vfs=8");
        assert_eq!(shown(&facts, &module("nmlx5_rdma"), Attribute::ModuleOptions), "dscp_force=26");
        assert_eq!(shown(&facts, &module("vrdma"), Attribute::ModuleLoaded), "no");
        let parameter = |name: &str| Entity::ModuleParameter { module: "nmlx5_core".into(), name: name.into() };
        assert_eq!(shown(&facts, &parameter("pfctx"), Attribute::ParameterValue), "0x08");
        assert_eq!(shown(&facts, &parameter("max_vfs"), Attribute::ParameterType), "array of uint");
        assert_eq!(shown(&facts, &parameter("max_vfs"), Attribute::ParameterValue), "<empty>");
    }

    #[test]
    fn descriptions_of_several_lines_make_no_parameters() {
        for text in [PARAMETERS.to_owned(), with_carriage_returns(PARAMETERS), wrapped(PARAMETERS)] {
            let found = parameters(&text, 1);
            let names: Vec<&str> = found.iter().map(|parameter| parameter.name.as_str()).collect();
            assert_eq!(names, ["max_vfs", "pfctx", "trust_state"]);
            assert!(
                found[1]
                    .description
                    .ends_with("one for each priority. Name of nothing: a line that begins at the margin")
            );
            let line = text.lines().nth(found[2].line as usize - 1);
            assert!(line.is_some_and(|line| line.starts_with("trust_state")));
        }
    }

    #[test]
    fn no_options_are_no_failure() {
        assert_eq!(option_string("nmlx5_core enabled = 1 options = ''"), Some(""));
        assert_eq!(option_string("nmlx5_core enabled = 0 options = 'a='b''"), Some("a='b'"));
        assert_eq!(option_string("Module nmlx5_core not found"), None);
        let options = item("a", "a enabled = 1 options = ''", 0) + &item("b", "Unable to find b", 1);
        let facts = run(&PROBE, &[(HOSTD_DEAD, "", 1), ("", "", 1), (&options, "", 0), ("", "", 1)]);
        assert_eq!(shown(&facts, &module("a"), Attribute::ModuleOptions), "<empty>");
        assert_eq!(shown(&facts, &module("b"), Attribute::ModuleOptions), "<failed: Unable to find b>");
        assert!(shown(&facts, &Entity::Host, Attribute::ModuleLoaded).contains("hostd does not answer"));
    }

    survives_damage!(
        PROBE,
        LIST,
        "@item nmlx5_core\n   Version: 4\n\n@status 0\n",
        "@item nmlx5_core\nnmlx5_core enabled = 1 options = 'a=1'\n\n@status 0\n",
        "@item nmlx5_core\nName   Type  Value  Description\n-----  ----  -----  -----------\npfctx  int   0x08   Policy\n  more\n\n@status 0\n"
    );
}
