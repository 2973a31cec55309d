//! UCX: which transports a kind of adapter has, what a list of transports asks for, how deep a receive queue a PVRDMA device
//! takes, and from that what a job between given guests should ask for.

pub mod variables;

use crate::tune::advice::{Adapter, Form, Item, Layer, Side, Sure};

/// What each name over RDMA in `UCX_TLS` stands for. The aliases bring what the wire-up needs along, the bare names do not.
///
/// Source: UCX `src/ucp/core/ucp_context.c`.
pub const RDMA: &[(&str, &[&str])] = &[
    ("ib", &["rc_verbs", "ud_verbs", "rc_mlx5", "ud_mlx5", "dc_mlx5"]),
    ("rc", &["rc_verbs", "rc_mlx5"]),
    ("rc_v", &["rc_verbs"]),
    ("rc_verbs", &["rc_verbs"]),
    ("rc_x", &["rc_mlx5"]),
    ("rc_mlx5", &["rc_mlx5"]),
    ("ud", &["ud_verbs", "ud_mlx5"]),
    ("ud_v", &["ud_verbs"]),
    ("ud_verbs", &["ud_verbs"]),
    ("ud_x", &["ud_mlx5"]),
    ("ud_mlx5", &["ud_mlx5"]),
    ("dc", &["dc_mlx5"]),
    ("dc_x", &["dc_mlx5"]),
    ("dc_mlx5", &["dc_mlx5"]),
];

/// Names in `UCX_TLS` that have nothing to do with RDMA.
pub const OTHERS: &[&str] = &[
    "all",
    "self",
    "sm",
    "shm",
    "mm",
    "posix",
    "sysv",
    "xpmem",
    "knem",
    "cma",
    "tcp",
    "cuda",
    "cuda_copy",
    "cuda_ipc",
    "gdr_copy",
    "rocm",
    "rocm_copy",
    "rocm_ipc",
    "ze",
    "ze_copy",
    "ze_ipc",
    "ugni",
    "srd",
    "efa",
];

/// What UCX needs for the wire-up of RC, in a sentence.
pub const WIRE_UP: &str = "RC connects from queue pair to queue pair and needs UD (or TCP) to agree on it; with the bare names rc_verbs or rc_mlx5 \
                           alone UCX says \"no auxiliary transport\" and the job ends. The aliases rc, rc_v and rc_x bring it along";

/// Why names of mlx5 are in vain on PVRDMA.
pub const MLX5_ONLY: &str = "rc_x, ud_x and dc are transports of mlx5 adapters (passed through, or a virtual function), which a PVRDMA adapter is not: the \
                             job ends with \"transport is not available\". There are rc_v and ud_v: UCX_TLS=rc_v,ud_v,sm,self.";

/// Where [`MLX5_ONLY`] is written.
pub const MLX5_SOURCE: &str = "UCX docs/source/faq.md";

/// What `UCX_BCOPY_THRESH=0` does.
pub const BCOPY_ZERO: &str =
    "It is the size from which they are used: 0 means always. Where zero copy begins is UCX_ZCOPY_THRESH.";

/// Where [`BCOPY_ZERO`] is written.
pub const CONTEXT_SOURCE: &str = "UCX src/ucp/core/ucp_context.c";

/// How UCX's own depth of the receive queue is called, as far as its releases were seen.
pub use crate::probe::linux::mpi::RECEIVE_QUEUE;

/// Its default, which `rc_verbs` asks for whatever the device offers.
pub const DEFAULT_DEPTH: u64 = 4095;

/// Less than this leaves no room for the credits of a few peers.
const LEAST_DEPTH: u64 = 63;

/// True for the variable of the receive queue of plain RC, however this release spells what stands between.
pub fn is_receive_queue(name: &str) -> bool {
    name.starts_with("UCX_RC_VERBS_") && name.ends_with("RX_QUEUE_LEN")
}

/// The deepest receive queue to ask a device for that offers `most` work requests. The provider of PVRDMA rounds what is
/// asked for up to a power of two before the driver compares it, so that 1000 of 1000 would be refused.
///
/// Source: rdma-core `providers/vmw_pvrdma/qp.c`, Linux `pvrdma_srq.c`. `None` if the device offers too little.
pub fn depth_within(most: u64) -> Option<u64> {
    let largest = if most == 0 { 0 } else { 1 << most.ilog2() };
    let depth: u64 = largest;
    depth.checked_sub(1).filter(|depth| *depth >= LEAST_DEPTH).map(|depth| depth.min(DEFAULT_DEPTH))
}

