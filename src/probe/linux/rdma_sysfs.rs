//! RDMA devices and ports as sysfs tells them: what `rdma` does not say (model, board, rate, keys) and what is there
//! without any tool. The rate that sysfs prints is often not the truth in a VM, so the ceiling is a separate reading.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::files::{Files, Missing};
use super::rdma_files::{CLASS, LINKS, Links, device_path, family, port_path, presence};
use crate::fabric::{Attribute, Entity, Fact, LinkLayer, Observation, PhysicalState, PortState, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source};

/// What is read of devices, ports and verbs nodes.
const FILES: &[&str] = &[
    "/sys/class/infiniband/*/node_type",
    "/sys/class/infiniband/*/fw_ver",
    "/sys/class/infiniband/*/node_guid",
    "/sys/class/infiniband/*/sys_image_guid",
    "/sys/class/infiniband/*/node_desc",
    "/sys/class/infiniband/*/board_id",
    "/sys/class/infiniband/*/hca_type",
    "/sys/class/infiniband/*/hw_rev",
    "/sys/class/infiniband/*/parent",
    "/sys/class/infiniband/*/ports/*/state",
    "/sys/class/infiniband/*/ports/*/phys_state",
    "/sys/class/infiniband/*/ports/*/rate",
    "/sys/class/infiniband/*/ports/*/link_layer",
    "/sys/class/infiniband/*/ports/*/lid",
    "/sys/class/infiniband/*/ports/*/sm_lid",
    "/sys/class/infiniband/*/ports/*/cap_mask",
    "/sys/class/infiniband/*/ports/*/pkeys/0",
    "/sys/class/infiniband_verbs/*/ibdev",
    "/sys/class/infiniband_verbs/*/abi_version",
];

/// RDMA devices and ports by `/sys/class/infiniband`.
pub const PROBE: Probe = Probe {
    name: "linux.rdma-sysfs",
    title: "RDMA devices and ports (sysfs)",
    privilege_adds: "",
    pace: Pace::Fast,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.rdma-sysfs", read: Read::Files(FILES) },
        Source { name: "linux.rdma-links", read: Read::Command { argv: LINKS, keep: None } },
    ],
    parse,
};

/// Files of a device and what they tell.
const DEVICE_FILES: [(&str, Attribute); 8] = [
    ("node_type", Attribute::NodeType),
    ("fw_ver", Attribute::Firmware),
    ("node_guid", Attribute::NodeGuid),
    ("sys_image_guid", Attribute::SystemImageGuid),
    ("node_desc", Attribute::NodeDescription),
    ("board_id", Attribute::BoardId),
    ("hca_type", Attribute::HardwareType),
    ("hw_rev", Attribute::HardwareRevision),
];

/// Files of a port and what they tell.
const PORT_FILES: [(&str, Attribute); 8] = [
    ("state", Attribute::PortState),
    ("phys_state", Attribute::PhysicalState),
    ("rate", Attribute::PortRate),
    ("link_layer", Attribute::LinkLayer),
    ("lid", Attribute::Lid),
    ("sm_lid", Attribute::SubnetManagerLid),
    ("cap_mask", Attribute::CapabilityMask),
    ("pkeys/0", Attribute::PartitionKey),
];

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [source, links_source, ..] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let files = Files::new(source, FILES);
    let links = Links::of(links_source);
    let mut devices: BTreeSet<&str> = BTreeSet::new();
    let mut ports: BTreeSet<(&str, u32)> = BTreeSet::new();
    for (path, _) in files.all() {
        if let Some((device, rest)) = device_path(path) {
            devices.insert(device);
            if let Some((port, _)) = port_path(rest) {
                ports.insert((device, port));
            }
        }
    }
    // A pattern that matches nothing makes the read end with an error: without RDMA that is how it should end.
    let broken =
        if devices.is_empty() { source.trouble("grep", "").filter(|_| !only_absent(&files, source)) } else { None };
    facts.push(if let Some(state) = broken {
        source.fact(Entity::Guest, Attribute::RdmaPresence, state, 0)
    } else {
        let sentence = presence(links.class, devices.len(), ports.len());
        source.known(Entity::Guest, Attribute::RdmaPresence, sentence, 0)
    });
    for device in &devices {
        let driver = family(&links, &files, device);
        device_facts(source, links_source, &files, &links, device, driver, &mut facts);
    }
    for (device, port) in ports {
        port_facts(source, &files, device, port, family(&links, &files, device), &mut facts);
    }
    facts
}

