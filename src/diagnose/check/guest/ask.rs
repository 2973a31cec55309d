//! The questions that the checks of guests share: which ports matter, which two ports of a pair face each other, what is
//! on their way, and what is lost at the next start.

use std::net::IpAddr;

use crate::diagnose::check::{DeviceKind, Judged, Lack, Port, Reached, Scene};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId, Gid, GidType, PortState, State, TargetId, Text, Value};
pub use crate::tune::advice::holds;

/// RDMA ports of all guests.
pub fn ports(scene: &Scene<'_>) -> Vec<Port> {
    scene.guests().flat_map(|guest| scene.ports(guest)).collect()
}

/// Guests that have at least one RDMA port.
pub fn guests<'a>(scene: &Scene<'a>) -> Vec<&'a TargetId> {
    scene.guests().filter(|guest| !scene.ports(guest).is_empty()).collect()
}

/// RDMA devices of all guests.
pub fn devices(scene: &Scene<'_>) -> Vec<EntityId> {
    scene.guests().flat_map(|guest| devices_of(scene, guest)).collect()
}

/// RDMA devices of a guest.
pub fn devices_of(scene: &Scene<'_>, guest: &TargetId) -> Vec<EntityId> {
    let devices = scene.fabric.of_kind(guest, Entity::RdmaDevice(Text::new("")));
    devices.map(|entity| EntityId::new(guest, entity.clone())).collect()
}

/// PCI functions of all guests that are of this kind.
pub fn functions(scene: &Scene<'_>, kind: &str) -> Vec<EntityId> {
    scene.guests().flat_map(|guest| functions_of(scene, guest, kind)).collect()
}

/// The same of one guest.
pub fn functions_of(scene: &Scene<'_>, guest: &TargetId, kind: &str) -> Vec<EntityId> {
    let functions = scene.fabric.of_kind(guest, Entity::PciFunction(Text::new("")));
    functions
        .map(|entity| EntityId::new(guest, entity.clone()))
        .filter(|id| scene.text(id, Attribute::FunctionKind) == Some(kind))
        .collect()
}

/// The driver behind a device.
pub fn driver<'a>(scene: &Scene<'a>, device: &EntityId) -> &'a str {
    scene.text(device, Attribute::Driver).unwrap_or_default()
}

/// What an RDMA device is, by its driver where there is no function.
pub fn kind(scene: &Scene<'_>, device: &EntityId) -> DeviceKind {
    match scene.device_kind(device) {
        DeviceKind::Unclear if matches!(driver(scene, device), "rxe" | "siw") => DeviceKind::Software,
        kind => kind,
    }
}

/// True if a port carries, or is meant to carry, something: it is the only one, or its interface has an address, or it is
/// a PVRDMA or InfiniBand port, or a variable of the login names its device. All others may lie idle on purpose.
pub fn is_in_use(scene: &Scene<'_>, port: &Port) -> bool {
    let guest = &port.id.target;
    let has_address = || port.netdev.as_ref().is_some_and(|netdev| !addresses(scene, netdev).is_empty());
    let is_named = || {
        let device = port.device.entity.name();
        ["UCX_NET_DEVICES", "NCCL_IB_HCA"].iter().any(|name| {
            variable(scene, guest, name)
                .is_some_and(|value| value.split([',', ':', '=', '^']).any(|word| word.trim() == device))
        })
    };
    port.kind == DeviceKind::Pvrdma || scene.ports(guest).len() == 1 || has_address() || is_named()
}

/// A variable of the login.
pub fn variable<'a>(scene: &Scene<'a>, guest: &TargetId, name: &str) -> Option<&'a str> {
    scene.text(&variable_id(guest, name), Attribute::VariableValue)
}

/// A variable of the login as a thing.
pub fn variable_id(guest: &TargetId, name: &str) -> EntityId {
    EntityId::new(guest, Entity::Variable(Text::new(name)))
}

/// True if a port is ACTIVE.
pub fn is_active(scene: &Scene<'_>, port: &Port) -> bool {
    matches!(
        scene.value(&port.id, Attribute::PortState),
        Some(Value::PortState(PortState::Active | PortState::ActiveDefer))
    )
}

/// Addresses of an interface that reach beyond its own link, with the length of their prefix.
pub fn addresses(scene: &Scene<'_>, netdev: &EntityId) -> Vec<(IpAddr, u8)> {
    let listed = scene.list(netdev, Attribute::Addresses).unwrap_or_default();
    listed
        .iter()
        .filter_map(|text| {
            let (address, length) = text.as_str().split_once('/')?;
            Some((address.parse().ok()?, length.parse().ok()?))
        })
        .filter(|(address, _)| match address {
            IpAddr::V4(address) => !address.is_link_local() && !address.is_loopback(),
            IpAddr::V6(address) => !address.is_unicast_link_local() && !address.is_loopback(),
        })
        .collect()
}

