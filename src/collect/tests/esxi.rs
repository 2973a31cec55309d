//! ESXi hosts: real shells with stand-ins for the programs of a host, and a host that is played in paused time.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::sync::Mutex;

use tokio::time::{Instant, sleep};

use super::*;
use crate::collect::esxcli::QUESTION;
use crate::collect::kind::System;
use crate::collect::link::{BatchError, Connector, Failure, Link, Remote};
use crate::collect::poller;
use crate::collect::privilege::Privilege;
use crate::collect::rounds::{Sequence, round};
use crate::collect::shell::ShellLink;
use crate::collect::testing::spawn;
use crate::collect::transport::{Exec, TransportError};
use crate::collect::window::{MOST_WORK, WINDOW};
use crate::collect::work::Work;
use crate::fabric::{Attribute, Outcome, State, Text};
use crate::probe::Listing;
use crate::probe::dialect::sections::Section;

// Published tables: `esxcli network nic list`, `vim-cmd vmsvc/getallvms`, `esxcli system module list`.
pub(super) const NICS: &str = "Name    PCI Device    Driver      Admin Status  Link Status  Speed  Duplex  MAC Address         MTU  Description\n\
                    ------  ------------  ----------  ------------  -----------  -----  ------  -----------------  ----  -----------\n\
                    vmnic0  0000:18:00.0  nmlx5_core  Up            Up           25000  Full    0c:42:a1:00:00:01  9000  Mellanox\n\
                    vmnic1  0000:18:00.1  nmlx5_core  Up            Down             0  Half    0c:42:a1:00:00:02  1500  Mellanox\n\
                    vusb0   Pseudo        cdce        Up            Up             100  Full    0c:42:a1:00:00:03  1500  x\n\
                    half-a-line\n\
                    ---\n";

const VMS: &str = "Vmid           Name                                File                          Guest OS       Version   Annotation\n\
                   1      plain              [datastore1] plain/plain.vmx                  ubuntu64Guest    vmx-19\n\
                   2      gpu vm [a100] 1    [my store 2] gpu vm [a100] 1/gpu vm.vmx       ubuntu64Guest    vmx-19    was old.vmx before\n\
                   33     a] b               [ds] a] b/a.vmx                               other            vmx-13    it's \"here\" $(x)\n\
                   4      noted              [ds] n/n.vmx                                  other            vmx-13    see [x] y/old.vmx there\n\
                   5      bare               [ds] bare.vmx                                 other            vmx-13\n\
                   of an annotation the second line, [ds] c/c.vmx too\n\
                   6      broken [ds\n\
                   7\n";

const MODULES: &str = "Name                           Is Loaded  Is Enabled\n\
                       -----------------------------  ---------  ----------\n\
                       vmkernel                            true        true\n\
                       nmlx5_core                          true        true\n\
                       nmlx5_rdma                         false        true\n\
                       vrdma                               true        true\n\
                       nmlx5-odd                           true        true\n\
                       i40enx                              true        true\n";

