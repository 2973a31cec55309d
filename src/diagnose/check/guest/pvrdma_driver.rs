//! The PVRDMA function is driven by `vmw_pvrdma`.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, State};

/// PVRDMA functions have their driver.
pub const CHECK: Check = Check {
    id: "guest.pvrdma-driver",
    title: "The PVRDMA function is driven by vmw_pvrdma",
    gate: "guests with a PVRDMA function (15ad:0820)",
    rule: "fails if the function has no driver or another one",
    source: Source { text: "driver source: vmw_pvrdma pvrdma_main.c; vSphere Networking: PVRDMA Support", weak: false },
    thresholds: &[],
    explains: &["guest.rdma-device", "guest.device-nodes", "guest.gid-table", "guest.verbs-abi", "mpi.ucx-net-devices"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::functions(scene, "PVRDMA").iter().map(|function| judge_function(scene, function)).collect()
}

fn judge_function(scene: &Scene<'_>, function: &EntityId) -> Judged {
    let guest = &function.target;
    let address = function.entity.name();
    let module = EntityId::new(guest, Entity::Module("vmw_pvrdma".into()));
    let is_loaded = scene.exists(&module);
    let driver = match scene.fabric.reading(function, Attribute::Driver).map(|reading| &reading.state) {
        Some(State::Known(driver)) if driver.to_string() == "vmw_pvrdma" => {
            return Judged::pass(function, format!("{guest}: PVRDMA {address} is driven by vmw_pvrdma"));
        }
        Some(State::Known(driver)) => Some(driver.to_string()),
        Some(State::Empty) => None,
        _ => {
            let decide = "ls -l /sys/bus/pci/devices/*/driver";
            return ask::untold(scene, function, Attribute::Driver, "linux.pci-drivers", decide);
        }
    };
    let (title, cause) = match &driver {
        Some(driver) => (
            format!("{guest}: PVRDMA {address} is driven by {driver}, not by vmw_pvrdma"),
            "only vmw_pvrdma makes an RDMA device of it; another driver was bound by hand".to_owned(),
        ),
        None if is_loaded => (
            format!("{guest}: vmw_pvrdma is loaded and did not take PVRDMA {address}"),
            "the driver looked at the function and gave up; the kernel log says why (no vmxnet3 beside it, or no RoCE type \
             offered by the host)"
                .to_owned(),
        ),
        None => (
            format!("{guest}: PVRDMA {address} has no driver"),
            "the module vmw_pvrdma is not loaded; kernels have it since 4.10, RHEL since 7, some distributions in a package \
             of extra modules"
                .to_owned(),
        ),
    };
    let rests_on = vec![(function.clone(), Attribute::Driver)];
    let judged = Judged::fail(function, Confidence::Proved, title, cause)
        .shown(function, Attribute::FunctionKind, format!("{address} is a PVRDMA function"))
        .shown(
            function,
            Attribute::Driver,
            driver.as_deref().map_or("no driver is bound".to_owned(), |driver| format!("bound to {driver}")),
        )
        .decided_by("dmesg | grep vmw_pvrdma")
        .reaching([EntityId::new(guest, Entity::Guest)]);
    let load = Step::run(&["modprobe", "vmw_pvrdma"]);
    let unload = Step::run(&["modprobe", "-r", "vmw_pvrdma"]);
    judged.cured_by(if is_loaded {
        Cure::on(guest, "Let the driver try again once what it misses is there", Risk::DisruptsRdma, vec![unload, load])
            .without_undo("the driver is loaded at the end, as it was before", rests_on)
            .verified_by(&["guest.pvrdma-driver", "guest.rdma-device"])
            .noting("all PVRDMA devices of this guest go away for a moment")
    } else {
        Cure::on(guest, "Load the driver", Risk::None, vec![load])
            .undone_by(vec![unload], rests_on)
            .verified_by(&["guest.pvrdma-driver", "guest.rdma-device"])
            .noting("udev loads it at the next start unless it is on a blacklist in /etc/modprobe.d")
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::without_rdma;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    const LINK: &str = "\n'/sys/bus/pci/devices/0000:0b:00.1/driver' -> '../../../../bus/pci/drivers/vmw_pvrdma'";
    const LOADED: &str = "vmw_pvrdma 69632 0 - Live 0xffffffffc05ed000\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || without_rdma(Site::sound(), "pv-a").replacing("pv-a", "linux.pci-drivers", LINK, ""),
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.pci-drivers", 127, "stat: not found")),
    };

    fn cure(site: &Site) -> (String, Vec<String>, bool) {
        let judged = site.judge(&CHECK);
        let failed = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        let cure = &failed.cures[0];
        (failed.title.clone(), cure.steps.iter().map(Step::shown).collect(), !cure.undo.is_empty())
    }

    #[test]
    fn a_driver_that_gave_up_is_told_from_one_that_is_missing() {
        let gave_up = (SAMPLES.trouble)();
        assert!(cure(&gave_up).0.contains("did not take"), "{:?}", cure(&gave_up));
        let missing = gave_up
            .replacing("pv-a", "linux.modules-loaded", LOADED, "")
            .replacing("pv-a", "linux.modules-present", "/sys/module/vmw_pvrdma\n", "")
            .replacing("pv-a", "linux.module-versions", "/sys/module/vmw_pvrdma/version:1.0.1.0-k\n", "");
        let (title, steps, is_undone) = cure(&missing);
        assert!(title.ends_with("has no driver"), "{title}");
        assert_eq!(steps, ["modprobe vmw_pvrdma"]);
        assert!(is_undone);
    }
}
