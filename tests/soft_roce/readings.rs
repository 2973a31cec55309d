//! The snapshot against the guests' own tools, after things were changed at random; and what a login without
//! privileges is told.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::document::{Snapshot, Target, known, plain};
use crate::support::guest::Guest;
use crate::support::lab::Lab;
use crate::{START, lab_assert, lab_assert_eq};

/// A small generator of numbers from a seed, so that a failure can be had again (`RDMASCOPE_SEED`).
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let given = std::env::var("RDMASCOPE_SEED").ok().and_then(|seed| seed.parse().ok());
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
        Self(given.unwrap_or_else(clock).max(1))
    }

    /// A number from `low` to `high`, both included.
    fn number(&mut self, low: u64, high: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (mixed ^ (mixed >> 31)) % (high - low + 1)
    }
}

#[test]
fn a_snapshot_equals_the_guests_own_tools_after_random_changes() {
    let Some(lab) = Lab::enter("a_snapshot_equals_the_guests_own_tools_after_random_changes") else { return };
    let mut chance = Chance::new();
    println!("seed {}", chance.0);

    // Some packets, so that equal counters are not all zero; they rest before anything is compared.
    traffic(&lab);
    let mut held = Vec::new();
    let mut processes = Vec::new();
    for (number, guest) in lab.guests().into_iter().enumerate() {
        let mtu = chance.number(600, 9000);
        held.push(guest.change(&format!("ip link set eth1 mtu {mtu}"), "ip link set eth1 mtu 1500"));
        let address =
            format!("192.168.100.{}/24", chance.number(20, 120) + 120 * u64::try_from(number).expect("small"));
        held.push(guest.change(&format!("ip addr add {address} dev eth1"), &format!("ip addr del {address} dev eth1")));
        for pair in 0..chance.number(1, 5) {
            let kind = if chance.number(0, 1) == 0 { "rc" } else { "ud" };
            processes.push(guest.start(&format!("ibv_{kind}_pingpong -d rxe0 -g 1 -s 128 -p {}", 19_000 + pair)));
        }
        println!("{}: mtu {mtu}, address {address}, {} queue pairs so far", guest.name, processes.len());
    }
    for guest in lab.guests() {
        let started = processes.iter().filter(|running| running.is_on(guest)).count();
        guest.wait_until("queue pairs", "rdma res show qp", Duration::from_mins(1), |text| {
            text.lines().filter(|line| line.contains("pingpong")).count() == started
        });
    }

    let before: Vec<BTreeMap<String, u64>> = lab.guests().map(Guest::counters).into();
    let config = lab.config.to_str().expect("a path of text");
    let snapshot = Snapshot::take(&["--ssh-config", config, "softroce1", "softroce2"]);
    for (guest, before) in lab.guests().into_iter().zip(before) {
        let target = snapshot.target(&guest.name);
        lab_assert_eq!(target.field("reachable"), true, "{} is reachable", guest.name);
        lab_assert_eq!(target.field("kind"), "linux", "{} is a Linux system", guest.name);
        compare_link(guest, target);
        compare_gids(guest, target);
        compare_queue_pairs(guest, target);
        compare_counters(guest, target, &before);
    }
}

/// A short run of RDMA traffic from the second guest to the first.
fn traffic(lab: &Lab) {
    let _server = lab.one.start("ib_write_bw -d rxe0 -x 1 -n 20 -s 4096 -F -p 19500");
    lab.one.wait_until("a server", "ss -Hltn 'sport = :19500'", Duration::from_mins(1), |text| !text.trim().is_empty());
    lab.two.run("ib_write_bw -d rxe0 -x 1 -n 20 -s 4096 -F -p 19500 192.168.100.10");
}

