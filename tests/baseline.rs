//! Runs `baseline` as a script would: what lies where afterwards, what is printed, and with which exit status.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

fn run(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmascope"));
    command.args(arguments).env_clear().env("HOME", home).env("LANG", "C.UTF-8").stdin(Stdio::null());
    let output = command.output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit status"), text(output.stdout), text(output.stderr))
}

/// A measurement whose bandwidth is about this, over an MTU.
fn measured(home: &Path, name: &str, bandwidth: f64, mtu: u32) -> String {
    let values: Vec<f64> = [0.99, 0.995, 1.0, 1.005, 1.01].iter().map(|part| bandwidth * part).collect();
    let document = json!({
        "schema": "rdmascope.bench/1", "at": "2026-12-01T04:00:00Z", "pair": ["vm1", "vm2"], "parameters": {"size": 65536},
        "metrics": [{"name": "bandwidth", "unit": "MB/s", "better": "higher", "values": values, "samples": []}],
        "fingerprint": {"guest": {"vm1 netdev eth1: MTU": mtu}},
    });
    let file = home.join(name);
    std::fs::write(&file, document.to_string()).expect("written");
    file.display().to_string()
}

#[test]
fn a_loss_is_told_with_what_changed_and_ends_with_1() {
    let home = tempfile::tempdir().expect("a folder");
    let (first, same) =
        (measured(home.path(), "first.json", 100.0, 1500), measured(home.path(), "same.json", 100.2, 1500));
    let slow = measured(home.path(), "slow.json", 80.0, 600);
    let (status, out, err) = run(home.path(), &["baseline", "save", "before", "--from", &first]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let kept = home.path().join(".local/state/rdmascope/baselines/before.json");
    assert_eq!(std::fs::metadata(&kept).expect("kept").permissions().mode() & 0o777, 0o600);

    let (status, out, _) = run(home.path(), &["baseline", "compare", "before", "--from", &same]);
    assert!(status == 0 && out.contains("no difference seen"), "{status} {out}");
    let (status, out, _) = run(home.path(), &["baseline", "compare", "before", "--from", &slow]);
    assert!(status == 1 && out.contains("worse: ") && out.contains("MTU: 1500 -> 600"), "{status} {out}");
    let (status, out, _) = run(home.path(), &["--format", "json", "baseline", "compare", "before", "--from", &slow]);
    let document: Json = serde_json::from_str(&out).expect("a document");
    assert_eq!(
        (status, &document["schema"], &document["regression"]),
        (1, &json!("rdmascope.comparison/1"), &json!(true))
    );
    assert_eq!(document["changed"][0]["after"], "600");

    assert_eq!(run(home.path(), &["baseline", "save", "after", "--from", &slow]).0, 0);
    assert_eq!(run(home.path(), &["baseline", "compare", "before", "after"]).0, 1);
    let (status, out, _) = run(home.path(), &["baseline", "compare", "after", "before"]);
    assert!(status == 0 && out.contains("better: "), "{status} {out}");
    let (status, out, _) = run(home.path(), &["baseline", "list"]);
    assert!(status == 0 && out.contains("before") && out.contains("after"), "{out}");
}

#[test]
fn what_is_wrong_is_told_by_its_status() {
    let home = tempfile::tempdir().expect("a folder");
    let first = measured(home.path(), "first.json", 100.0, 1500);
    assert_eq!(run(home.path(), &["baseline", "list"]).0, 0);
    assert_eq!(run(home.path(), &["baseline", "save", "before", "--from", &first]).0, 0);
    for (arguments, expected) in [
        (&["baseline", "save", "../x", "--from", &first][..], "a name begins with"),
        (&["baseline", "save", "before", "--from", &first], "--replace"),
        (&["baseline", "save", "x", "--from", "/no/such"], "cannot be read"),
        (&["baseline", "save", "x"], "--from"),
        (&["baseline", "compare", "befor", "--from", &first], "is it before?"),
        (&["baseline", "compare", "before"], "required"),
        (&["baseline", "compare", "before", "--from", "/dev/null"], "no regular file"),
    ] {
        let (status, out, err) = run(home.path(), arguments);
        assert!(status == 2 && out.is_empty() && err.contains(expected), "{arguments:?}: {status} {err}");
    }
    assert_eq!(run(home.path(), &["baseline", "save", "before", "--replace", "--from", &first]).0, 0);
    let other = std::fs::read_to_string(&first).expect("there").replace("65536", "4096");
    std::fs::write(&first, other).expect("written");
    let (status, out, _) = run(home.path(), &["baseline", "compare", "before", "--from", &first]);
    assert!(status == 3 && out.contains("other parameters: size"), "{status} {out}");
}
