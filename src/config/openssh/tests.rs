//! Tests of both sources of OpenSSH settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;

use super::super::address::Address;
use super::*;

fn surroundings() -> Surroundings {
    Surroundings {
        home: PathBuf::from("/home/ada"),
        user: "ada".to_owned(),
        user_id: 1000,
        host_name: "desk.example".to_owned(),
        environment: BTreeMap::from([("SOCKET".to_owned(), "/run/agent".to_owned())]),
    }
}

fn address(text: &str) -> Address {
    Address::parse(text).expect("an address")
}

/// Files of the test: `main` is read, the others can be included.
fn read(files: &[(&str, &str)], asked: &str) -> Result<Resolved, OpenSshError> {
    let main = Reading { path: "main".to_owned(), text: files[0].1.to_owned(), base: Base::User };
    let mut include = |pattern: &str| -> Included {
        files[1..]
            .iter()
            .filter(|(path, _)| pattern::fits(path, pattern))
            .map(|(path, text)| ((*path).to_owned(), Ok((*text).to_owned())))
            .collect()
    };
    parse_files(&[main], &address(asked), &surroundings(), &mut include)
}

fn settings(text: &str, asked: &str) -> HostSettings {
    read(&[("main", text)], asked).expect("right settings").settings
}

fn error(text: &str) -> String {
    read(&[("main", text)], "vm1").expect_err("it is wrong").to_string()
}

fn paths(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(PathBuf::from).collect()
}

#[test]
fn nothing_said_means_the_defaults_of_openssh() {
    let found = settings("", "VM1.Lab");
    assert_eq!((found.alias.as_str(), found.hostname.as_str()), ("VM1.Lab", "vm1.lab"));
    assert_eq!((found.port, found.user.as_str()), (22, "ada"));
    assert_eq!(found.identity_files[0], PathBuf::from("/home/ada/.ssh/id_rsa"));
    assert_eq!(found.user_known_hosts[0], PathBuf::from("/home/ada/.ssh/known_hosts"));
    assert_eq!(found.global_known_hosts[0], PathBuf::from("/etc/ssh/ssh_known_hosts"));
    assert_eq!((found.identity_agent, found.host_key_checking), (None, HostKeyChecking::Ask));
    assert!(found.proxy_jump.is_empty() && !found.identities_only && found.host_key_alias.is_none());
}

#[test]
fn the_first_value_wins_and_keys_accumulate() {
    let text = "Port 1\nHost vm1 !vm2\n port=2\n User = \"bob\"\n IdentityFile ~/a\n IdentityFile \"/b c\"\n\
                Host vm*\n\tUser\tcarol\n\tIDENTITYFILE ~/a\n\tIdentityFile none\n\tIdentitiesOnly yes\n\
                \tCertificateFile ~/c-cert.pub # the certificate\nHost other\n User dan\n";
    let found = settings(text, "vm1");
    assert_eq!((found.port, found.user.as_str(), found.identities_only), (1, "bob", true));
    assert_eq!(found.identity_files, paths(&["/home/ada/a", "/b c"]));
    assert_eq!(found.certificate_files, paths(&["/home/ada/c-cert.pub"]));
    assert_eq!(settings(text, "eve@vm1:9").user, "eve");
    assert_eq!(settings(text, "eve@vm1:9").port, 9);
    assert_eq!(settings(text, "vm2").user, "carol");
    assert_eq!(settings("Host vm* !vm2\n User x\n", "vm2").user, "ada");
    assert!(settings("IdentityFile none\n", "vm1").identity_files.is_empty());
}

#[test]
fn tokens_are_replaced() {
    let found = settings(
        "HostName %h.example\nUser bob\nHostKeyAlias Key\nIdentityFile ~/%h-%r-%u-%p-%n-%i-%l-%L-%d-%k-%%\n\
         IdentityAgent ${SOCKET}.%r\nUserKnownHostsFile ~/kh \"/k h/%n\"\nGlobalKnownHostsFile none\n",
        "vm1",
    );
    assert_eq!(found.hostname, "vm1.example");
    let identity = "/home/ada/vm1.example-bob-ada-22-vm1-1000-desk.example-desk-/home/ada-key-%";
    assert_eq!(found.identity_files, paths(&[identity]));
    assert_eq!(found.identity_agent, Some(IdentityAgent::Socket("/run/agent.bob".into())));
    assert_eq!(found.user_known_hosts, paths(&["/home/ada/kh", "/k h/vm1"]));
    assert!(found.global_known_hosts.is_empty());
    assert_eq!(found.host_key_alias.as_deref(), Some("key"));
}

