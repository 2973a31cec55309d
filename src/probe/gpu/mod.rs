//! What is read of NVIDIA GPUs from outside of a guest: by `nvidia-smi` and, where it is there, by DCGM. States come with the
//! batches, what moves from second to second by a stream ([`stream`]). Nothing is stated of a guest
//! without the driver and its tool.

pub mod blocks;
pub mod cells;
pub mod layout;
mod mig;
mod nvlink;
pub mod processes;
pub mod states;
pub mod stream;
mod topology;

pub use cells::{address, clock_reasons};
