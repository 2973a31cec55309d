//! Files of a host that change what everything else says: `/etc/vmware/config` stands above every VMX, `local.sh` runs at
//! each boot, `passthru.map` tells how devices are reset.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fabric::observation::is_permission_error;
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source};

const FILES: &[&str] = &["/etc/vmware/config", "/etc/rc.local.d/local.sh", "/etc/vmware/passthru.map"];

/// Most lines that are told of one file.
const MOST_LINES: u32 = 500;

/// Configuration files.
pub const PROBE: Probe = Probe {
    name: "esxi.config-files",
    title: "configuration files of the host",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE.last(),
    sources: &[Source { name: "esxi.config-file-lines", read: Read::Files(FILES) }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for (line, raw) in observation.lines() {
        let Some((file, text)) =
            FILES.iter().find_map(|file| Some((*file, raw.strip_prefix(file)?.strip_prefix(':')?)))
        else {
            continue;
        };
        let number = numbers.entry(file).or_insert(0);
        *number += 1;
        if text.trim().is_empty() || *number > MOST_LINES {
            continue;
        }
        let entity = Entity::FileLine { file: Text::new(file), line: *number };
        facts.push(observation.known(entity, Attribute::FileText, Text::new(text), line));
    }
    for file in FILES.iter().filter(|file| !numbers.contains_key(**file)) {
        let entity = Entity::FileLine { file: Text::new(file), line: 1 };
        facts.push(observation.fact(entity, Attribute::FileText, missing(observation, file), 0));
    }
    facts
}

/// Why nothing was read of a file.
fn missing(observation: &Observation, file: &str) -> State<crate::fabric::Value> {
    match observation.outcome {
        Outcome::TimedOut => return State::Failed(Text::new("no answer before its deadline")),
        Outcome::Cut => return State::Failed(Text::new("the answer was cut off before its end")),
        Outcome::Exit(_) => {}
    }
    match observation.stderr.lines().find(|line| line.contains(file)) {
        None => State::Empty,
        Some(said) if said.contains("No such file") => State::NotAvailable,
        Some(said) if is_permission_error(said) => State::NeedsPrivilege(Text::new("only root may read it")),
        Some(said) => State::Failed(Text::new(said)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{run, shown, survives_damage};
    use super::*;

    /// Lines as guides have them, a row of `passthru.map` among them; paths as `grep -H ''` prints them.
    const LINES: &str = "/etc/vmware/config:libdir = \"/usr/lib/vmware\"\n/etc/vmware/config:guestinfo.key = \"<masked>\"\n\
                         /etc/rc.local.d/local.sh:#!/bin/sh\n/etc/rc.local.d/local.sh:\n/etc/rc.local.d/local.sh:exit 0\n";

    #[test]
    fn lines_keep_their_numbers() {
        let facts = run(&PROBE, &[(LINES, "grep: /etc/vmware/passthru.map: No such file or directory\n", 2)]);
        let of = |file, line| shown(&facts, &Entity::FileLine { file: Text::new(file), line }, Attribute::FileText);
        assert_eq!(of("/etc/vmware/config", 1), "libdir = \"/usr/lib/vmware\"");
        assert_eq!(of("/etc/vmware/config", 2), "guestinfo.key = \"<masked>\"");
        assert_eq!(of("/etc/rc.local.d/local.sh", 3), "exit 0");
        assert_eq!(of("/etc/rc.local.d/local.sh", 2), "absent");
        assert!(of("/etc/vmware/passthru.map", 1).starts_with('<'));
    }

    survives_damage!(PROBE, LINES);
}
