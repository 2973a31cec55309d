//! What the checks of steps and requirements look at, as names of probes: so that the wizard has that read, and nothing else.
//! What only says which thing belongs to which is not in it: that is read anyway, and seldom changes. Switches are named by the
//! probes of EOS; those of other systems that read the same have the same name behind the dot.

use std::collections::BTreeSet;

/// The probes that these checks look at.
pub fn probes_of(checks: &[&str]) -> BTreeSet<&'static str> {
    READS.iter().filter(|(check, _)| checks.contains(check)).flat_map(|(_, probes)| probes.iter().copied()).collect()
}

/// The table: a check, and the probes that it looks at. What a stream measures of a GPU goes on by itself; its probe tells what
/// stands beside that: which GPUs there are, and their limits.
const READS: &[(&str, &[&str])] = &[
    ("gpu.bar-unassigned", &["linux.kernel-log", "linux.pci"]),
    ("gpu.clocks-held", &["gpu.states"]),
    ("gpu.cpu-starved", &["esxi.vm-config", "gpu.states"]),
    ("gpu.driver-bound", &["linux.modules", "linux.pci"]),
    ("gpu.driver-support", &["linux.kernel-log", "linux.modules", "linux.packages"]),
    ("gpu.ecc", &["gpu.states"]),
    ("gpu.ecc-pending", &["gpu.states"]),
    ("gpu.fell-off-bus", &["linux.kernel-log"]),
    ("gpu.input-starved", &["gpu.states"]),
    ("gpu.mig-pending", &["gpu.states"]),
    ("gpu.numa-remote", &["esxi.hardware", "esxi.pci", "esxi.vm-config", "gpu.states"]),
    ("gpu.pcie-bound", &["gpu.states"]),
    ("gpu.pcie-degraded", &["gpu.states"]),
    ("gpu.pcie-link", &["linux.pci-link"]),
    ("gpu.peer-memory", &["linux.modules", "linux.peer-memory"]),
    ("gpu.power", &["gpu.states"]),
    ("gpu.retired-pages", &["gpu.states"]),
    ("gpu.row-remap", &["gpu.states"]),
    ("gpu.thermal", &["gpu.states"]),
    ("gpu.xid", &["linux.kernel-log"]),
    ("guest.address", &["linux.netdevs"]),
    ("guest.balloon", &["linux.vmware-tools"]),
    ("guest.device-nodes", &["linux.device-nodes"]),
    ("guest.gid-index", &["linux.environment", "linux.gids", "linux.mpi"]),
    ("guest.gid-roce-v2", &["linux.gids"]),
    ("guest.gid-table", &["linux.gids"]),
    ("guest.infiniband-subnet-manager", &["linux.rdma", "linux.rdma-sysfs"]),
    ("guest.kernel-messages", &["linux.kernel-log"]),
    ("guest.launcher-limits", &["linux.limits"]),
    ("guest.memlock", &["linux.limits"]),
    ("guest.mtu-pair", &["linux.netdevs", "linux.rdma-sysfs"]),
    ("guest.mtu-persistence", &["linux.persistence"]),
    ("guest.neighbour", &["linux.neighbours"]),
    ("guest.netdev-up", &["linux.netdevs", "linux.rdma"]),
    ("guest.numa", &["linux.numa", "linux.pci"]),
    ("guest.packet-loss", &["linux.counters"]),
    ("guest.partition-key", &["linux.rdma-sysfs"]),
    ("guest.pcie-link", &["linux.pci-link"]),
    ("guest.port-active", &["linux.rdma", "linux.rdma-sysfs"]),
    ("guest.port-errors", &["linux.counters"]),
    ("guest.provider-library", &["linux.packages", "linux.verbs"]),
    ("guest.pvrdma-driver", &["linux.modules", "linux.pci"]),
    ("guest.pvrdma-kernel", &["linux.kernel-log", "linux.modules", "linux.system"]),
    ("guest.pvrdma-pairing", &["linux.modules", "linux.netdevs", "linux.pci"]),
    ("guest.queue-pairs", &["linux.queue-pairs"]),
    ("guest.rdma-device", &["linux.pci", "linux.rdma-sysfs"]),
    ("guest.rdma-modules", &["linux.modules", "linux.rdma"]),
    ("guest.receiver-not-ready", &["linux.counters"]),
    ("guest.retransmits", &["linux.counters"]),
    ("guest.roce-mtu", &["linux.netdevs", "linux.rdma-sysfs"]),
    ("guest.same-subnet", &["linux.netdevs"]),
    ("guest.swap-use", &["linux.memory", "linux.vmware-tools"]),
    ("guest.transport", &["esxi.advanced-settings", "esxi.firewall", "esxi.rdma", "esxi.rdma-statistics"]),
    ("guest.verbs-abi", &["linux.verbs"]),
    ("guest.vf-state", &["esxi.sriov", "linux.pci", "linux.rdma"]),
    ("guest.vlan-pair", &["esxi.net-dvs", "linux.netdevs"]),
    ("host.acs", &["esxi.kernel-settings"]),
    ("host.dcb-mode", &["esxi.dcb"]),
    ("host.esxi-version", &["esxi.version"]),
    ("host.graphics-type", &["esxi.hardware"]),
    ("host.iommu", &["esxi.kernel-settings", "esxi.pci"]),
    ("host.lag", &["esxi.net-dvs", "esxi.vswitches"]),
    ("host.link-flaps", &["esxi.vmkernel-log"]),
    ("host.management-agent", &["esxi.firewall", "esxi.version"]),
    ("host.memory-pressure", &["esxi.hardware", "esxi.vms"]),
    ("host.module-options", &["esxi.modules"]),
    ("host.mtu", &["esxi.nics", "esxi.vswitches"]),
    ("host.passthrough-owner", &["esxi.pci"]),
    ("host.pause-drops", &["esxi.nic-private-statistics", "esxi.nic-statistics"]),
    ("host.pause-with-pfc", &["esxi.dcb", "esxi.nics"]),
    ("host.pcie-hotplug", &["esxi.kernel-settings", "esxi.vmkernel-log"]),
    ("host.pfc", &["esxi.dcb", "esxi.modules"]),
    ("host.pvrdma-log", &["esxi.vmkernel-log"]),
    ("host.pvrdma-ruleset", &["esxi.firewall"]),
    ("host.pvrdma-vmknic", &["esxi.advanced-settings", "esxi.vmknics"]),
    ("host.pvrdma-vmknic-address", &["esxi.advanced-settings", "esxi.vmknics"]),
    ("host.pvrdma-vmknic-switch", &["esxi.advanced-settings", "esxi.vmknics", "esxi.vswitches"]),
    ("host.rdma-device", &["esxi.rdma"]),
    ("host.rdma-errors", &["esxi.rdma-statistics"]),
    ("host.rdma-module", &["esxi.modules"]),
    ("host.rdma-port-active", &["esxi.rdma"]),
    ("host.reboot-pending", &["esxi.kernel-settings", "esxi.modules", "esxi.pci"]),
    ("host.same-driver", &["esxi.nics"]),
    ("host.same-firmware", &["esxi.nics"]),
    ("host.sole-uplink", &["esxi.net-dvs", "esxi.vswitches"]),
    ("host.sriov-functions", &["esxi.modules", "esxi.sriov"]),
    ("host.trust-mode", &["esxi.modules"]),
    ("host.uplink-errors", &["esxi.nic-statistics"]),
    ("host.uplink-link", &["esxi.nics"]),
    ("host.uplink-speed", &["esxi.nics"]),
    ("mpi.btl-parameters", &["linux.environment", "linux.mpi"]),
    ("mpi.firewall", &["linux.services"]),
    ("mpi.gpudirect", &["linux.environment", "linux.modules", "linux.pci", "linux.peer-memory", "linux.rdma-sysfs"]),
    ("mpi.interface-choice", &["linux.environment", "linux.netdevs"]),
    ("mpi.nccl-ib", &["linux.environment"]),
    ("mpi.pml", &["linux.environment", "linux.mpi"]),
    ("mpi.same-open-mpi", &["linux.mpi"]),
    ("mpi.same-pmix", &["linux.mpi"]),
    ("mpi.same-ucx", &["linux.mpi"]),
    ("mpi.ssh-between-nodes", &["linux.ssh-trust"]),
    ("mpi.ucx-net-devices", &["linux.environment", "linux.mpi"]),
    ("mpi.ucx-srq", &["linux.device-limits", "linux.mpi"]),
    ("mpi.ucx-tls", &["linux.environment", "linux.mpi"]),
    ("mpi.ucx-verbs", &["linux.mpi"]),
    ("switch.drops", &["eos.interfaces"]),
    ("switch.ecn", &["eos.ecn"]),
    ("switch.errors", &["eos.interfaces"]),
    ("switch.interface-up", &["eos.interfaces"]),
    ("switch.mtu", &["eos.interfaces"]),
    ("switch.pause-storm", &["eos.pfc-counters"]),
    ("switch.pause-with-pfc", &["eos.flow-control", "eos.pfc"]),
    ("switch.pfc", &["eos.pfc"]),
    ("switch.pfc-priority", &["eos.pfc"]),
    ("switch.port-channel", &["eos.interfaces"]),
    ("switch.speed", &["eos.interfaces"]),
    ("switch.trust", &["eos.trust"]),
    ("switch.vlan", &["eos.switchport"]),
    ("tool.counter-source", &["linux.counters", "linux.rdma"]),
    ("vm.adapter-connected", &["esxi.vm-config"]),
    ("vm.backing-function", &["esxi.pci", "esxi.vm-config"]),
    ("vm.balloon", &["esxi.vm-config", "esxi.vms"]),
    ("vm.configuration", &["esxi.vm-config", "esxi.vmx"]),
    ("vm.device-count", &["esxi.vm-config"]),
    ("vm.distributed-switch", &["esxi.vm-config", "esxi.vswitches"]),
    ("vm.firmware", &["esxi.vm-config"]),
    ("vm.guest-os", &["esxi.vm-config"]),
    ("vm.hardware-version", &["esxi.vm-config"]),
    ("vm.host-qualifies", &["esxi.advanced-settings", "esxi.firewall", "esxi.rdma", "esxi.vms", "esxi.vswitches"]),
    ("vm.hot-add", &["esxi.vm-config"]),
    ("vm.latency-sensitivity", &["esxi.vm-config", "esxi.vmx"]),
    ("vm.memory-limit", &["esxi.vm-config", "esxi.vmx"]),
    ("vm.memory-reservation", &["esxi.vm-config"]),
    ("vm.mmio-window", &["esxi.vmx"]),
    ("vm.nested-virtualization", &["esxi.vm-config", "esxi.vmx"]),
    ("vm.numa-affinity", &["esxi.nic-nodes", "esxi.vm-config"]),
    ("vm.port-blocked-or-down", &["esxi.net-dvs", "esxi.vswitches"]),
    ("vm.power-on-failed", &["esxi.vm-logs"]),
    ("vm.power-state", &["esxi.vms"]),
    ("vm.pvrdma-adapter", &["esxi.vm-config"]),
    ("vm.pvrdma-protocol", &["esxi.vm-config"]),
    ("vm.same-host", &["esxi.vms"]),
    ("vm.secure-boot", &["esxi.vm-config", "linux.kernel-log"]),
    ("vm.snapshots", &["esxi.vm-config"]),
    ("vm.vgpu-profile", &["esxi.vm-config"]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::diagnose::check::by_id;
    use crate::diagnose::check::testing::Site;
    use crate::diagnose::wizard::SYMPTOMS;
    use crate::diagnose::wizard::prepare::REQUIREMENTS;
    use crate::probe::esxi::esxtop;
    use crate::probe::gpu::stream;
    use crate::probe::{Probe, esxi, linux, switch};

    fn all() -> Vec<&'static Probe> {
        let switches = switch::SwitchSystem::ALL.into_iter().flat_map(switch::SwitchSystem::probes);
        linux::PROBES.iter().chain(esxi::PROBES).chain(switches).collect()
    }

    #[test]
    fn every_check_of_a_step_has_probes_and_all_of_them_exist() {
        let steps = SYMPTOMS.iter().flat_map(|symptom| symptom.steps).flat_map(|step| step.checks);
        let wanted: BTreeSet<&str> = steps.chain(REQUIREMENTS.iter().flat_map(|one| one.checks)).copied().collect();
        let table: BTreeSet<&str> = READS.iter().map(|(check, _)| *check).collect();
        assert_eq!(wanted, table);
        let names: BTreeSet<&str> = all().iter().map(|probe| probe.name).collect();
        for (check, probes) in READS {
            assert!(by_id(check).is_some() && !probes.is_empty(), "{check}");
            let missing: Vec<&&str> = probes.iter().filter(|probe| !names.contains(**probe)).collect();
            assert!(missing.is_empty(), "{check}: {missing:?}");
        }
    }

    /// What shows a finding was read by a probe of its check.
    #[test]
    fn what_shows_a_failure_is_read_by_what_the_table_names() {
        let mut wrong = BTreeSet::new();
        for (id, probes) in READS {
            let check = by_id(id).expect("a check");
            let site: Site = (check.samples.trouble)();
            let judged = site.judge(check).into_iter().find(|judged| judged.status == check.samples.says);
            let Some(judged) = judged else { continue };
            let shown: BTreeSet<String> = judged
                .evidence
                .iter()
                .filter_map(|exhibit| crate::diagnose::document::reading_of(exhibit, site.fabric()))
                .map(|reading| reading.source.source.to_string())
                .collect();
            let read = |source: &String| {
                all()
                    .iter()
                    .any(|probe| probe.sources.iter().any(|one| one.name == source) && probes.contains(&probe.name))
            };
            let measured = |source: &String| [stream::SOURCE, esxtop::SOURCE].contains(&source.as_str());
            if !shown.is_empty() && !shown.iter().any(|source| read(source) || measured(source)) {
                wrong.insert(format!("{id}: {shown:?} is not among {probes:?}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
