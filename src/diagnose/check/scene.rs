//! What a check sees: what is known of every target, how it was joined, which targets were reached, and which counters
//! moved. Nothing else: no file, no clock, and nothing that a lab knows.

use std::collections::BTreeMap;
use std::time::Duration;

use super::kept::Kept;
use super::thresholds::Thresholds;
use crate::config::Declared;
use crate::diagnose::cause::Found;
use crate::diagnose::join::Joined;
use crate::diagnose::limit::Limits;
use crate::fabric::observation::is_permission_error;
use crate::fabric::{EntityId, Fabric, Observation, Outcome, SourceId, TargetId, Text, Timestamp};

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineKind {
    /// A Linux system.
    Guest,
    /// An ESXi host.
    Host,
    /// A switch.
    Switch,
}

/// Whether a target answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It was read to the end.
    Yes,
    /// Some of it was read; why not all.
    Partly(Text),
    /// Nothing came from it; why.
    No(Text),
}

/// What came of one source of a probe when it was read last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It answered.
    Read,
    /// Its program is not installed there.
    NotInstalled,
    /// This login may not read it, in its own words.
    NotPermitted(Text),
    /// It failed, in its own words.
    Failed(Text),
}

/// What came of each source of a target, by its name: `linux.rdma-link`. What was never asked is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers(pub BTreeMap<SourceId, Answer>);

impl Answers {
    /// Takes in what a read of a source gave.
    pub fn take(&mut self, observation: &Observation) {
        // A list of files of which some are not there, and a query for packages of which some are not installed, end with
        // a status all the same. An esxcli that fails says why on standard output.
        let is_esxcli = observation.source.as_str().starts_with("esxi.");
        let nothing_there = |line: &str| {
            ["No such file or directory", "Invalid argument", "no packages found"]
                .iter()
                .any(|words| line.contains(words))
        };
        // A switch has no exit status for a command that it does not know.
        let refused = || {
            let is_of_switch = crate::probe::switch::source(observation.source.as_str()).is_some();
            crate::probe::switch::refusal(&observation.stdout).filter(|_| is_of_switch)
        };
        let answer = match observation.outcome {
            Outcome::Exit(0) => refused().map_or(Answer::Read, |said| Answer::Failed(Text::new(said))),
            Outcome::Exit(127) => Answer::NotInstalled,
            Outcome::Exit(_)
                if !is_esxcli
                    && (!observation.stdout.trim().is_empty() || observation.stderr.lines().all(nothing_there)) =>
            {
                Answer::Read
            }
            Outcome::Exit(status) => {
                let mut lines = observation.stderr.lines().chain(observation.stdout.lines()).map(str::trim);
                let said = lines.find(|line| !line.is_empty()).map(str::to_owned);
                let silent = || format!("ended with status {status} and said nothing");
                let said = Text::new(&said.unwrap_or_else(silent));
                if is_permission_error(&observation.stderr) { Answer::NotPermitted(said) } else { Answer::Failed(said) }
            }
            Outcome::TimedOut => Answer::Failed(Text::new("no answer before its deadline")),
            Outcome::Cut => Answer::Failed(Text::new("the answer was cut off before its end")),
        };
        self.0.insert(observation.source.clone(), answer);
    }

    /// What came of a source; `None` if it was never asked.
    pub fn of(&self, source: &str) -> Option<&Answer> {
        self.0.get(&SourceId::new(source))
    }
}

/// One target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// What it is.
    pub kind: MachineKind,
    /// Whether it answered.
    pub reached: Reached,
    /// What came of each source.
    pub answers: Answers,
    /// By how many milliseconds its clock is ahead of ours, and by how much that may be wrong, where it was measured.
    pub clock: Option<(i64, u64)>,
}

/// By how much a counter moved between two reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// By this much; resets and wraps are taken out.
    pub by: u64,
    /// In this time.
    pub over: Duration,
}

impl Moved {
    /// How much a second; `None` if no time passed.
    pub fn per_second(self) -> Option<f64> {
        let seconds = self.over.as_secs_f64();
        (seconds > 0.0).then(|| self.by as f64 / seconds)
    }
}

/// Counters that were read twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Movements(pub BTreeMap<EntityId, Moved>);

impl Movements {
    /// How a counter moved; `None` if it was not read twice.
    pub fn of(&self, counter: &EntityId) -> Option<Moved> {
        self.0.get(counter).copied()
    }
}

/// What a check sees.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// What is known.
    pub fabric: &'a Fabric,
    /// What belongs together.
    pub joined: &'a Joined,
    /// The targets.
    pub machines: &'a BTreeMap<TargetId, Machine>,
    /// Guests that are to talk to each other; each pair once.
    pub pairs: &'a [(TargetId, TargetId)],
    /// Counters that were read twice.
    pub movements: &'a Movements,
    /// The numbers that a site may set.
    pub thresholds: &'a Thresholds,
    /// What only vCenter knows, as the administrator declared it.
    pub declared: &'a Declared,
    /// What limits each GPU, where streams run that tell it.
    pub limits: &'a Limits,
    /// When it is.
    pub now: Timestamp,
    /// What the checks say that judge whether hosts qualify, where that is known already: several others ask for it.
    pub judged: Option<&'a [Found]>,
    /// What several checks ask for, where all of them look at this scene one after the other.
    pub kept: Option<&'a Kept>,
}
