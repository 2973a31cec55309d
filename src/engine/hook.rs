//! The hook: a program of the configuration that is told of alerts, one JSON document on its standard input for each. It is
//! run by its full path without a shell, one at a time, for a few seconds at most and so many times a minute at most. What
//! is held back is told with the next one.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::app::alerts::AlertNews;
use crate::app::{Message, Severity};
use crate::collect::process_group::ProcessGroup;
use crate::fabric::{Text, Timestamp};
use crate::probe::esxi::masked_commands;

/// How many alerts may wait for it.
pub(super) const WAITING: usize = 64;

/// How long it may run.
const DEADLINE: Duration = Duration::from_secs(10);

/// How often it is run in a minute.
const MOST_A_MINUTE: usize = 10;

/// How much of its standard error is looked at, in bytes.
const SAID: u64 = 4096;

/// How long what it said is waited for once it has ended.
const SAYING: Duration = Duration::from_millis(200);

/// The program and its arguments as they are in force; empty for none. Reading the configuration again changes it.
#[derive(Clone, Default)]
pub struct Hook(Arc<Shared>);

#[derive(Default)]
struct Shared {
    words: Mutex<Vec<String>>,
    missed: AtomicU64,
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Its arguments may hold a secret.
        formatter.debug_tuple("Hook").field(&self.words().first()).finish()
    }
}

impl Hook {
    /// A program by its full path, with its arguments.
    pub fn new(words: Vec<String>) -> Self {
        let hook = Self::default();
        hook.set(words);
        hook
    }

