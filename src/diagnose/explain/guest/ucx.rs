//! UCX: what its log says, and what `ucx_info` lists.

use std::borrow::Cow;

use super::said::{SAID, Said};
use super::{Output, Words, is_name, listed, pair, text};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::Confidence::{Likely, Possible};
use crate::diagnose::finding::{Confidence, Finding, Status};

const RETRIES: &str = "Transport retry count exceeded on";
const RNR: &str = "RNR retry count exceeded on";
const NO_DEVICES: &str = "no usable transports/devices (asked";

pub(super) const SAID_BY: &[Said] = &[
    Said {
        words: &["unhandled timeout error"],
        with: &[&["UD endpoint", "ud_ep.c"]],
        kind: Kind::Ucx,
        check: "guest.no-answer",
        subject: "UCX",
        title: "UCX got no answer while it connected to another rank over UD",
        cause: "The datagrams of the wire-up, or their answers, do not arrive. What stands below (backtrace, signals, aborted job) follows from it.",
        causes: &[
            (
                Likely,
                "the GID index that UCX takes by itself is not routed to the other node: set UCX_IB_GID_INDEX to the RoCE v2 entry with the IPv4 address",
            ),
            (
                Possible,
                "a filter drops UDP 4791, VLAN or MTU differ, the other rank hung, or soft-RoCE loses packets under load",
            ),
        ],
        decide: "ib_send_bw -c UD between the same two nodes with the same index (-x)",
        next: &["show_gids", "ib_send_bw -c UD -x INDEX -d DEVICE SERVER", "rdma statistic show"],
        ..SAID
    },
    Said {
        words: &[RNR],
        kind: Kind::Ucx,
        check: "guest.receiver-not-ready",
        subject: "UCX",
        title: "the receiving rank had no buffer ready for too long",
        cause: "The network works; the other rank does not take what comes in.",
        causes: &[
            (Likely, "that rank hangs or is busy outside of MPI for long"),
            (Possible, "it was killed, for instance for want of memory"),
        ],
        decide: "What that rank does at that time",
        next: &["rdma statistic show | grep -i rnr", "sudo dmesg | grep -i -e 'out of memory' -e oom"],
        ..SAID
    },
    Said {
        words: &[
            "Please set max locked memory (ulimit -l) to 'unlimited'",
            "Please set max locked memory (ulimit -l) to unlimited",
        ],
        kind: Kind::Ucx,
        check: "guest.memlock",
        subject: "locked memory",
        title: "this job may not lock enough memory",
        cause: "Registering memory pins it, and what is pinned counts against the limit of the process: UCX says that it is reached.",
        causes: &[(
            Likely,
            "the launcher or its daemon has a lower limit than a login: limits.conf does not reach services (LimitMEMLOCK)",
        )],
        decide: "ulimit -l within the job",
        next: &["mpirun -np 2 --host A,B bash -c 'hostname; ulimit -l'", "systemctl show slurmd -p LimitMEMLOCK"],
        ..SAID
    },
    Said {
        words: &["ibv_create_srq() failed", "shared receive queue size invalid", "ibv_create_srq failed"],
        kind: Kind::Ucx,
        check: "mpi.ucx-srq",
        subject: "shared receive queue",
        title: "UCX asked for a deeper shared receive queue than the adapter has",
        cause: "rc_verbs asks for 4095 receives and does not shrink that to max_srq_wr of the device; vmw_pvrdma refuses what exceeds it.",
        decide: "max_srq_wr of the device against the length of the queue that UCX asks for",
        next: &[
            "ibv_devinfo -v | grep -e max_srq",
            "ucx_info -c -f | grep RC_VERBS_RX_QUEUE_LEN",
            "UCX_RC_VERBS_RX_QUEUE_LEN=1023 ...",
        ],
        ..SAID
    },
    Said {
        words: &["no auxiliary transport to"],
        kind: Kind::Ucx,
        check: "mpi.ucx-tls",
        subject: "UCX_TLS",
        title: "UCX_TLS lacks a transport for the wire-up",
        cause: "RC connects from queue pair to queue pair and needs UD (or TCP) to agree on it; with rc_verbs or rc_mlx5 alone the job ends.",
        decide: "UCX_TLS of the job",
        next: &["UCX_TLS=rc,ud,sm,self ...", "UCX_TLS=rc_v,ud_v,sm,self ...   (PVRDMA)"],
        ..SAID
    },
    Said {
        words: &[
            "unused environment variable: UCX_",
            "unused env variable: UCX_",
            "unused environment variables: UCX_",
            "unused env variables: UCX_",
        ],
        kind: Kind::Ucx,
        check: "mpi.ucx-unknown-variable",
        status: Status::Info,
        subject: "UCX",
        title: "UCX does not know a variable that is set",
        cause: "It has no effect: the name is mistyped, or of another release (UCX_SOCKADDR_CM_ENABLE is gone since 1.11).",
        decide: "The names that this release knows",
        next: &["ucx_info -c -f | grep -i NAME"],
        ..SAID
    },
    Said {
        words: &["ucp_ep_create(proc=", "Failed to resolve UCX endpoint for rank"],
        unless: &[NO_DEVICES, ") failed: Connection refused", RETRIES],
        kind: Kind::Ucx,
        check: "mpi.interface-choice",
        confidence: Possible,
        subject: "UCX",
        title: "UCX found no way to another rank",
        causes: &[
            (
                Likely,
                "the two nodes share no transport: other devices, other UCX_TLS or UCX_NET_DEVICES, or RDMA on one of them only",
            ),
            (Possible, "an interface that does not lead to the other node was chosen"),
        ],
        decide: "The lines of UCX just before, on both nodes",
        next: &["ucx_info -d | grep -e Transport -e Device   (on both)", "env | grep UCX_"],
        ..SAID
    },
];