#[test]
fn agents_are_told_apart() {
    let agent = |text: &str| settings(&format!("IdentityAgent {text}\n"), "vm1").identity_agent;
    assert_eq!(agent("none"), Some(IdentityAgent::None));
    assert_eq!(agent("SSH_AUTH_SOCK"), None);
    assert_eq!(agent("$SOCKET"), Some(IdentityAgent::Socket("/run/agent".into())));
    assert_eq!(agent("$UNSET"), Some(IdentityAgent::None));
    assert_eq!(agent("\"~/an agent\""), Some(IdentityAgent::Socket("/home/ada/an agent".into())));
}

#[test]
fn jumps_are_read_and_the_first_of_jump_and_command_wins() {
    let jumps = |text: &str| -> Vec<String> {
        let found = settings(text, "vm1").proxy_jump;
        found.iter().map(|jump| format!("{:?} {} {:?}", jump.user, jump.host, jump.port)).collect()
    };
    assert_eq!(
        jumps("ProxyJump u@j1:22,[::1]:33,ssh://j3:44/\n"),
        ["Some(\"u\") j1 Some(22)", "None ::1 Some(33)", "None j3 Some(44)"]
    );
    assert!(jumps("ProxyJump none\nProxyJump j1\n").is_empty());
    assert!(jumps("ProxyCommand none\nProxyJump j1\n").is_empty());
    assert_eq!(jumps("ProxyJump j1\nProxyCommand nc %h %p\n").len(), 1);
    let command = |text: &str| settings(text, "bob@VM1:7").proxy_command;
    assert_eq!(command("ProxyJump none\nProxyCommand nc %h %p\n").as_deref(), Some("nc vm1 7"));
    assert_eq!(command("ProxyJump j1\nProxyCommand nc %h %p\n"), None);
    assert_eq!(command("ProxyCommand none\n"), None);
    let quoted = "HostName h\nHostKeyAlias K\nProxyCommand \"a b\"  %n %r %k 100%% $X\n";
    assert_eq!(command(quoted).as_deref(), Some("\"a b\"  VM1 bob K 100% $X"));
    assert!(error("ProxyCommand nc %C\n").contains("no token but %h"));
    assert!(error("ProxyCommand nc %").contains("no token but %h"));
    assert!(error("User \"a;rm x\"\nProxyCommand nc -l %r %h\n").contains("would not take it as a name"));
    assert!(error("User -x\nProxyCommand nc %r\n").contains("would not take it as a name"));
    assert!(error("ProxyCommand\n").contains("lacks its value"));
}

#[test]
fn the_ways_to_log_in_follow_the_settings() {
    let login = |text: &str| settings(text, "vm1").login;
    let names = |text: &str| login(text).methods.iter().map(|method| method.name()).collect::<Vec<_>>();
    assert_eq!(names(""), ["publickey", "keyboard-interactive", "password"]);
    assert_eq!(
        names("PreferredAuthentications password,gssapi-with-mic,publickey,password"),
        ["password", "publickey"]
    );
    assert_eq!(names("PubkeyAuthentication no\nChallengeResponseAuthentication no"), ["password"]);
    assert_eq!(names("PubkeyAuthentication unbound\nPasswordAuthentication no"), ["publickey", "keyboard-interactive"]);
    assert!(names("PreferredAuthentications hostbased").is_empty());
    assert!(!login("").batch_mode && login("").asks_secrets);
    assert!(login("BatchMode yes").batch_mode);
    assert!(!login("NumberOfPasswordPrompts 0").asks_secrets);
    let found = settings("HashKnownHosts yes\nAddressFamily inet6\n", "vm1");
    assert_eq!((found.hash_known_hosts, found.address_family), (true, AddressFamily::Inet6));
}

