//! Whether the MTU and the addresses of an interface survive a reboot: which file sets them, and to what. An MTU that
//! was set by hand is gone after the next boot, and RDMA with it.
//!
//! A value that no file sets is [`State::Empty`]: all settings could be read, and after a reboot the driver's own value
//! applies. Where some settings may not be read it needs privilege; where DHCP decides, or where there are no settings
//! of a kind known here, it is not observable.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::files::{Files, Line, captured};
use super::persistence_formats::{Configuration, ifcfg, ifupdown, keyfile, networkd};
use super::persistence_netplan::netplan;
use crate::fabric::{Attribute, Entity, Fact, MacAddress, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const ADDRESS: &str = "/sys/class/net/*/address";
const HARDWARE: &str = "/sys/class/net/*/device";
const NETPLAN: &[&str] = &["/etc/netplan/*.yaml"];
const KEYFILES: &[&str] =
    &["/etc/NetworkManager/system-connections/*", "/run/NetworkManager/system-connections/netplan-*"];
const IFCFG: &[&str] = &["/etc/sysconfig/network-scripts/ifcfg-*", "/etc/sysconfig/network/ifcfg-*"];
const IFUPDOWN: &[&str] = &["/etc/network/interfaces", "/etc/network/interfaces.d/*"];
const NETWORKD: &[&str] = &[
    "/etc/systemd/network/*.network",
    "/etc/systemd/network/*.link",
    "/run/systemd/network/*-netplan-*.network",
    "/run/systemd/network/*-netplan-*.link",
];

/// A `grep` that lets only harmless lines travel: these files may hold passwords too.
macro_rules! harmless_lines {
    ($name:literal, $pattern:literal, $($glob:literal),+) => {
        Source {
            name: $name,
            read: Read::Command {
                argv: &[
                    Word::Plain("grep"),
                    Word::Plain("-H"),
                    Word::Plain("-E"),
                    Word::Plain($pattern),
                    $(Word::Glob($glob)),+
                ],
                keep: None,
            },
        }
    };
}

/// What sets MTU and addresses at the next boot.
pub const PROBE: Probe = Probe {
    name: "linux.persistence",
    title: "what sets MTU and addresses at the next boot",
    privilege_adds: "network settings that only root may read",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.persistence-interfaces", read: Read::Files(&[ADDRESS]) },
        Source {
            name: "linux.persistence-hardware",
            read: Read::Command {
                argv: &[Word::Plain("stat"), Word::Plain("-c"), Word::Plain("%n"), Word::Glob(HARDWARE)],
                keep: None,
            },
        },
        harmless_lines!(
            "linux.persistence-netplan",
            "^ *(['\"]?[A-Za-z0-9_.-]+['\"]?: *(#.*)?$|(mtu|dhcp4|dhcp6|addresses|macaddress|name|set-name|match):|- *['\"]?[0-9a-fA-F.:]+/[0-9]+)",
            "/etc/netplan/*.yaml"
        ),
        harmless_lines!(
            "linux.persistence-networkmanager",
            "^(\\[[a-z0-9.-]+\\]|(interface-name|autoconnect|type|mac-address|mtu|method|address[0-9]+|addresses) *=)",
            "/etc/NetworkManager/system-connections/*",
            "/run/NetworkManager/system-connections/netplan-*"
        ),
        harmless_lines!(
            "linux.persistence-ifcfg",
            "^ *(DEVICE|HWADDR|MTU|BOOTPROTO|ONBOOT|STARTMODE|(IPADDR|PREFIX|NETMASK)[0-9_]*|IPV6ADDR)=",
            "/etc/sysconfig/network-scripts/ifcfg-*",
            "/etc/sysconfig/network/ifcfg-*"
        ),
        harmless_lines!(
            "linux.persistence-ifupdown",
            "^[[:space:]]*(auto|allow-hotplug|iface|mtu|address|netmask|(pre-|post-)?up .* mtu [0-9]+)([[:space:]]|$)",
            "/etc/network/interfaces",
            "/etc/network/interfaces.d/*"
        ),
        harmless_lines!(
            "linux.persistence-networkd",
            "^(\\[[A-Za-z0-9]+\\]|(Name|OriginalName|MACAddress|PermanentMACAddress|Type|Driver|Path|MTUBytes|DHCP|Address)=)",
            "/etc/systemd/network/*.network",
            "/etc/systemd/network/*.link",
            "/run/systemd/network/*-netplan-*.network",
            "/run/systemd/network/*-netplan-*.link"
        ),
    ],
    parse,
};

/// One configuration and where it was found.
struct Found<'a> {
    observation: &'a Observation,
    path: &'a str,
    configuration: Configuration,
}