/// What a filter of sh makes of a text, by the tools of this machine and by those of busybox where it is there.
fn filtered(filter: &str, text: &str) -> Vec<Vec<String>> {
    let busybox = format!("busybox {filter}");
    let run = |filter: &str| {
        let mut child = Program::new("sh")
            .args(["-c", filter])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .env("LC_ALL", "C")
            .spawn()
            .expect("sh");
        std::io::Write::write_all(&mut child.stdin.take().expect("piped"), text.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let lines = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        output.status.success().then_some(lines)
    };
    let has_busybox = Program::new("busybox").arg("true").status().is_ok_and(|status| status.success());
    let own = run(filter).expect("sed of this machine");
    std::iter::once(own).chain(has_busybox.then(|| run(&busybox).expect("sed of busybox"))).collect()
}

const LISTINGS: [Listing; 7] = [
    Listing::Uplinks,
    Listing::RdmaDevices,
    Listing::SriovUplinks,
    Listing::Drivers,
    Listing::Vms,
    Listing::VmxFiles,
    Listing::VmDirectories,
];

#[test]
fn names_are_the_same_by_sed_and_by_ourselves() {
    for listing in LISTINGS {
        for text in [NICS, VMS, MODULES, "", "Connect to localhost failed: Connection failure\n"] {
            let names = listing.names(text);
            for filtered in filtered(listing.command().1, text) {
                assert_eq!(filtered, names, "{listing:?} of {text}");
            }
        }
    }
    assert_eq!(Listing::Uplinks.names(NICS), ["vmnic0", "vmnic1", "vusb0"]);
    assert_eq!(Listing::Vms.names(VMS), ["1", "2", "33", "4", "5", "6"]);
    assert_eq!(Listing::Drivers.names(MODULES), ["nmlx5_core", "vrdma"]);
    let files = Listing::VmxFiles.names(VMS);
    assert_eq!(files[1], "/vmfs/volumes/my store 2/gpu vm [a100] 1/gpu vm.vmx");
    assert_eq!(files[2], "/vmfs/volumes/ds/a] b/a.vmx");
    assert_eq!(files[3], "/vmfs/volumes/ds/n/n.vmx");
    assert_eq!(files.len(), 5);
    assert_eq!(Listing::VmDirectories.names(VMS).len(), 4);
}

/// Programs in a folder that stand in for those of a host.
pub(super) fn programs(esxcli: &str, localcli: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let get = "for last; do :; done; echo \"got <$last>\"";
    let answers = format!(
        "case \"$*\" in\n'system version get') echo '   Version: 7.0.3';;\n'network nic list') cat <<'END'\n{NICS}END\n;;\n\
         *) {get};;\nesac\n"
    );
    let vim = format!("case $1 in vmsvc/getallvms) cat <<'END'\n{VMS}END\n;; *) {get};; esac\n");
    for (name, text) in
        [("esxcli", format!("{esxcli}\n{answers}")), ("localcli", format!("{localcli}\n{answers}")), ("vim-cmd", vim)]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made a program");
    }
    folder
}

/// A host whose shell is one of this machine's, with these programs.
pub(super) struct Host {
    shell: &'static [&'static str],
    path: String,
}

impl Host {
    pub(super) fn new(shell: &'static [&'static str], folder: &Path) -> Self {
        Self { shell, path: format!("PATH={}:/usr/bin:/bin", folder.display()) }
    }
}

impl Remote for Host {
    async fn exec(&self, command: &str) -> Result<Exec, TransportError> {
        assert_eq!(command, "/bin/sh -s");
        let words: Vec<&str> = ["env", self.path.as_str()].into_iter().chain(self.shell.iter().copied()).collect();
        Ok(spawn(&words))
    }

    async fn closed(&self) -> Text {
        std::future::pending().await
    }

    fn described(&self) -> Text {
        Text::new("root@esx")
    }

    async fn close(self) {}
}

const SHELLS: &[&[&str]] = &[&["dash", "-s"], &["bash", "--posix", "-s"], &["busybox", "sh", "-s"]];

pub(super) fn shells() -> impl Iterator<Item = &'static [&'static str]> {
    SHELLS.iter().copied().filter(|words| Program::new(words[0]).arg("--help").output().is_ok())
}

pub(super) const HOST_PROBES: &[Probe] = &[Probe {
    name: "test.host",
    title: "",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[
        QUESTION,
        Source {
            name: "test.nics",
            read: Read::Each {
                of: Listing::Uplinks,
                argv: &[Word::Plain("esxcli"), Word::Plain("network"), Word::Plain("nic"), Word::Item("", "")],
                masked: false,
                timed: false,
            },
        },
        Source {
            name: "test.vms",
            read: Read::Each {
                of: Listing::VmxFiles,
                argv: &[Word::Plain("echo"), Word::Item("<", ">")],
                masked: true,
                timed: false,
            },
        },
    ],
    parse,
}];

