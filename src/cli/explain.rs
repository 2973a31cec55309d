//! `explain`: what saved outputs, logs, scripts and command lines are, what they say, and what is wrong with them. Inputs
//! may be hostile or broken: they are read up to a cap, and nothing of them reaches the terminal that it would obey.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::{Format, Global};
use super::text::{Row, rows, wrap};
use super::{Exit, Failure, output};
use crate::collect::reason::reason;
use crate::config::Defect;
use crate::diagnose::explain::{Explained, Fact, KNOWN, Kind, Value, explain, is_recording};
use crate::diagnose::finding::{Finding, Status};
use crate::fabric::text::is_binary;
use crate::fabric::{State, Text};

/// So much of an input is read.
const LARGEST: u64 = 64 << 20;
/// So many values are shown to people; documents have all.
const MOST_SHOWN: usize = 60;
/// The width that text is made for.
const COLUMNS: usize = 80;

/// First bytes of compressed files, by which program they were made, and how they are unpacked.
const COMPRESSED: [(&[u8], &str, &str); 5] = [
    (b"\x1f\x8b", "gzip", "gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"BZh", "bzip2", "bzip2 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    inputs: Vec<Input>,
}

/// One input as documents show it.
#[derive(Debug, Serialize)]
struct Input {
    path: String,
    kinds: Vec<&'static str>,
    facts: BTreeMap<Text, FactDocument>,
    findings: Vec<Finding>,
    /// By which other command it is looked at, if it is a file of this program.
    next: Option<String>,
    /// Why nothing was made of it, or not of all of it; nothing if all is well.
    problem: Option<String>,
    /// True if it is a log, of which nobody knows all messages.
    #[serde(skip)]
    is_log: bool,
}

#[derive(Debug, Serialize)]
struct FactDocument {
    value: serde_json::Value,
    state: &'static str,
    unit: Option<&'static str>,
    line: u32,
}

/// Explains the files, or standard input.
pub fn run(global: &Global, files: &[PathBuf]) -> Result<Exit, Failure> {
    let stdin = PathBuf::from("-");
    let files = match files {
        [] if io::stdin().is_terminal() => {
            let what = "name a file, or pipe something in: rdmascope explain FILE, rdmascope explain < FILE".to_owned();
            return Err(Failure::Usage(vec![Defect::somewhere("explain", what)]));
        }
        [] => std::slice::from_ref(&stdin),
        files => files,
    };
    if files.contains(&stdin) && io::stdin().is_terminal() {
        output::complain("rdmascope: reading from the terminal; end with Ctrl-D");
    }
    let inputs: Vec<Input> = files.iter().map(|path| input(path)).collect();
    let complete = inputs.iter().all(|input| !input.kinds.is_empty() && input.problem.is_none());
    let text = match global.format {
        Format::Json => output::json(&Document { schema: "rdmascope.explain/1", inputs })?,
        Format::Text | Format::Sarif | Format::Junit => inputs.iter().map(text).collect::<Vec<_>>().join("\n"),
    };
    output::print(&text)?;
    Ok(if complete { Exit::Done } else { Exit::Incomplete })
}

fn input(path: &Path) -> Input {
    let name = shown_path(path);
    match read(path) {
        Err(why) => Input::without(name, format!("cannot be read: {why}")),
        Ok((bytes, _)) if bytes.is_empty() => Input::without(name, "empty".to_owned()),
        Ok((bytes, cut)) => of_bytes(name, &bytes, cut),
    }
}

fn shown_path(path: &Path) -> String {
    if path == Path::new("-") { "-".to_owned() } else { Text::new(&path.to_string_lossy()).to_string() }
}

/// The content, at most [`LARGEST`] bytes, and whether there was more.
fn read(path: &Path) -> Result<(Vec<u8>, bool), String> {
    let cap = |reader: &mut dyn Read| -> io::Result<(Vec<u8>, bool)> {
        let mut bytes = Vec::new();
        reader.take(LARGEST + 1).read_to_end(&mut bytes)?;
        let cut = bytes.len() as u64 > LARGEST;
        bytes.truncate(usize::try_from(LARGEST).unwrap_or(usize::MAX));
        Ok((bytes, cut))
    };
    let read = if path == Path::new("-") {
        cap(&mut io::stdin().lock())
    } else if is_named_pipe(path) {
        return Err("it is a named pipe, at which one may wait for ever; rdmascope explain < FILE reads it".to_owned());
    } else {
        File::open(path).and_then(|mut file| cap(&mut file))
    };
    read.map_err(|error| reason(&error))
}

/// True for a pipe that has a name in a folder. One that the shell made for a command (`<(...)`) has none.
fn is_named_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_fifo()) && path.canonicalize().is_ok()
}

