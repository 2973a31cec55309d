//! Changes of targets: each step goes to the poller of its target, is noted in the audit log before it is taken, and its
//! outcome comes back as a message, whatever happens to the connection meanwhile.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::settings;
use crate::app::Message;
use crate::app::change::{ChangeAsked, ChangeNews};
use crate::collect::change::{COMMAND_DEADLINE, Request, What};
use crate::fabric::{Text, Timestamp};
use crate::probe::dialect::posix::quote;
use crate::record::audit::{Audit, Entry};

/// How long a target may take to be read again.
const READ_DEADLINE: Duration = Duration::from_secs(100);

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
        ChangeAsked::ReadAgain { number, probes, .. } => {
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
    // Where one waits already nobody serves them: the target is not connected.
    if requests.try_send(Request { what, reply }).is_err() {
        return Err(Text::new("the target is not connected"));
    }
    match timeout(deadline, answer).await {
        Ok(Ok(news)) => Ok(news),
        Ok(Err(_)) => Err(Text::new("the connection ended before the answer; what was done there is not known")),
        Err(_) => Err(Text::new("no answer in time; what was done there is not known")),
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