/// The addresses of bridges for containers and VMs that machines make for themselves, alike on each.
fn is_of_bridge(address: &str) -> bool {
    let octets: Vec<u8> = address.split('.').map_while(|octet| octet.parse().ok()).collect();
    matches!(octets.as_slice(), [172, 17..=31, ..] | [192, 168, 122, _] | [10, 88, ..])
}

/// Reads the lines of the log and what `ucx_info` lists.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let mut transports: Vec<String> = Vec::new();
    let mut transport = "";
    let mut first = None;
    let mut retries: Option<(u32, &str)> = None;
    let mut missing = Missing {
        fatal: output
            .lines
            .iter()
            .any(|words| words.text.contains(NO_DEVICES) || words.text.contains("PML ucx cannot be selected")),
        told: None,
    };
    for (at, words) in output.lines.iter().enumerate() {
        let (line, number) = (words.text, words.number);
        // A log begins with a time or a node in brackets, or with where it comes from.
        if line.contains("UCX  ")
            && ["UCX  WARN", "UCX  ERROR", "UCX  INFO", "UCX  DIAG", "UCX  FATAL", "UCX  DEBUG"]
                .iter()
                .any(|mark| line.contains(mark))
        {
            explained.is(Kind::Ucx);
            missing.read(explained, line, number);
            refused(explained, line, number);
        }
        if line.contains(RETRIES) {
            explained.is(Kind::Ucx);
            retries = retries.or(Some((number, line)));
        }
        if retries.is_some() && line.contains("QP ") {
            let way = whole(&output.lines[at..]);
            if way.contains("[rqpn") || way.contains("dgid ") || way.contains("rlid ") {
                not_answered(explained, retries.take(), Some((number, &way)));
            }
        }
        let Some(rest) = line.strip_prefix('#').map(str::trim) else { continue };
        match pair(rest) {
            Some(("Library version" | "Version", version)) if !version.is_empty() => {
                version_of(explained, output, version, number);
            }
            Some(("Transport", name)) if is_name(name) => {
                explained.is(Kind::Ucx);
                transport = name;
                first = first.or(Some((number, line)));
            }
            Some(("Device", device)) if !transport.is_empty() => {
                let name = output.owner(&format!("{transport} {device}"));
                explained.fact(number, &name, text("listed"), None);
                transports.push(transport.to_owned());
            }
            Some(("bandwidth", speed)) if !transport.is_empty() => {
                explained.fact(number, &output.owner(&format!("{transport}.bandwidth")), text(speed), None);
            }
            Some(("Memory domain", _)) => explained.is(Kind::Ucx),
            None => {
                if let Some(version) = rest.strip_prefix("UCT version=").or_else(|| rest.strip_prefix("Version ")) {
                    let version = version.split_whitespace().next().unwrap_or_default();
                    if version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.') {
                        version_of(explained, output, version, number);
                    }
                }
            }
            Some(_) => {}
        }
    }
    not_answered(explained, retries, None);
    let over_rdma = ["rc", "ud", "dc"].iter().any(|begin| transports.iter().any(|name| name.starts_with(begin)));
    if let Some((number, raw)) = first
        && !transports.is_empty()
        && !over_rdma
    {
        transports.dedup();
        let title = format!("UCX lists no transport over RDMA here, only {}", listed(&transports));
        let finding = Finding::new(
            "mpi.ucx-verbs",
            Status::Warn,
            Confidence::Likely,
            "UCX",
            &title,
            "Jobs between nodes go over TCP. Likely: this UCX lacks its InfiniBand module (package ucx-ib). Possible: no ACTIVE port, no provider of \
             the verbs library, or /dev/infiniband may not be opened.",
        );
        explained.finding(
            finding
                .shown(number, raw)
                .decided_by("ibv_devinfo: does it list an ACTIVE port for the same user?")
                .helped_by(
                    "Look for the device",
                    &["ibv_devinfo", "rdma link show", "ucx_info -v", "ls -l /dev/infiniband"],
                    "",
                ),
        );
    }
}