fn of_bytes(path: String, bytes: &[u8], cut: bool) -> Input {
    let decoded = utf16(bytes);
    let bytes = decoded.as_deref().unwrap_or(bytes);
    if let Some((_, by, command)) = COMPRESSED.iter().find(|(begin, ..)| bytes.starts_with(begin)) {
        return Input::without(
            path,
            format!("compressed by {by}; unpack it first: {command} FILE | rdmascope explain"),
        );
    }
    if is_binary(bytes) && !is_recording(bytes) {
        return Input::without(path, "binary data, no text".to_owned());
    }
    let (bytes, holes) = if is_recording(bytes) { (bytes.into(), None) } else { without_holes(bytes) };
    let Explained { kinds, facts, findings, next, not_read, .. } = explain(&path, &bytes);
    let unknown = kinds
        .is_empty()
        .then(|| format!("not recognised: nothing in it is of a kind that is known. Known are: {KNOWN}"));
    let cut = cut.then(|| format!("only the first {} MiB were read", LARGEST >> 20));
    let problems: Vec<String> = unknown.into_iter().chain(cut).chain(holes).chain(not_read).collect();
    let mut input = Input::without(path, String::new());
    input.problem = (!problems.is_empty()).then(|| problems.join("; "));
    input.is_log = kinds.iter().any(|kind| kind.has_messages());
    input.kinds = kinds.into_iter().map(Kind::name).collect();
    input.next = next;
    for fact in facts {
        let mut name = fact.name.clone();
        if input.facts.contains_key(&name) {
            name = Text::new(&format!("{} (line {})", fact.name, fact.line));
        }
        input.facts.entry(name).or_insert_with(|| document(&fact));
    }
    input.findings = findings;
    input.findings.sort_by_key(|finding| (rank(finding.status), finding.evidence.first().and_then(|shown| shown.line)));
    input
}

/// The bytes without those that are NUL, and what there is to say of these. Where they stand within a line they become a
/// sign that belongs to no word, so that its two halves are not read as one; lines stay lines.
fn without_holes(bytes: &[u8]) -> (Cow<'_, [u8]>, Option<String>) {
    if !bytes.contains(&0) {
        return (bytes.into(), None);
    }
    let mut text = Vec::with_capacity(bytes.len());
    for (number, piece) in bytes.split(|byte| *byte == 0).filter(|piece| !piece.is_empty()).enumerate() {
        if number > 0 && text.last() != Some(&b'\n') && !piece.starts_with(b"\n") && !piece.starts_with(b"\r") {
            text.extend_from_slice("\u{fffd}".as_bytes());
        }
        text.extend_from_slice(piece);
    }
    let line = 1 + bytes.iter().take_while(|byte| **byte != 0).filter(|byte| **byte == b'\n').count();
    let count = bytes.split(|byte| *byte == 0).count() - 1;
    let what = format!(
        "NUL bytes, {count} of them, stand in it from line {line} on, as a crash leaves them; what stood there is lost"
    );
    (text.into(), Some(what))
}

impl Input {
    fn without(path: String, problem: String) -> Self {
        Self {
            path,
            kinds: Vec::new(),
            facts: BTreeMap::new(),
            findings: Vec::new(),
            next: None,
            problem: Some(problem),
            is_log: false,
        }
    }
}

