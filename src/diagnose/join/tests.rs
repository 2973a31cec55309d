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

/// A VM of that UUID with its own name, file, address and state.
fn copy(key: &str, name: &str, file: &str, mac: &str, power: &str) -> Vec<(Entity, Attribute, Value)> {
    let vm = Text::new(key);
    vec![
        (Entity::Vm(vm.clone()), Attribute::VmName, text(name)),
        (Entity::Vm(vm.clone()), Attribute::VmxPath, text(file)),
        (Entity::Vm(vm.clone()), Attribute::PowerState, text(power)),
        (Entity::VmDevice { vm: vm.clone(), key: 4000 }, Attribute::DeviceKind, text("vmxnet3 adapter")),
        (Entity::VmDevice { vm, key: 4000 }, Attribute::HardwareAddress, text(mac)),
    ]
}

fn vms_of(joined: &Joined) -> Vec<String> {
    let mut vms: Vec<String> = joined.chains.iter().map(|chain| chain.vm.to_string()).collect();
    vms.dedup();
    vms
}

#[test]
fn a_clone_that_kept_the_uuid_is_a_vm_of_its_own() {
    let one = copy(UUID, "a", "/vmfs/volumes/ds/a/a.vmx", "00:50:56:80:00:0a", "poweredOn");
    let other = copy(UUID, "b", "/vmfs/volumes/ds/b/b.vmx", "00:50:56:80:00:0b", "poweredOff");
    let joined =
        self::joined(&[report("esx01", "test.host", one.clone()), report("esx02", "test.host", other.clone())]);
    assert_eq!(vms_of(&joined).len(), 2, "on two hosts");
    assert!(reasons(&joined).iter().all(|why| !why.contains("so that one is taken")), "{:?}", reasons(&joined));
    // On one host, where the probe puts the file behind the UUID; both run, and addresses tell which guest is which.
    let key = |file: &str| format!("{UUID} {file}");
    let mut both =
        copy(&key("/vmfs/volumes/ds/a/a.vmx"), "a", "/vmfs/volumes/ds/a/a.vmx", "00:50:56:80:00:01", "poweredOn");
    both.extend(copy(
        &key("/vmfs/volumes/ds/b/b.vmx"),
        "b",
        "/vmfs/volumes/ds/b/b.vmx",
        "00:50:56:80:00:0b",
        "poweredOn",
    ));
    let joined = self::joined(&[report("esx01", "test.host", both), report("guest-a", "test.guest", guest())]);
    assert_eq!(vms_of(&joined).len(), 2, "on one host");
    let pair = &joined.pairs[0];
    assert!(pair.confirmed && pair.vm.entity.name().ends_with("a/a.vmx"), "{pair:?}");
}

#[test]
fn of_copies_with_one_address_a_guest_is_the_one_that_runs() {
    let on = copy(UUID, "a", "/vmfs/volumes/ds/a/a.vmx", "00:50:56:80:00:01", "poweredOn");
    let off = copy(UUID, "a-old", "/vmfs/volumes/ds/old/a.vmx", "00:50:56:80:00:01", "poweredOff");
    let joined = self::joined(&[
        report("esx01", "test.host", off),
        report("esx02", "test.host", on),
        report("guest-a", "test.guest", guest()),
    ]);
    assert_eq!(joined.vm_of(&TargetId::new("guest-a")).map(|id| id.target.as_str()), Some("esx02"));
}

#[test]
fn a_vm_that_moved_is_one_also_on_another_datastore_and_between_two_reads() {
    let mac = "00:50:56:80:00:0a";
    let stale = copy(UUID, "a", "/vmfs/volumes/local1/a/a.vmx", mac, "poweredOff");
    let now = copy(UUID, "a", "/vmfs/volumes/local2/a_1/a.vmx", mac, "poweredOn");
    let joined = self::joined(&[report("esx01", "test.host", stale), report("esx02", "test.host", now)]);
    assert_eq!(vms_of(&joined), [format!("{}{UUID}", prefix("esx02"))]);
    assert!(reasons(&joined).iter().any(|why| why.contains("it runs on esx02, so that one is taken")));
    // Both say that it runs: the one that was read last is right.
    let file = "/vmfs/volumes/shared/a/a.vmx";
    let mut reports = ["esx01", "esx02"].map(|host| report(host, "test.host", copy(UUID, "a", file, mac, "poweredOn")));
    for (second, report) in [(9, 0), (3, 1)] {
        for fact in &mut reports[report].facts {
            fact.reading.at = crate::fabric::Timestamp::from_second(second).expect("a time");
        }
    }
    let joined = self::joined(&reports);
    assert_eq!(vms_of(&joined), [format!("{}{UUID}", prefix("esx01"))]);
    assert!(reasons(&joined).iter().any(|why| why.contains("esx01 was read last")), "{:?}", reasons(&joined));
}

