//! The path between two machines: what both send, and what happens to it. What one sends is what the other receives, so
//! both read their counters from here.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::load::{Job, Load, Schedule};
use crate::probe::linux::rdma_sysfs::roce_mtu;

/// How long the first job has been running when the lab begins, in seconds: what is looked at first is busy already.
const HEAD_START: f64 = 25.0;
/// Part of the packets that is lost, and sent again, on a path that loses packets.
const LOST: f64 = 0.0004;
/// What is left of the throughput while packets are lost: each loss stops a queue pair until its timeout.
const FLOW_WITH_LOSS: f64 = 0.35;
/// Part of the frames that a damaged cable garbles, and what is left of the throughput: each is sent again at once.
const GARBLED: f64 = 0.000_06;
const FLOW_WITH_DAMAGE: f64 = 0.8;
/// What is left of the throughput where the hosts carry it as TCP. UNSOURCED: what is documented is
/// only that it becomes TCP, and no flag in the guest says so.
const FLOW_OVER_TCP: f64 = 0.4;
/// Octets of a RoCE v2 frame over IPv4 that are no payload, without what only the wire sees: Ethernet 14, IPv4 20, UDP 8,
/// BTH 12, ICRC 4.
const ROCE_HEADERS: f64 = 58.0;
/// Octets more per frame on the wire: preamble 8, gap 12, FCS 4.
const WIRE_ONLY: f64 = 24.0;

/// What a path carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// RoCE v2 of an adapter that counts it.
    Roce,
    /// Ethernet frames of the interface itself.
    Ethernet,
}

/// One of the two ends of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first machine of a pair.
    A,
    /// The second one.
    B,
}

impl Side {
    fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }

    /// The end across.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// How the hosts below two VMs carry what goes between them. Guests see no flag of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over their adapters, as RDMA; also where the lab has no hosts.
    Adapter,
    /// Over their adapters, as TCP: one of the hosts does not qualify for RDMA.
    Tcp,
    /// In memory: both VMs are on one host.
    Memory,
    /// Not at all: an uplink without a link, or another VLAN. Both ports stay ACTIVE all the same, since a port follows
    /// the link of its paired virtual adapter, which is not concerned.
    Nothing,
    /// Only what is small: a port on the way has a smaller MTU than both ends and drops longer frames in silence. Neighbours
    /// are found, connections are made, and messages of a size run out of retries.
    SmallOnly,
}

/// What one end does to a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// Whether its link is up.
    pub up: bool,
    /// Whether packets are lost near it.
    pub loss: bool,
    /// Whether the cable near it garbles frames now and then: retries make up for it.
    pub damaged: bool,
    /// MTU of its interface, in octets.
    pub mtu: u64,
    /// Until when nothing runs on it (it boots), in seconds since the lab began.
    pub quiet_until: f64,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    from: f64,
    flows_from: f64,
    flow: f64,
    /// Octets of a frame as the counters see it, on average.
    frame: f64,
    lossy: bool,
    damaged: bool,
    way: Way,
}

#[derive(Debug)]
struct History {
    ends: [End; 2],
    way: Way,
    segments: Vec<Segment>,
}

/// What went over a path in some time, as one end sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    /// Octets sent.
    pub sent_bytes: f64,
    /// Octets that came in.
    pub received_bytes: f64,
    /// Packets sent.
    pub sent_packets: f64,
    /// Packets that came in.
    pub received_packets: f64,
    /// Packets of ours that were lost and sent again.
    pub lost_sent: f64,
    /// Packets of the other end that were lost on their way to us.
    pub lost_received: f64,
    /// Seconds with traffic in which packets were lost.
    pub lossy_seconds: f64,
}

/// A path between two machines.
#[derive(Debug)]
pub struct Wire {
    seed: u64,
    traffic: Traffic,
    schedule: Schedule,
    loads: [Load; 2],
    history: Mutex<History>,
}

impl Wire {
    /// A path of this seed: `peak` is the most octets per second in one direction, both interfaces have this MTU.
    pub fn new(seed: u64, traffic: Traffic, peak: f64, mtu: u64) -> Self {
        let schedule = Schedule::new(seed);
        let loads = [Load::of_jobs(seed ^ 1, &schedule, peak), Load::of_jobs(seed ^ 2, &schedule, peak * 0.82)];
        let end = End { up: true, loss: false, damaged: false, mtu, quiet_until: f64::NEG_INFINITY };
        let wire = Self {
            seed,
            traffic,
            schedule,
            loads,
            history: Mutex::new(History { ends: [end, end], way: Way::Adapter, segments: Vec::new() }),
        };
        wire.change(Side::A, 0.0, |_| ());
        wire
    }

    fn history(&self) -> MutexGuard<'_, History> {
        // A poisoned lock only says that a reader panicked; what it guards is changed in one step.
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes one end from `now` on.
    pub fn change(&self, side: Side, now: f64, change: impl FnOnce(&mut End)) {
        let mut history = self.history();
        change(&mut history.ends[side.index()]);
        self.note(&mut history, now);
    }

    /// The hosts carry it in this way from `now` on.
    pub fn lead(&self, way: Way, now: f64) {
        let mut history = self.history();
        if history.way != way {
            history.way = way;
            self.note(&mut history, now);
        }
    }

