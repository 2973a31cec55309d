//! `lint` as a script runs it: which inputs it takes, what it prints, and with which exit status it ends.

mod support;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use support::pty::{Console, Size};

const VMX: &str = ".encoding = \"UTF-8\"\nconfig.version = \"8\"\nvirtualHW.version = \"19\"\nmemSize = \"4096\"\n";

/// Exit status, standard output and standard error in `folder`, with `input` to read.
fn run(folder: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rdmascope"))
        .arg("lint")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that refuses its arguments reads nothing.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit status"), text(output.stdout), text(output.stderr))
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("a JSON document")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("ds/vm1")).expect("folders");
    std::fs::create_dir_all(folder.path().join("empty")).expect("a folder");
    std::fs::write(folder.path().join("ds/vm1/vm1.vmx"), VMX).expect("a file");
    std::fs::write(folder.path().join("ds/vm2.vmx"), VMX).expect("a file");
    std::fs::write(folder.path().join("notes.txt"), "Dear all,\nthe host is down.\n").expect("a file");
    folder
}

/// What the status must be by the document.
fn status_of(document: &Json) -> i32 {
    let files = document["files"].as_array().expect("files");
    let has = |severity: &str| {
        files.iter().flat_map(|file| file["findings"].as_array().expect("findings")).any(|f| f["severity"] == severity)
    };
    if has("error") { 1 } else { 3 * i32::from(files.iter().any(|file| !file["problem"].is_null())) }
}