#[test]
fn match_blocks_apply_as_in_openssh() {
    let text = "Host vm1\n HostName real.lab\nMatch host REAL.*\n Port 1\nMatch originalhost vm2 user ada\n Port 2\n\
                Match user=!ada,* !localuser bob\n Port 3\nMatch all\n User last\n";
    assert_eq!(settings(text, "vm1").port, 1);
    assert_eq!(settings(text, "vm2").port, 2);
    assert_eq!(settings(text, "vm3").port, 22);
    assert_eq!(settings(text, "bob@vm3").port, 3);
    assert_eq!(settings(text, "vm3").user, "last");
}

#[test]
fn what_cannot_be_judged_is_skipped_by_name() {
    let text = "Match exec \"test -f /x\" host vm1\n Port 1\nMatch host other exec true\n Port 2\nMatch final all\n Port 3\n\
                Match canonical\n Port 4\nMatch !canonical user ada\n User b\n";
    let found = read(&[("main", text)], "vm1").expect("settings");
    assert_eq!((found.settings.port, found.settings.user.as_str()), (22, "b"));
    assert_eq!(
        found.notes,
        [
            "main:1: the block after Match exec is skipped: without an ssh program it cannot be judged",
            "main:5: the block after Match final is skipped: without an ssh program it cannot be judged",
        ]
    );
}

#[test]
fn includes_are_read_where_they_stand() {
    let files = [
        (
            "main",
            "Include none/*\nHost vm1\n Include \"conf.d/*\"\n Port 5\nHost vm2\n Include ~/two /abs\nHost *\n Port 6\n",
        ),
        ("/home/ada/.ssh/conf.d/a", "User inc\nHost vm1\n IdentityFile /only-vm1\nHost *\n IdentityFile /all\n"),
        ("/home/ada/two", "User two\n"),
        ("/abs", "Port 7\n"),
    ];
    let found = read(&files, "vm1").expect("settings").settings;
    assert_eq!((found.user.as_str(), found.port), ("inc", 5));
    assert_eq!(found.identity_files, paths(&["/only-vm1", "/all"]));
    let found = read(&files, "vm2").expect("settings").settings;
    assert_eq!((found.user.as_str(), found.port), ("two", 7));
    let found = read(&files, "vm3").expect("settings").settings;
    assert_eq!((found.user.as_str(), found.port), ("ada", 6), "a block of an included file cannot undo the outer one");
    let endless = read(&[("main", "Include loop\n"), ("/home/ada/.ssh/loop", "Include loop\n")], "vm1");
    assert_eq!(
        endless.expect_err("it never ends").to_string(),
        "/home/ada/.ssh/loop:1: Include goes deeper than 16 files"
    );
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    for (text, expected) in [
        ("\nBindAddress 10.0.0.1", "main:2: BindAddress cannot be honoured: the source address"),
        ("BindInterface eth0", "BindInterface cannot be honoured"),
        (
            "CanonicalizeHostname yes",
            "CanonicalizeHostname cannot be honoured: host names are made canonical by ssh only",
        ),
        ("KnownHostsCommand /bin/keys %H", "KnownHostsCommand cannot be honoured"),
        ("RevokedHostKeys ~/revoked", "RevokedHostKeys cannot be honoured: lists of revoked keys are not read"),
        ("ProxyUseFdpass yes", "ProxyUseFdpass cannot be honoured"),
        ("RefuseConnection \"closed\"", "RefuseConnection cannot be honoured: it says that this host must not"),
    ] {
        assert!(error(text).contains(expected), "{text}: {}", error(text));
        let elsewhere = format!("Host other\n{text}\n");
        assert!(read(&[("main", &elsewhere)], "vm1").is_ok(), "{text} concerns another host");
    }
    for harmless in [
        "AddressFamily any",
        "ControlPath ~/.ssh/%C",
        "CanonicalizeHostname no",
        "PreferredAuthentications gssapi-with-mic,publickey",
        "RevokedHostKeys none",
        "IgnoreUnknown Use*\nUseThat x",
    ] {
        assert!(read(&[("main", harmless)], "vm1").is_ok(), "{harmless}");
    }
}

