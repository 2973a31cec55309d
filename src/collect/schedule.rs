//! What is due when. Pure: time comes in as the time since the connection came up.
//!
//! What is read together is an item: a probe, or on a host that is to be spared the sources of a probe that lead (see
//! [`super::rhythm`]). There not all that is due can be read at once: what is latest, measured by its own period, comes
//! first, so that nothing starves and what has a short period comes round more often.

use std::time::Duration;

use super::governor::{self, Governor};
use super::rhythm;
use crate::probe::{Pace, Probe};

/// What is due this soon is read with what is due now, so that one batch serves both.
const TOGETHER: Duration = Duration::from_millis(500);

/// The shortest rest between two batches.
const REST: Duration = Duration::from_secs(1);

/// A probe that did not answer in time is not asked again before this: what hangs on the target may not pile up there.
const AFTER_LATE: Duration = Duration::from_mins(1);

/// While a host is under load, what is least pressing may become this many times its period old.
const OLDEST_UNDER_LOAD: u32 = 4;

/// When everything was read at once and that took this long, what presses is read once more: it was the first.
const LONG_PASS: Duration = Duration::from_secs(20);

/// That costs less than one part in so many of what all of it does.
const LITTLE: usize = 3;

/// How a probe is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// With all of its sources.
    Whole,
    /// Only with those that lead, after all of them were read.
    Leading,
}

/// One thing to read.
#[derive(Debug)]
struct Item {
    /// Place of its probe.
    probe: usize,
    part: Part,
    /// What comes first where everything is read.
    pace: Pace,
    period: Duration,
    cost: usize,
    /// Never as long as there is nothing that it could lead.
    due: Duration,
    late: bool,
    /// When it was read last.
    read: Option<Duration>,
}

impl Item {
    /// How late it is at `now`, in thousandths of its period.
    fn lateness(&self, now: Duration) -> u128 {
        now.saturating_sub(self.due).as_millis() * 1000 / self.period.as_millis().max(1)
    }
}

/// When each thing of one connection is due.
#[derive(Debug)]
pub struct Schedule {
    items: Vec<Item>,
    not_before: Duration,
    /// Of a host that is to be spared: the rest it is owed.
    governor: Option<Governor>,
    /// What the batch that runs now reads.
    taken: Vec<usize>,
    /// When everything began to be read at once, for as long as that goes on.
    passing: Option<Duration>,
}

impl Schedule {
    /// Everything is due at once.
    pub fn new(probes: &[Probe]) -> Self {
        let items = probes.iter().enumerate().map(|(place, probe)| Item {
            probe: place,
            part: Part::Whole,
            pace: probe.pace,
            period: Duration::from_secs(probe.pace.seconds()),
            cost: governor::cost(probe.sources),
            due: Duration::ZERO,
            late: false,
            read: None,
        });
        Self { items: items.collect(), not_before: Duration::ZERO, governor: None, taken: Vec::new(), passing: None }
    }

    /// The same for a target that is to be spared: a tenth of its time is for reads, a few probes a batch.
    pub fn sparing(probes: &[Probe]) -> Self {
        let mut schedule = Self::new(probes);
        for (place, probe) in probes.iter().enumerate() {
            schedule.items[place].period = rhythm::period_of_all(probe);
            if rhythm::has_leading(probe) {
                schedule.items[place].pace = Pace::Medium;
                schedule.items.push(Item {
                    probe: place,
                    part: Part::Leading,
                    pace: Pace::Medium,
                    period: rhythm::period(probe),
                    cost: governor::cost(probe.sources.iter().filter(|source| rhythm::is_leading(probe, source))),
                    due: Duration::MAX,
                    late: false,
                    read: None,
                });
            }
        }
        schedule.governor = Some(Governor::new(schedule.wholes()));
        schedule.passing = Some(Duration::ZERO);
        schedule
    }

    fn wholes(&self) -> Vec<usize> {
        (0..self.items.len()).filter(|&index| self.items[index].part == Part::Whole).collect()
    }

    /// The place of the probe of an item, and how it is read.
    pub fn item(&self, index: usize) -> Option<(usize, Part)> {
        self.items.get(index).map(|item| (item.probe, item.part))
    }

    /// When the next batch starts; `None` if there is nothing to read.
    pub fn next(&self) -> Option<Duration> {
        let rest = self.governor.as_ref().map_or(self.not_before, Governor::not_before);
        self.items.iter().map(|item| item.due).min().map(|due| due.max(rest))
    }

    /// The items to read at `now`: the most pressing ones first, and those that did not answer in time last, so that they
    /// hold up none of the others.
    pub fn take(&mut self, now: Duration) -> Vec<usize> {
        self.taken = if self.governor.is_some() { self.take_sparing(now) } else { self.take_all(now) };
        self.taken.clone()
    }

    fn due(&self, now: Duration) -> Vec<usize> {
        (0..self.items.len()).filter(|&index| self.items[index].due <= now + TOGETHER).collect()
    }

    fn take_all(&self, now: Duration) -> Vec<usize> {
        let mut due = self.due(now);
        due.sort_by_key(|&index| (self.items[index].late, self.items[index].pace));
        due
    }

