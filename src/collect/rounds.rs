//! The batches of one connection: what is due is read in one go, and each probe is parsed as soon as its sources are in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until};

use super::kind::System;
use super::link::{BatchError, Failure, Link};
use super::outlet::Outlet;
use super::privilege::News;
use super::rhythm;
use super::schedule::{Part, Schedule};
use super::setback::{fatal, incomplete, refused};
use super::turns::Turns;
use crate::app::Severity;
use crate::fabric::{Observation, Outcome, Report, SourceId, TargetId, Text, Timestamp};
use crate::probe::dialect::sections::Section;
use crate::probe::{Probe, Source};

/// Output that is larger is parsed on a thread of its own.
const LARGE: usize = 64 * 1024;

/// A channel that was closed just now may still count on the target: how often and how long to wait for it.
const REFUSAL_WAIT: Duration = Duration::from_millis(500);
const MOST_REFUSALS: u32 = 6;

/// A report of the stream may be this late and still spare a batch its read.
const REST: Duration = Duration::from_secs(2);

/// How long to wait for the reason why a connection ended.
const REASON_WAIT: Duration = Duration::from_secs(1);

/// How many sections may wait for their parser.
const WAITING_SECTIONS: usize = 16;

/// What the stream delivered of late: a batch need not read the same again.
#[derive(Debug, Default)]
pub struct Delivered(Mutex<BTreeMap<SourceId, Instant>>);

impl Delivered {
    /// The stream just gave a report of this probe.
    pub fn note(&self, probe: &SourceId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(probe.clone(), Instant::now());
    }

    /// True if the stream gave a report of this probe no longer ago than its pace and a little.
    fn is_fresh(&self, probe: &Probe) -> bool {
        let delivered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// A section, when its read began, and how long it took: as its target told, else since the section before it, and
/// nothing where it was never run or was saved without.
struct Arrived {
    section: Section,
    at: Timestamp,
    duration: Option<Duration>,
}

/// A probe that is due.
#[derive(Clone, Copy, Debug)]
pub struct Due<'a> {
    /// Which.
    pub probe: &'a Probe,
    /// What was read of all of its sources the last time, if only those that lead are read now.
    pub kept: Option<&'a [Arc<Observation>]>,
    /// The same, if all are read now: what leads is compared with it.
    pub before: Option<&'a [Arc<Observation>]>,
}

impl<'a> Due<'a> {
    /// All of a probe.
    pub fn whole(probe: &'a Probe) -> Self {
        Self { probe, kept: None, before: None }
    }
}

/// What came of one source.
enum Piece {
    Read(Source, Arrived),
    /// It was read before and stands.
    Stands(Arc<Observation>),
}

/// What one batch reads: some probes and their sources in one row.
struct Round<'a> {
    probes: Vec<Due<'a>>,
    sources: Vec<Source>,
    /// For each source its probe's place in `probes`.
    owner: Vec<usize>,
    sections: Vec<Option<Arrived>>,
    /// When the last section came in.
    last: Instant,
}

impl<'a> Round<'a> {
    fn new(probes: Vec<Due<'a>>) -> Self {
        let mut round =
            Self { sources: Vec::new(), owner: Vec::new(), sections: Vec::new(), last: Instant::now(), probes };
        for (place, Due { probe, kept, .. }) in round.probes.iter().enumerate() {
            for source in probe.sources.iter().filter(|source| kept.is_none() || rhythm::is_leading(probe, source)) {
                round.sources.push(*source);
                round.owner.push(place);
                round.sections.push(None);
            }
        }
        round
    }

    /// Takes a section; gives the place of its probe if that has all of its sources now.
    fn take(&mut self, section: Section) -> Option<usize> {
        let index = section.index;
        let place = *self.owner.get(index)?;
        let since = std::mem::replace(&mut self.last, Instant::now()).elapsed();
        *self.sections.get_mut(index)? = Some(Arrived::now(section, Some(since)));
        self.places_of(place).all(|index| self.sections[index].is_some()).then_some(place)
    }

    fn places_of(&self, probe: usize) -> impl Iterator<Item = usize> + '_ {
        self.owner.iter().enumerate().filter(move |&(_, &owner)| owner == probe).map(|(index, _)| index)
    }

    /// What came of each source of a probe, taken out. Sources that were asked and have no section are given `missing`.
    fn take_out(&mut self, place: usize, missing: &Outcome) -> Vec<Piece> {
        let Due { probe, kept, .. } = self.probes[place];
        let read = self.read_of(place, missing);
        let Some(kept) = kept else { return read };
        let mut read = read.into_iter();
        let pieces = probe.sources.iter().zip(kept).filter_map(|(source, stands)| {
            if rhythm::is_leading(probe, source) { read.next() } else { Some(Piece::Stands(Arc::clone(stands))) }
        });
        pieces.collect()
    }

    fn read_of(&mut self, probe: usize, missing: &Outcome) -> Vec<Piece> {
        let places: Vec<usize> = self.places_of(probe).collect();
        places
            .into_iter()
            .map(|index| {
                let section = self.sections[index].take().unwrap_or_else(|| {
                    let section = Section {
                        index,
                        outcome: missing.clone(),
                        duration: None,
                        stdout: vec![],
                        stderr: vec![],
                        cut: 0,
                        command: None,
                    };
                    Arrived::now(section, None)
                });
                Piece::Read(self.sources[index], section)
            })
            .collect()
    }
}

