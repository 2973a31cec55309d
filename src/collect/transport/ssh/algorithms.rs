//! Which algorithms are offered, and the rhythm of a connection.
//!
//! The library's own lists are not used: they lack the NIST curves and would burn half a second of CPU a connection in
//! a Diffie-Hellman group of 8192 bits on hosts that know no curve25519, and they accept RSA host keys signed with
//! SHA-1. A list of ours has to name both pseudo-algorithms: without the first the server does not say which RSA
//! hashes it takes, without the second key exchange is not strict.

use std::sync::Arc;
use std::time::Duration;

use russh::client::{Config, GexParams};
use russh::keys::{Algorithm, EcdsaCurve, HashAlg};
use russh::{AlgorithmKind, Preferred, cipher, kex, mac};

/// A keepalive is sent after this much silence.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// So many unanswered keepalives are borne: a dead peer is found after three intervals.
const KEEPALIVE_LIMIT: usize = 2;
/// The end of everything that keepalives do not watch, as the handshake. Longer than three keepalive intervals, so
/// that it never ends a healthy idle connection.
const INACTIVITY_LIMIT: Duration = Duration::from_secs(45);

/// Host key algorithms, best first; none of them signs with SHA-1.
const HOST_KEYS: [Algorithm; 6] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

/// Key exchange for old servers.
const LEGACY_EXCHANGES: [kex::Name; 3] = [kex::DH_G14_SHA1, kex::DH_GEX_SHA1, kex::DH_G1_SHA1];
/// Ciphers for old servers.
const LEGACY_CIPHERS: [cipher::Name; 3] = [cipher::AES_256_CBC, cipher::AES_192_CBC, cipher::AES_128_CBC];
/// Message authentication for old servers.
const LEGACY_MACS: [mac::Name; 2] = [mac::HMAC_SHA1_ETM, mac::HMAC_SHA1];

/// What is offered to one host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offer<'a> {
    /// Types of its keys that are recorded.
    pub recorded: &'a [Algorithm],
    /// Certificates of host keys are asked for, before keys.
    pub certificates: bool,
    /// What signs with SHA-1 or encrypts with CBC is offered last, for servers that know nothing better.
    pub legacy: bool,
}

/// The settings of a connection.
pub fn config(offer: Offer<'_>) -> Arc<Config> {
    let mut config = Config {
        nodelay: true,
        keepalive_interval: Some(KEEPALIVE_INTERVAL),
        keepalive_max: KEEPALIVE_LIMIT,
        inactivity_timeout: Some(INACTIVITY_LIMIT),
        preferred: preferred(offer),
        ..Config::default()
    };
    if let Ok(gex) = GexParams::new(2048, 2048, 8192) {
        config.gex = gex;
    }
    Arc::new(config)
}

fn preferred(offer: Offer<'_>) -> Preferred {
    let legacy = |names: &[kex::Name]| if offer.legacy { names.to_vec() } else { Vec::new() };
    let mut exchanges = vec![
        kex::MLKEM768X25519_SHA256,
        kex::CURVE25519,
        kex::CURVE25519_PRE_RFC_8731,
        kex::ECDH_SHA2_NISTP256,
        kex::ECDH_SHA2_NISTP384,
        kex::ECDH_SHA2_NISTP521,
        kex::DH_G14_SHA256,
        kex::DH_G16_SHA512,
        kex::DH_GEX_SHA256,
        kex::DH_G18_SHA512,
    ];
    exchanges.extend(legacy(&LEGACY_EXCHANGES));
    exchanges.extend([kex::EXTENSION_SUPPORT_AS_CLIENT, kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT]);
    let mut ciphers = vec![
        cipher::AES_256_GCM,
        cipher::AES_128_GCM,
        cipher::CHACHA20_POLY1305,
        cipher::AES_256_CTR,
        cipher::AES_192_CTR,
        cipher::AES_128_CTR,
    ];
    let mut macs = vec![mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM, mac::HMAC_SHA256, mac::HMAC_SHA512];
    let mut keys = host_keys(offer.recorded);
    // An authority vouches for keys of every type; those that sign with SHA-1 are never asked for with a certificate.
    let certificates = if offer.certificates { keys.clone() } else { Vec::new() };
    if offer.legacy {
        ciphers.extend(LEGACY_CIPHERS);
        macs.extend(LEGACY_MACS);
        keys.push(Algorithm::Rsa { hash: None });
    }
    Preferred {
        kex: exchanges.into(),
        key: keys.into(),
        host_key_certificates: certificates.into(),
        cipher: ciphers.into(),
        mac: macs.into(),
        ..Preferred::default()
    }
}

/// Whether a server that offers `theirs` of one kind could be reached with the algorithms for old servers.
pub fn legacy_would_help(kind: &AlgorithmKind, theirs: &[String]) -> bool {
    let names: Vec<&str> = match kind {
        AlgorithmKind::Kex => LEGACY_EXCHANGES.iter().map(AsRef::as_ref).collect(),
        AlgorithmKind::Key => vec!["ssh-rsa"],
        AlgorithmKind::Cipher => LEGACY_CIPHERS.iter().map(AsRef::as_ref).collect(),
        AlgorithmKind::Mac => LEGACY_MACS.iter().map(AsRef::as_ref).collect(),
        AlgorithmKind::Compression => Vec::new(),
    };
    theirs.iter().any(|name| names.contains(&name.as_str()))
}

