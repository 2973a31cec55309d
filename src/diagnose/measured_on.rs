//! What a pair of guests is measured on: the guests with their RDMA devices, the VMs they run in, the hosts of these with
//! the uplinks that carry them, and the ports those are plugged into. What is not joined is noted as not read, with the
//! reason: nobody must take it for unchanged.

use super::join::{Joined, LinkKind};
use crate::fabric::{Attribute, Entity, EntityId, Fabric, TargetId, Text};
use crate::tune::fingerprint::{Fingerprint, Mark, Part, gather, guest_parts};

/// The fingerprint of a pair as it is known now.
pub fn fingerprint(fabric: &Fabric, joined: &Joined, pair: [&TargetId; 2]) -> Fingerprint {
    let mut parts = Vec::new();
    let mut notes = Vec::new();
    for guest in pair {
        parts.extend(guest_parts(fabric, guest));
        let Some(vm) = joined.vm_of(guest) else {
            let why = joined.gaps.iter().find(|gap| gap.about.target == *guest).map(|gap| gap.why.clone());
            let why = why.unwrap_or_else(|| "no host that was read has the VM of this guest".to_owned());
            notes.push(("vm", format!("VM of {guest}"), Mark::NotRead(Text::new(&why))));
            notes.push(("host", format!("host of {guest}"), Mark::NotRead(Text::new(&why))));
            continue;
        };
        // Where it runs is by itself something that changes.
        notes.push(("vm", format!("VM of {guest}: runs on"), Mark::Said(Text::new(vm.target.as_str()))));
        parts.push(Part::new("vm", format!("VM of {guest}"), vm.clone()));
        parts.extend(host_parts(fabric, guest, &vm.target));
        for chain in joined.chains.iter().filter(|chain| chain.vm == *vm) {
            let label = fabric
                .text(&chain.device, Attribute::DeviceLabel)
                .map_or_else(|| chain.device.entity.to_string(), str::to_owned);
            parts.push(Part::new("vm", format!("{label} of {guest}"), chain.device.clone()));
            for link in &chain.links {
                let (layer, what) = match link.kind {
                    LinkKind::SwitchUplink => ("host", "uplink"),
                    LinkKind::UplinkRdma => ("host", "RDMA device of the uplink"),
                    LinkKind::UplinkFunction => ("host", "function of the uplink"),
                    LinkKind::DeviceFunction => ("host", "function behind it"),
                    LinkKind::UplinkInterface => ("switch", "switch port"),
                    _ => continue,
                };
                let role = format!("{label} of {guest}: {what}");
                notes.push((layer, role.clone(), Mark::Said(Text::new(&link.to.entity.to_string()))));
                parts.push(Part::new(layer, role, link.to.clone()));
                if link.kind == LinkKind::UplinkInterface {
                    let switch = EntityId::new(&link.to.target, Entity::Switch);
                    parts.push(Part::new("switch", format!("switch of {guest}"), switch));
                }
            }
        }
    }
    let mut found = gather(fabric, &parts);
    for (layer, key, mark) in notes {
        found.note(layer, &key, mark);
    }
    found
}

/// The host of a guest with its settings.
fn host_parts(fabric: &Fabric, guest: &TargetId, host: &TargetId) -> Vec<Part> {
    let is_part = |entity: &Entity| {
        matches!(
            entity,
            Entity::Host | Entity::AdvancedSetting(_) | Entity::KernelSetting(_) | Entity::ModuleParameter { .. }
        ) || matches!(entity, Entity::Ruleset(name) if name.as_str() == "pvrdma")
    };
    let parts = fabric.entities(host).filter(|entity| is_part(entity)).map(|entity| {
        let role =
            if *entity == Entity::Host { format!("host of {guest}") } else { format!("host of {guest} {entity}") };
        Part::new("host", role, EntityId::new(host, entity.clone()))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::Site;

    fn of(site: &Site) -> Fingerprint {
        let (one, other) = (TargetId::new("pv-a"), TargetId::new("pv-b"));
        fingerprint(site.fabric(), &site.joined(), [&one, &other])
    }

    #[test]
    fn a_pair_is_known_down_to_the_wire() {
        let found = of(&Site::sound());
        let layers: Vec<&str> = found.layers.keys().map(Text::as_str).collect();
        for layer in ["guest", "vm", "host"] {
            assert!(layers.contains(&layer), "{layers:?}");
        }
        let keys: Vec<&str> = found.layers.values().flat_map(|keys| keys.keys().map(Text::as_str)).collect();
        for expected in ["pv-a: kernel", "VM of pv-a: runs on", "host of pv-a: build", "VM of pv-b: runs on"] {
            assert!(keys.contains(&expected), "{expected}: {keys:#?}");
        }
        assert!(keys.iter().any(|key| key.contains("of pv-a: uplink: ")), "{keys:#?}");
    }

    #[test]
    fn a_changed_setting_is_told_in_its_layer() {
        let after = Site::sound().replacing("pv-a", "linux.netdev-files", "ens192/mtu:9000", "ens192/mtu:1500");
        let changes = of(&Site::sound()).changes(&of(&after));
        let told: Vec<String> = changes
            .changed
            .iter()
            .map(|one| format!("{} {}: {} -> {}", one.layer, one.key, one.before, one.after))
            .collect();
        assert_eq!(told, ["guest pv-a netdev ens192: MTU: 9000 -> 1500"]);
        assert!(of(&Site::sound()).changes(&of(&Site::sound())).changed.is_empty());
    }

    #[test]
    fn without_a_host_its_part_was_not_read() {
        let alone = Site::new().guest("pv-a", &[]).guest("pv-b", &[]);
        let found = of(&alone);
        let host = found.layers.get(&Text::new("host")).expect("it is named");
        assert!(host.values().all(|mark| matches!(mark, Mark::NotRead(_))), "{host:?}");
        assert!(of(&Site::sound()).changes(&found).changed.iter().all(|one| one.layer.as_str() != "host"));
    }
}
