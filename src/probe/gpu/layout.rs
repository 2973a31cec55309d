//! How GPUs are laid out: which index is which address, what is near what (`topo -m`), links of NVLink, MIG instances. They
//! are one probe because all the tables count GPUs by an index, and the first of its sources tells whose it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cells::{address, cells};
use super::{mig, nvlink, topology};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

macro_rules! smi {
    ($name:literal, $($word:literal),+) => {
        Source { name: $name, read: Read::Command { argv: &[Word::Plain("nvidia-smi"), $(Word::Plain($word)),+], keep: None } }
    };
}

/// Layout of GPUs.
pub const PROBE: Probe = Probe {
    name: "gpu.layout",
    title: "NVIDIA GPUs: topology, NVLink, MIG instances",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[
        smi!("gpu.index", "--query-gpu=index,uuid,pci.bus_id", "--format=csv"),
        smi!("gpu.topology", "topo", "-m"),
        smi!("gpu.nvlink", "nvlink", "-s"),
        smi!("gpu.nvlink-errors", "nvlink", "-e"),
        smi!("gpu.list", "-L"),
        smi!("gpu.mig-instances", "mig", "-lgi"),
        smi!("gpu.mig-computes", "mig", "-lci"),
    ],
    parse,
};

/// Addresses of GPUs by their indices.
pub(super) type Indices = BTreeMap<u32, Text>;

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [index, topology, links, errors, list, instances, computes] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let indices = indices(index, &mut facts);
    facts.extend(topology::read(topology, &indices));
    facts.extend(nvlink::read(links, errors, &indices));
    facts.extend(mig::read(list, instances, computes, &indices));
    facts
}

fn indices(observation: &Observation, facts: &mut Vec<Fact>) -> Indices {
    let mut indices = Indices::new();
    if observation.outcome != Outcome::Exit(0) {
        return indices;
    }
    let mut lines = observation.lines();
    let Some((_, header)) = lines.find(|(_, line)| line.contains("index")) else { return indices };
    let names = cells(header);
    let place = |name: &str| names.iter().position(|other| *other == name);
    let (Some(index), Some(bus)) = (place("index"), place("pci.bus_id")) else { return indices };
    for (number, line) in lines {
        let row = cells(line);
        let (Some(Ok(index)), Some(gpu)) =
            (row.get(index).map(|index| index.parse::<u32>()), row.get(bus).and_then(|bus| address(bus)))
        else {
            continue;
        };
        facts.push(observation.known(Entity::Gpu(gpu.clone()), Attribute::GpuIndex, index, number));
        indices.insert(index, gpu);
    }
    indices
}

