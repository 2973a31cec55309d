//! Names of ports, in full: tables shorten them (`Et4`, `Eth1/4`, `Po7`), commands and inventories spell them as people
//! like. Also ranges of VLANs and of priorities.

use crate::fabric::{State, Text, Value};

/// How names begin in full, with the short forms that stand for it; letter case does not matter. What begins otherwise
/// (`swp4`, `mgmt0`, `PortChannel0001`, `Ethernet0` of `SONiC`) is a full name already.
const BEGINNINGS: &[(&str, &[&str])] = &[
    ("Ethernet", &["ethernet", "eth", "et"]),
    ("Port-Channel", &["port-channel", "po"]),
    ("Vlan", &["vlan", "vl"]),
    ("Loopback", &["loopback", "lo"]),
    ("Management", &["management", "ma"]),
    ("HundredGigE", &["hundredgige", "hu"]),
    ("TenGigabitEthernet", &["tengigabitethernet", "te"]),
];

/// The name of a port in full: `Ethernet1/4` of `Eth1/4`, `eth 1/4` and `Ethernet1/4`. What stands in brackets behind it
/// (`Eth1/4 (Po7)`) is no part of it.
pub fn full_name(name: &str) -> String {
    let name = name.split('(').next().unwrap_or(name).trim().trim_end_matches(':').trim_end();
    let digit = name.find(|character: char| character.is_ascii_digit()).unwrap_or(name.len());
    let (letters, rest) = name.split_at(digit);
    let letters = letters.trim_end();
    // The management port of a Linux system is called `eth0`.
    if rest.is_empty() || (letters == "eth" && !name.contains([' ', '/'])) {
        return name.to_owned();
    }
    BEGINNINGS
        .iter()
        .find(|(_, short)| short.iter().any(|short| letters.eq_ignore_ascii_case(short)))
        .map_or_else(|| name.to_owned(), |(full, _)| format!("{full}{rest}"))
}

/// True if two names mean one port.
pub fn same_port(one: &str, other: &str) -> bool {
    full_name(one).eq_ignore_ascii_case(&full_name(other))
}

/// True if a name may stand in a command that is sent to a switch.
pub fn is_sendable(name: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._:/@ -".contains(character);
    !name.is_empty() && !name.starts_with(['-', ' ']) && name.len() <= 64 && name.chars().all(is_plain)
}

/// True if a name can be one of a port: tables hold other lines, too.
pub fn is_port(name: &str) -> bool {
    is_sendable(name)
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric())
        && name.contains(|character: char| character.is_ascii_digit())
}

/// VLANs as ranges: `1`, `100-200`. `ALL` are all that there can be, `none` is none.
pub(super) fn vlans(text: &str) -> State<Value> {
    let text = text.trim();
    if text.is_empty() || text.eq_ignore_ascii_case("none") {
        return State::Empty;
    }
    if text.eq_ignore_ascii_case("all") {
        return State::Known(Value::List(vec![Text::new("1-4094")]));
    }
    let ranges: Vec<Text> = text
        .split([',', ' '])
        .map(str::trim)
        .filter(|range| range.starts_with(|first: char| first.is_ascii_digit()))
        .map(Text::new)
        .collect();
    if ranges.is_empty() { super::answer::not_understood(text) } else { State::Known(Value::List(ranges)) }
}

/// Numbers of 0 to 7 out of a list with any separator (`3,4`, `3 4`, `0-2`), each once, in order.
pub(super) fn priorities(text: &str) -> State<Value> {
    let text = text.trim();
    if text.is_empty() || text == "-" || text.eq_ignore_ascii_case("none") {
        return State::Empty;
    }
    let mut found: Vec<u8> = Vec::new();
    for word in text.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty()) {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        match (first.parse::<u8>(), last.parse::<u8>()) {
            (Ok(first), Ok(last)) if first <= last && last < 8 => found.extend(first..=last),
            _ => return super::answer::not_understood(text),
        }
    }
    listed(found)
}

/// Priorities as a value.
pub(super) fn listed(mut found: Vec<u8>) -> State<Value> {
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        return State::Empty;
    }
    State::Known(Value::List(found.iter().map(|priority| Text::new(&priority.to_string())).collect()))
}

/// True if ranges of VLANs hold this one.
pub fn allows(ranges: &[Text], vlan: u64) -> bool {
    ranges.iter().any(|range| {
        let (first, last) = range.as_str().split_once('-').unwrap_or((range.as_str(), range.as_str()));
        matches!((first.trim().parse::<u64>(), last.trim().parse::<u64>()), (Ok(first), Ok(last)) if (first..=last).contains(&vlan))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_in_full() {
        for (short, full) in [
            ("Et4", "Ethernet4"),
            ("Et21/1", "Ethernet21/1"),
            ("Eth1/4", "Ethernet1/4"),
            ("Eth1/4 (Po7)", "Ethernet1/4"),
            ("eth 1/4", "Ethernet1/4"),
            ("ethernet 1/4", "Ethernet1/4"),
            ("Ethernet3/1/1", "Ethernet3/1/1"),
            ("Ethernet0", "Ethernet0"),
            ("Po7", "Port-Channel7"),
            ("port-channel7", "Port-Channel7"),
            ("PortChannel0001", "PortChannel0001"),
            ("swp2s0", "swp2s0"),
            ("eth0", "eth0"),
            ("mgmt0", "mgmt0"),
            ("Ma1", "Management1"),
            ("", ""),
        ] {
            assert_eq!(full_name(short), full, "{short}");
            assert_eq!(full_name(full), full, "{full}");
        }
        assert!(same_port("Eth1/4", "ethernet1/4") && !same_port("Eth1/4", "Eth1/40"));
    }

    #[test]
    fn what_is_no_name_is_never_sent() {
        assert!(is_sendable("Ethernet1/4") && is_sendable("ethernet 1/4") && is_sendable("swp1"));
        for name in ["", "-h", " x", "Et1;reload", "Et1\nreload", "Et1 | bash", "$(x)", "a\"b", "Et1`x`"] {
            assert!(!is_sendable(name), "{name:?}");
        }
        assert!(is_port("Ethernet1/4") && !is_port("Total") && !is_port("---") && !is_port("3"));
    }

    #[test]
    fn ranges() {
        let shown = |state: State<Value>| state.known().map_or(state.name().to_owned(), ToString::to_string);
        assert_eq!(shown(vlans("1-4094")), "1-4094");
        assert_eq!(shown(vlans("14,16,25-26")), "14, 16, 25-26");
        assert_eq!(shown(vlans("ALL")), "1-4094");
        assert_eq!(shown(vlans("NONE")), "empty");
        assert_eq!(shown(vlans("what")), "failed");
        assert_eq!(shown(priorities("3,4")), "3, 4");
        assert_eq!(shown(priorities("0-2 5")), "0, 1, 2, 5");
        assert_eq!(shown(priorities("-")), "empty");
        assert_eq!(shown(priorities("9")), "failed");
        let ranges = [Text::new("1"), Text::new("100-200")];
        assert!(allows(&ranges, 150) && allows(&ranges, 1) && !allows(&ranges, 2) && !allows(&ranges, 201));
    }
}
