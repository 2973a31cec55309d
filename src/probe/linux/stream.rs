//! x
/// x
pub const SOURCE: &str = "linux.stream";
