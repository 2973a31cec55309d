//! Whether the driver of a GPU registered its memory with the RDMA stack. A loaded `nvidia_peermem` proves nothing: on a
//! kernel without the interface of the adapter's vendor it loads and registers nowhere.

use std::sync::Arc;

use super::files::Files;
use crate::fabric::{Attribute, Entity, Fact, Observation, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source};

const VERSIONS: &str = "/sys/kernel/mm/memory_peers/*/version";

/// Clients of peer memory.
pub const PROBE: Probe = Probe {
    name: "linux.peer-memory",
    title: "GPU memory that is registered with the RDMA stack",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[Source { name: "linux.peer-memory", read: Read::Files(&[VERSIONS]) }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let files = Files::new(observation, &[VERSIONS]);
    files
        .matching(VERSIONS)
        .filter_map(|(path, client)| {
            let (number, version) = files.line(path).ok()?;
            let value = Text::new(&format!("{client} {version}"));
            // `nv_mem` and `nv_mem_nc` are both of the module.
            let module = if client.starts_with("nv_mem") { "nvidia_peermem" } else { client };
            Some(observation.known(Entity::Module(Text::new(module)), Attribute::PeerMemory, value, number))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const REGISTERED: &str = "/sys/kernel/mm/memory_peers/nv_mem/version:535.129.03\n/sys/kernel/mm/memory_peers/nv_mem_nc/version:535.129.03\n";

    #[test]
    fn a_client_that_is_registered() {
        let module = Entity::Module(Text::new("nvidia_peermem"));
        let facts = run(&PROBE, &[(REGISTERED, "", 0)]);
        assert_eq!(shown(&facts, &module, Attribute::PeerMemory), "nv_mem_nc 535.129.03");
        let none = "grep: /sys/kernel/mm/memory_peers/*/version: No such file or directory\n";
        assert!(run(&PROBE, &[("", none, 2)]).is_empty());
    }

    survives_damage!(PROBE, REGISTERED);
}
