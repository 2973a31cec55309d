//! The closed set of values that a fact can have, in the field's own terms.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::text::Text;

/// One value. Units belong to the attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// A short text.
    Text(Text),
    /// A number that cannot be negative.
    Count(u64),
    /// A number that can be negative (a NUMA node of -1).
    Signed(i64),
    /// Yes or no.
    Flag(bool),
    /// Several short texts, in the target's order.
    List(Vec<Text>),
    /// Logical state of a port.
    PortState(PortState),
    /// Physical state of a port.
    PhysicalState(PhysicalState),
    /// Link layer of a port.
    LinkLayer(LinkLayer),
    /// A global identifier.
    Gid(Gid),
    /// Which RoCE a GID speaks.
    GidType(GidType),
    /// State of a queue pair.
    QueuePairState(QueuePairState),
    /// Type of a queue pair.
    QueuePairType(QueuePairType),
    /// A hardware address.
    Mac(MacAddress),
}

impl Value {
    /// The text, if this is one.
    pub fn as_text(&self) -> Option<&Text> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The number, if this is one that cannot be negative.
    pub fn as_count(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Signed(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Yes or no, if this is a flag.
    pub fn as_flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { Some(*flag) } else { None }
    }

    /// The texts, if this is a list.
    pub fn as_list(&self) -> Option<&[Text]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(formatter),
            Self::Count(count) => count.fmt(formatter),
            Self::Signed(number) => number.fmt(formatter),
            Self::Flag(flag) => formatter.pad(if *flag { "yes" } else { "no" }),
            Self::List(list) => formatter.pad(&list.iter().map(Text::as_str).collect::<Vec<_>>().join(", ")),
            Self::PortState(state) => state.fmt(formatter),
            Self::PhysicalState(state) => state.fmt(formatter),
            Self::LinkLayer(layer) => layer.fmt(formatter),
            Self::Gid(gid) => formatter.pad(&gid.to_string()),
            Self::GidType(kind) => kind.fmt(formatter),
            Self::QueuePairState(state) => state.fmt(formatter),
            Self::QueuePairType(kind) => kind.fmt(formatter),
            Self::Mac(address) => formatter.pad(&address.to_string()),
        }
    }
}

macro_rules! into_value {
    ($($type:ty => $variant:ident),* $(,)?) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

into_value! {
    Text => Text, u64 => Count, i64 => Signed, bool => Flag, Vec<Text> => List, PortState => PortState,
    PhysicalState => PhysicalState, LinkLayer => LinkLayer, Gid => Gid, GidType => GidType,
    QueuePairState => QueuePairState, QueuePairType => QueuePairType, MacAddress => Mac,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Text::new(text))
    }
}

impl From<u32> for Value {
    fn from(count: u32) -> Self {
        Self::Count(u64::from(count))
    }
}

/// Defines a closed list of names with one open end: what a newer kernel says is kept as it was said.
macro_rules! named_states {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal $(| $alias:literal)*),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
            /// A word this program does not know, as it was printed.
            Other(Text),
        }

        impl $name {
            /// Reads the word of `rdma`, `ibv_devinfo` or sysfs; letter case and blanks do not matter.
            pub fn from_word(word: &str) -> Self {
                let word = word.trim();
                $(if word.eq_ignore_ascii_case($text) $(|| word.eq_ignore_ascii_case($alias))* { return Self::$variant; })*
                Self::Other(Text::new(word))
            }

            /// The word as it is drawn.
            pub fn word(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(word) => word.as_str(),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.word())
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                Self::from_word(&word)
            }
        }

        impl From<$name> for String {
            fn from(state: $name) -> Self {
                state.word().to_owned()
            }
        }
    };
}

named_states! {
    /// Logical state of an RDMA port (IBTA `PortState`).
    PortState {
        /// No state change.
        Nop = "NOP",
        /// No link, or the netdev under it is down.
        Down = "DOWN",
        /// Link up, not configured by a subnet manager yet.
        Init = "INIT" | "INITIALIZING",
        /// Configured, not active yet.
        Armed = "ARMED",
        /// Carries traffic.
        Active = "ACTIVE",
        /// Active, but the link has just gone and may come back.
        ActiveDefer = "ACTIVE_DEFER",
    }
}

named_states! {
    /// Physical state of an RDMA port.
    PhysicalState {
        /// No state change.
        Nop = "NOP" | "No state change",
        /// Drives the link quiescent.
        Sleep = "SLEEP",
        /// Looks for a partner.
        Polling = "POLLING",
        /// Switched off.
        Disabled = "DISABLED",
        /// Port configuration training; `rdma` prints it as ARMED.
        Training = "TRAINING" | "ARMED" | "PortConfigurationTraining",
        /// Up.
        LinkUp = "LINK_UP" | "LinkUp",
        /// Recovers from an error.
        Recovery = "LINK_ERROR_RECOVER" | "LinkErrorRecovery" | "LINK_ERROR_RECOVERY",
        /// Under test.
        PhyTest = "PHY_TEST" | "Phy Test",
    }
}

named_states! {
    /// What an RDMA port runs on.
    LinkLayer {
        /// Ethernet: the port speaks RoCE or iWARP.
        Ethernet = "Ethernet",
        /// Native InfiniBand.
        InfiniBand = "InfiniBand",
    }
}

