//! Every parser of a host against every way in which its text reaches it: line ends of Windows, broken at 72 characters,
//! with another order and something new in it, with a key that was renamed, and against answers that are none.

use std::collections::BTreeMap;

use super::reply::testing::{HOSTD_DEAD, item, reordered, run, with_carriage_returns, wrapped};
use super::{
    advanced, dcb, firewall, kernel_settings, modules, nics, pci, rdma, software, sriov, vmknics, vms, vswitches,
};
use crate::fabric::{Attribute, Entity, Fact, State, Value};
use crate::probe::{Probe, Read};

/// How a text is laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Table,
    Blocks,
    /// Rows without edges that could be trusted.
    Rows,
}

struct Case {
    probe: &'static Probe,
    /// The source that prints it.
    source: &'static str,
    shape: Shape,
    text: &'static str,
    /// A key or title that a later version could rename, and what is lost by that.
    renamed: (&'static str, Attribute),
    /// The title without which no row has a name, and the only words that tell that this source failed.
    key: Option<&'static str>,
}

/// The layouts that the tests of the single probes have.
const CASES: &[Case] = &[
    Case {
        probe: &rdma::PROBE,
        source: "esxi.rdma-devices",
        shape: Shape::Table,
        text: "\
Name     Driver      State   MTU   Speed     Paired Uplink  Description
-------  ----------  ------  ----  --------  -------------  -----------------------------------
vmrdma0  nmlx5_rdma  Active  4096  100 Gbps  vmnic2         MT28800 Family [ConnectX-5 Ex]
vmrdma1  nmlx5_rdma  Down    1024  0         vmnic3         MT28800 Family [ConnectX-5 Ex]
",
        renamed: ("Paired Uplink", Attribute::PairedUplink),
        key: Some("Name"),
    },
    Case {
        probe: &nics::PROBE,
        source: "esxi.nic-list",
        shape: Shape::Table,
        text: "\
Name    PCI Device    Driver      Admin Status  Link Status   Speed  Duplex  MAC Address         MTU  Description
------  ------------  ----------  ------------  -----------  ------  ------  -----------------  ----  -----------
vmnic0  0000:18:00.0  ixgben      Up            Down              0  Half    00:00:00:00:00:00  1500  Intel(R) Ethernet Controller X550
vmnic2  0000:5e:00.0  nmlx5_core  Up            Up           100000  Full    ec:0d:9a:00:00:01  9000  Mellanox Technologies MT28800 Family [ConnectX-5 Ex]
",
        renamed: ("Duplex", Attribute::Duplex),
        key: Some("Name"),
    },
    Case {
        probe: &nics::PROBE,
        source: "esxi.nic-pause",
        shape: Shape::Table,
        text: "\
NIC     Pause Params Supported  Pause RX  Pause TX  Auto Negotiation  Auto Negotiation Resolution Avail
------  ----------------------  --------  --------  ----------------  ---------------------------------
vmnic0                    true      true     false             false                              false
vmnic1                    true     false      true             false                              false
",
        renamed: ("Pause TX", Attribute::PauseTx),
        key: None,
    },
    Case {
        probe: &dcb::PROBE,
        source: "esxi.nic-dcb",
        shape: Shape::Blocks,
        text: "   Nic Name: vmnic2
   Mode: 3 - IEEE Mode
   Enabled: true
   Capabilities:
         Priority Group: true
         PFC Traffic Classes: 8
   PFC Enabled: true
   PFC Configuration: 0 0 0 1 0 0 0 0
",
        renamed: ("PFC Configuration", Attribute::PfcPriorities),
        key: None,
    },
    Case {
        probe: &pci::PROBE,
        source: "esxi.pci-list",
        shape: Shape::Blocks,
        text: "0000:af:00.0
   Address: 0000:af:00.0
   VMkernel Name: vmnic2
   Vendor Name: Mellanox Technologies with a name that runs on beyond the seventy-second column
   Device Name: MT28800 Family [ConnectX-5 Ex]
   Configured Owner: VMkernel
   Current Owner: VMkernel
   Vendor ID: 0x15b3
   Device ID: 0x1019
   SubVendor ID: 0x15b3
   SubDevice ID: 0x0008
   Device Class: 0x0200
   Programming Interface: 0x00
   Module Name: nmlx5_core
   Physical Slot: 4294967295
   Passthru Capable: true
   Parent Device: PCI 0:174:0:0

0000:3b:00.0
   Address: 0000:3b:00.0
   VMkernel Name:
   Vendor Name: NVIDIA Corporation
   Configured Owner: VM Passthru
   Current Owner: VM Passthru
   Vendor ID: 0x10de
   Device ID: 0x20f1
   Device Class: 0x0302
   Passthru Capable: true
",
        renamed: ("Passthru Capable", Attribute::PassthroughCapable),
        key: None,
    },
    Case {
        probe: &pci::PROBE,
        source: "esxi.pci-passthrough",
        shape: Shape::Table,
        text: "\
Device ID     Enabled
------------  -------
0000:02:00.0    true
0000:18:00.0    false
",
        renamed: ("Enabled", Attribute::PassthroughEnabled),
        key: Some("Device ID"),
    },
    Case {
        probe: &modules::PROBE,
        source: "esxi.module-list",
        shape: Shape::Table,
        text: "\
Name                           Is Loaded  Is Enabled
-----------------------------  ---------  ----------
nmlx5_core                          true        true
vrdma                              false        true
",
        renamed: ("Is Enabled", Attribute::ModuleEnabled),
        key: Some("Name"),
    },
    Case {
        probe: &software::PROBE,
        source: "esxi.vibs",
        shape: Shape::Table,
        text: "\
Name           Version                               Vendor  Acceptance Level  Install Date
-------------  ------------------------------------  ------  ----------------  ------------
nmlx5-core     4.21.71.101-1OEM.702.0.0.17630552     MEL     VMwareCertified   2022-04-12
nmlx5-rdma     4.21.71.101-1OEM.702.0.0.17630552     MEL     VMwareCertified   2022-04-12
",
        renamed: ("Vendor", Attribute::VendorName),
        key: Some("Name"),
    },
    Case {
        probe: &sriov::PROBE,
        source: "esxi.sriov-vfs",
        shape: Shape::Table,
        text: "\
VF ID  Active  PCI Address     Owner World ID
-----  ------  --------------  --------------
    0   false  00000:101:00.1   -
    1   true   00000:101:00.2   2103475
",
        renamed: ("PCI Address", Attribute::PciAddress),
        key: Some("VF ID"),
    },
    Case {
        probe: &vswitches::PROBE,
        source: "esxi.standard-switches",
        shape: Shape::Blocks,
        text: "vSwitch0
   Name: vSwitch0
   Class: cswitch
   MTU: 1500
   Beacon Required By:
   Uplinks: vmnic0, vmnic1
   Portgroups: defmng, VM Network, Management Network, vMotion, Storage one, Storage two
",
        renamed: ("MTU", Attribute::Mtu),
        key: None,
    },
    Case {
        probe: &vswitches::PROBE,
        source: "esxi.port-groups",
        shape: Shape::Table,
        text: "\
Name                Virtual Switch  Active Clients  VLAN ID
------------------  --------------  --------------  -------
Management Network  vSwitch0                     1        0
VM Network          vSwitch0                    12      104
",
        renamed: ("VLAN ID", Attribute::VlanId),
        key: Some("Name"),
    },
    Case {
        probe: &vswitches::PROBE,
        source: "esxi.distributed-switches",
        shape: Shape::Blocks,
        text: "DSwitch_078
   Name: DSwitch_078
   VDS ID: 50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81
   Class: cswitch
   MTU: 9000
   Uplinks: vmnic4
   VMware Branded: true
   DVPort:
         Client: vmnic4
         DVPortgroup ID: dvportgroup-117200
         In Use: true
         Port ID: 0

         Client: vm001.eth1
         DVPortgroup ID: dvportgroup-117201
         In Use: true
         Port ID: 2
",
        renamed: ("VDS ID", Attribute::SwitchId),
        key: None,
    },
    Case {
        probe: &vmknics::PROBE,
        source: "esxi.vmknic-list",
        shape: Shape::Blocks,
        text: "vmk1
   Name: vmk1
   MAC Address: 00:50:56:00:00:01
   Enabled: true
   Portset: DvsPortset-1
   Portgroup: N/A
   Netstack Instance: defaultTcpipStack
   VDS Name: DSwitch_078 with a name that nobody would give but that has to be read
   VDS UUID: 50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81
   VDS Port: 10
   VDS Connection: 123456789
   MTU: 9000
",
        renamed: ("Netstack Instance", Attribute::Netstack),
        key: None,
    },
    Case {
        probe: &vmknics::PROBE,
        source: "esxi.vmknic-addresses",
        shape: Shape::Table,
        text: "\
Name  IPv4 Address   IPv4 Netmask   IPv4 Broadcast  Address Type  Gateway     DHCP DNS
----  -------------  -------------  --------------  ------------  ----------  --------
vmk1  192.0.2.11     255.255.255.0  192.0.2.255     STATIC        0.0.0.0        false
vmk2  0.0.0.0        0.0.0.0        0.0.0.0         DHCP          0.0.0.0        false
",
        renamed: ("Address Type", Attribute::AddressType),
        key: Some("Name"),
    },
    Case {
        probe: &firewall::PROBE,
        source: "esxi.firewall-rulesets",
        shape: Shape::Table,
        text: "\
Name       Enabled  Enable/Disable configurable  Allowed IP configurable
---------  -------  ---------------------------  -----------------------
sshServer     true                         true                     true
pvrdma       false                         true                     true
",
        renamed: ("Enabled", Attribute::RulesetEnabled),
        key: Some("Name"),
    },
    Case {
        probe: &kernel_settings::PROBE,
        source: "esxi.kernel-setting-list",
        shape: Shape::Table,
        text: "\
Name               Type  Configured  Runtime  Default  Description
-----------------  ----  ----------  -------  -------  -----------
disableACSCheck    Bool  FALSE       FALSE    FALSE    Bypass ACS capability checks on all PCIE devices
enablePCIEHotplug  Bool  FALSE       TRUE     TRUE     Enable PCIe hotplug
",
        renamed: ("Description", Attribute::SettingDescription),
        key: Some("Name"),
    },
    Case {
        probe: &advanced::PROBE,
        source: "esxi.advanced-changed",
        shape: Shape::Blocks,
        text: "   Path: /UserVars/SuppressShellWarning
   Type: integer
   Int Value: 1
   Default Int Value: 0
   String Value:
   Description: Don't show warning for enabled local and remote shell access to people

   Path: /Net/Some
   Type: string
   Int Value: 0
   String Value: vmk1
   Default String Value:
   Description: Some
",
        renamed: ("Description", Attribute::SettingDescription),
        key: None,
    },
    Case {
        probe: &vms::PROBE,
        source: "esxi.vm-processes",
        shape: Shape::Blocks,
        text: "vm001
   World ID: 2101442
   Process ID: 0
   VMX Cartel ID: 2101441
   UUID: 56 4d a9 ac 1c ee 5d d7-f1 ae a5 95 f8 3d 2a 2d
   Display Name: vm001
   Config File: /vmfs/volumes/5b645dbf-d27a664c-e76a-1402ec67d6e6/vm001/vm001.vmx
",
        renamed: ("World ID", Attribute::WorldId),
        key: None,
    },
    Case {
        probe: &vms::PROBE,
        source: "esxi.vm-list",
        shape: Shape::Rows,
        text: "Vmid            Name                              File                       Guest OS      Version   Annotation
1      vm001             [datastore_050] vm001/vm001.vmx   ubuntu64Guest   vmx-11
24     Test Test [Test] [Test]   [datastore_050_vmfs6] Test/Test.vmx       otherGuest64    vmx-17    see [x] y.vmx z
",
        renamed: ("Annotation", Attribute::Message),
        key: None,
    },
];

impl Case {
    /// What the probe says where this source printed `text` and the others nothing.
    fn facts(&self, text: &str, stderr: &str, status: i32) -> Vec<Fact> {
        let of_item;
        let source = self.probe.sources.iter().find(|source| source.name == self.source).expect("a source");
        let (text, stderr, outer) = if matches!(source.read, Read::Each { .. }) {
            of_item = (item("vmnic2", text, status), format!("@item vmnic2\n{stderr}"));
            (of_item.0.as_str(), of_item.1.as_str(), 0)
        } else {
            (text, stderr, status)
        };
        let printed: Vec<(&str, &str, i32)> = self
            .probe
            .sources
            .iter()
            .map(|source| if source.name == self.source { (text, stderr, outer) } else { ("", "", 0) })
            .collect();
        run(self.probe, &printed)
    }

