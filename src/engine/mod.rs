//! Runs what the pure floors only describe: reads configuration, asks OpenSSH, writes files.

pub mod openssh;
pub mod program;
pub mod settings;