/// What a value of `UCX_TLS` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// True for a list of what is not wanted, and for `all`: nothing can be missing of it.
    pub is_open: bool,
    /// The names, without what marks them.
    pub names: Vec<&'a str>,
    /// Those over RDMA.
    pub over_rdma: Vec<&'a str>,
    /// Those of mlx5 alone.
    pub of_mlx5: Vec<&'a str>,
    /// True if RC is asked for by its bare name and nothing is that the wire-up needs.
    pub lacks_wire_up: bool,
    /// Names that this table does not have.
    pub unknown: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    /// Reads a value: `\rc_v` stands for the bare name, `ud_v:aux` for one that only wires up.
    pub fn of(value: &'a str) -> Self {
        let value = value.trim();
        let bare = |word: &'a str| word.trim().trim_start_matches('\\').split(':').next().unwrap_or(word);
        let listed = value.trim_start_matches('^').split(',').map(bare).filter(|name| !name.is_empty());
        let names: Vec<&str> = listed.collect();
        let over_rdma: Vec<&str> = names.iter().copied().filter(|name| stands_for(name).is_some()).collect();
        let only_mlx5 =
            |name: &&str| stands_for(name).is_some_and(|all| all.iter().all(|transport| transport.ends_with("_mlx5")));
        let of_mlx5 = over_rdma.iter().copied().filter(only_mlx5).collect();
        let wires_up = |name: &&str| {
            matches!(*name, "ib" | "rc" | "rc_v" | "rc_x" | "tcp") || name.starts_with("ud") || name.starts_with("dc")
        };
        let is_bare = names.iter().any(|name| matches!(*name, "rc_verbs" | "rc_mlx5"));
        let unknown =
            names.iter().copied().filter(|name| stands_for(name).is_none() && !OTHERS.contains(name)).collect();
        Self {
            is_open: value.starts_with('^') || names.contains(&"all"),
            lacks_wire_up: is_bare && !names.iter().any(wires_up),
            names,
            over_rdma,
            of_mlx5,
            unknown,
        }
    }
}

/// What a name in `UCX_TLS` stands for; `None` if it has nothing to do with RDMA.
pub fn stands_for(name: &str) -> Option<&'static [&'static str]> {
    RDMA.iter().find(|(known, _)| *known == name).map(|(_, transports)| *transports)
}

/// True for the name of an RDMA device that lacks its port: UCX wants `mlx5_0:1`.
pub fn lacks_port(device: &str) -> bool {
    !device.contains(':')
        && ["mlx5_", "mlx4_", "rocep", "vmw_pvrdma", "ibp", "rxe"].iter().any(|begin| device.starts_with(begin))
}

/// How a PVRDMA device and UCX's receive queue go together on one guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The depth that UCX asks for fits.
    Fits(u64, u64),
    /// The device offers this much at most, less than UCX asks for (the third number); so much is to be asked for.
    Shorten(u64, u64, u64),
    /// The device has no shared receive queues, or too short ones: RC of UCX cannot be opened.
    OnlyUd,
    /// What the device offers is not known.
    Unknown,
}

/// Compares what UCX asks for with what the port's device offers.
pub fn queue(side: &Side, queues: Option<u64>, most: Option<u64>) -> Queue {
    if queues == Some(0) || most == Some(0) {
        return Queue::OnlyUd;
    }
    let Some(most) = most else { return Queue::Unknown };
    let asked = side.receive_queue.as_ref().and_then(|(_, depth)| *depth).unwrap_or(DEFAULT_DEPTH);
    // As the provider rounds it.
    if asked.checked_next_power_of_two().is_some_and(|rounded| rounded <= most) {
        return Queue::Fits(asked, most);
    }
    depth_within(most).map_or(Queue::OnlyUd, |depth| Queue::Shorten(most, depth, asked))
}

/// The transports to ask for between these guests, with everything that goes with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value of `UCX_TLS`.
    pub transports: String,
    /// How sure it is that they run.
    pub sure: Sure,
    /// Items for the line.
    pub items: Vec<Item>,
}

