//! What went over the adapters of a host: one account of it, from which RDMA devices, physical adapters and ports of the
//! distributed switch all print their counters, so that they agree. It follows the guests on the host and only ever grows.

use std::collections::BTreeSet;

use super::cables::Cable;
use super::state::{Carried, Port, State, Uplink};
use crate::lab::guest::Identity;
use crate::lab::guest::load::whole;
use crate::lab::guest::wire::{self, Way};

/// Octets of RDMA for each octet that the virtual adapter of a guest shows: jobs move their data by RDMA.
const RDMA_SHARE: f64 = 4.0;

/// Octets per second of everything else on the RDMA network.
const OTHER: f64 = 2.0e6;

/// Octets per second of management.
const MANAGEMENT: f64 = 9.0e4;

/// Octets that an adapter received and sent by itself: what its hardware carries as RDMA is not in there.
pub fn uplink(state: &State, uplink: &Uplink) -> (u64, u64) {
    let carried = &state.carried;
    if uplink.name == "vmnic0" {
        return (whole(carried.up * MANAGEMENT), whole(carried.up * MANAGEMENT * 1.4));
    }
    match state.dvs_uplinks.iter().position(|name| *name == uplink.name) {
        // Of two uplinks the VMs use the first: a port keeps to one.
        Some(0) => through_uplink(state),
        Some(_) => (whole(carried.linked * OTHER * 0.1), 0),
        None => (0, 0),
    }
}

fn through_uplink(state: &State) -> (u64, u64) {
    let carried = &state.carried;
    let other = carried.linked * OTHER;
    (whole(other + carried.net.0 + carried.tcp.0), whole(other * 1.1 + carried.net.1 + carried.tcp.1))
}

/// Octets that went into a port of the distributed switch and out of it.
pub fn port(state: &State, port: &Port) -> (u64, u64) {
    let carried = &state.carried;
    match port.client.as_str() {
        // An uplink takes out of the switch what goes to the network.
        "vmnic2" => through_uplink(state),
        name if name.starts_with("vmnic") => (0, 0),
        "vmk1" => (whole(carried.linked * 3.0e3 + carried.tcp.1), whole(carried.linked * 2.6e3 + carried.tcp.0)),
        client => {
            let vm = client.split('.').next().unwrap_or(client);
            let (received, sent) =
                carried.ports.iter().find(|(name, _)| name == vm).map_or((0.0, 0.0), |(_, octets)| *octets);
            (whole(sent), whole(received))
        }
    }
}

impl Carried {
    /// Adds what went for a guest in one way.
    pub fn count(&mut self, guest: &str, octets: &wire::Carried, way: Way) {
        let add = |to: &mut (f64, f64), share: f64| {
            to.0 += octets.received_bytes * share;
            to.1 += octets.sent_bytes * share;
        };
        match self.ports.iter_mut().find(|(name, _)| name == guest) {
            Some((_, port)) => add(port, 1.0),
            None => self.ports.push((guest.to_owned(), (octets.received_bytes, octets.sent_bytes))),
        }
        match way {
            Way::Adapter => {
                add(&mut self.net, 1.0);
                add(&mut self.rdma, RDMA_SHARE);
            }
            Way::Tcp => {
                add(&mut self.net, 1.0);
                add(&mut self.tcp, RDMA_SHARE);
            }
            Way::Memory | Way::Nothing | Way::SmallOnly => {}
        }
    }
}

/// How the hosts carry what goes between two guests. On one host it is copied in memory; between two that both qualify it is
/// RDMA, else TCP in silence; and without a link, or in another VLAN, nothing arrives. So it is where the switch at the other
/// end of a cable does not let the VLAN pass; where its port has a small MTU only small frames do.
pub fn way(states: &[State; 2], guests: &[Identity], cables: [Cable; 2]) -> Way {
    let place = |guest: &Identity| states.iter().position(|state| state.vms.iter().any(|vm| vm.name == guest.name));
    let places: Vec<usize> = guests.iter().filter_map(place).collect();
    if places.windows(2).all(|pair| pair[0] == pair[1]) {
        return Way::Memory;
    }
    let vlans: BTreeSet<Option<u16>> = guests
        .iter()
        .flat_map(|guest| {
            states.iter().flat_map(move |state| state.ports.iter().filter(move |port| port.is_of(&guest.name)))
        })
        .map(|port| port.vlan)
        .collect();
    if vlans.len() > 1 || !states.iter().all(State::is_linked) || cables.contains(&Cable::NoVlan) {
        Way::Nothing
    } else if cables.contains(&Cable::SmallFrames) {
        Way::SmallOnly
    } else if states.iter().all(State::carries_rdma) {
        Way::Adapter
    } else {
        Way::Tcp
    }
}
