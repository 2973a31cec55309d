//! What the checks of switches ask: which port the cable of an uplink that carries RDMA is plugged into, what is on its way,
//! what the host at the other end does, how the counters of the port moved, and how it is configured.

use crate::diagnose::check::{Judged, Lack, Moved, Scene};
use crate::diagnose::join::{Cable, Chain, LinkKind};
use crate::diagnose::remedy::Step;
use crate::fabric::counter::SharedRole;
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId, Text};
use crate::probe::switch::{SwitchSystem, counting, names};

/// A port of a switch with the cable of an uplink that carries RDMA of VMs.
pub(super) struct Wired<'a> {
    /// The port.
    pub(super) port: EntityId,
    /// The uplink of the host.
    pub(super) uplink: EntityId,
    /// How it is known.
    pub(super) cable: &'a Cable,
    /// The devices of VMs that work over it.
    pub(super) chains: Vec<&'a Chain>,
}

impl Wired<'_> {
    /// `Ethernet1 of leaf1`.
    pub(super) fn name(&self) -> String {
        format!("{} of {}", self.port.entity.name(), self.port.target)
    }

    /// `vmnic2 of esx01`.
    pub(super) fn host(&self) -> String {
        format!("{} of {}", self.uplink.entity.name(), self.uplink.target)
    }

    /// Everything on its way.
    pub(super) fn way(&self, scene: &Scene<'_>) -> Vec<EntityId> {
        let mut way: Vec<EntityId> = self.chains.iter().flat_map(|chain| scene.way_of(chain)).collect();
        way.extend([self.port.clone(), self.uplink.clone()]);
        way.sort();
        way.dedup();
        way
    }

    /// The port, or the switch where it sets flow control for all its ports.
    pub(super) fn pfc(&self, scene: &Scene<'_>) -> EntityId {
        with_attribute(scene, self, Attribute::PfcEnabled).unwrap_or_else(|| self.port.clone())
    }

    /// The switch itself.
    pub(super) fn switch(&self) -> EntityId {
        EntityId::new(&self.port.target, Entity::Switch)
    }
}

/// The uplink that a device of a VM uses for RDMA: that of a PVRDMA adapter, or that of a virtual function. Where nothing
/// tells which of several it is, each of them: the port behind any of them may be on its way.
fn carries(chain: &Chain) -> impl Iterator<Item = &EntityId> {
    let wanted = if chain.is_pvrdma() { LinkKind::SwitchUplink } else { LinkKind::VirtualUplink };
    let known = chain.links.iter().find(|link| link.kind == wanted).map(|link| &link.to);
    known.into_iter().chain(chain.possible_uplinks().filter(|_| chain.is_pvrdma()))
}

/// Ports with the cable of an uplink that carries RDMA of VMs, in the order of the uplinks.
pub(super) fn wired<'a>(scene: &Scene<'a>) -> Vec<Wired<'a>> {
    let all = scene.joined.cables.iter().filter_map(|cable| {
        let chains: Vec<&Chain> =
            scene.joined.chains.iter().filter(|chain| carries(chain).any(|one| *one == cable.uplink)).collect();
        let port = cable.port()?.clone();
        (!chains.is_empty()).then(|| Wired { port, uplink: cable.uplink.clone(), cable, chains })
    });
    all.collect()
}

/// Uplinks that carry RDMA of VMs and of which nothing tells where they are plugged in.
pub(super) fn unwired(scene: &Scene<'_>) -> Vec<EntityId> {
    let is_known = |uplink: &EntityId| scene.joined.cables.iter().any(|cable| cable.uplink == *uplink);
    let mut all: Vec<EntityId> =
        scene.joined.chains.iter().flat_map(carries).filter(|uplink| !is_known(uplink)).cloned().collect();
    all.sort();
    all.dedup();
    all
}

