//! Samples of a running benchmark, from the counters of a port: perftest itself prints nothing before its end.

use std::time::Duration;

use crate::probe::perftest::Counters;
use crate::tune::bench::{Kind, Plan, Run, Size, Verb};

/// One second of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time since the client was started.
    pub at: Duration,
    /// Packets a second that the receiving port counts; of both directions where both are tested.
    pub packets: Option<f64>,
    /// What they carried, in 10^9 bits a second: packets times the payload of each. `None` where that cannot be told.
    pub gigabits: Option<f64>,
}

/// Makes samples of counters.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// True if it is the server that receives.
    at_server: bool,
    /// Octets of payload in a packet, on average.
    payload: Option<f64>,
    last: Option<Counters>,
}

impl Sampler {
    /// For one run.
    pub fn new(plan: &Plan, run: &Run) -> Self {
        let asked = &plan.asked;
        let payload = match (run.size, plan.mtu()) {
            (Size::One(octets), Some(mtu)) if asked.kind == Kind::Bandwidth && !asked.bidirectional => {
                Some(per_packet(octets, mtu))
            }
            _ => None,
        };
        Self { at_server: asked.verb != Verb::Read, payload, last: None }
    }

    /// True if the counters of the server are those that count.
    pub fn is_at_server(&self) -> bool {
        self.at_server
    }

    /// Takes the next counters of the receiving side; the first ones give nothing.
    pub fn take(&mut self, counters: Counters, at: Duration) -> Option<Sample> {
        let last = self.last.replace(counters)?;
        let seconds = counters.uptime - last.uptime;
        if seconds <= 0.0 {
            return None;
        }
        #[allow(clippy::cast_precision_loss, reason = "packets of one second are far below 2^52")]
        let rate = |now: Option<u64>, before: Option<u64>| Some(now?.checked_sub(before?)? as f64 / seconds);
        let packets = rate(counters.received, last.received);
        let gigabits = packets.zip(self.payload).map(|(packets, octets)| packets * octets * 8.0 / 1e9);
        Some(Sample { at, packets, gigabits })
    }
}

#[allow(clippy::cast_precision_loss, reason = "sizes of messages are far below 2^52")]
fn per_packet(octets: u64, mtu: u64) -> f64 {
    octets as f64 / octets.div_ceil(mtu.max(1)).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_become_bits_by_their_payload() {
        let counters = |uptime, received| Counters { uptime, received, ..Counters::default() };
        let mut sampler = Sampler { at_server: true, payload: Some(per_packet(65_537, 1024)), last: None };
        assert_eq!(sampler.take(counters(10.0, Some(100)), Duration::ZERO), None);
        let sample = sampler.take(counters(12.0, Some(230)), Duration::from_secs(2)).expect("a sample");
        assert_eq!(sample.packets, Some(65.0));
        // 65 packets carry one message of 65537 octets.
        assert!((sample.gigabits.expect("a rate") - 65_537.0 * 8.0 / 1e9).abs() < 1e-12);
        // A driver that counts nothing gives nothing, and no zero.
        let none = sampler.take(counters(13.0, None), Duration::from_secs(3)).expect("a sample");
        assert_eq!((none.packets, none.gigabits), (None, None));
    }
}
