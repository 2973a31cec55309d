//! Settings and owners of functions that were changed take effect when the host starts: until then it is not what it says.

use super::bearing::{carriers, passed, set_kernel, why, written};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId};
use crate::probe::esxi::reboot;

/// Nothing waits for a new start.
pub const CHECK: Check = Check {
    id: "host.reboot-pending",
    title: "Nothing that was changed waits for a reboot of the host",
    gate: "hosts with a VM that has a PVRDMA adapter or a device that is passed through",
    rule: "warns if a boot-time setting or the owner of a PCI function is configured otherwise than in force; passes if nothing \
           is",
    source: Source {
        text: "ESXCLI Command Reference: esxcli system settings kernel list, esxcli hardware pci list",
        weak: false,
    },
    thresholds: &[],
    explains: &["host.passthrough-owner", "host.acs", "host.iommu", "vm.power-on-failed"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut hosts: Vec<&TargetId> = carriers(scene).iter().map(|carrier| carrier.host).collect();
    hosts.extend(passed(scene).iter().map(|chain| &chain.vm.target));
    hosts.sort();
    hosts.dedup();
    hosts.into_iter().map(|host| of_host(scene, host)).collect()
}

/// One thing that waits, with the steps that would take it back.
struct Waiting {
    words: String,
    exhibit: Exhibit,
    back: Option<(Vec<Step>, Vec<Step>)>,
}

fn of_host(scene: &Scene<'_>, host: &TargetId) -> Judged {
    let id = EntityId::new(host, Entity::Host);
    let mut waiting = settings(scene, host);
    waiting.extend(owners(scene, host));
    if waiting.is_empty() {
        let state = scene.fabric.reading(&id, Attribute::RebootPending).map(|reading| &reading.state);
        return match state {
            Some(State::Empty) => Judged::pass(&id, format!("nothing waits for a reboot of {host}")),
            // What waits is named, and none of it is a thing of its own here.
            Some(State::Known(value)) => Judged::warn(
                &id,
                Confidence::Likely,
                format!("{host} waits for a reboot"),
                format!("{value}: until the host starts anew it is not what it is configured to be"),
            )
            .shown(&id, Attribute::RebootPending, value.to_string())
            .decided_by("esxcli system settings kernel list; esxcli hardware pci pcipassthru list"),
            _ => {
                let (lack, why) = why(scene, &id, Attribute::RebootPending, "esxi.pci-list");
                let title = format!("whether {host} waits for a reboot: {why}");
                Judged::unknown(&id, lack, title, "esxcli system settings kernel list; esxcli hardware pci list")
            }
        };
    }
    let words: Vec<&str> = waiting.iter().map(|one| one.words.as_str()).collect();
    let title = format!("{host} waits for a reboot: {}", words.join("; "));
    let mut judged = Judged::warn(
        &id,
        Confidence::Proved,
        title,
        "what was changed is not in force: the host behaves as before, and changes by itself when it starts for another reason",
    )
    .shown_by(waiting.iter().map(|one| one.exhibit.clone()))
    .cured_by(
        Cure::by_hand(
            "Start the host anew",
            vec![Step::ByHand("vCenter: Hosts > Maintenance Mode > Enter (VMs with passthrough are shut down first), then Power > Reboot".to_owned())],
        )
        .risking(Risk::RebootsHost)
        .verified_by(&["host.reboot-pending"]),
    );
    judged = judged.reaching(waiting.iter().map(|one| one.exhibit.about.clone()));
    judged.cures.extend(take_back(host, waiting));
    judged
}

/// Takes back all that waits: only then does nothing wait any more.
fn take_back(host: &TargetId, waiting: Vec<Waiting>) -> Option<Cure> {
    let (mut steps, mut undo, mut rests_on) = (Vec::new(), Vec::new(), Vec::new());
    let words: Vec<String> = waiting.iter().map(|one| one.words.clone()).collect();
    for one in waiting {
        let (back, again) = one.back?;
        steps.extend(back);
        undo.splice(0..0, again);
        rests_on.extend(one.exhibit.attribute.map(|attribute| (one.exhibit.about.clone(), attribute)));
    }
    let cure = Cure::on(host, &format!("Or take it back: {}", words.join("; ")), Risk::None, steps);
    Some(cure.undone_by(undo, rests_on).verified_by(&["host.reboot-pending"]))
}

fn settings(scene: &Scene<'_>, host: &TargetId) -> Vec<Waiting> {
    let known = scene.fabric.of_kind(host, Entity::KernelSetting("".into()));
    known
        .filter_map(|entity| {
            let (id, name) = (EntityId::new(host, entity.clone()), entity.name());
            let value = |attribute| scene.value(&id, attribute);
            let is_flag = value(Attribute::SettingValue)?.as_flag().is_some();
            let shown = |attribute| {
                let value = value(attribute)?;
                Some(value.as_flag().map_or_else(|| value.to_string(), |flag| written(flag).to_owned()))
            };
            let (set, runs) = (shown(Attribute::SettingValue)?, shown(Attribute::SettingRuntime)?);
            let default = shown(Attribute::SettingDefault);
            reboot::is_pending(&set, &runs, default.as_deref(), is_flag).then(|| Waiting {
                words: format!("{name} is configured {set}, in force is {runs}"),
                exhibit: Exhibit::of(
                    &id,
                    Attribute::SettingValue,
                    format!("{name}: configured {set}, in force {runs}"),
                ),
                back: Some((set_kernel(&name, &runs), set_kernel(&name, &set))),
            })
        })
        .collect()
}

fn owners(scene: &Scene<'_>, host: &TargetId) -> Vec<Waiting> {
    let known = scene.fabric.of_kind(host, Entity::PciFunction("".into()));
    known
        .filter_map(|entity| {
            let (id, address) = (EntityId::new(host, entity.clone()), entity.name());
            let (next, now) = (scene.text(&id, Attribute::ConfiguredOwner)?, scene.text(&id, Attribute::CurrentOwner)?);
            let toggle = |state: &str| {
                vec![Step::run(&["esxcli", "hardware", "pci", "pcipassthru", "set", "-d", &address, "-e", state])]
            };
            let back = match scene.flag(&id, Attribute::PassthroughEnabled) {
                Some(true) => Some((toggle("false"), toggle("true"))),
                Some(false) => Some((toggle("true"), toggle("false"))),
                None => None,
            };
            reboot::is_owner_pending(next, now).then(|| Waiting {
                words: format!("{address} goes from {now} to {next}"),
                exhibit: Exhibit::of(
                    &id,
                    Attribute::ConfiguredOwner,
                    format!("{address}: owner is {now}, configured is {next}"),
                ),
                back,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    const SETTING: &str = "disableACSCheck      Bool    FALSE       FALSE    FALSE";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || acs("disableACSCheck      Bool    TRUE        FALSE    FALSE"),
        healthy: || Site::sound(),
        unclear: || {
            let dead = "Connect to localhost failed";
            Site::sound().with("esx02", fails("esxi.pci-kernel-settings", 1, dead))
        },
    };

    /// The list of settings is read twice: for the host's state, and for the settings.
    fn acs(row: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.kernel-setting-list", SETTING, row).replacing(
            "esx02",
            "esxi.pci-kernel-settings",
            SETTING,
            row,
        )
    }

    #[test]
    fn a_setting_can_be_taken_back() {
        let judged = (SAMPLES.trouble)().judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.title, "esx02 waits for a reboot: disableACSCheck is configured TRUE, in force is FALSE");
        let back = &judged.cures[1];
        assert_eq!(back.steps[0].shown(), "esxcli system settings kernel set -s disableACSCheck -v FALSE");
        assert_eq!(back.undo[0].shown(), "esxcli system settings kernel set -s disableACSCheck -v TRUE");
        assert_eq!(judged.cures[0].risk, Risk::RebootsHost);
    }

    #[test]
    fn an_owner_that_changes_with_the_next_start() {
        let owners = "   Device Name: MT28908 Family [ConnectX-6]\n   Configured Owner: VMkernel\n";
        let site =
            Site::sound().replacing("esx02", "esxi.pci-list", owners, &owners.replace("VMkernel", "VM Passthru"));
        let judged = site.judge(&CHECK).pop().expect("judged");
        assert!(judged.title.contains("0000:5e:00.0 goes from VMkernel to VM Passthru"), "{}", judged.title);
    }
}
