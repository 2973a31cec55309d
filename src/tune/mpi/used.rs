//! What a job really used: by what its ranks said (UCX's log and tables of protocols, Open MPI's verbose output), by queue
//! pairs that its processes own while it runs, and by how much was moved. TCP is said only on positive evidence, RDMA too;
//! where nothing tells, that is said.

use std::collections::BTreeMap;

use crate::fabric::text::clean_line;
use crate::fabric::{Attribute, Entity, EntityId, Fabric, QueuePairState, QueuePairType, TargetId, Text, Value};

/// What carried messages of a rank to other guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// TCP, by UCX or by Open MPI itself.
    Tcp,
    /// RDMA datagrams.
    Ud,
    /// RDMA over reliable connections.
    Rc,
}

impl Carrier {
    /// It in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Ud => "RDMA (UD)",
            Self::Rc => "RDMA (RC)",
        }
    }

    fn of(transport: &str) -> Option<Self> {
        if transport == "tcp" {
            Some(Self::Tcp)
        } else if transport.starts_with("ud_") {
            Some(Self::Ud)
        } else if transport.starts_with("rc_") || transport.starts_with("dc_") {
            Some(Self::Rc)
        } else {
            None
        }
    }
}

/// One rank, or a process that is most likely one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rank {
    /// The node that it ran on.
    pub node: String,
    /// Its process there.
    pub process: u32,
    /// The layer of Open MPI that it took: `ucx`, `ob1`, `cm`.
    pub pml: Option<String>,
    /// Transports with their devices, `tcp/eth1`, in the order in which they were told.
    pub transports: Vec<String>,
    /// Connected queue pairs (RC) in RTS that it owned.
    pub queue_pairs: usize,
}

impl Rank {
    /// What carried its messages to other guests; `None` where nothing tells.
    pub fn carrier(&self) -> Option<Carrier> {
        let told = self.transports.iter().filter_map(|one| Carrier::of(one.split('/').next().unwrap_or(one)));
        // RC and UD stand in one list where UD did the wire-up; what is faster carries.
        let told = told.max();
        told.or_else(|| (self.queue_pairs > 0).then_some(Carrier::Rc))
            .or_else(|| (self.pml.as_deref() == Some("ob1")).then_some(Carrier::Tcp))
    }
}

/// What a job used.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Used {
    /// Its ranks, by node and process.
    pub ranks: Vec<Rank>,
    /// True if a BTL over RDMA (openib, uct) was named: ob1 is not TCP then.
    other_btl: bool,
}

impl Used {
    /// Reads what ranks printed: the log of UCX at level info, its tables (`UCX_PROTO_INFO=y`), and what Open MPI says with
    /// `--mca pml_base_verbose 10`.
    pub fn of_text(text: &str) -> Self {
        let mut ranks: BTreeMap<(String, u32), Rank> = BTreeMap::new();
        let mut other_btl = false;
        // A table has no time and no process of its own: it belongs to who spoke last.
        let mut last: Option<(String, u32)> = None;
        for line in text.lines().map(str::trim_end) {
            let who = speaker(line);
            if let Some(who) = &who {
                last = Some(who.clone());
            }
            other_btl |= line.contains("btl: openib") || line.contains("btl:openib") || line.contains("via openib");
            let told = transports(line);
            let pml = chosen(line);
            if told.is_empty() && pml.is_none() {
                continue;
            }
            let owner = who.or_else(|| last.clone()).unwrap_or_else(|| ("?".to_owned(), 0));
            let rank = ranks.entry(owner.clone()).or_insert_with(|| Rank {
                node: owner.0.clone(),
                process: owner.1,
                ..Rank::default()
            });
            for one in told {
                if !rank.transports.contains(&one) && rank.transports.len() < 32 {
                    rank.transports.push(one);
                }
            }
            if let Some(pml) = pml {
                rank.pml = Some(pml.to_owned());
            }
        }
        Self { ranks: ranks.into_values().collect(), other_btl }
    }

    /// Adds the connected queue pairs in RTS of user processes on these guests. `is_of_job` says which commands are those of ranks.
    #[must_use]
    pub fn with_queue_pairs(mut self, fabric: &Fabric, guests: &[TargetId], is_of_job: impl Fn(&str) -> bool) -> Self {
        for guest in guests {
            let hostname = fabric.text(&EntityId::new(guest, Entity::Guest), Attribute::Hostname);
            let node = hostname.unwrap_or_else(|| guest.as_str()).to_owned();
            let first = Entity::QueuePair { device: Text::new(""), port: None, number: 0 };
            for entity in fabric.of_kind(guest, first) {
                let id = EntityId::new(guest, entity.clone());
                let state = fabric.value(&id, Attribute::QueuePairState);
                // A queue pair of datagrams is in RTS from its start on, whether anything arrives or not.
                let is_connected = matches!(
                    fabric.value(&id, Attribute::QueuePairType),
                    Some(Value::QueuePairType(QueuePairType::ReliableConnection))
                );
                let is_up = is_connected && matches!(state, Some(Value::QueuePairState(QueuePairState::ReadyToSend)));
                let command = fabric.text(&id, Attribute::OwnerCommand).unwrap_or_default();
                let process = fabric.value(&id, Attribute::OwnerProcess).and_then(Value::as_count);
                let Some(process) = process.and_then(|process| u32::try_from(process).ok()) else { continue };
                if is_up && is_of_job(command) {
                    self.rank(&node, process).queue_pairs += 1;
                }
            }
        }
        self
    }

