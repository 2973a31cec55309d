//! Programs: started without a shell in a process group of their own, with nothing to read, and ended at a deadline.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use super::Given;
use super::files::expand;
use super::kept::Kept;
use crate::collect::reason::printed;
use crate::fabric::Outcome;
use crate::probe::dialect::posix::MORE_PATH;
use crate::probe::{Keep, Word};

/// How long the outputs of a program that has ended may stay open (a child of it may hold them).
const GRACE: Duration = Duration::from_millis(500);

/// A line of a filtered output that is longer is cut.
const LONGEST_LINE: usize = 64 * 1024;

/// The search path, with the directories of administration programs at its end.
fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").filter(|path| !path.is_empty()).unwrap_or_else(|| "/usr/bin:/bin".into());
    path.push(":");
    path.push(MORE_PATH);
    path
}

/// Where `program` lies, as `command -v` finds it on the search path.
pub(super) fn whereabouts(program: &str) -> Option<PathBuf> {
    find(OsStr::new(program), &search_path())
}

/// Where `program` lies, as `command -v` finds it.
fn find(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let runs = |file: &Path| {
        file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    if Path::new(program).components().count() > 1 {
        return Some(PathBuf::from(program)).filter(|file| runs(file));
    }
    std::env::split_paths(path).map(|directory| directory.join(program)).find(|file| runs(file))
}

/// Ends a whole process group when dropped.
struct Group(Option<Pid>);

impl Group {
    fn end(&mut self) {
        if let Some(group) = self.0.take() {
            // It may have ended by itself just now.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs a program to its end, at most for `deadline`.
pub(super) async fn run(argv: &[Word], keep: Option<Keep>, deadline: Duration) -> Given {
    let words = argv.iter().flat_map(|word| match word {
        Word::Plain(text) => vec![OsString::from(text)],
        Word::Item(..) => vec![OsString::from(word.shown(""))],
        Word::Glob(pattern) => expand(pattern).into_iter().map(PathBuf::into_os_string).collect(),
    });
    run_words(words.collect(), keep, deadline).await
}

/// The same with words that are taken as they are.
pub(super) async fn run_words(words: Vec<OsString>, keep: Option<Keep>, deadline: Duration) -> Given {
    let Some((program, arguments)) = words.split_first() else { return Given::status(127) };
    let said = |text: &str, status| {
        let stderr = format!("{}: {text}\n", program.to_string_lossy()).into_bytes();
        Given { stderr, ..Given::status(status) }
    };
    let path = search_path();
    let Some(file) = find(program, &path) else { return said("not found", 127) };
    let spawned = Command::new(file)
        .arg0(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .env("PATH", &path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return said(&printed(&error), 126),
    };
    let mut group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut out = Sink::new(keep);
    let mut err = Sink::new(None);
    let status = {
        let outputs = async {
            tokio::join!(drain(stdout, &mut out), drain(stderr, &mut err));
        };
        tokio::pin!(outputs);
        let whole = async {
            let status = tokio::select! {
                status = child.wait() => {
                    let _ = tokio::time::timeout(GRACE, &mut outputs).await;
                    status
                }
                () = &mut outputs => {
                    // Either it closed its outputs or it sent too much; both ways nothing more comes.
                    tokio::time::timeout(GRACE, child.wait()).await.unwrap_or_else(|_| {
                        group.end();
                        Ok(ExitStatus::from_raw(9))
                    })
                }
            };
            status.map_or(126, exit_code)
        };
        tokio::time::timeout(deadline, whole).await
    };
    group.end();
    let cut = out.kept.cut.saturating_add(err.kept.cut);
    let outcome = status.map_or(Outcome::TimedOut, Outcome::Exit);
    Given { outcome, stdout: out.finish(), stderr: err.finish(), cut }
}

/// The status as a shell says it: 128 and the number of the signal for a program that was killed.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(126)
}

async fn drain(pipe: Option<impl AsyncRead + Unpin>, sink: &mut Sink) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length) = pipe.read(&mut buffer).await {
        if length == 0 || sink.push(&buffer[..length]) {
            return;
        }
    }
}

/// Where one output goes: kept as it is, or only the last lines that hold a certain text.
struct Sink {
    kept: Kept,
    keep: Option<Keep>,
    line: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
}

impl Sink {
    fn new(keep: Option<Keep>) -> Self {
        Self { kept: Kept::default(), keep, line: Vec::new(), lines: VecDeque::new() }
    }

    /// True once so much came that reading on is pointless.
    fn push(&mut self, bytes: &[u8]) -> bool {
        if self.keep.is_none() {
            self.kept.push(bytes);
            return self.kept.is_flooded();
        }
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            let room = LONGEST_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            self.kept.cut += text.len().saturating_sub(room) as u64;
            if ended {
                self.end_line();
            }
        }
        false
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let Some(keep) = self.keep else { return };
        if !keep.any_of.is_empty() && !keep.any_of.iter().any(|text| contains(&line, text.as_bytes())) {
            return;
        }
        line.push(b'\n');
        self.lines.push_back(line);
        if self.lines.len() > keep.last {
            self.lines.pop_front();
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if !self.line.is_empty() {
            self.end_line();
        }
        for line in &self.lines {
            self.kept.push(line);
        }
        self.kept.bytes
    }
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    text.is_empty() || line.windows(text.len()).any(|window| window == text)
}
