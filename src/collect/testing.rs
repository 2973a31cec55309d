//! Remotes for tests: real shells of this machine, and targets that misbehave.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot, watch};

use super::kind::System;
use super::link::{Connector, Failure, Remote};
use super::privilege::Privilege;
use super::shell::ShellLink;
use super::transport::{Exec, Input, Output, TransportError};
use crate::fabric::{TargetId, Text};

/// The other end of an [`Exec`], for a test that plays the target.
pub struct Far {
    pub input: mpsc::Receiver<Input>,
    pub output: mpsc::Sender<Output>,
}

impl Far {
    /// All input up to its end.
    pub async fn script(&mut self) -> String {
        let mut text = Vec::new();
        while let Some(Input::Bytes(bytes)) = self.input.recv().await {
            text.extend(bytes);
        }
        String::from_utf8(text).expect("our own script")
    }

    pub async fn say(&self, text: impl Into<Vec<u8>>) {
        let _ = self.output.send(Output::Stdout(text.into())).await;
    }

    pub async fn complain(&self, text: &str) {
        let _ = self.output.send(Output::Stderr(text.as_bytes().to_vec())).await;
    }

    pub async fn exit(&self, status: u32) {
        let _ = self.output.send(Output::Exit(status)).await;
    }
}

pub fn pair() -> (Exec, Far) {
    let (input, far_input) = mpsc::channel(8);
    let (far_output, output) = mpsc::channel(8);
    (Exec::new(input, output), Far { input: far_input, output: far_output })
}

/// Runs a program of this machine; it ends when the [`Exec`] is dropped.
pub fn spawn(words: &[&str]) -> Exec {
    let (exec, mut far) = pair();
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("a program of this machine");
    tokio::spawn(async move {
        let (mut stdin, mut stdout, mut stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let writing = async {
            while let Some(input) = far.input.recv().await {
                match (input, &mut stdin) {
                    (Input::Bytes(bytes), Some(pipe)) => {
                        // A program that has ended reads no more.
                        let _ = pipe.write_all(&bytes).await;
                    }
                    _ => stdin = None,
                }
            }
            stdin = None;
        };
        let (out, err) = (far.output.clone(), far.output.clone());
        let reading = async {
            let mut buffer = [0; 4096];
            let pipe = stdout.as_mut().expect("piped");
            while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
                if out.send(Output::Stdout(buffer[..length].to_vec())).await.is_err() {
                    return;
                }
            }
        };
        let complaining = async {
            let mut buffer = [0; 4096];
            let pipe = stderr.as_mut().expect("piped");
            while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
                if err.send(Output::Stderr(buffer[..length].to_vec())).await.is_err() {
                    return;
                }
            }
        };
        let outputs = async {
            tokio::join!(reading, complaining);
        };
        tokio::pin!(outputs, writing);
        let mut written = false;
        loop {
            tokio::select! {
                () = &mut outputs => break,
                () = &mut writing, if !written => written = true,
                () = far.output.closed() => return,
            }
        }
        let status = child.wait().await.ok().and_then(|status| status.code()).unwrap_or(255);
        let _ = far.output.send(Output::Exit(u32::try_from(status).unwrap_or(255))).await;
    });
    exec
}

/// What becomes of one command.
pub enum Act {
    /// It runs on this machine, by its own shell.
    Run,
    /// The test plays it.
    Play(oneshot::Sender<(String, Far)>),
    /// It says this and ends with this status.
    Say(&'static str, &'static str, u32),
    /// It reads nothing, says nothing and never ends.
    Hang,
    /// It cannot be started.
    Refuse(TransportError),
}

/// How a target behaves.
#[derive(Default)]
pub struct Behaviour {
    /// What becomes of the next commands, in order; later ones are run.
    pub acts: Mutex<VecDeque<Act>>,
    /// How many channels may be open at once; 0: any number.
    pub most_channels: usize,
    pub open: AtomicUsize,
    pub held: Mutex<Vec<Far>>,
    /// All command lines so far.
    pub commands: Mutex<Vec<String>>,
}

impl Behaviour {
    pub fn of(acts: impl IntoIterator<Item = Act>) -> Arc<Self> {
        Arc::new(Self { acts: Mutex::new(acts.into_iter().collect()), ..Self::default() })
    }