#[test]
fn files_folders_and_standard_input_are_all_listed() {
    let folder = folder();
    let (status, out, err) = run(folder.path(), &["ds", "-", "ds/vm2.vmx", "--format", "json"], VMX);
    let document = json(&out);
    assert_eq!((document["schema"].as_str(), err.as_str()), (Some("rdmascope.lint/1"), ""));
    let paths: Vec<&str> =
        document["files"].as_array().expect("files").iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths, ["ds/vm1/vm1.vmx", "ds/vm2.vmx", "-"]);
    assert_eq!(status, status_of(&document), "{out}");
    let (_, out, _) = run(folder.path(), &["ds"], "");
    assert!(out.starts_with("ds/vm1/vm1.vmx\n  power-on: "), "{out}");
    let (_, out, _) = run(folder.path(), &["ds", "--format", "sarif"], "");
    assert_eq!(json(&out)["runs"][0]["artifacts"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_no_vmx_is_incomplete_evidence() {
    let folder = folder();
    for (arguments, input, why) in [
        (["notes.txt"], "", "this is no configuration file of a VM"),
        (["-"], "", "this is no configuration file of a VM"),
        (["-"], "{\"a\": 1}", "this is no configuration file of a VM"),
        (["empty"], "", "there is no *.vmx in it"),
        (["/dev/zero"], "", "it is no regular file"),
    ] {
        let (status, out, _) = run(folder.path(), &arguments, input);
        assert!(status == 3 && out.replace("\n  ", " ").contains(why), "{arguments:?}: {status} {out}");
    }
}

/// Where a secret stands, the word HIDDEN is.
const PLANTED: &str = ".encoding = \"UTF-8\"\nconfig.version = \"8\"\nvirtualHW.version = \"19\"\nmemSize = \"4096\"\n\
    numvcpus = 2 # password = HIDDEN\nguestinfo.userdata = HIDDEN\nRemoteDisplay.vnc.password = \"HIDDEN\"\n\
    remotedisplay.vnc.PASSWORD = \"HIDDEN-2\"\nannotation = \u{201c}HIDDEN\u{201d}\nmachine.id HIDDEN\n\
    sched.mem.tokens = HIDDEN\nencryption.keySafe = \u{201c}HIDDEN b\u{201d}\nguestinfo.b = a HIDDEN\n\
    esxcli -u root -p HIDDEN network nic list\nguestinfo.script = \"HIDDEN\nSElEHIDDEN==\nHIDDEN and more\n\
    displayName = \"vm001\"\n";

#[test]
fn no_format_and_no_difference_tells_a_secret() {
    let folder = folder();
    let path = folder.path().join("secrets.vmx");
    std::fs::write(&path, PLANTED).expect("a file");
    for format in ["text", "json", "sarif"] {
        let (status, out, err) = run(folder.path(), &["secrets.vmx", "--format", format], "");
        assert!(!out.contains("HIDDEN") && !err.contains("HIDDEN"), "{format}: {out}{err}");
        assert!(status == 1 && out.contains("<masked>") && out.contains("duplicate-key"), "{format}: {out}");
        for rule in ["vmx.unquoted-value", "vmx.odd-quotes", "vmx.open-quote", "vmx.no-equals", "vmx.after-value"] {
            assert!(out.contains(rule), "{format}: what is wrong with a secret is told: {rule}: {out}");
        }
    }
    for format in ["text", "json"] {
        let name = format!("{format}.vmx");
        let path = folder.path().join(&name);
        std::fs::write(&path, PLANTED).expect("a file");
        let (_, out, err) = run(folder.path(), &[&name, "--fix", "--yes", "--format", format], "");
        assert!(!out.contains("HIDDEN") && !err.contains("HIDDEN"), "{format}: {out}{err}");
        assert!(out.contains("numvcpus") && (out.contains("+    5") || err.contains("+    5")), "{format}: {out}{err}");
        let now = std::fs::read_to_string(&path).expect("there");
        assert!(now.contains("numvcpus = \"2\"") && !now.contains("<masked>"), "{now}");
        assert_eq!(now.matches("HIDDEN").count(), PLANTED.matches("HIDDEN").count(), "no secret was changed");
    }
}

#[test]
fn wrong_usage_is_told() {
    let folder = folder();
    std::fs::write(folder.path().join("s.json"), "{}").expect("a file");
    for (arguments, why) in [
        (&[][..], "<PATH>"),
        (&["absent.vmx"], "absent.vmx: no such file or folder"),
        (&["ds", "--yes"], "--fix"),
        (&["-", "--fix"], "standard input cannot be changed"),
        (&["ds", "--fail-on", "info"], "invalid value 'info'"),
        (&["ds", "--snapshot", "absent.json"], "absent.json: cannot be read: no such file or directory"),
        (&["ds", "--snapshot", "s.json"], "s.json: it is no snapshot"),
    ] {
        let (status, out, err) = run(folder.path(), arguments, "");
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(why), "{arguments:?}: {err}");
    }
}

#[test]
fn a_host_that_was_not_read_is_told_in_every_form() {
    let folder = folder();
    let of = |format: &str| run(folder.path(), &["ds/vm2.vmx", "--host", "offline:absent", "--format", format], "");
    let (status, out, err) = of("json");
    let document = json(&out);
    assert_eq!(
        (status, &document["host"], &document["files"][0]["power_on"]["verdict"]),
        (3, &Json::Null, &"unknown".into())
    );
    assert!(document["host_problems"][0].as_str().is_some_and(|what| err.contains(what)), "{out} {err}");
    let (status, out, _) = of("sarif");
    let run = &json(&out)["runs"][0]["invocations"][0];
    assert_eq!((status, &run["executionSuccessful"]), (3, &false.into()));
    assert!(run["toolExecutionNotifications"][0]["message"]["text"].to_string().contains("absent"), "{out}");
    let (status, out, _) = of("text");
    let out = out.replace("\n  ", " ");
    assert!(status == 3 && !out.contains("starts") && out.contains("its host could not be read"), "{out}");
}

#[test]
fn a_nul_is_a_finding_and_the_rest_is_judged() {
    let folder = folder();
    let text = format!("{VMX}pciPassthru0.present = \"TRUE\0\0\"\n{}\n", "\0".repeat(9000));
    let (status, out, _) = run(folder.path(), &["-", "--format", "json"], &text);
    let document = json(&out);
    let of = |rule: &str| {
        let findings = document["files"][0]["findings"].as_array().expect("findings");
        findings
            .iter()
            .find(|finding| finding["rule"] == rule)
            .map(|finding| (finding["line"].clone(), finding["message"].to_string()))
    };
    let (line, message) = of("vmx.nul-bytes").unwrap_or_else(|| panic!("{out}"));
    assert!(line == 5 && message.contains("9002 NUL bytes"), "{line} {message}");
    assert_eq!(of("vmx.no-equals"), None, "a hole is no line");
    assert!(of("vmx.bad-flag").is_some_and(|(_, message)| message.contains("'TRUE\\\\u{0}…' is neither")), "{out}");
    assert_eq!((document["files"][0]["power_on"]["verdict"].as_str(), status), (Some("unknown"), status_of(&document)));
}

#[test]
fn folders_that_are_too_deep_are_told() {
    let folder = folder();
    let deep = folder.path().join("deep").join("d/".repeat(40));
    std::fs::create_dir_all(&deep).expect("folders");
    std::fs::write(deep.join("vm.vmx"), VMX).expect("a file");
    let (status, out, _) = run(folder.path(), &["deep", "--format", "json"], "");
    let problem = json(&out)["files"][0]["problem"].to_string();
    assert!(status == 3 && problem.contains("more than 32 folders below"), "{out}");
}

#[test]
fn a_cut_snapshot_is_called_one() {
    let folder = folder();
    let text = "{\n  \"schema\": \"rdmascope.snapshot/1\",\n  \"at\": \"2026-11-30T0";
    std::fs::write(folder.path().join("cut.json"), text).expect("a file");
    let (status, _, err) = run(folder.path(), &["ds", "--snapshot", "cut.json"], "");
    assert!(status == 2 && err.contains("it is a damaged snapshot: EOF") && err.contains("line 3"), "{err}");
}

#[test]
fn a_file_that_is_sound_is_left_as_it_is() {
    let folder = folder();
    let before = std::fs::read_dir(folder.path().join("ds")).expect("a folder").count();
    let (status, out, _) = run(folder.path(), &["ds/vm2.vmx", "--fix", "--yes", "--format", "json"], "");
    let document = json(&out);
    if document["files"][0]["fixed"].is_null() {
        assert_eq!(std::fs::read_to_string(folder.path().join("ds/vm2.vmx")).expect("there"), VMX);
        assert_eq!(std::fs::read_dir(folder.path().join("ds")).expect("a folder").count(), before);
    }
    assert_eq!(status, status_of(&document));
}

#[test]
fn of_many_files_each_is_listed() {
    let folder = folder();
    let ds = folder.path().join("many");
    std::fs::create_dir(&ds).expect("a folder");
    for number in 0..300 {
        std::fs::write(ds.join(format!("{number}.vmx")), VMX).expect("a file");
    }
    let (_, out, _) = run(folder.path(), &["many", "--format", "json"], "");
    let out = json(&out);
    let paths: std::collections::BTreeSet<_> =
        out["files"].as_array().expect("files").iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths.len(), 300);
}

