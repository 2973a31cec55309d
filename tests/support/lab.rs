//! The soft-RoCE lab as the tests see it: whether it is up, one test at a time, every assertion counted.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::document::Verdict;
use super::guest::Guest;
use super::pty::{Console, Size, View};

/// So often at most `check` is asked.
const LOOKS: usize = 3;

/// Assertions that held so far in this test program.
static ASSERTIONS: AtomicUsize = AtomicUsize::new(0);

/// Counts an assertion that held.
pub fn count_assertion() {
    ASSERTIONS.fetch_add(1, Ordering::SeqCst);
}

/// Asserts and counts.
#[macro_export]
macro_rules! lab_assert {
    ($condition:expr, $($message:tt)+) => {{
        assert!($condition, $($message)+);
        $crate::support::lab::count_assertion();
    }};
}

/// Asserts that two values are equal, and counts.
#[macro_export]
macro_rules! lab_assert_eq {
    ($left:expr, $right:expr, $($message:tt)+) => {{
        assert_eq!($left, $right, $($message)+);
        $crate::support::lab::count_assertion();
    }};
}

/// The lab, for one test at a time.
pub struct Lab {
    /// Where it lives.
    pub directory: PathBuf,
    /// The `ssh_config` that reaches its guests.
    pub config: PathBuf,
    /// The first guest, as root.
    pub one: Guest,
    /// The second guest, as root.
    pub two: Guest,
    test: &'static str,
    before: usize,
    /// Held while the test runs, against other tests and other test programs.
    _lock: File,
}

/// A line for whoever runs the tests, past the capture of the test harness.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// True if the emulator of a guest runs that `up.sh` started: guests that are not there need not be waited for.
fn runs(directory: &Path, number: u32) -> bool {
    let Ok(process) = std::fs::read_to_string(directory.join(format!("guest{number}.pid"))) else { return false };
    let words = std::fs::read(format!("/proc/{}/cmdline", process.trim())).unwrap_or_default();
    let name = format!("soft-roce-{}-guest{number}", directory.display());
    words.split(|byte| *byte == 0).any(|word| word == name.as_bytes())
}

/// True where a skipped test is a failure.
fn nothing_may_be_skipped() -> bool {
    std::env::var_os("RDMASCOPE_NO_SKIP").is_some_and(|value| value == "1")
}

impl Lab {
    /// The lab with its guests in order, or nothing if it is not up: then the test is skipped, which is a failure where
    /// `RDMASCOPE_NO_SKIP` is 1.
    pub fn enter(test: &'static str) -> Option<Self> {
        let directory =
            std::env::var_os("SOFT_ROCE_DIR").map_or_else(|| PathBuf::from("/tmp/soft-roce"), PathBuf::from);
        let lab = Self::at(&directory, test);
        if lab.is_none() {
            assert!(
                !nothing_may_be_skipped(),
                "{test}: the soft-RoCE lab is not up in {} and nothing may be skipped",
                directory.display()
            );
            tell(&format!("{test}: skipped: the soft-RoCE lab is not up (tests/soft-roce/up.sh)"));
        }
        lab
    }

    fn at(directory: &Path, test: &'static str) -> Option<Self> {
        let config = directory.join("ssh_config");
        if !config.is_file() || !(1..=2).all(|number| runs(directory, number)) {
            return None;
        }
        let lock = File::create(directory.join("tests.lock")).ok()?;
        lock.lock().ok()?;
        let (one, two) = (Guest::new("softroce1", &config), Guest::new("softroce2", &config));
        for guest in [&one, &two] {
            // What an interrupted run may have left.
            let order = "pkill -x 'ib_write_bw|ibv_rc_pingpong|ibv_ud_pingpong'; mount -o remount,hidepid=0 /proc; \
                         [ ! -e /root/sudoers.lab ] || mv /root/sudoers.lab /etc/sudoers.d/lab; \
                         tc qdisc del dev eth1 root 2>/dev/null; sed -i /GID_INDEX/d /etc/environment; \
                         ip link set eth1 up mtu 1500 && \
                         ip -o -4 addr show dev eth1 | while read -r a b c address d; do case $address in \
                         192.168.100.1[01]/24) ;; *) ip addr del $address dev eth1;; esac; done";
            // A guest may still be on its way up after a test that rebooted it and failed.
            let patience = Duration::from_secs(if nothing_may_be_skipped() { 240 } else { 30 });
            let deadline = Instant::now() + patience;
            while guest.attempt(order, Duration::from_secs(30)).status != 0 {
                if Instant::now() > deadline {
                    return None;
                }
            }
        }
        let before = ASSERTIONS.load(Ordering::SeqCst);
        Some(Self { directory: directory.to_owned(), config, one, two, test, before, _lock: lock })
    }

