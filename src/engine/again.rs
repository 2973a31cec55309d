//! The second look of a collection: counters once more, so that they are seen to move, and the clock of the target.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::look::MOST_ROUNDS;
use crate::app::Problem;
use crate::collect::link::{BatchError, Link};
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

/// After these there is no connection that could be asked again.
pub fn is_gone(error: &BatchError) -> bool {
    matches!(error, BatchError::Closed | BatchError::ExecRefused | BatchError::NoShell { .. })
}

/// Reads the probes that count once more, those of `counting` that were read first, not before `after` has passed since; the
/// reports go into `reports` one by one. One that is not answered hides none of the others. Gives the names of those that
/// were not read again, each with why.
pub async fn counters<L: Link>(
    (link, target, sequence): (&L, &TargetId, &Sequence),
    counting: &[&Probe],
    first: &[Report],
    after: Duration,
    reports: &Mutex<Vec<Report>>,
) -> Vec<(&'static str, String)> {
    let read = |probe: &&&Probe| first.iter().any(|report| report.probe.as_str() == probe.name);
    let mut due: Vec<&Probe> = counting.iter().filter(read).copied().collect();
    let of_due = first.iter().filter(|report| due.iter().any(|probe| probe.name == report.probe.as_str()));
    let newest = of_due.flat_map(|report| &report.observations).map(|observation| observation.at).max();
    let mut unread = Vec::new();
    let Some(newest) = newest else { return unread };
    let passed = Duration::try_from(Timestamp::now().duration_since(newest)).unwrap_or_default();
    sleep(after.saturating_sub(passed)).await;
    let (sender, mut received) = mpsc::channel(due.len().max(1));
    let mut cut: Vec<&'static str> = Vec::new();
    let reading = async {
        let mut why = String::from("its answer is missing");
        for _ in 0..MOST_ROUNDS {
            let end = rounds::round(link, target, sequence, due.clone(), &sender).await;
            due.retain(|probe| end.unread.contains(&probe.name));
            let Err(error) = end.result else { break };
            why = error.to_string();
            if is_gone(&error) || due.is_empty() {
                break;
            }
            if end.read.is_empty() {
                // It holds up the others.
                unread.push((due.remove(0).name, why.clone()));
            }
        }
        unread.extend(due.iter().map(|probe| (probe.name, why.clone())));
        drop(sender);
    };
    let gathering = async {
        while let Some(report) = received.recv().await {
            let report: Report = report;
            if report.observations.iter().any(|seen| matches!(seen.outcome, Outcome::Exit(_))) {
                reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
            } else {
                // What began and did not end was not read again either.
                let probe = counting.iter().find(|probe| probe.name == report.probe.as_str());
                cut.extend(probe.map(|probe| probe.name));
            }
        }
    };
    tokio::join!(reading, gathering);
    unread.extend(cut.into_iter().map(|name| (name, "not done in time".to_owned())));
    unread
}

/// Why a target is not read to its end of which counters were read only once; `first` is what else was wrong, and `more_time`
/// says that there was none left for it.
pub fn read_once(first: Option<Problem>, unread: &[(&'static str, String)], more_time: bool) -> Problem {
    let mut reasons: Vec<&str> = unread.iter().map(|(_, why)| why.as_str()).collect();
    reasons.dedup();
    let names: Vec<&str> = unread.iter().map(|(name, _)| *name).collect();
    let once = format!("not read a second time: {} ({})", names.join(", "), reasons.join("; "));
    match first {
        Some(Problem { what, cause, next_step }) => {
            let cause =
                [cause.as_str(), &once].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ");
            Problem::new(what.as_str(), &cause, next_step.as_str())
        }
        None => Problem::new(
            "whether its counters rise is not known for all of them",
            &once,
            if more_time { MORE_TIME } else { "look at the load of that machine, and check it again" },
        ),
    }
}

/// What helps where there was no time left.
pub const MORE_TIME: &str = "give it more time with --within, or leave that out";

/// True for what a switch prints with counters among its states: reading it again costs one command.
pub fn counts_on_a_switch(probe: &Probe, first: &[Report]) -> bool {
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
