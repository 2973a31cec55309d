//! A batch of an ESXi host: several shells side by side, each of which takes what waits as soon as it is free.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{ESXI_BATCH_DEADLINE, How, ShellLink, run, unpoisoned};
use crate::collect::esxcli::{self, Attempt, LOCALCLI, Tool};
use crate::collect::lanes::{self, Next, Queue};
use crate::collect::link::{BatchError, Remote};
use crate::collect::work::Work;
use crate::fabric::{Outcome, Text, Timestamp};
use crate::probe::Source;
use crate::probe::dialect::posix::{ESXCLI, needs_esxcli};
use crate::probe::dialect::sections::Section;

/// Whether an ESXi host allows a shell beside another.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// It refused one, and nobody asked for a read since.
    pub(super) is_refused: bool,
    /// That was told, and it allowed none since.
    is_told: bool,
    /// What is to be told of it.
    pub(super) news: Option<String>,
}

impl Beside {
    fn refused(&mut self, why: &Text) {
        self.is_refused = true;
        if !std::mem::replace(&mut self.is_told, true) {
            self.news = Some(format!(
                "refused a shell beside another ({why}): reads now follow one another, so values come less often; the next \
                 read that is asked for tries several again"
            ));
        }
    }

    fn allowed(&mut self) {
        self.is_told = false;
    }
}

impl<R: Remote> ShellLink<R> {
    /// A batch of an ESXi host.
    pub(super) async fn batch_of_host(
        &self,
        tool: &Tool,
        sources: &[Source],
        sections: &mpsc::Sender<Section>,
        work: &Work,
    ) -> Result<(), BatchError> {
        let name = match tool.in_force() {
            Some(name) => name,
            None if sources.iter().any(|source| needs_esxcli(&source.read)) => {
                let time = |tool| time(&self.remote, tool, work);
                let (esxcli, localcli) = tokio::join!(time(ESXCLI), time(LOCALCLI));
                // A host that allows one shell at a time is asked again for the other one.
                let esxcli = match esxcli {
                    Err(BatchError::ChannelRefused(_)) => time(ESXCLI).await?,
                    timed => timed?,
                };
                let localcli = match localcli {
                    Err(BatchError::ChannelRefused(_)) => time(LOCALCLI).await?,
                    timed => timed?,
                };
                tool.timed(esxcli, localcli)
            }
            None => ESXCLI,
        };
        let most = if self.beside().is_refused { 1 } else { lanes::MOST };
        let queue = Mutex::new(Queue::new(sources, most));
        let shells = unpoisoned(&queue).shells();
        let (changes, _) = watch::channel(0_usize);
        let reading = (0..shells).map(|_| self.side_by_side((tool, name), sources, &queue, &changes, sections, work));
        let ends = futures::future::join_all(reading).await;
        let is_refused = |end: &Result<(), BatchError>| matches!(end, Err(BatchError::ChannelRefused(_)));
        if ends.iter().all(is_refused) {
            return ends.into_iter().next().unwrap_or(Ok(()));
        }
        // It allows fewer shells at a time: what they would have read is read by one, now and until somebody asks.
        let mut refusal = None;
        let mut end = Ok(());
        for of_shell in ends {
            match of_shell {
                Err(BatchError::ChannelRefused(why)) => refusal = Some(why),
                of_shell => end = worse(end, of_shell),
            }
        }
        if let Some(why) = refusal {
            self.beside().refused(&why);
            let left = unpoisoned(&queue).left();
            if !left.is_empty() {
                let of_left = self.lane((tool, name), sources, &left, &changes, sections, work).await;
                end = worse(end, of_left);
            }
        } else if shells > 1 {
            self.beside().allowed();
        }
        end
    }

