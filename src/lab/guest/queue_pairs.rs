//! Queue pairs at a moment: the kernel's own, and those of the job that runs. Both ends of a path agree on their numbers.

use super::load::{Job, between, mix, whole};
use super::state::{Family, Moment, Process};
use super::wire::Side;

/// Names of the programs that jobs run, at most 15 letters as the kernel keeps them.
const PROGRAMS: [&str; 6] = ["IMB-MPI1", "osu_alltoall", "lmp_mpi", "gmx_mpi", "wrf.exe", "xhpl"];

/// A queue pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePair {
    /// Its number.
    pub number: u32,
    /// Number of the other end's queue pair.
    pub remote: Option<u32>,
    /// `GSI`, `RC`, `UD`.
    pub kind: &'static str,
    /// `RTS`, `RTR`, `ERR`, ...
    pub state: &'static str,
    /// Packet sequence number of the receive queue, of connected ones.
    pub receive_sequence: Option<u32>,
    /// Packet sequence number of the send queue.
    pub send_sequence: u32,
    /// Number of its protection domain, of user ones.
    pub domain: Option<u32>,
    /// Its process, of user ones.
    pub process: Option<u32>,
    /// Name of its process, or of the kernel module that owns it.
    pub owner: String,
}

/// What a job has open on this machine.
#[derive(Clone, Debug)]
pub struct JobHere {
    /// The job.
    pub job: Job,
    /// Its program.
    pub program: &'static str,
    /// The processes of its ranks.
    pub ranks: Vec<u32>,
    /// The process that started them.
    pub launcher: Process,
}

impl Moment<'_> {
    /// The job that runs on this machine.
    pub fn job(&self) -> Option<JobHere> {
        let job = self.state.wire.job(self.now)?;
        // Both ends draw from the path; process numbers are each machine's own.
        let shared = self.state.wire.seed();
        let program = PROGRAMS[usize::try_from(mix(shared, job.number) % PROGRAMS.len() as u64).unwrap_or(0)];
        let ranks = u32::try_from(between(shared, job.number ^ 0x7261_6e6b, 2, 4)).unwrap_or(2);
        let first = u32::try_from(between(self.state.seed, job.number, 2_400, 28_000)).unwrap_or(2_400);
        let launcher =
            Process { pid: first, command: "orted".to_owned(), memlock: self.state.memlock, is_roots: false };
        Some(JobHere { job, program, ranks: (1..=ranks).map(|rank| first + 3 + 2 * rank).collect(), launcher })
    }

    /// All queue pairs that the kernel shows to this login, in its order.
    pub fn queue_pairs(&self) -> Vec<QueuePair> {
        let mut pairs = Vec::new();
        // Without CAP_NET_ADMIN those of other users' processes are left out, and nothing is said of it.
        if self.login.is_root {
            pairs.extend(self.user_queue_pairs());
        }
        pairs.push(QueuePair {
            number: 1,
            remote: None,
            kind: "GSI",
            state: "RTS",
            receive_sequence: None,
            send_sequence: self.management_sequence(),
            domain: None,
            process: None,
            owner: "ib_core".to_owned(),
        });
        pairs
    }

    /// Management datagrams sent: a few for each connection of each job.
    fn management_sequence(&self) -> u32 {
        match self.state.adapter.family {
            Family::Pvrdma => 0,
            _ => u32::try_from(self.state.wire.job(self.now).map_or(8, |job| 8 + 4 * job.number) & 0xff_ffff)
                .unwrap_or(0),
        }
    }

    /// The queue pairs of the job that runs: one for each pair of ranks on the two machines.
    pub fn user_queue_pairs(&self) -> Vec<QueuePair> {
        let Some(here) = self.job() else { return Vec::new() };
        let since = self.now - here.job.began;
        if since < 0.7 {
            return Vec::new();
        }
        let count = here.ranks.len() as u64 * 2;
        // Who cannot reach the other end never gets beyond RTR; whoever was connected runs out of retries.
        let unreachable = self.state.wire.unreachable_since(self.now);
        let state = if since < 1.6 || unreachable.is_some_and(|began| began < here.job.began) { "RTR" } else { "RTS" };
        // Retries run out after some seconds, for one queue pair after the other.
        let broken = self.state.wire.lossy_since(self.now).map_or(0, |began| {
            let lossy = self.now - began.max(here.job.began);
            if lossy < 0.5 { 0 } else { (1 + whole(lossy / 12.0)).min(count) }
        });
        // Whoever reaches it with small packets only is connected, and never gets a message across.
        let stuck = self.state.wire.stuck_since(self.now).map(|began| began.max(here.job.began));
        let stuck = stuck.filter(|_| unreachable.is_none()).or(unreachable);
        let cut_off = stuck.filter(|began| *began >= here.job.began).map_or(0, |began| {
            let silent = self.now - began;
            if silent < 2.0 { 0 } else { (1 + whole((silent - 2.0) * 2.0)).min(count) }
        });
        let broken = broken.max(cut_off);
        let packets = whole(self.carried().sent_packets);
        (0..count)
            .map(|index| {
                let number = |side: Side| {
                    let shift = if side == Side::A { 0 } else { 37 };
                    u32::try_from(0x90 + shift + (here.job.number * 11) % 0x4000 + index).unwrap_or(0x90)
                };
                let sequence = |salt: u64, moves: u64| {
                    u32::try_from((mix(self.state.seed, here.job.number * 64 + index * 2 + salt) + moves) & 0xff_ffff)
                        .unwrap_or(0)
                };
                let is_broken = index < broken;
                let rank = usize::try_from(index).unwrap_or(0) % here.ranks.len();
                QueuePair {
                    number: number(self.state.side),
                    remote: Some(number(self.state.side.other())),
                    kind: "RC",
                    state: if is_broken { "ERR" } else { state },
                    receive_sequence: Some(sequence(0, 0)),
                    send_sequence: sequence(1, if is_broken { 0 } else { packets / count }),
                    domain: Some(4 + u32::try_from(rank).unwrap_or(0)),
                    process: Some(here.ranks[rank]),
                    owner: here.program.to_owned(),
                }
            })
            .collect()
    }

    /// All processes at this moment.
    pub fn processes(&self) -> Vec<Process> {
        let mut processes = self.state.processes.clone();
        if let Some(here) = self.job() {
            let rank = |pid: &u32| Process {
                pid: *pid,
                command: here.program.to_owned(),
                memlock: self.state.memlock,
                is_roots: false,
            };
            processes.extend(here.ranks.iter().map(rank));
            processes.push(here.launcher);
        }
        processes.sort_by_key(|process| process.pid);
        processes
    }
}
