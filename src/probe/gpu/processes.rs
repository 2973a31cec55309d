//! Processes that compute on a GPU, out of `nvidia-smi --query-compute-apps`.

use std::sync::Arc;

use super::cells::{self, address, cells};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// Processes on GPUs.
pub const PROBE: Probe = Probe {
    name: "gpu.processes",
    title: "processes that compute on NVIDIA GPUs",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[Source {
        name: "gpu.compute-apps",
        read: Read::Command {
            argv: &[
                Word::Plain("nvidia-smi"),
                Word::Plain("--query-compute-apps=gpu_bus_id,pid,used_memory,process_name"),
                Word::Plain("--format=csv,nounits"),
            ],
            keep: None,
        },
    }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    if observation.outcome != Outcome::Exit(0) {
        return Vec::new();
    }
    let mut lines = observation.lines();
    // The header names the columns; units in brackets come and go.
    let Some(header) = lines.find(|(_, line)| line.contains("pid")) else { return Vec::new() };
    let names: Vec<&str> = cells(header.1).iter().map(|name| name.split(" [").next().unwrap_or(name)).collect();
    let place = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name));
    let (Some(bus), Some(pid)) = (place(&["gpu_bus_id", "pci.bus_id"]), place(&["pid"])) else { return Vec::new() };
    let memory = place(&["used_gpu_memory", "used_memory"]);
    let name = place(&["process_name", "name"]);
    let mut facts = Vec::new();
    for (number, line) in lines {
        let row = cells(line);
        let of = |place: Option<usize>| place.and_then(|place| row.get(place)).copied();
        let (Some(gpu), Some(Ok(process))) = (of(Some(bus)).and_then(address), of(Some(pid)).map(str::parse::<u32>))
        else {
            continue;
        };
        let entity = Entity::GpuProcess { gpu, process };
        if let Some(memory) = of(memory) {
            let state = cells::state(memory, |text| Some(cells::mebibytes(text)?.into()));
            facts.push(observation.fact(entity.clone(), Attribute::GpuProcessMemory, state, number));
        }
        // The name is the last column and may hold commas.
        if let Some(place) = name.filter(|place| *place + 1 == names.len()) {
            let rest = line.splitn(place + 1, ',').nth(place).unwrap_or_default().trim();
            let state = cells::state(rest, |text| Some(text.into()));
            facts.push(observation.fact(entity, Attribute::GpuProcessName, state, number));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::super::linux::guest_testing::{run, shown, survives_damage};
    use super::*;
    use crate::fabric::Text;

    const APPS: &str = "gpu_bus_id, pid, used_gpu_memory [MiB], process_name\n\
                        00000000:0B:00.0, 4711, 31002, /usr/bin/python3\n\
                        00000000:13:00.0, 4712, [N/A], my tool, with a comma\n";

    #[test]
    fn processes_by_gpu() {
        let facts = run(&PROBE, &[(APPS, "", 0)]);
        let of = |gpu: &str, process| Entity::GpuProcess { gpu: Text::new(gpu), process };
        let first = of("0000:0b:00.0", 4711);
        assert_eq!(shown(&facts, &first, Attribute::GpuProcessMemory), (31_002u64 << 20).to_string());
        assert_eq!(shown(&facts, &first, Attribute::GpuProcessName), "/usr/bin/python3");
        let second = of("0000:13:00.0", 4712);
        assert_eq!(shown(&facts, &second, Attribute::GpuProcessMemory), "<not available (the tool said N/A)>");
        assert_eq!(shown(&facts, &second, Attribute::GpuProcessName), "my tool, with a comma");
        assert!(run(&PROBE, &[("", "sh: nvidia-smi: not found\n", 127)]).is_empty());
        assert!(run(&PROBE, &[("No devices were found\n", "", 6)]).is_empty());
    }

    survives_damage!(PROBE, APPS);
}
