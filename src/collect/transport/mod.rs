//! How a target is reached. An SSH connection offers one primitive, [`Exec`]: a command that runs over there, with its
//! input and its output. Batches and streams are both built on it.

pub mod local;
pub mod offline;
pub mod ssh;

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::app::{Answer, PromptKind, Severity};
use crate::fabric::{TargetId, Text};

/// A piece of what a running command gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Bytes of standard output.
    Stdout(Vec<u8>),
    /// Bytes of standard error.
    Stderr(Vec<u8>),
    /// It ended with this status. Output may still follow.
    Exit(u32),
    /// It was ended by this signal.
    Signal(String),
}

/// What is sent to a running command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Bytes for its standard input.
    Bytes(Vec<u8>),
    /// End of its standard input.
    End,
}

/// A command that runs on the target. Dropping it ends it: its input is closed, it gets SIGTERM, its channel is closed.
#[derive(Debug)]
pub struct Exec {
    input: mpsc::Sender<Input>,
    output: mpsc::Receiver<Output>,
}

impl Exec {
    /// Joins the two halves; the transport holds the other ends. When `output` yields `None` the command is over.
    pub fn new(input: mpsc::Sender<Input>, output: mpsc::Receiver<Output>) -> Self {
        Self { input, output }
    }

    /// Sends bytes to its standard input; waits while the way there is full.
    pub async fn send(&self, bytes: impl Into<Vec<u8>>) -> Result<(), TransportError> {
        self.input.send(Input::Bytes(bytes.into())).await.map_err(|_| TransportError::Closed)
    }

    /// Ends its standard input.
    pub async fn end_input(&self) -> Result<(), TransportError> {
        self.input.send(Input::End).await.map_err(|_| TransportError::Closed)
    }

    /// The next piece of output; `None` once the command is over and its channel closed.
    pub async fn next(&mut self) -> Option<Output> {
        self.output.recv().await
    }
}

/// Why a connected target could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
    /// The target refused one more channel (MaxSessions reached, or none allowed).
    #[error("the target refused a channel: {0}")]
    ChannelRefused(Text),
    /// The target refused to run a command.
    #[error("the target refused to run a command over this connection")]
    ExecRefused,
    /// No answer within this time.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// What came back is not what was asked for.
    #[error("{0}")]
    Protocol(Text),
}

/// A question that only the person at the console can answer.
#[derive(Debug)]
pub struct Question {
    /// Whose connection waits for the answer.
    pub target: TargetId,
    /// What is asked.
    pub kind: PromptKind,
    /// For a secret that others may ask for, too: under which name, and what came of it.
    pub reuse: Option<Reuse>,
    /// Where the answer goes. Dropped without an answer means: nobody is there.
    pub answer: oneshot::Sender<Answer>,
}

/// A secret that several targets may need.
#[derive(Debug)]
pub struct Reuse {
    /// What it is the secret of: questions of the same name ask for the same.
    pub of: String,
    /// Whether the answer was right; dropped without a word where that was not found out.
    pub verdict: oneshot::Receiver<bool>,
}

/// Something that a transport tells and that no answer is wanted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// At which target.
    pub target: TargetId,
    /// How grave.
    pub severity: Severity,
    /// What.
    pub text: Text,
}

/// What goes to the console.
#[derive(Debug)]
pub enum Call {
    /// A question.
    Ask(Question),
    /// A piece of news.
    Tell(Notice),
}

/// How a transport reaches the console. Without one (`None`) every question is answered by nobody, and news are logged.
pub type Asker = Option<mpsc::Sender<Call>>;

/// Tells a piece of news.
pub async fn tell(asker: &Asker, notice: Notice) {
    tracing::info!(target = %notice.target, "{}", notice.text);
    if let Some(asker) = asker {
        // Nobody listens any more only while everything ends.
        let _ = asker.send(Call::Tell(notice)).await;
    }
}
