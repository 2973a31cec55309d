//! Questions of transports on their way to the person at the console, and the answers on their way back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::app::{Answer, Connection, Message, Prompt};
use crate::collect::transport::Question;
use crate::fabric::Timestamp;

/// The questions that are open.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    asked: u64,
    answers: BTreeMap<u64, oneshot::Sender<Answer>>,
}

impl Questions {
    /// Answers a question. One that is not open any more has been withdrawn.
    pub fn answer(&self, id: u64, answer: Answer) {
        if let Some(waiting) = self.close(id) {
            // Its asker may have gone just now.
            let _ = waiting.send(answer);
        }
    }

    /// Passes questions on as messages until it is cancelled or nobody can ask any more.
    pub async fn run(
        self,
        mut asked: mpsc::Receiver<Question>,
        messages: mpsc::Sender<Message>,
        cancelled: CancellationToken,
    ) {
        loop {
            let question = tokio::select! {
                () = cancelled.cancelled() => return,
                question = asked.recv() => question,
            };
            let Some(question) = question else { return };
            tokio::spawn(self.clone().ask(question, messages.clone(), cancelled.clone()));
        }
    }

    async fn ask(self, question: Question, messages: mpsc::Sender<Message>, cancelled: CancellationToken) {
        let Question { target, kind, answer: mut asker } = question;
        let (sender, mut answer) = oneshot::channel();
        let id = self.open(sender);
        let state = |connection| Message::Connection { target: target.clone(), at: Timestamp::now(), connection };
        let prompt = Prompt { id, target: target.clone(), kind };
        let asking = async {
            let _ = messages.send(state(Connection::Asking)).await;
            let _ = messages.send(Message::Asked { at: Timestamp::now(), prompt }).await;
        };
        tokio::select! {
            () = cancelled.cancelled() => return,
            () = asking => {}
        }
        let message = tokio::select! {
            () = cancelled.cancelled() => return,
            answer = &mut answer => {
                // Without an answer the question is dropped, which says that nobody is there.
                if let Ok(answer) = answer {
                    let _ = asker.send(answer);
                }
                state(Connection::Connecting { attempt: 1 })
            }
            () = asker.closed() => {
                self.close(id);
                Message::Withdrawn { id }
            }
        };
        tokio::select! {
            () = cancelled.cancelled() => {}
            _ = messages.send(message) => {}
        }
    }

    fn open(&self, answer: oneshot::Sender<Answer>) -> u64 {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.asked += 1;
        let id = open.asked;
        open.answers.insert(id, answer);
        id
    }

    fn close(&self, id: u64) -> Option<oneshot::Sender<Answer>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).answers.remove(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{PromptKind, UnknownHostKey};
    use crate::fabric::{TargetId, Text};

    fn question(target: &str) -> (Question, oneshot::Receiver<Answer>) {
        let (answer, answered) = oneshot::channel();
        let kind = PromptKind::UnknownHostKey(UnknownHostKey {
            host: Text::new("h"),
            algorithm: Text::new("ssh-ed25519"),
            fingerprint: Text::new("SHA256:x"),
            recorded_in: Text::new("known_hosts"),
        });
        (Question { target: TargetId::new(target), kind, answer }, answered)
    }

    async fn asked(messages: &mut mpsc::Receiver<Message>) -> Prompt {
        loop {
            match messages.recv().await.expect("the engine lives") {
                Message::Asked { prompt, .. } => return prompt,
                Message::Connection { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn each_answer_finds_its_asker() {
        let (asker, questions) = mpsc::channel(4);
        let (sender, mut messages) = mpsc::channel(16);
        let cancelled = CancellationToken::new();
        let open = Questions::default();
        let task = tokio::spawn(open.clone().run(questions, sender, cancelled.clone()));
        let (one, one_answer) = question("one");
        let (two, two_answer) = question("two");
        asker.send(one).await.expect("the engine lives");
        let first = asked(&mut messages).await;
        asker.send(two).await.expect("the engine lives");
        let second = asked(&mut messages).await;
        assert_eq!((first.target.as_str(), second.target.as_str()), ("one", "two"));
        assert_ne!(first.id, second.id);
        open.answer(second.id, Answer::Refuse);
        open.answer(first.id, Answer::Accept);
        open.answer(first.id, Answer::Refuse);
        open.answer(77, Answer::Accept);
        assert_eq!(one_answer.await, Ok(Answer::Accept));
        assert_eq!(two_answer.await, Ok(Answer::Refuse));
        cancelled.cancel();
        task.await.expect("it ends when asked to");
    }

    #[tokio::test]
    async fn a_question_whose_connection_ended_is_withdrawn() {
        let (asker, questions) = mpsc::channel(4);
        let (sender, mut messages) = mpsc::channel(16);
        let open = Questions::default();
        tokio::spawn(open.clone().run(questions, sender, CancellationToken::new()));
        let (one, answer) = question("one");
        asker.send(one).await.expect("the engine lives");
        let prompt = asked(&mut messages).await;
        drop(answer);
        assert_eq!(messages.recv().await, Some(Message::Withdrawn { id: prompt.id }));
        open.answer(prompt.id, Answer::Accept);
        assert!(open.close(prompt.id).is_none());
    }

    #[tokio::test]
    async fn a_console_that_ends_answers_nobody() {
        let (asker, questions) = mpsc::channel(4);
        let (sender, mut messages) = mpsc::channel(16);
        let cancelled = CancellationToken::new();
        let open = Questions::default();
        tokio::spawn(open.clone().run(questions, sender, cancelled.clone()));
        let (one, answer) = question("one");
        asker.send(one).await.expect("the engine lives");
        asked(&mut messages).await;
        cancelled.cancel();
        assert!(answer.await.is_err());
    }
}
