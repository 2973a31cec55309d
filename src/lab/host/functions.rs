//! The PCI functions of the hosts, with what is ordinary on real ones and looks like a fault: an adapter for which nobody
//! ever configured an owner, and a disk whose address is that of the ConnectX in another base.
//!
//! Models and identifiers are those of published outputs; addresses are made up.

use super::hosts::{CONNECTX_VF, GPU, HCA, VIRTUAL_FUNCTIONS};
use super::state::{Function, Release};

/// The functions of the PCI bus that a host has.
/// (`given` and `gpu` say of each function that may be given away whether it is so from the next start on, and now.)
pub(super) fn functions(index: usize, release: Release, given: [(bool, bool); 2], gpu: (bool, bool)) -> Vec<Function> {
    const KERNEL: (&str, &str) = ("VMkernel", "VMkernel");
    const GIVEN: (&str, &str) = ("VM Passthru", "VM Passthru");
    let owner = |given: bool| if given { "VM Passthru" } else { "VMkernel" };
    let owners = |(next, now): (bool, bool)| (owner(next), owner(now));
    // Up to 7.0 the list names what the VMkernel made of a function; 8.0 leaves that empty.
    let named = |name: &str| if release == Release::Seven { name.to_owned() } else { String::new() };
    let plain = |at, words, ids, class, module| Function {
        at,
        name: String::new(),
        words,
        ids,
        class,
        owners: KERNEL,
        module,
        capable: false,
        slot: None,
        parent: None,
    };
    let bridge = |bus, slot| {
        let ids = [0x8086, 0x2030, 0x8086, 0];
        plain(
            (bus, slot, 0),
            ("Intel Corporation", "Sky Lake-E PCI Express Root Port A"),
            ids,
            (0x604, "PCI bridge"),
            None,
        )
    };
    let mut all = vec![
        plain(
            (0, 0, 0),
            ("Intel Corporation", "Sky Lake-E DMI3 Registers"),
            [0x8086, 0x2020, 0, 0],
            (0x600, "Host bridge"),
            None,
        ),
        bridge(0x17, 0),
    ];
    for place in 0..2 {
        all.push(Function {
            name: named(if place == 0 { "vmnic0" } else { "vmnic1" }),
            // Nobody ever configured an owner, which some hosts say in this way.
            owners: if index == 1 && place == 1 { ("Unknown", "VMkernel") } else { KERNEL },
            capable: true,
            slot: Some(1),
            parent: Some((0x17, 0, 0)),
            ..plain(
                (0x18, 0, place),
                ("Intel Corporation", "Ethernet Controller X550"),
                [0x8086, 0x1563, 0x1028, 0x1fa8],
                (0x200, "Ethernet controller"),
                Some("ixgben"),
            )
        });
    }
    all.push(bridge(0x5d, 0));
    for (place, &at) in HCA.iter().enumerate() {
        all.push(Function {
            name: named(if place == 0 { "vmnic2" } else { "vmnic3" }),
            owners: owners(given[place]),
            capable: true,
            slot: Some(3),
            parent: Some((0x5d, 0, 0)),
            ..plain(
                at,
                ("Mellanox Technologies", "MT28908 Family [ConnectX-6]"),
                [0x15b3, 0x101b, 0x15b3, 0x0006],
                (0x200, "Ethernet controller"),
                Some(if given[place].1 { "pciPassthru" } else { "nmlx5_core" }),
            )
        });
    }
    for number in 0..if given[0].1 { 0 } else { VIRTUAL_FUNCTIONS } {
        all.push(Function {
            // The bus stands there as a decimal number.
            name: named(&format!("PF_0.94.0_VF_{number}")),
            owners: GIVEN,
            capable: true,
            parent: Some((0x5d, 0, 0)),
            ..plain(
                (0x5e, 0, 2 + number),
                ("Mellanox Technologies", CONNECTX_VF),
                [0x15b3, 0x101c, 0x15b3, 0x0006],
                (0x200, "Ethernet controller"),
                Some("pciPassthru"),
            )
        });
    }
    // Its bus reads as that of the ConnectX if it is taken for decimal.
    all.push(bridge(0x93, 0));
    all.push(Function {
        name: named("vmhba2"),
        capable: true,
        parent: Some((0x93, 0, 0)),
        ..plain(
            (0x94, 0, 0),
            ("Intel Corporation", "NVMe Datacenter SSD [3DNAND]"),
            [0x8086, 0x0a54, 0x1028, 0x2003],
            (0x108, "Non-Volatile memory controller"),
            Some("nvme_pcie"),
        )
    });
    if index == 0 {
        all.push(bridge(0xae, 0));
        all.push(Function {
            owners: owners(gpu),
            capable: true,
            slot: Some(7),
            parent: Some((0xae, 0, 0)),
            ..plain(
                GPU,
                ("NVIDIA Corporation", "GA100 [A100 PCIe 40GB]"),
                [0x10de, 0x20f1, 0x10de, 0x145f],
                (0x302, "3D controller"),
                gpu.1.then_some("pciPassthru"),
            )
        });
    }
    all
}
