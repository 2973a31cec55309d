use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPJa/HECMip7hh7Pu27/MhDvR2lM9XrhLCQqrJznOXhb";
const OTHER_ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICuU2WalQy9iyB9kMqGQ7CRxOycGZAYnMlviJDG0LKOP";
const ECDSA: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBDwJ6L2pSXp9azGk+Y4sMsB++P0UKqb/vQ4vm0xcT+RHF2waE3GSDNNvfis+3vTVm3sWBrm1nrF6AD9u/3hbn3I=";
/// `ssh-keygen -H` of `[guest.example]:2222`, taken from OpenSSH 9.2.
const HASHED_GUEST_2222: &str = include_str!("known_hosts_hashed.txt");

fn key(text: &str) -> PublicKey {
    PublicKey::from_openssh(text).expect("a key of the test")
}

fn file(text: &str) -> KnownHostsFile {
    KnownHostsFile { path: PathBuf::from("/etc/known"), text: text.to_owned() }
}

fn verdict_on(text: &str, host: &str, port: u16, offered: &str) -> Verdict {
    KnownKeys::collect(&RecordedNames::new(host, port, None), &[file(text)]).verdict(&key(offered))
}

fn is_known(text: &str, host: &str, port: u16) -> bool {
    verdict_on(text, host, port, ED25519) == Verdict::Known
}

fn is_unknown(text: &str, host: &str, port: u16) -> bool {
    matches!(verdict_on(text, host, port, ED25519), Verdict::Unknown { .. })
}

fn changed_line(text: &str, host: &str, port: u16) -> Option<usize> {
    match verdict_on(text, host, port, ED25519) {
        Verdict::Changed { recorded, .. } => Some(recorded.line),
        _ => None,
    }
}

#[test]
fn names_carry_the_port_unless_it_is_22_or_an_alias_stands_in() {
    let names = |host, port, alias| RecordedNames::new(host, port, alias);
    assert_eq!(names("Guest.Example", 22, None).name, "guest.example");
    assert_eq!(names("guest", 2222, None).name, "[guest]:2222");
    assert_eq!(names("guest", 2222, None).without_port.as_deref(), Some("guest"));
    assert_eq!(names("fe80::1%eth0", 2222, None).name, "[fe80::1%eth0]:2222");
    assert_eq!(names("guest", 2222, Some("Alias")), RecordedNames { name: "alias".into(), without_port: None });
}

#[test]
fn plain_wildcard_and_negated_names() {
    assert!(is_known(&format!("guest {ED25519}"), "guest", 22));
    assert!(is_known(&format!("other,guest {ED25519} a comment"), "GUEST", 22));
    assert!(is_known(&format!("Guest {ED25519}"), "guest", 22));
    assert!(is_known(&format!("gu?st {ED25519}"), "guest", 22));
    assert!(is_known(&format!("*.lab {ED25519}"), "a.lab", 22));
    assert!(is_unknown(&format!("*.lab {ED25519}"), "lab", 22));
    assert!(is_unknown(&format!("*.lab,!a.lab {ED25519}"), "a.lab", 22));
    assert!(is_unknown(&format!("!a.lab {ED25519}"), "b.lab", 22));
    assert!(is_known(&format!("[10.0.0.*]:* {ED25519}"), "10.0.0.7", 2222));
    assert!(is_unknown(&format!("guest2 {ED25519}"), "guest", 22));
}

#[test]
fn another_port_falls_back_to_the_bare_name_only_for_a_key_that_matches() {
    assert!(is_known(&format!("guest {ED25519}"), "guest", 2222));
    assert!(is_unknown(&format!("guest {OTHER_ED25519}"), "guest", 2222), "as in OpenSSH, not `changed`");
    assert_eq!(changed_line(&format!("guest {ED25519}\n[guest]:2222 {OTHER_ED25519}"), "guest", 2222), Some(2));
    assert!(is_unknown(&format!("[guest]:2222 {ED25519}"), "guest", 22));
    let alias = RecordedNames::new("guest", 2222, Some("alias"));
    let known = KnownKeys::collect(&alias, &[file(&format!("guest {ED25519}"))]);
    assert!(matches!(known.verdict(&key(ED25519)), Verdict::Unknown { .. }));
}

