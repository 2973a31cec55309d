//! No login is ever locked by this program: hosts lock one after a few wrong secrets (ESXi locks root after five, for a
//! quarter of an hour), so of those at most one is sent until the user acts.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use rdmascope::app::{Answer, Connection, Effect, Message, Secret};
use rdmascope::collect::transport::ssh::{Deadlines, Failure, Memory, NotGiven, Retry, Route};
use rdmascope::engine::plan::{Options, TargetPlan, Way};
use rdmascope::engine::run::Engine;
use russh::MethodKind;
use tokio::sync::mpsc;

use crate::asking::{AskingServer, Person, Round, Rules};
use crate::server::{PATIENCE, connect_remembering, run, target};

/// So many times it is tried: four times what locks a login.
const TRIES: usize = 20;

fn both_methods() -> [Rules; 2] {
    let password = Rules { steps: vec![vec![MethodKind::Password]], password: "right", ..Rules::default() };
    let rounds = vec![Round::password("(root@esxi01) Password: ", "right")];
    let interactive = Rules { steps: vec![vec![MethodKind::KeyboardInteractive]], rounds, ..Rules::default() };
    [password, interactive]
}

#[tokio::test]
async fn a_wrong_secret_is_sent_once_however_often_the_connection_is_tried() {
    for rules in both_methods() {
        for command in [None, Some(vec!["echo".to_owned(), "wrong".to_owned()])] {
            let server = AskingServer::start(rules.clone()).await;
            let mut route = Route { hops: vec![server.settings()], ..Route::default() };
            route.access.password_command.clone_from(&command);
            let memory = Memory::default();
            let person = Person::typing(&["wrong"; TRIES]);
            for _ in 0..TRIES {
                // Whatever comes of it: another try, as after a broken connection.
                let error = connect_remembering(&route, &person.asker, &memory, Deadlines::default()).await;
                assert_eq!(error.expect_err("it is wrong").retry(), Retry::OnlyWhenAsked);
            }
            let asked = usize::from(command.is_none());
            assert_eq!((server.got().failures, person.requests().len()), (1, asked));
            memory.permit();
            connect_remembering(&route, &person.asker, &memory, Deadlines::default()).await.expect_err("wrong again");
            assert_eq!(server.got().failures, 2, "the user acted: one more");
        }
    }
}

#[tokio::test]
async fn a_secret_whose_fate_is_unknown_counts_as_refused() {
    let count = async |rules: Rules| {
        let server = AskingServer::start(rules).await;
        let mut route = Route { hops: vec![server.settings()], ..Route::default() };
        route.access.password_command = Some(vec!["echo".to_owned(), "right".to_owned()]);
        let memory = Memory::default();
        let deadlines = Deadlines { login: Duration::from_secs(3), ..Deadlines::default() };
        for _ in 0..3 {
            let error = connect_remembering(&route, &None, &memory, deadlines).await.expect_err("no answer");
            assert_eq!(error.retry(), Retry::OnlyWhenAsked, "{error:?}");
        }
        assert_eq!(server.got().secrets, ["right"]);
    };
    // Side by side, because half of them end by the deadline.
    let cases = both_methods()
        .into_iter()
        .flat_map(|rules| [Rules { hangs_up: true, ..rules.clone() }, Rules { is_mute: true, ..rules }]);
    futures::future::join_all(cases.map(count)).await;
}

#[tokio::test]
async fn a_session_that_breaks_asks_nothing_by_itself() {
    for rules in both_methods() {
        let server = AskingServer::start(rules).await;
        let route = Route { hops: vec![server.settings()], ..Route::default() };
        let memory = Memory::default();
        let person = Person::typing(&["right", "right"]);
        let connect = async || connect_remembering(&route, &person.asker, &memory, Deadlines::default()).await;
        let connected = connect().await.expect("connected");
        server.cut().await;
        connected.closed().await;
        let begun = server.got().begun;
        for _ in 0..TRIES {
            let error = connect().await.expect_err("it waits for the user");
            assert!(matches!(error.failure, Failure::SecretNeeded { why: NotGiven::NotAgain, .. }), "{error:?}");
            assert_eq!(error.retry(), Retry::OnlyWhenAsked);
        }
        let got = server.got();
        assert_eq!((person.requests().len(), got.secrets.len(), got.begun), (1, 1, begun));
        memory.permit();
        assert_eq!(run(&connect().await.expect("connected"), "again").await.text(), "again");
    }
}

#[tokio::test]
async fn a_session_that_breaks_comes_back_with_the_command_of_its_target() {
    for rules in both_methods() {
        let server = AskingServer::start(rules).await;
        let mut route = Route { hops: vec![server.settings()], ..Route::default() };
        route.access.password_command = Some(vec!["echo".to_owned(), "right".to_owned()]);
        let memory = Memory::default();
        let person = Person::refusing();
        for _ in 0..TRIES {
            let connected = connect_remembering(&route, &person.asker, &memory, Deadlines::default()).await;
            let connected = connected.expect("connected");
            server.cut().await;
            connected.closed().await;
        }
        let got = server.got();
        assert_eq!((got.failures, got.secrets.len(), person.requests().len()), (0, TRIES, 0));
    }
}

/// The next question's number, or the problem of a target that gave up.
async fn asked_or_failed(messages: &mut mpsc::Receiver<Message>) -> Result<u64, String> {
    let waiting = async {
        loop {
            match messages.recv().await.expect("the engine lives") {
                Message::Asked { prompt, .. } => return Ok(prompt.id),
                Message::Connection { connection: Connection::Failed { problem }, .. } => {
                    return Err(problem.to_string());
                }
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("in time")
}

#[tokio::test]
async fn the_console_sends_one_wrong_secret_for_each_time_that_the_user_acts() {
    for rules in both_methods() {
        let server = AskingServer::start(rules).await;
        let route = Route { hops: vec![server.settings()], ..Route::default() };
        let resolve = Arc::new(move || std::future::ready(Ok(route.clone())).boxed());
        let plan = TargetPlan {
            id: target(),
            way: Way::Ssh { resolve, known: Some(rdmascope::collect::kind::System::Linux) },
            by: rdmascope::probe::privilege::Become::None,
        };
        let options = Options { probes: Arc::from([]), ..Options::default() };
        let (engine, mut messages) = Engine::start(vec![plan], &options).expect("threads");
        for acts in 1..=3 {
            let id = asked_or_failed(&mut messages).await.expect("asked");
            let secret = Secret::new("wrong".to_owned());
            engine.run(&Effect::Answer { id, answer: Answer::Secret { secret, reuse: true } });
            let problem = asked_or_failed(&mut messages).await.expect_err("refused");
            assert!(problem.contains("what was typed was not accepted"), "{problem}");
            assert_eq!(server.got().failures, acts);
            engine.run(&Effect::Reconnect(target()));
        }
        let id = asked_or_failed(&mut messages).await.expect("asked");
        engine.run(&Effect::Answer { id, answer: Answer::Refuse });
        let problem = asked_or_failed(&mut messages).await.expect_err("refused");
        assert!(problem.contains("reconnect (R) to be asked again"), "{problem}");
        assert_eq!(server.got().failures, 3);
        engine.shutdown();
    }
}