/// One filled entry of a GID table.
#[derive(Clone, Debug)]
pub struct GidEntry {
    /// The entry.
    pub id: EntityId,
    /// Its place in the table.
    pub index: u32,
    /// The identifier.
    pub gid: Gid,
    /// Which RoCE it speaks; `None` if that could not be read.
    pub kind: Option<GidType>,
}

impl GidEntry {
    /// True for RoCE v2 over IPv4, what applications look for first.
    pub fn is_v2_of_ipv4(&self) -> bool {
        self.kind == Some(GidType::RoceV2) && self.gid.ipv4().is_some()
    }

    /// In words: `RoCE v2 192.168.100.11`.
    pub fn words(&self) -> String {
        let kind = self.kind.as_ref().map_or("unknown type", GidType::word);
        match self.gid.ipv4() {
            Some(address) => format!("{kind} {address}"),
            None => format!("{kind} {}", self.gid),
        }
    }
}

/// The filled entries of the GID table of a port, by index.
pub fn gids(scene: &Scene<'_>, port: &Port) -> Vec<GidEntry> {
    let Entity::RdmaPort { device, port: number } = &port.id.entity else { return Vec::new() };
    let first = Entity::Gid { device: device.clone(), port: *number, index: 0 };
    let mut entries: Vec<GidEntry> = scene
        .fabric
        .of_kind(&port.id.target, first)
        .filter_map(|entity| {
            let Entity::Gid { device: of, port: at, index } = entity else { return None };
            let id = EntityId::new(&port.id.target, entity.clone());
            let Some(Value::Gid(gid)) = scene.value(&id, Attribute::GidValue) else { return None };
            let kind = match scene.value(&id, Attribute::GidType) {
                Some(Value::GidType(kind)) => Some(kind.clone()),
                _ => None,
            };
            (of == device && at == number).then_some(GidEntry { id, index: *index, gid: *gid, kind })
        })
        .collect();
    entries.sort_by_key(|entry| entry.index);
    entries
}

/// Why the GID table of a port cannot be judged; `None` if it was read.
pub fn gids_unread(scene: &Scene<'_>, port: &Port) -> Option<(Lack, String)> {
    let refused = |id: &EntityId| match scene.fabric.reading(id, Attribute::GidValue).map(|reading| &reading.state) {
        None | Some(State::Known(_) | State::Empty) => None,
        Some(_) => scene.lack(id, Attribute::GidValue),
    };
    let guest = EntityId::new(&port.id.target, Entity::Guest);
    refused(&port.id).or_else(|| refused(&guest)).or_else(|| scene.unread(&port.id.target, "linux.gids"))
}

/// The port itself with what belongs to it in the guest: for causes, which must not stand on anything shared with others.
pub fn here(scene: &Scene<'_>, port: &Port) -> Vec<EntityId> {
    let mut here = vec![port.id.clone(), port.device.clone()];
    here.extend(port.netdev.clone());
    if let Some(address) = scene.text(&port.device, Attribute::PciAddress) {
        here.push(EntityId::new(&port.id.target, Entity::PciFunction(address.into())));
    }
    here
}

/// The port with all that is below it, down to the wire: for symptoms.
pub fn way(scene: &Scene<'_>, port: &Port) -> Vec<EntityId> {
    let mut way = here(scene, port);
    let chain = scene.chain_of(&port.device).or_else(|| scene.chain_of(port.netdev.as_ref()?));
    way.extend(chain.map(|chain| scene.way_of(chain)).unwrap_or_default());
    way.sort();
    way.dedup();
    way
}

/// The ports of a guest as places: for causes that concern all of them.
pub fn all_here(scene: &Scene<'_>, guest: &TargetId) -> Vec<EntityId> {
    scene.ports(guest).iter().flat_map(|port| here(scene, port)).collect()
}

/// Two ports that face each other.
#[derive(Clone, Debug)]
pub struct Facing {
    /// The port of the first guest.
    pub one: Port,
    /// The port of the second one.
    pub other: Port,
}

impl Facing {
    /// Both, each with the one across.
    pub fn sides(&self) -> [(&Port, &Port); 2] {
        [(&self.one, &self.other), (&self.other, &self.one)]
    }

    /// The pair in words: `pv-a and pv-b`.
    pub fn names(&self) -> String {
        format!("{} and {}", self.one.id.target, self.other.id.target)
    }

    /// What is on the way of both.
    pub fn way(&self, scene: &Scene<'_>) -> Vec<EntityId> {
        [way(scene, &self.one), way(scene, &self.other)].concat()
    }

