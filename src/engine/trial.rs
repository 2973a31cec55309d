//! A trial of a command line: a few seconds of a tiny MPI program, started on the first guest of a job. It ends with the
//! shell that started it, by itself after its deadline, and when this side goes away: its guard reads the shell's input,
//! which is closed then.

use std::io;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::time::timeout;

use super::once::interrupted;
use super::plan::{TargetPlan, Way};
use crate::app::Problem;
use crate::collect::connectors::SshConnector;
use crate::collect::link::{Connector, Link as _};
use crate::collect::transport::Output;
use crate::tune::advice::quoted;

/// How long one trial may take. The wire-up of UCX over datagrams gives up after 30 seconds, and ranks take some seconds to
/// start.
pub const WITHIN: Duration = Duration::from_secs(90);
/// How much longer is waited for the end of the shell.
const GRACE: Duration = Duration::from_secs(15);
/// No more of what it prints is kept.
const LONGEST: usize = 512 * 1024;

/// Tiny programs that are looked for, in this order, with what they are given.
const PROGRAMS: [(&str, &str); 4] = [
    ("osu_latency", "-i 50 -x 5 -m 0:1024"),
    ("NPopenmpi", "-n 5 -u 1024 -o /dev/null"),
    ("NPmpi", "-n 5 -u 1024 -o /dev/null"),
    ("IMB-MPI1", "PingPong -npmin 2 -iter 50"),
];

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The program; `None` where none of those looked for is installed.
    pub program: Option<String>,
    /// Its exit status; `None` where it had to be ended, or the connection broke.
    pub status: Option<u32>,
    /// True if it was ended at its deadline.
    pub timed_out: bool,
    /// How long it took.
    pub took: Duration,
    /// What it printed, both outputs in their order.
    pub printed: String,
    /// What `rdma res show qp` listed on the first guest while it ran.
    pub queue_pairs: String,
}

/// How trials ended.
#[derive(Clone, Debug)]
pub enum Tried {
    /// The trial was made.
    Ran(Ran),
    /// The guest was not reached, or no shell was had.
    Refused(Problem),
    /// A signal came; its number. What was started has ended, or does so within seconds.
    Interrupted(i32),
}

/// The block for a shell.
fn block(words: &[String], within: Duration) -> String {
    let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let line = line.join(" ");
    let seconds = within.as_secs();
    let cases = PROGRAMS.map(|(name, arguments)| format!("{name}) set -- {name} {arguments} ;; ")).concat();
    let names: Vec<&str> = PROGRAMS.iter().map(|(name, _)| *name).collect();
    let names = names.join(" ");
    // `timeout` leads a group of its own: one that is ended just as it starts its program would leave that behind.
    // The guard and the sampler hold no output of the job's own, or the channel would stay open for them.
    format!(
        "{{ exec 3<&0; LC_ALL=C; export LC_ALL; program=; \
         for one in {names}; do if command -v $one >/dev/null 2>&1; then program=$one; break; fi; done; \
         if [ -z \"$program\" ]; then echo '@end none'; exit 0; fi; \
         case $program in {cases}esac; echo \"@program $program\"; \
         timeout -k 2 {seconds} {line} \"$@\" 2>&1 </dev/null 3<&- & job=$!; \
         ( while read -r tick <&3; do :; done; kill -TERM -$job || kill -TERM $job; sleep 2; \
         kill -KILL -$job || kill -KILL $job ) >/dev/null 2>&1 & guard=$!; \
         ( while sleep 2; do rdma res show qp 2>/dev/null | sed 's/^/@qp /'; done ) 3<&- & sampler=$!; \
         wait $job; status=$?; kill $guard $sampler 2>/dev/null; echo \"@end $status\"; exit 0; }}\n"
    )
}

