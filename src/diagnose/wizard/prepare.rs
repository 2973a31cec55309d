//! Preparing a pair of guests for PVRDMA: everything that it needs, in the order in which it is set up, from the fabric up;
//! each with how it stands now and what is to be done. It ends with the proof that RDMA carries the payload.

use std::collections::BTreeSet;

use crate::diagnose::cause::Found;
use crate::diagnose::finding::Status;
use crate::fabric::TargetId;

/// Something that PVRDMA needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// What is to be so.
    pub title: &'static str,
    /// Ids of the checks that see it.
    pub checks: &'static [&'static str],
    /// How it is set up where nothing says what is wrong: a command, or a path through the user interface of vCenter.
    pub how: &'static str,
    /// What published instructions get wrong about it; empty if nothing.
    pub truth: &'static str,
}

const fn requirement(
    title: &'static str,
    checks: &'static [&'static str],
    how: &'static str,
    truth: &'static str,
) -> Requirement {
    Requirement { title, checks, how, truth }
}

/// All of it, in order.
pub const REQUIREMENTS: &[Requirement] = &[
    requirement(
        "each host has an RDMA device that the VMkernel holds",
        &["host.rdma-device", "host.passthrough-owner", "host.rdma-module", "host.rdma-port-active"],
        "esxcli rdma device list; the driver of the adapter makes it, nmlx5_rdma for a ConnectX",
        "The adapter is not passed through: `pcipassthru set -e true` would take it away from PVRDMA. No module vmw_pvrdma is \
         loaded on the host: that is the driver of the Linux guest.",
    ),
    requirement(
        "the distributed switch has this adapter as its only uplink on each host",
        &["host.sole-uplink", "host.lag", "vm.distributed-switch"],
        "vCenter: Networking > the distributed switch > Add and Manage Hosts > Manage physical adapters",
        "A standard switch does not do, and neither does a team of adapters.",
    ),
    requirement(
        "switch ports, VLAN, MTU and lossless class are the same on the whole way",
        &[
            "switch.interface-up",
            "switch.vlan",
            "switch.mtu",
            "switch.pfc",
            "switch.pfc-priority",
            "switch.ecn",
            "host.mtu",
            "host.dcb-mode",
            "host.pfc",
            "guest.vlan-pair",
        ],
        "on the switch: MTU 9214, VLAN allowed, PFC on priority 3, ECN on its queue; on the host: nmlx5_core pfctx=0x08 \
         pfcrx=0x08, then reboot",
        "A wrong VLAN does not make the port DOWN: that follows the link of the paired vmxnet3 interface, stays ACTIVE, and the other \
         end is not found. P_Keys (0x8001) belong to InfiniBand, no Ethernet switch knows them. There is no DCQCN to switch on at a \
         switch: it contributes marking (ECN). PFC and global pause exclude each other.",
    ),
    requirement(
        "a VMkernel adapter on that distributed switch is tagged for PVRDMA",
        &["host.pvrdma-vmknic", "host.pvrdma-vmknic-switch", "host.pvrdma-vmknic-address"],
        "esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmk1; in vCenter: host > Configure > Advanced System \
         Settings > Net.PVRDMAVmknic",
        "",
    ),
    requirement(
        "the firewall ruleset pvrdma is open on each host",
        &["host.pvrdma-ruleset"],
        "esxcli network firewall ruleset set -r pvrdma -e true",
        "",
    ),
    requirement(
        "the hosts run releases that fit each other",
        &["host.esxi-version", "host.same-firmware", "host.same-driver", "host.reboot-pending"],
        "vCenter: Lifecycle Manager, one image for the cluster",
        "PVRDMA is there since 6.5, with virtual hardware 13, and not only in 7.0 U3; hardware 17 and 7.0 are needed for namespaces \
         only. No least firmware is published: the compatibility guide of the release decides.",
    ),
    requirement(
        "each VM has a PVRDMA adapter on that switch, and all of its memory is reserved",
        &[
            "vm.hardware-version",
            "vm.guest-os",
            "vm.pvrdma-adapter",
            "vm.adapter-connected",
            "vm.pvrdma-protocol",
            "vm.memory-reservation",
        ],
        "vCenter: Edit Settings > Add Network Adapter > type PVRDMA, protocol RoCE v2; Memory > Reserve all guest memory",
        "The VMX has no keys pvrdmaN.*: the adapter is an ethernetN, added in vCenter. Other adapters of the VM stay: \
         ethernet0.present = FALSE only takes its network away. Nested virtualization, and VT-d or SR-IOV in the BIOS, are not \
         needed.",
    ),
    requirement(
        "each guest has its driver, library and device nodes",
        &[
            "guest.rdma-device",
            "guest.pvrdma-pairing",
            "guest.pvrdma-driver",
            "guest.provider-library",
            "guest.device-nodes",
            "guest.rdma-modules",
            "guest.memlock",
        ],
        "install rdma-core (with the provider vmw_pvrdma); modprobe vmw_pvrdma; ulimit -l unlimited",
        "The device is called rocep27s0f1 or vmw_pvrdma0, not pvr0. There is no IPoIB on it: the address belongs on the paired \
         vmxnet3 interface.",
    ),
    requirement(
        "each guest has an address, a RoCE v2 GID and the same MTU",
        &[
            "guest.port-active",
            "guest.netdev-up",
            "guest.address",
            "guest.same-subnet",
            "guest.gid-table",
            "guest.gid-roce-v2",
            "guest.mtu-pair",
            "guest.neighbour",
        ],
        "ip addr add ADDRESS/24 dev INTERFACE; ip link set dev INTERFACE mtu 9000 up",
        "An MTU of 65520 is one of IPoIB: here 1500 on the interface gives 1024 for RDMA, 9000 gives 4096. Switching offloads of \
         the interface off does nothing for RDMA and slows TCP.",
    ),
    requirement(
        "the hosts' RDMA counters move with the payload",
        &["guest.transport"],
        "ib_write_bw -d DEVICE -x GID on one guest, the same with the other's address on the other; then look at the counters \
         of the hosts' RDMA devices",
        "A port that is ACTIVE proves nothing: without a qualifying host the same queue pairs run over TCP. vMotion is supported, and \
         to a host that does not qualify the transport becomes TCP without a message: prove it again after each move.",
    ),
];

/// How a requirement stands.
#[derive(Clone, Debug)]
pub struct Readiness<'a> {
    /// What is needed.
    pub requirement: &'static Requirement,
    /// How it stands: the worst that any of its checks says; `None` where none of them applies yet.
    pub status: Option<Status>,
    /// What the checks say, the worst first.
    pub found: Vec<&'a Found>,
}

/// How everything stands that these targets need: two guests, their hosts and switches.
pub fn prepare<'a>(found: &'a [Found], about: &BTreeSet<TargetId>) -> Vec<Readiness<'a>> {
    REQUIREMENTS
        .iter()
        .map(|requirement| {
            let mut of: Vec<&Found> = found
                .iter()
                .filter(|found| requirement.checks.contains(&found.check.id))
                .filter(|found| about.contains(&found.judged.subject.target))
                .collect();
            of.sort_by_key(|found| super::rank(found.judged.status));
            let status = of.first().map(|found| match found.judged.status {
                Status::Info => Status::Pass,
                other => other,
            });
            Readiness { requirement, status, found: of }
        })
        .collect()
}
