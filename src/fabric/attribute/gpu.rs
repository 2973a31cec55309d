//! The attributes of NVIDIA GPUs and what belongs to them: MIG instances, links of NVLink, processes. They are stated alike by NVML,
//! `nvidia-smi` and DCGM; what moves from second to second is a series (see [`super::super::measure`]), not an attribute.

/// Hands the rows before, and its own, to `$last`.
macro_rules! gpu {
    ($last:ident, $($before:tt)*) => {
        $last! {
        $($before)*

            // The driver of the whole system, on the guest.
            /// Version of the NVIDIA driver, `535.129.03`.
            NvidiaDriver = "nvidia-driver", "NVIDIA driver", None, Setting;
            /// Highest CUDA version that the driver serves, `12.2`.
            CudaVersion = "cuda-version", "CUDA", None, Setting;
            /// By what its GPUs are read: `NVML`, `nvidia-smi`, `nvidia-smi and DCGM`. A missing state says why they are not.
            GpuReadBy = "gpu-read-by", "GPUs read by", None, Status;

            // One GPU.
            /// Index by which the driver counts it.
            GpuIndex = "gpu-index", "index", Count, Setting;
            /// `GPU-838f60d9-651f-9166-ea42-f9da674a6947`.
            GpuUuid = "gpu-uuid", "UUID", None, Setting;
            /// `NVIDIA A100-SXM4-40GB`.
            GpuModel = "gpu-model", "model", None, Setting;
            /// Version of its VBIOS.
            Vbios = "vbios", "VBIOS", None, Setting;
            /// Whether it answers at all: `yes`, or what the driver says of a lost one.
            GpuHealth = "gpu-health", "answers", None, Status;
            /// How the driver sees the virtualisation: `pass-through`, `vGPU`, `none`, `host vGPU`, `host vSGA`.
            GpuVirtualization = "gpu-virtualization", "virtualisation", None, Setting;
            /// `default`, `exclusive process`, `prohibited`, `exclusive thread`.
            ComputeMode = "compute-mode", "compute mode", None, Setting;
            /// Whether the driver stays loaded while nothing uses the GPU.
            PersistenceMode = "persistence-mode", "persistence", None, Setting;
            /// Whether MIG is on.
            MigMode = "mig-mode", "MIG", None, Setting;
            /// Whether MIG is on after the next reset.
            MigModePending = "mig-mode-pending", "MIG after reset", None, Setting;
            /// Whether memory errors are corrected.
            EccMode = "ecc-mode", "ECC", None, Setting;
            /// Whether they are after the next reset.
            EccModePending = "ecc-mode-pending", "ECC after reset", None, Setting;
            /// Size of its memory.
            GpuMemory = "gpu-memory", "GPU memory", Bytes, Setting;
            /// Size of its BAR1 window.
            Bar1Size = "bar1-size", "BAR1", Bytes, Setting;
            /// Power limit in force.
            PowerLimit = "power-limit", "power limit", Milliwatts, Setting;
            /// Power limit it came with.
            PowerLimitDefault = "power-limit-default", "default power limit", Milliwatts, Setting;
            /// Highest power limit.
            PowerLimitMax = "power-limit-max", "highest power limit", Milliwatts, Setting;
            /// Highest clock of the multiprocessors.
            SmClockMax = "sm-clock-max", "highest SM clock", Megahertz, Setting;
            /// Highest clock of the memory.
            MemoryClockMax = "memory-clock-max", "highest memory clock", Megahertz, Setting;
            /// Clock that applications asked for.
            ApplicationClock = "application-clock", "application clock", Megahertz, Setting;
            /// Temperature at which it slows down.
            SlowdownTemperature = "slowdown-temperature", "slows down at", Celsius, Setting;
            /// Temperature at which it shuts down.
            ShutdownTemperature = "shutdown-temperature", "shuts down at", Celsius, Setting;
            /// Performance state, `P0`.
            PerformanceState = "performance-state", "state", None, Measure;
            /// What holds the clocks down now, as names: `software power cap`, `hardware slowdown`, `idle`, ...
            ClockReasons = "clock-reasons", "clocks held by", None, Measure;
            /// PCIe generation of the link now; it falls while the GPU idles.
            PcieGeneration = "pcie-generation", "PCIe gen", Count, Measure;
            /// Highest PCIe generation of the link: of GPU and slot together.
            PcieGenerationMax = "pcie-generation-max", "PCIe gen max", Count, Setting;
            /// Highest PCIe generation of the GPU.
            PcieGenerationGpu = "pcie-generation-gpu", "PCIe gen of the GPU", Count, Setting;
            /// Highest PCIe generation of the slot, which a VM rarely tells.
            PcieGenerationHost = "pcie-generation-host", "PCIe gen of the slot", Count, Setting;
            /// PCIe lanes now.
            PcieLanes = "pcie-lanes", "PCIe lanes", Count, Status;
            /// Highest number of PCIe lanes.
            PcieLanesMax = "pcie-lanes-max", "PCIe lanes max", Count, Setting;
            /// Replays of the PCIe link since the driver was loaded.
            PcieReplays = "pcie-replays", "PCIe replays", Count, Measure;
            /// Uncorrectable memory errors since the driver was loaded.
            EccUncorrected = "ecc-uncorrected", "ECC uncorrected", Count, Measure;
            /// Uncorrectable memory errors of the GPU's life.
            EccUncorrectedEver = "ecc-uncorrected-ever", "ECC uncorrected, ever", Count, Measure;
            /// Corrected memory errors since the driver was loaded.
            EccCorrected = "ecc-corrected", "ECC corrected", Count, Measure;
            /// Corrected memory errors of the GPU's life.
            EccCorrectedEver = "ecc-corrected-ever", "ECC corrected, ever", Count, Measure;
            /// Rows that were remapped after correctable errors.
            RemappedCorrectable = "remapped-correctable", "rows remapped (corrected)", Count, Status;
            /// Rows that were remapped after uncorrectable errors.
            RemappedUncorrectable = "remapped-uncorrectable", "rows remapped (uncorrected)", Count, Status;
            /// Whether a remapped row waits for a reset.
            RemapPending = "remap-pending", "remap pending", None, Status;
            /// Whether a remap failed: the GPU has to be replaced.
            RemapFailed = "remap-failed", "remap failed", None, Status;
            /// Pages that were retired after single-bit errors.
            RetiredSingleBit = "retired-single-bit", "pages retired (single bit)", Count, Status;
            /// Pages that were retired after double-bit errors.
            RetiredDoubleBit = "retired-double-bit", "pages retired (double bit)", Count, Status;
            /// Whether a retired page waits for a reboot.
            RetirementPending = "retirement-pending", "retirement pending", None, Status;
            /// What the driver wants done: `none`, `reset the GPU`, `reboot`, ...
            RecoveryAction = "recovery-action", "driver wants", None, Status;
            /// Links of NVLink that are active.
            NvLinksActive = "nvlinks-active", "NVLinks active", Count, Status;
            /// Links of NVLink that the GPU has.
            NvLinks = "nvlinks", "NVLinks", Count, Setting;

            // One NVLink.
            /// Whether it is active.
            NvLinkActive = "nvlink-active", "active", None, Status;
            /// Speed each way, coding included.
            NvLinkSpeed = "nvlink-speed", "speed", BitsPerSecond, Setting;
            /// Errors of it since the driver was loaded: replays, recoveries and CRC errors together.
            NvLinkErrors = "nvlink-errors", "errors", Count, Measure;

            // One MIG instance.
            /// Its profile, `1g.5gb`.
            MigProfile = "mig-profile", "profile", None, Setting;
            /// Its place, `0:1`: start and size in slices.
            MigPlacement = "mig-placement", "placement", None, Setting;
            /// `MIG-b3061c09-...`.
            MigUuid = "mig-uuid", "UUID", None, Setting;

            // One process on a GPU.
            /// Its name as the driver tells it.
            GpuProcessName = "gpu-process-name", "process", None, Measure;
            /// GPU memory that it uses.
            GpuProcessMemory = "gpu-process-memory", "GPU memory used", Bytes, Measure;

            // The way between two devices.
            /// `X`, `SYS`, `NODE`, `PHB`, `PXB`, `PIX`, `NV4`: in a VM it is the virtual topology and says nothing of the real one.
            TopologyLevel = "topology-level", "way", None, Setting;
            /// Processors near a GPU, as the tool words it, `0-31,64-95`.
            CpuAffinity = "cpu-affinity", "near CPUs", None, Setting;
            /// NUMA node near a GPU, as the tool words it.
            NumaAffinity = "numa-affinity", "near NUMA node", None, Setting;
            /// Device behind a name of the topology: `NIC0` is `mlx5_0`.
            TopologyDevice = "topology-device", "device", None, Setting;
        }
    };
}
pub(super) use gpu;