/// Recorded types first: a host that has several keys then shows one that can be compared.
fn host_keys(recorded: &[Algorithm]) -> Vec<Algorithm> {
    let is_recorded =
        |algorithm: &Algorithm| recorded.iter().any(|other| other == algorithm || (is_rsa(other) && is_rsa(algorithm)));
    let (mut first, last): (Vec<_>, Vec<_>) = HOST_KEYS.into_iter().partition(is_recorded);
    first.extend(last);
    first
}

/// RSA keys are one kind of key with several kinds of signature.
pub fn is_rsa(algorithm: &Algorithm) -> bool {
    matches!(algorithm, Algorithm::Rsa { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_types_come_first_and_nothing_signs_with_sha1() {
        let names = |recorded: &[Algorithm]| host_keys(recorded).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&[])[0], "ssh-ed25519");
        let with_rsa = names(&[Algorithm::Rsa { hash: None }]);
        assert_eq!(with_rsa[..2], ["rsa-sha2-512", "rsa-sha2-256"]);
        assert_eq!(with_rsa.len(), 6);
        assert!(!with_rsa.contains(&"ssh-rsa".to_owned()));
    }

    #[test]
    fn both_pseudo_algorithms_are_named() {
        for legacy in [false, true] {
            let preferred = preferred(Offer { legacy, ..Offer::default() });
            assert!(preferred.kex.contains(&kex::EXTENSION_SUPPORT_AS_CLIENT));
            assert!(preferred.kex.contains(&kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT));
        }
        let config = config(Offer::default());
        assert!(config.nodelay);
        assert!(INACTIVITY_LIMIT > KEEPALIVE_INTERVAL * (u32::try_from(KEEPALIVE_LIMIT).expect("small") + 1));
    }

    fn names<T: AsRef<str>>(list: &[T]) -> Vec<String> {
        list.iter().map(|name| name.as_ref().to_owned()).collect()
    }

    #[test]
    fn what_is_old_is_offered_last_and_only_where_it_is_wanted() {
        let plain = preferred(Offer::default());
        let all = [names(&plain.kex), names(&plain.cipher), names(&plain.mac)].concat();
        assert!(!all.iter().any(|name| name.ends_with("sha1") || name.ends_with("cbc")), "{all:?}");
        let legacy = preferred(Offer { legacy: true, ..Offer::default() });
        assert_eq!(names(&legacy.mac).last().map(String::as_str), Some("hmac-sha1"));
        assert_eq!(names(&legacy.cipher).last().map(String::as_str), Some("aes128-cbc"));
        assert!(names(&legacy.kex).contains(&"diffie-hellman-group1-sha1".to_owned()));
        assert_eq!(legacy.key.last().map(ToString::to_string), Some("ssh-rsa".to_owned()));
    }

    /// What hosts of ESXi 6.7 to 8 offer: no curve25519, no ed25519, AES with CTR or GCM.
    #[test]
    fn esxi_hosts_have_something_in_common_with_us() {
        let ours = preferred(Offer::default());
        for (list, theirs) in [
            (names(&ours.kex), "ecdh-sha2-nistp256"),
            (names(&ours.kex), "diffie-hellman-group16-sha512"),
            (names(&ours.cipher), "aes256-ctr"),
            (names(&ours.cipher), "aes128-gcm@openssh.com"),
            (names(&ours.mac), "hmac-sha2-256"),
            (ours.key.iter().map(ToString::to_string).collect(), "rsa-sha2-256"),
            (ours.key.iter().map(ToString::to_string).collect(), "ecdsa-sha2-nistp256"),
        ] {
            assert!(list.contains(&theirs.to_owned()), "{theirs} is not in {list:?}");
        }
    }

    #[test]
    fn certificates_are_asked_for_only_where_an_authority_is_trusted() {
        assert!(preferred(Offer::default()).host_key_certificates.is_empty());
        let asked = preferred(Offer { certificates: true, legacy: true, ..Offer::default() });
        assert_eq!(asked.host_key_certificates.len(), 6);
        assert!(!asked.host_key_certificates.contains(&Algorithm::Rsa { hash: None }));
    }

    #[test]
    fn the_switch_for_old_servers_is_named_only_where_it_helps() {
        let helps = |kind, name: &str| legacy_would_help(&kind, &[name.to_owned()]);
        assert!(helps(AlgorithmKind::Kex, "diffie-hellman-group14-sha1"));
        assert!(helps(AlgorithmKind::Key, "ssh-rsa"));
        assert!(helps(AlgorithmKind::Cipher, "aes128-cbc"));
        assert!(helps(AlgorithmKind::Mac, "hmac-sha1"));
        assert!(!helps(AlgorithmKind::Cipher, "arcfour"));
        assert!(!helps(AlgorithmKind::Key, "ssh-dss"));
        assert!(!helps(AlgorithmKind::Kex, "sntrup761x25519-sha512@openssh.com"));
    }
}
