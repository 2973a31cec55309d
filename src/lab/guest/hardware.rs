//! What the machines have in them: the virtual hardware of a VMware machine, kernel modules, packages.
//!
//! Sources: vendor and device numbers of pci.ids, vmxnet3 and PVRDMA as tests/fixtures/pvrdma-guest/18-lspci-nnk.txt; sizes
//! of modules as tests/fixtures/pvrdma-guest/19-lsmod.txt; versions of packages as 28-dpkg-query of the same guest. The list
//! of the other virtual hardware, the sizes of mlx5 and the version of open-vm-tools are UNSOURCED.

use super::state::{Family, Function, Module};

/// A link of the virtual root ports and of what hangs below them: made up by the hypervisor.
const VIRTUAL_LINK: (&str, u32, &str, u32) = ("5.0 GT/s PCIe", 32, "5.0 GT/s PCIe", 32);

fn function(address: &str, class: (u32, &'static str), ids: (u16, u16), name: &'static str, revision: u8) -> Function {
    Function {
        address: format!("0000:{address}"),
        class: class.0,
        class_name: class.1,
        ids,
        name,
        revision,
        ..Function::default()
    }
}

const HOST_BRIDGE: (u32, &str) = (0x06_0000, "Host bridge");
const PCI_BRIDGE: (u32, &str) = (0x06_0400, "PCI bridge");
const ETHERNET: (u32, &str) = (0x02_0000, "Ethernet controller");
const VMWARE: u16 = 0x15ad;

/// An emulated network interface at this address.
fn vmxnet3(address: &str) -> Function {
    let name = "VMware VMXNET3 Ethernet Controller";
    Function {
        subsystem: Some((name, VMWARE, 0x07b0)),
        driver: Some("vmxnet3"),
        modules: vec!["vmxnet3"],
        link: Some(VIRTUAL_LINK),
        ..function(address, ETHERNET, (VMWARE, 0x07b0), name, 1)
    }
}

/// All PCI functions of a machine with this kind of adapter.
pub fn functions(family: Family) -> Vec<Function> {
    let mut all = vec![
        function(
            "00:00.0",
            HOST_BRIDGE,
            (0x8086, 0x7190),
            "Intel Corporation 440BX/ZX/DX - 82443BX/ZX/DX Host bridge",
            1,
        ),
        function(
            "00:01.0",
            PCI_BRIDGE,
            (0x8086, 0x7191),
            "Intel Corporation 440BX/ZX/DX - 82443BX/ZX/DX AGP bridge",
            1,
        ),
        function(
            "00:07.0",
            (0x06_0100, "ISA bridge"),
            (0x8086, 0x7110),
            "Intel Corporation 82371AB/EB/MB PIIX4 ISA",
            8,
        ),
        function("00:07.3", (0x06_8000, "Bridge"), (0x8086, 0x7113), "Intel Corporation 82371AB/EB/MB PIIX4 ACPI", 8),
        Function {
            driver: Some("vmw_vmci"),
            modules: vec!["vmw_vmci"],
            ..function(
                "00:07.7",
                (0x08_8000, "System peripheral"),
                (VMWARE, 0x0740),
                "VMware Virtual Machine Communication Interface",
                0x10,
            )
        },
        function("00:0f.0", (0x03_0000, "VGA compatible controller"), (VMWARE, 0x0405), "VMware SVGA II Adapter", 0),
    ];
    all.push(Function {
        driver: Some("mptspi"),
        modules: vec!["mptspi"],
        ..function(
            "00:10.0",
            (0x01_0000, "SCSI storage controller"),
            (0x1000, 0x0030),
            "Broadcom / LSI 53c1030 PCI-X Fusion-MPT Dual Ultra320 SCSI",
            1,
        )
    });
    for port in ["00:15.0", "00:16.0", "00:17.0", "00:18.0"] {
        let name = "VMware PCI Express Root Port";
        all.push(Function {
            driver: Some("pcieport"),
            link: Some(VIRTUAL_LINK),
            subsystem: Some((name, VMWARE, 0x07a0)),
            ..function(port, PCI_BRIDGE, (VMWARE, 0x07a0), name, 1)
        });
    }
    all.push(vmxnet3("03:00.0"));
    match family {
        Family::Pvrdma => {
            let name = "VMware Paravirtual RDMA controller";
            all.push(vmxnet3("0b:00.0"));
            all.push(Function {
                subsystem: Some((name, VMWARE, 0x0820)),
                driver: Some("vmw_pvrdma"),
                modules: vec!["vmw_pvrdma"],
                link: Some(VIRTUAL_LINK),
                ..function("0b:00.1", (0x02_0700, "Infiniband controller"), (VMWARE, 0x0820), name, 1)
            });
        }
        Family::Mlx5 => all.push(Function {
            subsystem: Some(("Mellanox Technologies MT28908 Family [ConnectX-6]", 0x15b3, 0x0006)),
            driver: Some("mlx5_core"),
            modules: vec!["mlx5_core"],
            link: Some(("8.0 GT/s PCIe", 16, "16.0 GT/s PCIe", 16)),
            ..function("13:00.0", ETHERNET, (0x15b3, 0x101b), "Mellanox Technologies MT28908 Family [ConnectX-6]", 0)
        }),
        Family::Mlx5Vf => all.push(Function {
            subsystem: Some(("Mellanox Technologies MT28908 Family [ConnectX-6 Virtual Function]", 0x15b3, 0x0006)),
            driver: Some("mlx5_core"),
            modules: vec!["mlx5_core"],
            // A virtual function tells no link of its own.
            link: Some(("Unknown", 0, "Unknown", 0)),
            ..function(
                "13:00.0",
                ETHERNET,
                (0x15b3, 0x101c),
                "Mellanox Technologies MT28908 Family [ConnectX-6 Virtual Function]",
                0,
            )
        }),
    }
    all
}

fn module(name: &'static str, size: u64, uses: u32, users: &'static str) -> Module {
    Module { name, size, uses, users }
}

/// The modules that are loaded.
pub fn modules(family: Family) -> Vec<Module> {
    let mut all = match family {
        Family::Pvrdma => vec![
            module("vmw_pvrdma", 69_632, 0, ""),
            module("rdma_ucm", 32_768, 0, ""),
            module("ib_uverbs", 172_032, 2, "vmw_pvrdma,rdma_ucm"),
            module("rdma_cm", 139_264, 1, "rdma_ucm"),
            module("iw_cm", 61_440, 1, "rdma_cm"),
            module("ib_cm", 139_264, 1, "rdma_cm"),
            module("ib_core", 442_368, 6, "rdma_cm,vmw_pvrdma,iw_cm,rdma_ucm,ib_uverbs,ib_cm"),
        ],
        Family::Mlx5 | Family::Mlx5Vf => vec![
            module("ib_umad", 45_056, 0, ""),
            module("rdma_ucm", 32_768, 0, ""),
            module("mlx5_ib", 462_848, 0, ""),
            module("ib_uverbs", 172_032, 2, "rdma_ucm,mlx5_ib"),
            module("rdma_cm", 139_264, 1, "rdma_ucm"),
            module("iw_cm", 61_440, 1, "rdma_cm"),
            module("ib_cm", 139_264, 1, "rdma_cm"),
            module("ib_core", 442_368, 7, "rdma_cm,iw_cm,ib_umad,rdma_ucm,ib_uverbs,mlx5_ib,ib_cm"),
            module("mlx5_core", 2_052_096, 1, "mlx5_ib"),
            module("mlxfw", 36_864, 1, "mlx5_core"),
            module("pci_hyperv_intf", 16_384, 1, "mlx5_core"),
        ],
    };
    all.extend([
        module("configfs", 57_344, 2, "rdma_cm"),
        module("vmw_balloon", 28_672, 0, ""),
        module("vmw_vsock_vmci_transport", 36_864, 1, ""),
        module("vsock", 53_248, 2, "vmw_vsock_vmci_transport"),
        module("vmw_vmci", 98_304, 2, "vmw_balloon,vmw_vsock_vmci_transport"),
        module("ext4", 983_040, 1, ""),
        module("crc16", 16_384, 1, "ext4"),
        module("mbcache", 16_384, 1, "ext4"),
        module("jbd2", 167_936, 1, "ext4"),
        module("crc32c_intel", 24_576, 2, ""),
        module("mptspi", 28_672, 2, ""),
        module("scsi_transport_spi", 36_864, 1, "mptspi"),
        module("mptscsih", 45_056, 1, "mptspi"),
        module("mptbase", 110_592, 2, "mptspi,mptscsih"),
        module("vmxnet3", 73_728, 0, ""),
    ]);
    all
}

/// Versions of modules that tell one.
pub fn module_versions(family: Family) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("vmw_balloon", "1.5.0.0-k"), ("vmw_vmci", "1.1.6.0-k"), ("vmxnet3", "1.7.0.0-k")];
    if family == Family::Pvrdma {
        all.push(("vmw_pvrdma", "1.0.1.0-k"));
    }
    all
}

/// Installed packages, sorted as `dpkg-query` sorts them; those with `true` are shown with their architecture.
pub fn packages() -> Vec<(&'static str, &'static str, bool)> {
    vec![
        ("ibverbs-providers", "44.0-2", true),
        ("ibverbs-utils", "44.0-2", false),
        ("infiniband-diags", "44.0-2", false),
        ("libibverbs1", "44.0-2", true),
        ("libopenmpi3", "4.1.4-3+b1", true),
        ("libpmix2", "4.2.2-1+deb12u1", true),
        ("librdmacm1", "44.0-2", true),
        ("libucx0", "1.13.1-1", true),
        ("open-vm-tools", "2:12.2.0-1+deb12u2", false),
        ("openmpi-bin", "4.1.4-3+b1", false),
        ("perftest", "4.5+0.17-1", false),
        ("rdma-core", "44.0-2", false),
        ("ucx-utils", "1.13.1-1", false),
    ]
}
