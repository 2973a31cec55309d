//! What is read on a Linux guest.

use super::Probe;

/// All probes of a Linux guest.
pub const PROBES: &[Probe] = &[];
