//! What is wrong, and how that is known: the rules for a VM's configuration file, the judgement of pasted text, the
//! join of what hosts, VMs and guests say, and the checks with the causes that follow from them.

pub mod cause;
pub mod check;
pub mod correlate;
pub mod difference;
pub mod document;
// Messages are put together piece by piece, and keys are no file names.
#[allow(clippy::format_push_string, clippy::if_not_else, clippy::case_sensitive_file_extension_comparisons)]
pub mod explain;
pub mod finding;
pub mod join;
mod keys;
pub mod limit;
pub mod lint;
pub mod measured_on;
pub mod myth;
pub mod path;
pub mod qualify;
pub mod remedy;
pub mod sides;
pub mod since;
pub mod wizard;
