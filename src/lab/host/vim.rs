//! What `vim-cmd` says of VMs: dumps of objects of the API, and the list of what is registered.
//!
//! Source: published dumps for the grammar; the API's own description for types and fields. Which fields stand between
//! those that matter is UNSOURCED.

use super::Said;
use super::hosts::{DVS_ID, GROUPS};
use super::state::State;
use super::vm::{Role, Vm};
use crate::lab::machine::HostTrouble;

/// The id of the passthrough device of the edited VM: bus 5e hexadecimal, or bus 94.
pub const AMBIGUOUS_ID: &str = "0000:94:00.0";

/// Answers `vim-cmd WORDS`.
pub fn answer(state: &State, words: &[String]) -> Said {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (command, number) = match words.as_slice() {
        ["vmsvc/getallvms"] => return Ok(all(state)),
        ["hostsvc/hosthardware"] => return Ok(host_hardware(state)),
        [command, number] => (*command, *number),
        _ => return Err(format!("Invalid command '{}'.", words.first().copied().unwrap_or_default())),
    };
    let vm = number.parse().ok().and_then(|number: u32| state.vms.iter().find(|vm| vm.number == number));
    let Some(vm) = vm else {
        return Err(format!(
            "(vim.fault.NotFound) {{\n   faultCause = (vmodl.MethodFault) null,\n   faultMessage = <unset>\n   msg = \"Unable to find a VM corresponding to \\\"{number}\\\"\"\n}}"
        ));
    };
    Ok(match command {
        "vmsvc/get.summary" => summary(vm),
        "vmsvc/get.config" => config(vm),
        "vmsvc/device.getdevices" => format!("Devices:\n\n{}\n", hardware(vm)),
        "vmsvc/power.getstate" => {
            format!("Retrieved runtime info\n{}\n", if vm.on { "Powered on" } else { "Powered off" })
        }
        "vmsvc/snapshot.get" => "Get Snapshot:\n".to_owned(),
        "vmsvc/get.guest" => format!("Guest information:\n\n{}\n", guest(vm)),
        _ => return Err(format!("Invalid command '{command}'.")),
    })
}

fn guest_id(vm: &Vm) -> (&'static str, &'static str) {
    match vm.role {
        Role::Pvrdma => ("debian11_64Guest", "Debian GNU/Linux 11 (64-bit)"),
        Role::Gpu | Role::Edited | Role::Neighbour => ("ubuntu64Guest", "Ubuntu Linux (64-bit)"),
    }
}

/// Source: published outputs and a public tool that reads them: edges of the columns are not reliable.
fn all(state: &State) -> String {
    let name_width = state.vms.iter().map(|vm| vm.name.len()).max().unwrap_or(4).max(4) + 3;
    let path_width = state.vms.iter().map(|vm| vm.path().len()).max().unwrap_or(4) + 3;
    let mut text = format!(
        "{:<7}{:<name_width$}{:<path_width$}{:<19}{:<10}Annotation\n",
        "Vmid", "Name", "File", "Guest OS", "Version"
    );
    for vm in &state.vms {
        let annotation = match vm.role {
            Role::Gpu => "A100 for training\nask before it is moved",
            Role::Pvrdma | Role::Edited | Role::Neighbour => "",
        };
        let line = format!(
            "{:<7}{:<name_width$}{:<path_width$}{:<19}{:<10}{annotation}",
            vm.number,
            vm.name,
            vm.path(),
            guest_id(vm).0,
            format!("vmx-{}", vm.hardware()),
        );
        text.push_str(format!("{line:<120}").trim_end_matches(' '));
        // The row of a VM without an annotation still has its blanks.
        text.push_str("   \n");
    }
    text
}

/// The system UUID as the host's agent has it.
fn host_hardware(state: &State) -> String {
    format!(
        "(vim.host.HardwareInfo) {{\n   systemInfo = (vim.host.SystemInfo) {{\n      vendor = \"Dell Inc.\",\n      model = \"PowerEdge R750xa\",\n      uuid = \"{}\",\n   }},\n}}\n",
        state.uuid
    )
}

