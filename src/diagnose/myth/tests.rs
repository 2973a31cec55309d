//! Every entry of the list is recognised in a line as it is published, and keeps still at a line that looks like it and is
//! right. `PVRDMA` and `ESXI` stand for texts that speak of these.

use std::collections::BTreeSet;

use super::*;

const PVRDMA: Context = Context { pvrdma: true, esxi: false, passthrough: false, whole_vmx: false, script: false };
const ESXI: Context = Context { pvrdma: false, esxi: true, passthrough: false, whole_vmx: false, script: false };
const GUIDE: Context = Context { pvrdma: false, esxi: false, passthrough: true, whole_vmx: false, script: false };
const NONE: Context = Context { pvrdma: false, esxi: false, passthrough: false, whole_vmx: false, script: false };

/// Id, lines that repeat it, lines that look like it and are right.
type Case = (&'static str, &'static [(&'static str, Context)], &'static [(&'static str, Context)]);

const CASES: &[Case] = &[
    (
        "guest.myth-rdma-res-qps",
        &[("rdma res show qps | grep pvr", NONE), ("$ rdma resource show qps", NONE)],
        &[("rdma res show qp", NONE), ("rdma link show", PVRDMA)],
    ),
    (
        "guest.myth-offloads-for-rdma",
        &[("ethtool -K ens192 tx off rx off sg off tso off gso off", PVRDMA)],
        &[
            ("ethtool -K ens192 tx off rx off", NONE),
            ("ethtool -k ens192", PVRDMA),
            ("ethtool -K ens192 tso on", PVRDMA),
        ],
    ),
    (
        "guest.myth-irqbalance-no-daemon",
        &[("irqbalance --no-daemon --foreground", NONE)],
        &[("irqbalance --foreground --oneshot", NONE)],
    ),
    (
        "mpi.myth-rc-x-on-pvrdma",
        &[("export UCX_TLS=rc_x,sm,self", PVRDMA), ("mpirun -x UCX_TLS=dc_x ./a", PVRDMA)],
        &[("export UCX_TLS=rc_x,sm,self", NONE), ("export UCX_TLS=rc_v,ud_v,sm,self", PVRDMA)],
    ),
    (
        "mpi.myth-btl-without-self",
        &[("mpirun --mca btl ^tcp,self ./a", NONE), ("export OMPI_MCA_btl=^self,tcp", NONE)],
        &[("mpirun --mca btl ^tcp ./a", NONE), ("mpirun --mca btl tcp,self ./a", NONE)],
    ),
    (
        "mpi.myth-bcopy-thresh",
        &[("export UCX_BCOPY_THRESH=0", NONE)],
        &[("export UCX_BCOPY_THRESH=1024", NONE), ("UCX_ZCOPY_THRESH=0", NONE)],
    ),
    (
        "host.myth-vmw-pvrdma-module",
        &[
            ("esxcli system module load -m vmw_pvrdma", NONE),
            ("[root@esx1:~] vmkload_mod vmw_pvrdma", NONE),
            ("/bin/esxcli system module set -e true -m vmw_pvrdma", NONE),
            ("esxcli system module list | grep vmw_pvrdma", NONE),
        ],
        &[
            ("modprobe vmw_pvrdma", PVRDMA),
            ("lsmod | grep vmw_pvrdma", PVRDMA),
            ("esxcli system module get -m nmlx5_rdma", PVRDMA),
        ],
    ),
    (
        "host.myth-pci-list-driver",
        &[("   Driver: vmw_pvrdma", NONE), ("vmw_pvrdma 1.0.0.0 loaded", NONE)],
        &[
            ("Kernel driver in use: vmw_pvrdma", NONE),
            ("vmw_pvrdma 86016 0", NONE),
            ("   Module Name: nmlx5_core", NONE),
        ],
    ),
    (
        "host.myth-hca-passthrough-for-pvrdma",
        &[
            ("esxcli hardware pci pcipassthru set -e true -d 0000:3b:00.0 -a", PVRDMA),
            ("esxcli hardware pci pcipassthru set -d 0000:3b:00.0 -e true # for PVRDMA", NONE),
            ("esxcli hardware pci pcipassthru set --device-id=0000:3b:00.0 --enable=true", PVRDMA),
        ],
        &[
            ("esxcli hardware pci pcipassthru set -e true -d 0000:af:00.0 -a", NONE),
            ("esxcli hardware pci pcipassthru set -e false -d 0000:3b:00.0", PVRDMA),
            ("esxcli hardware pci pcipassthru list", PVRDMA),
        ],
    ),
    (
        "host.myth-pcipassthru-get",
        &[
            ("esxcli hardware pci pcipassthru get -a", NONE),
            ("esxcli --formatter=json hardware pci pcipassthru get", NONE),
        ],
        &[("esxcli hardware pci pcipassthru list", NONE)],
    ),
    (
        "host.myth-acs-override",
        &[
            ("esxcli system settings kernel set -s allowPCIeACSOverride -v true", NONE),
            ("esxcli system settings kernel set -s allowPCIeACSOverride -v no", NONE),
            ("VMkernel.Boot.allowPCIeACSOverride = \"FALSE\"", NONE),
        ],
        &[
            ("no build of ESXi has allowPCIeACSOverride", NONE),
            ("esxcli system settings kernel set -s disableACSCheck -v TRUE", NONE),
            ("esxcli system settings kernel list -o enableACSCheckForRP", NONE),
            ("VMkernel.Boot.disableACSCheck = true", NONE),
        ],
    ),
    (
        "host.myth-numa-kernel-settings",
        &[
            ("esxcli system settings kernel set -s numa_prefer_local -v TRUE", NONE),
            ("esxcli system settings kernel set -s numa_vcpu_affinity -v 1", NONE),
        ],
        &[
            ("esxcli system settings advanced set -o /Numa/DeviceAffinity -i 1", NONE),
            ("numa.nodeAffinity = \"1\"", NONE),
        ],
    ),
    (
        "host.myth-vgpu-ruleset",
        &[("esxcli network firewall ruleset set -r nvidia-vgpu-manager -e true", NONE)],
        &[("esxcli network firewall ruleset set -r pvrdma -e true", PVRDMA)],
    ),
    ("host.myth-enable-vgpu", &[("vim-cmd hostsvc/enable_vgpu false", NONE)], &[("vim-cmd hostsvc/enable_ssh", NONE)]),
    (
        "host.myth-nic-sriov-list",
        &[("esxcli network nic sriov list", NONE)],
        &[("esxcli network sriovnic list", NONE), ("esxcli network sriovnic vf list -n vmnic4", NONE)],
    ),
    (
        "host.myth-syslog-log-host",
        &[("esxcli system syslog config set --log-host=tcp://192.0.2.1:514 --log-level=debug", NONE)],
        &[("esxcli system syslog config set --loghost=tcp://192.0.2.1:514", NONE)],
    ),
    (
        "host.myth-service-command",
        &[("service vpxa stop", NONE), ("service hostd restart", NONE)],
        &[("/etc/init.d/vpxa stop", NONE), ("service nvidia-gridd restart", NONE)],
    ),
    (
        "host.myth-hostd-hotplug-keys",
        &[("<devicePollingIntervalMs>500</devicePollingIntervalMs>", NONE), ("hotplugEventTimeoutMs = 3000", NONE)],
        &[("esxcli system settings kernel set -s enablePCIEHotplug -v FALSE", NONE)],
    ),
    (
        "host.myth-modules-load-order",
        &[("/opt/proc/sys/kernel/modules_load_order = vfio-pci nvidia_vgpu_vfio", NONE)],
        &[("/vmkernel/module/nmlx5_core.so/options = \"pfctx=8\"", NONE)],
    ),
    (
        "host.myth-vfio-on-esxi",
        &[("esxcli system module list | grep vfio", NONE), ("vmkload_mod vfio-pci", NONE)],
        &[("modprobe vfio-pci", NONE), ("esxcli system module list | grep pciPassthru", NONE)],
    ),
    (
        "host.myth-linux-iommu-on-esxi",
        &[
            ("ls /sys/kernel/iommu_groups", ESXI),
            ("echo 0000:af:00.0 > /sys/bus/pci/devices/0000:af:00.0/driver/unbind", ESXI),
            ("on ESXi add intel_iommu=on", NONE),
        ],
        &[
            ("GRUB_CMDLINE_LINUX=\"intel_iommu=on iommu=pt\"", NONE),
            ("ls /sys/bus/pci/devices", NONE),
            ("esxcli system settings kernel set -s noIOMMU -v FALSE", ESXI),
        ],
    ),
    (
        "host.myth-kvm-boot-arguments",
        &[
            ("GRUB_CMDLINE_LINUX=\"intel_iommu=on vfio-pci.ids=10de:20f1\"", NONE),
            ("GRUB_CMDLINE_LINUX_DEFAULT='pcie_acs_override=downstream,multifunction'", NONE),
        ],
        &[("GRUB_CMDLINE_LINUX=\"pci=realloc hugepagesz=1G\"", NONE)],
    ),
    (
        "host.myth-pci-list-grep",
        &[
            ("esxcli hardware pci list | grep 10de.*20b2", NONE),
            ("esxcli hardware pci list | grep -i '10de:20f1'", NONE),
        ],
        &[
            ("lspci -nn | grep 10de:20b2", NONE),
            ("esxcli hardware pci list | grep -i nvidia -A 12", NONE),
            ("esxcli hardware pci list | grep 10de", NONE),
        ],
    ),
    (
        "host.myth-lspci-tree",
        &[("lspci -tv", ESXI), ("lspci -vv", ESXI), ("lspci -s 0000:af:00.0", ESXI)],
        &[("lspci -tv", NONE), ("lspci -p", ESXI), ("lspci -v", ESXI), ("lspci -n | grep 10de", ESXI)],
    ),
    (
        "host.myth-acs-log-lines",
        &[("PCIe ACS check passed for 0000:af:00.0", NONE), ("ACS Cap: Enabled, Ctrl: 0x07", NONE)],
        &[("ACSCap: SrcValid+ TransBlk+", NONE), ("disableACSCheck  Bool  FALSE", NONE)],
    ),
    (
        "host.myth-acs-is-ari",
        &[
            ("ACS (Alternate Routing ID Interpretation) isolates functions", NONE),
            ("read the ACS register at 0x14", NONE),
        ],
        &[
            ("Capabilities: [148 v1] Alternative Routing-ID Interpretation (ARI)", NONE),
            ("Capabilities: [168 v1] Access Control Services", NONE),
        ],
    ),
    (
        "host.myth-vmcp-gpu",
        &[("Disable VMCP so that GPU resets do not occur", NONE)],
        &[
            ("VMCP reacts to APD and PDL", NONE),
            ("VMCP reacts to datastores only and never resets a GPU", NONE),
            ("There is no need to disable VMCP for a GPU", NONE),
            ("a VM with a GPU restarts with VMCP where its datastore is lost", NONE),
        ],
    ),
    (
        "host.myth-esxtop-pcie",
        &[("esxtop columns: PCIe: tx/rx MBps", NONE), ("esxtop shows the PCIe throughput of the GPU", NONE)],
        &[
            ("esxtop -b -d 2 -n 2", NONE),
            ("esxtop has no PCIe column", NONE),
            ("look at esxtop while the PCIe link trains", NONE),
        ],
    ),
    (
        "host.myth-kb-89234",
        &[("see KB 89234: vMotion is not supported", NONE)],
        &[("see KB 328676", NONE), ("KB 89234 does not exist", NONE)],
    ),
    (
        "host.myth-firmware-floor",
        &[("ConnectX-5 needs firmware 20.35.1000", NONE), ("ConnectX-6: 22.30.1000", NONE)],
        &[
            ("ConnectX-6 firmware 20.35.1000", NONE),
            ("ConnectX-6 Dx 22.30.1000", NONE),
            ("Firmware Version: 16.35.1012", NONE),
        ],
    ),
    (
        "host.myth-build-numbers",
        &[("VMware ESXi 7.0.3 build-18643491", NONE)],
        &[
            ("VMware ESXi 7.0.3 build-18644231", NONE),
            ("VMware ESXi 7.0.3 build-19193900", NONE),
            ("7.0 U3 is build 18644231, not 18643491", NONE),
        ],
    ),
    (
        "host.myth-pvrdma-since-7u3",
        &[
            ("PVRDMA was introduced in vSphere 7.0 U3", NONE),
            ("PVRDMA requires vmx-19 or later", NONE),
            ("PVRDMA: virtual hardware version >= vmx-19", NONE),
            ("PVRDMA (≥7.0 U3)", NONE),
            ("For PVRDMA vSphere 7.0 Update 3 or later is required", NONE),
            ("PVRDMA 在 vSphere 7.0 U3 中引入", NONE),
        ],
        &[
            ("PVRDMA since vSphere 6.5, hardware version 13", NONE),
            ("this PVRDMA VM runs on ESXi 7.0 U3", NONE),
            ("PVRDMA exists since 6.5; this host is 7.0 U3", NONE),
            ("PVRDMA was not introduced in 7.0 U3", NONE),
            ("PVRDMA requires vmx-13, not vmx-19", NONE),
            ("first move the PVRDMA VMs, then update the host to 7.0 U3", NONE),
            ("PVRDMA needs at least hardware 13; ours have vmx-19", NONE),
        ],
    ),
    (
        "host.myth-bios-for-pvrdma",
        &[("For PVRDMA enable VT-d and SR-IOV in the BIOS", NONE)],
        &[
            ("For passthrough enable VT-d in the BIOS", NONE),
            ("PVRDMA does not need VT-d in the BIOS", NONE),
            ("PVRDMA works without SR-IOV enabled in the BIOS", NONE),
            ("VT-d in the BIOS has nothing to do with PVRDMA", NONE),
        ],
    ),
    (
        "gpu.myth-dcgm-on-esxi",
        &[("nvidia-smi-dcgm --query", NONE), ("dcgmi dmon -e 203", ESXI)],
        &[("dcgmi dmon -e 203", NONE)],
    ),
    (
        "gpu.myth-tcc",
        &[
            ("nvidia-smi -i 0 -c 3   # TCC mode", NONE),
            ("nvidia-smi -i 0 -c 3 puts it into TCC", NONE),
            ("nvidia-smi -dm 1", NONE),
        ],
        &[("nvidia-smi -i 0 -c 3", NONE), ("nvidia-smi dmon -c 3", NONE)],
    ),
    (
        "gpu.myth-xid-69-acs",
        &[("XID 69 means an ACS violation across VFs", NONE)],
        &[("NVRM: Xid (PCI:0000:01:00): 69, pid=1234, Class Error", NONE)],
    ),
    ("gpu.myth-nvidia-smi-pci", &[("nvidia-smi -q -d PCI", NONE)], &[("nvidia-smi -q -d CLOCK", NONE)]),
    (
        "gpu.myth-mig-list",
        &[("GPU 0000:17:00.0 (UUID: GPU-1) [MIG 1g.5gb]", NONE)],
        &[("GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-1)", NONE), ("  MIG 1g.5gb     Device  0: (UUID: MIG-1)", NONE)],
    ),
    (
        "gpu.myth-mig-scheduling",
        &[("enable MIG-aware vGPU scheduling", NONE)],
        &[("vGPU scheduling: best effort", NONE)],
    ),
    (
        "vm.myth-pvrdma-keys",
        &[
            ("pvrdma0.present TRUE", NONE),
            ("pvrdma0.virtualDev = \"pvrdma\"", NONE),
            ("PVRDMA1.addressType=generated", NONE),
        ],
        &[
            ("ethernet1.virtualDev = \"vrdma\"", NONE),
            ("ethernet1.virtualDev = \"pvrdma\"", NONE),
            ("vrdma.nativeEndpointSupport = \"TRUE\"", NONE),
            ("# pvrdma0.present = \"TRUE\"", NONE),
        ],
    ),
    (
        "vm.myth-network-name-is-switch",
        &[("ethernet1.networkName = \"vSwitch0\"", NONE)],
        &[("ethernet0.networkName = \"VM Network\"", NONE), ("ethernet0.networkName = \"vSwitch-Lab\"", NONE)],
    ),
    (
        "vm.myth-remove-vmxnet3",
        &[("ethernet0.present FALSE", PVRDMA), ("ethernet0.present = \"FALSE\"", PVRDMA)],
        &[("ethernet0.present = \"FALSE\"", NONE), ("ethernet0.present = \"TRUE\"", PVRDMA)],
    ),
    (
        "vm.myth-nested-for-pvrdma",
        &[("vhv.enable = \"TRUE\"", PVRDMA)],
        &[("vhv.enable = \"TRUE\"", NONE), ("vhv.enable = \"FALSE\"", PVRDMA)],
    ),
    (
        "vm.myth-numa-autosize",
        &[("numa.autosize = \"FALSE\"", NONE)],
        &[
            ("numa.autosize.once = \"FALSE\"", NONE),
            ("numa.autosize.cookie = \"160001\"", NONE),
            ("numa.autosize = \"TRUE\"", NONE),
        ],
    ),
    (
        "vm.myth-enable3d",
        &[("mks.enable3d = \"TRUE\"", GUIDE), ("mks.enable3d = \"TRUE\" # for CUDA", NONE)],
        &[("mks.enable3d = \"TRUE\"", NONE), ("mks.enable3d = \"FALSE\"", GUIDE)],
    ),
    (
        "vm.myth-safe-mmio",
        &[("pciPassthru.useSafeMMIO = \"TRUE\"", NONE), ("pciPassthru.useCachedMapping = \"TRUE\"", NONE)],
        &[
            ("pciPassthru.use64bitMMIO = \"TRUE\"", NONE),
            ("pciPassthru.RelaxACSforP2P = \"TRUE\"", NONE),
            ("pciPassthru.allowP2P = \"TRUE\"", NONE),
            ("pciPassthru.RelaxACSCheck = \"TRUE\"", NONE),
        ],
    ),
    (
        "vm.myth-bar-keys",
        &[("pciPassthru.0000.05.00.0.bar0.address = \"0x3800\"", NONE)],
        &[("pciPassthru0.cfg.enable_bar_mapping = \"TRUE\"", NONE), ("pciPassthru0.id = \"00000:175:00.0\"", NONE)],
    ),
    (
        "vm.myth-mig-mode",
        &[("migMode = \"enabled\"", NONE)],
        &[("migrate.hostlog = \"./vm.hlog\"", NONE), ("migrate.encryptionMode = \"opportunistic\"", NONE)],
    ),
    (
        "vm.myth-vgpu-type",
        &[
            ("pciPassthru0.vgpu = \"a100-1g-5gb\"", NONE),
            ("pciPassthru0.vgpu = \"MIG-1a2b3c4d-0000\"", NONE),
            ("vGPU type a100-2g-10gb aggregates two instances", NONE),
        ],
        &[
            ("pciPassthru0.vgpu = \"grid_a100-1-5c\"", NONE),
            ("pciPassthru0.vgpu = \"grid_a100d-7-80c\"", NONE),
            ("  MIG 1g.5gb     Device  0: (UUID: MIG-1)", NONE),
        ],
    ),
    (
        "guest.myth-pvr0",
        &[
            ("pvr0: state ACTIVE mtu 65520 qps 16384", NONE),
            ("export UCX_NET_DEVICES=pvr0:1", NONE),
            ("ethtool -i pvr0.8001", NONE),
        ],
        &[("export UCX_NET_DEVICES=rocep27s0f1:1", NONE), ("ibv_devinfo -d vmw_pvrdma0", NONE), ("pvr01", NONE)],
    ),
    (
        "guest.myth-ipoib-on-pvrdma",
        &[("ip link add link pvr0 name pvr0.8001 type ipoib", PVRDMA), ("MTU=65520", PVRDMA)],
        &[("ip link add link ib0 name ib0.8001 type ipoib", NONE), ("MTU=65520", NONE), ("MTU=9000", PVRDMA)],
    ),
    (
        "guest.myth-unbind-by-name",
        &[("echo vmxnet3 > /sys/bus/pci/drivers/vmxnet3/unbind", NONE)],
        &[("echo 0000:0b:00.0 > /sys/bus/pci/drivers/vmxnet3/unbind", NONE)],
    ),
];

#[test]
fn every_myth_is_recognised_and_its_healthy_neighbour_is_not() {
    for (id, wrong, right) in CASES {
        for (line, context) in *wrong {
            let found: Vec<&str> = judge(line, *context).iter().map(|myth| myth.id).collect();
            assert!(found.contains(id), "{id} in {line:?}: {found:?}");
        }
        for (line, context) in *right {
            let found: Vec<&str> = judge(line, *context).iter().map(|myth| myth.id).collect();
            assert_eq!(found, Vec::<&str>::new(), "{id}: {line:?} is right");
        }
        assert!(!wrong.is_empty() && !right.is_empty(), "{id}");
    }
}

#[test]
fn every_entry_has_a_case_a_source_and_an_id_of_its_own() {
    let listed: Vec<&str> = all().map(|myth| myth.id).collect();
    let tested: BTreeSet<&str> = CASES.iter().map(|(id, ..)| *id).collect();
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), tested);
    assert_eq!(listed.len(), tested.len(), "an id stands twice");
    assert!(listed.len() <= 64, "each has a bit of a word of its own");
    for myth in all() {
        assert!(["host", "vm", "guest", "gpu", "mpi"].contains(&myth.layer()), "{}", myth.id);
        let small = |word: &&str| word.len() >= 3 && **word == word.to_lowercase();
        assert!(!myth.needs.is_empty() && myth.needs.iter().all(small), "{}", myth.id);
        assert!(!myth.source.is_empty() && !myth.truth.is_empty() && !myth.claim.is_empty(), "{}", myth.id);
    }
}

/// Numbers of the collection from which reports were taken mean nothing to anybody else, and absence is no proof.
#[test]
fn a_source_is_one_that_can_be_found_again_or_it_is_weak() {
    for myth in all() {
        assert!(!myth.source.contains("idx "), "{}", myth.id);
        let absent = myth.source.contains("no public trace");
        let only_reported = myth.source.starts_with("field report");
        assert!(myth.weak || !(absent || only_reported), "{}", myth.id);
    }
}

#[test]
fn comments_are_judged_in_no_script_and_prompts_are_passed_over() {
    let script = Context { script: true, ..NONE };
    let said = |line: &str, context| judge(line, context).len();
    assert_eq!(said("# esxcli network nic sriov list", NONE), 1, "a prompt of root");
    assert_eq!(said("# esxcli network nic sriov list", script), 0, "a comment");
    assert_eq!(said("# never run: esxcli network nic sriov list", NONE), 0, "a comment");
    assert_eq!(said("[root@esx1:~] esxcli network nic sriov list", NONE), 1);
    assert_eq!(said("~ # esxcli network nic sriov list", NONE), 1);
    assert_eq!(said("ls && localcli network nic sriov list", NONE), 1);
    assert_eq!(said("root@esx1:~# esxcli network nic sriov list", NONE), 1);
    assert_eq!(said("", NONE), 0);
}
