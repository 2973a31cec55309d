//! Tests that the answers of the switches are read by the program's own parsers, that every trouble shows at one port and
//! nowhere else, and that the two ends of the cable feel it.

use std::collections::BTreeMap;

use super::*;
use crate::collect::rounds::{Sequence, saved_report};
use crate::fabric::{Attribute, Entity, EntityId, Fabric, Outcome, TargetId, Timestamp};
use crate::lab::guest::Centre;
use crate::lab::guest::clock::Clock;
use crate::lab::host::hosts_and_cables;
use crate::probe::dialect::sections::Section;
use crate::probe::dialect::switch as dialect;

/// Hosts, switches and guests by a clock that stands.
pub(super) struct Site {
    clock: Clock,
    pub switches: Vec<Arc<dyn Machine>>,
    pub guests: Vec<Arc<dyn Machine>>,
    pub hosts: Vec<Arc<dyn Machine>>,
}

impl Site {
    pub fn new(seed: u64) -> Self {
        let clock = Clock::standing();
        let Centre { machines, pvrdma, passed_through } = Centre::new(seed, &clock);
        let (hosts, cables) = hosts_and_cables(seed, pvrdma, &clock, false);
        Self { switches: switches(seed, &cables, &passed_through), guests: machines, hosts, clock }
    }

    pub fn at(&self, seconds: u64) {
        self.clock.set(Duration::from_secs(seconds));
    }

    /// Everything that the own probes see of a switch.
    fn seen(&self, index: usize) -> Seen {
        let machine = &self.switches[index];
        let Kind::Switch(system) = machine.kind() else { panic!("a switch") };
        let (target, sequence, mut fabric) = (TargetId::new(machine.name()), Sequence::default(), Fabric::default());
        for probe in system.probes() {
            let parts = probe.sources.iter().enumerate().map(|(place, source)| {
                let line = dialect::command(system, &source.read).expect("a command line");
                let answer = machine.command_line(&line).expect("a command line of its own");
                let outcome = Outcome::Exit(i32::try_from(answer.status).expect("small"));
                let outcome = dialect::settled(outcome, answer.stdout.as_bytes(), b"");
                assert_eq!(outcome, Outcome::Exit(0), "{line}: {}", answer.stdout);
                let stdout = answer.stdout.into_bytes();
                let section =
                    Section { index: place, outcome, duration: None, stdout, stderr: vec![], cut: 0, command: None };
                (*source, section)
            });
            fabric.apply(&saved_report(&target, &sequence, probe, parts.collect(), Timestamp::UNIX_EPOCH));
        }
        Seen { fabric, target }
    }

    fn guest(&self, name: &str, path: &str) -> String {
        let login = Login { user: "root".to_owned(), is_root: true };
        let guest = self.guests.iter().find(|machine| machine.name() == name).expect("a guest");
        String::from_utf8(guest.read(path, &login).expect("a file")).expect("text").trim().to_owned()
    }
}

struct Seen {
    fabric: Fabric,
    target: TargetId,
}

/// The attributes of a port that the troubles change.
const SETTINGS: [Attribute; 6] = [
    Attribute::Mtu,
    Attribute::PfcEnabled,
    Attribute::PfcPriorities,
    Attribute::EcnEnabled,
    Attribute::AllowedVlans,
    Attribute::OperationalState,
];

impl Seen {
    fn shown(&self, entity: &Entity, attribute: Attribute) -> String {
        let id = EntityId::new(&self.target, entity.clone());
        match self.fabric.reading(&id, attribute).map(|reading| &reading.state) {
            None => "absent".to_owned(),
            Some(state) => state.known().map_or_else(|| format!("<{}>", state.name()), ToString::to_string),
        }
    }

    fn ports(&self) -> Vec<Entity> {
        let all = self.fabric.entities(&self.target).filter(|entity| matches!(entity, Entity::SwitchInterface(_)));
        all.cloned().collect()
    }

