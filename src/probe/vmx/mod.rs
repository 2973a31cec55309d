//! The configuration file of a VM: its dictionary, read without losing a byte.

mod charset;
mod dictionary;

pub use charset::Charset;
pub use dictionary::{BYTE_ORDER_MARK, Content, Dictionary, Entry, Fault, Line};
