//! What the configuration says for the checks: numbers of their rules, what only vCenter knows, and which cables lead where.

use serde::{Deserialize, Serialize};

use super::thresholds::Thresholds;
use crate::config::Declared;
use crate::diagnose::join::NamedCable;

/// What a site says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteSays {
    /// The numbers in the rules of checks that it set.
    pub thresholds: Thresholds,
    /// What only vCenter knows.
    pub declared: Declared,
    /// Cables that the inventory names.
    pub cables: Vec<NamedCable>,
}
