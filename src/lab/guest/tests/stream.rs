//! The one-second sampler over a machine: lines as a shell with our block would print them, read by our own parser; and
//! what the counters have to obey.

use super::{Lab, file, number, out, root};
use crate::fabric::counter::Role;
use crate::fabric::{Attribute, Entity, State, TargetId, Text, Timestamp};
use crate::lab::machine::{Login, Machine};
use crate::probe::linux::stream::native::{
    HeaderFacts, Netdev, carrier_glob, header_lines, queue_pair_lines, tick_line, wanted_globs, watch,
};
use crate::probe::linux::stream::{StreamEvent, StreamParser, Tick};

const NONCE: &str = "n0nce";

/// A stream over a machine.
struct Stream<'a> {
    machine: &'a dyn Machine,
    parser: StreamParser,
    files: Vec<String>,
}

fn text(machine: &dyn Machine, path: &str, login: &Login) -> Option<String> {
    match machine.read(path, login) {
        Ok(bytes) => Some(String::from_utf8(bytes).expect("text")),
        Err(crate::lab::machine::NotRead::Invalid) => Some(String::new()),
        Err(_) => None,
    }
}

impl<'a> Stream<'a> {
    fn open(machine: &'a dyn Machine) -> Self {
        let carriers: Vec<String> =
            machine.expand(carrier_glob()).iter().filter_map(|path| text(machine, path, &root())).collect();
        let netdevs: Vec<Netdev> = machine
            .expand("/sys/class/net/*")
            .iter()
            .map(|path| {
                let name = path.rsplit('/').next().expect("a name").to_owned();
                Netdev {
                    has_device: !machine.expand(&format!("{path}/device")).is_empty(),
                    carries_rdma: carriers.iter().any(|carrier| carrier.trim() == name),
                    name,
                    ..Netdev::default()
                }
            })
            .collect();
        let ports: Vec<String> = wanted_globs().iter().flat_map(|pattern| machine.expand(pattern)).collect();
        let (files, left_out) = watch(&ports, &netdevs);
        assert_eq!(left_out, 0);
        let mut stream = Self { machine, parser: StreamParser::new(&TargetId::new(machine.name()), NONCE), files };
        stream.header();
        stream
    }

    fn header(&mut self) {
        let drivers: Vec<(String, String)> = self
            .machine
            .expand("/sys/class/infiniband/*")
            .iter()
            .filter_map(|path| {
                let target = self.machine.link(&format!("{path}/device/driver"))?;
                Some((path.rsplit('/').next()?.to_owned(), target.rsplit('/').next()?.to_owned()))
            })
            .collect();
        let status = file(self.machine, "/proc/self/status");
        let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("capabilities").trim();
        let facts = HeaderFacts {
            drivers: &drivers,
            boot_id: &file(self.machine, "/proc/sys/kernel/random/boot_id"),
            uptime: &self.uptime(),
            wall_clock_ms: 1_795_996_800_000,
            capabilities,
            left_out: 0,
        };
        let at = Timestamp::UNIX_EPOCH;
        let events: Vec<_> =
            header_lines(NONCE, &self.files, &facts).iter().filter_map(|line| self.parser.line(line, at)).collect();
        assert!(matches!(events[..], [StreamEvent::Ready { .. }]), "{events:?}");
    }

    fn uptime(&self) -> String {
        file(self.machine, "/proc/uptime").split(' ').next().expect("a number").to_owned()
    }

    fn tick(&mut self, number: u64) -> Tick {
        let values: Vec<Option<String>> = self.files.iter().map(|path| text(self.machine, path, &root())).collect();
        match self.parser.line(&tick_line(NONCE, number, &self.uptime(), &values), Timestamp::UNIX_EPOCH) {
            Some(StreamEvent::Tick(tick)) => tick,
            other => panic!("{other:?}"),
        }
    }

    fn value(tick: &Tick, entity: &Entity, role: Role) -> Option<u64> {
        tick.counters
            .iter()
            .find(|counter| counter.entity == *entity && counter.role == Some(role))
            .map(|counter| counter.raw * counter.scale)
    }
}

