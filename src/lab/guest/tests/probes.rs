//! The program's own probes over the machines: what each kind of machine must tell, and what it must not pretend to.

use super::reader::facts;
use super::{Lab, lab, root};
use crate::fabric::{Attribute, Entity, Fact, State, Text, Value};
use crate::lab::machine::{Login, Machine};
use crate::probe::linux::PROBES;

/// All that the probes find on a machine.
struct Found(Vec<Fact>);

impl Found {
    fn on(machine: &dyn Machine, login: &Login) -> Self {
        Self(PROBES.iter().flat_map(|probe| facts(machine, probe, login)).collect())
    }

    /// All states of a value: several probes may tell it.
    fn states(&self, entity: &Entity, attribute: Attribute) -> Vec<&State<Value>> {
        self.0
            .iter()
            .filter(|fact| fact.entity == *entity && fact.attribute == attribute)
            .map(|fact| &fact.reading.state)
            .collect()
    }

    /// A value that all who tell it agree on.
    fn known(&self, entity: &Entity, attribute: Attribute) -> String {
        let states = self.states(entity, attribute);
        let first = states
            .first()
            .and_then(|state| state.known())
            .unwrap_or_else(|| panic!("{entity:?} {attribute:?}: {states:?}"));
        for state in &states {
            assert_eq!(state.known().map(ToString::to_string), Some(first.to_string()), "{entity:?} {attribute:?}");
        }
        first.to_string()
    }

    fn guest(&self, attribute: Attribute) -> String {
        self.known(&Entity::Guest, attribute)
    }

    fn is_not_published(&self, entity: &Entity, attribute: Attribute) -> bool {
        let states = self.states(entity, attribute);
        !states.is_empty() && states.iter().all(|state| matches!(state, State::NotPublished(_)))
    }
}

fn device(name: &str) -> Entity {
    Entity::RdmaDevice(Text::new(name))
}

fn port(name: &str) -> Entity {
    Entity::port(name, 1)
}

fn netdev(name: &str) -> Entity {
    Entity::Netdev(Text::new(name))
}

fn function(address: &str) -> Entity {
    Entity::PciFunction(Text::new(address))
}

fn gid(name: &str, index: u32) -> Entity {
    Entity::Gid { device: Text::new(name), port: 1, index }
}

#[test]
fn nothing_that_a_probe_asks_of_root_fails() {
    let lab = Lab::new(11);
    lab.at(40);
    for machine in &lab.machines {
        for probe in PROBES {
            for fact in facts(&**machine, probe, &root()) {
                let state = &fact.reading.state;
                let wrong = matches!(state, State::Failed(_) | State::NeedsPrivilege(_) | State::NotInstalled(_));
                assert!(!wrong, "{} {}: {:?} {:?} {state:?}", machine.name(), probe.name, fact.entity, fact.attribute);
            }
        }
    }
}

