//! The VMs of a host: numbers, names, files, power, worlds. A VM is known by its BIOS UUID, which the summary and the
//! list of running VMs both print; the table of registered VMs does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::each::{self, Item};
use super::reply::{self, Facts, command};
use super::vim_dump::{self, Node};
use super::vm_list::{Registered, registered};
pub(super) use super::vm_list::{columns_end, skipped};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Listing, MOST_ITEMS, Pace, Probe, Read, Rhythm, Source, Word};

/// The VMs of a host.
pub const PROBE: Probe = Probe {
    name: "esxi.vms",
    title: "VMs: names, files, power, worlds",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::leading(&["esxi.vm-processes"], &["esxi.vm-config", "esxi.vmx", "esxi.net-dvs"]).deciding(),
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

/// `[datastore] directory/name.vmx` as a path of the host.
pub fn path_of(written: &str) -> Option<String> {
    let (store, file) = written.trim().strip_prefix('[')?.split_once("] ")?;
    Some(format!("/vmfs/volumes/{store}/{}", file.trim()))
}

/// The folder and the file of a path: a datastore has a name and a UUID, and either may stand before them.
pub fn tail_of(path: &str) -> &str {
    path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
}

/// BIOS UUIDs that several VMs of one host have: clones and copies keep that of what they were made of. Only their files
/// tell them apart.
pub(super) struct Shared(BTreeSet<String>);

impl Shared {
    /// Which of these UUIDs, one for each VM, come twice.
    pub(super) fn of<'u>(uuids: impl IntoIterator<Item = &'u str>) -> Self {
        let mut seen = BTreeSet::new();
        Self(uuids.into_iter().filter_map(dashed).filter(|uuid| !seen.insert(uuid.clone())).collect())
    }

    /// True if several VMs have this UUID.
    fn has(&self, uuid: &str) -> bool {
        self.0.contains(uuid)
    }

    /// The VM of this UUID: with its file behind it where the UUID is not its own, by its number where even that is unknown.
    pub(super) fn vm(&self, uuid: Option<&str>, path: Option<&str>, number: &str) -> Entity {
        match (uuid.and_then(dashed), path) {
            (Some(uuid), Some(path)) if self.has(&uuid) => Entity::Vm(Text::new(&format!("{uuid} {path}"))),
            (Some(uuid), None) if self.has(&uuid) => vm(None, number),
            (uuid, _) => vm(uuid.as_deref(), number),
        }
    }
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [list, processes, summaries] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let rows = registered(&list.stdout);
    let (items, left_out) = each::items(summaries);
    let nodes: Vec<(&Item<'_>, Option<Node<'_>>)> =
        items.iter().map(|item| (item, vim_dump::read(item.output, item.first))).collect();
    let config = |node: &Option<Node<'_>>, name| {
        node.as_ref()?.as_object()?.object("config")?.text(name).map(ToString::to_string)
    };
    let uuids: Vec<Option<String>> = nodes.iter().map(|(_, node)| dashed(&config(node, "uuid")?)).collect();
    let shared = Shared::of(uuids.iter().flatten().map(String::as_str));
    let mut known: BTreeMap<&str, Known> = BTreeMap::new();
    for ((item, node), uuid) in nodes.iter().zip(uuids) {
        let of_list = rows.iter().find(|row| row.number.to_string() == item.name).map(|row| row.path.clone());
        let path = of_list.or_else(|| path_of(&config(node, "vmPathName")?));
        let entity = shared.vm(uuid.as_deref(), path.as_deref(), item.name);
        facts.extend(summary(summaries, item, node.as_ref(), &entity));
        known.insert(item.name, Known { entity, uuid, path });
    }
    let mut said = Facts::of(summaries);
    reply::say_left_out(&mut said, Attribute::PowerState, left_out);
    facts.extend(said.said);
    facts.extend(listed(list, &rows, &known, left_out > 0));
    facts.extend(running(processes, &known));
    facts
}

