//! Network interfaces: state, MTU, carrier, speed, addresses, driver and the PCI function behind them. RoCE rides on
//! these: the state of a PVRDMA port follows its vmxnet3, and its path MTU follows this MTU.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use super::files::{self, Files};
use super::pci::is_address;
use crate::fabric::{Attribute, Entity, Fact, MacAddress, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const ADDRESS: &str = "/sys/class/net/*/address";
const MTU: &str = "/sys/class/net/*/mtu";
const STATE: &str = "/sys/class/net/*/operstate";
const CARRIER: &str = "/sys/class/net/*/carrier";
const SPEED: &str = "/sys/class/net/*/speed";
const FLAGS: &str = "/sys/class/net/*/flags";
const GID_NETDEVS: &str = "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs/0";
const FILES: &[&str] = &[ADDRESS, MTU, STATE, CARRIER, SPEED, FLAGS, GID_NETDEVS];
const INTERFACE: &str = "/sys/class/net/*";
const DRIVER: &str = "/sys/class/net/*/device/driver";

/// The most interfaces that are kept: a machine full of containers has hundreds.
const MOST: usize = 64;

/// Network interfaces.
pub const PROBE: Probe = Probe {
    name: "linux.netdevs",
    title: "network interfaces: state, MTU, addresses, driver",
    privilege_adds: "",
    pace: Pace::Fast,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.netdev-files", read: Read::Files(FILES) },
        Source {
            name: "linux.netdev-links",
            read: Read::Command {
                argv: &[
                    Word::Plain("stat"),
                    Word::Plain("-c"),
                    Word::Plain("%N"),
                    Word::Glob(INTERFACE),
                    Word::Glob(DRIVER),
                ],
                keep: None,
            },
        },
        Source {
            name: "linux.ip-addresses",
            read: Read::Command {
                argv: &[
                    Word::Plain("ip"),
                    Word::Plain("-j"),
                    Word::Plain("-d"),
                    Word::Plain("addr"),
                    Word::Plain("show"),
                ],
                keep: None,
            },
        },
    ],
    parse,
};

/// What `ip -j -d addr show` says of one interface; all else in it is left alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interface {
    ifname: String,
    /// Parent of a VLAN or another stacked interface.
    link: Option<String>,
    /// The bond or bridge that it belongs to.
    master: Option<String>,
    linkinfo: Option<LinkInfo>,
    addr_info: Vec<Address>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LinkInfo {
    info_kind: Option<String>,
    info_data: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Address {
    local: Option<String>,
    prefixlen: Option<u8>,
}

/// Interfaces by name. One that cannot be read does not hide the others.
fn interfaces(observation: &Observation) -> Result<BTreeMap<String, Interface>, State<Value>> {
    if let Some(state) = observation.trouble("ip (iproute2)", "") {
        return Err(state);
    }
    let list: Vec<serde_json::Value> = serde_json::from_str(observation.stdout.trim()).map_err(|error| {
        // Versions before 4.13 know no JSON and print their usage.
        let said = observation.stderr.lines().map(str::trim).find(|line| !line.is_empty());
        State::Failed(Text::new(&said.map_or_else(|| format!("the answer of ip is no JSON: {error}"), str::to_owned)))
    })?;
    Ok(list
        .into_iter()
        .filter_map(|value| {
            let interface: Interface = serde_json::from_value(value).ok()?;
            (!interface.ifname.is_empty()).then(|| (interface.ifname.clone(), interface))
        })
        .collect())
}

fn path(pattern: &str, name: &str) -> String {
    pattern.replacen('*', name, 1)
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [sysfs, links, ip] = observations else { return Vec::new() };
    let files = Files::new(sysfs, FILES);
    let interfaces = interfaces(ip);
    let mut targets = BTreeMap::new();
    let mut drivers = BTreeMap::new();
    for (number, line) in links.lines() {
        let Some((path, target)) = files::link(line) else { continue };
        if let Some(name) = files::captured(DRIVER, path) {
            drivers.insert(name, (number, target.rsplit('/').next().unwrap_or(target)));
        } else if let Some(name) = files::captured(INTERFACE, path) {
            targets.insert(name, (number, target));
        }
    }
    let mut facts = Vec::new();
    for name in chosen(&files, &targets, interfaces.as_ref().ok()) {
        let entity = Entity::Netdev(Text::new(name));
        let driver = drivers.get(name).map(|(_, driver)| *driver);
        facts.extend(sysfs_facts(&files, name, driver));
        if let Some((line, driver)) = drivers.get(name) {
            facts.push(links.known(entity.clone(), Attribute::Driver, *driver, *line));
        }
        if let Some((line, target)) = targets.get(name)
            && let Some(address) = target.split('/').rfind(|part| is_address(part))
        {
            facts.push(links.known(entity.clone(), Attribute::PciAddress, address, *line));
        }
        facts.extend(address_facts(ip, &entity, &interfaces));
    }
    facts
}

/// The interfaces worth keeping, in the order of their names: those under RDMA ports and those with hardware first,
/// then stacked ones, then others that have an address of their own (not the ends of containers); the loopback only if
/// there is nothing else.
fn chosen<'a>(
    files: &Files<'a>,
    targets: &BTreeMap<&str, (u32, &str)>,
    interfaces: Option<&BTreeMap<String, Interface>>,
) -> BTreeSet<&'a str> {
    let under_rdma: BTreeSet<&str> =
        files.matching(GID_NETDEVS).filter_map(|(path, _)| Some(files.line(path).ok()?.1)).collect();
    let rank = |name: &str| {
        let kind = interfaces.and_then(|all| all.get(name)?.linkinfo.as_ref()?.info_kind.as_deref());
        let hardware = targets.get(name).is_some_and(|(_, target)| !target.contains("/virtual/"));
        match kind {
            _ if under_rdma.contains(name) => 0,
            _ if hardware => 1,
            Some("bond" | "vlan" | "team" | "bridge" | "macvlan" | "ipvlan" | "ipoib") => 2,
            _ => 3,
        }
    };
    let mut names: Vec<&str> = files.matching(MTU).map(|(_, name)| name).collect();
    if names.iter().any(|name| *name != "lo") {
        let plain =
            |name: &str| rank(name) == 3 && interfaces.is_some_and(|all| !all.get(name).is_some_and(is_addressed));
        names.retain(|name| *name != "lo" && !plain(name));
    }
    names.sort_by_key(|name| (rank(name), *name));
    names.truncate(MOST);
    names.into_iter().collect()
}

