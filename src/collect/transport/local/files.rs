//! Files, as `grep -aH ''` prints them; and the environment, as the script prints it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::Given;
use super::kept::Kept;
use crate::collect::reason::printed;
use crate::fabric::Outcome;
use crate::probe::dialect::posix::{MORE_LINES, MOST_PROCESSES, is_name};

/// The files that match the patterns.
pub(super) fn read(globs: &[&str]) -> Given {
    let paths: Vec<PathBuf> = globs.iter().flat_map(|glob| expand(glob)).collect();
    print(&paths)
}

/// What `pattern` matches, in the order of the shell; the pattern itself where nothing does.
pub(super) fn expand(pattern: &str) -> Vec<PathBuf> {
    let literal = || vec![PathBuf::from(pattern)];
    if !pattern.contains(['*', '?', '[']) {
        return literal();
    }
    let options =
        glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let Ok(found) = glob::glob_with(pattern, options) else { return literal() };
    let mut paths: Vec<PathBuf> = found.filter_map(Result::ok).collect();
    if paths.is_empty() {
        return literal();
    }
    paths.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
    paths
}

/// The files of processes whose name is one of `names`.
pub(super) fn of_processes(names: &[&str], files: &[&str]) -> Given {
    let mut paths = Vec::new();
    let mut count = 0;
    for process in if names.is_empty() { Vec::new() } else { expand("/proc/[0-9]*") } {
        let Ok(comm) = std::fs::read(process.join("comm")) else { continue };
        let Some(name) = comm.strip_suffix(b"\n") else { continue };
        if !names.iter().any(|wanted| wanted.as_bytes() == name) {
            continue;
        }
        paths.push(process.join("comm"));
        paths.extend(files.iter().filter(|&&file| file != "comm").map(|file| process.join(file)));
        count += 1;
        if count == MOST_PROCESSES {
            break;
        }
    }
    print(&paths)
}

/// Variables whose names begin with one of `prefixes`, sorted; of a value of several lines only the first one.
pub(super) fn environment(variables: impl Iterator<Item = (OsString, OsString)>, prefixes: &[&str]) -> Given {
    let allowed = |name: &OsStr| {
        name.to_str().is_some_and(|name| {
            is_name(name) && prefixes.iter().any(|prefix| is_name(prefix) && name.starts_with(prefix))
        })
    };
    let mut lines: Vec<Vec<u8>> = variables
        .filter(|(name, _)| allowed(name))
        .map(|(name, value)| {
            let mut line = name.into_vec();
            line.push(b'=');
            match value.as_bytes().iter().position(|&byte| byte == b'\n') {
                None => line.extend_from_slice(value.as_bytes()),
                Some(end) => {
                    line.extend_from_slice(&value.as_bytes()[..end]);
                    line.extend_from_slice(MORE_LINES.as_bytes());
                }
            }
            line
        })
        .collect();
    lines.sort();
    let mut stdout = Kept::default();
    for mut line in lines {
        line.push(b'\n');
        stdout.push(&line);
    }
    Given { stdout: stdout.bytes, cut: stdout.cut, ..Given::status(0) }
}

fn print(paths: &[PathBuf]) -> Given {
    let (mut stdout, mut stderr) = (Kept::default(), Kept::default());
    let mut status = 0;
    for path in paths {
        if stdout.is_flooded() {
            break;
        }
        if let Err(error) = print_one(path, &mut stdout) {
            status = 2;
            stderr.push(b"grep: ");
            stderr.push(path.as_os_str().as_bytes());
            stderr.push(format!(": {}\n", printed(&error)).as_bytes());
        }
    }
    Given {
        outcome: Outcome::Exit(status),
        stdout: stdout.bytes,
        stderr: stderr.bytes,
        cut: stdout.cut.saturating_add(stderr.cut),
    }
}

/// Every line behind the path of its file. A last line without an end gets one, also where reading then fails.
fn print_one(path: &Path, output: &mut Kept) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut prefix = path.as_os_str().as_bytes().to_vec();
    prefix.push(b':');
    let mut buffer = vec![0; 64 * 1024];
    let mut at_start = true;
    let result = loop {
        let length = match file.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break Err(error),
        };
        for line in buffer[..length].split_inclusive(|&byte| byte == b'\n') {
            if at_start {
                output.push(&prefix);
            }
            output.push(line);
            at_start = line.ends_with(b"\n");
        }
        if output.is_flooded() {
            break Ok(());
        }
    };
    if !at_start {
        output.push(b"\n");
    }
    result
}