    /// From now on this one.
    pub fn set(&self, words: Vec<String>) {
        *self.0.words.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    fn words(&self) -> Vec<String> {
        self.0.words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One alert was not told.
    pub(super) fn miss(&self) {
        self.0.missed.fetch_add(1, Ordering::Relaxed);
    }
}

/// What stands on its standard input.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    rdmascope: &'static str,
    event: &'static str,
    at: String,
    number: u64,
    check: &'a str,
    status: &'static str,
    target: &'a str,
    subject: String,
    title: &'a str,
    cause: &'a str,
    raised_at: String,
    missed: u64,
}

fn document(news: &AlertNews, missed: u64) -> Vec<u8> {
    let document = Document {
        schema: "rdmascope.alert/1",
        rdmascope: env!("CARGO_PKG_VERSION"),
        event: news.turn.name(),
        at: news.at.to_string(),
        number: news.number,
        check: news.check.as_str(),
        status: if news.severity == Severity::Error { "fail" } else { "warn" },
        target: news.subject.target.as_str(),
        subject: news.subject.entity.to_string(),
        title: &news.text,
        cause: &news.cause,
        raised_at: news.raised_at.to_string(),
        missed,
    };
    // Texts and numbers always make a document.
    let mut bytes = serde_json::to_vec(&document).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Tells the hook of alerts until nobody has any more.
pub(super) async fn serve(
    hook: Hook,
    mut told: mpsc::Receiver<AlertNews>,
    messages: mpsc::Sender<Message>,
    cancelled: CancellationToken,
) {
    let mut lately: VecDeque<Instant> = VecDeque::new();
    let mut fails = false;
    loop {
        let news = tokio::select! {
            () = cancelled.cancelled() => return,
            news = told.recv() => news,
        };
        let Some(news) = news else { return };
        let words = hook.words();
        if words.is_empty() {
            continue;
        }
        while lately.front().is_some_and(|then| then.elapsed() >= Duration::from_mins(1)) {
            lately.pop_front();
        }
        if lately.len() >= MOST_A_MINUTE {
            // It is said when it begins, and with the next one that is told.
            if hook.0.missed.fetch_add(1, Ordering::Relaxed) == 0 {
                let text =
                    format!("the alert hook ran {MOST_A_MINUTE} times within a minute: more alerts are events only");
                notice(&messages, &text).await;
            }
            continue;
        }
        lately.push_back(Instant::now());
        let missed = hook.0.missed.swap(0, Ordering::Relaxed);
        let document = document(&news, missed);
        let ran = tokio::select! {
            () = cancelled.cancelled() => return, // what runs ends with its group
            ran = run(&words, &document, DEADLINE) => ran,
        };
        match ran {
            Ok(()) => fails = false,
            Err(why) => {
                // One that fails each time is told once.
                if !std::mem::replace(&mut fails, true) {
                    let program = Text::new(&words[0]);
                    notice(&messages, &format!("the alert hook {program} {why}; see alert_hook in the configuration"))
                        .await;
                }
            }
        }
    }
}

async fn notice(messages: &mpsc::Sender<Message>, text: &str) {
    let (at, severity, text) = (Timestamp::now(), Severity::Warning, Text::new(text));
    // A console that has ended needs no word.
    drop(messages.send(Message::Notice { target: None, at, severity, text }).await);
}

/// Runs the program with a document on its standard input. The error says how it went.
async fn run(words: &[String], document: &[u8], deadline: Duration) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    ProcessGroup::lead(&mut command);
    let mut child =
        command.spawn().map_err(|error| format!("cannot be started: {}", crate::collect::reason::reason(&error)))?;
    let mut group = ProcessGroup::of(&child);
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let mut said = Vec::new();
    let working = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read what it is told is no error of ours.
                let _ = stdin.write_all(document).await;
            }
        };
        let read = async {
            if let Some(mut stderr) = stderr {
                let _ = (&mut stderr).take(SAID).read_to_end(&mut said).await;
                // One that says more would be ended by the pipe.
                let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
            }
        };
        // What it leaves behind may hold the pipe open for as long as it likes: the program itself has ended.
        let waited = async {
            let status = child.wait().await;
            sleep(SAYING).await;
            status
        };
        tokio::pin!(read, waited);
        let ((), status) = tokio::join!(write, async {
            tokio::select! {
                () = &mut read => waited.await,
                status = &mut waited => status,
            }
        });
        status
    };
    let Ok(status) = timeout(deadline, working).await else {
        return Err(format!("was still running after {} s and was ended", deadline.as_secs()));
    };
    group.ended();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let said = String::from_utf8_lossy(&said);
            // What it complains of may hold what it logs in with.
            let first =
                said.lines().map(|line| masked_commands(line.trim()).into_owned()).find(|line| !line.is_empty());
            let first = first.map_or(String::new(), |line| format!(": {}", Text::new(&line)));
            Err(format!("ended with {status}{first}"))
        }
        Err(error) => Err(format!("cannot be waited for: {}", crate::collect::reason::reason(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::alerts::Turn;
    use crate::fabric::{Entity, EntityId, TargetId};

    fn news(number: u64) -> AlertNews {
        AlertNews {
            turn: Turn::Raised,
            at: Timestamp::UNIX_EPOCH,
            number,
            check: Text::new("gpu.thermal"),
            subject: EntityId::new(&TargetId::new("gpu-a"), Entity::Gpu(Text::new("0000:05:00.0"))),
            severity: Severity::Error,
            text: "gpu-a: it is \"hot\"; $(reboot)".to_owned(),
            cause: "it is hot".to_owned(),
            raised_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn words(script: &str, more: &[&str]) -> Vec<String> {
        ["/bin/sh", "-c", script].iter().chain(more).map(|word| (*word).to_owned()).collect()
    }

    /// Tells these alerts, and gives what was said of the hook.
    async fn serve_all(hook: &Hook, count: u64) -> Vec<String> {
        let (sender, told) = mpsc::channel(WAITING);
        let (messages, mut said) = mpsc::channel(WAITING);
        for number in 1..=count {
            sender.send(news(number)).await.expect("there is room");
        }
        drop(sender);
        serve(hook.clone(), told, messages, CancellationToken::new()).await;
        let mut texts = Vec::new();
        while let Some(message) = said.recv().await {
            if let Message::Notice { text, .. } = message {
                texts.push(text.to_string());
            }
        }
        texts
    }

    fn documents(path: &std::path::Path) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(path).expect("it was written");
        text.lines().map(|line| serde_json::from_str(line).expect("a document a line")).collect()
    }

    #[tokio::test]
    async fn it_is_told_by_its_input_and_no_shell_reads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("told");
        let hook = Hook::new(words("cat >> \"$0\"", &[file.to_str().expect("a name")]));
        assert_eq!(serve_all(&hook, 2).await, Vec::<String>::new());
        let told = documents(&file);
        assert_eq!(told.len(), 2);
        assert_eq!(
            (&told[0]["schema"], &told[0]["event"], &told[0]["status"]),
            (&"rdmascope.alert/1".into(), &"raised".into(), &"fail".into())
        );
        assert_eq!(told[0]["title"], "gpu-a: it is \"hot\"; $(reboot)");
        assert_eq!((&told[0]["target"], &told[0]["subject"]), (&"gpu-a".into(), &"gpu 0000:05:00.0".into()));
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../schema/alert-1.json")).expect("a document");
        let named: Vec<&str> =
            schema["required"].as_array().expect("a list").iter().filter_map(|name| name.as_str()).collect();
        let mut written: Vec<&str> = told[0].as_object().expect("a table").keys().map(String::as_str).collect();
        let mut sorted = named.clone();
        sorted.sort_unstable();
        written.sort_unstable();
        assert_eq!(written, sorted, "the schema names all of it");
    }

    #[tokio::test]
    async fn many_are_held_back_and_told_of() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("told");
        let hook = Hook::new(words("cat >> \"$0\"", &[file.to_str().expect("a name")]));
        let said = serve_all(&hook, 25).await;
        assert_eq!(documents(&file).len(), MOST_A_MINUTE);
        assert!(said.len() == 1 && said[0].contains("10 times within a minute"), "{said:?}");
        assert_eq!(serve_all(&hook, 1).await, Vec::<String>::new());
        assert_eq!(documents(&file)[MOST_A_MINUTE]["missed"], 15);
    }

    #[tokio::test]
    async fn one_that_fails_is_told_once_and_ends_nothing() {
        let said = serve_all(&Hook::new(words("echo no pager >&2; exit 3", &[])), 3).await;
        assert!(said.len() == 1 && said[0].contains("exit status: 3: no pager"), "{said:?}");
        let said = serve_all(&Hook::new(vec!["/no/such/program".to_owned()]), 2).await;
        assert!(said.len() == 1 && said[0].contains("/no/such/program cannot be started"), "{said:?}");
        assert_eq!(serve_all(&Hook::default(), 2).await, Vec::<String>::new(), "without one nothing is run");
    }

    #[tokio::test]
    async fn one_that_hangs_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pid");
        let script = words("sleep 1000 & echo $! > \"$0\"; wait", &[file.to_str().expect("a name")]);
        // The program must have come so far that its child is known; it then never ends by itself.
        let ran = run(&script, b"{}\n", Duration::from_secs(2)).await;
        assert!(ran.expect_err("it hangs").contains("still running after 2 s"));
        let pid: i32 = std::fs::read_to_string(&file).expect("its child").trim().parse().expect("a number");
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        // It was killed; whoever adopted it may not have seen that yet, so it is at most a zombie.
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        while state().rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z')) {
            tokio::task::yield_now().await;
        }
    }
}
