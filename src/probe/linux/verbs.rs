//! What the verbs library of user space sees. The kernel may have a device that no program can open: the provider for it
//! is not installed, or it speaks another version of the kernel's interface.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::files::Files;
use super::rdma_files::device_path;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const NODE_TYPE: &str = "/sys/class/infiniband/*/node_type";

/// RDMA devices as the verbs library lists them.
pub const PROBE: Probe = Probe {
    name: "linux.verbs",
    title: "RDMA devices that programs can open (ibv_devices)",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.verbs-devices", read: Read::Command { argv: &[Word::Plain("ibv_devices")], keep: None } },
        Source { name: "linux.verbs-kernel", read: Read::Files(&[NODE_TYPE]) },
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [library, kernel] = observations else { return Vec::new() };
    let files = Files::new(kernel, &[NODE_TYPE]);
    let devices: BTreeSet<&str> =
        files.all().filter_map(|(path, _)| device_path(path).map(|(device, _)| device)).collect();
    let mut facts = Vec::new();
    for device in devices {
        let entity = Entity::RdmaDevice(Text::new(device));
        if let Some(state) = library.trouble("ibv_devices (ibverbs-utils, libibverbs-utils)", "") {
            facts.push(library.fact(entity, Attribute::VerbsListed, state, 0));
            continue;
        }
        // The first line is the heading; under it stand name and GUID.
        let listed = library.lines().find(|(_, line)| line.split_whitespace().next() == Some(device));
        let line = listed.map_or(u32::from(library.lines().next().is_some()), |(line, _)| line);
        facts.push(library.known(entity.clone(), Attribute::VerbsListed, listed.is_some(), line));
        let warning = library.stderr.lines().map(str::trim).find(|line| concerns(line, device));
        let state = warning.map_or(State::Empty, |warning| State::Known(warning.into()));
        facts.push(library.fact(entity, Attribute::VerbsWarning, state, 0));
    }
    facts
}

/// True if a warning of the library is about this device: `... for device /sys/class/infiniband/bnxt_re2`, or about a
/// device without a provider, which it names by its node (`/sys/class/infiniband_verbs/uverbs0`).
fn concerns(line: &str, device: &str) -> bool {
    let named = line.rsplit_once("/sys/class/infiniband/").is_some_and(|(_, name)| name == device);
    line.starts_with("libibverbs: Warning:") && (named || line.contains("no userspace device-specific driver found"))
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const SOFT_ROCE: &str = include_str!("../../../tests/fixtures/soft-roce/16-ibv-devices.txt");
    const OTHER_ABI: &str = include_str!("../../../tests/fixtures/public/36-rdma_link-active-but-ibv_devinfo-abi.txt");
    const KERNEL: &str = "/sys/class/infiniband/rxe0/node_type:1: CA\n";

    fn of(stdout: &str, stderr: &str, status: i32, kernel: &str, device: &str) -> (String, String) {
        let facts = run(&PROBE, &[(stdout, stderr, status), (kernel, "", 0)]);
        let entity = Entity::RdmaDevice(Text::new(device));
        (shown(&facts, &entity, Attribute::VerbsListed), shown(&facts, &entity, Attribute::VerbsWarning))
    }

    #[test]
    fn a_device_that_programs_see() {
        assert_eq!(of(SOFT_ROCE, "", 0, KERNEL, "rxe0").0, "yes");
        assert_eq!(of(SOFT_ROCE, "", 0, "/sys/class/infiniband/mlx5_0/node_type:1: CA\n", "mlx5_0").0, "no");
        assert!(of("", "ibv_devices: not found\n", 127, KERNEL, "rxe0").0.ends_with("is not installed>"));
    }

    #[test]
    fn another_interface_of_the_kernel_is_said_for_its_device_alone() {
        let warnings: Vec<&str> = OTHER_ABI.lines().filter(|line| line.starts_with("libibverbs")).collect();
        let warnings = warnings.join("\n");
        let kernel = "/sys/class/infiniband/bnxt_re1/node_type:1: CA\n/sys/class/infiniband/bnxt_re2/node_type:1: CA\n";
        let heading = "    device          \t   node GUID\n    ------          \t----------------\n";
        let (listed, warning) = of(heading, &warnings, 0, kernel, "bnxt_re2");
        assert_eq!(listed, "no");
        assert!(warning.contains("does not support the kernel ABI of 6 (supports 1 to 1)"), "{warning}");
        assert_eq!(of(heading, &warnings, 0, kernel, "bnxt_re1").1, "<empty>");
    }

    survives_damage!(PROBE, SOFT_ROCE, KERNEL);
}
