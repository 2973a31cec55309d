//! How a command is quoted and how several reads become one script, per kind of system.

pub mod items;
pub mod posix;
pub mod sections;
pub mod switch;
