//! Capture: `ip` of iproute2 6.1 in Debian 12 guests, text and JSON (tests/fixtures/pvrdma-guest, 20 and 21;
//! tests/fixtures/lab/ip-*.txt).

use super::Json;
use crate::lab::guest::state::{Address, NetCounters, Netdev};
use crate::lab::guest::templates::Append as _;

type Fields = Vec<(&'static str, Json)>;

/// What is wanted of `ip`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Addresses (`ip addr`) or links (`ip link`).
    pub addresses: bool,
    /// `-d`.
    pub details: bool,
    /// `-s`.
    pub statistics: bool,
    /// `-4` or `-6`.
    pub family: Option<u8>,
}

/// The state of an interface in capital letters.
pub fn state(netdev: &Netdev) -> &'static str {
    match (netdev.is_loopback(), netdev.is_running()) {
        (true, true) => "UNKNOWN",
        (false, true) => "UP",
        (_, false) => "DOWN",
    }
}

/// The flags of an interface, in the order in which `ip` prints them.
pub fn flags(netdev: &Netdev) -> Vec<&'static str> {
    let mut flags = Vec::new();
    if netdev.admin_up && !netdev.carrier {
        flags.push("NO-CARRIER");
    }
    flags.extend(if netdev.is_loopback() { &["LOOPBACK"][..] } else { &["BROADCAST", "MULTICAST"][..] });
    if netdev.admin_up {
        flags.push("UP");
    }
    if netdev.is_running() {
        flags.push("LOWER_UP");
    }
    flags
}

fn kind(netdev: &Netdev) -> (&'static str, &'static str) {
    if netdev.is_loopback() { ("loopback", "00:00:00:00:00:00") } else { ("ether", "ff:ff:ff:ff:ff:ff") }
}

/// The addresses that an interface has now: the kernel takes those of IPv6 away while it is administratively down.
pub fn addresses(netdev: &Netdev, family: Option<u8>) -> impl Iterator<Item = &Address> {
    netdev.addresses.iter().filter(move |address| {
        let version = if address.address.is_ipv4() { 4 } else { 6 };
        family.is_none_or(|family| family == version) && (netdev.admin_up || version == 4)
    })
}

/// One interface as text.
pub fn text(netdev: &Netdev, counters: NetCounters, wanted: Wanted) -> String {
    let (kind, broadcast) = kind(netdev);
    let mode = if wanted.addresses { "" } else { "mode DEFAULT " };
    let mut text = format!(
        "{}: {}: <{}> mtu {} qdisc {} state {} {mode}group default qlen 1000\n",
        netdev.index,
        netdev.name,
        flags(netdev).join(","),
        netdev.mtu.0,
        netdev.discipline,
        state(netdev),
    );
    if wanted.family.is_none() {
        text.add(format_args!("    link/{kind} {} brd {broadcast}", netdev.mac));
        if wanted.details {
            // UNSOURCED: the order of these words.
            text.add(format_args!(
                " promiscuity 0  allmulti 0 minmtu {} maxmtu {} addrgenmode eui64 numtxqueues {} numrxqueues {} ",
                netdev.mtu.1, netdev.mtu.2, netdev.queues.0, netdev.queues.1
            ));
        }
        text.push('\n');
        for name in &netdev.other_names {
            text.add(format_args!("    altname {name}\n"));
        }
    }
    if wanted.addresses {
        for address in addresses(netdev, wanted.family) {
            text.push_str(&address_text(netdev, address));
        }
    }
    if wanted.statistics {
        text.push_str(&statistics_text(counters));
    }
    text
}

fn address_text(netdev: &Netdev, address: &Address) -> String {
    let Address { address: value, prefix, scope, lifetimes } = address;
    let learned = if lifetimes.is_some() { "dynamic mngtmpaddr " } else { "" };
    let lifetimes = match lifetimes {
        Some((valid, preferred)) => format!("       valid_lft {valid}sec preferred_lft {preferred}sec\n"),
        None => "       valid_lft forever preferred_lft forever\n".to_owned(),
    };
    if value.is_ipv4() {
        format!("    inet {value}/{prefix} scope {scope} {}\n{lifetimes}", netdev.name)
    } else {
        format!("    inet6 {value}/{prefix} scope {scope} {learned}\n{lifetimes}")
    }
}

fn statistics_text(counters: NetCounters) -> String {
    let received = [counters.bytes.0, counters.packets.0, 0, 0, 0, counters.multicast];
    let sent = [counters.bytes.1, counters.packets.1, 0, 0, 0, 0];
    let mut widths = [10, 7, 6, 7, 7, 7];
    for values in [&received, &sent] {
        for (width, value) in widths.iter_mut().zip(values) {
            *width = (*width).max(value.to_string().len());
        }
    }
    let head = |name: &str, words: [&str; 6]| {
        let mut text = format!("    {name}: {:>width$}", words[0], width = widths[0] - 4);
        for (word, width) in words.iter().zip(widths).skip(1) {
            text.add(format_args!(" {word:>width$}"));
        }
        format!("{text} {:10}\n", "")
    };
    let line = |values: [u64; 6]| {
        let words: Vec<String> = values.iter().zip(widths).map(|(value, width)| format!("{value:>width$} ")).collect();
        format!("    {}\n", words.concat())
    };
    let mut text = head("RX", ["bytes", "packets", "errors", "dropped", "missed", "mcast"]);
    text.push_str(&line(received));
    text.push_str(&head("TX", ["bytes", "packets", "errors", "dropped", "carrier", "collsns"]));
    text.push_str(&line(sent));
    text
}

