//! The verdict on one GPU: what limits it, what comes next, what shows it, and what would disprove it.

use std::collections::BTreeMap;

use super::factor::Factor;
use crate::diagnose::finding::Confidence;
use crate::fabric::{Attribute, EntityId, Measure, TargetId, Timestamp};

/// One thing that shows something, with the value and where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Of what.
    pub about: EntityId,
    /// The series that holds the value, if it is measured.
    pub measure: Option<Measure>,
    /// The property that says it, if it was read as a state.
    pub attribute: Option<Attribute>,
    /// What it says, a few words with the value.
    pub says: String,
}

/// Why a factor cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// There are fewer rows than it takes.
    TooFew,
    /// What would tell it is not read now: no stream runs.
    NotRead,
    /// It is read, and does not say it: what is missing, in words.
    Missing(String),
}

/// How one factor stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds; `limits` if the GPU shows it: it works less than it could.
    Holds {
        /// Whether the GPU shows it.
        limits: bool,
    },
    /// It does not hold.
    Clear,
    /// Nothing tells.
    Unseen(Lack),
}

/// What is said of one factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessed {
    /// How it stands.
    pub outcome: Outcome,
    /// What is the matter, a few words with the numbers: `23.4 of 28.8 GB/s to the GPU`.
    pub says: String,
    /// How sure that is.
    pub confidence: Confidence,
    /// True for what is broken, and not just slow.
    pub is_grave: bool,
    /// What shows it.
    pub evidence: Vec<Shown>,
    /// What speaks against it.
    pub against: Vec<Shown>,
}

impl Assessed {
    pub(super) fn unseen(lack: Lack) -> Self {
        let says = match &lack {
            Lack::TooFew => "too few samples".to_owned(),
            Lack::NotRead => "not read now".to_owned(),
            Lack::Missing(what) => what.clone(),
        };
        Self { outcome: Outcome::Unseen(lack), ..Self::clear(says) }
    }

    pub(super) fn clear(says: String) -> Self {
        Self {
            outcome: Outcome::Clear,
            says,
            confidence: Confidence::Likely,
            is_grave: false,
            evidence: Vec::new(),
            against: Vec::new(),
        }
    }

    pub(super) fn holds(limits: bool, confidence: Confidence, says: String) -> Self {
        Self { outcome: Outcome::Holds { limits }, confidence, ..Self::clear(says) }
    }

    pub(super) fn grave(mut self, is_grave: bool) -> Self {
        self.is_grave = is_grave;
        self
    }

    pub(super) fn shown(mut self, about: &EntityId, measure: Measure, says: String) -> Self {
        self.evidence.push(Shown { about: about.clone(), measure: Some(measure), attribute: None, says });
        self
    }

    pub(super) fn read(mut self, about: &EntityId, attribute: Attribute, says: String) -> Self {
        self.evidence.push(Shown { about: about.clone(), measure: None, attribute: Some(attribute), says });
        self
    }

    pub(super) fn but(mut self, about: &EntityId, measure: Measure, says: String) -> Self {
        self.against.push(Shown { about: about.clone(), measure: Some(measure), attribute: None, says });
        self
    }

    /// True if it holds.
    pub fn is_held(&self) -> bool {
        matches!(self.outcome, Outcome::Holds { .. })
    }
}

/// How a GPU stands as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// This limits it, or is wrong around it.
    Limited(Factor),
    /// It works, and nothing limits it but itself.
    Healthy,
    /// It has nothing to do.
    Idle,
    /// Too little was measured so far.
    TooFewSamples,
    /// Its work is not told at all (MIG without DCGM).
    Unclear,
}

impl Standing {
    /// As it is shown: `PCIe-bound`, `healthy`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limited(factor) => factor.name(),
            Self::Healthy => "healthy",
            Self::Idle => "idle",
            Self::TooFewSamples => "too few samples",
            Self::Unclear => "not observable",
        }
    }
}

/// The verdict on one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Which.
    pub gpu: EntityId,
    /// The VM around it, where the join knows it.
    pub vm: Option<EntityId>,
    /// When its last row was measured.
    pub at: Timestamp,
    /// How it stands.
    pub standing: Standing,
    /// What comes next: the next factor that holds.
    pub runner_up: Option<Factor>,
    /// One sentence with the numbers.
    pub says: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// What would disprove it.
    pub disproved_by: String,
    /// The weakness of the rule by which it was told, if it is not the default one.
    pub weakness: Option<&'static str>,
    /// What is said of each factor.
    pub factors: BTreeMap<Factor, Assessed>,
}

impl Verdict {
    /// The factor that limits it.
    pub fn factor(&self) -> Option<Factor> {
        match self.standing {
            Standing::Limited(factor) => Some(factor),
            _ => None,
        }
    }

    /// What shows the verdict.
    pub fn evidence(&self) -> &[Shown] {
        self.factor().and_then(|factor| self.factors.get(&factor)).map_or(&[], |assessed| &assessed.evidence)
    }

    /// What speaks against it.
    pub fn against(&self) -> &[Shown] {
        self.factor().and_then(|factor| self.factors.get(&factor)).map_or(&[], |assessed| &assessed.against)
    }

    /// The host around it.
    pub fn host(&self) -> Option<&TargetId> {
        self.vm.as_ref().map(|vm| &vm.target)
    }
}
