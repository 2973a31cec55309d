//! What changes a target, or reads it again just before and after that, on request: over a channel of its own, beside the
//! batches. A request that nobody waits for any more is not served: what was given up is never done later.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::esxcli;
use super::link::{BatchError, Link, Told};
use super::outlet::Outlet;
use super::round::{Due, round_of};
use super::rounds::Sequence;
use super::setback;
use super::work::Work;
use crate::app::Severity;
use crate::app::change::{ChangeNews, Ran};
use crate::fabric::{Outcome, Text};
use crate::probe::Probe;
use crate::probe::dialect::posix::quote;
use crate::probe::linux::stream;
use crate::probe::privilege::PROBE as PRIVILEGE;

/// How long one command that changes something may take.
pub const COMMAND_DEADLINE: Duration = Duration::from_mins(1);

/// How many requests may wait; there is one change at a time.
pub const WAITING: usize = 1;

/// A slow target gets so many batches to answer everything, as long as each of them brings something.
const MOST_ROUNDS: usize = 4;

/// What a report may be of without being a probe's: what a stream tells is told all the time, and what is known of the way
/// of reading itself is found out with the next batch.
const NO_PROBES: [&str; 3] = [esxcli::PROBE, PRIVILEGE, stream::SOURCE];

/// The most that is kept of what a command printed, in characters.
const SAID: usize = 400;

/// What is asked of a poller.
#[derive(Debug)]
pub struct Request {
    /// What to do.
    pub what: What,
    /// Where the answer goes.
    pub reply: oneshot::Sender<ChangeNews>,
    /// What ran so far: where the connection ends there is no answer, and this is known all the same.
    pub progress: Progress,
}

/// Commands that ran; the last may have begun only.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<Vec<Ran>>>);

impl Progress {
    /// What ran so far.
    pub fn so_far(&self) -> Vec<Ran> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn begins(&self, command: Text) {
        let said = Text::new("the connection ended before the command did");
        let ran = Ran { command, outcome: Outcome::Cut, said };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ran);
    }

    fn ended(&self, outcome: Outcome, said: Text) {
        if let Some(last) = self.0.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            (last.outcome, last.said) = (outcome, said);
        }
    }
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Read the probes of these names; all where none is named.
    ReadAgain(Vec<String>),
    /// Run these commands in order, until one fails.
    Run(Vec<Vec<String>>),
}

/// What a command gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// How it ended.
    pub outcome: Outcome,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

/// Serves requests as long as the connection lives. What an ESXi host works for them goes into `work`.
pub async fn serve<L: Link>(
    link: &L,
    probes: &[Probe],
    outlet: &Outlet,
    sequence: &Sequence,
    work: &Work,
    requests: &mut mpsc::Receiver<Request>,
) {
    loop {
        let Some(Request { what, mut reply, progress }) = requests.recv().await else {
            return std::future::pending().await;
        };
        if reply.is_closed() {
            continue;
        }
        let news = match what {
            What::ReadAgain(names) => tokio::select! {
                end = read_again(link, probes, &names, outlet, sequence, work) => ChangeNews::ReadAgain(end),
                // Who gave up on it must not keep the next one waiting.
                () = reply.closed() => continue,
            },
            What::Run(commands) => {
                run(link, &commands, &progress).await;
                ChangeNews::Ran(progress.so_far())
            }
        };
        let _ = reply.send(news);
    }
}

/// The probes of these names; all where none is named. Fails where one of them shows the state that a change rests on and is
/// not read by this version: what it said may be of long ago.
fn named<'a>(probes: &'a [Probe], names: &[String]) -> Result<Vec<&'a Probe>, Text> {
    let is_read = |name: &&String| probes.iter().any(|probe| probe.name == name.as_str());
    let unread: Vec<&str> =
        names.iter().filter(|name| !NO_PROBES.contains(&name.as_str()) && !is_read(name)).map(String::as_str).collect();
    if !unread.is_empty() {
        let unread = unread.join(", ");
        return Err(Text::new(&format!("not everything that shows the state is read by this version: {unread}")));
    }
    let is_wanted = |probe: &&Probe| names.is_empty() || names.iter().any(|name| name == probe.name);
    let due: Vec<&Probe> = probes.iter().filter(is_wanted).collect();
    if due.is_empty() {
        return Err(Text::new("nothing of what shows the state is read by this version"));
    }
    Ok(due)
}

