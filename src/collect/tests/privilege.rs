//! `sudo` on a target: a real shell with a search path on which `sudo`, `rdma`, `dmesg` and `id` are ours, and a `/proc`
//! of its own.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tokio::sync::Notify;

use super::*;
use crate::app::Severity;
use crate::collect::kind::System;
use crate::collect::link::{Link, Remote};
use crate::collect::outlet::Outlet;
use crate::collect::privilege::{Privilege, Way};
use crate::collect::rounds::{self, Delivered, Sequence, round};
use crate::collect::shell::ShellLink;
use crate::collect::standing::Standing;
use crate::collect::testing::{pair, spawn};
use crate::collect::transport::{Exec, Input, TransportError};
use crate::collect::turns::Turns;
use crate::fabric::{Attribute, Report, State, Text};
use crate::probe::linux::{self, queue_pairs};
use crate::probe::privilege::Become;

const PAIRS: &str =
    r#"[{"ifindex":0,"ifname":"rxe0","lqpn":19,"type":"RC","state":"RTS","pid":7,"comm":"ib_write_bw"}]"#;

/// The messages of sudo 1.9 (and one of sudo-rs).
const REFUSALS: [&str; 5] = [
    "sudo: a password is required",
    "Sorry, user lab is not allowed to execute '$*' as root on gpu-vm-01.",
    "sudo: no tty present and no askpass program specified",
    "sudo: sorry, you must have a tty to run sudo",
    "sudo: interactive authentication is required",
];

/// A machine whose login is `lab`.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new(sudo: &str) -> Self {
        let machine = Self(tempfile::tempdir().expect("a folder"));
        let root = machine.0.path();
        for folder in ["bin", "proc/self", "proc/sys/kernel"] {
            std::fs::create_dir_all(root.join(folder)).expect("made");
        }
        for (file, text) in [
            ("proc/self/status", "Name:\tsh\nCapEff:\t0000000000000000\n"),
            ("proc/sys/kernel/dmesg_restrict", "1\n"),
            ("proc/uptime", "100.00 1.00\n"),
            ("log", ""),
        ] {
            std::fs::write(root.join(file), text).expect("written");
        }
        machine.program("id", "case $1 in -u) echo 1000;; *) echo lab;; esac");
        machine.program("rdma", &format!("if [ -n \"$AS_ROOT\" ]; then echo '{PAIRS}'; else echo '[]'; fi"));
        let log = "if [ -n \"$AS_ROOT\" ]; then echo '[    1.5] mlx5_core 0000:0b:00.0: firmware'; \
                   else echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1; fi";
        machine.program("dmesg", log);
        machine.sudo(sudo);
        machine
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.0.path().join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made to run");
    }

    /// `sudo` notes its arguments and then does this.
    fn sudo(&self, does: &str) {
        let log = self.0.path().join("log");
        self.program("sudo", &format!("echo \"$*\" >>'{}'\nshift 2\n{does}", log.display()));
    }

    /// How often `sudo` was called, and for what.
    fn calls(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.0.path().join("log")).expect("the log");
        let here = format!("{}/bin/", self.0.path().display());
        log.lines().map(|line| line.replace(&here, "/bin/")).collect()
    }

    fn link(&self, by: Become) -> ShellLink<Shell> {
        ShellLink::new(Shell(self.0.path().to_owned()), Privilege::new(by))
    }
}

const ALLOWED: &str = "AS_ROOT=1 exec \"$@\"";

fn refused(said: &str) -> String {
    format!("echo \"{said}\" >&2\nexit 1")
}

/// The shell of such a machine.
#[derive(Debug)]
struct Shell(std::path::PathBuf);

fn moved(text: &str, root: &Path) -> String {
    text.replace("/proc/self", &format!("{}/proc/self", root.display()))
        .replace("/proc/sys/kernel/dmesg", &format!("{}/proc/sys/kernel/dmesg", root.display()))
}

