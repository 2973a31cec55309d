//! The way between two guests, hop by hop, with the state of each, and what transport they use. What a hop is worth follows
//! from what the checks found on it and from how it fits the rest of the way, so that a path never says other than the
//! checks.

mod compare;
mod draft;
mod ends;
mod guest;
mod hops;
mod state;
#[cfg(test)]
mod tests;
mod verdict;
mod vlan;

use super::cause::Found;
use super::check::{Exhibit, Scene};
use super::finding::{Confidence, Status};
use crate::fabric::{EntityId, TargetId};

pub(super) use ends::subnets;
pub use ends::{End, ends};
pub use verdict::{Trial, runs_on, transport};
pub use vlan::{Vlan, vlan_of};

/// What a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HopKind {
    /// RDMA device and port of a guest, with its interface.
    GuestDevice,
    /// Adapter or passed-through device of the VM.
    VmAdapter,
    /// Port or port group of a virtual switch, with its VLAN and teaming.
    VirtualSwitch,
    /// The host itself: what it needs to qualify (tag, ruleset).
    Host,
    /// Uplink and RDMA device of a host.
    Uplink,
    /// Port of a physical switch.
    SwitchInterface,
}

/// To which end a hop belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The first guest's.
    One,
    /// The other guest's.
    Other,
}

/// One property of a hop, as it is drawn: `mtu 9000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trait {
    /// What it is, one word: `mtu`, `vlan`, `pfc`, `rate`, `gid`.
    pub name: &'static str,
    /// Its value as it is drawn; empty where it is not known.
    pub value: String,
    /// How it stands against the rest of the way: `Pass` where it fits, `Unknown` where it is not known.
    pub status: Status,
    /// What it stands on.
    pub exhibit: Option<Exhibit>,
}

/// One hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// What it is.
    pub kind: HopKind,
    /// To which end it belongs.
    pub side: Side,
    /// The target that tells of it.
    pub target: TargetId,
    /// The thing; `None` where the join could not tell which it is.
    pub id: Option<EntityId>,
    /// Its name as it is drawn: `rocep27s0f1`, `ethernet1`, `vmrdma0`, `Ethernet1/4`; what is missing where it is not known.
    pub name: String,
    /// Its state in one word or two: `ACTIVE`, `nmlx5_rdma ACTIVE`.
    pub state: String,
    /// What matters of it, in the order of drawing.
    pub traits: Vec<Trait>,
    /// How it stands, over all.
    pub status: Status,
    /// Why, where it is not in order or not known; one sentence.
    pub why: String,
    /// What shows that.
    pub evidence: Vec<Exhibit>,
}

/// What carries the payload of two guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// RDMA of the hosts' adapters.
    Rdma,
    /// Copies in the memory of the host that both run on.
    SameHost,
    /// TCP between the hosts.
    Tcp,
    /// Nothing that can be seen tells.
    NotDeterminable,
}

impl Transport {
    /// In words, as panels and documents print it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Rdma => "RDMA",
            Self::SameHost => "same-host copy",
            Self::Tcp => "TCP fallback",
            Self::NotDeterminable => "not determinable",
        }
    }
}

/// Which transport, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Which.
    pub transport: Transport,
    /// How sure that is.
    pub confidence: Confidence,
    /// Why, one sentence.
    pub why: String,
    /// What shows it.
    pub evidence: Vec<Exhibit>,
    /// What would settle it, where it is not proved.
    pub decide: String,
}

/// The way between two guests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The first guest.
    pub one: TargetId,
    /// The other.
    pub other: TargetId,
    /// The hops, from the first guest down to the wire and up to the other.
    pub hops: Vec<Hop>,
    /// The place in `hops` of the first that is broken or does not fit the rest.
    pub first_broken: Option<usize>,
    /// What carries the payload.
    pub verdict: Verdict,
}

/// The way between two guests; `found` is what the checks say of the same scene.
pub fn path(scene: &Scene<'_>, found: &[Found], one: &TargetId, other: &TargetId) -> Path {
    path_during(scene, found, one, other, None)
}

/// The way between two guests, while a known payload went over it.
pub fn path_during(
    scene: &Scene<'_>,
    found: &[Found],
    one: &TargetId,
    other: &TargetId,
    trial: Option<&Trial<'_>>,
) -> Path {
    let (first, second) = ends(scene, one, other);
    let mut drafts = hops::side(scene, &first, Side::One);
    let mut back = hops::side(scene, &second, Side::Other);
    back.reverse();
    drafts.extend(back);
    compare::along(scene, (&first, &second), &mut drafts);
    for (end, side) in [(&first, Side::One), (&second, Side::Other)] {
        state::require(scene, found, end, side, &mut drafts);
    }
    state::settle(found, &mut drafts);
    let hops: Vec<Hop> = drafts.into_iter().map(|draft| draft.hop).collect();
    let first_with = |status| hops.iter().position(|hop| hop.status == status);
    Path {
        one: one.clone(),
        other: other.clone(),
        first_broken: first_with(Status::Fail).or_else(|| first_with(Status::Warn)),
        hops,
        verdict: transport(scene, found, &first, &second, trial),
    }
}
