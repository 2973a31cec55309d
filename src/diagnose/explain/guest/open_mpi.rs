//! Open MPI: its boxes of help, what its layers say, and what `ompi_info` lists. A box is seldom the failure itself: some are
//! noise beside another one that decides.

use super::said::{SAID, Said};
use super::{Output, listed, text};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::Confidence::{Likely, Possible};
use crate::diagnose::finding::{Confidence, Finding, Status};

const PML: &str = "Framework: pml";
const NO_UCX: &str = "Component: ucx";
const CANNOT: &str = "PML ucx cannot be selected";
const NO_COMPONENT: &str = "A requested component was not found, or was unable to be opened";
const NO_SCHEMES: &str = "No OpenFabrics connection schemes reported that they were able to be";

pub(super) const SAID_BY: &[Said] = &[
    Said {
        words: &[
            "There is at least non-excluded one OpenFabrics device found",
            "no active ports detected (or Open MPI was unable to use them)",
        ],
        kind: Kind::OpenMpi,
        check: "guest.port-active",
        status: Status::Warn,
        confidence: Possible,
        subject: "openib",
        title: "the old openib layer of Open MPI found an RDMA device without a port that it can use",
        cause: "This is a warning, and seldom the failure: only the openib BTL is left out, the job goes on over what else there is (ucx, TCP). An error \
                below the box is the real one.",
        causes: &[
            (Likely, "the port is not ACTIVE (PORT_DOWN, or INIT without a subnet manager)"),
            (
                Possible,
                "the port is well, and the openib BTL cannot use this adapter: with --mca pml ucx --mca btl ^openib it is not asked",
            ),
        ],
        decide: "The state of the ports on the host that is named, and which layer carries the job",
        next: &[
            "ibv_devinfo | grep -e hca_id -e state",
            "mpirun --mca pml ucx --mca btl ^openib ...",
            "mpirun --mca pml_base_verbose 10 ...",
        ],
        ..SAID
    },
    Said {
        words: &["No preset parameters were found for the device"],
        kind: Kind::OpenMpi,
        check: "mpi.openib-noise",
        status: Status::Info,
        subject: "openib",
        title: "the old openib layer of Open MPI does not know this adapter: noise where UCX carries messages",
        cause: "Its table is older than the adapter, so it takes default values. Where pml ucx runs, openib is not used at all. Other boxes of the same \
                output say something of their own.",
        decide: "Which layer carries the job",
        next: &["mpirun --mca pml ucx --mca btl ^openib ...", "mpirun --mca pml_base_verbose 10 ..."],
        ..SAID
    },
    Said {
        words: &[
            "An invalid value was given for btl_tcp_if_include",
            "An invalid value was given for btl_tcp_if_exclude",
            "An invalid value was given for oob_tcp_if_include",
        ],
        kind: Kind::OpenMpi,
        check: "mpi.interface-choice",
        status: Status::Warn,
        subject: "btl_tcp_if_include",
        title: "a list of interfaces for TCP names something that the node does not have",
        cause: "Open MPI ignores the value on that node, and takes every interface or none in its place.",
        causes: &[(
            Likely,
            "the subnet or the interface is not on that node: names differ between machines, a subnet in CIDR form is safer if it is the right one",
        )],
        decide: "The addresses of the node that the box names",
        next: &["ip -br addr", "mpirun --mca btl_tcp_if_include 192.0.2.0/24 ...   (the subnet of the nodes)"],
        ..SAID
    },
    Said {
        words: &[NO_COMPONENT],
        with: &[&[PML], &[NO_UCX]],
        kind: Kind::OpenMpi,
        check: "mpi.pml",
        subject: "pml ucx",
        title: "pml ucx is asked for, but this Open MPI was built without UCX",
        cause: "The job ends here; what is said before of OpenFabrics connection schemes is noise.",
        causes: &[
            (Likely, "it was built without --with-ucx, or another Open MPI comes first in PATH on that node"),
            (Possible, "the libraries of UCX are missing on that node, so that the component cannot be loaded"),
        ],
        decide: "ompi_info on the node that the box names",
        next: &[
            "ompi_info | grep -i ucx",
            "which -a mpirun",
            "ldd $(dirname $(which mpirun))/../lib/openmpi/mca_pml_ucx.so",
        ],
        ..SAID
    },
    Said {
        words: &[NO_COMPONENT],
        unless: &[NO_UCX],
        kind: Kind::OpenMpi,
        check: "mpi.missing-component",
        subject: "component",
        title: "Open MPI lacks a component that the job asks for by name",
        cause: "The box names framework and component. openib is gone since 5.0, and vader is called sm there.",
        causes: &[
            (Likely, "a recipe for another release, or a mistyped name"),
            (Possible, "a library that the component needs is missing on that node"),
        ],
        decide: "The components of this Open MPI",
        next: &["ompi_info | grep MCA", "env | grep OMPI_MCA", "mpirun --version"],
        ..SAID
    },
    Said {
        words: &[NO_SCHEMES],
        unless: &[NO_UCX, "Signal: Segmentation fault", "are unable to reach each other for"],
        kind: Kind::OpenMpi,
        check: "mpi.openib-noise",
        status: Status::Info,
        subject: "openib",
        title: "the old openib layer of Open MPI cannot connect over this port and is left out",
        cause: "PVRDMA and newer adapters are for UCX. The job goes on over what else there is: over TCP, in silence, if UCX is not asked for.",
        decide: "Which layer carries the job",
        next: &["mpirun --mca pml ucx --mca btl ^openib ...", "mpirun --mca pml_base_verbose 10 ..."],
        ..SAID
    },
    Said {
        words: &[NO_SCHEMES, "mca_btl_openib"],
        with: &[&["Signal: Segmentation fault"], &["mca_pml_ob1"]],
        kind: Kind::OpenMpi,
        check: "mpi.btl-parameters",
        confidence: Likely,
        subject: "btl",
        title: "Open MPI crashed where ob1 had no layer left that reaches the other rank",
        cause: "The crash stands in ob1, and openib had just been left out on that port.",
        causes: &[(
            Likely,
            "--mca btl ^tcp,self takes away both TCP and self: ^ excludes all that follows, and self is always needed with ob1",
        )],
        decide: "The value of btl in the command, the environment and openmpi-mca-params.conf",
        next: &[
            "mpirun --mca pml ucx ...",
            "env | grep OMPI_MCA_btl",
            "ompi_info --param btl all --level 9 | grep 'btl\"'",
        ],
        ..SAID
    },
    Said {
        words: &["pair of MPI processes are unable to reach each other for MPI communications"],
        kind: Kind::OpenMpi,
        check: "mpi.btl-parameters",
        subject: "btl",
        title: "two ranks have no layer in common that reaches from one to the other",
        causes: &[
            (
                Likely,
                "the list of btl leaves out self or tcp (^ excludes all that follows), or names none that crosses nodes",
            ),
            (Possible, "the nodes share no usable interface, or one of them lacks the component"),
        ],
        decide: "\"BTLs attempted\" in the box, and the value of btl",
        next: &["mpirun --mca pml ucx ...", "mpirun --mca btl tcp,self,vader ...", "env | grep OMPI_MCA"],
        ..SAID
    },
    Said {
        words: &[CANNOT, "No components were able to be opened in the pml framework"],
        unless: &[
            "' is not available, please use one or more of",
            "are not available, please use one or more of",
            "no usable transports/devices (asked",
        ],
        kind: Kind::OpenMpi,
        check: "mpi.pml",
        subject: "pml ucx",
        title: "pml ucx is asked for, but cannot be used on a node",
        cause: "With UCX_LOG_LEVEL=info UCX says which device or transport it misses.",
        causes: &[
            (
                Likely,
                "UCX finds no device that Open MPI lets it use: opal_common_ucx_devices is mlx* by default, which leaves out PVRDMA and TCP (set it to any)",
            ),
            (Possible, "UCX_TLS or UCX_NET_DEVICES leave nothing over"),
        ],
        decide: "What UCX lists on that node, and the two variables",
        next: &[
            "ucx_info -d | grep -e Transport -e Device",
            "env | grep UCX_",
            "mpirun --mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any ...",
        ],
        ..SAID
    },
    Said {
        words: &["The OpenFabrics (openib) BTL failed to initialize while trying to allocate some locked memory"],
        kind: Kind::OpenMpi,
        check: "guest.memlock",
        subject: "locked memory",
        title: "Open MPI may not lock enough memory",
        cause: "The box shows the limit that the process had (Memlock limit).",
        causes: &[(
            Likely,
            "the daemon or service that starts ranks there has a lower limit than a login: limits.conf does not reach it (LimitMEMLOCK)",
        )],
        decide: "ulimit -l within the job, on the node that the box names",
        next: &["mpirun --host NODE bash -c 'ulimit -l'", "systemctl show slurmd -p LimitMEMLOCK"],
        ..SAID
    },
    Said {
        words: &[
            "Read -1, expected",
            "CMA: process_vm_readv",
            "vader: error using CMA",
            "process_vm_readv: Operation not permitted",
        ],
        with: &[&["errno = 1", "Operation not permitted", "CMA"]],
        kind: Kind::OpenMpi,
        check: "mpi.same-host-copy",
        status: Status::Warn,
        subject: "CMA",
        title: "ranks of one node may not read each other's memory (CMA)",
        cause: "Copying between ranks of one node in one step is refused; it is not a matter of RDMA.",
        causes: &[(
            Likely,
            "ptrace is restricted (kernel.yama.ptrace_scope), or the ranks run in different containers or as different users",
        )],
        decide: "kernel.yama.ptrace_scope, and whether the ranks share a user namespace",
        next: &["sysctl kernel.yama.ptrace_scope", "mpirun --mca btl_vader_single_copy_mechanism none ..."],
        ..SAID
    },
    Said {
        words: &[
            "Open MPI failed to TCP connect to a peer MPI process",
            "A process or daemon was unable to complete a TCP connection",
            "mca_btl_tcp_endpoint_complete_connect] connect() to",
        ],
        kind: Kind::OpenMpi,
        check: "mpi.firewall",
        confidence: Likely,
        subject: "TCP",
        title: "a rank cannot connect to another node over TCP",
        causes: &[
            (Likely, "a firewall on the other node refuses the ports, which are chosen freely"),
            (Likely, "the address is that of an interface that does not lead there (bridge of containers or VMs)"),
            (Possible, "the rank on the other node ended before"),
        ],
        decide: "Whether the address in the message leads to the other node, and whether ports above 1024 are open",
        next: &[
            "ip route get ADDRESS",
            "sudo nft list ruleset",
            "mpirun --mca btl_tcp_if_include SUBNET --mca oob_tcp_if_include SUBNET ...",
        ],
        ..SAID
    },
    Said {
        words: &[
            "PMIX ERROR: UNREACHABLE",
            "PMIX ERROR: ERR-UNREACH",
            "PMIx server unreachable",
            "PMIX ERROR: PMIX_ERR_UNREACH",
            "OPAL ERROR: Unreachable in file",
        ],
        kind: Kind::OpenMpi,
        check: "mpi.same-pmix",
        confidence: Possible,
        subject: "PMIx",
        title: "a rank does not reach the PMIx server of its launcher",
        cause: "PMIx has nothing to do with RDMA or librdmacm: it is how ranks and their launcher find each other.",
        causes: &[
            (
                Likely,
                "the launcher and the ranks use different releases of PMIx or Open MPI (srun without --mpi=pmix, two installations)",
            ),
            (Possible, "the folder for sessions (TMPDIR) cannot be written"),
        ],
        decide: "The versions on all nodes, and how the job is started",
        next: &["mpirun --version", "srun --mpi=list", "which -a mpirun orted prted", "ls -ld ${TMPDIR:-/tmp}"],
        ..SAID
    },
];

