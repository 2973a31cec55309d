//! This machine, read without a shell: files are opened and programs are started directly. What comes out is what the
//! compiled script would have printed, byte for byte, so one parser serves both.
//!
//! A driver that hangs in a read of sysfs can be neither interrupted nor killed. Such a read runs on a thread of its
//! own, is reported as timed out, and is not tried again before it came back.

mod files;
mod kept;
mod program;
mod ticks;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Exec;
use crate::fabric::Outcome;
use crate::probe::dialect::posix::COMMAND_SECONDS;
use crate::probe::dialect::sections::Section;
use crate::probe::privilege::{ByRoot, login_script};
use crate::probe::{Read, Source};

/// How long one read may take.
const DEADLINE: Duration = Duration::from_secs(COMMAND_SECONDS);

/// What one read gave.
#[derive(Debug, PartialEq, Eq)]
struct Given {
    outcome: Outcome,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    cut: u64,
}

impl Given {
    fn status(status: i32) -> Self {
        Self { outcome: Outcome::Exit(status), stdout: Vec::new(), stderr: Vec::new(), cut: 0 }
    }

    fn timed_out() -> Self {
        Self { outcome: Outcome::TimedOut, ..Self::status(0) }
    }
}

/// The words of a command that is run by `sudo`.
fn words(command: &ByRoot) -> Vec<OsString> {
    command.words().into_iter().map(OsString::from).collect()
}

/// Reads of this machine.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// Names of the sources whose last read of files never came back.
    hanging: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Local {
    /// Runs a command that changes something, to its end.
    pub async fn run(&self, words: &[String], by_root: bool) -> super::super::change::Given {
        let sudo = ["sudo", "-n", "--"].map(OsString::from).into_iter().filter(|_| by_root);
        let words = sudo.chain(words.iter().map(OsString::from)).collect();
        let given = program::run_words(words, None, super::super::change::COMMAND_DEADLINE).await;
        super::super::change::Given { outcome: given.outcome, stdout: given.stdout, stderr: given.stderr }
    }

    /// Nothing is opened before the first read.
    pub fn new() -> Self {
        Self::default()
    }

    /// Who this program runs as, as `login_script` tells it. It is the one read that takes a shell.
    pub async fn login(&self) -> String {
        let words = ["/bin/sh", "-c", &login_script()].map(OsString::from);
        let given = program::run_words(words.to_vec(), None, DEADLINE).await;
        String::from_utf8_lossy(&given.stdout).into_owned()
    }

    /// Reads one source; `index` is its place in the batch. Takes at most ten seconds. A privileged command is run by
    /// `by_root`, if that is given.
    pub async fn read(&self, index: usize, source: Source, by_root: Option<&ByRoot>) -> Section {
        let begin = Instant::now();
        let given = match source.read {
            Read::Files(globs) => {
                self.blocking(source.name, move || files::read(globs)).await.unwrap_or_else(Given::timed_out)
            }
            Read::ProcessFiles { names, files } => self
                .blocking(source.name, move || files::of_processes(names, files))
                .await
                .unwrap_or_else(Given::timed_out),
            Read::Environment(prefixes) => files::environment(std::env::vars_os(), prefixes),
            // It is made of commands that only an ESXi host has, and this machine is none.
            Read::Each { .. } => Given::status(127),
            Read::Command { argv, keep } => program::run(argv, keep, DEADLINE).await,
            Read::Privileged { argv, keep, .. } => match by_root {
                Some(command) => program::run_words(words(command), keep, DEADLINE).await,
                None => program::run(argv, keep, DEADLINE).await,
            },
        };
        Section {
            index,
            outcome: given.outcome,
            duration: Some(begin.elapsed()),
            stdout: given.stdout,
            stderr: given.stderr,
            cut: given.cut,
            command: None,
        }
    }

    /// A stream of ticks whose lines carry `nonce`.
    pub fn stream(&self, nonce: &str) -> Exec {
        ticks::start(self.clone(), nonce.to_owned())
    }

    /// Does blocking work on a thread of its own; `None` if it is not done in time, or if earlier work of this name
    /// still hangs.
    async fn blocking<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        if !self.hanging.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
            return None;
        }
        let hanging = Arc::clone(&self.hanging);
        let task = tokio::task::spawn_blocking(move || {
            let given = work();
            hanging.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
            given
        });
        tokio::time::timeout(DEADLINE, task).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests;
