//! Who lets whom in: fingerprints of the login's public keys, of the keys that it lets in, of the host keys that it knows,
//! and of the system's own host keys; and what happens with a host key that is not known. Only public keys are opened, and
//! only their fingerprints travel: no name, no comment, no option. Of a private key without its public half the name of the
//! file is all that is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// Prints the name of a file and one fingerprint on each line; then private keys that stand alone, and settings of SSH.
pub const SCRIPT: &str = "command -v ssh-keygen >/dev/null 2>&1 || exit 127; _f() { for f; do [ ! -r \"$f\" ] || ssh-keygen -lf \"$f\" \
                          2>/dev/null | while read -r _ k _; do echo \"$f $k\"; done; done; }; _f /etc/ssh/ssh_host_*_key.pub \
                          /etc/ssh/ssh_known_hosts; cd \"$HOME/.ssh\" 2>/dev/null && { _f id_*.pub authorized_keys known_hosts; for k in id_*; do case $k in *.pub|*-cert*) ;; *) [ ! -f \"$k\" ] || \
                          [ -f \"$k.pub\" ] || echo \"$k alone\";; esac; done; grep -is '^[[:space:]]*StrictHostKeyChecking' config /dev/null; }; \
                          grep -is '^[[:space:]]*StrictHostKeyChecking' /etc/ssh/ssh_config /etc/ssh/ssh_config.d/*.conf; exit 0";

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
    let mut more: BTreeMap<Attribute, (u32, Vec<Text>)> = BTreeMap::new();
    for (number, line) in observation.lines() {
        if let Some((attribute, word)) = aside(line.trim()) {
            let (_, list) = more.entry(attribute).or_insert((number, Vec::new()));
            if !list.contains(&word) && list.len() < MOST_ASIDE {
                list.push(word);
            }
            continue;
        }
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
    let of_keys = [Attribute::OwnKeys, Attribute::AuthorizedKeys, Attribute::KnownHostKeys, Attribute::HostKeys]
        .into_iter()
        .map(|attribute| match keys.remove(&attribute) {
            Some((line, list)) => observation.known(Entity::Guest, attribute, list, line),
            None => observation.fact(Entity::Guest, attribute, State::Empty, 0),
        });
    let aside =
        more.into_iter().map(|(attribute, (line, list))| observation.known(Entity::Guest, attribute, list, line));
    of_keys.chain(aside).collect()
}

/// So many keys that stand alone, or words of settings, are enough.
const MOST_ASIDE: usize = 16;

/// `id_ed25519 alone`, and lines of `grep`: `config:  StrictHostKeyChecking no`.
fn aside(line: &str) -> Option<(Attribute, Text)> {
    if let Some(key) = line.strip_suffix(" alone").filter(|key| key.starts_with("id_")) {
        return Some((Attribute::PrivateKeysAlone, Text::new(key)));
    }
    let (_, setting) = line.split_once(':')?;
    let mut words = setting.split([' ', '\t', '=', '"']).filter(|word| !word.is_empty());
    let is_it = words.next()?.eq_ignore_ascii_case("StrictHostKeyChecking");
    let word = words.next().filter(|_| is_it)?;
    Some((Attribute::HostKeyChecking, Text::new(&word.to_ascii_lowercase())))
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

    // A real guest whose private key was put there without its public half.
    const ALONE: &str = "/etc/ssh/ssh_host_ed25519_key.pub SHA256:fDni5NplBk7zERuFwZ0q1lea5mtxSzSq6HNtlBJBgSk\n\
                         authorized_keys SHA256:DOXE3eJkFAkOwcwYd6+wtx+TrZAes7kbZumNbSYv9dY\n\
                         id_ed25519 alone\nconfig:  StrictHostKeyChecking no\n";

    #[test]
    fn keys_that_stand_alone_and_what_is_asked() {
        let facts = run(&PROBE, &[(ALONE, "", 0)]);
        let of = |attribute| shown(&facts, &Entity::Guest, attribute);
        assert_eq!(of(Attribute::OwnKeys), "<empty>");
        assert_eq!(
            (of(Attribute::PrivateKeysAlone), of(Attribute::HostKeyChecking)),
            ("id_ed25519".into(), "no".into())
        );
        let settings = "config:\tstricthostkeychecking=Accept-New\n/etc/ssh/ssh_config:StrictHostKeyChecking \"ask\"\n\
                        config:StrictHostKeyChecking\nconfig:# StrictHostKeyChecking no\n";
        assert_eq!(
            shown(&run(&PROBE, &[(settings, "", 0)]), &Entity::Guest, Attribute::HostKeyChecking),
            "accept-new, ask"
        );
        let facts = run(&PROBE, &[(KEYS, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Guest, Attribute::PrivateKeysAlone), "absent");
    }

    survives_damage!(PROBE, KEYS, ALONE);
}
