//! x
use super::super::{Pace, Probe};
/// x
pub const PROBE: Probe = Probe {
    name: "linux.queue-pairs",
    title: "",
    privilege_adds: "",
    pace: Pace::Fast,
    sources: &[],
    parse: |_| vec![],
};