/// All that was found, and what may have been missed.
#[derive(Default)]
struct Settings<'a> {
    found: Vec<Found<'a>>,
    denied: BTreeSet<&'a str>,
    failed: Option<&'static str>,
    any: bool,
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [interfaces, hardware, netplans, keyfiles, ifcfgs, ifupdowns, networkds] = observations else {
        return Vec::new();
    };
    let mut settings = Settings::default();
    settings.read(netplans, NETPLAN, |_, lines| netplan(lines));
    settings.read(keyfiles, KEYFILES, |_, lines| keyfile(lines));
    settings.read(ifcfgs, IFCFG, |path, lines| {
        let suffix = IFCFG.iter().find_map(|pattern| captured(pattern, path)).unwrap_or("");
        ifcfg(suffix, lines)
    });
    settings.read(ifupdowns, IFUPDOWN, |_, lines| ifupdown(lines));
    settings.read(networkds, NETWORKD, |_, lines| networkd(lines));
    let files = Files::new(interfaces, &[ADDRESS]);
    let mut facts = Vec::new();
    for (path, name) in files.matching(ADDRESS) {
        let mac = files.line(path).ok().and_then(|(_, line)| line.parse().ok());
        // Ends of containers and the like are no one's settings; bonds and VLANs are named in some file.
        let real = hardware.lines().any(|(_, line)| captured(HARDWARE, line.trim()) == Some(name));
        if name == "lo" || !(real || settings.names(name)) {
            continue;
        }
        let entity = Entity::Netdev(Text::new(name));
        for attribute in [Attribute::MtuPersistence, Attribute::AddressPersistence] {
            let (observation, state, line) = settings.of(interfaces, attribute, name, mac);
            facts.push(observation.fact(entity.clone(), attribute, state, line));
        }
    }
    facts
}

