//! Wrong advice about ESXi hosts: their commands, settings, logs and tools, and Linux's things taken for theirs.

use super::said::option;
use super::{Myth, Said, Verdict};

/// True if two words of the line are PCI ids such as a pattern for `grep` would hold: `10de` and four more hex digits.
fn greps_two_ids(said: &Said<'_>) -> bool {
    let Some(pattern) = said.command(&["grep"]).map(|words| words.join(" ").to_lowercase()) else { return false };
    let Some((_, after)) = pattern.split_once("10de") else { return false };
    let id: String = after.trim_start_matches(['.', '*', ':', ' ', '\\']).chars().take(4).collect();
    id.len() == 4 && id.chars().all(|c| c.is_ascii_hexdigit())
}

/// All of them.
pub(super) static MYTHS: &[Myth] = &[
    Myth {
        id: "host.myth-vmw-pvrdma-module",
        verdict: Verdict::WrongLayer,
        claim: "ESXi needs the module vmw_pvrdma loaded",
        truth: "vmw_pvrdma is the driver of the Linux guest. On the host PVRDMA needs no module loaded by hand: it needs \
                Net.PVRDMAVmknic, the firewall ruleset pvrdma, and the RDMA adapter as the only uplink of a distributed \
                switch; the modules there are nmlx5_core, nmlx5_rdma and vrdma.",
        source: "Linux drivers/infiniband/hw/vmw_pvrdma/Kconfig; vSphere 7.0 Networking, PVRDMA Support",
        weak: false,
        needs: &["vmw_pvrdma"],
        says: |said| {
            let on_host = said.runs(&["esxcli", "system", "module"])
                || said.runs(&["vmkload_mod"])
                || said.runs(&["esxcfg-module"]);
            on_host && said.word("vmw_pvrdma")
        },
    },
    Myth {
        id: "host.myth-pci-list-driver",
        verdict: Verdict::WrongLayer,
        claim: "`esxcli hardware pci list` shows `Driver: vmw_pvrdma`, or `module list` shows vmw_pvrdma as loaded",
        truth: "`hardware pci list` has no key Driver (it has Module Name and Current Owner), `module list` has no version \
                column, and vmw_pvrdma is the driver of the Linux guest.",
        source: "field report: outputs of both commands",
        weak: true,
        needs: &["vmw_pvrdma"],
        says: |said| {
            said.line.starts_with("Driver: vmw_pvrdma")
                || (said.lower.starts_with("vmw_pvrdma ") && said.word("loaded") && said.any(&["1.0.0"]))
        },
    },
    Myth {
        id: "host.myth-hca-passthrough-for-pvrdma",
        verdict: Verdict::Opposite,
        claim: "an RDMA adapter is given to PVRDMA with `esxcli hardware pci pcipassthru set -e true`",
        truth: "That command switches on DirectPath I/O: it takes the adapter away from the VMkernel and so from the \
                distributed switch, where PVRDMA needs it as the uplink. For a GPU, or for an adapter that a VM shall own, \
                it is the right command.",
        source: "ESXCLI reference, esxcli hardware; vSphere 7.0 Networking, PVRDMA Support",
        weak: false,
        needs: &["pcipassthru"],
        says: |said| {
            let enables = said.command(&["esxcli", "hardware", "pci", "pcipassthru", "set"]).is_some_and(|words| {
                words.windows(2).any(|pair| {
                    matches!(pair[0].as_str(), "-e" | "--enable")
                        && matches!(pair[1].to_lowercase().as_str(), "true" | "t" | "1")
                }) || words
                    .iter()
                    .any(|word| matches!(word.as_str(), "--enable=true" | "-e=true" | "--enable=t" | "--enable=1"))
            });
            enables && said.of_pvrdma()
        },
    },
    Myth {
        id: "host.myth-pcipassthru-get",
        verdict: Verdict::NoSuchCommand,
        claim: "`esxcli hardware pci pcipassthru get`",
        truth: "The namespace has `list` and `set` only (7.0 and later).",
        source: "ESXCLI reference, esxcli hardware",
        weak: false,
        needs: &["pcipassthru"],
        says: |said| said.runs(&["esxcli", "hardware", "pci", "pcipassthru", "get"]),
    },
    Myth {
        id: "host.myth-acs-override",
        verdict: Verdict::NoSuchKey,
        claim: "the kernel setting allowPCIeACSOverride",
        truth: "No build from 6.0 U3 to 9.0.1 has it. The boot options are disableACSCheck and enableACSCheckForRP (both \
                FALSE by default); pcie_acs_override is a patch for Linux hosts.",
        source: "lamw/esxi-advanced-and-kernel-settings, kernel settings of 42 builds",
        weak: false,
        needs: &["allowpcieacsoverride"],
        says: |said| said.names(&["allowpcieacsoverride"]),
    },
    Myth {
        id: "host.myth-numa-kernel-settings",
        verdict: Verdict::NoSuchKey,
        claim: "the kernel settings numa_prefer_local and numa_vcpu_affinity",
        truth: "No build from 6.0 U3 to 9.0.1 has them. Nearest are the advanced settings Numa.LocalityWeightActionAffinity \
                and Numa.PreferHT, and from 9.0 Numa.DeviceAffinity, which puts a VM on the node of its passthrough devices.",
        source: "lamw/esxi-advanced-and-kernel-settings, settings of 42 builds",
        weak: false,
        needs: &["numa_prefer_local", "numa_vcpu_affinity"],
        says: |said| said.names(&["numa_prefer_local", "numa_vcpu_affinity"]),
    },
    Myth {
        id: "host.myth-vgpu-ruleset",
        verdict: Verdict::NoSuchKey,
        claim: "the firewall ruleset nvidia-vgpu-manager",
        truth: "ESXi has no such ruleset; vGPU needs none.",
        source: "govmomi simulator/esx/host_firewall_system.go (42 rulesets)",
        weak: false,
        needs: &["nvidia-vgpu-manager"],
        says: |said| said.names(&["nvidia-vgpu-manager"]),
    },
    Myth {
        id: "host.myth-enable-vgpu",
        verdict: Verdict::NoSuchCommand,
        claim: "`vim-cmd hostsvc/enable_vgpu`",
        truth: "vim-cmd has no such command. Whether a GPU is shared or passed through is set with `esxcli graphics host set` \
                or by its passthrough state.",
        source: "no public trace of the command",
        weak: true,
        needs: &["hostsvc/enable_vgpu"],
        says: |said| said.names(&["hostsvc/enable_vgpu"]),
    },
    Myth {
        id: "host.myth-nic-sriov-list",
        verdict: Verdict::NoSuchCommand,
        claim: "`esxcli network nic sriov list`",
        truth: "The command is `esxcli network sriovnic list`, with `esxcli network sriovnic vf list -n vmnicN` for the virtual \
                functions. Both know network adapters only, never GPUs.",
        source: "ESXCLI reference, esxcli network; intel/mfd-network-adapter",
        weak: false,
        needs: &["sriov"],
        says: |said| said.runs(&["esxcli", "network", "nic", "sriov"]),
    },
    Myth {
        id: "host.myth-syslog-log-host",
        verdict: Verdict::NoSuchOption,
        claim: "`esxcli system syslog config set --log-host`",
        truth: "The option is --loghost; the log level of the syslog daemon is about that daemon alone and shows nothing of \
                PCIe or ACS.",
        source: "lamw/esxi-advanced-and-kernel-settings, Syslog.global.logLevel",
        weak: false,
        needs: &["--log-host"],
        says: |said| option(said.command(&["esxcli", "system", "syslog", "config", "set"]), "--log-host"),
    },
    Myth {
        id: "host.myth-service-command",
        verdict: Verdict::NoSuchCommand,
        claim: "`service vpxa stop` on ESXi",
        truth: "ESXi has no `service`; it is `/etc/init.d/vpxa stop` or `/etc/init.d/hostd restart`.",
        source: "VMware KB 1003490",
        weak: true,
        needs: &["vpxa", "hostd"],
        says: |said| said.runs(&["service", "vpxa"]) || said.runs(&["service", "hostd"]),
    },
    Myth {
        id: "host.myth-hostd-hotplug-keys",
        verdict: Verdict::NoSuchKey,
        claim: "devicePollingIntervalMs and hotplugEventTimeoutMs in hostd's config.xml",
        truth: "hostd has no such keys. What PCIe hot-plug does stands in vmkernel.log behind `PCIEHP:`; it is switched off \
                with the kernel setting enablePCIEHotplug.",
        source: "no public trace of the keys; Broadcom KB on PCIEHP",
        weak: true,
        needs: &["devicepollingintervalms", "hotplugeventtimeoutms"],
        says: |said| said.names(&["devicepollingintervalms", "hotplugeventtimeoutms"]),
    },
    Myth {
        id: "host.myth-modules-load-order",
        verdict: Verdict::NoSuchKey,
        claim: "modules_load_order with vfio-pci in esx.conf",
        truth: "There is no such line. vfio is Linux with KVM; on ESXi the module pciPassthru owns what is passed through, and \
                vGPU has its own host driver, installed as one VIB.",
        source: "field report: output of `esxcli hardware pci list`",
        weak: true,
        needs: &["modules_load_order"],
        says: |said| said.names(&["modules_load_order"]),
    },
    Myth {
        id: "host.myth-vfio-on-esxi",
        verdict: Verdict::WrongLayer,
        claim: "vfio on an ESXi host",
        truth: "vfio is Linux with KVM. On ESXi the module pciPassthru owns what is passed through (`Current Owner: VM \
                Passthru`, `Module Name: pciPassthru`).",
        source: "field report: output of `esxcli hardware pci list`",
        weak: true,
        needs: &["vfio"],
        says: |said| {
            let on_host = said.runs(&["esxcli"]) || said.runs(&["vmkload_mod"]) || said.runs(&["esxcfg-module"]);
            on_host && said.any(&["vfio"])
        },
    },
    Myth {
        id: "host.myth-linux-iommu-on-esxi",
        verdict: Verdict::WrongLayer,
        claim: "Linux's IOMMU arguments and sysfs on an ESXi host",
        truth: "ESXi has no sysfs and does not know intel_iommu, amd_iommu or iommu=pt. Its boot options are noIOMMU, \
                iovDisableIR, disableACSCheck and their like (`esxcli system settings kernel list`).",
        source: "lamw/esxi-advanced-and-kernel-settings, esxi-80u3g kernel settings",
        weak: false,
        needs: &["iommu", "/sys/bus/pci/"],
        says: |said| {
            let linux =
                said.any(&["intel_iommu=", "amd_iommu=", "iommu=pt", "/sys/kernel/iommu_groups", "/sys/bus/pci/"])
                    || (said.runs(&["esxcli", "system", "settings", "kernel"])
                        && said.any(&["intel_iommu", "amd_iommu"]));
            let on_host = said.context.esxi || said.runs(&["esxcli"]) || said.word("esxi");
            linux && on_host
        },
    },
    Myth {
        id: "host.myth-kvm-boot-arguments",
        verdict: Verdict::WrongLayer,
        claim: "vfio-pci.ids and pcie_acs_override as boot arguments for passthrough on VMware",
        truth: "They are for a Linux host with KVM. In a guest on ESXi, vfio-pci.ids takes the device away from its own driver, \
                and pcie_acs_override (a patch, not mainline) has nothing to act on; passthrough is set on the ESXi host.",
        source: "Linux Documentation/driver-api/vfio.rst; vSphere DirectPath I/O",
        weak: false,
        needs: &["vfio", "pcie_acs_override="],
        says: |said| said.any(&["vfio-pci.ids=", "pcie_acs_override=", "vfio_pci.ids="]),
    },
    Myth {
        id: "host.myth-pci-list-grep",
        verdict: Verdict::WrongValue,
        claim: "`esxcli hardware pci list | grep 10de.*20b2` finds the GPU",
        truth: "The command prints `Vendor ID: 0x10de` and `Device ID: 0x20b2` on two lines, so the pattern never matches, \
                whether the GPU is there or not.",
        source: "field report: output of `esxcli hardware pci list`",
        weak: true,
        needs: &["10de"],
        says: |said| said.runs(&["esxcli", "hardware", "pci", "list"]) && greps_two_ids(said),
    },
    Myth {
        id: "host.myth-lspci-tree",
        verdict: Verdict::NoSuchOption,
        claim: "`lspci -tv`, `lspci -vv` or `lspci -s` on ESXi",
        truth: "ESXi's lspci knows -v, -n and -p; there is no tree, no -vv and no -s.",
        source: "intel/mfd-esxi; own knowledge for -t",
        weak: true,
        needs: &["lspci"],
        says: |said| {
            said.context.esxi
                && said.command(&["lspci"]).is_some_and(|words| {
                    words.iter().any(|word| {
                        word.strip_prefix('-')
                            .is_some_and(|flags| flags.contains('t') || flags.contains("vv") || flags.starts_with('s'))
                    })
                })
        },
    },
    Myth {
        id: "host.myth-acs-log-lines",
        verdict: Verdict::NoSuchKey,
        claim: "vmkernel.log says `PCIe ACS check passed` or `ACS bypass detected`",
        truth: "No ESXi log with these lines is known; their absence proves nothing about ACS.",
        source: "no public trace of the lines",
        weak: true,
        needs: &["pcie acs check passed", "acs bypass detected", "acs cap: enabled"],
        says: |said| said.names(&["pcie acs check passed", "acs bypass detected", "acs cap: enabled"]),
    },
    Myth {
        id: "host.myth-acs-is-ari",
        verdict: Verdict::WrongValue,
        claim: "ACS means Alternate Routing-ID Interpretation, with its register at 0x14",
        truth: "ACS is Access Control Services (extended capability 0x000D, capability word at +4, control word at +6); \
                Alternative Routing-ID Interpretation is ARI (0x000E).",
        source: "pciutils lib/header.h",
        weak: false,
        needs: &["acs"],
        says: |said| {
            let is_ari = said.has(&["alternat", "routing"]) || said.word("0x14");
            said.word("acs") && !said.word("ari") && is_ari && !said.denies()
        },
    },
    Myth {
        id: "host.myth-vmcp-gpu",
        verdict: Verdict::Irrelevant,
        claim: "VM Component Protection resets GPUs and has to be switched off",
        truth: "VM Component Protection reacts to the loss of datastores (APD, PDL) only.",
        source: "govmomi vim25/types, ClusterVmComponentProtectionSettings",
        weak: false,
        needs: &["gpu"],
        says: |said| {
            let speaks = (said.word("vmcp") || said.any(&["vm component protection"])) && said.word("gpu");
            // "Disable it so that resets do not occur" denies nothing; "do not disable it" does.
            let off = said.any(&["disabl", "deactivat", "switch off", "turn off", "关闭", "禁用"])
                && !said.any(&[
                    "no need",
                    "not need",
                    "need not",
                    "needn't",
                    "not disabl",
                    "n't disabl",
                    "never disabl",
                ]);
            speaks && (off || said.any(&["reset"]) && !said.denies())
        },
    },
    Myth {
        id: "host.myth-esxtop-pcie",
        verdict: Verdict::NoSuchKey,
        claim: "esxtop shows the PCIe throughput of a GPU",
        truth: "esxtop has no PCIe column, and what a passed-through device moves cannot be seen by the host; it is read in the \
                guest. Ballooning is MCTLSZ in the memory view.",
        source: "field report: headers of esxtop batches",
        weak: true,
        needs: &["pcie"],
        says: |said| {
            let shows = ["show", "column", "display", "throughput", "bandwidth", "tx/rx", "mb/s", "mbps", "counter"];
            let column = said.any(&["pcie: tx/rx", "pcie tx/rx mbps"]);
            (column || said.word("esxtop") && said.word("pcie") && said.any(&shows)) && !said.denies()
        },
    },
];
