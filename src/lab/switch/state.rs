//! What a switch of the lab is at a moment: its ports, how they are set, what is plugged into them and what they counted.

use crate::lab::guest::Identity;
use crate::lab::guest::load::{mix, whole};
use crate::lab::host::cables::NearEnd;

/// The VLAN of RDMA, and a list of a trunk with it and without.
pub const VLAN: u16 = crate::lab::host::VLAN;
const TRUNK: &str = "1,100,200";
const TRUNK_WITHOUT: &str = "1,200";

/// The priority without loss of the whole site, and another one.
const LOSSLESS: u8 = 3;
const OTHER_LOSSLESS: u8 = 4;

/// MTU of a port for large frames, by system, and without.
const JUMBO: [u32; 2] = [9214, 9216];
const SMALL: u32 = 1500;

/// Octets of a frame, on average.
const FRAME: u64 = 1870;

/// What is plugged into a port, as it tells by LLDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Type and value of its chassis id.
    pub chassis: (&'static str, String),
    /// Type and value of its port id.
    pub port: (&'static str, String),
    /// What it says of its port.
    pub description: String,
    /// What it calls itself; nothing where it says nothing.
    pub name: &'static str,
    /// What it says of its system.
    pub system: String,
    /// Its management address.
    pub address: String,
}

/// How a port treats VLANs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vlans {
    /// It lets these pass.
    Trunk(&'static str),
    /// It belongs to this one.
    Access(u16),
}

/// What a port counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Octets that came in and went out.
    pub octets: (u64, u64),
    /// Frames that came in garbled.
    pub errors: u64,
    /// Frames of priority flow control that came in and went out.
    pub pauses: (u64, u64),
    /// Frames that were marked.
    pub marked: u64,
}

impl Port {
    /// The class that is set up for RDMA, whether its flow control is on or not.
    pub fn class(&self) -> u8 {
        self.pfc.unwrap_or(LOSSLESS)
    }
}

impl Counted {
    /// Frames that came in and went out.
    pub fn frames(&self) -> (u64, u64) {
        (self.octets.0 / FRAME, self.octets.1 / FRAME)
    }
}

/// One port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its full name.
    pub name: String,
    /// What someone wrote beside it.
    pub description: String,
    /// Its hardware address, twelve digits.
    pub mac: u64,
    /// True if it is switched on.
    pub enabled: bool,
    /// True if it has a link.
    pub up: bool,
    /// Bits per second.
    pub speed: u64,
    /// MTU.
    pub mtu: u32,
    /// Its VLANs; `None` for the management port.
    pub vlans: Option<Vlans>,
    /// The priority without loss; `None` where flow control is off.
    pub pfc: Option<u8>,
    /// True if the queue of its class without loss marks congestion.
    pub ecn: bool,
    /// What is plugged in and tells of itself.
    pub neighbour: Option<Neighbour>,
    /// What it counted.
    pub counted: Counted,
}

/// What a switch is made of.
pub struct Plan<'a> {
    /// 0 for the first switch.
    pub index: usize,
    /// What everything that is drawn is drawn from.
    pub seed: u64,
    /// Number of the first of its ports that has a cable.
    pub first: u32,
    /// What is plugged in of the host.
    pub near_ends: [Option<NearEnd>; 2],
    /// Whose passed-through HCA is plugged in.
    pub guest: Option<&'a Identity>,
    /// Seconds since the lab began, and since the switch was booted.
    pub now: f64,
    /// The latter.
    pub up: f64,
    /// Errors that the port of the host counted.
    pub errors: f64,
    /// Flow control is off at the port of the host.
    pub pfc_off: bool,
    /// Another priority is lossless.
    pub other_priority: bool,
    /// Nothing is marked.
    pub ecn_off: bool,
    /// A small MTU.
    pub small_mtu: bool,
    /// The VLAN is not let through.
    pub no_vlan: bool,
}

