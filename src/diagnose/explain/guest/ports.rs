//! RDMA ports as all the tools tell of them, put together: what their states mean.

use std::collections::BTreeMap;

use super::listed;
use crate::diagnose::explain::Explained;
use crate::diagnose::finding::{Confidence, Finding, Status};

/// States of a port, as tools name them.
const STATES: [&str; 6] = ["NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"];

/// What is said of one port.
#[derive(Clone, Debug, Default)]
pub(super) struct Port {
    /// `ACTIVE`, `DOWN`, `INIT`, `ARMED`, as `rdma` writes them.
    pub(super) state: String,
    /// The line that says so.
    pub(super) line: u32,
    /// The line itself.
    pub(super) said: String,
    /// `LINK_UP`, `DISABLED`, `POLLING`; empty if nothing says it.
    pub(super) physical: String,
    /// True for native InfiniBand.
    pub(super) is_infiniband: bool,
    /// The LID of the subnet manager.
    pub(super) manager: Option<u64>,
    /// The MTU in force, with its line.
    pub(super) active_mtu: Option<(u64, u32)>,
    /// The largest MTU.
    pub(super) max_mtu: Option<u64>,
    /// The interface.
    pub(super) netdev: String,
    /// The driver or the kind of the adapter, as far as an output names it.
    pub(super) adapter: Adapter,
}

/// Whose port it is, as far as an output tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Adapter {
    /// Nothing tells.
    #[default]
    Unclear,
    /// PVRDMA.
    Pvrdma,
    /// Soft-RoCE or soft-iWARP.
    Software,
}

impl Adapter {
    /// What a name tells: the kernel's own drivers call their devices after themselves.
    pub(super) fn of_name(device: &str) -> Self {
        let numbered = |begin: &str| {
            device.strip_prefix(begin).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        if numbered("rxe") || numbered("siw") || device.starts_with("rxe_") || device.starts_with("siw_") {
            Self::Software
        } else if device.starts_with("vmw_pvrdma") {
            Self::Pvrdma
        } else {
            Self::Unclear
        }
    }
}

/// The host, where several are in the text, and the name.
type Key = (String, String);

/// What ports have in common that are told together: state, physical state, whether no subnet manager is there, whose they
/// are, whether they are used.
type Group = (String, String, bool, u8, bool);

/// All ports, by the part of the text and their name.
#[derive(Debug, Default)]
pub(super) struct Ports {
    all: BTreeMap<Key, Port>,
    /// Ports that programs have queue pairs on.
    used: Vec<Key>,
    /// Lines that say that there is no device.
    none: Vec<(u32, String)>,
}

impl Ports {
    /// What is known of a port so far. `name` is `mlx5_0/1`.
    pub(super) fn port(&mut self, host: Option<&str>, name: &str) -> &mut Port {
        let port = self.all.entry((host.unwrap_or_default().to_owned(), name.to_owned())).or_default();
        if port.adapter == Adapter::Unclear {
            port.adapter = Adapter::of_name(name.split('/').next().unwrap_or_default());
        }
        port
    }

    /// A state that is told, as `rdma` writes it.
    pub(super) fn state(&mut self, host: Option<&str>, name: &str, state: &str, line: u32, said: &str) {
        // What is no state is a sentence about ports.
        if !STATES.contains(&state) {
            return;
        }
        let port = self.port(host, name);
        // The first that tells is shown; another source that tells the same is no news.
        if port.state.is_empty() || port.state == "ACTIVE" && state != "ACTIVE" {
            (port.state, port.line, port.said) = (state.to_owned(), line, said.to_owned());
        }
    }

    /// A program has a queue pair on this port.
    pub(super) fn is_used(&mut self, host: Option<&str>, name: &str) {
        let key = (host.unwrap_or_default().to_owned(), name.to_owned());
        if self.used.len() < super::MOST_LINES && !self.used.contains(&key) {
            self.used.push(key);
        }
    }

    /// A program found no device.
    pub(super) fn finds_none(&mut self, line: u32, said: &str) {
        if self.none.len() < 16 {
            self.none.push((line, said.to_owned()));
        }
    }

    /// What all of it means.
    pub(super) fn conclude(&self, explained: &mut Explained) {
        self.not_active(explained);
        self.unmanaged(explained);
        self.small(explained);
        self.unlike(explained);
        self.missing(explained);
    }

    fn called((host, name): &Key) -> String {
        if host.is_empty() { name.clone() } else { format!("{host}:{name}") }
    }

