//! Known host keys: text of `known_hosts` files in, verdict on a key out. Everything here is pure.
//!
//! The rules are those of OpenSSH's client, whose files these are, as observed on OpenSSH 9: a host on a port other
//! than 22 is recorded as `[host]:port`, and where nothing is recorded under that name a key recorded for the bare host
//! counts too; any recorded key that differs makes an offered one "changed", whatever its type, unless another line
//! holds the very key; `@revoked` beats everything; a line that cannot be decoded is as if it were not there.

use std::path::PathBuf;

use hmac::{Hmac, KeyInit, Mac};
use russh::keys::ssh_key::known_hosts::HostPatterns;
use russh::keys::ssh_key::public::KeyData;
use russh::keys::{Algorithm, HashAlg, PublicKey};
use sha1::Sha1;

/// The port that is not part of a recorded name.
const DEFAULT_PORT: u16 = 22;

/// Under which names keys of a host are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedNames {
    /// The name that is looked up and written: `host`, `[host]:port` or the alias.
    pub name: String,
    /// The bare host name, looked up where `name` carries a port and nothing is known under it.
    pub without_port: Option<String>,
}

impl RecordedNames {
    /// The names of a host; `alias` (`HostKeyAlias`) replaces host and port.
    pub fn new(hostname: &str, port: u16, alias: Option<&str>) -> Self {
        match alias {
            Some(alias) => Self { name: alias.to_lowercase(), without_port: None },
            None if port == DEFAULT_PORT => Self { name: hostname.to_lowercase(), without_port: None },
            None => {
                let host = hostname.to_lowercase();
                Self { name: format!("[{host}]:{port}"), without_port: Some(host) }
            }
        }
    }
}

/// One file, read.
#[derive(Clone, Debug)]
pub struct KnownHostsFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
}

/// A line of a file; lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path of the file.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
}

/// What a line says about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    /// A key of the host.
    HostKey,
    /// A key that signs certificates of hosts.
    Authority,
    /// A key that must never be accepted.
    Revoked,
}

#[derive(Clone, Debug)]
struct Entry {
    place: Place,
    marker: Marker,
    key: PublicKey,
}

/// What is recorded for one host.
#[derive(Clone, Debug)]
pub struct KnownKeys {
    under_name: Vec<Entry>,
    without_port: Vec<Entry>,
}

/// What the records say about a key that a host offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Recorded, and not revoked.
    Known,
    /// Nothing is recorded for this host.
    Unknown {
        /// A line that trusts an authority for this host, which did not sign this key.
        authority: Option<Place>,
    },
    /// Other keys are recorded, and not this one.
    Changed {
        /// The line of a recorded key; of the same type, if there is one.
        recorded: Place,
        /// Algorithm of that recorded key.
        algorithm: String,
        /// Fingerprint of that recorded key, `SHA256:...`.
        fingerprint: String,
    },
    /// This key is marked as revoked.
    Revoked {
        /// The line that says so.
        recorded: Place,
    },
}

impl KnownKeys {
    /// Picks from the files, in their order, what concerns this host.
    pub fn collect(names: &RecordedNames, files: &[KnownHostsFile]) -> Self {
        let mut known = Self { under_name: Vec::new(), without_port: Vec::new() };
        for file in files {
            for (index, line) in file.text.split('\n').enumerate() {
                let Some(parts) = LineParts::split(line) else { continue };
                let under_name = matches_host(parts.hosts, &names.name);
                let bare = names.without_port.as_deref().is_some_and(|bare| matches_host(parts.hosts, bare));
                if !under_name && !bare {
                    continue;
                }
                let Some(key) = parts.key() else { continue };
                let place = Place { file: file.path.clone(), line: index + 1 };
                let entry = Entry { place, marker: parts.marker, key };
                if bare {
                    known.without_port.push(entry.clone());
                }
                if under_name {
                    known.under_name.push(entry);
                }
            }
        }
        known
    }

    /// What the records say about `offered`.
    pub fn verdict(&self, offered: &PublicKey) -> Verdict {
        // Before anything else, and under either name: nothing makes up for a key that was stolen.
        if let Some(place) = self.revoked(offered.key_data()) {
            return Verdict::Revoked { recorded: place.clone() };
        }
        let verdict = verdict_of(&self.under_name, offered);
        if matches!(verdict, Verdict::Unknown { .. })
            && matches!(verdict_of(&self.without_port, offered), Verdict::Known)
        {
            return Verdict::Known;
        }
        verdict
    }

    /// The line that trusts the holder of this key to sign certificates of this host.
    pub fn authority(&self, key: &KeyData) -> Option<&Place> {
        self.authorities().find(|entry| entry.key.key_data() == key).map(|entry| &entry.place)
    }

    /// Whether any authority is trusted for this host: then it is asked for a certificate.
    pub fn has_authority(&self) -> bool {
        self.authorities().next().is_some()
    }

    /// The line that revokes a key, be it the host's or an authority's.
    pub fn revoked(&self, key: &KeyData) -> Option<&Place> {
        let mut entries = self.under_name.iter().chain(&self.without_port);
        let entry = entries.find(|entry| entry.marker == Marker::Revoked && entry.key.key_data() == key)?;
        Some(&entry.place)
    }

    fn authorities(&self) -> impl Iterator<Item = &Entry> {
        self.under_name.iter().chain(&self.without_port).filter(|entry| entry.marker == Marker::Authority)
    }

