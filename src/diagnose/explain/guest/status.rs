//! Completions in error as perftest and NCCL print them: the status says which side failed and how.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::diagnose::explain::parts::Line;
use crate::diagnose::explain::squeezed::{self, number, squeezed};
use crate::diagnose::explain::{Explained, Kind, MOST_EVIDENCE};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::probe::needles::Needles;

/// Words before a status, and the kind of text that they are of.
const WORDS: [(&str, Kind); 4] = [
    ("Failed status ", Kind::Perftest),
    ("Failed status-", Kind::Perftest),
    ("Got completion from peer ", Kind::Nccl),
    ("Got completion with error ", Kind::Nccl),
];
static NEEDLES: LazyLock<Needles> =
    LazyLock::new(|| Needles::new(WORDS.iter().map(|(words, _)| squeezed(words)).zip(0_u8..)));

/// What a status means: id of the check, title, causes, what settles it.
struct Meaning {
    status: u64,
    check: &'static str,
    title: &'static str,
    cause: &'static str,
    decide: &'static str,
    next: &'static [&'static str],
}

/// Statuses of the verbs library, `ibv_wc_status`.
const MEANINGS: &[Meaning] = &[
    Meaning {
        status: 12,
        check: "guest.no-answer",
        title: "no answer came to RDMA packets (status 12, transport retry counter exceeded)",
        cause: "The packets, or the acknowledgements of the other side, do not arrive. A ping that works proves only that IP goes through. Likely: \
                the GID index is a wrong one or of another version of RoCE on one side. Likely: a filter or firewall drops UDP 4791, or VLAN or \
                priority are others than the network carries. Possible: packets larger than the path's MTU, loss under load without working PFC, a \
                peer that ended or hung.",
        decide: "The GID behind the index on both sides; whether retransmissions rise; whether a message that fits one small packet gets through (-s 64 -m 256)",
        next: &["show_gids", "rdma statistic show", "ib_write_bw -x INDEX -m 256 -s 64 SERVER", "ip neigh show"],
    },
    Meaning {
        status: 13,
        check: "guest.receiver-not-ready",
        title: "the receiver had no buffer ready for too long (status 13, RNR retry counter exceeded)",
        cause: "The network works: the program on the other side posts no receive buffers. Likely: it hangs, was stopped, or is too slow for what is \
                sent. Possible: the two sides run with different options.",
        decide: "What the receiving program does at that time",
        next: &["rdma statistic show | grep -i rnr", "rdma res show qp"],
    },
    Meaning {
        status: 5,
        check: "guest.queue-pairs",
        title: "requests were flushed (status 5): a consequence of an error before it",
        cause: "The queue pair was in the state ERR already. The first completion with another status says why, on this side or on the other.",
        decide: "The first error, above this line or in the log of the other side",
        next: &["rdma res show qp", "sudo dmesg | tail"],
    },
    Meaning {
        status: 4,
        check: "guest.memory-access",
        title: "the adapter could not reach this side's own memory (status 4, local protection error)",
        cause: "The network is not the cause. Likely: memory that is not registered, was freed, or belongs to a GPU that the adapter cannot reach \
                (GPUDirect). Possible: a wrong key or length in the program.",
        decide: "The same with memory of the host in place of the GPU's (perftest without --use_cuda, NCCL_NET_GDR_LEVEL=0)",
        next: &["lsmod | grep -e peermem -e nv_peer", "ls /sys/kernel/mm/memory_peers", "ulimit -l"],
    },
    Meaning {
        status: 1,
        check: "guest.memory-access",
        title: "a buffer was too short for what was to be sent or received (status 1, local length error)",
        cause: "Likely: the two sides run with different sizes or options. Possible: a message larger than the path's MTU on UD.",
        decide: "The options of both sides",
        next: &["ib_write_bw --version"],
    },
    Meaning {
        status: 9,
        check: "guest.memory-access",
        title: "the other side refused the request as invalid (status 9)",
        cause: "The network works. Likely: the two sides run different tests or options (ib_read_bw against ib_write_bw). Possible: an operation that \
                the other queue pair does not allow, or more reads at once than it can serve.",
        decide: "The command of both sides",
        next: &["rdma res show qp"],
    },
    Meaning {
        status: 10,
        check: "guest.memory-access",
        title: "the other side refused access to its memory (status 10)",
        cause: "The network works. Likely: a key or range that is not (any more) registered there: options that differ (size, -a), or a peer that ended. \
                Possible: memory of a GPU that its adapter cannot reach.",
        decide: "The options of both sides, and whether the peer still runs",
        next: &["rdma res show mr"],
    },
    Meaning {
        status: 11,
        check: "guest.memory-access",
        title: "the other side could not carry out the request (status 11)",
        cause: "Likely: the adapter there could not reach the memory or got a message that does not fit. Possible: MTU or sizes that differ between the \
                two sides.",
        decide: "The log of the other side at the same second",
        next: &["ip link show", "sudo dmesg | tail"],
    },
];

