//! What kernel messages mean. The words of `vmw_pvrdma`, mlx5 and rdma are those of the drivers' own sources; the Xid
//! classes follow NVIDIA's catalogue, read for a guest in a virtual machine.

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good or neutral news.
    Info,
    /// Worth a look.
    Warning,
    /// Something does not work.
    Error,
}

use Severity::{Error, Info, Warning};

/// One row: all of these words must be in the message.
type Row = (&'static [&'static str], Severity, &'static str);

const PAIRING: &str = "vmw_pvrdma found no vmxnet3 at function 0 of its slot, or that one has no driver yet: restore the \
                       adapter of the VM, and load vmxnet3 before vmw_pvrdma";
const COMMANDS: &str = "the command channel to the hypervisor is stuck or was refused: look at the host (PVRDMA vmknic, \
                        RDMA adapter)";
const LIMITS: &str = "asked for more than the device offers (1024 work requests; RC, UD and GSI queue pairs only)";
const REGION: &str = "a memory region over 1 GiB, of size 0, or more than may be locked";
const VM_RESOURCES: &str = "PCI resources of the VM: the adapter could not be mapped or got no interrupts";
const HOST_REFUSED: &str = "the host refused it: the peer is no PVRDMA endpoint, or its address could not be resolved";

/// The first row that matches tells. Rows for one driver begin with its name.
const ROWS: &[Row] = &[
    (
        &["vmw_pvrdma", "device version"],
        Info,
        "the PVRDMA driver speaks with the hypervisor (17 RoCE v1, 18 also v2, 20 \
      queue pair handles)",
    ),
    (&["vmw_pvrdma", "paired device to"], Info, "the PVRDMA adapter found its vmxnet3"),
    (&["vmw_pvrdma", "attached to device"], Info, "the PVRDMA driver has started"),
    (&["vmw_pvrdma", "detaching from device"], Warning, "the PVRDMA device was removed or its driver unloaded"),
    (&["vmw_pvrdma", "failed to find paired"], Error, PAIRING),
    (&["vmw_pvrdma", "failed to get vmxnet3 device"], Error, PAIRING),
    (
        &["vmw_pvrdma", "driver needs RoCE v1 or v2 support"],
        Error,
        "the hypervisor offers this VM no RoCE type: look at \
      the host (RDMA adapter, Net.PVRDMAVmknic, vDS uplink, firewall ruleset pvrdma), not at the guest",
    ),
    (
        &["vmw_pvrdma", "probe of", "failed with error -14"],
        Error,
        "the PVRDMA driver gave up; the line before it says \
      why (usually: no RoCE type offered by the host)",
    ),
    (&["vmw_pvrdma", "probe of", "failed with error"], Error, "the PVRDMA driver gave up; the line before it says why"),
    (&["vmw_pvrdma", "cannot enable PCI device"], Error, VM_RESOURCES),
    (&["vmw_pvrdma", "register mapping failed"], Error, VM_RESOURCES),
    (&["vmw_pvrdma", "PCI BAR region not MMIO"], Error, VM_RESOURCES),
    (&["vmw_pvrdma", "failed to allocate interrupts"], Error, VM_RESOURCES),
    (&["vmw_pvrdma", "dma_set_mask failed"], Error, VM_RESOURCES),
    (&["vmw_pvrdma", "failed to activate device"], Error, COMMANDS),
    (&["vmw_pvrdma", "unknown response"], Error, COMMANDS),
    (&["vmw_pvrdma", "completion timeout or interrupted"], Error, COMMANDS),
    (&["vmw_pvrdma", "failed to write request error"], Error, COMMANDS),
    (&["vmw_pvrdma", "create queuepair not supported"], Error, "rdma-core is too old for this device version"),
    (
        &["vmw_pvrdma", "shared receive queue size invalid"],
        Error,
        "a shared receive queue deeper than max_srq_wr was asked \
      for (UCX rc_verbs asks for 4095)",
    ),
    (
        &["vmw_pvrdma", "could not create binding"],
        Error,
        "an address could not be bound at the host: it or its VLAN \
      changed, or the MAC is used twice",
    ),
    (&["vmw_pvrdma", "could not create"], Error, LIMITS),
    (&["vmw_pvrdma", "queuepair type"], Error, LIMITS),
    (&["vmw_pvrdma", "queue size invalid"], Error, LIMITS),
    (&["vmw_pvrdma", "SRQs not supported"], Error, "the host side offers no shared receive queues"),
    (&["vmw_pvrdma", "mem region"], Error, REGION),
    (&["vmw_pvrdma", "could not query port"], Error, HOST_REFUSED),
    (&["vmw_pvrdma", "modify queuepair"], Error, HOST_REFUSED),
    (&["vmw_pvrdma", "failed to register"], Error, "the guest's kernel refused the RDMA device"),
    (
        &["vmw_pvrdma", "module verification failed"],
        Info,
        "the module is not signed; harmless where Secure Boot is off",
    ),
    (&["vmxnet3", "NIC Link is Up"], Info, "the virtual NIC is connected; its speed is a virtual one"),
    (
        &["vmxnet3", "NIC Link is Down"],
        Warning,
        "the virtual NIC was disconnected; a PVRDMA port paired with it goes down",
    ),
    (&["vmxnet3", "tx hang"], Error, "the virtual NIC stopped sending: the host did not serve it"),
    (&["vmxnet3", "resetting"], Warning, "the virtual NIC is reset after a hang"),
    (&["vmw_balloon"], Info, "the balloon driver is there: a VMware guest"),
    (&["vmw_vmci"], Info, "the VMCI driver is there: a VMware guest"),
    (&["mlx5_", "Cable error"], Error, "the module in the port reports an error: cable or transceiver"),
    (&["mlx5_", "Cable unplugged"], Error, "the cable was unplugged"),
    (&["mlx5_", "Cable plugged"], Info, "a cable was plugged in"),
    (&["mlx5_", "Link down"], Warning, "the link went down"),
    (&["mlx5_", "Link up"], Info, "the link came up"),
    (&["mlx5_", "health compromised"], Error, "the adapter's firmware stopped: reset or power-cycle"),
    (&["mlx5_", "Health issue observed"], Error, "the adapter's firmware reports a fault"),
    (&["mlx5_", "health recovery failed"], Error, "the adapter could not be brought back: power-cycle"),
    (&["mlx5_", "Fatal error"], Error, "the adapter reports a fatal error"),
    (&["mlx5_", "assert_var"], Error, "details of a firmware assertion, for the vendor"),
    (&["mlx5_", "Will cause a leak of a command resource"], Error, "the adapter's firmware does not answer"),
    (
        &["mlx5_", "failed, status"],
        Warning,
        "the adapter's firmware refused a command; its syndrome tells the vendor why",
    ),
    (&["mlx5_", "insufficient power"], Error, "the slot gives too little power for the adapter"),
    (&["mlx5_", "High temperature"], Error, "the adapter is too hot"),
    (&["mlx5_", "dump error cqe"], Error, "a request failed on the adapter; the application saw a completion in error"),
    (&["mlx5_", "WC error"], Error, "a request failed on the adapter; the application saw a completion in error"),
    (
        &["available PCIe bandwidth, limited by"],
        Warning,
        "the slot is slower than the card; in a VM the named bridge may be \
      made up, so ask the host",
    ),
    (
        &["speed is unknown, defaulting to 1000"],
        Info,
        "the netdev publishes no speed, so the rate of the RDMA port is made up",
    ),
    (&["got different BTH P_Key"], Error, "the two ends use different partitions"),
    (&["unable to add gid"], Error, "an address could not be entered in the GID table"),
    (&["Couldn't open port"], Error, "no management queue pair could be made: rdma_cm and -R do not work"),
    (&["rdma_rxe: loaded"], Info, "the soft-RoCE driver is there: RDMA in software over any Ethernet interface"),
    (&["infiniband ", "set active"], Info, "the RDMA device is active"),
    (&["infiniband ", "added "], Info, "the RDMA device rides on this netdev"),
    (&["infiniband ", "set down"], Warning, "the RDMA device is down: its netdev is"),
    (
        &["fallen off the bus"],
        Error,
        "the GPU does not answer on PCIe any more (as Xid 79): power-cycle the VM, then the host; \
      PCIe, power, heat",
    ),
    (
        &["NVRM:", "probe routine was not called"],
        Error,
        "another driver (nouveau) owns the GPU: block it, rebuild the \
      initramfs, reboot",
    ),
    (
        &["NVRM:", "not supported by the"],
        Error,
        "this driver release does not serve this GPU: a vGPU needs the guest driver of \
      its host's release, or the release is too old, or the open kernel module does not know the GPU",
    ),
    (
        &["NVRM:", "probe routine failed"],
        Error,
        "the NVIDIA driver tried to start the GPU and failed; the lines before say why",
    ),
    (&["NVRM:", "None of the NVIDIA devices were initialized"], Error, "follows from the messages before it"),
    (&["NVRM:", "No NVIDIA", "probed"], Error, "follows from the messages before it"),
    (
        &["NVRM:", "PCI I/O region", "invalid"],
        Error,
        "the GPU got no place in the address space: the VM needs EFI firmware and a \
      64-bit MMIO window that is large enough",
    ),
    (
        &["NVRM:", "RmInitAdapter failed"],
        Error,
        "the GPU did not start: in a VM look at EFI firmware, pciPassthru.use64bitMMIO and \
      the size of the window",
    ),
    (&["NVRM:", "rm_init_adapter failed"], Error, "follows from RmInitAdapter failed"),
    (&["NVRM:", "Row Remapper"], Warning, "a memory row is marked for remapping: reset the GPU to activate it"),
    (&["NVRM:", "loading NVIDIA UNIX"], Info, "the NVIDIA driver was loaded"),
    (&["nvidia", "module verification failed"], Info, "the module is not signed; harmless where Secure Boot is off"),
    (&["nvidia", "taints kernel"], Info, "normal for this driver"),
    (&["Initialized nouveau"], Warning, "nouveau owns a GPU: the NVIDIA driver cannot have it"),
    (&["nouveau"], Warning, "nouveau drives a GPU: the NVIDIA driver cannot have it"),
    (
        &["PCIe Bus Error", "severity=Corrected"],
        Warning,
        "the link repaired a transmission: signal integrity if it goes on",
    ),
    (&["PCIe Bus Error"], Error, "a PCIe error that the link could not repair"),
    (&["AER:", "Corrected error"], Warning, "the link repaired a transmission: signal integrity if it goes on"),
    (&["AER:"], Error, "a PCIe error"),
    (&["Out of memory"], Error, "the guest ran out of memory and killed a process"),
    (&["oom-kill"], Error, "the guest or a control group ran out of memory and killed a process"),
    (
        &["soft lockup"],
        Error,
        "a virtual processor did not run for many seconds: the host gave it no time, or a stun (vMotion, \
      snapshot)",
    ),
    (&["hard LOCKUP"], Error, "a processor no longer takes interrupts"),
    (&["rcu_", "stall"], Warning, "a virtual processor did not run for long: the host gave it no time, or a stun"),
    (&["mce:", "Hardware Error"], Error, "the processor reports a hardware error"),
    (&["DMAR", "Request device"], Error, "the IOMMU blocked an access of a device"),
    (&["timekeeping", "unstable"], Warning, "the clock of this VM jumped: the host gave it no time"),
    (&["UE memory"], Error, "memory errors that could not be repaired"),
    (&["CE memory"], Warning, "memory errors that were repaired"),
    (&["unstable"], Warning, "a clock source is not used any more"),
];