    pub fn commands(&self) -> Vec<String> {
        self.commands.lock().expect("not poisoned").clone()
    }
}

/// A connection to a target that behaves so.
pub struct Fake {
    pub behaviour: Arc<Behaviour>,
    pub ends: watch::Receiver<Option<Text>>,
}

impl Fake {
    pub fn new(behaviour: &Arc<Behaviour>) -> Self {
        Self { behaviour: Arc::clone(behaviour), ends: watch::channel(None).1 }
    }
}

impl Remote for Fake {
    async fn exec(&self, command: &str) -> Result<Exec, TransportError> {
        self.behaviour.commands.lock().expect("not poisoned").push(command.to_owned());
        let most = self.behaviour.most_channels;
        if most > 0 && self.behaviour.open.load(Ordering::SeqCst) >= most {
            return Err(TransportError::ChannelRefused(Text::new("open failed")));
        }
        let act = self.behaviour.acts.lock().expect("not poisoned").pop_front().unwrap_or(Act::Run);
        let (exec, far) = pair();
        match act {
            Act::Run if most == 0 => return Ok(spawn(&["sh", "-c", command])),
            Act::Run => return Ok(counted(spawn(&["sh", "-c", command]), &self.behaviour)),
            Act::Play(player) => {
                let _ = player.send((command.to_owned(), far));
            }
            Act::Say(stdout, stderr, status) => {
                tokio::spawn(async move {
                    far.say(stdout).await;
                    far.complain(stderr).await;
                    far.exit(status).await;
                });
            }
            Act::Hang => self.behaviour.held.lock().expect("not poisoned").push(far),
            Act::Refuse(error) => return Err(error),
        }
        Ok(exec)
    }

    async fn closed(&self) -> Text {
        let mut ends = self.ends.clone();
        let why = ends.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        match why {
            Some(why) => why,
            None => std::future::pending().await,
        }
    }

    fn described(&self) -> Text {
        Text::new("a fake")
    }

    async fn close(self) {}
}

/// Passes everything on and counts the channel as open until both of its ends are gone.
fn counted(mut inner: Exec, behaviour: &Arc<Behaviour>) -> Exec {
    let (exec, mut far) = pair();
    let behaviour = Arc::clone(behaviour);
    behaviour.open.fetch_add(1, Ordering::SeqCst);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                Some(input) = far.input.recv() => {
                    let _ = match input {
                        Input::Bytes(bytes) => inner.send(bytes).await,
                        Input::End => inner.end_input().await,
                    };
                }
                output = inner.next() => match output {
                    Some(output) => { let _ = far.output.send(output).await; }
                    None => break,
                },
                () = far.output.closed() => break,
            }
        }
        behaviour.open.fetch_sub(1, Ordering::SeqCst);
    });
    exec
}

/// Connects to targets that behave so, one after the other; the last one again and again.
pub struct FakeConnector {
    pub target: TargetId,
    pub targets: Mutex<VecDeque<Result<Fake, Failure>>>,
    pub last: Arc<Behaviour>,
    pub ask_system: bool,
}

impl FakeConnector {
    pub fn new(last: &Arc<Behaviour>) -> Self {
        let target = TargetId::new("t");
        Self { target, targets: Mutex::default(), last: Arc::clone(last), ask_system: false }
    }

    #[must_use]
    pub fn first(self, fake: Result<Fake, Failure>) -> Self {
        self.targets.lock().expect("not poisoned").push_back(fake);
        self
    }
}

impl Connector for FakeConnector {
    type Link = ShellLink<Fake>;

    async fn connect(&self) -> Result<Self::Link, Failure> {
        let next = self.targets.lock().expect("not poisoned").pop_front();
        let fake = next.unwrap_or_else(|| Ok(Fake::new(&self.last)))?;
        if self.ask_system {
            match super::kind::recognise(&fake, &self.target).await? {
                System::Linux | System::Switch(_) => {}
                System::Esxi => return Ok(ShellLink::esxi(fake)),
            }
        }
        Ok(ShellLink::new(fake, Privilege::default()))
    }
}
