//! Logging in with keys. The key that worked the last time comes first, then keys of the agent that the settings name,
//! then key files, then what else the agent holds, then files that are locked; few are offered, because each refused one
//! counts towards a lock-out. A locked one is asked about only once the server says that it would take it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use russh::client::{AuthResult, Handle};
use russh::keys::agent::AgentIdentity;
use russh::keys::{Certificate, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey};

use super::secrets::Wanted;
use super::sign::{FileKey, Locked, SignError};
use super::{Halt, Login, Progress, Step, method_names};
use crate::app::SecretKind;
use crate::collect::transport::ssh::agent::{self, Agent};
use crate::collect::transport::ssh::algorithms::is_rsa;
use crate::collect::transport::ssh::error::{KeysTried, SetAside, SetAsideReason};
use crate::collect::transport::ssh::handler::Watcher;
use crate::collect::transport::ssh::identity::{
    CertificateFile, IdentityFile, describe, read_certificates, read_identities,
};
use crate::config::openssh::HostSettings;
use crate::fabric::Text;

/// So many keys are offered at most.
const KEYS_OFFERED_AT_MOST: usize = 3;
/// So many requests are made on one connection at most: a key may need two, one for each hash. Servers end it at 6.
const REQUESTS_AT_MOST: usize = 5;

/// Something that can be offered.
struct Candidate {
    label: String,
    /// The public half; `None` for a locked file that does not tell it.
    key: Option<PublicKey>,
    certificate: Option<Certificate>,
    signer: Signer,
    /// The settings name it.
    is_named: bool,
}

enum Signer {
    Agent,
    File(Arc<PrivateKey>),
    Locked(LockedFile),
}

struct LockedFile {
    path: PathBuf,
    name: String,
    text: String,
}

impl Candidate {
    /// By what it is known: the fingerprint, with a certificate or without; the file where that is not known.
    fn identity(&self) -> String {
        let certified = if self.certificate.is_some() { " with certificate" } else { "" };
        match (&self.key, &self.signer) {
            (Some(key), _) => format!("{}{certified}", key.fingerprint(HashAlg::Sha256)),
            (None, Signer::Locked(file)) => file.path.display().to_string(),
            (None, _) => self.label.clone(),
        }
    }

    fn is_locked(&self) -> bool {
        matches!(self.signer, Signer::Locked(_))
    }
}

/// The keys of one login.
#[derive(Default)]
pub(super) struct Keys {
    is_open: bool,
    queue: VecDeque<Candidate>,
    agent: Option<Agent>,
    requests: usize,
}

enum OfferError {
    Session,
    Locked,
    NotSigned(Text),
}