#[test]
fn hashed_names_are_those_of_openssh() {
    assert!(is_known(HASHED_GUEST_2222, "guest.example", 2222));
    assert!(is_known(HASHED_GUEST_2222, "GUEST.example", 2222));
    assert!(is_unknown(HASHED_GUEST_2222, "guest.example", 2223));
    for broken in ["|1|", "|1||", "|1|a|b", "|2|AAAA|AAAA", "|1|JfKTdBh7rNbXkVAQCRp4OQoPfmI=|USEC"] {
        assert!(is_unknown(&format!("{broken} {ED25519}"), "guest", 22), "{broken}");
    }
}

#[test]
fn a_changed_key_names_the_line_of_its_own_type_first() {
    let text = format!("# comment\n\nguest {ECDSA}\nguest {OTHER_ED25519}\n");
    assert_eq!(changed_line(&text, "guest", 22), Some(4));
    assert_eq!(changed_line(&format!("# comment\nguest {ECDSA}\n"), "guest", 22), Some(2), "any type counts");
}

#[test]
fn one_of_several_recorded_keys_is_enough() {
    assert!(is_known(&format!("guest {OTHER_ED25519}\nguest {ED25519}\n"), "guest", 22));
    assert!(is_known(&format!("guest {ECDSA}\ng* {ED25519}\n"), "guest", 22));
}

#[test]
fn a_revoked_key_is_refused_whatever_else_is_recorded() {
    let text = format!("guest {ED25519}\n@revoked * {ED25519}\n");
    let Verdict::Revoked { recorded } = verdict_on(&text, "guest", 22, ED25519) else { panic!("not revoked") };
    assert_eq!(recorded.line, 2);
    assert!(is_known(&format!("@revoked * {OTHER_ED25519}\nguest {ED25519}\n"), "guest", 22));
    assert!(is_unknown(&format!("@revoked * {OTHER_ED25519}\n"), "guest", 22));
}

#[test]
fn a_key_that_is_revoked_for_the_bare_name_is_refused_on_every_port() {
    for before in [String::new(), format!("[guest]:2222 {ED25519}\n"), format!("[guest]:2222 {OTHER_ED25519}\n")] {
        let text = format!("{before}guest {ED25519}\n@revoked guest {ED25519}\n");
        let Verdict::Revoked { recorded } = verdict_on(&text, "guest", 2222, ED25519) else { panic!("{text}") };
        assert_eq!(recorded.line, text.lines().count());
    }
    let Verdict::Revoked { .. } = verdict_on(&format!("@revoked guest {ED25519}\n"), "guest", 2222, ED25519) else {
        panic!("the line is all there is")
    };
    assert!(is_unknown(&format!("@revoked [guest]:2222 {ED25519}\n"), "guest", 22), "only on that port");
    assert!(is_unknown(&format!("@revoked guest {OTHER_ED25519}\n"), "guest", 2222), "another key");
}

#[test]
fn an_authority_is_recognised_and_is_no_host_key() {
    let text = format!("@cert-authority *.lab {ED25519}\n");
    let Verdict::Unknown { authority: Some(place) } = verdict_on(&text, "a.lab", 22, ED25519) else {
        panic!("an authority's key is no host key")
    };
    assert_eq!(place.line, 1);
}

