//! The one table of keys that guides put into a VMX and that do nothing there: those that do not exist, those of the host or
//! of the guest, and real ones that have nothing to do with the matter. The rules for a VM's configuration and the list of
//! wrong advice both look here. Only keys of published wrong advice stand here; any other unknown key is just unknown.

/// Why a key does nothing in a VMX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// There is no such key anywhere.
    NoSuch,
    /// It is a setting of the host or of the guest.
    Elsewhere,
    /// It is real and has nothing to do with RDMA or computing on GPUs.
    Irrelevant,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// The whole name, or its begin up to a dot; one that ends in `.` or `_` is any begin.
    pub name: &'static str,
    /// Why it does nothing.
    pub why: Why,
    /// What is true.
    pub text: &'static str,
    /// The entry of the list of wrong advice that speaks of it.
    pub myth: Option<&'static str>,
}

const fn no_such(name: &'static str, text: &'static str, myth: &'static str) -> Key {
    Key { name, why: Why::NoSuch, text, myth: Some(myth) }
}

const fn elsewhere(name: &'static str, text: &'static str) -> Key {
    Key { name, why: Why::Elsewhere, text, myth: None }
}

const MIG: &str = "no such key; MIG is switched on in the GPU (nvidia-smi -mig 1 on the host for vGPU)";
const KERNEL: &str = "a boot option of the host: esxcli system settings kernel";
const LINUX: &str = "an argument of a Linux kernel, for KVM hosts; ESXi has none such";
const NMLX5: &str = "a parameter of the host's module nmlx5_core";
const VFIO: &str = "a part of Linux; ESXi has none such";

/// Keys that place or size a BAR, whatever else is in their names.
const BAR: Key = no_such(
    "pciPassthru.0000",
    "BARs cannot be placed or sized by hand; their sizes come from the device",
    "vm.myth-bar-keys",
);

/// All of them.
const KEYS: &[Key] = &[
    no_such(
        "pciPassthru.useSafeMMIO",
        "no such key; the window above 4 GiB is pciPassthru.use64bitMMIO and 64bitMMIOSizeGB",
        "vm.myth-safe-mmio",
    ),
    no_such("pciPassthru.useCachedMapping", "no such key; the host decides how BARs are mapped", "vm.myth-safe-mmio"),
    BAR,
    no_such("pciPassthru.migMode", MIG, "vm.myth-mig-mode"),
    no_such("migMode", MIG, "vm.myth-mig-mode"),
    no_such("numa_prefer_local", "no such setting on any release from 6.0 to 9.0", "host.myth-numa-kernel-settings"),
    no_such(
        "numa_vcpu_affinity",
        "no such setting on any release from 6.0 to 9.0; the key is numa.nodeAffinity",
        "host.myth-numa-kernel-settings",
    ),
    elsewhere("vmw_pvrdma", "the driver in the Linux guest; a VMX has no such key"),
    elsewhere(
        "Net.PVRDMAVmknic",
        "an advanced option of the host: esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmkN",
    ),
    elsewhere("disableACSCheck", KERNEL),
    elsewhere("enableACSCheckForRP", KERNEL),
    elsewhere("VMkernel.Boot.", "a boot option of the host"),
    Key {
        myth: Some("host.myth-acs-override"),
        ..elsewhere("allowPCIeACSOverride", "no such option even on the host; the real one is disableACSCheck")
    },
    elsewhere("noIOMMU", "a boot option of the host"),
    elsewhere("iovDisableIR", "a boot option of the host"),
    elsewhere("Numa.DeviceAffinity", "an advanced option of the host, new in 9.0"),
    elsewhere("Numa.PreferHT", "an advanced option of the host; the key of a VM is numa.vcpu.preferHT"),
    elsewhere("Numa.LocalityWeightActionAffinity", "an advanced option of the host"),
    elsewhere("pfctx", NMLX5),
    elsewhere("pfcrx", NMLX5),
    elsewhere("trust_state", NMLX5),
    elsewhere("max_vfs", "a parameter of the host's module of the adapter"),
    elsewhere("dscp_force", "a parameter of the host's module nmlx5_rdma"),
    Key { myth: Some("host.myth-linux-iommu-on-esxi"), ..elsewhere("intel_iommu", LINUX) },
    Key { myth: Some("host.myth-linux-iommu-on-esxi"), ..elsewhere("amd_iommu", LINUX) },
    elsewhere("vfio", VFIO),
    Key { myth: Some("host.myth-kvm-boot-arguments"), ..elsewhere("vfio-pci", VFIO) },
    Key { myth: Some("host.myth-kvm-boot-arguments"), ..elsewhere("vfio_pci", VFIO) },
    elsewhere("NVreg_", "a parameter of the guest's nvidia module"),
    Key {
        name: "mks.enable3d",
        why: Why::Irrelevant,
        text: "3D of the virtual screen; it has nothing to do with CUDA",
        myth: Some("vm.myth-enable3d"),
    },
];