#[tokio::test]
async fn a_host_is_read_by_every_shell_alike() {
    let folder = programs("", "");
    for shell in shells() {
        let link = ShellLink::esxi(Host::new(shell, folder.path()));
        assert_eq!((link.system(), link.described().as_str()), (System::Esxi, "root@esx, ESXi host"));
        let (sender, mut reports) = mpsc::channel(16);
        let (target, sequence) = (TargetId::new("esx"), Sequence::default());
        let end = round(&link, &target, &sequence, HOST_PROBES.iter().collect(), &sender).await;
        assert_eq!(end.result, Ok(()), "{shell:?}");
        let report = reports.recv().await.expect("a report");
        let [version, nics, vms] = &report.observations[..] else { panic!("three sources") };
        assert_eq!((&*version.stdout, &*version.command), ("   Version: 7.0.3\n", "esxcli system version get"));
        let expected = "@item vmnic0\ngot <vmnic0>\n\n@status 0\n@item vmnic1\ngot <vmnic1>\n\n@status 0\n\
                        @item vusb0\ngot <vusb0>\n\n@status 0\n";
        assert_eq!(&*nics.stdout, expected, "{shell:?}");
        for name in Listing::VmxFiles.names(VMS) {
            assert!(
                vms.stdout.contains(&format!("@item {name}\n<{name}>\n\n@status 0\n")),
                "{shell:?}: {}",
                vms.stdout
            );
        }
        assert!(vms.stderr.contains("@item /vmfs/volumes/ds/a] b/a.vmx\n"), "{}", vms.stderr);
        assert_eq!(vms.outcome, Outcome::Exit(0));
        let news = link.news(&target, &sequence);
        assert_eq!(news.len(), 1);
        let fact = &news[0].report.as_ref().expect("a report").facts[0];
        let State::Known(value) = &fact.reading.state else { panic!("known") };
        assert!(value.to_string().starts_with("esxcli: it answers in "), "{value}");
        assert_eq!(fact.attribute, Attribute::CommandLineTool);
    }
}

#[tokio::test]
async fn without_hostd_localcli_stands_in_and_says_so() {
    let folder = programs("echo 'Connect to localhost failed: Connection failure' >&2; exit 1", "");
    let link = ShellLink::esxi(Host::new(SHELLS[0], folder.path()));
    let (sender, mut reports) = mpsc::channel(16);
    let (target, sequence) = (TargetId::new("esx"), Sequence::default());
    let end = round(&link, &target, &sequence, HOST_PROBES.iter().collect(), &sender).await;
    assert_eq!(end.result, Ok(()));
    let report = reports.recv().await.expect("a report");
    assert_eq!(&*report.observations[0].stdout, "   Version: 7.0.3\n");
    assert_eq!(&*report.observations[0].command, "localcli system version get");
    assert!(report.observations[1].stdout.contains("got <vmnic0>"), "{:?}", report.observations[1]);
    let told = link.news(&target, &sequence).remove(0).refusal.expect("an event");
    let expected = "is read with localcli: esxcli failed (Connect to localhost failed: Connection failure): hostd may be \
                    dead or hang";
    assert_eq!(told, expected);
}

/// How long each command of the host that is played takes.
pub(super) const COMMAND: Duration = Duration::from_millis(700);

/// When it worked, and what it says from now on of one source.
#[derive(Default)]
struct Spent(Mutex<Vec<(Instant, Duration)>>, Mutex<String>);

/// A batch that is at work, until it ends or is broken off.
struct Working<'a>(&'a Spent, Instant);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.0.lock().expect("not poisoned").push((self.1, self.1.elapsed()));
    }
}

/// The source whose answer changes: a VM that runs or not.
const RUNNING: &str = "esxi.vm-processes";

struct Played {
    work: Arc<Spent>,
    /// How long it stays connected.
    holds: Option<Duration>,
    privilege: Privilege,
}

impl Link for Played {
    fn described(&self) -> Text {
        Text::new("a host")
    }

    fn system(&self) -> System {
        System::Esxi
    }

    async fn batch(
        &self,
        sources: &[Source],
        sections: &mpsc::Sender<Section>,
        _work: &Work,
    ) -> Result<(), BatchError> {
        let _working = Working(&self.work, Instant::now());
        for (index, source) in sources.iter().enumerate() {
            let times = if matches!(source.read, Read::Each { .. }) { 4 } else { 1 };
            sleep(COMMAND * times).await;
            let outcome = Outcome::Exit(0);
            let said =
                if source.name == RUNNING { self.work.1.lock().expect("not poisoned").clone() } else { String::new() };
            let (stdout, stderr) = (said.into_bytes(), vec![]);
            let section = Section { index, outcome, duration: None, stdout, stderr, cut: 0, command: None };
            let _ = sections.send(section).await;
        }
        Ok(())
    }

    async fn stream(&self, _: &str) -> Result<Exec, TransportError> {
        panic!("there is no stream of an ESXi host")
    }

    async fn run(&self, _: &[String]) -> Result<crate::collect::change::Given, BatchError> {
        Err(BatchError::ExecRefused)
    }

