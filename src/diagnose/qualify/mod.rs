//! Which hosts qualify for PVRDMA over RDMA, requirement by requirement, and where a VM would keep RDMA. Where a check judges
//! a requirement its finding is taken; a host on which that check sees no reason to look (no VM has a PVRDMA adapter there)
//! is read here.

mod own;
mod places;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::cause::Found;
use super::check::{Exhibit, Lack, Scene, by_id};
use super::finding::{Confidence, Status};
use super::join::Chain;
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

pub use places::{Device, Move, Place, places};

/// What a host needs so that PVRDMA adapters on it use RDMA, and that it stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// An uplink of the switch has an RDMA device that is active.
    Hca,
    /// That uplink is the only one of the switch.
    SoleUplink,
    /// A VMkernel adapter on the switch is tagged for PVRDMA.
    Tag,
    /// The firewall lets PVRDMA pass.
    Ruleset,
    /// The tagged VMkernel adapters of the hosts are in one VLAN.
    Vlan,
    /// Priority flow control is on.
    Pfc,
    /// RDMA namespaces can be used, which carry identifiers over a move.
    Namespace,
    /// The release has PVRDMA.
    Version,
}

impl Requirement {
    /// All of them, in the order of columns.
    pub const ALL: [Self; 8] =
        [Self::Hca, Self::SoleUplink, Self::Tag, Self::Ruleset, Self::Vlan, Self::Pfc, Self::Namespace, Self::Version];

    /// Its name, as documents and columns print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hca => "HCA",
            Self::SoleUplink => "sole uplink",
            Self::Tag => "tag",
            Self::Ruleset => "ruleset",
            Self::Vlan => "VLAN",
            Self::Pfc => "PFC",
            Self::Namespace => "namespace",
            Self::Version => "version",
        }
    }

    /// Ids of the checks that judge it.
    pub fn checks(self) -> &'static [&'static str] {
        match self {
            Self::Hca => &["host.rdma-device", "host.rdma-port-active"],
            Self::SoleUplink => &["host.sole-uplink"],
            Self::Tag => &["host.pvrdma-vmknic", "host.pvrdma-vmknic-switch", "host.pvrdma-vmknic-address"],
            Self::Ruleset => &["host.pvrdma-ruleset"],
            Self::Pfc => &["host.pfc", "host.pause-with-pfc"],
            Self::Version => &["host.esxi-version"],
            Self::Vlan | Self::Namespace => &[],
        }
    }

    /// True if a host without it uses TCP; the others make RDMA worse, or hold for a move only.
    pub fn is_needed(self) -> bool {
        matches!(self, Self::Hca | Self::SoleUplink | Self::Tag | Self::Ruleset)
    }
}

/// How one host stands to one requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Which.
    pub requirement: Requirement,
    /// How it stands.
    pub status: Status,
    /// In a few words: `vmk1`, `Net.PVRDMAVmknic is empty`.
    pub says: String,
    /// What shows it.
    pub exhibits: Vec<Exhibit>,
    /// What would tell, where it is not known.
    pub decide: String,
    /// Why it is not known.
    pub lack: Option<Lack>,
    /// The check that judged it; `None` where it was read here.
    pub check: Option<&'static str>,
}

impl Cell {
    /// How sure TCP is where this fails. With the ruleset closed connections may fail instead.
    pub fn confidence(&self) -> Confidence {
        if self.requirement == Requirement::Ruleset { Confidence::Likely } else { Confidence::Proved }
    }
}

/// One host with one switch that PVRDMA adapters are on, or would be on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The host.
    pub host: TargetId,
    /// The switch on it; `None` where it has none of that name.
    pub switch: Option<EntityId>,
    /// One cell for each requirement, in their order.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Whether it qualifies: fails if one of the needed fails, is unknown if one of them is, else passes.
    pub fn status(&self) -> Status {
        let needed = || self.cells.iter().filter(|cell| cell.requirement.is_needed());
        if needed().any(|cell| cell.status == Status::Fail) {
            Status::Fail
        } else if needed().any(|cell| cell.status == Status::Unknown) {
            Status::Unknown
        } else {
            Status::Pass
        }
    }

    /// The needed cells that stand so.
    pub fn needed(&self, status: Status) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.requirement.is_needed() && cell.status == status)
    }

    /// The cell of a requirement.
    pub fn cell(&self, requirement: Requirement) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.requirement == requirement)
    }
}

/// The advanced setting that names the VMkernel adapter for PVRDMA.
pub(super) fn tag_setting(host: &TargetId) -> EntityId {
    EntityId::new(host, Entity::AdvancedSetting(Text::new("/Net/PVRDMAVmknic")))
}

/// The ruleset for PVRDMA.
pub(super) fn ruleset(host: &TargetId) -> EntityId {
    EntityId::new(host, Entity::Ruleset(Text::new("pvrdma")))
}

/// The VMkernel adapter that is tagged for PVRDMA, whether it exists or not.
pub(super) fn tagged(scene: &Scene<'_>, host: &TargetId) -> Option<EntityId> {
    let name = scene.text(&tag_setting(host), Attribute::SettingValue)?;
    Some(EntityId::new(host, Entity::Vmknic(Text::new(name))))
}

/// The port of a distributed switch that a VMkernel adapter is on.
pub(super) fn port_of_vmknic(scene: &Scene<'_>, vmknic: &EntityId) -> Option<EntityId> {
    let switch = scene.text(vmknic, Attribute::OnSwitch)?;
    let port = scene.value(vmknic, Attribute::PortId)?.to_string();
    Some(EntityId::new(&vmknic.target, Entity::SwitchPort { switch: Text::new(switch), port: Text::new(&port) }))
}

