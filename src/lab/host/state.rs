//! What an ESXi host of the lab is at a moment. Everything that it prints is rendered from this one state, and the state is
//! made anew from the plan and from what the host suffers, so that two answers never contradict each other and a trouble
//! that ends leaves nothing behind.

use super::super::machine::HostTrouble;
use super::vm::Vm;

/// The release of a host, by which its formats differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// 7.0 Update 3d, build 19482537.
    Seven,
    /// 8.0 Update 3, build 24022510.
    Eight,
}

impl Release {
    /// Version and build.
    ///
    /// Source: VMware's public list of builds.
    pub fn version(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Seven => ("7.0.3", "3", "19482537"),
            Self::Eight => ("8.0.3", "3", "24022510"),
        }
    }

    /// Patch level of `system version get`; UNSOURCED for 8.0.
    pub fn patch(self) -> &'static str {
        match self {
            Self::Seven => "40",
            Self::Eight => "0",
        }
    }
}

/// One function of the PCI bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Bus, slot, function.
    pub at: (u8, u8, u8),
    /// Name by the VMkernel; empty where it has none.
    pub name: String,
    /// Vendor and device in words.
    pub words: (&'static str, &'static str),
    /// Vendor, device, subsystem vendor, subsystem.
    pub ids: [u16; 4],
    /// Class and subclass, and its name.
    pub class: (u16, &'static str),
    /// Configured and current owner.
    pub owners: (&'static str, &'static str),
    /// Module that drives it; `None` for none.
    pub module: Option<&'static str>,
    /// True if it can be passed through.
    pub capable: bool,
    /// Physical slot.
    pub slot: Option<u32>,
    /// The bridge above it.
    pub parent: Option<(u8, u8, u8)>,
}

impl Function {
    /// `0000:5e:00.0`.
    pub fn address(&self) -> String {
        address(self.at)
    }
}

/// `0000:5e:00.0`.
pub fn address((bus, slot, function): (u8, u8, u8)) -> String {
    format!("0000:{bus:02x}:{slot:02x}.{function:x}")
}

/// One physical network adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplink {
    /// `vmnic2`.
    pub name: &'static str,
    /// Bus, slot, function.
    pub at: (u8, u8, u8),
    /// Module that drives it.
    pub driver: &'static str,
    /// Version of the driver.
    pub driver_version: &'static str,
    /// Firmware.
    pub firmware: &'static str,
    /// Hardware address.
    pub mac: String,
    /// True unless it is switched off.
    pub enabled: bool,
    /// Whether pause frames are honoured and sent.
    pub pause: (bool, bool),
    /// True if it has a link.
    pub up: bool,
    /// Mbit/s with a link.
    pub speed: u32,
    /// MTU.
    pub mtu: u32,
    /// Model.
    pub description: &'static str,
    /// How DCB is; `None` for a driver that has none.
    pub dcb: Option<Dcb>,
    /// The RDMA device on it, where its RDMA driver is there.
    pub rdma: Option<String>,
    /// Virtual functions.
    pub virtual_functions: u8,
}

/// Data centre bridging of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dcb {
    /// True for IEEE mode, false for CEE mode.
    pub ieee: bool,
    /// Which priorities have flow control.
    pub pfc: [u8; 8],
}

/// One port of the distributed switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its id.
    pub id: u32,
    /// Key of its port group.
    pub group: &'static str,
    /// Alias: the name of an uplink port.
    pub alias: &'static str,
    /// What is connected to it.
    pub client: String,
    /// Id of the connection.
    pub connection: u32,
    /// VLAN; `None` for a trunk of all.
    pub vlan: Option<u16>,
    /// True if it has a link.
    pub up: bool,
}

impl Port {
    /// True if it is the port of a VM of this name.
    pub fn is_of(&self, vm: &str) -> bool {
        self.client.strip_suffix(".eth1") == Some(vm)
    }
}

/// One VMkernel adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vmknic {
    /// `vmk1`.
    pub name: &'static str,
    /// Hardware address.
    pub mac: String,
    /// IPv4 address.
    pub address: String,
    /// MTU.
    pub mtu: u32,
    /// True unless it is disabled.
    pub enabled: bool,
    /// Its port on the distributed switch; `None` on the standard one.
    pub port: Option<u32>,
}

