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
    /// Why there is no way back, where there is none.
    #[serde(default)]
    pub final_because: String,
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
            final_because: String::new(),
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

    /// Without a way back: why there is none, or none is needed. It may still rest on a state.
    #[must_use]
    pub fn without_undo(mut self, why: &str, rests_on: Vec<Basis>) -> Self {
        why.clone_into(&mut self.final_because);
        self.rests_on = rests_on;
        self
    }

    /// Why there is no way back, in words.
    pub fn no_undo(&self) -> &str {
        match self.final_because.as_str() {
            "" if self.on.is_none() => "what was done by hand is taken back by hand",
            "" => "not known",
            why => why,
        }
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
            undo: match self.undo.as_slice() {
                [] if self.final_because.is_empty() => String::new(),
                [] => format!("none: {}", self.final_because),
                undo => shown(undo).join("; "),
            },
            verify: self.verify.iter().map(|check| format!("check {check}")).collect::<Vec<_>>().join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever a target is called: a shell takes apart what is shown into the words that are meant.
        #[test]
        fn a_command_is_quoted_for_a_shell(words in prop::collection::vec("[^\\x00]{0,12}", 1..6)) {
            let shown = Step::Run(words.clone()).shown();
            prop_assert_eq!(shlex::split(&shown), Some(words));
        }
    }

    #[test]
    fn hostile_names_stay_one_word() {
        let step = Step::run(&["ip", "link", "set", "dev", "x; reboot", "$(id)", "a'b\"c", "`id`", "", "*"]);
        assert_eq!(step.shown(), r#"ip link set dev 'x; reboot' '$(id)' 'a'\''b"c' '`id`' '' '*'"#);
    }

    #[test]
    fn without_a_way_back_a_document_says_why() {
        let cure = Cure::by_hand("wait", vec![Step::ByHand("wait".to_owned())]);
        assert_eq!(cure.document().undo, "");
        assert_eq!(cure.without_undo("time passes", Vec::new()).document().undo, "none: time passes");
    }
}
