//! Packets are lost on the path.

use super::{Fault, Of};
use crate::lab::machine::Trouble;

pub(super) const FAULT: Fault = Fault {
    name: "packet-loss",
    title: "packet loss",
    description: "Packets are lost on the path while the ports stay ACTIVE: retransmissions and time-outs rise, and queue \
                  pairs end in ERR",
    of: Of::Guests,
    lasts: true,
    act: |host, on| host.machine().suffer(Trouble::Loss, on),
};
