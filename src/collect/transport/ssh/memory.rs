//! What is remembered of a target's logins for as long as the program runs, in memory only: which key worked, which key
//! files were unlocked, and whether the user was asked already. By that a connection that breaks comes back by itself where
//! it can, and asks nothing where it cannot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use russh::keys::PrivateKey;

use super::error::Stop;

/// What is remembered of one target.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Remembered>>);

#[derive(Default)]
struct Remembered {
    has_asked: bool,
    was_refused: bool,
    good: BTreeMap<String, String>,
    unlocked: BTreeMap<PathBuf, Unlocked>,
}

struct Unlocked {
    /// The file as it was then: another file under the same name is another key.
    text: String,
    key: Arc<PrivateKey>,
}

impl Memory {
    /// The user wants this connection: a secret may be asked for (again).
    pub fn permit(&self) {
        let mut remembered = self.lock();
        remembered.has_asked = false;
        remembered.was_refused = false;
    }

    /// Whether a secret may be asked for: not if it was asked for already and the user has not acted since.
    pub fn may_ask(&self) -> bool {
        !self.lock().has_asked
    }

    /// A secret is being asked for.
    pub(super) fn asks(&self) {
        self.lock().has_asked = true;
    }

    /// A secret was sent and not accepted: until the user acts, no other is sent, wherever it comes from.
    pub(super) fn refused(&self) {
        self.lock().was_refused = true;
    }

    /// Whether a secret was refused since the user acted.
    pub(super) fn was_refused(&self) -> bool {
        self.lock().was_refused
    }

    /// A key (by its fingerprint) opened the way to a host.
    pub(super) fn worked(&self, stop: &Stop, fingerprint: &str) {
        self.lock().good.insert(stop.to_string(), fingerprint.to_owned());
    }

    /// The fingerprint of the key that opened the way to a host the last time.
    pub(super) fn good(&self, stop: &Stop) -> Option<String> {
        self.lock().good.get(&stop.to_string()).cloned()
    }

    /// Keeps a key that was unlocked from a file that holds `text`.
    pub(super) fn unlock(&self, path: &Path, text: &str, key: Arc<PrivateKey>) {
        self.lock().unlocked.insert(path.to_owned(), Unlocked { text: text.to_owned(), key });
    }

    /// The unlocked key of a file that holds `text`.
    pub(super) fn unlocked(&self, path: &Path, text: &str) -> Option<Arc<PrivateKey>> {
        let remembered = self.lock();
        let unlocked = remembered.unlocked.get(path).filter(|unlocked| unlocked.text == text)?;
        Some(unlocked.key.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Memory").field("may_ask", &self.may_ask()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use russh::keys::Algorithm;

    use super::*;

    #[test]
    fn a_secret_is_asked_for_once_until_the_user_acts() {
        let memory = Memory::default();
        assert!(memory.may_ask());
        memory.asks();
        memory.refused();
        assert!(!memory.may_ask() && memory.was_refused());
        memory.clone().permit();
        assert!(memory.may_ask() && !memory.was_refused());
    }

    #[test]
    fn another_file_under_the_same_name_is_another_key() {
        let key = Arc::new(PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).expect("a key"));
        let memory = Memory::default();
        memory.unlock(Path::new("/k"), "one", key.clone());
        assert!(memory.unlocked(Path::new("/k"), "one").is_some());
        assert!(memory.unlocked(Path::new("/k"), "two").is_none());
        assert!(memory.unlocked(Path::new("/other"), "one").is_none());
        assert_eq!(format!("{memory:?}"), "Memory { may_ask: true, .. }");
    }
}