    /// The port behind which this address is heard.
    fn port_of(&self, neighbour: &str) -> Entity {
        let is = |port: &Entity| self.shown(port, Attribute::NeighbourPort) == neighbour;
        self.ports().into_iter().find(is).unwrap_or_else(|| panic!("nobody hears {neighbour}"))
    }

    fn settings(&self) -> BTreeMap<(Entity, String), String> {
        // NX-OS tells of the whole switch what it sets for all ports.
        let all = self.ports().into_iter().chain([Entity::Switch]).flat_map(|port| {
            SETTINGS.map(|attribute| ((port.clone(), format!("{attribute:?}")), self.shown(&port, attribute)))
        });
        all.collect()
    }

    fn count(&self, port: &Entity, labels: &[&str]) -> u64 {
        let value = |label: &&str| {
            let counter = Entity::Counter { of: port.name().as_str().into(), name: (**label).into() };
            self.shown(&counter, Attribute::CounterValue).parse::<u64>().ok()
        };
        labels.iter().find_map(value).unwrap_or_else(|| panic!("none of {labels:?} at {port}"))
    }
}

const UPLINKS: [&str; 2] = ["0c42.a17c.2010", "0c42.a17c.2110"];
const HCAS: [&str; 2] = ["0c42.a17c.1e58", "0c42.a17c.1d30"];

#[test]
fn a_healthy_switch_suits_its_host_and_its_twin() {
    for seed in 0..10 {
        let site = Site::new(seed);
        for (index, (jumbo, uplink)) in [("9214", UPLINKS[0]), ("9216", UPLINKS[1])].into_iter().enumerate() {
            let seen = site.seen(index);
            let far = if index == 0 { "Ethernet1/49" } else { "Ethernet31/1" };
            for neighbour in [uplink, HCAS[index], far] {
                let port = seen.port_of(neighbour);
                let is = |attribute| seen.shown(&port, attribute);
                assert_eq!(is(Attribute::OperationalState), "up", "{port}");
                assert_eq!(is(Attribute::Mtu), jumbo, "{port}");
                assert_eq!(is(Attribute::Speed), "100000000000", "{port}");
                assert_eq!(is(Attribute::PfcEnabled), "yes", "{port}");
                assert_eq!(is(Attribute::PfcPriorities), "3", "{port}");
                assert_eq!((is(Attribute::PauseRx), is(Attribute::PauseTx)), ("no".into(), "no".into()), "{port}");
            }
            let port = seen.port_of(uplink);
            assert_eq!(seen.shown(&port, Attribute::NeighbourName), ["esx01", "esx02"][index]);
            assert_eq!(seen.shown(&port, Attribute::NeighbourChassis), "vmnic2");
            assert_eq!(
                seen.shown(&port, Attribute::NeighbourPortDescription),
                "port 0 on dvSwitch dvs-rdma (etherswitch)"
            );
            assert_eq!(seen.shown(&port, Attribute::AllowedVlans), "1, 100, 200");
            let own = seen.port_of(HCAS[index]);
            assert_eq!(seen.shown(&own, Attribute::PortMode), "access");
            assert_eq!(seen.shown(&own, Attribute::UntaggedVlan), "100");
            let name =
                [("leaf1", "DCS-7060CX2-32S-F", "4.31.2F"), ("leaf2", "Nexus9000 C93180YC-FX3", "10.3(4a)")][index];
            assert_eq!(seen.shown(&Entity::Switch, Attribute::Hostname), name.0);
            assert!(seen.shown(&Entity::Switch, Attribute::SwitchModel).contains(name.1));
            assert_eq!(seen.shown(&Entity::Switch, Attribute::SwitchVersion), name.2);
            assert_eq!(
                seen.ports().len(),
                6,
                "two of the host, one of a guest, one unused, one between, one of management"
            );
        }
        let marks: Vec<bool> = (0..2)
            .map(|index| {
                site.seen(index).settings().into_iter().any(|((_, what), is)| what == "EcnEnabled" && is == "no")
            })
            .collect();
        assert_eq!(marks, [false, false]);
    }
}

