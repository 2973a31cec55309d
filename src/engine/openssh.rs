//! Asks OpenSSH what it knows about a host: by `ssh -G`, or, where there is no `ssh`, by reading its configuration files.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::getuid;

use super::settings::read_text;
use crate::app::Problem;
use crate::collect::process_group::ProcessGroup;
use crate::collect::reason::reason;
use crate::config::Address;
use crate::config::openssh::{Base, Included, OpenSshError, Reading, Resolved, Surroundings, parse_files, parse_ssh_g};
use crate::fabric::Text;

/// How long `ssh -G` may take: it reads files, and runs the commands of `Match exec`.
const DEADLINE: Duration = Duration::from_secs(5);

/// Why OpenSSH's settings for a host are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Its configuration cannot be honoured or is wrong.
    #[error(transparent)]
    Configuration(#[from] OpenSshError),
    /// `ssh -G` refused; what it said.
    #[error("ssh -G {host} failed: {said}")]
    Refused {
        /// Who was asked about.
        host: String,
        /// What ssh said, one line.
        said: Text,
    },
    /// `ssh -G` gave no answer in time.
    #[error("ssh -G {host} gave no answer within {} s", .deadline.as_secs())]
    TimedOut {
        /// Who was asked about.
        host: String,
        /// How long it was waited for.
        deadline: Duration,
    },
    /// A file or program could not be used.
    #[error("{path}: {why}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
}

impl ResolveError {
    /// The same as a problem of a target, with cause and next step.
    pub fn problem(&self) -> Problem {
        let (cause, next) = match self {
            Self::Configuration(OpenSshError::Name(_)) => ("", "correct the name"),
            Self::Configuration(OpenSshError::Refused { .. }) => {
                ("", "change OpenSSH's configuration for this host, or give another one with --ssh-config FILE")
            }
            Self::Configuration(OpenSshError::Malformed { .. }) | Self::Refused { .. } | Self::Unreadable { .. } => {
                ("", "correct OpenSSH's configuration; `ssh -G` with this name shows what it makes of it")
            }
            Self::TimedOut { .. } => {
                ("a command of `Match exec` may hang", "try `ssh -G` with this name, or another file with --ssh-config")
            }
        };
        Problem::new(&self.to_string(), cause, next)
    }
}

/// Asks OpenSSH about hosts.
#[derive(Clone, Debug)]
pub struct HostResolver {
    program: PathBuf,
    ssh_config: Option<PathBuf>,
    surroundings: Surroundings,
    deadline: Duration,
}

impl HostResolver {
    /// One that reads the configuration of the user and of the system, or with `ssh_config` that file alone, as
    /// `ssh -F` does.
    pub fn new(ssh_config: Option<PathBuf>) -> Self {
        Self { program: PathBuf::from("ssh"), ssh_config, surroundings: surroundings(), deadline: DEADLINE }
    }

