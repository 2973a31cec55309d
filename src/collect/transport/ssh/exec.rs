//! One command on a target: its channel, its input and its output.
//!
//! The library's session feeds all channels of a connection in turn and stands still when one of them is not drained.
//! So each channel has a task that always drains it, whatever the reader does, into a backlog with a limit; a command
//! that runs that far ahead of its reader is ended. The other end's place for the command is given back only when its
//! channel is really closed: a channel that is merely dropped stays taken for the life of the connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use russh::client::{Handle, Msg};
use russh::{ChannelMsg, ChannelOpenFailure, ChannelReadHalf, ChannelWriteHalf, Sig};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::handler::Watcher;
use crate::collect::transport::{Exec, Input, Output, TransportError};
use crate::fabric::Text;

/// Pieces of input that wait for the channel.
const INPUT_PIECES: usize = 16;
/// Pieces of output (at most 32 KiB each) that the reader may leave unread before the backlog grows.
const OUTPUT_PIECES: usize = 16;
/// Bytes of output that may wait for the reader.
const BACKLOG_LIMIT: usize = 16 * 1024 * 1024;
/// How long a command has to end after SIGTERM, before SIGKILL.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long all of the winding down may take.
const WINDING_DOWN: Duration = Duration::from_secs(8);

/// Where the answer to a started command goes.
pub type Started = oneshot::Sender<Result<Exec, TransportError>>;

/// Opens a channel, starts `command` and serves it until its channel is closed; then the permit goes back. If whoever
/// waits for `started` is gone, the command is ended.
pub async fn serve(
    session: Arc<Vec<super::connect::Hop>>,
    command: String,
    permit: OwnedSemaphorePermit,
    stop: CancellationToken,
    started: Started,
) {
    let Some(hop) = session.last() else { return };
    let opened = tokio::select! {
        opened = open(&hop.handle) => opened,
        () = stop.cancelled() => Err(TransportError::Closed),
    };
    drop(session);
    let (mut read, write) = match opened {
        Ok(halves) => halves,
        Err(error) => {
            // A refused channel takes no place over there.
            drop(permit);
            let _ = started.send(Err(error));
            return;
        }
    };
    let input_ended = AtomicBool::new(false);
    let accepted = tokio::select! {
        accepted = request(&mut read, &write, command) => accepted,
        () = stop.cancelled() => Err(TransportError::Closed),
    };
    let backlog = match accepted {
        Ok(()) => {
            let (input, to_command) = mpsc::channel(INPUT_PIECES);
            let (from_command, output) = mpsc::channel(OUTPUT_PIECES);
            // Should nobody wait any more, the Exec comes back and is dropped here, which ends the command below.
            drop(started.send(Ok(Exec::new(input, output))));
            let mut backlog = Backlog::new(from_command);
            let closed = relay(&mut read, &write, to_command, &input_ended, &mut backlog, &stop).await;
            if !closed {
                wind_down(&mut read, &write, &input_ended).await;
            }
            Some(backlog)
        }
        Err(error) => {
            let runs_nothing = error == TransportError::ExecRefused;
            let _ = started.send(Err(error));
            if runs_nothing {
                let closing = async {
                    let _ = write.close().await;
                    drain(&mut read).await;
                };
                let _ = timeout(WINDING_DOWN, closing).await;
            } else {
                wind_down(&mut read, &write, &input_ended).await;
            }
            None
        }
    };
    drop(permit);
    if let Some(backlog) = backlog {
        // The channel is closed, and the reader may still be behind: what is left is delivered apart from it.
        tokio::spawn(backlog.deliver());
    }
}

type Halves = (ChannelReadHalf, ChannelWriteHalf<Msg>);

async fn open(handle: &Handle<Watcher>) -> Result<Halves, TransportError> {
    match handle.channel_open_session().await {
        Ok(channel) => Ok(channel.split()),
        Err(russh::Error::ChannelOpenFailure(reason)) => {
            let reason = match reason {
                ChannelOpenFailure::AdministrativelyProhibited => "prohibited".to_owned(),
                ChannelOpenFailure::ConnectFailed => "no session left".to_owned(),
                ChannelOpenFailure::UnknownChannelType => "it knows no sessions".to_owned(),
                ChannelOpenFailure::ResourceShortage => "it is short of resources".to_owned(),
                ChannelOpenFailure::Other { reason, .. } => reason,
            };
            Err(TransportError::ChannelRefused(Text::new(&reason)))
        }
        Err(_) => Err(TransportError::Closed),
    }
}

/// Asks for the command to be run and waits for the answer.
async fn request(
    read: &mut ChannelReadHalf,
    write: &ChannelWriteHalf<Msg>,
    command: String,
) -> Result<(), TransportError> {
    write.exec(true, command).await.map_err(|_| TransportError::Closed)?;
    loop {
        match read.wait().await {
            Some(ChannelMsg::Success) => return Ok(()),
            Some(ChannelMsg::Failure) => return Err(TransportError::ExecRefused),
            None | Some(ChannelMsg::Close) => return Err(TransportError::Closed),
            Some(_) => {}
        }
    }
}