fn compare_link(guest: &Guest, target: Target<'_>) {
    let name = &guest.name;
    let links = guest.links();
    lab_assert_eq!(links.len(), 1, "{name} has one RDMA port");
    for link in links {
        let port = format!("rdma-port/{}", link.name);
        lab_assert_eq!(target.value(&port, "port-state"), link.state, "{name}: state");
        lab_assert_eq!(
            plain(&target.value(&port, "physical-state")),
            plain(&link.physical_state),
            "{name}: physical state"
        );
        lab_assert_eq!(target.value(&port, "port-netdev"), link.netdev, "{name}: netdev");
        let netdev = format!("netdev/{}", link.netdev);
        lab_assert_eq!(target.value(&netdev, "mtu"), guest.mtu(&link.netdev).to_string(), "{name}: MTU");
        lab_assert_eq!(target.value(&port, "path-mtu"), guest.active_mtu().to_string(), "{name}: RoCE MTU");
        let addresses: BTreeSet<String> = target.list(&netdev, "addresses").into_iter().collect();
        lab_assert_eq!(addresses, guest.addresses(&link.netdev), "{name}: addresses");
    }
    let ports: Vec<&str> = target.entities("rdma-port").into_keys().collect();
    lab_assert_eq!(ports, ["rxe0/1"], "{name}: no port that is not there");
}

fn compare_gids(guest: &Guest, target: Target<'_>) {
    let theirs = guest.gids();
    let ours: BTreeMap<u64, (Ipv6Addr, String, String)> = target
        .entities("gid")
        .into_iter()
        .map(|(name, facts)| {
            let index = name.strip_prefix("rxe0/1/").and_then(|index| index.parse().ok()).expect("an index");
            let gid = known(facts, "gid").parse().expect("a GID");
            (index, (gid, known(facts, "gid-type"), known(facts, "gid-netdev")))
        })
        .collect();
    lab_assert!(theirs.len() >= 3, "{}: the new address made a new entry: {theirs:?}", guest.name);
    lab_assert_eq!(ours, theirs, "{}: GID table", guest.name);
}

fn compare_queue_pairs(guest: &Guest, target: Target<'_>) {
    let name = &guest.name;
    let theirs = guest.queue_pairs();
    let ours = target.entities("queue-pair");
    let expected: Vec<String> = theirs.values().map(|pair| pair.name.clone()).collect();
    lab_assert_eq!(
        ours.keys().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>(),
        expected.into_iter().collect::<BTreeSet<_>>(),
        "{name}: queue pairs"
    );
    lab_assert!(theirs.len() >= 2, "{name}: there is more than the kernel's own queue pair");
    for pair in theirs.values() {
        let facts = ours[pair.name.as_str()];
        lab_assert_eq!(known(facts, "queue-pair-type"), pair.kind, "{name}: type of {}", pair.name);
        lab_assert_eq!(known(facts, "queue-pair-state"), pair.state, "{name}: state of {}", pair.name);
        lab_assert_eq!(
            known(facts, "owner-command").trim_matches(['[', ']']),
            pair.owner,
            "{name}: owner of {}",
            pair.name
        );
        let process = pair.process.map_or_else(String::new, |process| process.to_string());
        lab_assert_eq!(known(facts, "owner-process"), process, "{name}: process of {}", pair.name);
    }
}

fn compare_counters(guest: &Guest, target: Target<'_>, before: &BTreeMap<String, u64>) {
    let after = guest.counters();
    lab_assert!(after.get("sent_pkts").is_some_and(|count| *count > 0), "{}: packets were sent", guest.name);
    for (name, low) in before {
        let high = after[name];
        let ours = target.counter("rdma-port/rxe0/1", name);
        lab_assert!(
            (*low..=high).contains(&ours),
            "{}: {name} is {ours}, and was {low} before and {high} after",
            guest.name
        );
    }
}