impl Arrived {
    fn now(section: Section, since: Option<Duration>) -> Self {
        let now = Timestamp::now();
        let duration = section.duration.or(since);
        let at = duration.and_then(|duration| now.checked_sub(duration).ok()).unwrap_or(now);
        Self { section, at, duration }
    }
}

/// What became of one round.
#[derive(Debug)]
pub struct RoundEnd {
    /// How the batch as a whole ended.
    pub result: Result<(), BatchError>,
    /// Names of the probes that are done, each with whether one of its sources did not answer in time.
    pub read: Vec<(&'static str, bool)>,
    /// Names of the probes that were not, or not all, read.
    pub unread: Vec<&'static str>,
    /// Names of the probes of which what leads says something else than before, and whose report was held back: the rest
    /// of what it would say is of before.
    pub changed: Vec<&'static str>,
    /// The same, of probes that were read whole and told.
    pub moved: Vec<&'static str>,
}

/// Reads some probes once. Reports go to `outlet` as they become complete. Probes of which some source never began get
/// no report: what was known of them stays, and grows old where everybody can see it.
pub async fn round<L: Link>(
    link: &L,
    target: &TargetId,
    sequence: &Sequence,
    probes: Vec<&Probe>,
    outlet: &mpsc::Sender<Report>,
) -> RoundEnd {
    round_of(link, target, sequence, probes.into_iter().map(Due::whole).collect(), outlet).await
}

/// The same of probes of which some are read in part.
pub async fn round_of<L: Link>(
    link: &L,
    target: &TargetId,
    sequence: &Sequence,
    probes: Vec<Due<'_>>,
    outlet: &mpsc::Sender<Report>,
) -> RoundEnd {
    let mut round = Round::new(probes);
    let sources = round.sources.clone();
    let (sender, mut sections) = mpsc::channel(WAITING_SECTIONS);
    let reading = async {
        let result = link.batch(&sources, &sender).await;
        drop(sender);
        result
    };
    let mut read = Vec::new();
    let (mut changed, mut moved) = (Vec::new(), Vec::new());
    let mut done = BTreeSet::new();
    let parsing = async {
        // A probe without sources says what it says of nothing.
        let mut ready: Vec<usize> =
            (0..round.probes.len()).filter(|&place| round.places_of(place).next().is_none()).collect();
        loop {
            for place in ready.drain(..) {
                let Due { probe, kept, before } = round.probes[place];
                let parts = round.take_out(place, &Outcome::Cut);
                let is_late = |piece: &Piece| match piece {
                    Piece::Read(_, arrived) => arrived.section.outcome == Outcome::TimedOut,
                    Piece::Stands(_) => false,
                };
                read.push((probe.name, parts.iter().any(is_late)));
                done.insert(place);
                let Some(report) = report(target, sequence, *probe, parts).await else { continue };
                let is_news = kept.or(before).is_some_and(|before| {
                    let (before, now) =
                        (before.iter().map(|seen| &**seen), report.observations.iter().map(|seen| &**seen));
                    rhythm::says_something_else(probe, before, now)
                });
                match (is_news, kept) {
                    (true, Some(_)) => {
                        changed.push(probe.name);
                        continue;
                    }
                    (true, None) => moved.push(probe.name),
                    (false, _) => {}
                }
                let _ = outlet.send(report).await;
            }
            match sections.recv().await {
                Some(section) => ready.extend(round.take(section).filter(|place| !done.contains(place))),
                None => break,
            }
        }
    };
    let (result, ()) = tokio::join!(reading, parsing);
    let unread = round
        .probes
        .iter()
        .enumerate()
        .filter(|(place, _)| !done.contains(place))
        .map(|(_, due)| due.probe.name)
        .collect();
    RoundEnd { result, read, unread, changed, moved }
}

/// A report that says of every source of a probe that it was not read, and how that came.
pub fn unread_report(target: &TargetId, sequence: &Sequence, probe: &Probe, outcome: &Outcome) -> Report {
    let mut round = Round::new(vec![Due::whole(probe)]);
    let parts = round.take_out(0, outcome);
    assemble(target, sequence, *probe, parts)
}

/// A report of a probe whose sections were saved at `at`.
pub fn saved_report(
    target: &TargetId,
    sequence: &Sequence,
    probe: &Probe,
    parts: Vec<(Source, Section)>,
    at: Timestamp,
) -> Report {
    let arrived = |section: Section| Arrived { at, duration: section.duration, section };
    let parts = parts.into_iter().map(|(source, section)| Piece::Read(source, arrived(section))).collect();
    assemble(target, sequence, *probe, parts)
}

async fn report(target: &TargetId, sequence: &Sequence, probe: Probe, parts: Vec<Piece>) -> Option<Report> {
    let of = |piece: &Piece| match piece {
        Piece::Read(_, arrived) => arrived.section.stdout.len() + arrived.section.stderr.len(),
        Piece::Stands(observation) => observation.stdout.len() + observation.stderr.len(),
    };
    let size: usize = parts.iter().map(of).sum();
    if size <= LARGE {
        return Some(assemble(target, sequence, probe, parts));
    }
    let (at, numbers) = (target.clone(), sequence.clone());
    let task = tokio::task::spawn_blocking(move || assemble(&at, &numbers, probe, parts));
    // Without an answer the runtime is ending, or the parser broke: an empty report would say that all is gone.
    task.await.ok()
}

/// What is kept of an output: secrets never become part of an observation.
fn kept(source: Source, output: &[u8]) -> Arc<str> {
    let text = String::from_utf8_lossy(output);
    Arc::from(source.read.masked(&text))
}

fn assemble(target: &TargetId, sequence: &Sequence, probe: Probe, parts: Vec<Piece>) -> Report {
    let observations: Vec<Arc<Observation>> = parts
        .into_iter()
        .map(|piece| {
            let (source, Arrived { section, at, duration }) = match piece {
                Piece::Read(source, arrived) => (source, arrived),
                Piece::Stands(observation) => return observation,
            };
            Arc::new(Observation {
                target: target.clone(),
                source: source.id(),
                sequence: sequence.next(),
                command: Arc::from(section.command.unwrap_or_else(|| source.read.shown())),
                at,
                duration,
                outcome: section.outcome,
                stdout: kept(source, &section.stdout),
                stderr: kept(source, &section.stderr),
                cut: section.cut,
            })
        })
        .collect();
    let facts = (probe.parse)(&observations);
    Report { target: target.clone(), probe: SourceId::new(probe.name), observations, facts }
}

/// Reads what is due, for as long as the connection lives or until nothing sensible can come of it any more: why.
pub async fn run<L: Link>(
    link: &L,
    probes: &[Probe],
    outlet: &Outlet,
    sequence: &Sequence,
    turns: &Turns,
    delivered: &Delivered,
    read_now: &Notify,
) -> Failure {
    let target = outlet.target();
    let start = Instant::now();
    let mut schedule = match link.system() {
        System::Linux => Schedule::new(probes),
        System::Esxi => Schedule::sparing(probes),
    };
    let mut failures = 0;
    let mut refusals = 0;
    let mut has_read = false;
    // The same trouble in every batch is one event, not one a second.
    let mut told = String::new();
    // What was read last of probes of which some sources lead.
    let mut kept: BTreeMap<&'static str, Vec<Arc<Observation>>> = BTreeMap::new();
    loop {
        let wait = async {
            match schedule.next() {
                Some(due) => sleep_until(start + due).await,
                None => std::future::pending().await,
            }
        };
        let asked = tokio::select! {
            () = wait => false,
            () = read_now.notified() => {
                schedule.read_all(start.elapsed());
                true
            }
        };
        if asked {
            link.try_again();
        }
        let turn = turns.for_batch().await;
        let began = start.elapsed();
        let mut due = Vec::new();
        let mut taken = Vec::new();
        for index in schedule.take(began) {
            let Some((probe, part)) = schedule.item(index).and_then(|(place, part)| Some((probes.get(place)?, part)))
            else {
                continue;
            };
            if !asked && delivered.is_fresh(probe) {
                schedule.read(index, began, false);
                continue;
            }
            let before = kept.get(probe.name).map(Vec::as_slice);
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
                outlet.report(report).await;
            }
        };
        let reading = async {
            let end = round_of(link, target, sequence, due, &sender).await;
            drop(sender);
            end
        };
        let (end, ()) = tokio::join!(reading, forward);
        drop(turn);
        for (name, late) in &end.read {
            for (index, _) in taken.iter().filter(|(_, taken)| taken == name) {
                schedule.read(*index, began, *late);
            }
        }
        schedule.ended(began, start.elapsed());
        for (name, observations) in fresh {
            if rhythm::may_stand(observations.iter().map(|seen| &**seen)) {
                kept.insert(name, observations);
            } else {
                kept.remove(name);
            }
        }
        let place = |name: &str| probes.iter().position(|probe| probe.name == name);
        for name in end.changed.iter().chain(&end.moved) {
            let Some(own) = place(name) else { continue };
            if end.changed.contains(name) {
                schedule.hurry(own);
            }
            for other in rhythm::hang_on(&probes[own]).iter().filter_map(|name| place(name)) {
                schedule.hurry(other);
            }
        }
        has_read |= !end.read.is_empty();
        for News { report, refusal } in link.news(target, sequence) {
            outlet.report(report).await;
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
