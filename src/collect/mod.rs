//! Collecting: one supervisor a target, and the transports it reads through.

pub mod transport;