/// Text that Windows programs saved as UTF-16: it begins with a mark of its byte order, or every second byte of its begin is
/// NUL.
fn utf16(bytes: &[u8]) -> Option<Vec<u8>> {
    let (unit, mark): (fn([u8; 2]) -> u16, usize) = match bytes.get(..2)? {
        [0xff, 0xfe] => (u16::from_le_bytes, 2),
        [0xfe, 0xff] => (u16::from_be_bytes, 2),
        _ if is_wide(bytes, 1) => (u16::from_le_bytes, 0),
        _ if is_wide(bytes, 0) => (u16::from_be_bytes, 0),
        _ => return None,
    };
    let units: Vec<u16> = bytes[mark..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    Some(String::from_utf16_lossy(&units).into_bytes())
}

/// True if the bytes at every second place, from `first` on, are NUL and the others are signs of ASCII.
fn is_wide(bytes: &[u8], first: usize) -> bool {
    let is_sign = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let pairs = bytes.chunks_exact(2).take(256);
    pairs.len() > 3 && pairs.into_iter().all(|pair| pair[first] == 0 && is_sign(pair[1 - first]))
}

fn document(fact: &Fact) -> FactDocument {
    let value = match &fact.state {
        State::Known(Value::Text(text)) => serde_json::Value::from(text.as_str()),
        State::Known(Value::Number(number)) => serde_json::Value::from(*number),
        State::Known(Value::Flag(flag)) => serde_json::Value::from(*flag),
        _ => serde_json::Value::Null,
    };
    FactDocument { value, state: fact.state.name(), unit: fact.unit, line: fact.line }
}

fn rank(status: Status) -> u8 {
    match status {
        Status::Fail => 0,
        Status::Warn => 1,
        Status::Unknown => 2,
        Status::Info => 3,
        Status::Pass => 4,
    }
}

/// One input for people.
fn text(input: &Input) -> String {
    let kinds = if input.kinds.is_empty() { "unknown".to_owned() } else { input.kinds.join(", ") };
    let mut text = String::new();
    for piece in wrap(&format!("{}: {kinds}", input.path), COLUMNS) {
        let _ = writeln!(text, "{piece}");
    }
    if let Some(problem) = &input.problem {
        indented(&mut text, 2, problem);
    }
    for finding in &input.findings {
        indented(&mut text, 2, &format!("{} {}  {}", finding.status.name(), finding.check, finding.title));
        if !finding.cause.is_empty() {
            indented(&mut text, 7, &finding.cause);
        }
        for shown in &finding.evidence {
            let line = shown.line.map_or_else(String::new, |line| format!("line {line}: "));
            indented(&mut text, 7, &format!("{line}{}", shown.excerpt));
        }
        if !finding.decide.is_empty() {
            indented(&mut text, 7, &format!("To settle it: {}", finding.decide));
        }
        for remedy in &finding.remedies {
            indented(&mut text, 7, &format!("{}:", remedy.title));
            for command in &remedy.commands {
                indented(&mut text, 9, command);
            }
        }
    }
    if let Some(next) = &input.next {
        indented(&mut text, 2, next);
    } else if input.findings.is_empty() && input.is_log {
        indented(&mut text, 2, "no message in it is known here; that does not say that all is well");
    } else if input.findings.is_empty() && !input.kinds.is_empty() {
        indented(&mut text, 2, "nothing in it is known to be wrong");
    }
    let mut facts: Vec<(&Text, &FactDocument)> = input.facts.iter().collect();
    facts.sort_by_key(|(_, fact)| fact.line);
    if !facts.is_empty() {
        let _ = writeln!(text, "  Values");
    }
    let shown: Vec<Row> = facts.iter().take(MOST_SHOWN).map(|(name, fact)| Row::new(name, &said(fact))).collect();
    text.push_str(&rows(&shown, 4));
    if let Some(more) = facts.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
        indented(&mut text, 4, &format!("and {more} more: --format json"));
    }
    text
}

