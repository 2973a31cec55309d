//! Checks of GPUs, as far as the guest's kernel and its PCI functions tell.

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[];
