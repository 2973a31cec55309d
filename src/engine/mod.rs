//! Runs what the pure floors only describe: pollers, effects and the clock; reads configuration, asks OpenSSH, writes
//! files. Used alike by screen, command line and tests.

mod again;
pub mod bench;
mod change;
pub mod examined;
pub mod hook;
mod look;
pub mod offline;
pub mod once;
pub mod openssh;
pub mod plan;
pub mod program;
pub mod questions;
pub mod rules;
pub mod run;
pub mod settings;
pub mod targets;
pub mod trial;
pub mod vmx_file;

pub use again::CLOCK;
pub use change::{audit, audit_path, state_folder};