/// Tries one line.
pub fn run(plan: TargetPlan, words: &[String], within: Duration) -> io::Result<Tried> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let tried = runtime.block_on(async {
        let signal = interrupted()?;
        tokio::select! {
            tried = over(plan, words, within) => Ok(tried),
            number = signal => Ok(Tried::Interrupted(number)),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    tried
}

async fn over(plan: TargetPlan, words: &[String], within: Duration) -> Tried {
    let TargetPlan { id, way, by } = plan;
    let Way::Ssh { resolve, known } = way else {
        return Tried::Refused(Problem::new(
            "no trial can be made there",
            "a trial is started over SSH; this target is this machine itself, or a file",
            "name the guest by its SSH alias, or run the line yourself",
        ));
    };
    let link = match SshConnector::new(id, resolve, None, known, by).connect().await {
        Ok(link) => link,
        Err(failure) => return Tried::Refused(failure.problem),
    };
    let began = Instant::now();
    let mut exec = match link.shell(block(words, within)).await {
        Ok(exec) => exec,
        Err(error) => {
            let why = error.to_string();
            return Tried::Refused(Problem::new(
                "no shell was had for the trial",
                &why,
                "try again, or run the line yourself",
            ));
        }
    };
    let mut bytes: Vec<u8> = Vec::new();
    let reading = async {
        while let Some(output) = exec.next().await {
            if let Output::Stdout(more) | Output::Stderr(more) = output {
                let room = LONGEST.saturating_sub(bytes.len());
                bytes.extend_from_slice(&more[..more.len().min(room)]);
                if String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(200)..]).contains("@end ") {
                    break;
                }
            }
        }
    };
    let _ = timeout(within + GRACE, reading).await;
    let took = began.elapsed();
    // The guard on the guest sees the end of its input, if anything still runs.
    let _ = exec.end_input().await;
    link.close().await;
    Tried::Ran(ran(&String::from_utf8_lossy(&bytes), took))
}

/// Parts what came into the program's own words and ours.
fn ran(text: &str, took: Duration) -> Ran {
    let mut ran =
        Ran { program: None, status: None, timed_out: false, took, printed: String::new(), queue_pairs: String::new() };
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("@qp ") {
            ran.queue_pairs.push_str(line);
            ran.queue_pairs.push('\n');
        } else if let Some(program) = line.strip_prefix("@program ") {
            ran.program = Some(program.trim().to_owned());
        } else if let Some((before, status)) = line.split_once("@end ") {
            ran.printed.push_str(before);
            ran.status = status.trim().parse().ok();
            // What `timeout` ends with where it had to end the job, gently or not.
            ran.timed_out = matches!(ran.status, Some(124 | 137));
        } else {
            ran.printed.push_str(line);
            ran.printed.push('\n');
        }
    }
    ran
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_parted() {
        let text = "@program NPopenmpi\n0: a\n@qp link rxe0/1 lqpn 1\n1: b\n@end 134\n";
        let ran = ran(text, Duration::from_secs(3));
        assert_eq!((ran.program.as_deref(), ran.status, ran.timed_out), (Some("NPopenmpi"), Some(134), false));
        assert_eq!((ran.printed.as_str(), ran.queue_pairs.as_str()), ("0: a\n1: b\n", "link rxe0/1 lqpn 1\n"));
        assert!(super::ran("@end 124\n", Duration::ZERO).timed_out);
        assert_eq!(super::ran("@end none\n", Duration::ZERO).program, None);
        assert_eq!(super::ran("0: a\n", Duration::ZERO).status, None, "the connection broke");
    }

    /// The block in a real shell, with a stand-in for the launcher.
    fn in_shell(line: &[&str], within: u64, keep_open: bool) -> (String, Duration) {
        use std::io::Write as _;
        use std::process::{Command, Stdio};
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("osu_latency");
        std::fs::write(&program, "#!/bin/sh\necho ran $*\n").expect("written");
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let began = Instant::now();
        let mut shell = Command::new("/bin/sh")
            .arg("-s")
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut input = shell.stdin.take().expect("its input");
        input.write_all(block(&words, Duration::from_secs(within)).as_bytes()).expect("sent");
        let held = keep_open.then_some(input);
        let output = shell.wait_with_output().expect("its end");
        drop(held);
        (String::from_utf8_lossy(&output.stdout).into_owned(), began.elapsed())
    }

    #[test]
    fn the_block_runs_the_program_and_ends_with_its_deadline_and_with_its_input() {
        let (text, _) = in_shell(&["env", "A=b c"], 20, true);
        assert!(text.contains("ran -i 50") && text.contains("@end 0"), "{text}");
        let (text, took) = in_shell(&["sh", "-c", "exec sleep 60"], 1, true);
        assert!(text.contains("@end 124") && took < Duration::from_secs(20), "{text} {took:?}");
        let (text, took) = in_shell(&["sh", "-c", "exec sleep 60"], 50, false);
        assert!(took < Duration::from_secs(20), "the end of its input ends it: {text} {took:?}");
    }
}
