//! What the checks of this layer ask: which guests run jobs together, and what steers their jobs.

use std::collections::BTreeMap;

use crate::diagnose::check::{DeviceKind, Lack, Port, Scene};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId, PortState, TargetId, Text, Value};

/// The guest itself.
pub fn system(guest: &TargetId) -> EntityId {
    EntityId::new(guest, Entity::Guest)
}

/// Guests that run jobs together: those that pairs tie together; where no pair is told, all whose RDMA adapters are of one
/// kind.
pub fn groups<'a>(scene: &Scene<'a>) -> Vec<Vec<&'a TargetId>> {
    let guests: Vec<&TargetId> = scene.guests().collect();
    if scene.pairs.is_empty() {
        let mut by_kind: BTreeMap<DeviceKind, Vec<&TargetId>> = BTreeMap::new();
        for guest in guests {
            if let Some(port) = scene.ports(guest).first() {
                by_kind.entry(port.kind).or_default().push(guest);
            }
        }
        return by_kind.into_values().filter(|group| group.len() > 1).collect();
    }
    let mut group_of: Vec<usize> = (0..guests.len()).collect();
    let place = |name: &TargetId| guests.iter().position(|guest| *guest == name);
    for (one, other) in scene.pairs {
        if let (Some(one), Some(other)) = (place(one), place(other)) {
            let (from, to) = (group_of[one].max(group_of[other]), group_of[one].min(group_of[other]));
            for group in &mut group_of {
                if *group == from {
                    *group = to;
                }
            }
        }
    }
    (0..guests.len())
        .map(|number| (0..guests.len()).filter(|at| group_of[*at] == number).map(|at| guests[at]).collect::<Vec<_>>())
        .filter(|group| group.len() > 1)
        .collect()
}

/// Something that is set: where it stands, and its value.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The variable or parameter.
    pub id: EntityId,
    /// Which of its properties is the value.
    pub attribute: Attribute,
    /// The value.
    pub value: &'a str,
    /// As it is written where it is set: `UCX_TLS=rc_x`.
    pub written: String,
}

impl Setting<'_> {
    /// The words of the list, without blanks.
    pub fn words(&self) -> Vec<&str> {
        self.value.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
    }
}

/// A variable of the login that is set and not empty.
pub fn variable<'a>(scene: &Scene<'a>, guest: &TargetId, name: &str) -> Option<Setting<'a>> {
    let id = EntityId::new(guest, Entity::Variable(Text::new(name)));
    let value = scene.text(&id, Attribute::VariableValue)?.trim();
    let written = format!("{name}={value}");
    (!value.is_empty()).then_some(Setting { id, attribute: Attribute::VariableValue, value, written })
}

/// A parameter of Open MPI that is set to something: as Open MPI itself sees it, else as a variable of the login.
pub fn parameter<'a>(scene: &Scene<'a>, guest: &TargetId, name: &str) -> Option<Setting<'a>> {
    let id = EntityId::new(guest, Entity::MpiParameter(Text::new(name)));
    let of_login = || variable(scene, guest, &format!("OMPI_MCA_{name}"));
    match scene.text(&id, Attribute::SettingValue) {
        Some(value) => match (scene.text(&id, Attribute::ParameterSource), of_login()) {
            (Some("default"), of_login) => of_login,
            (_, Some(setting)) if setting.value == value.trim() => Some(setting),
            _ => {
                let written = format!("{name} = {value}");
                Some(Setting { id, attribute: Attribute::SettingValue, value, written })
            }
        },
        None => of_login(),
    }
}

/// The version of Open MPI on a guest, where it is known to be there.
pub fn open_mpi<'a>(scene: &Scene<'a>, guest: &TargetId) -> Option<&'a str> {
    scene.text(&system(guest), Attribute::OpenMpiVersion)
}

/// True if Open MPI or UCX is known to be there.
pub fn has_mpi(scene: &Scene<'_>, guest: &TargetId) -> bool {
    open_mpi(scene, guest).is_some() || scene.text(&system(guest), Attribute::UcxVersion).is_some()
}

/// True if Open MPI was built with a component: `pml ucx`; `None` if its components are not known.
pub fn has_component(scene: &Scene<'_>, guest: &TargetId, component: &str) -> Option<bool> {
    let list = scene.list(&system(guest), Attribute::MpiComponents)?;
    Some(list.iter().any(|one| one.as_str() == component))
}

/// RDMA ports of adapters, in use or not: none that the kernel makes in software.
pub fn hardware_ports(scene: &Scene<'_>, guest: &TargetId) -> Vec<Port> {
    let is_hardware = |port: &Port| matches!(port.kind, DeviceKind::Pvrdma | DeviceKind::Passthrough);
    scene.ports(guest).into_iter().filter(is_hardware).collect()
}

/// True if a port is active.
pub fn is_active(scene: &Scene<'_>, port: &Port) -> bool {
    matches!(scene.value(&port.id, Attribute::PortState), Some(Value::PortState(PortState::Active)))
}

/// The transports that UCX can open on a guest, each with its device.
pub fn transports<'a>(scene: &Scene<'a>, guest: &TargetId) -> Option<Vec<(&'a str, &'a str)>> {
    let list = scene.list(&system(guest), Attribute::UcxTransports)?;
    Some(list.iter().filter_map(|one| one.as_str().split_once(' ')).collect())
}

/// Its port as UCX names it: `rocep11s0f1:1`.
pub fn ucx_name(port: &Port) -> String {
    port.id.entity.name().replace('/', ":")
}

/// The ports, devices and interfaces of a guest's RDMA: what a job on it stands on.
pub fn ground(scene: &Scene<'_>, guest: &TargetId) -> Vec<EntityId> {
    let ports = scene.ports(guest);
    ports.into_iter().flat_map(|port| [Some(port.id), Some(port.device), port.netdev]).flatten().collect()
}

/// A variable or parameter set to something else by hand: nobody can tell from here which file sets it.
pub fn set_anew(guest: &TargetId, setting: &Setting<'_>, new: &str) -> Cure {
    let name = setting.written.split(['=', ' ']).next().unwrap_or_default();
    let write = |what: &str| {
        let files = "/etc/environment, /etc/profile.d, ~/.bashrc, the job script, openmpi-mca-params.conf";
        vec![Step::ByHand(format!("{guest}: where {name} is set ({files}): {what}"))]
    };
    let steps = if new.is_empty() { write("take it out") } else { write(&format!("write {name}={new}")) };
    let title = if new.is_empty() { format!("Take {name} out") } else { format!("Set {name}={new}") };
    let undo = write(&format!("write {}", setting.written));
    Cure::by_hand(&title, steps)
        .undone_by(undo, vec![(setting.id.clone(), setting.attribute)])
        .noting("jobs that run keep what they began with")
}

/// A variable set that is not set yet.
pub fn set_first(guest: &TargetId, name: &str, value: &str) -> Cure {
    let set = format!("{guest}: in the job script, or in a file of /etc/profile.d: export {name}={value}");
    let undo = format!("{guest}: take {name} out again");
    Cure::by_hand(&format!("Set {name}={value}"), vec![Step::ByHand(set)])
        .undone_by(vec![Step::ByHand(undo)], Vec::new())
        .noting("jobs that run keep what they began with")
}

/// Why the environment of a guest's login is not known, if it is not.
pub fn no_environment(scene: &Scene<'_>, guest: &TargetId) -> Option<(Lack, String)> {
    scene.unread(guest, "linux.environment")
}