/// One interface in the brief form (`-br`).
pub fn brief(netdev: &Netdev, wanted: Wanted) -> String {
    let head = format!("{:<16} {:<14} ", netdev.name, state(netdev));
    if wanted.addresses {
        let words: Vec<String> = addresses(netdev, wanted.family)
            .map(|address| format!("{}/{} ", address.address, address.prefix))
            .collect();
        format!("{head}{}\n", words.concat())
    } else {
        format!("{head}{} <{}> \n", netdev.mac, flags(netdev).join(","))
    }
}

/// One interface as JSON.
pub fn json(netdev: &Netdev, counters: NetCounters, wanted: Wanted) -> Fields {
    let (kind, broadcast) = kind(netdev);
    let texts = |words: Vec<&str>| Json::Texts(words.into_iter().map(str::to_owned).collect());
    let mut fields: Fields = vec![
        ("ifindex", netdev.index.into()),
        ("ifname", netdev.name.as_str().into()),
        ("flags", texts(flags(netdev))),
        ("mtu", netdev.mtu.0.into()),
        ("qdisc", netdev.discipline.into()),
        ("operstate", state(netdev).into()),
    ];
    if !wanted.addresses {
        fields.push(("linkmode", "DEFAULT".into()));
    }
    fields.extend([
        ("group", "default".into()),
        ("txqlen", 1000u32.into()),
        ("link_type", kind.into()),
        ("address", netdev.mac.as_str().into()),
        ("broadcast", broadcast.into()),
    ]);
    if wanted.details {
        let segments = if netdev.is_loopback() { 524_280u32 } else { 65_536 };
        fields.extend([
            ("promiscuity", 0u32.into()),
            ("allmulti", 0u32.into()),
            ("min_mtu", netdev.mtu.1.into()),
            ("max_mtu", netdev.mtu.2.into()),
            ("num_tx_queues", netdev.queues.0.into()),
            ("num_rx_queues", netdev.queues.1.into()),
            ("gso_max_size", 65_536u32.into()),
            ("gso_max_segs", 65_535u32.into()),
            ("tso_max_size", segments.into()),
            ("tso_max_segs", 65_535u32.into()),
            ("gro_max_size", 65_536u32.into()),
        ]);
        let parent = netdev.bus_device.clone().or_else(|| Some(("pci", netdev.function.clone()?)));
        if let Some((bus, device)) = parent {
            fields.extend([("parentbus", bus.into()), ("parentdev", device.as_str().into())]);
        }
    }
    if !netdev.other_names.is_empty() {
        fields.push(("altnames", Json::Texts(netdev.other_names.clone())));
    }
    if wanted.addresses {
        fields.push((
            "addr_info",
            Json::Objects(addresses(netdev, wanted.family).map(|address| address_json(netdev, address)).collect()),
        ));
    }
    if wanted.statistics {
        let side = |bytes: u64, packets: u64, ends: [(&'static str, u64); 2]| {
            let mut side: Fields = vec![
                ("bytes", bytes.into()),
                ("packets", packets.into()),
                ("errors", 0u32.into()),
                ("dropped", 0u32.into()),
            ];
            side.extend(ends.map(|(name, value)| (name, Json::from(value))));
            Json::Object(side)
        };
        let received =
            side(counters.bytes.0, counters.packets.0, [("over_errors", 0), ("multicast", counters.multicast)]);
        let sent = side(counters.bytes.1, counters.packets.1, [("carrier_errors", 0), ("collisions", 0)]);
        fields.push(("stats64", Json::Object(vec![("rx", received), ("tx", sent)])));
    }
    fields
}

fn address_json(netdev: &Netdev, address: &Address) -> Fields {
    let is_v4 = address.address.is_ipv4();
    let mut fields: Fields = vec![
        ("family", if is_v4 { "inet" } else { "inet6" }.into()),
        ("local", address.address.to_string().as_str().into()),
        ("prefixlen", u32::from(address.prefix).into()),
        ("scope", address.scope.into()),
    ];
    if is_v4 {
        fields.push(("label", netdev.name.as_str().into()));
    }
    if address.lifetimes.is_some() {
        fields.extend([("dynamic", Json::Flag(true)), ("mngtmpaddr", Json::Flag(true))]);
    }
    let (valid, preferred) = address.lifetimes.unwrap_or((u32::MAX, u32::MAX));
    fields.extend([("valid_life_time", valid.into()), ("preferred_life_time", preferred.into())]);
    fields
}