/// True if an interface has more than a link-local address.
fn is_addressed(interface: &Interface) -> bool {
    interface
        .addr_info
        .iter()
        .filter_map(|address| address.local.as_deref())
        .any(|address| !address.starts_with("fe80:") && !address.starts_with("169.254."))
}

/// What sysfs says of one interface.
fn sysfs_facts(files: &Files<'_>, name: &str, driver: Option<&str>) -> Vec<Fact> {
    let link_is_down = files.first(&path(CARRIER, name)).is_some_and(|(_, line)| line == "0")
        || files.first(&path(STATE, name)).is_some_and(|(_, line)| matches!(line, "down" | "lowerlayerdown"));
    let fact = |attribute, pattern, convert: &dyn Fn(&str) -> Option<State<Value>>| {
        files.fact(Entity::Netdev(Text::new(name)), attribute, &path(pattern, name), "", convert)
    };
    [
        fact(Attribute::HardwareAddress, ADDRESS, &|line| {
            // IPoIB has addresses of 20 octets; tunnels have other ones.
            Some(State::Known(line.parse::<MacAddress>().map_or_else(|_| line.into(), Value::from)))
        }),
        fact(Attribute::Mtu, MTU, &|line| line.parse::<u64>().ok().map(|mtu| State::Known(mtu.into()))),
        fact(Attribute::OperationalState, STATE, &|line| Some(State::Known(line.into()))),
        fact(Attribute::AdminUp, FLAGS, &|line| {
            let flags = u32::from_str_radix(line.strip_prefix("0x")?, 16).ok()?;
            Some(State::Known((flags & 1 == 1).into()))
        }),
        // An interface that is administratively down answers EINVAL: its carrier is not known.
        fact(Attribute::Carrier, CARRIER, &|line| match line {
            "0" => Some(State::Known(false.into())),
            "1" => Some(State::Known(true.into())),
            _ => None,
        }),
        fact(Attribute::Speed, SPEED, &|line| {
            let unknown = || State::NotPublished(Text::new(driver.unwrap_or("this kind of interface")));
            match line.parse::<i64>().ok()? {
                // -1 as old and new kernels print it, and what drivers without a speed say.
                i64::MIN..=0 | 4_294_967_295 if link_is_down => {
                    Some(State::NotObservable(Text::new("without a link there is no speed")))
                }
                i64::MIN..=0 | 4_294_967_295 => Some(unknown()),
                megabits => Some(State::Known(u64::try_from(megabits).ok()?.checked_mul(1_000_000)?.into())),
            }
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Addresses, parent and VLAN of one interface.
fn address_facts(
    observation: &Observation,
    entity: &Entity,
    interfaces: &Result<BTreeMap<String, Interface>, State<Value>>,
) -> Vec<Fact> {
    let interfaces = match interfaces {
        Ok(interfaces) => interfaces,
        Err(state) => return vec![observation.fact(entity.clone(), Attribute::Addresses, state.clone(), 0)],
    };
    // An interface that came or went between the two reads has no addresses to tell.
    let Some(interface) = interfaces.get(&entity.name()) else { return Vec::new() };
    let addresses: Vec<Text> = interface
        .addr_info
        .iter()
        .filter_map(|address| {
            let local = address.local.as_ref()?;
            Some(Text::new(&match address.prefixlen {
                Some(length) => format!("{local}/{length}"),
                None => local.clone(),
            }))
        })
        .collect();
    let state = if addresses.is_empty() { State::Empty } else { State::Known(Value::List(addresses)) };
    let mut facts = vec![observation.fact(entity.clone(), Attribute::Addresses, state, 1)];
    if let Some(parent) = interface.link.as_deref().or(interface.master.as_deref()) {
        facts.push(observation.known(entity.clone(), Attribute::ParentNetdev, parent, 1));
    }
    let vlan = interface.linkinfo.as_ref().filter(|info| info.info_kind.as_deref() == Some("vlan"));
    if let Some(id) = vlan.and_then(|info| info.info_data.as_ref()?.get("id")?.as_u64()) {
        facts.push(observation.known(entity.clone(), Attribute::VlanId, id, 1));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const SYSFS: &str = include_str!("../../../tests/fixtures/guest-probes/linux.netdev-files.txt");
    const LINKS: &str = include_str!("../../../tests/fixtures/guest-probes/linux.netdev-links.txt");
    const IP: &str = include_str!("../../../tests/fixtures/guest-probes/linux.ip-addresses.txt");
    const PVRDMA_IP: &str = include_str!("../../../tests/fixtures/pvrdma-guest/20-ip-j-d-s-addr-show.txt");

    fn netdev(name: &str) -> Entity {
        Entity::Netdev(Text::new(name))
    }

    #[test]
    fn a_real_guest() {
        let facts = run(
            &PROBE,
            &[(SYSFS, "grep: /sys/class/net/lo/speed: Invalid argument\n", 2), (LINKS, "", 1), (IP, "", 0)],
        );
        let of = |attribute| shown(&facts, &netdev("eth1"), attribute);
        assert_eq!(of(Attribute::HardwareAddress), "52:54:00:00:01:11");
        assert_eq!(of(Attribute::Mtu), "1500");
        assert_eq!(of(Attribute::OperationalState), "up");
        assert_eq!(of(Attribute::AdminUp), "yes");
        assert_eq!(of(Attribute::Carrier), "yes");
        assert_eq!(of(Attribute::Speed), "<not published by virtio_net>", "-1 is no speed");
        assert_eq!(of(Attribute::Driver), "virtio_net");
        assert_eq!(of(Attribute::PciAddress), "0000:00:04.0");
        assert_eq!(of(Attribute::Addresses), "192.168.100.10/24, fe80::5054:ff:fe00:111/64");
        assert!(!facts.iter().any(|fact| fact.entity == netdev("lo")));
    }

    /// A PVRDMA guest as `ip -j -d -s addr show` and sysfs tell of it, with a VLAN, a container and an interface that
    /// is down.
    const ESXI_FILES: &str = "/sys/class/net/eth1/address:52:54:00:00:02:31\n/sys/class/net/eth1/mtu:9000\n\
        /sys/class/net/eth1/speed:100000\n/sys/class/net/eth1/flags:0x1003\n/sys/class/net/eth1/carrier:1\n\
        /sys/class/net/eth1.100/mtu:1500\n/sys/class/net/veth1/mtu:1500\n/sys/class/net/down0/mtu:1500\n\
        /sys/class/net/down0/flags:0x1002\n/sys/class/net/old/mtu:1500\n/sys/class/net/old/speed:4294967295\n\
        /sys/class/infiniband/rocep0s16f1/ports/1/gid_attrs/ndevs/0:eth1\n";
    const ESXI_LINKS: &str = "'/sys/class/net/eth1' -> '../../devices/pci0000:00/0000:00:10.0/net/eth1'\n\
        '/sys/class/net/down0' -> '../../devices/pci0000:00/0000:00:11.0/net/down0'\n\
        '/sys/class/net/old' -> '../../devices/pci0000:00/0000:00:12.0/net/old'\n\
        '/sys/class/net/eth1.100' -> '../../devices/virtual/net/eth1.100'\n\
        '/sys/class/net/veth1' -> '../../devices/virtual/net/veth1'\n\
        '/sys/class/net/eth1/device/driver' -> '../../../../bus/pci/drivers/vmxnet3'\n";
    const ESXI_STDERR: &str =
        "grep: /sys/class/net/down0/carrier: Invalid argument\ngrep: /sys/class/net/down0/speed: Invalid argument\n";

    fn esxi_ip() -> String {
        let more = r#",{"ifname":"eth1.100","link":"eth1","linkinfo":{"info_kind":"vlan","info_data":{"protocol":"802.1Q","id":100}},"addr_info":[]},
            {"ifname":"veth1","linkinfo":{"info_kind":"veth"},"addr_info":[{"family":"inet6","local":"fe80::1","prefixlen":64}]},{"ifname":5}]"#;
        PVRDMA_IP.trim_end().strip_suffix(']').expect("an array").to_owned() + more
    }

    #[test]
    fn a_pvrdma_guest_with_a_vlan_and_a_container() {
        let facts = run(&PROBE, &[(ESXI_FILES, ESXI_STDERR, 2), (ESXI_LINKS, "", 0), (&esxi_ip(), "", 0)]);
        let of = |name, attribute| shown(&facts, &netdev(name), attribute);
        assert_eq!(of("eth1", Attribute::Driver), "vmxnet3");
        assert_eq!(of("eth1", Attribute::PciAddress), "0000:00:10.0");
        assert_eq!(of("eth1", Attribute::Speed), "100000000000");
        assert_eq!(of("eth1", Attribute::Mtu), "9000");
        assert!(of("eth1", Attribute::Addresses).starts_with("192.168.100.50/24, "));
        assert_eq!(of("eth1.100", Attribute::VlanId), "100");
        assert_eq!(of("eth1.100", Attribute::ParentNetdev), "eth1");
        assert_eq!(of("eth1.100", Attribute::Addresses), "<empty>");
        assert_eq!(of("down0", Attribute::AdminUp), "no");
        assert!(of("down0", Attribute::Carrier).starts_with("<not available"));
        assert_eq!(of("old", Attribute::Speed), "<not published by this kind of interface>");
        assert_eq!(of("veth1", Attribute::Mtu), "absent", "the end of a container");
    }

    #[test]
    fn a_tool_without_json_says_so_and_hides_nothing_else() {
        let usage = "Option \"-j\" is unknown, try \"ip -help\".\n";
        let facts = run(&PROBE, &[(SYSFS, "", 0), (LINKS, "", 0), ("", usage, 255)]);
        assert_eq!(
            shown(&facts, &netdev("eth1"), Attribute::Addresses),
            "<failed: Option \"-j\" is unknown, try \"ip -help\".>"
        );
        assert_eq!(shown(&facts, &netdev("eth1"), Attribute::Mtu), "1500");
        let facts = run(&PROBE, &[(SYSFS, "", 0), (LINKS, "", 0), (&IP[..500], "", 0)]);
        assert!(shown(&facts, &netdev("eth1"), Attribute::Addresses).contains("no JSON"));
    }

    #[test]
    fn the_loopback_is_kept_where_nothing_else_is_and_hundreds_are_not() {
        let facts = run(&PROBE, &[("/sys/class/net/lo/mtu:65536\n", "", 0), ("", "", 1), ("", "", 127)]);
        assert_eq!(shown(&facts, &netdev("lo"), Attribute::Mtu), "65536");
        let many = (0..300).map(|n| format!("/sys/class/net/veth{n}/mtu:1500\n")).collect::<Vec<_>>().concat()
            + "/sys/class/net/zz/mtu:9000\n";
        let link = "'/sys/class/net/zz' -> '../../devices/pci0000:00/0000:00:10.0/net/zz'\n";
        let facts = run(&PROBE, &[(&many, "", 0), (link, "", 0), ("", "", 127)]);
        let names: BTreeSet<String> = facts.iter().map(|fact| fact.entity.name()).collect();
        assert_eq!(names.len(), MOST);
        assert!(names.contains("zz"), "hardware comes first");
    }

    survives_damage!(PROBE, ESXI_FILES, ESXI_LINKS, IP);
}