fn version_of(explained: &mut Explained, output: &Output<'_>, version: &str, line: u32) {
    explained.is(Kind::Ucx);
    explained.fact(line, &output.owner("ucx.version"), text(version), None);
}

/// Transports and devices that were asked for and are not there.
struct Missing {
    /// True if the job cannot go on without them.
    fatal: bool,
    /// Title and cause of the warning, which the error behind it belongs to.
    told: Option<(String, String)>,
}

impl Missing {
    fn read(&mut self, explained: &mut Explained, line: &str, number: u32) {
        let available = line.split_once("please use one or more of: ").map(|(_, rest)| rest.trim());
        let quoted =
            |text: &str| -> Vec<String> { text.split('\'').skip(1).step_by(2).take(16).map(str::to_owned).collect() };
        if let Some((_, asked)) = line.split_once(NO_DEVICES) {
            let asked = asked.split(" on ").next().unwrap_or_default().trim();
            let (title, cause) = self.told.clone().unwrap_or_else(|| (
            format!("UCX has none of the transports that the job asks for: {asked}"),
            "The job ends. Likely: what is asked for is not there on this node (names with _x and dc are those of mlx5 adapters; PVRDMA has rc_v and \
             ud_v). Likely, if the list of what is available names no ib, rc or ud: UCX sees no RDMA at all, because it was built or installed \
             without its InfiniBand module, or the node has no device that it may open.".to_owned(),
        ));
            let finding = Finding::new("mpi.ucx-tls", Status::Fail, Confidence::Proved, "UCX_TLS", &title, &cause);
            explained.finding(tls(finding.shown(number, line)));
            return;
        }
        let Some(available) = available else { return };
        let (before, _) = line.split_once(" not available").unwrap_or((line, ""));
        let names = quoted(before);
        if names.is_empty() {
            return;
        }
        let has_rdma = available.split([',', ' ']).any(|name| {
            matches!(name, "ib" | "rc" | "ud" | "dc")
                || name.starts_with("rc_")
                || name.starts_with("ud_")
                || name.ends_with("(ib)")
        });
        if before.contains("network device") {
            let title = format!("UCX has no device {} here", listed(&names));
            let cause = format!(
                "It has {available}. Likely: the name is another machine's, or from before udev renamed the device. Open MPI ends with \"PML ucx cannot \
             be selected\" if nothing else was named."
            );
            let finding = Finding::new(
                "mpi.ucx-net-devices",
                Status::Fail,
                Confidence::Proved,
                "UCX_NET_DEVICES",
                &title,
                &cause,
            );
            explained.finding(
                finding.shown(number, line).decided_by("UCX_NET_DEVICES of the job, on each node").helped_by(
                    "Name a device that is there",
                    &["ucx_info -d | grep Device", "rdma link show", "env | grep UCX_NET_DEVICES"],
                    "",
                ),
            );
        } else if before.contains("transport") {
            let title = format!("UCX has no transport {} here", listed(&names));
            let why = if has_rdma {
                "Names with _x and dc are those of mlx5 adapters: PVRDMA and soft-RoCE have rc_v and ud_v (or rc, ud)"
            } else {
                "Nothing over RDMA is available at all: UCX was built or installed without its InfiniBand module, or the node has no device that it may open"
            };
            let cause = format!("It has {available}. {why}.");
            let status = if has_rdma && !self.fatal { Status::Warn } else { Status::Fail };
            self.told = Some((title.clone(), cause.clone()));
            explained
                .finding(tls(Finding::new("mpi.ucx-tls", status, Confidence::Proved, "UCX_TLS", &title, &cause)
                    .shown(number, line)));
        }
    }
}

