//! Small tolerant readers for the files in which Linux systems keep network settings: NetworkManager keyfiles, ifcfg
//! files, ifupdown, systemd-networkd (netplan has a file of its own). Each gives what it sets for which interfaces; keys it does not know do not
//! disturb it. They see only the lines that were chosen on the target, never a password.

use std::net::Ipv4Addr;

use super::files::Line;
use crate::fabric::MacAddress;

/// What one file sets for some interfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Names of interfaces, `*` and `?` allowed.
    pub names: Vec<String>,
    /// Hardware address of the interface, where the file selects by it.
    pub mac: Option<MacAddress>,
    /// MTU in bytes, with the line that says so.
    pub mtu: Option<(u32, u64)>,
    /// The line that asks for DHCP.
    pub dhcp: Option<u32>,
    /// Static addresses with prefix length, each with its line.
    pub addresses: Vec<(u32, String)>,
    /// True if it is not started at boot.
    pub manual: bool,
}

impl Configuration {
    /// True if it is meant for this interface.
    pub fn selects(&self, name: &str, mac: Option<MacAddress>) -> bool {
        let by_mac = self.mac.is_some() && self.mac == mac;
        let by_name = self.names.iter().any(|wanted| matches(wanted.as_bytes(), name.as_bytes()));
        match (self.mac.is_some(), self.names.is_empty()) {
            (true, true) => by_mac,
            (true, false) => by_mac && by_name,
            (false, _) => by_name,
        }
    }
}

/// Matches a name with `*` and `?`.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // The place after the last `*`, and where the name is tried next from there.
    let (mut at, mut place, mut star) = (0, 0, None);
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, place));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || *wanted == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((after, tried)) = star else { return false };
                at = after;
                place = tried + 1;
                star = Some((after, place));
            }
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

pub(super) fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

pub(super) fn key_value(line: &str, separator: char) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(separator)?;
    Some((key.trim(), unquoted(value)))
}

