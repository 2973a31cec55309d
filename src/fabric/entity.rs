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
    /// One kernel message that matters, by its stamp (microseconds since boot) and its number among equal stamps.
    KernelMessage {
        /// Microseconds since boot.
        stamp: u64,
        /// Number among messages of the same stamp, from 0.
        ordinal: u32,
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
            Self::PciFunction(_) => "pci-function",
            Self::RdmaDevice(_) => "rdma-device",
            Self::RdmaPort { .. } => "rdma-port",
            Self::Gid { .. } => "gid",
            Self::QueuePair { .. } => "queue-pair",
            Self::Netdev(_) => "netdev",
            Self::NumaNode(_) => "numa-node",
            Self::Process(_) => "process",
            Self::Module(_) => "module",
            Self::Package(_) => "package",
            Self::DeviceNode(_) => "device-node",
            Self::Variable(_) => "variable",
            Self::KernelMessage { .. } => "kernel-message",
        }
    }

    /// The name within its kind: `rxe0/1` for a port, `rxe0/1/3` for a GID, empty for the guest itself.
    pub fn name(&self) -> String {
        match self {
            Self::Guest => String::new(),
            Self::PciFunction(name)
            | Self::RdmaDevice(name)
            | Self::Netdev(name)
            | Self::Module(name)
            | Self::Package(name)
            | Self::DeviceNode(name)
            | Self::Variable(name) => name.to_string(),
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
