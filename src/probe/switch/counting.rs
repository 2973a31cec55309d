//! What the counters of a switch's ports count, by the labels that the systems print, and which of them become curves. A
//! part of a total (CRC errors, one priority) has the role of the total: whoever adds up takes totals only.

use crate::fabric::counter::SharedRole;
use crate::fabric::slow::SlowReading;
use crate::fabric::{Attribute, Entity, Report, SourceId, Text, Value};

/// Whole labels.
const LABELS: &[(&str, SharedRole)] = &[
    // Arista EOS.
    ("inOctets", SharedRole::ReceiveBytes),
    ("outOctets", SharedRole::TransmitBytes),
    ("totalInErrors", SharedRole::Error),
    ("totalOutErrors", SharedRole::Error),
    ("fcsErrors", SharedRole::Error),
    ("symbolErrors", SharedRole::Error),
    ("inDiscards", SharedRole::Discard),
    ("outDiscards", SharedRole::Discard),
    ("rxPause", SharedRole::ReceivePause),
    ("txPause", SharedRole::TransmitPause),
    ("PFC rxFrames", SharedRole::ReceivePause),
    ("PFC txFrames", SharedRole::TransmitPause),
    // Cisco NX-OS.
    ("input bytes", SharedRole::ReceiveBytes),
    ("output bytes", SharedRole::TransmitBytes),
    ("input error", SharedRole::Error),
    ("output error", SharedRole::Error),
    ("CRC", SharedRole::Error),
    ("input discard", SharedRole::Discard),
    ("output discard", SharedRole::Discard),
    ("Rx pause", SharedRole::ReceivePause),
    ("Tx pause", SharedRole::TransmitPause),
    ("PFC RxPPP", SharedRole::ReceivePause),
    ("PFC TxPPP", SharedRole::TransmitPause),
    ("Ingress MMU Drop Pkts", SharedRole::Discard),
    ("WRED Drop Pkts", SharedRole::Discard),
    // SONiC.
    ("RX_ERR", SharedRole::Error),
    ("TX_ERR", SharedRole::Error),
    ("RX_DRP", SharedRole::Discard),
    ("TX_DRP", SharedRole::Discard),
    // Onyx.
    ("Rx bytes", SharedRole::ReceiveBytes),
    ("Tx bytes", SharedRole::TransmitBytes),
    ("Rx error packets", SharedRole::Error),
    ("Tx error packets", SharedRole::Error),
    ("Rx fcs errors", SharedRole::Error),
    ("Rx symbol errors", SharedRole::Error),
    ("Rx discard packets", SharedRole::Discard),
    ("Tx discard packets", SharedRole::Discard),
    ("Rx pause packets", SharedRole::ReceivePause),
    ("Tx pause packets", SharedRole::TransmitPause),
    // Cumulus Linux.
    ("HwIfInOctets", SharedRole::ReceiveBytes),
    ("HwIfOutOctets", SharedRole::TransmitBytes),
    ("HwIfInErrors", SharedRole::Error),
    ("HwIfOutErrors", SharedRole::Error),
    ("HwIfInDiscards", SharedRole::Discard),
    ("HwIfOutDiscards", SharedRole::Discard),
    ("HwIfOutQDrops", SharedRole::Discard),
    ("HwIfInPausePkt", SharedRole::ReceivePause),
    ("HwIfOutPausePkt", SharedRole::TransmitPause),
];

/// What a counter of a port counts, where its label tells it.
pub fn role(label: &str) -> Option<SharedRole> {
    if let Some((_, role)) = LABELS.iter().find(|(meant, _)| *meant == label) {
        return Some(*role);
    }
    let has = |words: &[&str]| words.iter().all(|word| label.contains(word));
    if has(&["watchdog"]) {
        return None;
    }
    if has(&["COS ", "RxPause"]) || has(&["HwIfInPfc", "Pkt"]) || has(&["PFC", " rx"]) {
        return Some(SharedRole::ReceivePause);
    }
    if has(&["COS ", "TxPause"]) || has(&["HwIfOutPfc", "Pkt"]) || has(&["PFC", " tx"]) {
        return Some(SharedRole::TransmitPause);
    }
    has(&["QOS GROUP ", "Dropped Pkts"]).then_some(SharedRole::Discard)
}

