//! The VMs of a host: numbers, names, files, power, worlds. A VM is known by its BIOS UUID, which the summary and the
//! list of running VMs both print; the table of registered VMs does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::each::{self, Item};
use super::lines;
use super::reply::{self, Facts, command};
use super::vim_dump::{self, Node};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Listing, MOST_ITEMS, Pace, Probe, Read, Source, Word};

/// The VMs of a host.
pub const PROBE: Probe = Probe {
    name: "esxi.vms",
    title: "VMs: names, files, power, worlds",
    privilege_adds: "",
    pace: Pace::Medium,
    sources: &[
        command!("esxi.vm-list", "vim-cmd" "vmsvc/getallvms"),
        command!("esxi.vm-processes", "esxcli" "vm" "process" "list"),
        Source {
            name: "esxi.vm-summary",
            read: Read::Each {
                of: Listing::Vms,
                argv: &[Word::Plain("vim-cmd"), Word::Plain("vmsvc/get.summary"), Word::Item("", "")],
                masked: true,
                timed: false,
            },
        },
    ],
    parse,
};

/// One row of the table of registered VMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registered {
    pub number: u64,
    pub name: String,
    /// `[datastore] directory/name.vmx` as a path of the host.
    pub path: String,
    pub line: u32,
}

/// A UUID in any spelling as `564da9ac-1cee-5dd7-f1ae-a595f83d2a2d`; `None` for what is none.
pub(super) fn dashed(uuid: &str) -> Option<String> {
    let digits: String = uuid.chars().filter(|c| !matches!(c, ' ' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some(format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]))
}

/// The VM of this UUID, or of this number where the UUID is not known.
pub(super) fn vm(uuid: Option<&str>, number: &str) -> Entity {
    Entity::Vm(Text::new(&uuid.and_then(dashed).unwrap_or_else(|| format!("vmid-{number}"))))
}

/// The rows of the table. Its columns are not to be trusted: names hold brackets, annotations run over lines. A row
/// begins with a number and has `.vmx`, a word for the guest, and the version of the virtual hardware. A row that was
/// broken on its way is one again.
pub(super) fn registered(text: &str) -> Vec<Registered> {
    let rows: Vec<&str> = text.lines().collect();
    let may_be_wrapped = lines::may_be_wrapped(text);
    let mut found = Vec::new();
    for (at, line) in (1u32..).zip(&rows) {
        if !line.starts_with(|first: char| first.is_ascii_digit()) {
            continue;
        }
        if let Some(row) = registered_row(line, at) {
            found.push(row);
        } else if may_be_wrapped {
            let mut whole = (*line).to_owned();
            let mut before = line.chars().count();
            for next in rows.iter().skip(at as usize).take(MOST_PIECES) {
                if registered_row(next, at).is_some() {
                    break;
                }
                // A line of the full width was broken anywhere, a shorter one at a blank.
                if before < lines::WRAP {
                    whole.push(' ');
                }
                before = next.chars().count();
                whole.push_str(next);
                if let Some(row) = registered_row(&whole, at) {
                    found.push(row);
                    break;
                }
            }
        }
    }
    found
}

/// In how many pieces a row may stand behind its first line.
const MOST_PIECES: usize = 4;

fn registered_row(row: &str, line: u32) -> Option<Registered> {
    let digits = row.bytes().take_while(u8::is_ascii_digit).count();
    let number = row[..digits].parse().ok()?;
    let rest = &row[digits..];
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let end = rest.match_indices(".vmx").map(|(at, _)| at + 4).find(|&end| {
        let mut words = rest[end..].split_whitespace();
        rest[end..].starts_with([' ', '\t']) && words.by_ref().take(2).any(|word| word.starts_with("vmx-"))
    })?;
    let close = rest[..end].rfind("] ")?;
    let open = rest[..close].rfind('[')?;
    Some(Registered {
        number,
        name: rest[..open].trim().to_owned(),
        path: format!("/vmfs/volumes/{}/{}", &rest[open + 1..close], rest[close + 2..end].trim()),
        line,
    })
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [list, processes, summaries] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let (items, left_out) = each::items(summaries);
    let mut uuids: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for item in &items {
        let (said, uuid) = summary(summaries, item);
        facts.extend(said);
        uuids.insert(item.name, uuid);
    }
    let mut said = Facts::of(summaries);
    reply::say_left_out(&mut said, Attribute::PowerState, left_out);
    facts.extend(said.said);
    facts.extend(listed(list, &uuids, left_out > 0));
    let known: BTreeSet<&str> = uuids.values().flatten().map(String::as_str).collect();
    facts.extend(running(processes, &known));
    facts
}

