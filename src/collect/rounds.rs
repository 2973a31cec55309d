//! The batches of one connection, one after the other: what is due is read in one go (see [`super::round`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until};

use super::link::{BatchError, Failure, Link, Told};
use super::outlet::Outlet;
use super::rhythm;
use super::round::{Due, round_of};
pub use super::round::{RoundEnd, round, saved_report, unread_report};
use super::schedule::Part;
use super::setback::{fatal, incomplete, refused};
use super::standing::Standing;
use super::turns::Turns;
use super::work::Work;
use crate::app::Severity;
use crate::fabric::Attribute;
use crate::fabric::{Report, SourceId, Text};
use crate::probe::{Probe, gpu};

/// A channel that was closed just now may still count on the target: how often and how long to wait for it.
const REFUSAL_WAIT: Duration = Duration::from_millis(500);
const MOST_REFUSALS: u32 = 6;

/// A report of the stream may be this late and still spare a batch its read.
const REST: Duration = Duration::from_secs(2);

/// How long to wait for the reason why a connection ended.
const REASON_WAIT: Duration = Duration::from_secs(1);

/// What streams and batches of one connection tell each other: what the stream delivered of late, so that a batch need not
/// read the same again, and whether a batch found GPUs that answer.
#[derive(Debug, Default)]
pub struct Delivered {
    by_stream: Mutex<BTreeMap<SourceId, Instant>>,
    has_gpus: AtomicBool,
    gpus: Notify,
}

impl Delivered {
    /// The stream just gave a report of this probe.
    pub fn note(&self, probe: &SourceId) {
        self.by_stream.lock().unwrap_or_else(PoisonError::into_inner).insert(probe.clone(), Instant::now());
    }

    /// A batch gave this report: it may say that GPUs answer.
    fn read(&self, report: &Report) {
        if report.probe.as_str() == gpu::states::PROBE.name {
            let answers = |fact: &crate::fabric::Fact| {
                fact.attribute == Attribute::GpuReadBy && fact.reading.state.known().is_some()
            };
            self.has_gpus.store(report.facts.iter().any(answers), Ordering::SeqCst);
            self.gpus.notify_one();
        }
    }

    /// GPUs do not answer any more, until a batch says otherwise.
    pub fn gpus_lost(&self) {
        self.has_gpus.store(false, Ordering::SeqCst);
    }

    /// Waits until a batch has found GPUs that answer.
    pub async fn gpus_found(&self) {
        while !self.has_gpus.load(Ordering::SeqCst) {
            self.gpus.notified().await;
        }
    }

    /// True if the stream gave a report of this probe no longer ago than its pace and a little.
    fn is_fresh(&self, probe: &Probe) -> bool {
        let delivered = self.by_stream.lock().unwrap_or_else(PoisonError::into_inner);
        delivered
            .get(&SourceId::new(probe.name))
            .is_some_and(|at| at.elapsed() <= Duration::from_secs(probe.pace.seconds()) + REST)
    }
}

/// Numbers the reads of one target.
#[derive(Clone, Debug, Default)]
pub struct Sequence(Arc<AtomicU64>);