    /// The same from what `rdma res show qp` printed on one node.
    #[must_use]
    pub fn with_listed(mut self, node: &str, listed: &str, is_of_job: impl Fn(&str) -> bool) -> Self {
        for line in listed.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let behind = |key: &str| words.windows(2).find(|pair| pair[0] == key).map(|pair| pair[1]);
            let (Some("RTS"), Some("RC"), Some(process), Some(command)) =
                (behind("state"), behind("type"), behind("pid"), behind("comm"))
            else {
                continue;
            };
            if let Ok(process) = process.parse()
                && is_of_job(command)
            {
                self.rank(node, process).queue_pairs += 1;
            }
        }
        self
    }

    fn rank(&mut self, node: &str, process: u32) -> &mut Rank {
        let at = self.ranks.iter().position(|rank| rank.node == node && rank.process == process);
        let at = at.unwrap_or_else(|| {
            self.ranks.push(Rank { node: clean_line(node), process, ..Rank::default() });
            self.ranks.len() - 1
        });
        &mut self.ranks[at]
    }

    /// What carried the job between guests: the slowest that any rank had; `None` where nothing tells.
    pub fn carrier(&self) -> Option<Carrier> {
        let carriers = self.ranks.iter().filter_map(|rank| self.of_rank(rank));
        carriers.min()
    }

    /// What carried the messages of a rank.
    pub fn of_rank(&self, rank: &Rank) -> Option<Carrier> {
        let carrier = rank.carrier()?;
        // ob1 over another BTL is not TCP, and by no more than its name it is not known what it is.
        let by_name_only = carrier == Carrier::Tcp && rank.transports.is_empty();
        (!(by_name_only && self.other_btl)).then_some(carrier)
    }

    /// The node whose ranks have a slower way than those of another one; `None` where all are alike.
    pub fn slowest(&self) -> Option<(&str, Carrier)> {
        let carriers: Vec<(&str, Carrier)> =
            self.ranks.iter().filter_map(|rank| Some((rank.node.as_str(), self.of_rank(rank)?))).collect();
        let slowest = carriers.iter().min_by_key(|(_, carrier)| *carrier)?;
        carriers.iter().any(|(_, other)| *other > slowest.1).then_some(*slowest)
    }

    /// It in a sentence.
    pub fn words(&self) -> String {
        match (self.carrier(), self.slowest()) {
            (None, _) => "what carried the messages cannot be told: no rank said its transports, and no queue pair in RTS was seen".to_owned(),
            (Some(carrier), Some((node, _))) => {
                format!("messages between guests went over {} on {node}, which is slower than on others", carrier.words())
            }
            (Some(carrier), None) => format!("messages between guests went over {}", carrier.words()),
        }
    }
}

/// Which of several nodes moved the least in the same time: deltas of the counters of their hosts or ports. `None` where all
/// are within a tenth of each other, or fewer than two are known.
pub fn least_moved(moved: &[(String, u64)]) -> Option<(&str, u64)> {
    let least = moved.iter().min_by_key(|(_, by)| *by)?;
    let most = moved.iter().map(|(_, by)| *by).max()?;
    (moved.len() > 1 && most > 0 && least.1.saturating_mul(10) < most.saturating_mul(9))
        .then_some((least.0.as_str(), least.1))
}

/// Who says a line: `[1796098742.153824] [softroce2:218  :0] ...` or `[softroce2:00218] ...`.
fn speaker(line: &str) -> Option<(String, u32)> {
    for piece in line.split('[').skip(1).take(2) {
        let inside = piece.split(']').next()?;
        let mut parts = inside.split(':');
        let (node, process) = (parts.next()?.trim(), parts.next().map(str::trim));
        let is_node = node.starts_with(|first: char| first.is_ascii_alphabetic());
        if let Some(process) = process.and_then(|process| process.parse().ok())
            && is_node
        {
            return Some((clean_line(node), process));
        }
    }
    None
}

/// Transports that a line names: `ep_cfg[1]: tag(rc_verbs/rxe0:1)`, or a row of a table of protocols. That to itself
/// (`ep_cfg[0]` with `self/`) tells nothing of other guests.
fn transports(line: &str) -> Vec<String> {
    let is_row = line.trim_start().starts_with('|') || (speaker(line).is_some() && line.contains(" | "));
    let inside = match line.split_once("ep_cfg[") {
        Some((_, rest)) if !is_row => rest,
        _ if is_row => line,
        _ => return Vec::new(),
    };
    if inside.contains("self/") {
        return Vec::new();
    }
    let words = inside.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '|' | ',' | ';'));
    words
        .filter(|word| {
            word.split_once('/')
                .is_some_and(|(transport, device)| Carrier::of(transport).is_some() && !device.is_empty())
        })
        .map(clean_line)
        .collect()
}

