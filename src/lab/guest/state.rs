//! What is true about one machine of the lab. Every answer is rendered from this, so a change shows in all of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use jiff::Timestamp;

use super::gpus::Gpus;
use super::load::{Load, between, mix, whole};
use super::wire::{Carried, Side, Wire};
use crate::lab::machine::Login;

/// One machine.
#[derive(Debug)]
pub struct State {
    /// Host name.
    pub name: String,
    /// What all that looks drawn by chance is drawn from.
    pub seed: u64,
    /// Release and build of the kernel, as `uname -r` and `uname -v` print them.
    pub kernel: (String, String),
    /// `/etc/machine-id`.
    pub machine_id: String,
    /// BIOS UUID.
    pub uuid: String,
    /// `sys_vendor` and `product_name` of the firmware's tables.
    pub product: (String, String),
    /// Router of the management network.
    pub gateway: Ipv4Addr,
    /// The boot it lives in.
    pub boot: Boot,
    /// Its RDMA adapter.
    pub adapter: Adapter,
    /// What was loaded before the module was unloaded that makes an RDMA device of the adapter; `None` while it is loaded.
    pub unloaded: Option<Loaded>,
    /// Version of the Open MPI that logins find.
    pub open_mpi: &'static str,
    /// Its network interfaces, in the order of their indices.
    pub netdevs: Vec<Netdev>,
    /// Its PCI functions, in the order of their addresses.
    pub functions: Vec<Function>,
    /// Loaded kernel modules, as `lsmod` lists them.
    pub modules: Vec<Module>,
    /// Versions of modules that have one: name, version.
    pub module_versions: Vec<(&'static str, &'static str)>,
    /// Installed packages: name, version, and whether `dpkg-query -W` shows an architecture behind the name.
    pub packages: Vec<(&'static str, &'static str, bool)>,
    /// NUMA nodes.
    pub nodes: Vec<Node>,
    /// Kernel settings: `vm.swappiness` and the like.
    pub settings: BTreeMap<&'static str, String>,
    /// Processes that always run.
    pub processes: Vec<Process>,
    /// Files with fixed content that a person may read: path, content, mode.
    pub files: Vec<(String, String, u16)>,
    /// Environment variables of every login.
    pub environment: Vec<(String, String)>,
    /// Locked memory of a login, in bytes; `None` if it is not limited.
    pub memlock: Option<u64>,
    /// Lines of the kernel log of this boot, with the time of each in seconds since the boot.
    pub log: Vec<(f64, String)>,
    /// The path to the other machine of its pair.
    pub wire: Arc<Wire>,
    /// Which end of it this machine is.
    pub side: Side,
    /// Address and hardware address of the machine at the other end, where that one is in the lab too.
    pub peer: Option<(Ipv4Addr, String)>,
    /// What the management interface sends and receives.
    pub chatter: Load,
    /// Bare answers of VMware Tools: name of a statistic, value; none if the tools are not installed.
    pub tools: Vec<(&'static str, &'static str)>,
    /// Its passed-through GPUs; `None` if it has none.
    pub gpus: Option<Gpus>,
    /// Wall clock when the lab began.
    pub wall_began: Timestamp,
}

/// Functions with their drivers, loaded modules, and versions of those that have one.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// PCI functions.
    pub functions: Vec<Function>,
    /// Modules.
    pub modules: Vec<Module>,
    /// Name and version.
    pub versions: Vec<(&'static str, &'static str)>,
}

/// One boot.
#[derive(Clone, Debug, PartialEq)]
pub struct Boot {
    /// 0 for the one in which the lab began.
    pub number: u32,
    /// When it was, in seconds since the lab began: negative for the first one.
    pub at: f64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub id: String,
}

/// What kind of RDMA adapter a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A paravirtual one: its driver publishes no counters.
    Pvrdma,
    /// A passed-through mlx5 function.
    Mlx5,
    /// A virtual function (SR-IOV) of mlx5.
    Mlx5Vf,
}

impl Family {
    /// The driver of the PCI function.
    pub fn driver(self) -> &'static str {
        match self {
            Self::Pvrdma => "vmw_pvrdma",
            Self::Mlx5 | Self::Mlx5Vf => "mlx5_core",
        }
    }
}

