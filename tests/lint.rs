//! `lint` as a script runs it: which inputs it takes, what it prints, and with which exit status it ends.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

const VMX: &str = ".encoding = \"UTF-8\"\nconfig.version = \"8\"\nvirtualHW.version = \"19\"\nmemSize = \"4096\"\n";

/// Exit status, standard output and standard error in `folder`, with `input` to read.
fn run(folder: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rdmascope"))
        .arg("lint")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
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
fn a_thousand_files_take_no_time_to_speak_of() {
    let folder = folder();
    let ds = folder.path().join("many");
    std::fs::create_dir(&ds).expect("a folder");
    for number in 0..1000 {
        let lines: Vec<String> = (0..100).map(|key| format!("scsi{key}.pciSlotNumber = \"{key}\"\n")).collect();
        let lines = lines.concat();
        std::fs::write(ds.join(format!("{number}.vmx")), format!("{VMX}{lines}")).expect("a file");
    }
    let begin = std::time::Instant::now();
    let (_, out, _) = run(folder.path(), &["many", "--format", "json"], "");
    assert_eq!(json(&out)["files"].as_array().map(Vec::len), Some(1000));
    // Half a second is promised of the optimised program; this one is not.
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
}
