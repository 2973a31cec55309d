//! The embedded lab as a user has it: its scenarios from scripts, the lab alone for other programs and for a real `ssh`,
//! and the console on it.

#[path = "demo/healthy.rs"]
mod healthy;
mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use support::pty::{Console, Size};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rdmascope");
/// More than any of this ever needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program without anything of whoever runs the tests: no home, no search path, no agent.
fn program(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_clear().env("TMPDIR", temporary).env("LANG", "C.UTF-8").stdin(Stdio::null());
    command
}

fn run(temporary: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = program(temporary, arguments).output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit status"), text(stdout), text(stderr))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("a JSON document")
}

/// `demo --serve`, ended by its number.
struct Served {
    child: Child,
    /// What it printed: a configuration file.
    inventory: String,
    temporary: tempfile::TempDir,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let temporary = folder();
        let mut command = program(temporary.path(), &[&["demo", "--serve"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut inventory = String::new();
        // It goes on running, so its output has no end: the last target is the last thing it says.
        while !inventory.contains("name = \"vf-a\"\nkind = \"linux\"\ntags = ") {
            assert_ne!(lines.read_line(&mut inventory).expect("text"), 0, "it ended: {inventory}");
        }
        // Whoever reads the inventory may go away; the lab stays.
        drop(lines);
        Self { child, inventory, temporary }
    }

    fn write(&self, more: &str) -> PathBuf {
        let path = self.temporary.path().join("demo.toml");
        std::fs::write(&path, format!("{more}{}", self.inventory)).expect("written");
        path
    }

    fn ssh_config(&self) -> PathBuf {
        let table: toml::Table = toml::from_str(&self.inventory).expect("a configuration file");
        PathBuf::from(table["ssh_config"].as_str().expect("a path"))
    }

    /// Ends it with a signal and gives its status.
    fn end(mut self, signal: Signal) -> (Option<i32>, tempfile::TempDir) {
        let id = i32::try_from(self.child.id()).expect("a number");
        kill_process(Pid::from_raw(id).expect("not zero"), signal).expect("it lives");
        let status = self.child.wait().expect("it ends").code();
        let temporary = std::mem::replace(&mut self.temporary, folder());
        (status, temporary)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn scenarios_are_listed_for_people_and_for_scripts() {
    let temporary = folder();
    let (status, text, err) = run(temporary.path(), &["demo", "--list"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let (status, out, _) = run(temporary.path(), &["demo", "--list", "--format", "json"]);
    let document = json(&out);
    assert_eq!((status, &document["schema"]), (0, &"rdmascope.scenarios/1".into()));
    let scenarios = document["scenarios"].as_array().expect("a list");
    assert_eq!(text.lines().count(), scenarios.len());
    for scenario in scenarios {
        let name = scenario["name"].as_str().expect("a name");
        assert!(
            text.lines()
                .any(|line| line.starts_with(name) && line.ends_with(scenario["title"].as_str().expect("text")))
        );
        let faults = scenario["faults"].as_array().expect("a list");
        // Two of them break nothing.
        let is_harmless = faults.is_empty() || ["slow", "reboot"].contains(&name);
        assert_eq!(is_harmless, scenario["expected_causes"].as_array().expect("a list").is_empty(), "{name}");
        for fault in faults {
            assert!(
                fault["kind"].is_string() && fault["host"].is_string() && fault["after_seconds"].is_array(),
                "{fault}"
            );
        }
    }
    for needed in ["healthy", "link-down", "packet-loss", "hang", "slow", "cut", "wrong-host-key", "garbage", "reboot"]
    {
        assert!(scenarios.iter().any(|scenario| scenario["name"] == needed), "{needed}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_snapshot_of_a_scenario_needs_no_terminal_no_home_and_no_ssh() {
    let temporary = folder();
    let read = |arguments: &[&str]| {
        let arguments = [&["snapshot", "--format", "json", "--scenario"], arguments].concat();
        let (status, out, err) = run(temporary.path(), &arguments);
        assert_eq!(err, "", "{arguments:?}");
        (status, json(&out))
    };
    let (status, healthy) = read(&["healthy"]);
    let names: Vec<&str> =
        healthy["targets"].as_array().expect("a list").iter().filter_map(|target| target["name"].as_str()).collect();
    assert_eq!((status, names), (0, vec!["pv-a", "pv-b", "hca-a", "hca-b", "vf-a"]));
    assert!(healthy["targets"].as_array().expect("a list").iter().all(|target| target["reachable"] == true));
    let (status, two) = read(&["healthy", "vf-a", "pv-a", "vf-a"]);
    assert_eq!((status, &two["targets"][0]["name"], &two["targets"][1]["name"]), (0, &"vf-a".into(), &"pv-a".into()));
    let (status, refused) = read(&["wrong-host-key"]);
    let problems: Vec<&str> = refused["targets"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|target| target["problem"]["what"].as_str())
        .collect();
    assert_eq!((status, problems.len()), (3, 1), "{problems:?}");
    assert!(problems[0].contains("HOST KEY CHANGED"), "{problems:?}");
    let (status, cut) = read(&["cut"]);
    let away = cut["targets"].as_array().expect("a list").iter().filter(|target| target["reachable"] == false).count();
    assert_eq!((status, away), (3, 1));
    assert_eq!(entries(temporary.path()), Vec::<PathBuf>::new(), "nothing is left of the lab");
}

#[test]
fn the_lab_alone_serves_this_program_by_its_inventory() {
    let served = Served::start(&["--seed", "3"]);
    let config = served.write("glyphs = \"ascii\"\n");
    let config = config.to_str().expect("UTF-8");
    let elsewhere = folder();
    let (status, out, err) = run(elsewhere.path(), &["--config", config, "snapshot", "--format", "json"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(json(&out)["targets"].as_array().map(Vec::len), Some(5), "{out}");
    let (_, shown, _) = run(elsewhere.path(), &["--config", config, "config", "show"]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&format!("ssh_config {} ({config}:", served.ssh_config().display())), "{shown}");
    // The option wins over the setting.
    let nobody = elsewhere.path().join("nobody");
    std::fs::write(&nobody, "Host *\n  ProxyJump none\n  HostName 127.0.0.1\n  Port 1\n").expect("written");
    let arguments = ["--config", config, "--ssh-config", nobody.to_str().expect("UTF-8"), "snapshot", "pv-a"];
    assert_eq!(run(elsewhere.path(), &arguments).0, 3);
    let (status, temporary) = served.end(Signal::TERM);
    assert_eq!(status, Some(128 + 15));
    let left: Vec<PathBuf> = entries(temporary.path()).into_iter().filter(|path| path.is_dir()).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    let (status, _, err) = run(elsewhere.path(), &["--config", config, "snapshot", "pv-a"]);
    assert_eq!(status, 2, "the file that the configuration names is gone");
    assert!(err.contains("demo.toml:") && err.contains("ssh_config cannot be read"), "{err}");
}

#[test]
fn a_setting_names_openssh_s_file_from_its_own_folder() {
    let home = folder();
    let config = home.path().join("config.toml");
    std::fs::write(&config, "ssh_config = \"lab/ssh_config\"\n").expect("written");
    let config = config.to_str().expect("UTF-8");
    let (status, _, err) = run(home.path(), &["--config", config, "snapshot", "somebody"]);
    let expected = home.path().join("lab/ssh_config");
    let expected = format!("rdmascope: {config}:1: {} cannot be read: no such file or directory\n", expected.display());
    assert_eq!((status, err), (2, expected));
}

#[test]
fn every_signal_that_means_the_end_ends_the_lab() {
    for (signal, number) in [(Signal::INT, 2), (Signal::HUP, 1)] {
        let (status, temporary) = Served::start(&[]).end(signal);
        assert_eq!(status, Some(128 + number));
        assert_eq!(entries(temporary.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_person_can_look_around_with_ssh_and_execute_nothing() {
    let served = Served::start(&[]);
    let file = served.ssh_config();
    let ssh = |arguments: &[&str], input: Stdio| -> Option<(Option<i32>, String, String)> {
        let mut command = Command::new("ssh");
        command.arg("-F").arg(&file).args(arguments).stdin(input).env_remove("SSH_AUTH_SOCK");
        let Ok(output) = command.output() else {
            assert!(std::env::var_os("RDMASCOPE_NO_SKIP").is_none(), "there is no ssh here, and skipping is off");
            let _ = writeln!(std::io::stderr(), "skipped: no ssh");
            return None;
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some((output.status.code(), text(output.stdout), text(output.stderr)))
    };
    let Some(answer) = ssh(&["pv-a", "uname", "-s"], Stdio::null()) else { return };
    assert_eq!(answer, (Some(0), "Linux\n".to_owned(), String::new()));
    for name in ["pv-b", "hca-a", "hca-b", "vf-a"] {
        assert_eq!(ssh(&[name, "uname -s"], Stdio::null()).expect("it is there").1, "Linux\n", "{name}");
    }
    let witness = served.temporary.path().join("witness");
    let shown = witness.display();
    for command in [format!("echo `touch {shown}`"), format!("echo $(touch {shown})"), format!("touch {shown}")] {
        let (status, out, err) = ssh(&["pv-a", &command], Stdio::null()).expect("it is there");
        assert!(status.is_some_and(|status| status != 0) && out.is_empty() && !err.is_empty(), "{command}: {out}{err}");
    }
    assert!(!witness.exists());
    let (status, out, _) = ssh(&["-tt", "pv-a"], Stdio::null()).expect("it is there");
    assert!(status == Some(1) && out.contains("executes nothing"), "{status:?} {out}");
    let (status, _, _) = ssh(&["-s", "pv-a", "sftp"], Stdio::null()).expect("it is there");
    assert_ne!(status, Some(0), "no subsystem");
    let (status, _, err) = ssh(&["-W", "127.0.0.1:22", "pv-a"], Stdio::null()).expect("it is there");
    assert!(status != Some(0) && err.contains("prohibited"), "nothing is forwarded: {err}");
    let (status, _, err) = ssh(
        &[
            "-o",
            "IdentityFile=none",
            "-o",
            "BatchMode=yes",
            "-l",
            "root",
            "-F",
            "none",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-p",
            &port(&file),
            "127.0.0.1",
            "uname",
        ],
        Stdio::null(),
    )
    .expect("it is there");
    assert!(status == Some(255) && err.contains("Permission denied (publickey)"), "{status:?} {err}");
}

/// The first port of the lab.
fn port(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a file");
    text.lines().find_map(|line| line.trim().strip_prefix("Port ").map(str::to_owned)).expect("a port")
}

#[test]
fn a_script_that_goes_away_while_it_reads_leaves_no_lab() {
    let temporary = folder();
    let mut child = program(temporary.path(), &["demo", "--serve"]).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut byte = [0];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut byte).expect("it begins");
    let id = i32::try_from(child.id()).expect("a number");
    // A signal that comes at once is not lost.
    kill_process(Pid::from_raw(id).expect("not zero"), Signal::TERM).expect("it lives");
    assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15));
    assert_eq!(entries(temporary.path()), Vec::<PathBuf>::new());
}

/// The console on the lab.
fn console(temporary: &Path, arguments: &[&str]) -> Console {
    let folder = temporary.to_str().expect("UTF-8");
    let environment = [
        ("TMPDIR", folder),
        ("HOME", ""),
        // The passwords of the hosts come from `cat`.
        ("PATH", "/usr/bin:/bin"),
        ("SSH_AUTH_SOCK", ""),
        ("XDG_CONFIG_HOME", folder),
        ("XDG_STATE_HOME", folder),
        ("LANG", "C.UTF-8"),
    ];
    Console::start(PROGRAM, &[&["demo"], arguments].concat(), Size::DESIGN, &environment)
}

#[test]
fn the_console_shows_the_lab_and_leaves_nothing() {
    let temporary = folder();
    let mut console = console(temporary.path(), &[]);
    console.wait_for("all nine", PATIENCE, |view| view.has_row(&["rdmascope", "demo", "9 up"]));
    assert_eq!(entries(temporary.path()).len(), 1, "the keys lie there while it runs");
    console.keys("q");
    assert!(console.wait_for_end(PATIENCE).success());
    assert_eq!(entries(temporary.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_console_that_is_told_to_end_takes_its_lab_along() {
    let temporary = folder();
    let mut console = console(temporary.path(), &[]);
    console.wait_for("the console", PATIENCE, |view| view.has_row(&["rdmascope", "demo"]));
    kill_process(Pid::from_raw(console.id()).expect("not zero"), Signal::TERM).expect("it lives");
    assert!(!console.wait_for_end(PATIENCE).success());
    let deadline = Instant::now() + PATIENCE;
    while !entries(temporary.path()).is_empty() {
        assert!(Instant::now() < deadline, "{:?} is left", entries(temporary.path()));
    }
}

#[test]
fn a_scenario_happens_on_the_screen() {
    let temporary = folder();
    let console = console(temporary.path(), &["--scenario", "wrong-host-key", "--seed", "5"]);
    console.wait_for("all five", PATIENCE, |view| view.has_row(&["rdmascope", "demo", "5 up"]));
    console.wait_for("one refused", PATIENCE, |view| view.has_row(&["rdmascope", "4 up", "1 DOWN"]));
    console.keys("8");
    console.wait_for("why", PATIENCE, |view| view.has(": HOST"));
}

#[test]
fn without_a_terminal_the_demo_says_so_and_leaves_nothing() {
    let temporary = folder();
    let (status, out, err) = run(temporary.path(), &["demo"]);
    assert_eq!(out, "");
    assert!(status != 0 && err.contains("terminal"), "{status} {err}");
    assert_eq!(entries(temporary.path()), Vec::<PathBuf>::new());
}