    fn privilege(&self) -> &Privilege {
        &self.privilege
    }

    async fn closed(&self) -> Text {
        match self.holds {
            Some(length) => sleep(length).await,
            None => std::future::pending().await,
        }
        Text::new("it dropped")
    }

    async fn close(self) {}
}

struct Plays(Arc<Spent>, Option<Duration>);

impl Connector for Plays {
    type Link = Played;

    async fn connect(&self) -> Result<Played, Failure> {
        Ok(Played { work: Arc::clone(&self.0), holds: self.1, privilege: Privilege::default() })
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_works_at_most_a_tenth_of_the_time_for_us() {
    let one = |name, pace| Probe {
        name,
        title: "",
        privilege_adds: "",
        pace,
        rhythm: Rhythm::PACE,
        sources: &[Source { name: "test.one", read: Read::Command { argv: &[Word::Plain("esxcli")], keep: None } }],
        parse: |_| vec![],
    };
    let mut probes = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"] {
        probes.extend([one(name, Pace::Fast), one(name, Pace::Medium), one(name, Pace::Slow)]);
    }
    let work = Arc::new(Spent::default());
    let (sender, mut messages) = mpsc::channel(64);
    let (commands, received) = mpsc::channel(4);
    let cancelled = CancellationToken::new();
    let esxi: Arc<[Probe]> = Arc::from(probes);
    let options = Options { probes: Arc::from([]), esxi, period: Duration::from_secs(1), sparing: Sparing::default() };
    let connector = Plays(Arc::clone(&work), None);
    let poller = Poller::new(TargetId::new("esx"), connector, options, sender, received, cancelled.clone());
    let task = tokio::spawn(poller.run());
    let consumer = tokio::spawn(async move { while messages.recv().await.is_some() {} });
    let start = Instant::now();
    sleep(Duration::from_hours(2)).await;
    let spent = |work: &Spent| work.0.lock().expect("not poisoned").iter().map(|(_, spent)| *spent).sum::<Duration>();
    let two_hours = spent(&work);
    assert!(two_hours * 10 <= start.elapsed() + Duration::from_mins(2), "{two_hours:?} of two hours");
    assert!(two_hours * 12 >= start.elapsed(), "it is read as often as it may be: {two_hours:?}");
    // What is asked for is read at once, all of it, and paid for afterwards.
    let before = work.0.lock().expect("not poisoned").len();
    commands.send(poller::Command::ReadNow).await.expect("it listens");
    sleep(COMMAND * 61).await;
    assert!(work.0.lock().expect("not poisoned").len() >= before + 4);
    sleep(Duration::from_mins(15)).await;
    assert!(spent(&work) * 10 <= start.elapsed() + Duration::from_mins(2), "{:?}", spent(&work));
    cancelled.cancel();
    task.await.expect("it ends");
    consumer.await.expect("it ends");
}

#[tokio::test(start_paused = true)]
async fn what_changed_on_a_host_is_told_soon_and_with_all_that_hangs_on_it() {
    let work = Arc::new(Spent::default());
    let (sender, mut messages) = mpsc::channel(64);
    let (_commands, received) = mpsc::channel(4);
    let cancelled = CancellationToken::new();
    let esxi: Arc<[Probe]> = Arc::from(crate::probe::esxi::PROBES);
    let options = Options { probes: Arc::from([]), esxi, period: Duration::from_secs(1), sparing: Sparing::default() };
    let connector = Plays(Arc::clone(&work), None);
    let poller = Poller::new(TargetId::new("esx"), connector, options, sender, received, cancelled.clone());
    let task = tokio::spawn(poller.run());
    let start = Instant::now();
    // Each report: when, of which probe, the numbers of its observations, what it says of the VMs that run.
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    let consumer = tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            let Message::Report { report, .. } = message else { continue };
            let running = report.observations.iter().find(|seen| seen.source.as_str() == RUNNING);
            let running = running.map(|seen| seen.stdout.to_string());
            let numbers: Vec<u64> = report.observations.iter().map(|seen| seen.sequence).collect();
            let probe = report.probe.as_str().to_owned();
            noted.lock().expect("not poisoned").push((start.elapsed(), probe, numbers, running));
        }
    });
    sleep(Duration::from_mins(40)).await;
    let of = |probe: &str, from: Duration| -> Vec<(Duration, Vec<u64>, Option<String>)> {
        let told = told.lock().expect("not poisoned");
        let of = told.iter().filter(|(at, of, ..)| of == probe && *at >= from);
        of.map(|(at, _, numbers, running)| (*at, numbers.clone(), running.clone())).collect()
    };
    // As long as nothing changes only what leads is read again: the numbers of the rest stay the same for a while.
    let quiet = of("esxi.vms", Duration::ZERO);
    assert!(quiet.len() >= 10, "{quiet:?}");
    assert!(quiet.windows(2).filter(|pair| pair[0].1[2] == pair[1].1[2]).count() * 2 > quiet.len(), "{quiet:?}");
    assert!(quiet.windows(2).all(|pair| pair[0].1[1] < pair[1].1[1]), "what leads is new each time: {quiet:?}");
    let before = quiet.last().expect("some").1.clone();
    let changed = start.elapsed();
    "a VM".clone_into(&mut work.1.lock().expect("not poisoned"));
    sleep(Duration::from_mins(10)).await;
    // It is told soon, and never with a rest of before the change.
    let news: Vec<_> =
        of("esxi.vms", changed).into_iter().filter(|(_, _, running)| running.as_deref() == Some("a VM")).collect();
    let (at, numbers, _) = news.first().expect("it is told").clone();
    assert!(at <= changed + Duration::from_mins(5), "{at:?} after {changed:?}");
    assert!(numbers.iter().zip(&before).all(|(now, before)| now > before), "{numbers:?} after {before:?}");
    // What hangs on it follows next.
    for probe in ["esxi.vm-config", "esxi.vmx", "esxi.net-dvs"] {
        let (then, ..) = of(probe, at).first().expect("it follows").clone();
        assert!(then <= at + Duration::from_mins(3), "{probe}: {then:?} after {at:?}");
    }
    let spent: Duration = work.0.lock().expect("not poisoned").iter().map(|(_, spent)| *spent).sum();
    assert!(spent * 10 <= start.elapsed() + Duration::from_mins(5), "{spent:?} in {:?}", start.elapsed());
    cancelled.cancel();
    task.await.expect("it ends");
    consumer.await.expect("it ends");
}

