//! The demo data centre: machines that exist only here, behind a real SSH server on this machine's own loopback. It
//! executes nothing: a machine answers reads of files and runs of commands from one state, rendered by templates that
//! are traced to captures of real machines.

pub mod guest;
pub mod machine;
