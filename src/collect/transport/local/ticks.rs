//! The stream of ticks of this machine: speaks the same lines as the block of shell does, but opens the files itself.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc;

use super::files::expand;
use super::{Local, program};
use crate::collect::lines::Lines;
use crate::collect::transport::{Exec, Input, Output};
use crate::fabric::{Outcome, Timestamp};
use crate::probe::linux::queue_pairs;
use crate::probe::linux::stream::native::{self, Place, Watched};
use crate::probe::privilege::ByRoot;

/// How long that may take.
const QUEUE_PAIR_DEADLINE: Duration = Duration::from_secs(5);

/// No value of a watched file is longer.
const LONGEST_VALUE: u64 = 4096;

/// The name under which reads of a stream are known as hanging.
const READS: &str = "linux.stream";

/// Starts the stream; it ends with its input.
pub(super) fn start(local: Local, nonce: String) -> Exec {
    let (input, ticks) = mpsc::channel(4);
    let (lines, output) = mpsc::channel(64);
    tokio::spawn(async move {
        let status = serve(&local, &nonce, ticks, &lines).await;
        let _ = lines.send(Output::Exit(status)).await;
    });
    Exec::new(input, output)
}

/// Answers ticks until the input ends; gives the exit status.
async fn serve(local: &Local, nonce: &str, mut ticks: mpsc::Receiver<Input>, lines: &mpsc::Sender<Output>) -> u32 {
    let hangs = || Output::Stderr(b"an earlier read of /sys or /proc still hangs\n".to_vec());
    let Some(mut watched) = local.blocking(READS, scan).await else {
        let _ = lines.send(hangs()).await;
        return 1;
    };
    if !say(lines, watched.header(nonce)).await {
        return 0;
    }
    let mut requests = Lines::default();
    while let Some(Input::Bytes(bytes)) = ticks.recv().await {
        for request in requests.push(&bytes) {
            let (number, asked) = request.split_once(' ').unwrap_or((&request, ""));
            let Ok(number) = number.parse::<u64>() else { continue };
            let rescan = asked.contains('r');
            let files = watched.files.clone();
            let read = local.blocking(READS, move || {
                let anew = rescan.then(scan);
                let values: Vec<Option<String>> =
                    anew.as_ref().map_or(&files, |watched| &watched.files).iter().map(|path| value(path)).collect();
                (anew, uptime(), values)
            });
            let Some((anew, uptime, values)) = read.await else {
                let _ = lines.send(hangs()).await;
                return 1;
            };
            let mut answer = Vec::new();
            if let Some(anew) = anew {
                watched = anew;
                answer = watched.header(nonce);
            }
            answer.push(native::tick_line(nonce, number, &uptime, &values));
            if !say(lines, answer).await {
                return 0;
            }
            if asked.contains(['q', 's']) {
                let by_root = asked.contains('s').then(by_root).flatten();
                let given = match &by_root {
                    Some(command) => program::run_words(super::words(command), None, QUEUE_PAIR_DEADLINE).await,
                    None => program::run(queue_pairs::ARGV, None, QUEUE_PAIR_DEADLINE).await,
                };
                let status = match given.outcome {
                    Outcome::Exit(status) => status,
                    Outcome::TimedOut | Outcome::Cut => 124,
                };
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (stdout, stderr) = (text(&given.stdout), text(&given.stderr));
                let path = by_root.as_ref().map(|command| command.path.as_str());
                if !say(lines, native::queue_pair_lines(nonce, number, path, &stdout, &stderr, status)).await {
                    return 0;
                }
            }
        }
    }
    0
}

/// What lists queue pairs by `sudo`; `None` without the program.
fn by_root() -> Option<ByRoot> {
    ByRoot::new(program::whereabouts("rdma")?.to_str()?, queue_pairs::ARGV)
}

/// False once nobody listens.
async fn say(lines: &mpsc::Sender<Output>, answer: Vec<String>) -> bool {
    let mut text = answer.join("\n");
    text.push('\n');
    lines.send(Output::Stdout(text.into_bytes())).await.is_ok()
}

/// This very machine.
struct Here;

impl Place for Here {
    fn expand(&self, pattern: &str) -> Vec<String> {
        // A pattern that matches nothing stands for itself: there is no such file.
        let found = expand(pattern).into_iter().filter(|path| path.exists());
        found.filter_map(|path| path.to_str().map(str::to_owned)).collect()
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).exists()
    }

    fn value(&self, path: &str) -> Option<String> {
        value(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn leads_to(&self, path: &str) -> Option<String> {
        fs::read_link(path).ok()?.file_name()?.to_str().map(str::to_owned)
    }

    fn wall_clock_ms(&self) -> i64 {
        Timestamp::now().as_millisecond()
    }
}

fn scan() -> Watched {
    Watched::scan(&Here)
}

/// Empty where it cannot be read: no reader of ticks takes that for a time.
fn uptime() -> String {
    native::uptime(&Here).unwrap_or_default()
}

/// The first line of a file; an empty text if it could be opened and not read, `None` if it could not be opened.
fn value(path: &str) -> Option<String> {
    let file = fs::File::open(std::ffi::OsStr::from_bytes(path.as_bytes())).ok()?;
    let mut bytes = Vec::new();
    if file.take(LONGEST_VALUE).read_to_end(&mut bytes).is_err() {
        return Some(String::new());
    }
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    Some(String::from_utf8_lossy(line).trim().to_owned())
}