    /// Both guests.
    pub fn guests(&self) -> [&Guest; 2] {
        [&self.one, &self.two]
    }

    /// The first guest, as the user without privileges.
    pub fn one_unprivileged(&self) -> Guest {
        Guest::new("softroce1-lab", &self.config).without_sharing()
    }

    /// What `check` says of these logins of the lab. Under a load under which a command of a guest came to no end, it is
    /// asked once more.
    pub fn check(&self, more: &[&str], targets: &[&str]) -> Verdict {
        let config = self.config.to_str().expect("a path of text");
        let look = || Verdict::of(&[&["--ssh-config", config], more, targets].concat());
        (1..LOOKS).fold(look(), |seen, _| if seen.is_whole() { seen } else { look() })
    }

    /// A command on the second guest that talks to the first one, so that each knows the other's address again.
    pub fn meet(&self) {
        self.two.run("ping -c 2 -i 0.2 -W 5 192.168.100.10");
    }

    /// Waits until something listens on a port of the first guest.
    #[track_caller]
    pub fn wait_for_server(&self, port: u16) {
        let command = format!("ss -Hltn 'sport = :{port}'");
        self.one.wait_until("a server", &command, Duration::from_mins(1), |text| !text.trim().is_empty());
    }

    /// The port of a guest on this machine, from the lab's `ssh_config`.
    pub fn port_of(&self, guest: &Guest) -> u16 {
        let output = std::process::Command::new("ssh").arg("-G").arg("-F").arg(&self.config).arg(&guest.name).output();
        let text = String::from_utf8(output.expect("ssh is installed").stdout).expect("text");
        let port = text.lines().find_map(|line| line.strip_prefix("port ")).expect("a port");
        port.trim().parse().expect("a port number")
    }

    /// The console on these targets.
    pub fn console(&self, targets: &[&str], size: Size) -> Console {
        let config = self.config.to_str().expect("a path of text");
        console(&[&["--ssh-config", config], targets].concat(), size)
    }
}

/// The console with these arguments, in an environment of its own: no agent, and no settings of the person who runs the
/// tests.
pub fn console(arguments: &[&str], size: Size) -> Console {
    let home = std::env::temp_dir().join(format!("rdmascope-tests-{}", std::process::id()));
    let home = home.to_str().expect("a path of text").to_owned();
    let environment = [("SSH_AUTH_SOCK", ""), ("XDG_CONFIG_HOME", &home), ("XDG_STATE_HOME", &home)];
    Console::start(env!("CARGO_BIN_EXE_rdmascope"), arguments, size, &environment)
}

/// Waits for something on the screen and counts it as an assertion.
#[track_caller]
pub fn sees(console: &Console, what: &str, within: Duration, condition: impl FnMut(&View<'_>) -> bool) -> Duration {
    let took = console.wait_for(what, within, condition);
    count_assertion();
    took
}

impl Drop for Lab {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let all = ASSERTIONS.load(Ordering::SeqCst);
        let own = all - self.before;
        tell(&format!("soft-roce: {}: {own} assertions held ({all} so far)", self.test));
        if let Some(path) = std::env::var_os("RDMASCOPE_ASSERTIONS") {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let line = format!("{} {own}\n", self.test);
            file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the assertions can be written down");
        }
    }
}
