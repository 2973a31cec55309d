//! Changes of targets: each step goes to the poller of its target, is noted in the audit log before it is taken, and its
//! outcome comes back as a message, whatever happens to the connection meanwhile.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::settings;
use crate::app::Message;
use crate::app::change::{ChangeAsked, ChangeNews};
use crate::collect::change::{COMMAND_DEADLINE, Progress, Request, What};
use crate::fabric::{Text, Timestamp};
use crate::probe::dialect::posix::quote;
use crate::record::audit::{Audit, Entry};

/// How long a target may take to be read again: a slow host is asked in several batches.
const READ_DEADLINE: Duration = Duration::from_mins(3);

/// How long a target may take to end all commands of a change, beyond what each of them may.
const GRACE: Duration = Duration::from_secs(5);

/// The folder of what the program keeps for itself: `$XDG_STATE_HOME/rdmascope`, else below `~/.local/state`. `None`
/// without a home.
pub fn state_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("rdmascope"))
}

/// Where the audit log is: in the folder of what the program keeps. `None` without a home.
pub fn audit_path() -> Option<PathBuf> {
    state_folder().map(|folder| folder.join("audit.jsonl"))
}

/// The audit log of whoever runs this.
pub fn audit() -> Option<Audit> {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    let user = user.unwrap_or_else(|_| format!("uid {}", rustix::process::getuid().as_raw()));
    audit_path().map(|path| Audit::new(path, user))
}

/// Takes one step. `requests` leads to the poller of the target; `None` if there is none.
pub async fn step(
    asked: ChangeAsked,
    audit: Option<Audit>,
    requests: Option<mpsc::Sender<Request>>,
    messages: mpsc::Sender<Message>,
) {
    let (number, news) = match asked {
        ChangeAsked::ReadAgain { number, probes, after, .. } => {
            if after > 0 {
                sleep(Duration::from_secs(after)).await;
            }
            let names = probes.iter().map(ToString::to_string).collect();
            let answer = ask(What::ReadAgain(names), READ_DEADLINE, requests).await;
            (number, answer.unwrap_or_else(|why| ChangeNews::ReadAgain(Err(why))))
        }
        ChangeAsked::Run { number, target, title, check, commands, .. } => {
            let shown = |words: &Vec<String>| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
            let entry = |event: &'static str, results: Vec<String>| Entry {
                at: Timestamp::now().to_string(),
                event,
                number,
                target: target.as_str(),
                check: &check,
                title: &title,
                commands: commands.iter().map(shown).collect(),
                results,
            };
            let news = if let Err(why) = noted(audit.as_ref(), &entry("begin", Vec::new())) {
                ChangeNews::Refused(why)
            } else {
                let count = u32::try_from(commands.len()).unwrap_or(u32::MAX);
                let deadline = COMMAND_DEADLINE.saturating_mul(count).saturating_add(GRACE);
                ask(What::Run(commands.clone()), deadline, requests).await.unwrap_or_else(ChangeNews::Refused)
            };
            let results = match &news {
                ChangeNews::Ran(ran) => {
                    ran.iter().map(|one| format!("{:?}: {}: {}", one.outcome, one.command, one.said)).collect()
                }
                ChangeNews::Refused(why) => vec![why.to_string()],
                _ => Vec::new(),
            };
            // What was done was done, whether its end could be noted or not.
            let _ = noted(audit.as_ref(), &entry("end", results));
            (number, news)
        }
        ChangeAsked::Note { number, target, verdict } => {
            let entry = Entry {
                at: Timestamp::now().to_string(),
                event: "verdict",
                number,
                target: target.as_str(),
                check: "",
                title: &verdict,
                commands: Vec::new(),
                results: Vec::new(),
            };
            let _ = noted(audit.as_ref(), &entry);
            return;
        }
        ChangeAsked::Export { name, text } => {
            let path = PathBuf::from(&name);
            let written = settings::write_private(&path, text.as_bytes());
            let news = written.map(|()| Text::new(&name)).map_err(|defect| Text::new(&defect.to_string()));
            (0, ChangeNews::Exported(news))
        }
    };
    let _ = messages.send(Message::Change { at: Timestamp::now(), number, news }).await;
}

/// Asks a poller; the error says why there is no answer.
async fn ask(what: What, deadline: Duration, requests: Option<mpsc::Sender<Request>>) -> Result<ChangeNews, Text> {
    let Some(requests) = requests else { return Err(Text::new("nothing can be run on this target")) };
    let (reply, answer) = oneshot::channel();
    let (progress, is_run) = (Progress::default(), matches!(what, What::Run(_)));
    // One waits already where another is served, and where nobody serves them until the target is connected again.
    match requests.try_send(Request { what, reply, progress: progress.clone() }) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => {
            return Err(Text::new(
                "it is being read just now, or connected anew, and one request waits already; try again in a moment",
            ));
        }
        Err(TrySendError::Closed(_)) => return Err(Text::new("the target is not connected")),
    }
    let why = match timeout(deadline, answer).await {
        Ok(Ok(news)) => return Ok(news),
        Ok(Err(_)) => "the connection ended before the answer",
        Err(_) => "no answer in time",
    };
    match progress.so_far() {
        ran if !ran.is_empty() => Ok(ChangeNews::Ran(ran)),
        _ if is_run => Err(Text::new(&format!("{why}, and before the first command began"))),
        _ => Err(Text::new(why)),
    }
}

