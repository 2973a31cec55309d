//! All rules.

use super::Rule;

/// All rules, in the order of the catalogue.
pub static RULES: &[Rule] = &[];