    /// Algorithms of the recorded keys, so that a host is asked first for a key that can be compared.
    pub fn algorithms(&self) -> Vec<Algorithm> {
        let entries = if self.under_name.iter().any(|entry| entry.marker == Marker::HostKey) {
            &self.under_name
        } else {
            &self.without_port
        };
        let mut algorithms: Vec<Algorithm> = Vec::new();
        for entry in entries.iter().filter(|entry| entry.marker == Marker::HostKey) {
            let algorithm = entry.key.algorithm();
            if !algorithms.contains(&algorithm) {
                algorithms.push(algorithm);
            }
        }
        algorithms
    }
}

/// `name` as files hold it that are not to tell which hosts they know: `|1|salt|hash`.
pub fn hashed(name: &str, salt: [u8; 20]) -> Option<String> {
    let mut mac = Hmac::<Sha1>::new_from_slice(&salt).ok()?;
    mac.update(name.as_bytes());
    let hash: [u8; 20] = mac.finalize().into_bytes().into();
    Some(HostPatterns::HashedName { salt: salt.to_vec(), hash }.to_string())
}

/// The line that records `key` under `name`, without its end.
pub fn recorded_line(name: &str, key: &PublicKey) -> Option<String> {
    let mut key = key.clone();
    key.set_comment("");
    let text = key.to_openssh().ok()?;
    Some(format!("{name} {}", text.trim()))
}

/// `SHA256:...`
pub fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

/// The verdict of the lines under one name, on a key that is not revoked.
fn verdict_of(entries: &[Entry], offered: &PublicKey) -> Verdict {
    let same = |entry: &&Entry| entry.key.key_data() == offered.key_data();
    let host_keys = || entries.iter().filter(|entry| entry.marker == Marker::HostKey);
    if host_keys().any(|entry| same(&entry)) {
        return Verdict::Known;
    }
    let same_type = host_keys().find(|entry| entry.key.algorithm() == offered.algorithm());
    match same_type.or_else(|| host_keys().next()) {
        Some(entry) => Verdict::Changed {
            recorded: entry.place.clone(),
            algorithm: entry.key.algorithm().to_string(),
            fingerprint: fingerprint(&entry.key),
        },
        None => Verdict::Unknown {
            authority: entries.iter().find(|entry| entry.marker == Marker::Authority).map(|entry| entry.place.clone()),
        },
    }
}

/// The fields of a line: `[@marker] hosts type base64 [comment]`.
struct LineParts<'a> {
    marker: Marker,
    hosts: &'a str,
    algorithm: &'a str,
    base64: &'a str,
}

impl<'a> LineParts<'a> {
    fn split(line: &'a str) -> Option<Self> {
        // A carriage return counts as a blank, so that files from elsewhere are read too.
        let mut fields = line.split([' ', '\t', '\r']).filter(|field| !field.is_empty());
        let first = fields.next()?;
        if first.starts_with('#') {
            return None;
        }
        let (marker, hosts) = match first {
            "@cert-authority" => (Marker::Authority, fields.next()?),
            "@revoked" => (Marker::Revoked, fields.next()?),
            _ if first.starts_with('@') => return None,
            _ => (Marker::HostKey, first),
        };
        if hosts.starts_with('@') {
            return None;
        }
        Some(Self { marker, hosts, algorithm: fields.next()?, base64: fields.next()? })
    }

    fn key(&self) -> Option<PublicKey> {
        PublicKey::from_openssh(&format!("{} {}", self.algorithm, self.base64)).ok()
    }
}

/// True if the first field of a line, a hash or a list of patterns, means `name` (lower case).
fn matches_host(hosts: &str, name: &str) -> bool {
    if hosts.starts_with('|') {
        return matches_hash(hosts, name);
    }
    let mut matched = false;
    for pattern in hosts.split(',') {
        match pattern.strip_prefix('!') {
            Some(negated) if matches_pattern(&negated.to_lowercase(), name) => return false,
            Some(_) => {}
            None => matched = matched || matches_pattern(&pattern.to_lowercase(), name),
        }
    }
    matched
}

/// `|1|salt|hash`: the HMAC-SHA1 of the name, keyed with the salt.
fn matches_hash(hashed: &str, name: &str) -> bool {
    let Ok(HostPatterns::HashedName { salt, hash }) = hashed.parse::<HostPatterns>() else { return false };
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(&salt) else { return false };
    mac.update(name.as_bytes());
    mac.verify_slice(&hash).is_ok()
}

/// `*` stands for any characters, `?` for one. Linear in the pattern for each character of the name: a hostile line
/// costs no more than its length.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at_pattern, mut at_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at_name < name.len() {
        match pattern.get(at_pattern) {
            Some('*') => {
                star = Some((at_pattern, at_name));
                at_pattern += 1;
            }
            Some(&character) if character == '?' || character == name[at_name] => {
                at_pattern += 1;
                at_name += 1;
            }
            _ => match star {
                Some((star_pattern, star_name)) => {
                    star = Some((star_pattern, star_name + 1));
                    at_pattern = star_pattern + 1;
                    at_name = star_name + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at_pattern..].iter().all(|&character| character == '*')
}

#[cfg(test)]
#[path = "known_hosts_tests.rs"]
mod tests;
