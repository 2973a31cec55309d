//! Makes a fingerprint from what is known of some things. Which things belong to a pair of guests is found out above, where
//! guests are joined with their VMs, hosts and switches; what of them is kept is what a comparison of settings compares.

use super::{Fingerprint, Mark};
use crate::fabric::{Attribute, Entity, EntityId, Fabric, State, TargetId, Text, Value};
use crate::tune::settings::{RESTLESS, is_kept, is_secret, is_unread};

/// Properties that are names, or follow from what else is kept: they explain no measurement.
const NO_REASON_FOR_A_RATE: [Attribute; 26] = [
    Attribute::Hostname,
    Attribute::MachineId,
    Attribute::BiosUuid,
    Attribute::LoginUserId,
    Attribute::Privileged,
    Attribute::ReadByRoot,
    Attribute::KernelLog,
    Attribute::ForeignQueuePairs,
    Attribute::NodeGuid,
    Attribute::SystemImageGuid,
    Attribute::NodeDescription,
    Attribute::HardwareAddress,
    Attribute::Addresses,
    Attribute::Lid,
    Attribute::OwnKeys,
    Attribute::PrivateKeysAlone,
    Attribute::HostKeyChecking,
    Attribute::AuthorizedKeys,
    Attribute::KnownHostKeys,
    Attribute::HostKeys,
    Attribute::HostUuid,
    Attribute::VmNumber,
    Attribute::PortId,
    Attribute::SettingDescription,
    Attribute::SettingDefault,
    Attribute::InstallDate,
];

/// A thing that belongs to what is measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its layer.
    pub layer: &'static str,
    /// What it is to the pair: `vm1`, `host of vm1`, `uplink of vm1`. Not where it is: after a move the same part is played
    /// by another thing.
    pub role: String,
    /// The thing.
    pub id: EntityId,
}

impl Part {
    /// A thing in its part.
    pub fn new(layer: &'static str, role: impl Into<String>, id: EntityId) -> Self {
        Self { layer, role: role.into(), id }
    }
}

/// The parts of a guest itself: the system, its RDMA devices with what is below and above them, packages and settings.
pub fn guest_parts(fabric: &Fabric, guest: &TargetId) -> Vec<Part> {
    let below = fabric.netdevs_under_ports(guest);
    let rdma_functions: Vec<&str> = fabric
        .of_kind(guest, Entity::RdmaDevice(Text::new("")))
        .filter_map(|entity| fabric.text(&EntityId::new(guest, entity.clone()), Attribute::PciAddress))
        .collect();
    let is_part = |entity: &Entity| match entity {
        Entity::Netdev(name) => below.contains(&name.as_str()),
        Entity::PciFunction(address) => rdma_functions.contains(&address.as_str()),
        Entity::Guest
        | Entity::RdmaDevice(_)
        | Entity::RdmaPort { .. }
        | Entity::Gid { .. }
        | Entity::NumaNode(_)
        | Entity::Module(_)
        | Entity::ModuleParameter { .. }
        | Entity::Package(_)
        | Entity::Variable(_)
        | Entity::MpiParameter(_)
        | Entity::KernelSetting(_)
        | Entity::AdvancedSetting(_) => true,
        _ => false,
    };
    let parts = fabric.entities(guest).filter(|entity| is_part(entity)).map(|entity| {
        let layer = match entity {
            Entity::Variable(_) | Entity::MpiParameter(_) => "mpi",
            _ => "guest",
        };
        let role = if *entity == Entity::Guest { guest.to_string() } else { format!("{guest} {entity}") };
        Part::new(layer, role, EntityId::new(guest, entity.clone()))
    });
    parts.collect()
}

/// The fingerprint of these things. A property that may hold a secret is left out.
pub fn gather(fabric: &Fabric, parts: &[Part]) -> Fingerprint {
    let mut found = Fingerprint::default();
    for part in parts {
        let Part { layer, role, id } = part;
        for (attribute, reading) in fabric.readings(id) {
            // The lines of a VMX are rewritten by the VM's process and count as measured elsewhere; here they matter.
            let is_vmx = attribute == Attribute::VmxLines;
            if !is_vmx && (!is_kept(&id.entity, attribute) || RESTLESS.contains(&attribute)) {
                continue;
            }
            if NO_REASON_FOR_A_RATE.contains(&attribute) {
                continue;
            }
            let key = format!("{role}: {}", attribute.label());
            match &reading.state {
                State::Known(Value::List(lines)) if is_vmx => {
                    let lines = lines.iter().filter(|line| is_lasting(line)).cloned().collect();
                    found.note(layer, &key, Mark::Listed(lines));
                }
                state if is_secret(&id.entity, state) => {}
                state if is_unread(state) => {
                    found.note(layer, &key, Mark::NotRead(Text::new(&state.why().unwrap_or_default())));
                }
                State::Known(Value::List(items)) => found.note(layer, &key, Mark::Listed(items.clone())),
                State::Known(value) => found.note(layer, &key, Mark::Said(Text::new(&value.to_string()))),
                State::Empty => found.note(layer, &key, Mark::Said(Text::new(""))),
                state => found.note(layer, &key, Mark::Said(Text::new(&state.why().unwrap_or_default()))),
            }
        }
    }
    found
}

