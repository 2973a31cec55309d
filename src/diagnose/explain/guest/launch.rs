//! What is said when a job does not start, or a tool is not there: the shell, ssh, and the launchers of MPI.

use super::said::{SAID, Said};
use crate::diagnose::explain::Kind;
use crate::diagnose::finding::Confidence::{Likely, Possible};
use crate::diagnose::finding::Status;

const ORTED: &str = "orted: command not found";
const PRTED: &str = "prted: command not found";
/// Words of launchers, one of which must stand beside what ssh says.
const LAUNCHERS: &[&str] = &[
    "ORTE was unable to reliably start",
    "ORTE does not know how to route",
    "PRTE has lost communication",
    "ORTE has lost communication",
    "mpirun",
    "mpiexec",
    "prterun",
    "orted",
    "prted",
];

pub(super) const SAID_BY: &[Said] = &[
    Said {
        words: &[ORTED, PRTED, "orted: No such file or directory", "prted: No such file or directory"],
        kind: Kind::OpenMpi,
        check: "mpi.same-open-mpi",
        subject: "Open MPI",
        title: "the launcher's daemon is not found on another node",
        cause: "mpirun starts orted (5.x: prted) there by ssh, in a shell that reads no profile of a login.",
        causes: &[
            (Likely, "Open MPI is not installed there, or at another place than on this node"),
            (Likely, "its folder is in the PATH of logins only: give mpirun --prefix, or its whole path"),
        ],
        decide: "What ssh finds without a login",
        next: &[
            "ssh NODE which orted prted",
            "$(which mpirun) --host A,B hostname",
            "mpirun --prefix /opt/openmpi ...",
        ],
        ..SAID
    },
    Said {
        words: &["Permission denied (publickey", "Host key verification failed."],
        with: &[LAUNCHERS],
        kind: Kind::OpenMpi,
        check: "mpi.ssh-between-nodes",
        subject: "ssh",
        title: "the launcher cannot log in to another node by ssh",
        cause: "mpirun starts its daemons by ssh, without anybody who could type. RDMA is not concerned yet.",
        causes: &[
            (Likely, "the key of this user is not accepted there, or the key of the host is not known here"),
            (Possible, "the job runs as another user than the one who set it up"),
        ],
        decide: "ssh from this node to the other, as the same user, without a question",
        next: &["ssh -o BatchMode=yes NODE true", "ssh-keyscan NODE >> ~/.ssh/known_hosts", "ssh-copy-id NODE"],
        ..SAID
    },
    Said {
        words: &[
            "ORTE was unable to reliably start one or more daemons",
            "PRTE was unable to reliably start one or more daemons",
            "unable to start a daemon on the local node in the ORTE",
        ],
        unless: &[
            ORTED,
            PRTED,
            "orted: No such file",
            "prted: No such file",
            "Permission denied (publickey",
            "Host key verification failed.",
            "error while loading shared libraries",
        ],
        kind: Kind::OpenMpi,
        check: "mpi.ssh-between-nodes",
        confidence: Possible,
        subject: "daemons",
        title: "the launcher could not start its daemon on another node",
        cause: "RDMA is not concerned yet.",
        causes: &[
            (Likely, "ssh to that node does not work without a question, or its name is not known"),
            (Likely, "Open MPI is not found there (PATH, LD_LIBRARY_PATH), or is another release"),
            (Possible, "a firewall keeps the daemon from calling back, or /tmp is full"),
        ],
        decide: "ssh to each node, and the daemon's version there",
        next: &[
            "ssh -o BatchMode=yes NODE 'which orted prted; mpirun --version; df -h /tmp'",
            "mpirun --mca plm_base_verbose 5 ...",
        ],
        ..SAID
    },
    Said {
        words: &["orted: error while loading shared libraries", "prted: error while loading shared libraries"],
        kind: Kind::OpenMpi,
        check: "mpi.same-open-mpi",
        subject: "Open MPI",
        title: "the launcher's daemon lacks a library on another node",
        causes: &[
            (Likely, "the folder of the libraries is in the environment of logins only"),
            (Possible, "another Open MPI or compiler's runtime is installed there"),
        ],
        decide: "What the daemon finds without a login",
        next: &[
            "ssh NODE 'ldd $(which orted)' | grep 'not found'",
            "mpirun --prefix /opt/openmpi -x LD_LIBRARY_PATH ...",
        ],
        ..SAID
    },
    Said {
        words: &["There are not enough slots available in the system"],
        kind: Kind::OpenMpi,
        check: "mpi.slots",
        subject: "slots",
        title: "more ranks are asked for than the nodes have slots",
        cause: "A slot is a processor core unless the list of hosts says otherwise; with PE=n each rank takes n of them.",
        causes: &[(
            Likely,
            "the list of hosts has no slots=N, or --map-by ...:PE=n asks for more cores than there are",
        )],
        decide: "Ranks times PE against the cores of the nodes",
        next: &["lscpu | grep '^CPU(s)'", "mpirun --host A:16,B:16 -np 32 ..."],
        ..SAID
    },
    Said {
        words: &[
            "ORTE has lost communication with a remote daemon",
            "PRTE has lost communication with a remote daemon",
        ],
        kind: Kind::OpenMpi,
        check: "mpi.firewall",
        confidence: Possible,
        subject: "daemons",
        title: "the launcher lost a node while the job ran",
        causes: &[
            (Likely, "the node or its VM stopped, restarted or ran out of memory"),
            (Possible, "the management network was interrupted, for instance by a stun (vMotion, snapshot)"),
        ],
        decide: "The uptime of that node and its kernel log at that time",
        next: &["ssh NODE uptime", "ssh NODE 'sudo dmesg -T | tail -50'"],
        ..SAID
    },
    Said {
        words: &[
            "ibv_devinfo: command not found",
            "ibv_devices: command not found",
            "ibstat: command not found",
            "ib_write_bw: command not found",
            "rdma: command not found",
            "ucx_info: command not found",
            "ompi_info: command not found",
            "show_gids: command not found",
            "mlnx_qos: command not found",
            "ethtool: command not found",
            "lspci: command not found",
            "ibv_devinfo: not found",
            "ib_write_bw: not found",
            "rdma: not found",
        ],
        kind: Kind::Shell,
        check: "tool.not-installed",
        status: Status::Info,
        subject: "tools",
        title: "a tool is not installed, or not in the PATH of this user",
        cause: "That says nothing of the RDMA device. Packages on Debian and Ubuntu: ibverbs-utils (ibv_devinfo), infiniband-diags (ibstat), perftest, \
                iproute2 (rdma), ucx-utils, openmpi-bin, ethtool, pciutils; show_gids and mlnx_qos come with the vendor's package. rdma may be in /sbin.",
        decide: "Whether the package is installed",
        next: &["ls /sbin/rdma /usr/sbin/rdma", "cat /sys/class/infiniband/*/ports/1/state"],
        ..SAID
    },
    Said {
        words: &["nvidia-smi: command not found", "nvidia-smi: not found"],
        kind: Kind::Shell,
        check: "tool.not-installed",
        status: Status::Info,
        confidence: Likely,
        subject: "nvidia-smi",
        title: "nvidia-smi is not installed: this guest has no NVIDIA driver, or not all of it",
        cause: "A guest without a GPU needs none. In a container it comes from the host's driver.",
        decide: "Whether the guest has an NVIDIA GPU",
        next: &["lspci -nnk -d 10de:", "lsmod | grep nvidia"],
        ..SAID
    },
    Said {
        words: &[
            "Key was rejected by service",
            "Loading of unsigned module is rejected",
            "Loading of module with unavailable key is rejected",
            "Required key not available",
        ],
        with: &[&["modprobe", "insmod", "Lockdown", "nvidia", "mlx5", "could not insert", "module"]],
        kind: Kind::KernelLog,
        check: "guest.module-signature",
        subject: "kernel module",
        title: "the kernel refuses a module because it is not signed by a key that it knows",
        cause: "With Secure Boot the kernel loads signed modules only: a driver that was built on the machine (NVIDIA, OFED) is not loaded, so its device \
                has none.",
        causes: &[(Likely, "the key was not enrolled (mokutil), or Secure Boot of the VM is on and need not be")],
        decide: "Whether Secure Boot is on, and who signed the module",
        next: &[
            "mokutil --sb-state",
            "modinfo nvidia | grep -e signer -e filename",
            "vCenter: VM Options > Boot Options > Secure Boot (with the VM off)",
        ],
        ..SAID
    },
];
