//! The MIG instances of a GPU that is divided.
//!
//! NVML hands them out by an index of its own. Their ids stand in the UUIDs of old drivers; newer ones only list them under
//! `/proc/driver/nvidia/capabilities`, in whose order they are then told.

use std::fs;

use nvml_wrapper::{Device, Nvml};

use super::answer::{self, Refusal};
use super::gpm::Counted;
use super::gpu::memory;
use super::library::filled;
use super::page::Page;
use crate::fabric::{Attribute, Entity, Measure, Text, Value};

/// A GPU is divided into no more instances than this; the library may claim any number of them.
const MOST: u32 = 64;

/// Those of one GPU.
#[derive(Debug, Default)]
pub(super) struct Instances<'nvml> {
    all: Vec<Instance<'nvml>>,
}

#[derive(Debug)]
struct Instance<'nvml> {
    entity: Entity,
    device: Device<'nvml>,
    counted: Option<Counted<'nvml>>,
}

impl<'nvml> Instances<'nvml> {
    /// Writes what moves.
    pub(super) fn measure(&mut self, nvml: &'nvml Nvml, parent: &Device<'nvml>, page: &mut Page) {
        for Instance { entity, device, counted } in &mut self.all {
            let used = memory(device).map(|memory| memory.used as f64);
            page.number(entity, Measure::GpuMemoryUsed, "nvmlDeviceGetMemoryInfo_v2 used, MIG", &used);
            if let Some(counted) = counted {
                counted.look(nvml, parent, entity, page);
            }
        }
    }

    /// Writes which there are.
    pub(super) fn describe(&mut self, parent: &Device<'nvml>, gpu: &Text, is_divided: bool, page: &mut Page) {
        if !is_divided {
            self.all.clear();
            return;
        }
        let devices: Vec<_> = match answer::of(parent.mig_device_count()) {
            Ok(count) => (0..count.min(MOST)).filter_map(|index| parent.mig_device_by_index(index).ok()).collect(),
            Err(refusal) => {
                page.line(gpu.as_str(), "nvmlDeviceGetMaxMigDeviceCount", &refusal.to_string());
                vec![]
            }
        };
        let listed = listed(parent);
        let is_all = listed.len() == devices.len();
        let counts = Counted::is_supported(parent);
        let mut before = std::mem::take(&mut self.all);
        for (index, device) in devices.into_iter().enumerate() {
            let uuid = answer::of(device.uuid()).and_then(|uuid| filled(&uuid));
            let told = uuid.as_ref().ok().and_then(Value::as_text).and_then(|uuid| in_uuid(uuid.as_str()));
            let by_order = listed.get(index).copied().filter(|_| is_all);
            let (instance, compute) = match told.or(by_order) {
                Some((instance, compute)) => (instance, Some(compute)),
                // Its own index, for want of a better one.
                None => (u32::try_from(index).unwrap_or(MOST), None),
            };
            let entity = Entity::MigInstance { gpu: gpu.clone(), instance, compute };
            page.state(&entity, Attribute::MigUuid, &format!("nvmlDeviceGetUUID, MIG {index}"), &uuid);
            let name = answer::of(device.name()).and_then(|name| filled(&name));
            let profile = name.and_then(|name| {
                name.as_text().and_then(|name| profile(name.as_str())).map(Value::from).ok_or(Refusal::Nothing)
            });
            page.state(&entity, Attribute::MigProfile, &format!("nvmlDeviceGetName, MIG {index}"), &profile);
            let total = memory(&device).map(|memory| Value::Count(memory.total));
            page.state(&entity, Attribute::GpuMemory, &format!("nvmlDeviceGetMemoryInfo_v2, MIG {index}"), &total);
            let same = before.iter().position(|one| one.entity == entity);
            let counted = match same.map(|at| before.swap_remove(at)) {
                Some(known) => known.counted,
                None => (counts && compute.is_some()).then(|| Counted::new(Some(instance))),
            };
            self.all.push(Instance { entity, device, counted });
        }
    }
}

/// The ids in the UUID of a driver before 470: `MIG-GPU-<uuid of the GPU>/<GPU instance>/<compute instance>`.
fn in_uuid(uuid: &str) -> Option<(u32, u32)> {
    let mut parts = uuid.strip_prefix("MIG-GPU-")?.split('/').skip(1);
    let ids = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(ids)
}

/// The profile in the name of an instance: `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
fn profile(name: &str) -> Option<&str> {
    let (_, profile) = name.rsplit_once(" MIG ")?;
    Some(profile.trim()).filter(|profile| !profile.is_empty())
}

/// The ids of all instances of a GPU as the driver lists them, in order.
fn listed(parent: &Device<'_>) -> Vec<(u32, u32)> {
    let Ok(minor) = parent.minor_number() else { return vec![] };
    let folder = format!("/proc/driver/nvidia/capabilities/gpu{minor}/mig");
    let mut all: Vec<(u32, u32)> = numbered(&folder, "gi")
        .into_iter()
        .flat_map(|gi| numbered(&format!("{folder}/gi{gi}"), "ci").into_iter().map(move |ci| (gi, ci)))
        .collect();
    all.sort_unstable();
    all
}

/// The numbers of the folders whose names begin so.
fn numbered(folder: &str, beginning: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let number = |name: &str| name.strip_prefix(beginning)?.parse().ok();
    entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_the_uuids_that_have_them() {
        assert_eq!(in_uuid("MIG-GPU-838f60d9-651f-9166-ea42-f9da674a6947/7/0"), Some((7, 0)));
        assert_eq!(in_uuid("MIG-b3061c09-1111-2222-3333-444455556666"), None);
        assert_eq!(in_uuid("MIG-GPU-838f60d9/7"), None);
        assert_eq!(in_uuid("MIG-GPU-838f60d9/7/0/1"), None);
    }

    #[test]
    fn profiles_are_read_from_names() {
        assert_eq!(profile("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), Some("1g.5gb"));
        assert_eq!(profile("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me"), Some("1g.10gb+me"));
        assert_eq!(profile("NVIDIA A100-SXM4-40GB"), None);
    }
}
