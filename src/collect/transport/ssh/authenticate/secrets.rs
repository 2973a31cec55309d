//! Secrets: whether somebody may be asked, how it is asked, and what is kept of the answers for the rest of one try.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use russh::keys::HashAlg;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::{Halt, Login, Progress};
use crate::app::{Answer, PromptKind, Secret, SecretKind, SecretRequest};
use crate::collect::transport::ssh::error::{Failure, KeysTried, NotGiven, SecretFrom, Stop};
use crate::collect::transport::ssh::memory::Memory;
use crate::collect::transport::ssh::wording::one_line;
use crate::collect::transport::ssh::{identity, password_command};
use crate::collect::transport::{Asker, Call, Question, Reuse};
use crate::config::openssh::HostSettings;
use crate::fabric::{TargetId, Text};

/// So many characters of a question of a server are shown.
const QUESTION_SHOWN: usize = 120;
/// So many characters of what a server says about its questions are shown.
const INSTRUCTION_SHOWN: usize = 240;

/// What has to be asked before a login can go on, and is asked without a session.
pub enum Wanted {
    /// The passphrase of a key file.
    Passphrase {
        /// The file.
        path: PathBuf,
        /// What it holds.
        text: String,
        /// The question.
        request: SecretRequest,
    },
    /// The password of the account.
    Password(SecretRequest),
    /// The session took too long for the answer; it is in the wallet.
    NewSession,
}

/// A secret that was given, and where it may be told whether it was right.
pub struct Given {
    /// The secret.
    pub secret: Secret,
    /// Where it came from.
    pub from: SecretFrom,
    verdict: Option<oneshot::Sender<bool>>,
}

impl Given {
    /// Tells whether it was right.
    pub fn judge(&mut self, right: bool) {
        if let Some(verdict) = self.verdict.take() {
            // Nobody may wait for it any more.
            let _ = verdict.send(right);
        }
    }

    /// How the login is described.
    pub fn label(&self) -> String {
        match &self.from {
            SecretFrom::Typed => "password".to_owned(),
            SecretFrom::Command(program) => format!("password that {program} printed"),
        }
    }
}

/// An answer that came too late for its session.
pub struct Late {
    /// The question as the server put it.
    pub question: String,
    /// The answer.
    pub given: Given,
}

/// What was learned and typed for one host in the course of one try.
#[derive(Default)]
pub struct Wallet {
    /// What became of the keys so far.
    pub tried: KeysTried,
    /// Fingerprints of keys that were refused: they are not offered again.
    pub refused: Vec<String>,
    /// Fingerprint of the key to offer first: it is known to be wanted.
    pub first: Option<String>,
    /// Key files that the user would not unlock.
    pub skipped: Vec<PathBuf>,
    /// A password that was typed.
    pub password: Option<Given>,
    /// An answer that waits for its question.
    pub late: Option<Late>,
}

/// The time that people take.
pub struct Pause {
    asking: watch::Sender<bool>,
    spent: Mutex<Duration>,
}

impl Default for Pause {
    fn default() -> Self {
        Self { asking: watch::channel(false).0, spent: Mutex::default() }
    }
}