    fn note(&self, history: &mut History, now: f64) {
        let way = history.way;
        let [a, b] = history.ends;
        let (lossy, damaged) = (a.loss || b.loss, a.damaged || b.damaged);
        let mtu = a.mtu.min(b.mtu);
        let (frame, efficiency) = match self.traffic {
            Traffic::Roce => {
                let payload = roce_mtu(mtu).unwrap_or(256) as f64;
                let wire = |payload: f64| payload / (payload + ROCE_HEADERS + WIRE_ONLY);
                // Messages end with a short packet.
                (0.94 * payload + ROCE_HEADERS, wire(payload) / wire(4096.0))
            }
            Traffic::Ethernet => {
                let frame = mtu as f64;
                (0.9 * frame, (frame / (frame + 38.0)) / (9000.0 / 9038.0))
            }
        };
        let flow = match (a.up && b.up, lossy) {
            (false, _) => 0.0,
            (true, true) => FLOW_WITH_LOSS * efficiency,
            (true, false) if damaged => FLOW_WITH_DAMAGE * efficiency,
            (true, false) => efficiency,
        };
        let flow = match way {
            Way::Adapter | Way::Memory => flow,
            Way::Tcp => flow * FLOW_OVER_TCP,
            Way::Nothing | Way::SmallOnly => 0.0,
        };
        let flows_from = a.quiet_until.max(b.quiet_until).max(now);
        let from = history.segments.last().map_or(now, |last| now.max(last.from));
        history.segments.push(Segment { from, flows_from, flow, frame, lossy, damaged, way });
    }

    /// What went over the path between two moments, as this end sees it.
    pub fn carried(&self, side: Side, from: f64, to: f64) -> Carried {
        self.carried_where(side, from, to, |_| true)
    }

    /// The same of what the hosts carried in one of these ways.
    pub fn carried_where(&self, side: Side, from: f64, to: f64, wanted: impl Fn(Way) -> bool) -> Carried {
        let history = self.history();
        let (mine, theirs) = (&self.loads[side.index()], &self.loads[side.other().index()]);
        let mut carried = Carried::default();
        for (place, segment) in history.segments.iter().enumerate() {
            let end = history.segments.get(place + 1).map_or(f64::INFINITY, |next| next.from).min(to);
            let start = segment.from.max(segment.flows_from).max(from);
            if start < end && segment.way == Way::SmallOnly && wanted(segment.way) {
                // Nothing of it arrives; what is sent again and again runs out of retries.
                carried.lossy_seconds += end - start;
            }
            if start >= end || segment.flow <= 0.0 || !wanted(segment.way) {
                continue;
            }
            let octets = |load: &Load| segment.flow * (load.total(end + HEAD_START) - load.total(start + HEAD_START));
            let (sent, received) = (octets(mine), octets(theirs));
            let lost = match (segment.lossy, segment.damaged) {
                (true, _) => LOST,
                (false, true) => GARBLED,
                (false, false) => 0.0,
            };
            carried.sent_bytes += sent;
            carried.received_bytes += received * (1.0 - lost);
            carried.sent_packets += sent / segment.frame;
            carried.received_packets += received * (1.0 - lost) / segment.frame;
            carried.lost_sent += lost * sent / segment.frame;
            carried.lost_received += lost * received / segment.frame;
            if segment.lossy {
                carried.lossy_seconds += end - start;
            }
        }
        carried
    }

    /// Octets and packets that this end had counted before the lab began, `seconds` after its boot.
    pub fn before(&self, side: Side, seconds: f64) -> Carried {
        let frame = self.history().segments.first().map_or(1.0, |segment| segment.frame);
        let octets = |load: &Load| load.mean() * seconds;
        let (sent, received) = (octets(&self.loads[side.index()]), octets(&self.loads[side.other().index()]));
        Carried {
            sent_bytes: sent,
            received_bytes: received,
            sent_packets: sent / frame,
            received_packets: received / frame,
            ..Carried::default()
        }
    }

    /// The job that runs now, unless one of the ends still boots or booted after the job began.
    pub fn job(&self, now: f64) -> Option<Job> {
        let history = self.history();
        let quiet = history.ends.iter().map(|end| end.quiet_until).fold(f64::NEG_INFINITY, f64::max);
        let mut job = self.schedule.job(now + HEAD_START).filter(|_| now >= quiet)?;
        job.began -= HEAD_START;
        job.ends -= HEAD_START;
        if job.began < quiet {
            // The scheduler starts it anew under another number of its own range.
            job.began = quiet;
            job.number += 1 << 20;
        }
        Some(job)
    }

    /// Since when packets are lost; `None` if they are not.
    pub fn lossy_since(&self, now: f64) -> Option<f64> {
        let history = self.history();
        let lossy = history.segments.iter().rev().skip_while(|segment| segment.from > now);
        lossy.take_while(|segment| segment.lossy).last().map(|segment| segment.from)
    }

    /// True if the link of this end is up.
    pub fn is_up(&self, side: Side) -> bool {
        self.history().ends[side.index()].up
    }

    /// Since when nothing arrives at the other end, though both ports are ACTIVE; `None` if it does.
    pub fn unreachable_since(&self, now: f64) -> Option<f64> {
        let history = self.history();
        let segments = history.segments.iter().rev().skip_while(|segment| segment.from > now);
        segments.take_while(|segment| segment.way == Way::Nothing).last().map(|segment| segment.from)
    }

    /// Since when no message of a size gets through, for whatever cause; `None` if it does.
    pub fn stuck_since(&self, now: f64) -> Option<f64> {
        let history = self.history();
        let segments = history.segments.iter().rev().skip_while(|segment| segment.from > now);
        let is_stuck = |way| matches!(way, Way::Nothing | Way::SmallOnly);
        segments.take_while(|segment| is_stuck(segment.way)).last().map(|segment| segment.from)
    }

    /// What the path was drawn from: both ends may draw from it too.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The greatest rate of the two directions, in octets per second.
    pub fn peak(&self) -> f64 {
        self.loads.iter().map(Load::peak).fold(0.0, f64::max)
    }
}