/// One VMkernel module: name, whether it is loaded, whether it is enabled, its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// True if it is loaded.
    pub loaded: bool,
    /// True if it is enabled.
    pub enabled: bool,
    /// Version.
    pub version: &'static str,
    /// Options as they were set.
    pub options: String,
}

/// What went over the adapters of a host since it was booted. Octets are pairs: received, sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    /// Seconds since the boot.
    pub up: f64,
    /// Seconds with a link.
    pub linked: f64,
    /// RDMA of its VMs over the adapter.
    pub rdma: (f64, f64),
    /// The same as TCP through the VMkernel adapter.
    pub tcp: (f64, f64),
    /// What the virtual adapters of its VMs sent and received over the uplink.
    pub net: (f64, f64),
    /// What went through the port of each VM, by the name of the VM.
    pub ports: Vec<(String, (f64, f64))>,
    /// True while RDMA goes over the adapter.
    pub rdma_now: bool,
}

/// A host at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// `esx01`.
    pub name: &'static str,
    /// Its release.
    pub release: Release,
    /// System UUID.
    pub uuid: String,
    /// What everything that is drawn is drawn from.
    pub seed: u64,
    /// PCI functions.
    pub functions: Vec<Function>,
    /// Physical network adapters.
    pub uplinks: Vec<Uplink>,
    /// Adapters of the distributed switch.
    pub dvs_uplinks: Vec<&'static str>,
    /// Ports of the distributed switch.
    pub ports: Vec<Port>,
    /// VMkernel adapters.
    pub vmknics: Vec<Vmknic>,
    /// Modules.
    pub modules: Vec<Module>,
    /// `Net.PVRDMAVmknic`.
    pub tagged: String,
    /// Rulesets of the firewall: whether they are open.
    pub rulesets: [(&'static str, bool); 5],
    /// Settings of the VMkernel that are a yes or a no: configured and in force.
    pub kernel: [(&'static str, (bool, bool)); 5],
    /// Functions for which passthrough is enabled, whether it is in force or not.
    pub passthrough: Vec<(u8, u8, u8)>,
    /// Registered VMs, by their number.
    pub vms: Vec<Vm>,
    /// True while the host's management agent does not answer.
    pub hostd_dead: bool,
    /// What it suffers.
    pub troubles: Vec<HostTrouble>,
    /// What went over its adapters.
    pub carried: Carried,
}

impl State {
    /// The adapter of this name.
    pub fn uplink(&self, name: &str) -> Option<&Uplink> {
        self.uplinks.iter().find(|uplink| uplink.name == name)
    }

    /// The adapter on which this RDMA device is.
    pub fn rdma(&self, name: &str) -> Option<&Uplink> {
        self.uplinks.iter().find(|uplink| uplink.rdma.as_deref() == Some(name))
    }

    /// True if RDMA of its VMs goes over the adapter as RDMA: the VMkernel adapter is tagged, its ruleset is open, and one
    /// uplink with an RDMA device has a link. Otherwise it goes as TCP, where it goes at all.
    pub fn carries_rdma(&self) -> bool {
        let able = |name: &&'static str| self.uplink(name).is_some_and(|uplink| uplink.up && uplink.rdma.is_some());
        let mut on_switch = self.vmknics.iter().filter(|vmknic| vmknic.port.is_some() && vmknic.enabled);
        let is_tagged = on_switch.any(|vmknic| vmknic.name == self.tagged);
        let is_open = self.rulesets.contains(&("pvrdma", true));
        is_tagged && is_open && self.dvs_uplinks.len() == 1 && self.dvs_uplinks.iter().all(able)
    }

    /// True if the distributed switch has an uplink with a link.
    pub fn is_linked(&self) -> bool {
        self.dvs_uplinks.iter().any(|name| self.uplink(name).is_some_and(|uplink| uplink.up))
    }

    /// A setting of the VMkernel: configured and in force.
    pub fn kernel(&self, name: &str) -> (bool, bool) {
        self.kernel.iter().find(|(known, _)| *known == name).map_or((false, false), |(_, values)| *values)
    }

    /// The module of this name.
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.name == name)
    }
}
