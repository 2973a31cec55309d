//! What is known of one guest that matters to a job on it: its RDMA ports, its MPI and UCX, its limits, and where the host
//! has the adapter. What is not known is `None`, never zero.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::fabric::{Attribute, Entity, EntityId, Fabric, Gid, GidType, LinkLayer, PortState, TargetId, Text, Value};
use crate::tune::ucx;

/// What an RDMA adapter is to UCX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Adapter {
    /// VMware's paravirtual adapter.
    Pvrdma,
    /// An adapter of mlx5 that is passed through, or a virtual function of one.
    Mlx5,
    /// Another adapter that is passed through.
    Other,
    /// A device that the kernel makes in software: rxe, siw.
    Software,
    /// Nothing tells.
    Unclear,
}

impl Adapter {
    /// It in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Pvrdma => "a PVRDMA adapter",
            Self::Mlx5 => "an mlx5 adapter",
            Self::Other => "an adapter that is passed through",
            Self::Software => "a device that the kernel makes in software",
            Self::Unclear => "a device of a kind that nothing tells",
        }
    }
}

/// One filled entry of the GID table of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the table.
    pub index: u32,
    /// It in words: `RoCE v2 192.168.100.11`.
    pub words: String,
    /// True for RoCE v2 over IPv4, which can be routed and carries a class of traffic.
    pub is_v2_of_ipv4: bool,
    /// The IPv4 address in it.
    pub address: Option<IpAddr>,
}

/// One RDMA port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The device, `rocep27s0f1`.
    pub device: String,
    /// The number of the port, from 1.
    pub number: u32,
    /// What the device is.
    pub adapter: Adapter,
    /// True for native InfiniBand, which needs no GID index.
    pub is_infiniband: bool,
    /// Whether it is ACTIVE.
    pub is_active: Option<bool>,
    /// The interface under it.
    pub netdev: Option<String>,
    /// The filled entries of its GID table, by index.
    pub gids: Vec<Entry>,
    /// Shared receive queues that the device has at most (`max_srq`).
    pub shared_queues: Option<u64>,
    /// Work requests that one of them has at most (`max_srq_wr`).
    pub shared_requests: Option<u64>,
    /// The NUMA node that the guest's own kernel says; `Some(None)` where it says -1.
    pub node: Option<Option<u32>>,
}

impl Port {
    /// It as UCX names it: `rocep27s0f1:1`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.device, self.number)
    }

    /// The entry that a job should take: RoCE v2 with an IPv4 address, the first one.
    pub fn gid(&self) -> Option<&Entry> {
        self.gids.iter().find(|entry| entry.is_v2_of_ipv4)
    }
}

/// One NUMA node of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub number: u32,
    /// Its processors as the kernel lists them, `0-3`.
    pub processors: Option<String>,
}

/// What the host of a VM says of where things are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSide {
    /// The host.
    pub host: String,
    /// The adapter's function there, `0000:3b:00.0`, where the chain of links reaches one.
    pub function: Option<String>,
    /// The NUMA node of the host that really holds the adapter.
    pub node: Option<u32>,
    /// How many nodes the host has.
    pub nodes: Option<u64>,
    /// To which nodes the VM is bound (`numa.nodeAffinity`).
    pub bound: Option<String>,
    /// On which nodes the VM runs as `esxtop` sees it; empty where no stream tells.
    pub homes: Vec<u32>,
}