/// `GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-838f60d9-...)`: the index, and what the line goes on with.
pub(super) fn heading(line: &str) -> Option<(u32, &str)> {
    let (index, rest) = line.strip_prefix("GPU ")?.split_once(':')?;
    Some((index.trim().parse().ok()?, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::super::super::linux::guest_testing::{run, shown, survives_damage};
    use super::*;

    const INDEX: &str = "index, uuid, pci.bus_id\n0, GPU-838f60d9-651f-9166-ea42-f9da674a6947, 00000000:0B:00.0\n\
                         1, GPU-950792bf-651f-9166-ea42-f9da674a6948, 00000000:13:00.0\n";
    const TOPOLOGY: &str = "\t\u{1b}[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\n\
                            GPU0\t X \tNV12\tPHB\t0-7\t0\t\tN/A\nGPU1\tNV12\t X \tPHB\t0-7\t0\t\tN/A\n\
                            NIC0\tPHB\tPHB\t X \t\t\t\t\n\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n\n";
    const LINKS: &str = "GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-838f60d9-651f-9166-ea42-f9da674a6947)\n\
                         \t Link 0: 25 GB/s\n\t Link 1: <inactive>\n\
                         GPU 1: NVIDIA A100-PCIE-40GB (UUID: GPU-950792bf-651f-9166-ea42-f9da674a6948)\n\t Link 0: 26.562 GB/s\n";
    const ERRORS: &str = "GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-838f60d9-651f-9166-ea42-f9da674a6947)\n\
                          \t Link 0: Replay Errors: 2\n\t Link 0: Recovery Errors: 1\n\t Link 0: CRC Errors: 4\n";
    const LIST: &str = "GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-838f60d9-651f-9166-ea42-f9da674a6947)\n\
                        \x20 MIG 3g.20gb     Device  0: (UUID: MIG-b3061c09-0000-5000-8000-000000000001)\n\
                        \x20 MIG 1g.5gb      Device  1: (UUID: MIG-b3061c09-0000-5000-8000-000000000002)\n\
                        GPU 1: NVIDIA A100-PCIE-40GB (UUID: GPU-950792bf-651f-9166-ea42-f9da674a6948)\n";
    const INSTANCES: &str = "+-------------------------------------------------------+\n\
                             | GPU instances:                                        |\n\
                             | GPU   Name             Profile  Instance   Placement  |\n\
                             |                          ID       ID       Start:Size |\n\
                             |=======================================================|\n\
                             |   0  MIG 1g.5gb          19        9          2:1     |\n\
                             +-------------------------------------------------------+\n\
                             |   0  MIG 3g.20gb          9        2          4:4     |\n\
                             +-------------------------------------------------------+\n";
    const COMPUTES: &str = "+--------------------------------------------------------------------+\n\
                            | Compute instances:                                                 |\n\
                            | GPU     GPU       Name             Profile   Instance   Placement  |\n\
                            |       Instance                       ID        ID       Start:Size |\n\
                            |         ID                                                         |\n\
                            |====================================================================|\n\
                            |   0      9       MIG 1g.5gb           0         0          0:1     |\n\
                            +--------------------------------------------------------------------+\n";

    fn gpu() -> Text {
        Text::new("0000:0b:00.0")
    }

    fn facts() -> Vec<Fact> {
        let printed = [INDEX, TOPOLOGY, LINKS, ERRORS, LIST, INSTANCES, COMPUTES].map(|text| (text, "", 0));
        run(&PROBE, &printed)
    }

    #[test]
    fn indices_lead_to_addresses() {
        let facts = facts();
        assert_eq!(shown(&facts, &Entity::Gpu(Text::new("0000:13:00.0")), Attribute::GpuIndex), "1");
    }

    #[test]
    fn the_topology_without_its_escapes_and_with_doubled_tabs() {
        let facts = facts();
        let way = |from: &str, to: &str| {
            let entity = Entity::GpuPath { from: Text::new(from), to: Text::new(to) };
            shown(&facts, &entity, Attribute::TopologyLevel)
        };
        assert_eq!(way("GPU0", "GPU1"), "NV12");
        assert_eq!(way("GPU1", "NIC0"), "PHB");
        assert_eq!(way("NIC0", "GPU0"), "PHB");
        assert_eq!(way("GPU0", "GPU0"), "absent", "itself is no way");
        let own = |name: &str, attribute| {
            let entity = Entity::GpuPath { from: Text::new(name), to: Text::new(name) };
            shown(&facts, &entity, attribute)
        };
        assert_eq!(own("GPU0", Attribute::CpuAffinity), "0-7");
        assert_eq!(own("GPU0", Attribute::NumaAffinity), "0");
        assert_eq!(shown(&facts, &Entity::Gpu(gpu()), Attribute::CpuAffinity), "0-7");
        assert_eq!(own("NIC0", Attribute::TopologyDevice), "mlx5_0");
        let public = include_str!("../../../tests/fixtures/public/82-nvidia-smi-topo-m.txt");
        let printed = ["", public, "", "", "", "", ""].map(|text| (text, "", 0));
        let facts = run(&PROBE, &printed);
        let entity = |from: &str, to: &str| Entity::GpuPath { from: Text::new(from), to: Text::new(to) };
        assert_eq!(shown(&facts, &entity("GPU2", "GPU3"), Attribute::TopologyLevel), "PIX");
        assert_eq!(shown(&facts, &entity("GPU3", "GPU3"), Attribute::CpuAffinity), "28-55,84-111");
        assert_eq!(shown(&facts, &entity("GPU3", "GPU3"), Attribute::NumaAffinity), "1");
    }

    #[test]
    fn links_that_are_active_and_their_errors() {
        let facts = facts();
        let link = |link| Entity::NvLink { gpu: gpu(), link };
        assert_eq!(shown(&facts, &link(0), Attribute::NvLinkActive), "yes");
        assert_eq!(shown(&facts, &link(0), Attribute::NvLinkSpeed), "200000000000");
        assert_eq!(shown(&facts, &link(0), Attribute::NvLinkErrors), "7");
        assert_eq!(shown(&facts, &link(1), Attribute::NvLinkActive), "no");
        assert_eq!(shown(&facts, &link(1), Attribute::NvLinkErrors), "absent", "never told");
        assert_eq!(shown(&facts, &Entity::Gpu(gpu()), Attribute::NvLinks), "2");
        assert_eq!(shown(&facts, &Entity::Gpu(gpu()), Attribute::NvLinksActive), "1");
    }

    #[test]
    fn instances_with_their_place_and_identifier() {
        let facts = facts();
        let whole = |instance| Entity::MigInstance { gpu: gpu(), instance, compute: None };
        assert_eq!(shown(&facts, &whole(9), Attribute::MigProfile), "1g.5gb");
        assert_eq!(shown(&facts, &whole(9), Attribute::MigPlacement), "2:1");
        assert_eq!(shown(&facts, &whole(2), Attribute::MigProfile), "3g.20gb");
        let part = Entity::MigInstance { gpu: gpu(), instance: 9, compute: Some(0) };
        assert_eq!(shown(&facts, &part, Attribute::MigProfile), "1g.5gb");
        assert_eq!(shown(&facts, &whole(9), Attribute::MigUuid), "MIG-b3061c09-0000-5000-8000-000000000002");
        assert_eq!(shown(&facts, &whole(2), Attribute::MigUuid), "MIG-b3061c09-0000-5000-8000-000000000001");
    }

    #[test]
    fn a_guest_without_the_tool_says_nothing() {
        let missing = [("", "sh: nvidia-smi: not found\n", 127); 7];
        assert!(run(&PROBE, &missing).is_empty());
        let none = [("No GPU instances found: Not Found\n", "", 6); 7];
        assert!(run(&PROBE, &none).is_empty());
    }

    survives_damage!(PROBE, INDEX, TOPOLOGY, LINKS, ERRORS, LIST, INSTANCES, COMPUTES);
}
