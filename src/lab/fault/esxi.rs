//! What can go wrong with an ESXi host: with what it is set to, with its management agent, and with logins to it.

use super::{Fault, Of};
use crate::lab::machine::HostTrouble::{
    CeeMode, FirmwareOlder, GpuNotGiven, GpuWindowMissing, HcaPassthrough, HostdDead, NeighbourBalloons, NumaRemote,
    OwnBalloon, ParameterDiffers, ReadyHigh, RebootPending, RulesetClosed, TwoUplinks, VlanMismatch, VmMoved,
    VmknicUntagged,
};
use crate::lab::machine::Trouble;

trouble!(
    VMKNIC_UNTAGGED,
    Of::Hosts,
    Trouble::Host(VmknicUntagged),
    "vmknic-untagged",
    "no VMkernel adapter for PVRDMA",
    "Net.PVRDMAVmknic is empty: PVRDMA goes over TCP in silence and slower, the counters of the RDMA device stand still"
);
trouble!(
    RULESET_CLOSED,
    Of::Hosts,
    Trouble::Host(RulesetClosed),
    "ruleset-closed",
    "PVRDMA ruleset closed",
    "The ruleset pvrdma of the host's firewall is closed, so PVRDMA cannot reach the other host as RDMA"
);
trouble!(
    TWO_UPLINKS,
    Of::Hosts,
    Trouble::Host(TwoUplinks),
    "two-uplinks",
    "two uplinks",
    "The distributed switch of PVRDMA has two uplinks with a link: PVRDMA needs exactly one"
);
trouble!(
    HCA_PASSTHROUGH,
    Of::Hosts,
    Trouble::Host(HcaPassthrough),
    "hca-passthrough",
    "HCA given to VMs",
    "Both functions of the RDMA adapter are in passthrough: the host has no uplink and no RDMA device any more"
);
trouble!(
    VLAN_MISMATCH,
    Of::Hosts,
    Trouble::Host(VlanMismatch),
    "vlan-mismatch",
    "VLAN mismatch",
    "The port of the VM's RDMA adapter is in VLAN 200, that of its peer in VLAN 100: both stay ACTIVE and do not reach each other"
);
trouble!(
    CEE_MODE,
    Of::Hosts,
    Trouble::Host(CeeMode),
    "dcb-cee",
    "DCB in CEE mode",
    "The adapter negotiated DCB in CEE mode where its twin has IEEE mode: no priority has flow control"
);
trouble!(
    FIRMWARE_DIFFERS,
    Of::Hosts,
    Trouble::Host(FirmwareOlder),
    "firmware-differs",
    "older firmware",
    "The RDMA adapter has an older firmware than that of its twin"
);
trouble!(
    PARAMETER_DIFFERS,
    Of::Hosts,
    Trouble::Host(ParameterDiffers),
    "parameter-differs",
    "module parameter differs",
    "The RDMA driver lacks dscp_force, which its twin has"
);
trouble!(
    REBOOT_PENDING,
    Of::Hosts,
    Trouble::Host(RebootPending),
    "reboot-pending",
    "reboot pending",
    "disableACSCheck was set and passthrough of the second port enabled, and the host was not rebooted since"
);
trouble!(
    VM_MOVED,
    Of::Hosts,
    Trouble::Host(VmMoved),
    "vm-moved",
    "VM moved to a host without RDMA",
    "The VM with PVRDMA was moved to the other host, whose RDMA driver is switched off: its RDMA leaves the adapter in silence, between two VMs of one host it is copied in memory"
);
trouble!(
    HOSTD_DEAD,
    Of::Hosts,
    Trouble::Host(HostdDead),
    "hostd-dead",
    "management agent dead",
    "hostd does not answer: esxcli and vim-cmd fail, localcli works"
);
trouble!(
    GPU_NOT_GIVEN,
    Of::Hosts,
    Trouble::Host(GpuNotGiven),
    "gpu-not-given",
    "GPU not in passthrough",
    "The VMkernel owns the graphics device that a VM is given: the VM was powered off and does not start again"
);
trouble!(
    GPU_WINDOW_MISSING,
    Of::Hosts,
    Trouble::Host(GpuWindowMissing),
    "gpu-window-missing",
    "no window for the GPU's BARs",
    "The VM with a GPU has no 64-bit MMIO window any more: it was powered off and does not start again"
);
trouble!(
    READY_HIGH,
    Of::Hosts,
    Trouble::Host(ReadyHigh),
    "vm-ready-high",
    "VMs wait for processors",
    "The host promised more processors than it has: each virtual processor of its VMs is ready for a quarter of the time and does not run"
);
trouble!(
    NEIGHBOUR_BALLOONS,
    Of::Hosts,
    Trouble::Host(NeighbourBalloons),
    "neighbour-balloons",
    "a neighbour's memory is taken back",
    "Another VM was powered on for which the host has too little memory: its balloon is inflated and part of it is swapped"
);
trouble!(
    OWN_BALLOON,
    Of::Hosts,
    Trouble::Host(OwnBalloon),
    "own-balloon",
    "balloon in a VM whose memory is reserved",
    "The balloon of the VM with a graphics device holds 2 GiB, although all of its memory is reserved"
);
trouble!(
    NUMA_REMOTE,
    Of::Hosts,
    Trouble::Host(NumaRemote),
    "numa-remote",
    "memory on the other NUMA node",
    "Three quarters of the memory of the VM with a graphics device lie on the NUMA node that the device is not on"
);
pub(super) const SSH_STOPPED: Fault = Fault {
    name: "ssh-stopped",
    title: "SSH service stopped",
    description: "The SSH service is stopped: new connections are refused, the one that there is goes on",
    of: Of::Hosts,
    lasts: true,
    act: |host, on| host.change_line(|line| line.refusing = on),
};

pub(super) const ACCOUNT_LOCKED: Fault = Fault {
    name: "account-locked",
    title: "account locked",
    description: "Somebody failed five times to log in: the connection ends, and for a quarter of an hour the right secret is refused too",
    of: Of::Hosts,
    lasts: true,
    act: |host, on| {
        host.change_line(|line| {
            line.locked = on;
            if on {
                line.cut_connections();
            }
        });
    },
};