fn summary(vm: &Vm) -> String {
    let (id, full) = guest_id(vm);
    let power = if vm.on { "poweredOn" } else { "poweredOff" };
    let tools = if vm.on { ("toolsOk", "guestToolsRunning") } else { ("toolsNotRunning", "guestToolsNotRunning") };
    let boot = if vm.on { "\"2026-11-24T06:12:40.118452Z\"" } else { "<unset>" };
    format!(
        "Listsummary:\n\n(vim.vm.Summary) {{\n   vm = 'vim.VirtualMachine:{number}',\n   runtime = (vim.vm.RuntimeInfo) {{\n      \
         device = <unset>,\n      host = 'vim.HostSystem:ha-host',\n      connectionState = \"connected\",\n      \
         powerState = \"{power}\",\n      faultToleranceState = \"notConfigured\",\n      dasVmProtection = (vim.vm.RuntimeInfo.DasProtectionState) null,\n      \
         toolsInstallerMounted = false,\n      suspendTime = <unset>,\n      bootTime = {boot},\n      suspendInterval = 0,\n      \
         question = (vim.vm.QuestionInfo) null,\n      memoryOverhead = <unset>,\n      maxCpuUsage = {mhz},\n      maxMemoryUsage = {memory},\n      \
         numMksConnections = 0,\n      recordReplayState = \"inactive\",\n      cleanPowerOff = <unset>,\n      needSecondaryReason = (string) [],\n      \
         onlineStandby = false,\n      snapshotInBackground = false,\n   }},\n   guest = (vim.vm.Summary.GuestSummary) {{\n      \
         guestId = \"{id}\",\n      guestFullName = \"{full}\",\n      toolsStatus = \"{tools}\",\n      toolsVersionStatus = \"guestToolsUnmanaged\",\n      \
         toolsRunningStatus = \"{running}\",\n      hostName = \"{name}\",\n      ipAddress = <unset>,\n   }},\n   \
         config = (vim.vm.Summary.ConfigSummary) {{\n      name = \"{name}\",\n      template = false,\n      vmPathName = \"{path}\",\n      \
         memorySizeMB = {memory},\n      cpuReservation = 0,\n      memoryReservation = {reserved},\n      numCpu = {cpus},\n      \
         numEthernetCards = {cards},\n      numVirtualDisks = 1,\n      uuid = \"{uuid}\",\n      instanceUuid = \"{instance}\",\n      \
         guestId = \"{id}\",\n      guestFullName = \"{full}\",\n      annotation = \"\",\n   }},\n   storage = (vim.vm.Summary.StorageSummary) null,\n   \
         quickStats = (vim.vm.Summary.QuickStats) {{\n      overallCpuUsage = {usage},\n      guestMemoryUsage = {used},\n      \
         hostMemoryUsage = {held},\n      balloonedMemory = {balloon},\n      swappedMemory = {swapped},\n      uptimeSeconds = {uptime},\n   }},\n   \
         overallStatus = \"green\",\n}}\n",
        number = vm.number,
        mhz = vm.processors * 1995,
        memory = vm.memory,
        reserved = reserved(vm),
        tools = tools.0,
        running = tools.1,
        name = vm.name,
        path = vm.path(),
        cpus = vm.processors,
        cards = vm.macs.len(),
        uuid = vm.uuid,
        instance = vm.instance,
        usage = if vm.on { 1840 } else { 0 },
        used = if vm.on { vm.memory / 8 } else { 0 },
        held = if vm.on { vm.memory + 84 } else { 0 },
        balloon = vm.taken.0,
        swapped = vm.taken.1,
        uptime = if vm.on { 517_000 } else { 0 },
    )
}

fn reserved(vm: &Vm) -> u32 {
    match vm.role {
        Role::Edited => 16_384,
        Role::Neighbour => 0,
        Role::Pvrdma | Role::Gpu => vm.memory,
    }
}

