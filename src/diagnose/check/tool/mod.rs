//! Checks of the console's own sight: what it could read, and by which clock.

mod completeness;
mod counter_source;
mod joined;
mod privilege;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[&completeness::CHECK, &privilege::CHECK, &joined::CHECK, &counter_source::CHECK];
