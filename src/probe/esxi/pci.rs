//! PCI functions of a host: what they are, who owns them now and after the next boot, whether they can be and are passed
//! through. ESXi 8 leaves the names of adapters out of its list: they come from the list of adapters, by the address.
//! From the same sources follows what waits for a reboot.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::address::PciAddress;
use super::block::Block;
use super::nics;
use super::reboot;
use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// PCI functions and passthrough.
pub const PROBE: Probe = Probe {
    name: "esxi.pci",
    title: "PCI functions: owner, passthrough, what waits for a reboot",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::leading(&["esxi.pci-passthrough", "esxi.pci-kernel-settings"], &["esxi.rdma", "esxi.nics"]),
    sources: &[
        command!("esxi.pci-list", "esxcli" "hardware" "pci" "list"),
        command!("esxi.pci-passthrough", "esxcli" "hardware" "pci" "pcipassthru" "list"),
        command!("esxi.pci-adapters", "esxcli" "network" "nic" "list"),
        command!("esxi.pci-kernel-settings", "esxcli" "system" "settings" "kernel" "list"),
    ],
    parse,
};

/// What the VMkernel prints for a slot that has no number.
const NO_SLOT: &str = "4294967295";

/// What `pcipassthru list` says of each function, with the line.
pub(super) type Enabled = BTreeMap<PciAddress, (State<Value>, u32)>;

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [list, passthrough, adapters, settings] = observations else { return Vec::new() };
    let blocks = reply::blocks(list);
    let mut all = list_facts(list, &blocks, adapters);
    let enabled = enabled(passthrough);
    let mut facts = Facts::of(passthrough);
    match &enabled {
        Ok(enabled) => {
            for (address, (enabled, line)) in enabled {
                let entity = Entity::PciFunction(Text::new(&address.to_string()));
                facts.say(&entity, Attribute::PassthroughEnabled, Some(enabled.clone()), *line);
            }
        }
        Err(state) => facts.say(&Entity::Host, Attribute::PassthroughEnabled, Some(state.clone()), 0),
    }
    all.extend(facts.said);
    all.push(reboot::pending(list, &blocks, &enabled, settings));
    all
}

fn list_facts(list: &Observation, blocks: &Result<Vec<Block<'_>>, State<Value>>, adapters: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(list);
    let blocks = match blocks {
        Ok(blocks) => blocks,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::PassthroughCapable, Some(state.clone()), 0);
            return facts.said;
        }
    };
    let named = nics::addresses(&adapters.stdout);
    let mut of_adapters = Facts::of(adapters);
    for block in blocks {
        let Some(address) = address(block) else { continue };
        let entity = Entity::PciFunction(Text::new(&address.to_string()));
        if !matters(block) {
            // That it is there, and which model, is asked of any function that a VM may name.
            say_model(&mut facts, &entity, block);
            continue;
        }
        say(&mut facts, &entity, block);
        let own = block.field(&["VMkernel Name"]).filter(|field| !field.value.is_empty());
        if let Some(field) = own {
            facts.say(&entity, Attribute::KernelName, Some(reply::text(&field.value)), field.line);
        } else if let Some((name, line)) = named.get(&address) {
            of_adapters.say(&entity, Attribute::KernelName, Some(State::Known(name.clone().into())), *line);
        } else if let Some(field) = block.field(&["VMkernel Name"]) {
            facts.say(&entity, Attribute::KernelName, Some(State::Empty), field.line);
        }
    }
    facts.said.extend(of_adapters.said);
    facts.said
}

/// The address of a block: its title, or what it says itself.
pub(super) fn address(block: &Block<'_>) -> Option<PciAddress> {
    PciAddress::of(block.title).or_else(|| PciAddress::of(block.get(&["Address"])?))
}

/// Of bridges and parts of the chipset, a third of a server's functions and more, only the model is told, unless someone
/// passes them through.
fn matters(block: &Block<'_>) -> bool {
    let class = block.get(&["Device Class"]).and_then(hexadecimal).map_or(0, |class| class >> 8);
    let owned = ["Configured Owner", "Current Owner"]
        .iter()
        .any(|key| block.get(&[key]).is_some_and(|owner| owner.starts_with("VM Pass")));
    owned || !matches!(class, 0x05 | 0x06 | 0x07 | 0x08 | 0x0c | 0x11)
}

