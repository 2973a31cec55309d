//! Troubles that are made in the guests, and what the program says of each: the right cause first, by lines that the guests
//! really printed, and no other failure beside it; then all is put back, and nothing is wrong any more.

use std::time::Duration;

use crate::support::document::{Named, Verdict, explain};
use crate::support::guest::Guest;
use crate::support::lab::Lab;
use crate::{lab_assert, lab_assert_eq};

const BOTH: [&str; 2] = ["softroce1", "softroce2"];
/// How long a tool of the guests may take to fail.
const FAILING: Duration = Duration::from_mins(2);
/// What warnings count for, too.
const STRICT: [&str; 2] = ["--fail-on", "warn"];

/// What cannot be told of two guests in good order, rightly: nothing below `/etc` sets their interfaces, no program tells of
/// their firewall, their private keys stand alone, and no test of known size ran between them.
const UNTOLD: [Named<'static>; 9] = [
    ("guest.address-persistence", "softroce1"),
    ("guest.address-persistence", "softroce2"),
    ("guest.mtu-persistence", "softroce1"),
    ("guest.mtu-persistence", "softroce2"),
    ("guest.transport", "softroce1"),
    ("mpi.firewall", "softroce1"),
    ("mpi.firewall", "softroce2"),
    ("mpi.ssh-between-nodes", "softroce1"),
    ("mpi.ssh-between-nodes", "softroce2"),
];

/// By how many milliseconds the clock of a guest is ahead of ours, and by how much that may be wrong.
fn clock(guest: &Guest) -> (i64, i64) {
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis();
    let (before, text, after) = (now(), guest.run("date +%s%3N"), now());
    let [before, after] = [before, after].map(|time| i64::try_from(time).expect("this age"));
    let theirs: i64 = text.trim().parse().expect("a number");
    (theirs - i64::midpoint(before, after), (after - before) / 2)
}

/// Findings without those of a clock that is wrong by the guest's own word: nothing sets the clocks of the lab.
fn but_for_clocks<'a>(lab: &Lab, found: Vec<Named<'a>>) -> Vec<Named<'a>> {
    let is_true = |target: &str| {
        let own = lab.guests().into_iter().find(|guest| target.starts_with(&guest.name)).expect("a guest");
        let (ahead, doubt) = clock(own);
        ahead.abs() + doubt > 100
    };
    found.into_iter().filter(|(check, target)| *check != "guest.clock" || !is_true(target)).collect()
}

/// That nothing is wrong with both guests, and that what cannot be told is what is expected.
fn all_is_well(lab: &Lab, after: &str) {
    lab.meet();
    let verdict = lab.check(&[], &BOTH);
    lab_assert_eq!(but_for_clocks(lab, verdict.causes()), [], "{after}: {}", verdict.words());
    lab_assert_eq!(verdict.with_status("unknown"), UNTOLD, "{after}: {}", verdict.words());
    // A guest that did not come to its end with all it was asked, on a computer with too much to do, is no guest in order.
    lab_assert_eq!(verdict.status, if verdict.is_complete() { 0 } else { 3 }, "{after}: the exit status says so");
}

/// That one finding is the cause, and no other failure or warning is beside it and what it explains.
#[track_caller]
fn is_the_cause(lab: &Lab, verdict: &Verdict, expected: Named<'_>) {
    lab_assert_eq!(but_for_clocks(lab, verdict.causes()), [expected], "{}", verdict.words());
    lab_assert_eq!(verdict.causes()[0], expected, "it comes before all others");
    lab_assert_eq!(verdict.first("confidence"), "proved", "and is proved");
}

/// That a line which was read is among the evidence.
#[track_caller]
fn is_shown(verdict: &Verdict, command: &str, line: &str) {
    let evidence = verdict.evidence();
    let shown = evidence.iter().any(|(read, excerpt)| read.contains(command) && excerpt.contains(line.trim()));
    lab_assert!(shown, "{line:?} of {command} is shown: {evidence:#?}");
}