/// True if all that went wrong is that there are no such files.
fn only_absent(files: &Files<'_>, source: &Observation) -> bool {
    matches!(source.outcome, crate::fabric::Outcome::Exit(1 | 2))
        && files.errors().next().is_some()
        && files.errors().all(|(_, missing)| *missing == Missing::Absent)
}

fn device_facts(
    source: &Observation,
    links_source: &Observation,
    files: &Files<'_>,
    links: &Links<'_>,
    device: &str,
    driver: Option<&str>,
    facts: &mut Vec<Fact>,
) {
    let entity = Entity::RdmaDevice(Text::new(device));
    for (file, attribute) in DEVICE_FILES {
        let path = format!("{CLASS}{device}/{file}");
        let (line, state) = match files.first(&path) {
            Some((line, "")) => (line, State::Empty),
            Some((line, value)) => (line, State::Known(device_value(attribute, value))),
            None => match files.failure(&path, "the properties of RDMA devices") {
                Some(state) => (0, state),
                // The kernel makes these two for every device; a file of no length prints no line.
                None if matches!(file, "node_desc" | "fw_ver") => (0, State::Empty),
                None => (0, State::NotPublished(Text::new(driver.unwrap_or("this driver")))),
            },
        };
        facts.push(source.fact(entity.clone(), attribute, state, line));
    }
    let software = || State::NotPublished(Text::new(&format!("{} (a software device)", driver.unwrap_or("it"))));
    let trouble = || {
        links_source
            .trouble("stat", "the driver of RDMA devices")
            .unwrap_or_else(|| State::Failed(Text::new("the link to the device could not be read")))
    };
    let (line, function) = match links.function(device) {
        Some((line, function)) => (line, State::Known(Value::from(function))),
        None if links.is_software(device) => (0, software()),
        None => (0, trouble()),
    };
    facts.push(links_source.fact(entity.clone(), Attribute::PciAddress, function, line));
    let (line, named) = match (links.driver(device), driver) {
        (Some((line, driver)), _) => (line, State::Known(Value::from(driver))),
        (None, Some(driver)) => (0, State::Known(Value::from(driver))),
        (None, None) => (0, trouble()),
    };
    facts.push(links_source.fact(entity.clone(), Attribute::Driver, named, line));
    verbs_facts(source, files, device, &entity, facts);
}

/// Facts of the verbs node that belongs to a device.
fn verbs_facts(source: &Observation, files: &Files<'_>, device: &str, entity: &Entity, facts: &mut Vec<Fact>) {
    let node = files.matching("/sys/class/infiniband_verbs/*/ibdev").find_map(|(path, node)| {
        let (line, value) = files.line(path).ok()?;
        (value == device).then_some((node, line))
    });
    let Some((node, line)) = node else {
        let none = || State::NotPublished(Text::new("the kernel (no verbs node: is ib_uverbs loaded?)"));
        facts.push(source.fact(entity.clone(), Attribute::VerbsNode, none(), 0));
        return;
    };
    facts.push(source.known(entity.clone(), Attribute::VerbsNode, node, line));
    if let Ok((line, value)) = files.line(&format!("/sys/class/infiniband_verbs/{node}/abi_version")) {
        let state = match value.parse::<u64>() {
            Ok(version) => State::Known(Value::from(version)),
            Err(_) => not_a("number", value),
        };
        facts.push(source.fact(entity.clone(), Attribute::VerbsAbi, state, line));
    }
}

fn port_facts(
    source: &Observation,
    files: &Files<'_>,
    device: &str,
    port: u32,
    driver: Option<&str>,
    facts: &mut Vec<Fact>,
) {
    let entity = Entity::port(device, port);
    let path = |file: &str| format!("{CLASS}{device}/ports/{port}/{file}");
    for (file, attribute) in PORT_FILES {
        let path = path(file);
        let (line, state) = match files.first(&path) {
            Some((line, "")) => (line, State::Empty),
            Some((line, value)) => (line, port_value(attribute, value)),
            None => match files.failure(&path, "the properties of RDMA ports") {
                Some(state) => (0, state),
                None => (0, State::NotPublished(Text::new(driver.unwrap_or("this driver")))),
            },
        };
        facts.push(source.fact(entity.clone(), attribute, state, line));
    }
    let read = |file: &str| files.first(&path(file)).map(|(_, value)| value);
    if let Some((line, rate)) = files.first(&path("rate")) {
        let state = ceiling(driver, rate, read("link_layer"), read("state"));
        facts.push(source.fact(entity, Attribute::Ceiling, state, line));
    }
}