fn say(facts: &mut Facts<'_>, entity: &Entity, block: &Block<'_>) {
    for (attribute, key) in [
        (Attribute::VendorName, "Vendor Name"),
        (Attribute::DeviceName, "Device Name"),
        (Attribute::ConfiguredOwner, "Configured Owner"),
        (Attribute::CurrentOwner, "Current Owner"),
        (Attribute::ResetMethod, "Reset Method"),
    ] {
        if let Some(field) = block.field(&[key]) {
            facts.say(entity, attribute, Some(reply::text(&field.value)), field.line);
        }
    }
    if let Some(field) = block.field(&["Passthru Capable"]) {
        facts.say(entity, Attribute::PassthroughCapable, Some(reply::flag(&field.value)), field.line);
    }
    if let Some(field) = block.field(&["Module Name"]) {
        // `None` and nothing both mean that no driver took it.
        let state = if field.value.eq_ignore_ascii_case("none") { State::Empty } else { reply::text(&field.value) };
        facts.say(entity, Attribute::Driver, Some(state), field.line);
    }
    if let Some(field) = block.field(&["Physical Slot"]) {
        let state = if field.value == NO_SLOT { State::NotAvailable } else { reply::text(&field.value) };
        facts.say(entity, Attribute::PhysicalSlot, Some(state), field.line);
    }
    if let Some(field) = block.field(&["Parent Device"]) {
        let state = match PciAddress::of(&field.value) {
            Some(parent) => State::Known(parent.to_string().as_str().into()),
            None => reply::text(&field.value),
        };
        facts.say(entity, Attribute::ParentFunction, Some(state), field.line);
    }
    if let Some(field) = block.field(&["NUMA Node"]) {
        let state = match field.value.parse::<i64>() {
            Ok(node) => State::Known(node.into()),
            Err(_) => reply::missing(&field.value).unwrap_or_else(|| reply::not_understood(&field.value)),
        };
        facts.say(entity, Attribute::NumaNode, Some(state), field.line);
    }
    say_model(facts, entity, block);
    say_kind(facts, entity, block);
}

/// A number of a block, with its line.
fn number(block: &Block<'_>, key: &str) -> Option<(u32, u32)> {
    let field = block.field(&[key])?;
    Some((hexadecimal(&field.value)?, field.line))
}

fn say_model(facts: &mut Facts<'_>, entity: &Entity, block: &Block<'_>) {
    for (attribute, key) in [(Attribute::VendorId, "Vendor ID"), (Attribute::DeviceId, "Device ID")] {
        if let Some((id, line)) = number(block, key) {
            facts.say(entity, attribute, Some(State::Known(format!("{id:04x}").as_str().into())), line);
        } else if let Some(field) = block.field(&[key]) {
            // Without `0x` it is not known in which base it was written.
            let state = reply::missing(&field.value).unwrap_or_else(|| reply::not_understood(&field.value));
            facts.say(entity, attribute, Some(state), field.line);
        }
    }
}

