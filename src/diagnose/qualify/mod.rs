//! Which hosts qualify for PVRDMA over RDMA, requirement by requirement, and where a VM would keep RDMA. Where a check judges
//! a requirement its finding is taken; a host on which that check sees no reason to look (no VM has a PVRDMA adapter there)
//! is read here.

mod own;
mod places;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::cause::Found;
use super::check::{Exhibit, Lack, Scene, by_id};
use super::finding::{Confidence, Status};
use super::join::Chain;
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

pub(super) use own::rdma_device;
pub use places::{Device, Move, Outcome, Place, places, places_of};

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

    /// The same in at most four letters.
    pub fn short(self) -> &'static str {
        match self {
            Self::Hca => "HCA",
            Self::SoleUplink => "sole",
            Self::Tag => "tag",
            Self::Ruleset => "rule",
            Self::Vlan => "VLAN",
            Self::Pfc => "PFC",
            Self::Namespace => "nspc",
            Self::Version => "ver",
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
    /// How it stands. Where it does not apply it informs at most.
    pub status: Status,
    /// False where another requirement that is not met leaves nothing to look at.
    pub applies: bool,
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
    /// A word of at most four letters for how it stands.
    pub fn word(&self) -> &'static str {
        match self.status {
            _ if !self.applies => "n/a",
            Status::Fail => "FAIL",
            Status::Warn => "warn",
            Status::Pass | Status::Info => "ok",
            Status::Unknown => "?",
        }
    }

    /// True if it is one by which a host qualifies or does not: a host before PVRDMA does not qualify, and of one that
    /// carries PVRDMA adapters the release need not be known.
    pub fn decides(&self) -> bool {
        self.requirement.is_needed() || (self.requirement == Requirement::Version && self.status == Status::Fail)
    }

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
    /// The switch on it; `None` where it has none of that name, or nothing tells.
    pub switch: Option<EntityId>,
    /// Whether the host is a member of the switch; `None` where nothing tells.
    pub is_member: Option<bool>,
    /// One cell for each requirement, in their order.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Whether it qualifies: fails if one of the needed fails, whatever else was not read; is unknown if one of them is;
    /// else passes.
    pub fn status(&self) -> Status {
        if self.needed(Status::Fail).next().is_some() {
            Status::Fail
        } else if self.needed(Status::Unknown).next().is_some() {
            Status::Unknown
        } else {
            Status::Pass
        }
    }

    /// The needed cells that stand so.
    pub fn needed(&self, status: Status) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.decides() && cell.status == status)
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
pub fn judgements<'a>(scene: &Scene<'a>) -> Cow<'a, [Found]> {
    if let Some(known) = scene.judged {
        return Cow::Borrowed(known);
    }
    let ids = Requirement::ALL.into_iter().flat_map(|requirement| requirement.checks().iter().copied());
    ids.filter_map(by_id)
        .flat_map(|check| (check.judge)(scene).into_iter().map(move |judged| Found { check, judged }))
        .collect()
}

/// All that is told of qualification: which hosts qualify, and where each VM would keep RDMA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qualification {
    /// True if a VM has a PVRDMA adapter.
    pub is_needed: bool,
    /// The hosts.
    pub rows: Vec<Row>,
    /// The VMs.
    pub places: Vec<Place>,
}

impl Qualification {
    /// Works it out; `found` is what the checks say of the same scene.
    pub fn of(scene: &Scene<'_>, found: &[Found]) -> Self {
        let found = of_requirements(found);
        let is_needed = scene.pvrdma_chains().next().is_some();
        Self { is_needed, rows: matrix(scene, &found), places: places(scene, &found) }
    }
}

/// Those of many findings that judge requirements.
fn of_requirements(found: &[Found]) -> Vec<Found> {
    let judges = |id: &str| Requirement::ALL.iter().any(|requirement| requirement.checks().contains(&id));
    found.iter().filter(|one| judges(one.check.id)).cloned().collect()
}

/// The switches of PVRDMA adapters, by host.
fn pvrdma_switches(scene: &Scene<'_>) -> BTreeSet<EntityId> {
    scene.pvrdma_chains().filter_map(|chain| distributed_switch(scene, chain)).collect()
}

/// The switches of a host.
fn switches_of<'a>(scene: &Scene<'a>, host: &'a TargetId) -> impl Iterator<Item = EntityId> + use<'a> {
    let of_host = scene.fabric.of_kind(host, Entity::VirtualSwitch(Text::new("")));
    of_host.map(|entity| EntityId::new(host, entity.clone()))
}

/// The id of a distributed switch in one spelling, as a switch, an adapter or a port tells it.
fn switch_id(scene: &Scene<'_>, of: &EntityId) -> Option<String> {
    let text = scene.text(of, Attribute::SwitchId)?;
    Some(text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase())
}

/// The switch of a host that is the same distributed switch as that of another host.
fn same_switch(scene: &Scene<'_>, host: &TargetId, wanted: &EntityId) -> Option<EntityId> {
    let id = switch_id(scene, wanted);
    switches_of(scene, host).find(|switch| match (&id, switch_id(scene, switch)) {
        (Some(one), Some(other)) => *one == other,
        _ => switch.entity == wanted.entity,
    })
}

