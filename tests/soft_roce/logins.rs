//! Doing no harm: a refused key is not tried again and again, and nothing of ours stays behind on a target.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::guest::Guest;
use crate::support::lab::{Lab, console, sees};
use crate::support::pty::{Console, Size};
use crate::support::relay::Relay;
use crate::support::words;
use crate::{SLACK, START, lab_assert, lab_assert_eq};

/// An `ssh_config` for a guest through a relay, with a key of its own choosing, and the host keys read over the lab's
/// own way in.
pub fn config_through(relay: &Relay, guest: &Guest, key: &Path, folder: &Path) -> PathBuf {
    let known_hosts = folder.join("known_hosts");
    let keys: Vec<String> = guest
        .run("cat /etc/ssh/ssh_host_*_key.pub")
        .lines()
        .map(|line| format!("[127.0.0.1]:{} {line}\n", relay.port()))
        .collect();
    std::fs::write(&known_hosts, keys.concat()).expect("written");
    let config = folder.join("ssh_config");
    let text = format!(
        "Host through\n  HostName 127.0.0.1\n  Port {}\n  User root\n  IdentityFile \"{}\"\n  IdentitiesOnly yes\n  \
         UserKnownHostsFile \"{}\"\n  StrictHostKeyChecking yes\n  PreferredAuthentications publickey\n",
        relay.port(),
        key.display(),
        known_hosts.display()
    );
    std::fs::write(&config, text).expect("written");
    config
}

fn console_through(config: &Path) -> Console {
    console(&["--ssh-config", config.to_str().expect("a path of text"), "through"], Size { columns: 120, rows: 40 })
}

/// A new key that no guest knows.
pub fn stranger_key(folder: &Path) -> PathBuf {
    let key = folder.join("stranger");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "stranger", "-f"])
        .arg(&key)
        .status()
        .expect("ssh-keygen is installed");
    assert!(made.success());
    key
}

/// How many logins were refused so far, by the guest's own log.
pub fn refused_logins(guest: &Guest) -> usize {
    guest.run("cat /var/log/sshd.log").lines().filter(|line| line.contains("Failed publickey for root")).count()
}

#[test]
fn a_refused_key_is_reported_once_and_not_tried_again() {
    let Some(lab) = Lab::enter("a_refused_key_is_reported_once_and_not_tried_again") else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let relay = Relay::to(lab.port_of(&lab.one));
    let config = config_through(&relay, &lab.one, &stranger_key(folder.path()), folder.path());
    let refused_before = refused_logins(&lab.one);

    let console = console_through(&config);
    console.keys(words::EVENTS);
    let refusals = |view: &crate::support::pty::View<'_>| words::events(view, &["through", words::KEY_REFUSED]).len();
    sees(&console, "the refusal among the events", START, |view| refusals(view) > 0);
    lab_assert_eq!(relay.connections(), 1, "one connection was made");
    console.holds_for("one report", Duration::from_secs(25), |view| refusals(view) == 1);
    lab_assert_eq!(relay.connections(), 1, "and no other one followed by itself");
    let refused_once = refused_logins(&lab.one) - refused_before;
    lab_assert_eq!(refused_once, 1, "the guest saw one attempt");

    console.keys(words::RECONNECT);
    sees(&console, "a second refusal", START, |view| refusals(view) == 2);
    lab_assert_eq!(relay.connections(), 2, "the user asked, so it was tried once more");
    lab_assert_eq!(refused_logins(&lab.one) - refused_before, 2, "the guest saw the second attempt");
}

/// Waits until nothing of other sessions runs on a guest.
#[track_caller]
pub fn wait_until_alone(guest: &Guest, within: Duration) -> Duration {
    let start = Instant::now();
    loop {
        let left = guest.foreign_sessions();
        if left.is_empty() {
            return start.elapsed();
        }
        assert!(start.elapsed() < within, "{}: after {} s there is still {left:?}", guest.name, within.as_secs());
    }
}

#[test]
fn nothing_stays_on_the_guest_after_a_hard_kill() {
    let Some(lab) = Lab::enter("nothing_stays_on_the_guest_after_a_hard_kill") else { return };
    wait_until_alone(&lab.one, START);
    let mut console = lab.console(&["softroce1"], Size::DESIGN);
    sees(&console, "softroce1 to be up", START, |view| words::is_up(view, "softroce1"));
    let there = lab.one.foreign_sessions();
    lab_assert!(there.iter().any(|process| process.command.contains("sh -s")), "the stream runs: {there:?}");
    console.kill_hard();
    let took = wait_until_alone(&lab.one, Duration::from_secs(20) + SLACK);
    lab_assert!(lab.one.foreign_sessions().is_empty(), "nothing is left");
    println!("the guest was alone {:.1} s after kill -9", took.as_secs_f64());
}

#[test]
fn nothing_stays_on_the_guest_after_a_silent_cut() {
    let Some(lab) = Lab::enter("nothing_stays_on_the_guest_after_a_silent_cut") else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let relay = Relay::to(lab.port_of(&lab.one));
    let config = config_through(&relay, &lab.one, &lab.directory.join("id_lab"), folder.path());
    wait_until_alone(&lab.one, START);
    let mut console = console_through(&config);
    sees(&console, "the guest to be up", START, |view| words::is_up(view, "through"));
    lab_assert!(!lab.one.foreign_sessions().is_empty(), "a session is open");
    relay.fall_silent();
    console.kill_hard();
    // The guests of the lab give a client up that has been silent for three times 5 s.
    let took = wait_until_alone(&lab.one, Duration::from_secs(15 + 60) + SLACK);
    lab_assert!(lab.one.foreign_sessions().is_empty(), "nothing is left after the guest's own time-out");
    println!("the guest was alone {:.1} s after the cut", took.as_secs_f64());
}

#[test]
fn leaving_the_console_closes_its_sessions() {
    let Some(lab) = Lab::enter("leaving_the_console_closes_its_sessions") else { return };
    wait_until_alone(&lab.one, START);
    let mut console = lab.console(&["softroce1"], Size::DESIGN);
    sees(&console, "softroce1 to be up", START, |view| words::is_up(view, "softroce1"));
    console.keys(words::QUIT);
    let status = console.wait_for_end(Duration::from_secs(2) + SLACK);
    lab_assert!(status.success(), "it ends well: {status:?}");
    lab_assert!(!console.view(|view| view.is_alternate() || view.hides_cursor()), "the terminal is as it was");
    wait_until_alone(&lab.one, Duration::from_secs(10) + SLACK);
    lab_assert!(lab.one.foreign_sessions().is_empty(), "nothing is left");
}
