//! A POSIX shell at the other end of a connection: batches and streams are both a `/bin/sh -s` that gets its script on
//! its input. The command line says nothing else, so no login shell has to understand any of it.

mod esxi;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use self::esxi::Beside;
use super::change::Given;
use super::esxcli::Tool;
use super::kind::System;
use super::link::{BatchError, Link, Remote, Told};
use super::lists::Lists;
use super::privilege::{Privilege, Way};
use super::rounds::Sequence;
use super::switch;
use super::transport::{Exec, Output, TransportError};
use super::work::Work;
use crate::fabric::{Outcome, TargetId, Text};
use crate::probe::Source;
use crate::probe::dialect::posix::{ESXCLI, Listed, change_script, compile_knowing};
use crate::probe::dialect::sections::{Section, SectionReader};
use crate::probe::dialect::switch::title;
use crate::probe::linux::stream;
use crate::probe::privilege::{Become, ByRoot, login_script, shown_read};
use crate::probe::switch::SwitchSystem;

/// The whole command line of every batch and stream.
pub const SHELL: &str = "/bin/sh -s";

/// How long a batch may take.
pub const BATCH_DEADLINE: Duration = Duration::from_secs(20);

/// How long a shell may take on an ESXi host with what it takes at a time: each command there costs about a second, and some
/// are run for each VM.
pub const ESXI_BATCH_DEADLINE: Duration = Duration::from_secs(90);

/// How long opening a channel and starting a command may take.
pub const OPEN_DEADLINE: Duration = Duration::from_secs(10);

/// How long a shell that has run its whole script may take to end.
const END_GRACE: Duration = Duration::from_secs(1);

/// A fresh, unguessable word.
pub fn nonce() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// What a lock holds; nobody leaves it half done.
fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long the login may take to say who it is.
const LOGIN_DEADLINE: Duration = Duration::from_secs(10);

/// An answer to that is shorter.
const LONGEST_LOGIN: usize = 64 * 1024;

/// A shell over a connection.
#[derive(Debug)]
pub struct ShellLink<R> {
    remote: R,
    privilege: Privilege,
    /// On an ESXi host: what reads it.
    tool: Option<Tool>,
    /// On an ESXi host: whether it allows a shell beside another.
    beside: Mutex<Beside>,
    /// Likewise: what it listed a moment ago.
    lists: Lists,
    /// On a switch that is Linux.
    switch: Option<SwitchSystem>,
}

impl<R: Remote> ShellLink<R> {
    /// The shell at the other end of `remote`, whose privileged commands are run as `privilege` says.
    pub fn new(remote: R, privilege: Privilege) -> Self {
        Self { remote, privilege, tool: None, beside: Mutex::default(), lists: Lists::default(), switch: None }
    }

    /// The shell of an ESXi host at the other end of `remote`. There is no `sudo` on such hosts.
    pub fn esxi(remote: R) -> Self {
        Self { tool: Some(Tool::default()), ..Self::new(remote, Privilege::default()) }
    }

    /// The shell of a switch of this system, which is Linux, at the other end of `remote`.
    pub fn switch(remote: R, system: SwitchSystem) -> Self {
        Self { switch: Some(system), ..Self::new(remote, Privilege::default()) }
    }

    /// How long a batch may take.
    fn how(&self) -> How<'static> {
        match self.switch {
            Some(_) => How { deadline: switch::BATCH_DEADLINE, ..How::default() },
            None => How::default(),
        }
    }

    /// Asks who the login is, if a source depends on it.
    async fn ask_login(&self, sources: &[Source]) -> Result<(), BatchError> {
        if sources.iter().any(|source| self.privilege.way(source) == Way::AskFirst) {
            let answer = timeout(LOGIN_DEADLINE, login_answer(&self.remote)).await;
            // A shell that says nothing to the purpose still runs the batch; it is told.
            self.privilege.learned(&answer.unwrap_or_else(|_| Ok(String::new()))?);
        }
        Ok(())
    }
}

impl<R: Remote> Link for ShellLink<R> {
    fn described(&self) -> Text {
        match (&self.tool, self.switch) {
            (Some(_), _) => Text::new(&format!("{}, ESXi host", self.remote.described())),
            (None, Some(system)) => Text::new(&format!("{}, {} switch", self.remote.described(), title(system))),
            (None, None) => self.remote.described(),
        }
    }