    /// Both ports with what belongs to them in their guests.
    pub fn here(&self, scene: &Scene<'_>) -> Vec<EntityId> {
        [here(scene, &self.one), here(scene, &self.other)].concat()
    }
}

/// Pairs of guests, each with the ports that face each other; a port whose partner tells nothing stands alone.
pub fn facing(scene: &Scene<'_>) -> Vec<Result<Facing, Box<Judged>>> {
    let mut found = Vec::new();
    for (one, other) in scene.pairs {
        match (candidates(scene, one), candidates(scene, other)) {
            (ones, others) if !ones.is_empty() && !others.is_empty() => {
                let pairs = || ones.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
                let best = pairs().find(|(one, other)| meet(scene, one, other)).or_else(|| pairs().next());
                found.extend(best.map(|(one, other)| Ok(Facing { one: one.clone(), other: other.clone() })));
            }
            (ones, others) => {
                let (known, silent) = if ones.is_empty() { (others.first(), one) } else { (ones.first(), other) };
                // A guest that was read and has no port is another check's finding.
                let unread = scene.machines.get(silent).is_some_and(|machine| machine.reached != Reached::Yes);
                if let (Some(port), true) = (known, unread) {
                    let (lack, why) = scene.silence(silent);
                    let decide = format!("an answer of {silent}: rdmascope doctor {silent}");
                    found.push(Err(Box::new(Judged::unknown(&port.id, lack, why, decide))));
                }
            }
        }
    }
    found
}

/// The RoCE or InfiniBand ports of a guest that a peer may use: those in use, the active ones first.
fn candidates(scene: &Scene<'_>, guest: &TargetId) -> Vec<Port> {
    let mut ports: Vec<Port> = scene.ports(guest).into_iter().filter(|port| is_in_use(scene, port)).collect();
    ports.sort_by_key(|port| !is_active(scene, port));
    ports
}

/// True if the interfaces of two ports share a network.
fn meet(scene: &Scene<'_>, one: &Port, other: &Port) -> bool {
    let of = |port: &Port| port.netdev.as_ref().map(|netdev| addresses(scene, netdev)).unwrap_or_default();
    let others = of(other);
    of(one).iter().any(|network| others.iter().any(|(address, _)| holds(*network, *address)))
}

/// What cannot be told of one property, and the command that tells it.
pub fn untold(scene: &Scene<'_>, id: &EntityId, attribute: Attribute, source: &str, decide: &str) -> Judged {
    let (lack, why) = scene
        .unread(&id.target, source)
        .or_else(|| scene.lack(id, attribute))
        .unwrap_or_else(|| (Lack::NotObservable, format!("{} is empty", attribute.label())));
    Judged::unknown(id, lack, format!("{id}: {why}"), decide)
}

/// `ip link set dev X mtu N` and the like: one command.
pub fn run(words: &[&str]) -> Vec<Step> {
    vec![Step::run(words)]
}

/// How a setting of an interface is made to last, where the files that set it tell which tool is used: what to write
/// where, and the command that makes it so.
pub fn lasting(scene: &Scene<'_>, netdev: &EntityId, setting: Lasting<'_>) -> Vec<Step> {
    let said = |attribute| scene.text(netdev, attribute);
    let texts = [said(Attribute::MtuPersistence), said(Attribute::AddressPersistence)];
    let Some(file) = texts.into_iter().flatten().find_map(|text| {
        let file = text.split("; ").next()?.rsplit_once(" in ")?.1;
        Some(file.split(", which").next().unwrap_or(file))
    }) else {
        return Vec::new();
    };
    let name = netdev.entity.name();
    let (line, apply): (String, Option<Vec<&str>>) = match (file, setting) {
        (file, Lasting::Mtu(mtu)) if file.starts_with("/etc/netplan/") => {
            (format!("mtu: {mtu} (under {name})"), Some(vec!["netplan", "apply"]))
        }
        (file, Lasting::Address(address)) if file.starts_with("/etc/netplan/") => {
            (format!("addresses: [{address}] (under {name})"), Some(vec!["netplan", "apply"]))
        }
        (file, Lasting::Mtu(mtu)) if file.contains("/NetworkManager/") => {
            (format!("mtu={mtu} (under [ethernet])"), Some(vec!["nmcli", "connection", "reload"]))
        }
        (file, Lasting::Address(address)) if file.contains("/NetworkManager/") => {
            (format!("address1={address} (under [ipv4])"), Some(vec!["nmcli", "connection", "reload"]))
        }
        (file, Lasting::Mtu(mtu)) if file.contains("/ifcfg-") => (format!("MTU={mtu}"), None),
        (file, Lasting::Address(address)) if file.contains("/ifcfg-") => {
            (format!("IPADDR={address} (with PREFIX=)"), None)
        }
        (file, Lasting::Mtu(mtu)) if file.starts_with("/etc/network/interfaces") => {
            (format!("mtu {mtu} (under iface {name})"), None)
        }
        (file, Lasting::Address(address)) if file.starts_with("/etc/network/interfaces") => {
            (format!("address {address} (under iface {name} inet static)"), None)
        }
        (file, Lasting::Mtu(mtu)) if file.contains("/systemd/network/") => {
            (format!("MTUBytes={mtu} (under [Link])"), Some(vec!["networkctl", "reload"]))
        }
        (file, Lasting::Address(address)) if file.contains("/systemd/network/") => {
            (format!("Address={address} (under [Network])"), Some(vec!["networkctl", "reload"]))
        }
        _ => return Vec::new(),
    };
    let mut steps = vec![Step::ByHand(format!("in {file}: {line}"))];
    steps.extend(apply.map(|words| Step::run(&words)));
    steps
}

