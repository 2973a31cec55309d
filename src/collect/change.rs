//! What changes a target, or reads it again just before and after that, on request: over a channel of its own, beside the
//! batches. A request that nobody waits for any more is not served: what was given up is never done later.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::link::Link;
use super::outlet::Outlet;
use super::rounds::{Sequence, round};
use super::setback;
use crate::app::change::{ChangeNews, Ran};
use crate::fabric::{Outcome, Text};
use crate::probe::Probe;
use crate::probe::dialect::posix::quote;

/// How long one command that changes something may take.
pub const COMMAND_DEADLINE: Duration = Duration::from_mins(1);

/// How many requests may wait; there is one change at a time.
pub const WAITING: usize = 1;

/// The most that is kept of what a command printed, in characters.
const SAID: usize = 400;

/// What is asked of a poller.
#[derive(Debug)]
pub struct Request {
    /// What to do.
    pub what: What,
    /// Where the answer goes.
    pub reply: oneshot::Sender<ChangeNews>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Read the probes of these names.
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

/// Serves requests as long as the connection lives.
pub async fn serve<L: Link>(
    link: &L,
    probes: &[Probe],
    outlet: &Outlet,
    sequence: &Sequence,
    requests: &mut mpsc::Receiver<Request>,
) {
    loop {
        let Some(Request { what, reply }) = requests.recv().await else { return std::future::pending().await };
        if reply.is_closed() {
            continue;
        }
        let news = match what {
            What::ReadAgain(names) => ChangeNews::ReadAgain(read_again(link, probes, &names, outlet, sequence).await),
            What::Run(commands) => ChangeNews::Ran(run(link, &commands).await),
        };
        let _ = reply.send(news);
    }
}

async fn read_again<L: Link>(
    link: &L,
    probes: &[Probe],
    names: &[String],
    outlet: &Outlet,
    sequence: &Sequence,
) -> Result<(), Text> {
    let wanted: Vec<&Probe> = probes.iter().filter(|probe| names.iter().any(|name| name == probe.name)).collect();
    if wanted.len() < names.len() {
        return Err(Text::new("not all of what shows the state is read by this version"));
    }
    let (sender, mut reports) = mpsc::channel(1);
    let reading = async {
        let end = round(link, outlet.target(), sequence, wanted, &sender).await;
        drop(sender);
        end
    };
    let forwarding = async {
        while let Some(report) = reports.recv().await {
            outlet.report(report).await;
        }
    };
    let (end, ()) = tokio::join!(reading, forwarding);
    match end.result {
        Ok(()) if end.unread.is_empty() => Ok(()),
        Ok(()) => Err(Text::new(&format!("not read: {}", end.unread.join(", ")))),
        Err(error) => Err(Text::new(&setback::failure(outlet.target(), &error).problem.to_string())),
    }
}

async fn run<L: Link>(link: &L, commands: &[Vec<String>]) -> Vec<Ran> {
    let mut all = Vec::new();
    for words in commands {
        let shown = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        let given = match timeout(COMMAND_DEADLINE, link.run(words)).await {
            Ok(Ok(given)) => given,
            Ok(Err(error)) => {
                let stderr = error.to_string().into_bytes();
                Given { outcome: Outcome::Cut, stdout: Vec::new(), stderr }
            }
            Err(_) => Given { outcome: Outcome::TimedOut, stdout: Vec::new(), stderr: Vec::new() },
        };
        let ran = Ran { command: Text::new(&shown), said: said(&given), outcome: given.outcome };
        let goes_on = ran.is_well();
        all.push(ran);
        if !goes_on {
            break;
        }
    }
    all
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

    #[test]
    fn what_a_command_printed_is_one_clean_line() {
        let given =
            Given { outcome: Outcome::Exit(1), stdout: b"out\n".to_vec(), stderr: b"\x1b[31mno\n\nway\n".to_vec() };
        assert_eq!(said(&given).as_str(), "no; way; out");
    }
}