fn port(lab: &Lab, name: &str) -> Entity {
    let path = lab.machine(name).expand("/sys/class/infiniband/*").swap_remove(0);
    Entity::port(path.rsplit('/').next().expect("a name"), 1)
}

#[test]
fn ticks_of_every_machine_are_understood() {
    let lab = Lab::new(21);
    lab.at(20);
    for machine in &lab.machines {
        let mut stream = Stream::open(&**machine);
        let tick = stream.tick(1);
        assert_eq!((tick.vanished, stream.parser.strangers()), (0, 0), "{}", machine.name());
        assert_eq!(tick.uptime_centiseconds, uptime_hundredths(&stream.uptime()));
        let states: Vec<_> = tick.facts.iter().filter(|fact| fact.attribute == Attribute::PortState).collect();
        assert_eq!(states.len(), 1);
        let is_pvrdma = machine.name().starts_with("pv");
        let counts = tick.counters.iter().any(|counter| matches!(counter.entity, Entity::RdmaPort { .. }));
        assert_eq!(counts, !is_pvrdma, "{}", machine.name());
        let answer = out(&**machine, "rdma -j res show qp", &root());
        let events: Vec<_> = queue_pair_lines(NONCE, 1, None, &answer, "", 0)
            .iter()
            .filter_map(|line| stream.parser.line(line, Timestamp::UNIX_EPOCH))
            .collect();
        assert!(
            matches!(&events[..], [StreamEvent::QueuePairs { report, .. }] if report.facts.len() > 10),
            "{events:?}"
        );
    }
}

fn uptime_hundredths(text: &str) -> u64 {
    let (whole, parts) = text.split_once('.').expect("a fraction");
    whole.parse::<u64>().expect("seconds") * 100 + parts.parse::<u64>().expect("hundredths")
}

#[test]
fn counters_never_go_back_and_keep_below_the_link() {
    let lab = Lab::new(21);
    for (name, bits, mtu) in [("hca-a", 100e9, 4096 + 58), ("hca-b", 100e9, 4096 + 58), ("vf-a", 25e9, 4096 + 58)] {
        let mut stream = Stream::open(lab.at(0).machine(name));
        let entity = port(&lab, name);
        let mut last: Option<Tick> = None;
        let mut peak = 0.0_f64;
        for seconds in 0..300 {
            lab.at(seconds);
            let tick = stream.tick(seconds + 1);
            if let Some(last) = &last {
                let grown = |role| {
                    Stream::value(&tick, &entity, role).expect("a counter")
                        - Stream::value(last, &entity, role).expect("a counter")
                };
                for counter in &tick.counters {
                    let before = last
                        .counters
                        .iter()
                        .find(|other| other.entity == counter.entity && other.name == counter.name)
                        .expect("the same counters");
                    assert!(counter.raw >= before.raw, "{} at {seconds}", counter.name);
                }
                let octets = grown(Role::TransmitBytes);
                let packets = grown(Role::TransmitPackets);
                peak = peak.max(octets as f64 * 8.0);
                assert!(octets <= (packets + 2) * mtu, "{name} at {seconds}: {octets} octets in {packets} packets");
                assert!(octets + 8000 >= packets * 1000, "{name} at {seconds}: {octets} octets in {packets} packets");
            }
            last = Some(tick);
        }
        assert!(peak < bits && peak > 0.4 * bits, "{name}: {peak}");
    }
}

