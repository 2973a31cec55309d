use proptest::prelude::*;

use super::*;
use crate::probe::testing::{CASES, assert_clean, mutated_texts};

const STREAM: &str = "c0ffee R\n\
# gpu  rxpci  txpci \n\
# Idx   MB/s   MB/s \n\
    0  24810    912 \n\
    1      0      0 \n\
index, count, pci.bus_id, pstate, clocks_event_reasons.active, utilization.gpu [%], utilization.memory [%], memory.used [MiB], power.draw [W], clocks.current.sm [MHz], clocks.current.memory [MHz], temperature.gpu, temperature.memory, pcie.link.gen.gpucurrent, pcie.link.width.current\n\
0, 2, 00000000:0B:00.0, P0, 0x0000000000000048, 98, 41, 31002, 187.14, 705, 1215, 91, 88, 4, 16\n\
1, 2, 00000000:13:00.0, P8, 0x0000000000000001, 0, 0, 4, 31.50, 210, 1215, 33, N/A, 1, 16\n\
#Entity   GRACT        SMACT        TENSO        DRAMA        PCITX                PCIRX                NVLTX                NVLRX                \n\
ID                                                                                                                                                  \n\
GPU 0     0.981        0.310        0.120        0.200        1001344512           26803341312          0                    0                    \n\
GPU 1     N/A          0.000        0.000        0.000        0                    0                    0                    0                    \n\
    0  24900    900 \n\
0, 2, 00000000:0B:00.0, P0, 0x0000000000000000, [N/A], 41, 31002, [N/A], 1410, 1215, 61, 60, 4, 16\n\
1, 2, 00000000:13:00.0, P8, 0x0000000000000001, 0, 0, 4, 31.50, 210, 1215, 33, N/A, 1, 16\n";

fn rows(text: &str) -> Vec<Measured> {
    let mut parser = StreamParser::new(&TargetId::new("g"), "c0ffee");
    let mut number = 0;
    let events = text.lines().enumerate().filter_map(|(place, line)| {
        let at = Timestamp::from_millisecond(1_000 + 100 * i64::try_from(place).expect("few lines")).expect("a time");
        parser.line(line, at, || {
            number += 1;
            number
        })
    });
    events
        .filter_map(|event| match event {
            Event::Row(row) => Some(*row),
            Event::Ready | Event::Nothing(_) => None,
        })
        .collect()
}

/// What a row says of a measure: a number, `gap`, or `nothing` where it does not know it.
fn value(row: &Measured, gpu: &str, measure: Measure) -> String {
    let gpu = Entity::Gpu(Text::new(gpu));
    let mut all = row.gauges.iter();
    match all.find(|gauge| gauge.entity == gpu && gauge.name.as_str() == measure.name()) {
        Some(gauge) => gauge.value.map_or_else(|| "gap".to_owned(), |value| value.to_string()),
        None => "nothing".to_owned(),
    }
}

const FIRST: &str = "0000:0b:00.0";
const SECOND: &str = "0000:13:00.0";

#[test]
fn a_round_of_all_gpus_is_one_row_with_what_other_tables_said() {
    let rows = rows(STREAM);
    assert_eq!(rows.len(), 2);
    let first = &rows[0];
    assert_eq!(value(first, FIRST, Measure::GpuUse), "98");
    assert_eq!(value(first, FIRST, Measure::GpuMemoryUsed), "32507953152");
    assert_eq!(value(first, FIRST, Measure::PcieReceived), "24810000000");
    assert_eq!(value(first, FIRST, Measure::ClockReasonBits), "72");
    assert_eq!(value(first, FIRST, Measure::SmActive), "nothing", "nobody asked DCGM yet");
    assert_eq!(value(first, SECOND, Measure::MemoryTemperature), "gap", "N/A is a gap and no zero");
    assert_eq!(value(first, SECOND, Measure::PcieGenerationNow), "1");
    let second = &rows[1];
    assert_eq!(value(second, FIRST, Measure::SmActive), "31");
    assert_eq!(value(second, FIRST, Measure::PcieReceivedWhole), "26803341312");
    assert_eq!(value(second, SECOND, Measure::GraphicsActive), "gap");
    assert_eq!(value(second, FIRST, Measure::GpuUse), "gap");
    assert_eq!(value(second, FIRST, Measure::Power), "gap");
    assert_eq!(second.period, Duration::from_millis(700));
    let reasons = |row: &Measured, gpu: &str| {
        let fact = row
            .facts
            .iter()
            .find(|fact| fact.attribute == Attribute::ClockReasons && fact.entity == Entity::Gpu(Text::new(gpu)));
        fact.map(|fact| fact.reading.state.clone())
    };
    let names = |names: &[&str]| State::Known(Value::List(names.iter().map(|name| Text::new(name)).collect()));
    assert_eq!(reasons(first, FIRST), Some(names(&["hardware slowdown", "hardware thermal"])));
    assert_eq!(reasons(second, FIRST), Some(State::Empty));
}