/// A switch at a moment.
#[derive(Clone, Debug)]
pub struct State {
    /// Its name.
    pub name: &'static str,
    /// What everything that is drawn is drawn from.
    pub seed: u64,
    /// Its ports, the one of management last.
    pub ports: Vec<Port>,
    /// Seconds since it was booted.
    pub up: f64,
    /// Its base hardware address.
    pub mac: u64,
}

/// Base hardware addresses of the switches.
const MACS: [u64; 2] = [0x2899_3a4c_1000, 0x00be_755b_f1a0];

impl State {
    /// The switch of this plan.
    pub fn of(plan: &Plan<'_>) -> Self {
        let index = plan.index;
        let full = |number: u32| if index == 0 { format!("Ethernet{number}/1") } else { format!("Ethernet1/{number}") };
        let blank = |number: u32, description: String| Port {
            name: full(number),
            description,
            mac: MACS[index] + u64::from(number) * 4,
            enabled: true,
            up: false,
            speed: 100_000_000_000,
            mtu: JUMBO[index],
            vlans: Some(Vlans::Trunk(TRUNK)),
            pfc: Some(LOSSLESS),
            ecn: true,
            neighbour: None,
            counted: Counted::default(),
        };
        let mut ports = Vec::new();
        for (near_end, number) in plan.near_ends.iter().zip(plan.first..) {
            let place = number - plan.first;
            let what = near_end.as_ref().map_or_else(
                || format!("{} vmnic{}", ["esx01", "esx02"][index], 2 + place),
                |end| format!("{} {}", end.host, end.uplink),
            );
            let mut port = blank(number, what);
            if let Some(end) = near_end.as_ref().filter(|end| end.up) {
                port.up = true;
                port.speed = end.speed;
                port.counted.octets = end.octets;
                port.neighbour = Some(of_host(end));
            }
            ports.push(port);
        }
        let mut own = blank(plan.first + 2, String::new());
        own.vlans = Some(Vlans::Access(VLAN));
        if let Some(guest) = plan.guest {
            own.description = format!("{} (passed through)", guest.name);
            own.up = true;
            let (before, since) =
                (guest.wire.before(guest.side, plan.up), guest.wire.carried(guest.side, 0.0, plan.now));
            let sum = |one: f64, other: f64| whole(one + other);
            own.counted.octets =
                (sum(before.sent_bytes, since.sent_bytes), sum(before.received_bytes, since.received_bytes));
            // A busy adapter asks for a pause now and then, and its queue marks a frame in some millions.
            own.counted.pauses = (own.counted.octets.1 / 40_000_000_000, 0);
            own.counted.marked = own.counted.octets.1 / 9_000_000_000;
            own.neighbour = guest.macs.get(1).map(|mac| of_adapter(mac));
        }
        ports.push(own);
        let mut unused = blank(plan.first + 3, String::new());
        unused.enabled = index == 0;
        unused.vlans = Some(Vlans::Access(1));
        unused.pfc = None;
        ports.push(unused);
        strike(plan, &mut ports);
        let between = blank(31 + 18 * u32::from(index == 1), String::new());
        ports.push(between_switches(plan, between, &ports));
        ports.push(management(index, blank(0, String::new()), plan.up));
        Self { name: super::NAMES[index], seed: plan.seed, ports, up: plan.up, mac: MACS[index] }
    }
}

/// Does to the first port, that of the host, what the switch suffers.
fn strike(plan: &Plan<'_>, ports: &mut [Port]) {
    // NX-OS sets the lossless class and the marking of all ports by one policy of the system.
    let of_policy = if plan.index == 1 { ports.len() } else { 1 };
    for port in ports.iter_mut().take(of_policy) {
        if plan.other_priority {
            port.pfc = port.pfc.map(|_| OTHER_LOSSLESS);
        }
        port.ecn &= !plan.ecn_off;
    }
    let Some(port) = ports.first_mut() else { return };
    port.counted.errors = whole(plan.errors);
    if plan.pfc_off {
        port.pfc = None;
    }
    if plan.small_mtu {
        port.mtu = SMALL;
    }
    if plan.no_vlan {
        port.vlans = Some(Vlans::Trunk(TRUNK_WITHOUT));
    }
}

