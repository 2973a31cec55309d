//! Runs a program of this machine for a moment: nothing on its input, a deadline, its output as text.

use std::io;
use std::process::Stdio;
use std::time::Duration;

/// How a short run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// It ended by itself.
    Ended {
        /// Exit status; -1 if a signal ended it.
        status: i32,
        /// Standard output and standard error, one after the other.
        output: String,
    },
    /// There is no such program.
    NotInstalled,
    /// It was still running at the deadline, or could not be started.
    Failed(String),
}

/// Runs `program` with `arguments` for at most `deadline`.
pub async fn run(program: &str, arguments: &[&str], deadline: Duration) -> Run {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    match tokio::time::timeout(deadline, command.output()).await {
        Ok(Ok(output)) => {
            let text =
                [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
            Run::Ended { status: output.status.code().unwrap_or(-1), output: text }
        }
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Run::NotInstalled,
        Ok(Err(error)) => Run::Failed(crate::collect::reason::reason(&error)),
        Err(_) => Run::Failed(format!("no answer within {} s", deadline.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_end_is_told_apart() {
        let ended = run("sh", &["-c", "cat; echo out; echo err >&2; exit 3"], Duration::from_secs(10)).await;
        assert_eq!(ended, Run::Ended { status: 3, output: "out\nerr\n".to_owned() });
        assert_eq!(run("/no/such/program", &[], Duration::from_secs(10)).await, Run::NotInstalled);
        let late = run("sleep", &["1000"], Duration::from_millis(50)).await;
        assert_eq!(late, Run::Failed("no answer within 0 s".to_owned()));
    }
}
