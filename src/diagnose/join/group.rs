//! Which VM a group of `esxtop` is. It names its groups by the display names of VMs; its own numbers are of resource groups
//! and lead nowhere. Of two VMs of one name on a host nobody can tell which group is which, so neither has one.

use super::Joined;
use crate::fabric::{Attribute, Entity, EntityId, Fabric, TargetId};

/// The group of a VM, by its name; none where that does not tell it from another VM of its host.
pub fn group_of(fabric: &Fabric, vm: &EntityId) -> Option<EntityId> {
    let name = fabric.text(vm, Attribute::VmName).filter(|name| !name.is_empty())?;
    (named(fabric, &vm.target, name).count() == 1).then(|| EntityId::new(&vm.target, Entity::Group(name.into())))
}

/// The group of the VM in which a guest runs.
pub fn group_of_guest(fabric: &Fabric, joined: &Joined, guest: &TargetId) -> Option<EntityId> {
    group_of(fabric, joined.vm_of(guest)?)
}

/// The VM that a group is.
pub fn vm_of_group(fabric: &Fabric, group: &EntityId) -> Option<EntityId> {
    let Entity::Group(name) = &group.entity else { return None };
    let mut vms = named(fabric, &group.target, name.as_str());
    let vm = vms.next()?;
    vms.next().is_none().then_some(vm)
}

/// The VMs of a host that have this name.
fn named<'a>(fabric: &'a Fabric, host: &'a TargetId, name: &'a str) -> impl Iterator<Item = EntityId> + 'a {
    fabric
        .entities(host)
        .filter(|entity| matches!(entity, Entity::Vm(_)))
        .map(|entity| EntityId::new(host, entity.clone()))
        .filter(move |vm| fabric.text(vm, Attribute::VmName) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Observation, SourceId, Text};

    fn fabric(names: &[&str]) -> Fabric {
        let observation = Observation::of_text("esxi.vms", "");
        let facts = names
            .iter()
            .zip(["a", "b", "c"])
            .map(|(name, uuid)| observation.known(Entity::Vm(uuid.into()), Attribute::VmName, Text::new(name), 1));
        let mut fabric = Fabric::default();
        fabric.apply_facts(&TargetId::new("esx01"), &SourceId::new("esxi.vms"), &facts.collect::<Vec<_>>());
        fabric
    }

    fn id(entity: Entity) -> EntityId {
        EntityId::new(&TargetId::new("esx01"), entity)
    }

    #[test]
    fn a_vm_and_its_group_are_told_by_the_name() {
        let fabric = fabric(&["gpu-a", "pv c [copy]"]);
        let group = id(Entity::Group("pv c [copy]".into()));
        assert_eq!(group_of(&fabric, &id(Entity::Vm("b".into()))), Some(group.clone()));
        assert_eq!(vm_of_group(&fabric, &group), Some(id(Entity::Vm("b".into()))));
        assert_eq!(vm_of_group(&fabric, &id(Entity::Group("hostd".into()))), None);
        assert_eq!(vm_of_group(&fabric, &id(Entity::Host)), None);
        assert_eq!(group_of(&fabric, &id(Entity::Vm("c".into()))), None);
    }

    #[test]
    fn of_two_vms_of_one_name_neither_has_a_group() {
        let fabric = fabric(&["web", "web", "db"]);
        assert_eq!(group_of(&fabric, &id(Entity::Vm("a".into()))), None);
        assert_eq!(vm_of_group(&fabric, &id(Entity::Group("web".into()))), None);
        assert!(group_of(&fabric, &id(Entity::Vm("c".into()))).is_some());
    }
}