/// What to ask UCX for over RDMA; `None` if a guest has no port that could be used.
pub fn over_rdma(sides: &[Side]) -> Option<Choice> {
    let ports: Vec<_> = sides.iter().map(|side| side.port(sides)).collect::<Option<_>>()?;
    let first = ports.first()?;
    let mut items = Vec::new();
    let all = |adapter| ports.iter().all(|port| port.adapter == adapter);
    let any = |adapter| ports.iter().any(|port| port.adapter == adapter);
    let listed = |transport| sides.iter().all(|side| side.has_transport(transport) != Some(false));
    let mut sure = Sure::Likely;
    let mut transports = "rc_v,ud_v,sm,self";
    let mut reason = format!(
        "the guests have {}: rc_v is reliable connection by plain verbs, ud_v is what it is agreed on with, sm and self are for \
         ranks of one guest",
        first.adapter.words()
    );
    let mut decide = "ucx_info -d lists them for the adapter; a trial shows that they run".to_owned();
    if all(Adapter::Mlx5) {
        let dc = if listed("dc_mlx5") { "; dc_x instead of rc_x saves queue pairs with very many ranks" } else { "" };
        transports = if listed("rc_mlx5") { "rc_x,ud_x,sm,self" } else { "rc_v,ud_v,sm,self" };
        reason = format!(
            "the guests have an mlx5 adapter, which UCX drives without the verbs library: rc_x is the fastest way{dc}"
        );
        sure = Sure::Proved;
    } else if any(Adapter::Pvrdma) {
        let queues = queues(sides, &mut items);
        if queues.contains(&Queue::OnlyUd) {
            transports = "ud_v,sm,self";
            let only = "RC of UCX needs a shared receive queue, and a device has none (max_srq is 0) or only shorter ones than it can \
                      work with: only ud_v is left";
            only.clone_into(&mut reason);
            sure = Sure::Proved;
        } else if queues.contains(&Queue::Unknown) {
            sure = Sure::Possible;
            "ibv_devinfo -v | grep max_srq on each guest: with max_srq 0 take UCX_TLS=ud_v,sm,self"
                .clone_into(&mut decide);
        } else {
            sure = Sure::Likely;
        }
        if !all(Adapter::Pvrdma) {
            reason.push_str(
                ". A PVRDMA adapter and another one reach each other only as native endpoints (virtual hardware 18, 7.0 U1 or newer)",
            );
            sure = Sure::Possible;
        }
    } else if any(Adapter::Software) {
        sure = Sure::Possible;
        let seen = "soft-RoCE has what plain verbs need. On guests with soft-RoCE the wire-up of UCX 1.13 over UD was seen to end with \
                  \"UD endpoint ... unhandled timeout error\" although datagrams arrive: only a trial tells whether it runs";
        seen.clone_into(&mut reason);
        "a trial: rdmascope tune --trial, or the line itself".clone_into(&mut decide);
    }
    let mut transports = transports.to_owned();
    if sides.iter().all(|side| side.has_transport("cuda_copy") == Some(true)) {
        transports.push_str(",cuda_copy,cuda_ipc");
    }
    let source = if any(Adapter::Pvrdma) || any(Adapter::Software) {
        "UCX src/uct/ib/rc/verbs, docs/source/faq.md; Linux pvrdma_qp.c"
    } else {
        MLX5_SOURCE
    };
    items.insert(0, item("UCX_TLS", &transports, reason, source, sure).decided_by(decide));
    items.extend(devices(sides));
    items.extend(gids(sides));
    Some(Choice { transports, sure, items })
}

/// What UCX is asked for where it goes over TCP: the interfaces that lead to the others, where they are known.
pub fn over_tcp(netdevs: Option<&str>) -> Vec<Item> {
    let reason = "no RDMA: UCX over TCP, and shared memory between ranks of one guest".to_owned();
    let mut items = vec![item("UCX_TLS", "tcp,sm,self", reason, CONTEXT_SOURCE, Sure::Likely)];
    if let Some(names) = netdevs {
        let reason = "the interfaces that lead to the other guests; without it UCX may take a bridge of containers, whose address is the \
                      same on every node"
            .to_owned();
        items.push(item("UCX_NET_DEVICES", names, reason, "UCX issue 9383", Sure::Likely));
    }
    items
}