impl Login<'_> {
    /// Offers the keys, one after the other, until one is accepted.
    pub(super) async fn keys(&mut self, progress: &mut Progress) -> Result<Step, Halt> {
        if !progress.keys.is_open {
            self.open_keys(progress).await;
        }
        let mut further = None;
        while let Some(candidate) = progress.keys.queue.pop_front() {
            if let (Signer::Locked(_), None) = (&candidate.signer, &candidate.key) {
                self.locked(&candidate, progress)?;
                continue;
            }
            let Some(key) = candidate.key.clone() else { continue };
            for hash in hashes(self.handle, &key, self.access.legacy_algorithms).await {
                if progress.keys.requests == REQUESTS_AT_MOST {
                    progress.tried.left_out += 1;
                    break;
                }
                progress.keys.requests += 1;
                match offer(self.handle, &self.settings.user, &candidate, &key, hash, progress.keys.agent.as_mut())
                    .await
                {
                    Ok(AuthResult::Success) => {
                        self.asking.memory.worked(self.stop, &candidate.identity());
                        return Ok(Step::Done(candidate.label));
                    }
                    Ok(AuthResult::Failure { partial_success: true, remaining_methods }) => {
                        let identity = candidate.identity();
                        self.asking.memory.worked(self.stop, &identity);
                        self.wallet.first = Some(identity);
                        return Ok(Step::Partial(candidate.label, remaining_methods));
                    }
                    Ok(AuthResult::Failure { remaining_methods, .. }) => {
                        self.risk.refused();
                        self.refused(&candidate, &mut progress.tried);
                        if self.is_over(&remaining_methods) {
                            return Err(self.closed(progress.tried.clone()).await.into());
                        }
                        progress.tried.accepts = method_names(&remaining_methods);
                        further = Some(remaining_methods);
                    }
                    Err(OfferError::Session) => return Err(self.closed(progress.tried.clone()).await.into()),
                    Err(OfferError::Locked) => {
                        self.locked(&candidate, progress)?;
                        break;
                    }
                    Err(OfferError::NotSigned(reason)) => {
                        let reason = SetAsideReason::AgentDeclined(reason);
                        progress.tried.set_aside.push(SetAside { name: candidate.label.clone(), reason });
                        break;
                    }
                }
            }
        }
        Ok(Step::Exhausted(further))
    }

    fn refused(&mut self, candidate: &Candidate, tried: &mut KeysTried) {
        let identity = candidate.identity();
        if !self.wallet.refused.contains(&identity) {
            self.wallet.refused.push(identity);
        }
        if !tried.offered.contains(&candidate.label) {
            tried.offered.push(candidate.label.clone());
            self.wallet.tried.offered.push(candidate.label.clone());
        }
    }

    /// A locked key is wanted: its passphrase is asked for, or it is left out where nobody may be asked.
    fn locked(&self, candidate: &Candidate, progress: &mut Progress) -> Result<(), Halt> {
        let Signer::Locked(LockedFile { path, name, text }) = &candidate.signer else { return Ok(()) };
        let request = self.request(SecretKind::Passphrase(Text::new(name)), "", "", false, true);
        match self.asking.forbidden(self.settings) {
            None => {
                let wanted = Wanted::Passphrase { path: path.clone(), text: text.clone(), request };
                Err(Halt::Wanted(Box::new(wanted)))
            }
            Some(why) => {
                progress.needs(request, why);
                progress.tried.set_aside.push(SetAside { name: name.clone(), reason: SetAsideReason::Encrypted });
                Ok(())
            }
        }
    }

    /// Finds out what can be offered, and puts it in order.
    async fn open_keys(&mut self, progress: &mut Progress) {
        let (identities, certificates) = self.read_files().await;
        let binding = self.handle.agent_session_binding();
        let agent = agent::open(self.settings, binding, &mut progress.tried.agent).await;
        let found =
            candidates(self.settings, &identities, &certificates, agent.as_ref(), &mut progress.tried.set_aside);
        let found = found
            .into_iter()
            .filter(|candidate| !self.wallet.refused.contains(&candidate.identity()))
            .filter(|candidate| match &candidate.signer {
                Signer::Locked(file) => !self.wallet.skipped.contains(&file.path),
                Signer::Agent | Signer::File(_) => true,
            })
            .collect();
        let first = self.wallet.first.clone().or_else(|| self.asking.memory.good(self.stop));
        let room = KEYS_OFFERED_AT_MOST.saturating_sub(self.wallet.refused.len());
        let (queue, left_out) = choose(found, first.as_deref(), room);
        progress.tried.left_out = left_out;
        progress.keys = Keys { is_open: true, queue, agent, requests: 0 };
    }

    async fn read_files(&self) -> (Vec<IdentityFile>, Vec<CertificateFile>) {
        let (keys, certificates) = (self.settings.identity_files.clone(), self.settings.certificate_files.clone());
        let memory = self.asking.memory.clone();
        let reading = tokio::task::spawn_blocking(move || {
            (read_identities(&keys, &memory), read_certificates(&certificates, &keys))
        });
        reading.await.unwrap_or_default()
    }
}

/// The `room` best candidates, in the order to offer them, and how many are left out. What is known to be wanted comes
/// first; a locked file gets the last place before keys that the agent holds and nobody named.
fn choose(mut found: Vec<Candidate>, first: Option<&str>, room: usize) -> (VecDeque<Candidate>, usize) {
    let place = |first: &str| {
        let exact = found.iter().position(|candidate| candidate.identity() == first);
        // A key that was just unlocked is known by its fingerprint alone, with a certificate or without.
        exact.or_else(|| found.iter().position(|candidate| candidate.identity().starts_with(first)))
    };
    if let Some(place) = first.and_then(place) {
        let known = found.remove(place);
        found.insert(0, known);
    }
    let left_out = found.len().saturating_sub(room);
    let locked = found.iter().position(Candidate::is_locked).filter(|place| *place >= room);
    if let (Some(locked), Some(last)) = (locked, room.checked_sub(1))
        && found.get(last).is_some_and(|candidate| !candidate.is_named)
    {
        found.swap(locked, last);
    }
    found.truncate(room);
    (found.into(), left_out)
}

