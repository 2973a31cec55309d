//! The version board: firmware, drivers, packages, builds and kernels over all targets, the odd ones out first.

use std::collections::{BTreeMap, BTreeSet};

use super::condition::Gravity;
use super::host_binding::{age, is_host};
use super::model::Model;
use super::table::{Cell, Row, RowKey};
use crate::fabric::{Attribute, Entity, EntityId, SourceId, State, TargetId};

/// What is compared: things of one kind that should have one version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    /// Firmware first: that is what is looked for most.
    rank: u8,
    /// `firmware of nmlx5_core adapters`.
    title: String,
}

/// Where a version was seen.
#[derive(Clone, Debug)]
struct Seen {
    version: String,
    id: EntityId,
    attribute: Attribute,
}

/// Odd ones out, then what is the same everywhere.
pub(super) fn sections(model: &Model) -> Vec<(String, Vec<Row>)> {
    let mut subjects: BTreeMap<Subject, Vec<Seen>> = BTreeMap::new();
    // Which probes told a package of a host: a host that ran one of them and lacks the package has it not.
    let mut tellers: BTreeMap<Subject, BTreeSet<SourceId>> = BTreeMap::new();
    for target in &model.order {
        for entity in model.fabric.entities(target) {
            let id = EntityId::new(target, entity.clone());
            for (subject, attribute) in subjects_of(model, &id) {
                let Some(reading) = model.fabric.reading(&id, attribute) else { continue };
                let State::Known(value) = &reading.state else { continue };
                let version = value.to_string();
                if version.is_empty() {
                    continue;
                }
                let probes = model.fabric.opinions(&id, attribute).into_iter().map(|(probe, _)| probe.clone());
                tellers.entry(subject.clone()).or_default().extend(probes);
                subjects.entry(subject).or_default().push(Seen { version, id: id.clone(), attribute });
            }
        }
    }
    let (mut odd, mut same) = (Vec::new(), Vec::new());
    for (subject, seen) in subjects {
        let missing = missing(model, &seen, &tellers[&subject]);
        let row = row(model, &subject, &seen, &missing);
        if row.gravity() >= Gravity::Warning { odd.push(row) } else { same.push(row) }
    }
    if odd.is_empty() && !same.is_empty() {
        let key = RowKey::Entity(Entity::Host, "versions-verdict".into());
        let cell = Cell::said("every version is the same wherever it was read", Gravity::Good);
        odd.push(Row { key, label: String::new(), cells: vec![cell] });
    }
    vec![("Odd ones out".to_owned(), odd), ("The same everywhere".to_owned(), same)]
}

/// Under which subjects the versions of an entity fall.
fn subjects_of(model: &Model, id: &EntityId) -> Vec<(Subject, Attribute)> {
    let host = is_host(model, &id.target);
    let subject = |rank, title: String| Subject { rank, title };
    let text = |attribute| model.fabric.text(id, attribute).filter(|text| !text.is_empty());
    match &id.entity {
        Entity::Uplink(_) | Entity::RdmaDevice(_) | Entity::PciFunction(_) => {
            let model_name = [Attribute::HardwareType, Attribute::DeviceName, Attribute::BoardId, Attribute::Driver]
                .into_iter()
                .find_map(text)
                .unwrap_or(id.entity.kind());
            let mut found = vec![(subject(0, format!("firmware of {model_name}")), Attribute::Firmware)];
            if let Some(driver) = text(Attribute::Driver) {
                let title = format!("driver {driver}{}", if host { "" } else { " (guests)" });
                found.push((subject(1, title), Attribute::DriverVersion));
            }
            found
        }
        Entity::Netdev(_) => match text(Attribute::Driver) {
            Some(driver) => vec![(subject(0, format!("firmware under {driver} (guests)")), Attribute::Firmware)],
            None => Vec::new(),
        },
        Entity::Module(name) => {
            let title = format!("module {name}{}", if host { "" } else { " (guests)" });
            vec![(subject(3, title), Attribute::Version)]
        }
        Entity::Host => vec![
            (subject(2, "ESXi".to_owned()), Attribute::EsxiVersion),
            (subject(2, "ESXi build".to_owned()), Attribute::EsxiBuild),
            (subject(2, "ESXi release".to_owned()), Attribute::EsxiRelease),
        ],
        Entity::Guest => vec![
            (subject(4, "kernel (guests)".to_owned()), Attribute::KernelRelease),
            (subject(4, "system (guests)".to_owned()), Attribute::OperatingSystem),
        ],
        Entity::Package(name) => {
            let title = if host { format!("VIB {name}") } else { format!("package {name} (guests)") };
            vec![(subject(if host { 5 } else { 6 }, title), Attribute::Version)]
        }
        _ => Vec::new(),
    }
}

