//! `collector`: prints the script that saves what a machine says, for machines that cannot be reached from here.

use super::{Exit, Failure, output};
use crate::collect::shell::nonce;
use crate::collect::transport::offline::script;
use crate::probe::{esxi, linux};

/// Prints the script. Each has markers of its own, which nothing on the machine can know before.
pub fn run() -> Result<Exit, Failure> {
    output::print(&script(env!("CARGO_PKG_VERSION"), &nonce(), esxi::PROBES, linux::PROBES))?;
    Ok(Exit::Done)
}
