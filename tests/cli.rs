//! Runs the built program as a script would: what it prints, where, and with which exit status.

use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;

/// The program with an environment of its own: `home` is its home directory.
fn program(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmascope"));
    command.args(arguments).env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").stdin(Stdio::null());
    command
}

fn run(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    ended(program(home, arguments).output().expect("the program runs"))
}

fn ended(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit status"), text(output.stdout), text(output.stderr))
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Writes a configuration where the program looks for it.
fn configure(home: &Path, text: &str) {
    let folder = home.join(".config/rdmascope");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("config.toml"), text).expect("a file");
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("a JSON document")
}

#[test]
fn help_version_and_wrong_usage_have_their_statuses() {
    let home = home();
    let (status, out, err) = run(home.path(), &["--help"]);
    assert_eq!((status, err.as_str()), (0, ""));
    for expected in ["demo", "snapshot", "doctor", "config", "completions", "man", "TARGET", "--ssh-config <FILE>"] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
    assert_eq!(run(home.path(), &["--version"]).1, format!("rdmascope {}\n", env!("CARGO_PKG_VERSION")));
    for (arguments, expected) in [
        (&["--colour"][..], "unexpected argument '--colour'"),
        (&["demo", "--scenario", "linkdown"], "--scenario: unknown scenario \"linkdown\"; did you mean \"link-down\"?"),
        (
            &["snapshot", "--scenario", "quake"],
            "--scenario: unknown scenario \"quake\"; known here: healthy, link-down",
        ),
        (&["snapshot", "--scenario", "healthy", "pv-c"], "target: \"pv-c\" is no machine of the lab; did you mean"),
        (
            &["snapshot", "--scenario", "healthy", "local"],
            "target: \"local\" is no machine of the lab; known here: pv-a",
        ),
        (&["demo", "--list", "--serve"], "cannot be used with"),
        (
            &["--record", "f", "doctor"],
            "--record FILE records a console; this command opens none that could be recorded",
        ),
        (&["local", "doctor"], "`doctor` is a command and stands first"),
        (
            &["--theme", "defualt", "local"],
            "--theme: unknown theme \"defualt\"; did you mean \"default\"? (known here: default, dark, light,",
        ),
        (&["--glyphs", "dots", "themes"], "--glyphs: unknown glyphs \"dots\"; known here: braille, block, ascii"),
        (&["check", "--scenario", "nowhere"], "--scenario: unknown scenario \"nowhere\""),
        (&["check"], "none is given and the inventory is empty"),
        (&["check", "--fail-on", "error"], "invalid value 'error'"),
        (&["checks", "--format", "junit"], "--format junit is printed by `check` alone"),
        (&["diff", "absent.json", "now"], "absent.json: cannot be read: no such file or directory"),
        (&["diff", "now", "now"], "now: stands second"),
        (&["snapshot", "offline:"], "\"offline:\" names no file; write offline:FILE"),
        (&["snapshot", "--", "-oProxyCommand=x"], "begins with a hyphen"),
        (&["snapshot", "a\nb"], "holds a control character"),
        (&["snapshot"], "none is given and the inventory is empty"),
        (&[], "none is given and the inventory is empty"),
    ] {
        let (status, out, err) = run(home.path(), arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(expected), "{arguments:?}: {err}");
    }
}

#[test]
fn configuration_is_written_once_shown_and_found() {
    let home = home();
    let path = home.path().join(".config/rdmascope/config.toml");
    let shown = path.display().to_string();
    assert_eq!(run(home.path(), &["config", "path"]), (0, format!("{shown}\n"), String::new()));
    assert!(run(home.path(), &["config", "show"]).1.starts_with(&format!("{shown} (not there: defaults)\n")));
    assert_eq!(run(home.path(), &["config", "init"]), (0, format!("wrote {shown}\n"), String::new()));
    assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    let (status, _, err) = run(home.path(), &["config", "init"]);
    assert_eq!((status, err), (2, format!("rdmascope: {shown}: is there already and is left as it is\n")));
    let elsewhere = home.path().join("elsewhere");
    let moved = program(home.path(), &["config", "path"]).env("XDG_CONFIG_HOME", &elsewhere).output().expect("it runs");
    assert_eq!(ended(moved).1, format!("{}\n", elsewhere.join("rdmascope/config.toml").display()));
}

