//! The guests of a job as the advisor sees them: what each says of itself, and beside it what its host says of where the
//! adapter really is.

use super::join::{Joined, LinkKind};
use crate::fabric::{Attribute, Entity, EntityId, Fabric, TargetId, Text, Value};
use crate::tune::advice::{HostSide, Side};

/// A guest, with its host's word where the two are joined.
pub fn side(fabric: &Fabric, joined: &Joined, guest: &TargetId) -> Side {
    let side = Side::of(fabric, guest);
    let host = host(fabric, joined, &side);
    Side { host, ..side }
}

fn host(fabric: &Fabric, joined: &Joined, side: &Side) -> Option<HostSide> {
    let vm = joined.vm_of(&side.guest)?;
    let host = &vm.target;
    let of_host = EntityId::new(host, Entity::Host);
    let port = side.port(std::slice::from_ref(side));
    let chain = port.and_then(|port| {
        let device = EntityId::new(&side.guest, Entity::RdmaDevice(Text::new(&port.device)));
        let netdev = port.netdev.as_ref().map(|name| EntityId::new(&side.guest, Entity::Netdev(Text::new(name))));
        joined.chain_of(&device).or_else(|| joined.chain_of(&netdev?))
    });
    let function = chain.and_then(|chain| chain.reaches(|entity| matches!(entity, Entity::PciFunction(_))));
    let near = chain.and_then(|chain| chain.links.iter().find(|link| link.kind == LinkKind::FunctionNuma));
    let node = near.and_then(|link| match link.to.entity {
        Entity::NumaNode(node) => Some(node),
        _ => None,
    });
    Some(HostSide {
        host: host.to_string(),
        function: function.map(|id| id.entity.name()),
        node,
        nodes: fabric.value(&of_host, Attribute::NumaNodeCount).and_then(Value::as_count),
        bound: fabric.text(vm, Attribute::NumaNode).filter(|text| !text.is_empty()).map(str::to_owned),
        // Only a stream of esxtop tells it; whoever follows one adds it.
        homes: Vec::new(),
    })
}
