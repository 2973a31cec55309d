//! `check` and what belongs to it as a script uses it: what it prints and where, how it ends, how long it takes at most.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

/// The program in a folder that is its home, too.
fn program(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmascope"));
    command.args(arguments).env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").current_dir(home).stdin(Stdio::null());
    command
}

fn run(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = program(home, arguments).output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit status"), text(stdout), text(stderr))
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("a JSON document")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One of the two hosts has no adapter that is tagged for PVRDMA.
const UNTAGGED: &[&str] = &["check", "pv-a", "pv-b", "esx01", "esx02", "--scenario", "vmknic-untagged"];

/// Saves the lab in a scenario in a file of this name; the words that mean its hosts and the pair with PVRDMA.
fn saved(home: &Path, scenario: &str, name: &str) -> Vec<String> {
    let (status, out, err) = run(home, &["snapshot", "--scenario", scenario, "--format", "json", "--out", name]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "", ""));
    ["esx01", "esx02", "pv-a", "pv-b"].map(|target| format!("offline:{name}#{target}")).to_vec()
}

#[test]
fn the_time_that_there_is_bounds_connecting_too() {
    let home = home();
    // Somebody answers and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = format!("root@127.0.0.1:{}", silent.local_addr().expect("an address").port());
    let began = Instant::now();
    let (status, out, _) = run(home.path(), &["check", &target, "--within", "1"]);
    assert_eq!(status, 3, "{out}");
    assert!(one_line(&out).contains("not reached: was not reached within 1 s"), "{out}");
    assert!(began.elapsed() < Duration::from_secs(9), "less than a connection has: {:?}", began.elapsed());
}

#[test]
fn which_hosts_qualify_and_where_each_vm_keeps_rdma_is_printed() {
    let home = home();
    let (status, out, err) = run(home.path(), UNTAGGED);
    assert_eq!((status, err.as_str()), (1, ""));
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let row = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(&format!("  {name} ")) && line.contains("  ok"));
        one_line(line.unwrap_or_else(|| panic!("{name}: {out}")))
    };
    assert!(one_line(&out).contains("HCA sole tag rule VLAN PFC nspc ver"), "{out}");
    assert_eq!(row("esx01").split(' ').nth(3), Some("ok"), "{out}");
    assert_eq!(row("esx02").split(' ').nth(3), Some("FAIL"), "{out}");
    for expected in [
        "esx02 tag FAIL: ",
        "pv-a (PVRDMA) runs on esx01, which qualifies",
        "TCP fallback on esx02: ",
        "pv-b (PVRDMA) runs on esx02, which does not qualify (TCP there)",
        "keeps RDMA on esx01",
        "DRS rules: not observable over SSH, only vCenter tells; [[drs]] in the configuration file declares them",
    ] {
        assert!(one_line(&out).contains(expected), "{expected}: {out}");
    }
    let (_, out, _) = run(home.path(), &[UNTAGGED, &["--format", "json"]].concat());
    let document = json(&out);
    let qualification = &document["qualification"];
    assert_eq!((&qualification["needed"], &qualification["declared"]["drs"]), (&true.into(), &Json::Null));
    let hosts = qualification["hosts"].as_array().expect("hosts");
    let status = |name: &str| hosts.iter().find(|host| host["host"] == name).expect("it is there")["status"].clone();
    assert_eq!((status("esx01"), status("esx02")), ("pass".into(), "fail".into()));
    let vms = qualification["vms"].as_array().expect("VMs");
    let vm = vms.iter().find(|vm| vm["name"] == "pv-a").expect("it is there");
    assert_eq!((&vm["here"], &vm["hosts"][0]["outcome"]), (&"pass".into(), &"tcp-fallback".into()));
    assert!(vm["hosts"][0]["evidence"][0]["line"].is_u64(), "{vm}");
    // Guests alone tell nothing of hosts.
    let (_, out, _) = run(home.path(), &["check", "pv-a", "--scenario", "healthy", "--format", "json"]);
    assert_eq!(json(&out)["qualification"], Json::Null);
    let (_, out, _) = run(home.path(), &["check", "pv-a", "--scenario", "healthy"]);
    assert!(!out.contains("qualify"), "{out}");
}

#[test]
fn what_only_vcenter_knows_is_taken_as_declared() {
    let home = home();
    let words = saved(home.path(), "with-hosts", "lab.json");
    let declared = "[[drs]]\nkind = \"keep-together\"\nvms = [\"pv-a\", \"pv-b\"]\n[ha]\nrestart = [\"pv-a\"]\n\
                    [[port_group]]\nkey = \"dvportgroup-0\"\nname = \"none\"\n";
    std::fs::write(home.path().join("c.toml"), declared).expect("a file");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let check = |more: &[&str]| run(home.path(), &[&["--config", "c.toml", "check"], &words[..], more].concat());
    let (status, out, err) = check(&["--fail-on", "warn"]);
    assert_eq!((status, err.as_str()), (1, ""), "{out}");
    for expected in [
        "warn proved VMs run against the rule keep-together of line 1: pv-a on offline:lab.json#esx01, pv-b on",
        "declared: warn VMs run against the rule keep-together of line 1",
        "port group dvportgroup-0, declared as none: no port of a host that was read is in it",
    ] {
        assert!(one_line(&out).contains(expected), "{expected}: {out}");
    }
    assert!(!one_line(&out).contains("DRS rules: not observable"), "{out}");
    let document = json(&check(&["--format", "json"]).1);
    let declared = &document["qualification"]["declared"];
    assert_eq!((&declared["drs"][0]["kind"], &declared["ha_restart"][0]), (&"keep-together".into(), &"pv-a".into()));
    let groups = declared["port_groups"].as_array().expect("groups");
    assert!(groups.iter().any(|group| group["seen"] == true && group["name"] == Json::Null), "{declared}");
    assert!(groups.iter().any(|group| group["seen"] == false && group["name"] == "none"), "{declared}");
}