/// A file with one device of a host, which exists there or does not.
fn with_device(id: &str) -> String {
    format!(
        "{VMX}firmware = \"efi\"\nsched.mem.min = \"4096\"\npciBridge4.present = \"TRUE\"\n\
         pciPassthru.use64bitMMIO = \"TRUE\"\npciPassthru.64bitMMIOSizeGB = \"128\"\npciPassthru0.present = \"TRUE\"\n\
         pciPassthru0.id = \"{id}\"\npciPassthru0.deviceId = \"0x20f1\"\npciPassthru0.vendorId = \"0x10de\"\n"
    )
}

/// What is said of the file on standard input: the exit status, the host by which it was judged, the verdict, the rules.
fn of_input(folder: &Path, arguments: &[&str], input: &str) -> (i32, String, String, Vec<String>) {
    let (status, out, err) = run(folder, &[arguments, &["-", "--format", "json"]].concat(), input);
    assert_eq!(err, "", "{arguments:?}");
    let document = json(&out);
    let word = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let file = &document["files"][0];
    let rules = file["findings"].as_array().expect("findings").iter().map(|one| word(&one["rule"])).collect();
    (status, word(&document["host"]), word(&file["power_on"]["verdict"]), rules)
}

/// The lab alone, as `demo --serve` runs it, with its configuration beside it.
struct Lab(std::process::Child);