impl<'a> Settings<'a> {
    fn read(
        &mut self,
        observation: &'a Observation,
        patterns: &[&str],
        reader: impl Fn(&str, &[Line<'a>]) -> Vec<Configuration>,
    ) {
        let files = Files::new(observation, patterns);
        for (path, lines) in files.all() {
            // Backups of editors and of package managers set nothing.
            if path.ends_with(['~', '#'])
                || [".bak", ".orig", ".rpmsave", ".rpmnew"].iter().any(|end| path.ends_with(end))
            {
                continue;
            }
            self.any = true;
            let configurations = reader(path, lines);
            self.found.extend(configurations.into_iter().map(|configuration| Found {
                observation,
                path,
                configuration,
            }));
        }
        self.denied.extend(files.denied());
        self.failed = self.failed.or(files.incomplete());
    }

    /// True if some file names exactly this interface.
    fn names(&self, name: &str) -> bool {
        self.found.iter().any(|found| found.configuration.names.iter().any(|wanted| wanted == name))
    }

    /// What is known of one attribute of one interface, and where it is said.
    fn of<'b>(
        &'b self,
        nowhere: &'b Observation,
        attribute: Attribute,
        name: &str,
        mac: Option<MacAddress>,
    ) -> (&'b Observation, State<Value>, u32) {
        let selected: Vec<&Found<'_>> =
            self.found.iter().filter(|found| found.configuration.selects(name, mac)).collect();
        let mut said: Vec<(&Observation, u32, String)> = Vec::new();
        for found in &selected {
            let Some((line, value)) = wording(&found.configuration, attribute) else { continue };
            let manual = if found.configuration.manual { ", which is not started at boot" } else { "" };
            let text = format!("{value} in {}{manual}", found.path);
            if !said.iter().any(|(_, _, other)| *other == text) {
                said.push((found.observation, line, text));
            }
        }
        if let Some((observation, line, _)) = said.first() {
            let all: Vec<&str> = said.iter().map(|(_, _, text)| text.as_str()).collect();
            return (observation, State::Known(Value::from(all.join("; ").as_str())), *line);
        }
        let state = if let Some(path) = self.denied.first() {
            let more = if self.denied.len() > 1 { " and others" } else { "" };
            State::NeedsPrivilege(Text::new(&format!("network settings in {path}{more}")))
        } else if let Some(reason) = self.failed {
            State::Failed(Text::new(reason))
        } else if attribute == Attribute::MtuPersistence
            && selected.iter().any(|found| found.configuration.dhcp.is_some())
        {
            State::NotObservable(Text::new("no file sets it, and DHCP may"))
        } else if self.any {
            State::Empty
        } else {
            State::NotObservable(Text::new(
                "no network settings of a kind known here (netplan, NetworkManager, ifcfg, ifupdown, systemd-networkd)",
            ))
        };
        (nowhere, state, 0)
    }
}

/// What a configuration says of an attribute, and in which line.
fn wording(configuration: &Configuration, attribute: Attribute) -> Option<(u32, String)> {
    if attribute == Attribute::MtuPersistence {
        return configuration.mtu.map(|(line, mtu)| (line, mtu.to_string()));
    }
    let mut words: Vec<&str> = configuration.addresses.iter().map(|(_, address)| address.as_str()).collect();
    let mut line = configuration.addresses.first().map(|(line, _)| *line);
    if let Some(dhcp) = configuration.dhcp {
        words.push("DHCP");
        line = line.or(Some(dhcp));
    }
    Some((line?, words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{Printed, run, shown, survives_damage};
    use super::*;

    const INTERFACES: &str = "/sys/class/net/ens192/address:00:50:56:b2:66:8c\n/sys/class/net/lo/address:00:00:00:00:00:00\n\
                              /sys/class/net/veth1/address:aa:bb:cc:dd:ee:ff\n/sys/class/net/bond0/address:00:50:56:b2:66:8d\n";
    const HARDWARE_LINKS: &str = "/sys/class/net/ens192/device\n";
    const NOTHING: Printed<'_> = ("", "grep: /etc/netplan/*.yaml: No such file or directory\n", 2);
    const PLAN: &str = "/etc/netplan/50-roce.yaml:  ethernets:\n/etc/netplan/50-roce.yaml:    ens192:\n\
                        /etc/netplan/50-roce.yaml:      mtu: 9000\n/etc/netplan/50-roce.yaml:      addresses: [192.168.100.10/24]\n";
    const IFCFG_FILE: &str = "/etc/sysconfig/network-scripts/ifcfg-ens192:BOOTPROTO=dhcp\n\
                              /etc/sysconfig/network-scripts/ifcfg-ens192:MTU=1500\n\
                              /etc/sysconfig/network-scripts/ifcfg-bond0:BOOTPROTO=none\n";

    fn of(settings: [Printed<'_>; 5], name: &str, attribute: Attribute) -> String {
        let printed = [[(INTERFACES, "", 0), (HARDWARE_LINKS, "", 0)].as_slice(), &settings].concat();
        let facts = run(&PROBE, &printed);
        shown(&facts, &Entity::Netdev(Text::new(name)), attribute)
    }

    #[test]
    fn a_file_that_sets_it_is_named() {
        let settings = [(PLAN, "", 0), NOTHING, NOTHING, NOTHING, NOTHING];
        assert_eq!(of(settings, "ens192", Attribute::MtuPersistence), "9000 in /etc/netplan/50-roce.yaml");
        assert_eq!(
            of(settings, "ens192", Attribute::AddressPersistence),
            "192.168.100.10/24 in /etc/netplan/50-roce.yaml"
        );
        assert_eq!(of(settings, "lo", Attribute::MtuPersistence), "absent");
        assert_eq!(of(settings, "veth1", Attribute::MtuPersistence), "absent", "no hardware, and no file names it");
    }

    #[test]
    fn two_files_that_disagree_are_both_told() {
        let settings = [(PLAN, "", 0), NOTHING, (IFCFG_FILE, "", 0), NOTHING, NOTHING];
        assert_eq!(
            of(settings, "ens192", Attribute::MtuPersistence),
            "9000 in /etc/netplan/50-roce.yaml; 1500 in /etc/sysconfig/network-scripts/ifcfg-ens192"
        );
        assert_eq!(of(settings, "bond0", Attribute::MtuPersistence), "<empty>", "its file could be read and sets none");
    }

    #[test]
    fn what_is_not_set_says_how_much_of_that_is_known() {
        let hidden = ("", "grep: /etc/netplan/50-cloud-init.yaml: Permission denied\n", 2);
        let mtu = |settings| of(settings, "ens192", Attribute::MtuPersistence);
        assert_eq!(
            mtu([hidden, NOTHING, NOTHING, NOTHING, NOTHING]),
            "<needs privilege: network settings in /etc/netplan/50-cloud-init.yaml>"
        );
        assert!(mtu([NOTHING; 5]).starts_with("<not observable: no network settings"));
        let dhcp = "/etc/network/interfaces:auto ens192\n/etc/network/interfaces:iface ens192 inet dhcp\n";
        assert_eq!(
            mtu([NOTHING, NOTHING, NOTHING, (dhcp, "", 0), NOTHING]),
            "<not observable: no file sets it, and DHCP may>"
        );
        let fixed = "/etc/network/interfaces:auto ens192\n/etc/network/interfaces:iface ens192 inet static\n\
                     /etc/network/interfaces:  address 10.0.0.1/24\n";
        assert_eq!(mtu([NOTHING, NOTHING, NOTHING, (fixed, "", 0), NOTHING]), "<empty>");
    }

    /// The patterns of the sources as `grep -E` would apply them are tried on the target; here: no password passes the
    /// part of them that names keys.
    #[test]
    fn no_source_asks_for_a_secret() {
        for source in PROBE.sources {
            let shown = source.read.shown();
            for secret in ["psk", "password", "secret", "wep-key", "private-key"] {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
    }

    survives_damage!(
        PROBE,
        INTERFACES,
        HARDWARE_LINKS,
        PLAN,
        "/etc/NetworkManager/system-connections/a:[ethernet]\n/etc/NetworkManager/system-connections/a:mtu=9000\n",
        IFCFG_FILE,
        "/etc/network/interfaces:iface ens192 inet dhcp\n",
        "/etc/systemd/network/1.network:[Match]\n/etc/systemd/network/1.network:Name=ens*\n"
    );
}