#[test]
fn lines_that_cannot_be_decoded_are_skipped_and_counted() {
    let text = format!(
        "@unknown guest {ED25519}\nguest\nguest ssh-ed25519\nguest ssh-ed25519 AAAAgarbage\nguest ssh-rsa AAAA=\n\
         guest {}\n#guest {ED25519}\nguest {OTHER_ED25519}\n",
        ED25519.replace("ssh-ed25519 ", "ssh-rsa ")
    );
    assert_eq!(changed_line(&text, "guest", 22), Some(8));
}

#[test]
fn blanks_tabs_and_carriage_returns_separate() {
    assert!(is_known(&format!(" \tguest\t{}  comment\r\n", ED25519.replace(' ', "\t")), "guest", 22));
    assert!(is_known(&format!("# a\r\nguest {ED25519}\r\n"), "guest", 22));
    assert_eq!(changed_line(&format!("# a\r\n\r\nguest {OTHER_ED25519}\r\n"), "guest", 22), Some(3));
}

#[test]
fn files_are_read_in_their_order_and_named() {
    let names = RecordedNames::new("guest", 22, None);
    let system = KnownHostsFile { path: PathBuf::from("/etc/ssh/known"), text: format!("\nguest {OTHER_ED25519}\n") };
    let known = KnownKeys::collect(&names, &[file(""), system]);
    let Verdict::Changed { recorded, fingerprint, .. } = known.verdict(&key(ED25519)) else { panic!("not changed") };
    assert_eq!(recorded, Place { file: PathBuf::from("/etc/ssh/known"), line: 2 });
    assert_eq!(fingerprint, super::fingerprint(&key(OTHER_ED25519)));
}

