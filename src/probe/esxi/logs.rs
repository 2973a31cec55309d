//! Lines of `vmkernel.log` and of each VM's `vmware.log` that matter to RDMA, passthrough and power-on, chosen on the host,
//! each with what it means.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::each;
use super::reply::{self, Facts};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};
use crate::probe::logs::{LogLine, Meaning, vmkernel, vmware};
use crate::probe::{Keep, Listing, Pace, Probe, Read, Rhythm, Source, Word};

const VMKERNEL_LOG: &str = "/var/log/vmkernel.log";

/// Messages of the VMkernel.
pub const VMKERNEL: Probe = Probe {
    name: "esxi.vmkernel-log",
    title: "messages of the VMkernel about RDMA and passthrough",
    privilege_adds: "",
    pace: Pace::Medium,
    // It costs next to nothing.
    rhythm: Rhythm::PRESSING.deciding(),
    sources: &[Source {
        name: "esxi.vmkernel-log-tail",
        read: Read::Command {
            argv: &[Word::Plain("tail"), Word::Plain("-n"), Word::Plain("5000"), Word::Plain(VMKERNEL_LOG)],
            keep: Some(Keep { any_of: vmkernel::MATTERS, last: 200 }),
        },
    }],
    parse: parse_vmkernel,
};

/// Messages of VMs about their own devices and power-on.
pub const VMWARE: Probe = Probe {
    name: "esxi.vm-logs",
    title: "messages of VMs about passthrough, RDMA and power-on",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE.last(),
    sources: &[Source {
        name: "esxi.vm-log-lines",
        read: Read::Each {
            of: Listing::VmDirectories,
            argv: &[
                Word::Plain("grep"),
                Word::Plain("-F"),
                Word::Plain("-e"),
                Word::Plain("PCIPassthru"),
                Word::Plain("-e"),
                Word::Plain("ower on failed"),
                Word::Plain("-e"),
                Word::Plain("No PCIe slot available"),
                Word::Plain("-e"),
                Word::Plain("noslotavail"),
                Word::Plain("-e"),
                Word::Plain("Too many PCI devices"),
                Word::Plain("-e"),
                Word::Plain("memory reservation"),
                Word::Plain("-e"),
                Word::Plain("Invalid memory setting"),
                Word::Plain("-e"),
                Word::Plain("vrdma"),
                Word::Plain("-e"),
                Word::Plain("VRDMA"),
                Word::Plain("-e"),
                Word::Plain("already defined"),
                Word::Plain("-e"),
                Word::Plain("not a passthrough device"),
                Word::Plain("-e"),
                Word::Plain("Nested Hardware-Assisted Virtualization"),
                Word::Plain("-e"),
                Word::Plain("Failed to register the device"),
                Word::Plain("-e"),
                Word::Plain("No device hints found"),
                Word::Item("", "/vmware.log"),
            ],
            masked: true,
            timed: false,
        },
    }],
    parse: parse_vmware,
};

/// Most messages of one log that are told, the last ones.
const MOST: usize = 200;

fn parse_vmkernel(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    if let Some(state) = observation.trouble("tail", "the log of the VMkernel") {
        return vec![observation.fact(Entity::Host, Attribute::KernelLog, state, 0)];
    }
    let mut facts = Facts::of(observation);
    facts.say(&Entity::Host, Attribute::KernelLog, Some(State::Known(true.into())), 0);
    let lines = observation.lines().filter_map(|(line, raw)| Some((line, vmkernel::line(raw)?)));
    messages(&mut facts, VMKERNEL_LOG, lines.filter(|(_, line)| vmkernel::matters(line.text)), vmkernel::meaning);
    facts.said
}

fn parse_vmware(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Facts::of(observation);
    let (items, left_out) = each::items(observation);
    reply::say_left_out(&mut facts, Attribute::Message, left_out);
    for item in items {
        let log = format!("{}/vmware.log", item.name);
        // 1 means that no line matters.
        if item.status != Some(1)
            && let Some(state) = reply::trouble_of(&item, "grep")
        {
            let entity = Entity::LogMessage { log: Text::new(&log), stamp: 0, ordinal: 0 };
            facts.say(&entity, Attribute::Message, Some(state), 0);
        }
        let lines = (item.first..).zip(item.output.lines()).filter_map(|(line, raw)| Some((line, vmware::line(raw)?)));
        // The settings that the log repeats at its start are not messages.
        let lines = lines.filter(|(_, line)| vmware::matters(line.text) && !line.text.starts_with("DICT"));
        messages(&mut facts, &log, lines, vmware::meaning);
    }
    facts.said
}