impl Drop for Lab {
    fn drop(&mut self) {
        // Asked to end it takes its folder away.
        let asked = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while asked.is_ok() && std::time::Instant::now() < deadline {
            if self.0.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Lab {
    fn start(folder: &Path) -> Self {
        let config = folder.join("lab.toml");
        let mut child = Command::new(env!("CARGO_BIN_EXE_rdmascope"))
            .args(["demo", "--serve", "--scenario", "with-hosts"])
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&config).expect("a file"))
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let deadline = std::time::Instant::now() + Duration::from_mins(1);
        while !std::fs::read_to_string(&config).is_ok_and(|text| text.contains("name = \"pv-b\"")) {
            assert!(std::time::Instant::now() < deadline, "the lab does not start");
            assert!(child.try_wait().is_ok_and(|status| status.is_none()), "the lab ended");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self(child)
    }
}

#[test]
fn a_file_is_judged_by_a_host_that_is_read_now_and_by_one_that_was_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let lab = Lab::start(folder);
    let live = ["--config", "lab.toml", "--host", "esx01"];
    let saved = Command::new(env!("CARGO_BIN_EXE_rdmascope"))
        .args(["--config", "lab.toml", "snapshot", "esx01", "esx02", "--format", "json", "--out", "s.json"])
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .expect("the program starts");
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    let there = with_device("00000:175:00.0");
    let gone = with_device("00000:201:00.0");
    let open = of_input(folder, &[], &there);
    assert_eq!((open.0, open.1.as_str(), open.2.as_str()), (0, "", "unknown"), "{:?}", open.3);
    for host in [&live[..], &["--snapshot", "s.json", "--host", "esx01"]] {
        let found = of_input(folder, host, &there);
        assert_eq!((found.0, found.1.as_str(), found.2.as_str()), (0, "esx01", "starts"), "{host:?}: {:?}", found.3);
        let (status, _, verdict, rules) = of_input(folder, host, &gone);
        assert_eq!((status, verdict.as_str()), (1, "fails"), "{host:?}");
        assert!(rules.iter().any(|rule| rule == "vmx.passthrough-not-on-host"), "{host:?}: {rules:?}");
    }
    // A snapshot of several hosts, a guest, a name that it does not hold.
    let (status, _, err) = run(folder, &["-", "--snapshot", "s.json"], VMX);
    assert!(status == 2 && err.contains("holds several hosts: esx01, esx02; --host NAME chooses one"), "{err}");
    let (status, _, err) = run(folder, &["-", "--snapshot", "s.json", "--host", "x"], VMX);
    assert!(status == 2 && err.contains("holds no ESXi host"), "{err}");
    let (status, _, err) = run(folder, &["-", "--config", "lab.toml", "--host", "pv-a"], VMX);
    assert!(status == 2 && err.contains("pv-a: is no ESXi host"), "{err}");
    drop(lab);
    // A host that cannot be reached leaves what it would have told open.
    let (status, out, err) = run(folder, &["-", "--host", "root@127.0.0.1:1"], &there);
    assert!(status == 3 && out.contains("power-on: unknown") && err.contains("127.0.0.1"), "{status} {out} {err}");
}

#[test]
fn sarif_has_the_shape_that_code_scanners_take() {
    let folder = folder();
    std::fs::write(folder.path().join("ds/b ad\u{1b}[2J.vmx"), format!("{VMX}memsize = \"4096\"\na b\n"))
        .expect("a file");
    let (status, out, _) = run(folder.path(), &["ds", "notes.txt", "--format", "sarif"], "");
    assert_eq!(status, 1);
    assert!(!out.contains('\u{1b}'));
    let document = json(&out);
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    assert_eq!(run["tool"]["driver"]["name"], "rdmascope");
    let artifacts = run["artifacts"].as_array().expect("artifacts");
    let uris: Vec<&str> = artifacts.iter().filter_map(|one| one["location"]["uri"].as_str()).collect();
    assert!(uris.contains(&"ds/b%20ad%1B%5B2J.vmx"), "{uris:?}");
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "{results:?}");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("a small one");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(result["level"], "error");
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].as_str().is_some_and(|uri| uris.contains(&uri)));
        assert!(place["region"]["startLine"].as_u64().is_some_and(|line| line >= 5));
    }
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let told = invocation["toolExecutionNotifications"].as_array().expect("notifications");
    assert_eq!((told.len(), told[0]["level"].as_str()), (1, Some("error")));
}

