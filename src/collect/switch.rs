//! A switch at the other end of a connection whose login is a command line of its own: one command at a time, each on a
//! channel of its own, and never a script. Its system comes from the inventory; nothing is sent to find it out.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::change::Given;
use super::kind::System;
use super::link::{BatchError, Link, Remote};
use super::privilege::Privilege;
use super::transport::{Exec, Output, TransportError};
use super::work::Work;
use crate::fabric::{Outcome, Text};
use crate::probe::Source;
use crate::probe::dialect::sections::{MOST_OF_BATCH, MOST_OF_SECTION, Section};
use crate::probe::dialect::switch::{self, COMMAND_SECONDS};
use crate::probe::switch::SwitchSystem;

/// How often everything is read: each command may be logged centrally, and switches are slow.
pub const PERIOD: Duration = Duration::from_mins(1);

/// How long one command may take.
const COMMAND_DEADLINE: Duration = Duration::from_secs(COMMAND_SECONDS);

/// How long all commands of a batch may take.
pub const BATCH_DEADLINE: Duration = Duration::from_secs(90);

/// After so many commands in a row that did not answer in time the rest is not tried.
const MOST_LATE: usize = 2;

/// A channel that was closed just now may still count over there: how often and how long to wait for it.
const MOST_REFUSALS: usize = 4;
const REFUSAL_WAIT: Duration = Duration::from_millis(500);

/// How long to wait for the news that a connection ended whose command ended without a status.
const REASON_WAIT: Duration = Duration::from_millis(200);

/// The exit status of what no command line can be made of.
const NOT_RUN: i32 = 126;

/// The command line of a switch over a connection.
#[derive(Debug)]
pub struct SwitchLink<R> {
    remote: R,
    system: SwitchSystem,
    privilege: Privilege,
}

impl<R: Remote> SwitchLink<R> {
    /// The command line of a switch of this system at the other end of `remote`.
    pub fn new(remote: R, system: SwitchSystem) -> Self {
        Self { remote, system, privilege: Privilege::default() }
    }

    async fn start(&self, command: &str, until: Instant) -> Result<Option<Exec>, BatchError> {
        for tried in 1.. {
            match timeout_at(until, self.remote.exec(command)).await {
                Err(_) => break,
                Ok(Ok(exec)) => return Ok(Some(exec)),
                Ok(Err(TransportError::ChannelRefused(_))) if tried < MOST_REFUSALS => sleep(REFUSAL_WAIT).await,
                Ok(Err(error)) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Runs one command and takes what it prints.
    async fn read(&self, index: usize, command: &str, until: Instant) -> Result<Section, BatchError> {
        let began = Instant::now();
        let until = until.min(began + COMMAND_DEADLINE);
        let mut section = Section {
            index,
            outcome: Outcome::TimedOut,
            duration: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
            cut: 0,
            command: Some(command.to_owned()),
        };
        // Its input stays open: there are command lines that end with their input and answer nothing then.
        let Some(mut exec) = self.start(command, until).await? else { return Ok(section) };
        let (mut status, mut killed, mut received) = (None, false, 0u64);
        let outcome = loop {
            let (into, bytes) = match timeout_at(until, exec.next()).await {
                Err(_) => break Outcome::TimedOut,
                Ok(None) => break self.end(status, killed).await?,
                Ok(Some(Output::Stdout(bytes))) => (&mut section.stdout, bytes),
                Ok(Some(Output::Stderr(bytes))) => (&mut section.stderr, bytes),
                Ok(Some(Output::Exit(code))) => {
                    status = Some(code);
                    continue;
                }
                Ok(Some(Output::Signal(_))) => {
                    killed = true;
                    continue;
                }
            };
            let kept = bytes.len().min(MOST_OF_SECTION.saturating_sub(into.len()));
            into.extend_from_slice(&bytes[..kept]);
            section.cut += (bytes.len() - kept) as u64;
            received += bytes.len() as u64;
            if received > MOST_OF_BATCH {
                return Err(BatchError::Flooded);
            }
        };
        section.duration = Some(began.elapsed());
        section.outcome = switch::settled(outcome, &section.stdout, &section.stderr);
        Ok(section)
    }

    /// How a command ended whose channel is closed.
    async fn end(&self, status: Option<u32>, killed: bool) -> Result<Outcome, BatchError> {
        match status {
            Some(status) => Ok(Outcome::Exit(i32::try_from(status).unwrap_or(i32::MAX))),
            None if killed => Ok(Outcome::Cut),
            // Every system here tells a status: without one the answer may lack its end.
            None => match timeout(REASON_WAIT, self.remote.closed()).await {
                Ok(_) => Err(BatchError::Closed),
                Err(_) => Ok(Outcome::Cut),
            },
        }
    }
}

impl<R: Remote> Link for SwitchLink<R> {
    fn described(&self) -> Text {
        Text::new(&format!("{}, {} switch", self.remote.described(), switch::title(self.system)))
    }

    fn system(&self) -> System {
        System::Switch(self.system)
    }

    async fn batch(
        &self,
        sources: &[Source],
        sections: &mpsc::Sender<Section>,
        _work: &Work,
    ) -> Result<(), BatchError> {
        let until = Instant::now() + BATCH_DEADLINE;
        let (mut late, mut answered) = (0, false);
        for (index, source) in sources.iter().enumerate() {
            let Some(command) = switch::command(self.system, &source.read) else {
                let stderr = b"this cannot be read by the command line of a switch\n".to_vec();
                let outcome = Outcome::Exit(NOT_RUN);
                let section =
                    Section { index, outcome, duration: None, stdout: Vec::new(), stderr, cut: 0, command: None };
                let _ = sections.send(section).await;
                continue;
            };
            let section = self.read(index, &command, until).await?;
            late = if section.outcome == Outcome::TimedOut { late + 1 } else { 0 };
            answered |= late == 0;
            let _ = sections.send(section).await;
            if late >= MOST_LATE || Instant::now() >= until {
                let after = if late >= MOST_LATE { COMMAND_DEADLINE } else { BATCH_DEADLINE };
                return Err(if answered {
                    BatchError::TimedOut { begun: true, after, said: Text::new("") }
                } else {
                    BatchError::Silent { command: Text::new(&command), after }
                });
            }
        }
        Ok(())
    }

    async fn stream(&self, _nonce: &str) -> Result<Exec, TransportError> {
        Err(TransportError::Protocol(Text::new("a switch has no shell that a stream could run in")))
    }

    /// A switch is changed line by line in its configuration mode, by a person.
    async fn run(&self, _words: &[String]) -> Result<Given, BatchError> {
        Err(BatchError::ExecRefused)
    }

    fn privilege(&self) -> &Privilege {
        &self.privilege
    }

    async fn closed(&self) -> Text {
        self.remote.closed().await
    }

    async fn close(self) {
        self.remote.close().await;
    }
}
