//! The independent reader's own view of what a guest's tools print: as little code as will do, none of it the library's.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

/// One line of `rdma link`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// `rxe0/1`.
    pub name: String,
    /// `ACTIVE`.
    pub state: String,
    /// `LINK_UP`.
    pub physical_state: String,
    /// `eth1`.
    pub netdev: String,
}

/// One line of `rdma res show qp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePair {
    /// `rxe0/17`: the device and the local number; `rxe0/1/1` with the port for the special ones.
    pub name: String,
    /// `RC`.
    pub kind: String,
    /// `RTS`.
    pub state: String,
    /// Number at the other end, where there is one.
    pub remote: Option<u64>,
    /// Process that owns it; none for the kernel's own.
    pub process: Option<u64>,
    /// Name of the owner, without the brackets of a kernel owner.
    pub owner: String,
}

/// The words of a line after `link NAME` as pairs.
fn pairs(line: &str) -> Option<(&str, BTreeMap<&str, &str>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["link", name, rest @ ..] = words.as_slice() else { return None };
    Some((name, rest.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()))
}

/// `rdma link`.
pub fn links(text: &str) -> Vec<Link> {
    let line = |line| {
        let (name, words) = pairs(line)?;
        let word = |key| words.get(key).copied().unwrap_or_default().to_owned();
        Some(Link {
            name: name.to_owned(),
            state: word("state"),
            physical_state: word("physical_state"),
            netdev: word("netdev"),
        })
    };
    text.lines().filter_map(line).collect()
}

/// `rdma res show qp`, by local number.
pub fn queue_pairs(text: &str) -> BTreeMap<u64, QueuePair> {
    let line = |line| {
        let (name, words) = pairs(line)?;
        let number: u64 = words.get("lqpn")?.parse().ok()?;
        let device = name.split('/').next()?;
        let word = |key| words.get(key).copied();
        Some((
            number,
            QueuePair {
                // Numbers 0 and 1 are the same on every port of a device: the port is part of their name.
                name: if number <= 1 { format!("{name}/{number}") } else { format!("{device}/{number}") },
                kind: word("type")?.to_owned(),
                state: word("state")?.to_owned(),
                remote: word("rqpn").and_then(|number| number.parse().ok()),
                process: word("pid").and_then(|number| number.parse().ok()),
                owner: word("comm").unwrap_or_default().trim_matches(['[', ']']).to_owned(),
            },
        ))
    };
    text.lines().filter_map(line).collect()
}

/// Lines of `name:value`.
pub fn counters(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}

/// Lines of `gids/INDEX:GID`, `gid_attrs/types/INDEX:TYPE` and `gid_attrs/ndevs/INDEX:NETDEV`, without the empty
/// entries: index to GID, type and netdev.
pub fn gids(text: &str) -> BTreeMap<u64, (Ipv6Addr, String, String)> {
    let column = |folder: &str| -> BTreeMap<u64, String> {
        text.lines()
            .filter_map(|line| {
                let (index, value) = line.strip_prefix(folder)?.split_once(':')?;
                Some((index.parse().ok()?, value.trim().to_owned()))
            })
            .collect()
    };
    let (kinds, netdevs) = (column("gid_attrs/types/"), column("gid_attrs/ndevs/"));
    let word = |column: &BTreeMap<u64, String>, index: u64| column.get(&index).cloned().unwrap_or_default();
    column("gids/")
        .into_iter()
        .filter_map(|(index, gid)| {
            let gid: Ipv6Addr = gid.parse().ok()?;
            (!gid.is_unspecified()).then(|| (index, (gid, word(&kinds, index), word(&netdevs, index))))
        })
        .collect()
}

/// The addresses with prefix lengths in `ip -o addr`.
pub fn addresses(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[0] == "inet" || pair[0] == "inet6").map(|pair| pair[1].to_owned()).collect()
}

/// The word after `key` in a line of words: `mtu` in `ip -o link`.
pub fn word_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_whitespace().skip_while(|word| *word != key).nth(1)
}

/// One process of `ps -eo pid=,ppid=,args=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub id: u64,
    /// Its parent's id.
    pub parent: u64,
    /// Its command line.
    pub command: String,
}

/// `ps -eo pid=,ppid=,args=`.
pub fn processes(text: &str) -> Vec<Process> {
    let line = |line: &str| {
        let (id, rest) = line.trim_start().split_once(char::is_whitespace)?;
        let (parent, command) = rest.trim_start().split_once(char::is_whitespace)?;
        Some(Process { id: id.parse().ok()?, parent: parent.parse().ok()?, command: command.trim().to_owned() })
    };
    text.lines().filter_map(line).collect()
}

/// What runs under SSH sessions other than the one of process `reader`: everything below the listening sshd except the
/// reader's own session.
pub fn foreign_sessions(processes: &[Process], reader: u64) -> Vec<Process> {
    let parent = |id| processes.iter().find(|process| process.id == id).map(|process| process.parent);
    let ancestry = |id: u64| std::iter::successors(Some(id), |id| parent(*id)).take(64).collect::<Vec<_>>();
    let listener = processes.iter().find(|process| process.command.contains("[listener]")).map(|process| process.id);
    let Some(listener) = listener else { return Vec::new() };
    // The session of a process: its ancestor right below the listener.
    let session = |id| {
        let line = ancestry(id);
        line.iter().position(|ancestor| *ancestor == listener).and_then(|at| at.checked_sub(1)).map(|at| line[at])
    };
    let own = session(reader);
    processes
        .iter()
        .filter(|process| session(process.id).is_some_and(|session| Some(session) != own))
        .cloned()
        .collect()
}
