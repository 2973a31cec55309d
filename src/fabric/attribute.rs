//! The closed set of properties that facts can state, each with its name in documents, its unit and whether it is a
//! setting (compared between snapshots) or a measurement (which moves by itself).

use serde::{Deserialize, Serialize};

/// Unit of an attribute's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit: text, names, states.
    None,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// Megahertz.
    Megahertz,
    /// Megabytes as VMware Tools counts them (2^20 bytes).
    Mebibytes,
    /// Milliseconds.
    Milliseconds,
}

impl Unit {
    /// The unit as documents print it; `None` where there is none.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Count => Some("count"),
            Self::Bytes => Some("bytes"),
            Self::BitsPerSecond => Some("bits-per-second"),
            Self::Megahertz => Some("megahertz"),
            Self::Mebibytes => Some("mebibytes"),
            Self::Milliseconds => Some("milliseconds"),
        }
    }
}

/// What kind of knowledge an attribute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Set by someone, stays until changed.
    Setting,
    /// A state that the target reports and that matters when it changes.
    Status,
    /// Moves by itself.
    Measure,
}

macro_rules! attributes {
    ($($(#[$meta:meta])* $variant:ident = $name:literal, $label:literal, $unit:ident, $class:ident;)*) => {
        /// A property that a fact can state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Attribute {
            $($(#[$meta])* #[serde(rename = $name)] $variant,)*
        }

        impl Attribute {
            /// All of them, in the order of drawing.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in documents and on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The words beside the value on the screen.
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }

            /// The unit of its numbers.
            pub fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// What kind of knowledge it is.
            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }
        }
    };
}

attributes! {
    // The guest itself.
    /// Host name.
    Hostname = "hostname", "host name", None, Setting;
    /// Name of the distribution.
    OperatingSystem = "operating-system", "system", None, Setting;
    /// `uname -r`.
    KernelRelease = "kernel-release", "kernel", None, Setting;
    /// `/etc/machine-id`; clones of a VM share it.
    MachineId = "machine-id", "machine id", None, Setting;
    /// `/proc/sys/kernel/random/boot_id`: another one means a reboot.
    BootId = "boot-id", "boot id", None, Status;
    /// Hypervisor under this system: `vmware`, `kvm`, `none`.
    Virtualization = "virtualization", "virtual on", None, Setting;
    /// DMI system vendor.
    SystemVendor = "system-vendor", "vendor", None, Setting;
    /// DMI product name.
    ProductName = "product-name", "product", None, Setting;
    /// DMI product UUID: the VM's BIOS UUID (root only).
    BiosUuid = "bios-uuid", "BIOS UUID", None, Setting;
    /// Number of processors.
    ProcessorCount = "processor-count", "processors", Count, Setting;
    /// Numeric id of the login.
    LoginUserId = "login-user-id", "user id", None, Setting;
    /// True if the login may see and do what root may (`CAP_NET_ADMIN` and `CAP_SYS_ADMIN`).
    Privileged = "privileged", "privileged", None, Setting;
    /// Commands that are run by `sudo`; in need of privilege where `sudo` refused one.
    ReadByRoot = "read-by-root", "read by sudo", None, Setting;
    /// Queue pairs of other users' processes: known to be visible, or in need of privilege.
    ForeignQueuePairs = "foreign-queue-pairs", "others' queue pairs", None, Setting;
    /// How RDMA devices are shared among network namespaces.
    RdmaNamespaceMode = "rdma-namespace-mode", "RDMA namespaces", None, Setting;
    /// What RDMA there is at all, in a sentence when there is none.
    RdmaPresence = "rdma-presence", "RDMA", None, Status;
    /// Total memory.
    MemoryTotal = "memory-total", "memory", Bytes, Setting;
    /// Memory available for new work.
    MemoryAvailable = "memory-available", "memory free", Bytes, Measure;
    /// Transparent huge pages: the chosen word.
    TransparentHugePages = "transparent-huge-pages", "THP", None, Setting;
    /// Transparent huge page defragmentation: the chosen word.
    TransparentHugePageDefrag = "transparent-huge-page-defrag", "THP defrag", None, Setting;
    /// `vm.swappiness`.
    Swappiness = "swappiness", "swappiness", Count, Setting;
    /// `kernel.numa_balancing`.
    NumaBalancing = "numa-balancing", "NUMA balancing", None, Setting;
    /// True if irqbalance runs.
    IrqBalance = "irqbalance", "irqbalance", None, Setting;
    /// Huge pages reserved.
    HugePagesTotal = "huge-pages-total", "huge pages", Count, Setting;
    /// Huge pages free.
    HugePagesFree = "huge-pages-free", "huge pages free", Count, Measure;
    /// Size of one huge page.
    HugePageSize = "huge-page-size", "huge page size", Bytes, Setting;
    /// Memory the balloon driver took (VMware Tools); must be 0 where memory is reserved.
    Balloon = "balloon", "balloon", Mebibytes, Measure;
    /// Memory the host swapped out (VMware Tools).
    HostSwap = "host-swap", "host swap", Mebibytes, Measure;
    /// Memory limit of the VM. `u64::MAX` stands for no limit.
    MemoryLimit = "memory-limit", "memory limit", Mebibytes, Setting;
    /// Memory reservation of the VM.
    MemoryReservation = "memory-reservation", "memory reserved", Mebibytes, Setting;
    /// CPU reservation of the VM.
    CpuReservation = "cpu-reservation", "CPU reserved", Megahertz, Setting;
    /// CPU limit of the VM. `u64::MAX` stands for no limit.
    CpuLimit = "cpu-limit", "CPU limit", Megahertz, Setting;
    /// Speed of the host's processors.
    HostProcessorSpeed = "host-processor-speed", "host CPU speed", Megahertz, Setting;
    /// Whether kernel messages can be read.
    KernelLog = "kernel-log", "kernel log", None, Setting;
    /// Locked memory, soft limit. `u64::MAX` stands for unlimited and is drawn so.
    MemlockSoft = "memlock-soft", "memlock soft", Bytes, Setting;
    /// Locked memory, hard limit. `u64::MAX` stands for unlimited and is drawn so.
    MemlockHard = "memlock-hard", "memlock hard", Bytes, Setting;

    // PCI functions.
    /// What kind of function it is to us: `PVRDMA`, `vmxnet3`, `NVIDIA GPU`, `RDMA-capable NIC`, ...
    FunctionKind = "function-kind", "kind", None, Setting;
    /// Vendor id, four hexadecimal digits.
    VendorId = "vendor-id", "vendor id", None, Setting;
    /// Device id, four hexadecimal digits.
    DeviceId = "device-id", "device id", None, Setting;
    /// Class code, six hexadecimal digits.
    ClassCode = "class-code", "class", None, Setting;
    /// Kernel driver in use.
    Driver = "driver", "driver", None, Setting;
    /// The other function of the same slot that it is paired with (PVRDMA with its vmxnet3).
    PairedFunction = "paired-function", "paired with", None, Setting;
    /// NUMA node by sysfs; -1 where the VM does not say.
    NumaNode = "numa-node", "NUMA node", None, Setting;
    /// PCIe speed of the link now, as sysfs words it.
    LinkSpeed = "link-speed", "PCIe speed", None, Status;
    /// Highest PCIe speed.
    LinkSpeedMax = "link-speed-max", "PCIe speed max", None, Setting;
    /// PCIe lanes now.
    LinkWidth = "link-width", "PCIe lanes", Count, Status;
    /// Highest number of PCIe lanes.
    LinkWidthMax = "link-width-max", "PCIe lanes max", Count, Setting;

    // RDMA devices.
    /// `CA`, `RNIC`, ...
    NodeType = "node-type", "node type", None, Setting;
    /// GUID of the device.
    NodeGuid = "node-guid", "node GUID", None, Setting;
    /// GUID of the system; all zero is normal for PVRDMA.
    SystemImageGuid = "system-image-guid", "system GUID", None, Setting;
    /// Free text that someone gave the node.
    NodeDescription = "node-description", "description", None, Setting;
    /// Firmware version.
    Firmware = "firmware", "firmware", None, Setting;
    /// Model as the driver names it (`MT4123`, `VMW_PVRDMA-1.0.1.0-k`).
    HardwareType = "hardware-type", "model", None, Setting;
    /// Board id.
    BoardId = "board-id", "board", None, Setting;
    /// Hardware revision.
    HardwareRevision = "hardware-revision", "revision", None, Setting;
    /// PCI function of the device.
    PciAddress = "pci-address", "PCI address", None, Setting;
    /// `roce`, `ib`, `iw` as the kernel says.
    Protocol = "protocol", "protocol", None, Setting;
    /// Capability words.
    Capabilities = "capabilities", "capabilities", None, Setting;
    /// Adaptive moderation of interrupts.
    AdaptiveModeration = "adaptive-moderation", "adaptive moderation", None, Setting;
    /// Name of the verbs node (`uverbs0`).
    VerbsNode = "verbs-node", "verbs node", None, Setting;
    /// Verbs ABI version of the driver.
    VerbsAbi = "verbs-abi", "verbs ABI", Count, Setting;
    /// Number of protection domains.
    ProtectionDomains = "protection-domains", "PDs", Count, Measure;
    /// Number of completion queues.
    CompletionQueues = "completion-queues", "CQs", Count, Measure;
    /// Number of memory regions.
    MemoryRegions = "memory-regions", "MRs", Count, Measure;
    /// Number of queue pairs the kernel counts.
    QueuePairs = "queue-pairs", "QPs", Count, Measure;
    /// Number of connection identifiers.
    ConnectionIds = "connection-ids", "CM ids", Count, Measure;
    /// Number of user contexts.
    UserContexts = "user-contexts", "contexts", Count, Measure;
    /// Number of shared receive queues.
    SharedReceiveQueues = "shared-receive-queues", "SRQs", Count, Measure;

    // RDMA ports.
    /// Logical state.
    PortState = "port-state", "state", None, Status;
    /// Physical state.
    PhysicalState = "physical-state", "physical state", None, Status;
    /// Link layer.
    LinkLayer = "link-layer", "link layer", None, Setting;
    /// Rate as the driver reports it; often not the truth in a VM.
    PortRate = "port-rate", "reported rate", BitsPerSecond, Status;
    /// The rate that traffic can really reach, where anything honest tells it.
    Ceiling = "ceiling", "ceiling", BitsPerSecond, Setting;
    /// RoCE path MTU that follows from the netdev's MTU.
    PathMtu = "path-mtu", "RoCE MTU", Bytes, Status;
    /// Local identifier (InfiniBand; 0 on RoCE).
    Lid = "lid", "LID", None, Status;
    /// Local identifier of the subnet manager.
    SubnetManagerLid = "subnet-manager-lid", "SM LID", None, Status;
    /// First 64 bits of the GIDs of an InfiniBand port.
    SubnetPrefix = "subnet-prefix", "subnet prefix", None, Setting;
    /// Partition key at index 0.
    PartitionKey = "partition-key", "P_Key", None, Setting;
    /// Capability mask.
    CapabilityMask = "capability-mask", "capability mask", None, Setting;
    /// Name of the netdev under the port.
    PortNetdev = "port-netdev", "netdev", None, Setting;
    /// Whether this driver counts bytes.
    ByteCounters = "byte-counters", "byte counters", None, Setting;
    /// Whether this driver counts packets.
    PacketCounters = "packet-counters", "packet counters", None, Setting;
    /// Whether this driver counts errors and retransmissions.
    ErrorCounters = "error-counters", "error counters", None, Setting;

    // GIDs.
    /// The identifier.
    GidValue = "gid", "GID", None, Setting;
    /// RoCE v1 or v2.
    GidType = "gid-type", "type", None, Setting;
    /// Netdev of the entry.
    GidNetdev = "gid-netdev", "netdev", None, Setting;

    // Queue pairs.
    /// RC, UD, ...
    QueuePairType = "queue-pair-type", "type", None, Status;
    /// RESET to ERR.
    QueuePairState = "queue-pair-state", "state", None, Status;
    /// Port of the queue pair.
    QueuePairPort = "queue-pair-port", "port", None, Status;
    /// Queue pair number at the other end.
    RemoteQueuePair = "remote-queue-pair", "remote QP", None, Status;
    /// Process that owns it.
    OwnerProcess = "owner-process", "pid", None, Status;
    /// Name of the owner; kernel owners in brackets.
    OwnerCommand = "owner-command", "owner", None, Status;
    /// State of path migration.
    PathMigration = "path-migration", "path migration", None, Status;

    // Network interfaces.
    /// Hardware address.
    HardwareAddress = "hardware-address", "MAC", None, Setting;
    /// MTU of the interface.
    Mtu = "mtu", "MTU", Bytes, Status;
    /// Operational state (`up`, `down`, `unknown`, ...).
    OperationalState = "operational-state", "state", None, Status;
    /// True if administratively up.
    AdminUp = "admin-up", "admin up", None, Status;
    /// True if the carrier is there.
    Carrier = "carrier", "carrier", None, Status;
    /// Speed the driver reports; virtual ones report a virtual speed.
    Speed = "speed", "speed", BitsPerSecond, Status;
    /// Addresses with prefix length.
    Addresses = "addresses", "addresses", None, Status;
    /// To what the MTU is set for the next boot, and by which file. Empty: no file sets it, the driver's default applies.
    MtuPersistence = "mtu-persistence", "MTU after reboot", None, Setting;
    /// To what the addresses are set for the next boot, and by which file. Empty: no file sets them.
    AddressPersistence = "address-persistence", "addresses after reboot", None, Setting;
    /// Interface this one rides on (VLAN parent, bond).
    ParentNetdev = "parent-netdev", "parent", None, Setting;
    /// VLAN id.
    VlanId = "vlan-id", "VLAN", None, Setting;

    // NUMA nodes.
    /// Processors of the node, `0-3`.
    NodeProcessors = "node-processors", "processors", None, Setting;
    /// Memory of the node.
    NodeMemory = "node-memory", "memory", Bytes, Setting;
    /// Free memory of the node.
    NodeMemoryFree = "node-memory-free", "memory free", Bytes, Measure;
    /// Distances to all nodes, in order.
    NodeDistances = "node-distances", "distances", None, Setting;

    // Processes, modules, packages, nodes, variables, messages.
    /// Name of the process.
    ProcessCommand = "process-command", "command", None, Status;
    /// Size of a module.
    ModuleSize = "module-size", "size", Bytes, Measure;
    /// Use count of a module.
    ModuleUses = "module-uses", "uses", Count, Measure;
    /// Version of a module or package.
    Version = "version", "version", None, Setting;
    /// Permissions as `ls` prints them.
    Permissions = "permissions", "permissions", None, Setting;
    /// Owner and group.
    Owner = "owner", "owner", None, Setting;
    /// Major and minor number.
    DeviceNumber = "device-number", "device number", None, Setting;
    /// Value of an allowed environment variable.
    VariableValue = "variable-value", "value", None, Setting;
    /// A kernel message.
    Message = "message", "message", None, Status;
    /// How grave a message is: `info`, `warning`, `error`.
    Severity = "severity", "severity", None, Status;
    /// What a message means.
    Meaning = "meaning", "meaning", None, Status;

    // ESXi hosts: the host itself.
    /// `7.0.3`.
    EsxiVersion = "esxi-version", "ESXi", None, Setting;
    /// Build number of the hypervisor.
    EsxiBuild = "esxi-build", "build", None, Setting;
    /// Name of the release that the build number stands for, `7.0 U3d`; not published for a build that is not in the list.
    EsxiRelease = "esxi-release", "release", None, Setting;
    /// System UUID of the host.
    HostUuid = "host-uuid", "system UUID", None, Setting;
    /// Which of `esxcli` and `localcli` reads this host, and why.
    CommandLineTool = "command-line-tool", "read with", None, Status;
    /// What waits for a reboot, in words; empty if nothing.
    RebootPending = "reboot-pending", "reboot pending", None, Status;
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

impl Attribute {
    /// The attribute of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|attribute| attribute.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        let names: BTreeSet<_> = Attribute::ALL.iter().map(|attribute| attribute.name()).collect();
        assert_eq!(names.len(), Attribute::ALL.len());
        for attribute in Attribute::ALL {
            assert_eq!(Attribute::from_name(attribute.name()), Some(*attribute));
            let json = serde_json::to_string(attribute).expect("a unit variant");
            assert_eq!(json, format!("{:?}", attribute.name()));
        }
        assert_eq!(Attribute::from_name("no-such"), None);
    }
}
