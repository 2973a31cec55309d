//! The devices of a VM that are real ones of the host: `pciPassthruN`.

use std::collections::BTreeMap;

use crate::probe::vmx::{Dictionary, Entry};

use super::gpu::{self, Gpu};
use super::numbered;

/// The vendor id of NVIDIA.
pub(super) const NVIDIA: u32 = 0x10de;

/// What kind of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::diagnose::lint) enum Kind {
    /// One function of one host, by id: `DirectPath`.
    Direct,
    /// Any function of some models: Dynamic `DirectPath`.
    Dynamic,
    /// A share of a GPU.
    Vgpu,
    /// A virtual function of a network adapter, assigned at power-on.
    Virtual,
}

/// One device.
#[derive(Clone, Debug)]
pub(in crate::diagnose::lint) struct Device<'a> {
    /// N of `pciPassthruN`.
    pub number: u32,
    /// What kind it is.
    pub kind: Kind,
    /// The assignment that says that it is present.
    pub present: &'a Entry,
    /// Its id.
    pub id: Option<&'a Entry>,
    /// Models that it may become.
    pub allowed: Option<&'a Entry>,
    /// Its vGPU profile.
    pub vgpu: Option<&'a Entry>,
    /// Vendor id.
    pub vendor: Option<u32>,
    /// Device id.
    pub model: Option<u32>,
}

impl Device<'_> {
    /// What is known of the GPU, if it is one of the list.
    pub(in crate::diagnose::lint::rules) fn gpu(&self) -> Option<&'static Gpu> {
        if self.vendor == Some(NVIDIA) && matches!(self.kind, Kind::Direct | Kind::Dynamic) {
            gpu::by_id(self.model?)
        } else {
            None
        }
    }

    /// True if it is a whole function of the host.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.kind, Kind::Direct | Kind::Dynamic)
    }
}

/// A number as the host writes ids: hexadecimal behind `0x`, else decimal.
pub(super) fn id_number(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Vendor and device ids of a list of allowed models; `None` where one of them is malformed.
pub(super) fn allowed_models(text: &str) -> Option<Vec<(u32, u32)>> {
    text.split(',')
        .map(|pair| {
            let mut numbers = pair.trim().split(':');
            let (vendor, device) = (id_number(numbers.next()?)?, id_number(numbers.next()?)?);
            (vendor != 0).then_some((vendor, device))
        })
        .collect()
}

/// The devices that are present, by rising number.
pub(in crate::diagnose::lint) fn devices(vmx: &Dictionary) -> Vec<Device<'_>> {
    let mut parts: BTreeMap<u32, Vec<(&str, &Entry)>> = BTreeMap::new();
    for entry in vmx.entries() {
        if let Some((number, rest)) = numbered(&entry.key, "pciPassthru") {
            parts.entry(number).or_default().push((rest, entry));
        }
    }
    parts.into_iter().filter_map(|(number, parts)| read(vmx, number, &parts)).collect()
}

fn read<'a>(vmx: &Dictionary, number: u32, parts: &[(&str, &'a Entry)]) -> Option<Device<'a>> {
    let get = |name: &str| parts.iter().find(|(rest, _)| rest.eq_ignore_ascii_case(name)).map(|(_, entry)| *entry);
    let present = get("present")?;
    if vmx.flag(&present.key) != Some(true) {
        return None;
    }
    let (id, allowed, vgpu) = (get("id"), get("allowedDevices"), get("vgpu"));
    let bypass = get("systemId").is_some_and(|system| system.value.eq_ignore_ascii_case("BYPASS"));
    let kind = if vgpu.is_some() {
        Kind::Vgpu
    } else if bypass || get("pfId").is_some() {
        Kind::Virtual
    } else if allowed.is_some() && id.is_none() {
        Kind::Dynamic
    } else {
        Kind::Direct
    };
    let first = allowed.and_then(|entry| allowed_models(&entry.value)?.first().copied());
    let told = |name: &str| get(name).and_then(|entry| id_number(&entry.value));
    Some(Device {
        number,
        kind,
        present,
        id,
        allowed,
        vgpu,
        vendor: told("vendorId").or(first.map(|(vendor, _)| vendor)),
        model: told("deviceId").or(first.map(|(_, model)| model)),
    })
}
