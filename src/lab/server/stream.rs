//! The stream of ticks: what the block of shell would answer, with the files read from the machine.

use russh::{ChannelMsg, ChannelReadHalf};

use super::Host;
use super::command::run_as;
use super::serve::{Gone, Out, random};
use crate::fabric::Timestamp;
use crate::lab::fault::garbage;
use crate::lab::machine::{Login, Machine, NotRead};
use crate::probe::linux::stream::native::{self, Place, Watched};

/// No request is longer.
const LONGEST_REQUEST: usize = 256;

/// What lists the queue pairs.
const QUEUE_PAIRS: [&str; 5] = ["rdma", "-j", "res", "show", "qp"];

/// A tick takes as often as long as a command, where the machine is slow.
const TICK_SLOWNESS: u32 = 5;

/// Answers ticks until the input ends. `begun` is what came behind the block already; `ended` says that it was all.
#[allow(clippy::too_many_arguments, reason = "one call, and each of them is its own thing")]
pub(super) async fn run(
    host: &Host,
    login: &Login,
    nonce: &str,
    sudo: bool,
    begun: String,
    ended: bool,
    input: &mut ChannelReadHalf,
    out: &mut Out,
) -> Result<(), Gone> {
    let stream = Stream { host, machine: host.machine.as_ref(), login, nonce, sudo };
    let mut watched = Watched::scan(&stream);
    out.push(&lines(&watched.header(nonce)), b"").await?;
    out.flush().await?;
    let mut waiting = begun;
    let mut ended = ended;
    loop {
        while let Some((request, rest)) = waiting.split_once('\n') {
            let (request, rest) = (request.to_owned(), rest.to_owned());
            waiting = rest;
            let slowness = host.line().slower_by * TICK_SLOWNESS;
            if !slowness.is_zero() {
                tokio::time::sleep(slowness).await;
            }
            stream.tick(&request, &mut watched, out).await?;
        }
        if ended || waiting.len() > LONGEST_REQUEST {
            return Ok(());
        }
        match input.wait().await {
            Some(ChannelMsg::Data { data }) => waiting.push_str(&String::from_utf8_lossy(&data)),
            Some(ChannelMsg::Eof) => ended = true,
            None | Some(ChannelMsg::Close | ChannelMsg::Signal { .. }) => return Err(Gone),
            Some(_) => {}
        }
    }
}

/// What one stream reads with.
struct Stream<'a> {
    host: &'a Host,
    machine: &'a dyn Machine,
    login: &'a Login,
    nonce: &'a str,
    sudo: bool,
}

impl Stream<'_> {
    /// Answers one request: `NUMBER [q][r]`.
    async fn tick(&self, request: &str, watched: &mut Watched, out: &mut Out) -> Result<(), Gone> {
        let (number, asked) = request.split_once(' ').unwrap_or((request, ""));
        let Ok(number) = number.trim().parse::<u64>() else { return Ok(()) };
        let mut answer = Vec::new();
        if asked.contains('r') {
            *watched = Watched::scan(self);
            answer = watched.header(self.nonce);
        }
        let values: Vec<Option<String>> = watched.files.iter().map(|path| self.value(path)).collect();
        answer.push(native::tick_line(self.nonce, number, &native::uptime(self).unwrap_or_default(), &values));
        if asked.contains('q') {
            let words = QUEUE_PAIRS.map(str::to_owned);
            let said = run_as(self.machine, self.login, &words, self.sudo);
            let status = i32::try_from(said.status).unwrap_or(1);
            answer.extend(native::queue_pair_lines(self.nonce, number, None, &said.stdout, &said.stderr, status));
        }
        let mut bytes = lines(&answer);
        if self.host.line().garbled {
            bytes = garbage::of(&bytes, &mut random(self.host));
        }
        out.push(&bytes, b"").await?;
        out.flush().await
    }
}

impl Place for Stream<'_> {
    fn expand(&self, pattern: &str) -> Vec<String> {
        self.machine.expand(pattern)
    }

    fn exists(&self, path: &str) -> bool {
        self.machine.link(path).is_some() || self.machine.read(path, self.login) != Err(NotRead::Missing)
    }

    fn value(&self, path: &str) -> Option<String> {
        match self.machine.read(path, self.login) {
            Ok(content) => {
                let line = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
                Some(String::from_utf8_lossy(line).trim().to_owned())
            }
            Err(NotRead::Invalid | NotRead::Directory) => Some(String::new()),
            Err(NotRead::Missing | NotRead::Denied) => None,
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        let content = self.machine.read(path, self.login).ok()?;
        Some(String::from_utf8_lossy(&content).into_owned())
    }

    fn leads_to(&self, path: &str) -> Option<String> {
        self.machine.link(path)?.rsplit('/').next().map(str::to_owned)
    }

    /// What its `date` says, or our own clock where it says nothing of the kind.
    fn wall_clock_ms(&self) -> i64 {
        let said = self.machine.run(&["date", "+%s.%N"].map(str::to_owned), self.login);
        milliseconds(said.stdout.trim()).unwrap_or_else(|| Timestamp::now().as_millisecond())
    }
}

/// `SECONDS.NANOSECONDS` in milliseconds.
fn milliseconds(clock: &str) -> Option<i64> {
    let (seconds, parts) = clock.split_once('.')?;
    let parts: i64 = parts.get(..3)?.parse().ok()?;
    seconds.parse::<i64>().ok()?.checked_mul(1000)?.checked_add(parts)
}

fn lines(answer: &[String]) -> Vec<u8> {
    let mut text = answer.join("\n");
    text.push('\n');
    text.into_bytes()
}