/// The most work of any ten minutes in two hours, over connections that hold so long.
async fn most_work(holds: Option<Duration>, sparing: Sparing) -> Duration {
    let work = Arc::new(Spent::default());
    let (sender, mut messages) = mpsc::channel(64);
    let (_commands, received) = mpsc::channel(4);
    let cancelled = CancellationToken::new();
    let esxi: Arc<[Probe]> = Arc::from(crate::probe::esxi::PROBES);
    let options = Options { probes: Arc::from([]), esxi, period: Duration::from_secs(1), sparing };
    let connector = Plays(Arc::clone(&work), holds);
    let poller = Poller::new(TargetId::new("esx"), connector, options, sender, received, cancelled.clone());
    let task = tokio::spawn(poller.run());
    let consumer = tokio::spawn(async move { while messages.recv().await.is_some() {} });
    sleep(Duration::from_hours(2)).await;
    cancelled.cancel();
    task.await.expect("it ends");
    consumer.await.expect("it ends");
    let work = work.0.lock().expect("not poisoned").clone();
    let within = |from: Instant| -> Duration {
        let inside = |&(began, length): &(Instant, Duration)| {
            (began + length).min(from + WINDOW).saturating_duration_since(began.max(from))
        };
        work.iter().map(inside).sum()
    };
    // The work of a window is the most where one begins or ends with a batch.
    let froms = work.iter().flat_map(|&(began, length)| [Some(began), (began + length).checked_sub(WINDOW)]);
    froms.flatten().map(within).max().expect("it was read")
}

#[tokio::test(start_paused = true)]
async fn no_ten_minutes_are_more_than_one_of_work_however_often_the_link_drops() {
    for holds in [None, Some(20), Some(150), Some(420)] {
        let most = most_work(holds.map(Duration::from_secs), Sparing::default()).await;
        // What was never read may take longer than expected: by as much as a batch is cut off or begun.
        assert!(most <= MOST_WORK + COMMAND, "{holds:?}: {most:?}");
    }
    let free = most_work(None, Sparing { governed: false, ..Sparing::default() }).await;
    assert!(free > MOST_WORK * 4, "without a governor: {free:?}");
}