/// A VM of which the summary was read.
struct Known {
    entity: Entity,
    uuid: Option<String>,
    path: Option<String>,
}

/// What the table of registered VMs says, of which these summaries were read; `some_left_out` if there were more VMs than
/// one read looks into.
fn listed(
    observation: &Observation,
    rows: &[Registered],
    known: &BTreeMap<&str, Known>,
    some_left_out: bool,
) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
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
        let summary = known.get(number.as_str());
        let entity = summary.map_or_else(|| vm(None, &number), |known| known.entity.clone());
        if some_left_out && summary.is_none() {
            let state = State::Failed(Text::new(&format!("not read: one read looks into {MOST_ITEMS} VMs at most")));
            facts.say(&entity, Attribute::PowerState, Some(state), row.line);
        }
        facts.say(&entity, Attribute::VmNumber, Some(State::Known(row.number.into())), row.line);
        facts.say(&entity, Attribute::VmxPath, Some(reply::text(&row.path)), row.line);
        if summary.is_none_or(|known| known.uuid.is_none()) {
            facts.say(&entity, Attribute::VmName, Some(reply::text(&row.name)), row.line);
        }
    }
    for (line, text) in observation.lines() {
        if let Some(number) = skipped(text) {
            let state = State::Failed(Text::new("the host skips this VM: its configuration cannot be read"));
            facts.say(&vm(None, number), Attribute::VmName, Some(state), line);
        }
    }
    facts.said
}

/// What the summary of one VM says.
fn summary(observation: &Observation, item: &Item<'_>, node: Option<&Node<'_>>, entity: &Entity) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let Some(Node::Object(summary)) = node else {
        let state = reply::trouble_of(item, "vim-cmd")
            .unwrap_or_else(|| State::Failed(Text::new("the summary of the VM was not understood")));
        facts.say(entity, Attribute::PowerState, Some(state), 0);
        return facts.said;
    };
    let config = summary.object("config");
    if let Some(config) = config {
        let name = config.text("name").map(reply::text);
        facts.say(entity, Attribute::VmName, name, config.line_of("name"));
        let template = config.text("template").map(reply::flag);
        facts.say(entity, Attribute::IsTemplate, template, config.line_of("template"));
    }
    // MB, of a VM that runs.
    if let Some(statistics) = summary.object("quickStats") {
        for (name, attribute) in [("balloonedMemory", Attribute::Balloon), ("swappedMemory", Attribute::HostSwap)] {
            facts.say(entity, attribute, statistics.text(name).map(reply::count), statistics.line_of(name));
        }
    }
    if let Some(runtime) = summary.object("runtime") {
        let power = runtime.text("powerState").map(reply::text);
        facts.say(entity, Attribute::PowerState, power, runtime.line_of("powerState"));
    }
    if let Some(guest) = summary.object("guest") {
        let name = if guest.text("toolsRunningStatus").is_some() { "toolsRunningStatus" } else { "toolsStatus" };
        facts.say(entity, Attribute::ToolsStatus, guest.text(name).map(reply::text), guest.line_of(name));
    }
    facts.said
}