#[test]
fn each_trouble_shows_where_it_strikes_and_ends_without_a_trace() {
    use SwitchTrouble::*;
    let expected: &[(SwitchTrouble, &[(&str, &str)])] = &[
        (PfcOff, &[("PfcEnabled", "no"), ("PfcPriorities", "<empty>")]),
        (OtherPriority, &[("PfcPriorities", "4")]),
        (EcnOff, &[("EcnEnabled", "no")]),
        (SmallMtu, &[("Mtu", "1500")]),
        (NoVlan, &[("AllowedVlans", "1, 200")]),
        (Errors, &[]),
    ];
    for seed in 0..3 {
        for (index, uplink) in UPLINKS.iter().enumerate() {
            for (trouble, changes) in expected {
                let site = Site::new(seed);
                let before = site.seen(index);
                let port = before.port_of(uplink);
                site.switches[index].suffer(Trouble::Switch(*trouble), true);
                let during = site.seen(index).settings();
                let mut is_seen = false;
                for (key, value) in before.settings() {
                    let changed = changes.iter().find(|(what, _)| *what == key.1).map(|(_, now)| *now);
                    let now = during[&key].as_str();
                    // What NX-OS sets for all ports changes at all that have it.
                    let is_of_all = index == 1 && matches!(trouble, OtherPriority | EcnOff);
                    match changed {
                        Some(changed) if is_of_all => {
                            assert!(now == changed || now == value, "{trouble:?} {key:?} {now}");
                            is_seen |= now == changed && now != value;
                        }
                        Some(changed) if key.0 == port => {
                            assert_eq!(now, changed, "{trouble:?} {key:?}");
                            is_seen = true;
                        }
                        _ => assert_eq!(now, value, "{trouble:?} {key:?}"),
                    }
                }
                assert_eq!(is_seen, !changes.is_empty(), "{trouble:?}");
                site.switches[index].suffer(Trouble::Switch(*trouble), false);
                assert_eq!(site.seen(index).settings(), before.settings(), "{trouble:?}");
            }
        }
    }
}

#[test]
fn counters_follow_the_traffic_of_hosts_and_guests() {
    let site = Site::new(3);
    for index in 0..2 {
        let octets = |neighbour: &str| {
            let seen = site.seen(index);
            let port = seen.port_of(neighbour);
            seen.count(&port, &["inOctets", "input bytes"])
        };
        for neighbour in [UPLINKS[index], HCAS[index]] {
            site.at(5 + 40 * index as u64);
            let before = octets(neighbour);
            site.at(25 + 40 * index as u64);
            let moved = octets(neighbour) - before;
            assert!(moved > 20_000_000, "{neighbour}: {moved}");
        }
    }
}

#[test]
fn both_ends_feel_what_a_port_does_to_them() {
    let sent = "/sys/class/net/ens192/statistics/tx_bytes";
    let rate = |trouble: Option<SwitchTrouble>, index: usize| {
        let site = Site::new(4);
        site.at(5);
        if let Some(trouble) = trouble {
            site.switches[index].suffer(Trouble::Switch(trouble), true);
        }
        let before: u64 = site.guest("pv-a", sent).parse().expect("a number");
        site.at(25);
        assert_eq!(site.guest("pv-a", "/sys/class/infiniband/rocep11s0f1/ports/1/state"), "4: ACTIVE");
        site.guest("pv-a", sent).parse::<u64>().expect("a number") - before
    };
    let usual = rate(None, 0);
    assert!(usual > 1_000_000);
    for index in 0..2 {
        for (trouble, left) in [
            (SwitchTrouble::NoVlan, 0.0),
            (SwitchTrouble::SmallMtu, 0.0),
            (SwitchTrouble::PfcOff, 1.0),
            (SwitchTrouble::OtherPriority, 1.0),
            (SwitchTrouble::EcnOff, 1.0),
        ] {
            let expected = usual as f64 * left;
            assert!((rate(Some(trouble), index) as f64 - expected).abs() <= 2.0, "{trouble:?} at {index}");
        }
    }
}

