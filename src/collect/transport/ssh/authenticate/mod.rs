//! Logging in to one host, by the methods that the settings allow and the server takes, in OpenSSH's order: keys, answers
//! to the server's questions, password. A server may want several, one after the other.
//!
//! What can be refused is sent once: a refused secret ends the login, and nobody tries again until the user asks, because
//! hosts lock a login after a few failures. What a person has to type is asked for outside of the session wherever that
//! can be known before, because servers end a login after two minutes: then the login is made anew with the answer.

mod interactive;
mod keys;
mod secrets;
mod sign;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use russh::client::{AuthResult, Handle};
use russh::{MethodKind, MethodSet};
use tokio::sync::watch;

pub use secrets::{Asking, Wallet, Wanted};

use self::keys::Keys;
use self::secrets::CommandSecret;
use super::error::{Failure, KeysTried, NotGiven, SecretFrom, Stop};
use super::handler::{Banner, NO_METHOD_LEFT, Watcher, ended};
use crate::app::{SecretKind, SecretRequest};
use crate::config::Access;
use crate::config::openssh::{HostSettings, LoginMethod};
use crate::fabric::Text;

/// No server wants so many proofs.
const MOST_STEPS: usize = 5;

/// One login.
pub struct Login<'a> {
    /// The session.
    pub handle: &'a mut Handle<Watcher>,
    /// Which host.
    pub stop: &'a Stop,
    /// Its settings.
    pub settings: &'a HostSettings,
    /// What the inventory says of the target; nothing for jump hosts.
    pub access: &'a Access,
    /// Says why the session ended.
    pub ends: &'a watch::Receiver<Option<Text>>,
    /// What the server said to everybody.
    pub banner: &'a Banner,
    /// How somebody is asked.
    pub asking: &'a Asking<'a>,
    /// What was learned and typed in earlier sessions of the same try.
    pub wallet: &'a mut Wallet,
    /// What happened that makes a further try unwise.
    pub risk: &'a Risk,
    /// How long the command that gives the password may take.
    pub command_limit: Duration,
    /// An answer that took longer is given in a new session.
    pub answer_limit: Duration,
}

/// What happened in a login that makes a further try by itself unwise.
#[derive(Debug, Default)]
pub struct Risk {
    refused: AtomicBool,
    secret_sent: AtomicBool,
}

impl Risk {
    /// A key was refused.
    fn refused(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    /// A secret is on its way.
    fn secret_sent(&self) {
        self.secret_sent.store(true, Ordering::Relaxed);
    }

    /// Whether a secret was sent.
    pub fn has_sent(&self) -> bool {
        self.secret_sent.load(Ordering::Relaxed)
    }

    /// Whether a further try could be one more failure.
    pub fn is_any(&self) -> bool {
        self.refused.load(Ordering::Relaxed) || self.has_sent()
    }
}

/// Why a login ended without success.
pub enum Halt {
    /// It failed.
    Failed(Failure),
    /// Something has to be asked; then it is made anew.
    Wanted(Box<Wanted>),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// How one method ended.
enum Step {
    /// Logged in, by this.
    Done(String),
    /// Accepted, and the server wants more.
    Partial(String, MethodSet),
    /// It gave nothing; what the server takes now, if it said.
    Exhausted(Option<MethodSet>),
}

/// Where one login stands.
struct Progress {
    keys: Keys,
    tried: KeysTried,
    command: CommandSecret,
    /// The first thing that would have helped and could not be asked for.
    needed: Option<(SecretRequest, NotGiven)>,
}

impl Progress {
    fn needs(&mut self, request: SecretRequest, why: NotGiven) {
        self.needed.get_or_insert((request, why));
    }
}

impl Login<'_> {
    /// Logs in; what opened the way, in words.
    pub async fn run(&mut self) -> Result<String, Halt> {
        let mut progress = Progress {
            keys: Keys::default(),
            tried: self.wallet.tried.clone(),
            command: CommandSecret::default(),
            needed: None,
        };
        let mut accepts = match self.handle.authenticate_none(&self.settings.user).await {
            Ok(AuthResult::Success) => return Ok("no key needed".to_owned()),
            Ok(AuthResult::Failure { remaining_methods, .. }) => remaining_methods,
            Err(_) => return Err(self.closed(progress.tried).await.into()),
        };
        progress.tried.accepts = method_names(&accepts);
        if self.is_over(&accepts) {
            return Err(self.closed(progress.tried).await.into());
        }
        let mut exhausted: Vec<LoginMethod> = Vec::new();
        let mut accepted: Vec<String> = Vec::new();
        let may = |method: &LoginMethod, accepts: &MethodSet| accepts.contains(&kind_of(*method));
        let in_common = self.settings.login.methods.iter().any(|method| may(method, &accepts));
        while let Some(method) = self
            .settings
            .login
            .methods
            .iter()
            .copied()
            .find(|method| may(method, &accepts) && !exhausted.contains(method))
        {
            let step = match method {
                LoginMethod::PublicKey => self.keys(&mut progress).await?,
                LoginMethod::KeyboardInteractive => self.interactive(&mut progress).await?,
                LoginMethod::Password => self.password(&mut progress).await?,
            };
            match step {
                Step::Done(label) => {
                    accepted.push(label);
                    return Ok(accepted.join(", then "));
                }
                Step::Partial(label, further) => {
                    accepted.push(label);
                    accepts = further;
                    exhausted.clear();
                    if accepted.len() == MOST_STEPS {
                        break;
                    }
                }
                Step::Exhausted(further) => {
                    exhausted.push(method);
                    accepts = further.unwrap_or(accepts);
                }
            }
            progress.tried.accepts = method_names(&accepts);
        }
        Err(self.failure(progress, &accepted, in_common).into())
    }

