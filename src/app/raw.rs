//! Raw output that evidence is shown from: the last observation of each source, the previous one that differed, and
//! those that events cite.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fabric::{Observation, ObservationRef, Outcome, SourceId, TargetId};

/// How many cited observations are kept beside the newest ones.
const KEPT_CITED: usize = 200;

/// What is kept of one source.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Kept {
    last: Option<Arc<Observation>>,
    previous_different: Option<Arc<Observation>>,
}

/// Raw output that is still at hand.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RawStore {
    sources: BTreeMap<(TargetId, SourceId), Kept>,
    cited: VecDeque<Arc<Observation>>,
}

impl RawStore {
    /// Keeps an observation as the last one of its source.
    pub fn keep(&mut self, observation: &Arc<Observation>) {
        let kept = self.sources.entry((observation.target.clone(), observation.source.clone())).or_default();
        if let Some(last) = kept.last.replace(observation.clone())
            && (last.stdout != observation.stdout || last.stderr != observation.stderr)
        {
            kept.previous_different = Some(last);
        }
    }

    /// Keeps the observation that an event cites, as long as there is room.
    pub fn cite(&mut self, reference: &ObservationRef) {
        if self.cited.iter().any(|observation| observation.reference() == *reference) {
            return;
        }
        if let Some(observation) = self.get(reference).cloned() {
            if self.cited.len() == KEPT_CITED {
                self.cited.pop_front();
            }
            self.cited.push_back(observation);
        }
    }

    /// Forgets the newest output of a target; what events cite is kept.
    pub fn forget(&mut self, target: &TargetId) {
        self.sources.retain(|(other, _), _| other != target);
    }

    /// The observation, if its text is still at hand.
    pub fn get(&self, reference: &ObservationRef) -> Option<&Arc<Observation>> {
        let key = (reference.target.clone(), reference.source.clone());
        let kept = self.sources.get(&key);
        [kept.and_then(|kept| kept.last.as_ref()), kept.and_then(|kept| kept.previous_different.as_ref())]
            .into_iter()
            .flatten()
            .chain(&self.cited)
            .find(|observation| observation.reference() == *reference)
    }

    /// The newest observation of a source that ended well, if it is still at hand.
    pub fn newest_good(&self, target: &TargetId, source: &SourceId) -> Option<&Arc<Observation>> {
        let kept = self.sources.get(&(target.clone(), source.clone()))?;
        let mut both = [&kept.last, &kept.previous_different].into_iter().flatten();
        both.find(|observation| observation.outcome == Outcome::Exit(0))
    }

    /// The newest observation of every source of every target.
    pub fn all_newest(&self) -> impl Iterator<Item = &Arc<Observation>> {
        self.sources.values().filter_map(|kept| kept.last.as_ref())
    }

    /// The newest observation of a source.
    pub fn newest(&self, target: &TargetId, source: &SourceId) -> Option<&Arc<Observation>> {
        self.sources.get(&(target.clone(), source.clone()))?.last.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(sequence: u64, text: &str) -> Arc<Observation> {
        let mut observation = Observation::of_text("linux.test", text);
        observation.sequence = sequence;
        Arc::new(observation)
    }

    #[test]
    fn the_last_the_previous_different_and_the_cited_are_kept() {
        let mut store = RawStore::default();
        let all: Vec<_> = [(1, "a"), (2, "b"), (3, "b"), (4, "c"), (5, "c")]
            .into_iter()
            .map(|(sequence, text)| observation(sequence, text))
            .collect();
        for observation in &all {
            store.keep(observation);
            if observation.sequence == 2 {
                store.cite(&observation.reference());
            }
        }
        let at_hand = |sequence: usize| store.get(&all[sequence - 1].reference()).is_some();
        assert!(!at_hand(1));
        assert!(at_hand(2), "cited");
        assert!(at_hand(3), "the previous one that differed");
        assert!(!at_hand(4));
        assert!(at_hand(5), "the last");
    }
}
