//! The probes of a host, read at what their commands cost there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;
use crate::collect::lanes::{self, Next, Queue};
use crate::probe::dialect::posix::Listed;
use crate::probe::esxi::PROBES;
use crate::probe::{Listing, Read, Source, Word};

/// What a command costs that starts an interpreter and asks the agent of the host, and any other one.
const AGENT: Duration = Duration::from_millis(700);
const OTHER: Duration = Duration::from_millis(10);

/// How long a source takes on a host with four adapters, two RDMA devices and three VMs; `listed` is what its shell knows
/// already of what several sources read.
fn takes(source: &Source, listed: &mut BTreeSet<usize>) -> Duration {
    let is_known = source.read.shared().is_some_and(|shared| !listed.insert(shared));
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
                Listing::FrontPorts => 32,
            };
            (if is_known { OTHER } else { of(listing.command().0[0]) }) + first(argv) * count
        }
        Read::Command { .. } if is_known => OTHER,
        Read::Command { argv, .. } | Read::Privileged { argv, .. } => first(argv),
        Read::Files(_) | Read::ProcessFiles { .. } | Read::Environment(_) => OTHER,
    }
}

/// What such a host lists: of each list of [`SHARED`] as many names as it has things.
fn listing(place: usize) -> Arc<str> {
    let rows = |row: &str, count: usize| format!("---\n{}", row.repeat(count));
    Arc::from(match place {
        0 => rows("vmnic0 x\n", 4),
        1 => rows("vmrdma0 x\n", 2),
        2 => rows("vmnic0 x\n", 1),
        3 => rows("vrdma true true\n", 3),
        4 => rows("1  a  [d] a/a.vmx  other  vmx-19\n", 3),
        _ => String::from("---\n"),
    })
}

/// How long a list is known, as the connection has it.
const FRESH: Duration = Duration::from_secs(30);

/// How long each of the sources of one batch takes, how long all of them take side by side, and how long one after the other.
/// Lists that are known are not read again; those that it reads are known after it.
fn batch(sources: &[Source], listed: &mut Listed) -> (Vec<Duration>, Duration, Duration) {
    let mut queue = Queue::new(sources, lanes::MOST);
    let mut each = vec![Duration::ZERO; sources.len()];
    // Of each shell that works: until when, and at what.
    let mut shells: Vec<(Duration, Vec<usize>)> = vec![(Duration::ZERO, Vec::new()); queue.shells()];
    let (mut length, mut worked) = (Duration::ZERO, Duration::ZERO);
    while let Some(free) = (0..shells.len()).min_by_key(|&shell| (shells[shell].0, shell)) {
        let now = shells[free].0;
        for (until, places) in &mut shells {
            if *until <= now {
                let read = places.iter().map(|&place| &sources[place].read);
                let lists = read.filter(|read| !matches!(read, Read::Each { .. })).filter_map(Read::shared);
                listed.extend(lists.map(|place| (place, listing(place))));
                queue.ended(&std::mem::take(places));
            }
        }
        match queue.next(listed) {
            Next::Read(places) => {
                let mut own: BTreeSet<usize> = listed.keys().copied().collect();
                let began = now;
                let mut until = now;
                for &place in &places {
                    // Who reads a list reads it, whoever read it before.
                    let read = &sources[place].read;
                    if let (Read::Command { .. }, Some(shared)) = (read, read.shared()) {
                        own.remove(&shared);
                    }
                    each[place] = takes(&sources[place], &mut own);
                    until += each[place];
                }
                worked += until.saturating_sub(began);
                length = length.max(until);
                shells[free] = (until, places);
            }
            Next::Wait => {
                let next = shells.iter().map(|(until, _)| *until).filter(|until| *until > now).min();
                shells[free].0 = next.expect("a list is being read");
            }
            Next::Done => drop(shells.remove(free)),
        }
    }
    (each, length, worked)
}

