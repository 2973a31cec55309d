//! What a check says of one subject, with the facts that show it.

use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::remedy::Cure;
use crate::fabric::{Attribute, EntityId, SourceId};

/// One fact that shows something. The raw line stands behind it: the reading knows its observation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exhibit {
    /// Of what.
    pub about: EntityId,
    /// Which property; `None` where the thing itself is the evidence (a device that should not be there, a list in which
    /// something is missing), or where the line of a message is.
    pub attribute: Option<Attribute>,
    /// What it says, a few words: `Net.PVRDMAVmknic is empty`.
    pub says: String,
    /// The probe whose word it is, where another probe says something else; `None` for the word to believe.
    pub by: Option<SourceId>,
    /// So many lines below that of the reading, where this is a text of several lines.
    pub below: u32,
}

impl Exhibit {
    /// A property of a thing that shows something.
    pub fn of(about: &EntityId, attribute: Attribute, says: impl Into<String>) -> Self {
        Self { about: about.clone(), attribute: Some(attribute), says: says.into(), by: None, below: 0 }
    }

    /// What one probe says of a property of which others say something else.
    pub fn of_probe(about: &EntityId, attribute: Attribute, probe: &SourceId, says: impl Into<String>) -> Self {
        Self { by: Some(probe.clone()), ..Self::of(about, attribute, says) }
    }

    /// A thing that is there, or a target on which something is not.
    pub fn thing(about: &EntityId, says: impl Into<String>) -> Self {
        Self { about: about.clone(), attribute: None, says: says.into(), by: None, below: 0 }
    }

    /// The same, so many lines below that of the reading.
    #[must_use]
    pub fn below(mut self, lines: u32) -> Self {
        self.below = lines;
        self
    }
}

/// Why a check could not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// A target that knows it was not reached.
    Unreached,
    /// What reads it failed.
    ProbeFailed,
    /// No target of the inventory can know it, this login may not see it, or no driver publishes it.
    NotObservable,
}

/// What a check says of one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// What it is about.
    pub subject: EntityId,
    /// How it came out.
    pub status: Status,
    /// What is the matter, one sentence.
    pub title: String,
    /// Why, and what follows from it.
    pub cause: String,
    /// How sure that is.
    pub confidence: Confidence,
    /// What shows it. Never empty for a failure or a warning.
    pub evidence: Vec<Exhibit>,
    /// What speaks against it.
    pub against: Vec<Exhibit>,
    /// What would settle it; never empty where the status is unknown.
    pub decide: String,
    /// Why it could not be told, where the status is unknown.
    pub lack: Option<Lack>,
    /// What helps.
    pub cures: Vec<Cure>,
    /// Things on whose way the subject stands: a symptom seen on one of them can come from here.
    pub reaches: Vec<EntityId>,
}

impl Judged {
    fn new(subject: &EntityId, status: Status, confidence: Confidence, title: String, cause: String) -> Self {
        Self {
            subject: subject.clone(),
            status,
            title,
            cause,
            confidence,
            evidence: Vec::new(),
            against: Vec::new(),
            decide: String::new(),
            lack: None,
            cures: Vec::new(),
            reaches: Vec::new(),
        }
    }

    /// As it should be.
    pub fn pass(subject: &EntityId, title: impl Into<String>) -> Self {
        Self::new(subject, Status::Pass, Confidence::Proved, title.into(), String::new())
    }

    /// Worth knowing, and nothing is wrong.
    pub fn info(subject: &EntityId, title: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::new(subject, Status::Info, Confidence::Proved, title.into(), cause.into())
    }

    /// Works, but not as it should: what is the matter, and why it matters.
    pub fn warn(
        subject: &EntityId,
        confidence: Confidence,
        title: impl Into<String>,
        cause: impl Into<String>,
    ) -> Self {
        Self::new(subject, Status::Warn, confidence, title.into(), cause.into())
    }

    /// Does not work: what is the matter, and why.
    pub fn fail(
        subject: &EntityId,
        confidence: Confidence,
        title: impl Into<String>,
        cause: impl Into<String>,
    ) -> Self {
        Self::new(subject, Status::Fail, confidence, title.into(), cause.into())
    }

    /// Cannot be told: what is missing, why, and what would decide it.
    pub fn unknown(subject: &EntityId, lack: Lack, title: impl Into<String>, decide: impl Into<String>) -> Self {
        let mut judged = Self::new(subject, Status::Unknown, Confidence::Possible, title.into(), String::new());
        judged.lack = Some(lack);
        judged.decide = decide.into();
        judged
    }

    /// With a property that shows it.
    #[must_use]
    pub fn shown(mut self, about: &EntityId, attribute: Attribute, says: impl Into<String>) -> Self {
        self.evidence.push(Exhibit::of(about, attribute, says));
        self
    }

    /// With several items that show it.
    #[must_use]
    pub fn shown_by(mut self, exhibits: impl IntoIterator<Item = Exhibit>) -> Self {
        self.evidence.extend(exhibits);
        self
    }

    /// With what speaks against it.
    #[must_use]
    pub fn but(mut self, exhibit: Exhibit) -> Self {
        self.against.push(exhibit);
        self
    }

    /// With what would settle it.
    #[must_use]
    pub fn decided_by(mut self, decide: impl Into<String>) -> Self {
        self.decide = decide.into();
        self
    }

    /// With something that helps.
    #[must_use]
    pub fn cured_by(mut self, cure: Cure) -> Self {
        self.cures.push(cure);
        self
    }

    /// With something else that helps, if there is anything.
    #[must_use]
    pub fn cured_by_some(mut self, cure: Option<Cure>) -> Self {
        self.cures.extend(cure);
        self
    }

    /// On the way of these things: a symptom seen on one of them can come from here.
    #[must_use]
    pub fn reaching(mut self, things: impl IntoIterator<Item = EntityId>) -> Self {
        self.reaches.extend(things);
        self
    }
}
