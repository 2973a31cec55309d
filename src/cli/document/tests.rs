//! Tests of the two forms of a snapshot.

use serde_json::Value as Json;
use unicode_width::UnicodeWidthStr as _;

use super::*;
use crate::fabric::{PortState, Report, SourceId, Text};

/// Two targets: one with facts in every state, one that could not be reached.
fn collected() -> Collected {
    let mut read = Observation::of_text("linux.rdma-link", "");
    read.target = TargetId::new("vm1");
    read.command = Arc::from("rdma -j link show");
    read.at = "2026-02-03T04:05:06Z".parse().expect("a time");
    let function = |name: &str| Entity::PciFunction(Text::new(name));
    let port = Entity::port("rxe0", 1);
    let device = Entity::RdmaDevice(Text::new("rxe0"));
    let netdev = Entity::Netdev(Text::new("eth1"));
    let gid = |index| Entity::Gid { device: Text::new("rxe0"), port: 1, index };
    let text = |text: &str| Value::Text(Text::new(text));
    let facts = vec![
        read.known(Entity::Guest, Attribute::MemlockSoft, Value::Count(u64::MAX), 3),
        read.known(Entity::Guest, Attribute::MemoryTotal, Value::Count(16_777_216_000), 1),
        read.fact(Entity::Guest, Attribute::BiosUuid, State::NeedsPrivilege(Text::new("the BIOS UUID")), 0),
        read.known(function("0000:1b:00.1"), Attribute::FunctionKind, text("PVRDMA"), 1),
        read.known(function("0000:1b:00.1"), Attribute::PairedFunction, text("0000:1b:00.0"), 1),
        read.known(function("0000:1b:00.0"), Attribute::FunctionKind, text("vmxnet3"), 1),
        read.known(function("0000:1b:00.0"), Attribute::PairedFunction, text("0000:1b:00.1"), 1),
        read.known(device.clone(), Attribute::PciAddress, text("0000:1b:00.1"), 1),
        read.fact(device, Attribute::NodeDescription, State::Empty, 1),
        read.known(port.clone(), Attribute::PortState, PortState::Active, 1),
        read.known(port.clone(), Attribute::PortNetdev, text("eth1"), 1),
        read.known(port.clone(), Attribute::PortRate, Value::Count(2_500_000_000), 1),
        read.fact(port.clone(), Attribute::ByteCounters, State::NotPublished(Text::new("rxe")), 0),
        read.fact(port.clone(), Attribute::Ceiling, State::NotObservable(Text::new("rxe has no link rate")), 0),
        read.fact(port, Attribute::Lid, State::NotAvailable, 1),
        read.known(gid(0), Attribute::GidValue, text("fe80::1"), 1),
        read.known(gid(0), Attribute::GidType, text("RoCE v2"), 1),
        read.known(netdev.clone(), Attribute::Mtu, Value::Count(1500), 1),
        read.known(netdev.clone(), Attribute::AdminUp, Value::Flag(true), 1),
        read.known(
            netdev.clone(),
            Attribute::Addresses,
            Value::List(vec![Text::new("10.0.0.1/24"), Text::new("::1/128")]),
            1,
        ),
        read.known(netdev, Attribute::PciAddress, text("0000:99:00.0"), 1),
        read.known(Entity::Package(Text::new("rdma-core")), Attribute::Version, text("39.0-1"), 1),
    ];
    let mut fabric = Fabric::default();
    fabric.apply(&Report {
        target: read.target.clone(),
        probe: SourceId::new("linux.rdma"),
        observations: Vec::new(),
        facts,
    });
    let refused = Problem::new("the host key has changed", "", "compare it with the console of the machine");
    Collected {
        at: "2026-02-03T04:05:00Z".parse().expect("a time"),
        fabric,
        observations: vec![Arc::new(read)],
        targets: vec![
            TargetStatus { name: TargetId::new("vm1"), kind: "linux".to_owned(), reachable: true, problem: None },
            TargetStatus {
                name: TargetId::new("vm2"),
                kind: "unknown".to_owned(),
                reachable: false,
                problem: Some(refused),
            },
        ],
    }
}

fn json() -> Json {
    serde_json::to_value(collected().document()).expect("a document")
}

