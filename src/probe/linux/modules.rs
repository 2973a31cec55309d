//! Kernel modules that matter to RDMA, GPUs and VMware guests: loaded ones with size and use count, and those that are
//! built into the kernel. A loaded module proves nothing more than that: `nvidia_peermem` may be loaded and not
//! registered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::files::Files;
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// How the names of modules that matter begin. The pattern of the first source says the same.
const PREFIXES: &[&str] = &[
    "ib_",
    "iw_",
    "rdma_",
    "vmw_pvrdma",
    "vmw_balloon",
    "vmw_vmci",
    "vmxnet3",
    "mlx4_",
    "mlx5_",
    "mlxfw",
    "bnxt_re",
    "bnxt_en",
    "irdma",
    "i40iw",
    "efa",
    "qedr",
    "siw",
    "ice",
    "nvidia",
    "nouveau",
    "nv_peer_mem",
    "gdrdrv",
    "nvme_rdma",
    "rpcrdma",
    "erdma",
    "hns_roce",
    "virtio_net",
];

/// [`PREFIXES`] as `grep -E` takes them.
const PATTERN: &str = "^(ib_|iw_|rdma_|vmw_pvrdma|vmw_balloon|vmw_vmci|vmxnet3|mlx4_|mlx5_|mlxfw|bnxt_re|bnxt_en|irdma|i40iw|efa|qedr|siw|ice|nvidia|\
                       nouveau|nv_peer_mem|gdrdrv|nvme_rdma|rpcrdma|erdma|hns_roce|virtio_net)";

const VERSIONS: &[&str] = &[
    "/sys/module/vmw_*/version",
    "/sys/module/vmxnet3/version",
    "/sys/module/ib_*/version",
    "/sys/module/rdma_*/version",
    "/sys/module/mlx*/version",
    "/sys/module/bnxt_*/version",
    "/sys/module/irdma/version",
    "/sys/module/efa/version",
    "/sys/module/nvidia*/version",
    "/sys/module/nv_peer_mem/version",
    "/sys/module/gdrdrv/version",
];

/// Kernel modules that matter.
pub const PROBE: Probe = Probe {
    name: "linux.modules",
    title: "kernel modules for RDMA, GPUs and VMware",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[
        Source {
            name: "linux.modules-loaded",
            read: Read::Command {
                argv: &[Word::Plain("grep"), Word::Plain("-E"), Word::Plain(PATTERN), Word::Plain("/proc/modules")],
                keep: None,
            },
        },
        Source { name: "linux.module-versions", read: Read::Files(VERSIONS) },
        // Built-in ones have a folder only if they have a version or parameters.
        Source {
            name: "linux.modules-present",
            read: Read::Command {
                argv: &[
                    Word::Plain("stat"),
                    Word::Plain("-c"),
                    Word::Plain("%n"),
                    Word::Glob("/sys/module/ib_*"),
                    Word::Glob("/sys/module/rdma_*"),
                    Word::Glob("/sys/module/vmw_*"),
                    Word::Glob("/sys/module/vmxnet3"),
                    Word::Glob("/sys/module/mlx[45]_*"),
                    Word::Glob("/sys/module/nvidia*"),
                    Word::Glob("/sys/module/nouveau"),
                    Word::Glob("/sys/module/nv_peer_mem"),
                ],
                keep: None,
            },
        },
    ],
    parse,
};