#[test]
fn one_vm_that_two_hosts_register_from_shared_storage_is_one() {
    let file = "/vmfs/volumes/shared/a/a.vmx";
    let of = |power: &str| copy(UUID, "a", file, "00:50:56:80:00:0a", power);
    let joined =
        self::joined(&[report("esx01", "test.host", of("poweredOn")), report("esx02", "test.host", of("poweredOff"))]);
    assert_eq!(vms_of(&joined), [format!("{}{UUID}", prefix("esx01"))]);
    let off =
        self::joined(&[report("esx01", "test.host", of("poweredOff")), report("esx02", "test.host", of("poweredOff"))]);
    assert!(reasons(&off).iter().any(|why| why.contains("none of them says that it runs")), "{:?}", reasons(&off));
}

/// How an id begins that is of a VM of this host.
fn prefix(host: &str) -> String {
    EntityId::new(&TargetId::new(host), Entity::Vm(Text::new("x"))).to_string().trim_end_matches('x').to_owned()
}

#[test]
fn the_name_of_an_uplink_on_its_switch_leads_to_the_adapter_of_the_host() {
    let named = |active: &[&str], policy: &str| {
        let mut facts = host();
        facts.retain(|(_, attribute, _)| *attribute != Attribute::Uplinks);
        let switch = Entity::VirtualSwitch("dvs-rdma".into());
        let port = |number: &str| Entity::SwitchPort { switch: "dvs-rdma".into(), port: number.into() };
        facts.push((switch, Attribute::Uplinks, Value::List(vec!["vmnic4".into(), "vmnic5".into()])));
        for (number, alias, client) in [("0", "Uplink 1", "vmnic5"), ("1", "Uplink 2", "vmnic4")] {
            facts.push((port(number), Attribute::DeviceLabel, text(alias)));
            facts.push((port(number), Attribute::PortClient, text(client)));
        }
        let active = active.iter().map(|name| Text::new(name)).collect();
        facts.push((port("14"), Attribute::ActiveUplinks, Value::List(active)));
        facts.push((port("14"), Attribute::TeamingPolicy, text(policy)));
        facts
    };
    let uplink = |joined: &Joined| {
        let chain = joined.chains.iter().find(|chain| chain.is_pvrdma()).expect("a chain");
        let link = chain.links.iter().find(|link| link.kind == LinkKind::SwitchUplink)?;
        Some((link.to.entity.name(), link.rests_on.clone()))
    };
    let policy = "source virtual port id";
    let (name, basis) = uplink(&both(named(&["Uplink 2"], policy))).expect("an uplink");
    assert_eq!(name, "vmnic4");
    assert!(basis.iter().any(|(id, of)| *of == Attribute::DeviceLabel && id.entity.name().ends_with('1')), "{basis:?}");
    // Two are active: only what is up, or an explicit order, tells.
    let two = both(named(&["Uplink 1", "Uplink 2"], policy));
    assert_eq!(uplink(&two), None);
    assert_eq!(reasons(&two), ["vmnic5, vmnic4: which of them carries this adapter is not observable from here"]);
    let mut down = named(&["Uplink 1", "Uplink 2"], policy);
    down.push((Entity::Uplink("vmnic5".into()), Attribute::Carrier, Value::from(false)));
    assert_eq!(uplink(&both(down)).map(|(name, _)| name), Some("vmnic4".to_owned()));
    let mut ordered = named(&["Uplink 2", "Uplink 1"], "explicit failover");
    ordered.push((Entity::Uplink("vmnic4".into()), Attribute::Carrier, Value::from(true)));
    assert_eq!(uplink(&both(ordered)).map(|(name, _)| name), Some("vmnic4".to_owned()));
    let unknown = both(named(&["Uplink 7"], policy));
    assert!(reasons(&unknown)[0].contains("the teaming names Uplink 7"), "{:?}", reasons(&unknown));
}