/// What the table of registered VMs says, of which these summaries were read; `some_left_out` if there were more VMs than
/// one read looks into.
fn listed(observation: &Observation, uuids: &BTreeMap<&str, Option<String>>, some_left_out: bool) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let rows = registered(&observation.stdout);
    let is_list = |line: &str| line.trim_start().starts_with("Vmid") || line.starts_with("Skipping invalid VM");
    if let Some(state) = reply::trouble(observation) {
        facts.say(&Entity::Host, Attribute::VmNumber, Some(state), 0);
    } else if rows.is_empty()
        && !observation.stdout.lines().any(is_list)
        && let Some(line) = observation.stdout.lines().find(|line| !line.trim().is_empty())
    {
        facts.say(&Entity::Host, Attribute::VmNumber, Some(reply::not_understood(line)), 0);
    }
    for row in rows {
        let number = row.number.to_string();
        let summary = uuids.get(number.as_str());
        let uuid = summary.and_then(Option::as_deref);
        let entity = vm(uuid, &number);
        if some_left_out && summary.is_none() {
            let state = State::Failed(Text::new(&format!("not read: one read looks into {MOST_ITEMS} VMs at most")));
            facts.say(&entity, Attribute::PowerState, Some(state), row.line);
        }
        facts.say(&entity, Attribute::VmNumber, Some(State::Known(row.number.into())), row.line);
        facts.say(&entity, Attribute::VmxPath, Some(reply::text(&row.path)), row.line);
        if uuid.is_none() {
            facts.say(&entity, Attribute::VmName, Some(reply::text(&row.name)), row.line);
        }
    }
    for (line, text) in observation.lines() {
        let number = text.trim().strip_prefix("Skipping invalid VM '").and_then(|rest| rest.strip_suffix('\''));
        if let Some(number) = number.filter(|number| number.parse::<u64>().is_ok()) {
            let state = State::Failed(Text::new("the host skips this VM: its configuration cannot be read"));
            facts.say(&vm(None, number), Attribute::VmName, Some(state), line);
        }
    }
    facts.said
}

/// What the summary of one VM says, and its UUID.
fn summary(observation: &Observation, item: &Item<'_>) -> (Vec<Fact>, Option<String>) {
    let mut facts = Facts::of(observation);
    let node = vim_dump::read(item.output, item.first);
    let Some(Node::Object(summary)) = &node else {
        let state = reply::trouble_of(item, "vim-cmd")
            .unwrap_or_else(|| State::Failed(Text::new("the summary of the VM was not understood")));
        facts.say(&vm(None, item.name), Attribute::PowerState, Some(state), 0);
        return (facts.said, None);
    };
    let config = summary.object("config");
    let uuid = config.and_then(|config| config.text("uuid")).and_then(dashed);
    let entity = vm(uuid.as_deref(), item.name);
    if let Some(config) = config {
        let name = config.text("name").map(reply::text);
        facts.say(&entity, Attribute::VmName, name, config.line_of("name"));
    }
    if let Some(runtime) = summary.object("runtime") {
        let power = runtime.text("powerState").map(reply::text);
        facts.say(&entity, Attribute::PowerState, power, runtime.line_of("powerState"));
    }
    if let Some(guest) = summary.object("guest") {
        let name = if guest.text("toolsRunningStatus").is_some() { "toolsRunningStatus" } else { "toolsStatus" };
        facts.say(&entity, Attribute::ToolsStatus, guest.text(name).map(reply::text), guest.line_of(name));
    }
    (facts.said, uuid)
}

