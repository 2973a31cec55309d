//! Reads netplan files, as far as they set MTU, addresses and DHCP: the usual block form of YAML, one key a line, of
//! which only harmless lines were chosen on the target.

use super::files::Line;
use super::persistence_formats::{Configuration, key_value, mtu, unquoted};

/// Keys of netplan under which interfaces stand.
const NETPLAN_KINDS: &[&str] = &["ethernets", "bonds", "bridges", "vlans", "dummy-devices", "vrfs", "tunnels"];

/// A netplan file. Only its usual block form is read, one key a line.
pub fn netplan(lines: &[Line<'_>]) -> Vec<Configuration> {
    let mut found: Vec<(Configuration, bool)> = Vec::new();
    let mut path: Vec<(usize, &str)> = Vec::new();
    for (number, line) in lines {
        let line = line.split_once(" #").map_or(*line, |(line, _)| line).trim_end();
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if content.starts_with('#') {
            continue;
        }
        if let Some(item) = content.strip_prefix('-') {
            while path.last().is_some_and(|(outer, _)| *outer > indent) {
                path.pop();
            }
            let address = unquoted(item.trim().trim_end_matches(':'));
            if let (Some((_, "addresses")), Some((configuration, _))) = (property(&path), found.last_mut())
                && address.contains('/')
            {
                configuration.addresses.push((*number, address.to_owned()));
            }
            continue;
        }
        let Some((key, value)) = content.split_once(':') else { continue };
        let (key, value) = (unquoted(key), unquoted(value));
        while path.last().is_some_and(|(outer, _)| *outer >= indent) {
            path.pop();
        }
        path.push((indent, key));
        let Some((depth, name)) = property(&path) else {
            if let [.., (_, kind), (_, id)] = path[..]
                && NETPLAN_KINDS.contains(&kind)
            {
                found.push((Configuration { names: vec![id.to_owned()], ..Configuration::default() }, false));
            }
            continue;
        };
        let Some((configuration, matched)) = found.last_mut() else { continue };
        let yes = matches!(value, "true" | "yes" | "on");
        match (depth, name, key) {
            (1, "mtu", _) => configuration.mtu = mtu(value).map(|mtu| (*number, mtu)),
            (1, "dhcp4" | "dhcp6", _) if yes => configuration.dhcp = configuration.dhcp.or(Some(*number)),
            (1, "addresses", _) => {
                let listed = value.trim_matches(['[', ']']).split(',').map(unquoted);
                configuration.addresses.extend(
                    listed.filter(|address| address.contains('/')).map(|address| (*number, address.to_owned())),
                );
            }
            // "match" replaces the name of the entry, which is then only a label.
            (1, "match", _) => {
                *matched = true;
                configuration.names.clear();
                // Also on one line: match: {macaddress: "00:50:56:b2:66:8c"}
                for (key, value) in value.trim_matches(['{', '}']).split(',').filter_map(|pair| key_value(pair, ':')) {
                    match key {
                        "name" => configuration.names = vec![value.to_owned()],
                        "macaddress" => configuration.mac = value.parse().ok(),
                        _ => {}
                    }
                }
            }
            (2, "match", "name") => configuration.names = vec![value.to_owned()],
            (2, "match", "macaddress") => configuration.mac = value.parse().ok(),
            _ => {}
        }
    }
    // A "match" by something else (a driver) selects nothing that can be told from here.
    found
        .into_iter()
        .filter(|(configuration, matched)| !matched || !configuration.names.is_empty() || configuration.mac.is_some())
        .map(|(configuration, _)| configuration)
        .collect()
}

/// How deep below an interface of netplan a path is (1 for its own keys), and the key of the interface it is under.
fn property<'a>(path: &[(usize, &'a str)]) -> Option<(usize, &'a str)> {
    let kind = path.iter().position(|(_, key)| NETPLAN_KINDS.contains(key))?;
    let (_, key) = path.get(kind + 2)?;
    Some((path.len() - kind - 2, key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::testing::{CASES, mutated_texts};

    fn lines(text: &str) -> Vec<Line<'_>> {
        text.lines().zip(1u32..).map(|(line, number)| (number, line)).collect()
    }

    const NETPLAN: &str = "network:\n  ethernets:\n    ens192:\n      mtu: 9000\n      addresses:\n        - 192.168.100.10/24\n\
        \x20       - \"10.0.0.5/8\":\n      nameservers:\n        addresses: [10.9.9.9/32]\n    label:\n      match:\n\
        \x20       macaddress: \"00:50:56:b2:66:8c\"\n      set-name: roce0\n      dhcp4: true # from the lab\n    eth7:\n\
        \x20     match:\n      addresses: [10.1.1.1/24, 10.1.1.2/24]\n  vlans:\n    roce.100:\n      link: ens192\n      addresses:\n      - 10.2.2.2/24\n";

    #[test]
    fn netplan_files() {
        let found = netplan(&lines(NETPLAN));
        let addresses =
            |one: &Configuration| one.addresses.iter().map(|(_, address)| address.clone()).collect::<Vec<_>>();
        let ens192 = found.iter().find(|one| one.selects("ens192", None)).expect("ens192");
        assert_eq!(ens192.mtu, Some((4, 9000)));
        assert_eq!(addresses(ens192), ["192.168.100.10/24", "10.0.0.5/8"], "name servers are no addresses");
        let mac = "00:50:56:b2:66:8c".parse().expect("an address");
        let label = found.iter().find(|one| one.selects("roce0", Some(mac))).expect("by hardware address");
        assert!(label.dhcp.is_some() && !label.selects("label", None));
        let vlan = found.iter().find(|one| one.selects("roce.100", None)).expect("the VLAN");
        assert_eq!(addresses(vlan), ["10.2.2.2/24"]);
        assert!(!found.iter().any(|one| one.selects("eth7", None)), "a match by something that does not show");
        let short = "  ethernets:\n    x:\n      match: {macaddress: '00:50:56:b2:66:8c'}\n      mtu: 4200\n";
        assert_eq!(netplan(&lines(short))[0].mac, Some(mac));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]

        #[test]
        fn damaged_settings_are_survived(text in mutated_texts(&[NETPLAN])) {
            let lines = lines(&text);
            for one in netplan(&lines) {
                for (line, address) in &one.addresses {
                    prop_assert!(lines.iter().any(|(number, text)| number == line && text.contains(address)));
                }
            }
        }
    }
}