#[test]
fn mistakes_are_told_with_file_and_line() {
    for (text, expected) in [
        ("\nPrt 22", "main:2: OpenSSH has no keyword \"Prt\"; did you mean Port?"),
        ("Colour blue", "main:1: OpenSSH has no keyword \"Colour\""),
        ("Port", "main:1: Port lacks its value"),
        ("Port 0", "main:1: \"0\" is no port; a port is a number from 1 to 65535"),
        ("Port 22 23", "main:1: one value is enough; \"23\" is too much"),
        ("HostName -x", "main:1: \"-x\" is no host name: it begins with a hyphen"),
        ("HostName %p", "main:1: HostName may hold no token but %h and %%"),
        ("User \"a", "main:1: a quote is not closed"),
        ("StrictHostKeyChecking maybe", "main:1: StrictHostKeyChecking cannot be \"maybe\""),
        ("IdentitiesOnly 7", "main:1: \"7\" is neither yes nor no"),
        ("BatchMode maybe", "main:1: \"maybe\" is neither yes nor no"),
        ("PubkeyAuthentication maybe", "main:1: PubkeyAuthentication cannot be \"maybe\""),
        ("NumberOfPasswordPrompts -1", "main:1: \"-1\" is no number of prompts"),
        ("AddressFamily inet4", "main:1: AddressFamily cannot be \"inet4\""),
        ("IdentityFile %C", "main:1: the token \"%C\" is not known"),
        ("IdentityFile x%", "main:1: \"x%\" ends in a lone %"),
        ("IdentityFile ${UNSET}", "main:1: the variable \"UNSET\" is not set"),
        ("IdentityFile ${UNSET", "main:1: \"${UNSET\" lacks a \"}\""),
        ("IdentityFile ~bob/x", "main:1: \"~bob/x\": the home of another user is not looked up; write it out"),
        ("ProxyJump a,-b", "main:1: ProxyJump \"a,-b\": \"-b\" is no host name: it begins with a hyphen"),
        ("Host", "main:1: Host lacks its patterns"),
        ("Match", "main:1: Match lacks its criteria"),
        ("Match host", "main:1: Match host lacks its value"),
        ("Match colour blue", "main:1: Match has no criterion \"colour\""),
        ("Match all user ada", "main:1: Match all cannot be combined with other criteria"),
        ("Include %d/x", "main:1: Include \"%d/x\": tokens are not replaced here; write it out"),
        ("Include ~bob/x", "main:1: Include \"~bob/x\": this home cannot be looked up"),
    ] {
        assert_eq!(error(text), expected);
    }
}

/// What OpenSSH 9.2 prints, shortened to lines of every kind.
const DUMP: &str = "host gpu-vm-01\nuser root\nhostname 192.0.2.11\nport 2201\naddressfamily any\nbatchmode no\n\
    canonicalizehostname false\nidentitiesonly yes\npubkeyauthentication true\nstricthostkeychecking accept-new\n\
    hostkeyalias gpu\nidentityagent SSH_AUTH_SOCK\nciphers aes128-ctr,aes192-ctr\nidentityfile ~/.ssh/%h-%r\n\
    identityfile /tmp/with space/%u\ncertificatefile ~/c1\nglobalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2\n\
    userknownhostsfile /root/.ssh/kh /tmp/k h /x\nconnecttimeout none\nrekeylimit 0 0\nproxyjump u@j1:22,[::1]:33\n";

fn dump(text: &str) -> Result<Resolved, OpenSshError> {
    parse_ssh_g(text, &address("gpu-vm-01"), &surroundings())
}

#[test]
fn the_answer_of_ssh_is_read() {
    let found = dump(DUMP).expect("an answer").settings;
    assert_eq!(
        found,
        HostSettings {
            alias: "gpu-vm-01".to_owned(),
            asked_user: None,
            asked_port: None,
            hostname: "192.0.2.11".to_owned(),
            port: 2201,
            user: "root".to_owned(),
            identity_files: paths(&["/home/ada/.ssh/192.0.2.11-root", "/tmp/with space/ada"]),
            identities_only: true,
            identity_agent: None,
            certificate_files: paths(&["/home/ada/c1"]),
            proxy_jump: vec![
                Jump { host: "j1".to_owned(), user: Some("u".to_owned()), port: Some(22) },
                Jump { host: "::1".to_owned(), user: None, port: Some(33) },
            ],
            user_known_hosts: paths(&["/root/.ssh/kh", "/tmp/k h", "/x"]),
            global_known_hosts: paths(&["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"]),
            host_key_alias: Some("gpu".to_owned()),
            host_key_checking: HostKeyChecking::AcceptNew,
            hash_known_hosts: false,
            address_family: AddressFamily::Any,
            proxy_command: None,
            login: LoginSettings::default(),
        }
    );
}