#[test]
fn recorded_types_are_told_without_authorities_and_revoked_keys() {
    let names = RecordedNames::new("guest", 2222, None);
    let text = format!("@revoked * {OTHER_ED25519}\n[guest]:2222 {ECDSA}\n@cert-authority * {ED25519}\n");
    let types = |text: &str| {
        let algorithms = KnownKeys::collect(&names, &[file(text)]).algorithms();
        algorithms.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(types(&text), ["ecdsa-sha2-nistp256"]);
    assert_eq!(types(&format!("guest {ED25519}\n")), ["ssh-ed25519"], "the bare name, where nothing else is known");
    assert_eq!(types(""), Vec::<String>::new());
}

#[test]
fn a_line_that_was_written_is_read_again() {
    for (host, port) in [("guest", 22), ("guest", 2222), ("fe80::1", 22), ("fe80::1", 2222)] {
        let names = RecordedNames::new(host, port, None);
        let line = recorded_line(&names.name, &key(&format!("{ED25519} somebody@somewhere"))).expect("written");
        assert!(!line.contains("somebody"), "{line}");
        assert!(is_known(&line, host, port), "{line}");
    }
}

#[test]
fn patterns_end_in_time_on_hostile_lines() {
    let pattern = "*a".repeat(2000);
    assert!(is_unknown(&format!("{pattern}b {ED25519}"), &"a".repeat(2000), 22));
}

/// What files of known hosts look like in the wild, as seeds for mutations.
fn seeds() -> Vec<String> {
    vec![
        format!("guest {ED25519}\n[guest]:2222 {ECDSA}\n"),
        format!("# comment\r\n@revoked * {OTHER_ED25519}\r\nguest,10.0.0.1 {ED25519} root@guest\r\n"),
        format!("@cert-authority *.lab,!bad.lab {ECDSA}\n\n\tg?est\t{OTHER_ED25519}\n"),
        HASHED_GUEST_2222.to_owned(),
        format!("|1|JfKTdBh7rNbXkVAQCRp4OQoPfmI=|USECr3SWf1JUPsms5AqfD5QfxkM= {ED25519}\n"),
    ]
}

#[derive(Clone, Debug)]
enum Mutation {
    Replace(prop::sample::Index, u8),
    Remove(prop::sample::Index, u8),
    Insert(prop::sample::Index, String),
    Repeat(prop::sample::Index, prop::sample::Index),
    Cut(prop::sample::Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<prop::sample::Index>;
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r\n".into()),
        Just("@revoked ".into()),
        Just("@cert-authority ".into()),
        Just("*".into()),
        Just("!".into()),
        Just(",".into()),
        Just("|1|".into()),
        Just("|".into()),
        Just("#".into()),
        Just("\u{0}".into()),
        Just("ä".into()),
        Just("[guest]:2222".into()),
        Just("guest".into()),
        "\\PC{0,8}",
    ];
    prop_oneof![
        (index(), any::<u8>()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        (index(), 1..40_u8).prop_map(|(at, length)| Mutation::Remove(at, length)),
        (index(), piece).prop_map(|(at, text)| Mutation::Insert(at, text)),
        (index(), index()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
        index().prop_map(Mutation::Cut),
    ]
}

fn mutate(seed: &str, mutations: &[Mutation]) -> String {
    let mut bytes = seed.as_bytes().to_vec();
    for mutation in mutations {
        if bytes.is_empty() {
            break;
        }
        match mutation {
            Mutation::Replace(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Mutation::Remove(at, length) => {
                let at = at.index(bytes.len());
                let end = (at + usize::from(*length)).min(bytes.len());
                bytes.drain(at..end);
            }
            Mutation::Insert(at, text) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, text.bytes());
            }
            Mutation::Repeat(from, to) => {
                let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
                let piece = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.extend(piece);
            }
            Mutation::Cut(at) => bytes.truncate(at.index(bytes.len())),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn no_text_accepts_what_it_does_not_hold(
        seed in prop::sample::select(seeds()),
        mutations in prop::collection::vec(mutation(), 0..6),
        port in prop_oneof![Just(22_u16), Just(2222_u16)],
    ) {
        let text = mutate(&seed, &mutations);
        let names = RecordedNames::new("guest", port, None);
        let known = KnownKeys::collect(&names, &[file(&text)]);
        let lines = text.split('\n').count();
        let base64 = |text: &str| text.split(' ').nth(1).expect("base64").to_owned();
        for offered in [ED25519, OTHER_ED25519, ECDSA] {
            match known.verdict(&key(offered)) {
                // Padding aside, base64 has one text for one key.
                Verdict::Known => prop_assert!(text.contains(base64(offered).trim_end_matches('='))),
                Verdict::Revoked { recorded } => {
                    let line = text.split('\n').nth(recorded.line - 1).unwrap_or_default();
                    prop_assert!(line.contains("@revoked"), "{line}");
                }
                Verdict::Changed { recorded, .. } => prop_assert!((1..=lines).contains(&recorded.line)),
                Verdict::Unknown { authority } => {
                    prop_assert!(authority.is_none_or(|place| (1..=lines).contains(&place.line)));
                }
            }
        }
    }

    #[test]
    fn a_revoked_line_holds_through_whatever_follows(
        seed in prop::sample::select(seeds()),
        mutations in prop::collection::vec(mutation(), 0..6),
    ) {
        let text = format!("@revoked * {ED25519}\n{}", mutate(&seed, &mutations));
        prop_assert_eq!(
            verdict_on(&text, "guest", 22, ED25519),
            Verdict::Revoked { recorded: Place { file: PathBuf::from("/etc/known"), line: 1 } }
        );
    }

    #[test]
    fn patterns_mean_what_a_naive_matcher_says(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
        fn naive(pattern: &[u8], name: &[u8]) -> bool {
            match (pattern.split_first(), name.split_first()) {
                (None, None) => true,
                (Some((b'*', rest)), _) => naive(rest, name) || (!name.is_empty() && naive(pattern, &name[1..])),
                (Some((p, rest)), Some((n, others))) => (*p == b'?' || p == n) && naive(rest, others),
                _ => false,
            }
        }
        prop_assert_eq!(matches_pattern(&pattern, &name), naive(pattern.as_bytes(), name.as_bytes()));
    }
}