    /// Of what is due as much as one batch may read, the latest first. What is read without a rest goes by pace alone.
    fn take_sparing(&self, now: Duration) -> Vec<usize> {
        let Some(governor) = &self.governor else { return Vec::new() };
        let mut due = self.due(now);
        due.retain(|&index| governor.is_in_pass(index));
        due.sort_by_key(|&index| {
            let item = &self.items[index];
            let lateness = if governor.is_passing() { 0 } else { item.lateness(now) };
            (item.late, std::cmp::Reverse(lateness), item.pace, item.part == Part::Leading)
        });
        // What is read whole leads, too.
        let mut wholes = Vec::new();
        due.retain(|&index| {
            let Item { probe, part, .. } = self.items[index];
            if part == Part::Whole {
                wholes.push(probe);
            }
            part == Part::Whole || !wholes.contains(&probe)
        });
        let most = if governor.is_passing() { governor::MOST_COST } else { governor::STEADY_COST };
        due.truncate(governor::part(due.iter().map(|&index| self.items[index].cost), most));
        due
    }

    /// Everything is due now, whatever rest the target was promised: somebody asked.
    pub fn read_all(&mut self, now: Duration) {
        let wholes = self.wholes();
        for &index in &wholes {
            self.items[index].due = Duration::ZERO;
        }
        self.not_before = Duration::ZERO;
        if let Some(governor) = &mut self.governor {
            governor.read_all(wholes);
            self.passing = Some(now);
        }
    }

    /// Something changed on which this probe hangs: it is read next, all of it.
    pub fn hurry(&mut self, probe: usize) {
        let whole = self.items.iter().position(|item| item.probe == probe && item.part == Part::Whole);
        let Some((index, item)) = whole.and_then(|index| Some((index, self.items.get_mut(index)?))) else { return };
        item.due = Duration::ZERO;
        if let Some(governor) = &mut self.governor {
            governor.hurry(index);
        }
    }

    /// An item was read in the batch that began at `began`; `late` if it did not answer in time.
    pub fn read(&mut self, index: usize, began: Duration, late: bool) {
        let Some(&Item { probe, part, .. }) = self.items.get(index) else { return };
        for item in self.items.iter_mut().filter(|item| item.probe == probe) {
            if item.part == part || item.part == Part::Leading {
                item.due = began + if late { item.period.max(AFTER_LATE) } else { item.period };
                item.late = late;
                item.read = Some(began);
            }
        }
    }

    /// A batch ended. A target on which it took long gets at least as long a rest.
    pub fn ended(&mut self, began: Duration, now: Duration) {
        self.not_before = now + REST.max(now.saturating_sub(began));
        let Some(governor) = &mut self.governor else { return };
        governor.ended(std::mem::take(&mut self.taken), began, now);
        if governor.is_loaded() {
            for item in &mut self.items {
                let Some(read) = item.read.filter(|_| item.pace == Pace::Slow) else { continue };
                let oldest = read + item.period * OLDEST_UNDER_LOAD;
                item.due = item.due.max((now + item.period).min(oldest));
            }
        }
        if !governor.is_passing()
            && let Some(since) = self.passing.take()
            && now.saturating_sub(since) >= LONG_PASS
        {
            self.press_again();
        }
    }

    /// What presses is read once more, if it is little of everything.
    fn press_again(&mut self) {
        let leads = |probe: usize| self.items.iter().any(|item| item.probe == probe && item.part == Part::Leading);
        let pressing: Vec<usize> = (0..self.items.len())
            .filter(|&index| {
                let item = &self.items[index];
                let is_pressing = item.period <= Duration::from_secs(rhythm::PRESSING);
                is_pressing && item.due < Duration::MAX && (item.part == Part::Leading || !leads(item.probe))
            })
            .collect();
        let cost = |indices: &[usize]| indices.iter().map(|&index| self.items[index].cost).sum::<usize>();
        if cost(&pressing) * LITTLE >= cost(&self.wholes()) {
            return;
        }
        for &index in &pressing {
            self.items[index].due = Duration::ZERO;
        }
        if let Some(governor) = &mut self.governor {
            governor.read_all(pressing);
        }
    }
}

#[cfg(test)]
mod tests {
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
                let rest = pair[1].0 - pair[0].0;
                assert!(rest >= if pair[1].0 + of(43) <= paid { of(20) } else { of(10) }, "{pair:?}");
            }
            let end = batches.last().expect("some").0;
            assert!(end > paid);
            assert!(work(&batches, length, Duration::ZERO, end) <= end.as_secs_f64() * 0.1001, "from the start");
            // Once the first reads are paid for: at most a minute in any ten.
            let steady = batches[first].0;
            for (began, _) in batches.iter().filter(|(began, _)| *began >= paid) {
                let to = *began + seconds(600);
                assert!(
                    work(&batches, length, *began, to) <= 60.0 + length.as_secs_f64(),
                    "{began:?} after {steady:?}"
                );
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
            ages.map(|pair| (pair[1].1 - pair[0].0).as_secs()).max().expect("more than one read")
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
            assert!(work(*began + seconds(600)) - work(*began) <= seconds(70), "{began:?}");
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
}
