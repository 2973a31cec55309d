//! NCCL: which network it took, and why it failed. Statuses of completions are read for all programs alike.

use super::said::{SAID, Said};
use super::{Output, text};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::Confidence::{Likely, Possible};
use crate::diagnose::finding::Status;

const NO_DEVICE: &str = "NET/IB : No device found";
const DISABLED: &str = "NCCL_IB_DISABLE set by environment to 1";

pub(super) const SAID_BY: &[Said] = &[
    Said {
        words: &[NO_DEVICE],
        unless: &[DISABLED],
        kind: Kind::Nccl,
        check: "mpi.nccl-ib",
        status: Status::Warn,
        subject: "NCCL",
        title: "NCCL found no RDMA device and goes over TCP sockets, in silence",
        cause: "Everything works, many times slower.",
        causes: &[
            (Likely, "NCCL_IB_HCA names a device that is not here (on PVRDMA and after udev it is not mlx5_0)"),
            (Likely, "a container was not given /dev/infiniband"),
            (Possible, "no ACTIVE port, no verbs library or provider, or a plug-in of another network in its place"),
        ],
        decide: "ibv_devinfo within the very container or job, and NCCL_IB_HCA",
        next: &[
            "ibv_devinfo",
            "ls -l /dev/infiniband",
            "env | grep NCCL_",
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET ...",
        ],
        ..SAID
    },
    Said {
        words: &[DISABLED],
        kind: Kind::Nccl,
        check: "mpi.nccl-ib",
        status: Status::Warn,
        subject: "NCCL_IB_DISABLE",
        title: "NCCL_IB_DISABLE=1 keeps NCCL off RDMA",
        cause: "NCCL goes over TCP sockets (\"NET/Socket\" in its log), whatever adapter there is.",
        decide: "Where the variable is set: profile, job script, image of the container",
        next: &["env | grep NCCL_IB_DISABLE", "unset NCCL_IB_DISABLE"],
        ..SAID
    },
    Said {
        words: &["GPU Direct RDMA Disabled for HCA"],
        with: &[&["memory_peers/nv_mem"]],
        kind: Kind::Nccl,
        check: "gpu.peer-memory",
        status: Status::Warn,
        confidence: Likely,
        subject: "peer memory",
        title: "GPUDirect RDMA is off: no peer memory is registered with the RDMA stack",
        cause: "lsmod that lists nvidia_peermem is no proof: what counts is /sys/kernel/mm/memory_peers, and it is not there. What GPUs send is copied \
                through the memory of the guest.",
        causes: &[
            (
                Likely,
                "the RDMA modules are the kernel's own, which have no interface for nvidia_peermem: only those of the vendor (OFED) have",
            ),
            (
                Possible,
                "dma-buf would do instead: open modules of the driver and kernel 5.12 or newer; perftest may use it while NCCL does not",
            ),
        ],
        decide: "ls /sys/kernel/mm/memory_peers, and ib_write_bw --use_cuda=0 --use_cuda_dmabuf",
        next: &[
            "ls /sys/kernel/mm/memory_peers",
            "lsmod | grep -e peermem -e nv_peer",
            "modinfo ib_core | grep filename",
            "modinfo nvidia | grep license",
        ],
        ..SAID
    },
    Said {
        words: &["GPU Direct RDMA Disabled for HCA"],
        unless: &["memory_peers/nv_mem"],
        kind: Kind::Nccl,
        check: "gpu.peer-memory",
        status: Status::Info,
        confidence: Possible,
        subject: "peer memory",
        title: "GPUDirect RDMA is off for an adapter: what GPUs send is copied through the memory of the guest",
        causes: &[
            (Likely, "nvidia_peermem is not loaded or not registered, and dma-buf is not available"),
            (
                Possible,
                "GPU and adapter are too far apart for NCCL (NCCL_NET_GDR_LEVEL), as in a VM whose slots all look alike; PVRDMA has none at all",
            ),
        ],
        decide: "Whether peer memory is registered, and the distance that NCCL saw",
        next: &["ls /sys/kernel/mm/memory_peers", "lsmod | grep -e peermem -e nv_peer", "nvidia-smi topo -m"],
        ..SAID
    },
    Said {
        words: &[
            "Call to ibv_modify_qp failed with error Connection timed out",
            "Call to ibv_modify_qp failed with error Invalid argument",
            "Call to ibv_modify_qp failed with error No such device",
            "Call to ibv_modify_qp failed with error Network is unreachable",
            "Call to ibv_modify_qp failed with 110",
            "Call to ibv_modify_qp failed with 22",
        ],
        kind: Kind::Nccl,
        check: "guest.gid-index",
        confidence: Likely,
        subject: "queue pair",
        title: "NCCL could not connect its queue pairs: the way to the other side's GID is not found",
        cause: "The step to RTR needs a valid own GID and the hardware address of the other one.",
        causes: &[
            (
                Likely,
                "NCCL_IB_GID_INDEX names an empty or a link-local entry, or another one than on the other node (NCCL 2.21 and newer choose by themselves)",
            ),
            (Likely, "devices are paired that share no network: name the right ones with NCCL_IB_HCA"),
            (Possible, "the neighbour is not found: VLAN, subnet, an interface that is down"),
        ],
        decide: "ib_write_bw between the same devices with the same index",
        next: &["show_gids", "env | grep NCCL_", "ip neigh show", "ib_write_bw -d DEVICE -x INDEX SERVER"],
        ..SAID
    },
    Said {
        words: &["Call to ibv_create_qp failed", "Call to ibv_create_cq failed"],
        kind: Kind::Nccl,
        check: "guest.memlock",
        confidence: Possible,
        subject: "queues",
        title: "NCCL could not make its queues",
        causes: &[
            (Likely, "the limit of locked memory is too low in this container or job (ulimit -l)"),
            (Possible, "the device has no more queue pairs, or not as deep as asked for"),
        ],
        decide: "ulimit -l within the very container or job",
        next: &["ulimit -l", "docker run --ulimit memlock=-1 ...", "rdma res show"],
        ..SAID
    },
    Said {
        words: &[
            "Bootstrap : no socket interface found",
            "Bootstrap: no socket interface found",
            "no socket interface found",
        ],
        with: &[&["NCCL"]],
        kind: Kind::Nccl,
        check: "mpi.nccl-ib",
        subject: "NCCL_SOCKET_IFNAME",
        title: "NCCL found no interface to start over",
        cause: "It begins over TCP, RDMA or not.",
        causes: &[(Likely, "NCCL_SOCKET_IFNAME names no interface of this node: names differ between machines")],
        decide: "The interfaces of the node, and the variable",
        next: &["ip -br addr", "env | grep NCCL_SOCKET_IFNAME"],
        ..SAID
    },
    Said {
        words: &[
            "Call to connect returned Connection refused",
            "Call to connect returned No route to host",
            "Call to connect returned Connection timed out",
            "socketStartConnect: Connect to",
            "Net : Call to recv from",
        ],
        with: &[&["NCCL"]],
        kind: Kind::Nccl,
        check: "mpi.firewall",
        confidence: Possible,
        subject: "TCP",
        title: "NCCL cannot reach another rank over TCP",
        causes: &[
            (Likely, "a firewall between the nodes, or an interface that does not lead there (NCCL_SOCKET_IFNAME)"),
            (Likely, "the other rank ended first: its own log says why"),
        ],
        decide: "The log of the other rank at the same second, and whether the address leads there",
        next: &["ip route get ADDRESS", "env | grep NCCL_SOCKET_IFNAME", "sudo nft list ruleset"],
        ..SAID
    },
    Said {
        words: &["async fatal event", "Got async event : port error", "Got async event : local catastrophic error"],
        with: &[&["NET/IB"]],
        kind: Kind::Nccl,
        check: "guest.port-active",
        status: Status::Warn,
        confidence: Possible,
        subject: "RDMA device",
        title: "the adapter reported an event to NCCL that ends or interrupts its connections",
        causes: &[
            (Likely, "the port lost its link for a time"),
            (Possible, "a queue pair failed after a refused access, or the adapter's firmware stopped"),
        ],
        decide: "The kernel log and the state of the port at that time",
        next: &["sudo dmesg -T | grep -e mlx5 -e infiniband", "rdma link show"],
        ..SAID
    },
    Said {
        words: &[
            "unhandled cuda error, NCCL version",
            "unhandled cuda error (run with NCCL_DEBUG=INFO",
            "unhandled system error, NCCL version",
            "unhandled system error (run with NCCL_DEBUG=INFO",
        ],
        unless: &["NCCL WARN"],
        kind: Kind::Nccl,
        check: "mpi.nccl-ib",
        status: Status::Unknown,
        confidence: Possible,
        subject: "NCCL",
        title: "NCCL failed, and this text does not say why",
        cause: "The line is only the end: the reason stands in a line \"NCCL WARN\" of the rank that failed first.",
        decide: "The log with NCCL_DEBUG=INFO: the first WARN, of any rank",
        next: &["NCCL_DEBUG=INFO ..."],
        ..SAID
    },
];

/// Reads what NCCL took.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let mut told: Vec<(&str, String)> = Vec::new();
    for words in &output.lines {
        let line = words.text;
        if !line.contains("NCCL ") && !line.contains("NET/") {
            continue;
        }
        if line.contains("NCCL INFO ")
            || line.contains("NCCL WARN ")
            || line.starts_with("NCCL version ")
            || line.starts_with("INFO NET/")
        {
            explained.is(Kind::Nccl);
        }
        for (name, mark) in [
            ("nccl.version", "NCCL version "),
            ("nccl.network", "Using network "),
            ("nccl.devices", "NET/IB : Using "),
            ("nccl.sockets", "NET/Socket : Using "),
        ] {
            if let Some((_, value)) = line.split_once(mark)
                && explained.kinds.contains(&Kind::Nccl)
            {
                let value =
                    if name == "nccl.version" { value.split_whitespace().next().unwrap_or_default() } else { value };
                // All ranks say the same.
                if told.len() < 64 && !told.iter().any(|(known, other)| *known == name && other == value) {
                    told.push((name, value.to_owned()));
                    explained.fact(words.number, &output.owner(name), text(value), None);
                }
            }
        }
    }
}
