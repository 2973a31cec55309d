//! The reader over rows as hosts print them, over damaged ones, and over what a hostile one might send.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::probe::testing::{assert_clean, mutated_texts};

const NONCE: &str = "c0ffee";

/// One run, with the names of a published output: a VM whose name has a comma, one of whose name there are two, a program.
const RUN: &str = include_str!("../../../../tests/fixtures/esxtop/two-vms.csv");

fn read(text: &str) -> Vec<Event> {
    let mut reader = Reader::new(NONCE);
    let mut events = reader.push(text.as_bytes());
    events.extend(reader.finish());
    events
}

fn rows(events: &[Event]) -> Vec<&Row> {
    events.iter().filter_map(|event| if let Event::Row(row) = event { Some(row) } else { None }).collect()
}

/// `None` where there is no such column, `Some(None)` where its cell says nothing.
#[allow(clippy::option_option, reason = "a column and its cell can each be missing")]
fn value(row: &Row, entity: &Entity, measure: Measure) -> Option<Option<f64>> {
    row.gauges
        .iter()
        .find(|gauge| gauge.entity == *entity && gauge.name.as_str() == measure.name())
        .map(|gauge| gauge.value)
}

fn group(name: &str) -> Entity {
    Entity::Group(Text::new(name))
}

#[test]
fn a_run_is_read_without_its_first_row() {
    let events = read(RUN);
    assert_eq!(events[0], Event::Titles { columns: 31, kept: 20 });
    let rows = rows(&events);
    // The steps are uneven, as they are on a host.
    assert_eq!(rows.iter().map(|row| row.period.as_secs()).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(rows[0].at.to_string(), "2018-05-15T02:13:09Z");
    let of = |entity: &Entity, measure| value(rows[0], entity, measure);
    assert_eq!(of(&Entity::Host, Measure::Overcommit), Some(Some(0.12)));
    assert_eq!(of(&Entity::Host, Measure::MemoryState), Some(Some(2.0)));
    assert_eq!(of(&Entity::Host, Measure::HostMemoryFree), Some(Some(4096.0 * 1_048_576.0)));
    assert_eq!(of(&Entity::Host, Measure::HostSwapIn), Some(Some(1.5 * 1_048_576.0)));
    assert_eq!(of(&Entity::Host, Measure::ProcessorUse), Some(Some(31.25)), "the better of two counters");
    let vm = group("vm001");
    assert_eq!(of(&vm, Measure::Ready), Some(Some(84.5)));
    assert_eq!(of(&vm, Measure::VmBalloon), Some(Some(512.0 * 1_048_576.0)));
    assert_eq!(of(&vm, Measure::NumaLocal), Some(Some(61.0)));
    assert_eq!(of(&vm, Measure::HomeNodes), Some(Some(3.0)), "nodes 0 and 1");
    assert_eq!(of(&vm, Measure::VmProcessors), Some(Some(2.0)));
    assert_eq!(of(&group("db, main (old):2"), Measure::Ready), Some(Some(1.25)), "a comma is no end of a name");
    let port = Entity::SwitchPort { switch: Text::new("vSwitch6"), port: Text::new("134217730") };
    assert_eq!(of(&port, Measure::PortSent), Some(Some(120_000_000.0)));
    // A group of the system and a program are no VMs.
    assert!(rows[0].gauges.iter().all(|gauge| gauge.entity != group("hostd.2099012") && gauge.entity != group("idle")));
}

#[test]
fn a_missing_cell_is_a_gap_and_never_a_zero() {
    let events = read(RUN);
    let rows = rows(&events);
    assert_eq!(value(rows[1], &group("vm001"), Measure::VmBalloon), Some(None));
    assert_eq!(value(rows[1], &Entity::Host, Measure::MemoryState), Some(Some(0.0)));
    // What has no column is not there at all.
    assert_eq!(value(rows[0], &group("db, main (old):2"), Measure::NumaLocal), None);
}

#[test]
fn facts_point_at_the_cells_that_say_them() {
    let events = read(RUN);
    let row = rows(&events)[0];
    let observation = Observation::of_text(SOURCE, &row.evidence);
    let facts = row.facts(&observation);
    let line = |fact: &Fact| observation.lines().nth(fact.reading.line as usize - 1).expect("it is there").1.to_owned();
    let of = |entity: &Entity, attribute| {
        let fact = facts.iter().find(|fact| fact.entity == *entity && fact.attribute == attribute).expect("it is told");
        (crate::probe::linux::guest_testing::shown(&facts, entity, attribute), line(fact))
    };
    assert_eq!(
        of(&Entity::Host, Attribute::MemoryState),
        ("soft".to_owned(), "\"\\\\esx01\\Memory\\Memory State\",\"2\"".to_owned())
    );
    assert_eq!(of(&group("vm001"), Attribute::Balloon).0, "512");
    assert_eq!(
        of(&group("vm001"), Attribute::HostSwap).1,
        "\"\\\\esx01\\Group Memory(28868:vm001)\\Swapped MBytes\",\"0.00\""
    );
}

#[test]
fn spellings_of_copies_and_versions_are_read_alike() {
    let plain = read(RUN);
    for (what, text) in [
        ("one backslash lost", RUN.replace("\\\\esx01", "\\esx01")),
        ("both backslashes lost", RUN.replace("\\\\esx01", "esx01")),
        ("line ends of Windows", RUN.replace('\n', "\r\n")),
        ("a comma behind each line", RUN.replace('\n', ",\n")),
        ("a comma behind each row alone", RUN.replacen('\n', "\u{0}", 1).replace('\n', ",\n").replace('\u{0}', "\n")),
        ("no quotes round numbers", RUN.replace("\"84.50\"", "84.50")),
        (
            "counters of another version",
            RUN.replace("% CoStop", "% Co-Stop").replace("Memctl MBytes", "Memctl Current MBytes"),
        ),
        ("something said before", format!("Welcome, root\n\n{RUN}")),
        ("a byte order mark", format!("\u{feff}{RUN}")),
    ] {
        let read = read(&text);
        let numbers =
            |events: &[Event]| -> Vec<Vec<GaugeValue>> { rows(events).iter().map(|row| row.gauges.clone()).collect() };
        assert_eq!(numbers(&read), numbers(&plain), "{what}");
    }
}

#[test]
fn a_zone_other_than_utc_is_taken_into_account() {
    let events = read(&RUN.replace("(UTC)(0)", "(Pacific Standard Time)(480)"));
    assert_eq!(rows(&events)[0].at.to_string(), "2018-05-15T10:13:09Z");
    assert_eq!(column::stamp("13/45/2018 02:13:06", 0), None);
    assert_eq!(column::zone("(PDH-CSV 4.0) (UTC)(99999999)"), 0);
}

#[test]
fn what_was_cut_is_refused_and_the_next_row_is_read() {
    let mut lines: Vec<&str> = RUN.lines().collect();
    let third = lines[2];
    let half = &third[..third.len() / 2];
    let tail = &third[..third.len() - 2];
    for cut in [half, tail] {
        lines[2] = cut;
        let events = read(&lines.join("\n"));
        assert!(matches!(events[1], Event::Refused(_)), "{:?}", events[1]);
        let rows = rows(&events);
        assert_eq!(
            rows.iter().map(|row| row.period.as_secs()).collect::<Vec<_>>(),
            [7],
            "over the row that is missing"
        );
        assert_eq!(value(rows[0], &group("vm001"), Measure::VmBalloon), Some(None));
    }
    // The last line of a file that was cut is no row either.
    let events = read(&RUN[..RUN.trim_end().len() - 2]);
    assert_eq!((rows(&events).len(), events.len()), (1, 3));
    // A title that broke in two makes every row one cell short.
    let events = read(&RUN.replace("\"\\\\esx01\\Memory\\Free MBytes\"", "\"x\",\"\\\\esx01\\Memory\\Free MBytes\""));
    assert!(rows(&events).is_empty() && events.iter().any(|event| matches!(event, Event::Refused(_))));
}

#[test]
fn a_clock_that_goes_back_or_stands_still_gives_no_row() {
    let events = read(&RUN.replace("02:13:13", "02:13:09"));
    assert_eq!(rows(&events).len(), 1);
    let events = read(&RUN.replace("02:13:13", "02:10:00"));
    assert!(matches!(events.last(), Some(Event::Refused(why)) if why.contains("older")), "{events:?}");
}

#[test]
fn two_vms_of_one_name_are_not_added_up() {
    let events = read(&RUN.replace(":db, main (old):2", ":vm001"));
    let rows = rows(&events);
    assert_eq!(value(rows[0], &group("vm001"), Measure::Ready), None);
    assert_eq!(value(rows[0], &group("vm001 (28868)"), Measure::Ready), Some(Some(84.5)));
    assert_eq!(value(rows[0], &group("vm001 (30001)"), Measure::Ready), Some(Some(1.25)));
}

#[test]
fn without_columns_of_virtual_processors_names_tell_what_is_a_vm() {
    let text = RUN.replace("Vcpu(", "Other(");
    let events = read(&text);
    let rows = rows(&events);
    assert_eq!(value(rows[0], &group("vm001"), Measure::Ready), Some(Some(84.5)));
    assert_eq!(value(rows[0], &group("vm001"), Measure::VmProcessors), None);
    assert!(rows[0].gauges.iter().all(|gauge| gauge.entity != group("hostd.2099012") && gauge.entity != group("idle")));
}

#[test]
fn what_it_says_instead_of_titles_is_kept_and_its_end_is_told() {
    let mut reader = Reader::new(NONCE);
    assert_eq!(reader.push(b"sh: esxtop: not found\nc0ffee E 127\n"), [Event::Ended(127)]);
    assert_eq!(reader.said(), "sh: esxtop: not found");
    let mut events = read(&format!("{RUN}c0ffee E 0\n"));
    assert_eq!(events.pop(), Some(Event::Ended(0)));
    assert_eq!(rows(&events).len(), 2);
}

#[test]
fn the_block_is_one_group_and_the_nonce_cannot_break_out() {
    let text = block("a'; rm -rf / #", Duration::from_secs(5));
    assert!(text.starts_with("{\n") && text.ends_with("\n}\n"));
    assert!(text.contains("\nn='armrf'\n") && text.contains("esxtop -b -d 5 -n 120"));
    assert!(!text.contains('@'));
    assert!(command(Duration::ZERO).contains("-d 2 "), "it takes no less");
}

/// A run of so many columns, of which a few are wanted.
fn wide(columns: usize, rows: usize) -> String {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\Memory\\Free MBytes\"");
    for column in 2..columns {
        let _ = write!(text, ",\"\\\\h\\Interrupt Vector({column:#x})\\Interrupts/sec\"");
    }
    text.push('\n');
    for row in 0..rows {
        let _ = write!(text, "\"05/15/2018 02:13:{row:02}\",\"{row}.50\"");
        for _ in 2..columns {
            text.push_str(",\"0.00\"");
        }
        text.push('\n');
    }
    text
}

