//! Tests that the guests feel what happens to their hosts, that nobody else does, and that hosts count what their guests
//! send.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::lab::guest::centre;

/// Both hosts and all guests by a clock that stands.
struct Centre {
    hosts: Vec<Arc<dyn Machine>>,
    guests: Vec<Arc<dyn Machine>>,
    clock: Clock,
}

impl Centre {
    fn new(seed: u64) -> Self {
        let clock = Clock::standing();
        let (guests, pvrdma) = centre(seed, &clock);
        Self { hosts: hosts_by(seed, pvrdma, &clock), guests, clock }
    }

    fn at(&self, seconds: u64) {
        self.clock.set(Duration::from_secs(seconds));
    }

    fn file(&self, guest: &str, path: &str) -> String {
        let login = Login { user: "root".to_owned(), is_root: true };
        let guest = self.guests.iter().find(|machine| machine.name() == guest).expect("a guest");
        String::from_utf8(guest.read(path, &login).expect("a file")).expect("text").trim().to_owned()
    }

    /// Octets that a guest has sent, as it counts them.
    fn sent(&self, guest: &str) -> u64 {
        let path = match guest {
            "pv-a" | "pv-b" => "/sys/class/net/ens192/statistics/tx_bytes",
            "vf-a" => "/sys/class/infiniband/rocep19s0/ports/1/counters/port_xmit_data",
            _ => "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
        };
        self.file(guest, path).parse().expect("a number")
    }

    /// Octets that a device of a host has sent.
    fn counted(&self, host: usize, words: &str) -> u64 {
        let login = Login { user: "root".to_owned(), is_root: true };
        let words: Vec<String> = words.split(' ').map(ToOwned::to_owned).collect();
        let text = self.hosts[host].run(&words, &login).stdout;
        let value = text.lines().find_map(|line| line.trim().strip_prefix("Bytes sent: "));
        value.unwrap_or_else(|| panic!("{text}")).parse().expect("a number")
    }
}

const RDMA: &str = "esxcli rdma device stats get -d vmrdma0";
const NIC: &str = "esxcli network nic stats get -n vmnic2";

/// What is left of the rate of the guests with PVRDMA while the first host suffers this.
const LEFT: &[(HostTrouble, f64)] = &[
    // Nothing gets through, and yet the ports stay ACTIVE.
    (HostTrouble::UplinkDown, 0.0),
    (HostTrouble::VlanMismatch, 0.0),
    (HostTrouble::HcaPassthrough, 0.0),
    // A host that does not qualify: TCP in silence.
    (HostTrouble::VmknicUntagged, 0.4),
    (HostTrouble::RulesetClosed, 0.4),
    (HostTrouble::TwoUplinks, 0.4),
    // Both VMs are on one host then, and what goes between them is copied in memory.
    (HostTrouble::VmMoved, 1.0),
    // What is only set differently, or waits, changes nothing now.
    (HostTrouble::CeeMode, 1.0),
    (HostTrouble::FirmwareOlder, 1.0),
    (HostTrouble::RebootPending, 1.0),
    (HostTrouble::HostdDead, 1.0),
];

#[test]
fn guests_feel_their_host_and_nobody_else_does() {
    for seed in 0..10 {
        for &(trouble, left) in LEFT {
            let (sound, ill) = (Centre::new(seed), Centre::new(seed));
            for centre in [&sound, &ill] {
                centre.at(5);
            }
            ill.hosts[0].suffer(Trouble::Host(trouble), true);
            let before: Vec<u64> = ["pv-a", "pv-b"].map(|guest| sound.sent(guest)).to_vec();
            assert_eq!(before, ["pv-a", "pv-b"].map(|guest| ill.sent(guest)), "nothing is lost of what was");
            for centre in [&sound, &ill] {
                centre.at(25);
            }
            for (guest, before) in ["pv-a", "pv-b"].iter().zip(&before) {
                let (usual, now) = (sound.sent(guest) - before, ill.sent(guest) - before);
                assert!(usual > 1_000_000, "seed {seed}: {guest} is busy");
                let expected = usual as f64 * left;
                assert!((now as f64 - expected).abs() <= 2.0, "seed {seed} {trouble:?}: {guest} {now} of {usual}");
                assert_eq!(ill.file(guest, "/sys/class/infiniband/rocep11s0f1/ports/1/state"), "4: ACTIVE");
            }
            for guest in ["hca-a", "hca-b", "vf-a"] {
                assert_eq!(ill.sent(guest), sound.sent(guest), "seed {seed} {trouble:?}: {guest} is on another path");
            }
            ill.hosts[0].suffer(Trouble::Host(trouble), false);
            let (usual, again) = (sound.sent("pv-a"), ill.sent("pv-a"));
            for centre in [&sound, &ill] {
                centre.at(40);
            }
            assert!((sound.sent("pv-a") - usual).abs_diff(ill.sent("pv-a") - again) <= 2, "{trouble:?} leaves nothing");
        }
    }
}

#[test]
fn a_host_counts_what_its_guests_send() {
    for seed in 0..10 {
        let centre = Centre::new(seed);
        let read = |host, guest| [centre.counted(host, RDMA), centre.counted(host, NIC), centre.sent(guest)];
        for (host, guest) in [(0, "pv-a"), (1, "pv-b")] {
            centre.at(5);
            let before = read(host, guest);
            centre.at(15);
            let now = read(host, guest);
            let [rdma, nic, own] = [0, 1, 2].map(|place| now[place] - before[place]);
            assert!(rdma.abs_diff(own * 4) <= 8, "seed {seed}: {rdma} of {own}");
            assert!(nic >= own && nic - own < 10 * 3_000_000, "seed {seed}: {nic} of {own}");
        }
        centre.at(15);
        centre.hosts[1].suffer(Trouble::Host(HostTrouble::VmknicUntagged), true);
        let before = read(0, "pv-a");
        centre.at(30);
        let now = read(0, "pv-a");
        let [rdma, nic, own] = [0, 1, 2].map(|place| now[place] - before[place]);
        assert_eq!(rdma, 0, "TCP is no RDMA, on the sound host neither");
        assert!(nic > own * 5 - 8, "its adapter carries all as TCP: {nic} of {own}");
    }
}

#[test]
fn who_cannot_reach_the_other_end_runs_out_of_retries() {
    let centre = Centre::new(7);
    let login = Login { user: "root".to_owned(), is_root: true };
    let pairs = |guest: usize| {
        let words = ["rdma", "resource", "show", "qp"].map(ToOwned::to_owned);
        centre.guests[guest].run(&words, &login).stdout
    };
    centre.at(10);
    assert!(!pairs(0).contains("ERR") && pairs(0).contains("RTS"), "{}", pairs(0));
    centre.hosts[1].suffer(Trouble::Host(HostTrouble::UplinkDown), true);
    centre.at(20);
    assert!(pairs(0).contains("ERR") && pairs(1).contains("ERR"), "{}", pairs(0));
    assert!(!pairs(2).contains("ERR"), "{}", pairs(2));
    centre.hosts[1].suffer(Trouble::Host(HostTrouble::UplinkDown), false);
    assert!(!pairs(0).contains("ERR"), "{}", pairs(0));
}