/// Distributed switches with an uplink that has an RDMA device: PVRDMA adapters could be on them.
fn fitting_switches(scene: &Scene<'_>) -> BTreeSet<EntityId> {
    let all = scene.hosts().flat_map(|host| switches_of(scene, host));
    all.filter(|switch| {
        scene.text(switch, Attribute::SwitchKind) != Some("standard")
            && own::uplinks(scene, switch)
                .is_some_and(|uplinks| uplinks.iter().any(|uplink| own::rdma_device(scene, uplink).is_some()))
    })
    .collect()
}

/// One row for each host of the inventory and each distributed switch that PVRDMA adapters are on anywhere; where there is no
/// such adapter, each switch that could carry one. Each host has one row at least.
pub fn matrix(scene: &Scene<'_>, found: &[Found]) -> Vec<Row> {
    let is_used = scene.pvrdma_chains().next().is_some();
    let mut switches: Vec<EntityId> = Vec::new();
    for switch in if is_used { pvrdma_switches(scene) } else { fitting_switches(scene) } {
        let is_new = switches.iter().all(|known| same_switch(scene, &switch.target, known).as_ref() != Some(&switch));
        if is_new {
            switches.push(switch);
        }
    }
    let mut rows: Vec<Row> =
        switches.iter().flat_map(|switch| scene.hosts().map(|host| row(scene, found, host, Some(switch)))).collect();
    // Where no switch is known there is still what does not hang on it.
    for host in scene.hosts() {
        if rows.iter().all(|row| row.host != *host) {
            rows.push(row(scene, found, host, None));
        }
    }
    own::compare_vlans(scene, &mut rows);
    rows
}

/// How a host stands to all requirements of PVRDMA adapters on a switch; `wanted` is the switch as some host knows it, or
/// nothing where nothing tells which it is.
fn row(scene: &Scene<'_>, found: &[Found], host: &TargetId, wanted: Option<&EntityId>) -> Row {
    let switch =
        wanted.and_then(
            |wanted| {
                if wanted.target == *host { Some(wanted.clone()) } else { same_switch(scene, host, wanted) }
            },
        );
    let is_member = match (&switch, wanted) {
        (Some(_), _) => Some(true),
        (None, Some(_)) if scene.unread(host, "esxi.distributed-switches").is_none() => Some(false),
        _ => None,
    };
    let place = own::Place { host, switch: switch.as_ref(), wanted, is_member };
    let things = things(scene, host, switch.as_ref());
    let mut cells: Vec<Cell> = Vec::new();
    for requirement in Requirement::ALL {
        let own = || own::read(scene, requirement, place, &cells);
        let cell = match judged(found, requirement, host, &things) {
            // What a check cannot tell may be known to be broken for another reason.
            Some(open) if open.status == Status::Unknown => {
                let own = own();
                if own.status == Status::Fail { own } else { open }
            }
            // What passes says nothing of where: that is read here.
            Some(cell) if cell.exhibits.is_empty() => Cell { exhibits: own().exhibits, ..cell },
            Some(cell) => cell,
            None => own(),
        };
        cells.push(cell);
    }
    Row { host: host.clone(), switch, is_member, cells }
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
        applies: true,
        says: judged.title.clone(),
        exhibits: judged.evidence.clone(),
        decide: judged.decide.clone(),
        lack: judged.lack,
        check: Some(worst.check.id),
    })
}

/// How the host of a PVRDMA adapter qualifies for it; `None` where the adapter is on a standard switch, on which PVRDMA does
/// not work, whatever the host has. Where its switch is not known the rest is told all the same.
pub fn row_of(scene: &Scene<'_>, found: &[Found], chain: &Chain) -> Option<Row> {
    if is_on_standard(scene, chain) {
        return None;
    }
    Some(row(scene, found, &chain.vm.target, distributed_switch(scene, chain).as_ref()))
}

/// The switch that a chain leads to.
fn switch_of(chain: &Chain) -> Option<&EntityId> {
    chain.reaches(|entity| matches!(entity, Entity::VirtualSwitch(_)))
}

/// True if an adapter is known to be on a standard switch.
pub(super) fn is_on_standard(scene: &Scene<'_>, chain: &Chain) -> bool {
    switch_of(chain).is_some_and(|switch| scene.text(switch, Attribute::SwitchKind) == Some("standard"))
}

/// The distributed switch that an adapter is on. A VM that is off has no port: its configuration names the switch by its id.
fn distributed_switch(scene: &Scene<'_>, chain: &Chain) -> Option<EntityId> {
    if let Some(switch) = switch_of(chain) {
        return (!is_on_standard(scene, chain)).then(|| switch.clone());
    }
    let id = switch_id(scene, &chain.device)?;
    switches_of(scene, &chain.vm.target).find(|switch| switch_id(scene, switch).as_ref() == Some(&id))
}
