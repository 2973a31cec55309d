//! Copying out of the terminal. The sequence OSC 52 hands a text to the terminal at the other end of the line, over SSH
//! too, but whether that takes it nobody tells; inside of tmux the text goes into a buffer of tmux as well, by a child
//! process that the loop never waits for. What was used, and for how much, is said.

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use crossterm::Command as _;
use crossterm::clipboard::CopyToClipboard;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::{Semaphore, mpsc};

use crate::app::copy::CopyText;
use crate::fabric::text::clean_line;

/// The most that OSC 52 carries, in bytes of base64: some terminals take no longer sequence.
pub const LONGEST_SEQUENCE: usize = 74_994;
/// The most that goes into a buffer of tmux, in bytes.
const LARGEST_BUFFER: usize = 4 << 20;
/// How long tmux may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// So many copies may be on their way into tmux; a held key must not start a process for each.
const COPIES_AT_ONCE: usize = 4;

/// Where copies go.
#[derive(Debug)]
pub struct Clipboard {
    /// The command that reaches tmux, and its first arguments; `None` outside of tmux.
    tmux: Option<Vec<OsString>>,
    outcomes: (mpsc::Sender<String>, mpsc::Receiver<String>),
    running: Arc<Semaphore>,
}

/// What became of a copy so far.
#[derive(Debug, PartialEq, Eq)]
pub struct Copied {
    /// What the terminal is to be sent.
    pub sequence: Option<String>,
    /// What there is to say at once; what tmux does is said later.
    pub notice: Option<String>,
}

impl Clipboard {
    /// The ways that this process has: tmux where it runs inside of one.
    pub fn from_environment() -> Self {
        let inside = std::env::var_os("TMUX").is_some_and(|value| !value.is_empty());
        Self::new(inside.then(|| vec![OsString::from("tmux")]))
    }

    /// `tmux`: the command that reaches tmux and its first arguments.
    pub fn new(tmux: Option<Vec<OsString>>) -> Self {
        Self { tmux, outcomes: mpsc::channel(COPIES_AT_ONCE), running: Arc::new(Semaphore::new(COPIES_AT_ONCE)) }
    }

    /// True inside of tmux.
    pub fn is_in_tmux(&self) -> bool {
        self.tmux.is_some()
    }

    /// Begins to copy. It needs a runtime if tmux is to be asked.
    pub fn copy(&self, text: &CopyText, what: &str) -> Copied {
        let amount = amount(text, what);
        let fits = text.as_str().len().div_ceil(3) * 4 <= LONGEST_SEQUENCE;
        let sequence = fits.then(|| sequence(text));
        let fits_buffer = text.as_str().len() <= LARGEST_BUFFER;
        if self.tmux.is_some() && self.running.available_permits() == 0 {
            let notice = format!("{amount} not copied: tmux has not taken the last copies yet");
            return Copied { sequence: None, notice: Some(notice) };
        }
        match self.tmux.as_ref().filter(|_| fits_buffer).zip(self.running.clone().try_acquire_owned().ok()) {
            Some((command, place)) => {
                let (command, text, outcome) = (command.clone(), text.clone(), self.outcomes.0.clone());
                tokio::spawn(async move {
                    let buffer = load_buffer(&command, &text).await;
                    drop(place);
                    // A loop that has ended needs no word.
                    let _ = outcome.send(told(&amount, fits, &buffer)).await;
                });
                Copied { sequence, notice: None }
            }
            None if fits => {
                Copied { sequence, notice: Some(format!("copied {amount}: OSC 52, if your terminal allows it")) }
            }
            None => {
                let limit = if self.tmux.is_some() { "a tmux buffer is given" } else { "OSC 52 carries" };
                Copied { sequence, notice: Some(format!("{amount} not copied: that is more than {limit}")) }
            }
        }
    }

    /// What became of a copy by tmux, in a sentence; waits for the next one.
    pub async fn outcome(&mut self) -> Option<String> {
        self.outcomes.1.recv().await
    }
}

fn sequence(text: &CopyText) -> String {
    let mut sequence = String::new();
    // A string takes all.
    let _ = CopyToClipboard::to_clipboard_from(text.as_str()).write_ansi(&mut sequence);
    sequence
}

/// `raw text, 34 lines`; one line is not counted.
fn amount(text: &CopyText, what: &str) -> String {
    match text.count() {
        1 => what.to_owned(),
        lines => format!("{what}, {lines} lines"),
    }
}

/// How tmux took a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Buffer {
    /// It lies in a buffer, and tmux handed it to its own terminal.
    Handed,
    /// It lies in a buffer.
    Kept,
    /// Not at all: why.
    Refused(String),
}

fn told(amount: &str, sent: bool, buffer: &Buffer) -> String {
    match (sent, buffer) {
        (true, Buffer::Handed | Buffer::Kept) => format!("copied {amount}: tmux buffer and OSC 52"),
        (false, Buffer::Handed | Buffer::Kept) => format!("copied {amount}: tmux buffer only, too much for OSC 52"),
        (true, Buffer::Refused(why)) => format!("copied {amount}: OSC 52; tmux: {why}"),
        (false, Buffer::Refused(why)) => format!("{amount} not copied: too much for OSC 52; tmux: {why}"),
    }
}

/// Loads a text into a buffer of tmux; `-w` lets tmux hand it to its own terminal too, which those before 3.2 do not know.
async fn load_buffer(command: &[OsString], text: &CopyText) -> Buffer {
    match tokio::time::timeout(PATIENCE, ask(command, &["load-buffer", "-w", "-"], text)).await {
        Err(_) => return Buffer::Refused(format!("no answer within {} s", PATIENCE.as_secs())),
        Ok(Ok(())) => return Buffer::Handed,
        Ok(Err(_)) => {}
    }
    match tokio::time::timeout(PATIENCE, ask(command, &["load-buffer", "-"], text)).await {
        Err(_) => Buffer::Refused(format!("no answer within {} s", PATIENCE.as_secs())),
        Ok(Ok(())) => Buffer::Kept,
        Ok(Err(why)) => Buffer::Refused(why),
    }
}

async fn ask(command: &[OsString], arguments: &[&str], text: &CopyText) -> Result<(), String> {
    let (program, first) = command.split_first().ok_or("no command")?;
    let mut child = Command::new(program)
        .args(first)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A child that ends early says why by its status.
        let _ = input.write_all(text.as_str().as_bytes()).await;
    }
    let output = child.wait_with_output().await.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = clean_line(said.lines().next().unwrap_or_default());
    Err(if said.is_empty() { output.status.to_string() } else { said })
}

#[cfg(test)]
mod tests;
