//! The id of a passthrough device: decimal in the VMX, hexadecimal everywhere else.

use std::collections::HashMap;

use super::device::{Kind, allowed_models, devices};
use super::{Found, Rule, Severity, at, documented, field, numbered, rule, shown};
use crate::diagnose::lint::{HostFunction, HostView, Passthrough, Subject};
use crate::probe::vmx::{Dictionary, Entry, PciId, id_of};

/// The rule of the decimal id.
const DECIMAL: &str = "intel/mfd-esxi vm_gold.py:374; public VMX files; field report of 'AH No device hints found'";

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.passthrough-id-hex",
        Severity::Error,
        "The id of a passthrough device is hexadecimal",
        documented(DECIMAL),
        hexadecimal,
    ),
    rule(
        "vmx.passthrough-id-form",
        Severity::Warning,
        "The id of a passthrough device has the form of esxcli, not of a VMX",
        documented(DECIMAL),
        handwritten,
    )
    .open(),
    rule(
        "vmx.passthrough-id-malformed",
        Severity::Error,
        "The id of a passthrough device is no address",
        documented(DECIMAL),
        malformed,
    ),
    rule(
        "vmx.passthrough-id-twice",
        Severity::Warning,
        "Two devices of the VM are the same function of the host",
        field("own knowledge"),
        twice,
    )
    .open(),
    rule(
        "vmx.passthrough-id-missing",
        Severity::Error,
        "A passthrough device says neither which function nor which model it is",
        documented("govmomi VirtualPCIPassthrough backings: id, allowedDevice or vgpu"),
        without_id,
    ),
    rule(
        "vmx.passthrough-not-on-host",
        Severity::Error,
        "The host has no function of this id, or of these models",
        documented(DECIMAL),
        not_on_host,
    ),
    rule(
        "vmx.passthrough-not-enabled",
        Severity::Error,
        "Passthrough of the function is not enabled on the host, or not in force",
        documented("docs.vmware.com 7.0 GUID-5B3CAB26: enable the device for passthrough on the host first"),
        not_enabled,
    ),
    rule(
        "vmx.passthrough-other-device",
        Severity::Warning,
        "The function on the host is another model than the VMX says",
        documented("public VMX files: deviceId and vendorId of pciPassthruN"),
        other_device,
    )
    .open(),
];

/// How an id of a VMX reads; addresses are those that the host's tools print, `0000:af:00.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As the host writes it, or short: all parts are decimal.
    Decimal(String),
    /// It can only be hexadecimal.
    Hexadecimal(String),
    /// A hand-written form whose parts read both ways: decimal, then hexadecimal. The two may be equal.
    Either(String, String),
    /// No address.
    None,
}

/// Reads an id. `00000:175:00.0` and `0:66:0.0` are decimal; a letter, or the four-digit segment of esxcli, shows a hand.
pub(super) fn judge(id: &str) -> Reading {
    match PciId::read(id) {
        PciId::Decimal(address) if is_form_of_esxcli(id) => Reading::Either(address.clone(), address),
        PciId::Decimal(address) => Reading::Decimal(address),
        PciId::Hex(address) => Reading::Hexadecimal(address),
        PciId::Ambiguous { decimal, hex } => Reading::Either(decimal, hex),
        PciId::Unreadable => Reading::None,
    }
}

/// True for the widths of esxcli: four digits of segment, two of bus.
fn is_form_of_esxcli(id: &str) -> bool {
    let parts: Vec<&str> = id.trim().split(':').collect();
    matches!(parts.as_slice(), [segment, bus, _] if segment.len() == 4 && bus.len() == 2)
}

/// An address as a VMX writes it.
fn vmx_text(address: &str) -> String {
    id_of(address).unwrap_or_else(|| address.to_owned())
}

/// All ids, of present devices and of fragments alike.
fn ids(vmx: &Dictionary) -> impl Iterator<Item = &Entry> {
    vmx.entries().filter(|entry| {
        !entry.odd_quotes()
            && numbered(&entry.key, "pciPassthru")
                .is_some_and(|(_, rest)| rest.eq_ignore_ascii_case("id") || rest.eq_ignore_ascii_case("pfId"))
    })
}

fn hexadecimal(subject: &Subject<'_>) -> Vec<Found> {
    ids(subject.vmx)
        .filter_map(|entry| {
            let Reading::Hexadecimal(address) = judge(&entry.value) else { return None };
            let right = vmx_text(&address);
            let message = format!(
                "{} is hexadecimal as esxcli and lspci print it; the parts of this id are decimal: {right}",
                shown(&entry.value)
            );
            let why = format!("{} names no device: 'AH No device hints found'", shown(&entry.value));
            Some(at(entry, message).fatal(why).mend(&entry.key, &right))
        })
        .collect()
}

