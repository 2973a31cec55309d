//! A guest of the lab, read and changed over the system's own `ssh`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::parse::{self, Link, Process, QueuePair};

/// How long one command may take. A guest is an emulated machine: a login alone can take seconds on a busy computer.
const PATIENCE: Duration = Duration::from_mins(1);

/// A login on a guest.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its alias in the lab's `ssh_config`.
    pub name: String,
    config: PathBuf,
    /// Many commands over one connection, which stays open for a while.
    shares: bool,
}

/// What a command gave.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Exit status; 124 after the deadline, 255 if ssh itself failed.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Guest {
    /// A login by its alias in an `ssh_config`.
    pub fn new(name: &str, config: &Path) -> Self {
        Self { name: name.to_owned(), config: config.to_owned(), shares: true }
    }

    /// The same login with a connection for each command, so that no session of it stays in the guest.
    pub fn without_sharing(self) -> Self {
        Self { shares: false, ..self }
    }

    /// Runs a command for at most `within` and gives what came of it.
    pub fn attempt(&self, command: &str, within: Duration) -> Answer {
        let answer = self.attempt_once(command, within);
        // The shared connection broke under it, after a reboot: the command did not run.
        if answer.status == 255 && answer.stderr.contains("mux_client_request_session") {
            return self.attempt_once(command, within);
        }
        answer
    }

    fn attempt_once(&self, command: &str, within: Duration) -> Answer {
        let mut ssh = Command::new("timeout");
        ssh.args(["-k", "1", &within.as_secs_f64().to_string(), "ssh", "-n", "-F"])
            .arg(&self.config)
            .args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "LogLevel=ERROR"])
            .args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]);
        if self.shares {
            // A login costs an emulated guest seconds that the console then lacks.
            let path = self.config.with_file_name("reader-%n");
            ssh.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=60"])
                .args(["-o", &format!("ControlPath={}", path.display())]);
        }
        let output = ssh
            .args([&self.name, command])
            .env_remove("SSH_AUTH_SOCK")
            .output()
            .expect("timeout and ssh are installed");
        Answer {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs a command that has to succeed.
    #[track_caller]
    pub fn run(&self, command: &str) -> String {
        let answer = self.attempt(command, PATIENCE);
        assert!(answer.status == 0, "{}: `{command}` ended with {}: {}", self.name, answer.status, answer.stderr);
        answer.stdout
    }

    /// Asks again and again until `condition` holds for the output of a command; returns that output.
    #[track_caller]
    pub fn wait_until(
        &self,
        what: &str,
        command: &str,
        within: Duration,
        mut condition: impl FnMut(&str) -> bool,
    ) -> String {
        let deadline = Instant::now() + within;
        loop {
            let output = self.run(command);
            if condition(&output) {
                return output;
            }
            assert!(Instant::now() < deadline, "{}: waited {} s for {what}: {output}", self.name, within.as_secs());
        }
    }

    /// `rdma link`.
    pub fn links(&self) -> Vec<Link> {
        parse::links(&self.run("rdma link"))
    }

    /// `rdma res show qp`.
    pub fn queue_pairs(&self) -> BTreeMap<u64, QueuePair> {
        parse::queue_pairs(&self.run("rdma res show qp"))
    }

    /// The filled GID entries of `rxe0/1` from sysfs: index to GID, type and netdev.
    pub fn gids(&self) -> BTreeMap<u64, (Ipv6Addr, String, String)> {
        parse::gids(
            &self.run(
                "cd /sys/class/infiniband/rxe0/ports/1; grep -s . gids/* gid_attrs/types/* gid_attrs/ndevs/*; true",
            ),
        )
    }

    /// The hardware counters of `rxe0/1` from sysfs.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        let mut counters = parse::counters(&self.run("cd /sys/class/infiniband/rxe0/ports/1/hw_counters; grep . *"));
        // How long the kernel keeps what it read: no counter.
        counters.remove("lifespan");
        counters
    }

    /// The MTU of an interface by `ip`.
    pub fn mtu(&self, netdev: &str) -> u64 {
        let text = self.run(&format!("ip -o link show dev {netdev}"));
        parse::word_after(&text, "mtu").and_then(|word| word.parse().ok()).expect("an MTU")
    }

    /// The addresses of an interface by `ip`.
    pub fn addresses(&self, netdev: &str) -> BTreeSet<String> {
        parse::addresses(&self.run(&format!("ip -o addr show dev {netdev}")))
    }

    /// The path MTU of `rxe0` as the verbs library tells it.
    pub fn active_mtu(&self) -> u64 {
        let text = self.run("ibv_devinfo -d rxe0");
        parse::word_after(&text, "active_mtu:").and_then(|word| word.parse().ok()).expect("an active MTU")
    }

    /// What runs in SSH sessions other than this reader's.
    pub fn foreign_sessions(&self) -> Vec<Process> {
        let text = self.run("echo $$; ps -eo pid=,ppid=,args=");
        let (own, rest) = text.split_once('\n').expect("two lines at least");
        parse::foreign_sessions(&parse::processes(rest), own.trim().parse().expect("a process id"))
    }

    /// Starts a command that goes on by itself until the value is dropped.
    pub fn start(&self, command: &str) -> Running {
        let text = self.run(&format!("setsid {command} >/tmp/started.log 2>&1 </dev/null & echo $!"));
        Running { guest: self.clone(), process: text.trim().parse().expect("a process id") }
    }

    /// Changes something that is put back when the value is dropped.
    pub fn change(&self, change: &str, put_back: &str) -> Changed {
        let undo = Changed { guest: self.clone(), put_back: put_back.to_owned() };
        self.run(change);
        undo
    }
}

/// A command that runs in a guest. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    guest: Guest,
    /// Its process id in the guest.
    pub process: u64,
}

impl Running {
    /// What the command that was started last in its guest has printed.
    pub fn said(&self) -> String {
        self.guest.run("cat /tmp/started.log")
    }

    /// True if it runs on this guest.
    pub fn is_on(&self, guest: &Guest) -> bool {
        self.guest.name == guest.name
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.guest.attempt(&format!("kill {}", self.process), PATIENCE);
    }
}

/// A change in a guest. Dropping it puts back what was.
#[derive(Debug)]
pub struct Changed {
    guest: Guest,
    put_back: String,
}

impl Drop for Changed {
    fn drop(&mut self) {
        let answer = self.guest.attempt(&self.put_back, PATIENCE);
        // A second panic while one is on its way would hide the first.
        assert!(
            answer.status == 0 || std::thread::panicking(),
            "{}: `{}` ended with {}: {}",
            self.guest.name,
            self.put_back,
            answer.status,
            answer.stderr
        );
    }
}
