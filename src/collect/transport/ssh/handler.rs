//! What the library calls while a session lives: it hands over the host key and says why a session ended. Nothing here
//! ever waits, because the library's session stands still while one of these runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use russh::client::{DisconnectReason, Handler, Session};
use russh::keys::{PublicKey, PublicKeyOrCertificate};
use tokio::sync::watch;

use super::error::Failure;
use super::host_certificate::{self, Judgement};
use super::host_key;
use super::known_hosts::{KnownKeys, Place, RecordedNames, Verdict};
use super::wording::one_line;
use crate::fabric::Text;

/// Why a session ended whose server refused a login and named no method for another try.
pub const NO_METHOD_LEFT: &str = "the server takes no further method";

/// So many characters of a banner are kept: it is shown in one line.
const BANNER_KEPT: usize = 200;

/// The host key of one host, as it is judged.
pub struct Expectation {
    /// Under which names it is recorded.
    pub names: RecordedNames,
    /// What is recorded.
    pub known: KnownKeys,
    /// A key that was accepted a moment ago, whether it could be recorded or not.
    pub accepted: Option<PublicKey>,
}

/// Why a session failed before it was up.
#[derive(Debug)]
pub enum SessionError {
    /// The library says so.
    Library(russh::Error),
    /// The host key is not acceptable.
    Refused(Box<Failure>),
    /// The host key is unknown: somebody has to decide.
    Unknown(Box<UnknownKey>),
}

/// A host key about which somebody has to decide.
#[derive(Debug)]
pub struct UnknownKey {
    /// The key.
    pub key: PublicKey,
    /// A line that trusts an authority for the host.
    pub authority: Option<Place>,
}

impl From<russh::Error> for SessionError {
    fn from(error: russh::Error) -> Self {
        Self::Library(error)
    }
}

/// What a server says to everybody who logs in, cut to one line.
#[derive(Clone, Debug)]
pub struct Banner(Arc<Mutex<Text>>);

impl Default for Banner {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Text::new(""))))
    }
}

impl Banner {
    /// What it said so far.
    pub fn text(&self) -> Text {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Watches one session.
pub struct Watcher {
    expectation: Arc<Expectation>,
    ended: watch::Sender<Option<Text>>,
    banner: Banner,
}

impl Watcher {
    /// A watcher, and where it tells why the session ended (its sender goes with the session).
    pub fn new(expectation: Arc<Expectation>, banner: Banner) -> (Self, watch::Receiver<Option<Text>>) {
        let (ended, ends) = watch::channel(None);
        (Self { expectation, ended, banner }, ends)
    }
}

impl Handler for Watcher {
    type Error = SessionError;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, SessionError> {
        let Expectation { names, known, accepted } = &*self.expectation;
        let key = &shown.public_key();
        let refused = |failure: Failure| Err(SessionError::Refused(Box::new(failure)));
        if let Some(certificate) = shown.certificate() {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            let judgement = host_certificate::judge(certificate, names, known, now);
            if let Some(failure) = host_key::certificate_refusal(names, key, &judgement) {
                return refused(failure);
            }
            if judgement == Judgement::Good {
                return Ok(true);
            }
        }
        let verdict = known.verdict(key);
        if let Some(failure) = host_key::refusal(names, key, &verdict) {
            return refused(failure);
        }
        match (verdict, accepted) {
            (Verdict::Unknown { .. }, Some(accepted)) if accepted.key_data() == key.key_data() => Ok(true),
            (Verdict::Unknown { .. }, Some(accepted)) => {
                let recorded = host_key::offered(names, accepted);
                refused(Failure::HostKeyChanged {
                    key: host_key::offered(names, key),
                    recorded: None,
                    recorded_key: format!("{} {}", recorded.algorithm, recorded.fingerprint),
                })
            }
            (Verdict::Unknown { authority }, None) => {
                Err(SessionError::Unknown(Box::new(UnknownKey { key: key.clone(), authority })))
            }
            _ => Ok(true),
        }
    }

    async fn auth_banner(&mut self, banner: &str, _session: &mut Session) -> Result<(), SessionError> {
        *self.banner.0.lock().unwrap_or_else(PoisonError::into_inner) = one_line(banner, BANNER_KEPT);
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<SessionError>) -> Result<(), SessionError> {
        self.ended.send_replace(Some(ending(&reason)));
        Ok(())
    }
}

/// Why a session ended, in words.
fn ending(reason: &DisconnectReason<SessionError>) -> Text {
    match reason {
        DisconnectReason::ReceivedDisconnect(info) => {
            let said = Text::new(&info.message);
            if said.is_empty() {
                Text::new("the server ended the connection")
            } else {
                Text::new(&format!("the server ended the connection: {said}"))
            }
        }
        DisconnectReason::Error(SessionError::Library(error)) => library_ending(error),
        DisconnectReason::Error(SessionError::Refused(_) | SessionError::Unknown(_)) => {
            Text::new("its host key was refused")
        }
    }
}

fn library_ending(error: &russh::Error) -> Text {
    use std::io::ErrorKind;
    match error {
        russh::Error::KeepaliveTimeout => Text::new("the target stopped answering"),
        russh::Error::InactivityTimeout => Text::new("nothing came from the target for too long"),
        russh::Error::NoAuthMethod => Text::new(NO_METHOD_LEFT),
        russh::Error::HUP => Text::new("the target closed the connection"),
        russh::Error::Disconnect => Text::new("the connection was closed from here"),
        russh::Error::IO(error) => match error.kind() {
            ErrorKind::UnexpectedEof => Text::new("the target closed the connection"),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Text::new("the connection was reset"),
            ErrorKind::ConnectionAborted => Text::new("the connection was closed from here"),
            ErrorKind::TimedOut => Text::new("the network gave the connection up"),
            _ => Text::new(&format!("the connection broke: {error}")),
        },
        other => Text::new(&format!("the connection broke: {other}")),
    }
}

/// Waits until a session has ended, and says why.
pub async fn ended(mut ends: watch::Receiver<Option<Text>>) -> Text {
    match ends.wait_for(Option::is_some).await {
        Ok(reason) => reason.clone().unwrap_or_else(lost),
        // The session went without a word: its last write failed on a connection that was already gone.
        Err(_) => lost(),
    }
}

fn lost() -> Text {
    Text::new("the connection was lost")
}
