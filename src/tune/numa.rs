//! On which processors of a guest ranks are to run: near the adapter, as far as anybody knows where that is. What the
//! guest's kernel says is only as true as the VM's virtual NUMA; what really holds the adapter is a node of the host, which
//! only the host can say, and nothing tells which of the guest's nodes lies on it.

use crate::tune::advice::{Form, Item, Layer, Side, Sure};
use crate::tune::mpi::Release;

const SOURCE: &str = "Linux Documentation/ABI: sysfs-bus-pci numa_node; vSphere Resource Management: virtual NUMA";

/// What is advised about processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Items for the line.
    pub on_line: Vec<Item>,
    /// What is said beside it, for each guest.
    pub beside: Vec<Item>,
}

/// Where to run ranks.
pub fn binding(sides: &[Side], release: Release) -> Binding {
    let beside = sides.iter().filter_map(|side| of_guest(side, sides)).collect();
    let near: Option<Vec<(&Side, String)>> = sides.iter().map(|side| Some((side, near(side, sides)?))).collect();
    let item = |name: &str, value: &str, reason: String, source, sure| {
        Item::new(Layer::Binding, Form::Option, name, value, reason, source, sure)
    };
    let decide = "--report-bindings (5.x: --display bind) prints where each rank runs".to_owned();
    let orterun = "Open MPI mpirun(1)";
    let mut on_line = Vec::new();
    let processors = near.as_ref().and_then(|near| {
        let (_, first) = near.first()?;
        near.iter().all(|(_, other)| other == first).then(|| first.clone())
    });
    match (processors, release) {
        (Some(list), Release::Four) => {
            on_line.push(item("--map-by", "ppr:1:node", "one rank on each guest".to_owned(), orterun, Sure::Proved));
            let reason = format!(
                "processors {list} are those of the node that the guest says is near the adapter: ranks stay on them"
            );
            on_line.push(
                item("--cpu-set", &list, reason, "Open MPI 4.1 mpirun(1)", Sure::Likely).decided_by(decide.clone()),
            );
        }
        (Some(list), Release::Five) => {
            let reason = format!(
                "processors {list} are those of the node that the guest says is near the adapter. PRRTE calls --cpu-set of 4.1 so; the \
                 slots behind the hosts say how many ranks each gets"
            );
            on_line.push(
                item(
                    "--map-by",
                    &format!("pe-list={list}:ordered"),
                    reason,
                    "PRRTE prterun(1), map-by pe-list",
                    Sure::Likely,
                )
                .decided_by(decide.clone()),
            );
        }
        (None, _) => {
            on_line.push(item("--map-by", "ppr:1:node", "one rank on each guest".to_owned(), orterun, Sure::Proved));
        }
    }
    let reason = match release {
        Release::Four => "each rank stays on its core, with its caches and its memory",
        Release::Five => {
            "each rank stays on its core, with its caches and its memory; PRRTE binds so by itself only for up to two ranks"
        }
    };
    on_line.push(item("--bind-to", "core", reason.to_owned(), orterun, Sure::Likely).decided_by(decide));
    Binding { on_line, beside }
}

/// The processors near the adapter of a guest with several nodes, one by one: `4,5,6,7`.
fn near(side: &Side, all: &[Side]) -> Option<String> {
    if side.nodes.len() < 2 {
        return None;
    }
    let node = side.port(all)?.node??;
    let processors = side.nodes.iter().find(|one| one.number == node)?.processors.as_deref()?;
    one_by_one(processors)
}

/// `0-2,8` as `0,1,2,8`; `None` if that is no list of processors.
fn one_by_one(list: &str) -> Option<String> {
    const MOST: u32 = 1024;
    let mut all = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        if to < from || to - from > MOST {
            return None;
        }
        all.extend((from..=to).map(|processor| processor.to_string()));
    }
    (!all.is_empty()).then(|| all.join(","))
}

