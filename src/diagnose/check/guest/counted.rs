//! Counters of RDMA ports that were read twice: by how much those of one role rose.

use super::ask;
use crate::diagnose::check::{DeviceKind, Judged, Moved, Port, Scene};
use crate::fabric::counter::{Role, driver_family, port_counter};
use crate::fabric::{Attribute, Entity, EntityId};

/// One counter that was read twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rise {
    /// Its name.
    pub name: String,
    /// The counter itself.
    pub id: EntityId,
    /// How it moved; by 0 if it stood still.
    pub moved: Moved,
}

impl Rise {
    /// In words: `out_of_sequence +1200 in 60 s`.
    pub fn words(&self) -> String {
        format!("{} +{} in {} s", self.name, self.moved.by, self.moved.over.as_secs().max(1))
    }
}

/// The counters of a port that have one of these roles and were read twice, by name.
pub fn rises(scene: &Scene<'_>, port: &Port, roles: &[Role]) -> Vec<Rise> {
    let Entity::RdmaPort { device, port: number } = &port.id.entity else { return Vec::new() };
    // Until it is read, the name of a device in software tells its driver.
    let driver = driver_family(Some(ask::driver(scene, &port.device)).filter(|driver| !driver.is_empty()), device);
    let numbered = format!("{device}/{number}");
    let fits = |name: &str| {
        ["hw_counters", "counters"]
            .iter()
            .find_map(|folder| port_counter(driver, folder, name))
            .is_some_and(|meaning| roles.contains(&meaning.role))
    };
    scene
        .movements
        .0
        .iter()
        .filter(|(id, _)| id.target == port.id.target)
        .filter_map(|(id, moved)| {
            let Entity::Counter { of, name } = &id.entity else { return None };
            let is_ours = (of == device && *number == 1) || of.as_str() == numbered;
            (is_ours && fits(name.as_str())).then(|| Rise { name: name.to_string(), id: id.clone(), moved: *moved })
        })
        .collect()
}

/// The sum of what rose.
pub fn total(rises: &[Rise]) -> u64 {
    rises.iter().map(|rise| rise.moved.by).fold(0, u64::saturating_add)
}

/// The sum of what rose a second, over the longest time between two reads.
pub fn per_second(rises: &[Rise]) -> f64 {
    let seconds = rises.iter().map(|rise| rise.moved.over.as_secs_f64()).fold(0.0, f64::max);
    if seconds > 0.0 { total(rises) as f64 / seconds } else { 0.0 }
}

/// What to say of a port of which no such counter was read twice: nothing where the driver publishes none or where it was
/// read once only, and why where the counters could not be read.
pub fn unread(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    if ask::kind(scene, &port.device) == DeviceKind::Pvrdma || scene.flag(&port.id, Attribute::ErrorCounters).is_some()
    {
        return None;
    }
    let (lack, why) = scene.unread(&port.id.target, "linux.rdma-counters")?;
    let device = port.device.entity.name();
    let decide = format!("grep . /sys/class/infiniband/{device}/ports/*/hw_counters/*, twice");
    Some(Judged::unknown(&port.id, lack, format!("{}: {why}", port.id.target), decide))
}

/// Most counters that are shown.
const SHOWN: usize = 4;

/// With the counters that rose, the greatest first: each with its own line where that was kept, else all of them with the
/// place where the port's counters are read.
pub fn shown(scene: &Scene<'_>, mut judged: Judged, port: &Port, rises: &[Rise]) -> Judged {
    let mut risen: Vec<&Rise> = rises.iter().filter(|rise| rise.moved.by > 0).collect();
    risen.sort_by_key(|rise| std::cmp::Reverse(rise.moved.by));
    risen.truncate(SHOWN);
    let (read, streamed): (Vec<&Rise>, Vec<&Rise>) =
        risen.into_iter().partition(|rise| scene.count(&rise.id, Attribute::CounterValue).is_some());
    for rise in read {
        judged = judged.shown(&rise.id, Attribute::CounterValue, format!("{}, from", rise.words()));
    }
    if !streamed.is_empty() {
        let words: Vec<String> = streamed.into_iter().map(Rise::words).collect();
        judged = judged.shown(&port.id, Attribute::ErrorCounters, words.join(", "));
    }
    judged
}

#[cfg(test)]
pub mod tests {
    use crate::fabric::{Entity, EntityId, TargetId};

    /// A counter of a device of a guest.
    pub fn counter(guest: &str, device: &str, name: &str) -> EntityId {
        EntityId::new(&TargetId::new(guest), Entity::Counter { of: device.into(), name: name.into() })
    }
}