fn handwritten(subject: &Subject<'_>) -> Vec<Found> {
    ids(subject.vmx)
        .filter_map(|entry| {
            let Reading::Either(decimal, hexadecimal) = judge(&entry.value) else { return None };
            let id = shown(&entry.value);
            if decimal == hexadecimal {
                let right = vmx_text(&decimal);
                let message = format!(
                    "{id} is written by hand in the form of esxcli; both readings are the host's {decimal}, which the host writes \
                     {right}"
                );
                return Some(at(entry, message).mend(&entry.key, &right));
            }
            let (first, second) = (&decimal, &hexadecimal);
            let both = format!(
                "{id} is written by hand in the form of esxcli and reads both ways: the host takes it as decimal, which is \
                 {first}; if it was copied from esxcli or lspci, {second} is meant, to be written {}",
                vmx_text(&hexadecimal)
            );
            let there = |address: &str| subject.host.and_then(|host| has(host, address));
            Some(match (there(&decimal), there(&hexadecimal)) {
                (Some(false), Some(true)) => {
                    let message = format!("{both}; of the two the host has {second} only");
                    at(entry, message).mend(&entry.key, &vmx_text(&hexadecimal))
                }
                (Some(true), Some(false)) => {
                    let message = format!("{both}; of the two the host has {first} only");
                    at(entry, message).mend(&entry.key, &vmx_text(&decimal))
                }
                (Some(true), Some(true)) => at(entry, format!("{both}; the host has both")),
                _ => at(entry, both),
            })
        })
        .collect()
}

fn malformed(subject: &Subject<'_>) -> Vec<Found> {
    ids(subject.vmx)
        .filter(|entry| judge(&entry.value) == Reading::None && !entry.value.starts_with(['<', '$', '{']))
        .map(|entry| {
            let message = format!(
                "'{}' is no address: segment, bus (to 255), slot (to 31) and function (to 7) in decimal, 00000:175:00.0",
                shown(&entry.value)
            );
            at(entry, message)
        })
        .collect()
}

/// The addresses of the devices that are one whole function, with their ids.
fn addresses(vmx: &Dictionary) -> Vec<(String, &Entry)> {
    devices(vmx)
        .into_iter()
        .filter(|device| device.kind == Kind::Direct)
        .filter_map(|device| {
            let id = device.id?;
            match judge(&id.value) {
                Reading::Decimal(address) => Some((address, id)),
                Reading::Either(one, other) if one == other => Some((one, id)),
                _ => None,
            }
        })
        .collect()
}

fn twice(subject: &Subject<'_>) -> Vec<Found> {
    let mut seen: HashMap<String, &Entry> = HashMap::new();
    let mut found = Vec::new();
    for (address, entry) in addresses(subject.vmx) {
        match seen.get(&address) {
            Some(first) => {
                let message =
                    format!("{} is the function {address} of {} already", shown(&entry.key), shown(&first.key));
                found.push(at(entry, message));
            }
            None => {
                seen.insert(address, entry);
            }
        }
    }
    found
}

fn without_id(subject: &Subject<'_>) -> Vec<Found> {
    devices(subject.vmx)
        .into_iter()
        .filter(|device| device.kind == Kind::Direct && device.id.is_none())
        .map(|device| {
            let message = format!(
                "pciPassthru{0} has no id (DirectPath), no allowedDevices (Dynamic DirectPath) and no vgpu: it is no device",
                device.number
            );
            at(device.present, message)
        })
        .collect()
}

/// Whether the host has a function; `None` if its functions are not known.
fn has(host: &HostView, address: &str) -> Option<bool> {
    Some(host.functions.as_ref()?.iter().any(|function| function.address.eq_ignore_ascii_case(address)))
}

fn not_on_host(subject: &Subject<'_>) -> Vec<Found> {
    let Some(host) = subject.host else { return Vec::new() };
    let by_model = no_such_model(subject, host);
    let by_id = addresses(subject.vmx).into_iter().filter(|(address, _)| has(host, address) == Some(false)).map(
        |(text, entry)| {
            let message = format!("{} is {text}, which host {} does not have", shown(&entry.value), shown(&host.name));
            at(entry, message).fatal(format!("the host has no PCI function {text}"))
        },
    );
    by_id.chain(by_model).collect()
}

/// Devices that may be any function of some models, of which the host has none.
fn no_such_model(subject: &Subject<'_>, host: &HostView) -> Vec<Found> {
    devices(subject.vmx)
        .into_iter()
        .filter(|device| device.kind == Kind::Dynamic)
        .filter_map(|device| {
            let entry = device.allowed?;
            let models = allowed_models(&entry.value)?;
            let message = format!("host {} has no function of the models {}", shown(&host.name), shown(&entry.value));
            let why = format!("the host has no function of the models {}", shown(&entry.value));
            (has_model(host, &models) == Some(false)).then(|| at(entry, message).fatal(why))
        })
        .collect()
}

