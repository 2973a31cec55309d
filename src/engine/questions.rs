//! Questions of transports on their way to the person at the console, and the answers on their way back.
//!
//! A secret goes to the one target that asked for it. Only where the user says so may others have it that ask for the
//! same: then the first target tries it alone and the others wait; if it is right they get it without being shown, and
//! the first time that it is wrong it is forgotten for all. So a mistyped password is sent once, however many ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::app::{Answer, Connection, Message, Prompt, PromptKind, Secret};
use crate::collect::transport::{Call, Notice, Question, Reuse};
use crate::fabric::{TargetId, Timestamp};

/// The questions that are open.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    asked: u64,
    shown: BTreeMap<u64, Shown>,
    shared: BTreeMap<String, Shared>,
    changes: watch::Sender<()>,
}

/// A question that the user sees.
#[derive(Debug)]
struct Shown {
    /// What it asks for, if others may ask for the same.
    of: Option<String>,
    reply: oneshot::Sender<Reply>,
}

/// What comes back for a question that the user sees.
#[derive(Debug)]
enum Reply {
    /// The user's answer.
    Answer(Answer),
    /// Somebody else tries an answer that may do for this one, too.
    Wait,
}

/// A secret that several may have.
#[derive(Debug)]
enum Shared {
    /// One target tries it.
    Tried,
    /// It was right.
    Good(Secret),
}

/// How it goes on with a question.
enum Next {
    /// Another target tries an answer that may do for this one, too.
    Wait,
    /// This is the answer.
    Take(Secret),
    /// The user sees it, under this number.
    Shown(u64, oneshot::Receiver<Reply>),
}

/// Where the messages go, and until when.
#[derive(Clone)]
struct Outward {
    messages: mpsc::Sender<Message>,
    cancelled: CancellationToken,
}

impl Outward {
    /// Sends a message; false if everything ends.
    async fn send(&self, message: Message) -> bool {
        tokio::select! {
            () = self.cancelled.cancelled() => false,
            sent = self.messages.send(message) => sent.is_ok(),
        }
    }

    async fn connection(&self, target: &TargetId, connection: Connection) -> bool {
        self.send(Message::Connection { target: target.clone(), at: Timestamp::now(), connection }).await
    }
}

impl Questions {
    /// Answers a question. One that is not open any more has been withdrawn.
    pub fn answer(&self, id: u64, answer: Answer) {
        if let Some(shown) = self.close(id) {
            // Its asker may have gone just now.
            let _ = shown.reply.send(Reply::Answer(answer));
        }
    }

    /// Passes questions and news on as messages until it is cancelled or nobody can ask any more.
    pub async fn run(
        self,
        mut calls: mpsc::Receiver<Call>,
        messages: mpsc::Sender<Message>,
        cancelled: CancellationToken,
    ) {
        let outward = Outward { messages, cancelled };
        loop {
            let call = tokio::select! {
                () = outward.cancelled.cancelled() => return,
                call = calls.recv() => call,
            };
            match call {
                Some(Call::Ask(question)) => {
                    tokio::spawn(self.clone().ask(question, outward.clone()));
                }
                Some(Call::Tell(Notice { target, severity, text })) => {
                    outward.send(Message::Notice { target: Some(target), at: Timestamp::now(), severity, text }).await;
                }
                None => return,
            }
        }
    }

