//! Who lets whom in: fingerprints of the login's public keys, of the keys that it lets in, of the host keys that it knows,
//! and of the system's own host keys. Only public keys are opened, and only their fingerprints travel: no name, no
//! comment, no option.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// Prints the name of a file and one fingerprint on each line.
pub const SCRIPT: &str = "command -v ssh-keygen >/dev/null 2>&1 || exit 127; _f() { for f; do [ ! -r \"$f\" ] || ssh-keygen -lf \"$f\" \
                          2>/dev/null | while read -r _ k _; do echo \"$f $k\"; done; done; }; _f /etc/ssh/ssh_host_*_key.pub \
                          /etc/ssh/ssh_known_hosts; cd \"$HOME/.ssh\" 2>/dev/null && _f id_*.pub authorized_keys known_hosts; exit 0";

/// Fingerprints of public keys.
pub const PROBE: Probe = Probe {
    name: "linux.ssh-trust",
    title: "fingerprints of public SSH keys: own, let in, known",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[Source {
        name: "linux.ssh-trust",
        read: Read::Command { argv: &[Word::Plain("sh"), Word::Plain("-c"), Word::Plain(SCRIPT)], keep: None },
    }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    if observation.outcome != Outcome::Exit(0) || observation.cut > 0 {
        return Vec::new();
    }
    let mut keys: BTreeMap<Attribute, (u32, Vec<Text>)> = BTreeMap::new();
    for (number, line) in observation.lines() {
        let Some((file, fingerprint)) = line.trim().rsplit_once(' ') else { continue };
        if !is_fingerprint(fingerprint) {
            continue;
        }
        let attribute = match file {
            "authorized_keys" => Attribute::AuthorizedKeys,
            "known_hosts" | "/etc/ssh/ssh_known_hosts" => Attribute::KnownHostKeys,
            file if file.starts_with("/etc/ssh/ssh_host_") => Attribute::HostKeys,
            file if file.starts_with("id_") => Attribute::OwnKeys,
            _ => continue,
        };
        let (_, list) = keys.entry(attribute).or_insert((number, Vec::new()));
        let fingerprint = Text::new(fingerprint);
        if !list.contains(&fingerprint) {
            list.push(fingerprint);
        }
    }
    [Attribute::OwnKeys, Attribute::AuthorizedKeys, Attribute::KnownHostKeys, Attribute::HostKeys]
        .into_iter()
        .map(|attribute| match keys.remove(&attribute) {
            Some((line, list)) => observation.known(Entity::Guest, attribute, list, line),
            None => observation.fact(Entity::Guest, attribute, State::Empty, 0),
        })
        .collect()
}

/// `SHA256:` with 43 characters of base 64, or the older `MD5:` with colons.
fn is_fingerprint(text: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    match text.split_once(':') {
        Some(("SHA256", rest)) => rest.len() >= 43 && rest.bytes().all(is_base64),
        Some(("MD5", rest)) => rest.len() == 47 && rest.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const KEYS: &str = "/etc/ssh/ssh_host_ed25519_key.pub SHA256:fDni5NplBk7zERuFwZ0q1lea5mtxSzSq6HNtlBJBgSk\n\
                        id_ed25519.pub SHA256:fDni5NplBk7zERuFwZ0q1lea5mtxSzSq6HNtlBJBgSk\n\
                        authorized_keys SHA256:fDni5NplBk7zERuFwZ0q1lea5mtxSzSq6HNtlBJBgSk\n\
                        authorized_keys SHA256:DOXE3eJkFAkOwcwYd6+wtx+TrZAes7kbZumNbSYv9dY\n\
                        authorized_keys SHA256:DOXE3eJkFAkOwcwYd6+wtx+TrZAes7kbZumNbSYv9dY\n";

    #[test]
    fn fingerprints_by_what_they_are_for() {
        let facts = run(&PROBE, &[(KEYS, "", 0)]);
        let of = |attribute| shown(&facts, &Entity::Guest, attribute);
        assert_eq!(of(Attribute::OwnKeys), "SHA256:fDni5NplBk7zERuFwZ0q1lea5mtxSzSq6HNtlBJBgSk");
        assert_eq!(of(Attribute::AuthorizedKeys).matches("SHA256").count(), 2, "each once");
        assert_eq!(of(Attribute::KnownHostKeys), "<empty>");
        assert!(of(Attribute::HostKeys).starts_with("SHA256:fDni"));
        assert!(run(&PROBE, &[("", "", 127)]).is_empty());
        let odd = run(
            &PROBE,
            &[(
                "id_x.pub secret\nid_x.pub SHA256:short\nother SHA256:fDni5NplBk7zERuFwZ0q1lea5mtxSzSq6HNtlBJBgSk\n",
                "",
                0,
            )],
        );
        assert_eq!(shown(&odd, &Entity::Guest, Attribute::OwnKeys), "<empty>");
    }

    survives_damage!(PROBE, KEYS);
}
