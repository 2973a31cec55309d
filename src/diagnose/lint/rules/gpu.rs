//! What is known of GPU models: memory and the 64-bit BARs that the VM's address space must hold.
//!
//! The large BAR is what `nvidia-smi -q` prints as total of "BAR1 Memory Usage"; the second one is the 32 MiB that
//! `lspci -v` shows on every one that was read. Where the size depends on a setting of the card (resizable BAR, the display
//! mode of A40 and L40S) or of the host's firmware it is not given.
//!
//! Read in public outputs: V100-PCIE-16GB (`nvidia-smi -q` of 10de:1db4 in passthrough: 16384 MiB), V100-PCIE-32GB (regions
//! of 10de:1db6: 32 GiB and 32 MiB), P100 (the guide of Kata Containers: 16 GiB and 32 MiB), P40 (`vmware.log`: 34359738368
//! bytes), T4 (cloud-hypervisor issue 434, regions of 10de:1eb8: 256 MiB and 32 MiB), A100-PCIE-40GB (kata-containers pull
//! request 4358, regions of 10de:20f1: 64 GiB and 32 MiB), A100-SXM4-40GB (`nvidia-smi -q` of 10de:20b0: 65536 MiB),
//! A100-SXM4-80GB (of 10de:20b2: 131072 MiB), A10 (of 10de:2236 in passthrough: 32768 MiB), L4 (of 10de:27b8: 32768 MiB),
//! H100 SXM (of 10de:2330: 131072 MiB; the other two regions of an H100 in fastfetch issue 1658: 32 MiB and 16 MiB), H200
//! SXM (of 10de:2335 in passthrough: 262144 MiB). The others that have a size are weak: no output of theirs was read.

/// One model.
#[derive(Debug)]
pub(super) struct Gpu {
    /// Device id.
    pub id: u32,
    /// Name.
    pub name: &'static str,
    /// Memory in GB as it is sold.
    pub memory: u64,
    /// Sizes of the 64-bit BARs in MiB; empty if not known.
    pub bars: &'static [u64],
    /// True if no public output shows these sizes.
    pub weak: bool,
    /// True if it is an SXM module, whose GPUs are joined by NVLink.
    pub sxm: bool,
}

/// What fits in the 32-bit window below 4 GiB, in MiB: 917504 pages.
pub(super) const SMALL_WINDOW: u64 = 3584;

impl Gpu {
    /// Sum of the 64-bit BARs in MiB: each is a power of two, so that laid out by falling size none needs a gap.
    pub(super) fn need(&self) -> Option<u64> {
        (!self.bars.is_empty()).then(|| self.bars.iter().sum())
    }

    /// True if its BARs are known and do not fit below 4 GiB.
    pub(super) fn is_large(&self) -> bool {
        self.need().is_some_and(|need| need > SMALL_WINDOW)
    }

    /// True if its BARs are known and fit below 4 GiB.
    pub(super) fn is_small(&self) -> bool {
        self.need().is_some_and(|need| need <= SMALL_WINDOW)
    }
}

const fn gpu(id: u32, name: &'static str, memory: u64, bars: &'static [u64]) -> Gpu {
    Gpu { id, name, memory, bars, weak: false, sxm: false }
}

const fn sxm(id: u32, name: &'static str, memory: u64, bars: &'static [u64]) -> Gpu {
    Gpu { id, name, memory, bars, weak: false, sxm: true }
}

/// A model whose sizes are those of its next of kin, or from memory.
const fn weak(id: u32, name: &'static str, memory: u64, bars: &'static [u64]) -> Gpu {
    Gpu { id, name, memory, bars, weak: true, sxm: false }
}

/// The models, by id.
const GPUS: &[Gpu] = &[
    gpu(0x15f8, "P100-PCIE-16GB", 16, &[16384, 32]),
    gpu(0x1b38, "P40", 24, &[32768, 32]),
    weak(0x1bb3, "P4", 8, &[256, 32]),
    gpu(0x1db4, "V100-PCIE-16GB", 16, &[16384, 32]),
    gpu(0x1db6, "V100-PCIE-32GB", 32, &[32768, 32]),
    gpu(0x1eb8, "T4", 16, &[256, 32]),
    sxm(0x20b0, "A100-SXM4-40GB", 40, &[65536, 32]),
    sxm(0x20b2, "A100-SXM4-80GB", 80, &[131_072, 32]),
    sxm(0x20b3, "A100-SXM-64GB", 64, &[]),
    weak(0x20b5, "A100 80GB PCIe", 80, &[131_072, 32]),
    weak(0x20b7, "A30", 24, &[32768, 32]),
    gpu(0x20f1, "A100-PCIE-40GB", 40, &[65536, 32]),
    gpu(0x2204, "GeForce RTX 3090", 24, &[]),
    gpu(0x2206, "GeForce RTX 3080", 10, &[]),
    gpu(0x2235, "A40", 48, &[]),
    gpu(0x2236, "A10", 24, &[32768, 32]),
    sxm(0x2330, "H100 SXM", 80, &[131_072, 32, 16]),
    weak(0x2331, "H100 PCIe", 80, &[131_072, 32, 16]),
    sxm(0x2335, "H200 SXM", 141, &[262_144, 32, 16]),
    gpu(0x2684, "GeForce RTX 4090", 24, &[]),
    gpu(0x26b9, "L40S", 48, &[]),
    gpu(0x27b8, "L4", 24, &[32768, 32]),
];

/// The model of a device id.
pub(super) fn by_id(id: u32) -> Option<&'static Gpu> {
    GPUS.iter().find(|gpu| gpu.id == id)
}
