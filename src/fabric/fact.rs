//! A fact: one attribute of one entity as it was read. What one read of a probe gave is a [`Report`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::attribute::Attribute;
use super::entity::{Entity, TargetId};
use super::observation::{Observation, Outcome, SourceId, is_permission_error};
use super::reading::{Reading, State};
use super::text::Text;
use super::value::Value;

/// One attribute of one entity as it was read. The target is that of the reading's source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is about.
    pub entity: Entity,
    /// Which of its properties.
    pub attribute: Attribute,
    /// What was read, when and where.
    pub reading: Reading<Value>,
}

/// All that one run of one probe on one target gave. It replaces everything the same probe said of that target before,
/// so what it no longer mentions is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Where the probe ran.
    pub target: TargetId,
    /// Name of the probe; facts of one probe are replaced together.
    pub probe: SourceId,
    /// What it read, raw.
    pub observations: Vec<Arc<Observation>>,
    /// What its parser made of that.
    pub facts: Vec<Fact>,
}

impl Observation {
    /// One fact read from `line` (from 1; 0 for none in particular) of this observation.
    pub fn fact(&self, entity: Entity, attribute: Attribute, state: State<Value>, line: u32) -> Fact {
        Fact { entity, attribute, reading: Reading { state, at: self.at, source: self.reference(), line } }
    }

    /// A fact whose value is known.
    pub fn known(&self, entity: Entity, attribute: Attribute, value: impl Into<Value>, line: u32) -> Fact {
        self.fact(entity, attribute, State::Known(value.into()), line)
    }

    /// Why the command as a whole gave nothing to parse, if that is so: not installed, refused, timed out, cut off.
    /// `None` when there is output to read. `adds` says what more privilege would show.
    pub fn trouble(&self, program: &str, adds: &str) -> Option<State<Value>> {
        match self.outcome {
            Outcome::TimedOut => return Some(State::Failed(Text::new("no answer before its deadline"))),
            Outcome::Cut => {
                return Some(State::Failed(Text::new("the answer was cut off before its end")));
            }
            Outcome::Exit(127) => return Some(State::NotInstalled(Text::new(program))),
            Outcome::Exit(_) => {}
        }
        if !self.stdout.trim().is_empty() {
            return None;
        }
        if is_permission_error(&self.stderr) {
            return Some(State::NeedsPrivilege(Text::new(adds)));
        }
        match self.outcome {
            Outcome::Exit(0) => None,
            Outcome::Exit(status) => {
                let first = self.stderr.lines().map(str::trim).find(|line| !line.is_empty());
                Some(State::Failed(match first {
                    Some(line) => Text::new(line),
                    None => Text::new(&format!("{program} ended with status {status} and said nothing")),
                }))
            }
            Outcome::TimedOut | Outcome::Cut => None,
        }
    }
}
