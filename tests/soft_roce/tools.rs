//! The tools of these tests on the guests themselves: a reader that saw nothing would agree with everything.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::live::{traffic, true_rates};
use crate::logins::{config_through, refused_logins, stranger_key, wait_until_alone};
use crate::support::lab::Lab;
use crate::support::pty::{Console, Size};
use crate::support::relay::Relay;
use crate::{START, lab_assert, lab_assert_eq};

#[test]
fn the_reader_sees_what_is_done_to_a_guest() {
    let Some(lab) = Lab::enter("the_reader_sees_what_is_done_to_a_guest") else { return };
    let guest = &lab.two;
    lab_assert_eq!((guest.mtu("eth1"), guest.active_mtu()), (1500, 1024), "as the lab starts");
    let gids = guest.gids();
    let addresses = guest.addresses("eth1");
    {
        let _mtu = guest.change("ip link set eth1 mtu 4300", "ip link set eth1 mtu 1500");
        let _address = guest.change("ip addr add 192.168.100.77/24 dev eth1", "ip addr del 192.168.100.77/24 dev eth1");
        lab_assert_eq!((guest.mtu("eth1"), guest.active_mtu()), (4300, 4096), "the MTU is changed");
        let new: BTreeSet<String> = guest.addresses("eth1").difference(&addresses).cloned().collect();
        lab_assert_eq!(new, BTreeSet::from(["192.168.100.77/24".to_owned()]), "the address is there");
        lab_assert_eq!(guest.gids().len(), gids.len() + 1, "and its GID");
        let pingpong = guest.start("ibv_rc_pingpong -d rxe0 -g 1 -p 19001");
        guest.wait_until("a queue pair", "rdma res show qp", START, |text| text.contains("pingpong"));
        let pairs = guest.queue_pairs();
        let pair = pairs.values().find(|pair| pair.owner == "ibv_rc_pingpong").expect("its queue pair");
        lab_assert_eq!((pair.process, pair.state.as_str()), (Some(pingpong.process), "INIT"), "whose it is");
    }
    lab_assert_eq!((guest.mtu("eth1"), guest.addresses("eth1"), guest.gids()), (1500, addresses, gids), "all put back");
    guest.wait_until("no queue pair", "rdma res show qp", START, |text| !text.contains("pingpong"));
    {
        let _down = guest.change("ip link set eth1 down", "ip link set eth1 up");
        lab_assert_eq!(guest.links()[0].state, "DOWN", "the port follows its interface");
    }
    lab_assert_eq!(guest.links()[0].state, "ACTIVE", "and is back");
    lab_assert!(guest.counters().len() > 10, "the counters are read");
}

#[test]
fn the_reader_sees_sessions_and_refused_logins() {
    let Some(lab) = Lab::enter("the_reader_sees_sessions_and_refused_logins") else { return };
    wait_until_alone(&lab.one, START);
    let folder = tempfile::tempdir().expect("a directory");
    let relay = Relay::to(lab.port_of(&lab.one));
    let config = config_through(&relay, &lab.one, &lab.directory.join("id_lab"), folder.path());
    let config = config.to_str().expect("a path of text");
    let mut session = Console::start("ssh", &["-F", config, "through", "echo in; /bin/sh -s"], Size::DESIGN, &[]);
    session.wait_for("the session", START, |view| view.has("in"));
    lab_assert_eq!(relay.connections(), 1, "the relay counts");
    let there = lab.one.foreign_sessions();
    lab_assert!(there.iter().any(|process| process.command.contains("sh -s")), "the session is seen: {there:?}");
    relay.fall_silent();
    session.kill_hard();
    wait_until_alone(&lab.one, Duration::from_mins(1));
    lab_assert!(lab.one.foreign_sessions().is_empty(), "and its end, by the guest's own time-out");

    let before = refused_logins(&lab.one);
    let relay = Relay::to(lab.port_of(&lab.one));
    let config = config_through(&relay, &lab.one, &stranger_key(folder.path()), folder.path());
    let refused = Command::new("ssh")
        .args(["-n", "-o", "BatchMode=yes", "-F", config.to_str().expect("a path of text"), "through", "true"])
        .stderr(Stdio::null())
        .status()
        .expect("ssh is installed");
    lab_assert_eq!(refused.code(), Some(255), "the login is refused");
    lab_assert_eq!(refused_logins(&lab.one) - before, 1, "and the guest wrote it down");
    lab_assert_eq!(relay.connections(), 1, "over one connection");
}

#[test]
fn the_reader_sees_traffic_and_its_queue_pairs() {
    let Some(lab) = Lab::enter("the_reader_sees_traffic_and_its_queue_pairs") else { return };
    lab_assert_eq!(true_rates(&lab.one), (0.0, 0.0), "no RDMA at rest");
    let running = traffic(&lab, 30, 2);
    let (sent, received) = true_rates(&lab.one);
    lab_assert!(
        sent > 0.0 && received > 0.0,
        "packets each way: {sent} and {received}; the client: {}",
        running.1.said()
    );
    let pairs = lab.one.queue_pairs();
    let of_test = pairs.values().filter(|pair| pair.owner == "ib_write_bw" && pair.kind == "RC").count();
    lab_assert_eq!(of_test, 2, "two queue pairs: {pairs:?}");
    drop(running);
    lab.one.wait_until("no queue pair", "rdma res show qp", START, |text| !text.contains("ib_write_bw"));
}