#[test]
fn a_login_without_privileges_is_told_what_it_cannot_see() {
    let Some(lab) = Lab::enter("a_login_without_privileges_is_told_what_it_cannot_see") else { return };
    let of_root = lab.one.start("ibv_rc_pingpong -d rxe0 -g 1 -p 19001");
    lab.one.wait_until("a queue pair", "rdma res show qp", START, |text| text.contains("pingpong"));
    let process = of_root.process.to_string();
    // Whether the kernel shows it to others is a matter of its version: the user's own tool has the say.
    let unprivileged = lab.one_unprivileged();
    let visible = unprivileged.queue_pairs().values().any(|pair| pair.process == Some(of_root.process));
    println!("queue pairs of root are {} to the user", if visible { "visible" } else { "hidden" });

    let config = lab.config.to_str().expect("a path of text");
    let snapshot = Snapshot::take(&["--ssh-config", config, "softroce1", "softroce1-lab"]);
    let (root, user) = (snapshot.target("softroce1"), snapshot.target("softroce1-lab"));
    let lists = |target: Target<'_>| {
        target.entities("queue-pair").into_values().any(|facts| known(facts, "owner-process") == process)
    };
    lab_assert!(lists(root), "root sees its queue pair");
    lab_assert_eq!(root.state("guest", "foreign-queue-pairs"), "known", "root sees those of others");
    lab_assert_eq!(lists(user), visible, "the user sees what its own tool sees");
    let claim = user.state("guest", "foreign-queue-pairs");
    lab_assert!(visible || claim == "needs-privilege", "what is hidden is said to be hidden: {claim}");
    for target in [root, user] {
        // A count that would leave out what cannot be seen must not be shown as one.
        let counted = known(target.entity("rdma-device/rxe0").expect("the device"), "queue-pairs");
        lab_assert!(
            counted.is_empty() || counted.parse::<u64>().is_ok_and(|count| count >= 2),
            "{counted:?} are counted"
        );
    }

    lab_assert_eq!(root.value("guest", "privileged"), "true", "root is privileged");
    lab_assert_eq!(user.value("guest", "privileged"), "false", "the user is not");
    let refused = unprivileged.attempt("dmesg", Duration::from_mins(1));
    lab_assert!(refused.stderr.contains("not permitted"), "the user may not read kernel messages: {refused:?}");
    lab_assert_eq!(user.state("guest", "kernel-log"), "needs-privilege", "and is told so");
    lab_assert!(root.state("guest", "kernel-log") != "needs-privilege", "root may");
}

