//! RDMA ports of a host that nothing uses: that one of them is down is no fault. Only what was read counts: as long as
//! it is not known that a port is unused, it is taken for used.

use super::super::condition;
use super::super::model::Model;
use crate::fabric::{Attribute, Entity, EntityId, SourceId, State, Text, Value};

/// What is told of the state of such a port.
pub const WORDS: &str = " (not used: its uplink is in no switch and passes no virtual function on)";

/// What is told of the state of one of which that was not read yet.
pub const UNDECIDED: &str = " (whether anything uses it is not read yet)";

/// The probes that tell what uses an RDMA device.
const DECIDING: [&str; 3] = ["esxi.rdma", "esxi.vswitches", "esxi.sriov"];

/// True for an RDMA device of a host whose first reads are under way and did not tell yet what uses it.
pub fn is_undecided(model: &Model, id: &EntityId) -> bool {
    let is_read = |probe: &&str| {
        let source = SourceId::new(probe);
        model.targets.get(&id.target).is_some_and(|target| target.read.contains(&source))
    };
    matches!(id.entity, Entity::RdmaDevice(_))
        && condition::first_read(model, &id.target).is_some()
        && !DECIDING.iter().all(is_read)
}

/// True for an RDMA device of which it is known that its uplink is in no virtual switch and passes no virtual function
/// to a VM, and that no VMkernel adapter is bound to it.
pub fn is_unused(model: &Model, id: &EntityId) -> bool {
    let Entity::RdmaDevice(_) = &id.entity else { return false };
    let fabric = &model.fabric;
    let state = |entity: &Entity, attribute| {
        fabric.reading(&EntityId::new(&id.target, entity.clone()), attribute).map(|reading| &reading.state)
    };
    // With an adapter on it, or without a list of them, it may be used.
    if !matches!(state(&id.entity, Attribute::RdmaVmknics), Some(State::Empty)) {
        return false;
    }
    let Some(uplink) = fabric.text(id, Attribute::PairedUplink).filter(|uplink| !uplink.is_empty()) else {
        return false;
    };
    // A list of switches that could not be read says so of the host.
    if state(&Entity::Host, Attribute::SwitchKind).is_some() {
        return false;
    }
    let mut switches =
        fabric.entities(&id.target).filter(|entity| matches!(entity, Entity::VirtualSwitch(_))).peekable();
    if switches.peek().is_none() {
        return false;
    }
    let in_no_switch = switches.all(|switch| match state(switch, Attribute::Uplinks) {
        Some(State::Known(Value::List(names))) => names.iter().all(|name| name.as_str() != uplink),
        Some(State::Known(value)) => value.to_string().split([',', ' ']).all(|name| name != uplink),
        Some(State::Empty) => true,
        _ => false,
    });
    in_no_switch && !passes_functions_on(model, id, uplink)
}

/// True if a virtual function of this uplink is in use.
fn passes_functions_on(model: &Model, id: &EntityId, uplink: &str) -> bool {
    let is_of = |of: &Text| of.as_str() == uplink;
    model.fabric.entities(&id.target).any(|entity| {
        matches!(entity, Entity::VirtualFunction { uplink, .. } if is_of(uplink))
            && model
                .fabric
                .value(&EntityId::new(&id.target, entity.clone()), Attribute::VirtualFunctionActive)
                .and_then(Value::as_flag)
                != Some(false)
    })
}
