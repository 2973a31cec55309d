//! Recordings of a console: [`writer`] and [`recorder`] write what `update` consumed into a file while it happens,
//! [`reader`] finds its way in such a file, [`replay`] feeds the same messages to the same `update` again. Messages are
//! written as `MessagePack` with the names of fields and variants: programs that know fewer or more of them can read each
//! other's files, numbers come back exactly as they were (JSON texts of fractions need not), and maps may have keys that
//! are no texts, as those of the model do.

pub mod audit;
pub mod baselines;
mod chunk;
pub mod format;
pub mod healthy;
mod packing;
pub mod position;
mod private_file;
pub mod reader;
pub mod recorder;
pub mod replay;
pub mod snapshot_file;
#[cfg(test)]
mod tests;
pub mod writer;

use std::path::PathBuf;

pub use format::Header;
pub use reader::Recording;
pub use recorder::Recorder;
pub use replay::Player;

/// Why a recording cannot be begun or read, told with the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct JournalError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it, and what to do.
    pub what: String,
}
