//! The far ends of the cables of both hosts, for the switches that they are plugged into: what is at the near end, what
//! came through, and what the switch does to it.

use std::sync::{Arc, Mutex, PoisonError};

use super::Shared;
use super::traffic;
use crate::lab::guest::clock::Clock;
use crate::lab::guest::load::whole;

/// What the cable of a host's RDMA uplink leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cable {
    /// A port that is set as it should be.
    Sound,
    /// One that does not let the VLAN of RDMA pass.
    NoVlan,
    /// One whose MTU is smaller than that of the hosts.
    SmallFrames,
    /// A cable that garbles frames.
    Damaged,
}

/// The near end of a cable at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearEnd {
    /// Name of the host.
    pub host: &'static str,
    /// Its management address.
    pub address: String,
    /// Build of its release.
    pub build: &'static str,
    /// Name of the distributed switch that the uplink is in, if it is in one.
    pub switch: Option<&'static str>,
    /// `vmnic2`.
    pub uplink: &'static str,
    /// Hardware address.
    pub mac: String,
    /// True if it has a link.
    pub up: bool,
    /// Bits per second.
    pub speed: u64,
    /// Octets that it sent, and that it received.
    pub octets: (u64, u64),
}

/// The far ends of the cables of both hosts.
#[derive(Clone, Debug)]
pub struct Cables {
    pub(super) shared: Arc<Mutex<Shared>>,
    pub(super) clock: Clock,
}

impl Cables {
    /// Seconds since the lab began.
    pub fn now(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    /// Seconds that a machine has been up that was never booted since.
    pub fn up(&self) -> f64 {
        super::UP + self.now()
    }

    /// The near end of the cable at this uplink of a host; `None` where the host has no such uplink (any more).
    pub fn near_end(&self, host: usize, uplink: &str) -> Option<NearEnd> {
        let state = self.shared.lock().unwrap_or_else(PoisonError::into_inner).state(host, self.now());
        let found = state.uplink(uplink)?;
        let (mut received, mut sent) = traffic::uplink(&state, found);
        if state.dvs_uplinks.first() == Some(&found.name) {
            // What the adapter carries as RDMA it does not count as an interface, but it is on the wire.
            received += whole(state.carried.rdma.0);
            sent += whole(state.carried.rdma.1);
        }
        let address = state.vmknics.first().map(|vmknic| vmknic.address.clone()).unwrap_or_default();
        Some(NearEnd {
            host: state.name,
            address,
            build: state.release.version().2,
            switch: state.dvs_uplinks.contains(&found.name).then_some(super::hosts::DVS),
            uplink: found.name,
            mac: found.mac.clone(),
            up: found.up,
            speed: u64::from(found.speed) * 1_000_000,
            octets: (sent, received),
        })
    }

    /// The cable of a host's RDMA uplink leads to this from now on.
    pub fn lead(&self, host: usize, cable: Cable) {
        let now = self.now();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shared.cluster.cables.get_mut(host)
            && *known != cable
        {
            *known = cable;
            shared.note(now);
        }
    }
}