impl Sequence {
    /// The next number, from 1.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Reads what is due, for as long as the connection lives or until nothing sensible can come of it any more: why.
pub async fn run<L: Link>(
    link: &L,
    standing: &mut Standing,
    outlet: &Outlet,
    sequence: &Sequence,
    turns: &Turns,
    delivered: &Delivered,
    read_now: &Notify,
) -> Failure {
    let target = outlet.target();
    let probes = Arc::clone(&standing.probes);
    let mut failures = 0;
    let mut refusals = 0;
    let mut has_read = false;
    // The same trouble in every batch is one event, not one a second.
    let mut told = String::new();
    loop {
        standing.charge();
        let wait = async {
            match standing.next() {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let asked = tokio::select! {
            () = wait => false,
            () = read_now.notified() => true,
        };
        if asked {
            standing.schedule.read_all();
            link.try_again();
        }
        let turn = turns.for_batch().await;
        let began = standing.now();
        let mut due = Vec::new();
        let mut taken = Vec::new();
        for index in standing.schedule.take(began) {
            let Some((probe, part)) =
                standing.schedule.item(index).and_then(|(place, part)| Some((probes.get(place)?, part)))
            else {
                continue;
            };
            if !asked && delivered.is_fresh(probe) {
                standing.schedule.read(index, began, Duration::ZERO, false);
                continue;
            }
            let before = standing.kept.get(probe.name).map(Vec::as_slice);
            taken.push((index, probe.name));
            due.push(match part {
                Part::Whole => Due { probe, kept: None, before },
                Part::Leading => Due { probe, kept: before, before: None },
            });
        }
        if due.is_empty() {
            continue;
        }
        let (sender, mut reports) = mpsc::channel::<Report>(1);
        let mut fresh = BTreeMap::new();
        let forward = async {
            while let Some(report) = reports.recv().await {
                if let Some(probe) = probes.iter().find(|probe| probe.name == report.probe.as_str())
                    && rhythm::has_leading(probe)
                {
                    fresh.insert(probe.name, report.observations.clone());
                }
                delivered.read(&report);
                outlet.report(report).await;
            }
        };
        let work = Work::default();
        let reading = async {
            let end = round_of(link, target, sequence, due, &work, &sender).await;
            drop(sender);
            end
        };
        let (end, ()) = tokio::join!(reading, forward);
        drop(turn);
        for done in &end.read {
            for (index, _) in taken.iter().filter(|(_, taken)| *taken == done.probe) {
                let took = standing.in_its_time(done.took);
                standing.schedule.read(*index, began, took, done.late);
            }
        }
        let now = standing.now();
        let worked = standing.in_its_time(work.take());
        standing.schedule.ended_after(began, now, worked);
        for (name, observations) in fresh {
            if rhythm::may_stand(observations.iter().map(|seen| &**seen)) {
                standing.kept.insert(name, observations);
            } else {
                standing.kept.remove(name);
            }
        }
        let place = |name: &str| probes.iter().position(|probe| probe.name == name);
        for name in end.changed.iter().chain(&end.moved) {
            let Some(own) = place(name) else { continue };
            if end.changed.contains(name) {
                standing.schedule.hurry(own);
            }
            for other in probes[own].rhythm.then.iter().filter_map(|name| place(name)) {
                standing.schedule.hurry(other);
            }
        }
        has_read |= !end.read.is_empty();
        for Told { report, refusal } in link.news(target, sequence) {
            if let Some(report) = report {
                outlet.report(report).await;
            }
            if let Some(text) = refusal {
                outlet.notice(Severity::Warning, &text).await;
            }
        }
        match end.result {
            Ok(()) => {
                failures = 0;
                refusals = 0;
                told.clear();
            }
            Err(BatchError::ChannelRefused(why)) => {
                refusals += 1;
                if turns.serialise() {
                    one_channel(outlet, &why).await;
                } else if refusals > MOST_REFUSALS {
                    return refused(&why);
                }
                sleep(REFUSAL_WAIT).await;
            }
            Err(error) => {
                failures = if end.read.is_empty() { failures + 1 } else { 0 };
                if error == BatchError::Closed {
                    // The connection itself knows why; it is heard first if it says so soon.
                    sleep(REASON_WAIT).await;
                }
                if let Some(failure) = fatal(target, &error, has_read, failures) {
                    return failure;
                }
                let text = incomplete(&error, &end.unread);
                if text != told {
                    outlet.notice(Severity::Warning, &text).await;
                    told = text;
                }
            }
        }
    }
}

/// Says that one channel at a time is all there is.
pub async fn one_channel(outlet: &Outlet, why: &Text) {
    let text = format!("refused a second channel ({why}): reads now follow one another, so values come less often");
    outlet.notice(Severity::Warning, &text).await;
}
