//! What a check says of one subject, with the facts that show it.

use crate::diagnose::finding::{Confidence, Remedy, Status};
use crate::fabric::{Attribute, EntityId};

/// One fact that shows something. The raw line stands behind it: the reading knows its observation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exhibit {
    /// Of what.
    pub about: EntityId,
    /// Which property; `None` where the thing itself is the evidence (a log line, a device that is missing).
    pub attribute: Option<Attribute>,
    /// What it says, a few words: `Net.PVRDMAVmknic is empty`.
    pub says: String,
}

/// Why a check could not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// A target that knows it was not reached.
    Unreached,
    /// A probe that reads it failed.
    ProbeFailed,
    /// No target of the inventory can know it, or no driver publishes it.
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
    pub remedies: Vec<Remedy>,
    /// Things on whose way the subject stands: a symptom seen on one of them can come from here.
    pub reaches: Vec<EntityId>,
}
