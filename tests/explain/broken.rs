//! Inputs that are no text, or hardly one: each ends with a clear message and the status for what could not be used.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// The status and what is said of the input.
fn explained(bytes: &[u8]) -> (i32, String, Vec<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rdmascope"))
        .args(["explain", "--format", "json", "-"])
        .env_clear()
        .env("HOME", std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&bytes);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it writes");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    let input = &document["inputs"][0];
    let kinds = input["kinds"].as_array().expect("a list").iter().filter_map(|kind| kind.as_str().map(str::to_owned));
    (output.status.code().expect("a status"), input["problem"].as_str().unwrap_or_default().to_owned(), kinds.collect())
}

#[test]
fn what_is_no_text_says_so_and_ends_with_3() {
    let noise: Vec<u8> = (0_u32..4096).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
    let long = [b"x".repeat(3 << 20), b"\n".to_vec()].concat();
    let cases: [(&str, Vec<u8>, &str); 8] = [
        ("nothing", Vec::new(), "empty"),
        ("NUL alone", vec![0; 64], "binary data"),
        ("noise", noise, ""),
        ("a program", b"\x7fELF\x02\x01\x01\0\0\0\0\0".repeat(20), "binary data"),
        ("a compressed file", b"\x1f\x8b\x08\0\0\0\0\0".to_vec(), "gzip -dc"),
        ("blanks", b" \n\t\n  \r\n".to_vec(), "not recognised"),
        ("one huge line", long, "line 1 is longer than 1 MiB"),
        ("a letter", b"Dear all,\nRDMA is slow since Monday.\nRegards\n".to_vec(), "not recognised"),
    ];
    for (name, bytes, words) in cases {
        let (status, problem, kinds) = explained(&bytes);
        assert_eq!((status, kinds), (3, vec![]), "{name}: {problem}");
        assert!(!problem.is_empty() && problem.contains(words), "{name}: {problem}");
        // What is not recognised tells what would be.
        assert!(!problem.contains("not recognised") || problem.contains("vmkernel.log"), "{name}: {problem}");
    }
}

#[test]
fn text_in_other_encodings_is_read() {
    let text = "firmware = \"efi\"\nmemSize = \"4096\"\n";
    let wide = |mark: bool, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter().chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    let mut cases = Vec::new();
    for mark in [true, false] {
        cases.push(wide(mark, u16::to_le_bytes));
        cases.push(wide(mark, u16::to_be_bytes));
    }
    // Half a unit is left over at the end of a cut file.
    let mut cut = wide(true, u16::to_le_bytes);
    cut.pop();
    cases.push(cut);
    for (at, bytes) in cases.into_iter().enumerate() {
        let (status, problem, kinds) = explained(&bytes);
        assert_eq!((status, problem.as_str(), kinds), (0, "", vec!["vmx".to_owned()]), "{at}");
    }
    // A sign of several bytes that was cut, and one of another encoding.
    for end in [&b"annotation = \"caf\xc3"[..], b"annotation = \"caf\xe9\"\n", b"\xf0\x9f\x98", b"\xff\xfe\n"] {
        let (status, problem, kinds) = explained(&[text.as_bytes(), end].concat());
        assert_eq!((status, kinds), (0, vec!["vmx".to_owned()]), "{end:?}: {problem}");
    }
}
