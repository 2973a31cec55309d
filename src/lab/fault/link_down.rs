//! The link of a machine's RDMA port goes down.

use super::{Fault, Of};
use crate::lab::machine::Trouble;

pub(super) const FAULT: Fault = Fault {
    name: "link-down",
    title: "link down",
    description: "The link of the first RDMA port goes down, as with a virtual NIC that is disconnected: the port is DOWN, \
                  its netdev has no carrier, its counters stand still. On a host its uplink: guests stay ACTIVE and reach nobody",
    of: Of::GuestsAndHosts,
    lasts: true,
    act: |host, on| host.machine().suffer(Trouble::LinkDown, on),
};
