//! Hosts side by side: one row for each value that can be compared, by default only those that differ. Counters and what
//! moves by itself are never a difference, nor are names and addresses that must differ.

use std::collections::{BTreeMap, BTreeSet};

use super::super::condition::{self, Gravity};
use super::super::format;
use super::super::model::Model;
use super::super::table::{Cell, Row, RowKey};
use super::{age, hosts};
use crate::fabric::attribute::Class;
use crate::fabric::{Attribute, Entity, EntityId, SourceId, State, TargetId, Value};

/// One value of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// What it is, in words.
    Value(String),
    /// The host has no such thing.
    Absent,
    /// The host itself says that the value is not available.
    NotAvailable,
    /// Nothing was read that would tell.
    Unread,
}

/// One value over all hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is a value of.
    pub entity: Entity,
    /// Which value.
    pub attribute: Attribute,
    /// What each host has, in the order of hosts.
    pub held: Vec<Held>,
    /// True if the hosts that were read do not agree.
    pub differs: bool,
}

/// Attributes that differ between twins by nature, or move by themselves.
const OWN: &[Attribute] = &[
    Attribute::Hostname,
    Attribute::HostUuid,
    Attribute::BiosUuid,
    Attribute::BootId,
    Attribute::MachineId,
    Attribute::HardwareAddress,
    Attribute::Addresses,
    Attribute::NodeGuid,
    Attribute::SystemImageGuid,
    Attribute::NodeDescription,
    Attribute::GidValue,
    Attribute::WorldId,
    Attribute::CartelId,
    Attribute::OwnerWorld,
    Attribute::VirtualFunctionActive,
    Attribute::PortId,
    Attribute::ConnectionId,
    Attribute::PortClient,
    Attribute::InstallDate,
    Attribute::CommandLineTool,
    Attribute::SettingDescription,
    Attribute::ParameterType,
    Attribute::MemoryAvailable,
    Attribute::GraphicsVms,
];

/// Versions: hosts of two releases differ in many of them, and that must not bury a setting that differs.
const VERSIONS: &[Attribute] = &[
    Attribute::Version,
    Attribute::DriverVersion,
    Attribute::EsxiVersion,
    Attribute::EsxiBuild,
    Attribute::EsxiRelease,
];

/// What tells best of a thing that a host lacks, the best first: one line says that it lacks it.
const TELLING: &[Attribute] = &[
    Attribute::DeviceName,
    Attribute::FunctionKind,
    Attribute::PortState,
    Attribute::OperationalState,
    Attribute::Driver,
    Attribute::Version,
];

/// Where a value stands among the sections; `None` for what is not compared.
fn section(entity: &Entity, attribute: Attribute) -> Option<(u8, &'static str)> {
    if VERSIONS.contains(&attribute) && !matches!(entity, Entity::Package(_)) {
        return Some((10, "Versions"));
    }
    Some(match entity {
        Entity::RdmaDevice(_) | Entity::RdmaPort { .. } => (0, "RDMA devices"),
        Entity::Uplink(_) => (1, "Uplinks"),
        Entity::VirtualSwitch(_) | Entity::PortGroup(_) => (2, "Switches and port groups"),
        Entity::Vmknic(_) => (3, "VMkernel adapters"),
        Entity::AdvancedSetting(_) | Entity::KernelSetting(_) => (4, "Settings: configured and in force"),
        Entity::Module(_) | Entity::ModuleParameter { .. } => (5, "Modules"),
        Entity::Ruleset(_) => (6, "Firewall"),
        Entity::PciFunction(_) | Entity::VirtualFunction { .. } => (7, "PCI functions"),
        Entity::Host | Entity::NumaNode(_) => (8, "The hosts"),
        Entity::FileLine { .. } => (9, "Files"),
        Entity::Package(_) => (11, "Software"),
        _ => return None,
    })
}

/// True for functions that matter here: graphics and network devices, and what is passed through.
pub(super) fn function_matters(model: &Model, id: &EntityId) -> bool {
    let known = |attribute| model.fabric.text(id, attribute).is_some_and(|text| !text.is_empty());
    known(Attribute::FunctionKind)
        || known(Attribute::KernelName)
        || known(Attribute::GraphicsType)
        || model.fabric.text(id, Attribute::ConfiguredOwner).is_some_and(|owner| owner.contains("Passthr"))
        || model.fabric.text(id, Attribute::CurrentOwner).is_some_and(|owner| owner.contains("Passthr"))
        || model.fabric.value(id, Attribute::PassthroughEnabled).and_then(Value::as_flag) == Some(true)
        || model.fabric.text(id, Attribute::ClassCode).is_some_and(|class| {
            let class = class.trim_start_matches("0x");
            class.starts_with("02") || class.starts_with("03")
        })
}