/// Source: published outputs of `show lldp neighbors detail` with ESXi hosts: the chassis id is the name of the uplink, the
/// port id its hardware address.
fn of_host(end: &NearEnd) -> Neighbour {
    Neighbour {
        chassis: ("interfaceName", end.uplink.to_owned()),
        port: ("macAddress", dotted(digits(&end.mac))),
        description: end.switch.map_or(String::new(), |switch| {
            let port = u8::from(end.uplink == "vmnic3");
            format!("port {port} on dvSwitch {switch} (etherswitch)")
        }),
        name: end.host,
        system: format!("VMware ESX Releasebuild-{}", end.build),
        address: end.address.clone(),
    }
}

/// What the firmware of an adapter tells by itself, whoever drives it: its hardware address.
fn of_adapter(mac: &str) -> Neighbour {
    Neighbour {
        chassis: ("macAddress", dotted(digits(mac))),
        port: ("macAddress", dotted(digits(mac))),
        description: String::new(),
        name: "",
        system: String::new(),
        address: String::new(),
    }
}

fn between_switches(plan: &Plan<'_>, mut port: Port, ports: &[Port]) -> Port {
    let index = plan.index;
    let far = 1 - index;
    if index == 1 {
        // What holds for the system holds here too.
        port.pfc = Some(if plan.other_priority { OTHER_LOSSLESS } else { LOSSLESS });
        port.ecn = !plan.ecn_off;
    }
    let (incoming, outgoing) = ports.iter().fold((0, 0), |(incoming, outgoing), port| {
        (incoming + port.counted.octets.1, outgoing + port.counted.octets.0)
    });
    let far_port = if far == 0 { "Ethernet31/1" } else { "Ethernet1/49" };
    let systems = [
        "Arista Networks EOS version 4.31.2F running on an Arista Networks DCS-7060CX2-32S",
        "Cisco Nexus Operating System (NX-OS) Software 10.3(4a)",
    ];
    Port {
        description: format!("{} {far_port}", super::NAMES[far]),
        up: true,
        neighbour: Some(Neighbour {
            chassis: ("macAddress", dotted(MACS[far])),
            port: ("interfaceName", far_port.to_owned()),
            description: format!("{} {}", super::NAMES[index], port.name),
            name: super::NAMES[far],
            system: systems[far].to_owned(),
            address: format!("10.20.0.{}", 2 + far),
        }),
        counted: Counted { octets: (incoming, outgoing), ..Counted::default() },
        ..port
    }
}

fn management(index: usize, port: Port, up: f64) -> Port {
    Port {
        name: if index == 0 { "Management1" } else { "mgmt0" }.to_owned(),
        up: true,
        speed: 1_000_000_000,
        mtu: 1500,
        vlans: None,
        pfc: None,
        ecn: false,
        counted: Counted { octets: (whole(up * 820.0), whole(up * 2310.0)), ..Counted::default() },
        ..port
    }
}

/// The digits of a hardware address as a number.
fn digits(mac: &str) -> u64 {
    let digits: String = mac.chars().filter(char::is_ascii_hexdigit).collect();
    u64::from_str_radix(&digits, 16).unwrap_or(0)
}

/// `0c42.a17c.2010`.
pub fn dotted(mac: u64) -> String {
    format!("{:04x}.{:04x}.{:04x}", mac >> 32 & 0xffff, mac >> 16 & 0xffff, mac & 0xffff)
}

/// `0c:42:a1:7c:20:10`.
pub fn colons(mac: u64) -> String {
    (0..6).rev().map(|place| format!("{:02x}", mac >> (8 * place) & 0xff)).collect::<Vec<_>>().join(":")
}

/// How often the link of a port has changed since the boot: as often as cables are moved.
pub fn changes(state: &State, port: &Port) -> u64 {
    1 + 2 * (mix(state.seed, port.mac) % 3)
}
