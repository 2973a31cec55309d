//! The crate is a house of floors, and this test reads its plan from the source: each floor imports only from floors
//! below it, the pure floors know no I/O, no clock and no runtime, and SSH, the terminal and NVML stay behind their
//! walls. The checker is tested on made-up sources that break each rule: a check that cannot fail would prove nothing.

use std::path::{Path, PathBuf};

#[path = "architecture/checker.rs"]
mod checker;
#[path = "architecture/scan.rs"]
mod scan;

use scan::{code_only, in_crate, paths, test_files, without_tests};

/// The floors, from the ground up.
const FLOORS: [&str; 12] =
    ["fabric", "probe", "config", "tune", "diagnose", "app", "collect", "record", "engine", "lab", "tui", "cli"];

/// Floors without I/O, clock, runtime or terminal.
const PURE: [&str; 6] = ["fabric", "probe", "config", "tune", "diagnose", "app"];

/// What a pure floor must not name: a path, or the call that asks a clock or chance.
const IMPURE: [&str; 24] = [
    "tokio",
    "tokio_util",
    "futures",
    "std::fs",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "std::net::ToSocketAddrs",
    "std::process",
    "std::env",
    "std::thread",
    "std::io",
    "std::os",
    "rustix",
    "russh",
    "crossterm",
    "ratatui",
    "nvml_wrapper",
    "tempfile",
    "glob",
    "rand",
    "SystemTime::now",
    "Instant::now",
    "std::time::SystemTime",
];

/// Clocks by the name of the call: whatever type it hangs on.
const CLOCK_CALLS: [&str; 5] =
    ["Timestamp::now", "Zoned::now", "ZonedDateTime::now", "SystemTime::now", "Instant::now"];

/// Crates that only one place may name.
const WALLS: [(&str, &[&str]); 3] =
    [("russh", &["collect/transport/ssh", "lab"]), ("crossterm", &["tui"]), ("nvml_wrapper", &["collect/nvml"])];

/// No file is longer than this.
const LONGEST: usize = 600;
/// A file longer than this is told, without failing.
const LONG: usize = 450;

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Breach {
    /// The file, below `src/`.
    file: String,
    /// The line, from 1.
    line: usize,
    /// What is wrong.
    what: String,
}

/// The floor of a file, and how high it is: `collect/transport/ssh.rs` is on `collect`. `lib.rs` and `main.rs` stand
/// above the house.
fn floor_of(file: &str) -> Option<(usize, &'static str)> {
    let first = file.split('/').next()?.trim_end_matches(".rs");
    FLOORS.iter().position(|floor| *floor == first).map(|height| (height, FLOORS[height]))
}

fn begins_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// All breaches of one file, whose name is given below `src/`; `for_tests` if it is compiled for tests only.
fn breaches(file: &str, source: &str, for_tests: bool) -> Vec<Breach> {
    let mut found = Vec::new();
    let mut report = |line: usize, what: String| found.push(Breach { file: file.to_owned(), line, what });
    let code = code_only(source);
    let production = without_tests(&code);

    if let Some((height, floor)) = floor_of(file) {
        // Tests inside `super::` modules climb one module more than the file says, which leads to the same floor or
        // out of it; so the floors are read with tests and all.
        for (line, path) in paths(&code) {
            let Some(inside) = in_crate(&path, file) else { continue };
            let Some(first) = inside.split("::").next() else { continue };
            if let Some(other) = FLOORS.iter().position(|name| *name == first)
                && other > height
            {
                report(line, format!("{floor} imports from {first}, which is above it: {path}"));
            }
        }
        if PURE.contains(&floor) && !for_tests {
            for (line, path) in paths(&production) {
                if let Some(name) = IMPURE.iter().find(|name| begins_with(&path, name)) {
                    report(line, format!("{floor} is pure and names {name}: {path}"));
                } else if let Some(call) =
                    CLOCK_CALLS.iter().find(|call| path == **call || path.ends_with(&format!("::{call}")))
                {
                    report(line, format!("{floor} is pure and asks the clock with {call}"));
                }
            }
        }
    }
    for (line, path) in paths(&code) {
        for (name, places) in WALLS {
            let allowed = places
                .iter()
                .any(|place| file.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest == ".rs"));
            let ratatui_door = format!("ratatui::{name}");
            if (begins_with(&path, name) || begins_with(&path, &ratatui_door)) && !allowed {
                report(line, format!("{name} is named outside {}: {path}", places.join(" and ")));
            }
        }
    }
    let length = source.lines().count();
    if length > LONGEST {
        report(length, format!("{length} lines, more than {LONGEST}: split it by meaning"));
    }
    found.sort();
    found.dedup();
    found
}

/// All breaches of a whole tree of sources.
fn all_breaches(all: &[(String, String)]) -> Vec<Breach> {
    let for_tests: Vec<String> = all.iter().flat_map(|(file, source)| test_files(file, &code_only(source))).collect();
    all.iter().flat_map(|(file, source)| breaches(file, source, for_tests.contains(file))).collect()
}

/// All Rust files below a folder, by their name in it, with their text.
fn sources(root: &Path) -> Vec<(String, String)> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.push(path);
            }
        }
    }
    let mut files = Vec::new();
    walk(root, &mut files);
    files.sort();
    let text =
        |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = |path: &Path| path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), text(path))).collect()
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn every_file_keeps_to_its_floor() {
    let all = sources(&source_folder());
    assert!(all.len() > 20, "only {} files were found: the check reads the wrong folder", all.len());
    let found = all_breaches(&all);
    let lines: Vec<String> =
        found.iter().map(|breach| format!("src/{}:{}: {}", breach.file, breach.line, breach.what)).collect();
    assert!(lines.is_empty(), "the plan of the house is broken:\n{}", lines.join("\n"));
}

#[test]
fn every_folder_is_a_floor() {
    for (file, _) in sources(&source_folder()) {
        let known = floor_of(&file).is_some() || file == "lib.rs" || file == "main.rs";
        assert!(known, "src/{file} stands on no floor: add the floor to FLOORS");
    }
}

#[test]
fn long_files_are_told() {
    use std::io::Write;
    for (file, source) in sources(&source_folder()) {
        let length = source.lines().count();
        if length > LONG {
            let _ = writeln!(std::io::stderr(), "src/{file} has {length} lines: can it be split by meaning?");
        }
        assert!(length <= LONGEST, "src/{file} has {length} lines");
    }
}