impl Remote for Shell {
    async fn exec(&self, command: &str) -> Result<Exec, TransportError> {
        let path = format!("PATH={}/bin:/usr/bin:/bin", self.0.display());
        let mut inner = spawn(&["env", &path, "sh", "-c", command]);
        let (exec, mut far) = pair();
        let root = self.0.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    input = far.input.recv() => match input {
                        Some(Input::Bytes(bytes)) => {
                            let text = moved(std::str::from_utf8(&bytes).expect("our own script"), &root);
                            let _ = inner.send(text).await;
                        }
                        Some(Input::End) => { let _ = inner.end_input().await; }
                        None => return,
                    },
                    output = inner.next() => match output {
                        Some(output) => { let _ = far.output.send(output).await; }
                        None => return,
                    },
                }
            }
        });
        Ok(exec)
    }

    async fn closed(&self) -> Text {
        std::future::pending().await
    }

    fn described(&self) -> Text {
        Text::new("a shell of this machine")
    }

    async fn close(self) {}
}

/// The probes that gain, and one that does not.
fn probes() -> Vec<&'static Probe> {
    let wanted = ["linux.queue-pairs", "linux.kernel-log", "linux.rdma"];
    linux::PROBES.iter().filter(|probe| wanted.contains(&probe.name)).collect()
}

async fn read(link: &ShellLink<Shell>) -> Vec<Report> {
    let (sender, mut reports) = mpsc::channel(16);
    let end = round(link, &TargetId::new("t"), &Sequence::default(), probes(), &sender).await;
    drop(sender);
    assert_eq!((end.result, end.unread), (Ok(()), vec![]));
    let mut given = Vec::new();
    while let Some(report) = reports.recv().await {
        given.push(report);
    }
    assert_eq!(given.len(), 3);
    given
}

fn of<'r>(reports: &'r [Report], probe: &str) -> &'r Report {
    reports.iter().find(|report| report.probe.as_str() == probe).expect("its report")
}

fn state(report: &Report, attribute: Attribute) -> &str {
    report.facts.iter().find(|fact| fact.attribute == attribute).map_or("none", |fact| fact.reading.state.name())
}

fn told(link: &ShellLink<Shell>) -> Option<(State<crate::fabric::Value>, Option<String>)> {
    let news = link.privilege().news(&TargetId::new("t"), &Sequence::default())?;
    Some((news.report.facts[0].reading.state.clone(), news.refusal))
}

#[tokio::test]
async fn what_gains_is_read_by_root_and_nothing_else() {
    let machine = Machine::new(ALLOWED);
    let link = machine.link(Become::Sudo);
    let reports = read(&link).await;
    let mut calls = machine.calls();
    calls.sort();
    assert_eq!(calls, ["-n -- /bin/dmesg", "-n -- /bin/rdma -j res show qp"]);
    let pairs = of(&reports, "linux.queue-pairs");
    assert_eq!(&*pairs.observations[0].stdout, format!("{PAIRS}\n"), "the parser gets the same text");
    let path = machine.0.path().display();
    assert_eq!(&*pairs.observations[0].command, format!("sudo -n -- {path}/bin/rdma -j res show qp"));
    assert_eq!(state(pairs, Attribute::ForeignQueuePairs), "known");
    assert_eq!(state(of(&reports, "linux.kernel-log"), Attribute::KernelLog), "known");
    let log = &of(&reports, "linux.kernel-log").observations[0];
    assert!(log.command.starts_with(&format!("sudo -n -- {path}/bin/dmesg | grep -F -e ")), "{}", log.command);
    let plain = of(&reports, "linux.rdma");
    assert!(plain.observations.iter().all(|observation| !observation.command.contains("sudo")));
    let news = link.privilege().news(&TargetId::new("t"), &Sequence::default()).expect("news");
    assert!(matches!(news.report.facts[0].reading.state, State::Known(_)), "{news:?}");
    assert!(news.report.observations.iter().any(|observation| observation.stdout.contains("ib_write_bw")), "evidence");
    assert_eq!(news.refusal, None);
    assert!(told(&link).is_none(), "the same is no news");
    read(&link).await;
    assert!(told(&link).is_none(), "nor after another round");
}