    /// Why nothing opened the way.
    fn failure(&self, progress: Progress, accepted: &[String], in_common: bool) -> Failure {
        let Progress { tried, needed, .. } = progress;
        if let Some((asked, why)) = needed {
            return Failure::SecretNeeded { asked: Box::new(asked), why, tried: Box::new(tried) };
        }
        if !accepted.is_empty() {
            return Failure::SecondStepNeeded { done: accepted.join(", "), accepts: tried.accepts };
        }
        let allows_keys = self.settings.login.methods.contains(&LoginMethod::PublicKey);
        // Keys were tried, or the server says that it takes them.
        let takes_keys =
            !tried.offered.is_empty() || tried.accepts.iter().any(|name| name == LoginMethod::PublicKey.name());
        if !(in_common && allows_keys && takes_keys) {
            return Failure::NoMethod { accepts: tried.accepts, allowed: self.allowed() };
        }
        if tried.offered.is_empty() {
            return Failure::NoKeyToOffer(Box::new(tried));
        }
        Failure::AuthenticationRefused(Box::new(tried))
    }

    /// The methods that the settings allow.
    fn allowed(&self) -> Vec<String> {
        self.settings.login.methods.iter().map(|method| method.name().to_owned()).collect()
    }

    /// The password of the account, by the method of that name.
    async fn password(&mut self, progress: &mut Progress) -> Result<Step, Halt> {
        const METHOD: &str = "password";
        let known = match self.command_secret(progress).await? {
            Some(given) => Some(given),
            None => self.wallet.password.take(),
        };
        let Some(mut given) = known else {
            let request = self.request(SecretKind::Password, "", "", false, true);
            let Some(why) = self.asking.forbidden(self.settings) else {
                return Err(Halt::Wanted(Box::new(Wanted::Password(request))));
            };
            progress.needs(request, why);
            return Ok(Step::Exhausted(None));
        };
        self.risk.secret_sent();
        let answer = self.handle.authenticate_password(&self.settings.user, given.secret.expose()).await;
        match answer {
            Ok(AuthResult::Success) => {
                let label = given.label();
                given.judge(true);
                Ok(Step::Done(label))
            }
            Ok(AuthResult::Failure { partial_success: true, remaining_methods }) => {
                let label = given.label();
                given.judge(true);
                // A later step may need a new session, and then this one again.
                if given.from == SecretFrom::Typed {
                    self.wallet.password = Some(given);
                }
                Ok(Step::Partial(label, remaining_methods))
            }
            Ok(AuthResult::Failure { remaining_methods, .. }) => {
                Err(self.secret_refused(METHOD, vec![given], &remaining_methods, progress).await)
            }
            Err(_) => Err(self.closed(progress.tried.clone()).await.into()),
        }
    }

    /// A secret was sent and did not open the way.
    async fn secret_refused(
        &self,
        method: &'static str,
        given: Vec<secrets::Given>,
        remaining: &MethodSet,
        progress: &Progress,
    ) -> Halt {
        self.asking.memory.refused();
        if self.is_over(remaining) {
            let failure = self.closed(progress.tried.clone()).await;
            // Some servers end the connection in place of an answer; that is no verdict on the secret.
            let is_verdict = match &failure {
                Failure::ClosedInAuthentication { reason, .. } => *reason == NO_METHOD_LEFT,
                other => matches!(other, Failure::TooManyFailures(_)),
            };
            if !is_verdict {
                return failure.into();
            }
        }
        let from = given.iter().map(|given| given.from.clone()).next_back().unwrap_or(SecretFrom::Typed);
        for mut given in given {
            given.judge(false);
        }
        Failure::SecretRefused { method, from, accepts: method_names(remaining) }.into()
    }

    /// The end of a connection looks like a refusal that leaves no method.
    fn is_over(&self, remaining: &MethodSet) -> bool {
        self.handle.is_closed() || remaining.is_empty()
    }

    /// The connection ended while logging in: because of too many refusals, or for a reason of its own.
    async fn closed(&self, tried: KeysTried) -> Failure {
        let reason = ended(self.ends.clone()).await;
        if reason.to_lowercase().contains("too many authentication failures") {
            return Failure::TooManyFailures(Box::new(tried));
        }
        let secret_sent = self.risk.has_sent();
        if reason == NO_METHOD_LEFT && !secret_sent {
            return if tried.offered.is_empty() {
                Failure::NoMethod { accepts: Vec::new(), allowed: self.allowed() }
            } else {
                Failure::AuthenticationRefused(Box::new(tried))
            };
        }
        if secret_sent {
            // It may have counted.
            self.asking.memory.refused();
        }
        Failure::ClosedInAuthentication { reason, tried: Box::new(tried), secret_sent }
    }
}

fn kind_of(method: LoginMethod) -> MethodKind {
    match method {
        LoginMethod::PublicKey => MethodKind::PublicKey,
        LoginMethod::KeyboardInteractive => MethodKind::KeyboardInteractive,
        LoginMethod::Password => MethodKind::Password,
    }
}

fn method_names(methods: &MethodSet) -> Vec<String> {
    methods.iter().map(|method| <&'static str>::from(method).to_owned()).collect()
}
