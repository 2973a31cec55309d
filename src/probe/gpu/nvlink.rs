//! Links of NVLink: which are active and how fast (`nvlink -s`), and what went wrong on them (`nvlink -e`).

use std::collections::BTreeMap;

use super::cells;
use super::layout::{Indices, heading};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};

/// What both outputs tell of the GPUs with these indices.
pub(super) fn read(links: &Observation, errors: &Observation, indices: &Indices) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut counted: BTreeMap<Text, (u64, u64, u32)> = BTreeMap::new();
    each(links, indices, |gpu, link, text, number| {
        let entity = Entity::NvLink { gpu: gpu.clone(), link };
        let is_active = match text.trim() {
            "<inactive>" | "inactive" => false,
            text => {
                let Some((speed, _)) = cells::amount(text).filter(|(_, unit)| unit.starts_with("GB/s")) else { return };
                let bits = cells::whole(speed * 8e9);
                facts.push(links.known(entity.clone(), Attribute::NvLinkSpeed, bits, number));
                true
            }
        };
        facts.push(links.known(entity, Attribute::NvLinkActive, is_active, number));
        let (all, active, line) = counted.entry(gpu.clone()).or_insert((0, 0, number));
        *all += 1;
        *active += u64::from(is_active);
        *line = (*line).min(number);
    });
    for (gpu, (all, active, line)) in counted {
        facts.push(links.known(Entity::Gpu(gpu.clone()), Attribute::NvLinks, all, line));
        facts.push(links.known(Entity::Gpu(gpu), Attribute::NvLinksActive, active, line));
    }
    let mut sums: BTreeMap<(Text, u32), (Option<u64>, u32)> = BTreeMap::new();
    each(errors, indices, |gpu, link, text, number| {
        // "Replay Errors: 0"; others are of packets and rates.
        let Some((kind, amount)) = text.split_once(": ") else { return };
        if !["Replay Errors", "Recovery Errors", "CRC Errors"].contains(&kind.trim()) {
            return;
        }
        let (sum, line) = sums.entry((gpu.clone(), link)).or_insert((None, number));
        if let Some(amount) = cells::count(amount) {
            *sum = Some(sum.unwrap_or(0).saturating_add(amount));
        }
        *line = (*line).min(number);
    });
    for ((gpu, link), (sum, line)) in sums {
        let state = sum.map_or(State::NotAvailable, |sum| State::Known(Value::Count(sum)));
        facts.push(errors.fact(Entity::NvLink { gpu, link }, Attribute::NvLinkErrors, state, line));
    }
    facts
}

/// Calls for each line `Link 3: ...` with the GPU above it.
fn each<'a>(observation: &'a Observation, indices: &Indices, mut found: impl FnMut(&Text, u32, &'a str, u32)) {
    let mut gpu = None;
    for (number, line) in observation.lines() {
        if let Some((index, _)) = heading(line) {
            gpu = indices.get(&index);
        } else if let (Some(gpu), Some(rest)) = (gpu, line.trim().strip_prefix("Link "))
            && let Some((link, text)) = rest.split_once(": ")
            && let Ok(link) = link.trim().parse::<u32>()
        {
            found(gpu, link, text, number);
        }
    }
}
