//! What an administrator set on a host of the lab, over what it is by itself: what is configured, and what of it is in
//! force, for a host takes some settings in only when it starts anew.

use std::collections::BTreeMap;

use super::super::machine::HostTrouble;
use super::hosts::{GPU, HCA};
use super::state::State;

/// An address on the PCI bus.
pub type At = (u8, u8, u8);

/// A module as it was set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Whether it is loaded at the next start.
    pub enabled: Option<bool>,
    /// Whether it is loaded now.
    pub loaded: Option<bool>,
    /// Its option string, which the driver reads when it is loaded.
    pub options: Option<String>,
}

/// Everything that was set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Administered {
    /// `Net.PVRDMAVmknic`.
    pub tagged: Option<String>,
    /// Rulesets of the firewall: whether they are open.
    pub rulesets: BTreeMap<&'static str, bool>,
    /// Uplinks: whether they are switched on.
    pub uplinks: BTreeMap<&'static str, bool>,
    /// Uplinks: whether pause frames are honoured and sent.
    pub pause: BTreeMap<&'static str, (bool, bool)>,
    /// VMkernel adapters: whether they are enabled.
    pub vmknics: BTreeMap<&'static str, bool>,
    /// VMkernel adapters: MTU.
    pub mtus: BTreeMap<&'static str, u32>,
    /// Modules.
    pub modules: BTreeMap<&'static str, Set>,
    /// Settings of the VMkernel: configured and in force.
    pub kernel: BTreeMap<&'static str, (bool, bool)>,
    /// Functions: whether they are given away from the next start on, and now.
    pub given: BTreeMap<At, (bool, bool)>,
}

impl Administered {
    /// Whether a function is given away from the next start on, and now; `by_itself` is what the host says without this.
    pub fn given(&self, at: At, by_itself: (bool, bool)) -> (bool, bool) {
        self.given.get(&at).copied().unwrap_or(by_itself)
    }

    /// Changes what a host is by itself into what it was set to.
    pub fn apply(&self, state: &mut State) {
        if let Some(tagged) = &self.tagged {
            state.tagged.clone_from(tagged);
        }
        for (name, open) in &mut state.rulesets {
            *open = self.rulesets.get(name).copied().unwrap_or(*open);
        }
        for uplink in &mut state.uplinks {
            uplink.enabled = self.uplinks.get(uplink.name).copied().unwrap_or(true);
            uplink.up &= uplink.enabled;
            uplink.pause = self.pause.get(uplink.name).copied().unwrap_or_default();
        }
        let up: Vec<&str> = state.uplinks.iter().filter(|uplink| uplink.up).map(|uplink| uplink.name).collect();
        for port in state.ports.iter_mut().filter(|port| state.dvs_uplinks.iter().any(|name| *name == port.client)) {
            port.up = up.iter().any(|name| *name == port.client);
        }
        for vmknic in &mut state.vmknics {
            vmknic.enabled = self.vmknics.get(vmknic.name).copied().unwrap_or(true);
            vmknic.mtu = self.mtus.get(vmknic.name).copied().unwrap_or(vmknic.mtu);
        }
        for module in &mut state.modules {
            let Some(set) = self.modules.get(module.name) else { continue };
            module.enabled = set.enabled.unwrap_or(module.enabled);
            module.loaded = set.loaded.unwrap_or(module.loaded);
            if let Some(options) = &set.options {
                module.options.clone_from(options);
            }
        }
        for (name, values) in &mut state.kernel {
            *values = self.kernel.get(name).copied().unwrap_or(*values);
        }
        // Whoever loads the RDMA module gets its devices, and whoever unloads it has none.
        let is_loaded = state.module("nmlx5_rdma").is_some_and(|module| module.loaded);
        for uplink in state.uplinks.iter_mut().filter(|uplink| uplink.driver == "nmlx5_core") {
            let name = if uplink.at == HCA[0] { "vmrdma0" } else { "vmrdma1" };
            uplink.rdma = is_loaded.then(|| name.to_owned());
        }
    }

    /// The host starts anew: what waits comes into force.
    pub fn reboot(&mut self) {
        for set in self.modules.values_mut() {
            set.loaded = set.enabled.or(set.loaded);
        }
        for (configured, runtime) in self.kernel.values_mut() {
            *runtime = *configured;
        }
        for (next, now) in self.given.values_mut() {
            *now = *next;
        }
        // What was switched on or off by `esxcli network nic` is as the host's own configuration has it again.
        self.uplinks.clear();
        self.pause.clear();
    }

    /// A trouble begins or ends: what was set against it is no longer so.
    pub fn forget(&mut self, trouble: HostTrouble) {
        match trouble {
            HostTrouble::VmknicUntagged => self.tagged = None,
            HostTrouble::RulesetClosed => drop(self.rulesets.remove("pvrdma")),
            HostTrouble::HcaPassthrough => self.given.retain(|at, _| !HCA.contains(at)),
            HostTrouble::RebootPending => {
                self.given.remove(&HCA[1]);
                self.kernel.remove("disableACSCheck");
            }
            HostTrouble::ParameterDiffers | HostTrouble::VmMoved => drop(self.modules.remove("nmlx5_rdma")),
            HostTrouble::UplinkDown => self.uplinks.clear(),
            HostTrouble::GpuNotGiven => drop(self.given.remove(&GPU)),
            HostTrouble::TwoUplinks
            | HostTrouble::VlanMismatch
            | HostTrouble::CeeMode
            | HostTrouble::FirmwareOlder
            | HostTrouble::GpuWindowMissing
            | HostTrouble::ReadyHigh
            | HostTrouble::NeighbourBalloons
            | HostTrouble::OwnBalloon
            | HostTrouble::NumaRemote
            | HostTrouble::HostdDead => {}
        }
    }
}
