//! Capture: PVRDMA guest, `rdma` of iproute2 6.1 in text and JSON (tests/fixtures/pvrdma-guest, 02 to 12), and soft-RoCE
//! guests for user queue pairs and `rdma statistic` (tests/fixtures/soft-roce). Each line ends with a blank.

use super::Json;
use crate::lab::guest::queue_pairs::QueuePair;
use crate::lab::guest::templates::Append as _;

type Fields = Vec<(&'static str, Json)>;

/// What `rdma link show` tells of a port.
#[derive(Clone, Debug)]
pub struct Link<'a> {
    /// The device.
    pub device: &'a str,
    /// `ACTIVE`, `DOWN`.
    pub state: &'a str,
    /// `LINK_UP`, `DISABLED`.
    pub physical: &'a str,
    /// The interface and its index.
    pub netdev: (&'a str, u32),
}

impl Link<'_> {
    /// As text, with the index of the interface if details are wanted.
    pub fn text(&self, details: bool) -> String {
        let Self { device, state, physical, netdev: (netdev, index) } = self;
        let index = if details { format!("netdev_index {index} ") } else { String::new() };
        format!("link {device}/1 state {state} physical_state {physical} netdev {netdev} {index}\n")
    }

    /// As JSON: the same with and without details.
    pub fn json(&self) -> Fields {
        vec![
            ("ifindex", 0u32.into()),
            ("ifname", self.device.into()),
            ("port", 1u32.into()),
            ("state", self.state.into()),
            ("physical_state", self.physical.into()),
            ("netdev", self.netdev.0.into()),
            ("netdev_index", self.netdev.1.into()),
        ]
    }
}

/// What `rdma dev show` tells of a device.
#[derive(Clone, Debug)]
pub struct Device<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its firmware, with the newline that the driver of PVRDMA adds.
    pub firmware: &'a str,
    /// Its identifiers.
    pub guids: (&'a str, &'a str),
    /// Whether interrupts are moderated.
    pub moderation: bool,
    /// Its capabilities.
    pub capabilities: &'a [&'a str],
}

impl Device<'_> {
    /// As text.
    pub fn text(&self, details: bool) -> String {
        let Self { name, firmware, guids: (node, system), moderation, capabilities } = self;
        let head = format!("0: {name}: node_type ca fw {firmware} node_guid {node} sys_image_guid {system} ");
        if !details {
            return format!("{head}\n");
        }
        let moderation = if *moderation { "on" } else { "off" };
        format!("{head}adaptive-moderation {moderation} \n    caps: <{}>\n", capabilities.join(", "))
    }

    /// As JSON.
    pub fn json(&self, details: bool) -> Fields {
        let mut fields = vec![
            ("ifindex", 0u32.into()),
            ("ifname", self.name.into()),
            ("node_type", "ca".into()),
            ("fw", self.firmware.into()),
            ("node_guid", self.guids.0.into()),
            ("sys_image_guid", self.guids.1.into()),
        ];
        if details {
            fields.push(("adaptive-moderation", Json::Flag(self.moderation)));
            let capabilities = self.capabilities.iter().map(|name| (*name).to_owned()).collect();
            fields.push(("caps", Json::Texts(capabilities)));
        }
        fields
    }
}

/// What `rdma res show` counts: name and number.
pub type Resources = [(&'static str, u64); 7];

/// A summary of resources as text.
pub fn resources_text(device: &str, resources: &Resources) -> String {
    let words: Vec<String> = resources.iter().map(|(name, count)| format!("{name} {count} ")).collect();
    format!("0: {device}: {}\n", words.concat())
}

/// A summary of resources as JSON.
pub fn resources_json(device: &str, resources: &Resources) -> Fields {
    let mut fields: Fields = vec![("ifindex", 0u32.into()), ("ifname", device.into())];
    fields.extend(resources.iter().map(|(name, count)| (*name, Json::Number(*count))));
    fields
}

/// A queue pair as text.
pub fn queue_pair_text(device: &str, pair: &QueuePair) -> String {
    let mut text = format!("link {device}/1 lqpn {} ", pair.number);
    let mut word = |name: &str, value: Option<u32>| {
        if let Some(value) = value {
            text.add(format_args!("{name} {value} "));
        }
    };
    word("rqpn", pair.remote);
    text.add(format_args!("type {} state {} ", pair.kind, pair.state));
    let mut word = |name: &str, value: Option<u32>| {
        if let Some(value) = value {
            text.add(format_args!("{name} {value} "));
        }
    };
    word("rq-psn", pair.receive_sequence);
    word("sq-psn", Some(pair.send_sequence));
    if pair.remote.is_some() {
        text.push_str("path-mig-state MIGRATED ");
    }
    let owner = match pair.process {
        Some(process) => format!("pid {process} comm {} ", pair.owner),
        // The kernel's own owners stand in brackets.
        None => format!("comm [{}] ", pair.owner),
    };
    let domain = pair.domain.map_or(String::new(), |domain| format!("pdn {domain} "));
    format!("{text}{domain}{owner}\n")
}

/// A queue pair as JSON.
pub fn queue_pair_json(device: &str, pair: &QueuePair) -> Fields {
    let mut fields: Fields =
        vec![("ifindex", 0u32.into()), ("ifname", device.into()), ("port", 1u32.into()), ("lqpn", pair.number.into())];
    let mut push = |name, value: Option<u32>| fields.extend(value.map(|value| (name, Json::from(value))));
    push("rqpn", pair.remote);
    fields.push(("type", pair.kind.into()));
    fields.push(("state", pair.state.into()));
    let mut push = |name, value: Option<u32>| fields.extend(value.map(|value| (name, Json::from(value))));
    push("rq-psn", pair.receive_sequence);
    push("sq-psn", Some(pair.send_sequence));
    if pair.remote.is_some() {
        fields.push(("path-mig-state", "MIGRATED".into()));
    }
    let mut push = |name, value: Option<u32>| fields.extend(value.map(|value| (name, Json::from(value))));
    push("pdn", pair.domain);
    push("pid", pair.process);
    fields.push(("comm", pair.owner.as_str().into()));
    fields
}

/// Counters of a port as text.
pub fn statistic_text(device: &str, counters: &[(&'static str, u64)]) -> String {
    let words: Vec<String> = counters.iter().map(|(name, value)| format!("{name} {value} ")).collect();
    format!("link {device}/1 {}\n", words.concat())
}

/// Counters of a port as JSON.
pub fn statistic_json(device: &str, counters: &[(&'static str, u64)]) -> Fields {
    let mut fields: Fields = vec![("ifname", device.into()), ("port", 1u32.into())];
    fields.extend(counters.iter().map(|(name, value)| (*name, Json::Number(*value))));
    fields
}
