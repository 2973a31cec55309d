//! Compares the own reader of OpenSSH's configuration files with `ssh -G` on generated configurations. Says that it
//! was skipped where no ssh is installed.

#![allow(clippy::print_stdout)] // the test says what it compared, or that it was skipped

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use rdmascope::config::Address;
use rdmascope::config::openssh::{HostSettings, OpenSshError};
use rdmascope::engine::openssh::{HostResolver, ResolveError};

/// How many configurations are compared.
const CONFIGURATIONS: usize = 250;
/// Names that each configuration is asked about.
const NAMES: [&str; 5] = ["vm1", "VM2.Lab", "db", "bob@vm1:2200", "fe80::1"];

fn setting() -> impl Strategy<Value = String> {
    let chosen = |lines: &[&str]| prop::sample::select(lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>());
    prop_oneof![
        chosen(&["HostName %h.example", "HostName=10.0.0.7", "hostname \"A.B\"", "HostName vm1"]),
        chosen(&[
            "Port 2201",
            "port=2202",
            "Port = 2203",
            "PORT\t2204",
            "Port \"2205\" # comment",
            "Port 0",
            "Port 70000"
        ]),
        chosen(&["User root", "User = \"bob\"", "User lab", "User 'x y'"]),
        chosen(&[
            "IdentityFile ~/a",
            "IdentityFile \"/b c/%%x\"",
            "IdentityFile none",
            "identityfile ~/a",
            "IdentityFile d\\ e"
        ]),
        chosen(&["IdentitiesOnly yes", "IdentitiesOnly no", "IdentitiesOnly maybe"]),
        chosen(&[
            "IdentityAgent none",
            "IdentityAgent SSH_AUTH_SOCK",
            "IdentityAgent ~/agent",
            "IdentityAgent $NO_SUCH_NAME"
        ]),
        chosen(&["CertificateFile ~/c", "CertificateFile \"/d e\""]),
        chosen(&[
            "ProxyJump none",
            "ProxyJump j1",
            "ProxyJump u@j1:22,[::1]:33",
            "ProxyJump ssh://x@y:44",
            "ProxyCommand none"
        ]),
        chosen(&["UserKnownHostsFile ~/kh", "UserKnownHostsFile /k1 \"/k 2\"", "UserKnownHostsFile none"]),
        chosen(&["UserKnownHostsFile /kh-%h-%n-%k-%p-%r-%u-%i-%d-%l-%L"]),
        chosen(&["GlobalKnownHostsFile /g1 /g2", "GlobalKnownHostsFile none"]),
        chosen(&["HostKeyAlias Key", "HostKeyAlias other"]),
        chosen(&[
            "StrictHostKeyChecking yes",
            "StrictHostKeyChecking off",
            "StrictHostKeyChecking accept-new",
            "StrictHostKeyChecking x"
        ]),
        chosen(&["ProxyCommand nc %h %p", "BindInterface eth7", "AddressFamily inet", "PubkeyAuthentication no"]),
        chosen(&[
            "ProxyCommand \"a b\"  -x %r %n # no comment",
            "BatchMode yes",
            "HashKnownHosts yes",
            "BindAddress ::1"
        ]),
        chosen(&[
            "KbdInteractiveAuthentication no",
            "ChallengeResponseAuthentication yes",
            "PasswordAuthentication no",
            "NumberOfPasswordPrompts 0",
            "PreferredAuthentications password,publickey",
            "PreferredAuthentications gssapi-with-mic"
        ]),
        chosen(&[
            "Compression yes",
            "ControlPath ~/%C",
            "ServerAliveInterval 5",
            "SendEnv LANG",
            "# comment",
            "",
            "Nonsense x"
        ]),
        chosen(&["IgnoreUnknown Non*", "Include more/*.conf", "Include \"one.conf\""]),
    ]
}

