//! Logging in by password and by answers to the server's questions.

use std::time::Duration;

use rdmascope::app::SecretKind;
use rdmascope::collect::transport::ssh::{
    CommandProblem, ConnectError, Connected, Deadlines, Failure, Memory, NotGiven, Retry, Route, SecretFrom,
};
use rdmascope::config::Access;
use rdmascope::config::openssh::LoginMethod;
use russh::{MethodKind, Preferred, cipher, kex, mac};

use crate::asking::{AskingServer, Got, Person, Round, Rules};
use crate::server::{connect_remembering, run, target};

use MethodKind::{KeyboardInteractive, Password};

/// A deadline that a slow machine keeps where nobody lets it pass.
const IN_TIME: Duration = Duration::from_secs(2);
/// Longer than that.
const LATE: Duration = Duration::from_secs(3);

/// Everything that one connection to one server needs.
struct Try {
    route: Route,
    memory: Memory,
    deadlines: Deadlines,
}

impl Try {
    fn at(server: &AskingServer) -> Self {
        let route = Route { hops: vec![server.settings()], ..Route::default() };
        Self { route, memory: Memory::default(), deadlines: Deadlines::default() }
    }

    fn with_command(mut self, words: &[&str]) -> Self {
        self.route.access.password_command = Some(words.iter().map(|&word| word.to_owned()).collect());
        self
    }

    async fn connect(&self, person: &Person) -> Result<Connected, ConnectError> {
        connect_remembering(&self.route, &person.asker, &self.memory, self.deadlines).await
    }

    async fn fail(&self, person: &Person) -> ConnectError {
        self.connect(person).await.expect_err("it fails")
    }

    async fn alone(&self) -> Result<Connected, ConnectError> {
        connect_remembering(&self.route, &None, &self.memory, self.deadlines).await
    }
}

fn password() -> Rules {
    Rules { steps: vec![vec![Password]], password: "right", ..Rules::default() }
}

/// As ESXi asks.
fn esxi() -> Rules {
    let rounds = vec![Round::password("(root@esxi01) Password: ", "right"), Round::empty()];
    Rules { steps: vec![vec![MethodKind::PublicKey, KeyboardInteractive]], rounds, ..Rules::default() }
}

fn got(secrets: &[&str], failures: usize) -> (Vec<String>, usize) {
    (secrets.iter().map(|&secret| secret.to_owned()).collect(), failures)
}

fn told(got: Got) -> (Vec<String>, usize) {
    (got.secrets, got.failures)
}

#[tokio::test]
async fn a_typed_password_logs_in() {
    let server = AskingServer::start(Rules { banner: Some("Authorised\r\nuse only\u{1b}[31m"), ..password() }).await;
    let person = Person::typing(&["right"]);
    let connected = Try::at(&server).connect(&person).await.expect("connected");
    assert_eq!(run(&connected, "echo").await.text(), "echo");
    assert!(connected.described().ends_with(", password"), "{}", connected.described());
    let request = person.requests().remove(0);
    assert_eq!((request.what, request.echo, request.may_reuse), (SecretKind::Password, false, true));
    assert_eq!(request.asked_by, *format!("root@127.0.0.1:{}", server.port));
    assert_eq!((&*request.question, &*request.instruction), ("password of root", "Authorised use only"));
    assert_eq!(person.verdicts().await, [Some(true)]);
    assert_eq!(told(server.got()), got(&["right"], 0));
}

#[tokio::test]
async fn a_wrong_password_is_sent_once_and_waits_for_the_user() {
    let server = AskingServer::start(password()).await;
    let person = Person::typing(&["wrong", "right"]);
    let attempt = Try::at(&server);
    let error = attempt.fail(&person).await;
    let refused = Failure::SecretRefused { method: "password", from: SecretFrom::Typed, accepts: Vec::new() };
    assert_eq!(error.failure, refused);
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
    let problem = error.problem(&target());
    assert!(problem.next_step.contains("reconnect (R)"), "{problem}");
    assert!(!format!("{problem} {error:?}").contains("wrong\""), "{error:?}");
    assert_eq!(person.verdicts().await, [Some(false)]);
    let again = attempt.fail(&person).await;
    assert!(matches!(again.failure, Failure::SecretNeeded { why: NotGiven::NotAgain, .. }), "{again:?}");
    attempt.memory.permit();
    attempt.connect(&person).await.expect("the user asked for it");
    assert_eq!(told(server.got()), got(&["wrong", "right"], 1));
}

