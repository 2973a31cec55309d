//! What `nvidia-smi` says in place of a table.

use super::said::{SAID, Said};
use crate::diagnose::explain::Kind;
use crate::diagnose::finding::Confidence::{Likely, Possible};

pub(super) const SAID_BY: &[Said] = &[
    Said {
        words: &["NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"],
        kind: Kind::NvidiaSmi,
        check: "gpu.driver-bound",
        subject: "NVIDIA driver",
        title: "the NVIDIA driver is not running",
        cause: "The tool is there, the kernel module is not loaded.",
        causes: &[
            (Likely, "the module was not built for this kernel (after an update), or Secure Boot refuses it unsigned"),
            (Likely, "it tried to start the GPU and failed: MMIO window, firmware, a release that does not serve it"),
            (Possible, "the VM has no GPU, or nouveau has it"),
        ],
        decide: "Whether modprobe loads it, and what the kernel log says of NVRM",
        next: &[
            "lspci -nnk -d 10de:",
            "sudo modprobe nvidia",
            "dkms status",
            "sudo dmesg | grep -e NVRM -e nvidia -e nouveau",
            "mokutil --sb-state",
        ],
        ..SAID
    },
    Said {
        words: &["Failed to initialize NVML: Driver/library version mismatch", "NVML: Driver/library version mismatch"],
        kind: Kind::NvidiaSmi,
        check: "gpu.driver-mismatch",
        subject: "NVIDIA driver",
        title: "the module that is loaded is of another release than the driver's libraries",
        cause: "The packages were updated while the old module stayed loaded. Programs that run go on; new ones fail.",
        causes: &[(
            Likely,
            "an unattended update: a restart of the guest, or unloading and loading the modules, ends it",
        )],
        decide: "Both releases",
        next: &["cat /proc/driver/nvidia/version", "modinfo nvidia | grep ^version", "sudo reboot"],
        ..SAID
    },
    Said {
        words: &["Failed to initialize NVML: Unknown Error", "Failed to initialize NVML: Insufficient Permissions"],
        kind: Kind::NvidiaSmi,
        check: "gpu.driver-bound",
        confidence: Possible,
        subject: "NVML",
        title: "this process may not reach the GPU's device nodes",
        causes: &[
            (Likely, "a container that lost its devices, as after systemctl daemon-reload with cgroups"),
            (Possible, "the nodes /dev/nvidia* are missing or belong to others"),
        ],
        decide: "The same outside of the container",
        next: &["ls -l /dev/nvidia*", "nvidia-smi   (outside of the container)"],
        ..SAID
    },
    Said {
        words: &["Unable to determine the device handle for", "GPU is lost. Reboot the system to recover this GPU"],
        kind: Kind::NvidiaSmi,
        check: "gpu.fell-off-bus",
        confidence: Likely,
        subject: "GPU",
        title: "a GPU does not answer the driver any more",
        causes: &[
            (Likely, "it has fallen off the bus (Xid 79): PCIe link, power, heat, or the host reset it"),
            (Possible, "its start failed, and the driver keeps the device without being able to use it"),
        ],
        decide: "The last Xid of that GPU in the kernel log, and the host's log of its PCIe link",
        next: &[
            "sudo dmesg | grep -i -e xid -e 'fallen off'",
            "lspci -nnk -d 10de:",
            "grep -e 'link to the device is down' /var/log/vmkernel.log   (on the host)",
        ],
        ..SAID
    },
];