/// One guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The target.
    pub guest: TargetId,
    /// What the guest calls itself.
    pub hostname: Option<String>,
    /// Its RDMA ports, in the order of their names.
    pub ports: Vec<Port>,
    /// Version of Open MPI; `Some("")` never.
    pub open_mpi: Option<String>,
    /// Components of Open MPI, `pml ucx`.
    pub components: Option<Vec<String>>,
    /// Version of UCX.
    pub ucx: Option<String>,
    /// Transports that UCX can open, each with its device.
    pub transports: Option<Vec<(String, String)>>,
    /// The variable that says how deep the receive queue of plain RC is, as this guest's UCX names it, with its value.
    pub receive_queue: Option<(String, Option<u64>)>,
    /// Variables of the login that steer UCX, MPI and NCCL.
    pub variables: BTreeMap<String, String>,
    /// Locked memory, soft limit, in bytes; `u64::MAX` is unlimited.
    pub memlock: Option<u64>,
    /// True if the login is root, which limits do not bind and which `mpirun` refuses unless told otherwise.
    pub is_root: bool,
    /// Transparent huge pages: the chosen word, and that of their defragmentation.
    pub huge_pages: (Option<String>, Option<String>),
    /// Number of processors.
    pub processors: Option<u64>,
    /// NUMA nodes, by number.
    pub nodes: Vec<Node>,
    /// Interfaces with the addresses that reach beyond their own link, each with the length of its prefix.
    pub interfaces: Vec<(String, Vec<(IpAddr, u8)>)>,
    /// How many GPUs there are.
    pub gpus: usize,
    /// What the host says, where it is a target, too.
    pub host: Option<HostSide>,
}

impl Side {
    /// What is known of a guest. The host's word is for those to add who joined the two.
    pub fn of(fabric: &Fabric, guest: &TargetId) -> Self {
        let id = EntityId::new(guest, Entity::Guest);
        let text = |attribute| known_text(fabric, &id, attribute);
        let count = |attribute| fabric.value(&id, attribute).and_then(Value::as_count);
        let list = |attribute| {
            let list = fabric.value(&id, attribute)?.as_list()?;
            Some(list.iter().map(|one| one.as_str().to_owned()).collect::<Vec<_>>())
        };
        let transports: Option<Vec<(String, String)>> = list(Attribute::UcxTransports).map(|list| {
            let parted = list.iter().filter_map(|one| one.split_once(' '));
            parted.map(|(transport, device)| (transport.to_owned(), device.to_owned())).collect()
        });
        let gpus = fabric.of_kind(guest, Entity::Gpu(Text::new(""))).count();
        Self {
            guest: guest.clone(),
            hostname: text(Attribute::Hostname),
            ports: ports(fabric, guest),
            open_mpi: text(Attribute::OpenMpiVersion),
            components: list(Attribute::MpiComponents),
            ucx: text(Attribute::UcxVersion),
            transports,
            receive_queue: receive_queue(fabric, guest),
            variables: variables(fabric, guest),
            memlock: count(Attribute::MemlockSoft),
            is_root: count(Attribute::LoginUserId) == Some(0) || text(Attribute::LoginUserId).as_deref() == Some("0"),
            huge_pages: (text(Attribute::TransparentHugePages), text(Attribute::TransparentHugePageDefrag)),
            processors: count(Attribute::ProcessorCount),
            nodes: nodes(fabric, guest),
            interfaces: interfaces(fabric, guest),
            gpus,
            host: None,
        }
    }

    /// The name by which a launcher on another guest calls it.
    pub fn name(&self) -> &str {
        self.hostname.as_deref().unwrap_or_else(|| self.guest.as_str())
    }

    /// True if Open MPI was built with a component, `pml ucx`; `None` if its components are not known.
    pub fn has_component(&self, component: &str) -> Option<bool> {
        Some(self.components.as_ref()?.iter().any(|one| one == component))
    }

    /// True if UCX lists a transport on an RDMA port; `None` if its list is not known.
    pub fn has_transport(&self, transport: &str) -> Option<bool> {
        Some(self.transports.as_ref()?.iter().any(|(one, _)| one == transport))
    }

    /// The port that a job is to use: active before others, one whose interface shares a network with the other guests'
    /// before others, hardware before software.
    pub fn port(&self, others: &[Self]) -> Option<&Port> {
        let meets = |port: &Port| {
            let own = port.netdev.iter().flat_map(|netdev| self.addresses(netdev));
            own.clone().any(|own| {
                others.iter().filter(|other| other.guest != self.guest).any(|other| {
                    let theirs = other.ports.iter().filter_map(|port| port.netdev.as_deref());
                    theirs.flat_map(|netdev| other.addresses(netdev)).any(|(address, _)| holds(own, address))
                })
            })
        };
        let rank = |port: &&Port| {
            (port.is_active == Some(false), !meets(port) && !port.is_infiniband, port.adapter == Adapter::Software)
        };
        self.ports.iter().min_by_key(rank)
    }

