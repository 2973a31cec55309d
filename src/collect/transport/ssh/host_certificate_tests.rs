//! Tests of the judgement on host certificates.

use std::path::PathBuf;

use russh::keys::PrivateKey;
use russh::keys::ssh_key::certificate::{Builder, CertType};

use super::*;
use crate::collect::transport::ssh::known_hosts::KnownHostsFile;

const NOW: u64 = 1_800_000_000;

struct Case {
    authority: PrivateKey,
    host: PrivateKey,
    kind: CertType,
    principals: &'static [&'static str],
    valid: (u64, u64),
    condition: bool,
}

fn key() -> PrivateKey {
    PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).expect("a key")
}

/// A line of a file of known host keys.
fn line(marker: &str, hosts: &str, key: &PrivateKey) -> String {
    format!("{marker} {hosts} {}\n", key.public_key().to_openssh().expect("text"))
}

impl Case {
    fn new() -> Self {
        Self {
            authority: key(),
            host: key(),
            kind: CertType::Host,
            principals: &["other.lab", "GPU-*.lab"],
            valid: (NOW - 10, NOW + 10),
            condition: false,
        }
    }

    fn certificate(&self) -> Certificate {
        let (after, before) = self.valid;
        let mut builder =
            Builder::new(vec![7; 16], self.host.public_key().key_data().clone(), after, before).expect("a builder");
        builder.cert_type(self.kind).expect("a type");
        if self.principals.is_empty() {
            builder.all_principals_valid().expect("all");
        }
        for principal in self.principals {
            builder.valid_principal(*principal).expect("a principal");
        }
        if self.condition {
            builder.critical_option("only-on-mondays", "").expect("an option");
        }
        builder.sign(&self.authority).expect("signed")
    }

    fn judge(&self, records: &str, port: u16) -> Judgement {
        let names = RecordedNames::new("gpu-1.lab", port, None);
        let file = KnownHostsFile { path: PathBuf::from("/kh"), text: records.to_owned() };
        judge(&self.certificate(), &names, &KnownKeys::collect(&names, &[file]), NOW)
    }

    fn trusted(&self) -> Judgement {
        self.judge(&line("@cert-authority", "*.lab", &self.authority), 22)
    }

    fn why(&self) -> String {
        match self.trusted() {
            Judgement::Bad { why, authority } => {
                assert_eq!((authority.file.as_path(), authority.line), (std::path::Path::new("/kh"), 1));
                why.to_string()
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_trusted_authority_vouches_for_its_hosts_only() {
    let case = Case::new();
    assert_eq!(case.trusted(), Judgement::Good);
    let of_others = line("@cert-authority", "*.example", &case.authority);
    assert_eq!(case.judge(&of_others, 22), Judgement::NotTrusted);
    assert_eq!(case.judge(&line("@cert-authority", "*.lab", &key()), 22), Judgement::NotTrusted);
    let as_host_key = line("", "*.lab", &case.authority);
    assert_eq!(case.judge(as_host_key.trim_start(), 22), Judgement::NotTrusted);
}

#[test]
fn a_port_is_part_of_the_record_and_not_of_the_certificate() {
    let case = Case::new();
    let with_port = line("@cert-authority", "[gpu-1.lab]:2222", &case.authority);
    assert_eq!(case.judge(&with_port, 2222), Judgement::Good);
    assert_eq!(case.judge(&with_port, 22), Judgement::NotTrusted);
    assert_eq!(case.judge(&line("@cert-authority", "gpu-1.lab", &case.authority), 2222), Judgement::Good);
}

#[test]
fn everything_that_makes_a_certificate_bad_is_told() {
    assert_eq!(Case { kind: CertType::User, ..Case::new() }.why(), "it is one of a user, not of a host");
    assert_eq!(Case { valid: (NOW + 1, NOW + 2), ..Case::new() }.why(), "it is not valid yet");
    assert_eq!(Case { valid: (NOW - 2, NOW), ..Case::new() }.why(), "it has expired");
    assert_eq!(Case { condition: true, ..Case::new() }.why(), "it has a condition that is not known: only-on-mondays");
    assert_eq!(Case { principals: &[], ..Case::new() }.why(), "it names no host");
    assert_eq!(
        Case { principals: &["a.lab", "gpu-1"], ..Case::new() }.why(),
        "it is for a.lab, gpu-1, not for gpu-1.lab"
    );
}

#[test]
fn a_forged_signature_is_found() {
    let case = Case::new();
    let names = RecordedNames::new("gpu-1.lab", 22, None);
    let text = line("@cert-authority", "*", &case.authority);
    let known = KnownKeys::collect(&names, &[KnownHostsFile { path: PathBuf::from("/kh"), text }]);
    let bytes = case.certificate().to_bytes().expect("bytes");
    let mut bad = 0;
    for place in 0..bytes.len() {
        let mut forged = bytes.clone();
        forged[place] ^= 1;
        if let Ok(certificate) = Certificate::from_bytes(&forged) {
            let judgement = judge(&certificate, &names, &known, NOW);
            assert_ne!(judgement, Judgement::Good, "a flipped bit in byte {place} went unseen");
            bad += 1;
        }
    }
    assert!(bad > 100, "most of the forged ones can be read: {bad}");
}

#[test]
fn a_revoked_key_or_authority_beats_everything() {
    let case = Case::new();
    let trusting = line("@cert-authority", "*.lab", &case.authority);
    for revoked in [&case.host, &case.authority] {
        let records = format!("{trusting}{}", line("@revoked", "*", revoked));
        let Judgement::Revoked(place) = case.judge(&records, 22) else { panic!("not revoked") };
        assert_eq!(place.line, 2);
    }
}
