//! All checks, by layer from the wire up; the order is that of documents.

use super::{Check, gpu, guest, host, mpi, switch, tool, vm};

/// All checks.
pub fn all() -> impl Iterator<Item = &'static Check> {
    [switch::CHECKS, host::CHECKS, vm::CHECKS, guest::CHECKS, gpu::CHECKS, mpi::CHECKS, tool::CHECKS]
        .into_iter()
        .flatten()
        .copied()
}

/// The check of this id.
pub fn by_id(id: &str) -> Option<&'static Check> {
    all().find(|check| check.id == id)
}
