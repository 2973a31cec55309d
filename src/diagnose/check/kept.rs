//! What many checks ask of one and the same scene, worked out when the first of them asks: the ports of each guest, the VMs,
//! where those with RDMA could run.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::sight::Port;
use super::vm::Vm;
use crate::diagnose::qualify::Place;
use crate::fabric::TargetId;

/// What was worked out so far. It holds for one scene, and only for as long as that is looked at.
#[derive(Debug, Default)]
pub struct Kept {
    /// RDMA ports by guest.
    pub(super) ports: OnceCell<BTreeMap<TargetId, Vec<Port>>>,
    /// VMs of all hosts.
    pub(super) vms: OnceCell<Vec<Vm>>,
    /// Where the VMs with RDMA run and could run.
    pub(in crate::diagnose) places: OnceCell<Vec<Place>>,
}