/// When the probes of a host are read: for each item the times at which a read began and ended.
#[derive(Default)]
struct Played {
    reads: BTreeMap<(&'static str, bool), Vec<(Duration, Duration)>>,
    batches: Vec<(Duration, Duration)>,
    /// The same as if its shells had worked one after the other.
    work: Vec<(Duration, Duration)>,
    /// Nothing is read before.
    up_from: Duration,
    /// When lists were read last.
    lists: BTreeMap<usize, Duration>,
}

impl Played {
    /// Plays on until then; what `changes` says of a probe that was just read brings on all that hangs on it.
    fn on(&mut self, schedule: &mut Schedule, until: Duration, changes: impl Fn(&Probe, Duration) -> bool) {
        let mut now = self.batches.last().map_or(Duration::ZERO, |&(_, ended)| ended).max(self.up_from);
        while let Some(began) = schedule.next(now).map(|at| at.max(now)).filter(|&at| at < until) {
            let due = schedule.take(began);
            assert!(!due.is_empty());
            let mut changed: BTreeSet<&str> = BTreeSet::new();
            let (mut sources, mut owners) = (Vec::new(), Vec::new());
            for &index in &due {
                let (place, part) = schedule.item(index).expect("an item");
                let read = |source: &&Source| part == Part::Whole || rhythm::is_leading(&PROBES[place], source);
                let own: Vec<Source> = PROBES[place].sources.iter().filter(read).copied().collect();
                owners.extend(own.iter().map(|_| index));
                sources.extend(own);
            }
            let mut known = Listed::new();
            known.extend(
                self.lists.iter().filter(|(_, at)| **at + FRESH >= began).map(|(&place, _)| (place, listing(place))),
            );
            let before: BTreeSet<usize> = known.keys().copied().collect();
            let (each, length, worked) = batch(&sources, &mut known);
            now = began + length;
            let read = sources.iter().filter(|source| matches!(source.read, Read::Command { .. }));
            let again: BTreeSet<usize> = read.filter_map(|source| source.read.shared()).collect();
            let is_new = |place: &&usize| !before.contains(*place) || again.contains(*place);
            self.lists.extend(known.keys().filter(is_new).map(|&place| (place, now)));
            for &index in &due {
                let (place, part) = schedule.item(index).expect("an item");
                let probe = &PROBES[place];
                let own = owners.iter().zip(&each).filter(|(owner, _)| **owner == index);
                schedule.read(index, began, own.map(|(_, took)| *took).sum(), false);
                let mut note = |leading| self.reads.entry((probe.name, leading)).or_default().push((began, now));
                if part == Part::Whole {
                    note(false);
                }
                if part == Part::Leading || rhythm::has_leading(probe) {
                    note(true);
                }
                if changes(probe, now) {
                    changed.extend(probe.rhythm.then);
                }
            }
            schedule.ended_after(began, now, worked);
            self.batches.push((began, now));
            self.note_work(began, worked);
            for (place, _) in PROBES.iter().enumerate().filter(|(_, probe)| changed.contains(probe.name)) {
                schedule.hurry(place);
            }
        }
    }

    fn note_work(&mut self, began: Duration, length: Duration) {
        let began = self.work.last().map_or(began, |&(_, ended)| began.max(ended));
        self.work.push((began, began + length));
    }

