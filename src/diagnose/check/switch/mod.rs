//! Checks of physical switches.

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[];
