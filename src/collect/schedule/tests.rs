//! What is due when, over hours of time that is only counted.

mod host;

use std::collections::BTreeSet;

use super::super::window::{MOST_WORK, WINDOW};
use super::*;
use crate::probe::{Pace, Rhythm};

fn probes() -> Vec<Probe> {
    [Pace::Fast, Pace::Medium, Pace::Slow]
        .map(|pace| Probe {
            name: "p",
            title: "",
            privilege_adds: "",
            pace,
            rhythm: Rhythm::PACE,
            sources: &[],
            parse: |_| vec![],
        })
        .to_vec()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Runs batches of so many items that take so long until `until`; gives when each began and what it read.
fn run(schedule: &mut Schedule, length: impl Fn(u32) -> Duration, until: Duration) -> Vec<(Duration, Vec<usize>)> {
    let mut batches = Vec::new();
    let mut now = Duration::ZERO;
    while let Some(began) = schedule.next(now).map(|at| at.max(now)).filter(|&at| at <= until) {
        let due = schedule.take(began);
        assert!(!due.is_empty());
        let count = u32::try_from(due.len()).expect("few");
        for &index in &due {
            schedule.read(index, began, length(count) / count, false);
        }
        now = began + length(count);
        schedule.ended(began, now);
        batches.push((began, due));
    }
    batches
}

#[test]
fn the_first_batch_reads_everything_and_then_each_its_pace() {
    let batches = run(&mut Schedule::new(&probes()), |_| Duration::from_millis(200), seconds(600));
    assert_eq!(batches[0], (Duration::ZERO, vec![0, 1, 2]));
    assert_eq!(batches[1], (seconds(5), vec![0]));
    let count = |index| batches.iter().filter(|(_, due)| due.contains(&index)).count();
    assert_eq!((count(0), count(1), count(2)), (121, 21, 3));
}

#[test]
fn a_slow_target_rests_as_long_as_it_worked() {
    let batches = run(&mut Schedule::new(&probes()), |_| seconds(8), seconds(100));
    for pair in batches.windows(2) {
        assert!(pair[1].0 >= pair[0].0 + seconds(16), "{pair:?}");
    }
}

#[test]
fn what_is_asked_for_is_read_at_once() {
    let mut schedule = Schedule::new(&probes());
    run(&mut schedule, |_| seconds(8), Duration::ZERO);
    schedule.read_all();
    assert_eq!(schedule.next(Duration::ZERO), Some(Duration::ZERO));
    assert_eq!(schedule.take(seconds(9)), [0, 1, 2]);
}

#[test]
fn what_was_late_comes_last() {
    let mut schedule = Schedule::new(&probes());
    schedule.read(0, Duration::ZERO, Duration::ZERO, true);
    assert!(schedule.items[0].due >= seconds(60));
    schedule.read_all();
    assert_eq!(schedule.take(Duration::ZERO), [1, 2, 0]);
}

#[test]
fn what_presses_most_comes_first() {
    let mut probes = probes();
    probes.reverse();
    assert_eq!(Schedule::new(&probes).take(Duration::ZERO), [2, 1, 0]);
}

fn many(count: usize, pace: Pace) -> Vec<Probe> {
    vec![
        Probe { name: "p", title: "", privilege_adds: "", pace, rhythm: Rhythm::PACE, sources: &[], parse: |_| vec![] };
        count
    ]
}

/// The most work of any ten minutes that begin or end with a batch, by these times at which batches began and ended.
fn most_work(batches: &[(Duration, Duration)]) -> Duration {
    let within = |from: Duration| -> Duration {
        let inside = |&(began, ended): &(Duration, Duration)| ended.min(from + WINDOW).saturating_sub(began.max(from));
        batches.iter().map(inside).sum()
    };
    let froms = batches.iter().flat_map(|&(began, ended)| [began, ended.saturating_sub(WINDOW)]);
    froms.map(within).max().expect("some")
}

#[test]
fn a_spared_host_works_at_most_a_minute_in_ten() {
    for (milliseconds, count) in [(20, 3), (200, 20), (700, 20), (1500, 20), (5000, 5)] {
        let mut probes = many(count, Pace::Fast);
        probes.extend(many(count, Pace::Medium));
        probes.extend(many(count, Pace::Slow));
        let length = |count: u32| Duration::from_millis(milliseconds) * count;
        let batches = run(&mut Schedule::sparing(&probes), length, Duration::from_hours(16));
        let times: Vec<_> = batches
            .iter()
            .map(|(began, due)| (*began, *began + length(u32::try_from(due.len()).expect("few"))))
            .collect();
        assert!(most_work(&times) <= MOST_WORK, "{milliseconds}: {:?}", most_work(&times));
        // And nobody starves, however long it takes where so much is to be read so often.
        let later = batches.iter().filter(|(began, _)| *began > Duration::from_hours(2));
        let read: BTreeSet<usize> = later.flat_map(|(_, due)| due.clone()).collect();
        assert_eq!(read.len(), probes.len(), "{milliseconds} ms");
        // Without a governor the same is more.
        let all = run(&mut Schedule::new(&probes), length, Duration::from_mins(20));
        let all: Vec<_> =
            all.iter().map(|(began, due)| (*began, *began + length(u32::try_from(due.len()).expect("few")))).collect();
        assert!(milliseconds < 200 || most_work(&all) > MOST_WORK * 2, "{milliseconds}: {:?}", most_work(&all));
    }
}

#[test]
fn what_is_asked_of_a_spared_host_is_read_at_once_and_paid_for() {
    let mut schedule = Schedule::sparing(&many(20, Pace::Fast));
    let batches = run(&mut schedule, |_| seconds(4), seconds(4));
    assert_eq!(batches.iter().map(|(_, due)| due.len()).collect::<Vec<_>>(), [6, 14]);
    assert_eq!(schedule.next(seconds(8)), Some(seconds(8 + 40 + 32)));
    schedule.read_all();
    assert_eq!(schedule.next(seconds(8)), Some(seconds(8)));
    for began in [10, 14] {
        let due = schedule.take(seconds(began));
        assert!(!due.is_empty());
        for index in due {
            schedule.read(index, seconds(began), Duration::from_millis(200), false);
        }
        schedule.ended(seconds(began), seconds(began + 4));
    }
    assert_eq!(schedule.next(seconds(18)), Some(seconds(18 + 40 + 32)));
}

#[test]
fn under_load_the_slow_ones_go_first() {
    let mut probes = many(1, Pace::Fast);
    probes.extend(many(1, Pace::Slow));
    let mut schedule = Schedule::sparing(&probes);
    let mut batch = |began: u64, length: u64| {
        let due = schedule.take(seconds(began));
        for &index in &due {
            schedule.read(index, seconds(began), seconds(1), false);
        }
        schedule.ended(seconds(began), seconds(began + length));
        due
    };
    assert_eq!(batch(0, 3), [0, 1]);
    assert_eq!(batch(50, 3), [0]);
    assert_eq!(batch(290, 6), [0], "it takes much longer than before");
    assert_eq!(batch(430, 3), [0], "the slow one is put off");
    assert_eq!(batch(700, 3), [0, 1], "and comes back when the host is at ease");
}

#[test]
fn a_batch_that_read_nothing_of_a_spared_host_is_followed_by_a_rest() {
    let mut schedule = Schedule::sparing(&many(1, Pace::Fast));
    assert_eq!(schedule.take(Duration::ZERO), [0]);
    schedule.ended(Duration::ZERO, seconds(50));
    assert_eq!(schedule.next(seconds(50)), Some(seconds(50 + 500)));
}

#[test]
fn nothing_to_read_is_never_due() {
    assert_eq!(Schedule::new(&[]).next(Duration::ZERO), None);
}
