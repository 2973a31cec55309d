//! Files of this program itself: snapshots, what the collector saved, recordings, the documents that commands print. They
//! quote commands and outputs of many machines, so nothing in them is judged; what is said is how they are looked at.

use serde::Deserialize;

use super::{Explained, Kind, Value};
use crate::fabric::{State, Text};

/// The first bytes of a recording.
const RECORDING: &[u8] = b"rdmascope journal\n";
/// The first words of what the script of `collector` saved.
const ARCHIVE: &str = "@rdmascope-archive ";
/// The second line of that script.
const SCRIPT: &str = "# Collector of rdmascope ";
/// What the names of the schemas of documents begin with.
const SCHEMA: &str = "rdmascope.";
/// In so many bytes the schema of a document stands that is broken further below.
const HEAD: usize = 4096;
/// So many names of targets are told.
const MOST_TOLD: usize = 256;

/// What of a document tells what it is.
#[derive(Debug, Default, Deserialize)]
struct Document {
    schema: String,
    #[serde(default)]
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

/// True for the first bytes of a recording, which is no text.
pub fn is_recording(bytes: &[u8]) -> bool {
    bytes.starts_with(RECORDING)
}

/// What a file of this program is; nothing if it is none. `path` is named in the advice, `-` stands for one not known.
pub(super) fn read(path: &str, bytes: &[u8]) -> Option<Explained> {
    let file = if path == "-" || path.is_empty() { "FILE".to_owned() } else { quoted(path) };
    let known = |kind, next: String| Some(Explained { kinds: vec![kind], next: Some(next), ..Explained::default() });
    if is_recording(bytes) {
        return known(Kind::Recording, format!("a recording of a console; show it with: rdmascope replay {file}"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if bytes.starts_with(ARCHIVE.as_bytes()) {
        let mut explained = Explained { kinds: vec![Kind::Archive], ..Explained::default() };
        explained.next = Some(format!("what the script of `collector` saved; open it with: rdmascope offline:{file}"));
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
        for (number, line) in (1..).zip(head.lines().take_while(|line| !line.is_empty())) {
            if let Some((key @ ("system" | "host" | "date"), value)) = line.split_once(": ") {
                explained.fact(number, key, super::value(value), None);
            }
        }
        return Some(explained);
    }
    if bytes.starts_with(b"#!") {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
        let is_script = head.lines().nth(1).is_some_and(|line| line.starts_with(SCRIPT));
        let next = "the script of `collector`, which only reads; run it on the machine: what it writes is opened with \
                    rdmascope offline:FILE";
        return if is_script { known(Kind::Collector, next.to_owned()) } else { None };
    }
    let document = document(bytes)?;
    if !document.schema.starts_with("rdmascope.snapshot/") {
        let what = Text::new(&document.schema);
        let next = format!("a document of rdmascope ({what}); explain what it was made of instead");
        return known(Kind::Document, next);
    }
    let mut explained = Explained { kinds: vec![Kind::Snapshot], ..Explained::default() };
    let several = if document.targets.len() > 1 { "#NAME" } else { "" };
    explained.next = Some(format!("a snapshot of rdmascope; open it with: rdmascope offline:{file}{several}"));
    for (number, target) in document.targets.iter().take(MOST_TOLD).enumerate() {
        let name = State::Known(Value::Text(Text::new(&target.name)));
        explained.fact(1, &format!("target {}", number + 1), name, None);
    }
    if document.targets.len() > MOST_TOLD {
        explained.leaves_out(format!("only the first {MOST_TOLD} targets are told"));
    }
    Some(explained)
}

/// A document of this program by its schema; also one that is broken or cut further below.
fn document(bytes: &[u8]) -> Option<Document> {
    if bytes.first() != Some(&b'{') {
        return None;
    }
    if let Ok(document) = serde_json::from_slice::<Document>(bytes) {
        return document.schema.starts_with(SCHEMA).then_some(document);
    }
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    let (_, behind) = head.split_once("\"schema\"")?;
    let value = behind.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let schema = value.split('"').next().filter(|schema| schema.starts_with(SCHEMA))?;
    Some(Document { schema: schema.to_owned(), targets: Vec::new() })
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::explain::{Explained, Kind, explain};

    const SNAPSHOT: &str = "{\n  \"schema\": \"rdmascope.snapshot/1\",\n  \"at\": \"2026-11-30T07:00:00Z\",\n  \"targets\": [\n    {\"name\": \
                            \"esx01\", \"observations\": [{\"command\": \"grep -H . /sys/bus/pci/devices/*/uevent; esxcli rdma device \
                            list\", \"said\": \"Module 'DevicePowerOn' power on failed.\"}]},\n    {\"name\": \"pv-a\"}\n  ]\n}\n";

    fn of(path: &str, text: &str) -> (Vec<Kind>, String) {
        let Explained { kinds, findings, next, .. } = explain(path, text.as_bytes());
        assert_eq!(findings, [], "nothing in a file of this program is judged: {text}");
        (kinds, next.unwrap_or_default())
    }

    #[test]
    fn snapshots_are_opened_and_not_judged() {
        let (kinds, next) = of("broken.json", SNAPSHOT);
        assert_eq!(kinds, [Kind::Snapshot]);
        assert!(next.ends_with("rdmascope offline:broken.json#NAME"), "{next}");
        let names: Vec<String> =
            explain("-", SNAPSHOT.as_bytes()).facts.iter().map(|fact| format!("{:?}", fact.state)).collect();
        assert!(names[0].contains("esx01") && names[1].contains("pv-a") && names.len() == 2, "{names:?}");
        let one = SNAPSHOT.replace(",\n    {\"name\": \"pv-a\"}", "");
        assert!(of("a b.json", &one).1.ends_with("rdmascope offline:'a b.json'"));
        assert!(of("-", &one).1.ends_with("rdmascope offline:FILE"));
        // Cut, behind a mark of its bytes, and in one line.
        assert_eq!(of("-", &SNAPSHOT[..SNAPSHOT.len() - 40]).0, [Kind::Snapshot]);
        assert_eq!(of("-", &format!("\u{feff}{SNAPSHOT}")).0, [Kind::Snapshot]);
        assert_eq!(of("-", &SNAPSHOT.replace('\n', " ")).0, [Kind::Snapshot]);
        assert_eq!(of("-", "{\"schema\": \"rdmascope.lint/1\", \"files\": []}").0, [Kind::Document]);
    }

    #[test]
    fn archives_recordings_and_the_script_are_named() {
        let archive = "@rdmascope-archive 1\nversion: 1\nsystem: esxi\nhost: esx01\ndate: 2026-01-02T03:04:05Z\n\nModule 'DevicePowerOn' power \
                       on failed.\ngrep x /sys/bus/pci/devices; esxcli x\n";
        let (kinds, next) = of("esx01.txt", archive);
        assert_eq!((kinds.as_slice(), next.contains("offline:esx01.txt")), ([Kind::Archive].as_slice(), true));
        let (kinds, next) = of("stage.rec", "rdmascope journal\n\u{1}\u{0}\u{0}");
        assert_eq!((kinds.as_slice(), next.contains("replay stage.rec")), ([Kind::Recording].as_slice(), true));
        let script = "#!/bin/sh\n# Collector of rdmascope 1: reads this machine once\ngrep x /sys/bus/pci/devices\nesxcli rdma device list\n";
        assert_eq!(of("collect.sh", script).0, [Kind::Collector]);
    }

    #[test]
    fn what_only_speaks_of_this_program_is_judged() {
        let of = |text: &str| explain("-", text.as_bytes());
        let advice = "esxcli hardware pci pcipassthru get -a\n";
        for before in [
            "#!/bin/sh\n# rdmascope\n",
            "my @rdmascope-archive 1\n",
            "{\"schema\": \"other/1\"}\n",
            "{\n\"schema\": \"other\", \"by\": \"rdmascope.snapshot/1\"\n",
            "rdmascope journal is here\n",
        ] {
            let explained = of(&format!("{before}{advice}"));
            assert!(explained.findings.iter().any(|finding| finding.check == "host.myth-pcipassthru-get"), "{before}");
            assert_eq!(explained.next, None, "{before}");
        }
    }
}