fn config(vm: &Vm) -> String {
    let (id, full) = guest_id(vm);
    let edited = vm.role == Role::Edited;
    let extra: String = extra_config(vm)
        .iter()
        .map(|(key, value)| {
            format!("      (vim.option.OptionValue) {{\n         key = \"{key}\",\n         value = \"{value}\"\n      }},\n")
        })
        .collect();
    let hardware = hardware(vm).replace('\n', "\n   ");
    format!(
        "Configuration:\n\n(vim.vm.ConfigInfo) {{\n   changeVersion = \"2026-11-20T09:31:02.551923Z\",\n   modified = \"1970-01-01T00:00:00Z\",\n   \
         name = \"{name}\",\n   guestFullName = \"{full}\",\n   version = \"vmx-{version}\",\n   uuid = \"{uuid}\",\n   createDate = \"2025-06-03T10:02:11.07Z\",\n   \
         instanceUuid = \"{instance}\",\n   npivNodeWorldWideName = (long) [],\n   npivTemporaryDisabled = true,\n   locationId = <unset>,\n   \
         template = false,\n   guestId = \"{id}\",\n   alternateGuestName = \"\",\n   annotation = \"{annotation}\",\n   \
         files = (vim.vm.FileInfo) {{\n      vmPathName = \"{path}\",\n      snapshotDirectory = \"[{store}] {folder}/\",\n      \
         suspendDirectory = \"[{store}] {folder}/\",\n      logDirectory = \"[{store}] {folder}/\",\n   }},\n   \
         tools = (vim.vm.ToolsConfigInfo) {{\n      toolsVersion = 12357,\n      afterPowerOn = true,\n      syncTimeWithHost = false,\n   }},\n   \
         flags = (vim.vm.FlagInfo) {{\n      disableAcceleration = false,\n      enableLogging = true,\n      htSharing = \"any\",\n      virtualMmuUsage = \"automatic\",\n      \
         virtualExecUsage = \"hvAuto\",\n   }},\n   defaultPowerOps = (vim.vm.DefaultPowerOpInfo) {{\n      powerOffType = \"soft\",\n   }},\n   \
         hardware = {hardware},\n   \
         cpuAllocation = (vim.ResourceAllocationInfo) {{\n      reservation = 0,\n      expandableReservation = false,\n      limit = -1,\n      \
         shares = (vim.SharesInfo) {{\n         shares = {cpu_shares},\n         level = \"normal\",\n      }},\n   }},\n   \
         memoryAllocation = (vim.ResourceAllocationInfo) {{\n      reservation = {reserved},\n      expandableReservation = false,\n      limit = -1,\n      \
         shares = (vim.SharesInfo) {{\n         shares = {memory_shares},\n         level = \"normal\",\n      }},\n   }},\n   \
         latencySensitivity = (vim.LatencySensitivity) {{\n      level = \"{latency}\",\n      sensitivity = <unset>,\n   }},\n   \
         memoryHotAddEnabled = {hot},\n   cpuHotAddEnabled = false,\n   cpuHotRemoveEnabled = false,\n   hotPlugMemoryLimit = <unset>,\n   \
         cpuAffinity = (vim.vm.AffinityInfo) null,\n   memoryAffinity = (vim.vm.AffinityInfo) null,\n   \
         extraConfig = (vim.option.OptionValue) [\n{extra}   ],\n   swapPlacement = \"inherit\",\n   \
         bootOptions = (vim.vm.BootOptions) {{\n      bootDelay = 0,\n      enterBIOSSetup = false,\n      efiSecureBootEnabled = false,\n   }},\n   \
         changeTrackingEnabled = false,\n   firmware = \"{firmware}\",\n   maxMksConnections = -1,\n   guestAutoLockEnabled = false,\n   \
         memoryReservationLockedToMax = {locked},\n   nestedHVEnabled = false,\n   vPMCEnabled = false,\n}}\n",
        name = vm.name,
        version = vm.hardware(),
        uuid = vm.uuid,
        instance = vm.instance,
        annotation = if vm.role == Role::Gpu { "A100 for training\nask before it is moved" } else { "" },
        path = vm.path(),
        store = vm.datastore,
        folder = vm.folder,
        cpu_shares = vm.processors * 1000,
        reserved = reserved(vm),
        memory_shares = vm.memory * 10,
        latency = if edited { "high" } else { "normal" },
        hot = edited,
        firmware = if edited { "bios" } else { "efi" },
        locked = !edited && vm.role != Role::Neighbour,
    )
}