/// An item that is exported with `-x`.
fn item(name: &str, value: &str, reason: String, source: &'static str, sure: Sure) -> Item {
    Item::new(Layer::Ucx, Form::Export, name, value, reason, source, sure)
}

/// What each PVRDMA or software device says of shared receive queues, and the variable that follows from it.
fn queues(sides: &[Side], items: &mut Vec<Item>) -> Vec<Queue> {
    const SOURCE: &str = "Linux pvrdma_srq.c; rdma-core providers/vmw_pvrdma/qp.c; UCX src/uct/ib/rc/verbs";
    let mut found = Vec::new();
    let mut shortest: Option<(u64, String)> = None;
    for side in sides {
        let Some(port) = side.port(sides).filter(|port| port.adapter == Adapter::Pvrdma) else { continue };
        let queue = queue(side, port.shared_queues, port.shared_requests);
        let (device, guest) = (&port.device, &side.guest);
        let variable = side.receive_queue.as_ref().map_or(RECEIVE_QUEUE, |(name, _)| name.as_str());
        let note = |value: &str, reason: String, sure| {
            Item::new(Layer::Ucx, Form::Note, variable, value, reason, SOURCE, sure)
                .of(guest)
                .decided_by(format!("ibv_devinfo -v -d {device} | grep max_srq; ucx_info -c -f | grep {RECEIVE_QUEUE}"))
        };
        match queue {
            Queue::Fits(asked, most) => items.push(note(
                &asked.to_string(),
                format!(
                    "{device} takes up to {most} requests in a shared receive queue (max_srq_wr), UCX asks for {asked}: that fits, and \
                     nothing is to be set"
                ),
                Sure::Proved,
            )),
            Queue::Shorten(most, depth, asked) => {
                let reason = format!(
                    "rc_verbs asks for a shared receive queue of {asked} without looking at the device, and vmw_pvrdma refuses what \
                     exceeds max_srq_wr, which is {most} on {device} of {guest} (\"shared receive queue size invalid\", EINVAL); its \
                     provider rounds up to a power of two first, so that {depth} is the most that is safe"
                );
                if shortest.as_ref().is_none_or(|(shorter, _)| depth < *shorter) {
                    shortest = Some((depth, reason));
                }
            }
            Queue::OnlyUd => items.push(note(
                "none",
                format!(
                    "{device} of {guest} offers {} shared receive queues of {} requests: RC of UCX cannot open one",
                    port.shared_queues.map_or("an unknown number of".to_owned(), |count| count.to_string()),
                    port.shared_requests.map_or("unknown".to_owned(), |count| count.to_string())
                ),
                Sure::Proved,
            )),
            Queue::Unknown => items.push(note(
                "not known",
                format!(
                    "what {device} of {guest} offers (max_srq, max_srq_wr) was not read: ibv_devinfo is missing there or does not list \
                     it. If max_srq_wr is below 4096, UCX's default depth of {DEFAULT_DEPTH} is refused"
                ),
                Sure::Possible,
            )),
        }
        found.push(queue);
    }
    if let Some((depth, reason)) = shortest
        && !found.contains(&Queue::OnlyUd)
    {
        let named = sides.iter().find_map(|side| side.receive_queue.as_ref());
        let (name, sure) = named.map_or((RECEIVE_QUEUE, Sure::Likely), |(name, _)| (name.as_str(), Sure::Proved));
        items.push(
            item(name, &depth.to_string(), reason, SOURCE, sure)
                .decided_by("ucx_info -c -f | grep RX_QUEUE_LEN: the name in this release".to_owned()),
        );
    }
    found
}