/// Reads which layer was chosen, and what `ompi_info` lists.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let mut components: Vec<&str> = Vec::new();
    let mut chosen: Option<(u32, &str)> = None;
    let mut version = None;
    for words in &output.lines {
        let (line, number) = (words.text, words.number);
        if line.contains("WARNING: ") && line.contains("Open MPI")
            || line.contains("mca: base: components_")
            || line.contains("ORTE_ERROR_LOG")
        {
            explained.is(Kind::OpenMpi);
        }
        // `mca:pml:ucx:version:"component:4.1.4"`
        if let Some(rest) = line.strip_prefix("mca:") {
            let mut cells = rest.split(':');
            if let (Some("pml"), Some(name)) = (cells.next(), cells.next()) {
                explained.is(Kind::OpenMpi);
                if !components.contains(&name) {
                    components.push(name);
                }
            }
        }
        if let Some((_, rest)) = line.split_once("MCA pml: ") {
            explained.is(Kind::OpenMpi);
            components.push(rest.split(' ').next().unwrap_or_default());
        }
        if let Some(found) = line
            .strip_prefix("ompi:version:full:")
            .or_else(|| line.strip_prefix("mpirun (Open MPI) "))
            .or_else(|| line.strip_prefix("Open MPI: "))
        {
            explained.is(Kind::OpenMpi);
            explained.fact(number, &output.owner("open-mpi.version"), text(found), None);
            version = Some((number, line));
        }
        if let Some((_, rest)) = line
            .split_once("select: component ")
            .or_else(|| line.split_once("component "))
            .filter(|_| line.contains(" selected"))
        {
            let name = rest.split(' ').next().unwrap_or_default();
            if matches!(name, "ob1" | "ucx" | "cm") && rest == format!("{name} selected") {
                explained.is(Kind::OpenMpi);
                explained.fact(number, &output.owner("open-mpi.pml"), text(name), None);
                if name == "ob1" {
                    chosen = chosen.or(Some((number, line)));
                }
            }
        }
    }
    if let Some((number, line)) = chosen {
        let finding = Finding::new(
            "mpi.pml",
            Status::Warn,
            Confidence::Likely,
            "pml",
            "Open MPI has chosen ob1: between nodes messages go over TCP, in silence",
            "ob1 carries them over its BTLs. Open MPI takes UCX by itself only if a device is called mlx*: on PVRDMA and soft-RoCE pml ucx gets priority \
             19 and loses. Where the openib BTL works (4.x, mlx*), it can be RDMA all the same.",
        );
        explained.finding(
            finding.shown(number, line).decided_by("Queue pairs of the ranks while the job runs").helped_by(
                "Ask for UCX, and look for queue pairs",
                &["mpirun --mca pml ucx --mca opal_common_ucx_devices any ...", "rdma res show qp   (while it runs)"],
                "",
            ),
        );
    }
    if !components.is_empty() {
        let line = version.map_or(1, |(number, _)| number);
        let line = output
            .lines
            .iter()
            .find(|words| words.text.starts_with("mca:pml:") || words.text.contains("MCA pml: "))
            .map_or(line, |words| words.number);
        explained.fact(line, &output.owner("open-mpi.pml-components"), text(&listed(&components)), None);
        if !components.contains(&"ucx") && components.contains(&"ob1") {
            let finding = Finding::new(
                "mpi.pml",
                Status::Warn,
                Confidence::Proved,
                "pml",
                "this Open MPI was built without UCX",
                "Without it 5.x goes over TCP; 4.x has the old openib BTL left, which knows no PVRDMA and is not used unless it is asked for.",
            );
            let shown = format!("pml components: {}", listed(&components));
            explained.finding(finding.shown(line, &shown).decided_by("ompi_info on the other nodes").helped_by(
                "Look",
                &["ompi_info | grep -i ucx", "which -a mpirun"],
                "",
            ));
        }
    }
}
