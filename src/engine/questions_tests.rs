//! Tests of the way of questions and answers.

use super::*;
use crate::app::{SecretKind, SecretRequest, Severity, UnknownHostKey};
use crate::fabric::Text;

fn question(target: &str) -> (Question, oneshot::Receiver<Answer>) {
    let (answer, answered) = oneshot::channel();
    let kind = PromptKind::UnknownHostKey(UnknownHostKey {
        host: Text::new("h"),
        algorithm: Text::new("ssh-ed25519"),
        fingerprint: Text::new("SHA256:x"),
        recorded_in: Text::new("known_hosts"),
    });
    (Question { target: TargetId::new(target), kind, reuse: None, answer }, answered)
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
    asker.send(Call::Ask(one)).await.expect("the engine lives");
    let first = asked(&mut messages).await;
    asker.send(Call::Ask(two)).await.expect("the engine lives");
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
    asker.send(Call::Ask(one)).await.expect("the engine lives");
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
    asker.send(Call::Ask(one)).await.expect("the engine lives");
    asked(&mut messages).await;
    cancelled.cancel();
    assert!(answer.await.is_err());
}

/// A target that asks for the password of root; where the verdict goes, and the answer.
fn password(target: &str, of: Option<&str>) -> (Question, oneshot::Sender<bool>, oneshot::Receiver<Answer>) {
    let (answer, answered) = oneshot::channel();
    let (sender, verdict) = oneshot::channel();
    let kind = PromptKind::Secret(SecretRequest {
        what: SecretKind::Password,
        asked_by: Text::new(&format!("root@{target}:22")),
        instruction: Text::new(""),
        question: Text::new("password of root"),
        echo: false,
        may_reuse: of.is_some(),
    });
    let reuse = of.map(|of| Reuse { of: of.to_owned(), verdict });
    (Question { target: TargetId::new(target), kind, reuse, answer }, sender, answered)
}

fn typed(text: &str, reuse: bool) -> Answer {
    Answer::Secret { secret: Secret::new(text.to_owned()), reuse }
}

/// The engine's side of the console, and the test's.
struct Console {
    open: Questions,
    calls: mpsc::Sender<Call>,
    messages: mpsc::Receiver<Message>,
}

impl Console {
    fn start() -> Self {
        let (calls, asked) = mpsc::channel(16);
        let (sender, messages) = mpsc::channel(64);
        let open = Questions::default();
        tokio::spawn(open.clone().run(asked, sender, CancellationToken::new()));
        Self { open, calls, messages }
    }

    async fn ask(&mut self, question: Question) {
        self.calls.send(Call::Ask(question)).await.expect("the engine lives");
    }

    async fn shown(&mut self) -> Prompt {
        asked(&mut self.messages).await
    }

    async fn withdrawn(&mut self) -> u64 {
        loop {
            match self.messages.recv().await.expect("the engine lives") {
                Message::Withdrawn { id } => return id,
                Message::Connection { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_secret_goes_to_the_one_that_asked() {
    let mut console = Console::start();
    let (one, _, one_answer) = password("one", Some("password of root"));
    let (two, _, mut two_answer) = password("two", Some("password of root"));
    console.ask(one).await;
    let first = console.shown().await;
    console.ask(two).await;
    let second = console.shown().await;
    console.open.answer(first.id, typed("s", false));
    assert_eq!(one_answer.await, Ok(typed("s", false)));
    assert!(two_answer.try_recv().is_err(), "nobody ticked that others may have it");
    console.open.answer(second.id, typed("t", false));
    assert_eq!(two_answer.await, Ok(typed("t", false)));
}

#[tokio::test]
async fn a_shared_secret_is_tried_by_one_and_given_to_the_others_if_it_is_right() {
    let mut console = Console::start();
    let (one, one_verdict, one_answer) = password("one", Some("password of root"));
    let (two, _two_verdict, mut two_answer) = password("two", Some("password of root"));
    let (other, _, _other_answer) = password("other", Some("password of lab"));
    console.ask(one).await;
    let first = console.shown().await;
    console.ask(two).await;
    let second = console.shown().await;
    console.ask(other).await;
    let third = console.shown().await;
    console.open.answer(first.id, typed("s", true));
    assert_eq!(one_answer.await, Ok(typed("s", true)));
    assert_eq!(console.withdrawn().await, second.id, "it waits without a dialogue");
    assert!(two_answer.try_recv().is_err(), "it waits for the verdict");
    let (late, _late_verdict, mut late_answer) = password("late", Some("password of root"));
    console.ask(late).await;
    one_verdict.send(true).expect("awaited");
    assert_eq!(two_answer.await, Ok(typed("s", true)));
    assert_eq!((&mut late_answer).await, Ok(typed("s", true)));
    assert!(console.open.lock().shown.contains_key(&third.id), "another login is another secret");
}

#[tokio::test]
async fn a_wrong_shared_secret_is_forgotten_everywhere() {
    for verdict in [Some(false), None] {
        let mut console = Console::start();
        let (one, one_verdict, one_answer) = password("one", Some("password of root"));
        let (two, _two_verdict, mut two_answer) = password("two", Some("password of root"));
        console.ask(one).await;
        let first = console.shown().await;
        console.ask(two).await;
        let second = console.shown().await;
        console.open.answer(first.id, typed("wrong", true));
        one_answer.await.expect("an answer");
        assert_eq!(console.withdrawn().await, second.id);
        match verdict {
            Some(verdict) => one_verdict.send(verdict).expect("awaited"),
            // The login broke off: nothing is known, so it is not tried on others.
            None => drop(one_verdict),
        }
        let again = console.shown().await;
        assert_eq!(again.target.as_str(), "two");
        assert!(two_answer.try_recv().is_err(), "it never got the wrong one");
        assert!(console.open.lock().shared.is_empty());
    }
}

#[tokio::test]
async fn a_secret_that_is_wrong_later_is_forgotten_then() {
    let mut console = Console::start();
    let (one, one_verdict, one_answer) = password("one", Some("password of root"));
    console.ask(one).await;
    let first = console.shown().await;
    console.open.answer(first.id, typed("s", true));
    one_answer.await.expect("an answer");
    one_verdict.send(true).expect("awaited");
    let (two, two_verdict, two_answer) = password("two", Some("password of root"));
    console.ask(two).await;
    assert_eq!(two_answer.await, Ok(typed("s", true)));
    two_verdict.send(false).expect("awaited");
    while !console.open.lock().shared.is_empty() {
        tokio::task::yield_now().await;
    }
    let (three, _, _three_answer) = password("three", Some("password of root"));
    console.ask(three).await;
    assert_eq!(console.shown().await.target.as_str(), "three");
}

#[tokio::test]
async fn what_may_not_be_shared_is_not_even_if_it_is_ticked() {
    let mut console = Console::start();
    let (one, _, one_answer) = password("one", None);
    console.ask(one).await;
    let first = console.shown().await;
    console.open.answer(first.id, typed("s", true));
    one_answer.await.expect("an answer");
    assert!(console.open.lock().shared.is_empty());
}

#[tokio::test]
async fn news_become_events() {
    let mut console = Console::start();
    let notice = Notice { target: TargetId::new("t"), severity: Severity::Warning, text: Text::new("news") };
    console.calls.send(Call::Tell(notice)).await.expect("the engine lives");
    let Some(Message::Notice { target, severity, text, .. }) = console.messages.recv().await else {
        panic!("a notice")
    };
    assert_eq!((target, severity, text), (Some(TargetId::new("t")), Severity::Warning, Text::new("news")));
}