fn block() -> impl Strategy<Value = String> {
    let heads = vec![
        "Host vm1",
        "Host vm* !vm1",
        "Host *.Lab *.lab",
        "host=*",
        "Host \"db\" # comment",
        "Match all",
        "Match host vm1,*.lab",
        "Match host=*.example user root",
        "Match originalhost vm2.* !user root",
        "Match user bob,lab",
        "Match !host vm1 localuser *",
        "Match user !root,*",
        "Match canonical",
        "Match host 10.0.0.7",
    ];
    (prop::sample::select(heads), prop::collection::vec(setting(), 0..6)).prop_map(|(head, settings)| {
        let mut text = format!("{head}\n");
        for setting in settings {
            let _ = writeln!(text, "  {setting}");
        }
        text
    })
}

fn configuration() -> impl Strategy<Value = String> {
    (prop::collection::vec(setting(), 0..2), prop::collection::vec(block(), 1..5))
        .prop_map(|(first, blocks)| format!("{}\n{}", first.join("\n"), blocks.concat()))
}

/// Settings without what legitimately differs: the key files that are tried when none is named depend on the version.
fn comparable(mut settings: HostSettings, home: &Path) -> HostSettings {
    if settings.identity_files.first() == Some(&home.join(".ssh/id_rsa")) {
        settings.identity_files.clear();
    }
    settings
}

#[tokio::test]
async fn the_own_reader_agrees_with_ssh() {
    let installed = std::process::Command::new("ssh").arg("-V").output().is_ok_and(|output| output.status.success());
    if !installed {
        println!("skipped: no ssh is installed to compare with");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("more")).expect("a folder");
    let home = rdmascope::engine::openssh::surroundings().home;
    let (asking, included) = (folder.path().join("config"), folder.path().display().to_string());
    let with_ssh = HostResolver::new(Some(asking.clone()));
    let without = HostResolver::new(Some(asking.clone())).with_program("/no/such/ssh", Duration::from_secs(5));
    let mut runner = TestRunner::deterministic();
    let (mut same, mut both_refuse) = (0, 0);
    for number in 0..CONFIGURATIONS {
        for (name, strategy) in
            [("config", configuration().boxed()), ("more/a.conf", block().boxed()), ("one.conf", block().boxed())]
        {
            let text = strategy.new_tree(&mut runner).expect("a value").current();
            // Only the main file includes others, and by their true place.
            let text = if name == "config" {
                text.replace("Include more/", &format!("Include {included}/more/"))
                    .replace("Include \"one", &format!("Include \"{included}/one"))
            } else {
                text.lines().filter(|line| !line.contains("Include")).flat_map(|line| [line, "\n"]).collect()
            };
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        for name in NAMES {
            let address = Address::parse(name).expect("a name");
            let (asked, read) = (with_ssh.resolve(&address).await, without.resolve(&address).await);
            let context = || {
                let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
                format!(
                    "configuration {number} asked about {name}\n{}\n-- more/a.conf\n{}\n-- one.conf\n{}\nssh: {asked:?}\nown: {read:?}",
                    text("config"),
                    text("more/a.conf"),
                    text("one.conf")
                )
            };
            match (&asked, &read) {
                (Ok(asked), Ok(read)) => {
                    let (asked, read) =
                        (comparable(asked.settings.clone(), &home), comparable(read.settings.clone(), &home));
                    assert_eq!(read, asked, "{}", context());
                    same += 1;
                }
                (
                    Err(ResolveError::Configuration(OpenSshError::Refused { keyword: theirs, .. })),
                    Err(ResolveError::Configuration(OpenSshError::Refused { keyword: ours, .. })),
                ) => {
                    assert_eq!(ours, theirs, "{}", context());
                    both_refuse += 1;
                }
                (Err(_), Err(_)) => both_refuse += 1,
                _ => panic!("one refuses and the other does not: {}", context()),
            }
        }
    }
    println!("compared: {same} agree, {both_refuse} are refused by both");
    assert!(same > CONFIGURATIONS && both_refuse > 100, "the configurations are too dull: {same}, {both_refuse}");
}
