//! `become = "sudo"` on this machine, with a `sudo` and an `rdma` of our own on the search path. Run by root, the program
//! is started as another user: root needs no `sudo`.

#![allow(clippy::print_stdout, reason = "a test that could not run says so")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const PAIRS: &str =
    r#"[{"ifindex":0,"ifname":"rxe0","lqpn":19,"type":"RC","state":"RTS","pid":7,"comm":"ib_write_bw"}]"#;

fn program(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made to run");
}

/// A snapshot of this machine by a user without privileges; `None` where this machine gives none.
fn snapshot(folder: &Path) -> Option<Value> {
    let output = Command::new("id").arg("-u").output().ok()?;
    let is_root = String::from_utf8_lossy(&output.stdout).trim() == "0";
    let binary = folder.join("rdmascope");
    if !binary.exists() {
        // Other users may not look into the folder of the build.
        std::fs::copy(env!("CARGO_BIN_EXE_rdmascope"), &binary).expect("copied");
    }
    let mut command = Command::new(if is_root { "setpriv".as_ref() } else { binary.as_os_str() });
    if is_root {
        command.args(["--reuid=daemon", "--regid=daemon", "--clear-groups", "--"]).arg(&binary);
    }
    let output = command
        .arg("--config")
        .arg(folder.join("config.toml"))
        .args(["snapshot", "--format", "json"])
        .env("HOME", folder)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .output()
        .ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn calls(folder: &Path) -> usize {
    let log = std::fs::read_to_string(folder.join("log")).expect("the log of sudo");
    log.lines().filter(|line| line.ends_with("/rdma -j res show qp")).count()
}

#[test]
fn this_machine_is_read_by_sudo_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    std::fs::set_permissions(here, std::fs::Permissions::from_mode(0o755)).expect("opened to others");
    std::fs::write(here.join("log"), "").expect("written");
    std::fs::set_permissions(here.join("log"), std::fs::Permissions::from_mode(0o666)).expect("opened to others");
    let inventory = "[[target]]\nname = \"here\"\nkind = \"local\"\nbecome = \"sudo\"\n";
    std::fs::write(here.join("config.toml"), inventory).expect("written");
    program(here, "rdma", &format!("if [ -n \"$AS_ROOT\" ]; then echo '{PAIRS}'; else echo '[]'; fi"));
    let log = format!("echo \"$*\" >>'{}'\nshift 2\n", here.join("log").display());
    program(here, "sudo", &format!("{log}AS_ROOT=1 exec \"$@\""));
    let Some(document) = snapshot(here) else {
        println!("skipped: root cannot start a program as another user here (no setpriv)");
        return;
    };
    let facts = &document["targets"][0]["facts"];
    assert_eq!(facts["guest"]["foreign-queue-pairs"]["state"], "known", "{facts}");
    let command = format!("sudo -n -- {}/rdma -j res show qp", here.display());
    assert_eq!(facts["guest"]["foreign-queue-pairs"]["command"], command);
    assert!(facts.to_string().contains("ib_write_bw"), "{facts}");
    assert_eq!(calls(here), 1);

    program(here, "sudo", &format!("{log}echo 'sudo: a password is required' >&2\nexit 1"));
    let document = snapshot(here).expect("a second one");
    let guest = &document["targets"][0]["facts"]["guest"];
    assert_eq!(guest["foreign-queue-pairs"]["state"], "needs-privilege", "{guest}");
    let why = guest["read-by-root"]["why"].as_str().expect("a reason");
    assert!(why.contains("sudo refused") && why.contains("NOPASSWD:"), "{why}");
    assert_eq!(calls(here), 2);
}
