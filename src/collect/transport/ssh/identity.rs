//! Key files: what each one holds, or why it cannot be used, and the opening of encrypted ones.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use russh::keys::{Certificate, HashAlg, PrivateKey, PublicKey, decode_secret_key};

use super::error::SetAsideReason;
use super::memory::Memory;
use super::wording::short_path;
use crate::app::Secret;
use crate::fabric::Text;

/// No key file is longer, in bytes; what is, is something else.
const LONGEST_FILE: u64 = 256 * 1024;

/// One `IdentityFile`, read.
pub struct IdentityFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Its path as people write it.
    pub name: String,
    /// The public half, if it could be learned: it finds the key in the agent.
    pub public: Option<PublicKey>,
    /// The private half, or why there is none.
    pub private: Result<Arc<PrivateKey>, SetAsideReason>,
    /// What an encrypted file holds.
    pub encrypted: Option<String>,
}

/// One `CertificateFile`, read.
pub struct CertificateFile {
    /// Its path as people write it.
    pub name: String,
    /// The certificate, or why there is none.
    pub certificate: Result<Certificate, SetAsideReason>,
}

/// Reads key files. Blocks: a home directory may lie on a slow network. Those that `memory` knows to be unlocked give
/// their key.
pub fn read_identities(paths: &[PathBuf], memory: &Memory) -> Vec<IdentityFile> {
    paths
        .iter()
        .map(|path| {
            let mut file = read_identity(path);
            if let Some(unlocked) = file.encrypted.as_ref().and_then(|text| memory.unlocked(path, text)) {
                file.public.get_or_insert_with(|| unlocked.public_key().clone());
                file.private = Ok(unlocked);
            }
            file
        })
        .collect()
}

/// Reads certificate files, and those that lie beside key files under the usual name. Blocks, as above.
pub fn read_certificates(paths: &[PathBuf], identities: &[PathBuf]) -> Vec<CertificateFile> {
    let read = |path: &Path| {
        let text = read_text(path)?;
        Certificate::from_openssh(text.trim()).map_err(not_a_key)
    };
    let named = paths.iter().map(|path| CertificateFile { name: short_path(path), certificate: read(path) });
    let beside = identities.iter().map(|path| with_ending(path, "-cert.pub")).filter(|path| !paths.contains(path));
    // What was not named is no news where it is not there.
    let beside = beside.filter_map(|path| match read(&path) {
        Err(SetAsideReason::Missing) => None,
        certificate => Some(CertificateFile { name: short_path(&path), certificate }),
    });
    named.chain(beside).collect()
}

/// Opens the encrypted key file that holds `text`; `None` if the passphrase is not the right one. Blocks for as long as
/// the file's maker wanted guesses to take.
pub fn open(text: &str, passphrase: &Secret) -> Option<Arc<PrivateKey>> {
    decode_secret_key(text, Some(passphrase.expose())).ok().map(Arc::new)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut with = path.as_os_str().to_owned();
    with.push(ending);
    PathBuf::from(with)
}

fn read_identity(path: &Path) -> IdentityFile {
    let name = short_path(path);
    let beside = || read_text(&with_ending(path, ".pub")).ok().and_then(|text| public_key(&text));
    let file = |public, private| IdentityFile { path: path.to_owned(), name, public, private, encrypted: None };
    let text = match read_text(path) {
        Ok(text) => text,
        Err(SetAsideReason::Missing) => {
            let public = beside();
            let reason = if public.is_some() { SetAsideReason::OnlyInAgent } else { SetAsideReason::Missing };
            return file(public, Err(reason));
        }
        Err(reason) => return file(beside(), Err(reason)),
    };
    if let Some(public) = public_key(&text) {
        return file(Some(public), Err(SetAsideReason::OnlyInAgent));
    }
    // The public half of a file in OpenSSH's format is readable even if the private one is encrypted.
    let public = PrivateKey::from_openssh(&text).ok().map(|key| key.public_key().clone()).or_else(beside);
    let private = match (too_open(path), private_key(&text)) {
        (Some(mode), _) => Err(SetAsideReason::TooOpen(mode)),
        (None, private) => private,
    };
    let public = public.or_else(|| private.as_ref().ok().map(|key| key.public_key().clone()));
    let encrypted = matches!(private, Err(SetAsideReason::Encrypted)).then_some(text);
    IdentityFile { encrypted, ..file(public, private.map(Arc::new)) }
}

fn private_key(text: &str) -> Result<PrivateKey, SetAsideReason> {
    let marked_encrypted = text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED");
    // The old PEM format names its cipher; one that cannot be undone would look like a wrong passphrase.
    let old = text.contains("Proc-Type: 4,ENCRYPTED");
    if old && !(text.contains("DEK-Info: AES-128-CBC,") && text.contains("BEGIN RSA PRIVATE KEY")) {
        let what = "it is encrypted in a way that is not understood; ssh-keygen -p -f rewrites it";
        return Err(SetAsideReason::NotAKey(Text::new(what)));
    }
    match decode_secret_key(text, None) {
        Ok(key) if is_hardware(&key) => Err(SetAsideReason::OnlyInAgent),
        Ok(key) => Ok(key),
        Err(russh::keys::Error::KeyIsEncrypted) => Err(SetAsideReason::Encrypted),
        Err(_) if marked_encrypted => Err(SetAsideReason::Encrypted),
        Err(error) => Err(not_a_key(error)),
    }
}

fn not_a_key(error: impl std::fmt::Display) -> SetAsideReason {
    SetAsideReason::NotAKey(Text::new(&error.to_string()))
}

/// Keys of hardware tokens: the file holds a handle, the signature needs the token.
fn is_hardware(key: &PrivateKey) -> bool {
    key.algorithm().to_string().starts_with("sk-")
}

fn public_key(text: &str) -> Option<PublicKey> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    PublicKey::from_openssh(line).ok()
}

fn read_text(path: &Path) -> Result<String, SetAsideReason> {
    let unreadable = |reason: &str| SetAsideReason::Unreadable(Text::new(reason));
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(SetAsideReason::Missing);
        }
        Err(error) => return Err(unreadable(&error.to_string())),
    };
    if !metadata.is_file() {
        return Err(unreadable("not a file"));
    }
    if metadata.len() > LONGEST_FILE {
        return Err(unreadable("too long for a key"));
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(&error.to_string()))
}

/// The mode of a private key of our own that others may read, as OpenSSH refuses it.
fn too_open(path: &Path) -> Option<u32> {
    let metadata = std::fs::metadata(path).ok()?;
    let mode = metadata.mode() & 0o777;
    (metadata.uid() == rustix::process::getuid().as_raw() && mode & 0o077 != 0).then_some(mode)
}

/// How a key is told to the reader: kind, where it is from, fingerprint.
pub fn describe(key: &PublicKey, origin: &str) -> String {
    let algorithm = key.algorithm().to_string();
    let kind = match algorithm.as_str() {
        "ssh-ed25519" => "ed25519",
        "ssh-rsa" | "rsa-sha2-256" | "rsa-sha2-512" => "rsa",
        other if other.starts_with("ecdsa") => "ecdsa",
        other => other,
    };
    format!("{kind} key {origin} ({})", key.fingerprint(HashAlg::Sha256))
}
