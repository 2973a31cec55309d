//! What is read on an ESXi host.

mod mask;
mod vim_dump;

use super::Probe;
pub use mask::masked;

/// All probes of an ESXi host.
pub const PROBES: &[Probe] = &[];