#[test]
fn an_answer_that_cannot_be_honoured_or_is_none_is_refused() {
    let with = |line: &str| dump(&format!("{line}\n{DUMP}")).map(|found| found.settings);
    for (line, expected) in [
        ("proxycommand nc %x %p", "ssh -G gpu-vm-01: ProxyCommand may hold no token but"),
        ("bindinterface eth0", "ssh -G gpu-vm-01: BindInterface cannot be honoured"),
        ("addressfamily inet8", "ssh -G gpu-vm-01: AddressFamily cannot be"),
        ("hostname a;b", "ssh -G gpu-vm-01: \"a;b\" is no host name"),
    ] {
        let error = with(line).expect_err(line).to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(with("canonicalizehostname true").is_ok(), "ssh has already done it");
    assert!(with("somethingnew of a later ssh").is_ok());
    assert_eq!(
        dump("usage: ssh\n").expect_err("no answer").to_string(),
        "ssh -G gpu-vm-01: the answer lacks hostname, so it is none of ssh's"
    );
    let bare = "hostname h\nuser u\nport 22\nstricthostkeychecking false\nuserknownhostsfile none\n";
    let found = dump(bare).expect("an answer").settings;
    assert!(found.identity_files.is_empty() && found.user_known_hosts.is_empty());
}

/// A configuration of every kind of line, to be mutated.
const FILE: &str = "Include conf.d/*\n# comment\nHost vm1 *.lab !vm2\n HostName %h.example\n Port=2222\n User = \"bob b\"\n\
    IdentityFile ~/.ssh/%h-%r-${SOCKET}\n IdentitiesOnly yes\n IdentityAgent $SOCKET\n CertificateFile 'a b'\n\
    ProxyJump u@j1:22,[::1]:33\n UserKnownHostsFile ~/kh \"/k h\"\n HostKeyAlias x\n StrictHostKeyChecking off\n\
    Match host vm* !user root exec \"true\"\n Port 3\nMatch all\n ControlPath ~/%C\n IgnoreUnknown x*\n xyz 1\n";

/// `seed` with pieces cut out, doubled, swapped and replaced.
fn mutated(seed: &'static str) -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "",
        " ",
        "\n",
        "\"",
        "'",
        "=",
        "%",
        "$",
        "${",
        "}",
        "~",
        "!",
        "*",
        ",",
        "\\",
        "#",
        "none",
        "@",
        ":",
        "[",
        "]",
        "\u{0}",
        "ä",
        "\u{1b}[31m",
        "Match ",
        "Host ",
        "Include ",
        "99999999999",
    ]);
    let edit = (0..=seed.len(), 0..12_usize, piece);
    prop::collection::vec(edit, 0..6).prop_map(move |edits| {
        let mut text = seed.to_owned();
        for (at, length, piece) in edits {
            let mut start = at.min(text.len());
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + length).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            text.replace_range(start..end, piece);
        }
        text
    })
}

/// What must hold of all settings, however strange their source.
fn sound(settings: &HostSettings) -> bool {
    !settings.hostname.is_empty()
        && !settings.hostname.starts_with('-')
        && !settings.hostname.chars().any(|character| character.is_control() || character.is_whitespace())
        && settings.port != 0
        && settings.proxy_jump.iter().all(|jump| !jump.host.is_empty() && !jump.host.starts_with('-'))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_of_ssh_breaks_the_reader(text in mutated(DUMP)) {
        match dump(&text) {
            Ok(found) => prop_assert!(sound(&found.settings), "{:?}", found),
            Err(error) => prop_assert!(error.to_string().starts_with("ssh -G gpu-vm-01: ")),
        }
    }

    #[test]
    fn no_configuration_file_breaks_the_reader(text in mutated(FILE), asked in "(vm1|a\\.lab|root@vm2:7)") {
        let files = [("main", text.as_str()), ("/home/ada/.ssh/conf.d/a", FILE)];
        match read(&files, &asked) {
            Ok(found) => prop_assert!(sound(&found.settings), "{:?}", found),
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.starts_with("main:") || error.starts_with("/home/ada/.ssh/conf.d/a:"), "{}", error);
                prop_assert!(!error.contains('\u{1b}'), "{:?}", error);
            }
        }
    }
}
