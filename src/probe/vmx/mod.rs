//! The configuration file of a VM: its dictionary, read without losing a byte, changed without touching another one, and
//! what lies beside it in the same grammar.

mod address;
mod charset;
mod dictionary;
mod diff;
mod edit;
mod hidden;
mod plausible;
mod vmsd;

pub use address::{OnHost, PciId, id_of, is_canonical};
pub use charset::Charset;
pub use dictionary::{BYTE_ORDER_MARK, Content, Dictionary, Entry, Fault, Line};
pub use diff::{Difference, differences};
pub use edit::{Assignment, EditError, edited};
pub use vmsd::{Snapshot, Snapshots};