/// An RDMA device with its one port.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// What it is.
    pub family: Family,
    /// Name of the device.
    pub device: String,
    /// Address of its PCI function.
    pub function: String,
    /// Place of its interface in [`State::netdevs`].
    pub netdev: usize,
    /// Node GUID, in four groups.
    pub node_guid: String,
    /// System image GUID, in four groups.
    pub system_guid: String,
    /// Firmware as sysfs tells it, without the newline.
    pub firmware: String,
    /// Firmware as the library tells it.
    pub verbs_firmware: String,
    /// `hca_type`, `board_id`, `hw_rev`.
    pub model: (String, String, String),
    /// `node_desc`.
    pub description: String,
    /// Identifiers that the library tells: vendor, part (decimal), hardware version.
    pub verbs_identity: (String, u32, String),
    /// Capabilities that `rdma -d dev` lists.
    pub capabilities: Vec<&'static str>,
    /// `cap_mask` of the port.
    pub capability_mask: String,
    /// Rate of the port in sysfs: while active, and while down.
    pub rates: (&'static str, &'static str),
    /// Width and speed of the port as the library tells them while it is active.
    pub verbs_rate: (&'static str, &'static str),
    /// Length of the GID table.
    pub gid_entries: usize,
    /// Types of each address in the GID table.
    pub gid_types: Vec<&'static str>,
    /// Whether interrupts are moderated by the device.
    pub adaptive_moderation: bool,
}

/// A network interface.
#[derive(Clone, Debug)]
pub struct Netdev {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its hardware address.
    pub mac: String,
    /// MTU now, least and greatest.
    pub mtu: (u64, u64, u64),
    /// Whether it is administratively up.
    pub admin_up: bool,
    /// Whether its link is up.
    pub carrier: bool,
    /// Its driver; none for loopback.
    pub driver: Option<Driver>,
    /// Address of its PCI function.
    pub function: Option<String>,
    /// Path between the function and `net/`: a virtio device has one more folder.
    pub bus_device: Option<(&'static str, String)>,
    /// Addresses, in the order in which `ip` shows them.
    pub addresses: Vec<Address>,
    /// Other names.
    pub other_names: Vec<String>,
    /// Speed in Mb/s; -1 if it is not known.
    pub speed: i64,
    /// Queues: transmit, receive.
    pub queues: (u32, u32),
    /// Queueing discipline.
    pub discipline: &'static str,
    /// What had been counted when the lab began.
    pub counted: NetCounters,
}

impl Netdev {
    /// True if packets can flow.
    pub fn is_running(&self) -> bool {
        self.admin_up && self.carrier
    }

    /// True for the loopback interface.
    pub fn is_loopback(&self) -> bool {
        self.name == "lo"
    }
}

/// Driver of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub name: &'static str,
    /// Its version, as `ethtool -i` prints it.
    pub version: String,
    /// Firmware, as `ethtool -i` prints it.
    pub firmware: String,
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub address: IpAddr,
    /// Length of its network prefix.
    pub prefix: u8,
    /// `global`, `link`, `site` or `host`.
    pub scope: &'static str,
    /// Learned from a router: valid and preferred for these seconds.
    pub lifetimes: Option<(u32, u32)>,
}

/// A PCI function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// `0000:0b:00.0`.
    pub address: String,
    /// Name of its class.
    pub class_name: &'static str,
    /// Its class, with the programming interface.
    pub class: u32,
    /// Name of vendor and device.
    pub name: &'static str,
    /// Vendor and device.
    pub ids: (u16, u16),
    /// Revision; 0 is not shown.
    pub revision: u8,
    /// Name of the subsystem, and its two identifiers.
    pub subsystem: Option<(&'static str, u16, u16)>,
    /// Driver that has it.
    pub driver: Option<&'static str>,
    /// Modules that could have it.
    pub modules: Vec<&'static str>,
    /// PCIe link: speed and width now, speed and width at most.
    pub link: Option<(&'static str, u32, &'static str, u32)>,
}

/// A loaded module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// How often it is in use.
    pub uses: u32,
    /// Which modules use it, separated by commas.
    pub users: &'static str,
}

/// A NUMA node.
#[derive(Clone, Debug)]
pub struct Node {
    /// First and last processor.
    pub processors: (u32, u32),
    /// Memory and free memory in KiB.
    pub kibibytes: (u64, u64),
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name: 15 letters at most.
    pub command: String,
    /// Its locked memory limit in bytes; `None` if it is not limited.
    pub memlock: Option<u64>,
    /// True if it is root's.
    pub is_roots: bool,
}

/// Counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetCounters {
    /// Octets received, sent.
    pub bytes: (u64, u64),
    /// Packets received, sent.
    pub packets: (u64, u64),
    /// Packets received with a multicast address.
    pub multicast: u64,
}

