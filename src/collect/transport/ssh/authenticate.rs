//! Logging in with keys. Keys of the agent that the settings name come first, then key files, then what else the agent
//! holds; few are offered, because each refused one counts towards a lock-out, and a refusal is final until the user
//! asks again.

use std::sync::atomic::{AtomicBool, Ordering};

use russh::client::{AuthResult, Handle};
use russh::keys::agent::AgentIdentity;
use russh::keys::{Certificate, HashAlg, PrivateKeyWithHashAlg, PublicKey};
use russh::{MethodKind, MethodSet};
use tokio::sync::watch;

use super::agent::{self, Agent};
use super::algorithms::is_rsa;
use super::error::{Failure, KeysTried, SetAside, SetAsideReason};
use super::handler::{Watcher, ended};
use super::identity::{CertificateFile, IdentityFile, describe, read_certificates, read_identities};
use crate::config::openssh::HostSettings;
use crate::fabric::Text;

/// So many keys are offered on one connection at most.
const KEYS_OFFERED_AT_MOST: usize = 3;
/// So many requests are made on one connection at most: a key may need two, one for each hash. Servers end it at 6.
const REQUESTS_AT_MOST: usize = 5;

/// Something that can be offered.
struct Candidate {
    label: String,
    key: PublicKey,
    certificate: Option<Certificate>,
    signer: Signer,
}

enum Signer {
    Agent,
    File(std::sync::Arc<russh::keys::PrivateKey>),
}

/// Logs in; the label of the key that was accepted. `refused` becomes true with the first key that was not.
pub async fn authenticate(
    handle: &mut Handle<Watcher>,
    settings: &HostSettings,
    ends: &watch::Receiver<Option<Text>>,
    refused: &AtomicBool,
) -> Result<String, Failure> {
    let mut tried = KeysTried::default();
    let user = settings.user.as_str();
    match handle.authenticate_none(user).await {
        Ok(AuthResult::Success) => return Ok("no key needed".to_owned()),
        Ok(AuthResult::Failure { remaining_methods, .. }) => {
            tried.accepts = method_names(&remaining_methods);
            if handle.is_closed() {
                return Err(closed(ends, tried).await);
            }
            if !remaining_methods.contains(&MethodKind::PublicKey) {
                return Err(Failure::KeysNotTaken { accepts: tried.accepts });
            }
        }
        Err(_) => return Err(closed(ends, tried).await),
    }
    let (identities, certificates) = read_files(settings).await;
    let mut agent = agent::open(settings, handle.agent_session_binding(), &mut tried.agent).await;
    let mut candidates = candidates(settings, &identities, &certificates, agent.as_ref(), &mut tried.set_aside);
    tried.left_out = candidates.len().saturating_sub(KEYS_OFFERED_AT_MOST);
    candidates.truncate(KEYS_OFFERED_AT_MOST);
    if candidates.is_empty() {
        return Err(Failure::NoKeyToOffer(Box::new(tried)));
    }
    let mut requests = 0;
    for candidate in candidates {
        for hash in hashes(handle, &candidate.key).await {
            if requests == REQUESTS_AT_MOST {
                tried.left_out += 1;
                break;
            }
            requests += 1;
            match offer(handle, user, &candidate, hash, agent.as_mut()).await {
                Ok(AuthResult::Success) => return Ok(candidate.label),
                Ok(AuthResult::Failure { partial_success: true, remaining_methods }) => {
                    return Err(Failure::SecondStepNeeded {
                        key: candidate.label,
                        accepts: method_names(&remaining_methods),
                    });
                }
                Ok(AuthResult::Failure { remaining_methods, .. }) => {
                    refused.store(true, Ordering::Relaxed);
                    if !tried.offered.contains(&candidate.label) {
                        tried.offered.push(candidate.label.clone());
                    }
                    // An end of the connection looks like a refusal that leaves no method.
                    if handle.is_closed() || remaining_methods.is_empty() {
                        return Err(closed(ends, tried).await);
                    }
                    tried.accepts = method_names(&remaining_methods);
                }
                Err(OfferError::Session) => return Err(closed(ends, tried).await),
                Err(OfferError::Agent(reason)) => {
                    let reason = SetAsideReason::AgentDeclined(reason);
                    tried.set_aside.push(SetAside { name: candidate.label.clone(), reason });
                    break;
                }
            }
        }
    }
    if tried.offered.is_empty() {
        return Err(Failure::NoKeyToOffer(Box::new(tried)));
    }
    Err(Failure::AuthenticationRefused(Box::new(tried)))
}

/// The connection ended while logging in: because of too many refusals, or for a reason of its own.
async fn closed(ends: &watch::Receiver<Option<Text>>, tried: KeysTried) -> Failure {
    let reason = ended(ends.clone()).await;
    if reason.to_lowercase().contains("too many authentication failures") {
        return Failure::TooManyFailures(Box::new(tried));
    }
    Failure::ClosedInAuthentication { reason, tried: Box::new(tried) }
}

