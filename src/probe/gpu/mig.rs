//! MIG instances: the GPU instances (`mig -lgi`), the compute instances in them (`mig -lci`), and the identifiers by which
//! programs name them (`-L`).

use std::collections::BTreeMap;

use super::layout::{Indices, heading};
use crate::fabric::{Attribute, Entity, Fact, Observation, Text};

/// One row of a table: GPU, GPU instance, compute instance, profile, place.
struct Row<'a> {
    gpu: u32,
    instance: u32,
    compute: Option<u32>,
    profile: &'a str,
    placement: &'a str,
}

/// What the three outputs tell of the GPUs with these indices.
pub(super) fn read(
    list: &Observation,
    instances: &Observation,
    computes: &Observation,
    indices: &Indices,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut found: BTreeMap<(Text, String), Vec<u32>> = BTreeMap::new();
    for (observation, row) in
        [(instances, whole as fn(&str) -> Option<Row<'_>>), (computes, part as fn(&str) -> Option<Row<'_>>)]
    {
        for (number, line) in observation.lines() {
            let Some(row) = row(line) else { continue };
            let Some(gpu) = indices.get(&row.gpu) else { continue };
            let entity = Entity::MigInstance { gpu: gpu.clone(), instance: row.instance, compute: row.compute };
            facts.push(observation.known(entity.clone(), Attribute::MigProfile, row.profile, number));
            facts.push(observation.known(entity, Attribute::MigPlacement, row.placement, number));
            if row.compute.is_none() {
                found.entry((gpu.clone(), row.profile.to_owned())).or_default().push(row.instance);
            }
        }
    }
    // `-L` names profiles and no instances: where a profile is there once, the identifier is that of its instance.
    let mut gpu = None;
    let mut named: BTreeMap<(Text, String), Vec<(&str, u32)>> = BTreeMap::new();
    for (number, line) in list.lines() {
        if let Some((index, _)) = heading(line) {
            gpu = indices.get(&index);
        } else if let (Some(gpu), Some((profile, uuid))) = (gpu, device(line)) {
            named.entry((gpu.clone(), profile.to_owned())).or_default().push((uuid, number));
        }
    }
    for (key, uuids) in named {
        if let ([(uuid, number)], Some([instance])) = (&uuids[..], found.get(&key).map(Vec::as_slice)) {
            let entity = Entity::MigInstance { gpu: key.0, instance: *instance, compute: None };
            facts.push(list.known(entity, Attribute::MigUuid, *uuid, *number));
        }
    }
    facts
}

/// `  MIG 1g.5gb      Device  0: (UUID: MIG-b3061c09-...)`.
fn device(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().strip_prefix("MIG ")?;
    let (profile, rest) = rest.split_once(char::is_whitespace)?;
    let (_, uuid) = rest.split_once("(UUID: ")?;
    Some((profile, uuid.trim_end().strip_suffix(')')?))
}

/// `|   0  MIG 1g.5gb          19       11          0:1     |`.
fn whole(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split_whitespace().collect();
    let [gpu, "MIG", profile, _, instance, placement] = words[..] else { return None };
    let instance = instance.parse().ok()?;
    Some(Row { gpu: gpu.parse().ok()?, instance, compute: None, profile, placement: is_placement(placement)? })
}

/// `|   0      9       MIG 1g.5gb           0         0          0:1     |`.
fn part(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split_whitespace().collect();
    let [gpu, instance, "MIG", profile, _, compute, placement] = words[..] else { return None };
    let (instance, compute) = (instance.parse().ok()?, compute.parse().ok()?);
    Some(Row { gpu: gpu.parse().ok()?, instance, compute: Some(compute), profile, placement: is_placement(placement)? })
}

fn is_placement(text: &str) -> Option<&str> {
    let (start, size) = text.split_once(':')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(start) && is_number(size)).then_some(text)
}