/// A state as it is at one moment, seen by one login.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The machine.
    pub state: &'a State,
    /// Seconds since the lab began.
    pub now: f64,
    /// Who asks.
    pub login: &'a Login,
}

impl State {
    /// This state at a moment, for a login.
    pub fn at<'a>(&'a self, now: f64, login: &'a Login) -> Moment<'a> {
        Moment { state: self, now, login }
    }

    /// True if the adapter has its RDMA device.
    pub fn has_device(&self) -> bool {
        self.unloaded.is_none()
    }

    /// The interface of the RDMA adapter.
    pub fn rdma_netdev(&self) -> &Netdev {
        &self.netdevs[self.adapter.netdev]
    }

    /// The interface of this name.
    pub fn netdev(&self, name: &str) -> Option<&Netdev> {
        self.netdevs.iter().find(|netdev| netdev.name == name || netdev.other_names.iter().any(|other| other == name))
    }

    /// Number of processors.
    pub fn processors(&self) -> u32 {
        self.nodes.iter().map(|node| node.processors.1 + 1).max().unwrap_or(1)
    }

    /// The GID table: value, type, netdev; entries that are not in use are not here.
    pub fn gids(&self) -> Vec<(IpAddr, &'static str)> {
        let netdev = self.rdma_netdev();
        let mut addresses: Vec<IpAddr> = netdev.addresses.iter().map(|address| address.address).collect();
        // The kernel fills the default identifier (link-local) first, then what is configured.
        addresses.sort_by_key(|address| match address {
            IpAddr::V6(v6) if v6.segments()[0] == 0xfe80 => 0,
            IpAddr::V4(_) => 1,
            IpAddr::V6(_) => 2,
        });
        addresses
            .into_iter()
            .flat_map(|address| self.adapter.gid_types.iter().map(move |kind| (address, *kind)))
            .take(self.adapter.gid_entries)
            .collect()
    }
}

impl Moment<'_> {
    /// Seconds since the boot.
    pub fn uptime(&self) -> f64 {
        (self.now - self.state.boot.at).max(0.0)
    }

    /// The wall clock.
    pub fn wall(&self) -> Timestamp {
        let millis = i64::try_from(whole(self.now * 1000.0)).unwrap_or(0);
        Timestamp::from_millisecond(self.state.wall_began.as_millisecond().saturating_add(millis))
            .unwrap_or(self.state.wall_began)
    }

    /// The wall clock of the boot.
    pub fn booted(&self) -> Timestamp {
        let at = jiff::SignedDuration::from_secs_f64(self.state.boot.at);
        self.state.wall_began.checked_add(at).unwrap_or(self.state.wall_began)
    }

    /// True if the port of the RDMA adapter is active.
    pub fn is_active(&self) -> bool {
        self.state.rdma_netdev().is_running()
    }

    /// What went over the path since the boot.
    pub fn carried(&self) -> Carried {
        let State { wire, side, boot, .. } = self.state;
        let mut carried = wire.carried(*side, boot.at.max(0.0), self.now);
        if boot.number == 0 {
            let before = wire.before(*side, -boot.at);
            carried.sent_bytes += before.sent_bytes;
            carried.received_bytes += before.received_bytes;
            carried.sent_packets += before.sent_packets;
            carried.received_packets += before.received_packets;
        }
        carried
    }

    /// Octets that the management interface has counted since the boot.
    pub fn chatter(&self) -> f64 {
        let State { chatter, boot, .. } = self.state;
        let before = if boot.number == 0 { chatter.mean() * -boot.at } else { 0.0 };
        before + chatter.total(self.now) - chatter.total(boot.at)
    }

    /// A number of this machine that looks drawn by chance and stays, from `low` to `high`.
    pub fn drawn(&self, index: u64, low: u64, high: u64) -> u64 {
        between(self.state.seed, index, low, high)
    }
}

/// An identifier as `/proc/sys/kernel/random/boot_id` shows it: version 4.
pub fn uuid(seed: u64, index: u64) -> String {
    let (high, low) = (mix(seed, index), mix(seed, index.wrapping_add(0x5eed)));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0x0fff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}

/// The scope that the kernel gives to an address.
pub fn scope(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(v4) if v4.is_loopback() => "host",
        IpAddr::V6(v6) if v6.is_loopback() => "host",
        IpAddr::V6(v6) if v6.segments()[0] == 0xfe80 => "link",
        IpAddr::V6(v6) if v6.segments()[0] == 0xfec0 => "site",
        _ => "global",
    }
}