/// An MTU that can be one; `auto` and 0 are none.
pub(super) fn mtu(value: &str) -> Option<u64> {
    let value = unquoted(value);
    let (digits, factor) = match value.strip_suffix('K') {
        Some(digits) => (digits, 1024),
        None => (value, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).filter(|mtu| (68..=1_000_000).contains(mtu))
}

/// `255.255.255.0` as the length of its prefix.
fn prefix_length(mask: &str) -> Option<u32> {
    let bits = u32::from(mask.trim().parse::<Ipv4Addr>().ok()?);
    (bits.leading_ones() == bits.count_ones()).then(|| bits.leading_ones())
}

fn section(line: &str) -> Option<&str> {
    line.trim().strip_prefix('[')?.strip_suffix(']')
}

/// A NetworkManager keyfile. One that selects no interface is meant for any.
pub fn keyfile(lines: &[Line<'_>]) -> Vec<Configuration> {
    let mut configuration = Configuration::default();
    let mut current = "";
    for (number, line) in lines {
        if let Some(name) = section(line) {
            current = name;
            continue;
        }
        let Some((key, value)) = key_value(line, '=') else { continue };
        match (current, key) {
            ("connection" | "match", "interface-name") if !value.is_empty() => {
                configuration.names =
                    value.split([';', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
            }
            ("connection", "autoconnect") => configuration.manual = matches!(value, "false" | "no" | "0"),
            ("connection", "type")
                if matches!(value, "loopback" | "wifi" | "802-11-wireless" | "wireguard" | "vpn") =>
            {
                return Vec::new();
            }
            (_, "mac-address") => configuration.mac = value.parse().ok(),
            (_, "mtu") => configuration.mtu = mtu(value).map(|mtu| (*number, mtu)),
            ("ipv4", "method") if value == "auto" => configuration.dhcp = Some(*number),
            ("ipv4" | "ipv6", _) if key.starts_with("address") => {
                // address1=192.168.1.5/24,192.168.1.1 (the second is the gateway)
                let address = value.split([',', ';']).next().unwrap_or(value).trim();
                if address.contains('/') {
                    configuration.addresses.push((*number, address.to_owned()));
                }
            }
            _ => {}
        }
    }
    if configuration.names.is_empty() && configuration.mac.is_none() {
        configuration.names.push("*".to_owned());
    }
    vec![configuration]
}

/// An ifcfg file of Red Hat or SUSE; `suffix` is the part of its name after `ifcfg-`.
pub fn ifcfg(suffix: &str, lines: &[Line<'_>]) -> Vec<Configuration> {
    let mut configuration = Configuration::default();
    let mut device = suffix.to_owned();
    let value_of = |wanted: &str| {
        lines
            .iter()
            .find_map(|(_, line)| key_value(line, '=').filter(|(key, _)| *key == wanted).map(|(_, value)| value))
    };
    for (number, line) in lines {
        let Some((key, value)) = key_value(line, '=') else { continue };
        match key {
            "DEVICE" if !value.is_empty() => value.clone_into(&mut device),
            "HWADDR" => configuration.mac = value.parse().ok(),
            "MTU" => configuration.mtu = mtu(value).map(|mtu| (*number, mtu)),
            "BOOTPROTO" if value.starts_with("dhcp") => configuration.dhcp = Some(*number),
            "ONBOOT" => configuration.manual = value.eq_ignore_ascii_case("no"),
            "STARTMODE" => configuration.manual = matches!(value, "manual" | "off"),
            "IPV6ADDR" if !value.is_empty() => configuration.addresses.push((*number, value.to_owned())),
            _ if key.starts_with("IPADDR") && !value.is_empty() => {
                let index = &key["IPADDR".len()..];
                let length = value_of(&format!("PREFIX{index}"))
                    .map(str::to_owned)
                    .or_else(|| value_of(&format!("NETMASK{index}")).and_then(prefix_length).map(|n| n.to_string()));
                let address = match length {
                    Some(length) if !value.contains('/') => format!("{value}/{length}"),
                    _ => value.to_owned(),
                };
                configuration.addresses.push((*number, address));
            }
            _ => {}
        }
    }
    configuration.names.push(device);
    vec![configuration]
}

/// A `.network` or `.link` file of systemd. One that selects by something other than name or hardware address is left
/// alone, unless it is meant for every Ethernet interface.
pub fn networkd(lines: &[Line<'_>]) -> Vec<Configuration> {
    let mut configuration = Configuration::default();
    let (mut current, mut every, mut other) = ("", false, false);
    for (number, line) in lines {
        if let Some(name) = section(line) {
            current = name;
            continue;
        }
        let Some((key, value)) = key_value(line, '=') else { continue };
        match (current, key) {
            ("Match", "Name" | "OriginalName") => {
                configuration.names.extend(value.split_whitespace().map(str::to_owned));
            }
            ("Match", "MACAddress" | "PermanentMACAddress") => configuration.mac = value.parse().ok(),
            ("Match", "Type") => every = value == "ether",
            ("Match", _) => other = true,
            ("Link", "MTUBytes") => configuration.mtu = mtu(value).map(|mtu| (*number, mtu)),
            ("Network", "DHCP") if matches!(value, "yes" | "true" | "ipv4" | "both" | "v4") => {
                configuration.dhcp = Some(*number);
            }
            ("Network" | "Address", "Address") if !value.is_empty() => {
                configuration.addresses.push((*number, value.to_owned()));
            }
            _ => {}
        }
    }
    if configuration.names.is_empty() && configuration.mac.is_none() {
        if !every || other {
            return Vec::new();
        }
        configuration.names.push("*".to_owned());
    }
    vec![configuration]
}

/// `/etc/network/interfaces` of Debian.
pub fn ifupdown(lines: &[Line<'_>]) -> Vec<Configuration> {
    let mut found: Vec<Configuration> = Vec::new();
    let mut at_boot: Vec<&str> = Vec::new();
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        let (Some(first), second) = (words.next(), words.next()) else { continue };
        if matches!(first, "auto" | "allow-hotplug" | "allow-auto") {
            at_boot.extend(second.into_iter().chain(words));
            continue;
        }
        if first == "iface" {
            let Some(name) = second else { continue };
            let method = words.nth(1).unwrap_or("");
            found.push(Configuration {
                names: vec![name.to_owned()],
                dhcp: (method == "dhcp").then_some(*number),
                ..Configuration::default()
            });
            continue;
        }
        let (Some(configuration), Some(value)) = (found.last_mut(), second) else { continue };
        match first {
            "mtu" => configuration.mtu = mtu(value).map(|mtu| (*number, mtu)),
            "address" => configuration.addresses.push((*number, value.to_owned())),
            "netmask" => {
                let length = prefix_length(value).or_else(|| value.parse().ok());
                if let (Some((_, address)), Some(length)) = (configuration.addresses.last_mut(), length)
                    && !address.contains('/')
                {
                    *address = format!("{address}/{length}");
                }
            }
            "up" | "pre-up" | "post-up" => {
                // "up ip link set dev eth1 mtu 9000" belongs to the interface it names, which is usually this one.
                let mut words = line.split_whitespace().skip_while(|word| *word != "mtu");
                if let Some(mtu) = words.nth(1).and_then(mtu) {
                    configuration.mtu = Some((*number, mtu));
                }
            }
            _ => {}
        }
    }
    for configuration in &mut found {
        configuration.manual = !configuration.names.iter().any(|name| at_boot.contains(&name.as_str()));
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::testing::{CASES, mutated_texts};

    fn lines(text: &str) -> Vec<Line<'_>> {
        text.lines().zip(1u32..).map(|(line, number)| (number, line)).collect()
    }

    const KEYFILE: &str = "[connection]\ntype=ethernet\ninterface-name=ens192\n[ethernet]\nmtu=9000\n[ipv4]\n\
                           address1=192.168.100.10/24,192.168.100.1\nmethod=manual\n[ipv6]\nmethod=auto\n";
    const IFCFG: &str = "DEVICE=\"ens192\"\nBOOTPROTO=none\nONBOOT=yes\nIPADDR=192.168.100.10\nNETMASK=255.255.255.0\n\
                         IPADDR1=192.168.101.10\nPREFIX1=16\nMTU=9000\n";
    const INTERFACES: &str = "auto lo eth1\niface lo inet loopback\niface eth1 inet static\n    address 192.168.100.10\n\
                              \x20   netmask 255.255.255.0\n    mtu 9000\niface eth2 inet dhcp\n    up ip link set $IFACE mtu 4200\n";
    const NETWORK: &str =
        "[Match]\nName=ens192 ens2*\n[Link]\nMTUBytes=9000\n[Network]\nAddress=192.168.100.10/24\nDHCP=no\n";

    #[test]
    fn keyfiles() {
        let found = keyfile(&lines(KEYFILE));
        assert_eq!(found[0].names, ["ens192"]);
        assert_eq!(found[0].mtu, Some((5, 9000)));
        assert_eq!(found[0].addresses, [(7, "192.168.100.10/24".to_owned())]);
        assert_eq!(found[0].dhcp, None, "automatic IPv6 is no DHCP");
        let any =
            keyfile(&lines("[connection]\ntype=ethernet\nautoconnect=false\n[ipv4]\nmethod=auto\n[ethernet]\nmtu=0\n"));
        assert!(any[0].selects("whatever0", None) && any[0].manual && any[0].mtu.is_none());
        assert!(keyfile(&lines("[connection]\ntype=wifi\n")).is_empty());
    }

    #[test]
    fn ifcfg_files() {
        let found = ifcfg("ens192", &lines(IFCFG));
        assert_eq!(found[0].mtu, Some((8, 9000)));
        let addresses: Vec<&str> = found[0].addresses.iter().map(|(_, address)| address.as_str()).collect();
        assert_eq!(addresses, ["192.168.100.10/24", "192.168.101.10/16"]);
        assert!(!found[0].manual);
        let suse = ifcfg("eth0", &lines("BOOTPROTO='static'\nIPADDR='10.1.2.3/24'\nSTARTMODE='manual'\n"));
        assert!(suse[0].manual && suse[0].selects("eth0", None));
        assert_eq!(suse[0].addresses, [(2, "10.1.2.3/24".to_owned())]);
    }

    #[test]
    fn debian_interfaces() {
        let found = ifupdown(&lines(INTERFACES));
        let eth1 = found.iter().find(|one| one.selects("eth1", None)).expect("eth1");
        assert_eq!(eth1.addresses, [(4, "192.168.100.10/24".to_owned())]);
        assert_eq!(eth1.mtu, Some((6, 9000)));
        assert!(!eth1.manual);
        let eth2 = found.iter().find(|one| one.selects("eth2", None)).expect("eth2");
        assert_eq!((eth2.mtu, eth2.dhcp, eth2.manual), (Some((8, 4200)), Some(7), true));
    }

    #[test]
    fn networkd_files() {
        let found = networkd(&lines(NETWORK));
        assert!(
            found[0].selects("ens192", None) && found[0].selects("ens224", None) && !found[0].selects("ens1", None)
        );
        assert_eq!(found[0].mtu, Some((4, 9000)));
        assert_eq!(found[0].dhcp, None);
        assert!(networkd(&lines("[Match]\nDriver=vmxnet3\n[Link]\nMTUBytes=9K\n")).is_empty());
        let every = networkd(&lines("[Match]\nType=ether\n[Link]\nMTUBytes=9K\n"));
        assert_eq!(every[0].mtu, Some((4, 9216)));
    }

    #[test]
    fn names_with_wildcards() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("en*", "ens192", true),
            ("en*2", "ens192", true),
            ("e?s*", "ens", true),
            ("e*x", "ens", false),
            ("", "a", false),
            ("**a*b", "xaxb", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]

        #[test]
        fn damaged_settings_are_survived(text in mutated_texts(&[KEYFILE, IFCFG, INTERFACES, NETWORK])) {
            let lines = lines(&text);
            for found in [keyfile(&lines), ifcfg("eth0", &lines), ifupdown(&lines), networkd(&lines)] {
                for one in found {
                    if let Some((line, mtu)) = one.mtu {
                        prop_assert!(lines.iter().any(|(number, _)| *number == line) && (68..=1_000_000).contains(&mtu));
                    }
                    let _selected = one.selects("ens192", None);
                }
            }
        }
    }
}
