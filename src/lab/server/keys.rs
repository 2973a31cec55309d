//! Keys of the lab: fresh ones for each start. The files that a client needs lie in one folder that only its owner may
//! enter, and that goes with the lab.

use std::fmt::Write as _;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, EcdsaCurve, PrivateKey, PublicKey};
use tempfile::TempDir;

use super::leftovers;

/// A fresh host key for a machine. They are of several kinds, so that each is exercised; `fips` leaves out what FIPS 140
/// does not know.
pub fn host_key(machine: &str, fips: bool) -> io::Result<PrivateKey> {
    fresh(match machine {
        _ if fips => Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
        "pv-b" => Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
        "vf-a" => Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
        _ => Algorithm::Ed25519,
    })
}

fn fresh(kind: Algorithm) -> io::Result<PrivateKey> {
    PrivateKey::random(&mut rand::rng(), kind).map_err(io::Error::other)
}

/// The file with the secret of machines that ask for one.
const SECRET_FILE: &str = "secret";

/// The one key that logs in everywhere, and the folder with it.
pub struct Credential {
    folder: TempDir,
    key: PrivateKey,
}

/// How one machine is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, which is the alias.
    pub name: String,
    /// The account to log in to.
    pub user: &'static str,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Its host key.
    pub key: PublicKey,
}

impl Credential {
    /// A fresh key in a fresh folder. Folders that labs of earlier processes left behind go.
    pub fn new() -> io::Result<Self> {
        leftovers::remove(&std::env::temp_dir());
        let folder =
            tempfile::Builder::new().prefix(leftovers::PREFIX).permissions(Permissions::from_mode(0o700)).tempdir()?;
        let key = fresh(Algorithm::Ed25519)?;
        let credential = Self { folder, key };
        if let Some(owner) = leftovers::owner() {
            credential.write(leftovers::OWNER_FILE, owner.as_bytes())?;
        }
        let text = credential.key.to_openssh(LineEnding::LF).map_err(io::Error::other)?;
        credential.write("id_ed25519", text.as_bytes())?;
        Ok(credential)
    }

    /// Its public half.
    pub fn public(&self) -> &PublicKey {
        self.key.public_key()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// OpenSSH's configuration file for the lab.
    pub fn configuration_file(&self) -> PathBuf {
        self.folder.path().join("ssh_config")
    }

    /// Writes the secret of machines that ask for one; gives the command that prints it.
    pub fn write_secret(&self, secret: &str) -> io::Result<Vec<String>> {
        self.write(SECRET_FILE, format!("{secret}\n").as_bytes())?;
        Ok(vec!["/bin/cat".to_owned(), self.folder.path().join(SECRET_FILE).display().to_string()])
    }

    /// Writes the file of known host keys and OpenSSH's configuration; gives the text of the latter.
    pub fn write_files(&self, entries: &[Entry]) -> io::Result<String> {
        let mut known = String::new();
        for entry in entries {
            let key = entry.key.to_openssh().map_err(io::Error::other)?;
            let _ = writeln!(known, "[127.0.0.1]:{} {key}", entry.port);
        }
        self.write("known_hosts", known.as_bytes())?;
        let text = self.configuration(entries);
        self.write("ssh_config", text.as_bytes())?;
        Ok(text)
    }

    fn configuration(&self, entries: &[Entry]) -> String {
        let path = |name: &str| quoted(&self.folder.path().join(name));
        let mut text = String::from("# The embedded lab of rdmascope. It goes when the lab ends.\n");
        for Entry { name, user, port, .. } in entries {
            let _ = write!(text, "\nHost {name}\n  HostName 127.0.0.1\n  Port {port}\n  User {user}\n");
        }
        let _ = write!(
            text,
            "\nHost *\n  IdentityFile {}\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {}\n  \
             GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n",
            path("id_ed25519"),
            path("known_hosts"),
        );
        text
    }

    /// Writes a file that only its owner may read, into the folder that is ours alone.
    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.folder.path().join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(content)
    }
}

/// A path as OpenSSH's configuration wants it: `%` begins a token there.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_private_and_keys_are_fresh() {
        let (one, two) = (Credential::new().expect("a folder"), Credential::new().expect("a folder"));
        assert_ne!(one.public().key_data(), two.public().key_data());
        let (key, other) = (host_key("pv-b", false).expect("a key"), host_key("pv-b", false).expect("a key"));
        assert_ne!(key.public_key().key_data(), other.public_key().key_data());
        assert_eq!(key.algorithm(), other.algorithm());
        let entry = Entry { name: "pv-b".to_owned(), user: "root", port: 4711, key: key.public_key().clone() };
        let text = one.write_files(&[entry]).expect("files");
        assert!(text.contains("Host pv-b\n  HostName 127.0.0.1\n  Port 4711\n  User root\n"), "{text}");
        for name in ["id_ed25519", "known_hosts", "ssh_config", leftovers::OWNER_FILE] {
            let mode = std::fs::metadata(one.folder().join(name)).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        assert_eq!(std::fs::metadata(one.folder()).expect("a folder").permissions().mode() & 0o777, 0o700);
        let folder = one.folder().to_owned();
        drop(one);
        assert!(!folder.exists());
    }
}
