//! Files of the hosts of the lab: settings, scripts, logs, and those of the VMs.

use super::hosts::{DVS_ID, GROUPS};
use super::log;
use super::state::{Release, State};
use super::vm::{Role, Vm};
use crate::lab::guest::templates::fill;
use crate::lab::machine::HostTrouble;

/// All files with their contents.
pub fn all(state: &State, began: jiff::Timestamp) -> Vec<(String, String)> {
    let mut files = vec![
        ("/etc/vmware/config".to_owned(), CONFIG.to_owned()),
        ("/etc/rc.local.d/local.sh".to_owned(), LOCAL.to_owned()),
        ("/var/log/vmkernel.log".to_owned(), log::vmkernel(state, began)),
    ];
    for vm in &state.vms {
        files.push((vm.file(), vmx(vm)));
        let log = format!("/vmfs/volumes/{}/{}/vmware.log", vm.datastore, vm.folder);
        files.push((log, vmware_log(vm, state.release)));
    }
    files
}

/// Source: UNSOURCED as a whole; keys as published advice adds them.
const CONFIG: &str = "libdir = \"/usr/lib/vmware\"\n.encoding = \"UTF-8\"\nauthd.proxy.nfc = \"vmware-hostd:ha-nfc\"\n\
                      authd.proxy.nfcssl = \"vmware-hostd:ha-nfcssl\"\nauthd.proxy.vpxa-nfc = \"vmware-vpxa:vpxa-nfc\"\n";

/// Source: the file as installed, in public copies of it.
const LOCAL: &str = "#!/bin/sh ++group=host/vim/vmvisor/boot\n\n# local configuration options\n\n\
                     # Note: modify at your own risk!  If you do/use anything in this\n# script that is not part of a stable API (relying on files to be in\n\
                     # specific places, specific tools, specific output, etc) there is a\n# possibility you will end up with a broken system after patching or\n\
                     # upgrading.  Changes are not supported unless under direction of\n# VMware support.\n\nexit 0\n";

/// Source: a published line of `vmware.log` of this release.
fn vmware_log(vm: &Vm, release: Release) -> String {
    let head = "2026-11-24T06:12:40.413Z In(05)";
    let mut text = format!("{head} vmx - Log for VMware ESX pid={} version={}\n", vm.worlds().1, release.version().0);
    let fails = "vmx - Module 'DevicePowerOn' power on failed.";
    if vm.suffers(HostTrouble::GpuNotGiven) {
        // Source: published logs of a device that the host does not give away.
        text.push_str(&format!(
            "{head} vmx - PCIPassthru: Device 175:0.0 is not a passthrough device.\n{head} {fails}\n"
        ));
    } else if vm.suffers(HostTrouble::GpuWindowMissing) {
        // Source: tests/fixtures/public/61-vmware-log-old-format.txt and 62; the pages are those of the three BARs below.
        text.push_str(&format!(
            "{head} vmx - PCIPassthru: total number of pages needed (16789504) exceeds limit (917504), failing\n{head} {fails}\n"
        ));
    } else if vm.role == Role::Gpu {
        for (bar, at, size) in
            [(0, "0xb5000000", 16_777_216_u64), (1, "0x3b800000000", 68_719_476_736), (3, "0x3b900000000", 33_554_432)]
        {
            text.push_str(&format!(
                "{head} vmx - PCIPassthru: Device 0000:af:00.0 barIndex {bar} type {} realaddr {at} size {size} flags {}\n",
                if bar == 0 { 2 } else { 3 },
                if bar == 0 { 0 } else { 12 }
            ));
        }
    }
    text
}

/// The configuration file of a VM.
fn vmx(vm: &Vm) -> String {
    let template = match vm.role {
        Role::Pvrdma => include_str!("templates/pvrdma.vmx"),
        Role::Gpu => include_str!("templates/gpu.vmx"),
        Role::Edited => include_str!("templates/edited.vmx"),
        Role::Neighbour => include_str!("templates/plain.vmx"),
    };
    let (port, connection) = vm.port.unwrap_or_default();
    let mac = |place: usize| vm.macs.get(place).cloned().unwrap_or_default();
    let text = fill(
        template,
        &[
            ("hardware", vm.hardware().to_string()),
            ("name", vm.name.clone()),
            ("folder", vm.folder.clone()),
            ("memory", vm.memory.to_string()),
            ("processors", vm.processors.to_string()),
            ("bios", Vm::spaced(&vm.uuid)),
            ("instance", Vm::spaced(&vm.instance)),
            ("system", vm.system.clone()),
            ("switch", DVS_ID.to_owned()),
            ("group", GROUPS[1].to_owned()),
            ("port", port.to_string()),
            ("connection", connection.to_string()),
            ("mac0", mac(0)),
            ("mac1", mac(1)),
        ],
    );
    let text = if vm.role == Role::Gpu { set_wrong(vm, &text) } else { text };
    // What an editor of another system leaves at the beginning.
    if vm.role == Role::Edited { format!("\u{feff}{text}") } else { text }
}

/// The configuration file of a VM with a graphics device as its troubles leave it.
fn set_wrong(vm: &Vm, text: &str) -> String {
    let lines = text.split_inclusive('\n').filter(|line| {
        let is_window = line.starts_with("pciPassthru.use64bitMMIO") || line.starts_with("pciPassthru.64bitMMIOSizeGB");
        !(is_window && vm.suffers(HostTrouble::GpuWindowMissing))
    });
    lines.collect()
}