#[test]
fn an_id_that_reads_both_ways_is_joined_only_where_the_host_tells() {
    let of = |more: &[&str]| {
        let mut facts = host();
        facts.retain(|(_, attribute, _)| *attribute != Attribute::BackingFunction);
        facts.push((device(13000), Attribute::BackingId, text("0000:41:00.0")));
        facts.extend(more.iter().map(|address| (function(address), Attribute::VendorId, text("10de"))));
        let joined = joined(&[report("esx01", "test.host", facts)]);
        let chain = joined.chains.iter().find(|chain| chain.kind == "passthrough").expect("a chain");
        let function = chain.reaches(|entity| matches!(entity, Entity::PciFunction(_)));
        let gaps = joined.gaps.iter().map(|gap| gap.why.clone()).collect::<Vec<_>>();
        (function.map(|id| id.entity.name()), gaps)
    };
    assert_eq!(of(&["0000:29:00.0"]), (Some("0000:29:00.0".to_owned()), vec![]), "41 is bus 29, which it has");
    assert_eq!(of(&["0000:41:00.0"]), (Some("0000:41:00.0".to_owned()), vec![]), "it has the other one only");
    let (function, gaps) = of(&["0000:29:00.0", "0000:41:00.0"]);
    assert_eq!(function, None, "none is guessed");
    assert!(gaps[0].contains("0000:29:00.0 (decimal) and as 0000:41:00.0 (hexadecimal)"), "{gaps:?}");
    let (function, gaps) = of(&[]);
    assert_eq!(function, None);
    assert!(gaps[0].contains("has no PCI function 0000:29:00.0 or 0000:41:00.0"), "{gaps:?}");
}

#[test]
fn an_adapter_of_intel_in_passthrough_is_joined_and_the_board_of_the_guest_is_no_gap() {
    use Attribute as A;
    let adapter = |address: &str, device: &str, class: &str| {
        let function = || function(address);
        vec![
            (function(), A::VendorId, text("8086")),
            (function(), A::DeviceId, text(device)),
            (function(), A::ClassCode, text(class)),
        ]
    };
    let with = |on_host: Vec<(Entity, A, Value)>, in_guest: Vec<(Entity, A, Value)>| {
        joined(&[
            report("esx01", "test.host", [host(), on_host].concat()),
            report("guest-a", "test.guest", [guest(), in_guest].concat()),
        ])
    };
    let board = [
        adapter("0000:00:00.0", "7190", "060000"),
        adapter("0000:00:07.3", "7113", "068000"),
        adapter("0000:02:00.0", "100f", "020000"),
    ];
    assert_eq!(reasons(&with(Vec::new(), board.concat())), [""; 0]);
    // An E810 that no device of the VM explains.
    let e810 = || adapter("0000:0b:00.0", "1592", "020000");
    let lost = with(Vec::new(), e810());
    assert_eq!(reasons(&lost), ["no device of the VM is backed by a function 8086:1592 of the host"]);
    let mut given = adapter("0000:5e:00.0", "1592", "020000");
    given.push((device(13001), A::DeviceKind, text("passthrough")));
    given.push((device(13001), A::BackingFunction, text("0000:5e:00.0")));
    let found = with(given, e810());
    assert_eq!(reasons(&found), [""; 0]);
    assert!(found.all_links().iter().any(|link| link.kind == LinkKind::GuestDevice
        && link.from.entity == function("0000:0b:00.0")
        && link.to.entity == device(13001)));
}

/// A switch with these neighbours: port, id of the neighbour's port, its name, what it says of the port.
fn switch(neighbours: &[(&str, &str, &str, &str)]) -> Report {
    use Attribute as A;
    let mut facts = vec![(Entity::Switch, A::Hostname, text("leaf1"))];
    for (port, id, name, says) in neighbours {
        let port = Entity::SwitchInterface((*port).into());
        facts.push((port.clone(), A::OperationalState, text("up")));
        for (attribute, word) in [(A::NeighbourPort, id), (A::NeighbourName, name), (A::NeighbourPortDescription, says)]
        {
            if !word.is_empty() {
                facts.push((port.clone(), attribute, text(word)));
            }
        }
    }
    report("leaf1", "test.switch", facts)
}