/// The VMs that run, of which `known` are told by their summaries.
fn running(observation: &Observation, known: &BTreeMap<&str, Known>) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let blocks = match reply::blocks(observation) {
        Ok(blocks) => blocks,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::WorldId, Some(state), 0);
            return facts.said;
        }
    };
    let shared = Shared::of(blocks.iter().filter_map(|block| block.get(&["UUID"])));
    for block in blocks {
        let Some(uuid) = block.get(&["UUID"]).and_then(dashed) else { continue };
        let file = block.get(&["Config File"]).filter(|file| !file.is_empty());
        let same: Vec<&Known> = known.values().filter(|known| known.uuid.as_ref() == Some(&uuid)).collect();
        // The list names the datastore, the process its volume: folder and file are the same.
        let told = match same[..] {
            [one] if !shared.has(&uuid) => Some(one),
            _ => same.into_iter().find(|known| match (&known.path, file) {
                (Some(path), Some(file)) => tail_of(path) == tail_of(file),
                _ => false,
            }),
        };
        let entity = told.map_or_else(|| shared.vm(Some(&uuid), file, ""), |known| known.entity.clone());
        let mut say = |attribute, keys: &[&str], read: fn(&str) -> State<Value>| {
            if let Some(field) = block.field(keys) {
                facts.say(&entity, attribute, Some(read(&field.value)), field.line);
            }
        };
        say(Attribute::WorldId, &["World ID"], reply::count);
        say(Attribute::CartelId, &["VMX Cartel ID", "Cartel ID"], reply::count);
        if told.is_none() {
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
    fn clones_with_one_uuid_are_two_vms_in_all_sources() {
        let list = LIST.replace(
            "24     Test Test [Test] [Test]   [datastore_050_vmfs6] Test/Test.vmx",
            "24     clone   [ds 2] clone/vm001.vmx",
        );
        let clone = SUMMARY
            .replace("\"vm001\"", "\"clone\"")
            .replace("[datastore_050] vm001/vm001.vmx", "[ds 2] clone/vm001.vmx")
            .replace("poweredOn", "poweredOff");
        let facts = run(
            &PROBE,
            &[(&list, "", 0), (PROCESSES, "", 0), (&(item("3", SUMMARY, 0) + &item("24", &clone, 0)), "", 0)],
        );
        let vm = |path: &str| Entity::Vm(Text::new(&format!("{UUID} {path}")));
        let (one, other) =
            (vm("/vmfs/volumes/datastore_050/vm001/vm001.vmx"), vm("/vmfs/volumes/ds 2/clone/vm001.vmx"));
        for (entity, attribute, wanted) in [
            (&one, Attribute::VmName, "vm001"),
            (&one, Attribute::VmNumber, "3"),
            (&one, Attribute::PowerState, "poweredOn"),
            (&one, Attribute::WorldId, "2101442"),
            (&other, Attribute::VmName, "clone"),
            (&other, Attribute::VmNumber, "24"),
            (&other, Attribute::PowerState, "poweredOff"),
            (&other, Attribute::WorldId, "absent"),
        ] {
            assert_eq!(shown(&facts, entity, attribute), wanted, "{entity} {attribute:?}");
        }
        assert!(facts.iter().all(|fact| fact.entity != Entity::Vm(Text::new(UUID))));
    }

    #[test]
    fn a_vm_that_only_the_process_list_knows() {
        let facts = run(&PROBE, &[("", "", 127), (PROCESSES, "", 0), ("", "", 127)]);
        let vm = Entity::Vm(Text::new(UUID));
        assert_eq!(shown(&facts, &vm, Attribute::VmName), "vm001");
        assert_eq!(shown(&facts, &vm, Attribute::PowerState), "poweredOn");
    }

    #[test]
    fn templates_and_memory_taken_back_are_told() {
        let told = SUMMARY.replace("name = \"vm001\",", "name = \"vm001\",\n      template = true,").replace(
            "uuid = \"564da9ac-1cee-5dd7-f1ae-a595f83d2a2d\",\n   },",
            "uuid = \"564da9ac-1cee-5dd7-f1ae-a595f83d2a2d\",\n   },\n   quickStats = (vim.vm.Summary.QuickStats) {\n      \
             balloonedMemory = 512,\n      swappedMemory = <unset>,\n   },",
        );
        let facts = run(&PROBE, &[("", "", 0), ("", "", 0), (&item("3", &told, 0), "", 0)]);
        let of = |attribute| shown(&facts, &Entity::Vm(Text::new(UUID)), attribute);
        assert_eq!(of(Attribute::IsTemplate), "yes");
        assert_eq!(of(Attribute::Balloon), "512");
        assert_eq!(of(Attribute::HostSwap), "absent");
    }

    static SUMMARIES: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| item("3", SUMMARY, 0));
    survives_damage!(PROBE, LIST, PROCESSES, SUMMARIES.as_str());
}
