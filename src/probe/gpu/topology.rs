//! What is near what, out of `nvidia-smi topo -m`. The table is parted by tabs, some of them doubled, and its titles carry escapes
//! of a terminal also where there is none. In a VM it shows the virtual slots and nothing of the host's.

use super::layout::Indices;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};

/// The most devices of a table that are read.
const MOST: usize = 64;

/// All that the table tells. What is near a GPU is told of the name in the table, and of the GPU where `indices` know it.
pub(super) fn read(observation: &Observation, indices: &Indices) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut titles: Vec<String> = Vec::new();
    let mut is_legend = false;
    for (number, raw) in observation.lines() {
        let line = without_escapes(raw);
        if line.trim_end().ends_with("Legend:") {
            is_legend = line.trim() == "NIC Legend:";
            titles.clear();
        } else if is_legend {
            // "  NIC0: mlx5_0"
            let Some((name, device)) = line.trim().split_once(": ").filter(|(name, _)| is_device(name)) else {
                continue;
            };
            facts.push(observation.known(own(name), Attribute::TopologyDevice, device.trim(), number));
        } else if titles.is_empty() && line.contains("GPU0") && line.starts_with(['\t', ' ']) {
            titles = line.split('\t').skip(1).map(|title| title.trim().to_owned()).collect();
        } else if !titles.is_empty() {
            row(observation, (&titles, indices), &line, number, &mut facts);
        }
    }
    facts
}

fn row(
    observation: &Observation,
    (titles, indices): (&[String], &Indices),
    line: &str,
    number: u32,
    facts: &mut Vec<Fact>,
) {
    let mut cells = line.split('\t').map(str::trim);
    let Some(name) = cells.next().filter(|name| is_device(name)) else { return };
    let devices = titles.iter().take_while(|title| is_device(title)).take(MOST).count();
    for title in &titles[..devices] {
        let Some(cell) = cells.next() else { return };
        if title != name && !cell.is_empty() && cell != "X" {
            let entity = Entity::GpuPath { from: Text::new(name), to: Text::new(title) };
            facts.push(observation.known(entity, Attribute::TopologyLevel, cell, number));
        }
    }
    // Behind the devices tabs are doubled as the tool likes: the values stand in the order of their titles.
    let values = cells.filter(|cell| !cell.is_empty());
    let rest = titles[devices..].iter().filter(|title| !title.is_empty());
    for (title, value) in rest.zip(values) {
        let attribute = match title.as_str() {
            "CPU Affinity" => Attribute::CpuAffinity,
            "NUMA Affinity" => Attribute::NumaAffinity,
            _ => continue,
        };
        let state = super::cells::state(value, |text| Some(text.into()));
        if !matches!(state, State::Empty) {
            let index = name.strip_prefix("GPU").and_then(|index| index.parse().ok());
            if let Some(gpu) = index.and_then(|index: u32| indices.get(&index)) {
                facts.push(observation.fact(Entity::Gpu(gpu.clone()), attribute, state.clone(), number));
            }
            facts.push(observation.fact(own(name), attribute, state, number));
        }
    }
}

/// What the table says of one device alone.
fn own(name: &str) -> Entity {
    Entity::GpuPath { from: Text::new(name), to: Text::new(name) }
}

/// `GPU0`, `NIC12`, `mlx5_0` (of older releases).
fn is_device(name: &str) -> bool {
    let numbered = |head: &str| {
        name.strip_prefix(head).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    numbered("GPU") || numbered("NIC") || (name.contains('_') && name.len() < 32 && !name.contains(' '))
}

/// A line without the escapes that set colours and underlines.
fn without_escapes(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        text.push_str(before);
        rest = match after.strip_prefix('[') {
            Some(inside) => {
                let end = inside.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
                end.and_then(|end| inside.get(end + 1..)).unwrap_or("")
            }
            None => after,
        };
    }
    text.push_str(rest);
    text
}
