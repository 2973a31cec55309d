//! Devices of a VM as `vim-cmd vmsvc/device.getdevices` and `get.config` dump them: which of them are PVRDMA adapters or
//! passthrough devices. That is better evidence for a PVRDMA adapter than the VMX.

use super::parts::Part;
use super::{Explained, value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;
use crate::probe::esxi::vim_dump::{Dump, Node, Object, find};

/// Reads a dump, if the part holds one.
pub(super) fn read(explained: &mut Explained, host: Option<&str>, part: &Part<'_>) {
    let Some(first) = part.lines.first().map(|(number, _)| *number) else { return };
    let (lines, more) = part.lines.split_at(part.lines.len().min(super::MOST_LINES));
    let text = lines.iter().map(|(_, line)| &**line).collect::<Vec<_>>().join("\n");
    let Some(Dump { root, too_deep }) = Dump::read(&text, first) else { return };
    if let Some(line) = too_deep {
        explained.leaves_out(format!("the dump is nested too deep: what stands inside of line {line} was not read"));
    }
    if let Some((number, _)) = more.first() {
        explained.leaves_out(format!("of this dump, what stands from line {number} on was not read"));
    }
    let devices: Vec<&Object<'_>> = match find(&root, "device") {
        Some(Node::Array(nodes)) => nodes.iter().filter_map(Node::as_object).collect(),
        _ => match &root {
            Node::Array(nodes) => nodes.iter().filter_map(Node::as_object).collect(),
            Node::Object(object) => vec![object],
            _ => Vec::new(),
        },
    };
    for name in ["powerState", "memoryReservationLockedToMax", "nestedHVEnabled", "version"] {
        if let Some(node) = find(&root, name) {
            explained.fact(first, name, scalar(node), None);
        }
    }
    for device in devices {
        self::device(explained, host, device);
    }
}

fn scalar(node: &Node<'_>) -> State<super::Value> {
    match node {
        Node::Scalar(text) => value(text),
        Node::Unset | Node::Null => State::NotAvailable,
        Node::Object(_) | Node::Array(_) => State::Empty,
    }
}

fn device(explained: &mut Explained, host: Option<&str>, device: &Object<'_>) {
    let kind = device.short_kind();
    let is_pvrdma = kind == "VirtualVmxnet3Vrdma";
    let is_passthrough = kind == "VirtualPCIPassthrough";
    if !is_pvrdma && !is_passthrough {
        return;
    }
    let label = device.object("deviceInfo").and_then(|info| info.text("label")).unwrap_or(kind);
    let owner = host.map_or_else(|| label.to_owned(), |host| format!("{host}:{label}"));
    let backing = device.object("backing");
    let mut fact = |object: Option<&Object<'_>>, field: &str, name: &str| {
        if let Some((object, node)) = object.and_then(|object| object.get(field).map(|node| (object, node))) {
            explained.fact(object.line_of(field), &format!("{owner}.{name}"), scalar(node), None);
        }
    };
    fact(Some(device), "macAddress", "mac-address");
    fact(Some(device), "deviceProtocol", "protocol");
    fact(backing, "id", "id");
    fact(backing, "systemId", "system-id");
    fact(backing, "vgpu", "vgpu");
    fact(backing, "customLabel", "custom-label");
    if is_pvrdma {
        let protocol = device.text("deviceProtocol").unwrap_or("not told");
        let on_vds = backing.is_some_and(|backing| backing.short_kind().contains("Distributed"));
        let title = format!("{label} is a PVRDMA adapter, protocol {protocol}");
        let (status, cause) = if on_vds || backing.is_none() {
            (Status::Info, "One adapter is two PCI functions in the guest: vmxnet3 and RDMA.")
        } else {
            (Status::Warn, "It is not on a port group of a distributed switch, which PVRDMA needs.")
        };
        let finding = Finding::new("vm.pvrdma-adapter", status, Confidence::Proved, label, &title, cause);
        explained.finding(finding.shown(device.line, device.kind));
    } else {
        let how = backing.map_or("", Object::short_kind);
        let (title, cause) = match how {
            "VirtualPCIPassthroughVmiopBackingInfo" | "VmiopBackingInfo" => {
                ("is a vGPU", "The host's driver shares the GPU.")
            }
            "VirtualPCIPassthroughDynamicBackingInfo" | "DynamicBackingInfo" => (
                "is passed through, chosen at power-on",
                "Dynamic DirectPath: DRS places the VM, HA starts it elsewhere.",
            ),
            _ => ("is passed through, fixed to one device of one host", "DirectPath: no vMotion, suspend or snapshot."),
        };
        let title = format!("{label} {title}");
        let finding = Finding::new("vm.passthrough-device", Status::Info, Confidence::Proved, label, &title, cause);
        explained.finding(finding.shown(device.line, device.kind));
    }
}