/// One property of a device, worded as `rdma` words it too.
fn device_value(attribute: Attribute, value: &str) -> Value {
    match attribute {
        Attribute::NodeType => Value::from(node_type(numbered(value)).as_str()),
        _ => Value::from(value),
    }
}

/// `1: CA` of sysfs and `ca` of `rdma` are the same word.
pub(super) fn node_type(word: &str) -> String {
    word.to_ascii_uppercase().replace('_', " ")
}

/// The word behind a number, `4: ACTIVE` to `ACTIVE`.
pub(super) fn numbered(value: &str) -> &str {
    match value.split_once(':') {
        Some((number, word)) if number.trim().bytes().all(|byte| byte.is_ascii_digit()) => word.trim(),
        _ => value.trim(),
    }
}

fn port_value(attribute: Attribute, value: &str) -> State<Value> {
    match attribute {
        Attribute::PortState => State::Known(PortState::from_word(numbered(value)).into()),
        Attribute::PhysicalState => State::Known(PhysicalState::from_word(numbered(value)).into()),
        Attribute::LinkLayer => State::Known(LinkLayer::from_word(value).into()),
        Attribute::PortRate => rate(value).map_or_else(|| not_a("rate", value), |rate| State::Known(rate.into())),
        Attribute::Lid | Attribute::SubnetManagerLid => {
            let digits = value.strip_prefix("0x").unwrap_or(value);
            match u64::from_str_radix(digits, 16) {
                Ok(lid) if !digits.starts_with('+') => State::Known(Value::from(lid)),
                _ => not_a("local identifier", value),
            }
        }
        _ => State::Known(Value::from(value)),
    }
}

fn not_a(what: &str, value: &str) -> State<Value> {
    State::Failed(Text::new(&format!("{value:?} is not a {what}")))
}

