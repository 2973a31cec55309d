//! The devices of a VM that matter: network adapters and passthrough devices, with what is behind them. The type that the
//! API names is better evidence of a PVRDMA adapter than any key of a VMX.

use super::reply::{self, Facts};
use super::vim_dump::{Node, Object};
use crate::fabric::{Attribute, Entity, Fact, MacAddress, Observation, State, Text, Value};
use crate::probe::vmx::PciId;

/// What a device is to us; `None` for one that does not matter here.
fn kind(device: &Object<'_>) -> Option<&'static str> {
    let backing = device.object("backing").map_or("", Object::short_kind);
    Some(match device.short_kind() {
        "VirtualVmxnet3Vrdma" => "PVRDMA adapter",
        "VirtualVmxnet3" => "vmxnet3 adapter",
        "VirtualVmxnet2" | "VirtualVmxnet" => "vmxnet adapter",
        "VirtualE1000" => "e1000 adapter",
        "VirtualE1000e" => "e1000e adapter",
        "VirtualPCNet32" => "pcnet32 adapter",
        "VirtualSriovEthernetCard" => "SR-IOV adapter",
        "VirtualPCIPassthrough" => match backing {
            "VmiopBackingInfo" => "vGPU",
            "DynamicBackingInfo" => "dynamic passthrough",
            "DvxBackingInfo" => "Enhanced DirectPath",
            _ => "passthrough",
        },
        _ => return None,
    })
}

/// What the devices of one VM say.
pub(super) fn facts(observation: &Observation, vm: &Entity, devices: &[&Object<'_>]) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let Entity::Vm(vm) = vm else { return Vec::new() };
    for device in devices {
        let (Some(kind), Some(key)) = (kind(device), device.text("key").and_then(|key| key.parse::<u32>().ok())) else {
            continue;
        };
        let entity = Entity::VmDevice { vm: vm.clone(), key };
        facts.say(&entity, Attribute::DeviceKind, Some(State::Known(kind.into())), device.line);
        facts.say(&entity, Attribute::DeviceType, Some(reply::text(device.short_kind())), device.line);
        let mut say = |object: Option<&Object<'_>>, name: &str, attribute, read: fn(&str) -> State<Value>| {
            let Some(object) = object else { return };
            let state = match object.get(name) {
                Some(Node::Scalar(word)) => Some(read(word)),
                Some(Node::Null | Node::Unset) => Some(State::Empty),
                _ => None,
            };
            facts.say(&entity, attribute, state, object.line_of(name));
        };
        say(device.object("deviceInfo"), "label", Attribute::DeviceLabel, reply::text);
        say(device.object("connectable"), "connected", Attribute::DeviceConnected, reply::flag);
        say(Some(device), "macAddress", Attribute::HardwareAddress, mac);
        say(Some(device), "deviceProtocol", Attribute::DeviceProtocol, reply::text);
        if let Some(sriov) = device.object("sriovBacking") {
            say(sriov.object("virtualFunctionBacking"), "id", Attribute::BackingId, reply::text);
            say(sriov.object("virtualFunctionBacking"), "id", Attribute::BackingFunction, function);
            say(sriov.object("physicalFunctionBacking"), "id", Attribute::ParentFunction, function);
        }
        let Some(backing) = device.object("backing") else { continue };
        let say_backing = &mut |name, attribute, read| say(Some(backing), name, attribute, read);
        say_backing("systemId", Attribute::BackingSystem, reply::text);
        say_backing("vgpu", Attribute::VgpuProfile, reply::text);
        say_backing("vendorId", Attribute::VendorId, pci_id);
        say_backing("deviceId", Attribute::DeviceId, pci_id);
        say_backing("customLabel", Attribute::DeviceName, reply::text);
        // Dynamic DirectPath knows its function only while the VM runs.
        let id = if backing.get("assignedId").is_some() { "assignedId" } else { "id" };
        if kind.ends_with("passthrough") {
            say_backing(id, Attribute::BackingId, reply::text);
            say_backing(id, Attribute::BackingFunction, function);
        }
        match backing.object("port") {
            Some(port) => {
                say(Some(port), "portgroupKey", Attribute::PortGroupKey, reply::text);
                say(Some(port), "portKey", Attribute::PortId, reply::text);
                say(Some(port), "switchUuid", Attribute::SwitchId, reply::text);
                say(Some(port), "connectionCookie", Attribute::ConnectionId, reply::text);
            }
            // On a standard switch the backing names its port group.
            None if kind.ends_with("adapter") => {
                say(Some(backing), "deviceName", Attribute::PortGroupKey, reply::text);
            }
            None => {}
        }
        let allowed: Vec<Text> = backing.objects("allowedDevice").into_iter().filter_map(allowed).collect();
        if !allowed.is_empty() {
            let line = backing.line_of("allowedDevice");
            facts.say(&entity, Attribute::AllowedDevices, Some(State::Known(allowed.into())), line);
        }
    }
    facts.said
}

fn mac(word: &str) -> State<Value> {
    match word.parse::<MacAddress>() {
        Ok(address) => State::Known(address.into()),
        Err(_) => reply::missing(word).unwrap_or_else(|| reply::not_understood(word)),
    }
}

/// A vendor or device id as four hexadecimal digits. The API has vendors as signed numbers of 16 bits and devices as
/// hexadecimal text.
fn hexadecimal(word: &str) -> Option<String> {
    let word = word.trim();
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u16::from_str_radix(digits, 16).ok().map(|id| format!("{id:04x}"));
    }
    // Four digits could be either: only a text of the API's device ids has letters or is exactly four long.
    if word.len() == 4 && word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return u16::from_str_radix(word, 16).ok().map(|id| format!("{id:04x}"));
    }
    let number: i32 = word.parse().ok()?;
    (-32_768..65_536).contains(&number).then(|| format!("{:04x}", number & 0xffff))
}

