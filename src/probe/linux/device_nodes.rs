//! Device nodes of the RDMA stack with their permissions: a program that may not open `/dev/infiniband/uverbs0` sees no
//! device at all.

use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// Device nodes and who may open them.
pub const PROBE: Probe = Probe {
    name: "linux.device-nodes",
    title: "RDMA and GPU device nodes and their permissions",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[Source {
        name: "linux.device-nodes",
        read: Read::Command {
            argv: &[
                Word::Plain("stat"),
                Word::Plain("-c"),
                Word::Plain("%A %U %G %t %T %n"),
                Word::Glob("/dev/infiniband/*"),
                Word::Glob("/dev/nvidia*"),
                Word::Glob("/dev/gdrdrv"),
            ],
            keep: None,
        },
    }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    for (number, line) in observation.lines() {
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        let [permissions, owner, group, major, minor, path] = words[..] else { continue };
        // Folders beside the nodes (by-path, by-ibdev) hold only links.
        if !permissions.starts_with('c') || !path.starts_with("/dev/") {
            continue;
        }
        let (Ok(major), Ok(minor)) = (u32::from_str_radix(major, 16), u32::from_str_radix(minor, 16)) else { continue };
        let entity = Entity::DeviceNode(Text::new(path));
        let mut known = |attribute, text: &str| facts.push(observation.known(entity.clone(), attribute, text, number));
        known(Attribute::Permissions, permissions);
        known(Attribute::Owner, &format!("{owner}:{group}"));
        known(Attribute::DeviceNumber, &format!("{major}:{minor}"));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const NODES: &str = include_str!("../../../tests/fixtures/guest-probes/linux.device-nodes.txt");

    #[test]
    fn nodes_have_permissions_owner_and_decimal_numbers() {
        let facts = run(&PROBE, &[(NODES, "stat: cannot statx '/dev/nvidia*': No such file or directory\n", 1)]);
        let of = |path: &str, attribute| shown(&facts, &Entity::DeviceNode(Text::new(path)), attribute);
        assert_eq!(of("/dev/infiniband/uverbs0", Attribute::Permissions), "crw-rw-rw-");
        assert_eq!(of("/dev/infiniband/uverbs0", Attribute::DeviceNumber), "231:192");
        assert_eq!(of("/dev/infiniband/umad0", Attribute::Permissions), "crw-------");
        assert_eq!(of("/dev/infiniband/umad0", Attribute::Owner), "root:root");
        assert_eq!(of("/dev/infiniband/rdma_cm", Attribute::DeviceNumber), "10:124");
        assert_eq!(of("/dev/infiniband/by-ibdev", Attribute::Permissions), "absent", "a folder is no node");
    }

    survives_damage!(PROBE, NODES);
}
