//! Signatures with keys of this machine where the library would not make the right one: certificates of RSA keys, which it
//! signs with SHA-1, and keys that are still locked, of which only the server's opinion is wanted.

use std::sync::Arc;

use russh::Signer;
use russh::keys::agent::AgentIdentity;
use russh::keys::signature::Signer as _;
use russh::keys::ssh_key::Signature;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::{HashAlg, PrivateKey};

use crate::fabric::Text;

/// Why nothing was signed.
pub enum SignError {
    /// The session ended.
    Session,
    /// The server would take the key, and it is locked.
    Locked,
    /// The key cannot sign.
    Key(Text),
}

impl From<russh::SendError> for SignError {
    fn from(_: russh::SendError) -> Self {
        Self::Session
    }
}

/// Stands for a key that is locked: it is asked to sign only if the server would take the key.
pub struct Locked;

impl Signer for Locked {
    type Error = SignError;

    async fn auth_sign(
        &mut self,
        _key: &AgentIdentity,
        _hash: Option<HashAlg>,
        _data: Vec<u8>,
    ) -> Result<Vec<u8>, SignError> {
        Err(SignError::Locked)
    }
}

/// Signs with a key from a file.
pub struct FileKey(pub Arc<PrivateKey>);

impl Signer for FileKey {
    type Error = SignError;

    async fn auth_sign(
        &mut self,
        _key: &AgentIdentity,
        hash: Option<HashAlg>,
        mut data: Vec<u8>,
    ) -> Result<Vec<u8>, SignError> {
        let failed = |error: russh::keys::signature::Error| SignError::Key(Text::new(&error.to_string()));
        let signature: Signature = match self.0.key_data() {
            KeypairData::Rsa(pair) => (pair, hash).try_sign(&data).map_err(failed)?,
            other => other.try_sign(&data).map_err(failed)?,
        };
        append(&mut data, &signature);
        Ok(data)
    }
}

/// Puts a signature behind what it signs: one string that holds the algorithm and the signature, each a string.
fn append(data: &mut Vec<u8>, signature: &Signature) {
    let (algorithm, bytes) = (signature.algorithm(), signature.as_bytes());
    let algorithm = algorithm.as_str().as_bytes();
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    data.extend(length(8 + algorithm.len() + bytes.len()));
    for string in [algorithm, bytes] {
        data.extend(length(string.len()));
        data.extend(string);
    }
}