#[test]
fn what_is_said_of_checks_is_held_against_the_catalogue() {
    let home = home();
    configure(
        home.path(),
        "[thresholds]\n\"host.no-such.number\" = 1\n\n[[suppress]]\ncheck = \"host.pvrdma-rulset\"\nreason = \"x\"\n",
    );
    let file = home.path().join(".config/rdmascope/config.toml").display().to_string();
    for arguments in [&["check", "local"][..], &["checks"], &["check", "--scenario", "healthy"], &["config", "show"]] {
        let (status, out, err) = run(home.path(), arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(&format!("{file}:2: unknown threshold \"host.no-such.number\"")), "{err}");
        let expected = format!("{file}:4: unknown check \"host.pvrdma-rulset\"; did you mean \"host.pvrdma-ruleset\"?");
        assert!(err.contains(&expected), "{err}");
    }
    configure(
        home.path(),
        "[[suppress]]\ncheck = \"host.pvrdma-ruleset\"\nreason = \"known here\"\nexpires = 2999-12-31\n",
    );
    let (status, out, err) = run(home.path(), &["config", "show"]);
    assert!(out.contains("Accepted\n  host.pvrdma-ruleset  known here, until 2999-12-31  (line 1)\n"), "{out}");
    assert_eq!((status, err.as_str()), (0, ""));
    let (status, out, err) = run(home.path(), &["check", "esx01", "esx02", "--scenario", "ruleset-closed"]);
    assert_eq!(err, "");
    assert!(out.contains("known here, until 2999-12-31"), "{out}");
    assert_eq!(status, 0, "what is accepted does not count: {out}");
}

#[test]
fn the_catalogue_is_printed() {
    let home = home();
    let (status, out, _) = run(home.path(), &["checks"]);
    assert!(
        status == 0 && out.contains("\nhost.pvrdma-ruleset\n") || out.starts_with("host.pvrdma-ruleset\n"),
        "{out}"
    );
    let document = json(&run(home.path(), &["checks", "--format", "json"]).1);
    assert_eq!(document["schema"], "rdmascope.checks/1");
}

#[test]
fn config_show_says_whence_each_value_comes() {
    let home = home();
    configure(home.path(), "glyphs = \"block\"\n\nperiod_ms = 500\n[[target]]\nname = \"vm1\"\ntags = [\"lab\"]\n");
    let show = |format: &str| {
        let mut command = program(home.path(), &["config", "show", "--plain", "--format", format]);
        ended(command.env("RDMASCOPE_PERIOD_MS", "2000").output().expect("it runs"))
    };
    let (status, out, _) = show("text");
    let file = home.path().join(".config/rdmascope/config.toml").display().to_string();
    assert_eq!(status, 0);
    for expected in [
        "theme          default  (default)\n".to_owned(),
        "plain          true  (option --plain)\n".to_owned(),
        "period_ms      2000  (environment RDMASCOPE_PERIOD_MS)\n".to_owned(),
        "  vm1  unknown; vm1; tags lab  (line 4)\n".to_owned(),
    ] {
        assert!(out.contains(&expected), "{expected}: {out}");
    }
    let document = json(&show("json").1);
    assert_eq!(document["schema"], "rdmascope.config/1");
    assert_eq!(document["file_exists"], true);
    let glyphs = &document["settings"][2];
    assert_eq!(
        *glyphs,
        serde_json::json!({"name": "glyphs", "value": "block", "whence": {"kind": "file", "name": file, "line": 1}})
    );
    assert_eq!(document["targets"][0]["name"], "vm1");
}

#[test]
fn wrong_configuration_is_told_with_all_its_lines() {
    let home = home();
    configure(home.path(), "thme = \"x\"\nperiod_ms = 1\n[[target]]\nname = \"a\"\n[[target]]\nname = \"a\"\n");
    let (status, out, err) = run(home.path(), &["snapshot", "local"]);
    assert_eq!((status, out.as_str()), (2, ""));
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 3, "{err}");
    assert!(lines[0].ends_with("config.toml:1: unknown key \"thme\"; did you mean \"theme\"?"), "{err}");
    assert!(lines[1].contains("config.toml:2: period_ms must be"), "{err}");
    assert!(lines[2].contains("config.toml:5: target \"a\" is already there, in line 3"), "{err}");
    let (status, _, err) = run(home.path(), &["--config", "/no/such/file", "snapshot", "local"]);
    assert_eq!((status, err.as_str()), (2, "rdmascope: /no/such/file: cannot be read: no such file or directory\n"));
    let (status, _, _) = run(home.path(), &["completions", "bash"]);
    assert_eq!(status, 0, "what needs no configuration does not read it");
}