/// That `explain` knows what a tool said, and says these words of it.
#[track_caller]
fn is_explained(text: &str, words: &[&str]) {
    let (status, findings) = explain(text);
    lab_assert_eq!(status, 0, "it is recognised: {text}");
    let found = findings.iter().find(|finding| words.iter().all(|word| finding.contains(word)));
    lab_assert!(found.is_some(), "{words:?} are said of {text}: {findings:#?}");
}

#[test]
fn a_link_that_is_down_is_the_cause() {
    let Some(lab) = Lab::enter("a_link_that_is_down_is_the_cause") else { return };
    let down = lab.one.change("ip link set eth1 down", "ip link set eth1 up");
    let flags = lab.one.run("cat /sys/class/net/eth1/flags");
    let verdict = lab.check(&[], &BOTH);
    is_the_cause(&lab, &verdict, ("guest.netdev-up", "softroce1"));
    is_shown(&verdict, "/sys/class/net/", &format!("eth1/flags:{}", flags.trim()));
    lab_assert!(verdict.symptoms().contains(&("guest.port-active", "softroce1")), "it explains the port that is down");
    lab_assert_eq!(verdict.status, 1, "something does not work");

    // The tools' own words, from both sides.
    let own = lab.one.attempt("ib_write_bw -d rxe0 -x 1 -F -p 19701 192.168.100.11 2>&1", FAILING);
    is_explained(&own.stdout, &["state is Down"]);
    drop(down);
    all_is_well(&lab, "the link is up again");
}

#[test]
fn sixty_percent_loss_is_the_cause() {
    let Some(lab) = Lab::enter("sixty_percent_loss_is_the_cause") else { return };
    lab.two.run("modprobe sch_netem");
    // One message at a time on each connection: what is lost is sent again packet by packet, and the guests have time left.
    let tool = "nice -n 19 ib_write_bw -d rxe0 -x 1 -D 240 -q 4 -t 1 -s 4096 -F -p 19706";
    let server = lab.one.start(tool);
    lab.wait_for_server(19_706);
    let client = lab.two.start(&format!("{tool} 192.168.100.10"));
    lab.two.wait_until("connections", "rdma res show qp", FAILING, |text| text.matches("state RTS").count() >= 5);
    let loss = lab.two.change("tc qdisc add dev eth1 root netem loss 60%", "tc qdisc del dev eth1 root");
    let counted = |name: &str| lab.two.counters()[name];
    let before = counted("completer_retry_err");
    let verdict = lab.check(&[], &BOTH);
    let waits = counted("completer_retry_err") - before;
    lab_assert!(waits > 0, "answers were waited for in vain: {waits}");
    is_the_cause(&lab, &verdict, ("guest.packet-loss", "softroce2"));
    lab_assert_eq!(verdict.first("status"), "fail", "it does not work: {}", verdict.words());
    is_shown(&verdict, "hw_counters", "completer_retry_err +");
    is_shown(&verdict, "hw_counters", "rxe0/ports/1/hw_counters/completer_retry_err:");
    lab_assert!(verdict.symptoms().contains(&("guest.retransmits", "softroce2")), "it explains what is sent again");
    lab_assert_eq!(verdict.status, 1, "something does not work");
    drop(client);
    drop(server);
    drop(loss);
    all_is_well(&lab, "nothing is lost any more");
}

#[test]
fn two_mtus_are_the_cause() {
    let Some(lab) = Lab::enter("two_mtus_are_the_cause") else { return };
    let other = lab.two.change("ip link set eth1 mtu 4200", "ip link set eth1 mtu 1500");
    let verdict = lab.check(&STRICT, &BOTH);
    is_the_cause(&lab, &verdict, ("guest.mtu-pair", "softroce1"));
    for guest in lab.guests() {
        is_shown(&verdict, "/sys/class/net/", &format!("eth1/mtu:{}", guest.mtu("eth1")));
    }
    lab_assert_eq!((verdict.first("status"), verdict.status), ("warn", 1), "it works, and not as it should");
    drop(other);
    all_is_well(&lab, "the MTUs are the same again");
}

