//! Checks of the console's own sight: what it could read, and by which clock.

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[];