fn noted(audit: Option<&Audit>, entry: &Entry<'_>) -> Result<(), Text> {
    let Some(audit) = audit else {
        return Err(Text::new("there is no place for the audit log: neither XDG_STATE_HOME nor HOME is set"));
    };
    audit.append(entry).map_err(|error| {
        let why = crate::collect::reason::reason(&error);
        Text::new(&format!("the audit log {} cannot be written: {why}", audit.path().display()))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::app::change::script;
    use crate::collect::change::WAITING;
    use crate::diagnose::check::all;
    use crate::diagnose::remedy::{Cure, Risk, Step};
    use crate::fabric::TargetId;

    #[tokio::test(start_paused = true)]
    async fn a_target_that_is_read_just_now_is_told_from_one_that_is_gone() {
        let (requests, waiting) = mpsc::channel(WAITING);
        let asked = |requests: &mpsc::Sender<Request>| {
            ask(What::ReadAgain(vec![]), Duration::from_secs(1), Some(requests.clone()))
        };
        let said = |answer: Result<ChangeNews, Text>| answer.expect_err("no answer").to_string();
        assert_eq!(said(asked(&requests).await), "no answer in time", "it waits all the same");
        let busy = said(asked(&requests).await);
        assert!(busy.starts_with("it is being read just now") && busy.ends_with("try again in a moment"), "{busy}");
        drop(waiting);
        assert_eq!(said(asked(&requests).await), "the target is not connected");
    }

    /// The shells that are here of those that targets have: dash and bash of guests, busybox of ESXi.
    fn shells() -> Vec<Vec<&'static str>> {
        let all = [vec!["sh"], vec!["dash"], vec!["bash", "--posix"], vec!["busybox", "ash"]];
        let is_here = |words: &Vec<&str>| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).args(["-c", "true"]).stdin(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        all.into_iter().filter(is_here).collect()
    }

    fn said(shell: &[&str], arguments: &[&str], input: &str) -> (bool, String) {
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it is here");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn every_script_is_one_for_every_shell() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut paths = Vec::new();
        for check in all() {
            let site = (check.samples.trouble)();
            for judged in site.judge(check) {
                for cure in &judged.cures {
                    for undo in [false, true] {
                        let text = script::of(&judged.title, cure, undo);
                        if !text.starts_with("#!/bin/sh\n") {
                            continue;
                        }
                        assert!(text.contains("\nset -eu\n") && text.contains("\n# risk: "), "{text}");
                        let path = folder.path().join(format!("{}.sh", paths.len()));
                        std::fs::write(&path, text).expect("it is written");
                        paths.push(path.display().to_string());
                    }
                }
            }
        }
        assert!(paths.len() > 200, "{} scripts", paths.len());
        let shells = shells();
        assert!(!shells.is_empty());
        for shell in shells {
            let whole = shell.iter().filter(|word| !word.starts_with('-')).copied().collect::<Vec<_>>().join(" ");
            let mut arguments = vec!["-c", "for f; do $0 -n \"$f\" || exit 1; done", whole.as_str()];
            arguments.extend(paths.iter().map(String::as_str));
            assert_eq!(said(&["sh"], &arguments, ""), (true, String::new()), "{whole}");
        }
        let given = Command::new("shellcheck").args(["-s", "sh"]).args(&paths).output();
        if let Ok(output) = given {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
    }

    #[test]
    fn hostile_words_reach_the_program_as_they_are() {
        let words = ["$(echo no)", "`echo no`", "a'b\"c", "; echo no", "-n", "*", "", "two  blanks", "\u{202e}x"];
        let command: Vec<&str> = ["printf", "<%s>\n"].into_iter().chain(words).collect();
        let steps = vec![Step::run(&command)];
        let cure = Cure::on(&TargetId::new("x\necho no"), "title\necho no", Risk::None, steps)
            .without_undo("why\necho no", Vec::new())
            .noting("note\r\necho no");
        let text = script::of("matter\necho no", &cure, false);
        let wanted = words.map(|word| format!("<{word}>\n")).concat();
        for shell in shells() {
            assert_eq!(said(&shell, &["-c", &text], ""), (true, wanted.clone()), "{shell:?}: {text}");
        }
    }

    #[test]
    fn what_a_person_does_stops_a_script_until_it_is_done() {
        let steps =
            vec![Step::run(&["echo", "one"]), Step::ByHand("look $(x)".to_owned()), Step::run(&["echo", "two"])];
        let text = script::of("matter", &Cure::on(&TargetId::new("a"), "title", Risk::None, steps), false);
        for shell in shells() {
            let (ended_well, out) = said(&shell, &["-c", &text], "y\n");
            assert!(ended_well && out.contains("by hand: look $(x)\n") && out.ends_with("two\n"), "{out}");
            for answer in ["n\n", ""] {
                let (ended_well, out) = said(&shell, &["-c", &text], answer);
                assert!(!ended_well && out.starts_with("one\n") && !out.contains("two"), "{out}");
            }
        }
    }
}
