//! What went over the adapters of a host: one account of it, from which RDMA devices, physical adapters and ports of the
//! distributed switch all print their counters, so that they agree. It only ever grows.

use super::state::{Port, State, Uplink};
use crate::lab::guest::load::whole;

/// Octets per second and direction of the RDMA of the VMs, as RDMA or as TCP.
pub const PAYLOAD: f64 = 1.35e8;

/// How much of that comes back.
pub const BACK: f64 = 0.82;

/// Octets per second of everything else on the RDMA network.
const OTHER: f64 = 2.0e6;

/// Octets per second of management.
const MANAGEMENT: f64 = 9.0e4;

/// Octets that an adapter received and sent by itself: what its hardware carries as RDMA is not in there.
pub fn uplink(state: &State, uplink: &Uplink) -> (u64, u64) {
    let carried = state.carried;
    if uplink.name == "vmnic0" {
        return (whole(carried.up * MANAGEMENT), whole(carried.up * MANAGEMENT * 1.4));
    }
    if !state.dvs_uplinks.contains(&uplink.name) {
        return (0, 0);
    }
    let other = carried.linked * OTHER;
    (whole(other + carried.tcp * PAYLOAD * BACK), whole(other * 1.1 + carried.tcp * PAYLOAD))
}

/// Octets that went into a port of the distributed switch and out of it.
pub fn port(state: &State, port: &Port) -> (u64, u64) {
    let carried = state.carried;
    let other = carried.linked * OTHER;
    match port.client.as_str() {
        // An uplink takes out of the switch what goes to the network.
        name if name.starts_with("vmnic") => {
            (whole(other + carried.tcp * PAYLOAD * BACK), whole(other * 1.1 + carried.tcp * PAYLOAD))
        }
        "vmk1" => (
            whole(carried.linked * 3.0e3 + carried.tcp * PAYLOAD),
            whole(carried.linked * 2.6e3 + carried.tcp * PAYLOAD * BACK),
        ),
        _ => (whole(other * 1.1), whole(other)),
    }
}
