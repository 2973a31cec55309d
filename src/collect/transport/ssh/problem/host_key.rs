//! The sentences about host keys.

use crate::app::Problem;
use crate::collect::transport::ssh::error::{Failure, NotAccepted, OfferedHostKey, Stop};
use crate::collect::transport::ssh::known_hosts::Place;
use crate::collect::transport::ssh::wording::short_path;

/// Host keys.
pub(super) fn host_key(failure: &Failure, stop: &Stop, what: &dyn Fn(&str) -> String) -> Problem {
    let removal =
        |key: &OfferedHostKey, place: &Place| format!("ssh-keygen -R '{}' -f {}", key.name, short_path(&place.file));
    match failure {
        Failure::HostKeyUnknown { key, why, authority } => {
            let cause = match (why, authority) {
                (_, Some(place)) => {
                    format!(
                        "{} trusts an authority for this host, and it shows no certificate of it",
                        place_text(place)
                    )
                }
                (NotAccepted::NobodyToAsk, None) => {
                    "first connection to this host, and nobody is there to be asked".to_owned()
                }
                (NotAccepted::RefusedByUser, None) => "the key was not accepted at the console".to_owned(),
                (NotAccepted::Strict, None) => "StrictHostKeyChecking forbids unknown keys".to_owned(),
            };
            Problem::new(
                &what(&format!("unknown host key {}", key_text(key))),
                &cause,
                &format!(
                    "compare the fingerprint with the host's own (ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub), then connect once: {}",
                    stop.by_hand
                ),
            )
        }
        Failure::HostKeyChanged { key, recorded: Some(place), recorded_key } => Problem::new(
            &what(&format!(
                "HOST KEY CHANGED: it shows {}, but {} records {recorded_key}",
                key_text(key),
                place_text(place)
            )),
            "the host was installed anew or its address was given to another one; or somebody is in between",
            &format!("find out which; only if the change is right: {}", removal(key, place)),
        ),
        Failure::HostKeyChanged { key, recorded: None, recorded_key } => Problem::new(
            &what(&format!("HOST KEY CHANGED: it shows {}, a moment ago it showed {recorded_key}", key_text(key))),
            "several hosts behind one address; or somebody is in between",
            "give each host its own name or address",
        ),
        Failure::HostKeyRevoked { key, recorded } => Problem::new(
            &what(&format!("its host key {} is revoked by {}", key_text(key), place_text(recorded))),
            "the key was stolen or retired",
            "give the host a new key; do not connect before",
        ),
        Failure::HostCertificateRefused { key, why, authority } => Problem::new(
            &what(&format!("the certificate of its host key {} is not good: {why}", key_text(key))),
            &format!("{} trusts the authority that signed it", place_text(authority)),
            "have the authority issue a right certificate (ssh-keygen -s CA -h -n NAMES), and check the clocks",
        ),
        Failure::HostKeyNotRecorded { key, file, reason } => Problem::new(
            &what(&format!(
                "the new host key {} could not be written to {} ({reason})",
                key_text(key),
                short_path(file)
            )),
            "",
            "make the file writable, or name another one with UserKnownHostsFile",
        ),
        Failure::KnownHostsUnreadable { file, reason } => Problem::new(
            &what(&format!("its host key cannot be checked: {} cannot be read ({reason})", short_path(file))),
            "",
            "make the file readable",
        ),
        _ => super::way(failure, stop, what),
    }
}

fn key_text(key: &OfferedHostKey) -> String {
    format!("{} {} ({})", key.algorithm, key.fingerprint, key.name)
}

fn place_text(place: &Place) -> String {
    format!("{}:{}", short_path(&place.file), place.line)
}