    /// The same with another ssh program and deadline: for tests, and for machines without one.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<PathBuf>, deadline: Duration) -> Self {
        self.program = program.into();
        self.deadline = deadline;
        self
    }

    /// The file that replaces OpenSSH's own configuration, if one was given.
    pub fn ssh_config(&self) -> Option<&Path> {
        self.ssh_config.as_deref()
    }

    /// The settings for one host.
    pub async fn resolve(&self, address: &Address) -> Result<Resolved, ResolveError> {
        // An address may have come from elsewhere than the parser; nothing that looks like an option goes further.
        Address::parse(&address.to_string()).map_err(OpenSshError::Name)?;
        match self.ask(address).await? {
            Some(answer) => Ok(parse_ssh_g(&answer, address, &self.surroundings)?),
            None => self.read_files(address),
        }
    }

    /// The answer of `ssh -G`; `None` if there is no ssh, or one that does not know `-G`.
    async fn ask(&self, address: &Address) -> Result<Option<String>, ResolveError> {
        let mut command = tokio::process::Command::new(&self.program);
        command.arg("-G");
        if let Some(file) = &self.ssh_config {
            command.arg("-F").arg(file);
        }
        if let Some(user) = &address.user {
            command.arg("-l").arg(user);
        }
        if let Some(port) = address.port {
            command.arg("-p").arg(port.to_string());
        }
        command.arg("--").arg(&address.host);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // With what a `Match exec` started: at the deadline, or when nobody waits for it any more, all of it ends.
        ProcessGroup::lead(&mut command);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(ResolveError::Unreadable { path: self.program.display().to_string(), why: reason(&error) });
            }
        };
        let mut group = ProcessGroup::of(&child);
        let host = address.host.clone();
        let Ok(ended) = tokio::time::timeout(self.deadline, child.wait_with_output()).await else {
            return Err(ResolveError::TimedOut { host, deadline: self.deadline });
        };
        group.ended();
        let output = ended.map_err(|error| ResolveError::Unreadable {
            path: self.program.display().to_string(),
            why: reason(&error),
        })?;
        if output.status.success() {
            return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("usage: ssh") || said.contains("unknown option") || said.contains("illegal option") {
            return Ok(None);
        }
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !is_chatter(line)).take(3).collect();
        let said = if lines.is_empty() { "it said nothing".to_owned() } else { lines.join("; ") };
        Err(ResolveError::Refused { host, said: Text::new(&said) })
    }

    fn read_files(&self, address: &Address) -> Result<Resolved, ResolveError> {
        let mut files = Vec::new();
        let mut read = |path: &Path, base: Base, needed: bool| match read_text(path) {
            Ok(text) => {
                files.push(Reading { path: path.display().to_string(), text, base });
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !needed => Ok(()),
            Err(error) => Err(ResolveError::Unreadable { path: path.display().to_string(), why: reason(&error) }),
        };
        match &self.ssh_config {
            Some(file) if file.as_os_str().eq_ignore_ascii_case("none") => {}
            Some(file) => read(file, Base::User, true)?,
            None => {
                let own = self.surroundings.home.join(".ssh/config");
                check_owner(&own)?;
                read(&own, Base::User, false)?;
                read(Path::new("/etc/ssh/ssh_config"), Base::System, false)?;
            }
        }
        Ok(parse_files(&files, address, &self.surroundings, &mut included)?)
    }
}

/// Lines of ssh that say nothing about what is wrong.
fn is_chatter(line: &str) -> bool {
    line.is_empty() || line.starts_with("Pseudo-terminal will not be allocated")
}

/// OpenSSH refuses a configuration of the user that others may write; so does this.
fn check_owner(path: &Path) -> Result<(), ResolveError> {
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    let own = found.uid() == 0 || found.uid() == getuid().as_raw();
    if own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let why = "bad owner or permissions: others may write it; OpenSSH refuses it too".to_owned();
    Err(ResolveError::Unreadable { path: path.display().to_string(), why })
}

/// The files that match the pattern of an `Include`, as glob(3) finds them.
fn included(pattern: &str) -> Included {
    let options =
        glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let Ok(paths) = glob::glob_with(pattern, options) else { return Vec::new() };
    paths
        .filter_map(Result::ok)
        .map(|path| {
            let text = read_text(&path).map_err(|error| reason(&error));
            (path.display().to_string(), text)
        })
        .collect()
}

