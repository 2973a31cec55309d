//! Which counters of a host become curves, and what they count. A rate needs a meaning that is sure and the time of the
//! read; whatever else a host counts stays a value in its panels. Labels are compared loosely, as everywhere on a host
//! where nobody published them.

use std::collections::BTreeMap;

use super::each;
use super::statistics::{self, is_label};
use crate::fabric::counter::SharedRole;
use crate::fabric::slow::SlowReading;
use crate::fabric::{Attribute, Entity, Fact, Observation, Report, SourceId, Text, Timestamp, Value};

/// Whole labels that are understood, and what they count. Parts of a total (unicast, CRC errors) are left out: they would
/// be counted twice.
const LABELS: &[(&str, SharedRole)] = &[
    ("Bytes sent", SharedRole::TransmitBytes),
    ("Bytes received", SharedRole::ReceiveBytes),
    ("Packets sent", SharedRole::TransmitPackets),
    ("Packets received", SharedRole::ReceivePackets),
    // Of RDMA devices.
    ("Error packets sent", SharedRole::Error),
    ("Error packets received", SharedRole::Error),
    // Of adapters.
    ("Total transmit errors", SharedRole::Error),
    ("Total receive errors", SharedRole::Error),
    ("Transmit packets dropped", SharedRole::Drop),
    ("Receive packets dropped", SharedRole::Drop),
];

/// The name of the probe of what drivers count by themselves; it stands above others that count the same.
pub const PRIVATE: &str = statistics::PRIVATE.name;

/// True for a probe whose counters become curves.
pub fn counts(probe: &SourceId) -> bool {
    [statistics::RDMA.name, statistics::NICS.name, PRIVATE, super::dcb::PROBE.name].contains(&probe.as_str())
}

/// All counters of a report that become curves.
pub fn readings(report: &Report) -> Vec<SlowReading> {
    let Some(observation) = report.observations.first().filter(|_| counts(&report.probe)) else { return Vec::new() };
    let times = times(observation);
    report.facts.iter().filter_map(|fact| reading(&report.probe, &times, fact)).collect()
}

fn reading(probe: &SourceId, times: &BTreeMap<&str, (Timestamp, Option<i64>)>, fact: &Fact) -> Option<SlowReading> {
    let (Entity::Counter { of, name }, Attribute::CounterValue) = (&fact.entity, fact.attribute) else { return None };
    let Some(Value::Count(raw)) = fact.reading.state.known() else { return None };
    let role = if [statistics::RDMA.name, statistics::NICS.name].contains(&probe.as_str()) {
        role(name.as_str())?
    } else {
        pause_or_discard(name.as_str())?
    };
    let (at, clock) = *times.get(of.as_str())?;
    let entity = if probe.as_str() == statistics::RDMA.name {
        Entity::RdmaDevice(of.clone())
    } else {
        Entity::Uplink(of.clone())
    };
    Some(SlowReading { entity, name: Text::new(name.as_str()), role, raw: *raw, at, clock })
}

/// What a label counts, where that is sure.
pub fn role(label: &str) -> Option<SharedRole> {
    LABELS.iter().find(|(meant, _)| is_label(label, meant)).map(|(_, role)| *role)
}

/// What a private counter counts: pause frames, also those of one priority, and frames that the port threw away. How long
/// a pause lasted and that one ended is no frame more.
fn pause_or_discard(name: &str) -> Option<SharedRole> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["discard"]) {
        return Some(SharedRole::Discard);
    }
    let is_pause = has(&["pause", "xoff", "pfc frames"]) && !has(&["xon", "duration", "transition", "storm", "time"]);
    let sent = has(&["tx", "sent", "xmit", "transmit"]);
    let received = has(&["rx", "rcv", "received", "receive"]);
    match (is_pause, sent, received) {
        (true, true, false) => Some(SharedRole::TransmitPause),
        (true, false, true) => Some(SharedRole::ReceivePause),
        _ => None,
    }
}