fn of_guest(side: &Side, all: &[Side]) -> Option<Item> {
    let port = side.port(all)?;
    let guest = &side.guest;
    let count = side.nodes.len();
    let own = match (count, port.node) {
        (0, _) => format!("the NUMA nodes of {guest} were not read"),
        (1, _) => format!("{guest} has one NUMA node: within the guest there is nothing to choose"),
        (_, Some(Some(node))) => format!(
            "{guest} has {count} NUMA nodes and says that {} is near node {node}, which is only as true as the VM's virtual NUMA",
            port.device
        ),
        (_, Some(None)) => {
            format!(
                "{guest} has {count} NUMA nodes and does not say near which of them {} is (-1, usual in a VM)",
                port.device
            )
        }
        (_, None) => format!("{guest} has {count} NUMA nodes; near which of them {} is was not read", port.device),
    };
    let (host, value, sure, decide) = match &side.host {
        Some(host) => of_host(side, host),
        None => (
            "its host is not among what was read, so that nobody says where the adapter really is".to_owned(),
            "not known",
            Sure::Possible,
            "the host as a target of the inventory (esxcli hardware pci list: NUMA Node); a test on each node of the guest".to_owned(),
        ),
    };
    let reason = format!("{own}; {host}");
    Some(
        Item::new(Layer::Binding, Form::Note, "adapter's NUMA node", value, reason, SOURCE, sure)
            .of(guest)
            .decided_by(decide)
            .now(port.node.map_or("not read".to_owned(), |node| node.map_or("-1".to_owned(), |node| node.to_string()))),
    )
}

/// What the host says: where the adapter is, and whether the VM runs there.
fn of_host(side: &Side, host: &crate::tune::advice::HostSide) -> (String, &'static str, Sure, String) {
    let name = &host.host;
    let function = host.function.as_deref().map_or(String::new(), |function| format!(" ({function})"));
    if host.nodes == Some(1) {
        return (
            format!("{name}, its host, has one node: every processor is near the adapter"),
            "any (the host has one)",
            Sure::Proved,
            String::new(),
        );
    }
    let Some(node) = host.node else {
        return (
            format!("{name}, its host, does not say at which of its nodes the adapter{function} is"),
            "not known",
            Sure::Possible,
            format!(
                "on {name}: esxcli hardware pci list prints a NUMA Node on newer releases; else the server's manual"
            ),
        );
    };
    let bound = host.bound.as_deref().and_then(|list| {
        let nodes: Option<Vec<u32>> = list.split(',').map(|one| one.trim().parse().ok()).collect();
        nodes.map(|nodes| nodes.contains(&node))
    });
    let runs = match (bound, host.homes.is_empty()) {
        (Some(true), _) => (
            format!("the VM is bound to that node (numa.nodeAffinity = {})", host.bound.as_deref().unwrap_or_default()),
            "near",
            Sure::Proved,
        ),
        (Some(false), _) => (
            format!(
                "the VM is bound to other nodes (numa.nodeAffinity = {}): all its traffic crosses the link between the processors",
                host.bound.as_deref().unwrap_or_default()
            ),
            "far",
            Sure::Proved,
        ),
        (None, false) if host.homes.contains(&node) => {
            ("esxtop sees the VM at home on that node".to_owned(), "near", Sure::Likely)
        }
        (None, false) => (
            "esxtop sees the VM at home on other nodes: all its traffic crosses the link between the processors"
                .to_owned(),
            "far",
            Sure::Likely,
        ),
        (None, true) => {
            ("on which nodes the VM runs is not known, and nothing binds it".to_owned(), "not known", Sure::Possible)
        }
    };
    let which = if side.nodes.len() > 1 {
        ". Which of the guest's nodes lies on it nobody tells: measure a test bound to each (numactl --cpunodebind=N)"
    } else {
        ""
    };
    let decide = format!("esxtop on {name}: memory view, field NHN of the VM, against node {node}");
    (
        format!("{name}, its host, really has the adapter{function} at its node {node}, and {}{which}", runs.0),
        runs.1,
        runs.2,
        decide,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_one_by_one() {
        assert_eq!(one_by_one("0-2,8").as_deref(), Some("0,1,2,8"));
        for bad in ["", "a", "3-1", "0-4000000000", "-"] {
            assert_eq!(one_by_one(bad), None, "{bad}");
        }
    }
}
