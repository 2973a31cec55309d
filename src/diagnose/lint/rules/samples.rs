//! Whole files that are sound, and small edits of them, for the tests of the rules.
//!
//! The keys are those of public files (passthrough, SR-IOV) and of VMware's own sources (PVRDMA); the values are made up.

use crate::diagnose::lint::{HostFunction, HostView, Passthrough};

/// What every file has.
const COMMON: &str = r#".encoding = "UTF-8"
config.version = "8"
pciBridge0.present = "TRUE"
pciBridge4.present = "TRUE"
pciBridge4.virtualDev = "pcieRootPort"
pciBridge4.functions = "8"
pciBridge5.present = "TRUE"
pciBridge5.virtualDev = "pcieRootPort"
pciBridge5.functions = "8"
svga.present = "TRUE"
hpet0.present = "TRUE"
vmci0.present = "TRUE"
floppy0.present = "FALSE"
nvram = "vm one.nvram"
virtualHW.productCompatibility = "hosted"
powerType.powerOff = "default"
displayName = "vm one"
extendedConfigFile = "vm one.vmxf"
guestOS = "ubuntu-64"
numvcpus = "16"
cpuid.coresPerSocket = "8"
memSize = "65536"
sched.cpu.units = "mhz"
sched.cpu.affinity = "all"
sched.cpu.latencySensitivity = "normal"
sched.mem.min = "65536"
sched.mem.minSize = "65536"
sched.mem.shares = "normal"
sched.mem.pin = "TRUE"
scsi0.virtualDev = "pvscsi"
scsi0.present = "TRUE"
scsi0:0.deviceType = "scsi-hardDisk"
scsi0:0.fileName = "vm one.vmdk"
sched.scsi0:0.shares = "normal"
scsi0:0.present = "TRUE"
scsi0.pciSlotNumber = "160"
ethernet0.virtualDev = "vmxnet3"
ethernet0.networkName = "VM Network"
ethernet0.addressType = "generated"
ethernet0.generatedAddress = "00:0c:29:01:02:03"
ethernet0.generatedAddressOffset = "0"
ethernet0.uptCompatibility = "TRUE"
ethernet0.present = "TRUE"
ethernet0.pciSlotNumber = "192"
uuid.bios = "56 4d 01 02 03 04 05 06-07 08 09 0a 0b 0c 0d 0e"
uuid.location = "56 4d 01 02 03 04 05 06-07 08 09 0a 0b 0c 0d 0e"
vc.uuid = "52 aa 01 02 03 04 05 06-07 08 09 0a 0b 0c 0d 0e"
vmxstats.filename = "vm one.scoreboard"
numa.autosize.cookie = "160162"
numa.autosize.vcpu.maxPerVirtualNode = "8"
sched.swap.derivedName = "/vmfs/volumes/ds/vm one/vm one.vswp"
migrate.hostlog = "./vm one.hlog"
tools.syncTime = "FALSE"
toolScripts.afterPowerOn = "TRUE"
guestinfo.vmtools.buildNumber = "20219665"
monitor.phys_bits_used = "45"
vmotion.checkpointFBSize = "4194304"
softPowerOff = "FALSE"
usb_xhci.present = "TRUE"
"#;

/// A file, and what is asked of it beside.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// The text of the file.
    pub text: String,
    /// The host, if one is given.
    pub host: Option<HostView>,
    /// Number of snapshots, if a VMSD is there.
    pub snapshots: Option<u64>,
}

impl Sample {
    /// A file of this text.
    pub(super) fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same with a key set: in place, or at the end.
    pub(super) fn set(mut self, key: &str, value: &str) -> Self {
        let line = format!("{key} = \"{value}\"");
        let there = |old: &str| old.split('=').next().is_some_and(|name| name.trim() == key);
        if self.text.lines().any(there) {
            self.text =
                self.text.lines().map(|old| if there(old) { line.as_str() } else { old }.to_owned() + "\n").collect();
            return self;
        }
        self.line(&line)
    }

    /// The same with a line at the end, whatever it is.
    pub(super) fn line(mut self, line: &str) -> Self {
        self.text.push_str(line);
        self.text.push('\n');
        self
    }

    /// The same without the keys that begin so.
    pub(super) fn without(mut self, key: &str) -> Self {
        assert!(self.text.lines().any(|line| line.starts_with(key)), "{key} is in the sample");
        self.text = self.text.split_inclusive('\n').filter(|line| !line.starts_with(key)).collect();
        self
    }