fn messages<'t>(
    facts: &mut Facts<'_>,
    log: &str,
    lines: impl Iterator<Item = (u32, LogLine<'t>)>,
    meaning: fn(&str) -> Option<Meaning>,
) {
    let lines: Vec<(u32, LogLine<'t>)> = lines.collect();
    let log = Text::new(log);
    let mut ordinals: BTreeMap<u64, u32> = BTreeMap::new();
    for (number, line) in &lines[lines.len().saturating_sub(MOST)..] {
        let stamp = line.stamp.unwrap_or(0);
        let ordinal = ordinals.entry(stamp).or_insert(0);
        let entity = Entity::LogMessage { log: log.clone(), stamp, ordinal: *ordinal };
        *ordinal += 1;
        let meaning = meaning(line.text);
        // What is known of a message stands above what the log says of itself.
        let severity = meaning.as_ref().map_or(line.severity, |meaning| meaning.severity);
        let mut say = |attribute, text: &str| {
            facts.say(&entity, attribute, Some(State::Known(text.into())), *number);
        };
        say(Attribute::Message, line.text);
        say(Attribute::Severity, severity.word());
        if let Some(meaning) = meaning {
            say(Attribute::Meaning, &meaning.text);
        }
    }
}

#[cfg(test)]
mod vmkernel_tests {
    use super::super::reply::testing::{run, shown, survives_damage};
    use super::*;

    const LINK_DOWN: &str = include_str!("../../../tests/fixtures/esxi-logs/vmkernel-8-link-down.txt");

    #[test]
    fn what_a_log_of_the_host_repeats_of_a_secret_is_hidden() {
        let line = "2024-01-01T00:00:00.000Z cpu1:2)PCI: x password = \"HIDDEN\"\n2024-01-01T00:00:00.000Z cpu1:2)PCI: reset\n";
        let shown = VMKERNEL.sources[0].read.masked(line);
        assert!(!shown.contains("HIDDEN") && shown.ends_with(")PCI: reset\n"), "{shown}");
    }

    #[test]
    fn messages_come_with_their_meaning() {
        let facts = run(&VMKERNEL, &[(LINK_DOWN, "", 0)]);
        let first = Entity::LogMessage { log: Text::new(VMKERNEL_LOG), stamp: 1_770_456_558_734_000, ordinal: 0 };
        assert!(shown(&facts, &first, Attribute::Message).starts_with("PCI: 1401: Skipping"));
        assert_eq!(shown(&facts, &first, Attribute::Severity), "error");
        assert!(shown(&facts, &first, Attribute::Meaning).contains("no PCIe link"));
        assert_eq!(shown(&facts, &Entity::Host, Attribute::KernelLog), "yes");
    }

    #[test]
    fn a_log_that_cannot_be_read() {
        let facts = run(&VMKERNEL, &[("", "tail: can't open '/var/log/vmkernel.log': Permission denied", 1)]);
        assert!(shown(&facts, &Entity::Host, Attribute::KernelLog).starts_with("<needs privilege"));
    }

    survives_damage!(VMKERNEL, LINK_DOWN);
}

#[cfg(test)]
mod vmware_tests {
    use super::super::reply::testing::{item, run, shown, survives_damage};
    use super::*;

    const OLD: &str = include_str!("../../../tests/fixtures/esxi-logs/vmware-old.txt");

    #[test]
    fn a_failed_power_on_is_explained() {
        let facts = run(&VMWARE, &[(&item("/vmfs/volumes/a/vm 1", OLD, 0), "", 0)]);
        let log = Text::new("/vmfs/volumes/a/vm 1/vmware.log");
        let at = |ordinal| Entity::LogMessage { log: log.clone(), stamp: 1_650_596_655_771_000, ordinal };
        assert!(shown(&facts, &at(0), Attribute::Meaning).contains("16.05 GiB"));
        assert_eq!(shown(&facts, &at(1), Attribute::Severity), "error");
    }

    #[test]
    fn nothing_found_and_nothing_read_differ() {
        assert!(run(&VMWARE, &[(&item("/vmfs/volumes/a/b", "", 1), "", 0)]).is_empty());
        let facts =
            run(&VMWARE, &[(&item("/vmfs/volumes/a/b", "", 2), "@item /vmfs/volumes/a/b\ngrep: no such file\n", 0)]);
        let entity = Entity::LogMessage { log: Text::new("/vmfs/volumes/a/b/vmware.log"), stamp: 0, ordinal: 0 };
        assert!(shown(&facts, &entity, Attribute::Message).starts_with("<failed"));
    }

    static LOGS: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| item("/vmfs/volumes/a/b", OLD, 0));
    survives_damage!(VMWARE, LOGS.as_str());
}