    fn system(&self) -> System {
        match (&self.tool, self.switch) {
            (Some(_), _) => System::Esxi,
            (None, Some(system)) => System::Switch(system),
            (None, None) => System::Linux,
        }
    }

    async fn batch(&self, sources: &[Source], sections: &mpsc::Sender<Section>, work: &Work) -> Result<(), BatchError> {
        if sources.is_empty() {
            return Ok(());
        }
        if let Some(tool) = &self.tool {
            return self.batch_of_host(tool, sources, sections, work).await;
        }
        self.ask_login(sources).await?;
        let ways: Vec<Option<ByRoot>> = sources
            .iter()
            .map(|source| match self.privilege.way(source) {
                Way::ByRoot(command) => Some(command),
                Way::Plain | Way::AskFirst => None,
            })
            .collect();
        if ways.iter().all(Option::is_none) {
            return run(&self.remote, sources, &ways, self.how(), sections).await;
        }
        let (sender, mut received) = mpsc::channel::<Section>(1);
        let reading = async {
            let result = run(&self.remote, sources, &ways, How::default(), &sender).await;
            drop(sender);
            result
        };
        let mut refused = Vec::new();
        let passing_on = async {
            while let Some(mut section) = received.recv().await {
                if let Some(command) = ways.get(section.index).and_then(Option::as_ref) {
                    if self.privilege.answered(command, &mut section) {
                        refused.push(section.index);
                        continue;
                    }
                    section.command = Some(shown_read(&sources[section.index].read, command));
                }
                let _ = sections.send(section).await;
            }
        };
        let (result, ()) = tokio::join!(reading, passing_on);
        result?;
        self.plainly(sources, &refused, sections).await
    }

    async fn stream(&self, nonce: &str) -> Result<Exec, TransportError> {
        let started = async {
            let exec = self.remote.exec(SHELL).await?;
            exec.send(match self.privilege.by() {
                Become::None => stream::block(nonce),
                Become::Sudo => stream::block_by_root(nonce),
            })
            .await?;
            Ok(exec)
        };
        timeout(OPEN_DEADLINE, started).await.unwrap_or(Err(TransportError::TimedOut(OPEN_DEADLINE)))
    }

    async fn shell(&self, block: String) -> Result<Exec, TransportError> {
        let started = async {
            let exec = self.remote.exec(SHELL).await?;
            exec.send(block).await?;
            Ok(exec)
        };
        timeout(OPEN_DEADLINE, started).await.unwrap_or(Err(TransportError::TimedOut(OPEN_DEADLINE)))
    }

    async fn run(&self, words: &[String]) -> Result<Given, BatchError> {
        let mut exec = self.remote.exec(SHELL).await?;
        exec.send(change_script(words, self.privilege.by() == Become::Sudo)).await?;
        exec.end_input().await?;
        let mut given = Given { outcome: Outcome::Cut, stdout: Vec::new(), stderr: Vec::new() };
        while let Some(output) = exec.next().await {
            let keep = |kept: &mut Vec<u8>, bytes: &[u8]| {
                let room = LONGEST_LOGIN.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            };
            match output {
                Output::Stdout(bytes) => keep(&mut given.stdout, &bytes),
                Output::Stderr(bytes) => keep(&mut given.stderr, &bytes),
                Output::Exit(status) => given.outcome = Outcome::Exit(status.cast_signed()),
                Output::Signal(_) => {}
            }
        }
        Ok(given)
    }

    fn privilege(&self) -> &Privilege {
        &self.privilege
    }

    fn has_room(&self) -> bool {
        !self.beside().is_refused
    }

    fn news(&self, target: &TargetId, sequence: &Sequence) -> Vec<Told> {
        match &self.tool {
            Some(tool) => {
                let refusal = self.beside().news.take();
                let of_shells = refusal.map(|refusal| Told { report: None, refusal: Some(refusal) });
                tool.news(target, sequence).map(Told::from).into_iter().chain(of_shells).collect()
            }
            None => self.privilege.news(target, sequence).into_iter().map(Told::from).collect(),
        }
    }

