//! A program that gives a password: started without a shell, with nothing on its input, in a group of its own, for a
//! limited time. What it prints is a secret: it is kept no longer than the login takes and never told, not even where it
//! failed.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use super::error::CommandProblem;
use crate::app::Secret;
use crate::collect::process_group::ProcessGroup;
use crate::fabric::Text;

/// No password is longer, in bytes.
const LONGEST: usize = 4096;

/// How long the rest of its output may take once it has ended.
const REST: Duration = Duration::from_millis(500);

/// The first line that the command prints.
pub async fn run(words: &[String], limit: Duration) -> Result<Secret, CommandProblem> {
    let Some((program, arguments)) = words.split_first() else { return Err(CommandProblem::Empty) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    ProcessGroup::lead(&mut command);
    let mut child = command.spawn().map_err(|error| CommandProblem::NotStarted(Text::new(&error.to_string())))?;
    let mut group = ProcessGroup::of(&child);
    let Some(stdout) = child.stdout.take() else { return Err(CommandProblem::Empty) };
    let mut line = FirstLine::default();
    let running = async {
        let reading = line.read(stdout);
        tokio::pin!(reading);
        tokio::select! {
            () = &mut reading => child.wait().await,
            status = child.wait() => {
                // Something that it left behind may hold its output open for ever.
                let _ = timeout(REST, &mut reading).await;
                status
            }
        }
    };
    let Ok(status) = timeout(limit, running).await else { return Err(CommandProblem::TimedOut(limit)) };
    group.ended();
    match status {
        Ok(status) if status.success() => line.secret(),
        Ok(status) => Err(CommandProblem::Failed(status.code())),
        Err(error) => Err(CommandProblem::NotStarted(Text::new(&error.to_string()))),
    }
}

/// The first line of an output.
struct FirstLine {
    line: Zeroed,
    complete: bool,
}

impl Default for FirstLine {
    fn default() -> Self {
        Self { line: Zeroed(Vec::with_capacity(LONGEST + 1)), complete: false }
    }
}

impl FirstLine {
    /// Reads to the end, so that the program is not ended by a broken pipe, and keeps the first line.
    async fn read(&mut self, mut stream: impl AsyncRead + Unpin) {
        let mut piece = Zeroed(vec![0; 512]);
        while let Ok(length @ 1..) = stream.read(&mut piece.0).await {
            for &byte in &piece.0[..length] {
                self.complete |= byte == b'\n';
                if !self.complete && self.line.0.len() <= LONGEST {
                    self.line.0.push(byte);
                }
            }
        }
    }

    fn secret(self) -> Result<Secret, CommandProblem> {
        let text = std::str::from_utf8(&self.line.0).map_err(|_| CommandProblem::NotText)?;
        let text = text.strip_suffix('\r').unwrap_or(text);
        match text.len() {
            0 => Err(CommandProblem::Empty),
            length if length > LONGEST => Err(CommandProblem::TooLong),
            _ => Ok(Secret::new(text.to_owned())),
        }
    }
}

/// Bytes that are overwritten when they go.
struct Zeroed(Vec<u8>);

impl Drop for Zeroed {
    fn drop(&mut self) {
        use secrecy::zeroize::Zeroize as _;
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    async fn given(words: &[&str]) -> Result<String, CommandProblem> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        run(&words, Duration::from_secs(20)).await.map(|secret| secret.expose().to_owned())
    }

    #[tokio::test]
    async fn the_first_line_is_the_password() {
        assert_eq!(given(&["printf", "a b \r\nsecond\n"]).await, Ok("a b ".to_owned()));
        assert_eq!(given(&["printf", "%s", "pä$HOME;x"]).await, Ok("pä$HOME;x".to_owned()));
        assert_eq!(given(&["sh", "-c", "cat; echo x; yes | head -c 1000000"]).await, Ok("x".to_owned()));
        assert_eq!(given(&["sh", "-c", "echo x; sleep 5 & exit 0"]).await, Ok("x".to_owned()), "it leaves something");
    }

    #[tokio::test]
    async fn each_failure_is_told_apart_and_tells_no_output() {
        assert_eq!(
            given(&["sh", "-c", "echo secret; echo secret >&2; exit 3"]).await,
            Err(CommandProblem::Failed(Some(3)))
        );
        assert_eq!(given(&["sh", "-c", "kill -9 $$"]).await, Err(CommandProblem::Failed(None)));
        assert_eq!(given(&["true"]).await, Err(CommandProblem::Empty));
        assert_eq!(given(&["printf", "\\nx"]).await, Err(CommandProblem::Empty));
        assert_eq!(given(&["printf", "\\377"]).await, Err(CommandProblem::NotText));
        assert_eq!(given(&["sh", "-c", "yes x | tr -d '\\n' | head -c 5000"]).await, Err(CommandProblem::TooLong));
        assert!(matches!(given(&["/no/such/program"]).await, Err(CommandProblem::NotStarted(_))));
        assert_eq!(given(&[]).await, Err(CommandProblem::Empty));
    }

    #[tokio::test]
    async fn one_that_hangs_is_given_up_at_its_deadline() {
        let words = ["sleep".to_owned(), "1000".to_owned()];
        let limit = Duration::from_millis(300);
        assert_eq!(run(&words, limit).await.err(), Some(CommandProblem::TimedOut(limit)));
    }

    #[tokio::test]
    async fn one_that_is_given_up_ends_with_all_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let words = ["sh".to_owned(), "-c".to_owned(), script];
        let until = Instant::now() + Duration::from_mins(1);
        let begun = async {
            loop {
                match std::fs::read_to_string(&file) {
                    Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
                    _ => assert!(Instant::now() < until, "it does not begin"),
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // The running one is dropped here.
        let pid = tokio::select! {
            ended = run(&words, Duration::from_mins(2)) => panic!("it ended: {:?}", ended.err()),
            pid = begun => pid,
        };
        let runs = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        while runs() {
            assert!(Instant::now() < until, "{pid} still runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