/// False for lines of a VMX that its process writes by itself at each start, and for those that may hold a secret.
fn is_lasting(line: &str) -> bool {
    let key = line.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
    let moves =
        ["uuid.", "vc.uuid", "vmotion.", "migrate.", "monitor.phys", "cleanshutdown", "softpoweroff", "checkpoint."];
    let ends = [".generatedaddress", ".generatedaddressoffset", "pcislotnumber", ".redo", "hotplug"];
    !moves.iter().any(|begin| key.starts_with(begin))
        && !ends.iter().any(|end| key.ends_with(end))
        && !crate::tune::settings::may_be_secret(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Fact, Gid, ObservationRef, Reading, Report, SourceId, Timestamp};

    fn fabric(facts: Vec<(Entity, Attribute, State<Value>)>) -> (Fabric, TargetId) {
        let target = TargetId::new("vm1");
        let source = ObservationRef { target: target.clone(), source: SourceId::new("s"), sequence: 1 };
        let reading = |state| Reading { state, at: Timestamp::UNIX_EPOCH, source: source.clone(), line: 1 };
        let facts =
            facts.into_iter().map(|(entity, attribute, state)| Fact { entity, attribute, reading: reading(state) });
        let report = Report {
            target: target.clone(),
            probe: SourceId::new("p"),
            observations: Vec::new(),
            facts: facts.collect(),
        };
        let mut fabric = Fabric::default();
        fabric.apply(&report);
        (fabric, target)
    }

    fn told(found: &Fingerprint) -> Vec<String> {
        let lines = found
            .layers
            .iter()
            .flat_map(|(layer, keys)| keys.iter().map(move |(key, mark)| format!("{layer} {key} = {}", mark.words())));
        lines.collect()
    }

    #[test]
    fn settings_are_kept_and_what_moves_or_names_is_not() {
        let port = Entity::port("rxe0", 1);
        let (fabric, target) = fabric(vec![
            (Entity::Guest, Attribute::KernelRelease, State::Known("6.1.0-57".into())),
            (Entity::Guest, Attribute::Hostname, State::Known("h".into())),
            (Entity::Guest, Attribute::MemoryAvailable, State::Known(Value::Count(5))),
            (Entity::Guest, Attribute::UcxVersion, State::NotInstalled(Text::new("ucx_info"))),
            (Entity::Guest, Attribute::BootId, State::Known("x".into())),
            (port.clone(), Attribute::PortNetdev, State::Known("eth1".into())),
            (port, Attribute::PathMtu, State::Known(Value::Count(1024))),
            (Entity::Netdev(Text::new("eth1")), Attribute::Mtu, State::Known(Value::Count(1500))),
            (Entity::Netdev(Text::new("eth0")), Attribute::Mtu, State::Known(Value::Count(9000))),
            (Entity::Package(Text::new("perftest")), Attribute::Version, State::Known("4.5".into())),
            (Entity::Variable(Text::new("UCX_TOKEN")), Attribute::VariableValue, State::Known("t".into())),
            (
                Entity::Gid { device: Text::new("rxe0"), port: 1, index: 1 },
                Attribute::GidValue,
                State::Known("::ffff:192.168.100.10".parse::<Gid>().expect("a GID").into()),
            ),
        ]);
        let found = gather(&fabric, &guest_parts(&fabric, &target));
        let told = told(&found);
        for expected in [
            "guest vm1: kernel = 6.1.0-57",
            "guest vm1 netdev eth1: MTU = 1500",
            "guest vm1 package perftest: version = 4.5",
            "guest vm1: UCX = not read: ucx_info is not installed",
        ] {
            assert!(told.iter().any(|line| line == expected), "{expected}: {told:#?}");
        }
        assert!(told.iter().any(|line| line.contains("rxe0/1/1") && line.contains("192.168.100.10")), "{told:#?}");
        assert!(told.iter().any(|line| line.contains("rxe0/1") && line.ends_with("= 1024")), "{told:#?}");
        for absent in ["eth0", "TOKEN", "hostname", "boot", "available"] {
            assert!(!told.iter().any(|line| line.contains(absent)), "{absent}: {told:#?}");
        }
    }

    #[test]
    fn lines_of_a_vmx_are_kept_but_for_those_that_move_by_themselves() {
        let vm = Entity::Vm(Text::new("423a"));
        let lines = [
            "memSize = \"4096\"",
            "uuid.location = \"56\"",
            "ethernet0.pciSlotNumber = \"192\"",
            "guestinfo.x = \"s\"",
        ];
        let lines = lines.into_iter().map(Text::new).collect();
        let (fabric, target) = fabric(vec![(vm.clone(), Attribute::VmxLines, State::Known(Value::List(lines)))]);
        let found = gather(&fabric, &[Part::new("vm", "VM of vm1", EntityId::new(&target, vm))]);
        assert_eq!(told(&found), ["vm VM of vm1: VMX lines = memSize = \"4096\""]);
    }
}
