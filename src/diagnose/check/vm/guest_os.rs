//! PVRDMA has a driver for 64-bit Linux. The kind of guest in the settings of a VM says what the host takes it for.

use super::machine::{self, Kind, Vm};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;

/// The guest of a VM with PVRDMA is a 64-bit Linux.
pub const CHECK: Check = Check {
    id: "vm.guest-os",
    title: "The guest of a VM with PVRDMA is a 64-bit Linux that has its driver",
    gate: "VMs with a PVRDMA adapter",
    rule: "fails for a guest that is no 64-bit Linux, and warns if that runs all the same; warns for distributions for which \
           the adapter is not offered; passes else",
    source: Source {
        text: "vSphere Networking: PVRDMA Support; VMware's guest validation tests for PVRDMA",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.rdma-device", "guest.pvrdma-driver", "vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// What is no Linux.
const OTHERS: [&str; 12] = [
    "win",
    "longhorn",
    "darwin",
    "freebsd",
    "solaris",
    "netware",
    "nwfs",
    "os2",
    "dos",
    "vmkernel",
    "openserver",
    "unixware",
];
/// Linux systems that VMware's own test of the adapter leaves out.
const NOT_OFFERED: [&str; 4] = ["fedora", "vmwarephoton", "coreos", "crx"];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, &[Kind::Pvrdma]).iter().map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    let Some(id) = scene.text(&vm.id, Attribute::GuestId) else {
        return vm.unknown(scene, &vm.id, Attribute::GuestId, "kind of guest", "get.config | grep guestId");
    };
    let lower = id.to_ascii_lowercase();
    let is = |names: &[&str]| names.iter().any(|name| lower.starts_with(name));
    // What answered as Linux is one, whatever the settings say.
    let runs_linux = scene.joined.guest_of(&vm.id).is_some();
    let (grave, cause) = if is(&OTHERS) || !lower.contains("64") || lower.starts_with("arm") {
        let cause = "PVRDMA has a driver for 64-bit Linux on x86 only";
        if runs_linux {
            (
                Status::Warn,
                format!(
                    "{cause}; what runs in it is Linux, so the setting is wrong, and vCenter offers no PVRDMA for it"
                ),
            )
        } else {
            (Status::Fail, format!("{cause}: this guest cannot use the adapter"))
        }
    } else if is(&NOT_OFFERED) || lower == "otherguest64" {
        (
            Status::Warn,
            "the adapter is not offered for this kind of guest: vCenter may refuse it when the VM is edited".to_owned(),
        )
    } else {
        return vm.pass(&vm.id, &format!("{id} is a guest with a driver for PVRDMA"));
    };
    vm.fault(&vm.id, grave, &format!("{id} has a PVRDMA adapter"), &cause)
        .shown(&vm.id, Attribute::GuestId, format!("guest OS {id}"))
        .cured_by(
            vm.edit(
                "Set the kind of guest that it is",
                &["Edit Settings > VM Options > General Options > Guest OS, while it is off".to_owned()],
            )
            .risking(Risk::RebootsGuest)
            .undone_by(
                vm.steps(&[format!("Edit Settings > VM Options > General Options > Guest OS: {id}")]),
                vec![(vm.id.clone(), Attribute::GuestId)],
            )
            .verified_by(&["vm.guest-os"]),
        )
        .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || guest("windows2019srv_64Guest"),
        healthy: || guest("rhel8_64Guest"),
        unclear: || {
            Site::sound().with("esx01", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    fn guest(id: &str) -> Site {
        let found = "version = \"vmx-19\",\n   uuid = \"a3e1a438-4613-4230-b54d-3c94d74a6c07\"";
        let site =
            Site::sound().replacing("esx01", "esxi.vm-configs", found, &format!("{found},\n   guestid = \"{id}\""));
        site.replacing("esx01", "esxi.vm-configs", "guestId = \"debian11_64Guest\",\n   alternate", "alternate")
    }

    fn of(id: &str) -> Status {
        guest(id).statuses(&CHECK)[0]
    }

    #[test]
    fn each_kind_of_guest() {
        for id in ["ubuntu64Guest", "sles15_64Guest", "other5xLinux64Guest", "oracleLinux8_64Guest", "centos8_64Guest"]
        {
            assert_eq!(of(id), Status::Pass, "{id}");
        }
        for id in ["rhel6Guest", "freebsd12_64Guest", "otherGuest64", "fedora64Guest", "vmwarePhoton64Guest"] {
            assert_eq!(of(id), Status::Warn, "{id}");
        }
    }

    #[test]
    fn a_guest_that_did_not_answer_may_be_what_the_settings_say() {
        let site = guest("windows2019srv_64Guest").without_target("pv-a");
        assert_eq!(site.statuses(&CHECK)[0], Status::Fail);
    }
}
