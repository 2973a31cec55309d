//! The file of hosts of Open MPI: a name on each line, with how many slots it has. The forms of other launchers
//! (`host:N` of MPICH) are read, too.

use crate::fabric::text::clean_line;

/// No more hosts are read.
const MOST: usize = 4096;

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Line of the file, from 1.
    pub line: u32,
    /// Its name.
    pub name: String,
    /// How many ranks it takes, where that is said.
    pub slots: Option<u64>,
}

/// What stands in a file of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// The hosts, each name once, in their order; slots of repeated ones are added.
    pub hosts: Vec<Host>,
    /// Lines that are of no form that is known, with what they say.
    pub strange: Vec<(u32, String)>,
}

impl Hosts {
    /// All slots; a host of which none are said has one.
    pub fn slots(&self) -> u64 {
        self.hosts.iter().fold(0, |sum, host| sum.saturating_add(host.slots.unwrap_or(1)))
    }
}

/// Reads a file of hosts.
pub fn read(text: &str) -> Hosts {
    let mut found = Hosts::default();
    for (number, line) in (1_u32..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if found.hosts.len() >= MOST {
            break;
        }
        match host(number, line) {
            Some(host) => add(&mut found.hosts, host),
            None if found.strange.len() < 20 => found.strange.push((number, clean_line(line))),
            None => {}
        }
    }
    found
}

fn add(hosts: &mut Vec<Host>, host: Host) {
    match hosts.iter_mut().find(|known| known.name == host.name) {
        // One line a slot is a form of its own.
        Some(known) => {
            let sum = known.slots.unwrap_or(1).saturating_add(host.slots.unwrap_or(1));
            known.slots = Some(sum);
        }
        None => hosts.push(host),
    }
}

fn host(line: u32, text: &str) -> Option<Host> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let (name, glued) = match first.rsplit_once(':') {
        // An IPv6 address has several.
        Some((name, number)) if !name.contains(':') => (name, Some(number.parse::<u64>().ok()?)),
        _ => (first, None),
    };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:@%".contains(&byte))
        && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !is_name || name.len() > 253 {
        return None;
    }
    let mut slots = glued;
    let rest: Vec<&str> = words.collect();
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        // `slots = 4`, `slots=4`, with blanks anywhere.
        let (key, mut value) = word.split_once('=').unwrap_or((word, ""));
        at += 1;
        while value.is_empty() && rest.get(at).is_some() {
            value = rest[at].trim_start_matches('=');
            at += 1;
        }
        match key {
            "slots" | "cpu" | "count" => slots = Some(value.parse().ok()?),
            "max_slots" | "max-slots" | "user" | "username" | "port" => {}
            _ => return None,
        }
    }
    Some(Host { line, name: name.to_owned(), slots })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_hosts() {
        let text = "# nodes\nnode1 slots=4 max_slots=8\nnode2:2\n  node3   # one\nnode4 slots = 3\n10.0.0.5 slots=1\nnode3\nfe80::1\n";
        let hosts = read(text);
        let told: Vec<(&str, Option<u64>)> = hosts.hosts.iter().map(|host| (host.name.as_str(), host.slots)).collect();
        assert_eq!(
            told,
            [
                ("node1", Some(4)),
                ("node2", Some(2)),
                ("node3", Some(2)),
                ("node4", Some(3)),
                ("10.0.0.5", Some(1)),
                ("fe80::1", None)
            ]
        );
        assert_eq!(hosts.slots(), 13);
        assert!(hosts.strange.is_empty());
    }

    #[test]
    fn what_is_no_host_is_told() {
        for line in ["node1 slots=many", "node1 what=4", "-x", "node:ab", "node1 4 5"] {
            let hosts = read(line);
            assert!(hosts.hosts.is_empty() && hosts.strange.len() == 1, "{line}: {hosts:?}");
        }
    }
}