/// The system of a switch, by the sources that were read on it.
pub(super) fn system_of(scene: &Scene<'_>, switch: &TargetId) -> Option<SwitchSystem> {
    let answers = &scene.machines.get(switch)?.answers;
    let begins =
        |system: SwitchSystem| answers.0.keys().any(|source| source.as_str().split('.').next() == Some(system.name()));
    SwitchSystem::ALL.into_iter().find(|system| begins(*system))
}

/// Known of a port, or of the whole switch where it is set for all ports.
pub(super) fn with_attribute(scene: &Scene<'_>, wired: &Wired<'_>, attribute: Attribute) -> Option<EntityId> {
    let known = |id: &EntityId| {
        scene
            .fabric
            .reading(id, attribute)
            .is_some_and(|reading| matches!(reading.state, State::Known(_) | State::Empty))
    };
    [wired.port.clone(), wired.switch()].into_iter().find(known)
}

/// Why a property of a port is missing, and the command that shows it.
pub(super) fn missing(
    scene: &Scene<'_>,
    wired: &Wired<'_>,
    attribute: Attribute,
    what: &str,
) -> (Lack, String, String) {
    let system = system_of(scene, &wired.port.target);
    let source = system.map(|system| format!("{}.{what}", system.name())).unwrap_or_default();
    let said = |id: &EntityId| scene.fabric.reading(id, attribute).and_then(|_| scene.lack(id, attribute));
    let (lack, why) = said(&wired.port)
        .or_else(|| said(&wired.switch()))
        .or_else(|| scene.unread(&wired.port.target, &source))
        .unwrap_or((
            Lack::NotObservable,
            format!("{} lists no such property of {}", wired.port.target, wired.port.entity.name()),
        ));
    let decide = system.map_or_else(
        || format!("someone who administers {}", wired.port.target),
        |system| {
            format!(
                "on {}: {}",
                wired.port.target,
                crate::probe::switch::command_for(system, what, &wired.port.entity.name())
            )
        },
    );
    (lack, why, decide)
}

/// A known list; a list that is known to be empty, too.
pub(super) fn list_or_none<'a>(scene: &Scene<'a>, id: &EntityId, attribute: Attribute) -> Option<&'a [Text]> {
    match scene.fabric.reading(id, attribute).map(|reading| &reading.state) {
        Some(State::Empty) => Some(&[]),
        _ => scene.list(id, attribute),
    }
}

/// Lossless priorities of one end of a cable: `None` where it does not say it, none where flow control is off.
pub(super) fn lossless_of(scene: &Scene<'_>, id: &EntityId) -> Option<Vec<u64>> {
    if !scene.flag(id, Attribute::PfcEnabled)? {
        return Some(Vec::new());
    }
    let list = list_or_none(scene, id, Attribute::PfcPriorities)?;
    Some(list.iter().filter_map(|priority| priority.as_str().parse().ok()).collect())
}

/// `3`, `3 and 4`, as people say it.
pub(super) fn said(priorities: &[u64]) -> String {
    let words: Vec<String> = priorities.iter().map(u64::to_string).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// How counters of a port moved that have one of these roles, those that moved at all.
pub(super) fn moved(scene: &Scene<'_>, port: &EntityId, roles: &[SharedRole]) -> Vec<(EntityId, SharedRole, Moved)> {
    counters(scene, port)
        .filter_map(|(id, label)| {
            let role = counting::role(&label).filter(|role| roles.contains(role))?;
            let moved = scene.movements.of(&id)?;
            Some((id, role, moved))
        })
        .collect()
}

/// Counters of a port with their labels.
pub(super) fn counters<'a>(scene: &Scene<'a>, port: &EntityId) -> impl Iterator<Item = (EntityId, String)> + use<'a> {
    let (target, name) = (port.target.clone(), port.entity.name());
    let first = Entity::Counter { of: "".into(), name: "".into() };
    scene
        .fabric
        .of_kind(&target.clone(), first)
        .filter_map(move |entity| match entity {
            Entity::Counter { of, name: label } if of.as_str() == name => {
                Some((EntityId::new(&target, entity.clone()), label.to_string()))
            }
            _ => None,
        })
        .collect::<Vec<_>>()
        .into_iter()
}

