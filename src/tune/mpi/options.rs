//! The options of `mpirun` and the parameters of Open MPI that people write: how many words follow each, and in which
//! release it is gone or called otherwise.

/// What became of an option or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// 4.1 and 5 both take it.
    Lasts,
    /// 5 takes it still, and says that it is deprecated; what is written instead.
    Deprecated(&'static str),
    /// Gone since 5.0; what is written instead.
    Gone(&'static str),
    /// Since 5.0 only.
    New(&'static str),
    /// Gone before 4.1 already; what is written instead.
    LongGone(&'static str),
}

/// Options of `mpirun`, each with how many words follow. One hyphen or two.
///
/// Source: Open MPI `orte/tools/orterun/orterun.1in` (4.1), PRRTE `prterun(1)` (3.0).
pub const OPTIONS: &[(&str, usize, Fate)] = &[
    ("np", 1, Fate::Lasts),
    ("n", 1, Fate::Lasts),
    ("c", 1, Fate::Lasts),
    ("N", 1, Fate::Lasts),
    ("host", 1, Fate::Lasts),
    ("H", 1, Fate::Lasts),
    ("hostfile", 1, Fate::Lasts),
    ("machinefile", 1, Fate::Lasts),
    ("mca", 2, Fate::Lasts),
    ("gmca", 2, Fate::Lasts),
    ("omca", 2, Fate::New("--mca")),
    ("prtemca", 2, Fate::New("--mca")),
    ("pmixmca", 2, Fate::New("--mca")),
    ("am", 1, Fate::Deprecated("--tune")),
    ("tune", 1, Fate::Lasts),
    ("x", 1, Fate::Lasts),
    ("map-by", 1, Fate::Lasts),
    ("rank-by", 1, Fate::Lasts),
    ("bind-to", 1, Fate::Lasts),
    ("bind-to-core", 0, Fate::LongGone("--bind-to core")),
    ("bind-to-socket", 0, Fate::LongGone("--bind-to socket")),
    ("bind-to-none", 0, Fate::LongGone("--bind-to none")),
    ("bycore", 0, Fate::LongGone("--map-by core")),
    ("byslot", 0, Fate::Deprecated("--map-by slot")),
    ("bynode", 0, Fate::Deprecated("--map-by node")),
    ("pernode", 0, Fate::Deprecated("--map-by ppr:1:node")),
    ("npernode", 1, Fate::Deprecated("--map-by ppr:N:node")),
    ("npersocket", 1, Fate::Deprecated("--map-by ppr:N:package")),
    ("cpus-per-proc", 1, Fate::Deprecated("--map-by OBJECT:PE=N")),
    ("cpus-per-rank", 1, Fate::Deprecated("--map-by OBJECT:PE=N")),
    ("cpu-set", 1, Fate::Deprecated("--map-by pe-list=LIST:ordered")),
    ("cpu-list", 1, Fate::Deprecated("--map-by pe-list=LIST:ordered")),
    ("use-hwthread-cpus", 0, Fate::Deprecated("--map-by OBJECT:HWTCPUS")),
    ("report-bindings", 0, Fate::Deprecated("--display bind")),
    ("display-map", 0, Fate::Deprecated("--display map")),
    ("display-allocation", 0, Fate::Deprecated("--display allocation")),
    ("display", 1, Fate::New("--report-bindings, --display-map")),
    ("rankfile", 1, Fate::Deprecated("--map-by rankfile:FILE=FILE")),
    ("rf", 1, Fate::Deprecated("--map-by rankfile:FILE=FILE")),
    ("oversubscribe", 0, Fate::Deprecated("--map-by OBJECT:OVERSUBSCRIBE")),
    ("nooversubscribe", 0, Fate::Deprecated("--map-by OBJECT:NOOVERSUBSCRIBE")),
    ("allow-run-as-root", 0, Fate::Lasts),
    ("prefix", 1, Fate::Lasts),
    ("wdir", 1, Fate::Lasts),
    ("wd", 1, Fate::Lasts),
    ("path", 1, Fate::Lasts),
    ("tag-output", 0, Fate::Deprecated("--output tag")),
    ("timestamp-output", 0, Fate::Deprecated("--output timestamp")),
    ("output-filename", 1, Fate::Deprecated("--output file=NAME")),
    ("output", 1, Fate::New("--tag-output, --output-filename")),
    ("stdin", 1, Fate::Lasts),
    ("timeout", 1, Fate::Lasts),
    ("quiet", 0, Fate::Lasts),
    ("q", 0, Fate::Lasts),
    ("verbose", 0, Fate::Lasts),
    ("v", 0, Fate::Lasts),
    ("version", 0, Fate::Lasts),
    ("V", 0, Fate::Lasts),
    ("do-not-launch", 0, Fate::Lasts),
    ("do-not-resolve", 0, Fate::Lasts),
    ("launch-agent", 1, Fate::Lasts),
    ("novm", 0, Fate::Gone("nothing")),
    ("mxm", 0, Fate::LongGone("--mca pml ucx")),
];

/// What an option is; `None` if it is not in this catalogue.
pub fn option(word: &str) -> Option<(&'static str, usize, Fate)> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let name = if name.len() > 1 { name.to_ascii_lowercase() } else { name.to_owned() };
    OPTIONS.iter().find(|(known, ..)| *known == name).copied()
}

/// Parameters that people set; others are not in this catalogue. A name that ends in `_` stands for all that begin so.
///
/// Source: `ompi_info --all` of 4.1, Open MPI 5.0 release notes.
pub const PARAMETERS: &[(&str, Fate)] = &[
    ("pml", Fate::Lasts),
    ("pml_base_verbose", Fate::Lasts),
    ("pml_ucx_", Fate::Lasts),
    ("opal_common_ucx_", Fate::Lasts),
    ("osc", Fate::Lasts),
    ("osc_ucx_", Fate::Lasts),
    ("mtl", Fate::Lasts),
    ("mtl_base_verbose", Fate::Lasts),
    ("mtl_ofi_", Fate::Lasts),
    ("btl", Fate::Lasts),
    ("btl_base_verbose", Fate::Lasts),
    ("btl_base_warn_component_unused", Fate::Lasts),
    ("btl_tcp_", Fate::Lasts),
    ("btl_self_", Fate::Lasts),
    ("btl_sm_", Fate::New("btl_vader_...")),
    ("btl_vader_", Fate::Deprecated("btl_sm_...")),
    ("btl_openib_", Fate::Gone("--mca pml ucx")),
    ("btl_uct_", Fate::Lasts),
    ("btl_ofi_", Fate::Lasts),
    ("coll", Fate::Lasts),
    ("coll_hcoll_", Fate::Lasts),
    ("coll_tuned_", Fate::Lasts),
    ("coll_han_", Fate::Lasts),
    ("coll_ucc_", Fate::New("coll_hcoll_...")),
    ("coll_base_verbose", Fate::Lasts),
    ("io", Fate::Lasts),
    ("mpi_leave_pinned", Fate::Lasts),
    ("mpi_show_mca_params", Fate::Lasts),
    ("mpi_warn_on_fork", Fate::Lasts),
    ("mpi_yield_when_idle", Fate::Lasts),
    ("mpi_cuda_support", Fate::Lasts),
    ("oob_tcp_if_include", Fate::Gone("--prtemca prte_if_include")),
    ("oob_tcp_if_exclude", Fate::Gone("--prtemca prte_if_exclude")),
    ("plm_rsh_agent", Fate::Gone("--prtemca plm_ssh_agent")),
    ("plm_", Fate::Gone("--prtemca plm_...")),
    ("plm", Fate::Gone("--prtemca plm")),
    ("rmaps_", Fate::Gone("--prtemca rmaps_..., or --map-by")),
    ("ras_", Fate::Gone("--prtemca ras_...")),
    ("ess_", Fate::Gone("--prtemca ess_...")),
    ("odls_", Fate::Gone("--prtemca odls_...")),
    ("routed", Fate::Gone("nothing")),
    ("orte_", Fate::Gone("--prtemca prte_...")),
    ("hwloc_base_binding_policy", Fate::Gone("--bind-to")),
    ("hwloc_base_", Fate::Lasts),
    ("mca_base_", Fate::Lasts),
    ("opal_", Fate::Lasts),
    ("pmix_", Fate::Lasts),
    ("shmem_", Fate::Lasts),
];

/// What became of a parameter; `None` if it is not in this catalogue.
pub fn parameter(name: &str) -> Option<Fate> {
    let is = |(known, _): &&(&str, Fate)| {
        if known.ends_with('_') { name.starts_with(known) } else { name == *known }
    };
    PARAMETERS.iter().find(is).map(|(_, fate)| *fate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_one_hyphen_or_two() {
        assert_eq!(option("-np").map(|(name, count, _)| (name, count)), Some(("np", 1)));
        assert_eq!(option("--mca").map(|(_, count, _)| count), Some(2));
        assert!(option("--nonsense").is_none() && option("a.out").is_none());
        assert!(matches!(option("--bind-to-core"), Some((_, 0, Fate::LongGone(_)))));
        assert_eq!(option("-N").map(|(name, ..)| name), Some("N"));
        assert_eq!(option("-n").map(|(name, ..)| name), Some("n"));
    }

    #[test]
    fn parameters_by_name_or_beginning() {
        assert_eq!(parameter("pml"), Some(Fate::Lasts));
        assert!(matches!(parameter("btl_openib_allow_ib"), Some(Fate::Gone(_))));
        assert!(matches!(parameter("orte_base_help_aggregate"), Some(Fate::Gone(_))));
        assert_eq!(parameter("pmlx"), None);
    }
}
