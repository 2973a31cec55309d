//! A recorded run of perftest, again: where nothing was changed nothing is called, and a cap is.

use std::collections::BTreeMap;

use super::around::{Around, compare};
use super::{Better, LEVEL, Verdict};

const RECORDED: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tune/softroce-cap.csv"));

/// So many rates at the begin of a segment are left out: the queue settles.
const SETTLING: usize = 2;

/// One segment of one repeat of one run.
type Segment = (u32, u32, &'static str);

/// The rates of each segment, in bytes a second.
fn rates() -> BTreeMap<Segment, Vec<f64>> {
    let mut readings: BTreeMap<Segment, Vec<(f64, f64)>> = BTreeMap::new();
    for line in RECORDED.lines().skip(1) {
        let fields: Vec<&'static str> = line.split(',').collect();
        let number = |place: usize| fields[place].parse::<f64>().expect(line);
        let whole = |place: usize| fields[place].parse::<u32>().expect(line);
        readings.entry((whole(0), whole(4), fields[5])).or_default().push((number(1), number(2)));
    }
    let rate = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
    readings
        .into_iter()
        .map(|(segment, readings)| (segment, readings.windows(2).skip(SETTLING).map(rate).collect()))
        .collect()
}

/// What is said of each repeat in which this was done between two A.
fn verdicts(done: &'static str) -> Vec<Verdict> {
    let rates = rates();
    let segment = |run: u32, repeat: u32, name: &'static str| rates.get(&(run, repeat, name));
    let repeats = [(1, 1..=18), (2, 1..=2)].into_iter().flat_map(|(run, all)| all.map(move |repeat| (run, repeat)));
    repeats
        .map(|(run, repeat)| {
            let (before, after) = if done == "same" {
                (segment(run, repeat, "A1"), segment(run, repeat, "A2"))
            } else {
                (segment(run, repeat, "A2"), segment(run, repeat + 1, "A1"))
            };
            let changed = segment(run, repeat, done);
            let (Some(before), Some(changed), Some(after)) = (before, changed, after) else { panic!("{run} {repeat}") };
            match compare(before, changed, after).expect("there are samples enough") {
                Around::Compared(found) => found.verdict(Some(Better::Higher), LEVEL),
                Around::Drifted(_) => Verdict::Drifted,
            }
        })
        .collect()
}

#[test]
fn without_a_change_no_difference_is_seen() {
    let verdicts = verdicts("same");
    let none = verdicts.iter().filter(|verdict| **verdict == Verdict::NoDifference).count();
    assert!(verdicts.len() == 20 && none >= 19, "{none} of 20: {verdicts:?}");
}

#[test]
fn a_cap_of_a_tenth_is_called() {
    let verdicts = verdicts("cap");
    let called = verdicts.iter().filter(|verdict| **verdict == Verdict::Worse).count();
    assert!(verdicts.len() == 20 && called >= 18, "{called} of 20: {verdicts:?}");
    assert!(!verdicts.contains(&Verdict::Better), "{verdicts:?}");
}
