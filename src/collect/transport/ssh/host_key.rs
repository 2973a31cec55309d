//! What to do about the key that a host shows: the files of known keys are read, whoever may decide is asked, and a
//! new key is written down. The rules of matching are in `known_hosts.rs`.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use russh::keys::PublicKey;
use tokio::sync::{Mutex, oneshot};

use super::error::{Failure, NotAccepted, OfferedHostKey};
use super::host_certificate::Judgement;
use super::known_hosts::{
    KnownHostsFile, KnownKeys, Place, RecordedNames, Verdict, fingerprint, hashed, recorded_line,
};
use super::wording::short_path;
use crate::app::{Answer, PromptKind, Severity, UnknownHostKey};
use crate::collect::reason::reason;
use crate::collect::transport::{Asker, Call, Notice, Question, tell};
use crate::config::openssh::{HostKeyChecking, HostSettings};
use crate::fabric::{TargetId, Text};

/// Two connections must not write to one file at the same time.
static WRITING: Mutex<()> = Mutex::const_new(());

/// The names of a host in the files.
pub fn names(settings: &HostSettings) -> RecordedNames {
    RecordedNames::new(&settings.hostname, settings.port, settings.host_key_alias.as_deref())
}

/// Reads the files of known keys; one that is not there holds none.
pub async fn read(settings: &HostSettings) -> Result<KnownKeys, Failure> {
    let names = names(settings);
    let paths: Vec<PathBuf> = settings
        .user_known_hosts
        .iter()
        .chain(&settings.global_known_hosts)
        .filter(|path| !is_none(path))
        .cloned()
        .collect();
    let reading = tokio::task::spawn_blocking(move || {
        let mut files = Vec::new();
        for path in paths {
            match std::fs::read(&path) {
                Ok(bytes) => {
                    files.push(KnownHostsFile { path, text: String::from_utf8_lossy(&bytes).into_owned() });
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => {
                    return Err(Failure::KnownHostsUnreadable { file: path, reason: Text::new(&reason(&error)) });
                }
            }
        }
        Ok(KnownKeys::collect(&names, &files))
    });
    reading.await.unwrap_or_else(|error| Err(Failure::Protocol(Text::new(&error.to_string()))))
}

/// `UserKnownHostsFile none` names no file.
fn is_none(path: &Path) -> bool {
    path.as_os_str() == "none"
}

/// A key as the reader sees it.
#[allow(clippy::unnecessary_box_returns)] // boxed in every failure that holds it, which keeps results small
pub fn offered(names: &RecordedNames, key: &PublicKey) -> Box<OfferedHostKey> {
    Box::new(OfferedHostKey {
        name: names.name.clone(),
        algorithm: key.algorithm().to_string(),
        fingerprint: fingerprint(key),
    })
}

/// The failure that a verdict means; `None` for a known key, and for an unknown one, about which somebody may decide.
pub fn refusal(names: &RecordedNames, key: &PublicKey, verdict: &Verdict) -> Option<Failure> {
    let offered = offered(names, key);
    match verdict {
        Verdict::Known | Verdict::Unknown { .. } => None,
        Verdict::Revoked { recorded } => Some(Failure::HostKeyRevoked { key: offered, recorded: recorded.clone() }),
        Verdict::Changed { recorded, algorithm, fingerprint } => Some(Failure::HostKeyChanged {
            key: offered,
            recorded: Some(recorded.clone()),
            recorded_key: format!("{algorithm} {fingerprint}"),
        }),
    }
}

/// The failure that a judgement on a certificate means; `None` for a good one, and for one whose key counts alone.
pub fn certificate_refusal(names: &RecordedNames, key: &PublicKey, judgement: &Judgement) -> Option<Failure> {
    let key = offered(names, key);
    match judgement {
        Judgement::Good | Judgement::NotTrusted => None,
        Judgement::Revoked(recorded) => Some(Failure::HostKeyRevoked { key, recorded: recorded.clone() }),
        Judgement::Bad { why, authority } => {
            Some(Failure::HostCertificateRefused { key, why: why.clone(), authority: authority.clone() })
        }
    }
}

/// Decides about an unknown key, by the settings or by asking, and writes it down if it is accepted.
pub async fn decide(
    target: &TargetId,
    settings: &HostSettings,
    key: &PublicKey,
    authority: Option<Place>,
    asker: &Asker,
) -> Result<(), Failure> {
    let names = names(settings);
    let offered = offered(&names, key);
    let refuse = |why| Failure::HostKeyUnknown { key: offered.clone(), why, authority: authority.clone() };
    let file = settings.user_known_hosts.first().filter(|path| !is_none(path));
    match settings.host_key_checking {
        HostKeyChecking::Strict => return Err(refuse(NotAccepted::Strict)),
        HostKeyChecking::AcceptNew => {}
        HostKeyChecking::Ask if settings.login.batch_mode => return Err(refuse(NotAccepted::NobodyToAsk)),
        HostKeyChecking::Ask => {
            let question = UnknownHostKey {
                host: Text::new(&offered.name),
                algorithm: Text::new(&offered.algorithm),
                fingerprint: Text::new(&offered.fingerprint),
                recorded_in: Text::new(&file.map(|path| short_path(path)).unwrap_or_default()),
            };
            ask(target, question, asker).await.map_err(refuse)?;
        }
    }
    let unseen = settings.host_key_checking == HostKeyChecking::AcceptNew;
    let Some(file) = file else {
        if unseen {
            accepted(target, &offered, "it is written down nowhere", asker).await;
        }
        return Ok(());
    };
    match record(file, &names, key, settings.hash_known_hosts).await {
        Ok(()) => {
            if unseen {
                accepted(target, &offered, &format!("written to {}", short_path(file)), asker).await;
            }
            Ok(())
        }
        // Accepted by a person: the connection is wanted, only the memory of it fails.
        Err(error) if settings.host_key_checking == HostKeyChecking::Ask => {
            let text = format!(
                "the key of {} is trusted for now; it could not be written to {}: {}",
                offered.name,
                short_path(file),
                reason(&error)
            );
            warn(target, &text, asker).await;
            Ok(())
        }
        // Accepted unseen: without a record the next connection would accept any other key too.
        Err(error) => {
            Err(Failure::HostKeyNotRecorded { key: offered, file: file.clone(), reason: Text::new(&reason(&error)) })
        }
    }
}

/// Tells that a key was accepted without anybody having looked at it.
async fn accepted(target: &TargetId, key: &OfferedHostKey, written: &str, asker: &Asker) {
    let OfferedHostKey { name, algorithm, fingerprint } = key;
    let text = format!("new host key of {name} accepted unseen: {algorithm} {fingerprint}; {written}");
    warn(target, &text, asker).await;
}

async fn warn(target: &TargetId, text: &str, asker: &Asker) {
    tell(asker, Notice { target: target.clone(), severity: Severity::Warning, text: Text::new(text) }).await;
}

async fn ask(target: &TargetId, key: UnknownHostKey, asker: &Asker) -> Result<(), NotAccepted> {
    let Some(asker) = asker else { return Err(NotAccepted::NobodyToAsk) };
    let (answer, answered) = oneshot::channel();
    let kind = PromptKind::UnknownHostKey(key);
    let question = Question { target: target.clone(), kind, reuse: None, answer };
    asker.send(Call::Ask(question)).await.map_err(|_| NotAccepted::NobodyToAsk)?;
    match answered.await {
        Ok(Answer::Accept) => Ok(()),
        Ok(_) => Err(NotAccepted::RefusedByUser),
        Err(_) => Err(NotAccepted::NobodyToAsk),
    }
}

/// Appends a line to a file, which is made if need be.
async fn record(file: &Path, names: &RecordedNames, key: &PublicKey, hashes: bool) -> io::Result<()> {
    let _one_at_a_time = WRITING.lock().await;
    let (file, names, key) = (file.to_owned(), names.clone(), key.clone());
    tokio::task::spawn_blocking(move || append(&file, &names, &key, hashes)).await.map_err(io::Error::other)?
}

fn append(path: &Path, names: &RecordedNames, key: &PublicKey, hashes: bool) -> io::Result<()> {
    let name = if hashes { hashed(&names.name, rand::random()) } else { Some(names.name.clone()) };
    let line =
        name.and_then(|name| recorded_line(&name, key)).ok_or_else(|| io::Error::other("the key cannot be written"))?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let ends_within_line = !text.is_empty() && !text.ends_with('\n');
    let already = KnownKeys::collect(names, &[KnownHostsFile { path: path.to_owned(), text }]);
    if already.verdict(key) == Verdict::Known {
        return Ok(());
    }
    let mut options = std::fs::OpenOptions::new();
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
    let file = options.append(true).create(true).mode(0o600).custom_flags(no_follow).open(path);
    let mut file = file.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::LOOP) => io::Error::other("it is a symbolic link, which is not followed"),
        _ => error,
    })?;
    // One write, so that other programs that append see a whole line or none.
    let start = if ends_within_line { "\n" } else { "" };
    let bytes = format!("{start}{line}\n");
    let written = io::Write::write(&mut file, bytes.as_bytes())?;
    let is_regular = file.metadata()?.mode() & 0o170_000 == 0o100_000;
    if is_regular && written != bytes.len() {
        return Err(io::Error::other("the disk is full"));
    }
    Ok(())
}
