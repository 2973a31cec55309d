//! A fact: one attribute of one entity as it was read. What one read of a probe gave is a [`Report`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::attribute::Attribute;
use super::entity::{Entity, TargetId};
use super::observation::{Observation, SourceId};
use super::reading::Reading;
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
