//! How far the clock of a host is from ours. One read leaves a second open, as the `date` of ESXi tells no parts of one; each
//! further one at another moment of its second leaves less. What they leave together is what is known, and how wrong it
//! may be. A guest needs none of this: its stream tells its clock to the millisecond.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::model::Target;
use crate::fabric::{Report, Timestamp};
use crate::probe::esxi::clock;

/// Clocks drift apart by at most a part in so many: a tenth of a second in a quarter of an hour.
const DRIFT: i64 = 10_000;

/// A read that began longer ago, in seconds, says nothing of now: it was saved.
const OLD_SECONDS: i64 = 120;

/// By how many milliseconds a clock is ahead of ours, at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    least: i64,
    most: i64,
    /// When that was so.
    at: Timestamp,
}

impl Bounds {
    /// What is left after a further read. Where the two contradict each other a clock was set: the new one counts.
    fn and(self, other: Self) -> Self {
        let apart = other.at.duration_since(self.at).as_millis().unsigned_abs();
        let drift = i64::try_from(apart).unwrap_or(i64::MAX) / DRIFT;
        let least = self.least.saturating_sub(drift).max(other.least);
        let most = self.most.saturating_add(drift).min(other.most);
        if least > most { other } else { Self { least, most, at: other.at } }
    }
}

/// Takes in a read of the clock, if the report is one; `at` is when its answer was complete.
pub(super) fn take_in(target: &mut Target, at: Timestamp, report: &Report) {
    if report.probe.as_str() != clock::PROBE.name || !target.connection.is_up() {
        return;
    }
    let is_new = |began: Timestamp| at.duration_since(began).as_secs().abs() <= OLD_SECONDS;
    let Some(observation) = report.observations.first().filter(|observation| is_new(observation.at)) else { return };
    let Some((least, most)) = clock::ahead(observation) else { return };
    let now = Bounds { least, most, at: observation.at };
    let known = target.clock_bounds.map_or(now, |known| known.and(now));
    target.clock_bounds = Some(known);
    let width = known.most.saturating_sub(known.least);
    target.clock_offset_ms = Some(known.least.saturating_add(width / 2));
    target.clock_within = Some(Duration::from_millis(u64::try_from(width).unwrap_or(0).div_ceil(2)));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::app::connection::Connection;
    use crate::app::model::TargetKind;
    use crate::fabric::{Observation, SourceId, TargetId};

    const SECOND: i64 = 1_764_492_000;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(SECOND * 1000 + milliseconds).expect("a time")
    }

    fn host() -> Target {
        let mut host = Target::new(TargetKind::Esxi);
        host.connection = Connection::Connected { since: at(0), via: "SSH".into() };
        host
    }

    /// A host whose clock is ahead by so much is read at this time of ours.
    fn read(host: &mut Target, ours: i64, ahead: i64) {
        let printed = format!("{}\n", SECOND + (ours + ahead).div_euclid(1000));
        let mut observation = Observation::of_text("esxi.date", &printed);
        (observation.at, observation.duration) = (at(ours), Some(Duration::from_millis(5)));
        let probe = SourceId::new(clock::PROBE.name);
        let observations = vec![Arc::new(observation)];
        take_in(host, at(ours + 8), &Report { target: TargetId::new("esx"), probe, observations, facts: Vec::new() });
    }

    fn known(host: &Target) -> (i64, i64) {
        let within = host.clock_within.expect("measured").as_millis();
        (host.clock_offset_ms.expect("measured"), i64::try_from(within).expect("small"))
    }

    #[test]
    fn many_reads_leave_less_open_than_one() {
        let mut host = host();
        read(&mut host, 100, 4200);
        let (offset, first) = known(&host);
        assert!((offset - 4200).abs() <= first && first > 500, "{offset} {first}");
        for number in 1..20_i64 {
            read(&mut host, number * 60_000 + (number * 389) % 1000, 4200);
        }
        let (offset, within) = known(&host);
        assert!((offset - 4200).abs() <= within && within < 450, "{offset} {within}");
    }

    #[test]
    fn a_clock_that_was_set_is_read_anew() {
        let mut host = host();
        for number in 0..20_i64 {
            read(&mut host, number * 60_000 + (number * 389) % 1000, 4200);
        }
        read(&mut host, 1_260_000, -30);
        let (offset, within) = known(&host);
        assert!((offset + 30).abs() <= within && within > 500, "{offset} {within}");
    }

    #[test]
    fn what_was_saved_earlier_or_comes_from_nowhere_is_no_clock() {
        let mut saved = host();
        let mut observation = Observation::of_text("esxi.date", "1764492000\n");
        (observation.at, observation.duration) = (at(-3_600_000), Some(Duration::from_millis(5)));
        let probe = SourceId::new(clock::PROBE.name);
        let report = Report {
            target: TargetId::new("esx"),
            probe,
            observations: vec![Arc::new(observation)],
            facts: Vec::new(),
        };
        take_in(&mut saved, at(0), &report);
        assert_eq!(saved.clock_offset_ms, None);
        let mut off = Target::new(TargetKind::Esxi);
        read(&mut off, 100, 0);
        assert_eq!(off.clock_offset_ms, None);
    }
}