/// All values that can be compared over the hosts.
pub fn differences(model: &Model) -> Vec<Difference> {
    let hosts = hosts(model);
    let mut keys: BTreeMap<(u8, Entity, Attribute), BTreeSet<SourceId>> = BTreeMap::new();
    for host in &hosts {
        for entity in model.fabric.entities(host) {
            let id = EntityId::new(host, entity.clone());
            if matches!(entity, Entity::PciFunction(_)) && !function_matters(model, &id) {
                continue;
            }
            for attribute in model.fabric.readings(&id).into_keys() {
                if attribute.class() == Class::Measure || OWN.contains(&attribute) {
                    continue;
                }
                let Some((place, _)) = section(entity, attribute) else { continue };
                let probes = model.fabric.opinions(&id, attribute).into_iter().map(|(probe, _)| probe.clone());
                keys.entry((place, entity.clone(), attribute)).or_default().extend(probes);
            }
        }
    }
    let mut found: Vec<Difference> = keys
        .into_iter()
        .map(|((_, entity, attribute), probes)| {
            let held = hosts.iter().map(|host| held(model, host, &entity, attribute, &probes)).collect();
            Difference::of(entity, attribute, held)
        })
        .collect();
    found.extend(vlans(model, &hosts));
    told_once(found)
}

impl Difference {
    fn of(entity: Entity, attribute: Attribute, held: Vec<Held>) -> Self {
        let read: BTreeSet<&Held> = held.iter().filter(|held| **held != Held::Unread).collect();
        Self { differs: read.len() > 1, entity, attribute, held }
    }

    /// True if some host lacks it and those that have it agree.
    fn is_lack(&self) -> bool {
        let values: BTreeSet<&Held> = self.held.iter().filter(|held| matches!(held, Held::Value(_))).collect();
        values.len() == 1 && self.held.contains(&Held::Absent)
    }
}

/// Of a thing that a host lacks altogether one value is kept: that it is not there is one difference.
fn told_once(found: Vec<Difference>) -> Vec<Difference> {
    let mut best: BTreeMap<&Entity, Option<(usize, Attribute)>> = BTreeMap::new();
    for difference in &found {
        // Several values may be missing of a thing that is there: then each is told.
        let lacking = best.entry(&difference.entity).or_insert(Some((usize::MAX, difference.attribute)));
        if difference.held.iter().all(|held| matches!(held, Held::Value(_))) {
            *lacking = None;
        } else if let Some((rank, attribute)) = lacking
            && difference.is_lack()
        {
            let own = TELLING.iter().position(|told| *told == difference.attribute).unwrap_or(TELLING.len());
            if own < *rank {
                (*rank, *attribute) = (own, difference.attribute);
            }
        }
    }
    let kept: Vec<bool> = found
        .iter()
        .map(|difference| {
            let best = best.get(&difference.entity).copied().flatten();
            !difference.is_lack() || best.is_none_or(|(_, attribute)| attribute == difference.attribute)
        })
        .collect();
    found.into_iter().zip(kept).filter_map(|(difference, kept)| kept.then_some(difference)).collect()
}

/// The port of a distributed switch whose VLAN stands for its port group on a host, and the VLANs of all its ports.
fn vlans_of(model: &Model, host: &TargetId) -> BTreeMap<String, (EntityId, BTreeSet<String>)> {
    let mut groups: BTreeMap<String, (EntityId, BTreeSet<String>)> = BTreeMap::new();
    for entity in model.fabric.entities(host).filter(|entity| matches!(entity, Entity::SwitchPort { .. })) {
        let id = EntityId::new(host, entity.clone());
        let text = |attribute| model.fabric.value(&id, attribute).map(ToString::to_string);
        if let (Some(group), Some(vlan)) = (text(Attribute::PortGroupKey), text(Attribute::VlanId)) {
            groups.entry(group).or_insert_with(|| (id, BTreeSet::new())).1.insert(vlan);
        }
    }
    groups
}

/// The VLANs of the port groups of distributed switches. Numbers of ports differ from host to host, so ports are not
/// compared one by one, and a host without a port in a group tells nothing of it.
fn vlans(model: &Model, hosts: &[&TargetId]) -> Vec<Difference> {
    let all: Vec<_> = hosts.iter().map(|host| vlans_of(model, host)).collect();
    let groups: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    groups
        .into_iter()
        .map(|group| {
            let held = all.iter().map(|groups| match groups.get(group) {
                Some((_, vlans)) => Held::Value(vlans.iter().map(String::as_str).collect::<Vec<_>>().join(", ")),
                None => Held::Unread,
            });
            Difference::of(Entity::PortGroup(group.as_str().into()), Attribute::VlanId, held.collect())
        })
        .collect()
}

