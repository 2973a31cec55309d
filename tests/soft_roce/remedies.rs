//! Remedies on real guests, applied by hand in the console: what was wrong is right afterwards by the guests' own word, and
//! the way back brings it again.

use std::time::Duration;

use crate::support::lab::{Lab, console, sees};
use crate::support::pty::{Console, Size};
use crate::support::words;
use crate::{SLACK, START, lab_assert_eq};

/// How long a remedy may take: the state is read again, the commands run, and the check runs again.
const TAKES: Duration = Duration::from_mins(1);

/// A console that may change something, on both guests, with the remedy of a finding open.
fn opened(lab: &Lab, finding: &str) -> Console {
    let config = lab.config.to_str().expect("a path of text");
    let arguments = ["--ssh-config", config, "--allow-changes", "softroce1", "softroce2"];
    let console = console(&arguments, Size::LARGE);
    sees(&console, "both to be up", START, |view| BOTH.iter().all(|name| words::is_up(view, name)));
    console.keys(words::WIZARD);
    sees(&console, "the finding", START, |view| view.has(finding));
    // Others may stand before it.
    console.keys(words::FILTER);
    console.keys(finding);
    console.keys(words::ENTER);
    sees(&console, "it alone", SLACK, |view| view.has_row(&[words::FILTERED, finding]));
    console.keys(words::FIX);
    // A matter that the ticks showed can be mended once a probe has read it, too.
    sees(&console, "its remedy", START, |view| view.has(finding) && view.has(words::REMEDY_ASKS));
    console
}

const BOTH: [&str; 2] = ["softroce1", "softroce2"];

/// Types the name of the target and waits for the end.
fn confirm(console: &Console, target: &str, end: &str) {
    console.keys(words::ENTER);
    console.keys(target);
    console.keys(words::ENTER);
    sees(console, end, TAKES + SLACK, |view| view.has(end));
}

#[test]
fn a_link_is_brought_up_and_the_way_back_takes_it_down() {
    let Some(lab) = Lab::enter("a_link_is_brought_up_and_the_way_back_takes_it_down") else { return };
    let _down = lab.one.change("ip link set eth1 down", "ip link set eth1 up");
    let is = || (lab.one.links()[0].state.clone(), lab.one.run("cat /sys/class/net/eth1/flags"));
    let before = is();
    lab_assert_eq!(before.0, "DOWN", "the trouble is made");
    let console = opened(&lab, "interface eth1 is down");
    sees(&console, "the command", SLACK, |view| view.has("run ip link set dev eth1 up"));
    confirm(&console, "softroce1", words::REMEDY_HELPED);
    lab_assert_eq!(lab.one.links()[0].state, "ACTIVE", "the guest says so too");
    console.keys(words::UNDO);
    sees(&console, "the way back", SLACK, |view| view.has("run ip link set dev eth1 down"));
    confirm(&console, "softroce1", words::TAKEN_BACK);
    lab_assert_eq!(is(), before, "all is as it was before");
}

#[test]
fn an_mtu_is_raised_and_the_way_back_lowers_it() {
    let Some(lab) = Lab::enter("an_mtu_is_raised_and_the_way_back_lowers_it") else { return };
    let _other = lab.two.change("ip link set eth1 mtu 4200", "ip link set eth1 mtu 1500; true");
    let is = || (lab.one.mtu("eth1"), lab.one.active_mtu());
    let before = is();
    lab_assert_eq!(before, (1500, 1024), "the trouble is made");
    let console = opened(&lab, "MTU 1500 and 4200");
    confirm(&console, "softroce1", words::REMEDY_HELPED);
    lab_assert_eq!(is(), (4200, 4096), "the guest says so too");
    console.keys(words::UNDO);
    sees(&console, "the way back", SLACK, |view| view.has("run ip link set dev eth1 mtu 1500"));
    confirm(&console, "softroce1", words::TAKEN_BACK);
    lab_assert_eq!(is(), before, "all is as it was before");
}
