//! A program whose input and output are the connection (`ProxyCommand`). It runs as OpenSSH runs it, by a shell that is
//! replaced by it, and it ends with its connection, together with all that it started.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::error::{Failure, ProxyEnd};
use crate::collect::process_group::ProcessGroup;
use crate::fabric::Text;

/// So many bytes of what it complains are kept.
const COMPLAINT_KEPT: usize = 1024;

/// Its output and its input as one stream.
pub type Stream = tokio::io::Join<ChildStdout, ChildStdin>;

/// A running program. Dropping it ends it.
pub struct Proxy {
    command: Text,
    child: Child,
    complaint: Arc<Mutex<Vec<u8>>>,
    listening: JoinHandle<()>,
    _group: ProcessGroup,
}

impl Proxy {
    /// Starts a command.
    pub fn start(command: &str) -> Result<(Stream, Self), Failure> {
        let shown = Text::new(command);
        let failed =
            |why: &str| Failure::ProxyCommand { command: shown.clone(), end: ProxyEnd::NotStarted(Text::new(why)) };
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(format!("exec {command}"));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ProcessGroup::lead(&mut shell);
        let mut child = shell.spawn().map_err(|error| failed(&error.to_string()))?;
        let group = ProcessGroup::of(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("it has no input and output"));
        };
        let complaint = Arc::new(Mutex::new(Vec::new()));
        let listening = tokio::spawn(listen(stderr, complaint.clone()));
        let proxy = Self { command: shown, child, complaint, listening, _group: group };
        Ok((tokio::io::join(stdout, stdin), proxy))
    }

    /// The last line that it complained, if any.
    pub fn said(&self) -> Option<Text> {
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        last_line(&complaint)
    }

    /// Why the connection over it did not come to be. A program that ended the connection says why at about the same
    /// time; longer than `last_words` is not waited for it.
    pub async fn failure(mut self, last_words: Duration) -> Failure {
        let until = Instant::now() + last_words;
        let status = match timeout_at(until, self.child.wait()).await {
            Ok(Ok(status)) => status.code(),
            Ok(Err(_)) | Err(_) => None,
        };
        // What it complained comes on a way of its own; something else may hold that open.
        let _ = timeout_at(until, &mut self.listening).await;
        let end = ProxyEnd::Ended { status, said: self.said() };
        Failure::ProxyCommand { command: self.command.clone(), end }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Keeps the last bytes of a stream.
async fn listen(mut stream: impl AsyncRead + Unpin, complaint: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 512];
    while let Ok(length @ 1..) = stream.read(&mut piece).await {
        let mut kept = complaint.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&piece[..length]);
        let over = kept.len().saturating_sub(COMPLAINT_KEPT);
        kept.drain(..over);
    }
}

fn last_line(bytes: &[u8]) -> Option<Text> {
    let lines = bytes.split(|&byte| byte == b'\n' || byte == b'\r');
    lines.rev().map(|line| Text::new(&String::from_utf8_lossy(line))).find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn failure(command: &str) -> ProxyEnd {
        let (stream, proxy) = Proxy::start(command).expect("it starts");
        drop(stream);
        match proxy.failure(Duration::from_mins(1)).await {
            Failure::ProxyCommand { end, .. } => end,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn its_end_and_its_last_words_are_told() {
        let end = failure("sh -c 'echo one >&2; printf \"no \\033[31mroute\\n\\n\" >&2; exit 7'").await;
        assert_eq!(end, ProxyEnd::Ended { status: Some(7), said: Some(Text::new("no route")) });
        assert_eq!(failure("true").await, ProxyEnd::Ended { status: Some(0), said: None });
        let end = failure("/no/such/program %").await;
        assert!(
            matches!(&end, ProxyEnd::Ended { status: Some(127), said: Some(said) } if said.contains("program")),
            "{end:?}"
        );
    }

    #[tokio::test]
    async fn a_flood_of_complaints_is_not_kept() {
        let (_stream, mut proxy) =
            Proxy::start("sh -c 'yes complaint | head -n 100000 >&2; echo last >&2'").expect("it starts");
        proxy.child.wait().await.expect("it ends");
        (&mut proxy.listening).await.expect("all is read");
        assert_eq!(proxy.said(), Some(Text::new("last")));
        assert!(proxy.complaint.lock().expect("unpoisoned").len() <= COMPLAINT_KEPT);
    }

    #[test]
    fn the_last_line_with_words_in_it_counts() {
        assert_eq!(last_line(b"a\nb\n \n\r\n"), Some(Text::new("b")));
        assert_eq!(last_line(b"\x1b[31m\n"), None);
        assert_eq!(last_line(b""), None);
    }
}