fn extra_config(vm: &Vm) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("nvram", format!("{}.nvram", vm.folder)),
        ("svga.present", "TRUE".to_owned()),
        ("pciBridge0.present", "TRUE".to_owned()),
        ("sched.mem.pin", "TRUE".to_owned()),
    ];
    match vm.role {
        Role::Pvrdma => {}
        Role::Neighbour => all.truncate(3),
        Role::Gpu => {
            if !vm.suffers(HostTrouble::GpuWindowMissing) {
                all.extend([
                    ("pciPassthru.use64bitMMIO", "TRUE".to_owned()),
                    ("pciPassthru.64bitMMIOSizeGB", "128".to_owned()),
                ]);
            }
            all.extend([
                ("numa.nodeAffinity", "1".to_owned()),
                ("hypervisor.cpuid.v0", "FALSE".to_owned()),
                ("guestinfo.metadata.password", "not-a-real-secret".to_owned()),
                // A value of several lines is printed as it is.
                (
                    "guestinfo.userdata",
                    "#cloud-config\nusers:\n  - passwd: not-a-real-secret\n    lock_passwd: false".to_owned(),
                ),
            ]);
        }
        Role::Edited => {
            all.truncate(3);
            all.extend([("pvrdma0.virtualDev", "pvrdma".to_owned()), ("msg.autoanswer", "true".to_owned())]);
        }
    }
    all
}

/// The hardware of a VM, without blanks before its first line.
fn hardware(vm: &Vm) -> String {
    let devices: String =
        devices(vm).iter().map(|device| format!("      {},\n", device.replace('\n', "\n      "))).collect();
    format!(
        "(vim.vm.VirtualHardware) {{\n   numCPU = {},\n   numCoresPerSocket = {},\n   autoCoresPerSocket = <unset>,\n   memoryMB = {},\n   \
         virtualICH7MPresent = false,\n   virtualSMCPresent = false,\n   device = (vim.vm.device.VirtualDevice) [\n{devices}   ],\n}}",
        vm.processors,
        if vm.role == Role::Gpu { 8 } else { 1 },
        vm.memory,
    )
}

fn described(kind: &str, key: u32, label: &str, summary: &str, rest: &str) -> String {
    format!(
        "(vim.vm.device.{kind}) {{\n   key = {key},\n   deviceInfo = (vim.Description) {{\n      label = \"{label}\",\n      summary = \"{summary}\"\n   }},\n{rest}}}"
    )
}

