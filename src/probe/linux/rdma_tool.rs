//! RDMA devices and links as `rdma` (iproute2) tells them. Its output changed over the years: JSON and text, with
//! and without blanks and newlines in the wrong places; so everything is read by key, never by position.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use super::rdma_files::presence;
use super::rdma_output::{Item, is_unloaded, items};
use super::rdma_sysfs::{node_type, roce_mtu};
use crate::fabric::{Attribute, Entity, Fact, Observation, PhysicalState, PortState, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const RDMA: Word = Word::Plain("rdma");

/// RDMA devices, links, their resources and how namespaces share them, by `rdma`.
pub const PROBE: Probe = Probe {
    name: "linux.rdma",
    title: "RDMA devices and links (rdma)",
    privilege_adds: "",
    pace: Pace::Fast,
    rhythm: Rhythm::PACE,
    sources: &[
        Source {
            name: "linux.rdma-link",
            read: Read::Command {
                argv: &[RDMA, Word::Plain("-d"), Word::Plain("-j"), Word::Plain("link"), Word::Plain("show")],
                keep: None,
            },
        },
        Source {
            name: "linux.rdma-dev",
            read: Read::Command {
                argv: &[RDMA, Word::Plain("-d"), Word::Plain("-j"), Word::Plain("dev"), Word::Plain("show")],
                keep: None,
            },
        },
        Source {
            name: "linux.rdma-resources",
            read: Read::Command {
                argv: &[RDMA, Word::Plain("-j"), Word::Plain("res"), Word::Plain("show")],
                keep: None,
            },
        },
        Source {
            name: "linux.rdma-system",
            read: Read::Command { argv: &[RDMA, Word::Plain("system"), Word::Plain("show")], keep: None },
        },
        // The RoCE MTU of a port follows from that of the interface under it.
        Source { name: "linux.rdma-netdev-mtu", read: Read::Files(&["/sys/class/net/*/mtu"]) },
    ],
    parse,
};

/// Keys of a link and what they tell.
const LINK_KEYS: [(&str, Attribute); 6] = [
    ("state", Attribute::PortState),
    ("physical_state", Attribute::PhysicalState),
    ("netdev", Attribute::PortNetdev),
    ("subnet_prefix", Attribute::SubnetPrefix),
    ("lid", Attribute::Lid),
    ("sm_lid", Attribute::SubnetManagerLid),
];

/// Keys of a device and what they tell.
const DEVICE_KEYS: [(&str, Attribute); 7] = [
    ("node_type", Attribute::NodeType),
    ("protocol", Attribute::Protocol),
    ("fw", Attribute::Firmware),
    ("node_guid", Attribute::NodeGuid),
    ("sys_image_guid", Attribute::SystemImageGuid),
    ("adaptive-moderation", Attribute::AdaptiveModeration),
    ("caps", Attribute::Capabilities),
];

/// Keys of the summary of resources and what they tell.
const RESOURCE_KEYS: [(&str, Attribute); 7] = [
    ("pd", Attribute::ProtectionDomains),
    ("cq", Attribute::CompletionQueues),
    ("qp", Attribute::QueuePairs),
    ("cm_id", Attribute::ConnectionIds),
    ("mr", Attribute::MemoryRegions),
    ("ctx", Attribute::UserContexts),
    ("srq", Attribute::SharedReceiveQueues),
];

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [link, device, resources, system, ..] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let keys = |table: &[(&'static str, Attribute)]| table.iter().map(|(key, _)| *key).collect::<Vec<_>>();
    let links = items(link, &keys(&LINK_KEYS));
    let devices = items(device, &keys(&DEVICE_KEYS));
    let summary = items(resources, &keys(&RESOURCE_KEYS));
    for item in &links.items {
        if let Some(port) = item.port {
            item_facts(link, item, &Entity::port(&item.device, port), &LINK_KEYS, &mut facts);
        }
    }
    for (observation, items, table) in
        [(device, &devices, DEVICE_KEYS.as_slice()), (resources, &summary, RESOURCE_KEYS.as_slice())]
    {
        for item in &items.items {
            let entity = Entity::RdmaDevice(Text::new(&item.device));
            item_facts(observation, item, &entity, table, &mut facts);
        }
    }
    let names: BTreeSet<&str> = links.items.iter().chain(&devices.items).map(|item| item.device.as_str()).collect();
    let ports: BTreeSet<(&str, u32)> =
        links.items.iter().filter_map(|item| Some((item.device.as_str(), item.port?))).collect();
    let unloaded = [link, device].iter().any(|observation| is_unloaded(observation));
    let trouble = [(link, links.broken), (device, devices.broken)].into_iter().find_map(|(observation, broken)| {
        let state = observation.trouble("rdma (iproute2)", "");
        state.or_else(|| broken.map(|why| State::Failed(Text::new(why)))).map(|state| (observation, state))
    });
    facts.push(match trouble {
        Some((observation, state)) if !unloaded => observation.fact(Entity::Guest, Attribute::RdmaPresence, state, 0),
        _ => {
            let sentence = presence(Some(!unloaded), names.len(), ports.len());
            link.known(Entity::Guest, Attribute::RdmaPresence, sentence, 0)
        }
    });
    if !unloaded && let Some(fact) = namespace_mode(system) {
        facts.push(fact);
    }
    if let Some(mtus) = observations.get(4) {
        facts.extend(links.items.iter().filter_map(|item| path_mtu(mtus, item)));
    }
    facts
}

/// The RoCE MTU of a port, from the line of its interface.
fn path_mtu(mtus: &Observation, item: &Item) -> Option<Fact> {
    let path = format!("/sys/class/net/{}/mtu:", item.values.get("netdev")?.as_str()?);
    let (number, mtu) = mtus.lines().find_map(|(number, line)| Some((number, line.strip_prefix(&path)?)))?;
    let mtu: u64 = mtu.trim().parse().ok()?;
    // An interface too small for RoCE has none; its own MTU says so.
    Some(mtus.known(Entity::port(&item.device, item.port?), Attribute::PathMtu, roce_mtu(mtu)?, number))
}

fn namespace_mode(system: &Observation) -> Option<Fact> {
    if let Some(state) = system.trouble("rdma (iproute2)", "") {
        return Some(system.fact(Entity::Guest, Attribute::RdmaNamespaceMode, state, 0));
    }
    system.lines().find_map(|(number, line)| {
        let plain = line.replace(['"', '{', '}', '[', ']', ',', ':'], " ");
        let mut words = plain.split_whitespace();
        words.find(|word| *word == "netns")?;
        words.next().map(|mode| system.known(Entity::Guest, Attribute::RdmaNamespaceMode, mode, number))
    })
}

fn item_facts(
    observation: &Observation,
    item: &Item,
    entity: &Entity,
    table: &[(&str, Attribute)],
    facts: &mut Vec<Fact>,
) {
    for (key, attribute) in table {
        if let Some(value) = item.values.get(*key) {
            facts.push(observation.fact(entity.clone(), *attribute, state_of(*attribute, value), item.line));
        }
    }
}

/// One value, worded as sysfs words it too.
fn state_of(attribute: Attribute, json: &Json) -> State<Value> {
    let text = match json {
        Json::String(text) => text.trim().to_owned(),
        Json::Null => String::new(),
        other => other.to_string(),
    };
    if text.is_empty() {
        return State::Empty;
    }
    let wrong = || State::Failed(Text::new(&format!("{text:?} is not what {} looks like", attribute.label())));
    State::Known(match attribute {
        Attribute::PortState => PortState::from_word(&text).into(),
        Attribute::PhysicalState => PhysicalState::from_word(&text).into(),
        Attribute::NodeType => Value::from(node_type(&text).as_str()),
        Attribute::AdaptiveModeration => match text.as_str() {
            "true" | "on" => true.into(),
            "false" | "off" => false.into(),
            _ => return wrong(),
        },
        Attribute::Capabilities => {
            let words: Vec<Text> = match json {
                Json::Array(words) => words.iter().filter_map(Json::as_str).map(Text::new).collect(),
                _ => text.trim_matches(['<', '>']).split(',').map(Text::new).collect(),
            };
            words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().into()
        }
        Attribute::Lid
        | Attribute::SubnetManagerLid
        | Attribute::ProtectionDomains
        | Attribute::CompletionQueues
        | Attribute::QueuePairs
        | Attribute::ConnectionIds
        | Attribute::MemoryRegions
        | Attribute::UserContexts
        | Attribute::SharedReceiveQueues => match text.parse::<u64>() {
            Ok(number) => number.into(),
            Err(_) => return wrong(),
        },
        _ => Value::from(text.as_str()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::Outcome;
    use crate::probe::linux::rdma_testing::{known, state};
    use crate::probe::testing::{CASES, assert_clean, mutated_texts};

    macro_rules! fixture {
        ($name:literal) => {
            include_str!(concat!("../../../tests/fixtures/", $name))
        };
    }

    const LINK: [&str; 4] = [
        fixture!("pvrdma-guest/03-rdma-j-d-link-show.txt"),
        fixture!("soft-roce/02-rdma-d-link-show.txt"),
        fixture!("public/42-rdma-link-mixed-ib-and-roce.txt"),
        fixture!("public/36-rdma_link-active-but-ibv_devinfo-abi.txt"),
    ];
    const DEVICE: [&str; 4] = [
        fixture!("pvrdma-guest/05-rdma-j-d-dev-show.txt"),
        fixture!("pvrdma-guest/04-rdma-d-dev-show.txt"),
        fixture!("soft-roce/05-rdma-j-d-dev-show.txt"),
        fixture!("soft-roce/04-rdma-d-dev-show.txt"),
    ];

    fn read(link: &str, device: &str, resources: &str, system: &str) -> Vec<Fact> {
        let of = |name: &str, text: &str| Arc::new(Observation::of_text(name, text));
        parse(&[
            of("linux.rdma-link", link),
            of("linux.rdma-dev", device),
            of("linux.rdma-resources", resources),
            of("linux.rdma-system", system),
        ])
    }

    /// The same facts must come out of JSON and of text.
    fn values(facts: &[Fact]) -> Vec<(Entity, Attribute, State<Value>)> {
        facts.iter().map(|fact| (fact.entity.clone(), fact.attribute, fact.reading.state.clone())).collect()
    }

    #[test]
    fn the_roce_mtu_of_a_port_follows_its_interface() {
        let text = "[{\"ifindex\":0,\"ifname\":\"rxe0\",\"port\":1,\"state\":\"ACTIVE\",\"netdev\":\"eth1\"}]";
        let mtu_of = |line: &str| {
            let observations: Vec<Arc<Observation>> = [text, "[]", "[]", "", line]
                .into_iter()
                .map(|text| Arc::new(Observation::of_text("t", text)))
                .collect();
            let port = Entity::port("rxe0", 1);
            parse(&observations)
                .into_iter()
                .find(|fact| fact.entity == port && fact.attribute == Attribute::PathMtu)
                .map(|fact| fact.reading.state)
        };
        assert_eq!(
            mtu_of("/sys/class/net/lo/mtu:65536\n/sys/class/net/eth1/mtu:1500\n"),
            Some(State::Known(Value::Count(1024)))
        );
        assert_eq!(mtu_of("/sys/class/net/eth1/mtu:9000\n"), Some(State::Known(Value::Count(4096))));
        assert_eq!(mtu_of("/sys/class/net/eth1/mtu:100\n"), None);
        assert_eq!(mtu_of("/sys/class/net/eth10/mtu:1500\n"), None);
    }

    #[test]
    fn json_and_text_say_the_same() {
        for (json, text) in [
            (
                [
                    fixture!("pvrdma-guest/03-rdma-j-d-link-show.txt"),
                    fixture!("pvrdma-guest/05-rdma-j-d-dev-show.txt"),
                    fixture!("pvrdma-guest/08-rdma-j-res-show.txt"),
                    fixture!("pvrdma-guest/06-rdma-system-show.txt"),
                ],
                [
                    fixture!("pvrdma-guest/02-rdma-d-link-show.txt"),
                    fixture!("pvrdma-guest/04-rdma-d-dev-show.txt"),
                    fixture!("pvrdma-guest/07-rdma-res-show.txt"),
                    fixture!("pvrdma-guest/06-rdma-system-show.txt"),
                ],
            ),
            (
                [
                    fixture!("soft-roce-unprivileged/03-rdma-j-d-link-show.txt"),
                    fixture!("soft-roce-unprivileged/05-rdma-j-d-dev-show.txt"),
                    fixture!("soft-roce-unprivileged/08-rdma-j-res-show.txt"),
                    fixture!("soft-roce-unprivileged/06-rdma-system-show.txt"),
                ],
                [
                    fixture!("soft-roce/02-rdma-d-link-show.txt"),
                    fixture!("soft-roce/04-rdma-d-dev-show.txt"),
                    fixture!("soft-roce/07-rdma-res-show.txt"),
                    fixture!("soft-roce/06-rdma-system-show.txt"),
                ],
            ),
        ] {
            let from_json = read(json[0], json[1], json[2], json[3]);
            let from_text = read(text[0], text[1], text[2], text[3]);
            assert!(from_json.len() > 15, "{from_json:?}");
            assert_eq!(values(&from_json), values(&from_text));
        }
    }

    #[test]
    fn a_pvrdma_guest_is_read() {
        let facts = read(LINK[0], DEVICE[0], fixture!("pvrdma-guest/08-rdma-j-res-show.txt"), "netns exclusive\n");
        let device = Entity::RdmaDevice(Text::new("rocep0s16f1"));
        let port = Entity::port("rocep0s16f1", 1);
        assert_eq!(known(&facts, &device, Attribute::Firmware), "0.0.14");
        assert_eq!(known(&facts, &device, Attribute::AdaptiveModeration), "no");
        assert_eq!(known(&facts, &device, Attribute::Capabilities), "PORT_ACTIVE_EVENT, RC_RNR_NAK_GEN");
        assert_eq!(known(&facts, &device, Attribute::QueuePairs), "1");
        assert_eq!(known(&facts, &device, Attribute::MemoryRegions), "0");
        assert_eq!(state(&facts, &device, Attribute::Protocol), None);
        assert_eq!(known(&facts, &port, Attribute::PortState), "ACTIVE");
        assert_eq!(known(&facts, &port, Attribute::PortNetdev), "eth1");
        assert_eq!(known(&facts, &Entity::Guest, Attribute::RdmaPresence), "1 device, 1 port");
        assert_eq!(known(&facts, &Entity::Guest, Attribute::RdmaNamespaceMode), "exclusive");
    }

    #[test]
    fn infiniband_and_roce_lines_are_told_apart_by_their_keys() {
        let facts = read(LINK[2], "", "", "");
        let port = |name: &str| Entity::port(name, 1);
        assert_eq!(known(&facts, &port("mlx5_1"), Attribute::Lid), "65535");
        assert_eq!(known(&facts, &port("mlx5_1"), Attribute::SubnetManagerLid), "0");
        assert_eq!(known(&facts, &port("mlx5_1"), Attribute::PhysicalState), "DISABLED");
        assert_eq!(known(&facts, &port("mlx5_2"), Attribute::SubnetPrefix), "fe80:0000:0000:0000");
        assert_eq!(known(&facts, &port("mlx5_4"), Attribute::PortNetdev), "enp97s0f0");
        assert_eq!(state(&facts, &port("mlx5_4"), Attribute::Lid), None);
        assert_eq!(known(&facts, &Entity::Guest, Attribute::RdmaPresence), "7 devices, 7 ports");
    }

    #[test]
    fn links_out_of_order_among_other_output_are_read() {
        let facts = read(LINK[3], "", "", "");
        let states: Vec<String> = ["bnxt_re0", "bnxt_re1", "bnxt_re2", "bnxt_re3"]
            .map(|name| known(&facts, &Entity::port(name, 1), Attribute::PortState))
            .to_vec();
        assert_eq!(states, ["ACTIVE", "DOWN", "ACTIVE", "DOWN"]);
        assert_eq!(known(&facts, &Entity::Guest, Attribute::RdmaPresence), "4 devices, 4 ports");
        assert!(facts.iter().all(|fact| fact.attribute != Attribute::PortNetdev));
    }

    #[test]
    fn old_shapes_are_read() {
        let new =
            read(r#"[{"ifindex":1,"ifname":"mlx5_0/1","state":"ACTIVE","physical_state":"LINK_UP"}]"#, "", "", "");
        let text = read("1/1: mlx5_0/1: state ACTIVE physical_state LINK_UP \n", "", "", "");
        let port = Entity::port("mlx5_0", 1);
        for facts in [&new, &text] {
            assert_eq!(known(facts, &port, Attribute::PortState), "ACTIVE");
            assert_eq!(known(facts, &port, Attribute::PhysicalState), "LINK_UP");
        }
        let moderation = r#"[{"ifname":"mlx5_0","fw":"20.35.1012","adaptive-moderation":"on","protocol":"roce"}]"#;
        let facts = read("", moderation, "", "");
        assert_eq!(known(&facts, &Entity::RdmaDevice(Text::new("mlx5_0")), Attribute::AdaptiveModeration), "yes");
        assert_eq!(known(&facts, &Entity::RdmaDevice(Text::new("mlx5_0")), Attribute::Protocol), "roce");
    }

    #[test]
    fn a_cut_answer_gives_what_it_holds_and_says_that_it_is_cut() {
        let cut = r#"[{"ifname":"a","port":1,"state":"ACTIVE"},{"ifname":"b","po"#;
        let facts = read(cut, "", "", "");
        assert_eq!(known(&facts, &Entity::port("a", 1), Attribute::PortState), "ACTIVE");
        assert!(matches!(state(&facts, &Entity::Guest, Attribute::RdmaPresence), Some(State::Failed(_))));
    }

    #[test]
    fn no_rdma_and_no_tool_are_different() {
        let none = Observation::of_text("x", "[]\n").with_stderr("Failed to open NETLINK_RDMA socket\n");
        let none = Arc::new(none.with_outcome(Outcome::Exit(1)));
        let facts = parse(&[none.clone(), none.clone(), none.clone(), none]);
        assert_eq!(facts.len(), 1);
        assert_eq!(
            known(&facts, &Entity::Guest, Attribute::RdmaPresence),
            "no RDMA: the kernel's RDMA core (ib_core) is not loaded"
        );
        let empty = read("[]\n", "[]\n", "[]\n", "netns shared copy-on-fork on\n");
        assert_eq!(known(&empty, &Entity::Guest, Attribute::RdmaPresence), "no RDMA device");
        let missing = Arc::new(Observation::of_text("x", "").with_outcome(Outcome::Exit(127)));
        let facts = parse(&[missing.clone(), missing.clone(), missing.clone(), missing]);
        assert!(matches!(state(&facts, &Entity::Guest, Attribute::RdmaPresence), Some(State::NotInstalled(_))));
        assert!(matches!(state(&facts, &Entity::Guest, Attribute::RdmaNamespaceMode), Some(State::NotInstalled(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]
        #[test]
        fn survives_anything(
            link in mutated_texts(&LINK),
            device in mutated_texts(&DEVICE),
            resources in mutated_texts(&[
                fixture!("soft-roce/08-rdma-j-res-show.txt"),
                fixture!("soft-roce/07-rdma-res-show.txt"),
            ]),
            system in mutated_texts(&[fixture!("soft-roce/06-rdma-system-show.txt")]),
        ) {
            let facts = read(&link, &device, &resources, &system);
            prop_assert!(facts.iter().any(|fact| fact.attribute == Attribute::RdmaPresence));
            assert_clean(&facts)?;
        }
    }
}