    /// One of several shells: it takes what waits, some at a time, until nothing does.
    async fn side_by_side(
        &self,
        tool: (&Tool, &'static str),
        sources: &[Source],
        queue: &Mutex<Queue<'_>>,
        changes: &watch::Sender<usize>,
        sections: &mpsc::Sender<Section>,
        work: &Work,
    ) -> Result<(), BatchError> {
        let mut changed = changes.subscribe();
        loop {
            changed.borrow_and_update();
            let next = unpoisoned(queue).next(&self.lists.known());
            let places = match next {
                Next::Read(places) => places,
                Next::Wait => {
                    let _ = changed.changed().await;
                    continue;
                }
                Next::Done => return Ok(()),
            };
            let end = self.lane(tool, sources, &places, changes, sections, work).await;
            match &end {
                Err(BatchError::ChannelRefused(_)) => unpoisoned(queue).refused(&places),
                _ => unpoisoned(queue).ended(&places),
            }
            changes.send_modify(|count| *count = count.wrapping_add(1));
            end?;
        }
    }

    pub(super) fn beside(&self) -> MutexGuard<'_, Beside> {
        unpoisoned(&self.beside)
    }

    /// Reads the sources at these places of a batch of an ESXi host by one shell. Lists that become known are `changes`.
    async fn lane(
        &self,
        (tool, name): (&Tool, &'static str),
        sources: &[Source],
        places: &[usize],
        changes: &watch::Sender<usize>,
        sections: &mpsc::Sender<Section>,
        work: &Work,
    ) -> Result<(), BatchError> {
        let own: Vec<Source> = places.iter().map(|&place| sources[place]).collect();
        let (sender, mut received) = mpsc::channel::<Section>(1);
        let listed = self.lists.known();
        let how = How { tool: name, deadline: ESXI_BATCH_DEADLINE, work: Some(work), listed: Some(&listed) };
        let reading = async {
            let result = run(&self.remote, &own, &[], how, &sender).await;
            drop(sender);
            result
        };
        let passing_on = async {
            let mut since = Instant::now();
            while let Some(mut section) = received.recv().await {
                let Some((source, &index)) = own.get(section.index).zip(places.get(section.index)) else { continue };
                if self.lists.note(source, &section) {
                    changes.send_modify(|count| *count = count.wrapping_add(1));
                }
                tool.answered(name, source, &mut section);
                // A host that does not tell it: only within its own shell one section follows another.
                let took = std::mem::replace(&mut since, Instant::now()).elapsed();
                let duration = section.duration.or(Some(took));
                let _ = sections.send(Section { index, duration, ..section }).await;
            }
        };
        tokio::join!(reading, passing_on).0
    }
}

/// Which of two ends of one batch is told: what ended the connection, or else what did not only come too late.
fn worse(one: Result<(), BatchError>, other: Result<(), BatchError>) -> Result<(), BatchError> {
    let rank = |end: &Result<(), BatchError>| match end {
        Ok(()) => 0,
        Err(BatchError::TimedOut { .. }) => 1,
        Err(BatchError::Closed) => 3,
        Err(_) => 2,
    };
    if rank(&other) > rank(&one) { other } else { one }
}

/// Times one of the two programs that may read an ESXi host. Fails only with the connection.
async fn time(remote: &impl Remote, tool: &'static str, work: &Work) -> Result<Attempt, BatchError> {
    let (sender, mut received) = mpsc::channel::<Section>(1);
    let (at, began) = (Timestamp::now(), Instant::now());
    let how = How { tool, deadline: esxcli::DEADLINE, work: Some(work), listed: None };
    let result = run(remote, &[esxcli::QUESTION], &[], how, &sender).await;
    drop(sender);
    let took = began.elapsed();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (outcome, stdout, stderr) = match (received.recv().await, result) {
        (Some(section), _) => (section.outcome, text(&section.stdout), text(&section.stderr)),
        (None, Err(BatchError::TimedOut { .. })) => (Outcome::TimedOut, String::new(), String::new()),
        (None, Err(error)) => return Err(error),
        (None, Ok(())) => (Outcome::Cut, String::new(), String::new()),
    };
    Ok(Attempt { at, took, outcome, stdout, stderr })
}