/// Checks `value` against the part of JSON Schema that the schema file uses; adds what is wrong to `wrong`.
pub(in crate::cli) fn check(root: &Json, schema: &Json, value: &Json, place: &str, wrong: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        return check(root, root.pointer(pointer).expect("a definition"), value, place, wrong);
    }
    let types: Vec<&str> = match &schema["type"] {
        Json::String(one) => vec![one],
        Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let fits = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    };
    if !types.is_empty() && !types.iter().any(fits) {
        wrong.push(format!("{place}: {value} is none of {types:?}"));
    }
    if let Some(constant) = schema.get("const")
        && constant != value
    {
        wrong.push(format!("{place}: {value} is not {constant}"));
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        wrong.push(format!("{place}: {value} is none of {choices:?}"));
    }
    if let (Some(items), Some(elements)) = (schema.get("items"), value.as_array()) {
        for (number, element) in elements.iter().enumerate() {
            check(root, items, element, &format!("{place}/{number}"), wrong);
        }
    }
    let Some(members) = value.as_object() else { return };
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        if !members.contains_key(required) {
            wrong.push(format!("{place}: {required} is missing"));
        }
    }
    for (name, member) in members {
        let place = format!("{place}/{name}");
        match (schema["properties"].get(name), schema.get("additionalProperties")) {
            (Some(property), _) => check(root, property, member, &place, wrong),
            (None, Some(others)) => check(root, others, member, &place, wrong),
            (None, None) => wrong.push(format!("{place} is not in the schema")),
        }
    }
}

fn wrong(document: &Json) -> Vec<String> {
    let schema: Json =
        serde_json::from_str(include_str!("../../../schema/snapshot-1.json")).expect("the schema is JSON");
    let mut wrong = Vec::new();
    check(&schema, &schema, document, "", &mut wrong);
    wrong
}

#[test]
fn the_document_satisfies_its_schema() {
    assert_eq!(wrong(&json()), Vec::<String>::new());
    let mut broken = json();
    broken["targets"][0]["facts"]["guest"]["memory-total"]["state"] = "zero".into();
    broken.as_object_mut().expect("an object").remove("at");
    assert_eq!(wrong(&broken).len(), 2, "the check does find faults: {:?}", wrong(&broken));
}

#[test]
fn every_state_of_the_program_is_in_the_schema() {
    let schema: Json =
        serde_json::from_str(include_str!("../../../schema/snapshot-1.json")).expect("the schema is JSON");
    let reason = || Text::new("x");
    let states: [State<Value>; 8] = [
        State::Known(Value::Flag(true)),
        State::Empty,
        State::NotAvailable,
        State::NotPublished(reason()),
        State::NotObservable(reason()),
        State::NeedsPrivilege(reason()),
        State::NotInstalled(reason()),
        State::Failed(reason()),
    ];
    let listed = &schema["$defs"]["fact"]["properties"]["state"]["enum"];
    assert_eq!(*listed, states.iter().map(State::name).collect::<Json>());
}

#[test]
fn facts_carry_value_unit_reason_and_source() {
    let document = json();
    let facts = &document["targets"][0]["facts"];
    let expected = serde_json::json!({
        "state": "known", "value": 2_500_000_000_u64, "unit": "bits-per-second", "why": null,
        "at": "2026-02-03T04:05:06Z", "source": "linux.rdma-link", "command": "rdma -j link show", "line": 1
    });
    assert_eq!(facts["rdma-port/rxe0/1"]["port-rate"], expected);
    let missing = &facts["rdma-port/rxe0/1"]["byte-counters"];
    assert_eq!((&missing["state"], &missing["value"]), (&Json::from("not-published"), &Json::Null));
    assert_eq!((&missing["why"], &missing["line"]), (&Json::from("not published by rxe"), &Json::Null));
    assert_eq!(facts["guest"]["memlock-soft"]["value"], "unlimited");
    assert_eq!(facts["netdev/eth1"]["admin-up"]["value"], true);
    assert_eq!(facts["netdev/eth1"]["addresses"]["value"], serde_json::json!(["10.0.0.1/24", "::1/128"]));
    assert_eq!(facts["rdma-port/rxe0/1"]["port-state"]["value"], "ACTIVE");
    assert_eq!(document["targets"][1]["problem"]["what"], "the host key has changed");
}

#[test]
fn the_document_begins_with_its_schema() {
    let text = serde_json::to_string(&collected().document()).expect("a document");
    assert!(
        text.starts_with("{\"schema\":\"rdmascope.snapshot/1\",\"at\":\"2026-02-03T04:05:00Z\",\"rdmascope\":\""),
        "{text}"
    );
}

#[test]
fn links_join_entities_that_are_there_and_a_pair_once() {
    let links: Vec<String> = collected()
        .links()
        .iter()
        .map(|link| format!("{} {} {}", link.kind, link.from.entity, link.to.entity))
        .collect();
    // The netdev names a function that was not read, so there is no link to it.
    assert_eq!(
        links,
        [
            "device-function rdma-device/rxe0 pci-function/0000:1b:00.1",
            "port-netdev rdma-port/rxe0/1 netdev/eth1",
            "pvrdma-pair pci-function/0000:1b:00.1 pci-function/0000:1b:00.0",
        ]
    );
}