#[test]
fn the_same_snapshot_gives_the_same_document() {
    let home = home();
    let words = saved(home.path(), "vmknic-untagged", "lab.json");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let printed = |format: &str| {
        let (status, out, err) = run(home.path(), &[&["check", "--format", format], &words[..]].concat());
        assert_eq!((status, err.as_str()), (1, ""), "{out}");
        let is_time = |line: &&str| !line.starts_with("  \"at\": ") && !line.contains(" timestamp=\"");
        out.lines().filter(is_time).collect::<Vec<_>>().join("\n")
    };
    for format in ["json", "text", "junit"] {
        let first = printed(format);
        assert!(first.len() > 5000, "{format}: {first}");
        for _ in 0..2 {
            assert_eq!(first, printed(format), "{format}");
        }
    }
}

#[test]
fn what_a_site_accepts_decides_the_status_until_its_day() {
    let home = home();
    let check = |text: &str, more: &[&str]| {
        std::fs::write(home.path().join("c.toml"), text).expect("a file");
        run(home.path(), &[&["--config", "c.toml"], UNTAGGED, more].concat())
    };
    let accepts = |target: &str, expires: &str| {
        format!(
            "[[suppress]]\ncheck = \"host.pvrdma-vmknic\"\ntarget = \"{target}\"\nreason = \"in March\"\n{expires}\n"
        )
    };
    let (status, out, _) = check(&accepts("esx02", ""), &["--fail-on", "warn"]);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("Accepted here") && out.contains("in March (c.toml:1)"), "{out}");
    let (status, out, _) = check(&accepts("esx02", "expires = 2026-01-31"), &[]);
    assert_eq!(status, 1);
    assert!(one_line(&out).contains("what accepts host.pvrdma-vmknic is over since 2026-01-31 (in March)"), "{out}");
    assert_eq!(check(&accepts("esx01", ""), &[]).0, 1, "on another host");
    for (text, expected) in [
        ("[[suppress]]\ncheck = \"host.pvrdma-vmknic\"\n", "c.toml:1: [[suppress]] has no reason"),
        ("\n[[suppress]]\ncheck = \"no.such\"\nreason = \"x\"\n", "c.toml:2: unknown check \"no.such\""),
        ("[[suppress]]\ncheck = \"x\"\nreason = \"x\"\nexpires = \"soon\"\n", "c.toml:4: \"expires\" must be a day"),
        ("[[drs]]\nkind = \"keep\"\n", "c.toml:2: unknown kind \"keep\" of a rule"),
    ] {
        let (status, out, err) = check(text, &[]);
        assert_eq!((status, out.as_str()), (2, ""), "{text}");
        assert!(err.contains(expected), "{text}: {err}");
    }
}

#[test]
fn several_targets_of_all_forms_are_checked_side_by_side() {
    let home = home();
    let words = saved(home.path(), "ruleset-closed", "lab.json");
    let (status, out, _) =
        run(home.path(), &["check", &words[0], "offline:absent", "local", "local", "--format", "json"]);
    let document = json(&out);
    let targets = document["targets"].as_array().expect("targets");
    let told: Vec<(&str, &str, bool)> = targets
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().expect("a text");
            (text("name"), text("kind"), one["reachable"] == true)
        })
        .collect();
    let expected =
        [("offline:lab.json#esx01", "esxi", true), ("offline:absent", "unknown", false), ("local", "local", true)];
    assert_eq!(told, expected, "in their order, each once");
    assert_eq!(document["summary"]["complete"], false);
    // A finding comes before what is missing.
    let is_failed = document["summary"]["fail"].as_u64().is_some_and(|count| count > 0);
    assert_eq!(status, if is_failed { 1 } else { 3 });
    let (status, out, _) = run(home.path(), &["check", "offline:absent"]);
    assert_eq!(status, 3);
    assert!(one_line(&out).contains("offline:absent: not reached: absent cannot be read: no such file"), "{out}");
}

#[test]
fn a_reader_that_goes_away_is_no_trouble_and_a_pipe_has_no_colours() {
    let home = home();
    for arguments in [UNTAGGED, &["checks"], &["checks", "--format", "json"]] {
        let mut child = program(home.path(), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut first = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
        let mut complaint = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut complaint).expect("text");
        let status = child.wait().expect("it ends").code().expect("an exit status");
        assert_eq!((status, complaint.as_str()), (i32::from(arguments == UNTAGGED), ""), "{arguments:?}");
        assert!(!first.contains('\u{1b}'), "{first}");
    }
    let (_, out, _) = run(home.path(), UNTAGGED);
    assert!(!out.contains('\u{1b}'), "{out}");
}