/// `UCX_NET_DEVICES` for all guests: one name where all have the same, else all of them.
fn devices(sides: &[Side]) -> Option<Item> {
    let mut names: Vec<String> = Vec::new();
    for side in sides {
        let name = side.port(sides)?.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let value = names.join(",");
    let reason = if names.len() == 1 {
        format!(
            "the RDMA port of each guest is called {value}; without it UCX may also take an interface that leads elsewhere"
        )
    } else {
        "the ports have different names on the guests; -x gives all of them the same list, and each warns (\"network device is not \
         available\") of the names that are the others'"
            .to_owned()
    };
    Some(
        item("UCX_NET_DEVICES", &value, reason, CONTEXT_SOURCE, Sure::Proved)
            .decided_by("ucx_info -d | grep Device".to_owned()),
    )
}

/// `UCX_IB_GID_INDEX`: on the line where all guests have the entry at the same index, else one for each guest.
fn gids(sides: &[Side]) -> Vec<Item> {
    const SOURCE: &str = "UCX src/uct/ib/base/ib_md.c; Linux Documentation/ABI/stable/sysfs-class-infiniband";
    let found: Option<Vec<_>> = sides
        .iter()
        .map(|side| {
            let port = side.port(sides)?;
            (!port.is_infiniband).then_some(())?;
            Some((side, port, port.gid()))
        })
        .collect();
    let Some(found) = found else { return Vec::new() };
    let indices: Vec<Option<u32>> = found.iter().map(|(_, _, entry)| entry.map(|entry| entry.index)).collect();
    if let Some(Some(index)) = indices.first()
        && indices.iter().all(|other| *other == Some(*index))
    {
        let words: Vec<&str> =
            found.iter().filter_map(|(_, _, entry)| entry.map(|entry| entry.words.as_str())).collect();
        let reason = format!(
            "index {index} is {} there: the entry that is routed and carries a class of traffic; the others are link-local or RoCE v1",
            words.join(" and ")
        );
        return vec![
            item("UCX_IB_GID_INDEX", &index.to_string(), reason, SOURCE, Sure::Proved)
                .decided_by("show_gids, or rdma link and /sys/class/infiniband/*/ports/1/gid_attrs/types".to_owned()),
        ];
    }
    found
        .iter()
        .map(|(side, port, entry)| match entry {
            Some(entry) => Item::new(
                Layer::Ucx,
                Form::OnGuest,
                "UCX_IB_GID_INDEX",
                &entry.index.to_string(),
                format!(
                    "index {} of {} is {}; on the guests of this list the entry stands at different places, so that -x with one value \
                     would be wrong on some. UCX 1.12 and newer look for it by themselves (auto)",
                    entry.index,
                    port.name(),
                    entry.words
                ),
                SOURCE,
                Sure::Likely,
            )
            .of(&side.guest),
            None => Item::new(
                Layer::Ucx,
                Form::Note,
                "UCX_IB_GID_INDEX",
                "auto",
                format!(
                    "{} has no RoCE v2 entry with an IPv4 address{}: give the interface under it an address first",
                    port.name(),
                    if port.gids.is_empty() { ", or its table was not read" } else { "" }
                ),
                SOURCE,
                Sure::Likely,
            )
            .of(&side.guest)
            .decided_by("show_gids; ip addr".to_owned()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_transports() {
        let asked = Asked::of("rc_x, dc_x ,sm,self");
        assert_eq!((asked.over_rdma.as_slice(), asked.of_mlx5.len()), (&["rc_x", "dc_x"][..], 2));
        assert!(Asked::of("^rc_x").is_open && Asked::of("all").is_open);
        assert!(Asked::of("rc_verbs,sm,self").lacks_wire_up);
        for whole in ["rc,self", "rc_verbs,ud_v:aux", "\\rc_v,self", "rc_verbs,tcp"] {
            assert!(!Asked::of(whole).lacks_wire_up, "{whole}");
        }
        assert_eq!(Asked::of("rc_y,self").unknown, ["rc_y"]);
        assert!(Asked::of("").names.is_empty());
    }

    #[test]
    fn what_is_asked_for_fits_after_the_provider_rounded_it() {
        for (most, depth) in
            [(4096, Some(4095)), (1024, Some(1023)), (1000, Some(511)), (32768, Some(4095)), (64, Some(63))]
        {
            assert_eq!(depth_within(most), depth, "{most}");
            assert!(depth.is_none_or(|depth: u64| depth.next_power_of_two() <= most), "{most}");
        }
        for too_little in [0, 1, 16, 63] {
            assert_eq!(depth_within(too_little), None);
        }
        assert_eq!(depth_within(u64::MAX), Some(DEFAULT_DEPTH));
    }

    #[test]
    fn devices_want_their_port() {
        assert!(lacks_port("mlx5_0") && lacks_port("rocep27s0f1"));
        assert!(!lacks_port("mlx5_0:1") && !lacks_port("eth1"));
    }
}