/// The remedy that makes a setting last; none where the files do not tell which tool sets it.
pub fn make_last(steps: Vec<Step>, verified: &[&'static str]) -> Option<Cure> {
    let cure = Cure::by_hand("Then make it last", steps).verified_by(verified);
    (!cure.steps.is_empty()).then_some(cure)
}

/// A setting that is to last.
#[derive(Clone, Copy, Debug)]
pub enum Lasting<'a> {
    /// The MTU.
    Mtu(u64),
    /// An address with the length of its prefix.
    Address(&'a str),
}

/// The major and minor number of a release: (6, 1) of `6.1.0-57-amd64`.
pub fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A file with this text (as `printf` takes it) where there is none yet, and the way back. A file of that name with other
/// lines is somebody's work: it is neither written over nor taken away.
pub fn new_file(file: &str, text: &str) -> (Step, Step) {
    let write = format!("set -C; printf '{text}' > {file}");
    let remove = format!("if printf '{text}' | cmp -s - {file}; then rm -f {file}; fi");
    (Step::run(&["sh", "-c", &write]), Step::run(&["sh", "-c", &remove]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Site, says};

    #[test]
    fn networks_hold_addresses_of_their_own_family() {
        let of = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert!(holds((of("192.168.100.11"), 24), of("192.168.100.99")));
        assert!(!holds((of("192.168.100.11"), 24), of("192.168.101.99")));
        assert!(holds((of("192.168.100.11"), 0), of("10.0.0.1")));
        assert!(holds((of("2001:db8::1"), 64), of("2001:db8::ffff")));
        assert!(!holds((of("2001:db8::1"), 0), of("10.0.0.1")));
        assert!(!holds((of("10.0.0.1"), 255), of("10.0.0.2")), "a length that cannot be is the longest");
    }

    #[test]
    fn the_ports_of_a_pair_are_those_that_share_a_network() {
        let site = Site::sound();
        let joined = site.joined();
        let scene = site.scene(&joined);
        let found: Vec<Facing> = facing(&scene).into_iter().filter_map(Result::ok).collect();
        assert_eq!(found.iter().map(Facing::names).collect::<Vec<_>>(), ["pv-a and pv-b", "hca-a and hca-b"]);
        assert!(found[0].way(&scene).len() > 8, "down to the uplink");
    }

    #[test]
    fn settings_last_in_the_file_that_is_there() {
        let lasting_in = |site: &Site| {
            let joined = site.joined();
            let netdev = EntityId::new(&TargetId::new("pv-a"), Entity::Netdev(Text::new("ens192")));
            lasting(&site.scene(&joined), &netdev, Lasting::Mtu(9000)).iter().map(Step::shown).collect::<Vec<_>>()
        };
        assert_eq!(lasting_in(&Site::sound()), ["by hand: in /etc/network/interfaces: mtu 9000 (under iface ens192)"]);
        let netplan = "/etc/netplan/50-roce.yaml:  ethernets:\n/etc/netplan/50-roce.yaml:    ens192:\n\
                       /etc/netplan/50-roce.yaml:      addresses: [192.168.100.11/24]\n";
        let site = Site::sound()
            .with("pv-a", says("linux.persistence-ifupdown", ""))
            .with("pv-a", says("linux.persistence-netplan", netplan));
        assert_eq!(
            lasting_in(&site),
            ["by hand: in /etc/netplan/50-roce.yaml: mtu: 9000 (under ens192)", "netplan apply"]
        );
        let site = Site::sound().with("pv-a", says("linux.persistence-ifupdown", ""));
        assert!(lasting_in(&site).is_empty(), "no tool is known");
    }

    #[test]
    fn releases_are_read_from_their_front() {
        assert_eq!(release("6.1.0-57-amd64"), Some((6, 1)));
        assert_eq!(release("3.10.0-1160.el7.x86_64"), Some((3, 10)));
        assert_eq!(release("x"), None);
    }
}
