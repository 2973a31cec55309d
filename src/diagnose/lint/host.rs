//! What the rules need to know of the host on which a VM shall start.

use crate::fabric::{Fabric, TargetId};

/// One PCI function of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFunction {
    /// Address, hexadecimal, `0000:af:00.0`.
    pub address: String,
    /// Vendor id, four hexadecimal digits.
    pub vendor: String,
    /// Device id, four hexadecimal digits.
    pub device: String,
    /// Device in words.
    pub name: String,
    /// True if passthrough is enabled and in force; `None` where the host does not say.
    pub passthrough: Option<bool>,
    /// NUMA node, if known.
    pub numa_node: Option<u32>,
}

/// A host as the rules see it. What is `None` is not known, and a rule that needs it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostView {
    /// Name of the target.
    pub name: String,
    /// Version, `7.0.3`.
    pub version: Option<String>,
    /// Build number.
    pub build: Option<u64>,
    /// PCI functions; `None` if they were not read.
    pub functions: Option<Vec<HostFunction>>,
    /// VMkernel adapter tagged for PVRDMA; empty if none is.
    pub pvrdma_vmknic: Option<String>,
    /// Ids of distributed switches, as the host prints them.
    pub distributed_switches: Option<Vec<String>>,
}

impl HostView {
    /// The host of this name, from what was read of it; `None` if the target is no ESXi host.
    pub fn of(fabric: &Fabric, target: &TargetId) -> Option<Self> {
        let _ = (fabric, target);
        None
    }
}