/// Hosts that lack a VIB that others have.
fn missing<'a>(model: &'a Model, seen: &[Seen], probes: &BTreeSet<SourceId>) -> Vec<&'a TargetId> {
    let is_vib =
        seen.iter().all(|seen| matches!(seen.id.entity, Entity::Package(_)) && is_host(model, &seen.id.target));
    if !is_vib {
        return Vec::new();
    }
    model
        .order
        .iter()
        .filter(|target| is_host(model, target) && seen.iter().all(|seen| seen.id.target != **target))
        .filter(|target| model.targets[*target].read.intersection(probes).next().is_some())
        .collect()
}

/// One cell for each version, the rarest first.
fn row(model: &Model, subject: &Subject, seen: &[Seen], missing: &[&TargetId]) -> Row {
    let mut versions: BTreeMap<&str, Vec<&Seen>> = BTreeMap::new();
    for one in seen {
        versions.entry(&one.version).or_default().push(one);
    }
    let most = versions.values().map(Vec::len).max().unwrap_or(0).max(missing.len());
    let leaders = versions.values().filter(|seen| seen.len() == most).count() + usize::from(missing.len() == most);
    let differs = versions.len() + usize::from(!missing.is_empty()) > 1;
    let gravity = |count: usize| match (differs, count < most || leaders > 1) {
        (true, true) => Gravity::Warning,
        _ => Gravity::Neutral,
    };
    let mut cells: Vec<(usize, Cell)> = versions
        .into_iter()
        .map(|(version, seen)| {
            let first = seen[0];
            let reading = model.fabric.reading(&first.id, first.attribute);
            let old = reading.map(|reading| age(reading.at, model.now)).unwrap_or_default();
            let text = format!("{version}{old} on {}", places(&seen));
            (seen.len(), Cell::of(text, gravity(seen.len()), &first.id, first.attribute))
        })
        .collect();
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
        cells.push((
            missing.len(),
            Cell::said(format!("not installed on {}", names.join(", ")), gravity(missing.len())),
        ));
    }
    cells.sort_by_key(|(count, _)| *count);
    Row {
        key: RowKey::Entity(Entity::Host, format!("version-{}", subject.title).into()),
        label: subject.title.clone(),
        cells: cells.into_iter().map(|(_, cell)| cell).collect(),
    }
}

/// `esx01 vmnic4 vmnic5, esx02 vmnic4`; of many targets the first few and a number.
fn places(seen: &[&Seen]) -> String {
    const SHOWN: usize = 4;
    let mut targets: Vec<(&TargetId, Vec<String>)> = Vec::new();
    for one in seen {
        let device = match &one.id.entity {
            Entity::Uplink(name) | Entity::RdmaDevice(name) | Entity::PciFunction(name) | Entity::Netdev(name) => {
                Some(name.to_string())
            }
            _ => None,
        };
        match targets.iter_mut().find(|(target, _)| **target == one.id.target) {
            Some((_, devices)) => devices.extend(device),
            None => targets.push((&one.id.target, device.into_iter().collect())),
        }
    }
    let mut words: Vec<String> = targets
        .iter()
        .take(SHOWN)
        .map(
            |(target, devices)| {
                if devices.is_empty() { target.to_string() } else { format!("{target} {}", devices.join(" ")) }
            },
        )
        .collect();
    if targets.len() > SHOWN {
        words.push(format!("{} more", targets.len() - SHOWN));
    }
    words.join(", ")
}