#[test]
fn hostile_inputs_neither_hang_nor_reach_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("binary.vmx"), (0..=255_u8).cycle().take(100_000).collect::<Vec<_>>()).expect("a file");
    // 100 MB that take no room.
    std::fs::File::create(path("huge.vmx")).and_then(|file| file.set_len(100 << 20)).expect("a file");
    std::fs::create_dir_all(path("loop/inner")).expect("folders");
    std::fs::write(path("loop/inner/a.vmx"), VMX).expect("a file");
    std::os::unix::fs::symlink("..", path("loop/inner/up")).expect("a link");
    std::os::unix::fs::symlink("self.vmx", path("loop/self.vmx")).expect("a link");
    std::fs::write(path("x\u{1b}[31m\ny.vmx"), format!("{VMX}na\u{1b}[2Jme \"x\"\nmem\u{7}Size \"1\"\n"))
        .expect("a file");
    let begin = std::time::Instant::now();
    for format in ["text", "json", "sarif"] {
        let (status, out, err) = run(folder.path(), &[".", "--format", format], "");
        assert_eq!(status, 1, "{out}{err}");
        assert!(out.chars().chain(err.chars()).all(|c| c == '\n' || !c.is_control()), "{format}: {out:?}");
        assert_eq!(out.matches("inner/a.vmx").count(), 1, "{format}: the loop is not followed: {out}");
    }
    let (_, out, _) = run(folder.path(), &[".", "--format", "json"], "");
    let document = json(&out);
    let problem = |name: &str| {
        let files = document["files"].as_array().expect("files");
        let file = files.iter().find(|file| file["path"].as_str().is_some_and(|path| path.ends_with(name)));
        file.and_then(|file| file["problem"].as_str()).unwrap_or_default().to_owned()
    };
    assert!(problem("huge.vmx").contains("larger than"), "{}", problem("huge.vmx"));
    assert!(problem("binary.vmx").contains("no configuration file"), "{}", problem("binary.vmx"));
    assert!(problem("self.vmx").contains("cannot be read"), "{}", problem("self.vmx"));
    let (status, out, _) = run(folder.path(), &["-"], &"# \n".repeat(2 << 20));
    assert!(status == 3 && out.contains("larger than"), "{out}");
    assert!(begin.elapsed() < Duration::from_mins(1), "{:?}", begin.elapsed());
}

/// The program as somebody who is not the superuser, to whom every file is open. It lies in the folder, which that one
/// may read.
fn run_as_nobody(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = if rustix::process::geteuid().is_root() {
        use std::os::unix::process::CommandExt as _;
        let program = folder.join("program");
        std::fs::copy(env!("CARGO_BIN_EXE_rdmascope"), &program).expect("a copy");
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("open");
        let mut command = Command::new(program);
        command.uid(65534).gid(65534);
        command
    } else {
        Command::new(env!("CARGO_BIN_EXE_rdmascope"))
    };
    let command = command.arg("lint").args(arguments).current_dir(folder).env("HOME", folder).stdin(Stdio::null());
    // Another test that starts a program at this very moment may still hold the copy open for writing.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.expect("the program starts"),
        }
    };
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn what_may_not_be_read_is_told() {
    let folder = folder();
    let file = folder.path().join("ds/vm2.vmx");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).expect("closed");
    let (status, out) = run_as_nobody(folder.path(), &["ds"]);
    assert!(status == 3 && out.contains("cannot be read: permission denied"), "{out}");
    assert!(out.contains("ds/vm1/vm1.vmx\n  power-on: "), "the others are judged: {out}");
    // A folder that is closed is no folder without files.
    std::fs::set_permissions(folder.path().join("empty"), std::fs::Permissions::from_mode(0o000)).expect("closed");
    let (status, out) = run_as_nobody(folder.path(), &["empty"]);
    assert!(status == 3 && out.contains("permission denied"), "{out}");
    // Nor is anything written where the folder is not ours.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("open");
    std::fs::set_permissions(folder.path().join("ds"), std::fs::Permissions::from_mode(0o555)).expect("closed");
    std::fs::write(&file, with_device("0000:af:00.0")).expect("a file");
    if rustix::process::geteuid().is_root() {
        let (_, out) = run_as_nobody(folder.path(), &["ds/vm2.vmx", "--fix", "--yes"]);
        assert!(out.contains("cannot be written: permission denied"), "{out}");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), with_device("0000:af:00.0"));
    }
    std::fs::set_permissions(folder.path().join("ds"), std::fs::Permissions::from_mode(0o755)).expect("open");
    std::fs::set_permissions(folder.path().join("empty"), std::fs::Permissions::from_mode(0o755)).expect("open");
}