/// What can be offered, best first. What cannot be is noted in `set_aside`.
fn candidates(
    settings: &HostSettings,
    identities: &[IdentityFile],
    certificates: &[CertificateFile],
    agent: Option<&Agent>,
    set_aside: &mut Vec<SetAside>,
) -> Vec<Candidate> {
    let held = agent.map_or(&[][..], |agent| &agent.identities);
    let in_agent = |key: &PublicKey| {
        held.iter().any(|identity| {
            matches!(identity, AgentIdentity::PublicKey { key: other, .. } if other.key_data() == key.key_data())
        })
    };
    let mut found: Vec<Candidate> = Vec::new();
    let mut locked: Vec<Candidate> = Vec::new();
    for file in certificates {
        match certificate_candidate(file, identities, &in_agent) {
            Ok(candidate) if candidate.is_locked() => locked.push(candidate),
            Ok(candidate) => found.push(candidate),
            Err(reason) => set_aside.push(SetAside { name: file.name.clone(), reason }),
        }
    }
    for file in identities {
        if let Some(key) = file.public.as_ref().filter(|key| in_agent(key)) {
            let label = describe(key, &format!("{} from the agent", file.name));
            let key = Some(key.clone());
            found.push(Candidate { label, key, certificate: None, signer: Signer::Agent, is_named: true });
        }
    }
    for file in identities {
        if file.public.as_ref().is_some_and(in_agent) {
            continue;
        }
        match (&file.private, &file.encrypted) {
            (Ok(private), _) => found.push(Candidate {
                label: describe(private.public_key(), &file.name),
                key: Some(private.public_key().clone()),
                certificate: None,
                signer: Signer::File(private.clone()),
                is_named: true,
            }),
            (Err(_), Some(text)) => locked.push(Candidate {
                label: file.public.as_ref().map_or_else(|| file.name.clone(), |key| describe(key, &file.name)),
                key: file.public.clone(),
                certificate: None,
                signer: Signer::Locked(locked_file(file, text)),
                is_named: true,
            }),
            (Err(reason), None) => set_aside.push(SetAside { name: file.name.clone(), reason: reason.clone() }),
        }
    }
    if !settings.identities_only {
        for identity in held {
            let key = identity.public_key().into_owned();
            let certificate = match identity {
                AgentIdentity::Certificate { certificate, .. } => Some(certificate.clone()),
                AgentIdentity::PublicKey { .. } => None,
            };
            let label = describe(&key, &format!("{} from the agent", Text::new(identity.comment())));
            found.push(Candidate { label, key: Some(key), certificate, signer: Signer::Agent, is_named: false });
        }
    }
    found.extend(locked);
    let mut known: Vec<String> = Vec::new();
    found.retain(|candidate| {
        let identity = candidate.identity();
        let is_new = !known.contains(&identity);
        known.push(identity);
        is_new
    });
    found
}

fn locked_file(file: &IdentityFile, text: &str) -> LockedFile {
    LockedFile { path: file.path.clone(), name: file.name.clone(), text: text.to_owned() }
}

/// A certificate is offered with the private key that belongs to it.
fn certificate_candidate(
    file: &CertificateFile,
    identities: &[IdentityFile],
    in_agent: &dyn Fn(&PublicKey) -> bool,
) -> Result<Candidate, SetAsideReason> {
    let certificate = file.certificate.clone()?;
    let key = PublicKey::new(certificate.public_key().clone(), "");
    let is_of = |other: &PublicKey| other.key_data() == key.key_data();
    let private = identities.iter().find_map(|identity| {
        let private = identity.private.as_ref().ok().filter(|private| is_of(private.public_key()))?;
        Some(Signer::File(private.clone()))
    });
    let locked = || {
        identities.iter().find_map(|identity| {
            let text = identity.encrypted.as_ref().filter(|_| identity.public.as_ref().is_some_and(is_of))?;
            Some(Signer::Locked(locked_file(identity, text)))
        })
    };
    let signer = if in_agent(&key) { Some(Signer::Agent) } else { private.or_else(locked) };
    let signer = signer.ok_or(SetAsideReason::CertificateWithoutKey)?;
    let label = describe(&key, &format!("with certificate {}", file.name));
    Ok(Candidate { label, key: Some(key), certificate: Some(certificate), signer, is_named: true })
}

/// The hashes to sign with: none for keys that have only one; for RSA the server's best, or both where it does not say.
/// SHA-1 is the last, and only for targets that are marked as old. Asking may take a second on servers that do not say,
/// so it is done for RSA alone.
async fn hashes(handle: &Handle<Watcher>, key: &PublicKey, legacy: bool) -> Vec<Option<HashAlg>> {
    if !is_rsa(&key.algorithm()) {
        return vec![None];
    }
    match handle.best_supported_rsa_hash().await {
        Ok(Some(Some(hash))) => vec![Some(hash)],
        Ok(Some(None)) if legacy => vec![None],
        _ if legacy => vec![Some(HashAlg::Sha512), Some(HashAlg::Sha256), None],
        _ => vec![Some(HashAlg::Sha512), Some(HashAlg::Sha256)],
    }
}

