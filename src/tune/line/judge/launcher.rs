//! Options of the launcher and parameters of Open MPI.

use std::net::IpAddr;

use super::super::Verdict;
use super::{Said, Seen};
use crate::tune::advice::{Adapter, Side, holds};
use crate::tune::mpi::options::{self, Fate};
use crate::tune::mpi::{self, Release};

const ORTERUN: &str = "Open MPI mpirun(1)";

impl Seen<'_> {
    /// What a fate means for the release that is here.
    fn by_fate(&self, fate: Fate, what: &str) -> Said {
        match (fate, self.release) {
            (Fate::LongGone(instead), _) => {
                Said::new(Verdict::Gone, format!("{what} is gone since before 4.1"), ORTERUN).instead(instead)
            }
            (Fate::Gone(instead), Release::Five) => Said::new(
                Verdict::Gone,
                format!("{what} is gone since 5.0"),
                "Open MPI 5.0 release notes; PRRTE prterun(1)",
            )
            .instead(instead),
            (Fate::New(instead), Release::Four) => {
                Said::new(Verdict::Gone, format!("{what} is there since 5.0 only"), "PRRTE prterun(1)").instead(instead)
            }
            (Fate::Deprecated(instead), Release::Five) => {
                let reason = format!("{what} still works with 5, which says that it is deprecated");
                Said::new(Verdict::Better, reason, "PRRTE prterun(1)").instead(instead)
            }
            (Fate::Gone(instead), Release::Four) => {
                Said::new(Verdict::Fine, format!("{what} works with 4.1; 5.0 wants {instead}"), ORTERUN)
            }
            _ => Said::new(Verdict::Fine, "this release has it", ORTERUN),
        }
    }

    pub(super) fn option(&self, name: &str, value: &str) -> Said {
        match name {
            "map-by" => self.mapping(value),
            "rank-by" => {
                let ranked = value.split(':').next().unwrap_or_default().to_ascii_lowercase();
                if self.release == Release::Five && !matches!(ranked.as_str(), "slot" | "node" | "fill" | "span") {
                    let reason = format!("PRRTE ranks by slot, node, fill or span; {value} was a word of 4.1");
                    return Said::new(Verdict::Gone, reason, "PRRTE prterun(1)").instead("--rank-by slot");
                }
                Said::new(Verdict::Fine, "the order in which ranks are numbered; it binds nothing", ORTERUN)
            }
            "bind-to" if value == "none" => {
                let reason = "ranks may wander between cores and NUMA nodes, away from their memory and the adapter";
                Said::new(Verdict::Better, reason, ORTERUN).instead("--bind-to core")
            }
            "bind-to" if self.release == Release::Five && value.starts_with("cpu-list") => {
                Said::new(Verdict::Gone, "PRRTE has no such binding", "PRRTE prterun(1)")
                    .instead("--map-by pe-list=LIST:ordered --bind-to core")
            }
            "allow-run-as-root" if self.sides.first().is_some_and(|side| !side.is_root) => {
                Said::new(Verdict::Harmless, "this login is not root", ORTERUN)
            }
            name => match options::option(&format!("--{name}")).or_else(|| options::option(&format!("-{name}"))) {
                Some((_, _, fate)) => self.by_fate(fate, &format!("--{name}")),
                None => Said::new(Verdict::Unknown, "not in our catalogue", ORTERUN),
            },
        }
    }

    fn mapping(&self, value: &str) -> Said {
        let mut processors_each = 1_u64;
        for qualifier in value.split([':', ',']).skip(1) {
            let lower = qualifier.to_ascii_lowercase();
            let Some(rest) = lower.strip_prefix("pe") else { continue };
            if rest.starts_with("-list") {
                continue;
            }
            match rest.strip_prefix('=').map(str::parse::<u64>) {
                Some(Ok(count)) => processors_each = count,
                _ if rest.bytes().all(|byte| byte.is_ascii_digit()) || rest.starts_with('=') => {
                    let reason =
                        format!("{qualifier} lacks its sign: the number of processors for each rank is given as PE=N");
                    let instead = format!(
                        "--map-by {}",
                        value.replace(qualifier, &format!("PE={}", rest.trim_start_matches('=')))
                    );
                    return Said::new(Verdict::WrongName, reason, ORTERUN).instead(instead);
                }
                _ => {}
            }
        }
        let ranks = self
            .items
            .iter()
            .find(|given| matches!(given.name.as_str(), "np" | "n" | "c"))
            .and_then(|given| given.value.parse::<u64>().ok());
        let there: Option<u64> =
            self.sides.iter().map(|side| side.processors).try_fold(0_u64, |sum, one| Some(sum + one?));
        if let (Some(ranks), Some(there)) = (ranks, there)
            && !self.sides.is_empty()
            && processors_each > 1
            && ranks.saturating_mul(processors_each) > there
        {
            let reason = format!(
                "{ranks} ranks of {processors_each} processors each are {}, and these guests have {there}: \"There are not enough slots \
                 available in the system\"",
                ranks.saturating_mul(processors_each)
            );
            return Said::new(Verdict::Opposite, reason, "Open MPI mpirun(1): PE=n")
                .instead(format!("-np {}", (there / processors_each).max(1)));
        }
        if self.release == Release::Four && value.contains("pe-list") {
            return Said::new(Verdict::Gone, "pe-list is there since 5.0 only", "PRRTE prterun(1)")
                .instead("--cpu-set LIST");
        }
        if self.release == Release::Five && value.split(':').any(|word| word.eq_ignore_ascii_case("socket")) {
            return Said::new(
                Verdict::Better,
                "PRRTE calls a socket a package, and says that socket is deprecated",
                "PRRTE prterun(1)",
            )
            .instead(format!("--map-by {}", value.replace("socket", "package")));
        }
        Said::new(Verdict::Fine, "where ranks are put", ORTERUN)
    }

    pub(super) fn slurm(name: &str, value: &str) -> Said {
        match (name, value) {
            ("mpi", "none") => Said::new(
                Verdict::Opposite,
                "ranks do not find each other: each runs as a job of its own",
                "Slurm MPI guide",
            )
            .instead("--mpi=pmix"),
            ("mpi", _) => Said::new(
                Verdict::Fine,
                "how ranks find each other; srun --mpi=list says which there are, and Open MPI 5 wants pmix",
                "Slurm MPI guide",
            ),
            ("export", value)
                if value.split(',').any(|word| matches!(word, "ALL" | "NONE" | "NIL") || word.contains('='))
                    && !value.contains("ALL") =>
            {
                Said::new(
                    Verdict::Better,
                    "without ALL only these variables reach the ranks, PATH and LD_LIBRARY_PATH not among them",
                    "srun(1)",
                )
                .instead(format!("--export=ALL,{value}"))
            }
            _ => Said::new(Verdict::Fine, "an option of srun; where ranks run is up to Slurm", "srun(1)"),
        }
    }

    pub(super) fn parameter(&self, name: &str, value: &str) -> Said {
        let is_by_ucx = self.given("pml") == Some("ucx");
        match name {
            "pml" => self.layer(value),
            "btl" if mpi::leaves_self_out(value) => {
                let reason = if value.starts_with('^') {
                    mpi::BTL_WITHOUT_SELF
                } else {
                    "the list names all BTLs that may be used, and self, which a rank needs to reach itself, is not among them"
                };
                Said::new(Verdict::Opposite, reason, mpi::BTL_SOURCE).instead("--mca pml ucx")
            }
            _ if mpi::is_of_openib(name, value) => {
                let (verdict, reason) = if self.release == Release::Five {
                    (Verdict::Gone, "the openib BTL is gone since 5.0: a job that asks for it ends")
                } else if name == "btl_openib_allow_ib" {
                    (
                        Verdict::Harmless,
                        "it lets the openib BTL use native InfiniBand ports; RoCE it takes without, names of devices have nothing to do \
                         with it, and pml ucx does not look at it",
                    )
                } else if is_by_ucx {
                    (Verdict::Harmless, "with pml ucx no BTL carries messages between guests")
                } else {
                    (Verdict::Better, "Open MPI 4 takes UCX for RDMA and warns of openib, which knows no PVRDMA")
                };
                Said::new(verdict, reason, "Open MPI README; opal/mca/btl/openib").instead("--mca pml ucx")
            }
            "btl" if mpi::is_only_tcp(value) => {
                if is_by_ucx {
                    Said::new(Verdict::Harmless, "with pml ucx no BTL carries messages between guests", mpi::BTL_SOURCE)
                } else if self.has_rdma() && !self.any(Adapter::Software) {
                    Said::new(
                        Verdict::Opposite,
                        "between guests messages go over TCP by this list, past the RDMA adapter",
                        mpi::BTL_SOURCE,
                    )
                    .instead("--mca pml ucx")
                } else {
                    Said::new(Verdict::Fine, "TCP between guests, self and shared memory within one", mpi::BTL_SOURCE)
                }
            }
            "opal_common_ucx_devices" | "pml_ucx_devices" => self.ucx_devices(value),
            "btl_tcp_if_include" | "btl_tcp_if_exclude" | "oob_tcp_if_include" | "oob_tcp_if_exclude" => {
                self.interfaces(name, value)
            }
            "btl_base_verbose" => Said::new(
                Verdict::Harmless,
                "prints what BTLs do; it never names ucx or rdmacm. Which layer was taken is said by pml_base_verbose",
                "Open MPI ompi/mca/pml/base",
            )
            .instead("--mca pml_base_verbose 10"),
            "osc" if value == "ucx" && self.sides.iter().any(|side| side.has_component("osc ucx") == Some(false)) => {
                Said::new(Verdict::WrongName, "Open MPI has no component osc ucx on a guest", "Open MPI ompi_info(1)")
                    .instead("leave it out")
            }
            name => match options::parameter(name) {
                Some(fate) => self.by_fate(fate, name),
                None => Said::new(
                    Verdict::Unknown,
                    format!(
                        "not in our catalogue, and Open MPI ignores what it does not know, in silence: ompi_info --all | grep {name}"
                    ),
                    "Open MPI ompi_info(1)",
                ),
            },
        }
    }

    fn layer(&self, value: &str) -> Said {
        let names: Vec<&str> = value.trim_start_matches('^').split(',').map(str::trim).collect();
        let excludes = value.starts_with('^');
        let lacks: Vec<&str> = self
            .sides
            .iter()
            .filter(|side| side.has_component("pml ucx") == Some(false))
            .map(|side| side.guest.as_str())
            .collect();
        let useful = self.has_rdma() && !self.any(Adapter::Software);
        if names.contains(&"ucx") && !excludes {
            if !lacks.is_empty() {
                let reason = format!(
                    "Open MPI was built without UCX on {}: the job ends with \"A requested component was not found\"",
                    lacks.join(", ")
                );
                return Said::new(Verdict::WrongName, reason, mpi::PML_SOURCE)
                    .instead("an Open MPI that was built --with-ucx");
            }
            return Said::new(
                Verdict::Fine,
                format!("asks for UCX by name, as one must: {}", mpi::MUST_BE_ASKED_FOR),
                mpi::PML_SOURCE,
            );
        }
        if (excludes && names.contains(&"ucx")) || (!excludes && names == ["ob1"]) {
            let reason = "messages go over BTLs, between guests that is TCP";
            return if useful {
                Said::new(Verdict::Opposite, format!("{reason}: the RDMA adapter is not used"), mpi::PML_SOURCE)
                    .instead("--mca pml ucx")
            } else {
                Said::new(Verdict::Fine, reason, mpi::PML_SOURCE)
            };
        }
        Said::new(
            Verdict::Unknown,
            "what this layer does with the adapters here is not known: --mca pml_base_verbose 10 says what is taken",
            mpi::PML_SOURCE,
        )
    }

    fn ucx_devices(&self, value: &str) -> Said {
        if value == "any" {
            return Said::new(
                Verdict::Fine,
                "lets UCX take devices of any name; the default, mlx*, leaves out PVRDMA",
                mpi::PML_SOURCE,
            );
        }
        let taken = |device: &str| {
            value.trim_start_matches('^').split(',').map(str::trim).any(|word| match word.strip_suffix('*') {
                Some(begin) => device.starts_with(begin),
                None => device == word || word.split(':').next() == Some(device),
            }) != value.starts_with('^')
        };
        for (side, port) in self.ports() {
            if !taken(&port.device) {
                let reason = format!(
                    "the device of {} is called {}, which this leaves out: ucx loses to ob1, and TCP is taken in silence",
                    side.guest, port.device
                );
                return Said::new(Verdict::WrongName, reason, mpi::PML_SOURCE)
                    .instead("--mca opal_common_ucx_devices any");
            }
        }
        Said::new(Verdict::Fine, "takes the devices of these guests", mpi::PML_SOURCE)
    }

    fn interfaces(&self, name: &str, value: &str) -> Said {
        let source = "Open MPI FAQ: TCP; Open MPI issue 11789";
        if name.starts_with("oob_") && self.release == Release::Five {
            return self.by_fate(options::parameter(name).unwrap_or(Fate::Lasts), name);
        }
        if name.ends_with("exclude") {
            let has_lo = value.split(',').any(|word| word.trim() == "lo" || word.trim().starts_with("127."));
            return if has_lo {
                Said::new(Verdict::Fine, "keeps these interfaces out", source)
            } else {
                Said::new(
                    Verdict::Better,
                    "replaces the default, which leaves the loopback out: jobs may hang on 127.0.0.1",
                    source,
                )
                .instead(format!("--mca {name} 127.0.0.0/8,{value}"))
            };
        }
        for side in self.sides.iter().filter(|side| !side.interfaces.is_empty()) {
            if !value.split(',').any(|word| is_on(side, word.trim())) {
                let names: Vec<&str> = side.interfaces.iter().map(|(name, _)| name.as_str()).collect();
                let reason = format!("{} has no such interface or network: it has {}", side.guest, names.join(", "));
                let instead = mpi::netdevs(self.sides).map(|names| format!("--mca {name} {names}")).unwrap_or_default();
                return Said::new(Verdict::WrongName, reason, source).instead(instead);
            }
        }
        Said::new(Verdict::Fine, "every guest has it", source)
    }
}

/// True if a guest has an interface of this name, or an address in this network.
fn is_on(side: &Side, word: &str) -> bool {
    let network = word
        .split_once('/')
        .and_then(|(address, length)| Some((address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?)));
    side.interfaces.iter().any(|(name, addresses)| {
        name == word || network.is_some_and(|network| addresses.iter().any(|(address, _)| holds(network, *address)))
    })
}