#[tokio::test]
async fn without_it_nothing_is_run_by_sudo() {
    let machine = Machine::new(ALLOWED);
    let link = machine.link(Become::None);
    let reports = read(&link).await;
    assert_eq!(machine.calls(), Vec::<String>::new());
    assert_eq!(state(of(&reports, "linux.kernel-log"), Attribute::KernelLog), "needs-privilege");
    assert_eq!(&*of(&reports, "linux.queue-pairs").observations[0].command, "rdma -j res show qp");
    assert!(told(&link).is_none());
}

#[tokio::test]
async fn a_refusal_is_told_once_and_sudo_is_left_alone() {
    for said in REFUSALS {
        let machine = Machine::new(&refused(said));
        let link = machine.link(Become::Sudo);
        for _ in 0..3 {
            let reports = read(&link).await;
            let pairs = of(&reports, "linux.queue-pairs");
            assert_eq!(&*pairs.observations[0].stdout, "[]\n", "the unprivileged answer is there");
            assert_eq!(&*pairs.observations[0].command, "rdma -j res show qp");
            assert_eq!(state(of(&reports, "linux.kernel-log"), Attribute::KernelLog), "needs-privilege");
        }
        assert_eq!(machine.calls().len(), 2, "each command was tried once: {said}");
        let (state, refusal) = told(&link).expect("news");
        let State::NeedsPrivilege(text) = &state else { panic!("{state:?}") };
        let refusal = refusal.expect("it is told");
        assert_eq!(text.as_str(), refusal);
        let path = machine.0.path().display();
        let line = format!("lab ALL=(root) NOPASSWD: {path}/bin/dmesg \"\", {path}/bin/rdma -j res show qp");
        assert!(refusal.ends_with(&line), "{refusal}");
        assert!(refusal.starts_with("sudo refused dmesg and rdma -j res show qp ("), "{refusal}");
        assert!(refusal.contains("visudo -f /etc/sudoers.d/rdmascope"), "{refusal}");
        assert_eq!(refusal.contains("Defaults:lab !requiretty"), said.contains("tty"), "{refusal}");
        assert!(told(&link).is_none());
    }
}

#[tokio::test]
async fn one_may_be_allowed_and_the_other_refused() {
    let machine =
        Machine::new("case $1 in *rdma) AS_ROOT=1 exec \"$@\";; esac\necho 'sudo: a password is required' >&2\nexit 1");
    let link = machine.link(Become::Sudo);
    let reports = read(&link).await;
    assert_eq!(state(of(&reports, "linux.queue-pairs"), Attribute::ForeignQueuePairs), "known");
    assert_eq!(state(of(&reports, "linux.kernel-log"), Attribute::KernelLog), "needs-privilege");
    let (_, refusal) = told(&link).expect("news");
    let refusal = refusal.expect("it is told");
    assert!(refusal.starts_with("sudo refused dmesg (sudo: a password is required)"), "{refusal}");
    assert!(refusal.contains("rdma -j res show qp"), "the line allows both: {refusal}");
}

#[tokio::test]
async fn a_warning_of_sudo_is_no_refusal_and_no_trouble_of_the_command() {
    let warning = "echo 'sudo: unable to resolve host gpu-vm-01: Operation not permitted' >&2\n";
    let machine = Machine::new(&format!("{warning}{ALLOWED}"));
    machine.program("dmesg", "echo nothing that matters");
    let reports = read(&machine.link(Become::Sudo)).await;
    let log = of(&reports, "linux.kernel-log");
    assert_eq!(state(log, Attribute::KernelLog), "known");
    assert_eq!(&*log.observations[0].stderr, "");
}