async fn offer(
    handle: &mut Handle<Watcher>,
    user: &str,
    candidate: &Candidate,
    key: &PublicKey,
    hash: Option<HashAlg>,
    agent: Option<&mut Agent>,
) -> Result<AuthResult, OfferError> {
    match (&candidate.signer, &candidate.certificate, agent) {
        (Signer::File(private), None, _) => {
            let key = PrivateKeyWithHashAlg::new(private.clone(), hash);
            handle.authenticate_publickey(user, key).await.map_err(|_| OfferError::Session)
        }
        (Signer::File(private), Some(certificate), _) => {
            let mut signer = FileKey(private.clone());
            handle.authenticate_certificate_with(user, certificate.clone(), hash, &mut signer).await.map_err(sign_error)
        }
        (Signer::Locked(_), None, _) => {
            handle.authenticate_publickey_with(user, key.clone(), hash, &mut Locked).await.map_err(sign_error)
        }
        (Signer::Locked(_), Some(certificate), _) => {
            handle.authenticate_certificate_with(user, certificate.clone(), hash, &mut Locked).await.map_err(sign_error)
        }
        (Signer::Agent, None, Some(agent)) => {
            handle.authenticate_publickey_with(user, key.clone(), hash, &mut agent.client).await.map_err(agent_error)
        }
        (Signer::Agent, Some(certificate), Some(agent)) => handle
            .authenticate_certificate_with(user, certificate.clone(), hash, &mut agent.client)
            .await
            .map_err(agent_error),
        (Signer::Agent, _, None) => Err(OfferError::NotSigned(Text::new("the agent is gone"))),
    }
}

fn sign_error(error: SignError) -> OfferError {
    match error {
        SignError::Session => OfferError::Session,
        SignError::Locked => OfferError::Locked,
        SignError::Key(reason) => OfferError::NotSigned(reason),
    }
}

fn agent_error(error: russh::AgentAuthError) -> OfferError {
    match error {
        russh::AgentAuthError::Send(_) => OfferError::Session,
        russh::AgentAuthError::Key(error) => OfferError::NotSigned(Text::new(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(label: &str, signer: Signer, is_named: bool) -> Candidate {
        Candidate { label: label.to_owned(), key: None, certificate: None, signer, is_named }
    }

    fn locked(label: &str) -> Candidate {
        let file = LockedFile { path: PathBuf::from(label), name: label.to_owned(), text: String::new() };
        candidate(label, Signer::Locked(file), true)
    }

    fn chosen(found: Vec<Candidate>, first: Option<&str>, room: usize) -> (Vec<String>, usize) {
        let (queue, left_out) = choose(found, first, room);
        (queue.into_iter().map(|candidate| candidate.label).collect(), left_out)
    }

    #[test]
    fn few_are_offered_and_the_one_that_worked_comes_first() {
        let found = || ["a", "b", "c", "d"].map(|label| candidate(label, Signer::Agent, false)).into();
        assert_eq!(chosen(found(), None, 3), (vec!["a".into(), "b".into(), "c".into()], 1));
        assert_eq!(chosen(found(), Some("d"), 3), (vec!["d".into(), "a".into(), "b".into()], 1));
        assert_eq!(chosen(found(), Some("gone"), 1), (vec!["a".into()], 3));
        assert_eq!(chosen(found(), Some("d"), 0), (vec![], 4));
    }

    #[test]
    fn a_locked_file_has_a_place_before_keys_that_nobody_named() {
        let agent = |label| candidate(label, Signer::Agent, false);
        let found = vec![agent("a"), agent("b"), agent("c"), locked("/l"), locked("/m")];
        assert_eq!(chosen(found, None, 3), (vec!["a".into(), "b".into(), "/l".into()], 2));
        let named = |label| candidate(label, Signer::Agent, true);
        let found = vec![named("a"), named("b"), named("c"), locked("/l")];
        assert_eq!(chosen(found, None, 3), (vec!["a".into(), "b".into(), "c".into()], 1));
        assert_eq!(chosen(vec![agent("a"), locked("/l")], None, 3), (vec!["a".into(), "/l".into()], 0));
    }
}