/// The layer that a line says was taken: `select: component ob1 selected`.
fn chosen(line: &str) -> Option<&'static str> {
    let (_, rest) = line.split_once("select: component ")?;
    let name = rest.trim().strip_suffix(" selected")?;
    ["ucx", "ob1", "cm"].into_iter().find(|known| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::testing::mutated_texts;

    const TCP: &str = include_str!("../../../tests/fixtures/soft-roce/mpi/trial-ucx-tcp.txt");
    const OB1: &str = include_str!("../../../tests/fixtures/soft-roce/mpi/trial-ob1.txt");
    const RDMA: &str = include_str!("../../../tests/fixtures/soft-roce/mpi/trial-ucx-rdma.txt");
    const TABLE: &str = "[1700000000.1] [node1:77   :0]   ucp_worker.c:1888 UCX  INFO  ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)\n\
        +----------------------------+------------------------------------------------+\n\
        | mpi ep_cfg#2               | tagged message by ucp_tag_send* from host memory |\n\
        +----------------------------+---------------------------------+--------------+\n\
        |                     0..2007 | eager short                     | rc_mlx5/mlx5_0:1 |\n\
        |               2008..1048575 | eager zero-copy copy-out        | rc_mlx5/mlx5_0:1 |\n";

    #[test]
    fn real_runs_say_what_they_used() {
        for (text, carrier, pml) in [(TCP, Carrier::Tcp, "ucx"), (OB1, Carrier::Tcp, "ob1"), (RDMA, Carrier::Rc, "ucx")]
        {
            let used = Used::of_text(text);
            assert_eq!(used.carrier(), Some(carrier), "{used:?}");
            assert_eq!(used.ranks.len(), 2, "{used:?}");
            assert!(used.ranks.iter().all(|rank| rank.pml.as_deref() == Some(pml)), "{used:?}");
            assert_eq!(used.slowest(), None);
        }
        assert!(Used::of_text(TCP).words().ends_with("went over TCP"));
        assert_eq!(Used::of_text(TCP).ranks[0].transports, ["tcp/eth1"]);
    }

    #[test]
    fn tables_of_protocols() {
        let used = Used::of_text(TABLE);
        assert_eq!(used.carrier(), Some(Carrier::Rc));
        assert_eq!(
            used.ranks,
            [Rank {
                node: "node1".to_owned(),
                process: 77,
                transports: vec!["rc_mlx5/mlx5_0:1".to_owned()],
                ..Rank::default()
            }]
        );
    }

    #[test]
    fn queue_pairs_of_ranks_prove_rdma_and_a_node_without_them_is_named() {
        let listed = "link rocep27s0f1/1 lqpn 1 type GSI state RTS comm [ib_core] \n\
                      link rocep27s0f1/1 lqpn 30 rqpn 31 type RC state RTS rq-psn 0 sq-psn 1 path-mig-state MIGRATED pid 812 comm solver \n\
                      link rocep27s0f1/1 lqpn 33 type RC state INIT sq-psn 0 path-mig-state MIGRATED pid 813 comm solver \n";
        let used = Used::default().with_listed("a", listed, |command| command == "solver");
        assert_eq!((used.ranks.len(), used.ranks[0].queue_pairs, used.carrier()), (1, 1, Some(Carrier::Rc)));
        let both = Used::of_text("[x] [b:9 :0] ucp_worker.c:1 UCX  INFO  ep_cfg[1]: tag(tcp/eth1)").with_listed(
            "a",
            listed,
            |_| true,
        );
        assert_eq!(both.slowest(), Some(("b", Carrier::Tcp)));
        assert!(both.words().contains("on b"), "{}", both.words());
    }

    #[test]
    fn nothing_is_claimed_without_evidence() {
        assert_eq!(Used::of_text("").carrier(), None);
        assert_eq!(Used::of_text("Hello, world\n| tcp | x |\n").carrier(), None);
        assert!(Used::default().words().contains("cannot be told"));
        assert_eq!(least_moved(&[("a".to_owned(), 5)]), None);
        assert_eq!(least_moved(&[("a".to_owned(), 100), ("b".to_owned(), 95)]), None);
        assert_eq!(least_moved(&[("a".to_owned(), 100), ("b".to_owned(), 10)]), Some(("b", 10)));
    }

    proptest::proptest! {
        #[test]
        fn damaged_output_is_survived(text in mutated_texts(&[TCP, RDMA, TABLE])) {
            let used = Used::of_text(&text);
            proptest::prop_assert!(!used.words().chars().any(char::is_control));
        }
    }
}