#[test]
fn a_pvrdma_guest_is_recognised_and_counts_nothing() {
    let lab = Lab::new(5);
    lab.at(30);
    for (name, host) in [("pv-a", 11), ("pv-b", 12)] {
        let found = Found::on(lab.machine(name), &root());
        let (device, port) = (device("rocep11s0f1"), port("rocep11s0f1"));
        assert_eq!(found.guest(Attribute::RdmaPresence), "1 device, 1 port");
        assert_eq!(found.guest(Attribute::Hostname), name);
        assert_eq!(found.guest(Attribute::Virtualization), "vmware");
        assert_eq!(found.guest(Attribute::Privileged), "yes");
        assert_eq!(found.known(&device, Attribute::Driver), "vmw_pvrdma");
        assert_eq!(found.known(&device, Attribute::Firmware), "3.0.0");
        assert_eq!(found.known(&device, Attribute::PciAddress), "0000:0b:00.1");
        assert_eq!(found.known(&device, Attribute::SystemImageGuid), "0000:0000:0000:0000");
        assert_eq!(found.known(&port, Attribute::PortState), "ACTIVE");
        assert_eq!(found.known(&port, Attribute::PortNetdev), "ens192");
        assert!(matches!(found.states(&port, Attribute::Ceiling)[..], [State::NotObservable(_)]));
        for counters in [Attribute::ByteCounters, Attribute::PacketCounters, Attribute::ErrorCounters] {
            assert!(found.is_not_published(&port, counters), "{counters:?}: {:?}", found.states(&port, counters));
        }
        assert_eq!(found.known(&gid("rocep11s0f1", 1), Attribute::GidType), "RoCE v2");
        assert_eq!(found.known(&gid("rocep11s0f1", 1), Attribute::GidValue), format!("::ffff:192.168.100.{host}"));
        assert_eq!(found.known(&gid("rocep11s0f1", 1), Attribute::GidNetdev), "ens192");
        assert_eq!(found.known(&function("0000:0b:00.1"), Attribute::FunctionKind), "PVRDMA");
        assert_eq!(found.known(&function("0000:0b:00.1"), Attribute::PairedFunction), "0000:0b:00.0");
        assert_eq!(found.known(&netdev("ens192"), Attribute::Driver), "vmxnet3");
        assert_eq!(found.known(&netdev("ens192"), Attribute::PciAddress), "0000:0b:00.0");
        assert_eq!(found.known(&netdev("ens192"), Attribute::MtuPersistence), "9000 in /etc/network/interfaces");
        assert_eq!(found.known(&Entity::Module(Text::new("vmw_pvrdma")), Attribute::Version), "1.0.1.0-k");
        let messages: Vec<String> = found
            .0
            .iter()
            .filter(|fact| fact.attribute == Attribute::Message)
            .filter_map(|fact| Some(fact.reading.state.known()?.to_string()))
            .collect();
        assert!(messages.iter().any(|text| text == "vmw_pvrdma 0000:0b:00.1: paired device to ens192"), "{messages:?}");
    }
}

#[test]
fn a_passed_through_adapter_counts_and_tells_its_rate() {
    let lab = Lab::new(5);
    lab.at(30);
    let found = Found::on(lab.machine("hca-a"), &root());
    let (device, port) = (device("mlx5_0"), port("mlx5_0"));
    assert_eq!(found.known(&device, Attribute::Driver), "mlx5_core");
    assert_eq!(found.known(&device, Attribute::Firmware), "20.35.1012");
    assert_eq!(found.known(&device, Attribute::HardwareType), "MT4123");
    assert_eq!(found.known(&device, Attribute::NodeGuid), "0c42:a103:007c:1d30");
    assert_eq!(found.known(&device, Attribute::NodeDescription), "hca-a mlx5_0");
    for counters in [Attribute::ByteCounters, Attribute::PacketCounters, Attribute::ErrorCounters] {
        assert_eq!(found.known(&port, counters), "yes");
    }
    assert_eq!(found.states(&port, Attribute::Ceiling), [&State::Known(Value::Count(100_000_000_000))]);
    // Each address in both kinds of RoCE, the default one first.
    let types: Vec<String> = (0..4).map(|index| found.known(&gid("mlx5_0", index), Attribute::GidType)).collect();
    assert_eq!(types, ["IB/RoCE v1", "RoCE v2", "IB/RoCE v1", "RoCE v2"]);
    assert_eq!(found.known(&gid("mlx5_0", 3), Attribute::GidValue), "::ffff:192.168.100.21");
    assert_eq!(found.known(&gid("mlx5_0", 0), Attribute::GidValue), "fe80::e42:a1ff:fe7c:1d30");
    assert!(found.states(&gid("mlx5_0", 4), Attribute::GidValue).is_empty());
    assert_eq!(found.known(&function("0000:13:00.0"), Attribute::DeviceId), "101b");
    assert_eq!(found.known(&function("0000:13:00.0"), Attribute::LinkWidth), "16");
    assert_eq!(found.known(&function("0000:13:00.0"), Attribute::LinkSpeed), "8.0 GT/s PCIe");
    assert_eq!(found.known(&Entity::NumaNode(1), Attribute::NodeProcessors), "8-15");
    assert_eq!(found.states(&Entity::Guest, Attribute::MemlockSoft), [&State::Known(Value::Count(u64::MAX))]);
    assert_eq!(found.guest(Attribute::IrqBalance), "yes");
    assert_eq!(found.guest(Attribute::Balloon), "0");
    assert_eq!(found.known(&Entity::Package(Text::new("rdma-core")), Attribute::Version), "44.0-2");
    assert_eq!(found.known(&Entity::Variable(Text::new("UCX_NET_DEVICES")), Attribute::VariableValue), "mlx5_0:1");
    assert_eq!(
        found.known(&Entity::DeviceNode(Text::new("/dev/infiniband/uverbs0")), Attribute::DeviceNumber),
        "231:192"
    );
}