fn tls(finding: Finding) -> Finding {
    finding.decided_by("The transports that UCX lists on that node").helped_by(
        "Look, and ask for what is there",
        &[
            "ucx_info -d | grep Transport",
            "ibv_devinfo",
            "UCX_TLS=rc,ud,sm,self ...",
            "UCX_TLS=rc_v,ud_v,sm,self ...   (PVRDMA)",
        ],
        "",
    )
}

/// A connection over TCP that was refused: to which address?
fn refused(explained: &mut Explained, line: &str, number: u32) {
    let Some((_, rest)) = line.split_once("dest_addr=") else { return };
    if !line.contains(") failed:") {
        return;
    }
    let end = rest.find([':', ')', ' ']).unwrap_or(rest.len());
    let address = &rest[..end];
    let finding = if is_of_bridge(address) {
        let title = format!("UCX calls {address}, the address of a bridge for containers or VMs");
        Finding::new(
            "mpi.interface-choice",
            Status::Fail,
            Confidence::Likely,
            address,
            &title,
            "Such a bridge (docker0, virbr0) has the same address on every node: a rank that is told it calls its own node. Errors of endpoints and of \
             MPI below follow from it.",
        )
        .decided_by("ip -br addr on both nodes: is it the address of a bridge?")
        .helped_by("Keep UCX off it", &["ip -br addr", "UCX_NET_DEVICES=DEVICE:1 ..."], "")
    } else {
        let title = format!("UCX cannot connect to {address} over TCP");
        Finding::new(
            "mpi.firewall",
            Status::Fail,
            Confidence::Possible,
            address,
            &title,
            "Likely: a firewall between the nodes refuses the ports of jobs, which are chosen freely. Possible: the rank there ended, or the address \
             leads elsewhere.",
        )
        .decided_by("Whether ports above 1024 are open between the nodes, and whether that rank still runs")
        .helped_by("Look further", &["ip route get ADDRESS", "sudo nft list ruleset", "env | grep UCX_"], "")
    };
    explained.finding(finding.shown(number, line));
}