    /// Ports that are not ACTIVE, together where they are so for the same reason.
    fn not_active(&self, explained: &mut Explained) {
        let mut groups: BTreeMap<Group, Vec<(&Key, &Port)>> = BTreeMap::new();
        for (key, port) in &self.all {
            if matches!(port.state.as_str(), "" | "ACTIVE" | "ACTIVE_DEFER" | "NOP") || port.waits_for_manager() {
                continue;
            }
            let no_manager = port.is_infiniband && port.manager == Some(0);
            let used = self.used.contains(key);
            let group = (port.state.clone(), port.physical.clone(), no_manager, port.adapter as u8, used);
            groups.entry(group).or_default().push((key, port));
        }
        for ((state, physical, no_manager, _, used), ports) in groups {
            let names: Vec<String> = ports.iter().map(|(key, _)| Self::called(key)).collect();
            let physically = if physical.is_empty() { String::new() } else { format!(" (physically {physical})") };
            let title = format!("port {} is {state}{physically}", listed(&names));
            let first = ports[0].1;
            let mut cause = first.why(&physical).to_owned();
            if no_manager {
                cause.push_str(
                    ". No subnet manager has configured it either (sm_lid 0): for a virtual function, its host may keep its link state \
                     disabled, it may lack a GUID, or the subnet manager does not know virtualization",
                );
            }
            // Beside ports that work, one that is down may be one that nobody uses.
            let others = self.all.values().any(|port| port.state == "ACTIVE");
            let (status, confidence) = match (used, others && !no_manager) {
                (true, _) => (Status::Fail, Confidence::Proved),
                (false, true) => (Status::Info, Confidence::Likely),
                (false, false) => (Status::Warn, Confidence::Likely),
            };
            if used {
                cause.push_str(". A program has a queue pair on it: what it sends gets nowhere");
            }
            let mut finding = Finding::new("guest.port-active", status, confidence, &listed(&names), &title, &cause);
            for (_, port) in ports.iter().take(super::super::MOST_EVIDENCE) {
                finding = finding.shown(port.line, &port.said);
            }
            let interface = ports.iter().map(|(_, port)| port.netdev.as_str()).find(|netdev| !netdev.is_empty());
            let interface = interface.unwrap_or("INTERFACE");
            let look =
                [format!("ip link show {interface}"), format!("ethtool {interface}"), "rdma link show".to_owned()];
            let look: Vec<&str> = look.iter().map(String::as_str).collect();
            let decide = match first.adapter {
                Adapter::Unclear if used => "The link of the uplink on the host, or of the switch's port",
                Adapter::Unclear => {
                    "Is the port meant to be used? If nothing uses it, nothing is wrong; else the link of the uplink on the host, or of \
                     the switch's port"
                }
                _ => "ip link show: is the interface under it UP and LOWER_UP?",
            };
            explained.finding(finding.decided_by(decide).helped_by("Look at what is under it", &look, ""));
        }
    }

    /// InfiniBand ports that wait for a subnet manager.
    fn unmanaged(&self, explained: &mut Explained) {
        let waiting: Vec<_> = self.all.iter().filter(|(_, port)| port.waits_for_manager()).collect();
        if waiting.is_empty() {
            return;
        }
        let names: Vec<String> = waiting.iter().map(|(key, _)| Self::called(key)).collect();
        let finding = Finding::new(
            "guest.infiniband-subnet-manager",
            Status::Fail,
            Confidence::Proved,
            &listed(&names),
            &format!("no subnet manager has configured {}", listed(&names)),
            "The link is there, but the port has no local identifier, so nothing can be sent to it: no subnet manager runs in this \
             fabric, or, for a virtual function, it does not know virtualization or the function was given no GUID.",
        );
        let finding = waiting.iter().take(8).fold(finding, |finding, (_, port)| finding.shown(port.line, &port.said));
        explained.finding(
            finding
                .decided_by("sminfo on a node of the fabric, and the GUID of the virtual function on its host")
                .helped_by("Look for the subnet manager", &["sminfo", "ibstat"], ""),
        );
    }

    /// RoCE ports that small interfaces hold below what they could carry.
    fn small(&self, explained: &mut Explained) {
        for (key, port) in &self.all {
            let (Some((active, line)), Some(most)) = (port.active_mtu, port.max_mtu) else { continue };
            if port.is_infiniband || active >= most || port.adapter == Adapter::Software || port.state != "ACTIVE" {
                continue;
            }
            let name = Self::called(key);
            let title = format!("RoCE MTU of {name} is {active} of {most}");
            let cause = "RoCE takes the largest of 256, 512, 1024, 2048 and 4096 octets that fits into the MTU of the interface less 96: 1500 \
                         gives 1024, 4200 or 9000 gives 4096. Small packets cost throughput and processor time; both ends and the \
                         switches between them must carry the larger one.";
            let finding = Finding::new("guest.roce-mtu", Status::Info, Confidence::Likely, &name, &title, cause)
                .shown(line, &format!("active_mtu: {active}"));
            explained.finding(finding.decided_by("The MTU of the interface under it, on both ends").helped_by(
                "Look at the interfaces",
                &["rdma link show", "ip link show"],
                "",
            ));
        }
    }