fn say_kind(facts: &mut Facts<'_>, entity: &Entity, block: &Block<'_>) {
    let number = |key| number(block, key);
    let text = |words: String| Some(State::<Value>::Known(words.as_str().into()));
    if let (Some((vendor, line)), Some((device, _))) = (number("SubVendor ID"), number("SubDevice ID")) {
        facts.say(entity, Attribute::SubsystemId, text(format!("{vendor:04x}:{device:04x}")), line);
    }
    if let Some((class, line)) = number("Device Class") {
        let interface = number("Programming Interface").map_or(0, |(interface, _)| interface);
        facts.say(entity, Attribute::ClassCode, text(format!("{class:04x}{interface:02x}")), line);
        let kind = match (number("Vendor ID").map(|(id, _)| id), class >> 8) {
            (Some(0x10de), 0x03) => Some("NVIDIA GPU"),
            (Some(0x10de), _) if class == 0x0680 => Some("NVIDIA NVSwitch"),
            (Some(0x15b3), 0x02) => Some("RDMA-capable NIC"),
            _ if class == 0x0207 => Some("InfiniBand adapter"),
            (_, 0x02) => Some("NIC"),
            (_, 0x03) => Some("graphics"),
            (_, 0x01) => Some("storage"),
            _ => None,
        };
        if let Some(kind) = kind {
            facts.say(entity, Attribute::FunctionKind, text(kind.to_owned()), line);
        }
    }
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// Titles of the list of what is passed through.
pub(super) const PASSTHROUGH: &[&str] = &["Device ID", "Enabled"];

/// For each function whether passthrough is enabled, or why that is not known.
fn enabled(observation: &Observation) -> Result<Enabled, State<Value>> {
    let table = reply::table(observation, PASSTHROUGH, &["Device ID", "Address"])?;
    Ok(table
        .rows()
        .iter()
        .filter_map(|row| {
            let address = PciAddress::of(table.get(row, &["Device ID", "Address"])?)?;
            Some((address, (reply::flag(table.get(row, &["Enabled"])?), row.line)))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{
        HOSTD_DEAD, UNKNOWN, reordered, run, shown, survives_damage, with_carriage_returns, wrapped,
    };
    use super::*;

    const LIST: &str = include_str!("../../../tests/fixtures/esxi/103-hardware-pci-list-blocks.txt");
    const PASSTHROUGH: &str = include_str!("../../../tests/fixtures/esxi/101-pcipassthru-list.txt");
    /// A host of version 8, put together from published outputs: no name in the list, passthrough that waits.
    const EIGHT: &str = "\
0000:5e:00.0
   Address: 0000:5e:00.0
   VMkernel Name:
   Vendor Name: Mellanox Technologies
   Device Name: MT28800 Family [ConnectX-5 Ex]
   Configured Owner: VMkernel
   Current Owner: VMkernel
   Vendor ID: 0x15b3
   Device ID: 0x1019
   SubVendor ID: 0x15b3
   SubDevice ID: 0x0008
   Device Class: 0x0200
   Device Class Name: Ethernet controller
   Programming Interface: 0x00
   Module ID: -1
   Module Name:
   Physical Slot: 4294967295
   Passthru Capable: true
   Parent Device: PCI 0:93:0:0

0000:3b:00.0
   Address: 0000:3b:00.0
   Vendor Name: NVIDIA Corporation
   Device Name: GA100 [A100 PCIe 40GB]
   Configured Owner: VM Passthru
   Current Owner: VMkernel
   Vendor ID: 0x10de
   Device ID: 0x20f1
   Device Class: 0x0302
   Programming Interface: 0x00
   Module Name: None
   Passthru Capable: true

0000:00:1f.0
   Address: 0000:00:1f.0
   Vendor Name: Intel Corporation
   Vendor ID: 0x8086
   Device ID: 0xa1c1
   Device Class: 0x0601
   Configured Owner: Unknown
   Current Owner: VMkernel
";
    const ADAPTERS: &str = "\
Name    PCI Device    Driver      Admin Status  Link Status   Speed  Duplex  MAC Address         MTU  Description
------  ------------  ----------  ------------  -----------  ------  ------  -----------------  ----  -----------
vmnic2  0000:5e:00.0  nmlx5_core  Up            Up           100000  Full    ec:0d:9a:00:00:01  9000  MT28800
";
    const SETTINGS: &str = "\
Name             Type    Configured  Runtime  Default  Description
---------------  ------  ----------  -------  -------  -----------
disableACSCheck  Bool    FALSE       FALSE    FALSE    Bypass ACS capability checks on all PCIE devices
logPort          String  default     none     default  Where messages go
";

    fn function(address: &str) -> Entity {
        Entity::PciFunction(Text::new(address))
    }

    fn pending(facts: &[Fact]) -> String {
        shown(facts, &Entity::Host, Attribute::RebootPending)
    }

    #[test]
    fn a_real_block_after_the_end_of_another() {
        let facts = run(&PROBE, &[(LIST, "", 0), (PASSTHROUGH, "", 0), ("", "", 0), (SETTINGS, "", 0)]);
        let of = |attribute| shown(&facts, &function("0000:04:00.0"), attribute);
        assert_eq!(of(Attribute::VendorId), "1000");
        assert_eq!(of(Attribute::SubsystemId), "1000:3020");
        assert_eq!(of(Attribute::ClassCode), "010700");
        assert_eq!(of(Attribute::CurrentOwner), "VM Passthru");
        assert_eq!(of(Attribute::Driver), "pciPassthru");
        assert_eq!(of(Attribute::ParentFunction), "0000:00:02.0");
        assert_eq!(of(Attribute::PhysicalSlot), "3");
        assert_eq!(of(Attribute::PassthroughCapable), "yes");
        assert_eq!(of(Attribute::KernelName), "vmhba2");
        assert_eq!(shown(&facts, &function("0000:3b:00.0"), Attribute::PassthroughEnabled), "yes");
        assert_eq!(pending(&facts), "<empty>");
    }

    #[test]
    fn names_of_version_eight_and_what_waits() {
        for text in [EIGHT.to_owned(), with_carriage_returns(EIGHT), EIGHT.replace("   ", "  ")] {
            let facts = run(&PROBE, &[(&text, "", 0), (PASSTHROUGH, "", 0), (ADAPTERS, "", 0), (SETTINGS, "", 0)]);
            let of = |address: &str, attribute| shown(&facts, &function(address), attribute);
            assert_eq!(of("0000:5e:00.0", Attribute::KernelName), "vmnic2");
            assert_eq!(of("0000:5e:00.0", Attribute::Driver), "<empty>");
            assert_eq!(of("0000:5e:00.0", Attribute::ParentFunction), "0000:5d:00.0");
            assert_eq!(of("0000:5e:00.0", Attribute::FunctionKind), "RDMA-capable NIC");
            assert!(of("0000:5e:00.0", Attribute::PhysicalSlot).starts_with("<not available"));
            assert_eq!(of("0000:3b:00.0", Attribute::FunctionKind), "NVIDIA GPU");
            assert_eq!(of("0000:00:1f.0", Attribute::VendorName), "absent", "a bridge");
            assert_eq!(of("0000:00:1f.0", Attribute::FunctionKind), "absent");
            assert_eq!(of("0000:00:1f.0", Attribute::DeviceId), "a1c1", "but it is there");
            assert_eq!(
                pending(&facts),
                "0000:3b:00.0: owner VM Passthru configured, VMkernel now (or its record is stale)"
            );
        }
    }

    #[test]
    fn passthrough_and_settings_that_wait() {
        let list = EIGHT.replace("Configured Owner: VM Passthru", "Configured Owner: VMkernel");
        let settings = SETTINGS.replace("Bool    FALSE ", "Bool    TRUE  ");
        for change in [str::to_owned, with_carriage_returns, wrapped, reordered] {
            let facts = run(
                &PROBE,
                &[(&list, "", 0), (&change(PASSTHROUGH), "", 0), (ADAPTERS, "", 0), (&change(&settings), "", 0)],
            );
            let said = pending(&facts);
            assert!(said.contains("0000:3b:00.0: passthrough enabled, not active (VMkernel owns it)"), "{said}");
            assert!(said.contains("kernel setting disableACSCheck: TRUE configured, FALSE now"), "{said}");
            assert!(!said.contains("logPort"), "the kernel chose by itself");
        }
    }

    #[test]
    fn a_renamed_key_leaves_only_its_value_out() {
        let text = EIGHT.replace("Passthru Capable", "DirectPath Possible");
        let facts = run(&PROBE, &[(&text, "", 0), ("", "", 0), ("", "", 0), ("", "", 0)]);
        assert_eq!(shown(&facts, &function("0000:5e:00.0"), Attribute::PassthroughCapable), "absent");
        assert_eq!(shown(&facts, &function("0000:5e:00.0"), Attribute::DeviceId), "1019");
    }

    #[test]
    fn nothing_is_said_to_wait_where_nothing_was_read() {
        let facts = run(&PROBE, &[("", HOSTD_DEAD, 1), ("", HOSTD_DEAD, 1), ("", HOSTD_DEAD, 1), ("", HOSTD_DEAD, 1)]);
        assert!(pending(&facts).contains("hostd does not answer"));
        assert!(shown(&facts, &Entity::Host, Attribute::PassthroughCapable).contains("hostd does not answer"));
        // 6.7 has no list of passthrough.
        let facts = run(&PROBE, &[(LIST, "", 0), (UNKNOWN, "", 1), ("", "", 0), (SETTINGS, "", 0)]);
        assert!(
            shown(&facts, &Entity::Host, Attribute::PassthroughEnabled).starts_with("<not published by this version")
        );
        assert_eq!(pending(&facts), "<empty>");
    }

    survives_damage!(PROBE, EIGHT, PASSTHROUGH, ADAPTERS, SETTINGS);
}