/// What the checks say that judge requirements. A check that is not in the catalogue says nothing.
pub fn judgements(scene: &Scene<'_>) -> Vec<Found> {
    if let Some(known) = scene.judged {
        return known.to_vec();
    }
    let ids = Requirement::ALL.into_iter().flat_map(|requirement| requirement.checks().iter().copied());
    ids.filter_map(by_id)
        .flat_map(|check| (check.judge)(scene).into_iter().map(move |judged| Found { check, judged }))
        .collect()
}

/// The switches of PVRDMA adapters, by host.
fn pvrdma_switches(scene: &Scene<'_>) -> BTreeSet<EntityId> {
    scene.pvrdma_chains().filter_map(|chain| distributed_switch(scene, chain).cloned()).collect()
}

/// The switch of a host that is the same distributed switch as that of another host.
fn same_switch(scene: &Scene<'_>, host: &TargetId, wanted: &EntityId) -> Option<EntityId> {
    let squeezed = |id: &EntityId| {
        scene
            .text(id, Attribute::SwitchId)
            .map(|text| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase())
    };
    let of_host = scene.fabric.of_kind(host, Entity::VirtualSwitch(Text::new("")));
    let mut switches = of_host.map(|entity| EntityId::new(host, entity.clone()));
    let id = squeezed(wanted);
    switches.find(|switch| match (&id, squeezed(switch)) {
        (Some(one), Some(other)) => *one == other,
        _ => switch.entity == wanted.entity,
    })
}

/// One row for each host of the inventory and each distributed switch that PVRDMA adapters are on anywhere.
pub fn matrix(scene: &Scene<'_>, found: &[Found]) -> Vec<Row> {
    let mut switches: Vec<EntityId> = Vec::new();
    for switch in pvrdma_switches(scene) {
        let is_new = switches.iter().all(|known| same_switch(scene, &switch.target, known).as_ref() != Some(&switch));
        if is_new {
            switches.push(switch);
        }
    }
    let mut rows: Vec<Row> =
        switches.iter().flat_map(|switch| scene.hosts().map(|host| row(scene, found, host, switch))).collect();
    own::compare_vlans(scene, &mut rows);
    rows
}

fn row(scene: &Scene<'_>, found: &[Found], host: &TargetId, wanted: &EntityId) -> Row {
    let switch = if wanted.target == *host { Some(wanted.clone()) } else { same_switch(scene, host, wanted) };
    let things = things(scene, host, switch.as_ref());
    let cells = Requirement::ALL
        .into_iter()
        .map(|requirement| {
            judged(found, requirement, host, &things)
                .unwrap_or_else(|| own::read(scene, requirement, host, switch.as_ref(), wanted))
        })
        .collect();
    Row { host: host.clone(), switch, cells }
}

/// What a check must be about to speak of this host and switch.
fn things(scene: &Scene<'_>, host: &TargetId, switch: Option<&EntityId>) -> BTreeSet<EntityId> {
    let mut things = BTreeSet::from([EntityId::new(host, Entity::Host), tag_setting(host), ruleset(host)]);
    if let Some(vmknic) = tagged(scene, host) {
        things.extend(port_of_vmknic(scene, &vmknic));
        things.insert(vmknic);
    }
    if let Some(switch) = switch {
        things.insert(switch.clone());
        for uplink in own::uplinks(scene, switch).unwrap_or_default() {
            things.extend(own::rdma_device(scene, &uplink));
            things.insert(uplink);
        }
    }
    things
}

/// What the checks of a requirement say of a host: the worst of it.
fn judged(found: &[Found], requirement: Requirement, host: &TargetId, things: &BTreeSet<EntityId>) -> Option<Cell> {
    let rank = |status| match status {
        Status::Fail => 4,
        Status::Warn => 3,
        Status::Unknown => 2,
        Status::Info => 1,
        Status::Pass => 0,
    };
    let worst = found
        .iter()
        .filter(|one| one.judged.subject.target == *host && requirement.checks().contains(&one.check.id))
        .filter(|one| things.contains(&one.judged.subject))
        .max_by_key(|one| rank(one.judged.status))?;
    let judged = &worst.judged;
    Some(Cell {
        requirement,
        status: judged.status,
        says: judged.title.clone(),
        exhibits: judged.evidence.clone(),
        decide: judged.decide.clone(),
        lack: judged.lack,
        check: Some(worst.check.id),
    })
}

/// What the host of a PVRDMA adapter lacks to use RDMA for it.
pub fn lacking(scene: &Scene<'_>, found: &[Found], chain: &Chain) -> Vec<Cell> {
    let row = row_of(scene, found, chain);
    row.map_or_else(Vec::new, |row| row.needed(Status::Fail).cloned().collect())
}

/// How the host of a PVRDMA adapter qualifies for it; `None` where its switch is not known.
pub fn row_of(scene: &Scene<'_>, found: &[Found], chain: &Chain) -> Option<Row> {
    Some(row(scene, found, &chain.vm.target, distributed_switch(scene, chain)?))
}

/// The distributed switch that an adapter is on. PVRDMA does not work on a standard switch, whatever the host has.
fn distributed_switch<'a>(scene: &Scene<'_>, chain: &'a Chain) -> Option<&'a EntityId> {
    let switch = chain.reaches(|entity| matches!(entity, Entity::VirtualSwitch(_)))?;
    (scene.text(switch, Attribute::SwitchKind) != Some("standard")).then_some(switch)
}