#[tokio::test]
async fn after_a_refusal_only_the_user_and_a_new_connection_try_again() {
    let machine = Machine::new(&refused(REFUSALS[0]));
    let link = machine.link(Become::Sudo);
    let (messages, mut received) = mpsc::channel(64);
    let outlet = Outlet::new(TargetId::new("t"), messages);
    let (turns, delivered, read_now) = (Turns::default(), Delivered::default(), Notify::new());
    let mut standing = Standing::new(System::Linux, probes().into_iter().copied().collect(), Sparing::default());
    let sequence = Sequence::default();
    let running = rounds::run(&link, &mut standing, &outlet, &sequence, &turns, &delivered, &read_now);
    let watching = async {
        let mut notices = 0;
        let mut privilege = Vec::new();
        while let Some(message) = received.recv().await {
            match message {
                Message::Notice { severity, text, .. } => {
                    assert_eq!(severity, Severity::Warning);
                    assert!(text.as_str().starts_with("sudo refused"), "{text}");
                    notices += 1;
                }
                Message::Report { report, .. } if report.probe.as_str() == crate::probe::privilege::PROBE => {
                    privilege.push(report.facts[0].reading.state.name().to_owned());
                    match privilege.len() {
                        1 => {
                            assert_eq!(machine.calls().len(), 2);
                            machine.sudo(ALLOWED);
                            read_now.notify_one();
                        }
                        _ => break,
                    }
                }
                _ => {}
            }
        }
        (notices, privilege)
    };
    let (notices, privilege) = tokio::select! {
        failure = running => panic!("{failure:?}"),
        seen = watching => seen,
    };
    assert_eq!(privilege, ["needs-privilege", "known"]);
    assert_eq!(notices, 1);
    assert_eq!(machine.calls().len(), 4, "tried again because the user asked");
}

#[test]
fn the_same_refusal_over_a_new_connection_is_no_event_again() {
    let answer = |paths: &str| {
        format!(
            "@rdmascope:login uid 1000\n@rdmascope:login user lab\n@rdmascope:login restricted 1\n\
             @rdmascope:login capabilities 0\n{paths}@rdmascope:login path rdma /usr/sbin/rdma\n@rdmascope:login end\n"
        )
    };
    let source = queue_pairs::PROBE.sources[0];
    let target = TargetId::new("t");
    let kept = Privilege::new(Become::Sudo);
    let mut sentences = Vec::new();
    for _ in 0..2 {
        let privilege = kept.anew();
        assert_eq!(privilege.way(&source), Way::AskFirst);
        assert_eq!(privilege.of_stream(&source), None, "the stream waits");
        privilege.learned(&answer(""));
        assert_eq!(privilege.way(&source), Way::Plain, "sudo is not installed");
        assert_eq!(privilege.of_stream(&source), Some(false));
        sentences.push(privilege.news(&target, &Sequence::default()).expect("news").refusal);
    }
    let first = sentences[0].clone().expect("told");
    assert!(first.contains("sudo is not installed there, so rdma -j res show qp is read without"), "{first}");
    assert_eq!(sentences[1], None);

    let privilege = kept.anew();
    privilege.learned("motd\n");
    assert_eq!(privilege.way(&source), Way::Plain);
    let news = privilege.news(&target, &Sequence::default()).expect("news");
    assert_eq!(&*news.report.observations[0].stdout, "motd\n", "with what was said instead");
    assert!(news.refusal.expect("told").contains("does not say who the login is"));

    let privilege = kept.anew();
    privilege.learned(&answer("@rdmascope:login path sudo /usr/bin/sudo\n"));
    let Way::ByRoot(command) = privilege.way(&source) else { panic!("by sudo") };
    assert_eq!(command.shown(), "sudo -n -- /usr/sbin/rdma -j res show qp");
    assert_eq!(privilege.of_stream(&source), None, "no batch has shown yet that it is allowed");
}
