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
use russh::{Preferred, cipher, kex, mac};

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

/// The settings of a connection to a host of which keys of the types `recorded` are known.
pub fn config(recorded: &[Algorithm]) -> Arc<Config> {
    let mut config = Config {
        nodelay: true,
        keepalive_interval: Some(KEEPALIVE_INTERVAL),
        keepalive_max: KEEPALIVE_LIMIT,
        inactivity_timeout: Some(INACTIVITY_LIMIT),
        preferred: preferred(recorded),
        ..Config::default()
    };
    if let Ok(gex) = GexParams::new(2048, 2048, 8192) {
        config.gex = gex;
    }
    Arc::new(config)
}

fn preferred(recorded: &[Algorithm]) -> Preferred {
    Preferred {
        kex: vec![
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
            kex::EXTENSION_SUPPORT_AS_CLIENT,
            kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
        ]
        .into(),
        key: host_keys(recorded).into(),
        cipher: vec![
            cipher::AES_256_GCM,
            cipher::AES_128_GCM,
            cipher::CHACHA20_POLY1305,
            cipher::AES_256_CTR,
            cipher::AES_192_CTR,
            cipher::AES_128_CTR,
        ]
        .into(),
        mac: vec![mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM, mac::HMAC_SHA256, mac::HMAC_SHA512].into(),
        ..Preferred::default()
    }
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
        let preferred = preferred(&[]);
        assert!(preferred.kex.contains(&kex::EXTENSION_SUPPORT_AS_CLIENT));
        assert!(preferred.kex.contains(&kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT));
        let config = config(&[]);
        assert!(config.nodelay);
        assert!(INACTIVITY_LIMIT > KEEPALIVE_INTERVAL * (u32::try_from(KEEPALIVE_LIMIT).expect("small") + 1));
    }
}