/// How grave a message is and what it means, as far as that is known.
pub fn explain(message: &str) -> (Severity, Option<String>) {
    if let Some(xid) = xid(message) {
        return xid;
    }
    if let Some((_, severity, meaning)) =
        ROWS.iter().find(|(words, ..)| words.iter().all(|word| message.contains(word)))
    {
        return (*severity, Some((*meaning).to_owned()));
    }
    let bad = ["fail", "Fail", "error", "Error", "ERROR", "timeout", "timed out"];
    (if bad.iter().any(|word| message.contains(word)) { Warning } else { Info }, None)
}

/// Number, gravity, meaning and what to do in a guest.
const XIDS: &[(u32, Severity, &str, &str)] = &[
    (13, Warning, "graphics engine exception", "restart the application: illegal access, rarely hardware"),
    (31, Warning, "MMU page fault", "restart the application: illegal access"),
    (32, Warning, "corrupt push buffer stream", "restart the application; watch the PCIe link"),
    (38, Warning, "driver firmware error", "report it"),
    (43, Warning, "GPU stopped processing", "the application was ended already"),
    (45, Warning, "preemptive clean-up", "follow the Xid before it; alone: restart the application"),
    (46, Error, "GPU stopped processing (time-out)", "reset the GPU"),
    (48, Error, "double-bit ECC error", "drain and reset the GPU; see 63, 64, 94, 95"),
    (62, Error, "internal microcontroller halted", "reset the GPU"),
    (63, Warning, "page retirement or row remap recorded", "reset the GPU at the next occasion"),
    (64, Error, "page retirement or row remap failed", "reset the GPU; contact the vendor"),
    (68, Warning, "video decoder exception", "restart the application"),
    (69, Warning, "graphics class error", "restart the application (nothing to do with ACS)"),
    (70, Warning, "copy engine error", "restart the application (nothing to do with ACS)"),
    (74, Error, "NVLink error", "reset the GPU; look at the link, its bridge or cabling"),
    (79, Error, "GPU has fallen off the bus", "power-cycle the VM, then the host; PCIe, power, heat"),
    (92, Warning, "many single-bit ECC errors", "watch it; contact the vendor"),
    (94, Error, "contained ECC error", "restart the application it hit"),
    (95, Error, "uncontained ECC error", "reset the GPU now"),
    (109, Error, "context switch time-out", "reset the GPU"),
    (119, Error, "GSP did not answer", "reset the GPU; try another driver release"),
    (120, Error, "GSP error", "reset the GPU; try another driver release"),
    (121, Warning, "C2C link error", "contact the vendor if it returns"),
    (136, Error, "NVLink training failed", "reset the GPU; look at the signal integrity of the link"),
    (137, Warning, "NVLink privilege error", "fault of an application or of a peer GPU"),
    (140, Error, "unrecovered ECC error", "reset the GPU"),
    (143, Error, "GPU initialisation error", "reset the GPU; contact the vendor"),
    (151, Error, "key rotation error", "restart the VM"),
    (154, Error, "recovery action changed", "do what the message says"),
    (167, Error, "fatal PCIe time-out", "look at the PCIe path"),
    (171, Warning, "detail to 48 or 63: device memory", "follow that one"),
    (172, Warning, "detail to 48 or 63: on-chip memory", "follow that one"),
    (176, Warning, "correctable PCIe errors", "look at the PCIe path"),
];