#[test]
fn a_fix_keeps_owner_and_mode_and_tells_how_the_host_learns_of_it() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.vmx");
    let before = with_device("0000:af:00.0").replace('\n', "\r\n") + "# M\u{fc}ller\r\nodd line\r\n";
    let reset = || {
        std::fs::write(&file, &before).expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("a mode");
    };
    reset();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&file, Some(4321), Some(1234)).expect("another owner");
    }
    let was = std::fs::metadata(&file).expect("there");
    // On, locked, a link: refused, and nothing is there afterwards but what was before.
    for beside in ["a.vmx.lck", "a.vmx~", "a-1a2b.vswp", ".lck-3409"] {
        std::fs::write(folder.path().join(beside), "").expect("a file");
        let (status, out, _) = run(folder.path(), &["a.vmx", "--fix", "--yes"], "");
        assert_eq!(status, 1, "{beside}: the finding stays: {out}");
        assert!(out.replace("\n    ", " ").contains(&format!("{beside} lies beside it")), "{beside}: {out}");
        std::fs::remove_file(folder.path().join(beside)).expect("gone");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), before);
    }
    std::os::unix::fs::symlink("a.vmx", folder.path().join("link.vmx")).expect("a link");
    let (_, out, _) = run(folder.path(), &["link.vmx", "--fix", "--yes"], "");
    assert!(out.replace("\n    ", " ").contains("symbolic link"), "{out}");
    std::fs::remove_file(folder.path().join("link.vmx")).expect("gone");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    // Without a terminal and without consent.
    let (status, _, err) = run(folder.path(), &["a.vmx", "--fix"], "");
    assert!(status == 2 && err.contains("--yes"), "{status} {err}");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), before);
    let (_, out, _) = run(folder.path(), &["a.vmx", "--fix", "--yes"], "");
    assert!(out.replace("\n    ", " ").contains("vim-cmd vmsvc/reload"), "{out}");
    let changed = before.replace("0000:af:00.0", "00000:175:00.0");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), changed, "all other bytes stay");
    let files: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|one| one.path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in &files {
        let is = std::fs::metadata(file).expect("there");
        assert_eq!((is.uid(), is.gid(), is.mode()), (was.uid(), was.gid(), was.mode()), "{}", file.display());
    }
    let backup = files.iter().find(|other| **other != file).expect("a backup");
    assert_eq!(std::fs::read_to_string(backup).expect("there"), before);
}

#[test]
fn a_change_is_asked_for_at_the_terminal() {
    let wide = Size { columns: 100, rows: 60 };
    for (answer, written) in [("n\r", false), ("\r", false), ("yes\r", true)] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.vmx");
        let before = with_device("0000:af:00.0");
        std::fs::write(&file, &before).expect("a file");
        let path = file.to_str().expect("a plain path");
        let home = folder.path().to_str().expect("a plain path");
        let environment = [("HOME", home), ("XDG_CONFIG_HOME", home), ("XDG_STATE_HOME", home)];
        let program = env!("CARGO_BIN_EXE_rdmascope");
        let mut console = Console::start(program, &["lint", path, "--fix"], wide, &environment);
        console.wait_for("the question", Duration::from_secs(30), |view| view.has("[y/N]"));
        console.view(|view| {
            assert!(view.has("pciPassthru0.id = \"0000:af:00.0\"") && view.has("pciPassthru0.id = \"00000:175:00.0\""));
        });
        console.keys(answer);
        let status = console.wait_for_end(Duration::from_secs(30));
        let after = std::fs::read_to_string(&file).expect("there");
        let expected = before.replace("0000:af:00.0", "00000:175:00.0");
        assert_eq!(after, if written { expected } else { before }, "{answer:?}");
        let files = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(files, if written { 2 } else { 1 }, "{answer:?}: a backup stands beside what was written");
        // What was written is judged again: nothing is left.
        assert_eq!(status.exit_code(), u32::from(!written), "{answer:?}");
    }
}

#[test]
fn the_rules_are_listed_with_what_they_rest_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, out, err) = run(folder.path(), &["--rules"], "");
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.starts_with("vmx.no-equals  error\n  A line has no '='") && out.lines().all(|line| line.len() <= 80));
    let (status, _, err) = run(folder.path(), &["--rules", "--format", "json"], "");
    assert!(status == 2 && err.contains("--rules: prints text only"), "{err}");
}