/// True if a key is a name of the table: the whole of it, or up to a dot.
fn is(key: &str, name: &str) -> bool {
    let Some((head, rest)) = key.split_at_checked(name.len()) else { return false };
    head.eq_ignore_ascii_case(name) && (rest.is_empty() || rest.starts_with('.') || name.ends_with(['.', '_']))
}

/// `pciPassthru0.bar0.address` and its like.
fn is_bar(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("pcipassthru") else { return false };
    rest.split('.').any(|part| {
        part.strip_prefix("bar")
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit()))
    })
}

/// `pciPassthru3.x` as it is called without its number.
fn without_number(key: &str) -> Option<String> {
    const PREFIX: &str = "pciPassthru";
    let (head, rest) = key.split_at_checked(PREFIX.len())?;
    let tail = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (head.eq_ignore_ascii_case(PREFIX) && tail.len() < rest.len()).then(|| format!("{PREFIX}{tail}"))
}

/// What the table says of a key, whatever its letter case.
pub(crate) fn find(key: &str) -> Option<&'static Key> {
    let bare = without_number(key);
    let key = bare.as_deref().unwrap_or(key);
    KEYS.iter().find(|known| is(key, known.name)).or_else(|| is_bar(key).then_some(&BAR))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::diagnose::{lint, myth};

    #[test]
    fn a_name_is_the_whole_key_or_its_begin_up_to_a_dot() {
        let why = |key: &str| find(key).map(|key| key.why);
        for key in ["max_vfs", "MAX_VFS.nmlx5", "VMkernel.Boot.noIOMMU", "NVreg_EnableGpuFirmware", "vfio-pci.ids"] {
            assert_eq!(why(key), Some(Why::Elsewhere), "{key}");
        }
        for key in
            ["migMode", "pciPassthru0.migMode", "pciPassthru.0000.05.00.0.bar0.size", "PCIPASSTHRU2.BAR0.address"]
        {
            assert_eq!(why(key), Some(Why::NoSuch), "{key}");
        }
        // Longer names are other names, and what no list of wrong advice names is just unknown.
        for key in [
            "max_vfsX",
            "vfioX",
            "migModeNew",
            "rdma.enable",
            "rdma.enableX",
            "pciPassthru.acsOverride",
            "pciPassthru.00001",
            "pciPassthru0.cfg.enable_bar_mapping",
            "pciPassthru0.id",
            "pciPassthru.RelaxACSforP2P",
            "pciPassthru.allowP2P",
            "vrdma.nativeEndpointSupport",
            "é",
            "",
        ] {
            assert_eq!(why(key), None, "{key}");
        }
    }

    #[test]
    fn what_the_list_of_wrong_advice_says_too_is_known_to_the_rules() {
        let rule = |why| {
            let id = match why {
                Why::NoSuch => "vmx.no-such-key",
                Why::Elsewhere => "vmx.host-setting",
                Why::Irrelevant => "vmx.irrelevant-key",
            };
            lint::catalogue().find(|rule| rule.id == id).expect("a rule for each reason")
        };
        for why in [Why::NoSuch, Why::Elsewhere, Why::Irrelevant] {
            let of_keys: BTreeSet<_> = KEYS.iter().filter(|key| key.why == why).filter_map(|key| key.myth).collect();
            let of_rule: BTreeSet<_> = rule(why).myths.iter().copied().collect();
            assert_eq!(of_keys, of_rule, "{why:?}");
        }
        for id in lint::catalogue().flat_map(|rule| rule.myths) {
            assert!(myth::all().any(|myth| myth.id == *id), "{id}");
        }
    }
}