#[test]
fn text_is_aligned_and_says_states_in_words() {
    let text = collected().text();
    for expected in [
        "snapshot of 2026-02-03T04:05:00Z\n\nvm1 (linux)\n\n  guest\n    BIOS UUID    needs privilege: the BIOS UUID\n",
        "    memory       15.6 GiB\n    memlock soft  unlimited\n",
        "  rdma-port rxe0/1\n",
        "byte counters  not published by rxe\n",
        "not observable: rxe has no link rate\n",
        "not available (the tool said N/A)\n",
        "reported rate  2.5 Gb/s\n",
        "  gid\n    rxe0/1/0  GID fe80::1; type RoCE v2\n",
        "  package\n    rdma-core  39.0-1\n",
        "MTU          1500 bytes\n",
        "\nvm2 (unknown)\n  not reachable  the host key has changed; compare it with the console of the\n                 machine\n",
        "\nlinks\n  vm1 rdma-device/rxe0 -> pci-function/0000:1b:00.1\n",
    ] {
        let squeezed = |text: &str| text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        assert!(squeezed(&text).contains(&squeezed(expected)), "{expected}\n--\n{text}");
    }
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    assert!(text.contains("    memlock soft  unlimited\n"), "{text}");
}

#[test]
fn a_snapshot_is_complete_only_with_all_targets_and_no_failed_reading() {
    let mut collected = collected();
    assert!(!collected.is_complete());
    collected.targets.pop();
    assert!(collected.is_complete(), "missing privilege is no failure");
    let mut failed = Observation::of_text("x", "");
    failed.target = TargetId::new("vm1");
    let fact = failed.fact(Entity::Guest, Attribute::KernelRelease, State::Failed(Text::new("no answer")), 0);
    collected.fabric.apply_facts(&failed.target, &failed.source, &[fact]);
    assert!(!collected.is_complete());
}

#[test]
fn numbers_are_shown_in_units_that_are_read_easily() {
    for (attribute, number, expected) in [
        (Attribute::Mtu, 9000, "9000 bytes"),
        (Attribute::MemoryTotal, 1 << 34, "16 GiB"),
        (Attribute::MemoryTotal, 0, "0 bytes"),
        (Attribute::PortRate, 100_000_000_000, "100 Gb/s"),
        (Attribute::PortRate, 999, "999 bit/s"),
        (Attribute::Balloon, 512, "512 MiB"),
        (Attribute::CpuLimit, 2400, "2400 MHz"),
        (Attribute::ProcessorCount, 4, "4"),
        (Attribute::MemoryTotal, u64::MAX, "16777216.0 TiB"),
        (Attribute::MemlockHard, u64::MAX, "unlimited"),
    ] {
        assert_eq!(quantity(attribute, &Value::Count(number)), expected);
    }
}

#[test]
fn what_the_join_found_across_targets_stands_among_the_links() {
    let facts = |target: &str, facts: &[(Entity, Attribute, &str)]| {
        let mut read = Observation::of_text("test.facts", "");
        read.target = TargetId::new(target);
        let facts =
            facts.iter().map(|(entity, attribute, value)| read.known(entity.clone(), *attribute, *value, 1)).collect();
        Report { target: TargetId::new(target), probe: SourceId::new("test.facts"), facts, observations: Vec::new() }
    };
    let vm = Text::new("564da9ac-1cee-5dd7-f1ae-a595f83d2a2d");
    let device = Entity::VmDevice { vm: vm.clone(), key: 4000 };
    let mac = "00:50:56:80:00:01";
    let mut collected = collected();
    collected.targets = ["esx01", "hpc-a"]
        .map(|name| TargetStatus { name: TargetId::new(name), ..collected.targets[0].clone() })
        .into();
    collected.fabric.apply(&facts(
        "esx01",
        &[(Entity::Vm(vm), Attribute::VmName, "hpc-a"), (device, Attribute::HardwareAddress, mac)],
    ));
    collected.fabric.apply(&facts(
        "hpc-a",
        &[
            (Entity::Guest, Attribute::Hostname, "hpc-a"),
            (Entity::Netdev(Text::new("ens192")), Attribute::HardwareAddress, mac),
        ],
    ));
    let links: Vec<String> = collected
        .links()
        .into_iter()
        .map(|link| {
            format!("{} {} {} -> {} {}", link.kind, link.from.target, link.from.entity, link.to.target, link.to.entity)
        })
        .collect();
    assert_eq!(
        links,
        [
            "guest-device hpc-a netdev/ens192 -> esx01 vm-device/564da9ac-1cee-5dd7-f1ae-a595f83d2a2d/4000",
            "guest-vm hpc-a guest -> esx01 vm/564da9ac-1cee-5dd7-f1ae-a595f83d2a2d",
            "vm-device esx01 vm-device/564da9ac-1cee-5dd7-f1ae-a595f83d2a2d/4000 -> esx01 vm/564da9ac-1cee-5dd7-f1ae-a595f83d2a2d",
        ]
    );
    assert!(collected.text().contains("hpc-a netdev/ens192 -> esx01"));
}
