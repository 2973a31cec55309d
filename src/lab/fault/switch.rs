//! What can go wrong with a switch: with how a port is set, where the system has such settings for all ports with all of
//! them, and with a cable. The port is that of the host's RDMA uplink, and which one that is is drawn
//! from the seed.

use super::{Fault, Of};
use crate::lab::machine::SwitchTrouble::{EcnOff, Errors, NoVlan, OtherPriority, PfcOff, SmallMtu};
use crate::lab::machine::Trouble;

trouble!(
    PFC_OFF,
    Of::Switches,
    Trouble::Switch(PfcOff),
    "switch-pfc-off",
    "switch: PFC off",
    "Priority flow control is off at a port of the switch whose host has it on: under load frames of RDMA are lost there"
);
trouble!(
    PFC_PRIORITY,
    Of::Switches,
    Trouble::Switch(OtherPriority),
    "switch-pfc-priority",
    "switch: other priority",
    "The switch keeps priority 4 from losing frames, the hosts send RDMA with priority 3: RDMA is as lossy as all else"
);
trouble!(
    ECN_OFF,
    Of::Switches,
    Trouble::Switch(EcnOff),
    "switch-ecn-off",
    "switch: ECN off",
    "No queue of the port marks congestion: senders never slow down before they are paused"
);
trouble!(
    MTU_SMALL,
    Of::Switches,
    Trouble::Switch(SmallMtu),
    "switch-mtu-small",
    "switch: small MTU",
    "A port of the switch has MTU 1500 where its host sends 9000: neighbours are found, and large messages never arrive"
);
trouble!(
    VLAN,
    Of::Switches,
    Trouble::Switch(NoVlan),
    "switch-vlan",
    "switch: VLAN not trunked",
    "The port of a host does not let VLAN 100 pass: ports stay ACTIVE and nobody is reached"
);
trouble!(
    ERRORS,
    Of::Switches,
    Trouble::Switch(Errors),
    "switch-errors",
    "switch: errors rising",
    "A cable garbles frames on their way into the switch: its errors rise and RDMA sends again what was lost"
);
