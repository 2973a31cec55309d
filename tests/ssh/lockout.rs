//! No login is ever locked by this program: hosts lock one after a few wrong secrets (ESXi locks root after five, for a
//! quarter of an hour), so of those at most one is sent until the user acts.

use std::time::Duration;

use rdmascope::collect::transport::ssh::{Deadlines, Failure, Memory, NotGiven, Retry, Route};
use russh::MethodKind;

use crate::asking::{AskingServer, Person, Round, Rules};
use crate::server::{connect_remembering, run};

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
            let asked = if command.is_some() { 0 } else { 1 };
            assert_eq!((server.got().failures, person.requests().len()), (1, asked));
            memory.permit();
            connect_remembering(&route, &person.asker, &memory, Deadlines::default()).await.expect_err("wrong again");
            assert_eq!(server.got().failures, 2, "the user acted: one more");
        }
    }
}

#[tokio::test]
async fn a_secret_whose_fate_is_unknown_counts_as_refused() {
    for rules in both_methods() {
        for (hangs_up, is_mute) in [(true, false), (false, true)] {
            let server = AskingServer::start(Rules { hangs_up, is_mute, ..rules.clone() }).await;
            let mut route = Route { hops: vec![server.settings()], ..Route::default() };
            route.access.password_command = Some(vec!["echo".to_owned(), "right".to_owned()]);
            let memory = Memory::default();
            let deadlines = Deadlines { login: Duration::from_millis(1500), ..Deadlines::default() };
            for _ in 0..3 {
                let error = connect_remembering(&route, &None, &memory, deadlines).await.expect_err("no answer");
                assert_eq!(error.retry(), Retry::OnlyWhenAsked, "{error:?}");
            }
            assert_eq!(server.got().secrets, ["right"]);
        }
    }
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