    /// The oldest that what an item says becomes, in seconds, of all reads that begin between these two times.
    fn oldest(&self, item: (&str, bool), from: u64, to: u64) -> u64 {
        let reads = self.reads.iter().find(|((name, leading), _)| (*name, *leading) == item).expect("it is read").1;
        let ages = reads.windows(2).filter(|pair| pair[1].0 >= seconds(from) && pair[1].0 <= seconds(to));
        ages.map(|pair| pair[1].1.saturating_sub(pair[0].0).as_secs()).max().expect("more than one read")
    }
}

fn played(until: Duration) -> Played {
    let mut played = Played::default();
    played.on(&mut Schedule::sparing(PROBES), until, |_, _| false);
    played
}

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
/// Which VM a guest is, its adapter, the switch under that and its uplinks, RDMA devices, the adapter that is tagged for
/// PVRDMA, and the firewall.
const VERDICT: [(&str, bool); 8] = [
    ("esxi.vms", false),
    ("esxi.vm-config", false),
    ("esxi.net-dvs", false),
    ("esxi.vswitches", false),
    ("esxi.rdma", false),
    ("esxi.vmknics", false),
    ("esxi.advanced-settings", false),
    ("esxi.firewall", false),
];
const COUNTERS: [(&str, bool); 3] =
    [("esxi.rdma-statistics", false), ("esxi.nic-statistics", false), ("esxi.nic-private-statistics", false)];

#[test]
fn what_presses_comes_round_soon_and_nothing_starves() {
    let end = 6 * 3600;
    let played = played(seconds(end));
    let items = Schedule::sparing(PROBES).items.len();
    assert_eq!(played.reads.len(), items);
    // What the verdict about a pair of guests needs is there within ten seconds (of the fifteen that it may take), what
    // presses within fifteen, passthrough within five minutes, everything within twenty.
    let first = |item| played.reads[&item][0].1;
    for item in VERDICT {
        assert!(first(item) <= seconds(10), "{item:?}: {:?}", first(item));
    }
    for item in FAST {
        let most = if item.0 == "esxi.pci" { 300 } else { 15 };
        assert!(first(item) <= seconds(most), "{item:?}: {:?}", first(item));
    }
    for item in played.reads.keys() {
        assert!(first(*item) <= seconds(1200), "{item:?}: {:?}", first(*item));
        let oldest = played.oldest(*item, 0, end);
        assert!(oldest <= 3600, "{item:?}: {oldest} s");
    }
    // After all that was read at once for the first verdict the host has a rest: the first round after it comes a minute later.
    for item in FAST {
        let oldest = played.oldest(item, 0, 400);
        assert!(oldest <= 300, "{item:?}: {oldest} s");
    }
    let later = FAST.map(|item| (item, 400, 240)).into_iter();
    for (item, from, most) in later.chain(COUNTERS.map(|item| (item, 0, 1500))) {
        let oldest = played.oldest(item, from, end);
        assert!(oldest <= most, "{item:?}: {oldest} s");
    }
}

#[test]
fn everything_of_a_host_and_its_counters_twice_are_read_within_fifteen_seconds() {
    let all: Vec<Source> = PROBES.iter().flat_map(|probe| probe.sources.iter().copied()).collect();
    let mut listed = Listed::new();
    let (_, length, worked) = batch(&all, &mut listed);
    let shells = u32::try_from(lanes::MOST).expect("few");
    assert!(
        length <= worked / shells + AGENT * 3,
        "all shells are done at about the same time: {length:?} of {worked:?}"
    );
    let counting = PROBES.iter().filter(|probe| probe.counts());
    let counting: Vec<Source> = counting.flat_map(|probe| probe.sources.iter().copied()).collect();
    let (_, _, again) = batch(&counting, &mut listed);
    // Before all that the tool is timed.
    let takes = AGENT + length + again / shells;
    assert!(takes < seconds(14), "{takes:?}");
}

#[test]
fn no_ten_minutes_hold_more_than_a_minute_of_work() {
    let end = Duration::from_hours(6);
    assert!(most_work(&played(end).work) <= MOST_WORK);
    // Something changes all the time.
    let mut changing = Played::default();
    changing.on(&mut Schedule::sparing(PROBES), end, |_, _| true);
    assert!(most_work(&changing.work) <= MOST_WORK, "{:?}", most_work(&changing.work));
    // It changes now and then: what hangs on it is read at once as long as there is room.
    let (mut now_and_then, mut schedule) = (Played::default(), Schedule::sparing(PROBES));
    for minutes in (30..300).step_by(7) {
        now_and_then.on(&mut schedule, Duration::from_mins(minutes), |_, _| false);
        schedule.hurry(0);
    }
    assert!(most_work(&now_and_then.work) <= MOST_WORK);
}

/// Plays connections that hold for so long and come back after so long.
fn interrupted(up: Duration, down: Duration, end: Duration) -> Played {
    let (mut played, mut schedule) = (Played::default(), Schedule::sparing(PROBES));
    let mut until = up;
    while until < end {
        played.on(&mut schedule, until, |_, _| false);
        // One batch is caught in the middle.
        let (began, ended) = *played.batches.last().expect("some");
        let now = ended.max(until);
        if let Some(last) = schedule.next(now).filter(|&at| at < now + seconds(1)) {
            let due = schedule.take(last);
            let broken = last + schedule.length(&due).min(seconds(1));
            schedule.broken_off(broken);
            played.batches.push((last, broken));
            played.note_work(last, broken.saturating_sub(last));
        } else {
            schedule.broken_off(now);
        }
        assert!(began < until);
        let again = played.batches.last().expect("some").1.max(now) + down;
        schedule.connected_again(again, down);
        played.up_from = again;
        until = again + up;
    }
    played
}

#[test]
fn a_link_that_drops_costs_no_more_than_one_that_holds() {
    let end = Duration::from_hours(6);
    for (up, down) in [(20, 1), (45, 1), (180, 2), (180, 90), (400, 70), (700, 5)] {
        let played = interrupted(seconds(up), seconds(down), end);
        let most = most_work(&played.work);
        // What was never read may take longer than expected.
        assert!(most <= MOST_WORK + AGENT, "{up} s up, {down} s down: {most:?}");
        // And still nothing starves.
        for (item, reads) in &played.reads {
            assert!(reads.len() >= 3, "{up} s up, {down} s down: {item:?} {}", reads.len());
        }
        assert_eq!(played.reads.len(), Schedule::sparing(PROBES).items.len(), "{up} s up, {down} s down");
    }
}

#[test]
fn without_a_governor_or_without_its_memory_it_would_be_more() {
    let mut free = Played::default();
    free.on(&mut Schedule::new(PROBES), Duration::from_hours(1), |_, _| false);
    assert!(most_work(&free.work) > MOST_WORK * 4, "{:?}", most_work(&free.work));
    // A governor of each connection.
    let mut batches = Vec::new();
    for connection in 0..10 {
        let own = played(seconds(180));
        let from = seconds(180) * connection;
        batches.extend(own.work.iter().map(|&(began, ended)| (from + began, from + ended)));
    }
    assert!(most_work(&batches) * 2 > MOST_WORK * 3, "{:?}", most_work(&batches));
}

#[test]
fn what_somebody_asks_for_is_read_at_once_and_charged() {
    let (mut played, mut schedule) = (Played::default(), Schedule::sparing(PROBES));
    let asked = Duration::from_hours(1);
    played.on(&mut schedule, asked, |_, _| false);
    let before = played.batches.len();
    let now = played.batches[before - 1].1.max(asked);
    played.up_from = now;
    schedule.read_all();
    played.on(&mut schedule, now + seconds(60), |_, _| false);
    let of_it: Duration = played.work[before..].iter().map(|&(began, ended)| ended.saturating_sub(began)).sum();
    assert!(of_it >= seconds(45), "all of it: {of_it:?}");
    played.on(&mut schedule, asked * 3, |_, _| false);
    let all: Duration = played.work.iter().map(|&(began, ended)| ended.saturating_sub(began)).sum();
    assert!(all * 10 <= asked * 3, "{all:?}");
    let mut others = played.work.clone();
    others.retain(|&(began, _)| began < now || began >= now + seconds(60));
    assert!(most_work(&others) <= MOST_WORK, "{:?}", most_work(&others));
}

#[test]
fn what_hangs_on_a_change_is_read_next_and_whole() {
    let place = |name: &str| PROBES.iter().position(|probe| probe.name == name).expect("a probe");
    let (mut played, mut schedule) = (Played::default(), Schedule::sparing(PROBES));
    played.on(&mut schedule, Duration::from_hours(1), |_, _| false);
    let now = Duration::from_hours(1);
    for name in ["esxi.vms", "esxi.vmx"] {
        schedule.hurry(place(name));
    }
    let mut items = Vec::new();
    let mut last = now;
    for _ in 0..2 {
        let began = schedule.next(last).expect("something");
        let due = schedule.take(began);
        items.extend(due.iter().filter_map(|&index| schedule.item(index)));
        for index in due {
            schedule.read(index, began, seconds(1), false);
        }
        last = began + seconds(1);
        schedule.ended(began, last);
    }
    assert_eq!(items[..2], [(place("esxi.vms"), Part::Whole), (place("esxi.vmx"), Part::Whole)]);
    assert!(last <= now + seconds(120), "{last:?}");
    // Where the host has time for it they are read without a rest.
    let mut idle = Schedule::sparing(PROBES);
    let batches = run(&mut idle, |count| Duration::from_millis(2) * count, seconds(600));
    let (began, due) = batches.last().expect("some");
    let ended = *began + Duration::from_millis(2) * u32::try_from(due.len()).expect("few");
    idle.hurry(place("esxi.vmx"));
    assert_eq!(idle.next(ended), Some(ended));
    assert_eq!(
        idle.take(ended).iter().filter_map(|&index| idle.item(index)).collect::<Vec<_>>(),
        [(place("esxi.vmx"), Part::Whole)]
    );
}
