//! What is read on an ESXi host.

mod mask;

use super::Probe;
pub use mask::masked;

/// All probes of an ESXi host.
pub const PROBES: &[Probe] = &[];
