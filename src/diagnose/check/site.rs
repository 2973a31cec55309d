//! What the configuration says for the checks: numbers of their rules, what only vCenter knows, and which cables lead where.

use serde::{Deserialize, Serialize};

use super::thresholds::Thresholds;
use crate::config::{Declared, GpuRule};
use crate::diagnose::join::NamedCable;
use crate::fabric::Text;

/// A finding that the site knows of and accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedFinding {
    /// Id of the check.
    pub check: Text,
    /// The target on which it is accepted; `None` for all.
    pub target: Option<Text>,
    /// The last day on which it holds, in UTC; `None` for ever.
    pub expires: Option<jiff::civil::Date>,
}

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
    /// What it accepts.
    pub accepted: Vec<AcceptedFinding>,
    /// By which rule it is told what limits a GPU.
    pub gpu_rule: GpuRule,
}