fn devices(vm: &Vm) -> Vec<String> {
    let simple = "   backing = (vim.vm.device.VirtualDevice.BackingInfo) null,\n   connectable = (vim.vm.device.VirtualDevice.ConnectInfo) null,\n   slotInfo = (vim.vm.device.VirtualDevice.BusSlotInfo) null,\n   controllerKey = <unset>,\n   unitNumber = <unset>,\n";
    let mut all = vec![
        described("VirtualIDEController", 200, "IDE 0", "IDE 0", simple),
        described("VirtualPCIController", 100, "PCI controller 0", "PCI controller 0", simple),
        described(
            "VirtualVMCIDevice",
            12_000,
            "VMCI device",
            "Device on the virtual machine PCI bus that provides support for the virtual machine communication interface",
            simple,
        ),
        described("ParaVirtualSCSIController", 1000, "SCSI controller 0", "VMware paravirtual SCSI", simple),
        described(
            "VirtualDisk",
            2000,
            "Hard disk 1",
            "41,943,040 KB",
            &format!(
                "   backing = (vim.vm.device.VirtualDisk.FlatVer2BackingInfo) {{\n      fileName = \"[{0}] {1}/{1}.vmdk\",\n      diskMode = \"persistent\",\n      thinProvisioned = true,\n   }},\n   capacityInKB = 41943040,\n",
                vm.datastore, vm.folder
            ),
        ),
    ];
    if vm.role != Role::Edited {
        let standard = "   backing = (vim.vm.device.VirtualEthernetCard.NetworkBackingInfo) {\n      deviceName = \"VM Network\",\n      useAutoDetect = false,\n      network = 'vim.Network:HaNetwork-VM Network',\n   },\n";
        all.push(described("VirtualVmxnet3", 4000, "Network adapter 1", "VM Network", &card(vm, 0, 160, standard, "")));
    }
    if let (Role::Pvrdma, Some((port, connection))) = (vm.role, vm.port) {
        let distributed = format!(
            "   backing = (vim.vm.device.VirtualEthernetCard.DistributedVirtualPortBackingInfo) {{\n      port = (vim.dvs.PortConnection) {{\n         switchUuid = \"{DVS_ID}\",\n         portgroupKey = \"{}\",\n         portKey = \"{port}\",\n         connectionCookie = {connection},\n      }},\n   }},\n",
            GROUPS[1]
        );
        let protocol = "   deviceProtocol = \"rocev2\",\n";
        let summary = format!("DVSwitch: {DVS_ID}");
        all.push(described(
            "VirtualVmxnet3Vrdma",
            4001,
            "Network adapter 2",
            &summary,
            &card(vm, 1, 192, &distributed, protocol),
        ));
    }
    let passed = match vm.role {
        Role::Pvrdma | Role::Neighbour => None,
        Role::Gpu => Some(("GA100 [A100 PCIe 40GB]", "00000:175:00.0", "20f1", 4318)),
        // Written by hand: it reads both ways, and the host has a function for either.
        Role::Edited => Some(("MT28908 Family [ConnectX-6]", AMBIGUOUS_ID, "101b", 5555)),
    };
    if let Some((name, id, device, vendor)) = passed {
        // UNSOURCED: how the id is written there; in the VMX it is decimal.
        let backing = format!(
            "   backing = (vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo) {{\n      deviceName = \"{name}\",\n      useAutoDetect = false,\n      id = \"{id}\",\n      deviceId = \"{device}\",\n      systemId = \"{}\",\n      vendorId = {vendor},\n   }},\n   connectable = (vim.vm.device.VirtualDevice.ConnectInfo) null,\n   controllerKey = 100,\n   unitNumber = 18,\n",
            vm.system
        );
        all.push(described("VirtualPCIPassthrough", 13_000, "PCI device 0", name, &backing));
    }
    all
}

fn card(vm: &Vm, place: usize, slot: u32, backing: &str, more: &str) -> String {
    format!(
        "{backing}   connectable = (vim.vm.device.VirtualDevice.ConnectInfo) {{\n      migrateConnect = \"unset\",\n      startConnected = true,\n      allowGuestControl = true,\n      connected = {on},\n      status = \"{status}\",\n   }},\n   slotInfo = (vim.vm.device.VirtualDevice.PciBusSlotInfo) {{\n      pciSlotNumber = {slot}\n   }},\n   controllerKey = 100,\n   unitNumber = {unit},\n   addressType = \"assigned\",\n   macAddress = \"{mac}\",\n   wakeOnLanEnabled = true,\n   resourceAllocation = (vim.vm.device.VirtualEthernetCard.ResourceAllocation) null,\n   uptCompatibilityEnabled = true,\n{more}",
        on = vm.on,
        status = if vm.on { "ok" } else { "untried" },
        unit = 7 + place,
        mac = vm.macs.get(place).map_or("", String::as_str),
    )
}

fn guest(vm: &Vm) -> String {
    let state = if vm.on { "running" } else { "notRunning" };
    format!(
        "(vim.vm.GuestInfo) {{\n   toolsStatus = \"{}\",\n   hostName = \"{}\",\n   guestState = \"{state}\",\n}}",
        if vm.on { "toolsOk" } else { "toolsNotRunning" },
        vm.name
    )
}