    /// Ports of two hosts with different MTUs.
    fn unlike(&self, explained: &mut Explained) {
        let mut sizes: BTreeMap<u64, Vec<(&Key, u32)>> = BTreeMap::new();
        for (key, port) in self.all.iter().filter(|(key, port)| !key.0.is_empty() && port.state == "ACTIVE") {
            if let Some((active, line)) = port.active_mtu {
                sizes.entry(active).or_default().push((key, line));
            }
        }
        let (Some((small, ones)), Some((large, others))) = (sizes.first_key_value(), sizes.last_key_value()) else {
            return;
        };
        let (Some((one, line)), Some((other, other_line))) =
            (ones.first(), others.iter().find(|(key, _)| ones.iter().all(|(one, _)| one.0 != key.0)))
        else {
            return;
        };
        if small == large {
            return;
        }
        let title = format!("{} has RoCE MTU {small}, {} has {large}", Self::called(one), Self::called(other));
        let cause = "Two ports that speak with each other must agree: programs that take the smaller one work at its speed, those that do not \
                     lose every large packet.";
        let finding =
            Finding::new("guest.mtu-pair", Status::Warn, Confidence::Possible, &Self::called(one), &title, cause)
                .shown(*line, &format!("active_mtu: {small}"))
                .shown(*other_line, &format!("active_mtu: {large}"))
                .decided_by("Do these two ports speak with each other? The MTU of both interfaces")
                .helped_by("Compare", &["ip link show"], "");
        explained.finding(finding);
    }

    /// A program finds no device, while the kernel has one.
    fn missing(&self, explained: &mut Explained) {
        let is_told = |check: &str| explained.findings.iter().any(|finding| finding.check == check);
        if self.none.is_empty() || is_told("guest.verbs-abi") {
            return;
        }
        let kernel: Vec<_> = self.all.iter().filter(|(_, port)| !port.state.is_empty()).collect();
        let finding = if kernel.is_empty() {
            Finding::new(
                "guest.rdma-device",
                Status::Fail,
                Confidence::Proved,
                "RDMA device",
                "programs find no RDMA device",
                "Possible: the VM has no RDMA adapter, its driver did not start, the kernel has a device but the verbs library has no provider for \
                 it (package ibverbs-providers, or libibverbs), or a container was not given /dev/infiniband.",
            )
            .decided_by("rdma link show: a device there that ibv_devices does not list is a matter of packages; none there is one of drivers")
        } else {
            let names: Vec<String> = kernel.iter().map(|(key, _)| Self::called(key)).collect();
            let title = format!("the kernel has {}, but programs find no RDMA device", listed(&names));
            let finding = Finding::new(
                "guest.provider-library",
                Status::Fail,
                Confidence::Likely,
                &listed(&names),
                &title,
                "The link is not what is missing: the verbs library lacks the provider of this adapter, it does not fit the kernel's driver, \
                 or the program may not open /dev/infiniband.",
            );
            kernel.iter().take(2).fold(finding, |finding, (_, port)| finding.shown(port.line, &port.said))
        };
        let commands = [
            "rdma link show",
            "ibv_devices",
            "ls -l /dev/infiniband",
            "lspci -nnk",
            "sudo dmesg | grep -i -e rdma -e mlx5",
        ];
        let finding = self.none.iter().fold(finding, |finding, (line, said)| finding.shown(*line, said));
        explained.finding(finding.helped_by("Look for the device", &commands, ""));
    }
}

impl Port {
    fn waits_for_manager(&self) -> bool {
        self.is_infiniband && matches!(self.state.as_str(), "INIT" | "ARMED")
    }

    /// Why a port of this kind is not ACTIVE.
    fn why(&self, physical: &str) -> &'static str {
        match (self.adapter, physical) {
            (Adapter::Pvrdma, _) => {
                "A PVRDMA port follows the link of its paired vmxnet3: its interface is down, the virtual network adapter is \
                 disconnected, or the driver could not activate the device; a wrong VLAN or a dead uplink leaves it ACTIVE"
            }
            (Adapter::Software, _) => "A soft-RoCE port follows the interface that it rides on: that one is down",
            (Adapter::Unclear, "DISABLED") => {
                "Likely: its interface was taken down, or the link state that the host gives a virtual function is disabled. Possible: the port \
                 is switched off in the adapter"
            }
            (Adapter::Unclear, "POLLING") => {
                "Likely: no signal comes from the other side: cable, transceiver, or a port of the switch that is down"
            }
            (Adapter::Unclear, _) => {
                "The adapter has no link, or its interface is down: cable, transceiver, port of the switch, or the link state that the host \
                 gives a virtual function"
            }
        }
    }
}
