//! What it costs to join everything anew: 64 hosts with 40 VMs each, every VM with a PVRDMA adapter and a GPU, and a guest in
//! every tenth. Less than 50 ms is the goal.

use rdmascope::diagnose::join::join;
use rdmascope::fabric::{Attribute as A, Entity, Fabric, Fact, Observation, Report, TargetId, Text, Value};

const HOSTS: usize = 64;
const VMS: usize = 40;

fn main() {
    divan::main();
}

fn report(target: &str, facts: Vec<(Entity, A, Value)>) -> Report {
    let mut observation = Observation::of_text("bench", "");
    observation.target = TargetId::new(target);
    let facts: Vec<Fact> =
        facts.into_iter().map(|(entity, attribute, value)| observation.known(entity, attribute, value, 0)).collect();
    Report { target: TargetId::new(target), probe: observation.source.clone(), facts, observations: Vec::new() }
}

fn text(text: &str) -> Value {
    Value::from(text)
}

fn uuid(host: usize, vm: usize) -> String {
    format!("564d0000-0000-0000-{host:04x}-{vm:012x}")
}

fn mac(host: usize, vm: usize) -> String {
    format!("00:50:56:80:{host:02x}:{vm:02x}")
}

fn host(number: usize) -> Report {
    let mut facts = Vec::new();
    let switch = Entity::VirtualSwitch("dvs".into());
    facts.push((switch.clone(), A::SwitchKind, text("distributed")));
    facts.push((switch, A::Uplinks, Value::List(vec!["vmnic4".into(), "vmnic5".into()])));
    let port = |number: &str| Entity::SwitchPort { switch: "dvs".into(), port: number.into() };
    for (at, (alias, uplink)) in [("Uplink 1", "vmnic4"), ("Uplink 2", "vmnic5")].into_iter().enumerate() {
        facts.push((port(&at.to_string()), A::DeviceLabel, text(alias)));
        facts.push((port(&at.to_string()), A::PortClient, text(uplink)));
        facts.push((Entity::Uplink(uplink.into()), A::PciAddress, text(&format!("0000:3b:00.{at}"))));
        facts.push((Entity::PciFunction(Text::new(&format!("0000:3b:00.{at}"))), A::NumaNode, Value::Count(0)));
        facts.push((Entity::RdmaDevice(Text::new(&format!("vmrdma{at}"))), A::PairedUplink, text(uplink)));
    }
    for vm in 0..VMS {
        let name = Text::new(&uuid(number, vm));
        let of = Entity::Vm(name.clone());
        facts.push((of.clone(), A::VmName, text(&format!("vm-{number}-{vm}"))));
        facts.push((of, A::PowerState, text("poweredOn")));
        let adapter = Entity::VmDevice { vm: name.clone(), key: 4000 };
        facts.push((adapter.clone(), A::DeviceKind, text("PVRDMA adapter")));
        facts.push((adapter.clone(), A::HardwareAddress, text(&mac(number, vm))));
        facts.push((adapter.clone(), A::OnSwitch, text("dvs")));
        facts.push((adapter, A::PortId, text(&(100 + vm).to_string())));
        facts.push((port(&(100 + vm).to_string()), A::ActiveUplinks, Value::List(vec!["Uplink 2".into()])));
        let gpu = Entity::VmDevice { vm: name, key: 13000 };
        facts.push((gpu.clone(), A::DeviceKind, text("passthrough")));
        let address = format!("0000:{:02x}:00.0", 64 + vm);
        facts.push((gpu, A::BackingFunction, text(&address)));
        let function = Entity::PciFunction(Text::new(&address));
        facts.push((function.clone(), A::VendorId, text("10de")));
        facts.push((function.clone(), A::DeviceId, text("20f1")));
        facts.push((function, A::NumaNode, Value::Count(1)));
    }
    report(&format!("esx{number:02}"), facts)
}

fn guest(host: usize, vm: usize) -> Report {
    let netdev = Entity::Netdev("ens224".into());
    let function = Entity::PciFunction("0000:13:00.0".into());
    report(
        &format!("guest-{host}-{vm}"),
        vec![
            (Entity::Guest, A::BiosUuid, text(&uuid(host, vm))),
            (netdev.clone(), A::HardwareAddress, text(&mac(host, vm))),
            (netdev, A::PciAddress, text("0000:1b:00.0")),
            (Entity::RdmaDevice("rocep27s0f1".into()), A::PciAddress, text("0000:1b:00.1")),
            (function.clone(), A::VendorId, text("10de")),
            (function, A::DeviceId, text("20f1")),
        ],
    )
}

#[divan::bench]
fn sixty_four_hosts(bencher: divan::Bencher<'_, '_>) {
    let mut fabric = Fabric::default();
    let mut targets = Vec::new();
    let guests = (0..HOSTS).flat_map(|host| (0..VMS).step_by(10).map(move |vm| guest(host, vm)));
    for report in (0..HOSTS).map(host).chain(guests) {
        fabric.apply(&report);
        targets.push(report.target);
    }
    let joined = join(&fabric, &targets);
    assert_eq!(joined.chains.len(), HOSTS * VMS * 2);
    assert_eq!(joined.pairs.len(), HOSTS * VMS / 10);
    bencher.bench(|| join(&fabric, &targets));
}