named_states! {
    /// Which RoCE a GID entry speaks.
    GidType {
        /// RoCE v1 (Ethertype 0x8915), or plain InfiniBand: the kernel uses one name for both.
        RoceV1 = "IB/RoCE v1" | "RoCE v1" | "v1",
        /// RoCE v2 (UDP port 4791).
        RoceV2 = "RoCE v2" | "v2",
    }
}

named_states! {
    /// State of a queue pair.
    QueuePairState {
        /// Just made.
        Reset = "RESET",
        /// Can take receive requests.
        Init = "INIT",
        /// Ready to receive.
        ReadyToReceive = "RTR",
        /// Ready to send: the connection works.
        ReadyToSend = "RTS",
        /// Send queue drained.
        SendQueueDrained = "SQD",
        /// Send queue in error.
        SendQueueError = "SQE",
        /// Broken: all requests are flushed.
        Error = "ERR",
    }
}

named_states! {
    /// Type of a queue pair.
    QueuePairType {
        /// Reliable connection.
        ReliableConnection = "RC",
        /// Unreliable connection.
        UnreliableConnection = "UC",
        /// Unreliable datagram.
        UnreliableDatagram = "UD",
        /// Subnet management interface (QP 0).
        SubnetManagement = "SMI",
        /// General services interface (QP 1), always there.
        GeneralServices = "GSI",
    }
}

/// A 128-bit global identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// True for an entry of the table that is not in use.
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 16]
    }

    /// The IPv4 address that a RoCE GID stands for, if it is a mapped one.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        Ipv6Addr::from(self.0).to_ipv4_mapped()
    }

    /// True for a GID made from the hardware address (`fe80::/10`).
    pub fn is_link_local(&self) -> bool {
        Ipv6Addr::from(self.0).is_unicast_link_local()
    }

    /// The full form of sysfs: eight groups of four hexadecimal digits.
    pub fn full(&self) -> String {
        self.0.chunks(2).map(|pair| format!("{:02x}{:02x}", pair[0], pair[1])).collect::<Vec<_>>().join(":")
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Gid({self})")
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(self.0).fmt(formatter)
    }
}

impl FromStr for Gid {
    type Err = String;

    /// Reads eight groups of hexadecimal digits (sysfs), or any form of an IPv6 address (`ibv_devinfo`).
    fn from_str(text: &str) -> Result<Self, String> {
        text.trim()
            .parse::<Ipv6Addr>()
            .map(|address| Self(address.octets()))
            .map_err(|_| format!("{:?} is not a GID", Text::new(text)))
    }
}

impl TryFrom<String> for Gid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Gid> for String {
    fn from(gid: Gid) -> Self {
        gid.to_string()
    }
}

/// A 48-bit hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = self.0.map(|octet| format!("{octet:02x}"));
        formatter.write_str(&octets.join(":"))
    }
}

impl FromStr for MacAddress {
    type Err = String;

    /// Reads six pairs of hexadecimal digits, parted by colons or hyphens.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{:?} is not a hardware address", Text::new(text));
        let mut octets = [0; 6];
        let mut parts = text.trim().split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().ok_or_else(wrong)?;
            if part.len() != 2 || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(octets)) }
    }
}

impl TryFrom<String> for MacAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<MacAddress> for String {
    fn from(address: MacAddress) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_in_all_their_spellings() {
        assert_eq!(PortState::from_word("ACTIVE"), PortState::Active);
        assert_eq!(PortState::from_word("active"), PortState::Active);
        assert_eq!(PhysicalState::from_word("LinkUp"), PhysicalState::LinkUp);
        assert_eq!(PhysicalState::from_word("ARMED"), PhysicalState::Training);
        assert_eq!(QueuePairState::from_word("ERR"), QueuePairState::Error);
        assert_eq!(GidType::from_word("IB/RoCE v1"), GidType::RoceV1);
        assert_eq!(PortState::from_word("HALF_ACTIVE"), PortState::Other(Text::new("HALF_ACTIVE")));
        assert_eq!(PortState::from_word("HALF_ACTIVE").to_string(), "HALF_ACTIVE");
    }

    #[test]
    fn gids_are_read_and_say_what_they_stand_for() {
        let mapped: Gid = "0000:0000:0000:0000:0000:ffff:c0a8:640a".parse().expect("a GID of sysfs");
        assert_eq!(mapped.ipv4(), Some(Ipv4Addr::new(192, 168, 100, 10)));
        assert_eq!(mapped.to_string(), "::ffff:192.168.100.10");
        assert_eq!(mapped.full(), "0000:0000:0000:0000:0000:ffff:c0a8:640a");
        let local: Gid = "fe80:0000:0000:0000:5054:00ff:fe00:0111".parse().expect("a GID of sysfs");
        assert!(local.is_link_local());
        assert_eq!(local.ipv4(), None);
        let empty: Gid = "0000:0000:0000:0000:0000:0000:0000:0000".parse().expect("an empty entry");
        assert!(empty.is_zero());
        assert!("fe80:0000".parse::<Gid>().is_err());
        assert!("".parse::<Gid>().is_err());
    }

    #[test]
    fn hardware_addresses_are_read_strictly() {
        let address: MacAddress = "00:50:56:B2:66:8C".parse().expect("an address");
        assert_eq!(address.to_string(), "00:50:56:b2:66:8c");
        for wrong in ["", "00:50:56:b2:66", "00:50:56:b2:66:8c:00", "0:50:56:b2:66:8c", "+0:50:56:b2:66:8c"] {
            assert!(wrong.parse::<MacAddress>().is_err(), "{wrong:?}");
        }
    }
}