/// The code and the name of the action that the driver wants from now on, out of `GPU recovery action changed from 0x0 (None)
/// to 0x1 (GPU Reset Required)`: 0 is none. The name of a process may say anything, and stands before it.
pub fn recovery_action(message: &str) -> Option<(u32, &str)> {
    let (_, change) = message.rsplit_once("recovery action changed from ")?;
    let (_, target) = change.split_once(" to 0x")?;
    let (code, name) = target.split_once(" (")?;
    let (name, _) = name.split_once(')')?;
    Some((u32::from_str_radix(code, 16).ok()?, name))
}

/// Reads `Xid (PCI:0000:9b:00): 119, ...`, also with ` GPU-I:05` for a MIG instance, without `PCI:`, and as `SXid` of an
/// `NVSwitch`.
fn xid(message: &str) -> Option<(Severity, Option<String>)> {
    let (before, rest) = message.split_once("Xid (")?;
    let (place, rest) = rest.split_once("): ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number: u32 = rest[..digits].parse().ok()?;
    let (address, instance) = place.split_once(' ').unwrap_or((place, ""));
    let address = address.strip_prefix("PCI:").unwrap_or(address);
    let of = match instance.strip_prefix("GPU-I:") {
        Some(instance) => format!("GPU {address}, MIG instance {instance}"),
        None => format!("GPU {address}"),
    };
    if before.ends_with('S') {
        return Some((Error, Some(format!("SXid {number} of the NVSwitch {address}: look at fabric manager's log"))));
    }
    if let Some((code, action)) = recovery_action(message).filter(|_| number == 154) {
        return Some(match code {
            0 => (Info, Some(format!("Xid 154 of {of}: recovery action changed to none; nothing is to be done"))),
            _ => (Error, Some(format!("Xid 154 of {of}: recovery action changed; the driver asks for: {action}"))),
        });
    }
    Some(match XIDS.iter().find(|(known, ..)| *known == number) {
        Some((_, severity, meaning, action)) => (*severity, Some(format!("Xid {number} of {of}: {meaning}; {action}"))),
        None if (144..=150).contains(&number) => {
            (Error, Some(format!("Xid {number} of {of}: NVLink error; the link's own bits tell which")))
        }
        None => (Error, Some(format!("Xid {number} of {of}: not in this program's table; see NVIDIA's Xid catalogue"))),
    })
}