#[test]
fn what_one_end_sends_the_other_one_receives() {
    let lab = Lab::new(21);
    let octets = |name: &str, file: &str| {
        let path = lab.machine(name).expand(&format!("/sys/class/infiniband/*/ports/1/counters/{file}")).swap_remove(0);
        number(lab.machine(name), &path)
    };
    let differences = |one: (&str, &str), other: (&str, &str), from: u64, to: u64| {
        lab.at(from);
        let before = (octets(one.0, one.1), octets(other.0, other.1));
        lab.at(to);
        (octets(one.0, one.1) - before.0, octets(other.0, other.1) - before.1)
    };
    for (from, to) in [(3, 4), (10, 60), (100, 1000)] {
        for (one, other) in [("hca-a", "hca-b"), ("hca-b", "hca-a")] {
            let (sent, received) = differences((one, "port_xmit_data"), (other, "port_rcv_data"), from, to);
            assert!(sent.abs_diff(received) <= 1, "{one} to {other}: {sent} {received}");
        }
    }
    // What PVRDMA carries is counted nowhere; the interfaces of the pair count their own traffic.
    let bytes = |name: &str, file: &str| number(lab.machine(name), &format!("/sys/class/net/ens192/statistics/{file}"));
    lab.at(30);
    let before = (bytes("pv-a", "tx_bytes"), bytes("pv-b", "rx_bytes"));
    lab.at(90);
    let (sent, received) = (bytes("pv-a", "tx_bytes") - before.0, bytes("pv-b", "rx_bytes") - before.1);
    assert!(sent > 1_000_000_000 && sent.abs_diff(received) <= 1, "{sent} {received}");
}

#[test]
fn all_tools_tell_the_same_counters() {
    let lab = Lab::new(21);
    lab.at(77);
    let machine = lab.machine("hca-a");
    let statistic: Vec<serde_json::Value> =
        serde_json::from_str(&out(machine, "rdma -j statistic", &root())).expect("JSON");
    for (name, value) in statistic[0].as_object().expect("an object") {
        if let Some(value) = value.as_u64().filter(|_| name != "port") {
            assert_eq!(
                value,
                number(machine, &format!("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/{name}")),
                "{name}"
            );
        }
    }
    let ethtool = out(machine, "ethtool -S ens224np0", &root());
    let octets: u64 = ethtool
        .lines()
        .find_map(|line| line.trim().strip_prefix("tx_vport_rdma_unicast_bytes: "))
        .expect("the counter")
        .parse()
        .expect("a number");
    assert_eq!(octets / 4, number(machine, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"));
    for name in ["pv-a", "hca-a"] {
        let machine = lab.machine(name);
        let interface = if name == "pv-a" { "ens192" } else { "ens224np0" };
        let ip: Vec<serde_json::Value> =
            serde_json::from_str(&out(machine, &format!("ip -j -s link show {interface}"), &root())).expect("JSON");
        for (direction, key) in [("rx", "bytes"), ("tx", "packets")] {
            let path = format!("/sys/class/net/{interface}/statistics/{direction}_{key}");
            assert_eq!(ip[0]["stats64"][direction][key].as_u64(), Some(number(machine, &path)), "{path}");
        }
    }
    let pvrdma = out(lab.machine("pv-a"), "ethtool -S ens192", &root());
    let sum: u64 = ["ucast bytes tx: ", "mcast bytes tx: "]
        .iter()
        .map(|name| {
            pvrdma
                .lines()
                .find_map(|line| line.trim().strip_prefix(name))
                .expect("a line")
                .parse::<u64>()
                .expect("a number")
        })
        .sum();
    assert_eq!(sum, number(lab.machine("pv-a"), "/sys/class/net/ens192/statistics/tx_bytes"));
}

#[test]
fn a_link_that_is_down_shows_in_the_stream() {
    let lab = Lab::new(21);
    lab.at(20);
    let machine = lab.machine("hca-a");
    let mut stream = Stream::open(machine);
    machine.suffer(crate::lab::machine::Trouble::LinkDown, true);
    let (one, two) = (stream.tick(1), {
        lab.at(25);
        stream.tick(2)
    });
    let entity = port(&lab, "hca-a");
    assert_eq!(Stream::value(&one, &entity, Role::TransmitBytes), Stream::value(&two, &entity, Role::TransmitBytes));
    let carrier = two
        .facts
        .iter()
        .find(|fact| fact.entity == Entity::Netdev(Text::new("ens224np0")) && fact.attribute == Attribute::Carrier)
        .expect("a carrier");
    assert_eq!(carrier.reading.state, State::Known(false.into()));
}