/// Bits per second of `100 Gb/sec (4X EDR)`.
pub fn rate(text: &str) -> Option<u64> {
    let number = text.trim().split_once("Gb/sec")?.0.trim();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let nanos: u64 = format!("{fraction:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// The rate that traffic can really reach, where the port tells it honestly: never for software devices and PVRDMA,
/// never for a port that is not active (drivers fill in a default), and never where the kernel's words for the slowest
/// link stand for "unknown".
fn ceiling(driver: Option<&str>, text: &str, link_layer: Option<&str>, state: Option<&str>) -> State<Value> {
    let unknown = |why: &str| State::NotObservable(Text::new(why));
    match driver {
        Some("rxe" | "rdma_rxe" | "siw") => {
            return unknown("a software device has no link rate of its own; the network under it sets the limit");
        }
        Some("vmw_pvrdma") => {
            return unknown(
                "the rate in a PVRDMA guest is the hypervisor's word; the host's RDMA device has the real one",
            );
        }
        Some(_) => {}
        None => return unknown("the driver could not be read, so the rate may be a virtual one"),
    }
    if state.is_some_and(|state| PortState::from_word(numbered(state)) != PortState::Active) {
        return unknown("the port is not active; the rate it shows is a default");
    }
    let Some(rate) = rate(text) else { return not_a("rate", text) };
    let ethernet = link_layer.is_none_or(|layer| LinkLayer::from_word(layer) != LinkLayer::InfiniBand);
    if ethernet && rate == 2_500_000_000 {
        return unknown("2.5 Gb/sec (1X SDR) is what the kernel prints for a speed it does not know");
    }
    State::Known(rate.into())
}

/// The RoCE path MTU that follows from the MTU of the netdev: what is left of it after the longest headers of the
/// transport (96 bytes), rounded down to a size that InfiniBand knows. `None` if not even 256 bytes are left.
///
/// The rule is the kernel's own (`iboe_get_mtu` in `include/rdma/ib_addr.h`).
pub fn roce_mtu(netdev_mtu: u64) -> Option<u64> {
    let left = netdev_mtu.checked_sub(96)?;
    [4096, 2048, 1024, 512, 256].into_iter().find(|size| *size <= left)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::linux::rdma_testing::{known, no_rdma, state, sysfs};
    use crate::probe::testing::{CASES, assert_clean, mutated_texts};

    const PVRDMA: &str = include_str!("../../../tests/fixtures/pvrdma-guest/14-sysfs-values.txt");
    const SOFT_ROCE: &str = include_str!("../../../tests/fixtures/soft-roce/14-sysfs-values.txt");
    const PVRDMA_LINKS: &str = "'/sys/class/infiniband'\n\
        '/sys/class/infiniband/rocep0s16f1/device' -> '../../../0000:00:10.1'\n\
        '/sys/class/infiniband/rocep0s16f1/device/driver' -> '../../../../bus/pci/drivers/vmw_pvrdma'\n";
    const SOFT_LINKS: &str = "'/sys/class/infiniband'\n";

    fn read(values: &str, links: &str) -> Vec<Fact> {
        parse(&[Arc::new(sysfs(values)), Arc::new(Observation::of_text("linux.rdma-links", links))])
    }

    #[test]
    fn a_pvrdma_device_is_known_by_its_driver_and_its_rate_is_not_believed() {
        let facts = read(PVRDMA, PVRDMA_LINKS);
        let device = Entity::RdmaDevice(Text::new("rocep0s16f1"));
        let port = Entity::port("rocep0s16f1", 1);
        assert_eq!(known(&facts, &device, Attribute::Driver), "vmw_pvrdma");
        assert_eq!(known(&facts, &device, Attribute::PciAddress), "0000:00:10.1");
        assert_eq!(known(&facts, &device, Attribute::NodeType), "CA");
        assert_eq!(known(&facts, &device, Attribute::Firmware), "0.0.14");
        assert_eq!(known(&facts, &device, Attribute::HardwareType), "VMW_PVRDMA-1.0.1.0-k");
        assert_eq!(known(&facts, &device, Attribute::SystemImageGuid), "0000:0000:0000:0000");
        assert_eq!(known(&facts, &port, Attribute::PortState), "ACTIVE");
        assert_eq!(known(&facts, &port, Attribute::PhysicalState), "LINK_UP");
        assert_eq!(known(&facts, &port, Attribute::LinkLayer), "Ethernet");
        assert_eq!(known(&facts, &port, Attribute::PortRate), "2500000000");
        assert_eq!(known(&facts, &port, Attribute::Lid), "0");
        assert!(
            matches!(state(&facts, &port, Attribute::Ceiling), Some(State::NotObservable(why)) if why.contains("PVRDMA"))
        );
        assert_eq!(known(&facts, &Entity::Guest, Attribute::RdmaPresence), "1 device, 1 port");
    }

    #[test]
    fn a_soft_roce_device_has_no_function_no_board_and_no_honest_rate() {
        let facts = read(SOFT_ROCE, SOFT_LINKS);
        let device = Entity::RdmaDevice(Text::new("rxe0"));
        assert_eq!(known(&facts, &device, Attribute::Driver), "rxe");
        assert_eq!(state(&facts, &device, Attribute::Firmware), Some(State::Empty));
        assert_eq!(state(&facts, &device, Attribute::BoardId), Some(State::NotPublished(Text::new("rxe"))));
        assert_eq!(
            state(&facts, &device, Attribute::PciAddress),
            Some(State::NotPublished(Text::new("rxe (a software device)")))
        );
        assert!(matches!(state(&facts, &Entity::port("rxe0", 1), Attribute::Ceiling), Some(State::NotObservable(_))));
    }

    #[test]
    fn no_rdma_is_a_normal_state_with_a_sentence() {
        let links = Observation::of_text("linux.rdma-links", "")
            .with_stderr("stat: cannot statx '/sys/class/infiniband': No such file or directory\n")
            .with_outcome(crate::fabric::Outcome::Exit(1));
        let facts = parse(&[Arc::new(no_rdma()), Arc::new(links)]);
        assert_eq!(facts.len(), 1);
        assert_eq!(
            known(&facts, &Entity::Guest, Attribute::RdmaPresence),
            "no RDMA: the kernel's RDMA core (ib_core) is not loaded"
        );
        let short = sysfs("rxe0/node_type: 1: CA\nrxe0/ports/1/state: 4: ACTIVE\n");
        let short = short.with_outcome(crate::fabric::Outcome::TimedOut);
        let facts = parse(&[Arc::new(short), Arc::new(Observation::of_text("linux.rdma-links", SOFT_LINKS))]);
        let device = Entity::RdmaDevice(Text::new("rxe0"));
        assert!(
            matches!(state(&facts, &device, Attribute::BoardId), Some(State::Failed(_))),
            "not reached is no absence"
        );
        assert!(matches!(state(&facts, &Entity::port("rxe0", 1), Attribute::PortRate), Some(State::Failed(_))));
        assert_eq!(known(&facts, &Entity::port("rxe0", 1), Attribute::PortState), "ACTIVE");
        let cut = sysfs("").with_outcome(crate::fabric::Outcome::Cut);
        let facts = parse(&[Arc::new(cut), Arc::new(Observation::of_text("linux.rdma-links", ""))]);
        assert!(matches!(state(&facts, &Entity::Guest, Attribute::RdmaPresence), Some(State::Failed(_))));
    }

    #[test]
    fn hardware_reaches_its_rate_only_where_the_rate_is_honest() {
        let at = |driver, rate, layer, state| ceiling(driver, rate, Some(layer), Some(state)).known().cloned();
        let gbit = |number: u64| Some(Value::Count(number * 1_000_000_000));
        assert_eq!(at(Some("mlx5_core"), "100 Gb/sec (4X EDR)", "Ethernet", "4: ACTIVE"), gbit(100));
        assert_eq!(at(Some("mlx5_core"), "40 Gb/sec (4X QDR)", "Ethernet", "1: DOWN"), None);
        assert_eq!(at(Some("mlx5_core"), "2.5 Gb/sec (1X SDR)", "Ethernet", "4: ACTIVE"), None);
        assert_eq!(
            at(Some("mlx5_core"), "2.5 Gb/sec (1X)", "InfiniBand", "4: ACTIVE"),
            Some(Value::Count(2_500_000_000))
        );
        assert_eq!(at(None, "100 Gb/sec (4X EDR)", "Ethernet", "4: ACTIVE"), None);
        assert_eq!(at(Some("rxe"), "100 Gb/sec (4X EDR)", "Ethernet", "4: ACTIVE"), None);
    }

    #[test]
    fn rates_are_read_exactly() {
        assert_eq!(rate("2.5 Gb/sec (1X SDR)"), Some(2_500_000_000));
        assert_eq!(rate("400 Gb/sec (4X NDR)"), Some(400_000_000_000));
        for wrong in
            ["", "Gb/sec", "-1 Gb/sec", "+1 Gb/sec", "1e9 Gb/sec", "99999999999999 Gb/sec", "100", "1.2.3 Gb/sec"]
        {
            assert_eq!(rate(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_roce_mtu_follows_the_kernels_rule() {
        for (netdev, roce) in [
            (0, None),
            (96, None),
            (351, None),
            (352, Some(256)),
            (1500, Some(1024)),
            (4191, Some(2048)),
            (4192, Some(4096)),
            (4200, Some(4096)),
            (9000, Some(4096)),
            (u64::MAX, Some(4096)),
        ] {
            assert_eq!(roce_mtu(netdev), roce, "netdev MTU {netdev}");
        }
        // What a real device said with an MTU of 1500.
        let said = include_str!("../../../tests/fixtures/public/43-ibv_devinfo-renamed-device-active-mtu-1024.txt");
        let active = said.lines().find_map(|line| line.trim().strip_prefix("active_mtu:")).expect("it is there");
        assert_eq!(active.split_whitespace().next(), Some("1024"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]
        #[test]
        fn survives_anything(
            values in mutated_texts(&[&sysfs(PVRDMA).stdout, &sysfs(SOFT_ROCE).stdout]),
            errors in mutated_texts(&[&sysfs(SOFT_ROCE).stderr, ""]),
            links in mutated_texts(&[PVRDMA_LINKS, SOFT_LINKS]),
        ) {
            let source = Observation::of_text("linux.rdma-sysfs", &values).with_stderr(&errors);
            let facts = parse(&[Arc::new(source), Arc::new(Observation::of_text("linux.rdma-links", &links))]);
            prop_assert!(facts.iter().any(|fact| fact.attribute == Attribute::RdmaPresence));
            assert_clean(&facts)?;
        }
    }
}