fn method_names(methods: &MethodSet) -> Vec<String> {
    methods.iter().map(|method| <&'static str>::from(method).to_owned()).collect()
}

async fn read_files(settings: &HostSettings) -> (Vec<IdentityFile>, Vec<CertificateFile>) {
    let (keys, certificates) = (settings.identity_files.clone(), settings.certificate_files.clone());
    let reading = tokio::task::spawn_blocking(move || (read_identities(&keys), read_certificates(&certificates)));
    reading.await.unwrap_or_default()
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
    for file in certificates {
        match certificate_candidate(file, identities, &in_agent) {
            Ok(candidate) => found.push(candidate),
            Err(reason) => set_aside.push(SetAside { name: file.name.clone(), reason }),
        }
    }
    for file in identities {
        if let Some(key) = file.public.as_ref().filter(|key| in_agent(key)) {
            let label = describe(key, &format!("{} from the agent", file.name));
            found.push(Candidate { label, key: key.clone(), certificate: None, signer: Signer::Agent });
        }
    }
    for file in identities {
        if file.public.as_ref().is_some_and(in_agent) {
            continue;
        }
        match &file.private {
            Ok(private) => found.push(Candidate {
                label: describe(private.public_key(), &file.name),
                key: private.public_key().clone(),
                certificate: None,
                signer: Signer::File(private.clone()),
            }),
            Err(reason) => set_aside.push(SetAside { name: file.name.clone(), reason: reason.clone() }),
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
            found.push(Candidate { label, key, certificate, signer: Signer::Agent });
        }
    }
    let mut offered: Vec<(PublicKey, bool)> = Vec::new();
    found.retain(|candidate| {
        let same = |(key, with_certificate): &(PublicKey, bool)| {
            key.key_data() == candidate.key.key_data() && *with_certificate == candidate.certificate.is_some()
        };
        let is_new = !offered.iter().any(same);
        offered.push((candidate.key.clone(), candidate.certificate.is_some()));
        is_new
    });
    found
}

/// A certificate is offered with the private key that belongs to it.
fn certificate_candidate(
    file: &CertificateFile,
    identities: &[IdentityFile],
    in_agent: &dyn Fn(&PublicKey) -> bool,
) -> Result<Candidate, SetAsideReason> {
    let certificate = file.certificate.clone()?;
    let key = PublicKey::new(certificate.public_key().clone(), "");
    let private = identities
        .iter()
        .filter_map(|identity| identity.private.as_ref().ok())
        .find(|private| private.public_key().key_data() == key.key_data());
    let signer = match private {
        _ if in_agent(&key) => Signer::Agent,
        Some(_) if is_rsa(&key.algorithm()) => return Err(SetAsideReason::RsaCertificate),
        Some(private) => Signer::File(private.clone()),
        None => return Err(SetAsideReason::CertificateWithoutKey),
    };
    let label = describe(&key, &format!("with certificate {}", file.name));
    Ok(Candidate { label, key, certificate: Some(certificate), signer })
}

/// The hashes to sign with: none for keys that have only one; for RSA the server's best, or both where it does not say.
/// SHA-1 is never used. Asking may take a second on servers that do not say, so it is done for RSA alone.
async fn hashes(handle: &Handle<Watcher>, key: &PublicKey) -> Vec<Option<HashAlg>> {
    if !is_rsa(&key.algorithm()) {
        return vec![None];
    }
    match handle.best_supported_rsa_hash().await {
        Ok(Some(Some(hash))) => vec![Some(hash)],
        _ => vec![Some(HashAlg::Sha512), Some(HashAlg::Sha256)],
    }
}

enum OfferError {
    Session,
    Agent(Text),
}

async fn offer(
    handle: &mut Handle<Watcher>,
    user: &str,
    candidate: &Candidate,
    hash: Option<HashAlg>,
    agent: Option<&mut Agent>,
) -> Result<AuthResult, OfferError> {
    match (&candidate.signer, &candidate.certificate, agent) {
        (Signer::File(private), None, _) => {
            let key = PrivateKeyWithHashAlg::new(private.clone(), hash);
            handle.authenticate_publickey(user, key).await.map_err(|_| OfferError::Session)
        }
        (Signer::File(private), Some(certificate), _) => handle
            .authenticate_openssh_cert(user, private.clone(), certificate.clone())
            .await
            .map_err(|_| OfferError::Session),
        (Signer::Agent, None, Some(agent)) => handle
            .authenticate_publickey_with(user, candidate.key.clone(), hash, &mut agent.client)
            .await
            .map_err(agent_error),
        (Signer::Agent, Some(certificate), Some(agent)) => handle
            .authenticate_certificate_with(user, certificate.clone(), hash, &mut agent.client)
            .await
            .map_err(agent_error),
        (Signer::Agent, _, None) => Err(OfferError::Agent(Text::new("it is gone"))),
    }
}

fn agent_error(error: russh::AgentAuthError) -> OfferError {
    match error {
        russh::AgentAuthError::Send(_) => OfferError::Session,
        russh::AgentAuthError::Key(error) => OfferError::Agent(Text::new(&error.to_string())),
    }
}
