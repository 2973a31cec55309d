//! One channel: what was asked for on it is recognised and answered, as slowly and as wrongly as the line to the machine
//! is at this moment.

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use russh::server::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};

use super::print::{self, Printed, not_found};
use super::script::{Batch, Script, Wanted, recognise};
use super::{Host, command, esxtop, gpus, stream};
use crate::lab::fault::garbage;
use crate::lab::machine::{Login, Machine};
use crate::probe::dialect::posix::marker;

/// What a channel asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A command line.
    Command(String),
    /// An interactive shell.
    Shell,
}

/// A script is never longer.
const LONGEST_SCRIPT: usize = 1 << 20;

/// Output is sent when so much of it waits, in bytes.
const PIECE: usize = 16 * 1024;

/// What somebody is told who wants a shell.
const NO_SHELL: &str = "This is a machine of rdmascope's demo lab. It executes nothing and has no shell, but it answers \
                        single commands, for example `rdma link` or `ip -br link`.";

/// The channel is gone: nobody is there to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// The way back to whoever asked.
pub(super) struct Out {
    write: ChannelWriteHalf<Msg>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Out {
    fn new(write: ChannelWriteHalf<Msg>) -> Self {
        Self { write, stdout: Vec::new(), stderr: Vec::new() }
    }

    /// Adds to both outputs; sends them when there is enough.
    pub async fn push(&mut self, stdout: &[u8], stderr: &[u8]) -> Result<(), Gone> {
        self.stdout.extend_from_slice(stdout);
        self.stderr.extend_from_slice(stderr);
        if self.stdout.len() + self.stderr.len() >= PIECE { self.flush().await } else { Ok(()) }
    }

    /// Sends what waits.
    pub async fn flush(&mut self) -> Result<(), Gone> {
        let (stdout, stderr) = (std::mem::take(&mut self.stdout), std::mem::take(&mut self.stderr));
        if !stderr.is_empty() {
            self.write.extended_data_bytes(1, stderr).await.map_err(|_| Gone)?;
        }
        if !stdout.is_empty() {
            self.write.data_bytes(stdout).await.map_err(|_| Gone)?;
        }
        Ok(())
    }

    /// Sends what waits, and the exit status.
    async fn end(&mut self, status: u32) -> Result<(), Gone> {
        self.flush().await?;
        self.write.exit_status(status).await.map_err(|_| Gone)?;
        self.write.eof().await.map_err(|_| Gone)
    }
}

/// Answers one request.
pub(super) async fn serve(host: &Host, login: &Login, channel: Channel<Msg>, asked: Asked, has_terminal: bool) {
    let (mut input, write) = channel.split();
    let mut out = Out::new(write);
    let out = &mut out;
    let _: Result<(), Gone> = match asked {
        Asked::Shell => shell(out, has_terminal).await,
        Asked::Command(line) if command::is_shell(&line) && !has_command_line(host) => {
            script(host, login, &mut input, out).await
        }
        Asked::Command(line) => {
            let answering = plain(host, login, &line, out);
            tokio::select! {
                ended = answering => ended,
                // Its input is taken and not looked at; a signal or the end of the channel ends it.
                () = until_ended(&mut input) => Err(Gone),
            }
        }
    };
    // Also after a signal: the other side waits for it. The library tells nothing more of a channel that we closed.
    let _ = out.write.close().await;
}

/// True for a machine that takes every line by itself, scripts among them.
fn has_command_line(host: &Host) -> bool {
    host.machine.command_line("").is_some()
}

async fn until_ended(input: &mut ChannelReadHalf) {
    while !matches!(input.wait().await, None | Some(ChannelMsg::Close | ChannelMsg::Signal { .. })) {}
}

async fn shell(out: &mut Out, has_terminal: bool) -> Result<(), Gone> {
    let end = if has_terminal { "\r\n" } else { "\n" };
    out.push(format!("{NO_SHELL}{end}").as_bytes(), b"").await?;
    out.end(1).await
}

async fn plain(host: &Host, login: &Login, line: &str, out: &mut Out) -> Result<(), Gone> {
    let printed = match host.machine.command_line(line) {
        Some(answer) => Printed::from(answer),
        None => command::answer(host.machine.as_ref(), login, line),
    };
    pause(host, out, &printed).await?;
    let mut printed = printed;
    garble(host, &mut printed, &mut random(host));
    out.push(&printed.stdout, &printed.stderr).await?;
    out.end(printed.status).await
}

/// Takes in a script from the input and answers it.
async fn script(host: &Host, login: &Login, input: &mut ChannelReadHalf, out: &mut Out) -> Result<(), Gone> {
    let mut text = String::new();
    let mut ended = false;
    let (script, length) = loop {
        match input.wait().await {
            Some(ChannelMsg::Data { data }) => text.push_str(&String::from_utf8_lossy(&data)),
            Some(ChannelMsg::Eof) => ended = true,
            None | Some(ChannelMsg::Close | ChannelMsg::Signal { .. }) => return Err(Gone),
            Some(_) => continue,
        }
        if let Some(found) = recognise(&text, ended || text.len() > LONGEST_SCRIPT) {
            break found;
        }
    };
    match script {
        Script::Batch(found) => {
            tokio::select! {
                answered = batch(host, login, &found, out) => answered?,
                () = until_ended(input) => return Err(Gone),
            }
            out.end(0).await
        }
        Script::Stream { nonce, sudo } => {
            let rest = text.split_off(length);
            stream::run(host, login, &nonce, sudo, rest, ended, input, out).await?;
            out.end(0).await
        }
        Script::Gpus { nonce } => {
            gpus::run(host, login, &nonce, ended, input, out).await?;
            out.end(0).await
        }
        Script::Change { words, sudo } => {
            let program = words.first().map(String::as_str).unwrap_or_default();
            let answered = command::run_as(host.machine.as_ref(), login, &words, sudo);
            let printed = if answered.status == 127 { not_found(program) } else { Printed::from(answered) };
            pause(host, out, &printed).await?;
            out.push(&printed.stdout, &printed.stderr).await?;
            out.end(printed.status).await
        }
        Script::Esxtop { nonce, period } => {
            esxtop::run(host, login, &nonce, period, ended, input, out).await?;
            out.end(0).await
        }
        Script::Foreign => {
            let word = text.split_whitespace().next().map(str::to_owned);
            if let Some(word) = word {
                out.push(b"", &not_found(&word).stderr).await?;
            }
            out.end(127).await
        }
    }
}

/// Answers a batch section by section, in exactly the form that a shell prints.
async fn batch(host: &Host, login: &Login, batch: &Batch, out: &mut Out) -> Result<(), Gone> {
    let machine = host.machine.as_ref();
    let mut random = random(host);
    let mut once = print::known(&batch.listed, batch.tool);
    let last = host.line().garbled.then(|| random.random_range(0..batch.pieces.len().max(1)));
    for (number, piece) in batch.pieces.iter().enumerate() {
        let mut printed = match &piece.wanted {
            Wanted::Known { read, sudo } => {
                let marker = marker(&batch.nonce);
                print::read_once(machine, login, read, *sudo, batch.tool, &marker, &mut once)
            }
            Wanted::Unknown(word) => not_found(word),
        };
        let begin = mark(machine, login, &batch.nonce, piece.index, "begin");
        out.push(&begin, &begin).await?;
        pause(host, out, &printed).await?;
        if last == Some(number) {
            // What was printed so far is true; from here on nothing is, not even the marks.
            garble(host, &mut printed, &mut random);
            return out.push(&printed.stdout, &printed.stderr).await;
        }
        let end = mark(machine, login, &batch.nonce, piece.index, &printed.status.to_string());
        printed.stdout.extend_from_slice(&end);
        printed.stderr.extend_from_slice(&end);
        out.push(&printed.stdout, &printed.stderr).await?;
    }
    out.flush().await
}

/// A marker line, as the script prints it.
fn mark(machine: &dyn Machine, login: &Login, nonce: &str, index: usize, what: &str) -> Vec<u8> {
    let uptime = machine.read("/proc/uptime", login).unwrap_or_default();
    let uptime = String::from_utf8_lossy(&uptime);
    let uptime = uptime.split_whitespace().next().unwrap_or("-");
    format!("\n{} {index} {uptime} {what}\n", marker(nonce)).into_bytes()
}

/// Waits as long as a command takes. What was said before it is sent first.
async fn pause(host: &Host, out: &mut Out, printed: &Printed) -> Result<(), Gone> {
    let wait = host.delays.of(printed.took) + host.delays.by_agent(printed.by_agent) + host.line().slower_by;
    host.count.served(printed.by_agent, wait);
    if wait.is_zero() {
        return Ok(());
    }
    out.flush().await?;
    tokio::time::sleep(wait).await;
    Ok(())
}

/// What the garbage of one answer is made of: other garbage each time, and the same in each run with one seed.
pub(super) fn random(host: &Host) -> StdRng {
    StdRng::seed_from_u64(host.seed ^ host.answers.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

/// Turns an answer into garbage where the line is so; true if it did.
fn garble(host: &Host, printed: &mut Printed, random: &mut StdRng) -> bool {
    let garbled = host.line().garbled;
    if garbled {
        printed.stdout = garbage::of(&printed.stdout, random);
        printed.stderr = garbage::of(&printed.stderr, random);
    }
    garbled
}