#[test]
fn of_fifty_thousand_columns_only_the_wanted_are_held() {
    let text = wide(50_000, 3);
    let mut reader = Reader::new(NONCE);
    let events: Vec<Event> = text.as_bytes().chunks(32_768).flat_map(|piece| reader.push(piece)).collect();
    assert_eq!(events[0], Event::Titles { columns: 50_000, kept: 1 });
    assert_eq!(rows(&events).len(), 2);
    assert_eq!(value(rows(&events)[1], &Entity::Host, Measure::HostMemoryFree), Some(Some(2.5 * 1_048_576.0)));
    assert_eq!(reader.kept().len(), 1);
}

#[test]
fn a_host_that_names_too_many_columns_is_read_in_part() {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    for number in 0..MOST_KEPT * 2 {
        let _ = write!(text, ",\"\\\\h\\Group Cpu({number}:vm{number})\\% Ready\"");
    }
    text.push('\n');
    let mut reader = Reader::new(NONCE);
    assert_eq!(reader.push(text.as_bytes()), [Event::Titles { columns: MOST_KEPT * 2 + 1, kept: MOST_KEPT }]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn survives_anything(text in mutated_texts(&[RUN]), piece in 1..4000usize) {
        let mut reader = Reader::new(NONCE);
        let mut events: Vec<Event> = text.as_bytes().chunks(piece).flat_map(|piece| reader.push(piece)).collect();
        events.extend(reader.finish());
        prop_assert!(reader.kept().len() <= MOST_KEPT);
        for event in events {
            let Event::Row(row) = event else { continue };
            prop_assert_eq!(row.gauges.len(), row.lines.len());
            prop_assert!(row.evidence.len() <= MOST_EVIDENCE && !row.period.is_zero());
            prop_assert!(row.gauges.iter().all(|gauge| gauge.value.is_none_or(f64::is_finite)));
            assert_clean(&row.facts(&Observation::of_text(SOURCE, &row.evidence)))?;
        }
    }
}