    async fn ask(self, question: Question, outward: Outward) {
        let Question { target, kind, reuse, answer: mut asker } = question;
        let (of, verdict) = match reuse {
            Some(Reuse { of, verdict }) => (Some(of), Some(verdict)),
            None => (None, None),
        };
        let mut changes = self.lock().changes.subscribe();
        loop {
            let (id, reply) = match self.next(of.as_deref()) {
                Next::Take(secret) => {
                    let _ = asker.send(Answer::Secret { secret: secret.clone(), reuse: true });
                    self.judge_good(of.as_deref(), &secret, verdict, &outward).await;
                    return;
                }
                Next::Wait => {
                    tokio::select! {
                        () = outward.cancelled.cancelled() => return,
                        () = asker.closed() => return,
                        changed = changes.changed() => if changed.is_err() { return },
                    }
                    continue;
                }
                Next::Shown(id, reply) => (id, reply),
            };
            let prompt = Prompt { id, target: target.clone(), kind: kind.clone() };
            outward.connection(&target, Connection::Asking).await;
            if !outward.send(Message::Asked { at: Timestamp::now(), prompt }).await {
                return;
            }
            let reply = tokio::select! {
                () = outward.cancelled.cancelled() => return,
                reply = reply => reply,
                () = asker.closed() => {
                    self.close(id);
                    outward.send(Message::Withdrawn { id }).await;
                    return;
                }
            };
            match reply {
                Ok(Reply::Answer(answer)) => {
                    let shared = match (&answer, &of) {
                        (Answer::Secret { secret, reuse: true }, Some(of)) if is_secret(&kind) => {
                            self.try_first(of);
                            Some((of.clone(), secret.clone()))
                        }
                        _ => None,
                    };
                    let taken = asker.send(answer).is_ok();
                    outward.connection(&target, Connection::Connecting { attempt: 1 }).await;
                    if let Some((of, secret)) = shared {
                        self.judge_first(of, secret, verdict.filter(|_| taken), &outward).await;
                    }
                    return;
                }
                Ok(Reply::Wait) => {
                    outward.send(Message::Withdrawn { id }).await;
                }
                // Without an answer the question is dropped, which says that nobody is there.
                Err(_) => return,
            }
        }
    }

    /// Waits for the verdict on a secret that one target tries for all. Without one it is as good as wrong: it is not
    /// tried on others.
    async fn judge_first(
        &self,
        of: String,
        secret: Secret,
        verdict: Option<oneshot::Receiver<bool>>,
        outward: &Outward,
    ) {
        let right = tokio::select! {
            () = outward.cancelled.cancelled() => false,
            right = async { match verdict { Some(verdict) => verdict.await.unwrap_or(false), None => false } } => right,
        };
        let mut open = self.lock();
        if right {
            open.shared.insert(of, Shared::Good(secret));
        } else {
            open.shared.remove(&of);
        }
        open.changes.send_replace(());
    }

    /// Waits for the verdict on a secret that was right elsewhere: if it is wrong here, nobody gets it any more.
    async fn judge_good(
        &self,
        of: Option<&str>,
        secret: &Secret,
        verdict: Option<oneshot::Receiver<bool>>,
        outward: &Outward,
    ) {
        let (Some(of), Some(verdict)) = (of, verdict) else { return };
        let right = tokio::select! {
            () = outward.cancelled.cancelled() => return,
            // A login that broke off says nothing about the secret.
            right = verdict => right.unwrap_or(true),
        };
        let mut open = self.lock();
        if !right && matches!(open.shared.get(of), Some(Shared::Good(known)) if known == secret) {
            open.shared.remove(of);
            open.changes.send_replace(());
        }
    }

    /// Decides and, where the user is to see it, opens the question, in one step: otherwise one that opens just when
    /// another target begins to try a shared secret would not wait for it.
    fn next(&self, of: Option<&str>) -> Next {
        let mut open = self.lock();
        match of.and_then(|of| open.shared.get(of)) {
            Some(Shared::Tried) => return Next::Wait,
            Some(Shared::Good(secret)) => return Next::Take(secret.clone()),
            None => {}
        }
        let (reply, replied) = oneshot::channel();
        open.asked += 1;
        let id = open.asked;
        open.shown.insert(id, Shown { of: of.map(str::to_owned), reply });
        Next::Shown(id, replied)
    }

    /// From now on others who ask for the same wait.
    fn try_first(&self, of: &str) {
        let mut open = self.lock();
        open.shared.insert(of.to_owned(), Shared::Tried);
        let others: Vec<u64> =
            open.shown.iter().filter(|(_, shown)| shown.of.as_deref() == Some(of)).map(|(id, _)| *id).collect();
        for id in others {
            if let Some(shown) = open.shown.remove(&id) {
                let _ = shown.reply.send(Reply::Wait);
            }
        }
    }

    fn close(&self, id: u64) -> Option<Shown> {
        self.lock().shown.remove(&id)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_secret(kind: &PromptKind) -> bool {
    matches!(kind, PromptKind::Secret(_))
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
