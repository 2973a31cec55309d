//! Checks of physical switches.

mod ports;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[];