/// The line that tells the way, put together where it was wrapped: the bracket behind the way closes, another one may follow.
fn whole<'a>(lines: &[Words<'a>]) -> Cow<'a, str> {
    let mut whole = lines.first().map_or(Cow::Borrowed(""), |words| Cow::Borrowed(words.text));
    let closes = |line: &str| {
        let way = line.find("[rqpn").or_else(|| line.find("[rlid"));
        way.is_some_and(|at| line[at..].contains(']') && line.ends_with(']'))
    };
    for words in lines.iter().skip(1).take(3) {
        if closes(&whole) || words.text.starts_with("====") {
            break;
        }
        whole.to_mut().push_str(words.text);
    }
    whole
}

/// Retries that ran out, with what the second line says of the way.
fn not_answered(explained: &mut Explained, retries: Option<(u32, &str)>, detail: Option<(u32, &str)>) {
    let Some((number, line)) = retries else { return };
    let on = line.split_once(RETRIES).map_or("", |(_, rest)| rest.split_whitespace().next().unwrap_or_default());
    // `mlx5_0:1/RoCE`. A line that was wrapped within it is read unwrapped.
    if !["/RoCE", "/IB"].iter().any(|link| on.ends_with(link)) {
        return;
    }
    let is_roce = on.ends_with("/RoCE");
    let said = detail.map_or("", |(_, line)| line);
    // Where a line was cut, a blank can be lost.
    let squeezed: String = said.split_whitespace().collect();
    let link_local = squeezed.contains("sgix0dgidfe80");
    let no_class = squeezed.contains("tc0]");
    let mut finding = if is_roce && link_local {
        let title = format!("no answer on {on}: UCX uses GID index 0, which is link-local");
        let class = if no_class {
            " It uses traffic class 0, too: where PFC is on for another priority, its packets are on the lossy one."
        } else {
            ""
        };
        let cause = format!(
            "\"sgix 0\" and the address fe80 in the second line say so: that entry is not routed, and often not even on the VLAN of the RoCE \
             network.{class}"
        );
        Finding::new("guest.gid-index", Status::Fail, Confidence::Likely, on, &title, &cause)
            .decided_by("The RoCE v2 entry with the IPv4 address in the table of both nodes")
            .helped_by(
                "Name the entry, and the class of the network",
                &["show_gids", "UCX_IB_GID_INDEX=3 UCX_IB_TRAFFIC_CLASS=106 ...   (106 is DSCP 26 with ECN)"],
                "",
            )
    } else if is_roce {
        let title = format!("no answer came to RDMA packets on {on}");
        Finding::new(
            "guest.no-answer",
            Status::Fail,
            Confidence::Proved,
            on,
            &title,
            "Likely: wrong GID index or version of RoCE on one side, or VLAN, priority or a filter (UDP 4791) on the way. Possible: loss under load \
             without working PFC, MTU that differs, a peer that ended.",
        )
        .decided_by("The same pair with ib_write_bw, same device and index; whether retransmissions rise")
        .helped_by("Look further", &["show_gids", "rdma statistic show", "ib_write_bw -d DEVICE -x INDEX SERVER"], "")
    } else {
        let title = format!("no answer came to RDMA packets on {on}");
        Finding::new(
            "guest.no-answer",
            Status::Fail,
            Confidence::Proved,
            on,
            &title,
            "Likely: a cable or a port that loses packets or went down, a route that the subnet manager has not, or congestion. Possible: the peer \
             ended or hung.",
        )
        .decided_by("The error counters of the ports on the way, and the log of the subnet manager")
        .helped_by("Look further", &["ibstat", "sudo ibqueryerrors", "rdma statistic show"], "")
    };
    finding = finding.shown(number, line);
    if let Some((number, line)) = detail {
        finding = finding.shown(number, line);
    }
    explained.finding(finding);
}
