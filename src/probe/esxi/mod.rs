//! What is read on an ESXi host.

pub mod address;
pub mod block;
pub mod each;
mod lines;
mod mask;
pub mod table;

use super::Probe;
pub use mask::masked;

/// All probes of an ESXi host.
pub const PROBES: &[Probe] = &[];
