//! What is due when, over hours of time that is only counted.

use std::collections::BTreeMap;

use super::*;
use crate::probe::esxi::PROBES;
use crate::probe::{Listing, Pace, Read, Source, Word};

fn probes() -> Vec<Probe> {
    [Pace::Fast, Pace::Medium, Pace::Slow]
        .map(|pace| Probe { name: "p", title: "", privilege_adds: "", pace, sources: &[], parse: |_| vec![] })
        .to_vec()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Runs batches of `length` until `until`; gives when each began and what it read.
fn run(schedule: &mut Schedule, length: Duration, until: Duration) -> Vec<(Duration, Vec<usize>)> {
    let mut batches = Vec::new();
    let mut now = Duration::ZERO;
    while let Some(began) = schedule.next().map(|at| at.max(now)).filter(|&at| at <= until) {
        let due = schedule.take(began);
        assert!(!due.is_empty());
        for &index in &due {
            schedule.read(index, began, false);
        }
        now = began + length;
        schedule.ended(began, now);
        batches.push((began, due));
    }
    batches
}

#[test]
fn the_first_batch_reads_everything_and_then_each_its_pace() {
    let batches = run(&mut Schedule::new(&probes()), Duration::from_millis(200), seconds(600));
    assert_eq!(batches[0], (Duration::ZERO, vec![0, 1, 2]));
    assert_eq!(batches[1], (seconds(5), vec![0]));
    let count = |index| batches.iter().filter(|(_, due)| due.contains(&index)).count();
    assert_eq!((count(0), count(1), count(2)), (121, 21, 3));
}

#[test]
fn a_slow_target_rests_as_long_as_it_worked() {
    let batches = run(&mut Schedule::new(&probes()), seconds(8), seconds(100));
    for pair in batches.windows(2) {
        assert!(pair[1].0 >= pair[0].0 + seconds(16), "{pair:?}");
    }
}

#[test]
fn what_is_asked_for_is_read_at_once() {
    let mut schedule = Schedule::new(&probes());
    run(&mut schedule, seconds(8), Duration::ZERO);
    schedule.read_all(Duration::ZERO);
    assert_eq!(schedule.next(), Some(Duration::ZERO));
    assert_eq!(schedule.take(seconds(9)), [0, 1, 2]);
}

#[test]
fn what_was_late_comes_last() {
    let mut schedule = Schedule::new(&probes());
    schedule.read(0, Duration::ZERO, true);
    assert!(schedule.items[0].due >= seconds(60));
    schedule.read_all(Duration::ZERO);
    assert_eq!(schedule.take(Duration::ZERO), [1, 2, 0]);
}

#[test]
fn what_presses_most_comes_first() {
    let mut probes = probes();
    probes.reverse();
    assert_eq!(Schedule::new(&probes).take(Duration::ZERO), [2, 1, 0]);
}

fn many(count: usize, pace: Pace) -> Vec<Probe> {
    vec![Probe { name: "p", title: "", privilege_adds: "", pace, sources: &[], parse: |_| vec![] }; count]
}

/// Seconds of work between two times.
fn work(batches: &[(Duration, Vec<usize>)], length: Duration, from: Duration, to: Duration) -> f64 {
    let spent = |began: Duration| (began + length).min(to).saturating_sub(began.max(from));
    batches.iter().map(|(began, _)| spent(*began).as_secs_f64()).sum()
}

#[test]
fn a_spared_host_works_a_tenth_of_its_time() {
    for (milliseconds, count) in [(100, 3), (700, 20), (8000, 60), (30_000, 15)] {
        let mut probes = many(count, Pace::Fast);
        probes.extend(many(count, Pace::Medium));
        probes.extend(many(count, Pace::Slow));
        let length = Duration::from_millis(milliseconds);
        let batches = run(&mut Schedule::sparing(&probes), length, seconds(7200));
        // The first reads follow one another; as long as they are not paid for, every rest is twice as long.
        let first = (3 * count).div_ceil(governor::MOST_COST);
        assert!(batches.len() > first);
        let of = |times: usize| length * u32::try_from(times).expect("few");
        let paid = of(20 * first);
        assert_eq!(batches[first].0, (of(first) + of(9) + of(9 * (first - 1)).min(of(10))).max(seconds(5)));
        for pair in batches.windows(2).skip(first) {
            let rest = pair[1].0.saturating_sub(pair[0].0);
            assert!(rest >= if pair[1].0 + of(43) <= paid { of(20) } else { of(10) }, "{pair:?}");
        }
        let end = batches.last().expect("some").0;
        assert!(end > paid);
        assert!(work(&batches, length, Duration::ZERO, end) <= end.as_secs_f64() * 0.1001, "from the start");
        // Once the first reads are paid for: at most a minute in any ten.
        let steady = batches[first].0;
        for (began, _) in batches.iter().filter(|(began, _)| *began >= paid) {
            let to = *began + seconds(600);
            assert!(work(&batches, length, *began, to) <= 60.0 + length.as_secs_f64(), "{began:?} after {steady:?}");
        }
        // And nobody starves, however long it takes where so much is to be read so often.
        let days = run(&mut Schedule::sparing(&probes), length, Duration::from_hours(96));
        let read: std::collections::BTreeSet<usize> =
            days.iter().skip(first).flat_map(|(_, due)| due.clone()).collect();
        assert_eq!(read.len(), probes.len(), "{milliseconds} ms");
    }
}

#[test]
fn what_is_asked_of_a_spared_host_is_read_at_once_and_paid_for() {
    let mut schedule = Schedule::sparing(&many(20, Pace::Fast));
    let batches = run(&mut schedule, seconds(4), seconds(4));
    assert_eq!(batches.iter().map(|(_, due)| due.len()).collect::<Vec<_>>(), [16, 4]);
    assert_eq!(schedule.next(), Some(seconds(8 + 36 + 36)));
    schedule.read_all(Duration::ZERO);
    assert_eq!(schedule.next(), Some(Duration::ZERO));
    for began in [10, 14] {
        let due = schedule.take(seconds(began));
        assert!(!due.is_empty());
        for index in due {
            schedule.read(index, seconds(began), false);
        }
        schedule.ended(seconds(began), seconds(began + 4));
    }
    assert_eq!(schedule.next(), Some(seconds(18 + 36 + 40)), "sixteen seconds of work are paid for in two parts");
    schedule.take(seconds(94));
    schedule.ended(seconds(94), seconds(98));
    assert_eq!(schedule.next(), Some(seconds(98 + 36 + 40)));
}

#[test]
fn under_load_the_slow_ones_go_first() {
    let mut probes = many(1, Pace::Fast);
    probes.extend(many(1, Pace::Slow));
    let mut schedule = Schedule::sparing(&probes);
    let mut batch = |began: u64, length: u64| {
        let due = schedule.take(seconds(began));
        for &index in &due {
            schedule.read(index, seconds(began), false);
        }
        schedule.ended(seconds(began), seconds(began + length));
        due
    };
    assert_eq!(batch(0, 3), [0, 1]);
    assert_eq!(batch(50, 3), [0]);
    assert_eq!(batch(290, 20), [0], "it takes much longer than before");
    assert_eq!(batch(600, 3), [0], "the slow one is put off");
    assert_eq!(batch(700, 3), [0, 1], "and comes back when the host is at ease");
}

#[test]
fn a_batch_that_read_nothing_of_a_spared_host_is_followed_by_a_rest() {
    let mut schedule = Schedule::sparing(&many(1, Pace::Fast));
    assert_eq!(schedule.take(Duration::ZERO), [0]);
    schedule.ended(Duration::ZERO, seconds(90));
    assert_eq!(schedule.next(), Some(seconds(900)));
}

/// What a command costs that starts an interpreter and asks the agent of the host, and any other one.
const AGENT: Duration = Duration::from_millis(700);
const OTHER: Duration = Duration::from_millis(10);

/// How long a source takes on a host with four adapters, two RDMA devices and three VMs.
fn takes(source: &Source) -> Duration {
    let of = |program: &str| if matches!(program, "esxcli" | "vim-cmd") { AGENT } else { OTHER };
    let first = |argv: &[Word]| match argv.first() {
        Some(Word::Plain(program)) => of(program),
        _ => OTHER,
    };
    match &source.read {
        Read::Each { of: listing, argv, .. } => {
            let count = match listing {
                Listing::Uplinks => 4,
                Listing::RdmaDevices => 2,
                Listing::SriovUplinks => 1,
                Listing::Drivers | Listing::Vms | Listing::VmxFiles | Listing::VmDirectories => 3,
            };
            of(listing.command().0[0]) + first(argv) * count
        }
        Read::Command { argv, .. } | Read::Privileged { argv, .. } => first(argv),
        Read::Files(_) | Read::ProcessFiles { .. } | Read::Environment(_) => OTHER,
    }
}

/// When the probes of a host are read: for each item the times at which a read began and ended.
struct Played {
    reads: BTreeMap<(&'static str, bool), Vec<(Duration, Duration)>>,
    batches: Vec<(Duration, Duration)>,
}

fn played(until: Duration) -> Played {
    let mut schedule = Schedule::sparing(PROBES);
    let mut played = Played { reads: BTreeMap::new(), batches: Vec::new() };
    let mut now = Duration::ZERO;
    while let Some(began) = schedule.next().map(|at| at.max(now)).filter(|&at| at <= until) {
        let due = schedule.take(began);
        assert!(!due.is_empty());
        now = began;
        for &index in &due {
            let (place, part) = schedule.item(index).expect("an item");
            let probe = &PROBES[place];
            let read = |source: &&Source| part == Part::Whole || rhythm::is_leading(probe, source);
            now += probe.sources.iter().filter(read).map(takes).sum::<Duration>();
            schedule.read(index, began, false);
            let mut note = |leading| played.reads.entry((probe.name, leading)).or_default().push((began, now));
            if part == Part::Whole {
                note(false);
            }
            if part == Part::Leading || rhythm::has_leading(probe) {
                note(true);
            }
        }
        schedule.ended(began, now);
        played.batches.push((began, now));
    }
    played
}

impl Played {
    /// The oldest that what an item says becomes, in seconds, of all reads that begin between these two times.
    fn oldest(&self, item: (&str, bool), from: u64, to: u64) -> u64 {
        let reads = self.reads.iter().find(|((name, leading), _)| (*name, *leading) == item).expect("it is read").1;
        let ages = reads.windows(2).filter(|pair| pair[1].0 >= seconds(from) && pair[1].0 <= seconds(to));
        ages.map(|pair| pair[1].1.saturating_sub(pair[0].0).as_secs()).max().expect("more than one read")
    }
}

#[test]
fn what_presses_comes_round_soon_and_nothing_starves() {
    const FAST: [(&str, bool); 9] = [
        ("esxi.rdma", true),
        ("esxi.nics", true),
        ("esxi.vms", true),
        ("esxi.advanced-settings", true),
        ("esxi.pci", true),
        ("esxi.dcb", false),
        ("esxi.firewall", false),
        ("esxi.net-dvs", false),
        ("esxi.vmkernel-log", false),
    ];
    const COUNTERS: [(&str, bool); 3] =
        [("esxi.rdma-statistics", false), ("esxi.nic-statistics", false), ("esxi.nic-private-statistics", false)];
    let end = 6 * 3600;
    let played = played(seconds(end));
    let work = |until: Duration| {
        let of = |&(began, ended): &(Duration, Duration)| ended.min(until).saturating_sub(began);
        played.batches.iter().map(of).sum::<Duration>()
    };
    // Everything is read at once, then what presses once more, and that is paid for within half an hour.
    let items = Schedule::sparing(PROBES).items.len();
    assert_eq!(played.reads.len(), items);
    let first = played.reads.values().map(|reads| reads[0].1).max().expect("some");
    assert!(first <= seconds(60), "{first:?}");
    for item in FAST {
        let (began, _) = played.reads[&item][1];
        assert!((first..first + seconds(12)).contains(&began), "{item:?} at {began:?}");
    }
    assert!(work(seconds(600)) <= seconds(100), "{:?}", work(seconds(600)));
    for (began, _) in played.batches.iter().filter(|(began, _)| *began > seconds(1800)) {
        assert!(work(*began) * 10 <= *began, "{began:?}");
        assert!(work(*began + seconds(600)) <= work(*began) + seconds(70), "{began:?}");
    }
    for (item, most) in FAST.map(|item| (item, 240)).into_iter().chain(COUNTERS.map(|item| (item, 1500))) {
        let oldest = played.oldest(item, 0, end);
        assert!(oldest <= most, "{item:?}: {oldest} s");
    }
    for item in played.reads.keys() {
        let oldest = played.oldest(*item, 0, end);
        assert!(oldest <= 3600, "{item:?}: {oldest} s");
    }
}

#[test]
fn what_hangs_on_a_change_is_read_next_and_whole() {
    let place = |name: &str| PROBES.iter().position(|probe| probe.name == name).expect("a probe");
    let mut schedule = Schedule::sparing(PROBES);
    let mut now = Duration::ZERO;
    let mut batch = |schedule: &mut Schedule| {
        let began = schedule.next().expect("something").max(now);
        let due = schedule.take(began);
        let items: Vec<(usize, Part)> = due.iter().filter_map(|&index| schedule.item(index)).collect();
        for index in due {
            schedule.read(index, began, false);
        }
        now = began + seconds(3);
        schedule.ended(began, now);
        (began, items)
    };
    while schedule.governor.as_ref().is_some_and(Governor::is_passing) {
        batch(&mut schedule);
    }
    let began = (0..10)
        .map(|_| batch(&mut schedule))
        .find_map(|(began, items)| items.contains(&(place("esxi.vms"), Part::Leading)).then_some(began))
        .expect("what leads is read soon");
    for name in ["esxi.vms", "esxi.vmx"] {
        schedule.hurry(place(name));
    }
    let (next, items) = batch(&mut schedule);
    assert_eq!(next, began + seconds(3), "without a rest");
    assert_eq!(items, [(place("esxi.vms"), Part::Whole)]);
    assert_eq!(batch(&mut schedule).1, [(place("esxi.vmx"), Part::Whole)]);
    assert!(batch(&mut schedule).0 > next + seconds(60), "and that is paid for");
}

#[test]
fn nothing_to_read_is_never_due() {
    assert_eq!(Schedule::new(&[]).next(), None);
}
