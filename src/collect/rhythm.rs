//! How often what is read of an ESXi host, where its probes' paces alone would cost too much: each command there takes
//! most of a second. Of some probes a few cheap sources lead: only they are read often, and what they said the last time
//! of the others stands, with its own time, until one that leads says something else or the slow pace has come round. A
//! change in one probe also brings on those whose values hang on it.

use std::time::Duration;

use crate::fabric::{Observation, Outcome};
use crate::probe::{Probe, Source};

/// What is particular about one probe.
#[derive(Debug)]
struct Rhythm {
    probe: &'static str,
    /// The sources that lead; none: the probe is read whole.
    leading: &'static [&'static str],
    /// Its period in seconds, where that is not the one of its pace.
    every: Option<u64>,
    /// The probes to read when this one says something else.
    then: &'static [&'static str],
}

/// The period of what presses, in seconds. On a host whose commands take long nothing comes round as often: what is
/// latest by its own period comes first, so there only the ratio of the periods counts.
pub const PRESSING: u64 = 15;

/// The period of all sources of a probe of which some lead: what else there is seldom changes without them.
const WHOLE: Duration = Duration::from_secs(450);

const fn leading(probe: &'static str, leading: &'static [&'static str], then: &'static [&'static str]) -> Rhythm {
    Rhythm { probe, leading, every: Some(PRESSING), then }
}

const fn every(probe: &'static str, seconds: u64) -> Rhythm {
    Rhythm { probe, leading: &[], every: Some(seconds), then: &[] }
}

const RHYTHMS: &[Rhythm] = &[
    leading("esxi.rdma", &["esxi.rdma-devices"], &["esxi.nics", "esxi.dcb"]),
    leading("esxi.nics", &["esxi.nic-list"], &["esxi.rdma", "esxi.dcb", "esxi.net-dvs", "esxi.vswitches"]),
    leading("esxi.vms", &["esxi.vm-processes"], &["esxi.vm-config", "esxi.vmx", "esxi.net-dvs"]),
    leading("esxi.advanced-settings", &["esxi.pvrdma-vmknic"], &[]),
    leading("esxi.pci", &["esxi.pci-passthrough", "esxi.pci-kernel-settings"], &["esxi.rdma", "esxi.nics"]),
    every("esxi.dcb", PRESSING),
    every("esxi.firewall", PRESSING),
    every("esxi.net-dvs", PRESSING),
    every("esxi.vmkernel-log", PRESSING),
    // Counters move all the time, and are many commands.
    every("esxi.rdma-statistics", 60),
    every("esxi.nic-private-statistics", 60),
    every("esxi.nic-statistics", 120),
    // The ports of switches are seen by `net-dvs` at little cost.
    every("esxi.vswitches", 300),
    every("esxi.vmknics", 300),
];

fn of(probe: &str) -> Option<&'static Rhythm> {
    RHYTHMS.iter().find(|rhythm| rhythm.probe == probe)
}

/// The period of the leading sources, or of the whole probe where none leads.
pub fn period(probe: &Probe) -> Duration {
    Duration::from_secs(of(probe.name).and_then(|rhythm| rhythm.every).unwrap_or(probe.pace.seconds()))
}

/// The period of all sources together.
pub fn period_of_all(probe: &Probe) -> Duration {
    if has_leading(probe) { WHOLE } else { period(probe) }
}

/// True for a probe of which some sources lead.
pub fn has_leading(probe: &Probe) -> bool {
    of(probe.name).is_some_and(|rhythm| !rhythm.leading.is_empty())
}

/// True for a source that is read each time.
pub fn is_leading(probe: &Probe, source: &Source) -> bool {
    of(probe.name).is_none_or(|rhythm| rhythm.leading.is_empty() || rhythm.leading.contains(&source.name))
}

/// The probes whose values hang on those of this one.
pub fn hang_on(probe: &Probe) -> &'static [&'static str] {
    of(probe.name).map_or(&[], |rhythm| rhythm.then)
}

/// True if what leads says something else than before; `before` and `now` stand in the order of the probe's sources.
pub fn says_something_else<'a>(
    probe: &Probe,
    before: impl IntoIterator<Item = &'a Observation>,
    now: impl IntoIterator<Item = &'a Observation>,
) -> bool {
    let said = |observation: &'a Observation| (&observation.outcome, &observation.stdout, &observation.stderr);
    probe
        .sources
        .iter()
        .zip(before.into_iter().zip(now))
        .filter(|(source, _)| is_leading(probe, source))
        .any(|(_, (before, now))| said(before) != said(now))
}

/// True if what was read may stand for a while: a command that did not end may do better the next time.
pub fn may_stand<'a>(observations: impl IntoIterator<Item = &'a Observation>) -> bool {
    observations.into_iter().all(|observation| matches!(observation.outcome, Outcome::Exit(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::esxi::PROBES;

    #[test]
    fn every_name_is_that_of_a_probe_or_of_its_source() {
        let probe = |name: &str| PROBES.iter().find(|probe| probe.name == name);
        for rhythm in RHYTHMS {
            let own = probe(rhythm.probe).expect("a probe");
            for name in rhythm.leading {
                assert!(own.sources.iter().any(|source| source.name == *name), "{name}");
            }
            assert!(rhythm.leading.len() < own.sources.len(), "something follows: {}", rhythm.probe);
            assert_eq!(has_leading(own), !rhythm.leading.is_empty());
            assert!(rhythm.leading.is_empty() || period(own) < period_of_all(own), "{}", rhythm.probe);
            assert!(rhythm.then.iter().all(|name| *name != rhythm.probe && probe(name).is_some()), "{rhythm:?}");
        }
    }

    #[test]
    fn only_another_answer_of_what_leads_is_news() {
        let rdma = PROBES.iter().find(|probe| probe.name == "esxi.rdma").expect("there");
        let all = |texts: [&str; 3]| texts.map(|text| Observation::of_text("t", text));
        let before = all(["devices", "vmknics", "protocols"]);
        let is_news = |now: [&str; 3]| says_something_else(rdma, &before, &all(now));
        assert!(!is_news(["devices", "vmknics", "protocols"]));
        assert!(!is_news(["devices", "vmknics", "other"]));
        assert!(!is_news(["devices", "other", "protocols"]));
        assert!(is_news(["other", "vmknics", "protocols"]));
        let mut failed = all(["devices", "vmknics", "protocols"]);
        failed[0].outcome = Outcome::Exit(1);
        assert!(says_something_else(rdma, &before, &failed), "so is another end");
        assert!(may_stand(&failed));
        failed[2].outcome = Outcome::TimedOut;
        assert!(!may_stand(&failed));
    }
}
