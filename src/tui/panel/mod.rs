//! The panels, one file each, and the fabric tree beside them.

pub mod events;
pub mod guest;
mod heading;
pub mod live;
pub mod tree;
