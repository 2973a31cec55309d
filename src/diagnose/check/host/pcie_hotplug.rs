//! On some servers the reset of a device at the power-on of its VM looks like a card that is pulled and put back.

use std::collections::BTreeSet;

use super::bearing::{THEN_REBOOT, is_running, passed, set_kernel, trouble, vm_name, written};
use super::messages::{names, of_host, quoted};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::LinkKind;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, Entity, EntityId};

/// No reset is taken for a hot-plug.
pub const CHECK: Check = Check {
    id: "host.pcie-hotplug",
    title: "Resets of passed-through devices are not taken for hot-plug",
    gate: "functions that stand behind a device of a VM",
    rule: "fails if the log of the last day reports the function as removed and inserted, and hot-plug is not switched off; \
           passes otherwise",
    source: Source {
        text: "Broadcom KB on \"is not a passthrough device\" with PCIEHP in vmkernel.log; HPE a00121002en_us",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.power-on-failed", "host.device-log", "gpu.fell-off-bus"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const NAME: &str = "enablePCIEHotplug";

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for chain in passed(scene) {
        let Some(link) = chain.links.iter().find(|link| link.kind == LinkKind::DeviceFunction) else { continue };
        let function = &link.to;
        if !seen.insert(function.clone()) {
            continue;
        }
        let (host, address, vm) = (&function.target, function.entity.name(), vm_name(scene, &chain.vm));
        let setting = EntityId::new(host, Entity::KernelSetting(NAME.into()));
        let in_force = scene.flag(&setting, Attribute::SettingRuntime);
        let messages = match of_host(scene, host) {
            Ok(messages) => messages,
            Err((lack, why)) => {
                let title = format!("whether {address} of {host} is taken for unplugged: {why}");
                found.push(Judged::unknown(function, lack, title, "grep PCIEHP /var/log/vmkernel.log"));
                continue;
            }
        };
        let of_slot: Vec<_> = messages
            .iter()
            .filter(|message| message.text.contains("PCIEHP") && names(message.text, &address))
            .collect();
        let says = |words: &str| of_slot.iter().any(|message| message.text.contains(words));
        let pending = says("removal is still pending");
        if in_force == Some(false) || !(pending || (says("Adapter removed") && says("Adapter inserted"))) {
            found.push(Judged::pass(function, format!("{address} of {host} is not taken for unplugged")));
            continue;
        }
        let old = written(scene.flag(&setting, Attribute::SettingValue).unwrap_or(true));
        let sure = if pending { Confidence::Proved } else { Confidence::Likely };
        let mut judged = trouble(
            is_running(scene, &chain.vm),
            function,
            sure,
            format!("{host}: the reset of {address} is taken for a card that was pulled and put back"),
            format!(
                "the device of {vm} is reset at its power-on, the slot reports it as removed, and the VMkernel takes it away: the \
                 power-on ends with \"is not a passthrough device\", or the VM loses the device"
            ),
        );
        judged = judged.shown_by(
            of_slot
                .iter()
                .rev()
                .take(3)
                .map(|message| Exhibit::of(&message.id, Attribute::Message, quoted(message.text))),
        );
        if !pending {
            judged = judged.decided_by("was a card exchanged at that time, or did a VM power on?");
        }
        let basis = scene.exists(&setting).then(|| (setting.clone(), Attribute::SettingValue));
        found.push(
            judged
                .cured_by(
                    Cure::on(host, "Switch hot-plug of PCIe off", Risk::RebootsHost, set_kernel(NAME, "FALSE"))
                        .undone_by(set_kernel(NAME, old), basis.into_iter().collect())
                        .verified_by(&["host.pcie-hotplug", "host.reboot-pending"])
                        .noting(THEN_REBOOT),
                )
                .reaching(scene.way_of(chain)),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    /// The lines of such a power-on, as the knowledge base quotes them.
    const HOTPLUG: &str = include_str!("../../../../tests/fixtures/esxi-logs/vmkernel-hotplug.txt");

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || log(&HOTPLUG.replace("0000:a9:00.0", "0000:af:00.0")),
        // The same slot, of another device.
        healthy: || log(HOTPLUG),
        unclear: || {
            let no = "tail: can't open '/var/log/vmkernel.log': Permission denied";
            Site::sound().with("esx01", fails("esxi.vmkernel-log-tail", 1, no))
        },
    };

    fn log(text: &str) -> Site {
        Site::sound().with("esx01", says("esxi.vmkernel-log-tail", text))
    }

    #[test]
    fn switched_off_it_cannot_be_that() {
        let row = "disableACSCheck      Bool    FALSE       FALSE    FALSE    Bypass ACS capability checks on all PCIE devices\n";
        let off = format!("{row}enablePCIEHotplug    Bool    FALSE       FALSE    TRUE     Enable PCIe hotplug\n");
        let site = (SAMPLES.trouble)().replacing("esx01", "esxi.kernel-setting-list", row, &off);
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }

    #[test]
    fn without_the_last_line_it_is_likely() {
        let text = HOTPLUG.replace("0000:a9:00.0", "0000:af:00.0");
        let kept: Vec<&str> = text.lines().filter(|line| !line.contains("pending")).collect();
        let judged = log(&kept.join("\n")).judge(&CHECK).pop().expect("judged");
        assert_eq!((judged.status, judged.confidence), (Status::Fail, Confidence::Likely));
    }
}