    /// The addresses of an interface, with the length of their prefix.
    pub fn addresses(&self, netdev: &str) -> impl Iterator<Item = (IpAddr, u8)> + Clone + '_ {
        let netdev = netdev.to_owned();
        self.interfaces.iter().filter(move |(name, _)| *name == netdev).flat_map(|(_, addresses)| addresses.clone())
    }
}

/// True if an address lies in the network of another one.
pub fn holds((network, length): (IpAddr, u8), address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let ((one, width), (other, other_width)) = (bits(network), bits(address));
    let mask = u128::MAX.checked_shl(128 - u32::from(length.min(width))).unwrap_or(0);
    width == other_width && one & mask == other & mask
}

fn known_text(fabric: &Fabric, id: &EntityId, attribute: Attribute) -> Option<String> {
    fabric.text(id, attribute).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn variables(fabric: &Fabric, guest: &TargetId) -> BTreeMap<String, String> {
    let all = fabric.of_kind(guest, Entity::Variable(Text::new("")));
    all.filter_map(|entity| {
        let Entity::Variable(name) = entity else { return None };
        let value = known_text(fabric, &EntityId::new(guest, entity.clone()), Attribute::VariableValue)?;
        Some((name.as_str().to_owned(), value))
    })
    .collect()
}

fn receive_queue(fabric: &Fabric, guest: &TargetId) -> Option<(String, Option<u64>)> {
    let mut all = fabric.of_kind(guest, Entity::MpiParameter(Text::new("")));
    all.find_map(|entity| {
        let Entity::MpiParameter(name) = entity else { return None };
        let value = fabric.text(&EntityId::new(guest, entity.clone()), Attribute::SettingValue)?;
        ucx::is_receive_queue(name.as_str()).then(|| (name.as_str().to_owned(), value.trim().parse().ok()))
    })
}

fn nodes(fabric: &Fabric, guest: &TargetId) -> Vec<Node> {
    let all = fabric.of_kind(guest, Entity::NumaNode(0));
    let mut nodes: Vec<Node> = all
        .filter_map(|entity| {
            let Entity::NumaNode(number) = entity else { return None };
            let id = EntityId::new(guest, entity.clone());
            Some(Node { number: *number, processors: known_text(fabric, &id, Attribute::NodeProcessors) })
        })
        .collect();
    nodes.sort_by_key(|node| node.number);
    nodes
}

fn interfaces(fabric: &Fabric, guest: &TargetId) -> Vec<(String, Vec<(IpAddr, u8)>)> {
    let all = fabric.of_kind(guest, Entity::Netdev(Text::new("")));
    all.filter_map(|entity| {
        let Entity::Netdev(name) = entity else { return None };
        let listed = fabric.value(&EntityId::new(guest, entity.clone()), Attribute::Addresses).and_then(Value::as_list);
        let parted = listed.unwrap_or_default().iter().filter_map(|text| {
            let (address, length) = text.as_str().split_once('/')?;
            Some((address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?))
        });
        let reaches = |(address, _): &(IpAddr, u8)| match address {
            IpAddr::V4(address) => !address.is_link_local() && !address.is_loopback(),
            IpAddr::V6(address) => !address.is_unicast_link_local() && !address.is_loopback(),
        };
        Some((name.as_str().to_owned(), parted.filter(reaches).collect()))
    })
    .collect()
}

fn ports(fabric: &Fabric, guest: &TargetId) -> Vec<Port> {
    let all = fabric.of_kind(guest, Entity::RdmaPort { device: Text::new(""), port: 0 });
    all.filter_map(|entity| {
        let Entity::RdmaPort { device, port } = entity else { return None };
        let id = EntityId::new(guest, entity.clone());
        let of_device = EntityId::new(guest, Entity::RdmaDevice(device.clone()));
        let count = |attribute| fabric.value(&of_device, attribute).and_then(Value::as_count);
        let function = fabric.text(&of_device, Attribute::PciAddress).filter(|address| !address.is_empty());
        let function = function.map(|address| EntityId::new(guest, Entity::PciFunction(address.into())));
        let node = function.as_ref().and_then(|id| fabric.value(id, Attribute::NumaNode));
        let node = node.and_then(|node| node.to_string().parse::<i64>().ok()).map(|node| u32::try_from(node).ok());
        Some(Port {
            device: device.as_str().to_owned(),
            number: *port,
            adapter: adapter(fabric, &of_device, function.as_ref()),
            is_infiniband: matches!(
                fabric.value(&id, Attribute::LinkLayer),
                Some(Value::LinkLayer(LinkLayer::InfiniBand))
            ),
            is_active: match fabric.value(&id, Attribute::PortState) {
                Some(Value::PortState(state)) => Some(matches!(state, PortState::Active | PortState::ActiveDefer)),
                _ => None,
            },
            netdev: known_text(fabric, &id, Attribute::PortNetdev),
            gids: gids(fabric, guest, device, *port),
            shared_queues: count(Attribute::MaxSharedQueues),
            shared_requests: count(Attribute::MaxSharedRequests),
            node,
        })
    })
    .collect()
}

/// By its PCI function, else by its driver, model and name.
fn adapter(fabric: &Fabric, device: &EntityId, function: Option<&EntityId>) -> Adapter {
    let of = |id: Option<&EntityId>, attribute| {
        id.and_then(|id| fabric.text(id, attribute)).unwrap_or_default().to_ascii_lowercase()
    };
    let driver = of(function, Attribute::Driver);
    let driver = if driver.is_empty() { of(Some(device), Attribute::Driver) } else { driver };
    let name = device.entity.name();
    if driver == "vmw_pvrdma"
        || (of(function, Attribute::VendorId) == "15ad" && of(function, Attribute::DeviceId) == "0820")
        || of(Some(device), Attribute::HardwareType).contains("pvrdma")
        || name.starts_with("vmw_pvrdma")
    {
        return Adapter::Pvrdma;
    }
    if driver.starts_with("mlx5") || name.starts_with("mlx5_") {
        return Adapter::Mlx5;
    }
    if ["rxe", "siw"].iter().any(|kind| driver == *kind || name.starts_with(kind)) || driver.starts_with("rdma_rxe") {
        return Adapter::Software;
    }
    if function.is_some() { Adapter::Other } else { Adapter::Unclear }
}

fn gids(fabric: &Fabric, guest: &TargetId, device: &Text, port: u32) -> Vec<Entry> {
    let all = fabric.of_kind(guest, Entity::Gid { device: device.clone(), port, index: 0 });
    let mut entries: Vec<Entry> = all
        .filter_map(|entity| {
            let Entity::Gid { device: of, port: at, index } = entity else { return None };
            let id = EntityId::new(guest, entity.clone());
            let Some(Value::Gid(gid)) = fabric.value(&id, Attribute::GidValue) else { return None };
            let kind = match fabric.value(&id, Attribute::GidType) {
                Some(Value::GidType(kind)) => Some(kind),
                _ => None,
            };
            (of == device && *at == port).then(|| entry(*index, *gid, kind))
        })
        .collect();
    entries.sort_by_key(|entry| entry.index);
    entries
}

fn entry(index: u32, gid: Gid, kind: Option<&GidType>) -> Entry {
    let kind_words = kind.map_or("unknown type", GidType::word);
    let words = match gid.ipv4() {
        Some(address) => format!("{kind_words} {address}"),
        None => format!("{kind_words} {gid}"),
    };
    Entry {
        index,
        words,
        is_v2_of_ipv4: kind == Some(&GidType::RoceV2) && gid.ipv4().is_some(),
        address: gid.ipv4().map(IpAddr::V4),
    }
}