/// The site with a switch and with what the inventory says.
fn plugged(neighbours: &[(&str, &str, &str, &str)], declared: &[NamedCable]) -> Joined {
    let mut facts = host();
    facts.push((Entity::Uplink("vmnic4".into()), Attribute::HardwareAddress, text("ec:0d:9a:00:00:01")));
    facts.push((Entity::Host, Attribute::Hostname, text("esx01")));
    let mut fabric = Fabric::default();
    let reports = [report("esx01", "test.host", facts), report("guest-a", "test.guest", guest()), switch(neighbours)];
    for report in &reports {
        fabric.apply(report);
    }
    join_declared(&fabric, &reports.map(|report| report.target), declared)
}

fn cable(port: &str) -> NamedCable {
    NamedCable { host: "esx01".into(), uplink: "vmnic4".to_owned(), switch: "leaf1".into(), port: port.to_owned() }
}

/// The port that the chain of the PVRDMA adapter ends in, and the attributes that say so.
fn end_of(joined: &Joined) -> Option<(String, Vec<Attribute>)> {
    let chain = joined.chains.iter().find(|chain| chain.is_pvrdma()).expect("a chain");
    let link = chain.links.iter().find(|link| link.kind == LinkKind::UplinkInterface)?;
    Some((link.to.entity.name(), link.rests_on.iter().map(|(_, attribute)| *attribute).collect()))
}

#[test]
fn an_uplink_leads_on_to_the_port_that_hears_it() {
    let by_address =
        plugged(&[("Ethernet1", "ec0d.9a00.0001", "esx01", ""), ("Ethernet2", "ec0d.9a00.0002", "esx02", "")], &[]);
    let basis = vec![Attribute::NeighbourPort, Attribute::HardwareAddress];
    assert_eq!(end_of(&by_address), Some(("Ethernet1".to_owned(), basis)));
    assert_eq!(by_address.cables.len(), 1);
    let by_name = plugged(
        &[("Ethernet1", "x", "esx01.lab.example", "vmnic40"), ("Ethernet2", "x", "ESX01", "esx01 vmnic4")],
        &[],
    );
    assert_eq!(end_of(&by_name).map(|(port, _)| port).as_deref(), Some("Ethernet2"));
    assert!(by_name.all_links().iter().all(|link| !link.rests_on.is_empty()));
}

#[test]
fn where_nothing_or_too_much_says_it_the_gap_says_why() {
    let none = plugged(&[("Ethernet1", "ec0d.9a00.0009", "esx09", "")], &[]);
    assert_eq!(end_of(&none), None);
    assert!(
        reasons(&none)[0].contains("no switch of the inventory says that vmnic4 is plugged into it"),
        "{:?}",
        reasons(&none)
    );
    let two =
        plugged(&[("Ethernet1", "ec0d.9a00.0001", "esx01", ""), ("Ethernet2", "ec0d.9a00.0001", "esx01", "")], &[]);
    assert_eq!(end_of(&two), None, "a neighbour that moved");
    assert!(reasons(&two)[0].contains("Ethernet1 of leaf1 and Ethernet2 of leaf1 hear vmnic4"));
}

#[test]
fn the_inventory_is_the_second_way_and_what_is_heard_stands_above_it() {
    let silent: &[(&str, &str, &str, &str)] = &[("Ethernet1", "", "", ""), ("Ethernet2", "", "", "")];
    assert_eq!(end_of(&plugged(silent, &[cable("Et2")])).map(|(port, _)| port).as_deref(), Some("Ethernet2"));
    let heard = plugged(&[("Ethernet1", "ec0d.9a00.0001", "", ""), ("Ethernet2", "", "", "")], &[cable("Et2")]);
    assert_eq!(end_of(&heard).map(|(port, _)| port).as_deref(), Some("Ethernet1"));
    assert_eq!(heard.cables[0].declared.as_ref().map(|port| port.entity.name()).as_deref(), Some("Ethernet2"));
    let wrong = plugged(silent, &[cable("Et9")]);
    assert!(reasons(&wrong)[0].contains("Ethernet9 of leaf1, and leaf1 has no such port"), "{:?}", reasons(&wrong));
}
