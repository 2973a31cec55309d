//! `lsmod` and `numactl --hardware`: modules of the kernel, and nodes of memory.

use super::{Output, is_name, listed, number, text};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};

/// Modules that are told by name; a kernel has hundreds.
const TOLD: [&str; 21] = [
    "vmw_pvrdma",
    "vmxnet3",
    "mlx5_ib",
    "mlx5_core",
    "mlx4_ib",
    "mlx4_core",
    "rdma_rxe",
    "siw",
    "irdma",
    "bnxt_re",
    "ib_core",
    "ib_uverbs",
    "ib_umad",
    "rdma_cm",
    "rdma_ucm",
    "ib_ipoib",
    "nvidia",
    "nvidia_peermem",
    "nv_peer_mem",
    "nouveau",
    "gdrdrv",
];

/// Reads both.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    modules(explained, output);
    nodes(explained, output);
}

/// `Module  Size  Used by`, and a row for each.
fn modules(explained: &mut Explained, output: &Output<'_>) {
    let is_title = |line: &str| line.split_whitespace().eq(["Module", "Size", "Used", "by"]);
    let Some(first) = output.lines.iter().position(|words| is_title(words.text)) else { return };
    explained.is(Kind::Lsmod);
    let mut found: Vec<(&str, u32, &str)> = Vec::new();
    for words in &output.lines[first + 1..] {
        let cells: Vec<&str> = words.text.split_whitespace().take(4).collect();
        let [name, size, used, ..] = cells.as_slice() else { continue };
        let (true, Ok(_), Ok(used)) = (is_name(name), size.parse::<u64>(), used.parse::<i64>()) else { continue };
        if TOLD.contains(name) {
            let used = u64::try_from(used).map_or_else(|_| text(cells[2]), number);
            explained.fact(words.number, &output.owner(&format!("{name}.used")), used, None);
        }
        if found.len() < super::MOST_LINES {
            found.push((name, words.number, words.text));
        }
    }
    let is_loaded = |name: &str| found.iter().find(|(other, ..)| *other == name);
    let drivers: Vec<&(&str, u32, &str)> = ["vmw_pvrdma", "mlx5_ib", "mlx4_ib", "rdma_rxe", "siw", "irdma", "bnxt_re"]
        .iter()
        .filter_map(|name| is_loaded(name))
        .collect();
    if let Some((_, line, raw)) = drivers.first()
        && is_loaded("ib_uverbs").is_none()
    {
        let names: Vec<&str> = drivers.iter().map(|(name, ..)| *name).collect();
        let title = format!("{} is loaded, ib_uverbs is not", listed(&names));
        let finding = Finding::new(
            "guest.rdma-modules",
            Status::Warn,
            Confidence::Likely,
            "ib_uverbs",
            &title,
            "Without ib_uverbs there is no /dev/infiniband/uverbsN, and no program can use the RDMA device. A kernel that has it built in does not \
             list it, and a list that was filtered may lack it.",
        )
        .decided_by("Whether /dev/infiniband/uverbs0 is there")
        .helped_by("Look, and load it", &["ls -l /dev/infiniband", "sudo modprobe ib_uverbs"], "");
        explained.finding(finding.shown(*line, raw));
    }
    if let Some((_, line, raw)) = is_loaded("nouveau") {
        let finding = Finding::new(
            "gpu.driver-bound",
            Status::Warn,
            Confidence::Likely,
            "nouveau",
            "the module nouveau is loaded",
            "Where it has taken the GPU, the NVIDIA driver cannot, and CUDA finds no device.",
        )
        .decided_by("\"Kernel driver in use\" of the GPU")
        .helped_by("Look which driver has the GPU", &["lspci -nnk -d 10de:"], "");
        explained.finding(finding.shown(*line, raw));
    }
}

/// `available: 2 nodes (0-1)`, `node 0 size: 706 MB`, `node 0 cpus: 0 1 2`.
fn nodes(explained: &mut Explained, output: &Output<'_>) {
    for words in &output.lines {
        let line = words.text;
        if let Some(count) = line.strip_prefix("available: ").and_then(|rest| rest.split_once(" nodes (")) {
            if let Ok(count) = count.0.parse() {
                explained.is(Kind::Numactl);
                explained.fact(words.number, &output.owner("numa.nodes"), number(count), None);
            }
            continue;
        }
        let Some((node, rest)) = line.strip_prefix("node ").and_then(|rest| rest.split_once(' ')) else { continue };
        let (true, Some((what, value))) = (node.parse::<u16>().is_ok(), rest.split_once(':')) else { continue };
        let value = value.trim();
        let name = output.owner(&format!("numa-node{node}.{what}"));
        match (what, value.strip_suffix(" MB").and_then(|size| size.parse().ok())) {
            ("size" | "free", Some(size)) => {
                explained.is(Kind::Numactl);
                explained.fact(words.number, &name, number(size), Some("MB"));
            }
            ("cpus", _) if value.split(' ').all(|cpu| cpu.is_empty() || cpu.parse::<u32>().is_ok()) => {
                explained.is(Kind::Numactl);
                explained.fact(words.number, &name, text(value), None);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::explain::{Explained, Kind, Value, explain};
    use crate::fabric::State;

    fn of(text: &str) -> Explained {
        explain("-", text.as_bytes())
    }

    fn state(explained: &Explained, name: &str) -> Option<State<Value>> {
        explained.facts.iter().find(|fact| fact.name.as_str() == name).map(|fact| fact.state.clone())
    }

    #[test]
    fn modules_of_a_guest() {
        let list = include_str!("../../../../tests/fixtures/pvrdma-guest/19-lsmod.txt");
        let explained = of(list);
        assert_eq!((explained.kinds.as_slice(), explained.findings.len()), (&[Kind::Lsmod][..], 0));
        assert_eq!(state(&explained, "vmw_pvrdma.used"), Some(State::Known(Value::Number(0))));
        let without: String =
            list.lines().filter(|line| !line.starts_with("ib_uverbs")).flat_map(|line| [line, "\n"]).collect();
        assert_eq!(of(&without).findings[0].check, "guest.rdma-modules");
        let nouveau = of(
            "Module                  Size  Used by\nnouveau              2347008  1\nmlx5_core            1654784  0\n",
        );
        assert_eq!(
            nouveau.findings.iter().map(|finding| finding.check.as_str()).collect::<Vec<_>>(),
            ["gpu.driver-bound"]
        );
    }

    #[test]
    fn nodes_of_memory() {
        let text = include_str!("../../../../tests/fixtures/pvrdma-guest/26-numactl-hardware.txt");
        let explained = of(text);
        assert_eq!((explained.kinds.as_slice(), explained.findings.len()), (&[Kind::Numactl][..], 0));
        assert_eq!(state(&explained, "numa.nodes"), Some(State::Known(Value::Number(1))));
        assert_eq!(state(&explained, "numa-node0.size"), Some(State::Known(Value::Number(706))));
        // A node without processors has an empty list, which is not none.
        assert_eq!(
            state(&of("available: 2 nodes (0-1)\nnode 1 cpus:\nnode 1 size: 0 MB\n"), "numa-node1.cpus"),
            Some(State::Empty)
        );
        assert_eq!(of("node 7 is down: ask the operator\navailable: nodes\n").kinds, []);
    }
}