#[test]
fn a_target_that_cannot_be_read_is_a_problem_of_the_target() {
    let home = home();
    configure(
        home.path(),
        "[[target]]\nname = \"esx\"\nkind = \"esxi\"\naddress = \"root@127.0.0.1:1\"\n[[target]]\nname = \"leaf\"\nkind = \"switch\"\nsystem = \"eos\"\naddress = \"admin@127.0.0.1:1\"\n",
    );
    let (status, out, err) = run(home.path(), &["snapshot", "--format", "json", "esx", "leaf"]);
    assert_eq!((status, err.as_str()), (3, ""));
    let document = json(&out);
    assert_eq!(document["schema"], "rdmascope.snapshot/1");
    let problem = document["targets"][0]["problem"].to_string();
    assert!(problem.contains("127.0.0.1") && problem.contains("SSH service is off by default"), "{problem}");
    let problem = document["targets"][1]["problem"].to_string();
    assert!(problem.contains("127.0.0.1"), "{problem}");
    assert_eq!(
        (&document["targets"][1]["kind"], &document["targets"][1]["reachable"]),
        (&"switch".into(), &false.into())
    );
    let (status, out, _) = run(home.path(), &["snapshot", "leaf"]);
    assert_eq!(status, 3);
    assert!(out.contains("leaf (switch)\n  not reachable  "), "{out}");
}

#[test]
fn a_snapshot_is_written_privately_and_follows_no_link() {
    let home = home();
    let leaf = "[[target]]\nname = \"leaf\"\nkind = \"switch\"\nsystem = \"eos\"\naddress = \"admin@127.0.0.1:1\"\n";
    configure(home.path(), leaf);
    let path = home.path().join("out.json");
    let shown = path.display().to_string();
    let (status, out, err) = run(home.path(), &["snapshot", "--format", "json", "--out", &shown]);
    assert_eq!((status, out.as_str()), (3, ""));
    assert!(err.contains("leaf: ") && err.contains("127.0.0.1"), "{err}");
    assert_eq!(json(&std::fs::read_to_string(&path).expect("a file"))["schema"], "rdmascope.snapshot/1");
    assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    let link = home.path().join("link");
    symlink(home.path().join("elsewhere"), &link).expect("a link");
    let (status, _, err) = run(home.path(), &["snapshot", "--out", &link.display().to_string()]);
    assert_eq!(status, 2);
    assert!(err.contains("is a symbolic link, which is not followed"), "{err}");
    assert!(!home.path().join("elsewhere").exists());
}

