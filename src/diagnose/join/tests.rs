use super::*;
use crate::fabric::{Fact, Observation, Report, Text};

/// Facts of one target by hand; values as probes give them.
fn report(target: &str, probe: &str, facts: Vec<(Entity, Attribute, Value)>) -> Report {
    let mut observation = Observation::of_text(probe, "");
    observation.target = TargetId::new(target);
    let facts: Vec<Fact> =
        facts.into_iter().map(|(entity, attribute, value)| observation.known(entity, attribute, value, 0)).collect();
    Report { target: TargetId::new(target), probe: observation.source.clone(), facts, observations: Vec::new() }
}

const UUID: &str = "564da9ac-1cee-5dd7-f1ae-a595f83d2a2d";
const VDS: &str = "50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81";

fn text(text: &str) -> Value {
    Value::from(text)
}

fn vm() -> Entity {
    Entity::Vm(Text::new(UUID))
}

fn device(key: u32) -> Entity {
    Entity::VmDevice { vm: Text::new(UUID), key }
}

fn function(name: &str) -> Entity {
    Entity::PciFunction(Text::new(name))
}

/// A host with one PVRDMA adapter and one passed-through GPU.
fn host() -> Vec<(Entity, Attribute, Value)> {
    use Attribute as A;
    let switch = Entity::VirtualSwitch("dvs-rdma".into());
    let port = Entity::SwitchPort { switch: "dvs-rdma".into(), port: "14".into() };
    let (uplink, rdma) = (Entity::Uplink("vmnic4".into()), Entity::RdmaDevice("vmrdma0".into()));
    vec![
        (vm(), A::VmName, text("hpc-a")),
        (vm(), A::PowerState, text("poweredOn")),
        (device(4001), A::DeviceKind, text("PVRDMA adapter")),
        (device(4001), A::HardwareAddress, text("00:50:56:80:00:01")),
        (device(4001), A::SwitchId, text(&VDS.to_uppercase())),
        (device(4001), A::PortId, text("14")),
        (device(4001), A::ConnectionId, text("123456789")),
        (device(13000), A::DeviceKind, text("passthrough")),
        (device(13000), A::BackingFunction, text("0000:af:00.0")),
        (function("0000:af:00.0"), A::VendorId, text("10de")),
        (function("0000:af:00.0"), A::DeviceId, text("20f1")),
        (function("0000:af:00.0"), A::NumaNode, Value::Count(1)),
        (switch.clone(), A::SwitchKind, text("distributed")),
        (switch.clone(), A::SwitchId, text(VDS)),
        (switch, A::Uplinks, Value::List(vec!["vmnic4".into()])),
        (port.clone(), A::PortClient, text("hpc-a.eth1")),
        (port, A::ConnectionId, text("123456789")),
        (uplink, A::PciAddress, text("0000:3b:00.0")),
        (rdma, A::PairedUplink, text("vmnic4")),
        (function("0000:3b:00.0"), A::NumaNode, Value::Count(0)),
    ]
}

fn guest() -> Vec<(Entity, Attribute, Value)> {
    use Attribute as A;
    let netdev = Entity::Netdev("ens224".into());
    vec![
        // The kernel prints the first three fields in the other byte order.
        (Entity::Guest, A::BiosUuid, text("aca94d56-ee1c-d75d-f1ae-a595f83d2a2d")),
        (netdev.clone(), A::HardwareAddress, Value::Mac("00:50:56:80:00:01".parse().expect("an address"))),
        (netdev, A::PciAddress, text("0000:1b:00.0")),
        (Entity::RdmaDevice("rocep27s0f1".into()), A::PciAddress, text("0000:1b:00.1")),
        (function("0000:1b:00.1"), A::PairedFunction, text("0000:1b:00.0")),
        (function("0000:1b:00.1"), A::VendorId, text("15ad")),
        (function("0000:1b:00.1"), A::DeviceId, text("0820")),
        (function("0000:13:00.0"), A::VendorId, text("10de")),
        (function("0000:13:00.0"), A::DeviceId, text("20f1")),
    ]
}

fn joined(reports: &[Report]) -> Joined {
    let mut fabric = Fabric::default();
    let mut targets: Vec<TargetId> = Vec::new();
    for report in reports {
        fabric.apply(report);
        if !targets.contains(&report.target) {
            targets.push(report.target.clone());
        }
    }
    join(&fabric, &targets)
}

fn both(host: Vec<(Entity, Attribute, Value)>) -> Joined {
    joined(&[report("esx01", "test.host", host), report("guest-a", "test.guest", guest())])
}

fn reasons(joined: &Joined) -> Vec<&str> {
    joined.gaps.iter().map(|gap| gap.why.as_str()).collect()
}

#[test]
fn a_guest_device_leads_to_the_wire_and_every_link_rests_on_facts() {
    let joined = both(host());
    assert_eq!(reasons(&joined), [""; 0]);
    assert!(joined.pairs[0].confirmed, "the UUID is the same in the other byte order");
    let chain = joined.chains.iter().find(|chain| chain.is_pvrdma()).expect("a chain");
    let way: Vec<String> = chain.links.iter().map(|link| link.to.entity.to_string()).collect();
    assert_eq!(
        way,
        [
            format!("vm-device {UUID}/4001"),
            format!("vm-device {UUID}/4001"),
            format!("vm {UUID}"),
            "switch-port dvs-rdma/14".to_owned(),
            "virtual-switch dvs-rdma".to_owned(),
            "uplink vmnic4".to_owned(),
            "rdma-device vmrdma0".to_owned(),
            "pci-function 0000:3b:00.0".to_owned(),
            "numa-node 0".to_owned(),
        ]
    );
    assert_eq!(chain.links[0].from.entity, Entity::RdmaDevice("rocep27s0f1".into()));
    assert!(joined.all_links().iter().all(|link| !link.rests_on.is_empty()));
    assert_eq!(chain.counters.as_ref().map(|id| id.entity.name()), Some("vmrdma0".to_owned()));
}

