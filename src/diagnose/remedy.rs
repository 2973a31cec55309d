//! What helps: exact commands for one target with what they can break, how the state before is restored, and which check
//! shows that it helped. A remedy is data; who applies it asks first.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::finding::Remedy;
use super::join::Basis;
use crate::fabric::TargetId;
use crate::probe::dialect::posix::quote;

/// What applying a remedy can break, from nothing to a whole host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Risk {
    /// Nothing that runs notices it.
    None,
    /// Connections over RDMA break or stand still.
    DisruptsRdma,
    /// A service starts anew.
    RestartsService,
    /// The guest must be started anew.
    RebootsGuest,
    /// The host must be started anew, with all VMs on it.
    RebootsHost,
}

impl Risk {
    /// In words, as documents and confirmations print it.
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::DisruptsRdma => "disrupts RDMA",
            Self::RestartsService => "restarts a service",
            Self::RebootsGuest => "reboots a guest",
            Self::RebootsHost => "reboots a host",
        }
    }
}

/// One step of a remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A command for a shell: program and arguments, unquoted. It is quoted for the target's shell when it is shown or run.
    Run(Vec<String>),
    /// One line of a switch's configuration mode, made of a fixed text and of names that were checked.
    Configure(String),
    /// What only a person can do: a path through the user interface of vCenter, a cable, a firmware menu.
    ByHand(String),
}

impl Step {
    /// A command from its words.
    pub fn run(words: &[&str]) -> Self {
        Self::Run(words.iter().map(|word| (*word).to_owned()).collect())
    }

    /// As a person would type it, or do it.
    pub fn shown(&self) -> String {
        match self {
            Self::Run(words) => words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "),
            Self::Configure(line) => line.clone(),
            Self::ByHand(what) => format!("by hand: {what}"),
        }
    }
}

/// Something that helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cure {
    /// What it does, one sentence without a full stop.
    pub title: String,
    /// Where its commands run; `None` where all of it is done by hand.
    pub on: Option<TargetId>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What it can break.
    pub risk: Risk,
    /// The way back to the state of now; empty where nothing was changed that could be restored.
    pub undo: Vec<Step>,
    /// The state that it was made for: where one of these reads something else now, it is not applied.
    pub rests_on: Vec<Basis>,
    /// Ids of the checks that show that it helped.
    pub verify: Vec<Cow<'static, str>>,
    /// What else must be known: that a setting is lost at the next start, that the file must be kept.
    pub note: String,
}

impl Cure {
    /// A remedy on a target: these commands, this risk.
    pub fn on(target: &TargetId, title: &str, risk: Risk, steps: Vec<Step>) -> Self {
        Self { on: Some(target.clone()), risk, ..Self::by_hand(title, steps) }
    }

    /// A remedy that only a person can apply.
    pub fn by_hand(title: &str, steps: Vec<Step>) -> Self {
        Self {
            title: title.to_owned(),
            on: None,
            steps,
            risk: Risk::None,
            undo: Vec::new(),
            rests_on: Vec::new(),
            verify: Vec::new(),
            note: String::new(),
        }
    }

    /// With another risk.
    #[must_use]
    pub fn risking(mut self, risk: Risk) -> Self {
        self.risk = risk;
        self
    }

    /// With the way back, and the state that it leads back to.
    #[must_use]
    pub fn undone_by(mut self, undo: Vec<Step>, rests_on: Vec<Basis>) -> Self {
        self.undo = undo;
        self.rests_on = rests_on;
        self
    }

    /// With the checks that show that it helped.
    #[must_use]
    pub fn verified_by(mut self, checks: &[&'static str]) -> Self {
        self.verify = checks.iter().copied().map(Cow::Borrowed).collect();
        self
    }

    /// With what else must be known.
    #[must_use]
    pub fn noting(mut self, note: &str) -> Self {
        note.clone_into(&mut self.note);
        self
    }

    /// As documents print it.
    pub fn document(&self) -> Remedy {
        let shown = |steps: &[Step]| steps.iter().map(Step::shown).collect::<Vec<_>>();
        let mut title = self.title.clone();
        if !self.note.is_empty() {
            title = format!("{title} ({})", self.note);
        }
        Remedy {
            title,
            commands: shown(&self.steps),
            risk: self.risk.words().to_owned(),
            undo: shown(&self.undo).join("; "),
            verify: self.verify.iter().map(|check| format!("check {check}")).collect::<Vec<_>>().join(", "),
        }
    }
}