fn said(fact: &FactDocument) -> String {
    let value = match &fact.value {
        serde_json::Value::Null => return format!("({})", fact.state),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match fact.unit {
        Some(unit) => format!("{value} {unit}"),
        None => value,
    }
}

fn indented(text: &mut String, indent: usize, what: &str) {
    for (number, piece) in wrap(what, COLUMNS - indent - 2).iter().enumerate() {
        let more = if number > 0 { 2 } else { 0 };
        let _ = writeln!(text, "{}{}", " ".repeat(indent + more), piece.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::document::tests::check;

    #[test]
    fn what_cannot_be_explained_says_why() {
        assert_eq!(of_bytes("x".to_owned(), b"\x7fELF\0\0", false).problem.as_deref(), Some("binary data, no text"));
        assert!(
            of_bytes("x".to_owned(), b"hello world\n", false).problem.is_some_and(|why| why.contains("not recognised"))
        );
        assert!(input(Path::new("/nonexistent/file")).problem.is_some_and(|why| why.starts_with("cannot be read")));
        assert!(input(Path::new("/dev/null")).problem.is_some_and(|why| why == "empty"));
        let cut = of_bytes("x".to_owned(), b"firmware = \"efi\"\n", true);
        assert_eq!((cut.kinds, cut.problem.as_deref()), (vec!["vmx"], Some("only the first 64 MiB were read")));
    }

    #[test]
    fn what_is_not_known_says_what_is() {
        let unknown = of_bytes("x".to_owned(), b"hello world\n", false);
        let shown = text(&unknown);
        assert!(shown.contains("vmware.log") && shown.contains("esxcli"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS), "{shown}");
        assert!(of_bytes("x".to_owned(), b"\x1f\x8b\x08\0", false).problem.is_some_and(|why| why.contains("gzip -dc")));
        // Of a log without a known message nobody can say that nothing is wrong; of a file that is read whole, one can.
        let log = text(&of_bytes("x".to_owned(), b"2026-01-02T03:04:05.678Z In(05) vmx - Hello\n", false));
        assert!(log.contains("does not say that all is well") && !log.contains("known to be wrong"), "{log}");
        let vmx = text(&of_bytes("x".to_owned(), b"displayName = \"a\"\n", false));
        assert!(vmx.contains("nothing in it is known to be wrong"), "{vmx}");
    }

    #[test]
    fn files_of_this_program_are_known_by_their_first_bytes() {
        use crate::collect::transport::offline::{MAGIC, script};
        let of = |bytes: &[u8]| {
            let input = of_bytes("FILE".to_owned(), bytes, false);
            assert_eq!((input.problem.as_deref(), input.findings.len()), (None, 0));
            (input.kinds.clone(), text(&input))
        };
        let (kinds, shown) = of(&[&crate::record::format::MAGIC[..], b"\x01\0\0\0"].concat());
        assert!(kinds == ["rdmascope-recording"] && shown.contains("rdmascope replay FILE"), "{shown}");
        let (kinds, shown) = of(format!("{MAGIC} 1\nsystem: esxi\nhost: esx01\n\n").as_bytes());
        assert!(
            kinds == ["rdmascope-archive"] && shown.contains("rdmascope offline:FILE") && shown.contains("esx01"),
            "{shown}"
        );
        let text = script("1", "0badcafe", crate::probe::esxi::PROBES, crate::probe::linux::PROBES);
        assert_eq!(of(text.as_bytes()).0, ["rdmascope-collector"]);
        let document = output::json(&Document { schema: "rdmascope.explain/1", inputs: vec![] }).expect("a document");
        assert_eq!(of(document.as_bytes()).0, ["rdmascope-document"]);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_comes_through() {
        let hostile = b"pvrdma0.present = \"TRUE\"\x1b]0;title\x07\n\x1b[31mpciPassthru0.id = \"\x1b[2J00000:013:00.0\"\nx = \"\xe2\x80\xae\"\n";
        let input = of_bytes("name".to_owned(), hostile, false);
        let (text, json) = (text(&input), output::json(&input).expect("a document"));
        assert!(input.findings.iter().any(|finding| finding.check == "vm.myth-pvrdma-keys"), "{text}");
        for shown in [text, json] {
            assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
            assert!(!shown.contains("\\u001b") && !shown.contains('\u{202e}'), "{shown}");
        }
    }

    /// Texts in which the word HIDDEN stands where a secret does, each with something that has to be told.
    const PLANTED: &[(&str, &str, &str)] = &[
        (
            "vm.vmx",
            "memSize = \"4096\"\nguestinfo.a = HIDDEN\nRemoteDisplay.vnc.password = \"HIDDEN\"\nremotedisplay.vnc.password = \"HIDDEN\"\n\
             annotation = \"HIDDEN|0AHIDDEN\"\nmachine.id HIDDEN\nauthd.token = \u{201c}HIDDEN\u{201d}\npvrdma0.present = \"TRUE\"\n\
             guestinfo.b = \"HIDDEN\nHIDDEN==\nx HIDDEN\n",
            "vmx.duplicate-key",
        ),
        (
            "vmware.log",
            "2023-07-21T09:40:52.413Z In(05) vmx - DICT --- CONFIGURATION\n\
             2023-07-21T09:40:52.413Z In(05) vmx - DICT  RemoteDisplay.vnc.password = \"HIDDEN\"\n\
             2023-07-21T09:40:52.413Z In(05) vmx - DICT  guestinfo.a = \"HIDDEN\"\n\
             2023-07-21T09:40:52.413Z In(05) vmx - DICT  memSize = \"4096\"\n",
            "vm.configuration-in-log",
        ),
        (
            "local.sh",
            "#!/bin/sh\nesxcli -u root -p HIDDEN hardware pci pcipassthru get -a\nADMIN_PW='HIDDEN' vim-cmd x\nexit 0\n",
            "host.myth-pcipassthru-get",
        ),
        (
            "-",
            "[root@esx1:~] esxcli --password HIDDEN hardware pci pcipassthru get -a\n[root@esx1:~] vim-cmd vmsvc/snapshot.get 3\n\
             --Snapshot Name        : HIDDEN\n--Snapshot Desciption  : HIDDEN\nHIDDEN\n",
            "host.myth-pcipassthru-get",
        ),
        (
            "-",
            "(vim.vm.ConfigInfo) {\n   annotation = \"HIDDEN\nHIDDEN\",\n   version = \"vmx-19\",\n   extraConfig = (vim.option.OptionValue) [\n      \
             (vim.option.OptionValue) {\n         key = \"guestinfo.a\",\n         value = \"HIDDEN\nHIDDEN\"\n      }\n   ]\n}\n",
            "vmx-19",
        ),
        (
            "vm.vmsd",
            ".encoding = \"UTF-8\"\nsnapshot.numSnapshots = \"1\"\nsnapshot0.uid = \"1\"\nsnapshot0.displayName = \"HIDDEN\"\n\
             snapshot0.description = \"HIDDEN\"\n",
            "vm.snapshots",
        ),
    ];

    #[test]
    fn no_secret_of_any_text_is_told() {
        for (path, planted, told) in PLANTED {
            let input = of_bytes((*path).to_owned(), planted.as_bytes(), false);
            let (text, json) = (text(&input), output::json(&input).expect("a document"));
            assert!(!text.contains("HIDDEN") && !json.contains("HIDDEN"), "{text}\n{json}");
            assert!(json.contains(told), "{told} is told: {json}");
        }
    }

    #[test]
    fn the_document_satisfies_its_schema() {
        let schema = serde_json::from_str(include_str!("../../schema/explain-1.json")).expect("the schema is JSON");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/public");
        let mut inputs: Vec<Input> =
            std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| input(&entry.path())).collect();
        inputs.push(input(Path::new("/dev/null")));
        let mut document =
            serde_json::to_value(Document { schema: "rdmascope.explain/1", inputs }).expect("a document");
        let mut wrong = Vec::new();
        check(&schema, &schema, &document, "", &mut wrong);
        assert_eq!(wrong, Vec::<String>::new());
        document["inputs"][0]["kinds"] = serde_json::json!(["poem"]);
        check(&schema, &schema, &document, "", &mut wrong);
        assert_eq!(wrong.len(), 1, "the check does find faults: {wrong:?}");
    }

    #[test]
    fn a_hole_hides_nothing_else_and_is_told() {
        let text =
            format!("firmware = \"efi\"\n{}\nmemSize = \"40{}96\"\nnumvcpus = \"4\"\n", "\0".repeat(9000), "\0\0");
        let input = of_bytes("x".to_owned(), text.as_bytes(), false);
        assert_eq!(input.kinds, ["vmx"]);
        assert!(input.problem.as_deref().is_some_and(|what| what.contains("9002 of them, stand in it from line 2 on")));
        let (efi, count) = (&input.facts["firmware"], &input.facts["numvcpus"]);
        assert_eq!((efi.line, count.line, &count.value), (1, 4, &serde_json::json!(4)));
        assert_ne!(input.facts["memSize"].value, serde_json::json!(4096), "two halves are not one number");
    }

    #[test]
    fn a_named_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs");
        assert!(made.success());
        assert!(input(&pipe).problem.is_some_and(|why| why.contains("it is a named pipe")));
        // What a shell passes as <(...) is read.
        let (reader, mut writer) = io::pipe().expect("a pipe");
        io::Write::write_all(&mut writer, b"firmware = \"efi\"\n").expect("there is room");
        drop(writer);
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        assert_eq!(input(Path::new(&path)).kinds, ["vmx"]);
    }

    #[test]
    fn archives_are_named_and_wide_text_needs_no_mark() {
        for (begin, by, command) in COMPRESSED {
            let problem = of_bytes("x".to_owned(), &[begin, &[0, 1, 2, 3][..]].concat(), false).problem;
            assert!(problem.is_some_and(|why| why.contains(by) && why.contains(command)));
        }
        let text = "firmware = \"efi\"\n";
        for wide in [
            text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        ] {
            assert_eq!(of_bytes("x".to_owned(), &wide, false).kinds, ["vmx"]);
        }
    }

    #[test]
    fn utf16_is_read() {
        let wide: Vec<u8> =
            std::iter::once(0xfeff).chain("firmware = \"efi\"\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let input = of_bytes("x".to_owned(), &wide, false);
        assert_eq!(input.kinds, ["vmx"]);
        assert!(input.facts.contains_key("firmware"));
    }

    #[test]
    fn text_fits_and_names_lines() {
        let input = of_bytes("x".to_owned(), b"esxcli hardware pci pcipassthru get -a\n", false);
        let text = text(&input);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(
            text.contains("warn host.myth-pcipassthru-get  no such command") && text.contains("line 1: esxcli"),
            "{text}"
        );
    }
}
