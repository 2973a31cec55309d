//! What is wrong, and how that is known: the rules for a VM's configuration file, the judgement of pasted text, and the
//! join of what hosts, VMs and guests say.

pub mod explain;
pub mod finding;
pub mod join;
pub mod lint;
pub mod myth;
