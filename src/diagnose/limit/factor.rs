//! What can limit a GPU in a VM.

use serde::{Deserialize, Serialize};

/// One thing that can limit a GPU. Of several that do, the first in this order is the limit: what is broken stands before
/// what is full, and what lies at the GPU before what lies around its VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Memory was taken from a VM that must have all of it reserved.
    ReservationBroken,
    /// Heat holds the clocks down.
    Thermal,
    /// The PCIe link is slower or narrower under load than it could be.
    PcieDegraded,
    /// The PCIe link is full while the GPU waits.
    PcieBound,
    /// The VM's memory or processors are on another NUMA node.
    NumaRemote,
    /// The VM waits for processors of its host.
    CpuStarved,
    /// A power limit or brake holds the clocks down.
    Power,
    /// The host lacks memory because of other VMs.
    MemoryPressure,
    /// The GPU works in bursts, and nothing that is seen holds it up: its data comes too slowly.
    InputStarved,
}

impl Factor {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::ReservationBroken,
        Self::Thermal,
        Self::PcieDegraded,
        Self::PcieBound,
        Self::NumaRemote,
        Self::CpuStarved,
        Self::Power,
        Self::MemoryPressure,
        Self::InputStarved,
    ];

    /// Its name, as a verdict words it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReservationBroken => "reservation broken",
            Self::Thermal => "thermal-limited",
            Self::PcieDegraded => "PCIe-degraded under load",
            Self::PcieBound => "PCIe-bound",
            Self::NumaRemote => "NUMA-remote",
            Self::CpuStarved => "CPU-starved",
            Self::Power => "power-limited",
            Self::MemoryPressure => "neighbour memory pressure",
            Self::InputStarved => "input-starved",
        }
    }

    /// The check that tells it.
    pub fn check(self) -> &'static str {
        match self {
            Self::ReservationBroken => "vm.reservation-broken",
            Self::Thermal => "gpu.thermal",
            Self::PcieDegraded => "gpu.pcie-degraded",
            Self::PcieBound => "gpu.pcie-bound",
            Self::NumaRemote => "gpu.numa-remote",
            Self::CpuStarved => "gpu.cpu-starved",
            Self::Power => "gpu.power",
            Self::MemoryPressure => "host.memory-pressure",
            Self::InputStarved => "gpu.input-starved",
        }
    }

    /// What would show that it is not the limit after all.
    pub fn disproved_by(self) -> &'static str {
        match self {
            Self::ReservationBroken => {
                "balloon and swap of this VM at 0 in the next rows, and sched.mem.pin or a full reservation in its settings"
            }
            Self::Thermal => {
                "full clocks at the same load once it is cooler, or no thermal reason while the clocks stay low"
            }
            Self::PcieDegraded => {
                "the full generation and width in the next rows under load: nvidia-smi -q | grep -A10 'GPU Link Info'"
            }
            Self::PcieBound => {
                "work of the GPU that stays low after the copies are taken away (data kept on the GPU), or a copy test that \
                 is faster than what is measured here"
            }
            Self::NumaRemote => {
                "the same speed with the VM on the node of its GPU (numa.nodeAffinity, then measure again)"
            }
            Self::CpuStarved => "the same speed while the VM is ready for less than 5 % a virtual CPU",
            Self::Power => "full clocks at the same load with the limit at its default",
            Self::MemoryPressure => "the same speed once the host's memory state is high and nothing is swapped",
            Self::InputStarved => {
                "a job that never waits for its loader: a profile of it (nsys), or synthetic data that keep the GPU no busier"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_there_in_their_order() {
        assert!(Factor::ALL.is_sorted());
        for factor in Factor::ALL {
            assert!(!factor.name().is_empty() && factor.check().contains('.') && !factor.disproved_by().is_empty());
        }
    }
}
