//! The second look of a collection: counters once more, so that they are seen to move, and the clock of the target.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::collect::governor;
use crate::collect::lanes;
use crate::collect::link::Link;
use crate::collect::rounds::{self, Sequence};
use crate::fabric::{Entity, Fact, Outcome, Report, TargetId, Timestamp};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// The clock of a target, in seconds since 1970. A `date` that knows no parts of a second prints their letter, or nothing.
pub const CLOCK: Probe = Probe {
    name: "engine.clock",
    title: "clock",
    privilege_adds: "",
    pace: Pace::Fast,
    rhythm: Rhythm::PACE,
    sources: &[Source {
        name: "engine.clock",
        read: Read::Command { argv: &[Word::Plain("date"), Word::Plain("+%s.%N")], keep: None },
    }],
    parse: |_| Vec::new(),
};

/// Reads the probes that count once more, not before `after` has passed since they were read first. Nothing where the target
/// does not answer any more: what was read stands without movement.
pub async fn counters<L: Link>(
    link: &L,
    target: &TargetId,
    sequence: &Sequence,
    probes: &[Probe],
    first: &[Report],
    after: Duration,
) -> Vec<Report> {
    let counting: Vec<&Probe> =
        probes.iter().filter(|probe| probe.counts() || counts_on_a_switch(probe, first)).collect();
    let read = first.iter().filter(|report| counting.iter().any(|probe| probe.name == report.probe.as_str()));
    let newest = read.flat_map(|report| &report.observations).map(|observation| observation.at).max();
    let Some(newest) = newest else { return Vec::new() };
    let passed = Duration::try_from(Timestamp::now().duration_since(newest)).unwrap_or_default();
    sleep(after.saturating_sub(passed)).await;
    let (sender, mut received) = mpsc::channel(counting.len().max(1));
    let reading = async {
        let mut rest = &counting[..];
        while !rest.is_empty() {
            let costs = rest.iter().map(|probe| governor::cost(probe.sources));
            let (part, later) = rest.split_at(governor::part(costs, lanes::MOST_COST));
            rest = later;
            if rounds::round(link, target, sequence, part.to_vec(), &sender).await.result.is_err() {
                break;
            }
        }
        drop(sender);
    };
    let gathering = async {
        let mut reports = Vec::new();
        while let Some(report) = received.recv().await {
            reports.push(report);
        }
        reports
    };
    let ((), reports) = tokio::join!(reading, gathering);
    reports
}

/// True for what a switch prints with counters among its states: reading it again costs one command.
fn counts_on_a_switch(probe: &Probe, first: &[Report]) -> bool {
    let is_counter = |fact: &Fact| matches!(fact.entity, Entity::Counter { .. });
    crate::probe::switch::source(probe.name).is_some()
        && first.iter().any(|report| report.probe.as_str() == probe.name && report.facts.iter().any(is_counter))
}

/// By how many milliseconds the clock of a target is ahead of ours, and by how much that may be wrong: half of the way there
/// and back, in which the answer was made somewhere.
pub async fn clock<L: Link>(link: &L, target: &TargetId, sequence: &Sequence) -> Option<(i64, u64)> {
    let (sender, mut received) = mpsc::channel(1);
    let (sent, began) = (Timestamp::now(), Instant::now());
    rounds::round(link, target, sequence, vec![&CLOCK], &sender).await;
    let took = began.elapsed();
    drop(sender);
    let report = received.recv().await?;
    let observation = report.observations.first().filter(|observation| observation.outcome == Outcome::Exit(0))?;
    let half = i64::try_from(took.as_millis() / 2).ok()?;
    let (theirs, within) = moment(&observation.stdout)?;
    let offset = theirs.checked_sub(sent.as_millisecond().checked_add(half)?)?;
    Some((offset, u64::try_from(half).ok()?.checked_add(within)?.max(1)))
}

/// A moment in milliseconds since 1970 as `date` printed it, and by how much it may be wrong.
fn moment(text: &str) -> Option<(i64, u64)> {
    let (seconds, rest) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let seconds: i64 = seconds.parse().ok()?;
    let digits = rest.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let (part, within) = match digits.and_then(|digits| digits.parse::<i64>().ok()) {
        Some(milliseconds) => (milliseconds, 0),
        // The middle of the second that it may be.
        None => (500, 500),
    };
    Some((seconds.checked_mul(1000)?.checked_add(part)?, within))
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn a_clock_without_parts_of_a_second_is_known_by_half_a_second() {
        assert_eq!(moment("1764492000.250999999\n"), Some((1_764_492_000_250, 0)));
        for text in ["1764492000.N\n", "1764492000\n", "1764492000.\n", "1764492000.%N", "1764492000.\u{e4}\u{e4}"] {
            assert_eq!(moment(text), Some((1_764_492_000_500, 500)), "{text:?}");
        }
        for text in ["", "date: invalid", "9223372036854775807.1", "-.5"] {
            assert_eq!(moment(text), None, "{text:?}");
        }
    }
}
