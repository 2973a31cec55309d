//! Runs what the pure floors only describe: pollers, effects and the clock; used alike by screen, command line and tests.

pub mod once;
pub mod plan;
pub mod questions;
pub mod run;