#[test]
fn the_names_of_older_releases_mean_the_same() {
    let old =
        STREAM.replace("clocks_event_reasons", "clocks_throttle_reasons").replace("gen.gpucurrent", "gen.current");
    let (new, old) = (rows(STREAM), rows(&old));
    for (new, old) in new.iter().zip(&old) {
        assert_eq!(new.gauges, old.gauges);
    }
}

#[test]
fn a_table_that_went_silent_leaves_gaps() {
    let mut text = STREAM.to_owned();
    for _ in 0..30 {
        text.push_str(
            "0, 2, 00000000:0B:00.0, P0, 0x0000000000000000, 97, 41, 31002, 180, 1410, 1215, 61, 60, 4, 16\n",
        );
        text.push_str("1, 2, 00000000:13:00.0, P8, 0x0000000000000001, 0, 0, 4, 31.50, 210, 1215, 33, N/A, 1, 16\n");
    }
    let rows = rows(&text);
    let last = rows.last().expect("rows");
    assert_eq!(value(last, FIRST, Measure::GpuUse), "97");
    assert_eq!(value(last, FIRST, Measure::PcieReceived), "gap");
    assert_eq!(value(last, FIRST, Measure::SmActive), "gap");
}

#[test]
fn rows_that_were_torn_say_nothing_and_a_lost_gpu_ends_a_round() {
    let torn = STREAM.replace("0, 2, 00000000:0B:00.0, P0, 0x0000000000000048, 98, 41,", "0, 2, 00000000:0B:0");
    let rows_of = rows(&torn);
    assert_eq!(value(&rows_of[0], FIRST, Measure::GpuUse), "nothing");
    assert_eq!(value(&rows_of[0], SECOND, Measure::GpuUse), "0");
    let alone: String = STREAM.split_inclusive('\n').filter(|line| !line.contains("13:00.0")).collect();
    assert_eq!(rows(&alone).len(), 1, "the second row of the first GPU ends its first round");
}

#[test]
fn a_guest_without_a_gpu_says_why() {
    let mut parser = StreamParser::new(&TargetId::new("g"), "c0ffee");
    let event = parser.line("c0ffee N No devices were found", Timestamp::UNIX_EPOCH, || 1);
    assert_eq!(event, Some(Event::Nothing(Text::new("No devices were found"))));
    assert_eq!(parser.line("c0ffee R", Timestamp::UNIX_EPOCH, || 1), Some(Event::Ready));
}

#[test]
fn the_block_holds_its_nonce_and_every_list_of_fields() {
    let block = super::super::block("c0f'fee\n");
    assert!(block.contains("n='c0ffee'"));
    for fields in FIELDS {
        assert!(block.contains(&format!("'{fields}'")), "{block}");
    }
    assert!(!block.contains('@'), "{block}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn damaged_streams_are_survived(text in mutated_texts(&[STREAM])) {
        for row in rows(&text) {
            assert_clean(&row.facts)?;
            let lines = row.observation.as_ref().map_or(0, |seen| seen.stdout.lines().count());
            for fact in &row.facts {
                prop_assert!(fact.reading.line as usize <= lines, "{fact:?} points beyond its text");
            }
            for gauge in &row.gauges {
                prop_assert!(gauge.value.is_none_or(|value| value.is_finite() && value >= 0.0), "{gauge:?}");
            }
        }
    }
}