    /// The same beside this host.
    pub(super) fn beside(self, host: HostView) -> Self {
        Self { host: Some(host), ..self }
    }

    /// The same with a VMSD that counts so many snapshots.
    pub(super) fn snapshots(self, count: u64) -> Self {
        Self { snapshots: Some(count), ..self }
    }
}

/// A VM without a special device, of hardware version 19.
pub(super) fn plain() -> Sample {
    Sample::of(COMMON).set("virtualHW.version", "19").set("firmware", "efi")
}

/// A VM with a PVRDMA adapter on a distributed switch.
pub(super) fn pvrdma() -> Sample {
    plain()
        .set("ethernet1.virtualDev", "vrdma")
        .set("ethernet1.dvs.switchId", "50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81")
        .set("ethernet1.dvs.portId", "2")
        .set("ethernet1.dvs.portgroupId", "dvportgroup-117201")
        .set("ethernet1.dvs.connectionId", "123456789")
        .set("ethernet1.addressType", "vpx")
        .set("ethernet1.generatedAddress", "00:50:56:80:00:01")
        .set("ethernet1.pciSlotNumber", "224")
        .set("ethernet1.present", "TRUE")
}

/// A VM of hardware version 14, which knows no Dynamic `DirectPath`, with an A100 of 40 GB at af:00.0.
pub(super) fn a100() -> Sample {
    plain()
        .set("virtualHW.version", "14")
        .set("pciPassthru.use64bitMMIO", "TRUE")
        .set("pciPassthru.64bitMMIOSizeGB", "128")
        .set("pciPassthru0.present", "TRUE")
        .set("pciPassthru0.id", "00000:175:00.0")
        .set("pciPassthru0.deviceId", "0x20f1")
        .set("pciPassthru0.vendorId", "0x10de")
        .set("pciPassthru0.systemId", "5f0a1b2c-0000-0000-0000-000000000001")
        .set("pciPassthru0.pciSlotNumber", "256")
}

/// A VM with any A100 of 40 GB, by Dynamic `DirectPath`.
pub(super) fn dynamic() -> Sample {
    a100()
        .set("virtualHW.version", "19")
        .without("pciPassthru0.id")
        .without("pciPassthru0.systemId")
        .without("pciPassthru0.deviceId")
        .without("pciPassthru0.vendorId")
        .set("pciPassthru0.allowedDevices", "0x10de:0x20f1")
        .set("pciPassthru0.customLabel", "training")
}

/// A VM with a virtual function of a network adapter, with BIOS and without 64-bit MMIO.
pub(super) fn sriov() -> Sample {
    plain()
        .without("firmware")
        .set("pciPassthru31.present", "TRUE")
        .set("pciPassthru31.deviceId", "0")
        .set("pciPassthru31.vendorId", "0")
        .set("pciPassthru31.systemId", "BYPASS")
        .set("pciPassthru31.id", "00000:026:00.1")
        .set("pciPassthru31.pfId", "00000:026:00.1")
        .set("pciPassthru31.dvs.portgroupId", "dvportgroup-75")
        .set("pciPassthru31.pciSlotNumber", "33")
}

/// A VM with a network adapter in passthrough.
pub(super) fn adapter() -> Sample {
    a100()
        .without("firmware")
        .without("pciPassthru.")
        .set("pciPassthru0.vendorId", "0x15b3")
        .set("pciPassthru0.deviceId", "0x101d")
}

/// A VM with a vGPU of an A100.
pub(super) fn vgpu() -> Sample {
    plain().set("pciPassthru0.present", "TRUE").set("pciPassthru0.vgpu", "grid_a100-1-5c")
}

/// A function of a host.
pub(super) fn function(address: &str, device: &str, node: u32) -> HostFunction {
    HostFunction {
        address: address.to_owned(),
        vendor: "10de".to_owned(),
        device: device.to_owned(),
        name: "NVIDIA GPU".to_owned(),
        passthrough: Some(Passthrough::InForce),
        numa_node: Some(node),
    }
}

/// A host of ESXi 7.0 U3 with an A100 at af:00.0, ready for PVRDMA.
pub(super) fn host() -> HostView {
    HostView {
        name: "esx1".to_owned(),
        version: Some("7.0.3".to_owned()),
        build: Some(21_424_296),
        functions: Some(vec![function("0000:af:00.0", "20f1", 1), function("0000:3b:00.0", "20f1", 0)]),
        pvrdma_vmknic: Some("vmk1".to_owned()),
        distributed_switches: Some(vec!["50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81".to_owned()]),
    }
}