fn matters(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [loaded, versions, present] = observations else { return Vec::new() };
    let files = Files::new(versions, VERSIONS);
    let mut version_of = BTreeMap::new();
    for pattern in VERSIONS {
        version_of.extend(files.matching(pattern).filter_map(|(path, _)| {
            let name = path.strip_prefix("/sys/module/")?.strip_suffix("/version")?;
            Some((name, path))
        }));
    }
    let mut facts = Vec::new();
    let mut seen = BTreeSet::new();
    for (number, line) in loaded.lines() {
        // /proc/modules and lsmod begin alike: name, size, use count.
        let mut words = line.split_whitespace();
        let (Some(name), Some(size)) = (words.next(), words.next().and_then(|size| size.parse::<u64>().ok())) else {
            continue;
        };
        if !matters(name) || !seen.insert(name) {
            continue;
        }
        let entity = Entity::Module(Text::new(name));
        facts.push(loaded.known(entity.clone(), Attribute::ModuleSize, size, number));
        if let Some(uses) = words.next().and_then(|uses| uses.parse::<u64>().ok()) {
            facts.push(loaded.known(entity, Attribute::ModuleUses, uses, number));
        }
    }
    // Only an answered question tells loaded from built in: grep ends with 0 or 1, or says that there is no such file
    // (a kernel that cannot load modules).
    let answered = matches!(loaded.outcome, Outcome::Exit(0 | 1)) || loaded.stderr.contains("No such file");
    if answered {
        for (number, line) in present.lines() {
            let Some(name) = line.trim().strip_prefix("/sys/module/") else { continue };
            if !name.contains(['/', '*']) && matters(name) && seen.insert(name) {
                let built_in = State::NotPublished(Text::new("the kernel: this module is built in"));
                facts.push(present.fact(Entity::Module(Text::new(name)), Attribute::ModuleSize, built_in, number));
            }
        }
    }
    for name in seen {
        let text = |line: &str| Some(State::Known(line.into()));
        let Some(path) = version_of.get(name) else { continue };
        facts.extend(files.fact(Entity::Module(Text::new(name)), Attribute::Version, path, "", text));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const LOADED: &str = include_str!("../../../tests/fixtures/guest-probes/linux.modules-loaded.txt");
    const LSMOD: &str = include_str!("../../../tests/fixtures/pvrdma-guest/19-lsmod.txt");

    fn module(name: &str) -> Entity {
        Entity::Module(Text::new(name))
    }

    #[test]
    fn loaded_modules_with_size_uses_and_version() {
        let versions = "/sys/module/vmw_pvrdma/version:1.0.1.0-k\n/sys/module/ext4/version:1\n";
        let facts = run(&PROBE, &[(LSMOD, "", 0), (versions, "", 0), ("", "", 0)]);
        assert_eq!(shown(&facts, &module("vmw_pvrdma"), Attribute::ModuleSize), "69632");
        assert_eq!(shown(&facts, &module("vmw_pvrdma"), Attribute::ModuleUses), "0", "loaded and unused is fine");
        assert_eq!(shown(&facts, &module("vmw_pvrdma"), Attribute::Version), "1.0.1.0-k");
        assert_eq!(shown(&facts, &module("ib_core"), Attribute::ModuleUses), "6");
        assert!(!facts.iter().any(|fact| fact.entity == module("ext4")));
        let facts = run(&PROBE, &[(LOADED, "", 0), ("", "", 2), ("", "", 1)]);
        assert_eq!(shown(&facts, &module("rdma_rxe"), Attribute::ModuleSize), "135168");
    }

    #[test]
    fn built_in_modules_have_no_size() {
        let present = "/sys/module/ib_core\n/sys/module/vmxnet3\n/sys/module/ib_core/parameters\n";
        let facts = run(&PROBE, &[("vmxnet3 73728 0 - Live 0x0\n", "", 0), ("", "", 2), (present, "", 1)]);
        assert_eq!(
            shown(&facts, &module("ib_core"), Attribute::ModuleSize),
            "<not published by the kernel: this module is built in>"
        );
        assert_eq!(shown(&facts, &module("vmxnet3"), Attribute::ModuleSize), "73728");
        // Nothing is called built in when the list of loaded ones could not be read.
        let facts = run(&PROBE, &[("", "grep: /proc/modules: Permission denied\n", 2), ("", "", 2), (present, "", 1)]);
        assert!(facts.is_empty());
    }

    #[test]
    fn the_pattern_says_what_the_list_says() {
        let words = PATTERN.strip_prefix("^(").and_then(|rest| rest.strip_suffix(')')).expect("one group");
        assert_eq!(words.split('|').collect::<Vec<_>>(), PREFIXES);
    }

    survives_damage!(
        PROBE,
        LSMOD,
        "/sys/module/vmw_pvrdma/version:1.0.1.0-k\n",
        "/sys/module/ib_core\n/sys/module/vmxnet3\n"
    );
}