#[test]
fn a_virtual_function_is_one() {
    let lab = Lab::new(5);
    lab.at(30);
    let machine = lab.machine("vf-a");
    let found = Found::on(machine, &root());
    let address = function("0000:13:00.0");
    assert_eq!(found.known(&address, Attribute::DeviceId), "101c", "the number of the virtual function");
    assert_eq!(found.states(&address, Attribute::LinkWidth), [&State::NotAvailable]);
    assert_eq!(found.known(&device("rocep19s0"), Attribute::HardwareType), "MT4124");
    assert_eq!(found.known(&port("rocep19s0"), Attribute::ByteCounters), "yes");
    assert!(super::out(machine, "lspci -nn", &root()).contains("Virtual Function] [15b3:101c]"));
    assert!(machine.expand("/sys/class/infiniband/*/ports/1/hw_counters/np_cnp_sent").is_empty());
    assert!(!super::out(machine, "ethtool -S ens224", &root()).contains("_phy:"));
}

#[test]
fn queue_pairs_have_owners_and_strangers_do_not_see_them() {
    let lab = Lab::new(5);
    lab.at(30);
    for name in ["pv-a", "hca-b", "vf-a"] {
        let machine = lab.machine(name);
        let pairs = |login: &Login| -> Vec<Fact> {
            Found::on(machine, login)
                .0
                .into_iter()
                .filter(|fact| matches!(fact.entity, Entity::QueuePair { .. }))
                .collect()
        };
        let of = |facts: &[Fact], attribute| {
            facts
                .iter()
                .filter(|fact| fact.attribute == attribute)
                .filter_map(|fact| Some(fact.reading.state.known()?.to_string()))
                .collect::<Vec<_>>()
        };
        let all = pairs(&root());
        assert!(of(&all, Attribute::OwnerProcess).len() >= 4, "{all:?}");
        assert!(of(&all, Attribute::QueuePairState).iter().all(|state| state == "RTS"));
        let owner = of(&all, Attribute::OwnerProcess).swap_remove(0);
        let command = super::file(machine, &format!("/proc/{owner}/comm"));
        assert!(of(&all, Attribute::OwnerCommand).contains(&command.trim_end().to_owned()));
        let few = pairs(&lab_login());
        assert_eq!(of(&few, Attribute::OwnerCommand), ["[ib_core]"]);
        let hidden = Found::on(machine, &lab_login());
        assert!(matches!(hidden.states(&Entity::Guest, Attribute::ForeignQueuePairs)[..], [State::NeedsPrivilege(_)]));
        assert!(matches!(hidden.states(&Entity::Guest, Attribute::KernelLog)[..], [State::NeedsPrivilege(_)]));
        assert!(matches!(hidden.states(&Entity::Guest, Attribute::BiosUuid)[..], [State::NeedsPrivilege(_)]));
    }
}

fn lab_login() -> Login {
    lab()
}

#[test]
fn both_ends_of_a_path_know_each_other_by_number() {
    let lab = Lab::new(5);
    for seconds in [5, 60, 300, 850, 1700] {
        lab.at(seconds);
        let numbers = |name: &str, key: &str| -> Vec<u64> {
            let text = super::out(lab.machine(name), "rdma -j res show qp", &root());
            let list: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
            list.iter().filter(|pair| pair["type"] == "RC").filter_map(|pair| pair[key].as_u64()).collect()
        };
        assert_eq!(numbers("hca-a", "lqpn"), numbers("hca-b", "rqpn"), "at {seconds}");
        assert_eq!(numbers("hca-a", "rqpn"), numbers("hca-b", "lqpn"), "at {seconds}");
    }
}

#[test]
fn jobs_come_and_go() {
    let lab = Lab::new(5);
    let owners: std::collections::BTreeSet<String> = (0..180)
        .map(|step| {
            lab.at(step * 10);
            let text = super::out(lab.machine("hca-a"), "rdma -j res show qp", &root());
            let list: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
            let mut pids: Vec<String> =
                list.iter().filter_map(|pair| Some(pair["pid"].as_u64()?.to_string())).collect();
            pids.dedup();
            pids.join(",")
        })
        .collect();
    assert!(owners.contains(""), "now and then nothing runs");
    assert!(owners.len() > 8, "{owners:?}");
}