/// The VMs that run, of which `known` are told by their summaries.
fn running(observation: &Observation, known: &BTreeSet<&str>) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let blocks = match reply::blocks(observation) {
        Ok(blocks) => blocks,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::WorldId, Some(state), 0);
            return facts.said;
        }
    };
    for block in blocks {
        let Some(uuid) = block.get(&["UUID"]).and_then(dashed) else { continue };
        let entity = vm(Some(&uuid), "");
        let mut say = |attribute, keys: &[&str], read: fn(&str) -> State<Value>| {
            if let Some(field) = block.field(keys) {
                facts.say(&entity, attribute, Some(read(&field.value)), field.line);
            }
        };
        say(Attribute::WorldId, &["World ID"], reply::count);
        say(Attribute::CartelId, &["VMX Cartel ID", "Cartel ID"], reply::count);
        if !known.contains(uuid.as_str()) {
            say(Attribute::VmName, &["Display Name"], reply::text);
            say(Attribute::VmxPath, &["Config File"], reply::text);
            facts.say(&entity, Attribute::PowerState, Some(State::Known("poweredOn".into())), block.line);
        }
    }
    facts.said
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, item, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// As it was published.
    pub const LIST: &str = "Vmid            Name                              File                       Guest OS      Version   Annotation\n\
        3      vm001             [datastore_050] vm001/vm001.vmx   ubuntu64Guest   vmx-11\n\
        24     Test Test [Test] [Test]   [datastore_050_vmfs6] Test/Test.vmx       otherGuest64    vmx-17    see [x] y.vmx z\n\
        second line of the annotation\nSkipping invalid VM '31'\n";

    const PROCESSES: &str = "vm001\n   World ID: 2101442\n   Process ID: 0\n   VMX Cartel ID: 2101441\n   \
        UUID: 56 4d a9 ac 1c ee 5d d7-f1 ae a5 95 f8 3d 2a 2d\n   Display Name: vm001\n   \
        Config File: /vmfs/volumes/5b645dbf-d27a664c-e76a-1402ec67d6e6/vm001/vm001.vmx\n";

    const SUMMARY: &str = "Listsummary:\n\n(vim.vm.Summary) {\n   vm = 'vim.VirtualMachine:3',\n   runtime = (vim.vm.RuntimeInfo) {\n      \
        powerState = \"poweredOn\",\n   },\n   guest = (vim.vm.Summary.GuestSummary) {\n      toolsRunningStatus = \"guestToolsRunning\",\n   },\n   \
        config = (vim.vm.Summary.ConfigSummary) {\n      name = \"vm001\",\n      \
        vmPathName = \"[datastore_050] vm001/vm001.vmx\",\n      uuid = \"564da9ac-1cee-5dd7-f1ae-a595f83d2a2d\",\n   },\n}";

    pub const UUID: &str = "564da9ac-1cee-5dd7-f1ae-a595f83d2a2d";

    #[test]
    fn a_running_vm_is_one_thing_in_all_three_sources() {
        for change in [str::to_owned, with_carriage_returns] as [fn(&str) -> String; 2] {
            let summaries = item("3", SUMMARY, 0) + &item("24", "No such VM", 1);
            let facts =
                run(&PROBE, &[(&change(LIST), "", 0), (&change(PROCESSES), "", 0), (&change(&summaries), "", 0)]);
            let vm = Entity::Vm(Text::new(UUID));
            for (attribute, wanted) in [
                (Attribute::VmNumber, "3"),
                (Attribute::VmName, "vm001"),
                (Attribute::VmxPath, "/vmfs/volumes/datastore_050/vm001/vm001.vmx"),
                (Attribute::PowerState, "poweredOn"),
                (Attribute::ToolsStatus, "guestToolsRunning"),
                (Attribute::WorldId, "2101442"),
                (Attribute::CartelId, "2101441"),
            ] {
                assert_eq!(shown(&facts, &vm, attribute), wanted);
            }
            let other = Entity::Vm(Text::new("vmid-24"));
            assert_eq!(shown(&facts, &other, Attribute::VmName), "Test Test [Test] [Test]");
            assert_eq!(shown(&facts, &other, Attribute::VmxPath), "/vmfs/volumes/datastore_050_vmfs6/Test/Test.vmx");
            assert_eq!(shown(&facts, &other, Attribute::PowerState), "<failed: No such VM>");
            let invalid = Entity::Vm(Text::new("vmid-31"));
            assert!(shown(&facts, &invalid, Attribute::VmName).contains("skips this VM"));
        }
    }

    #[test]
    fn nothing_runs_and_nothing_answers() {
        let facts =
            run(&PROBE, &[("Vmid   Name   File   Guest OS   Version   Annotation\n", "", 0), ("", "", 0), ("", "", 0)]);
        assert!(facts.is_empty(), "{facts:?}");
        let facts = run(&PROBE, &[("", "", 127), (HOSTD_DEAD, "", 1), ("", "", 127)]);
        assert!(shown(&facts, &Entity::Host, Attribute::VmNumber).contains("not installed"));
        assert!(shown(&facts, &Entity::Host, Attribute::WorldId).contains("hostd"));
    }

    #[test]
    fn a_vm_that_only_the_process_list_knows() {
        let facts = run(&PROBE, &[("", "", 127), (PROCESSES, "", 0), ("", "", 127)]);
        let vm = Entity::Vm(Text::new(UUID));
        assert_eq!(shown(&facts, &vm, Attribute::VmName), "vm001");
        assert_eq!(shown(&facts, &vm, Attribute::PowerState), "poweredOn");
    }

    static SUMMARIES: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| item("3", SUMMARY, 0));
    survives_damage!(PROBE, LIST, PROCESSES, SUMMARIES.as_str());
}