/// What the meaning of OpenSSH's configuration depends on, on this machine. User and home are those of the password
/// file, as for ssh, and those of the environment where it does not say.
pub fn surroundings() -> Surroundings {
    let user_id = getuid().as_raw();
    let passwd = read_text(Path::new("/etc/passwd")).unwrap_or_default();
    let entry = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.len() >= 6 && fields[2].parse() == Ok(user_id));
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (user, home) = match entry {
        Some(fields) => (fields[0].to_owned(), PathBuf::from(fields[5])),
        None => (
            variable("LOGNAME").or_else(|| variable("USER")).unwrap_or_default(),
            etcetera::home_dir().unwrap_or_default(),
        ),
    };
    let host_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Surroundings { home, user, user_id, host_name, environment }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).expect("an address")
    }

    /// A resolver that asks one of the scripts of `tests/config/ssh` in place of ssh, and the folder of its `-F` file.
    fn with_script(name: &str, deadline: Duration) -> (HostResolver, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("config");
        std::fs::write(&config, "Host vm1\n  HostName from.the.files\n").expect("a file");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config/ssh").join(name);
        (HostResolver::new(Some(config)).with_program(script, deadline), folder)
    }

    #[tokio::test]
    async fn ssh_gets_the_name_behind_two_hyphens_and_nothing_on_its_input() {
        let (resolver, _folder) = with_script("answers", DEADLINE);
        let answer = resolver.ask(&address("bob@vm1:2222")).await.expect("an answer").expect("from ssh");
        assert!(answer.contains("hostname -G.-F.FILE.-l.bob.-p.2222.--.vm1\n"), "{answer}");
    }

    #[tokio::test]
    async fn without_ssh_or_with_a_very_old_one_the_files_are_read() {
        let (resolver, _folder) = with_script("old", DEADLINE);
        let found = resolver.resolve(&address("vm1")).await.expect("the files");
        assert_eq!(found.settings.hostname, "from.the.files");
        let none = HostResolver::new(Some("none".into())).with_program("/no/such/ssh", DEADLINE);
        assert_eq!(none.resolve(&address("VM1")).await.expect("defaults").settings.hostname, "vm1");
        let absent = HostResolver::new(Some("/no/such/file".into())).with_program("/no/such/ssh", DEADLINE);
        let error = absent.resolve(&address("vm1")).await.expect_err("no file");
        assert_eq!(error.to_string(), "/no/such/file: no such file or directory");
    }

    #[tokio::test]
    async fn includes_are_read_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("config"), format!("Include {}/*.conf\n", folder.path().display())).expect("a file");
        std::fs::write(path("2.conf"), "Port 2\n").expect("a file");
        std::fs::write(path("1.conf"), "Port 1\n").expect("a file");
        std::fs::write(path(".0.conf"), "Port 3\n").expect("a hidden file");
        let resolver = HostResolver::new(Some(path("config"))).with_program("/no/such/ssh", DEADLINE);
        assert_eq!(resolver.resolve(&address("vm1")).await.expect("settings").settings.port, 1);
    }

    #[tokio::test]
    async fn what_ssh_complains_about_is_told() {
        let (resolver, _folder) = with_script("refuses", DEADLINE);
        let error = resolver.resolve(&address("vm1")).await.expect_err("it refused");
        assert_eq!(error.to_string(), "ssh -G vm1 failed: config line 3: Bad configuration option: prot");
        assert!(error.problem().to_string().contains("correct OpenSSH's configuration"));
    }

    #[tokio::test]
    async fn a_hanging_ssh_is_ended_with_all_it_started() {
        let (resolver, folder) = with_script("hangs", Duration::from_secs(2));
        let error = resolver.resolve(&address("vm1")).await.expect_err("no answer");
        assert_eq!(error.to_string(), "ssh -G vm1 gave no answer within 2 s");
        has_ended(&folder).await;
    }

    #[tokio::test]
    async fn an_ssh_that_nobody_waits_for_any_more_is_ended_with_all_it_started() {
        let (resolver, folder) = with_script("hangs", Duration::from_mins(10));
        let asked = address("vm1");
        let running = async {
            while !std::fs::read_to_string(folder.path().join("pid")).is_ok_and(|pid| pid.ends_with('\n')) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            answer = resolver.resolve(&asked) => panic!("it answered: {answer:?}"),
            () = running => {}
        }
        has_ended(&folder).await;
    }

    /// Waits until the process that the script `hangs` started is no more.
    async fn has_ended(folder: &tempfile::TempDir) {
        let pid = std::fs::read_to_string(folder.path().join("pid")).expect("it ran");
        let pid: i32 = pid.trim().parse().expect("a number");
        let begun = std::time::Instant::now();
        loop {
            // A zombie that waits for its parent counts as ended.
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if state.is_empty() || state.contains(") Z ") {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "still there: {state}");
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_name_like_an_option_never_reaches_ssh() {
        let (resolver, folder) = with_script("touches", DEADLINE);
        let hostile = Address { user: None, host: "-oProxyCommand=x".to_owned(), port: None };
        assert!(matches!(resolver.resolve(&hostile).await, Err(ResolveError::Configuration(OpenSshError::Name(_)))));
        assert!(!folder.path().join("ran").exists());
        assert!(resolver.resolve(&address("vm1")).await.is_err());
        assert!(folder.path().join("ran").exists(), "the script does show that it ran");
    }
}
