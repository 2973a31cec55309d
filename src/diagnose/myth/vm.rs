//! Wrong advice about VMs: keys of their configuration that do not exist or do not help.

use super::said::{no, yes};
use super::{Myth, Said, Verdict};

/// True if the value names a MIG profile with its memory (`a100-1g-5gb`) where vGPU types are called otherwise.
fn mig_profile_as_type(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['-', '.', '_']).collect();
    parts.windows(2).any(|pair| {
        let digits = |text: &str, end: &str| {
            text.strip_suffix(end)
                .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
        };
        digits(pair[0], "g") && digits(pair[1], "gb")
    })
}

/// True if a vGPU type is given: to its VMX key, or as an argument called so.
fn vgpu_type(said: &Said<'_>) -> bool {
    if let Some(value) = said.value("pcipassthru#.vgpu") {
        return mig_profile_as_type(value) || value.starts_with("mig-");
    }
    said.any(&["vgpu"])
        && said.lower.split(|c: char| c.is_whitespace() || "\"'=,`".contains(c)).any(|word| {
            (word.starts_with("a100")
                || word.starts_with("grid_")
                || word.starts_with("a30")
                || word.starts_with("h100"))
                && mig_profile_as_type(word)
        })
}

/// All of them.
pub(super) static MYTHS: &[Myth] = &[
    Myth {
        id: "vm.myth-pvrdma-keys",
        verdict: Verdict::NoSuchKey,
        claim: "keys pvrdma0.* in the VMX",
        truth: "There are none. A PVRDMA adapter is an ordinary ethernetN entry with virtualDev = \"vrdma\", on a port group of \
                a distributed switch; it is added as a network adapter of type PVRDMA in the client or through the API.",
        source: "open-vm-tools modules/shared/vmxnet/net.h; vSphere 7.0 Networking, PVRDMA Support",
        weak: false,
        needs: &["pvrdma"],
        says: |said| said.key("pvrdma#.*"),
    },
    Myth {
        id: "vm.myth-network-name-is-switch",
        verdict: Verdict::WrongValue,
        claim: "networkName names the virtual switch",
        truth: "It names the port group of a standard switch. On a distributed switch, which PVRDMA needs, the VMX has \
                ethernetN.dvs.switchId, .portgroupId and .portId in its place.",
        source: "field report: sibling keys in a real VMX; own knowledge for ethernetN",
        weak: true,
        needs: &["networkname"],
        says: |said| {
            let switch = |name: &str| {
                name.strip_prefix("vswitch")
                    .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
            };
            said.value("ethernet#.networkname").is_some_and(switch)
        },
    },
    Myth {
        id: "vm.myth-remove-vmxnet3",
        verdict: Verdict::Opposite,
        claim: "a VM with PVRDMA must not have another network adapter: ethernet0.present = FALSE",
        truth: "A PVRDMA adapter is itself one ethernetN entry that shows as two PCI functions, vmxnet3 and RDMA. Switching \
                off its entry takes the RDMA device away (the driver wants the vmxnet3 at function 0 and fails with -19 \
                without it); switching off another one only loses that network.",
        source: "Linux drivers/infiniband/hw/vmw_pvrdma/pvrdma_main.c",
        weak: false,
        needs: &["ethernet"],
        says: |said| said.of_pvrdma() && said.value("ethernet#.present").is_some_and(no),
    },
    Myth {
        id: "vm.myth-nested-for-pvrdma",
        verdict: Verdict::Irrelevant,
        claim: "PVRDMA or MPI needs nested virtualisation",
        truth: "It does not; what PVRDMA needs is all memory reserved. With a passthrough device nested virtualisation even \
                keeps the VM from starting.",
        source: "vSphere 6.5 Networking, PVRDMA (memory reservation)",
        weak: false,
        needs: &["vhv.enable"],
        says: |said| said.of_pvrdma() && said.value("vhv.enable").is_some_and(yes),
    },
    Myth {
        id: "vm.myth-numa-autosize",
        verdict: Verdict::Irrelevant,
        claim: "numa.autosize = FALSE improves locality",
        truth: "FALSE is the default already; what is on by default is numa.autosize.once.",
        source: "vSphere Resource Management, virtual NUMA options",
        weak: false,
        needs: &["numa.autosize"],
        says: |said| said.value("numa.autosize").is_some_and(no),
    },
    Myth {
        id: "vm.myth-enable3d",
        verdict: Verdict::Irrelevant,
        claim: "mks.enable3d = TRUE for a passed-through GPU",
        truth: "It switches on 3D of the virtual SVGA adapter and has nothing to do with a passed-through GPU or CUDA.",
        source: "field report: a real VMX with passthrough",
        weak: true,
        needs: &["mks.enable3d"],
        says: |said| {
            let guide = said.context.passthrough && !said.context.whole_vmx;
            said.value("mks.enable3d").is_some_and(yes) && (guide || said.any(&["cuda", "gpu"]))
        },
    },
    Myth {
        id: "vm.myth-safe-mmio",
        verdict: Verdict::NoSuchKey,
        claim: "pciPassthru.useSafeMMIO and pciPassthru.useCachedMapping",
        truth: "There are no such keys. Those for large BARs are pciPassthru.use64bitMMIO and pciPassthru.64bitMMIOSizeGB.",
        source: "no public trace of the keys",
        weak: true,
        needs: &["usesafemmio", "usecachedmapping"],
        says: |said| said.key_of("vm.myth-safe-mmio"),
    },
    Myth {
        id: "vm.myth-bar-keys",
        verdict: Verdict::NoSuchKey,
        claim: "pciPassthru.0000.05.00.0.bar0.address and .size",
        truth: "There are no such keys: BARs are sized by the device and placed by the VM's firmware.",
        source: "no public trace of the keys",
        weak: true,
        needs: &["pcipassthru"],
        says: |said| said.key_of("vm.myth-bar-keys"),
    },
    Myth {
        id: "vm.myth-mig-mode",
        verdict: Verdict::NoSuchKey,
        claim: "migMode = enabled in the VMX",
        truth: "MIG is switched on at the GPU (`nvidia-smi -mig 1`, where its driver runs); the VM only names a MIG-backed vGPU \
                type.",
        source: "NVIDIA MIG user guide",
        weak: false,
        needs: &["migmode"],
        says: |said| said.key_of("vm.myth-mig-mode"),
    },
    Myth {
        id: "vm.myth-vgpu-type",
        verdict: Verdict::WrongValue,
        claim: "vGPU types named like MIG profiles (a100-1g-5gb), or the UUID of a MIG device",
        truth: "MIG-backed types are called grid_a100-1-5c, -2-10c, -3-20c, -4-20c, -7-40c (40 GB) and grid_a100d-1-10c to -7-80c \
                (80 GB). 2g.10gb is one MIG instance with two compute slices, not two that are put together.",
        source: "stackhpc ansible-collection-linux, role vgpu; NVIDIA MIG user guide",
        weak: false,
        needs: &["vgpu"],
        says: vgpu_type,
    },
];
