//! The panels, one file each, and the fabric tree beside them.

pub mod events;
mod heading;
pub mod live;
pub mod rows;
pub mod tree;
mod wizard;
