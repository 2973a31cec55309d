//! The console as linear text, for screen readers and logs: the same model and the same update, told line by line. No
//! cursor is moved, nothing is drawn over, no line is longer or shorter for want of room. At a terminal it takes typed
//! commands and asks its questions; as a logger (standard input or output is no terminal) it runs until a signal ends it,
//! and a question that nobody can answer is refused and told.

mod console;
mod typed;
mod words;

use std::io::{self, Write as _};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::{Exit, Failure};
use crate::app::model::Model;
use crate::app::{Effect, Message};
use crate::collect::reason::reason;
use crate::tui::Reloaded;
use console::Plain;

/// More lines than these do not wait to be written: until they are, nothing more is taken in.
const WAITING_LINES: usize = 500;
/// How long the last lines may take to be written.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Signals that end the program, with their numbers.
const ENDING: [(SignalKind, u8); 4] =
    [(SignalKind::terminate(), 15), (SignalKind::hangup(), 1), (SignalKind::interrupt(), 2), (SignalKind::quit(), 3)];

/// What the plain console runs on.
pub struct Inputs {
    /// The model at the start.
    pub model: Model,
    /// What happens.
    pub messages: mpsc::Receiver<Message>,
    /// What was read again.
    pub reloads: mpsc::Receiver<Reloaded>,
    /// Takes what is to be done outside; it must not wait.
    pub effects: Box<dyn FnMut(Effect)>,
}

/// Runs it until the user, a signal or the end of its reader ends it.
pub fn run(inputs: Inputs) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Internal(error.into()))?;
    let ended = runtime.block_on(turns(inputs));
    runtime.shutdown_timeout(Duration::from_millis(100));
    ended
}

/// What woke the loop.
enum Turn {
    Signal(u8),
    Written(io::Result<()>),
    Room,
    Typed(Option<String>),
    Message(Message),
    Reloaded(Reloaded),
}

async fn turns(inputs: Inputs) -> Result<Exit, Failure> {
    let Inputs { model, mut messages, mut reloads, effects } = inputs;
    let (signals, mut ending) = mpsc::channel(4);
    for (kind, number) in ENDING {
        let mut arrivals = signal(kind).map_err(|error| Failure::Internal(error.into()))?;
        let signals = signals.clone();
        tokio::spawn(async move { while arrivals.recv().await.is_some() && signals.send(number).await.is_ok() {} });
    }
    let (lines, mut written) = writer();
    let interactive = typed::is_interactive();
    let mut typed = interactive.then(typed::lines);
    let mut console = Plain::new(model, effects, interactive);
    console.begin();
    let exit = loop {
        let full = console.lines.len() >= WAITING_LINES;
        let turn = tokio::select! {
            biased;
            Some(number) = ending.recv() => Turn::Signal(number),
            Some(result) = written.recv() => Turn::Written(result),
            permit = lines.reserve(), if !console.lines.is_empty() => match permit {
                Ok(permit) => {
                    permit.send(console.lines.pop_front().unwrap_or_default());
                    Turn::Room
                }
                Err(_) => Turn::Written(Err(io::ErrorKind::BrokenPipe.into())),
            },
            line = next(&mut typed) => Turn::Typed(line),
            Some(message) = messages.recv(), if !full => Turn::Message(message),
            Some(reloaded) = reloads.recv(), if !full => Turn::Reloaded(reloaded),
        };
        match turn {
            Turn::Signal(number) => break Ok(Exit::Signal(128 + number)),
            Turn::Written(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => break Ok(Exit::Done),
            Turn::Written(Err(error)) => {
                break Err(Failure::Output(format!("standard output cannot be written: {}", reason(&error))));
            }
            Turn::Written(Ok(())) | Turn::Room => {}
            Turn::Typed(None) => break Ok(Exit::Done),
            Turn::Typed(Some(line)) => {
                if console.typed(line) {
                    break Ok(Exit::Done);
                }
            }
            Turn::Message(message) => console.take_in(message),
            Turn::Reloaded(reloaded) => reloaded.messages.into_iter().for_each(|message| console.take_in(message)),
        }
    };
    let rest = std::mem::take(&mut console.lines);
    drop(console); // a secret that was being typed is shown no more, and what comes after is
    let last = async {
        for line in rest {
            if lines.send(line).await.is_err() {
                return;
            }
        }
        drop(lines);
        // The channel ends when all is written.
        while written.recv().await.is_some() {}
    };
    let _ = tokio::time::timeout(LAST_WORDS, last).await;
    exit
}

/// The next line that is typed; waits for ever where nobody can type.
async fn next(typed: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match typed {
        Some(typed) => typed.recv().await,
        None => std::future::pending().await,
    }
}

/// Writes lines on a thread of its own: a reader that does not read must not keep a signal from ending the program. The
/// other channel tells the first failure.
fn writer() -> (mpsc::Sender<String>, mpsc::Receiver<io::Result<()>>) {
    let (lines, mut received) = mpsc::channel::<String>(16);
    let (result, written) = mpsc::channel(1);
    // Without a thread the channel is closed at once, which ends the program.
    let _ = std::thread::Builder::new().name("rdmascope-plain".to_owned()).spawn(move || {
        while let Some(mut line) = received.blocking_recv() {
            line.push('\n');
            let mut stdout = io::stdout().lock();
            if let Err(error) = stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()) {
                let _ = result.blocking_send(Err(error));
                return;
            }
        }
    });
    (lines, written)
}
