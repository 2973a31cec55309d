//! What people see, in their words, and the steps that can explain it. The ids are those of the catalogue; a test keeps them
//! so.

/// One step on the way from a symptom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is looked at, as one says it aloud.
    pub title: &'static str,
    /// Ids of the checks that decide it.
    pub checks: &'static [&'static str],
}

/// A symptom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symptom {
    /// Its name on the command line and in recordings.
    pub name: &'static str,
    /// What one sees.
    pub title: &'static str,
    /// The steps, the cheapest and likeliest first.
    pub steps: &'static [Step],
}

const fn step(title: &'static str, checks: &'static [&'static str]) -> Step {
    Step { title, checks }
}

const VM_ADAPTER: Step = step(
    "the VM runs, has the adapter, and the adapter is connected",
    &[
        "vm.power-state",
        "vm.pvrdma-adapter",
        "vm.adapter-connected",
        "vm.distributed-switch",
        "vm.hardware-version",
        "vm.guest-os",
    ],
);
const GUEST_DEVICE: Step = step(
    "the guest sees the device and its driver holds it",
    &[
        "guest.rdma-device",
        "guest.pvrdma-pairing",
        "guest.pvrdma-driver",
        "guest.pvrdma-kernel",
        "guest.vf-state",
        "guest.kernel-messages",
    ],
);
const USER_SPACE: Step = step(
    "programs can use it: library, device nodes, modules",
    &["guest.provider-library", "guest.verbs-abi", "guest.device-nodes", "guest.rdma-modules"],
);
const LINKS: Step = step(
    "every link on the way is up",
    &[
        "guest.port-active",
        "guest.netdev-up",
        "vm.adapter-connected",
        "vm.port-blocked-or-down",
        "host.uplink-link",
        "host.rdma-port-active",
        "host.link-flaps",
        "switch.interface-up",
    ],
);
const QUALIFIES: Step = step(
    "both hosts qualify for RDMA, and the VMs run where it works",
    &[
        "vm.host-qualifies",
        "host.rdma-device",
        "host.rdma-module",
        "host.module-options",
        "host.passthrough-owner",
        "host.sole-uplink",
        "host.lag",
        "host.pvrdma-vmknic",
        "host.pvrdma-vmknic-switch",
        "host.pvrdma-vmknic-address",
        "host.pvrdma-ruleset",
        "host.pvrdma-log",
        "host.management-agent",
    ],
);
const TRANSPORT: Step = step("the payload goes by RDMA", &["guest.transport", "vm.same-host", "tool.counter-source"]);
const ADDRESSES: Step = step(
    "addresses, GIDs and VLAN of both ends fit",
    &[
        "guest.address",
        "guest.same-subnet",
        "guest.gid-table",
        "guest.gid-roce-v2",
        "guest.gid-index",
        "vm.pvrdma-protocol",
        "guest.vlan-pair",
        "switch.vlan",
        "guest.neighbour",
        "guest.partition-key",
        "guest.infiniband-subnet-manager",
    ],
);
const MTU: Step = step(
    "the MTU is the same all the way",
    &["guest.mtu-pair", "guest.roce-mtu", "host.mtu", "switch.mtu", "guest.mtu-persistence"],
);
const LOSS: Step = step(
    "nothing is lost or sent again",
    &[
        "guest.queue-pairs",
        "guest.packet-loss",
        "guest.retransmits",
        "guest.receiver-not-ready",
        "guest.port-errors",
        "host.uplink-errors",
        "host.rdma-errors",
        "switch.errors",
        "switch.drops",
    ],
);
const LOSSLESS: Step = step(
    "the lossless class is the same from end to end",
    &[
        "host.dcb-mode",
        "host.pfc",
        "host.pause-with-pfc",
        "host.pause-drops",
        "host.trust-mode",
        "switch.pfc",
        "switch.pfc-priority",
        "switch.ecn",
        "switch.trust",
        "switch.pause-with-pfc",
        "switch.pause-storm",
    ],
);
const SPEED: Step = step(
    "links and slots have their full speed",
    &["host.uplink-speed", "switch.speed", "switch.port-channel", "guest.pcie-link", "gpu.pcie-link"],
);
const NEARNESS: Step = step(
    "processors and memory are near, reserved and not swapped",
    &[
        "guest.numa",
        "vm.numa-affinity",
        "vm.latency-sensitivity",
        "vm.memory-reservation",
        "vm.balloon",
        "guest.balloon",
        "guest.swap-use",
    ],
);
const TWINS: Step = step(
    "both hosts have the same software",
    &["host.same-firmware", "host.same-driver", "host.esxi-version", "host.reboot-pending"],
);
const LIMITS: Step = step(
    "memory may be locked, by the login and by what starts jobs",
    &["guest.memlock", "guest.launcher-limits", "guest.device-nodes"],
);
const SAME_STACK: Step =
    step("all nodes have the same MPI stack", &["mpi.same-open-mpi", "mpi.same-pmix", "mpi.same-ucx"]);
const LAUNCH: Step = step("the nodes reach each other to start", &["mpi.ssh-between-nodes", "mpi.firewall"]);
const SELECTION: Step = step(
    "the stack chooses a transport that exists",
    &[
        "mpi.pml",
        "mpi.ucx-verbs",
        "mpi.ucx-tls",
        "mpi.ucx-net-devices",
        "mpi.ucx-srq",
        "mpi.btl-parameters",
        "mpi.interface-choice",
        "mpi.nccl-ib",
        "mpi.gpudirect",
    ],
);
const POWER_ON: Step =
    step("the last power-on says why", &["vm.power-on-failed", "vm.power-state", "vm.configuration"]);
const PASSTHROUGH: Step = step(
    "the host lends the device",
    &[
        "host.passthrough-owner",
        "host.reboot-pending",
        "host.iommu",
        "host.pcie-hotplug",
        "host.acs",
        "host.graphics-type",
        "host.sriov-functions",
        "vm.backing-function",
        "vm.vgpu-profile",
    ],
);
const VM_FOR_DEVICE: Step = step(
    "the VM is made for such a device",
    &[
        "vm.memory-reservation",
        "vm.memory-limit",
        "vm.mmio-window",
        "vm.firmware",
        "vm.device-count",
        "vm.nested-virtualization",
        "vm.hot-add",
        "vm.snapshots",
    ],
);
const GPU_GUEST: Step = step(
    "the guest's driver holds the GPU",
    &["gpu.driver-bound", "gpu.driver-support", "gpu.bar-unassigned", "gpu.fell-off-bus", "gpu.xid", "vm.secure-boot"],
);
const GPU_HEALTH: Step = step(
    "the GPU has not failed and waits for no reset",
    &["gpu.row-remap", "gpu.ecc", "gpu.retired-pages", "gpu.mig-pending", "gpu.ecc-pending"],
);
const GPU_HELD: Step = step("nothing holds its clocks back", &["gpu.thermal", "gpu.power", "gpu.clocks-held"]);
const GPU_FED: Step = step(
    "it does not wait for its link, its processors or its data",
    &[
        "gpu.pcie-degraded",
        "gpu.pcie-bound",
        "gpu.numa-remote",
        "gpu.cpu-starved",
        "gpu.input-starved",
        "gpu.peer-memory",
        "host.memory-pressure",
    ],
);

/// All symptoms, in the order of the list that is offered.
pub const SYMPTOMS: &[Symptom] = &[
    Symptom {
        name: "device-missing",
        title: "the RDMA device is missing in the guest",
        steps: &[VM_ADAPTER, GUEST_DEVICE, USER_SPACE, QUALIFIES],
    },
    Symptom { name: "link-down", title: "the RDMA port is DOWN", steps: &[LINKS, GUEST_DEVICE, VM_ADAPTER, QUALIFIES] },
    Symptom {
        name: "slow",
        title: "RDMA between two guests is slow",
        steps: &[LINKS, MTU, QUALIFIES, TRANSPORT, LOSS, LOSSLESS, SPEED, NEARNESS, TWINS],
    },
    Symptom {
        name: "queue-pairs-in-error",
        title: "queue pairs end in ERR, retries are exceeded",
        steps: &[LINKS, ADDRESSES, MTU, LOSS, LOSSLESS, QUALIFIES],
    },
    Symptom {
        name: "mpi-fails",
        title: "MPI jobs fail to start",
        steps: &[SAME_STACK, LAUNCH, LIMITS, SELECTION, USER_SPACE, LINKS, ADDRESSES],
    },
    Symptom {
        name: "mpi-slow",
        title: "MPI is slow, or runs over TCP",
        steps: &[SELECTION, QUALIFIES, TRANSPORT, LINKS, MTU, LOSS, LOSSLESS, NEARNESS],
    },
    Symptom {
        name: "gpu-missing",
        title: "the GPU is missing in the guest",
        steps: &[GPU_GUEST, PASSTHROUGH, VM_FOR_DEVICE],
    },
    Symptom { name: "no-power-on", title: "the VM does not power on", steps: &[POWER_ON, PASSTHROUGH, VM_FOR_DEVICE] },
    Symptom {
        name: "gpu-slow",
        title: "the GPU is slow",
        steps: &[GPU_GUEST, GPU_HEALTH, GPU_HELD, GPU_FED, SPEED, NEARNESS, PASSTHROUGH],
    },
    Symptom {
        name: "moved",
        title: "it broke after the VM was moved",
        steps: &[QUALIFIES, TRANSPORT, ADDRESSES, LINKS, MTU, LOSSLESS, TWINS],
    },
];

/// The symptom of this name.
pub fn by_name(name: &str) -> Option<&'static Symptom> {
    SYMPTOMS.iter().find(|symptom| symptom.name == name)
}
