//! Virtual functions that the driver was asked for are there.

use std::collections::BTreeMap;

use super::bearing::{THEN_REBOOT, number, options, rdma_devices, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// As many as were asked for.
pub const CHECK: Check = Check {
    id: "host.sriov-functions",
    title: "There are as many virtual functions as the driver was asked for",
    gate: "drivers of adapters with RDMA devices whose option max_vfs asks for virtual functions",
    rule: "warns if there are fewer than max_vfs asks for; passes if there are as many",
    source: Source { text: "vSphere Networking: SR-IOV, enabling virtual functions by max_vfs", weak: false },
    thresholds: &[],
    explains: &["vm.backing-function", "vm.power-on-failed", "guest.vf-state"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.hosts().flat_map(|host| of_host(scene, host)).collect()
}

fn of_host(scene: &Scene<'_>, host: &TargetId) -> Vec<Judged> {
    // Uplinks by driver, of drivers with an RDMA device.
    let mut drivers: BTreeMap<String, Vec<EntityId>> = BTreeMap::new();
    for entity in scene.fabric.of_kind(host, Entity::Uplink("".into())) {
        let id = EntityId::new(host, entity.clone());
        if let Some(driver) = scene.text(&id, Attribute::Driver) {
            drivers.entry(driver.to_owned()).or_default().push(id);
        }
    }
    let paired: Vec<&str> =
        rdma_devices(scene, host).iter().filter_map(|device| scene.text(device, Attribute::PairedUplink)).collect();
    drivers
        .into_iter()
        .filter(|(_, uplinks)| uplinks.iter().any(|uplink| paired.contains(&uplink.entity.name().as_str())))
        .filter_map(|(driver, uplinks)| of_driver(scene, host, &driver, &uplinks))
        .collect()
}

fn of_driver(scene: &Scene<'_>, host: &TargetId, driver: &str, uplinks: &[EntityId]) -> Option<Judged> {
    let module = EntityId::new(host, Entity::Module(driver.into()));
    let asked = options(scene, &module).get("max_vfs").cloned()?;
    let wanted: u64 = asked.split(',').filter_map(number).sum();
    if wanted == 0 {
        return None;
    }
    let names: Vec<String> = uplinks.iter().map(|uplink| uplink.entity.name()).collect();
    let count = scene
        .fabric
        .of_kind(host, Entity::VirtualFunction { uplink: "".into(), index: 0 })
        .filter(|entity| matches!(entity, Entity::VirtualFunction { uplink, .. } if names.iter().any(|name| **uplink == **name)))
        .count() as u64;
    let failed = uplinks.iter().find(|uplink| {
        scene
            .fabric
            .reading(uplink, Attribute::VirtualFunctionActive)
            .is_some_and(|reading| reading.state.known().is_none())
    });
    if count < wanted
        && let Some((lack, why)) = scene
            .unread(host, "esxi.sriov-nics")
            .or_else(|| scene.unread(host, "esxi.sriov-vfs"))
            .or_else(|| failed.map(|uplink| why(scene, uplink, Attribute::VirtualFunctionActive, "esxi.sriov-vfs")))
    {
        let title = format!("the virtual functions of {driver} of {host}: {why}");
        return Some(Judged::unknown(&module, lack, title, "esxcli network sriovnic list"));
    }
    if count >= wanted {
        return Some(Judged::pass(&module, format!("{driver} of {host} has {count} virtual functions")));
    }
    let (title, cause) = if count == 0 {
        (
            format!("{host}: {driver} was asked for {wanted} virtual functions and has none"),
            "SR-IOV is off in the firmware of the server or of the adapter, or the host was not started since the option was set: \
             VMs that are given such a function do not power on",
        )
    } else {
        (
            format!("{host}: {driver} was asked for {wanted} virtual functions and has {count}"),
            "the firmware of the adapter allows no more, or the host was not started since the option was set",
        )
    };
    let step = "firmware of the server: SR-IOV on; firmware of the adapter: SRIOV_EN and NUM_OF_VFS (mlxconfig of the vendor's \
                tools); then start the host anew";
    Some(
        Judged::warn(&module, Confidence::Proved, title, cause)
            .shown(&module, Attribute::ModuleOptions, format!("max_vfs={asked} of {driver}"))
            .decided_by(format!(
                "esxcli network sriovnic list; esxcli network sriovnic vf list -n {}",
                names.join(" or ")
            ))
            .cured_by(
                Cure::by_hand("Let the firmware make them", vec![Step::ByHand(step.to_owned())])
                    .risking(Risk::RebootsHost)
                    .verified_by(&["host.sriov-functions"])
                    .noting(THEN_REBOOT),
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().replacing("esx02", "esxi.module-options", "max_vfs=2", "max_vfs=8"),
        healthy: || Site::sound(),
        unclear: || {
            let dead = "Connect to localhost failed";
            Site::sound()
                .with("esx02", fails("esxi.sriov-nics", 1, dead))
                .with("esx02", fails("esxi.sriov-vfs", 1, dead))
        },
    };

    #[test]
    fn none_at_all() {
        let site = Site::sound().with("esx02", says("esxi.sriov-nics", "")).with("esx02", says("esxi.sriov-vfs", ""));
        let judged = site.judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.title, "esx02: nmlx5_core was asked for 2 virtual functions and has none");
    }

    #[test]
    fn one_number_for_each_port() {
        let site = Site::sound().replacing("esx02", "esxi.module-options", "max_vfs=2", "max_vfs=2,0");
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Pass]);
        let none = Site::sound().replacing("esx02", "esxi.module-options", "max_vfs=2", "max_vfs=0,0");
        assert_eq!(none.statuses(&CHECK), [Status::Pass], "nothing was asked for");
    }
}