fn pci_id(word: &str) -> State<Value> {
    match hexadecimal(word) {
        Some(id) => State::Known(id.as_str().into()),
        None => reply::missing(word).unwrap_or_else(|| reply::not_understood(word)),
    }
}

fn allowed(device: &Object<'_>) -> Option<Text> {
    let id = |name| device.text(name).and_then(hexadecimal);
    Some(Text::new(&format!("{}:{}", id("vendorId")?, id("deviceId")?)))
}

/// The host's function behind a device, hexadecimal (`0:66:0.0` is bus 42 hexadecimal). What reads both ways is not guessed
/// here: only the list of the host's functions can tell, and the id as written is told beside it.
fn function(word: &str) -> State<Value> {
    match PciId::read(word) {
        PciId::Decimal(address) | PciId::Hex(address) => State::Known(address.as_str().into()),
        PciId::Ambiguous { decimal, hex } => State::NotObservable(Text::new(&format!(
            "the id {word} reads as {decimal} (decimal) and as {hex} (hexadecimal)"
        ))),
        PciId::Unreadable => reply::missing(word).unwrap_or_else(|| reply::not_understood(word)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::reply::testing::shown;
    use super::super::vim_dump;
    use super::*;

    /// Types and fields of the API; form of published dumps.
    pub const DEVICES: &str = "Devices:\n\n(vim.vm.VirtualHardware) {\n   numCPU = 8,\n   device = (vim.vm.device.VirtualDevice) [\n      \
        (vim.vm.device.VirtualIDEController) {\n         key = 200,\n      },\n      \
        (vim.vm.device.VirtualVmxnet3Vrdma) {\n         key = 4001,\n         deviceInfo = (vim.Description) {\n            \
        label = \"Network adapter 2\",\n            summary = \"DVSwitch: 50 1e 81 57\"\n         },\n         \
        backing = (vim.vm.device.VirtualEthernetCard.DistributedVirtualPortBackingInfo) {\n            \
        port = (vim.dvs.PortConnection) {\n               switchUuid = \"50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81\",\n               \
        portgroupKey = \"dvportgroup-117201\",\n               portKey = \"2\",\n               connectionCookie = 123456789\n            }\n         },\n         \
        connectable = (vim.vm.device.VirtualDevice.ConnectInfo) {\n            connected = true,\n         },\n         \
        macAddress = \"00:50:56:80:00:01\",\n         deviceProtocol = \"rocev2\"\n      },\n      \
        (vim.vm.device.VirtualPCIPassthrough) {\n         key = 13000,\n         \
        backing = (vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo) {\n            id = \"00000:175:00.0\",\n            deviceId = \"0x20f1\",\n            \
        systemId = \"5f0a1b2c-0000-0000-0000-000000000000\",\n            vendorId = 4318\n         }\n      },\n      \
        (vim.vm.device.VirtualPCIPassthrough) {\n         key = 13001,\n         \
        backing = (vim.vm.device.VirtualPCIPassthrough.DynamicBackingInfo) {\n            assignedId = <unset>,\n            customLabel = \"gpu\",\n            \
        allowedDevice = (vim.vm.device.VirtualPCIPassthrough.AllowedDevice) [\n               (vim.vm.device.VirtualPCIPassthrough.AllowedDevice) {\n                  \
        vendorId = 4318,\n                  deviceId = 8433\n               }\n            ]\n         }\n      },\n      \
        (vim.vm.device.VirtualPCIPassthrough) {\n         key = 13002,\n         \
        backing = (vim.vm.device.VirtualPCIPassthrough.VmiopBackingInfo) {\n            vgpu = \"grid_a100-10c\"\n         }\n      },\n      \
        (vim.vm.device.VirtualVmxnet3) {\n         key = 4000,\n         backing = (vim.vm.device.VirtualEthernetCard.NetworkBackingInfo) {\n            \
        deviceName = \"VM Network\"\n         }\n      },\n      \
        (vim.vm.device.VirtualSriovEthernetCard) {\n         key = 4002,\n         sriovBacking = (vim.vm.device.VirtualSriovEthernetCard.SriovBackingInfo) {\n            \
        physicalFunctionBacking = (vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo) {\n               id = \"00000:026:00.1\"\n            },\n            \
        virtualFunctionBacking = (vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo) {\n               id = \"00000:026:01.2\"\n            }\n         }\n      }\n   ]\n}";

    #[test]
    fn devices_and_what_is_behind_them() {
        let observation = Observation::of_text("esxi.vm-devices", DEVICES);
        let node = vim_dump::read(DEVICES, 1).expect("a dump");
        let objects = node.as_object().map(|hardware| hardware.objects("device")).unwrap_or_default();
        let facts = facts(&observation, &Entity::Vm(Text::new("u")), &objects);
        let of = |key, attribute| shown(&facts, &Entity::VmDevice { vm: Text::new("u"), key }, attribute);
        for (key, attribute, wanted) in [
            (200, Attribute::DeviceKind, "absent"),
            (4001, Attribute::DeviceKind, "PVRDMA adapter"),
            (4001, Attribute::DeviceType, "VirtualVmxnet3Vrdma"),
            (4001, Attribute::DeviceLabel, "Network adapter 2"),
            (4001, Attribute::DeviceProtocol, "rocev2"),
            (4001, Attribute::HardwareAddress, "00:50:56:80:00:01"),
            (4001, Attribute::PortGroupKey, "dvportgroup-117201"),
            (4001, Attribute::PortId, "2"),
            (4001, Attribute::SwitchId, "50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81"),
            (4001, Attribute::ConnectionId, "123456789"),
            (4001, Attribute::DeviceConnected, "yes"),
            (4000, Attribute::PortGroupKey, "VM Network"),
            (13000, Attribute::DeviceKind, "passthrough"),
            (13000, Attribute::BackingId, "00000:175:00.0"),
            (13000, Attribute::BackingFunction, "0000:af:00.0"),
            (13000, Attribute::VendorId, "10de"),
            (13000, Attribute::DeviceId, "20f1"),
            (13001, Attribute::DeviceKind, "dynamic passthrough"),
            (13001, Attribute::AllowedDevices, "10de:20f1"),
            (13001, Attribute::BackingFunction, "<empty>"),
            (13002, Attribute::DeviceKind, "vGPU"),
            (13002, Attribute::VgpuProfile, "grid_a100-10c"),
            (4002, Attribute::BackingFunction, "0000:1a:01.2"),
            (4002, Attribute::ParentFunction, "0000:1a:00.1"),
        ] {
            assert_eq!(of(key, attribute), wanted, "{key} {attribute:?}");
        }
    }

    #[test]
    fn ids_in_every_spelling() {
        assert_eq!(hexadecimal("0x20f1").as_deref(), Some("20f1"));
        assert_eq!(hexadecimal("-10").as_deref(), Some("fff6"));
        assert_eq!(hexadecimal("20f1").as_deref(), Some("20f1"));
        assert_eq!(hexadecimal("5555").as_deref(), Some("15b3"));
        assert_eq!(hexadecimal("99999999"), None);
    }

    #[test]
    fn an_id_that_reads_both_ways_is_not_guessed() {
        let read = |id: &str| function(id).known().map(ToString::to_string);
        for (id, address) in [
            ("0:66:0.0", "0000:42:00.0"),
            ("00000:175:00.0", "0000:af:00.0"),
            ("0000:af:00.0", "0000:af:00.0"),
            ("0000:04:00.0", "0000:04:00.0"),
            ("06:00.0", "0000:06:00.0"),
        ] {
            assert_eq!(read(id).as_deref(), Some(address), "{id}");
        }
        for id in ["0000:41:00.0", "41:00.0"] {
            let why = function(id).why().expect("not known");
            assert!(why.contains("0000:29:00.0 (decimal) and as 0000:41:00.0 (hexadecimal)"), "{why}");
        }
        // The id as it is written stands beside it.
        let text = DEVICES.replace("00000:175:00.0", "0000:41:00.0");
        let observation = Observation::of_text("esxi.vm-devices", &text);
        let node = vim_dump::read(&text, 1).expect("a dump");
        let objects = node.as_object().map(|hardware| hardware.objects("device")).unwrap_or_default();
        let facts = facts(&observation, &Entity::Vm(Text::new("u")), &objects);
        let device = Entity::VmDevice { vm: Text::new("u"), key: 13000 };
        assert_eq!(shown(&facts, &device, Attribute::BackingId), "0000:41:00.0");
        assert!(shown(&facts, &device, Attribute::BackingFunction).starts_with("<not observable"));
    }
}
