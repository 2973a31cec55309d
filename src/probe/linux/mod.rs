//! What is read on a Linux guest.

pub mod files;

use super::Probe;

/// All probes of a Linux guest.
pub const PROBES: &[Probe] = &[];