#[test]
fn the_doctor_tells_what_a_bug_report_needs_and_no_secret() {
    let home = home();
    let doctor = |format: &str, extra: &[(&str, &str)]| {
        let mut command = program(home.path(), &["doctor", "--format", format]);
        command.env("SECRET_TOKEN", "hunter2").envs(extra.iter().copied());
        ended(command.output().expect("it runs"))
    };
    let (status, out, err) = doctor("text", &[]);
    assert_eq!(err, "");
    for expected in
        ["versions\n", "built with", "rustc 1.", "TERM ", "xterm-256color", "configuration\n", "ssh\n", "known_hosts"]
    {
        assert!(out.contains(expected), "{expected}: {out}");
    }
    assert!(!out.contains("hunter2"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    // Whether ~/.ssh of this machine is in order is not for this test to say; its status must agree with what it says.
    assert_eq!(status == 0, out.contains("no problem found"), "{out}");
    let (status, out, _) = doctor("json", &[("SSH_AUTH_SOCK", "/no/such/socket")]);
    let document = json(&out);
    assert_eq!(
        (status, &document["schema"], &document["verdict"]),
        (1, &"rdmascope.doctor/1".into(), &"problem".into())
    );
    let items = document["items"].as_array().expect("items");
    let agent = items.iter().find(|item| item["name"] == "agent").expect("an agent");
    assert!(agent["value"] == "not reachable" || agent["value"] == "not known", "{agent}");
    configure(home.path(), "plain = 7\n");
    let (status, out, _) = doctor("text", &[]);
    assert_eq!(status, 1);
    assert!(out.contains("PROBLEM: correct it"), "{out}");
}

#[test]
fn completions_manual_and_themes_are_printed() {
    let home = home();
    for shell in ["bash", "zsh", "fish"] {
        let (status, out, _) = run(home.path(), &["completions", shell]);
        assert!(status == 0 && out.contains("snapshot") && out.contains("ssh-config"), "{shell}");
    }
    let (status, out, _) = run(home.path(), &["man"]);
    assert_eq!(status, 0);
    assert!(out.contains(".TH rdmascope 1"), "{out}");
    let themes = run(home.path(), &["themes"]).1;
    assert!(themes.starts_with("Themes\n  default            (in force) "), "{themes}");
    assert_eq!(json(&run(home.path(), &["themes", "--format", "json"]).1)["themes"][0]["name"], "default");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = home();
    let mut command = program(home.path(), &["completions", "bash"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    // Nobody reads: the other end is closed before or while it writes more than a pipe holds.
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn no_error_line_carries_an_escape_sequence_of_an_argument() {
    let home = home();
    std::fs::write(home.path().join("vm.vmx"), "memSize = \"4\"\n").expect("a file");
    let vmx = home.path().join("vm.vmx").display().to_string();
    let wrong = "no\u{1b}[31mX\u{7}\nsecond";
    for arguments in [
        &["lint", wrong][..],
        &["lint", &vmx, "--snapshot", wrong],
        &["lint", &vmx, "--fail-on", wrong],
        &["--config", wrong, "config", "show"],
        &["--ssh-config", wrong, "snapshot", "local"],
        &["replay", wrong],
        &["snapshot", "offline:absent", "--out", &format!("/absent/{wrong}")],
        &["demo", "--scenario", wrong],
        &["--no\u{1b}[31m"],
        &["explain", "--no\u{1b}[31m"],
    ] {
        let (status, _, err) = run(home.path(), arguments);
        assert_eq!(status, 2, "{arguments:?}: {err}");
        assert!(!err.is_empty() && !err.contains(|c: char| c.is_control() && c != '\n'), "{arguments:?}: {err:?}");
        assert!(!err.lines().any(|line| line.starts_with("second")), "{arguments:?}: {err}");
    }
}

#[test]
fn what_an_ended_lab_had_is_not_named() {
    let home = home();
    let out = home.path().join("out").display().to_string();
    let (status, _, err) = run(home.path(), &["snapshot", "--scenario", "wrong-host-key", "vf-a", "--out", &out]);
    assert!(status == 3 && err.contains("HOST KEY CHANGED"), "{status} {err}");
    assert!(!err.contains("rdmascope-lab"), "its folder is gone: {err}");
    assert!(err.contains("rdmascope demo --serve --scenario wrong-host-key"), "{err}");
}

#[test]
fn a_full_disk_behind_standard_output_is_told_in_one_line() {
    let home = home();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let output = program(home.path(), &["themes"]).stdout(full).output().expect("the program runs");
    let (status, _, err) = ended(output);
    assert_eq!((status, err.as_str()), (2, "rdmascope: standard output cannot be written: no space left on device\n"));
}

#[test]
fn what_is_no_file_is_no_openssh_configuration() {
    let home = home();
    let folder = home.path().to_str().expect("UTF-8");
    for (file, why) in [
        (folder, "it is a directory"),
        ("/dev/zero", "it is no regular file"),
        ("/no/such/file", "no such file or directory"),
    ] {
        let (status, out, err) = run(home.path(), &["--ssh-config", file, "snapshot", "a"]);
        let expected = format!("rdmascope: --ssh-config: {file} cannot be read: {why}\n");
        assert_eq!((status, out.as_str(), err), (2, "", expected));
    }
}

#[test]
fn a_signal_ends_a_snapshot_with_all_that_it_started() {
    use rustix::process::{Pid, Signal, kill_process};
    let home = home();
    let programs = home.path().join("bin");
    std::fs::create_dir(&programs).expect("a folder");
    let hangs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config/ssh/hangs");
    symlink(hangs, programs.join("ssh")).expect("a link");
    let ssh_config = home.path().join("ssh_config");
    std::fs::write(&ssh_config, "").expect("a file");
    for (signal, expected) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let pid_file = home.path().join("pid");
        let _ = std::fs::remove_file(&pid_file);
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        let arguments = ["--ssh-config", ssh_config.to_str().expect("text"), "snapshot", "some-host"];
        let mut command = program(home.path(), &arguments);
        command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program runs");
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let started = loop {
            let pid = std::fs::read_to_string(&pid_file).unwrap_or_default();
            if pid.ends_with('\n') {
                break pid.trim().to_owned();
            }
            assert!(std::time::Instant::now() < until, "ssh was not asked");
            std::thread::yield_now();
        };
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        let (status, out, _) = ended(child.wait_with_output().expect("it ends"));
        assert_eq!((status, out.as_str()), (expected, ""));
        let stat = format!("/proc/{started}/stat");
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(std::time::Instant::now() < until, "what ssh started still runs");
            std::thread::yield_now();
        }
    }
}

#[test]
fn explain_takes_files_and_a_pipe_and_says_what_it_could_not_use() {
    let home = home();
    let path = |name: &str| home.path().join(name);
    std::fs::write(path("vm.vmx"), "firmware = \"efi\"\nmemSize = \"4096\"\n").expect("a file");
    std::fs::write(path("letter"), "Dear all,\nthe meeting is at nine.\n").expect("a file");
    std::fs::write(path("empty"), "").expect("a file");
    std::fs::write(path("binary"), b"\x7fELF\0\0\x01").expect("a file");
    let explain = |names: &[&str]| {
        let paths: Vec<String> = names.iter().map(|name| path(name).display().to_string()).collect();
        let mut arguments = vec!["explain", "--format", "json"];
        arguments.extend(paths.iter().map(String::as_str));
        let (status, out, err) = run(home.path(), &arguments);
        assert_eq!(err, "");
        (status, json(&out))
    };
    let (status, document) = explain(&["vm.vmx"]);
    assert_eq!((status, document["schema"].as_str()), (0, Some("rdmascope.explain/1")));
    assert_eq!(document["inputs"][0]["facts"]["memSize"]["value"], 4096);
    let (status, document) = explain(&["vm.vmx", "letter", "empty", "binary", "missing", "."]);
    let problem = |at: usize| document["inputs"][at]["problem"].as_str().unwrap_or("none").to_owned();
    assert_eq!((status, problem(0).as_str(), problem(2).as_str()), (3, "none", "empty"));
    assert!(problem(1).starts_with("not recognised") && problem(3).starts_with("binary"), "{document}");
    assert!(problem(4).starts_with("cannot be read") && problem(5).starts_with("cannot be read"), "{document}");

    // What was not read is said, and is no success.
    let deep = "(vim.A) {\n a = ".repeat(90) + &"}".repeat(90);
    std::fs::write(path("deep"), deep).expect("a file");
    let (status, document) = explain(&["deep"]);
    let problem = document["inputs"][0]["problem"].as_str().unwrap_or_default();
    assert_eq!((status, document["inputs"][0]["kinds"][0].as_str()), (3, Some("vim-cmd")));
    assert!(problem.contains("nested too deep"), "{problem}");
    // A prompt alone makes no input known, and what guests print is known with it and without.
    std::fs::write(path("prompt"), "root@node7:/# date\nMon Nov 30 16:49:14 UTC 2026\n").expect("a file");
    let (status, out, _) = run(home.path(), &["explain", &path("prompt").display().to_string()]);
    assert_eq!((status, out.contains("not recognised")), (3, true), "{out}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/public");
    for (name, check) in [
        ("116-mpirun-no-active-ports.txt", "guest.port-active"),
        ("21-sysfs-traffic_class-and-mlnx_qos.txt", "guest.traffic-class"),
        ("36-rdma_link-active-but-ibv_devinfo-abi.txt", "guest.verbs-abi"),
    ] {
        let (status, out, _) = run(home.path(), &["explain", &folder.join(name).display().to_string()]);
        assert_eq!((status, out.contains(check)), (0, true), "{name}: {out}");
    }

    let mut child = program(home.path(), &["explain"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let advice = b"esxcli hardware pci pcipassthru get -a\x1b[2J\n".repeat(6);
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), &advice).expect("it reads");
    let (status, out, err) = ended(child.wait_with_output().expect("it ends"));
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(out.matches("warn host.myth-pcipassthru-get").count(), 1, "one finding for six lines: {out}");
    assert!((1..=6).all(|line| out.contains(&format!("line {line}: esxcli"))) && !out.contains('\u{1b}'), "{out}");
}