/// When each thing was read: by our clock, where the reads of one answer follow each other evenly, and by the host's, where
/// it told that.
fn times(observation: &Observation) -> BTreeMap<&str, (Timestamp, Option<i64>)> {
    let (items, _) = each::items(observation);
    let count = u32::try_from(items.len()).unwrap_or(u32::MAX).max(1);
    (0u32..)
        .zip(items)
        .map(|(place, item)| {
            // Where nobody measured how long it took, all of it was read when it began.
            let place = (f64::from(place) + 0.5) / f64::from(count);
            let since = observation.duration.map(|duration| duration.mul_f64(place));
            let at = since.and_then(|since| observation.at.checked_add(since).ok()).unwrap_or(observation.at);
            (item.name, (at, item.clock))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::fabric::TargetId;
    use crate::probe::Probe;

    fn read(probe: &Probe, text: &str) -> Vec<SlowReading> {
        let mut observation = Observation::of_text(probe.name, text);
        observation.at = Timestamp::from_second(100).expect("a small number");
        observation.duration = Some(Duration::from_secs(4));
        let observations = vec![Arc::new(observation)];
        let facts = (probe.parse)(&observations);
        readings(&Report { target: TargetId::new("t"), probe: SourceId::new(probe.name), observations, facts })
    }

    #[test]
    fn what_is_sure_becomes_a_curve_with_the_time_of_its_read() {
        let text = "@item vmrdma0\n@clock 1764492000\n   Bytes Sent: 7\n   Packet received: 3\n   Unicast bytes sent: 7\n   \
                    Queue pairs in RTS state: 4\n   Flux: 1\n\n@status 0\n@item vmrdma1\n@clock 1764492002\n   Bytes \
                    received: 9\n   Error packets received: N/A\n\n@status 0\n";
        let all = read(&statistics::RDMA, text);
        let told: Vec<_> =
            all.iter().map(|one| (one.entity.name(), one.name.to_string(), one.role, one.raw, one.clock)).collect();
        let of =
            |device: &str, name: &str, role, raw, clock| (device.to_owned(), name.to_owned(), role, raw, Some(clock));
        assert_eq!(
            told,
            [
                of("vmrdma0", "Bytes Sent", SharedRole::TransmitBytes, 7, 1_764_492_000),
                of("vmrdma0", "Packet received", SharedRole::ReceivePackets, 3, 1_764_492_000),
                of("vmrdma1", "Bytes received", SharedRole::ReceiveBytes, 9, 1_764_492_002),
            ]
        );
        assert_eq!(all.iter().map(|one| one.at.as_second()).collect::<Vec<_>>(), [101, 101, 103]);
        assert!(matches!(all[0].entity, Entity::RdmaDevice(_)));
    }

    #[test]
    fn an_adapter_has_totals_drops_and_pauses() {
        let text = "@item vmnic2\nNIC statistics for vmnic2\n   Bytes sent: 1\n   Receive CRC errors: 2\n   Total receive \
                    errors: 2\n   Receive packets dropped: 5\n\n@status 0\n@item vmnic3\nno such device\n\n@status 1\n";
        let roles: Vec<SharedRole> = read(&statistics::NICS, text).iter().map(|one| one.role).collect();
        assert_eq!(roles, [SharedRole::TransmitBytes, SharedRole::Error, SharedRole::Drop]);
        let text = "@item vmnic2\nPFC TC[3]: RxXon=1 RxXoff=2 TxXon=0 TxXoff=5 Xon2Xoff=0\n   txPauseCtrlPhy: 12\n   \
                    rxPauseDurationPrio3: 7\n   rxDiscardsPhy: 3\n   txErrorsPhy: 1\n\n@status 0\n";
        let all = read(&statistics::PRIVATE, text);
        let told: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.role, one.raw)).collect();
        assert_eq!(
            told,
            [
                ("PFC TC[3] RxXoff", SharedRole::ReceivePause, 2),
                ("PFC TC[3] TxXoff", SharedRole::TransmitPause, 5),
                ("txPauseCtrlPhy", SharedRole::TransmitPause, 12),
                ("rxDiscardsPhy", SharedRole::Discard, 3),
            ]
        );
    }
}
