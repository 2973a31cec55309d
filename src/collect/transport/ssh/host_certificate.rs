//! Certificates of hosts: an authority that a file of known host keys trusts (`@cert-authority`) signed the host's key.
//! Everything here is pure; the rules are those of OpenSSH's client, and one is stricter, as in its latest releases: a
//! certificate that names no host is good for none.

use russh::keys::ssh_key::public::KeyData;
use russh::keys::{Algorithm, Certificate};

use super::known_hosts::{KnownKeys, Place, RecordedNames, matches_pattern};
use crate::fabric::Text;

/// What the records say about a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// A trusted authority vouches for the key.
    Good,
    /// Its key or its authority is revoked, by this line.
    Revoked(Place),
    /// Nobody who is trusted for this host signed it: its key counts as one without a certificate.
    NotTrusted,
    /// A trusted authority signed it, and it is not good.
    Bad {
        /// Why not.
        why: Text,
        /// The line that trusts the authority.
        authority: Place,
    },
}

/// Judges a certificate that a host shows. `now` is in seconds since 1970.
pub fn judge(certificate: &Certificate, names: &RecordedNames, known: &KnownKeys, now: u64) -> Judgement {
    let revoked = known.revoked(certificate.public_key()).or_else(|| known.revoked(certificate.signature_key()));
    if let Some(place) = revoked {
        return Judgement::Revoked(place.clone());
    }
    let Some(authority) = known.authority(certificate.signature_key()) else { return Judgement::NotTrusted };
    match defect(certificate, names, now) {
        None => Judgement::Good,
        Some(why) => Judgement::Bad { why: Text::new(&why), authority: authority.clone() },
    }
}

/// What is wrong with a certificate of a trusted authority.
fn defect(certificate: &Certificate, names: &RecordedNames, now: u64) -> Option<String> {
    if !certificate.cert_type().is_host() {
        return Some("it is one of a user, not of a host".to_owned());
    }
    if matches!(certificate.signature().algorithm(), Algorithm::Rsa { hash: None }) {
        return Some("it is signed with SHA-1".to_owned());
    }
    if matches!(certificate.signature_key(), KeyData::Other(_)) || certificate.verify_signature().is_err() {
        return Some("its signature is not right".to_owned());
    }
    if now < certificate.valid_after() {
        return Some("it is not valid yet".to_owned());
    }
    if now >= certificate.valid_before() {
        return Some("it has expired".to_owned());
    }
    if let Some((name, _)) = certificate.critical_options().iter().next() {
        return Some(format!("it has a condition that is not known: {}", Text::new(name)));
    }
    // Certificates name hosts, never ports.
    let host = names.without_port.as_deref().unwrap_or(&names.name);
    let principals = certificate.valid_principals();
    if principals.is_empty() {
        return Some("it names no host".to_owned());
    }
    if !principals.iter().any(|principal| matches_pattern(&principal.to_lowercase(), host)) {
        let named: Vec<String> = principals.iter().take(3).map(|name| Text::new(name).to_string()).collect();
        return Some(format!("it is for {}, not for {host}", named.join(", ")));
    }
    None
}

#[cfg(test)]
#[path = "host_certificate_tests.rs"]
mod tests;
