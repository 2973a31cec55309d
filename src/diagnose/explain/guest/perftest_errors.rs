//! What perftest, the verbs library and the RDMA tools say when something does not work. Most failures are told by several
//! lines; each list names the line that decides.

use super::said::{SAID, Said};
use crate::diagnose::explain::Kind;
use crate::diagnose::finding::Confidence::{Likely, Possible};
use crate::diagnose::finding::Status;

const NO_TCP: &str = "Couldn't connect to ";
const PORT_DOWN: &str = "Port number 1 state is Down";
const ADDRESS: &str = "Received 10 times ADDR_ERROR";
const TO_RTR: &str = "to RTR";
const ABI: &str = "does not support the kernel ABI of";
const NO_DEVICE: &str = "Unable to find the Infiniband/RoCE device";
const NO_REGION: &str = "Couldn't allocate MR";

pub(super) const SAID_BY: &[Said] = &[
    Said {
        words: &[NO_TCP],
        with: &[&[
            "Unable to init the socket connection",
            "Unable to open file descriptor for socket connection",
            ":18515",
        ]],
        kind: Kind::Perftest,
        check: "guest.perftest-side-channel",
        subject: "the server",
        title: "no TCP connection to {}: the test did not begin",
        cause: "perftest agrees on the test over ordinary TCP (port 18515) first; RDMA was not tried at all, so this says nothing of it.",
        causes: &[
            (Likely, "no server runs there yet: the same command without an address has to be started first"),
            (Likely, "a firewall on the other side refuses the port"),
            (Possible, "the address is another machine's, or not reachable"),
        ],
        decide: "Whether TCP port 18515 of the server can be reached",
        next: &["ping -c 3 SERVER", "nc -vz SERVER 18515", "ss -ltnp | grep 18515   (on the server)"],
        ..SAID
    },
    Said {
        words: &["Couldn't listen to port"],
        kind: Kind::Perftest,
        check: "guest.perftest-side-channel",
        subject: "the port",
        title: "the server cannot listen on its TCP port",
        causes: &[(Likely, "another perftest server still runs there"), (Possible, "another program has the port")],
        decide: "Who has the port",
        next: &["ss -ltnp | grep 18515", "ib_write_bw -p 18516 ..."],
        ..SAID
    },
    Said {
        words: &[PORT_DOWN, "Couldn't set the link layer"],
        kind: Kind::Perftest,
        check: "guest.port-active",
        subject: "port",
        title: "the test chose a device whose port is down",
        cause: "What is said of the link layer and the context follows from it. Without -d the first device of the list is taken, whether its port is up \
                or not.",
        causes: &[
            (Likely, "another device is the right one: name it with -d, and its port with -i"),
            (
                Possible,
                "the port should be up: its interface is down, the virtual network adapter disconnected, or the link lost",
            ),
        ],
        decide: "Which ports are ACTIVE",
        next: &["rdma link show", "ib_write_bw -d DEVICE -i 1 ...", "ip link show"],
        ..SAID
    },
    Said {
        words: &["Couldn't get context for the device", "Failed to open device", "Couldn't open device"],
        unless: &[PORT_DOWN, "Couldn't set the link layer"],
        kind: Kind::Perftest,
        check: "guest.device-nodes",
        subject: "/dev/infiniband",
        title: "the device could not be opened",
        causes: &[
            (Likely, "this user may not open /dev/infiniband/uverbsN, or a container was not given it"),
            (Possible, "the verbs library does not fit the kernel's driver"),
        ],
        decide: "Who may open the device nodes",
        next: &["ls -l /dev/infiniband", "id", "ibv_devinfo"],
        ..SAID
    },
    Said {
        words: &[NO_DEVICE, "IB device not found", "Did not detect devices", "If device exists, check if driver is up"],
        unless: &[ABI],
        kind: Kind::Perftest,
        check: "guest.rdma-device",
        subject: "RDMA device",
        title: "the RDMA device that the test was to use is not there",
        causes: &[
            (
                Likely,
                "the name behind -d is another machine's, or from before udev renamed the device (rocep..., not mlx5_0)",
            ),
            (Possible, "the driver is not loaded, the verbs library lacks the provider, or the VM has no RDMA adapter"),
        ],
        decide: "Which devices there are",
        next: &["ibv_devices", "rdma link show", "lspci -nnk"],
        ..SAID
    },
    Said {
        words: &[ABI],
        kind: Kind::IbvDevinfo,
        check: "guest.verbs-abi",
        subject: "verbs library",
        title: "the verbs library is of another age than the kernel's driver",
        cause: "The provider does not support the version of the interface that the kernel's driver has: rdma link shows the port as ACTIVE, and every \
                program says that there is no device. The link is not what is missing.",
        causes: &[
            (
                Likely,
                "a driver of the vendor was installed without its libraries, or a container brings an older or newer rdma-core than its host",
            ),
            (Possible, "one library of rdma-core is of another release than the rest"),
        ],
        decide: "The versions of rdma-core and of the driver",
        next: &[
            "rdma link show",
            "dpkg -l | grep -e rdma-core -e ibverbs",
            "rpm -q rdma-core libibverbs",
            "modinfo DRIVER | grep -e version -e filename",
        ],
        ..SAID
    },
    Said {
        words: &[
            "couldn't load driver 'libvmw_pvrdma",
            "couldn't load driver 'vmw_pvrdma",
            "couldn't load driver 'libmlx5",
            "couldn't load driver 'mlx5",
        ],
        kind: Kind::IbvDevinfo,
        check: "guest.provider-library",
        status: Status::Warn,
        confidence: Likely,
        subject: "provider",
        title: "the verbs library cannot load {}",
        cause: "A device of that driver is there for the kernel, and no program sees it. Where the guest has no such device, the line is noise.",
        causes: &[
            (Likely, "the package with the providers is missing or of another release (ibverbs-providers, libibverbs)"),
            (Possible, "/etc/libibverbs.d names it and somebody removed the library"),
        ],
        decide: "lspci -nnk: has the guest such a device (15ad:0820 for vmw_pvrdma, 15b3 for mlx5)?",
        next: &[
            "lspci -nnk",
            "ibv_devices",
            "ls /etc/libibverbs.d /usr/lib*/libibverbs /usr/lib/*/libibverbs",
            "sudo apt-get install ibverbs-providers",
        ],
        ..SAID
    },
    Said {
        words: &["libibverbs: Warning: couldn't load driver"],
        unless: &[
            "couldn't load driver 'libvmw_pvrdma",
            "couldn't load driver 'vmw_pvrdma",
            "couldn't load driver 'libmlx5",
            "couldn't load driver 'mlx5",
        ],
        kind: Kind::IbvDevinfo,
        check: "guest.provider-library",
        status: Status::Info,
        subject: "provider",
        title: "the verbs library names providers that are not installed; for adapters that are not here that is noise",
        cause: "/etc/libibverbs.d lists a provider whose library is missing, and every program prints so before its own output. It matters only where \
                the guest has an adapter of that vendor.",
        decide: "lspci -nn: has the guest an adapter of that vendor?",
        next: &["lspci -nn", "ls /etc/libibverbs.d"],
        ..SAID
    },
    Said {
        words: &["Unable to create QP.", "Failed to create QP.", "Requested QP size might be too big"],
        kind: Kind::Perftest,
        check: "guest.perftest-queue-pair",
        subject: "queue pair",
        title: "the device refused the queue pair that the test asked for",
        cause: "The driver is not broken for that: the test asks for more than the device has.",
        causes: &[
            (
                Likely,
                "the message that is sent inline is larger than this device takes: latency tests ask for 220 octets by default, many adapters (E810, soft-RoCE) have less; for an adapter that it does not know, as PVRDMA, perftest asks for none",
            ),
            (Possible, "queues deeper than max_qp_wr (1024 on PVRDMA), or a type of queue pair that the device lacks"),
        ],
        decide: "The same test with -I 0, then with -t 64",
        next: &["ib_write_lat -I 0 ...", "ib_write_bw -t 64 ...", "ibv_devinfo -v | grep -e max_qp_wr -e max_sge"],
        ..SAID
    },
    Said {
        words: &[
            "create qp: failed on ibv_cmd_create_qp with",
            "ibv_create_qp failed with error",
            "failed on ibv_cmd_create_qp",
        ],
        kind: Kind::Ucx,
        check: "mpi.ucx-verbs",
        subject: "queue pair",
        title: "the driver refuses a queue pair of the kind that was asked for",
        causes: &[
            (Likely, "the adapter lacks that type: UCX needs UD to connect RC, and some providers have RC only"),
            (Possible, "the queues asked for are deeper than the device has, or locked memory is short"),
        ],
        decide: "A test of perftest with RC, then with UD (-c UD): which of them works?",
        next: &["ib_send_bw -c RC ...", "ib_send_bw -c UD ...", "ibv_devinfo -v", "ulimit -l"],
        ..SAID
    },
    Said {
        words: &[
            NO_REGION,
            "Failed to create MR",
            "ibv_reg_mr failed: Cannot allocate memory",
            "Call to ibv_reg_mr failed with error Cannot allocate memory",
        ],
        unless: &["with error=22", "with error=14"],
        kind: Kind::Perftest,
        check: "guest.memlock",
        confidence: Likely,
        subject: "locked memory",
        title: "memory could not be registered for RDMA",
        cause: "Registering memory pins it, and what is pinned counts against the limit of locked memory of this process.",
        causes: &[
            (
                Likely,
                "the limit is too low in the shell, container or daemon that started it; limits.conf does not reach what runs already, nor services (LimitMEMLOCK)",
            ),
            (
                Possible,
                "a region over 1 GiB on PVRDMA, memory of a GPU that the adapter cannot reach, or memory that is really short",
            ),
        ],
        decide: "The limit of the process itself: /proc/PID/limits, or ulimit -l in the very job",
        next: &["ulimit -l", "grep 'locked memory' /proc/self/limits", "mpirun -np 2 --host A,B bash -c 'ulimit -l'"],
        ..SAID
    },
    Said {
        words: &["Couldn't allocate MR with error=22", "Couldn't allocate MR with error=14"],
        kind: Kind::Perftest,
        check: "guest.memory-access",
        subject: "memory region",
        title: "the device refused the memory that was to be registered",
        causes: &[
            (Likely, "with error 14 it is memory of a GPU that the adapter cannot reach (no peer memory, no dma-buf)"),
            (Likely, "with error 22 the region is over 1 GiB on PVRDMA, or of size 0"),
        ],
        decide: "The same with memory of the host (without --use_cuda), and with a smaller size (-s)",
        next: &["lsmod | grep -e peermem -e nv_peer", "ib_write_bw -s 65536 ..."],
        ..SAID
    },
    Said {
        words: &["Failed to modify QP", "Unable to Connect the HCA's through the link"],
        with: &[&[TO_RTR]],
        kind: Kind::Perftest,
        check: "guest.gid-index",
        confidence: Likely,
        subject: "queue pair",
        title: "the queue pairs could not be connected: the way to the other side's GID is not found",
        cause: "The step to RTR needs a valid own GID and the hardware address of the other one.",
        causes: &[
            (
                Likely,
                "the GID index names an empty entry or another one than meant: index numbers differ between machines",
            ),
            (Likely, "the other address has no neighbour: wrong VLAN, another subnet, the other interface is down"),
            (Possible, "link-local GIDs on both sides without a common link"),
        ],
        decide: "The entry behind the index on each side, and the neighbour of the other address",
        next: &[
            "show_gids",
            "grep . /sys/class/infiniband/*/ports/1/gids/* 2>/dev/null | grep -v 0000:0000:0000:0000:0000:0000:0000:0000",
            "ip neigh show",
            "ib_write_bw -x INDEX ...",
        ],
        ..SAID
    },
    Said {
        words: &[
            "ethernet_read_keys: Couldn't read remote address",
            "ethernet_read_data: Couldn't read reports",
            "Failed to exchange data between server and clients",
        ],
        unless: &[NO_TCP, "Failed to modify QP"],
        kind: Kind::Perftest,
        check: "guest.perftest-exchange",
        confidence: Possible,
        subject: "the other side",
        title: "the other side ended while the two were still exchanging data over TCP",
        cause: "What is read here failed because the other program was gone: the reason stands in its output, not in this one.",
        causes: &[
            (Likely, "the other side failed first and says why, or somebody ended it"),
            (Possible, "perftest of different versions, or different options on the two sides"),
        ],
        decide: "The output of the other side, and the version of perftest on both",
        next: &["ib_write_bw --version"],
        ..SAID
    },
    Said {
        words: &[
            "ethernet_read_keys: Couldn't read remote address",
            "Failed to exchange data between server and clients",
        ],
        with: &[
            &["Failed to modify QP to RTS", "Unable to Connect the HCA's through the link"],
            &["Failed to modify QP"],
        ],
        unless: &[TO_RTR],
        kind: Kind::Perftest,
        check: "guest.perftest-exchange",
        confidence: Possible,
        subject: "the other side",
        title: "the two sides could not connect their queue pairs: what they had to tell each other did not arrive",
        cause: "With -R this goes over rdma_cm, which needs the IP address of the RDMA interface itself and a neighbour that can be resolved; without it, \
                over TCP. That the queue pair does not come to RTS follows from it.",
        causes: &[
            (Likely, "the other side failed first and says why"),
            (
                Likely,
                "if it works without -R: the address is not that of the RDMA interface, or its neighbour is not found",
            ),
            (Possible, "an adapter that speaks iWARP only (see Transport type), or different options on the two sides"),
        ],
        decide: "The same test without -R, and the output of the other side",
        next: &["rdma link show", "ip -br addr", "ip neigh show", "ibv_devinfo | grep -e hca_id -e transport"],
        ..SAID
    },
    Said {
        words: &[
            ADDRESS,
            "rdma_resolve_addr failed",
            "RDMA_CM_EVENT_ADDR_ERROR",
            "RDMA_CM_EVENT_ROUTE_ERROR",
            "rdma_resolve_route failed",
        ],
        kind: Kind::Perftest,
        check: "guest.neighbour",
        confidence: Likely,
        subject: "the other address",
        title: "rdma_cm finds no way to the other address",
        cause: "With -R the address is resolved over the RDMA interface: the network or the address is what fails, no queue pair was made yet.",
        causes: &[
            (
                Likely,
                "the address does not answer there: the other side is off, on another VLAN, or its interface is down",
            ),
            (Likely, "the address belongs to an interface without RDMA, such as the one for management"),
            (Possible, "the device has no connection manager (infiniband ...: Couldn't open port 1 in the kernel log)"),
        ],
        decide: "Whether the neighbour is found over that interface",
        next: &["ip route get ADDRESS", "ping -c 3 -I INTERFACE ADDRESS", "ip neigh show", "rdma link show"],
        ..SAID
    },
    Said {
        words: &["Unexpected CM event bl blka 8", "RDMA_CM_EVENT_REJECTED", "Unable to connect (retries ="],
        kind: Kind::Perftest,
        check: "guest.rdma-cm-refused",
        subject: "rdma_cm",
        title: "the other side refused the connection of rdma_cm",
        cause: "The request arrived: addresses, neighbours and the link work.",
        causes: &[
            (Likely, "no server with -R listens there, or it runs without -R"),
            (Possible, "the two sides run with different options"),
        ],
        decide: "The command on the other side",
        next: &["rdma res show cm_id   (on the other side)"],
        ..SAID
    },
    Said {
        words: &["rdma_bind_addr failed"],
        kind: Kind::Perftest,
        check: "guest.address",
        subject: "rdma_cm",
        title: "rdma_cm cannot take the address",
        causes: &[
            (Likely, "the address is on no RDMA interface of this machine, or not there at all"),
            (Possible, "the port is taken"),
        ],
        decide: "Which interface has the address",
        next: &["ip -br addr", "rdma link show"],
        ..SAID
    },
    Said {
        words: &["Found Incompatibility issue with GID types"],
        kind: Kind::Perftest,
        check: "guest.gid-index",
        subject: "GID",
        title: "the GID of one side is an IPv4 address, that of the other side is none",
        cause: "perftest compares nothing else here: the versions of RoCE may be the same, and two entries of different versions for one IPv4 address \
                pass. The GID of the other side is an IPv6 or link-local address, or all zero. Each side looks its index up in its own table, where \
                the same number can be another entry.",
        causes: &[
            (Likely, "-x was given the same number on both sides, and their tables are in another order"),
            (Likely, "no -x was given on a side, which then takes an entry by its own choice"),
            (
                Possible,
                "the index of one side names no entry: an empty one has a GID of zeros, as after an address was taken off the interface",
            ),
        ],
        decide: "The GID behind the index on each side: ::ffff:a.b.c.d, fe80::..., or 0000:0000:0000:0000:0000:0000:0000:0000 for an empty entry",
        next: &[
            "show_gids",
            "cat /sys/class/infiniband/DEVICE/ports/1/gids/INDEX   (on both)",
            "cat /sys/class/infiniband/DEVICE/ports/1/gid_attrs/types/INDEX   (on both; an empty entry fails with Invalid argument)",
            "ib_write_bw -x INDEX ...   (each side its own, of its RoCE v2 entry with the IPv4 address)",
        ],
        ..SAID
    },
    Said {
        words: &["Requested mtu is higher than active mtu"],
        kind: Kind::Perftest,
        check: "guest.roce-mtu",
        status: Status::Warn,
        subject: "MTU",
        title: "the test was asked for a larger MTU than the port has",
        cause: "RoCE takes the largest size that fits into the MTU of the interface less 96: 4096 needs an interface with 4192 or more.",
        decide: "active_mtu of the port on both sides",
        next: &["ibv_devinfo | grep active_mtu", "ip link show"],
        ..SAID
    },
    Said {
        words: &["CPU Frequency is not max", "Conflicting CPU frequency values detected"],
        kind: Kind::Perftest,
        check: "guest.perftest-frequency",
        status: Status::Info,
        subject: "CPU frequency",
        title: "perftest found processors with different clock rates",
        cause: "That is a warning only; in a VM the rates are what the host makes up. -F skips the check.",
        ..SAID
    },
    Said {
        words: &["Device not recognized to implement inline feature"],
        kind: Kind::Perftest,
        check: "guest.perftest-inline",
        status: Status::Info,
        subject: "inline",
        title: "perftest does not know this device and sends nothing inline",
        cause: "That is normal for PVRDMA and soft-RoCE: small messages take a little longer. Nothing is wrong.",
        ..SAID
    },
    Said {
        words: &["Couldn't post send: qp"],
        kind: Kind::Perftest,
        check: "guest.queue-pairs",
        subject: "queue pair",
        title: "the queue pair took no more requests",
        causes: &[(Likely, "it is in the state ERR after a failed request: the first completion in error says why")],
        decide: "The first completion in error, on either side",
        next: &["rdma res show qp", "sudo dmesg | tail"],
        ..SAID
    },
    Said {
        words: &["Failed to open NETLINK_RDMA socket"],
        kind: Kind::RdmaTool,
        check: "guest.rdma-modules",
        subject: "ib_core",
        title: "the kernel has no RDMA: the module ib_core is not loaded",
        cause: "Without it there are no RDMA devices at all, and rdma cannot ask for them.",
        causes: &[
            (Likely, "no driver of an RDMA adapter was loaded, as the VM has none or its modules are not installed"),
            (Possible, "a container without the network namespace of its host"),
        ],
        decide: "Whether the VM has an adapter, and whether its driver can be loaded",
        next: &["lspci -nnk", "lsmod | grep -e ib_core -e rdma", "sudo modprobe ib_core"],
        ..SAID
    },
    Said {
        words: &["ibpanic:", "ibwarn: [", "can't resolve self addr", "mad_rpc_open_port: can't open UMAD port"],
        kind: Kind::Ibstat,
        check: "guest.device-nodes",
        status: Status::Warn,
        confidence: Possible,
        subject: "umad",
        title: "the InfiniBand tools cannot reach the port",
        causes: &[
            (Likely, "the module ib_umad is not loaded, or this user may not open /dev/infiniband/umadN"),
            (Possible, "the name of the device is wrong, or the port has no subnet manager (RoCE has none)"),
        ],
        decide: "Whether umad devices are there",
        next: &["ls -l /dev/infiniband", "sudo modprobe ib_umad", "ibstat -l"],
        ..SAID
    },
];
