//! Checks of Linux guests: devices, ports, addresses, limits, messages.

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[];
