//! The attributes of guests, and those that guests and hosts share: what the system itself, its PCI functions, RDMA
//! devices, interfaces, NUMA nodes and messages can be known by.

/// Hands the rows to the next list, which adds its own and hands all of them to `$last`.
macro_rules! guest {
    ($next:ident, $then:ident, $third:ident, $last:ident) => {
        $next! { $then, $third, $last,
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
            /// Time since boot.
            Uptime = "uptime", "up for", Milliseconds, Measure;
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
            MemoryAvailable = "memory-available", "memory available", Bytes, Measure;
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
            /// True if the verbs library of user space lists the device.
            VerbsListed = "verbs-listed", "seen by verbs", None, Status;
            /// What the verbs library says against the device.
            VerbsWarning = "verbs-warning", "verbs warning", None, Status;
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
            /// The neighbour table: address, hardware address, state.
            Neighbours = "neighbours", "neighbours", None, Measure;
            /// Addresses of the neighbour table for which nobody answers.
            UnresolvedNeighbours = "unresolved-neighbours", "no answer for", None, Status;
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
            /// State of a service: `active`, `inactive`, `failed`; `not-found` where there is none.
            ServiceState = "service-state", "state", None, Status;
            /// True if the file of settings of a firewall switches it on, whatever its service says.
            FirewallEnabled = "firewall-enabled", "switched on", None, Setting;
            /// What a zone of a firewall does with what it was told nothing about: `ACCEPT`, `default`, ...
            ZoneTarget = "zone-target", "target", None, Setting;
            /// Interfaces of a zone.
            ZoneInterfaces = "zone-interfaces", "interfaces", None, Setting;
            /// Addresses of peers that fall into a zone, wherever they come from.
            ZoneSources = "zone-sources", "sources", None, Setting;
            /// Services and ports that a zone lets in.
            ZoneOpen = "zone-open", "lets in", None, Setting;
            /// By which a parameter got its value: `default`, `environment`, a file.
            ParameterSource = "parameter-source", "from", None, Setting;

            // What jobs ride on.
            /// Version of Open MPI.
            OpenMpiVersion = "open-mpi-version", "Open MPI", None, Setting;
            /// Version of the `PMIx` library that Open MPI starts processes with.
            PmixVersion = "pmix-version", "PMIx", None, Setting;
            /// Version of UCX.
            UcxVersion = "ucx-version", "UCX", None, Setting;
            /// Components that Open MPI was built with: `pml ucx`.
            MpiComponents = "mpi-components", "Open MPI components", None, Setting;
            /// Transports that UCX can open, each with its device: `rc_verbs rocep11s0f1:1`.
            UcxTransports = "ucx-transports", "UCX transports", None, Status;
            /// Fingerprints of the login's own public keys.
            OwnKeys = "own-keys", "own keys", None, Setting;
            /// Private keys of the login whose public half is not beside them: their fingerprint is not read.
            PrivateKeysAlone = "private-keys-alone", "keys without public half", None, Setting;
            /// What the login's and the system's SSH settings say of host keys that are not known: `no`, `accept-new`, `ask`.
            HostKeyChecking = "host-key-checking", "unknown host keys", None, Setting;
            /// Fingerprints of the keys that this login lets in.
            AuthorizedKeys = "authorized-keys", "keys let in", None, Setting;
            /// Fingerprints of the host keys that this login knows.
            KnownHostKeys = "known-host-keys", "known host keys", None, Setting;
            /// Fingerprints of the system's own host keys.
            HostKeys = "host-keys", "host keys", None, Setting;
            /// Most queue pairs of a device.
            MaxQueuePairs = "max-queue-pairs", "max QPs", Count, Setting;
            /// Most work requests of one queue of a device.
            MaxWorkRequests = "max-work-requests", "max WRs", Count, Setting;
            /// Most shared receive queues of a device; 0 where it has none.
            MaxSharedQueues = "max-shared-queues", "max SRQs", Count, Setting;
            /// Most work requests of one shared receive queue.
            MaxSharedRequests = "max-shared-requests", "max SRQ WRs", Count, Setting;
            /// Version of a client that registered itself with the kernel for memory of GPUs.
            PeerMemory = "peer-memory", "peer memory", None, Status;
            /// A kernel message.
            Message = "message", "message", None, Status;
            /// How grave a message is: `info`, `warning`, `error`.
            Severity = "severity", "severity", None, Status;
            /// What a message means.
            Meaning = "meaning", "meaning", None, Status;
        }
    };
}
pub(super) use guest;