/// True if a counter stands for one priority or one kind of error, and a total of the same port holds it too.
pub fn is_part(label: &str) -> bool {
    ["fcsErrors", "symbolErrors", "CRC", "Rx fcs errors", "Rx symbol errors"].contains(&label)
        || ["COS ", "QOS GROUP ", "PFC0", "PFC1", "PFC2", "PFC3", "PFC4", "PFC5", "PFC6", "PFC7"]
            .iter()
            .any(|beginning| label.starts_with(beginning))
}

/// True for a counter of the watchdog: how often it found a priority that stayed paused.
pub fn is_watchdog(label: &str) -> bool {
    label.contains("watchdog")
}

/// True for a counter of frames that were marked.
pub fn is_marked(label: &str) -> bool {
    label.starts_with("ECN marked")
}

/// True for a probe of a switch whose counters become curves.
pub fn counts(probe: &SourceId) -> bool {
    super::probe(probe.as_str()).is_some()
}

/// All counters of a report that become curves. One command reads all ports of a switch, so all of them have its time.
pub fn readings(report: &Report) -> Vec<SlowReading> {
    let Some(observation) = report.observations.first().filter(|_| counts(&report.probe)) else { return Vec::new() };
    let half = observation.duration.map(|duration| duration / 2);
    let at = half.and_then(|half| observation.at.checked_add(half).ok()).unwrap_or(observation.at);
    let reading = |fact: &crate::fabric::Fact| {
        let (Entity::Counter { of, name }, Attribute::CounterValue) = (&fact.entity, fact.attribute) else {
            return None;
        };
        let Some(Value::Count(raw)) = fact.reading.state.known() else { return None };
        let role = role(name.as_str())?;
        let entity = Entity::SwitchInterface(of.clone());
        Some(SlowReading { entity, name: Text::new(name.as_str()), role, raw: *raw, at, clock: None })
    };
    report.facts.iter().filter_map(reading).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::fabric::{Observation, TargetId, Timestamp};

    #[test]
    fn labels_of_all_systems() {
        for (label, meant) in [
            ("PFC rxFrames", Some(SharedRole::ReceivePause)),
            ("COS 3 TxPause", Some(SharedRole::TransmitPause)),
            ("PFC3 rx", Some(SharedRole::ReceivePause)),
            ("HwIfOutPfc3Pkt", Some(SharedRole::TransmitPause)),
            ("QOS GROUP 3 Dropped Pkts", Some(SharedRole::Discard)),
            ("QOS GROUP 3 watchdog Total pkts dropped", None),
            ("linkStatusChanges", None),
            ("ECN marked 3", None),
        ] {
            assert_eq!(role(label), meant, "{label}");
        }
        assert!(is_part("fcsErrors") && is_part("PFC3 rx") && !is_part("PFC rxFrames"));
    }

    #[test]
    fn counters_of_a_report_have_the_time_of_its_read() {
        let text = "{\"interfaceCounters\": {\"Ethernet4\": {\"rxFrames\": 12, \"txFrames\": 3}}}\n";
        let mut observation = Observation::of_text("eos.pfc-counters", text);
        observation.at = Timestamp::from_second(100).expect("a small number");
        observation.duration = Some(Duration::from_secs(2));
        let observations = vec![Arc::new(observation)];
        let probe = super::super::probe("eos.pfc-counters").expect("a probe");
        let facts = (probe.parse)(&observations);
        let report = Report { target: TargetId::new("leaf1"), probe: SourceId::new(probe.name), observations, facts };
        let all = readings(&report);
        let told: Vec<_> = all.iter().map(|one| (one.entity.name(), one.role, one.raw, one.at.as_second())).collect();
        assert_eq!(
            told,
            [
                ("Ethernet4".to_owned(), SharedRole::ReceivePause, 12, 101),
                ("Ethernet4".to_owned(), SharedRole::TransmitPause, 3, 101),
            ]
        );
    }
}