#[tokio::test]
async fn a_host_that_asks_as_esxi_does_is_answered() {
    let server = AskingServer::start(esxi()).await;
    let person = Person::typing(&["right"]);
    Try::at(&server).connect(&person).await.expect("connected");
    let request = person.requests().remove(0);
    assert_eq!((request.what, request.echo, request.may_reuse), (SecretKind::Interactive, false, true));
    assert_eq!((&*request.question, &*request.instruction), ("(root@esxi01) Password:", ""));
    assert_eq!(person.verdicts().await, [Some(true)]);
    assert_eq!(server.got(), Got { secrets: vec!["right".to_owned()], failures: 0, begun: 1, connections: 2 });
}

#[tokio::test]
async fn several_questions_and_rounds_are_answered_in_order() {
    let first = Round {
        name: "Login",
        instruction: "two\nfactors\u{1b}]0;x\u{7}",
        questions: vec![(String::new(), false), ("Code: ".to_owned(), true)],
        answers: vec!["a", "b"],
    };
    let rounds = vec![Round::empty(), first, Round::password("Again:", "c")];
    let server =
        AskingServer::start(Rules { steps: vec![vec![KeyboardInteractive]], rounds, ..Rules::default() }).await;
    let person = Person::typing(&["a", "b", "c"]);
    Try::at(&server).connect(&person).await.expect("connected");
    let shown: Vec<_> = person
        .requests()
        .iter()
        .map(|request| (request.instruction.to_string(), request.question.to_string(), request.echo, request.may_reuse))
        .collect();
    let both = "Login two factors".to_owned();
    assert_eq!(
        shown,
        [
            (both.clone(), "the server asks without words".to_owned(), false, false),
            (both, "Code:".to_owned(), true, false),
            (String::new(), "Again:".to_owned(), false, false),
        ]
    );
    assert_eq!(told(server.got()), got(&["a", "b", "c"], 0));
}

#[tokio::test]
async fn the_command_of_the_target_gives_the_password_for_both_methods() {
    for rules in [password(), esxi()] {
        let server = AskingServer::start(rules).await;
        let attempt = Try::at(&server).with_command(&["printf", "%s\\nrest\\n", "right"]);
        for _ in 0..3 {
            let connected = attempt.alone().await.expect("nobody is needed");
            assert!(connected.described().ends_with(", password that printf printed"), "{}", connected.described());
        }
        assert_eq!(told(server.got()), got(&["right", "right", "right"], 0));
    }
}

#[tokio::test]
async fn a_command_that_fails_is_named_and_nothing_is_begun() {
    let server = AskingServer::start(esxi()).await;
    let attempt = Try::at(&server).with_command(&["sh", "-c", "echo hidden; exit 4"]);
    let error = attempt.alone().await.expect_err("no password");
    let problem = CommandProblem::Failed(Some(4));
    assert_eq!(error.failure, Failure::PasswordCommand { program: "sh".into(), problem });
    assert_eq!(error.retry(), Retry::Automatic, "nothing was sent: what it needs may come back");
    let text = error.problem(&target()).to_string();
    assert!(text.contains("password_command sh ended with status 4") && !text.contains("hidden"), "{text}");
    let none = Try::at(&server).with_command(&["/no/such/program"]).alone().await.expect_err("no password");
    assert_eq!(none.retry(), Retry::OnlyWhenAsked);
    let mut slow = Try::at(&server).with_command(&["sleep", "100"]);
    slow.deadlines.password_command = Duration::from_millis(200);
    let error = slow.alone().await.expect_err("no password");
    assert!(
        matches!(error.failure, Failure::PasswordCommand { problem: CommandProblem::TimedOut(_), .. }),
        "{error:?}"
    );
    assert_eq!((server.got().begun, server.got().failures), (0, 0));
}