impl Pause {
    fn spent(&self) -> Duration {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` for at most `limit`, not counting the time in which somebody is asked. `None` when it was too long.
    pub async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(work);
        let (start, before) = (Instant::now(), self.spent());
        let mut asking = self.asking.subscribe();
        loop {
            let deadline = start + limit + self.spent().saturating_sub(before);
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = tokio::time::sleep_until(deadline) => {}
            }
            let is_asking = *asking.borrow_and_update();
            if is_asking {
                tokio::select! {
                    biased;
                    done = &mut work => return Some(done),
                    _ = asking.wait_for(|asking| !asking) => {}
                }
            } else if Instant::now() >= start + limit + self.spent().saturating_sub(before) {
                return None;
            }
        }
    }

    /// Runs `work`, in which somebody is asked.
    async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        self.asking.send_replace(true);
        let done = work.await;
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += begun.elapsed();
        self.asking.send_replace(false);
        done
    }
}

/// How somebody is asked for secrets in one try.
pub struct Asking<'a> {
    /// For which target.
    pub target: &'a TargetId,
    /// The way to the console.
    pub asker: &'a Asker,
    /// What is remembered of the target.
    pub memory: &'a Memory,
    /// Whether this try may ask at all.
    pub may_ask: bool,
    /// The time that it took.
    pub pause: Pause,
}

impl<'a> Asking<'a> {
    /// Asking for `target` in a try that begins now.
    pub fn new(target: &'a TargetId, asker: &'a Asker, memory: &'a Memory) -> Self {
        Self { target, asker, memory, may_ask: memory.may_ask(), pause: Pause::default() }
    }

    /// Why nobody may be asked for a secret; `None` if somebody may.
    pub fn forbidden(&self, settings: &HostSettings) -> Option<NotGiven> {
        if settings.login.batch_mode || !settings.login.asks_secrets {
            Some(NotGiven::MayNotAsk)
        } else if self.asker.is_none() {
            Some(NotGiven::NobodyToAsk)
        } else if !self.may_ask {
            Some(NotGiven::NotAgain)
        } else {
            None
        }
    }

    /// Asks. A secret that the server does not let be shared has no name to share it by.
    pub async fn ask(&self, request: SecretRequest, reuse: Option<String>) -> Result<Given, NotGiven> {
        let Some(asker) = self.asker else { return Err(NotGiven::NobodyToAsk) };
        self.memory.asks();
        let (answer, answered) = oneshot::channel();
        let (verdict, reuse) = match reuse {
            Some(of) => {
                let (sender, verdict) = oneshot::channel();
                (Some(sender), Some(Reuse { of, verdict }))
            }
            None => (None, None),
        };
        let question = Question { target: self.target.clone(), kind: PromptKind::Secret(request), reuse, answer };
        let asking = async {
            asker.send(Call::Ask(question)).await.map_err(|_| NotGiven::NobodyToAsk)?;
            answered.await.map_err(|_| NotGiven::NobodyToAsk)
        };
        match self.pause.during(asking).await? {
            Answer::Secret { secret, .. } => Ok(Given { secret, from: SecretFrom::Typed, verdict }),
            Answer::Refuse | Answer::Accept => Err(NotGiven::RefusedByUser),
        }
    }

    /// Asks for what a login wants before it is made anew, and puts the answer where the next session finds it.
    pub async fn get(&self, wanted: Wanted, stop: &Stop, wallet: &mut Wallet) -> Result<(), Failure> {
        let needed = |request: SecretRequest, why, wallet: &Wallet| Failure::SecretNeeded {
            asked: Box::new(request),
            why,
            tried: Box::new(wallet.tried.clone()),
        };
        match wanted {
            Wanted::NewSession => Ok(()),
            Wanted::Password(request) => {
                let reuse = Some(format!("password of {}", stop.user));
                match self.ask(request.clone(), reuse).await {
                    Ok(given) => {
                        wallet.password = Some(given);
                        Ok(())
                    }
                    Err(why) => Err(needed(request, why, wallet)),
                }
            }
            Wanted::Passphrase { path, text, request } => {
                let reuse = Some(format!("passphrase of {}", path.display()));
                let mut given = match self.ask(request.clone(), reuse).await {
                    Ok(given) => given,
                    Err(why) => return Err(needed(request, why, wallet)),
                };
                if given.secret.expose().is_empty() {
                    // As with ssh, an empty passphrase leaves the key out.
                    wallet.skipped.push(path);
                    return Ok(());
                }
                let (secret, locked) = (given.secret.clone(), text.clone());
                let opening = tokio::task::spawn_blocking(move || identity::open(&locked, &secret));
                let Ok(Some(key)) = opening.await else {
                    given.judge(false);
                    let SecretKind::Passphrase(file) = request.what else { return Ok(()) };
                    return Err(Failure::WrongPassphrase { file: file.to_string() });
                };
                given.judge(true);
                wallet.first = Some(key.public_key().fingerprint(HashAlg::Sha256).to_string());
                self.memory.unlock(&path, &text, key);
                Ok(())
            }
        }
    }
}

/// The password that a command gives, fetched once in a login.
#[derive(Default)]
pub struct CommandSecret {
    used: bool,
}

impl Login<'_> {
    /// The password of the target's own command, unless there is none or it was used in this login already.
    pub(super) async fn command_secret(&self, progress: &mut Progress) -> Result<Option<Given>, Halt> {
        let Some(words) = &self.access.password_command else { return Ok(None) };
        if progress.command.used {
            return Ok(None);
        }
        progress.command.used = true;
        let program = Text::new(words.first().map_or("", String::as_str));
        if self.asking.memory.was_refused() {
            // It would most likely give the same again.
            let accepts = progress.tried.accepts.clone();
            return Err(Failure::SecretRefused {
                method: "refused before",
                from: SecretFrom::Command(program),
                accepts,
            }
            .into());
        }
        match password_command::run(words, self.command_limit).await {
            Ok(secret) => Ok(Some(Given { secret, from: SecretFrom::Command(program), verdict: None })),
            Err(problem) => Err(Failure::PasswordCommand { program, problem }.into()),
        }
    }

    /// A question in the form in which it is shown.
    pub(super) fn request(
        &self,
        what: SecretKind,
        instruction: &str,
        question: &str,
        echo: bool,
        may_reuse: bool,
    ) -> SecretRequest {
        let said = one_line(instruction, INSTRUCTION_SHOWN);
        let instruction = match &what {
            // Nothing of the server's has to do with a file of this machine.
            SecretKind::Passphrase(_) => Text::new(""),
            _ if said.is_empty() => self.banner.text(),
            _ => said,
        };
        let asked = one_line(question, QUESTION_SHOWN);
        let question = match &what {
            SecretKind::Passphrase(file) => Text::new(&format!("passphrase of {file}")),
            SecretKind::Password => Text::new(&format!("password of {}", self.settings.user)),
            SecretKind::Interactive if asked.is_empty() => Text::new("the server asks without words"),
            SecretKind::Interactive => asked,
        };
        let asked_by = Text::new(&self.stop.to_string());
        SecretRequest { what, asked_by, instruction, question, echo, may_reuse }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    fn request() -> SecretRequest {
        SecretRequest {
            what: SecretKind::Password,
            asked_by: Text::new("u@h:22"),
            instruction: Text::new(""),
            question: Text::new("password of u"),
            echo: false,
            may_reuse: true,
        }
    }

    #[tokio::test]
    async fn who_may_be_asked_is_decided_by_settings_console_and_history() {
        let (target, memory) = (TargetId::new("t"), Memory::default());
        let mut settings = HostSettings::bare("u", "h", 22);
        let (sender, _calls) = mpsc::channel(1);
        let (console, nobody) = (Some(sender), None);
        assert_eq!(Asking::new(&target, &console, &memory).forbidden(&settings), None);
        assert_eq!(Asking::new(&target, &nobody, &memory).forbidden(&settings), Some(NotGiven::NobodyToAsk));
        memory.asks();
        assert_eq!(Asking::new(&target, &console, &memory).forbidden(&settings), Some(NotGiven::NotAgain));
        memory.permit();
        settings.login.asks_secrets = false;
        assert_eq!(Asking::new(&target, &console, &memory).forbidden(&settings), Some(NotGiven::MayNotAsk));
        settings.login.asks_secrets = true;
        settings.login.batch_mode = true;
        assert_eq!(Asking::new(&target, &console, &memory).forbidden(&settings), Some(NotGiven::MayNotAsk));
    }

    #[tokio::test]
    async fn an_answer_and_its_verdict_find_their_way() {
        let (target, memory) = (TargetId::new("t"), Memory::default());
        let (sender, mut calls) = mpsc::channel(1);
        let console = Some(sender);
        let asking = Asking::new(&target, &console, &memory);
        let answering = async {
            let Some(Call::Ask(question)) = calls.recv().await else { panic!("a question") };
            let reuse = question.reuse.expect("a name");
            let secret = Secret::new("s".to_owned());
            question.answer.send(Answer::Secret { secret, reuse: true }).expect("somebody waits");
            reuse
        };
        let (given, reuse) = tokio::join!(asking.ask(request(), Some("password of u".to_owned())), answering);
        assert_eq!(reuse.of, "password of u");
        assert!(!memory.may_ask(), "one question a time that the user acts");
        given.expect("an answer").judge(true);
        assert_eq!(reuse.verdict.await, Ok(true));
        let refusing = async {
            let Some(Call::Ask(question)) = calls.recv().await else { panic!("a question") };
            question.answer.send(Answer::Refuse).expect("somebody waits");
        };
        let (given, ()) = tokio::join!(asking.ask(request(), None), refusing);
        assert_eq!(given.err(), Some(NotGiven::RefusedByUser));
        drop(calls);
        assert_eq!(asking.ask(request(), None).await.err(), Some(NotGiven::NobodyToAsk));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_that_people_take_counts_towards_no_deadline() {
        let pause = Pause::default();
        let limit = Duration::from_secs(10);
        let work = async {
            tokio::time::sleep(Duration::from_secs(6)).await;
            pause.during(tokio::time::sleep(Duration::from_mins(10))).await;
            tokio::time::sleep(Duration::from_secs(3)).await;
        };
        assert_eq!(pause.within(limit, work).await, Some(()));
        let work = async {
            pause.during(tokio::time::sleep(Duration::from_mins(10))).await;
            tokio::time::sleep(Duration::from_secs(11)).await;
        };
        assert_eq!(pause.within(limit, work).await, None);
        assert_eq!(pause.within(limit, tokio::time::sleep(Duration::from_secs(11))).await, None);
    }
}