/// Reads completions in error; each status once, with all its lines.
pub(super) fn read(explained: &mut Explained, lines: &[Line<'_>]) {
    let mut found: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    let mut kinds: Vec<Kind> = Vec::new();
    squeezed::each(lines, &NEEDLES, |group, line, rest| {
        let (words, kind) = WORDS[usize::from(group)];
        if let Some(status) = status(words, rest).filter(|status| (1..=30).contains(status)) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            let places = found.entry(status).or_default();
            if places.len() < MOST_EVIDENCE && places.last() != Some(&line) {
                places.push(line);
            }
        }
    });
    for kind in kinds {
        explained.is(kind);
    }
    let raw = |line: u32| {
        let after = lines.partition_point(|(number, _)| *number <= line);
        after.checked_sub(1).map_or("", |at| &*lines[at].1)
    };
    let others = found.keys().any(|status| *status != 5);
    for (status, places) in &found {
        // Flushed requests follow from the error before them.
        if *status == 5 && others {
            continue;
        }
        let finding = match MEANINGS.iter().find(|meaning| meaning.status == *status) {
            Some(meaning) => Finding::new(
                meaning.check,
                Status::Fail,
                Confidence::Proved,
                "completion",
                meaning.title,
                meaning.cause,
            )
            .decided_by(meaning.decide)
            .helped_by("Look further", meaning.next, ""),
            None => Finding::new(
                "guest.queue-pairs",
                Status::Fail,
                Confidence::Proved,
                "completion",
                &format!("a request ended with status {status} of the verbs library"),
                "The status says which side failed and how; the names are those of enum ibv_wc_status.",
            )
            .decided_by("The name of the status in infiniband/verbs.h")
            .helped_by(
                "Look it up",
                &["grep -A30 'enum ibv_wc_status' /usr/include/infiniband/verbs.h"],
                "",
            ),
        };
        explained.finding(places.iter().fold(finding, |finding, line| finding.shown(*line, raw(*line).trim())));
    }
}

/// The status in what stands behind the words, without blanks and in small letters.
fn status(words: &str, rest: &str) -> Option<u64> {
    match words {
        "Failed status " => number(rest).filter(|_| rest.contains("wr_id")),
        // `Failed status-transport retry counter exceeded (12): wr_id 0`
        "Failed status-" => number(rest.split_once('(')?.1),
        // `with error 12, opcode 0`, `with status=12 opcode=129`, `with status=IBV_WC_RETRY_EXC_ERR(12)`
        "Got completion from peer " | "Got completion with error " => {
            let head = &rest[..rest.floor_char_boundary(160)];
            if words.ends_with("error ") {
                return number(head);
            }
            let (_, behind) = head.split_once("witherror").or_else(|| head.split_once("withstatus="))?;
            number(behind).or_else(|| number(behind.split_once('(')?.1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::explain::explain;

    #[test]
    fn each_spelling_tells_its_status() {
        for (text, expected) in [
            (" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n", Some("status 12")),
            (
                " Completion with error at client\n Failed status-transport retry counter exceeded (12): wr_id 0\n",
                Some("status 12"),
            ),
            (
                "node2:5776:5902 [0] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.2.0.5<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv)\n",
                Some("status 12"),
            ),
            (
                "[1] transport/net_ib.cc:2453 NCCL WARN NET/IB: Got completion from peer 10.99.91.63<51161> with status=4 opcode=32614 len=32614 vendor err 81 (Send)\n",
                Some("status 4"),
            ),
            (
                "NCCL WARN NET/IB: Got completion from peer 10.1.1.3<40554> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RECV_RDMA_WITH_IMM(129)\n",
                Some("status 12"),
            ),
            (" Failed status 5: wr_id 0 syndrom 0xf9\n", Some("status 5")),
            (" Failed status 17: wr_id 0 syndrom 0x0\n", Some("status 17")),
            // Near misses: perftest prints the identifier of the request behind the status.
            ("the unit entered failed status 12 minutes ago\n", None),
            ("Failed status of the unit\n", None),
            ("Got completion from peer 10.2.0.5 with success\n", None),
            (" Failed status 0: wr_id 0 syndrom 0x0\n", None),
            ("Failed status 4711: unit\n", None),
        ] {
            let found = explain("-", text.as_bytes()).findings;
            match expected {
                Some(expected) => {
                    assert!(found.iter().any(|finding| finding.title.contains(expected)), "{text}: {found:?}");
                }
                None => assert_eq!(found, [], "{text}"),
            }
        }
    }

    #[test]
    fn what_follows_from_an_error_is_no_error_of_its_own() {
        let text = " Failed status 12: wr_id 0 syndrom 0x81\n Failed status 5: wr_id 0 syndrom 0xf9\n Failed status 5: wr_id 1 syndrom 0xf9\n";
        let found = explain("-", text.as_bytes()).findings;
        assert_eq!(found.iter().map(|finding| finding.check.as_str()).collect::<Vec<_>>(), ["guest.no-answer"]);
    }
}
