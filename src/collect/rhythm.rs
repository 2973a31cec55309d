//! What the rhythm of a probe ([`crate::probe::Rhythm`]) means for its reads: only the sources that lead are read often,
//! and what the others said the last time stands, with its own time, until one that leads says something else or the slow
//! pace has come round. A change in one probe also brings on those whose values hang on it.

use std::time::Duration;

use crate::fabric::{Observation, Outcome};
use crate::probe::{Probe, Rhythm, Source};

/// The period of all sources of a probe of which some lead: what else there is seldom changes without them.
const WHOLE: Duration = Duration::from_mins(6);

/// The period of the leading sources, or of the whole probe where none leads.
pub fn period(probe: &Probe) -> Duration {
    Duration::from_secs(probe.rhythm.every.unwrap_or(probe.pace.seconds()))
}

/// The period of all sources together.
pub fn period_of_all(probe: &Probe) -> Duration {
    if has_leading(probe) { WHOLE } else { period(probe) }
}

/// True for a probe that presses.
pub fn presses(probe: &Probe) -> bool {
    period(probe) <= Duration::from_secs(Rhythm::PRESSES)
}

/// True for a probe of which some sources lead.
pub fn has_leading(probe: &Probe) -> bool {
    !probe.rhythm.leading.is_empty()
}

/// True for a source that is read each time.
pub fn is_leading(probe: &Probe, source: &Source) -> bool {
    !has_leading(probe) || probe.rhythm.leading.contains(&source.name)
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
        for own in PROBES {
            let Rhythm { leading, then, .. } = own.rhythm;
            for name in leading {
                assert!(own.sources.iter().any(|source| source.name == *name), "{name}");
            }
            assert!(leading.is_empty() || leading.len() < own.sources.len(), "something follows: {own:?}");
            assert!(leading.is_empty() || period(own) < period_of_all(own), "{own:?}");
            let is_probe = |name: &str| name != own.name && PROBES.iter().any(|probe| probe.name == name);
            assert!(then.iter().all(|name| is_probe(name)), "{then:?}");
        }
        let leading: Vec<&str> = PROBES.iter().filter(|probe| has_leading(probe)).map(|probe| probe.name).collect();
        assert_eq!(leading, ["esxi.pci", "esxi.rdma", "esxi.nics", "esxi.vms", "esxi.advanced-settings"]);
        assert_eq!(PROBES.iter().filter(|probe| presses(probe)).count(), 9);
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
