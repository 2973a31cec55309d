//! One batch: the sources of some probes are read in one go, and each probe is parsed as soon as its sources are in. Of a
//! probe of which some sources lead only those may be read; what the others said before stands, with its own time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::link::{BatchError, Link};
use super::rhythm;
use super::rounds::Sequence;
use super::work::Work;
use crate::fabric::{Observation, Outcome, Report, SourceId, TargetId, Timestamp};
use crate::probe::dialect::sections::Section;
use crate::probe::{Probe, Source};

/// Output that is larger is parsed on a thread of its own.
const LARGE: usize = 64 * 1024;

/// How many sections may wait for their parser.
const WAITING_SECTIONS: usize = 16;

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

/// A probe that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its name.
    pub probe: &'static str,
    /// True if one of its sources did not answer in time.
    pub late: bool,
    /// How long the reads of its sources took.
    pub took: Duration,
}

/// What became of one round.
#[derive(Debug)]
pub struct RoundEnd {
    /// How the batch as a whole ended.
    pub result: Result<(), BatchError>,
    /// The probes that are done.
    pub read: Vec<Done>,
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
    let due = probes.into_iter().map(Due::whole).collect();
    round_of(link, target, sequence, due, &Work::default(), outlet).await
}

/// The same of probes of which some are read in part. What an ESXi host works for it goes into `work`.
pub async fn round_of<L: Link>(
    link: &L,
    target: &TargetId,
    sequence: &Sequence,
    probes: Vec<Due<'_>>,
    work: &Work,
    outlet: &mpsc::Sender<Report>,
) -> RoundEnd {
    let mut round = Round::new(probes);
    let sources = round.sources.clone();
    let (sender, mut sections) = mpsc::channel(WAITING_SECTIONS);
    let reading = async {
        let result = link.batch(&sources, &sender, work).await;
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
                let took = |piece: &Piece| match piece {
                    Piece::Read(_, arrived) => arrived.duration,
                    Piece::Stands(_) => None,
                };
                let (late, took) = (parts.iter().any(is_late), parts.iter().filter_map(took).sum());
                read.push(Done { probe: probe.name, late, took });
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