#[test]
fn a_gpu_of_a_guest_is_the_function_of_the_host() {
    let joined = both(host());
    let chain = joined.chains.iter().find(|chain| chain.kind == "passthrough").expect("a chain");
    assert_eq!(chain.links[0].from.entity, function("0000:13:00.0"));
    assert!(chain.reaches(|entity| *entity == function("0000:af:00.0")).is_some());
    assert!(chain.reaches(|entity| *entity == Entity::NumaNode(1)).is_some());
    // Two alike in the guest: nothing says which is which.
    let mut two = guest();
    two.push((function("0000:14:00.0"), Attribute::VendorId, text("10de")));
    two.push((function("0000:14:00.0"), Attribute::DeviceId, text("20f1")));
    let joined = self::joined(&[report("esx01", "test.host", host()), report("guest-a", "test.guest", two)]);
    assert!(reasons(&joined).iter().all(|why| why.contains("which is which is not observable")));
    assert_eq!(joined.gaps.len(), 2);
}

#[test]
fn of_two_uplinks_without_teaming_none_is_guessed_and_teaming_decides() {
    let two = || {
        let mut facts = host();
        facts.retain(|(_, attribute, _)| *attribute != Attribute::Uplinks);
        let both = Value::List(vec!["vmnic4".into(), "vmnic5".into()]);
        facts.push((Entity::VirtualSwitch("dvs-rdma".into()), Attribute::Uplinks, both));
        facts
    };
    let joined = both(two());
    assert_eq!(reasons(&joined), ["vmnic4, vmnic5: which of them carries this adapter is not observable from here"]);
    let mut teamed = two();
    let port = Entity::SwitchPort { switch: "dvs-rdma".into(), port: "14".into() };
    teamed.push((port, Attribute::ActiveUplinks, Value::List(vec!["vmnic4".into()])));
    let joined = both(teamed);
    assert_eq!(reasons(&joined), [""; 0]);
    let chain = joined.chains.iter().find(|chain| chain.is_pvrdma()).expect("a chain");
    let link = chain.links.iter().find(|link| link.kind == LinkKind::SwitchUplink).expect("an uplink");
    assert_eq!(link.rests_on[0].1, Attribute::ActiveUplinks);
}

#[test]
fn a_vm_on_two_hosts_is_taken_where_it_runs_and_that_is_said() {
    let mut old = host();
    for (_, attribute, value) in &mut old {
        if *attribute == Attribute::PowerState {
            *value = text("poweredOff");
        }
    }
    let joined = joined(&[
        report("esx01", "test.host", old),
        report("esx02", "test.host", host()),
        report("guest-a", "test.guest", guest()),
    ]);
    assert_eq!(reasons(&joined), ["hpc-a is registered on esx01 and esx02: it runs on esx02, so that one is taken"]);
    assert_eq!(joined.vm_of(&TargetId::new("guest-a")).map(|id| id.target.as_str()), Some("esx02"));
}

#[test]
fn a_copied_address_a_wrong_connection_and_a_missing_rdma_device_are_told() {
    let mut other = guest();
    other[0].2 = text("11111111-1cee-5dd7-f1ae-a595f83d2a2d");
    let joined = joined(&[report("esx01", "test.host", host()), report("guest-a", "test.guest", other)]);
    assert!(joined.pairs.is_empty());
    assert!(reasons(&joined)[0].contains("the BIOS UUIDs differ"), "{:?}", reasons(&joined));
    let mut moved = host();
    for (entity, attribute, value) in &mut moved {
        if *attribute == Attribute::ConnectionId && matches!(entity, Entity::SwitchPort { .. }) {
            *value = text("7");
        }
    }
    assert!(reasons(&both(moved))[0].contains("the adapter is not on it now"));
    let mut bare = host();
    bare.retain(|(_, attribute, _)| *attribute != Attribute::PairedUplink);
    assert_eq!(reasons(&both(bare)), ["no RDMA device of esx01 is paired with vmnic4"]);
}

#[test]
fn a_virtual_function_leads_to_its_uplink_whatever_the_base_of_its_address() {
    let mut facts = host();
    let vf = Entity::VirtualFunction { uplink: "vmnic5".into(), index: 1 };
    facts.push((device(13001), Attribute::DeviceKind, text("SR-IOV adapter")));
    facts.push((device(13001), Attribute::BackingFunction, text("0000:65:00.2")));
    facts.push((vf.clone(), Attribute::PciAddress, text("00000:101:00.2")));
    let joined = both(facts);
    let chain = joined.chains.iter().find(|chain| chain.kind == "SR-IOV adapter").expect("a chain");
    assert_eq!(chain.links.last().map(|link| link.to.entity.name()), Some("vmnic5".to_owned()));
    assert!(chain.reaches(|entity| *entity == vf).is_some());
}

#[test]
fn a_guest_without_hosts_has_no_gap_and_one_on_an_unknown_host_has() {
    assert_eq!(joined(&[report("guest-a", "test.guest", guest())]), Joined::default());
    let mut other = host();
    other.retain(|(entity, ..)| !matches!(entity, Entity::Vm(_) | Entity::VmDevice { .. }));
    other.push((Entity::Vm("11111111-2222-3333-4444-555555555555".into()), Attribute::VmName, text("other")));
    assert!(reasons(&both(other))[0].contains("no VM of the hosts that are read"));
}
