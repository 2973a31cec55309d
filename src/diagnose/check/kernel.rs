//! How kernel messages are judged, for those who read them in a saved log: as the checks of a live guest judge them.

pub use super::gpu::xid::{fell_off_bus, number as xid, status as xid_status};
pub use super::guest::kernel_messages::{decision, is_fatal, is_ours as is_of_rdma, is_settled};