/// Why nothing can be told of counters of this role; `None` where they were read once, which says nothing yet.
pub(super) fn unread_counters(scene: &Scene<'_>, wired: &Wired<'_>, role: SharedRole, what: &str) -> Option<Judged> {
    if counters(scene, &wired.port).any(|(_, label)| counting::role(&label) == Some(role)) {
        return None;
    }
    let system = system_of(scene, &wired.port.target)?;
    let is_pause = matches!(role, SharedRole::ReceivePause | SharedRole::TransmitPause);
    let source = match (system, is_pause) {
        (SwitchSystem::Eos | SwitchSystem::Sonic | SwitchSystem::Onyx, true) => "pfc-counters",
        (SwitchSystem::NxOs, true) => "pfc",
        (SwitchSystem::Cumulus | SwitchSystem::Sonic, _) => "counters",
        (_, false) => "interfaces",
    };
    let (lack, why) = scene.unread(&wired.port.target, &format!("{}.{source}", system.name()))?;
    let decide = crate::probe::switch::command_for(system, source, &wired.port.entity.name());
    let title = format!("whether {} {what}: {why}", wired.name());
    Some(Judged::unknown(&wired.port, lack, title, format!("on {}, twice: {decide}", wired.port.target)))
}

/// Lines of configuration for a port, in the words of its system; none where the name is no plain one or the system is not
/// known.
pub(super) fn configure(system: Option<SwitchSystem>, port: &EntityId, lines: &[&str]) -> Vec<Step> {
    let name = port.entity.name();
    if !names::is_sendable(&name) {
        return vec![Step::ByHand(format!("configure the port on {}", port.target))];
    }
    let line = |text: &str| Step::Configure(text.replace("PORT", &name));
    match system {
        Some(SwitchSystem::Eos | SwitchSystem::NxOs | SwitchSystem::Onyx) => {
            std::iter::once(line("interface PORT")).chain(lines.iter().map(|text| line(text))).collect()
        }
        _ => lines.iter().map(|text| line(text)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::by_id;
    use crate::diagnose::check::testing::{Site, says};
    use crate::diagnose::finding::Status;
    use crate::diagnose::remedy::Step;

    #[test]
    fn the_sound_site_has_two_ports_and_their_way_leads_to_the_guests() {
        let site = Site::sound();
        let joined = site.joined();
        let scene = site.scene(&joined);
        let all = wired(&scene);
        assert_eq!(all.iter().map(Wired::name).collect::<Vec<_>>(), ["Ethernet1 of leaf1", "Ethernet2 of leaf1"]);
        let way = all[0].way(&scene);
        assert!(way.contains(&all[0].port) && way.iter().any(|id| id.target.as_str() == "pv-a"));
        let chain = scene.chain_of(&EntityId::new(&"pv-a".into(), Entity::Netdev("ens224".into())));
        assert!(chain.is_none_or(|chain| scene.way_of(chain).contains(&all[0].port)));
        assert!(unwired(&scene).is_empty());
    }

    /// The same site behind a switch of another maker, which hears both hosts.
    fn behind_nexus(pfc: &str) -> Site {
        let lldp = "Chassis id: 0c42.a17c.2010\nPort id: 0c42.a17c.2010\nLocal Port id: Eth1/1\nSystem Name: esx01\n\
                    Chassis id: 0c42.a17c.2110\nPort id: 0c42.a17c.2110\nLocal Port id: Eth1/2\nSystem Name: esx02\n";
        let block = |port: &str| {
            format!(
                "{port} is up\nadmin state is up, Dedicated Interface\n  MTU 9216 bytes, BW 100000000 Kbit , DLY 10 usec\n  full-duplex, \
                 100 Gb/s, media type is 100G\n  Input flow-control is off, output flow-control is off\n"
            )
        };
        let interfaces = format!("{}{}", block("Ethernet1/1"), block("Ethernet1/2"));
        Site::sound().without_target("leaf1").switch(
            "nexus",
            SwitchSystem::NxOs,
            &[says("nxos.lldp", lldp), says("nxos.interfaces", &interfaces), says("nxos.pfc", pfc)],
        )
    }

    fn statuses(site: &Site, id: &str) -> Vec<Status> {
        by_id(id).map(|check| site.statuses(check)).unwrap_or_default()
    }

    #[test]
    fn a_nexus_is_judged_by_the_same_rules() {
        let sound = behind_nexus(
            "Ethernet1/1        On   On  (8)        0     0\nEthernet1/2        On   On(8)          0     0\n",
        );
        for id in [
            "switch.interface-up",
            "switch.mtu",
            "switch.pfc",
            "switch.pfc-priority",
            "switch.pause-with-pfc",
            "switch.speed",
        ] {
            assert_eq!(statuses(&sound, id), [Status::Pass, Status::Pass], "{id}");
        }
        assert_eq!(statuses(&sound, "switch.trust"), [], "it has no such setting");
        assert_eq!(statuses(&sound, "switch.ecn"), [Status::Unknown, Status::Unknown], "its policies were not read");
        let other = behind_nexus(
            "Ethernet1/1        On   On  (8)        0     0\nEthernet1/2        On   On(10)         0     0\n",
        );
        assert_eq!(statuses(&other, "switch.pfc-priority"), [Status::Pass, Status::Fail]);
    }

    #[test]
    fn a_profile_of_the_whole_switch_stands_for_its_ports() {
        let lldp = r#"{"swp1": {"lldp": {"neighbor": {"esx01": {"port": {"name": "0c:42:a1:7c:20:10"}}}}},
 "swp2": {"lldp": {"neighbor": {"esx02": {"port": {"name": "0c:42:a1:7c:21:10"}}}}}}"#;
        let roce = r#"{"enable": "on", "congestion-control": {"congestion-mode": "ECN", "enabled-tc": "0,3"},
 "pfc": {"pfc-priority": "4", "rx-enabled": "enabled", "tx-enabled": "enabled"}, "trust": {"trust-mode": "pcp,dscp"}}"#;
        let interfaces = r#"{"swp1": {"link": {"oper-status": "up", "mtu": 9216, "speed": "100G"}}, "swp2": {"link": {"oper-status": "up", "mtu": 9216, "speed": "100G"}}}"#;
        let site = Site::sound().without_target("leaf1").switch(
            "spectrum",
            SwitchSystem::Cumulus,
            &[says("cumulus.lldp", lldp), says("cumulus.roce", roce), says("cumulus.interfaces", interfaces)],
        );
        assert_eq!(statuses(&site, "switch.pfc"), [Status::Pass, Status::Pass]);
        assert_eq!(statuses(&site, "switch.pfc-priority"), [Status::Fail, Status::Fail]);
        assert_eq!(statuses(&site, "switch.trust"), [Status::Pass, Status::Pass]);
        assert_eq!(statuses(&site, "switch.ecn"), [Status::Warn, Status::Warn], "class 4 does not mark");
    }

    #[test]
    fn what_is_no_plain_name_is_configured_by_hand() {
        let hostile = EntityId::new(&"leaf1".into(), Entity::SwitchInterface("Ethernet1;reload".into()));
        for system in SwitchSystem::ALL {
            let steps = configure(Some(system), &hostile, &["mtu 9214"]);
            assert!(steps.iter().all(|step| matches!(step, Step::ByHand(_))), "{steps:?}");
            assert!(!steps.iter().any(|step| step.shown().contains("reload")));
        }
    }
}
