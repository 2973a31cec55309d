//! What can be selected, by names that stay when rows come and go.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::fabric::{Entity, EntityId, TargetId};

/// What a row of the tree stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Node {
    /// A target as a whole.
    Target(TargetId),
    /// A thing on a target.
    Entity(EntityId),
}

impl Node {
    /// The target it belongs to.
    pub fn target(&self) -> &TargetId {
        match self {
            Self::Target(target) => target,
            Self::Entity(id) => &id.target,
        }
    }
}

/// Names a row, so that a selection stays where it is when rows come and go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RowKey {
    /// A heading.
    Section(Cow<'static, str>),
    /// A row about one entity; the word tells rows of the same entity apart.
    Entity(Entity, Cow<'static, str>),
}