    /// The same, of which the lines do not count.
    fn said(&self, text: &str) -> BTreeMap<String, State<Value>> {
        said(&self.facts(text, "", 0))
    }

    fn changed(&self) -> Vec<String> {
        let mut changed = vec![with_carriage_returns(self.text), wrapped(self.text)];
        let other = match self.shape {
            Shape::Table => reordered(self.text),
            Shape::Blocks => turned(self.text),
            Shape::Rows => return changed,
        };
        changed.extend([with_carriage_returns(&other), wrapped(&other), other]);
        changed
    }
}

fn key(entity: &Entity, attribute: Attribute) -> String {
    format!("{entity:?} {attribute:?}")
}

fn said(facts: &[Fact]) -> BTreeMap<String, State<Value>> {
    facts.iter().map(|fact| (key(&fact.entity, fact.attribute), fact.reading.state.clone())).collect()
}

/// Blocks with their keys from last to first, nested records with them, and a key that is new.
fn turned(text: &str) -> String {
    let mut out = String::new();
    let mut groups: Vec<String> = Vec::new();
    let mut titled = false;
    let flush = |groups: &mut Vec<String>, out: &mut String| {
        if groups.is_empty() {
            return;
        }
        *out += "   News: new thing\n";
        for group in groups.drain(..).rev() {
            *out += group.trim_end();
            out.push('\n');
        }
        out.push('\n');
    };
    for line in text.lines() {
        if line.is_empty() && !titled {
            flush(&mut groups, &mut out);
        } else if !line.is_empty() && !line.starts_with(' ') {
            flush(&mut groups, &mut out);
            titled = true;
            out += line;
            out.push('\n');
        } else if line.starts_with("   ") && !line.starts_with("    ") {
            groups.push(format!("{line}\n"));
        } else if let Some(group) = groups.last_mut() {
            *group += line;
            group.push('\n');
        }
    }
    flush(&mut groups, &mut out);
    out
}

#[test]
fn any_layout_says_the_same() {
    for case in CASES {
        let wanted = case.said(case.text);
        assert!(wanted.values().any(|state| state.known().is_some()), "{}", case.source);
        for text in case.changed() {
            assert_eq!(case.said(&text), wanted, "{}\n{text}", case.source);
        }
    }
}

#[test]
fn a_renamed_key_takes_its_own_value_along_and_nothing_else() {
    for case in CASES {
        let (renamed, lost) = case.renamed;
        let wanted: BTreeMap<_, _> =
            said(&case.facts(case.text, "", 0).into_iter().filter(|fact| fact.attribute != lost).collect::<Vec<_>>());
        // Of the same length, so that the columns stay where they are.
        let news: String = renamed.chars().map(|letter| if letter == ' ' { ' ' } else { 'x' }).collect();
        let line = |line: &str| match case.shape {
            Shape::Table if !line.contains("  ") => line.to_owned(),
            Shape::Blocks => line.replacen(&format!("   {renamed}:"), &format!("   {news}:"), 1),
            _ => line.replacen(renamed, &news, 1),
        };
        let text: String = case.text.lines().map(|text| line(text) + "\n").collect();
        assert_ne!(text, case.text, "{}", case.source);
        assert_eq!(case.said(&text), wanted, "{}\n{text}", case.source);
    }
}

#[test]
fn an_answer_without_the_names_is_no_empty_one() {
    for case in CASES {
        let Some(title) = case.key else { continue };
        let news = "x".repeat(title.len());
        for text in [case.text.replacen(title, &news, 1), "Something else than a table\n".to_owned()] {
            let facts = case.facts(&text, "", 0);
            let failed =
                |fact: &Fact| matches!(&fact.reading.state, State::Failed(said) if said.contains("understood"));
            assert!(facts.iter().any(failed), "{}: {facts:?}", case.source);
        }
    }
}

#[test]
fn a_dead_agent_an_old_version_and_silence_are_three_things() {
    const UNKNOWN: &str = "Error: Unknown command or namespace some thing list\n";
    for case in CASES {
        for (stdout, stderr) in [(HOSTD_DEAD, ""), ("", HOSTD_DEAD)] {
            let states = said(&case.facts(stdout, stderr, 1));
            // What hangs on another list of the same probe has nothing to be said of.
            let silent = matches!(case.source, "esxi.nic-pause");
            let dead = |state: &State<Value>| matches!(state, State::Failed(said) if said.contains("hostd"));
            assert!(silent || states.values().any(dead), "{}: {states:?}", case.source);
            let states =
                said(&case.facts(&stdout.replace(HOSTD_DEAD, UNKNOWN), &stderr.replace(HOSTD_DEAD, UNKNOWN), 1));
            let old = |state: &State<Value>| matches!(state, State::NotPublished(_));
            assert!(silent || states.values().any(old), "{}: {states:?}", case.source);
        }
        let states = said(&case.facts("", "", 0));
        let failed = states.values().any(|state| matches!(state, State::Failed(_) | State::NotPublished(_)));
        assert!(!failed || case.source == "esxi.nic-dcb", "{}: {states:?}", case.source);
    }
}