#[test]
fn an_empty_gid_index_is_the_cause() {
    let Some(lab) = Lab::enter("an_empty_gid_index_is_the_cause") else { return };
    let empty = lab.one.gids().keys().max().expect("a GID") + 5;
    {
        let _set = lab.one.change(
            &format!("echo UCX_IB_GID_INDEX={empty} >> /etc/environment"),
            "sed -i /UCX_IB_GID_INDEX/d /etc/environment",
        );
        let verdict = lab.check(&[], &BOTH);
        is_the_cause(&lab, &verdict, ("guest.gid-index", "softroce1"));
        is_shown(&verdict, "", &format!("UCX_IB_GID_INDEX={empty}"));
        lab_assert!(verdict.first("title").contains("empty on rxe0/1"), "{}", verdict.first("title"));
        lab_assert_eq!(verdict.status, 1, "something does not work");
    }
    // A tool that is told the same index, on both sides and on one.
    for (port, theirs) in [(19_702, empty), (19_703, 1)] {
        let _server = lab.one.start(&format!("ib_write_bw -d rxe0 -x {theirs} -n 20 -s 4096 -F -p {port}"));
        lab.wait_for_server(port);
        let command = format!("ib_write_bw -d rxe0 -x {empty} -n 20 -s 4096 -F -p {port} 192.168.100.10 2>&1");
        let said = lab.two.attempt(&command, FAILING);
        lab_assert_eq!(said.status, 1, "the tool fails: {said:?}");
        is_explained(&said.stdout, &["GID"]);
    }
    all_is_well(&lab, "no index is set any more");
}

#[test]
fn a_server_that_is_not_there_is_no_fault_of_the_guests() {
    let Some(lab) = Lab::enter("a_server_that_is_not_there_is_no_fault_of_the_guests") else { return };
    for way in ["", "-R"] {
        let command = format!("ib_write_bw -d rxe0 -x 1 -n 20 -s 4096 -F {way} -p 19704 192.168.100.10 2>&1");
        let said = lab.two.attempt(&command, FAILING);
        lab_assert_eq!(said.status, 1, "the tool fails: {said:?}");
        is_explained(&said.stdout, &["server"]);
    }
    all_is_well(&lab, "where nothing but a server is missing");
}

#[test]
fn the_limit_of_a_user_is_the_cause() {
    let Some(lab) = Lab::enter("the_limit_of_a_user_is_the_cause") else { return };
    let user = lab.one_unprivileged();
    let limit: u64 = user.run("ulimit -l").trim().parse().expect("a limit in kB");
    let verdict = lab.check(&[], &["softroce1-lab"]);
    is_the_cause(&lab, &verdict, ("guest.memlock", "softroce1-lab"));
    is_shown(&verdict, "/proc/self/limits", &format!("Max locked memory         {}", limit * 1024));
    lab_assert_eq!((verdict.first("status"), verdict.status), ("warn", 0), "some works within the limit");
    let _server = lab.one.start("ib_write_bw -d rxe0 -x 1 -n 5 -s 8388608 -F -p 19705");
    lab.wait_for_server(19_705);
    let two = Guest::new("softroce2-lab", &lab.config).without_sharing();
    let said = two.attempt("ib_write_bw -d rxe0 -x 1 -n 5 -s 8388608 -F -p 19705 192.168.100.10 2>&1", FAILING);
    lab_assert_eq!(said.status, 1, "the tool fails: {said:?}");
    is_explained(&said.stdout, &["memlock"]);
    // Root is not bound by it.
    let verdict = lab.check(&STRICT, &["softroce1"]);
    lab_assert_eq!(but_for_clocks(&lab, verdict.causes()), [], "{}", verdict.words());
}
