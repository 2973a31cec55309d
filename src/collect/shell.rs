//! A POSIX shell at the other end of a connection: batches and streams are both a `/bin/sh -s` that gets its script on
//! its input. The command line says nothing else, so no login shell has to understand any of it.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::link::{BatchError, Link, Remote};
use super::transport::{Exec, Output, TransportError};
use crate::fabric::{Outcome, Text};
use crate::probe::Source;
use crate::probe::dialect::posix::compile;
use crate::probe::dialect::sections::{Section, SectionReader};
use crate::probe::linux::stream;

/// The whole command line of every batch and stream.
pub const SHELL: &str = "/bin/sh -s";

/// How long a batch may take.
pub const BATCH_DEADLINE: Duration = Duration::from_secs(20);

/// How long opening a channel and starting a command may take.
pub const OPEN_DEADLINE: Duration = Duration::from_secs(10);

/// How long a shell that has run its whole script may take to end.
const END_GRACE: Duration = Duration::from_secs(1);

/// A fresh, unguessable word.
pub fn nonce() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// A shell over a connection.
#[derive(Debug)]
pub struct ShellLink<R>(R);

impl<R: Remote> ShellLink<R> {
    /// The shell at the other end of `remote`.
    pub fn new(remote: R) -> Self {
        Self(remote)
    }
}

impl<R: Remote> Link for ShellLink<R> {
    fn described(&self) -> Text {
        self.0.described()
    }

    async fn batch(&self, sources: &[Source], sections: &mpsc::Sender<Section>) -> Result<(), BatchError> {
        if sources.is_empty() {
            return Ok(());
        }
        run(&self.0, sources, sections).await
    }

    async fn stream(&self, nonce: &str) -> Result<Exec, TransportError> {
        let started = async {
            let exec = self.0.exec(SHELL).await?;
            exec.send(stream::block(nonce)).await?;
            Ok(exec)
        };
        timeout(OPEN_DEADLINE, started).await.unwrap_or(Err(TransportError::TimedOut(OPEN_DEADLINE)))
    }

    async fn closed(&self) -> Text {
        self.0.closed().await
    }

    async fn close(self) {
        self.0.close().await;
    }
}

impl From<TransportError> for BatchError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Closed | TransportError::Protocol(_) => Self::Closed,
            TransportError::ChannelRefused(why) => Self::ChannelRefused(why),
            TransportError::ExecRefused => Self::ExecRefused,
            TransportError::TimedOut(_) => Self::TimedOut { begun: false, said: Text::new("") },
        }
    }
}

/// One batch over one shell.
async fn run(remote: &impl Remote, sources: &[Source], sections: &mpsc::Sender<Section>) -> Result<(), BatchError> {
    let nonce = nonce();
    let script = compile(sources, &nonce);
    let mut reader = SectionReader::new(sources.len(), &nonce);
    let mut deadline = Instant::now() + BATCH_DEADLINE;
    let late = |reader: &SectionReader| BatchError::TimedOut { begun: reader.has_started(), said: said(reader) };
    let start = async {
        let exec = remote.exec(SHELL).await?;
        // A shell may be done before it sees the end of its input, or end without reading any: what it gave tells.
        if exec.send(script).await.is_ok() {
            let _ = exec.end_input().await;
        }
        Ok::<Exec, TransportError>(exec)
    };
    let mut exec = timeout_at(deadline, start).await.map_err(|_| late(&reader))??;
    let mut status = None;
    let mut killed = false;
    let (error, outcome) = loop {
        let complete = match timeout_at(deadline, exec.next()).await {
            Err(_) | Ok(None) if reader.is_complete() => return Ok(()),
            Err(_) => break (late(&reader), Outcome::TimedOut),
            Ok(None) if status.is_none() && !killed => break (BatchError::Closed, Outcome::Cut),
            Ok(None) if reader.has_started() => break (BatchError::Broken, Outcome::Cut),
            Ok(None) => break (BatchError::NoShell { status, said: said(&reader) }, Outcome::Cut),
            Ok(Some(Output::Stdout(bytes))) => reader.feed_stdout(&bytes),
            Ok(Some(Output::Stderr(bytes))) => reader.feed_stderr(&bytes),
            Ok(Some(Output::Exit(code))) => {
                status = Some(code);
                continue;
            }
            Ok(Some(Output::Signal(_))) => {
                killed = true;
                continue;
            }
        };
        for section in complete {
            // Whoever asked may have lost interest; the batch then ends with its future.
            let _ = sections.send(section).await;
        }
        if reader.is_complete() {
            deadline = deadline.min(Instant::now() + END_GRACE);
        } else if reader.flooded() {
            break (BatchError::Flooded, Outcome::Cut);
        }
    };
    drop(exec);
    if error != BatchError::Closed {
        for section in reader.finish(&outcome) {
            let _ = sections.send(section).await;
        }
    }
    Err(error)
}

/// What was said instead of running the script: the last line, standard error first.
fn said(reader: &SectionReader) -> Text {
    let (stdout, stderr) = reader.noise();
    last_line(stderr).or_else(|| last_line(stdout)).unwrap_or_else(|| Text::new(""))
}

/// The last line that says something.
pub fn last_line(bytes: &[u8]) -> Option<Text> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rev().map(Text::new).find(|line| !line.is_empty())
}