impl Held {
    fn rank(&self) -> (u8, &str) {
        match self {
            Self::Value(text) => (0, text),
            Self::Absent => (1, ""),
            Self::NotAvailable => (2, ""),
            Self::Unread => (3, ""),
        }
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

fn is_owner(attribute: Attribute) -> bool {
    matches!(attribute, Attribute::ConfiguredOwner | Attribute::CurrentOwner)
}

/// What a host has. A host without the thing lacks it only if the probe that told it elsewhere was run here too.
fn held(model: &Model, host: &TargetId, entity: &Entity, attribute: Attribute, probes: &BTreeSet<SourceId>) -> Held {
    let id = EntityId::new(host, entity.clone());
    match model.fabric.reading(&id, attribute).map(|reading| &reading.state) {
        // Releases differ in whether they name a function there.
        Some(State::Empty) if attribute == Attribute::KernelName => Held::Unread,
        Some(State::Known(value)) if attribute == Attribute::KernelName && value.to_string().is_empty() => Held::Unread,
        // `Unknown` stands where no owner was ever configured: the VMkernel owns it all the same.
        Some(State::Known(value)) if is_owner(attribute) && value.to_string().eq_ignore_ascii_case("unknown") => {
            Held::Unread
        }
        Some(State::Known(value)) if !value.to_string().is_empty() => Held::Value(format::value(attribute, value)),
        Some(State::Known(_) | State::Empty) => Held::Value("(empty)".to_owned()),
        Some(State::NotAvailable) => Held::NotAvailable,
        // What was not or could not be read is no difference: a driver that does not publish a value may have any.
        Some(_) => Held::Unread,
        None => {
            let read =
                model.targets.get(host).is_some_and(|target| probes.iter().any(|probe| target.read.contains(probe)));
            if read { Held::Absent } else { Held::Unread }
        }
    }
}

/// Rows for all hosts side by side, one cell for each host.
pub(super) fn sections(model: &Model, all: bool) -> Vec<(String, Vec<Row>)> {
    let hosts = hosts(model);
    let differences = differences(model);
    let mut sections: BTreeMap<(u8, &'static str), Vec<Row>> = BTreeMap::new();
    let mut count = 0;
    for difference in differences {
        count += usize::from(difference.differs);
        let Some(place) = section(&difference.entity, difference.attribute).filter(|_| difference.differs || all)
        else {
            continue;
        };
        sections.entry(place).or_default().push(row(model, &hosts, &difference));
    }
    let verdict = match (hosts.len(), count) {
        (0, _) => "no ESXi host is among the targets".to_owned(),
        (1, _) => "there is one host: nothing to compare it with".to_owned(),
        (hosts, 0) => format!("the {hosts} hosts do not differ in anything that is compared"),
        (hosts, 1) => format!("the {hosts} hosts differ in 1 value"),
        (hosts, count) => format!("the {hosts} hosts differ in {count} values"),
    };
    let gravity = if count > 0 { Gravity::Warning } else { Gravity::Good };
    let mut cells = vec![Cell::said(verdict, gravity)];
    let reading: Vec<String> = hosts
        .iter()
        .filter_map(|host| condition::first_read(model, host).map(|(done, all)| format!("{host} {done} of {all}")))
        .collect();
    if !reading.is_empty() {
        // Neither good nor bad before everything was read once.
        cells = cells.into_iter().map(|cell| Cell::said(format!("so far {}", cell.text), Gravity::Unknown)).collect();
        cells.push(Cell::said(format!("still reading: {}", reading.join(", ")), Gravity::Unknown));
    }
    let key = RowKey::Entity(Entity::Host, "verdict".into());
    let mut shown = vec![("Differences".to_owned(), vec![Row { key, label: String::new(), cells }])];
    shown.extend(sections.into_iter().map(|((_, title), mut rows)| {
        // What differs stands before what does not; what was not read somewhere keeps its place.
        rows.sort_by_key(|row| row.gravity() < Gravity::Warning);
        (title.to_owned(), rows)
    }));
    shown
}

/// `vmnic4 firmware`.
fn label(entity: &Entity, attribute: Attribute) -> String {
    let name = match entity {
        Entity::Host => String::new(),
        // The path of a setting is long, and its last part is what people know it by.
        Entity::AdvancedSetting(path) => path.as_str().trim_start_matches('/').replace('/', "."),
        _ => entity.name(),
    };
    // The value of a setting is what the setting is: a word for it says nothing.
    let word = if attribute.label() == "value" { "" } else { attribute.label() };
    format!("{name} {word}").trim().to_owned()
}

fn row(model: &Model, hosts: &[&TargetId], difference: &Difference) -> Row {
    let odd = odd_ones(&difference.held);
    let cells = hosts
        .iter()
        .zip(&difference.held)
        .map(|(host, held)| {
            let mut id = EntityId::new(host, difference.entity.clone());
            if let (Entity::PortGroup(group), Attribute::VlanId, None) =
                (&difference.entity, difference.attribute, model.fabric.reading(&id, difference.attribute))
                && let Some((port, _)) = vlans_of(model, host).remove(group.as_str())
            {
                id = port;
            }
            let gravity = match held {
                Held::Unread => Gravity::Unknown,
                held if difference.differs && odd.contains(held) => Gravity::Warning,
                _ => Gravity::Neutral,
            };
            let reading = model.fabric.reading(&id, difference.attribute);
            let old = reading.map(|reading| age(reading.at, model.now)).unwrap_or_default();
            let text = match held {
                Held::Value(text) => format!("{text}{old}"),
                Held::Absent => "none".to_owned(),
                Held::NotAvailable => format!("not available{old}"),
                Held::Unread => match reading.map(|reading| &reading.state) {
                    Some(State::Known(value)) if is_owner(difference.attribute) => value.to_string(),
                    Some(state) => state.why().unwrap_or_else(|| "not read".to_owned()),
                    None => "not read".to_owned(),
                },
            };
            match reading {
                Some(_) => Cell::of(text, gravity, &id, difference.attribute),
                None => Cell::said(text, gravity),
            }
        })
        .collect();
    Row {
        key: RowKey::Entity(difference.entity.clone(), format!("compare-{}", difference.attribute.name()).into()),
        label: label(&difference.entity, difference.attribute),
        cells,
    }
}

/// What the fewest hosts have: all that is not the most frequent; everything where nothing is most frequent.
fn odd_ones(held: &[Held]) -> BTreeSet<Held> {
    let mut counts: BTreeMap<&Held, usize> = BTreeMap::new();
    for held in held.iter().filter(|held| **held != Held::Unread) {
        *counts.entry(held).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(0);
    let leaders: Vec<&Held> = counts.iter().filter(|(_, count)| **count == most).map(|(held, _)| *held).collect();
    counts.keys().copied().filter(|held| leaders.len() > 1 || !leaders.contains(held)).cloned().collect()
}

/// How much a difference means for RDMA, the most first.
fn weight(difference: &Difference) -> u8 {
    use Attribute as A;
    match (&difference.entity, difference.attribute) {
        (_, A::VlanId) => 0,
        (Entity::AdvancedSetting(path), _) if path.contains("PVRDMAVmknic") => 1,
        (Entity::Package(_), _) => 11,
        (_, attribute) if VERSIONS.contains(&attribute) => 10,
        (_, A::Firmware) => 9,
        (Entity::Vmknic(_), _) => 1,
        (Entity::VirtualSwitch(_) | Entity::PortGroup(_), _) | (_, A::Uplinks) => 2,
        (Entity::RdmaDevice(_) | Entity::RdmaPort { .. }, _) | (_, A::RdmaPresence) => 3,
        (_, A::PfcEnabled | A::PfcPriorities | A::DcbMode | A::PauseRx | A::PauseTx) => 4,
        (Entity::Ruleset(_), _) => 5,
        (Entity::Uplink(_), _) => 6,
        (Entity::AdvancedSetting(_) | Entity::KernelSetting(_), _) => 7,
        _ => 8,
    }
}

/// In what a host differs from the others, what means most first: its value, then that of each other host that has another.
pub(super) fn against_others(model: &Model, host: &TargetId) -> Vec<Row> {
    let hosts = hosts(model);
    let Some(place) = hosts.iter().position(|other| *other == host).filter(|_| hosts.len() > 1) else {
        return Vec::new();
    };
    let mut differing = differences(model);
    differing.retain(|difference| difference.differs && difference.held[place] != Held::Unread);
    differing.sort_by_key(weight);
    differing
        .iter()
        .filter_map(|difference| {
            let mut row = row(model, &hosts, difference);
            let own = row.cells[place].clone();
            let mut others: BTreeMap<String, (Vec<String>, Cell)> = BTreeMap::new();
            for (index, cell) in row.cells.iter().enumerate() {
                let held = &difference.held[index];
                if *held != difference.held[place] && *held != Held::Unread {
                    others
                        .entry(cell.text.clone())
                        .or_insert_with(|| (Vec::new(), cell.clone()))
                        .0
                        .push(hosts[index].to_string());
                }
            }
            // Where this host is one of the many, the difference is told at the odd one.
            if others.is_empty() || (own.gravity < Gravity::Warning && hosts.len() > 2) {
                return None;
            }
            row.cells = vec![own];
            row.cells.extend(others.into_values().map(|(names, cell)| Cell {
                text: format!("{}: {}", names.join(", "), cell.text),
                gravity: Gravity::Neutral,
                source: cell.source,
            }));
            Some(row)
        })
        .collect()
}
