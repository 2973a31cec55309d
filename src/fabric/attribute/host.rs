//! The attributes of ESXi hosts and of the VMs on them.

/// Hands the rows before, and its own, to the next list.
macro_rules! host {
    ($next:ident, $then:ident, $last:ident, $($before:tt)*) => {
        $next! { $then, $last,
        $($before)*

            // ESXi hosts: the host itself.
            /// `7.0.3`.
            EsxiVersion = "esxi-version", "ESXi", None, Setting;
            /// Build number of the hypervisor.
            EsxiBuild = "esxi-build", "build", None, Setting;
            /// Name of the release that the build number stands for, `7.0 U3d`; not published for a build that is not in the list.
            EsxiRelease = "esxi-release", "release", None, Setting;
            /// The clock of the host when it was read, to the second.
            WallClock = "wall-clock", "clock", None, Measure;
            /// System UUID of the host.
            HostUuid = "host-uuid", "system UUID", None, Setting;
            /// Which of `esxcli` and `localcli` reads this host, and why.
            CommandLineTool = "command-line-tool", "read with", None, Status;
            /// What waits for a reboot, in words; empty if nothing.
            RebootPending = "reboot-pending", "reboot pending", None, Status;
            /// How short its memory is: `high` (nothing is taken from VMs), `clear`, `soft`, `hard`, `low`.
            MemoryState = "memory-state", "memory state", None, Status;
            /// Processor packages.
            ProcessorPackages = "processor-packages", "CPU packages", Count, Setting;
            /// Processor cores.
            ProcessorCores = "processor-cores", "CPU cores", Count, Setting;
            /// Processor threads.
            ProcessorThreads = "processor-threads", "CPU threads", Count, Setting;
            /// True if hyperthreading is active.
            Hyperthreading = "hyperthreading", "hyperthreading", None, Setting;
            /// Support for hardware virtualization; 3 means enabled in the firmware.
            HardwareVirtualization = "hardware-virtualization", "HV support", Count, Setting;
            /// NUMA nodes of the host.
            NumaNodeCount = "numa-node-count", "NUMA nodes", Count, Setting;
            /// Default graphics type of the host.
            DefaultGraphicsType = "default-graphics-type", "default graphics", None, Setting;
            /// Policy by which shared graphics devices are assigned.
            GraphicsAssignment = "graphics-assignment", "graphics policy", None, Setting;

            // ESXi hosts: PCI functions, graphics devices, virtual functions.
            /// Vendor in words.
            VendorName = "vendor-name", "vendor", None, Setting;
            /// Device in words.
            DeviceName = "device-name", "device", None, Setting;
            /// Subsystem vendor and device, `15b3:0016`.
            SubsystemId = "subsystem-id", "subsystem", None, Setting;
            /// Who owns the function after the next boot: `VMkernel`, `VM Passthru`, `Unknown`.
            ConfiguredOwner = "configured-owner", "configured owner", None, Setting;
            /// Who owns the function now.
            CurrentOwner = "current-owner", "owner", None, Status;
            /// True if the function can be passed through.
            PassthroughCapable = "passthrough-capable", "passthrough capable", None, Setting;
            /// True if passthrough is enabled for the function.
            PassthroughEnabled = "passthrough-enabled", "passthrough", None, Setting;
            /// How the function is reset.
            ResetMethod = "reset-method", "reset method", None, Setting;
            /// Physical slot.
            PhysicalSlot = "physical-slot", "slot", None, Setting;
            /// Bridge above the function, as a hexadecimal address.
            ParentFunction = "parent-function", "behind", None, Setting;
            /// VMkernel's own name of the function, `vmnic4`; also found through the list of adapters where the PCI list leaves it empty.
            KernelName = "kernel-name", "VMkernel name", None, Setting;
            /// `Basic`, `Shared`, `Direct`, `SharedPassthru`.
            GraphicsType = "graphics-type", "graphics type", None, Setting;
            /// VMs that use a graphics device.
            GraphicsVms = "graphics-vms", "VMs on it", Count, Measure;
            /// True if a virtual function is in use.
            VirtualFunctionActive = "vf-active", "active", None, Status;
            /// World that owns a virtual function.
            OwnerWorld = "owner-world", "owner world", None, Status;

            // ESXi hosts: modules, parameters, software.
            /// True if a VMkernel module is loaded.
            ModuleLoaded = "module-loaded", "loaded", None, Status;
            /// True if a VMkernel module is enabled.
            ModuleEnabled = "module-enabled", "enabled", None, Setting;
            /// The whole option string of a module: a later `set` replaces it.
            ModuleOptions = "module-options", "options", None, Setting;
            /// Signature of a module.
            SignedStatus = "signed-status", "signed", None, Setting;
            /// Type of a module parameter.
            ParameterType = "parameter-type", "type", None, Setting;
            /// Configured value of a module parameter; empty means the driver's default.
            ParameterValue = "parameter-value", "value", None, Setting;
            /// Acceptance level of a VIB.
            AcceptanceLevel = "acceptance-level", "acceptance", None, Setting;
            /// Date of installation of a VIB.
            InstallDate = "install-date", "installed", None, Setting;

            // ESXi hosts: RDMA devices and physical adapters.
            /// Physical adapter of an RDMA device.
            PairedUplink = "paired-uplink", "paired uplink", None, Setting;
            /// VMkernel adapters bound to an RDMA device.
            RdmaVmknics = "rdma-vmknics", "VMkernel adapters", None, Setting;
            /// True if an RDMA device speaks RoCE v1.
            RoceV1 = "roce-v1", "RoCE v1", None, Setting;
            /// True if an RDMA device speaks RoCE v2.
            RoceV2 = "roce-v2", "RoCE v2", None, Setting;
            /// True if an RDMA device speaks iWARP.
            Iwarp = "iwarp", "iWARP", None, Setting;
            /// Version of the driver.
            DriverVersion = "driver-version", "driver version", None, Setting;
            /// `Full` or `Half`.
            Duplex = "duplex", "duplex", None, Status;
            /// True if pause frames are honoured.
            PauseRx = "pause-rx", "pause rx", None, Setting;
            /// True if pause frames are sent.
            PauseTx = "pause-tx", "pause tx", None, Setting;
            /// Kind of cable.
            CableType = "cable-type", "cable", None, Setting;
            /// `IEEE Mode`, `CEE Mode`, `Unknown`.
            DcbMode = "dcb-mode", "DCB mode", None, Status;
            /// True if priority flow control is on.
            PfcEnabled = "pfc-enabled", "PFC", None, Status;
            /// Priorities with flow control, of 0 to 7.
            PfcPriorities = "pfc-priorities", "PFC priorities", None, Status;
            /// True if the adapter is one for virtual functions.
            SriovCapable = "sriov-capable", "SR-IOV", None, Setting;
            /// Value of a statistic since the driver was loaded.
            CounterValue = "counter-value", "value", Count, Measure;

            // ESXi hosts: switches, port groups, ports, VMkernel adapters, firewall, settings.
            /// `standard` or `distributed`.
            SwitchKind = "switch-kind", "kind", None, Setting;
            /// Id of a distributed switch, `50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81`.
            SwitchId = "switch-id", "id", None, Setting;
            /// Physical adapters of a switch.
            Uplinks = "uplinks", "uplinks", None, Setting;
            /// Active uplinks by the teaming of a port or port group.
            ActiveUplinks = "active-uplinks", "active uplinks", None, Setting;
            /// Standby uplinks by the teaming of a port or port group.
            StandbyUplinks = "standby-uplinks", "standby uplinks", None, Setting;
            /// Load balancing of the teaming.
            TeamingPolicy = "teaming-policy", "teaming", None, Setting;
            /// Name of the switch to which a port group, a VMkernel adapter or a VM's adapter is connected.
            OnSwitch = "on-switch", "switch", None, Setting;
            /// Port group of a port, a VMkernel adapter or a VM's adapter.
            PortGroupKey = "port-group", "port group", None, Setting;
            /// Port of the switch to which something is connected.
            PortId = "port-id", "port", None, Status;
            /// Id of the connection to a port of a distributed switch.
            ConnectionId = "connection-id", "connection", None, Status;
            /// What is connected to a port: `vm001.eth1`, `vmnic4`, `vmk1`.
            PortClient = "port-client", "client", None, Status;
            /// True if something is connected to a port.
            PortInUse = "port-in-use", "in use", None, Status;
            /// Link state of a port.
            PortLink = "port-link", "link", None, Status;
            /// TCP/IP stack of a VMkernel adapter.
            Netstack = "netstack", "netstack", None, Setting;
            /// `STATIC`, `DHCP`, ...
            AddressType = "address-type", "address type", None, Setting;
            /// True if a firewall ruleset is open.
            RulesetEnabled = "ruleset-enabled", "enabled", None, Setting;
            /// Configured value of a setting.
            SettingValue = "setting-value", "value", None, Setting;
            /// Value of a boot-time setting that is in force now.
            SettingRuntime = "setting-runtime", "runtime", None, Status;
            /// Default of a setting.
            SettingDefault = "setting-default", "default", None, Setting;
            /// What the host says of a setting.
            SettingDescription = "setting-description", "description", None, Setting;
            /// One line of a configuration file.
            FileText = "file-text", "text", None, Setting;

            // VMs on an ESXi host, and their devices.
            /// Display name of a VM.
            VmName = "vm-name", "name", None, Setting;
            /// Number of a VM on its host.
            VmNumber = "vm-number", "vmid", Count, Setting;
            /// Path of the VMX as the host knows it.
            VmxPath = "vmx-path", "VMX", None, Setting;
            /// Lines of the VMX, its secrets masked. The VM's own process rewrites the file.
            VmxLines = "vmx-lines", "VMX lines", None, Measure;
            /// True if a VM is a template, which never runs.
            IsTemplate = "is-template", "template", None, Setting;
            /// Virtual hardware version, 19 for `vmx-19`.
            HardwareVersion = "hardware-version", "hardware version", Count, Setting;
            /// Kind of guest, `ubuntu64Guest`.
            GuestId = "guest-id", "guest OS", None, Setting;
            /// `poweredOn`, `poweredOff`, `suspended`.
            PowerState = "power-state", "power", None, Status;
            /// World of a running VM.
            WorldId = "world-id", "world", Count, Status;
            /// VMX cartel of a running VM.
            CartelId = "cartel-id", "cartel", Count, Status;
            /// State of VMware Tools.
            ToolsStatus = "tools-status", "VMware Tools", None, Status;
            /// `efi` or `bios`.
            VmFirmware = "vm-firmware", "VM firmware", None, Setting;
            /// True if the VM boots with Secure Boot.
            SecureBoot = "secure-boot", "Secure Boot", None, Setting;
            /// True if all memory stays reserved whatever its size.
            ReservationLocked = "reservation-locked", "reservation locked to maximum", None, Setting;
            /// True if hardware virtualization is exposed to the guest.
            NestedVirtualization = "nested-virtualization", "nested virtualization", None, Setting;
            /// True if processors can be added while it runs.
            CpuHotAdd = "cpu-hot-add", "CPU hot-add", None, Setting;
            /// True if memory can be added while it runs.
            MemoryHotAdd = "memory-hot-add", "memory hot-add", None, Setting;
            /// `normal`, `high`, ...
            LatencySensitivity = "latency-sensitivity", "latency sensitivity", None, Setting;
            /// Snapshots of a VM.
            SnapshotCount = "snapshot-count", "snapshots", Count, Status;
            /// Label of a device, `Network adapter 1`.
            DeviceLabel = "device-label", "label", None, Setting;
            /// Type by the API, `VirtualVmxnet3Vrdma`.
            DeviceType = "device-type", "type", None, Setting;
            /// What a device is to us: `PVRDMA adapter`, `vmxnet3 adapter`, `passthrough`, `dynamic passthrough`, `vGPU`, `SR-IOV adapter`, ...
            DeviceKind = "device-kind", "kind", None, Setting;
            /// `rocev1` or `rocev2` of a PVRDMA adapter.
            DeviceProtocol = "device-protocol", "protocol", None, Setting;
            /// True if an adapter is connected.
            DeviceConnected = "device-connected", "connected", None, Status;
            /// PCI function of the host behind a passthrough device, hexadecimal.
            BackingFunction = "backing-function", "host function", None, Setting;
            /// Id of a passthrough device as the configuration writes it.
            BackingId = "backing-id", "id as written", None, Setting;
            /// Host for which a passthrough device was configured.
            BackingSystem = "backing-system", "system id", None, Setting;
            /// vGPU or MIG profile.
            VgpuProfile = "vgpu-profile", "vGPU profile", None, Setting;
            /// Vendor and device ids that a dynamic passthrough device may become.
            AllowedDevices = "allowed-devices", "allowed devices", None, Setting;
        }
    };
}
pub(super) use host;