#[test]
fn a_garbled_cable_counts_at_its_port_and_costs_throughput() {
    for index in 0..2 {
        let site = Site::new(7);
        let sent = |site: &Site| {
            site.guest("pv-b", "/sys/class/net/ens192/statistics/tx_bytes").parse::<f64>().expect("a number")
        };
        site.at(5);
        let sound = Site::new(7);
        sound.at(5);
        site.switches[index].suffer(Trouble::Switch(SwitchTrouble::Errors), true);
        let before = sent(&site);
        site.at(65);
        sound.at(65);
        let share = (sent(&site) - before) / (sent(&sound) - before);
        assert!((0.7..0.9).contains(&share), "{share}");
        let errors = |seen: &Seen, neighbour| seen.count(&seen.port_of(neighbour), &["totalInErrors", "input error"]);
        let now = site.seen(index);
        assert!(errors(&now, UPLINKS[index]) > 300);
        assert_eq!(errors(&now, HCAS[index]), 0);
        assert_eq!(errors(&site.seen(1 - index), UPLINKS[1 - index]), 0);
        site.switches[index].suffer(Trouble::Switch(SwitchTrouble::Errors), false);
        let stopped = errors(&site.seen(index), UPLINKS[index]);
        site.at(95);
        assert_eq!(errors(&site.seen(index), UPLINKS[index]), stopped, "they rise no longer, and stay");
    }
}

#[test]
fn what_happens_at_a_host_shows_at_its_port() {
    let site = Site::new(5);
    let up = |seen: &Seen, name: &str| {
        let port = seen.ports().into_iter().find(|port| seen.shown(port, Attribute::PortDescription) == name);
        seen.shown(&port.expect("described"), Attribute::OperationalState)
    };
    assert_eq!(up(&site.seen(0), "esx01 vmnic2"), "up");
    assert!(up(&site.seen(0), "esx01 vmnic3").starts_with("down"));
    site.hosts[0].suffer(Trouble::LinkDown, true);
    assert!(up(&site.seen(0), "esx01 vmnic2").starts_with("down"));
    assert!(site.seen(0).ports().iter().all(|port| site.seen(0).shown(port, Attribute::NeighbourName) != "esx01"));
    site.hosts[0].suffer(Trouble::LinkDown, false);
    site.hosts[0].suffer(Trouble::Host(crate::lab::machine::HostTrouble::TwoUplinks), true);
    assert_eq!(up(&site.seen(0), "esx01 vmnic3"), "up");
}

#[test]
fn what_no_switch_understands_is_refused_as_it_refuses() {
    let site = Site::new(6);
    let said = |index: usize, line: &str| site.switches[index].command_line(line).expect("a command line").stdout;
    for line in ["uname -s", "/bin/sh -s", "show foo", "show version | bash", "reload", "configure terminal"] {
        assert!(said(0, line).starts_with("% Invalid input"), "{line}: {}", said(0, line));
        let second = said(1, line);
        assert!(
            second.contains("Syntax error while parsing") || second.contains("% Invalid command"),
            "{line}: {second}"
        );
        for index in 0..2 {
            assert!(dialect::complaint(said(index, line).as_bytes(), b"").is_some(), "{line}");
        }
    }
    let port = site.seen(1).port_of(UPLINKS[1]).name();
    let one = said(1, &format!("show interface {port}"));
    assert!(one.starts_with(&format!("{port} is up")) && one.matches(" is up\n").count() == 1, "{one}");
    let short = port.replace("Ethernet", "ethernet ");
    assert_eq!(said(1, &format!("show interface {short} ; show interface {short}")), one.repeat(2));
}