/// Carries input and output until the channel is closed (true), or until the command is to be ended (false).
async fn relay(
    read: &mut ChannelReadHalf,
    write: &ChannelWriteHalf<Msg>,
    input: mpsc::Receiver<Input>,
    input_ended: &AtomicBool,
    backlog: &mut Backlog,
    stop: &CancellationToken,
) -> bool {
    let feeding = feed(write, input, input_ended);
    tokio::pin!(feeding);
    let mut fed = false;
    let reader = backlog.sender.clone();
    loop {
        tokio::select! {
            message = read.wait() => match message {
                Some(ChannelMsg::Data { data }) => backlog.push(Output::Stdout(data.into())),
                Some(ChannelMsg::ExtendedData { data, .. }) => backlog.push(Output::Stderr(data.into())),
                Some(ChannelMsg::ExitStatus { exit_status }) => backlog.push(Output::Exit(exit_status)),
                Some(ChannelMsg::ExitSignal { signal_name, .. }) => backlog.push(Output::Signal(signal_text(&signal_name))),
                Some(ChannelMsg::Close) | None => return true,
                Some(_) => {}
            },
            permit = reader.reserve(), if !backlog.is_empty() => match permit {
                Ok(permit) => backlog.hand_over(permit),
                Err(_) => return false,
            },
            () = &mut feeding, if !fed => fed = true,
            () = reader.closed() => return false,
            () = stop.cancelled() => return false,
        }
        if backlog.bytes > BACKLOG_LIMIT {
            tracing::warn!(bytes = backlog.bytes, "a command ran too far ahead of its reader and is ended");
            return false;
        }
    }
}

/// Carries input to the command; waits while the command does not read.
async fn feed(write: &ChannelWriteHalf<Msg>, mut input: mpsc::Receiver<Input>, input_ended: &AtomicBool) {
    while let Some(piece) = input.recv().await {
        match piece {
            Input::Bytes(bytes) => {
                if write.data_bytes(bytes).await.is_err() {
                    return;
                }
            }
            Input::End => {
                input_ended.store(true, Ordering::Relaxed);
                let _ = write.eof().await;
                return;
            }
        }
    }
}

/// Ends a command that nobody reads: SIGTERM and the end of its input, after a while SIGKILL and the close of the
/// channel. Closing alone would leave the command running over there, and its place taken.
///
/// OpenSSH takes no signals for logins of root. There a command ends only if the end of its input or a closed output
/// ends it; whoever starts a command that heeds neither has to give it a limit of its own (`timeout`).
async fn wind_down(read: &mut ChannelReadHalf, write: &ChannelWriteHalf<Msg>, input_ended: &AtomicBool) {
    let winding = async {
        let _ = write.signal(Sig::TERM).await;
        if !input_ended.swap(true, Ordering::Relaxed) {
            let _ = write.eof().await;
        }
        if timeout(PATIENCE, drain(read)).await.is_err() {
            let _ = write.signal(Sig::KILL).await;
            let _ = write.close().await;
            drain(read).await;
        }
    };
    if timeout(WINDING_DOWN, winding).await.is_err() {
        tracing::warn!("a command could not be ended in time");
    }
}

/// Takes what comes until the channel is closed.
async fn drain(read: &mut ChannelReadHalf) {
    while !matches!(read.wait().await, None | Some(ChannelMsg::Close)) {}
}

fn signal_text(signal: &Sig) -> String {
    match signal {
        Sig::Custom(name) => Text::new(name).to_string(),
        known => format!("{known:?}"),
    }
}

/// Output that waits for its reader.
struct Backlog {
    sender: mpsc::Sender<Output>,
    pieces: VecDeque<Output>,
    bytes: usize,
}

impl Backlog {
    fn new(sender: mpsc::Sender<Output>) -> Self {
        Self { sender, pieces: VecDeque::new(), bytes: 0 }
    }

    fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn push(&mut self, piece: Output) {
        let piece = if self.pieces.is_empty() {
            match self.sender.try_send(piece) {
                Ok(()) => return,
                Err(mpsc::error::TrySendError::Full(piece) | mpsc::error::TrySendError::Closed(piece)) => piece,
            }
        } else {
            piece
        };
        self.bytes += weight(&piece);
        self.pieces.push_back(piece);
    }

    fn hand_over(&mut self, permit: mpsc::Permit<'_, Output>) {
        if let Some(piece) = self.pieces.pop_front() {
            self.bytes -= weight(&piece);
            permit.send(piece);
        }
    }

    async fn deliver(self) {
        for piece in self.pieces {
            if self.sender.send(piece).await.is_err() {
                return;
            }
        }
    }
}

/// What a piece costs: its bytes, and something for itself, so that a flood of tiny pieces counts too.
fn weight(piece: &Output) -> usize {
    const OVERHEAD: usize = 64;
    match piece {
        Output::Stdout(bytes) | Output::Stderr(bytes) => bytes.len() + OVERHEAD,
        Output::Exit(_) | Output::Signal(_) => OVERHEAD,
    }
}