#[tokio::test]
async fn what_the_command_cannot_answer_somebody_is_asked() {
    let rounds = vec![Round::password("Password:", "right"), Round::password("Code:", "123")];
    let server =
        AskingServer::start(Rules { steps: vec![vec![KeyboardInteractive]], rounds, ..Rules::default() }).await;
    let attempt = Try::at(&server).with_command(&["echo", "right"]);
    let person = Person::typing(&["123"]);
    attempt.connect(&person).await.expect("connected");
    assert_eq!(person.requests().iter().map(|request| request.question.to_string()).collect::<Vec<_>>(), ["Code:"]);
    let error = attempt.alone().await.expect_err("nobody knows the code");
    let Failure::SecretNeeded { asked, why: NotGiven::NobodyToAsk, .. } = &error.failure else { panic!("{error:?}") };
    assert_eq!(asked.question, "Code:");
    assert!(error.problem(&target()).what.contains("needs an answer to \"Code:\""), "{error}");
}

#[tokio::test]
async fn a_login_in_two_steps_is_driven() {
    let rules = Rules {
        steps: vec![vec![Password], vec![KeyboardInteractive]],
        rounds: vec![Round::password("Code:", "123")],
        ..password()
    };
    let server = AskingServer::start(rules).await;
    let person = Person::typing(&["right", "123"]);
    let connected = Try::at(&server).connect(&person).await.expect("connected");
    assert!(connected.described().ends_with(", password, then password"), "{}", connected.described());
    assert_eq!(told(server.got()), got(&["right", "123"], 0));
    let person = Person::typing(&["right", "456"]);
    let error = Try::at(&server).fail(&person).await;
    assert!(matches!(error.failure, Failure::SecretRefused { method: "keyboard-interactive", .. }), "{error:?}");
    assert_eq!(person.verdicts().await, [Some(true), Some(false)]);
    let mut attempt = Try::at(&server);
    attempt.route.hops[0].login.methods = vec![LoginMethod::Password];
    let error = attempt.fail(&Person::typing(&["right"])).await;
    assert!(matches!(&error.failure, Failure::SecondStepNeeded { done, .. } if done == "password"), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_came_too_late_is_given_in_a_new_session() {
    let server = AskingServer::start(esxi()).await;
    let mut attempt = Try::at(&server);
    attempt.deadlines.answer = IN_TIME;
    let person = Person::typing_late("right", LATE);
    attempt.connect(&person).await.expect("connected");
    assert_eq!((person.requests().len(), person.verdicts().await), (1, vec![Some(true)]));
    assert_eq!((server.got().begun, told(server.got())), (2, got(&["right"], 0)));
}

#[tokio::test]
async fn a_late_answer_of_a_later_round_is_kept_until_its_question_comes() {
    let rounds = vec![Round::password("Password:", "right"), Round::password("Code:", "123")];
    let rules = Rules { steps: vec![vec![KeyboardInteractive]], rounds, ..Rules::default() };
    let server = AskingServer::start(rules).await;
    let mut attempt = Try::at(&server);
    attempt.deadlines.answer = IN_TIME;
    let now = Duration::ZERO;
    let person = Person::typing_after(&[("right", now), ("123", LATE), ("right", now)]);
    attempt.connect(&person).await.expect("connected");
    let asked: Vec<String> = person.requests().iter().map(|request| request.question.to_string()).collect();
    assert_eq!(asked, ["Password:", "Code:", "Password:"], "the code is not asked for again");
    assert_eq!((server.got().begun, told(server.got())), (2, got(&["right", "right", "123"], 0)));
}

#[tokio::test]
async fn the_time_that_somebody_takes_is_no_time_of_the_login() {
    let log_in = async |rules| {
        let server = AskingServer::start(rules).await;
        let mut attempt = Try::at(&server);
        attempt.deadlines.login = IN_TIME;
        attempt.connect(&Person::typing_late("right", LATE)).await.expect("connected");
    };
    tokio::join!(log_in(password()), log_in(esxi()));
}

#[tokio::test]
async fn who_gives_no_secret_is_not_asked_again() {
    for rules in [password(), esxi()] {
        let server = AskingServer::start(rules).await;
        let attempt = Try::at(&server);
        let person = Person::refusing();
        for why in [NotGiven::RefusedByUser, NotGiven::NotAgain] {
            let error = attempt.fail(&person).await;
            assert!(matches!(&error.failure, Failure::SecretNeeded { why: found, .. } if *found == why), "{error:?}");
            assert_eq!(error.retry(), Retry::OnlyWhenAsked);
            assert!(error.problem(&target()).next_step.contains("reconnect (R)"), "{error}");
        }
        assert_eq!(told(server.got()), got(&[], 0));
    }
}

#[tokio::test]
async fn settings_can_forbid_to_ask() {
    let server = AskingServer::start(esxi()).await;
    let person = Person::typing(&["right"]);
    let mut attempt = Try::at(&server);
    attempt.route.hops[0].login.batch_mode = true;
    let error = attempt.fail(&person).await;
    assert!(matches!(error.failure, Failure::SecretNeeded { why: NotGiven::MayNotAsk, .. }), "{error:?}");
    attempt.route.hops[0].login.batch_mode = false;
    attempt.route.hops[0].login.asks_secrets = false;
    let error = attempt.fail(&person).await;
    assert!(matches!(error.failure, Failure::SecretNeeded { why: NotGiven::MayNotAsk, .. }), "{error:?}");
    assert_eq!((person.requests().len(), server.got().begun), (0, 0));
}

#[tokio::test]
async fn a_method_that_asks_nothing_makes_room_for_the_next() {
    let rules = Rules { steps: vec![vec![KeyboardInteractive, Password]], ..password() };
    let server = AskingServer::start(rules).await;
    let person = Person::typing(&["right"]);
    Try::at(&server).connect(&person).await.expect("connected");
    assert_eq!(person.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_left() {
    let many = Round { questions: vec![("Password:".to_owned(), false); 9], ..Round::empty() };
    for (rounds, is_endless) in [(vec![many], false), (vec![Round::empty()], true)] {
        let rules = Rules { steps: vec![vec![KeyboardInteractive]], rounds, is_endless, ..Rules::default() };
        let server = AskingServer::start(rules).await;
        let person = Person::typing(&["a"; 9]);
        let error = Try::at(&server).fail(&person).await;
        assert_eq!(error.failure, Failure::QuestionsWithoutEnd { secret_sent: false });
        assert_eq!(person.requests().len(), 0);
    }
}

#[tokio::test]
async fn a_secret_that_a_server_answers_with_questions_without_end_counts_as_refused() {
    let rounds = vec![Round::password("Password:", "right"), Round::empty()];
    let rules = Rules { steps: vec![vec![KeyboardInteractive]], rounds, is_endless: true, ..Rules::default() };
    let server = AskingServer::start(rules).await;
    let attempt = Try::at(&server).with_command(&["echo", "wrong"]);
    let person = Person::typing(&["wrong"; 20]);
    let error = attempt.fail(&person).await;
    assert_eq!(error.failure, Failure::QuestionsWithoutEnd { secret_sent: true });
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
    let problem = error.problem(&target());
    assert!(problem.what.contains("more questions than any login needs"), "{problem}");
    assert!(problem.cause.contains("may have counted as a failed login"), "{problem}");
    let sent = server.got().secrets.len();
    assert!(sent > 0);
    for _ in 0..3 {
        let error = attempt.fail(&person).await;
        assert!(matches!(error.failure, Failure::SecretRefused { .. }), "{error:?}");
    }
    assert_eq!(server.got().secrets.len(), sent, "until the user acts nothing more is sent");
}

#[tokio::test]
async fn a_question_of_any_length_and_kind_is_one_short_line() {
    let question = format!("{}\u{1b}[2J\u{202e}\nroot@other's password:", "x".repeat(30_000));
    let rounds = vec![Round::password(&question, "right")];
    let server =
        AskingServer::start(Rules { steps: vec![vec![KeyboardInteractive]], rounds, ..Rules::default() }).await;
    let person = Person::typing(&["right"]);
    Try::at(&server).connect(&person).await.expect("connected");
    let shown = person.requests().remove(0).question.to_string();
    assert!(shown.chars().count() <= 121 && shown.ends_with('…') && !shown.contains('\u{1b}'), "{shown}");
}

#[tokio::test]
async fn each_host_on_the_way_asks_for_itself_and_gets_its_own() {
    let jump = AskingServer::start(password()).await;
    let rounds = vec![Round::password("Password:", "inner")];
    let inner = AskingServer::start(Rules { steps: vec![vec![KeyboardInteractive]], rounds, ..Rules::default() }).await;
    let mut attempt = Try::at(&inner);
    attempt.route.hops.insert(0, jump.settings());
    let person = Person::typing(&["right", "inner"]);
    let connected = attempt.connect(&person).await.expect("connected");
    assert_eq!(run(&connected, "through").await.text(), "through");
    let asked: Vec<String> = person.requests().iter().map(|request| request.asked_by.to_string()).collect();
    assert_eq!(asked, [format!("root@127.0.0.1:{}", jump.port), format!("root@127.0.0.1:{}", inner.port)]);
    assert_eq!((told(jump.got()), told(inner.got())), (got(&["right"], 0), got(&["inner"], 0)));
    // The command is the target's own: no jump host gets what it gives.
    attempt = attempt.with_command(&["echo", "inner"]);
    attempt.memory.permit();
    let person = Person::typing(&["right"]);
    attempt.connect(&person).await.expect("connected");
    assert_eq!(person.requests().len(), 1);
    assert_eq!(told(jump.got()), got(&["right", "right"], 0));
}

#[tokio::test]
async fn an_old_switch_is_reached_only_where_the_inventory_says_so() {
    let preferred = Preferred {
        kex: vec![kex::DH_G14_SHA1].into(),
        cipher: vec![cipher::AES_128_CBC].into(),
        mac: vec![mac::HMAC_SHA1].into(),
        ..Preferred::default()
    };
    let server = AskingServer::start(Rules { preferred: Some(preferred), ..password() }).await;
    let mut attempt = Try::at(&server);
    let error = attempt.fail(&Person::typing(&["right"])).await;
    assert!(matches!(&error.failure, Failure::NoCommonAlgorithm { legacy_would_help: true, .. }), "{error:?}");
    let problem = error.problem(&target());
    assert!(problem.what.contains("diffie-hellman-group14-sha1") && problem.what.contains("curve25519"), "{problem}");
    assert!(problem.next_step.contains("legacy_algorithms = true"), "{problem}");
    attempt.route.access = Access { legacy_algorithms: true, ..Access::default() };
    let connected = attempt.connect(&Person::typing(&["right"])).await.expect("connected");
    assert_eq!(run(&connected, "show version").await.text(), "show version");
}

#[tokio::test]
async fn a_snapshot_names_what_was_asked_and_ends_with_status_3() {
    let server = AskingServer::start(esxi()).await;
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("ssh_config");
    let text = format!(
        "Host esx\n HostName 127.0.0.1\n Port {}\n User root\n IdentityFile none\n IdentityAgent none\n \
         StrictHostKeyChecking accept-new\n UserKnownHostsFile {}/known_hosts\n",
        server.port,
        home.path().display()
    );
    std::fs::write(&file, text).expect("written");
    let inventory = home.path().join("inventory.toml");
    let with_command = "[[target]]\nname = \"esx\"\nkind = \"linux\"\npassword_command = [\"echo\", \"right\"]\n";
    for (text, expected) in [("", "needs answers to the server's questions"), (with_command, "")] {
        std::fs::write(&inventory, text).expect("written");
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_rdmascope"));
        command.arg("--config").arg(&inventory).arg("--ssh-config").arg(&file).args(["snapshot", "esx"]);
        command.env("HOME", home.path()).stdin(std::process::Stdio::null());
        let output = command.output().await.expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(expected) && !said.contains("right"), "{said}");
    }
    assert_eq!(told(server.got()), got(&["right"], 0), "without the command nothing was begun");
}
