//! The demo data centre: machines that exist only here, behind a real SSH server on this machine's own loopback. It
//! executes nothing: a machine answers reads of files and runs of commands from one state, rendered by templates that
//! are traced to captures of real machines.
//!
//! [`Lab::start`] brings it up on threads of its own, with fresh keys; what a [`scenario`] plans goes wrong by itself, and
//! every [`fault`] can be switched by hand while it runs. Dropping the lab ends all of it.

pub mod delays;
pub mod fault;
pub mod guest;
pub mod host;
pub mod machine;
mod running;
pub mod scenario;
pub mod server;
pub mod switch;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use delays::Delays;
pub use fault::Fault;
pub use running::{Lab, Options, Switcher, Target, Timing};
pub use scenario::Scenario;