async fn read_again<L: Link>(
    link: &L,
    probes: &[Probe],
    names: &[String],
    outlet: &Outlet,
    sequence: &Sequence,
    work: &Work,
) -> Result<(), Text> {
    let mut due = named(probes, names)?;
    if names.is_empty() || names.iter().any(|name| [esxcli::PROBE, PRIVILEGE].contains(&name.as_str())) {
        // What was found out about the way of reading may be another after a change, as after one that is asked for.
        link.try_again();
    }
    let (sender, mut reports) = mpsc::channel(1);
    let reading = async {
        let mut rounds = 1;
        let end = loop {
            let whole = due.iter().copied().map(Due::whole).collect();
            let end = round_of(link, outlet.target(), sequence, whole, work, &sender).await;
            let is_slow = matches!(end.result, Err(BatchError::TimedOut { begun: true, .. })) && !end.read.is_empty();
            if !is_slow || rounds == MOST_ROUNDS {
                break end;
            }
            rounds += 1;
            due.retain(|probe| end.unread.contains(&probe.name));
        };
        drop(sender);
        end
    };
    let forwarding = async {
        while let Some(report) = reports.recv().await {
            outlet.report(report).await;
        }
    };
    let (end, ()) = tokio::join!(reading, forwarding);
    for Told { report, refusal } in link.news(outlet.target(), sequence) {
        if let Some(report) = report {
            outlet.report(report).await;
        }
        // It is told once: the next batch would not.
        if let Some(text) = refusal {
            outlet.notice(Severity::Warning, &text).await;
        }
    }
    match end.result {
        Ok(()) if end.unread.is_empty() => Ok(()),
        Ok(()) => Err(Text::new(&format!("not read: {}", end.unread.join(", ")))),
        Err(error) => Err(Text::new(&setback::failure(outlet.target(), &error).problem.to_string())),
    }
}

async fn run<L: Link>(link: &L, commands: &[Vec<String>], progress: &Progress) {
    for words in commands {
        let shown = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        progress.begins(Text::new(&shown));
        let given = match timeout(COMMAND_DEADLINE, link.run(words)).await {
            Ok(Ok(given)) => given,
            Ok(Err(error)) => {
                let stderr = error.to_string().into_bytes();
                Given { outcome: Outcome::Cut, stdout: Vec::new(), stderr }
            }
            Err(_) => Given { outcome: Outcome::TimedOut, stdout: Vec::new(), stderr: Vec::new() },
        };
        let goes_on = given.outcome == Outcome::Exit(0);
        progress.ended(given.outcome.clone(), said(&given));
        if !goes_on {
            break;
        }
    }
}

/// What a command printed, in one line: standard error first.
fn said(given: &Given) -> Text {
    let (stderr, stdout) = (String::from_utf8_lossy(&given.stderr), String::from_utf8_lossy(&given.stdout));
    let lines = stderr.lines().chain(stdout.lines()).map(str::trim).filter(|line| !line.is_empty());
    let joined: String = lines.collect::<Vec<_>>().join("; ").chars().take(SAID).collect();
    Text::new(&joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::linux::PROBES;

    #[test]
    fn what_a_change_rests_on_is_read_whole_or_not_at_all() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            named(PROBES, &names).map(|due| due.iter().map(|probe| probe.name).collect::<Vec<_>>())
        };
        let (one, other) = (PROBES[0].name, PROBES[1].name);
        assert_eq!(named(&[]).map(|due| due.len()), Ok(PROBES.len()));
        assert_eq!(named(&[other]), Ok(vec![other]));
        for no_probe in NO_PROBES {
            assert_eq!(named(&[no_probe, one]), Ok(vec![one]), "{no_probe}");
            assert!(named(&[no_probe]).is_err(), "{no_probe} alone shows nothing that could be read again");
        }
        for missing in ["linux.of-later", "esxi.nics", ""] {
            let why = named(&[one, missing]).expect_err(missing);
            assert!(why.as_str().ends_with(missing), "{why}");
        }
    }

    #[test]
    fn what_a_command_printed_is_one_clean_line() {
        let given =
            Given { outcome: Outcome::Exit(1), stdout: b"out\n".to_vec(), stderr: b"\x1b[31mno\n\nway\n".to_vec() };
        assert_eq!(said(&given).as_str(), "no; way; out");
    }
}
