//! Variables of UCX.

use super::super::Verdict;
use super::{Said, Seen};
use crate::tune::advice::{Adapter, Side};
use crate::tune::ucx::variables::{GONE, KNOWN, release};
use crate::tune::ucx::{self, Asked, Queue};

impl Seen<'_> {
    pub(super) fn of_ucx(&self, name: &str, value: &str) -> Said {
        match name {
            "UCX_TLS" => self.transports(value),
            "UCX_NET_DEVICES" => self.devices(value),
            "UCX_IB_GID_INDEX" => self.gid_index(name, value, "UCX src/uct/ib/base/ib_md.c"),
            "UCX_BCOPY_THRESH" if value == "0" => Said::new(
                Verdict::Opposite,
                format!("often said to switch buffered copies off. {}", ucx::BCOPY_ZERO),
                ucx::CONTEXT_SOURCE,
            )
            .instead("leave it out"),
            "UCX_RNDV_THRESH" => Self::rendezvous(value),
            "UCX_MEMTYPE_CACHE" if self.sides.iter().all(|side| side.gpus == 0) => Said::new(
                Verdict::Harmless,
                "it is about recognising memory of GPUs, and these guests have none",
                "UCX src/ucs/config/global_opts.c",
            ),
            "UCX_MEMTYPE_CACHE" if matches!(value, "n" | "no") => Said::new(
                Verdict::Better,
                "with memory of GPUs every operation asks the driver what kind of memory it is; the default, try, keeps the answers",
                "UCX src/ucs/config/global_opts.c",
            )
            .instead("leave it out"),
            name if ucx::is_receive_queue(name) => self.receive_queue(name, value),
            name => self.by_catalogue(name),
        }
    }

    fn by_catalogue(&self, name: &str) -> Said {
        if let Some((_, since, why)) = GONE.iter().find(|(gone, ..)| *gone == name) {
            let known: Vec<_> = self.sides.iter().filter_map(|side| release(side.ucx.as_deref()?)).collect();
            let words = format!("gone since {}.{}: {why}", since.0, since.1);
            return if !known.is_empty() && known.iter().all(|version| version < since) {
                Said::new(Verdict::Harmless, format!("{words}; the UCX here is older"), ucx::CONTEXT_SOURCE)
            } else {
                Said::new(Verdict::Gone, words, ucx::CONTEXT_SOURCE).instead("leave it out")
            };
        }
        if KNOWN.contains(&name) {
            return Said::new(
                Verdict::Fine,
                "UCX has this variable; ucx_info -c -f says what it takes",
                ucx::CONTEXT_SOURCE,
            );
        }
        Said::new(
            Verdict::Unknown,
            format!(
                "not in our catalogue; if UCX does not know it either, it warns of an unused environment variable: ucx_info -c -f | grep {name}"
            ),
            ucx::CONTEXT_SOURCE,
        )
    }

    fn rendezvous(value: &str) -> Said {
        const LARGE: u64 = 1 << 20;
        let bytes = bytes(value);
        if value == "inf" || bytes.is_some_and(|bytes| bytes >= LARGE) {
            return Said::new(
                Verdict::Better,
                "all messages below this size are sent at once and copied at the receiver; so large a threshold usually costs bandwidth. \
                 Only a test tells",
                ucx::CONTEXT_SOURCE,
            )
            .instead("leave it out (auto)");
        }
        Said::new(
            Verdict::Fine,
            "from this size on the receiver is asked first; the default is auto",
            ucx::CONTEXT_SOURCE,
        )
    }

    /// Transports that a guest cannot open, of those that are named.
    fn unavailable<'a>(side: &Side, is_pvrdma: bool, asked: &Asked<'a>) -> Vec<&'a str> {
        let listed = side.transports.as_ref().filter(|list| list.iter().any(|(_, device)| device.contains(':')));
        let exists = |transport: &str| match listed {
            Some(list) => list.iter().any(|(other, _)| other == transport),
            None => !(is_pvrdma && transport.ends_with("_mlx5")),
        };
        let lacks = |name: &&str| ucx::stands_for(name).is_some_and(|all| !all.iter().any(|one| exists(one)));
        asked.over_rdma.iter().copied().filter(lacks).collect()
    }

    fn transports(&self, value: &str) -> Said {
        let asked = Asked::of(value);
        let source = "UCX src/ucp/core/ucp_context.c, docs/source/faq.md";
        let better = || {
            if self.all(Adapter::Mlx5) { "UCX_TLS=rc_x,ud_x,sm,self" } else { "UCX_TLS=rc_v,ud_v,sm,self" }
        };
        if asked.names.is_empty() {
            return Said::new(Verdict::Opposite, "an empty list leaves no transport at all", source).instead(better());
        }
        if asked.is_open {
            return Said::new(Verdict::Fine, "leaves UCX the choice among what there is", source);
        }
        for (side, port) in self.ports() {
            let missing = Self::unavailable(side, port.adapter == Adapter::Pvrdma, &asked);
            if missing.is_empty() {
                continue;
            }
            let why = if asked.of_mlx5.iter().any(|name| missing.contains(name)) {
                "names with _x and dc are those of mlx5 adapters alone"
            } else {
                "UCX does not list them there"
            };
            let names = missing.join(", ");
            if missing.len() == asked.over_rdma.len() {
                let reason = format!(
                    "{} has {}, and none of {names} is available on it: {why}. UCX says \"transport '{}' is not available\" and Open MPI \
                     ends with \"PML ucx cannot be selected\"",
                    side.guest,
                    port.adapter.words(),
                    missing.first().copied().unwrap_or_default()
                );
                return Said::new(Verdict::WrongName, reason, ucx::MLX5_SOURCE).instead(better());
            }
            let reason = format!("{names} is not available on {}: {why}; UCX warns and takes the rest", side.guest);
            return Said::new(Verdict::Better, reason, ucx::MLX5_SOURCE).instead(better());
        }
        if asked.lacks_wire_up {
            return Said::new(Verdict::Opposite, ucx::WIRE_UP, source).instead(better());
        }
        if !asked.unknown.is_empty() {
            let reason =
                format!("{} is not in our catalogue: ucx_info -d lists the transports", asked.unknown.join(", "));
            return Said::new(Verdict::Unknown, reason, source);
        }
        if asked.over_rdma.is_empty() && self.has_rdma() {
            return if self.any(Adapter::Software) {
                Said::new(
                    Verdict::Fine,
                    "leaves RDMA out, which runs in software here and gains nothing by itself",
                    source,
                )
            } else {
                let reason =
                    "names no transport over RDMA: ranks of different guests go over TCP, or do not reach each other";
                Said::new(Verdict::Opposite, reason, source).instead(better())
            };
        }
        let rc = asked.over_rdma.iter().any(|name| matches!(*name, "ib" | "rc" | "rc_v" | "rc_verbs"));
        if rc && let Some((reason, instead)) = self.short_queue() {
            let given = self.items.iter().any(|given| ucx::is_receive_queue(&given.name));
            if !given {
                return Said::new(Verdict::Better, reason, "Linux pvrdma_srq.c; UCX src/uct/ib/rc/verbs")
                    .instead(format!("{instead} beside it"));
            }
        }
        if rc && self.only_ud().is_some() {
            let reason = self.only_ud().unwrap_or_default();
            return Said::new(Verdict::Opposite, reason, "Linux pvrdma_srq.c; UCX src/uct/ib/rc/verbs")
                .instead("UCX_TLS=ud_v,sm,self");
        }
        Said::new(Verdict::Fine, format!("exists for {}, with what the wire-up needs", self.adapter()), source)
    }

    /// A receive queue that a PVRDMA device refuses: why, and what to set.
    pub(super) fn short_queue(&self) -> Option<(String, String)> {
        self.ports().filter(|(_, port)| port.adapter == Adapter::Pvrdma).find_map(|(side, port)| {
            let Queue::Shorten(most, depth, asked) = ucx::queue(side, port.shared_queues, port.shared_requests) else {
                return None;
            };
            let name = side.receive_queue.as_ref().map_or(ucx::RECEIVE_QUEUE, |(name, _)| name.as_str());
            let reason = format!(
                "rc_verbs asks {} of {} for a shared receive queue of {asked}, and the device takes {most} at most (max_srq_wr): \
                 \"shared receive queue size invalid\", and RC is not opened",
                port.device, side.guest
            );
            Some((reason, format!("{name}={depth}")))
        })
    }

    fn only_ud(&self) -> Option<String> {
        self.ports().filter(|(_, port)| port.adapter == Adapter::Pvrdma).find_map(|(side, port)| {
            matches!(ucx::queue(side, port.shared_queues, port.shared_requests), Queue::OnlyUd).then(|| {
                format!(
                    "{} of {} has no shared receive queue that RC of UCX could use: only UD is left",
                    port.device, side.guest
                )
            })
        })
    }

    fn receive_queue(&self, name: &str, value: &str) -> Said {
        let source = "Linux pvrdma_srq.c; rdma-core providers/vmw_pvrdma/qp.c";
        let Ok(depth) = value.trim().parse::<u64>() else {
            return Said::new(Verdict::WrongName, format!("{value} is no number of requests"), source);
        };
        let other = self.sides.iter().find_map(|side| {
            let (known, _) = side.receive_queue.as_ref()?;
            (known != name).then_some((side, known))
        });
        if let Some((side, known)) = other {
            let reason = format!("UCX of {} calls it {known}", side.guest);
            return Said::new(Verdict::WrongName, reason, source).instead(format!("{known}={value}"));
        }
        let mut is_known = false;
        for (side, port) in self.ports().filter(|(_, port)| port.adapter == Adapter::Pvrdma) {
            let Some(most) = port.shared_requests else { continue };
            is_known = true;
            if depth.checked_next_power_of_two().is_none_or(|rounded| rounded > most) {
                let reason = format!(
                    "{} of {} takes {most} at most (max_srq_wr), after rounding up to a power of two",
                    port.device, side.guest
                );
                let instead = ucx::depth_within(most)
                    .map_or("UCX_TLS=ud_v,sm,self".to_owned(), |depth| format!("{name}={depth}"));
                return Said::new(Verdict::Opposite, reason, source).instead(instead);
            }
        }
        match (self.any(Adapter::Pvrdma), is_known) {
            (true, false) => Said::new(
                Verdict::Unknown,
                "max_srq_wr of the devices was not read: ibv_devinfo -v | grep max_srq",
                source,
            ),
            (true, true) => Said::new(Verdict::Fine, "fits what the devices take", source),
            (false, _) => Said::new(Verdict::Harmless, "the adapters here take UCX's default depth", source),
        }
    }

    fn devices(&self, value: &str) -> Said {
        let source = ucx::CONTEXT_SOURCE;
        let names: Vec<&str> = value.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if names.contains(&"all") {
            return Said::new(
                Verdict::Fine,
                "all devices; an interface that leads elsewhere may be taken, too",
                source,
            );
        }
        let own = |side: &Side| side.port(self.sides).map(crate::tune::advice::Port::name).unwrap_or_default();
        if let Some(name) = names.iter().find(|name| ucx::lacks_port(name)) {
            let is_there = self.sides.iter().any(|side| side.ports.iter().any(|port| port.device == **name));
            let instead = if is_there { format!("{name}:1") } else { self.sides.first().map(own).unwrap_or_default() };
            let reason = format!(
                "a device of RDMA is named with its port, {name}:1; without it UCX says \"network device '{name}' is not available\""
            );
            return Said::new(Verdict::WrongName, reason, source).instead(format!("UCX_NET_DEVICES={instead}"));
        }
        for side in self.sides {
            if side.ports.is_empty() && side.interfaces.is_empty() {
                continue;
            }
            let exists = |name: &&str| {
                side.ports.iter().any(|port| port.name() == **name)
                    || side.interfaces.iter().any(|(other, _)| other == *name)
            };
            if !names.iter().any(exists) {
                let there: Vec<String> = side.ports.iter().map(crate::tune::advice::Port::name).collect();
                let renamed = if self.any(Adapter::Pvrdma) {
                    "; a PVRDMA device is called vmw_pvrdma0 or rocep..., never mlx5_0 or pvr0"
                } else {
                    ""
                };
                let reason = format!(
                    "{} has none of these: its RDMA ports are {}{renamed}. Open MPI ends with \"PML ucx cannot be selected\"",
                    side.guest,
                    if there.is_empty() { "none".to_owned() } else { there.join(", ") }
                );
                return Said::new(Verdict::WrongName, reason, source).instead(format!("UCX_NET_DEVICES={}", own(side)));
            }
        }
        let rdma = |side: &Side| side.ports.iter().any(|port| names.contains(&port.name().as_str()));
        if self.has_rdma() && !self.any(Adapter::Software) && !self.sides.iter().all(rdma) {
            let instead: Vec<String> = self.sides.iter().map(own).collect();
            let reason = "names interfaces for TCP alone on a guest that has an RDMA port";
            return Said::new(Verdict::Better, reason, source)
                .instead(format!("UCX_NET_DEVICES={}", dedup(instead).join(",")));
        }
        Said::new(Verdict::Fine, "every guest has one of these", source)
    }
}

fn dedup(mut names: Vec<String>) -> Vec<String> {
    names.dedup();
    names
}

/// `8388608`, `8m`, `64k`, `1gb` in bytes.
fn bytes(value: &str) -> Option<u64> {
    let value = value.trim().to_ascii_lowercase();
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let number: u64 = value[..end].parse().ok()?;
    let unit: u64 = match value[end..].trim_end_matches('b') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}
