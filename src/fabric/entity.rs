//! What a fact is about. An entity is named within its target; names are the target's own.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text::Text;

/// The name by which the inventory or the command line knows a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TargetId(pub Text);

impl TargetId {
    /// A target of this name (cleaned like all text).
    pub fn new(name: &str) -> Self {
        Self(Text::new(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl From<&str> for TargetId {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// A thing on a target of which facts are known. The order is the order of drawing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entity {
    /// The operating system of the target itself.
    Guest,
    /// The ESXi host that the target is.
    Host,
    /// The physical switch that the target is.
    Switch,
    /// One PCI function by full address, `0000:1b:00.1`.
    PciFunction(Text),
    /// One RDMA device by kernel name, `rocep27s0f1`.
    RdmaDevice(Text),
    /// One port of an RDMA device; ports count from 1.
    RdmaPort {
        /// Name of the RDMA device.
        device: Text,
        /// Port number, from 1.
        port: u32,
    },
    /// One filled entry of a port's GID table.
    Gid {
        /// Name of the RDMA device.
        device: Text,
        /// Port number, from 1.
        port: u32,
        /// Index in the table, from 0.
        index: u32,
    },
    /// One queue pair by its local number.
    QueuePair {
        /// Name of the RDMA device.
        device: Text,
        /// Port number of the special queue pairs 0 and 1, which every port has of its own; `None` for all others, whose
        /// numbers are unique on their device.
        port: Option<u32>,
        /// Local queue pair number.
        number: u32,
    },
    /// One network interface by name.
    Netdev(Text),
    /// One NVIDIA GPU by its PCI address in the form of sysfs, `0000:0b:00.0`.
    Gpu(Text),
    /// One MIG instance of a GPU: a GPU instance, or a compute instance of one.
    MigInstance {
        /// PCI address of the GPU, as in [`Entity::Gpu`].
        gpu: Text,
        /// Id of the GPU instance.
        instance: u32,
        /// Id of the compute instance in it; `None` for the GPU instance as a whole.
        compute: Option<u32>,
    },
    /// One NVLink of a GPU, counted from 0.
    NvLink {
        /// PCI address of the GPU.
        gpu: Text,
        /// Number of the link.
        link: u32,
    },
    /// One process that uses a GPU.
    GpuProcess {
        /// PCI address of the GPU.
        gpu: Text,
        /// Process id.
        process: u32,
    },
    /// The way between two devices as `nvidia-smi topo -m` names it: `GPU0`, `NIC1`.
    GpuPath {
        /// Name of the row.
        from: Text,
        /// Name of the column.
        to: Text,
    },
    /// One NUMA node.
    NumaNode(u32),
    /// One process by id: launchers and owners of queue pairs.
    Process(u32),
    /// One kernel module by name.
    Module(Text),
    /// One installed package by name.
    Package(Text),
    /// One device node by path, `/dev/infiniband/uverbs0`.
    DeviceNode(Text),
    /// One environment variable of the login, by name (only allowed names are ever read).
    Variable(Text),
    /// One service of the system, `firewalld`.
    Service(Text),
    /// One parameter of Open MPI or UCX as it is in force, `btl_tcp_if_include`.
    MpiParameter(Text),
    /// One kernel message that matters, by its stamp (microseconds since boot) and its number among equal stamps.
    KernelMessage {
        /// Microseconds since boot.
        stamp: u64,
        /// Number among messages of the same stamp, from 0.
        ordinal: u32,
    },
    /// One physical network adapter of an ESXi host, `vmnic2`.
    Uplink(Text),
    /// One virtual function of a physical adapter.
    VirtualFunction {
        /// Name of the physical adapter.
        uplink: Text,
        /// Number of the function, from 0.
        index: u32,
    },
    /// One virtual switch of an ESXi host, by name.
    VirtualSwitch(Text),
    /// One port of a distributed switch.
    SwitchPort {
        /// Name of the switch.
        switch: Text,
        /// Id of the port, as the switch numbers it.
        port: Text,
    },
    /// One port group: by name on a standard switch, by key (`dvportgroup-117201`) on a distributed one.
    PortGroup(Text),
    /// One VMkernel adapter, `vmk1`.
    Vmknic(Text),
    /// One ruleset of a host's firewall, `pvrdma`, or one zone of a guest's, `public`.
    Ruleset(Text),
    /// One advanced setting by path, `/Net/PVRDMAVmknic`.
    AdvancedSetting(Text),
    /// One boot-time setting of the VMkernel, `disableACSCheck`.
    KernelSetting(Text),
    /// One parameter of a VMkernel module.
    ModuleParameter {
        /// Name of the module.
        module: Text,
        /// Name of the parameter.
        name: Text,
    },
    /// One VM of a host, by BIOS UUID in its dashed lower-case form; `vmid-12` where that could not be read.
    Vm(Text),
    /// One VM as `esxtop` names it, by its display name: the numbers there are of its resource group and lead nowhere.
    Group(Text),
    /// One device of a VM by the key that the VM's configuration gives it.
    VmDevice {
        /// The VM, as in [`Entity::Vm`].
        vm: Text,
        /// Key of the device, 4000 for the first network adapter.
        key: u32,
    },
    /// One line of a configuration file of the host.
    FileLine {
        /// Path of the file.
        file: Text,
        /// Number of the line, from 1.
        line: u32,
    },
    /// One line of a log that matters, by its time.
    LogMessage {
        /// Path of the log.
        log: Text,
        /// Microseconds since 1970, UTC; 0 where the line has no stamp.
        stamp: u64,
        /// Number among messages of the same stamp, from 0.
        ordinal: u32,
    },
    /// One port of a physical switch by its full name, `Ethernet1/4`, `swp4`.
    SwitchInterface(Text),
    /// One statistic of a device by the label that the host prints, known to us or not.
    Counter {
        /// Name of the device: `vmrdma0`, `vmnic2`, `Ethernet1/4`, or `switch/port`.
        of: Text,
        /// The label as it was printed.
        name: Text,
    },
}

impl Entity {
    /// A port of an RDMA device.
    pub fn port(device: &str, port: u32) -> Self {
        Self::RdmaPort { device: Text::new(device), port }
    }

    /// The kind of thing in the field's own words, as documents and commands print it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::Host => "host",
            Self::Switch => "switch",
            Self::SwitchInterface(_) => "switch-interface",
            Self::Uplink(_) => "uplink",
            Self::VirtualFunction { .. } => "virtual-function",
            Self::VirtualSwitch(_) => "virtual-switch",
            Self::SwitchPort { .. } => "switch-port",
            Self::PortGroup(_) => "port-group",
            Self::Vmknic(_) => "vmknic",
            Self::Ruleset(_) => "ruleset",
            Self::AdvancedSetting(_) => "advanced-setting",
            Self::KernelSetting(_) => "kernel-setting",
            Self::ModuleParameter { .. } => "module-parameter",
            Self::Vm(_) => "vm",
            Self::VmDevice { .. } => "vm-device",
            Self::FileLine { .. } => "file-line",
            Self::LogMessage { .. } => "log-message",
            Self::Counter { .. } => "counter",
            Self::PciFunction(_) => "pci-function",
            Self::RdmaDevice(_) => "rdma-device",
            Self::RdmaPort { .. } => "rdma-port",
            Self::Gid { .. } => "gid",
            Self::QueuePair { .. } => "queue-pair",
            Self::Netdev(_) => "netdev",
            Self::Gpu(_) => "gpu",
            Self::MigInstance { .. } => "mig-instance",
            Self::NvLink { .. } => "nvlink",
            Self::GpuProcess { .. } => "gpu-process",
            Self::GpuPath { .. } => "gpu-path",
            Self::Group(_) => "group",
            Self::NumaNode(_) => "numa-node",
            Self::Process(_) => "process",
            Self::Module(_) => "module",
            Self::Package(_) => "package",
            Self::DeviceNode(_) => "device-node",
            Self::Variable(_) => "variable",
            Self::Service(_) => "service",
            Self::MpiParameter(_) => "mpi-parameter",
            Self::KernelMessage { .. } => "kernel-message",
        }
    }

    /// The name within its kind: `rxe0/1` for a port, `rxe0/1/3` for a GID, empty for the guest itself.
    pub fn name(&self) -> String {
        match self {
            Self::Guest | Self::Host | Self::Switch => String::new(),
            Self::PciFunction(name)
            | Self::RdmaDevice(name)
            | Self::Netdev(name)
            | Self::Module(name)
            | Self::Package(name)
            | Self::DeviceNode(name)
            | Self::Variable(name)
            | Self::Service(name)
            | Self::MpiParameter(name)
            | Self::Uplink(name)
            | Self::VirtualSwitch(name)
            | Self::PortGroup(name)
            | Self::Vmknic(name)
            | Self::Ruleset(name)
            | Self::AdvancedSetting(name)
            | Self::KernelSetting(name)
            | Self::Vm(name)
            | Self::Group(name)
            | Self::Gpu(name)
            | Self::SwitchInterface(name) => name.to_string(),
            Self::MigInstance { gpu, instance, compute: None } => format!("{gpu}/{instance}"),
            Self::MigInstance { gpu, instance, compute: Some(compute) } => format!("{gpu}/{instance}/{compute}"),
            Self::NvLink { gpu, link } => format!("{gpu}/{link}"),
            Self::GpuProcess { gpu, process } => format!("{gpu}/{process}"),
            Self::GpuPath { from, to } => format!("{from}/{to}"),
            Self::VirtualFunction { uplink, index } => format!("{uplink}/{index}"),
            Self::SwitchPort { switch, port } => format!("{switch}/{port}"),
            Self::ModuleParameter { module, name } => format!("{module}/{name}"),
            Self::VmDevice { vm, key } => format!("{vm}/{key}"),
            Self::FileLine { file, line } => format!("{file}:{line}"),
            Self::LogMessage { log, stamp, ordinal } => format!("{log}/{stamp}/{ordinal}"),
            Self::Counter { of, name } => format!("{of}/{name}"),
            Self::RdmaPort { device, port } => format!("{device}/{port}"),
            Self::Gid { device, port, index } => format!("{device}/{port}/{index}"),
            Self::QueuePair { device, port: None, number } => format!("{device}/{number}"),
            Self::QueuePair { device, port: Some(port), number } => format!("{device}/{port}/{number}"),
            Self::NumaNode(number) | Self::Process(number) => number.to_string(),
            Self::KernelMessage { stamp, ordinal } => {
                format!("{}.{:06}/{ordinal}", stamp / 1_000_000, stamp % 1_000_000)
            }
        }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        if name.is_empty() { formatter.write_str(self.kind()) } else { write!(formatter, "{} {name}", self.kind()) }
    }
}

/// An entity and the target on which it was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntityId {
    /// Where it was seen.
    pub target: TargetId,
    /// What it is.
    pub entity: Entity,
}

impl EntityId {
    /// An entity on a target.
    pub fn new(target: &TargetId, entity: Entity) -> Self {
        Self { target: target.clone(), entity }
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.target, self.entity)
    }
}