/// Whether the host has a function of one of these models; `None` if none fits and some are of a model that is not known.
fn has_model(host: &HostView, models: &[(u32, u32)]) -> Option<bool> {
    let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let mut all_known = true;
    for function in host.functions.as_ref()? {
        match number(&function.vendor).zip(number(&function.device)) {
            Some(model) if models.contains(&model) => return Some(true),
            Some(_) => {}
            None => all_known = false,
        }
    }
    all_known.then_some(false)
}

/// True if what the file asks of this host, a function by its id or one of some models, can be decided.
pub(in crate::diagnose::lint) fn is_decided(subject: &Subject<'_>, host: &HostView) -> bool {
    host.functions.is_some()
        && devices(subject.vmx)
            .into_iter()
            .filter(|device| device.kind == Kind::Dynamic)
            .filter_map(|device| allowed_models(&device.allowed?.value))
            .all(|models| has_model(host, &models).is_some())
}

fn not_enabled(subject: &Subject<'_>) -> Vec<Found> {
    on_host(subject, |function, entry| {
        let text = shown(&function.address);
        let named = if function.name.is_empty() { text.clone() } else { format!("{text} ({})", shown(&function.name)) };
        Some(match function.passthrough? {
            Passthrough::InForce => return None,
            Passthrough::Off => at(entry, format!("{named} is not enabled for passthrough on the host"))
                .fatal(format!("{text} is not enabled for passthrough on the host")),
            Passthrough::Waits => at(
                entry,
                format!("{named} is enabled for passthrough, but the VMkernel owns it until the host boots again"),
            )
            .fatal(format!("passthrough of {text} waits for a reboot of the host")),
        })
    })
}

fn other_device(subject: &Subject<'_>) -> Vec<Found> {
    let told = devices(subject.vmx);
    let by_line: HashMap<u32, _> = told.iter().filter_map(|device| Some((device.id?.line, device))).collect();
    on_host(subject, |function, entry| {
        let device = by_line.get(&entry.line)?;
        let (vendor, model) = (device.vendor?, device.model?);
        let read = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let (there_vendor, there_model) = (read(&function.vendor)?, read(&function.device)?);
        if (vendor, model) == (there_vendor, there_model) {
            return None;
        }
        let message = format!(
            "the VMX says {vendor:04x}:{model:04x}; at {} the host has {there_vendor:04x}:{there_model:04x} ({})",
            shown(&function.address),
            shown(&function.name)
        );
        Some(at(entry, message))
    })
}

/// The host's functions behind the ids, with these.
pub(super) fn functions<'a>(subject: &Subject<'a>) -> Vec<(&'a HostFunction, &'a Entry)> {
    let Some(functions) = subject.host.and_then(|host| host.functions.as_ref()) else { return Vec::new() };
    let by_address: HashMap<String, &HostFunction> =
        functions.iter().map(|function| (function.address.to_ascii_lowercase(), function)).collect();
    addresses(subject.vmx)
        .into_iter()
        .filter_map(|(text, entry)| Some((*by_address.get(&text.to_ascii_lowercase())?, entry)))
        .collect()
}

/// Looks at the host's function behind each id.
fn on_host(subject: &Subject<'_>, look: impl Fn(&HostFunction, &Entry) -> Option<Found>) -> Vec<Found> {
    functions(subject).into_iter().filter_map(|(function, entry)| look(function, entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_decimal_unless_it_cannot_be() {
        let decimal = |address: &str| Reading::Decimal(address.to_owned());
        let either = |one: &str, other: &str| Reading::Either(one.to_owned(), other.to_owned());
        assert_eq!(judge("00000:013:00.0"), decimal("0000:0d:00.0"));
        assert_eq!(judge("0:66:0.0"), decimal("0000:42:00.0"));
        assert_eq!(judge("00000:026:01.2"), decimal("0000:1a:01.2"));
        assert_eq!(judge("130:00.0"), decimal("0000:82:00.0"));
        assert_eq!(judge("0000:0d:00.0"), Reading::Hexadecimal("0000:0d:00.0".to_owned()));
        assert_eq!(judge("0000:41:00.0"), either("0000:29:00.0", "0000:41:00.0"));
        assert_eq!(judge("0000:04:00.0"), either("0000:04:00.0", "0000:04:00.0"));
        for wrong in ["", "0", "00000:300:00.0", "00000:001:40.0", "00000:001:00.9", "vmnic0", "0000:xy:00.0"] {
            assert_eq!(judge(wrong), Reading::None, "{wrong}");
        }
    }
}
