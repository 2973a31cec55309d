//! The verbs library needs a provider for each device; without it the kernel has a device that no program sees.

use super::ask;
use crate::diagnose::check::{Answer, Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The verbs library sees the devices of the kernel.
pub const CHECK: Check = Check {
    id: "guest.provider-library",
    title: "The verbs library has a provider for the RDMA devices",
    gate: "guests with RDMA devices",
    rule: "fails if the verbs library does not list a device of the kernel, or if the package with the providers is missing",
    source: Source {
        text: "rdma-core libibverbs/init.c; packages ibverbs-providers (Debian), libibverbs (RHEL)",
        weak: false,
    },
    thresholds: &[],
    explains: &["mpi.ucx-net-devices", "mpi.ucx-verbs", "mpi.nccl-ib", "mpi.ucx-tls"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::devices(scene).iter().map(|device| judge_device(scene, device)).collect()
}

/// True if the tool that lists devices is not installed.
fn is_missing(scene: &Scene<'_>, guest: &TargetId) -> bool {
    let answers = scene.machines.get(guest).map(|machine| &machine.answers);
    answers.and_then(|answers| answers.of("linux.verbs-devices")) == Some(&Answer::NotInstalled)
}

fn judge_device(scene: &Scene<'_>, device: &EntityId) -> Judged {
    let guest = &device.target;
    let name = device.entity.name();
    let other_interface =
        scene.text(device, Attribute::VerbsWarning).is_some_and(|warning| warning.contains("kernel ABI"));
    match scene.flag(device, Attribute::VerbsListed) {
        Some(true) => return Judged::pass(device, format!("{guest}: programs can open {name}")),
        // The provider is there and does not fit: that is another check's matter.
        Some(false) if other_interface => {
            return Judged::pass(device, format!("{guest}: there is a provider for {name}"));
        }
        Some(false) => {
            let judged = Judged::fail(
                device,
                Confidence::Proved,
                format!("{guest}: the verbs library does not see {name}"),
                format!("the kernel has the device, but no provider library for {} is installed: programs report that no RDMA device is there", driver(scene, device)),
            )
            .shown(device, Attribute::VerbsListed, format!("ibv_devices does not list {name}"))
            .reaching([EntityId::new(guest, Entity::Guest)]);
            return with_cure(scene, judged, guest);
        }
        None => {}
    }
    // Without the tool the packages tell.
    let package = |name: &str| EntityId::new(guest, Entity::Package(name.into()));
    let has = |name: &str| scene.text(&package(name), Attribute::Version).is_some();
    let vendor =
        scene.fabric.of_kind(guest, Entity::Package("".into())).any(|entity| entity.name().starts_with("mlnx-of"));
    let (dpkg, rpm) = (scene.unread(guest, "linux.packages-dpkg"), scene.unread(guest, "linux.packages-rpm"));
    if has("ibverbs-providers") || has("libibverbs") || vendor {
        Judged::pass(device, format!("{guest}: the package with the providers is installed"))
    } else if let Some((lack, why)) = scene.unread(guest, "linux.verbs-devices").filter(|_| !is_missing(scene, guest)) {
        Judged::unknown(device, lack, format!("{guest}: {why}"), "ibv_devices")
    } else if dpkg.is_some() && rpm.is_some() {
        let (lack, why) = dpkg.unwrap_or((Lack::NotObservable, String::new()));
        Judged::unknown(device, lack, format!("{guest}: {why}, and ibv_devices is not installed"), "ibv_devices")
    } else {
        let judged = Judged::fail(
            device,
            Confidence::Likely,
            format!("{guest}: the providers of the verbs library are not installed"),
            "the kernel has an RDMA device, but the package that lets programs open it is missing; a library built by hand is \
             the exception",
        )
        .shown(device, Attribute::NodeType, format!("the kernel has {name}"))
        .decided_by("ibv_devices")
        .reaching([EntityId::new(guest, Entity::Guest)]);
        with_cure(scene, judged, guest)
    }
}

fn driver<'a>(scene: &Scene<'a>, device: &EntityId) -> &'a str {
    Some(ask::driver(scene, device)).filter(|driver| !driver.is_empty()).unwrap_or("its driver")
}

/// The package, by the manager that answered.
fn with_cure(scene: &Scene<'_>, judged: Judged, guest: &TargetId) -> Judged {
    let cure = |install: [&str; 4], remove: [&str; 4]| {
        Cure::on(guest, "Install the providers", Risk::None, vec![Step::run(&install)])
            .undone_by(vec![Step::run(&remove)], Vec::new())
            .verified_by(&["guest.provider-library"])
    };
    if scene.unread(guest, "linux.packages-dpkg").is_none() {
        let package = "ibverbs-providers";
        judged.cured_by(cure(["apt-get", "install", "-y", package], ["apt-get", "remove", "-y", package]))
    } else if scene.unread(guest, "linux.packages-rpm").is_none() {
        judged.cured_by(cure(["dnf", "install", "-y", "libibverbs"], ["dnf", "remove", "-y", "libibverbs"]))
    } else {
        judged.decided_by("ibv_devices")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    const HEADING: &str = "    device          \t   node GUID\n    ------          \t----------------\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().with("pv-a", says("linux.verbs-devices", HEADING)),
        healthy: Site::sound,
        unclear: || {
            Site::sound()
                .with("pv-a", fails("linux.verbs-devices", 127, "ibv_devices: not found"))
                .with("pv-a", fails("linux.packages-dpkg", 127, "dpkg-query: not found"))
        },
    };

    #[test]
    fn a_tool_that_was_not_heard_is_not_taken_for_missing() {
        let late = Site::sound().with("pv-a", fails("linux.verbs-devices", 124, "timeout")).replacing(
            "pv-a",
            "linux.packages-dpkg",
            "ibverbs-providers\t44.0-2\tinstall ok installed\n",
            "",
        );
        let judged = late.judge(&CHECK);
        let unknown = judged.iter().find(|judged| judged.status == Status::Unknown).expect("it is not known");
        assert!(!unknown.title.contains("not installed"), "{}", unknown.title);
        assert!(judged.iter().all(|judged| judged.status != Status::Fail), "{judged:#?}");
    }

    #[test]
    fn without_the_tool_the_packages_tell() {
        let no_tool = Site::sound().with("pv-a", fails("linux.verbs-devices", 127, "ibv_devices: not found"));
        assert!(!no_tool.statuses(&CHECK).contains(&Status::Fail));
        let none =
            no_tool.replacing("pv-a", "linux.packages-dpkg", "ibverbs-providers\t44.0-2\tinstall ok installed\n", "");
        let judged = none.judge(&CHECK);
        let failed = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        assert_eq!(failed.cures[0].steps[0].shown(), "apt-get install -y ibverbs-providers");
        let rpm = none
            .with("pv-a", fails("linux.packages-dpkg", 127, "dpkg-query: not found"))
            .with("pv-a", says("linux.packages-rpm", "rdma-core\t48.0-1.el9\npackage libibverbs is not installed\n"));
        let judged = rpm.judge(&CHECK);
        let failed = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        assert_eq!(failed.cures[0].steps[0].shown(), "dnf install -y libibverbs");
    }
}
