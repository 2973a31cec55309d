//! The configuration file of a VM: its dictionary, read without losing a byte.

mod dictionary;

pub use dictionary::{Content, Dictionary, Entry, Fault, Line};