    fn try_again(&self) {
        match &self.tool {
            Some(tool) => {
                tool.try_again();
                self.lists.forget();
                self.beside().is_refused = false;
            }
            None => self.privilege.try_again(),
        }
    }

    async fn closed(&self) -> Text {
        self.remote.closed().await
    }

    async fn close(self) {
        self.remote.close().await;
    }
}

impl<R: Remote> ShellLink<R> {
    /// Reads the sources at these places as the login is: `sudo` refused them.
    async fn plainly(
        &self,
        sources: &[Source],
        places: &[usize],
        sections: &mpsc::Sender<Section>,
    ) -> Result<(), BatchError> {
        if places.is_empty() {
            return Ok(());
        }
        let again: Vec<Source> = places.iter().map(|&place| sources[place]).collect();
        let (sender, mut received) = mpsc::channel::<Section>(1);
        let reading = async {
            let result = run(&self.remote, &again, &[], How::default(), &sender).await;
            drop(sender);
            result
        };
        let passing_on = async {
            while let Some(section) = received.recv().await {
                let index = places.get(section.index).copied().unwrap_or(section.index);
                let _ = sections.send(Section { index, ..section }).await;
            }
        };
        tokio::join!(reading, passing_on).0
    }
}

/// What the login says of itself; what is no answer is an empty text.
async fn login_answer(remote: &impl Remote) -> Result<String, TransportError> {
    let mut exec = remote.exec(SHELL).await?;
    exec.send(login_script()).await?;
    exec.end_input().await?;
    let mut answer = Vec::new();
    while let Some(output) = exec.next().await {
        if let Output::Stdout(bytes) = output {
            answer.extend_from_slice(&bytes);
            if answer.len() > LONGEST_LOGIN {
                break;
            }
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

impl From<TransportError> for BatchError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Closed | TransportError::Protocol(_) => Self::Closed,
            TransportError::ChannelRefused(why) => Self::ChannelRefused(why),
            TransportError::ExecRefused => Self::ExecRefused,
            TransportError::TimedOut(after) => Self::TimedOut { begun: false, after, said: Text::new("") },
        }
    }
}

/// How a batch is run.
#[derive(Clone, Copy, Debug)]
struct How<'a> {
    /// What stands for `esxcli`.
    tool: &'static str,
    /// How long it may take.
    deadline: Duration,
    /// Where it counts how long a shell works: the meter.
    work: Option<&'a Work>,
    /// Lists that are known.
    listed: Option<&'a Listed>,
}

impl Default for How<'_> {
    fn default() -> Self {
        Self { tool: ESXCLI, deadline: BATCH_DEADLINE, work: None, listed: None }
    }
}

/// One batch over one shell; `ways` says by place which sources are read by `sudo`.
async fn run(
    remote: &impl Remote,
    sources: &[Source],
    ways: &[Option<ByRoot>],
    how: How<'_>,
    sections: &mpsc::Sender<Section>,
) -> Result<(), BatchError> {
    let nonce = nonce();
    let nothing = Listed::new();
    let listed = how.listed.unwrap_or(&nothing);
    let script = compile_knowing(sources, &nonce, how.tool, listed, |place| ways.get(place).cloned().flatten());
    let mut reader = SectionReader::new(sources.len(), &nonce);
    let mut deadline = Instant::now() + how.deadline;
    let late = |reader: &SectionReader| BatchError::TimedOut {
        begun: reader.has_started(),
        after: how.deadline,
        said: said(reader),
    };
    let start = async {
        let exec = remote.exec(SHELL).await?;
        // Until then nothing works there: it may have waited for others to be done.
        let working = how.work.map(Work::begins);
        // A shell may be done before it sees the end of its input, or end without reading any: what it gave tells.
        if exec.send(script).await.is_ok() {
            let _ = exec.end_input().await;
        }
        Ok::<_, TransportError>((exec, working))
    };
    let (mut exec, working) = timeout_at(deadline, start).await.map_err(|_| late(&reader))??;
    if how.work.is_some() {
        // It may have waited for its turn, which is no fault of the host.
        deadline = Instant::now() + how.deadline;
    }
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
    drop((exec, working));
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