#[test]
fn with_sudo_the_commands_that_need_it_are_read_by_root_and_no_other() {
    let Some(lab) = Lab::enter("with_sudo_the_commands_that_need_it_are_read_by_root_and_no_other") else { return };
    let of_root = lab.one.start("ibv_rc_pingpong -d rxe0 -g 1 -p 19001");
    lab.one.wait_until("a queue pair", "rdma res show qp", START, |text| text.contains("pingpong"));
    let process = of_root.process.to_string();
    let folder = tempfile::tempdir().expect("a directory");
    let inventory = folder.path().join("config.toml");
    let text = "[[target]]\nname = \"by-sudo\"\naddress = \"softroce1-lab\"\nbecome = \"sudo\"\n\
                [[target]]\nname = \"plain\"\naddress = \"softroce1-lab\"\n";
    std::fs::write(&inventory, text).expect("written");
    let (config, inventory) = (lab.config.to_str().expect("a path"), inventory.to_str().expect("a path"));
    let take = |name: &str| Snapshot::take(&["--ssh-config", config, "--config", inventory, name]);
    let rule = lab.one.change(
        "cp -p /etc/sudoers.d/lab /root/sudoers.lab && \
         echo 'Defaults logfile=/root/sudo.log, loglinelen=0' >> /etc/sudoers.d/lab",
        "mv /root/sudoers.lab /etc/sudoers.d/lab; rm -f /root/sudo.log",
    );
    // What sudo was asked for, by its own log.
    let logged = || {
        let log = lab.one.run("cat /root/sudo.log");
        let mut commands: Vec<String> =
            log.lines().filter_map(|line| Some(line.split_once("COMMAND=")?.1.trim().to_owned())).collect();
        commands.sort();
        commands
    };

    // One after the other: an emulated guest on a busy computer has enough to do with one.
    let (with, without) = (take("by-sudo"), take("plain"));
    let (by_sudo, plain) = (with.target("by-sudo"), without.target("plain"));
    let owner = |target: Target<'_>| {
        let pairs = target.entities("queue-pair");
        pairs
            .into_values()
            .find(|facts| known(facts, "owner-process") == process)
            .map(|facts| known(facts, "owner-command"))
    };
    lab_assert_eq!(by_sudo.state("guest", "foreign-queue-pairs"), "known", "those of others are seen by sudo");
    lab_assert_eq!(owner(by_sudo).as_deref(), Some("ibv_rc_pingpong"), "with their owner");
    lab_assert_eq!(by_sudo.state("guest", "kernel-log"), "known", "and so are kernel messages");
    let commands = by_sudo.list("guest", "read-by-root");
    lab_assert_eq!(
        commands,
        ["sudo -n -- /usr/bin/dmesg", "sudo -n -- /usr/bin/rdma -j res show qp"],
        "what sudo ran, as it was run"
    );
    lab_assert_eq!(by_sudo.value("guest", "privileged"), "false", "the login itself is as it was");
    lab_assert_eq!(plain.state("guest", "kernel-log"), "needs-privilege", "without it they are told to need privilege");
    let claim = plain.state("guest", "foreign-queue-pairs");
    lab_assert_eq!(claim, "needs-privilege", "and so are the queue pairs of others");
    lab_assert_eq!(logged(), ["/usr/bin/dmesg", "/usr/bin/rdma -j res show qp"], "sudo's own log agrees: nothing else");

    lab.one.run("rm /root/sudo.log; sed -i 's:, /usr/bin/dmesg::' /etc/sudoers.d/lab");
    let snapshot = take("by-sudo");
    let by_sudo = snapshot.target("by-sudo");
    lab_assert_eq!(owner(by_sudo).as_deref(), Some("ibv_rc_pingpong"), "one is still allowed");
    lab_assert_eq!(by_sudo.state("guest", "kernel-log"), "needs-privilege", "the other one's own answer is there");
    lab_assert_eq!(by_sudo.state("guest", "read-by-root"), "needs-privilege", "the refusal is told");
    let why = by_sudo.field("facts").to_string();
    let line = "lab ALL=(root) NOPASSWD: /usr/bin/dmesg \\\"\\\", /usr/bin/rdma -j res show qp";
    lab_assert!(why.contains(line) && why.contains("sudo: a password is required"), "with the line to add");
    lab_assert_eq!(logged(), ["/usr/bin/dmesg", "/usr/bin/rdma -j res show qp"], "each was tried once");

    drop(rule);
}

#[test]
fn the_owner_of_a_hidden_process_is_not_guessed() {
    let Some(lab) = Lab::enter("the_owner_of_a_hidden_process_is_not_guessed") else { return };
    let _hidden = lab.one.change("mount -o remount,hidepid=2 /proc", "mount -o remount,hidepid=0 /proc");
    let of_root = lab.one.start("ibv_rc_pingpong -d rxe0 -g 1 -p 19001");
    lab.one.wait_until("a queue pair", "rdma res show qp", START, |text| text.contains("pingpong"));
    let theirs = lab.one_unprivileged().queue_pairs();
    let config = lab.config.to_str().expect("a path of text");
    let snapshot = Snapshot::take(&["--ssh-config", config, "softroce1-lab"]);
    let ours = snapshot.target("softroce1-lab").entities("queue-pair");
    lab_assert_eq!(ours.len(), theirs.len(), "the same queue pairs");
    for pair in theirs.values().filter(|pair| pair.process == Some(of_root.process)) {
        lab_assert_eq!(pair.owner, "", "the user's own tool does not know the name");
        let facts = ours[pair.name.as_str()];
        lab_assert_eq!(known(facts, "owner-command"), "", "nor does the snapshot");
        lab_assert!(known(facts, "owner-process") == of_root.process.to_string(), "the number is known");
    }
}
