//! Logs of services: the journal and syslog. Only what is known of the licence of vGPUs and of refused logs is told; the
//! kernel's own messages are read elsewhere.

use super::said::{SAID, Said};
use crate::diagnose::explain::Kind;
use crate::diagnose::finding::Confidence::{Likely, Possible};
use crate::diagnose::finding::Status;

const REFUSED: &str = "Failed to acquire license from";

pub(super) const SAID_BY: &[Said] = &[
    Said {
        words: &[REFUSED, "Failed to acquire/renew license from", "Failed to renew license from"],
        with: &[&["nvidia-gridd"]],
        kind: Kind::Journal,
        check: "gpu.licence",
        subject: "nvidia-gridd",
        title: "the vGPU got no licence",
        cause: "Without one the driver slows the vGPU down some minutes after the start: fast at first, then it crawls. Messages beside it (trusted store, \
                folder of licences) do not prove the reason.",
        causes: &[
            (Likely, "the licence server does not answer this VM, or its token is not valid: network, name, clock"),
            (Possible, "the server has none left; sister VMs that have theirs speak for a cause in this one"),
        ],
        decide: "The licence server's own log, and whether sister VMs have their licence",
        next: &[
            "nvidia-smi -q | grep -A2 -i licens",
            "sudo journalctl -u nvidia-gridd",
            "timedatectl",
            "ls -l /etc/nvidia/ClientConfigToken",
        ],
        ..SAID
    },
    Said {
        words: &["ServerAddress FeatureType) not set", "Mandatory configuration parameter"],
        with: &[&["nvidia-gridd"]],
        kind: Kind::Journal,
        check: "gpu.licence",
        subject: "nvidia-gridd",
        title: "nvidia-gridd has no licence server configured",
        cause: "The keys that it names are not set in /etc/nvidia/gridd.conf, and there is no token of a client either: the vGPU stays without licence and is \
                slowed down.",
        decide: "gridd.conf, and the folder for tokens",
        next: &[
            "grep -v '^#' /etc/nvidia/gridd.conf",
            "ls -l /etc/nvidia/ClientConfigToken",
            "nvidia-smi -q | grep -A2 -i licens",
        ],
        ..SAID
    },
    Said {
        words: &[
            "dmesg: read kernel buffer failed: Operation not permitted",
            "You are currently not seeing messages from other users and the system",
        ],
        kind: Kind::KernelLog,
        check: "guest.kernel-log-refused",
        status: Status::Info,
        confidence: Likely,
        subject: "kernel log",
        title: "this user may not read the kernel log",
        cause: "What drivers say (RDMA, GPU) is not in this text, which does not mean that they said nothing.",
        causes: &[
            (Likely, "kernel.dmesg_restrict is on, or the user is in none of the groups adm and systemd-journal"),
            (Possible, "a container without the privilege"),
        ],
        decide: "The same as root",
        next: &["sudo dmesg", "sudo journalctl -k"],
        ..SAID
    },
];
