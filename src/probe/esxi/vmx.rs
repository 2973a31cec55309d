//! The VMX files of a host's VMs, masked. That one was read, and of which VM it is, are the facts; the text itself stays
//! with the observation, where the rules for such files look at it.

use std::sync::Arc;

use super::each::{self, Item};
use super::reply::{self, Facts};
use super::vms::{self, Shared};
use crate::fabric::text::LONGEST_VALUE;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Listing, Pace, Probe, Read, Rhythm, Source, Word};

/// The source of the files, all of a host in one observation.
pub const FILES: &str = "esxi.vmx-files";

/// The VMX files.
pub const PROBE: Probe = Probe {
    name: "esxi.vmx",
    title: "VMX files",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[Source {
        name: FILES,
        read: Read::Each {
            of: Listing::VmxFiles,
            argv: &[Word::Plain("cat"), Word::Item("", "")],
            masked: true,
            timed: false,
        },
    }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Facts::of(observation);
    let (items, left_out) = each::items(observation);
    reply::say_left_out(&mut facts, Attribute::VmxPath, left_out);
    let shared =
        Shared::of(items.iter().filter(|item| item.status == Some(0)).filter_map(uuid_of).map(|(_, uuid)| uuid));
    for item in items {
        if let Some(state) = reply::trouble_of(&item, "cat") {
            // Without its text it is not known whose file it is.
            let file = Entity::FileLine { file: Text::new(item.name), line: 1 };
            facts.say(&file, Attribute::FileText, Some(state), 0);
            continue;
        }
        let path = State::Known(item.name.into());
        if let Some((line, uuid)) = uuid_of(&item) {
            let vm = shared.vm(Some(uuid), Some(item.name), "");
            facts.say(&vm, Attribute::VmxPath, Some(path), line);
            facts.say(&vm, Attribute::VmxLines, Some(lines(item.output)), item.first);
        } else {
            let file = Entity::FileLine { file: Text::new(item.name), line: 1 };
            let state = State::NotPublished(Text::new("this VMX: it has no uuid.bios, so its VM is not known"));
            facts.say(&file, Attribute::FileText, Some(state), 0);
        }
    }
    facts.said
}

/// No VMX has as many lines; what has more is something else.
const MOST_LINES: usize = 4096;

/// The lines of a file, one text each, so that the rules for such files can be asked wherever the facts are.
fn lines(text: &str) -> State<Value> {
    let lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches('\r')).collect();
    if lines.len() > MOST_LINES {
        return State::NotObservable(Text::new(&format!("the file has more than {MOST_LINES} lines")));
    }
    if lines.iter().any(|line| line.contains('\r')) {
        return State::NotObservable(Text::new("the lines of the file end in carriage returns alone"));
    }
    State::Known(lines.into_iter().map(line).collect::<Vec<Text>>().into())
}

/// One line. A value that is too long to be kept is left out, so that its line still is an assignment.
fn line(line: &str) -> Text {
    match line.split_once('=') {
        Some((key, _)) if line.len() > LONGEST_VALUE && key.len() < LONGEST_VALUE / 2 => {
            Text::new(&format!("{} = \"{TOO_LONG}\"", key.trim()))
        }
        _ => Text::new(line),
    }
}

/// What stands in the place of a value that is too long.
const TOO_LONG: &str = "(too long to be kept)";

/// The line and the text of the BIOS UUID in a file.
fn uuid_of<'a>(item: &Item<'a>) -> Option<(u32, &'a str)> {
    (item.first..).zip(item.output.lines()).find_map(|(line, text)| {
        let (key, value) = text.split_once('=')?;
        let is_it = key.trim().trim_start_matches('\u{feff}').eq_ignore_ascii_case("uuid.bios");
        let value = value.trim().trim_matches('"');
        (is_it && vms::dashed(value).is_some()).then_some((line, value))
    })
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{item, run, shown, survives_damage, with_carriage_returns};
    use super::super::vms::tests::UUID;
    use super::*;

    /// Keys of VMware's own parser and of published files.
    const VMX: &str = ".encoding = \"UTF-8\"\nuuid.bios = \"56 4d a9 ac 1c ee 5d d7-f1 ae a5 95 f8 3d 2a 2d\"\nmemSize = \"4096\"\n\
                       ethernet1.virtualDev = \"vrdma\"";

    #[test]
    fn a_file_is_known_by_its_uuid() {
        let path = "/vmfs/volumes/datastore_050/vm 001/vm 001.vmx";
        for text in [item(path, VMX, 0), with_carriage_returns(&item(path, VMX, 0))] {
            let facts = run(&PROBE, &[(&text, "", 0)]);
            assert_eq!(shown(&facts, &Entity::Vm(Text::new(UUID)), Attribute::VmxPath), path);
        }
    }

    #[test]
    fn its_lines_are_kept_and_stay_assignments() {
        let path = "/vmfs/volumes/a/b/b.vmx";
        let long = format!("{VMX}\nguest.note = \"{}\"\nlast = \"1\"", "x".repeat(2_000));
        for text in [item(path, &long, 0), with_carriage_returns(&item(path, &long, 0))] {
            let facts = run(&PROBE, &[(&text, "", 0)]);
            let lines = facts.iter().find(|fact| fact.attribute == Attribute::VmxLines).expect("its lines");
            assert_eq!(lines.reading.line, 2, "the first line of the file");
            let list = lines.reading.state.known().and_then(Value::as_list).expect("a list");
            let texts: Vec<&str> = list.iter().map(Text::as_str).collect();
            assert_eq!(texts[2..4], ["memSize = \"4096\"", "ethernet1.virtualDev = \"vrdma\""]);
            assert_eq!(texts[4..], ["guest.note = \"(too long to be kept)\"", "last = \"1\""]);
        }
        let mac = VMX.replace('\n', "\r");
        let facts = run(&PROBE, &[(&item(path, &mac, 0), "", 0)]);
        assert!(facts.iter().all(|fact| fact.attribute != Attribute::VmxLines || fact.reading.state.known().is_none()));
    }

    #[test]
    fn files_with_one_uuid_are_two_vms() {
        let (one, other) = ("/vmfs/volumes/a/a/a.vmx", "/vmfs/volumes/a/b/b.vmx");
        let facts = run(&PROBE, &[(&(item(one, VMX, 0) + &item(other, VMX, 0)), "", 0)]);
        for path in [one, other] {
            let vm = Entity::Vm(Text::new(&format!("{UUID} {path}")));
            assert_eq!(shown(&facts, &vm, Attribute::VmxPath), path);
        }
    }

    #[test]
    fn a_file_that_cannot_be_read() {
        let path = "/vmfs/volumes/a/b/b.vmx";
        let facts = run(
            &PROBE,
            &[(&item(path, "", 1), &format!("@item {path}\ncat: can't open '{path}': Permission denied\n"), 0)],
        );
        let file = Entity::FileLine { file: Text::new(path), line: 1 };
        assert!(shown(&facts, &file, Attribute::FileText).starts_with("<needs privilege"));
    }

    static FILES: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| item("/vmfs/volumes/a/b/b.vmx", VMX, 0));
    survives_damage!(PROBE, FILES.as_str());
}
