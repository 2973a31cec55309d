//! The variables of UCX that people set for jobs: those that exist, and those that are gone. Their full list is that of
//! `ucx_info -c -f` on the guest; a name that is not here is not called wrong.

/// Variables that exist in the releases that were looked at (1.11 to 1.22), and are set in published recipes.
///
/// Source: UCX `src/ucp/core/ucp_context.c`, `src/ucs/config/global_opts.c`, `src/uct/ib`.
pub const KNOWN: &[&str] = &[
    "UCX_ADDRESS_DEBUG_INFO",
    "UCX_ADAPTIVE_PROGRESS",
    "UCX_BCOPY_THRESH",
    "UCX_CUDA_COPY_DMABUF",
    "UCX_CUDA_IPC_CACHE",
    "UCX_DC_MLX5_NUM_DCI",
    "UCX_DC_MLX5_TX_POLICY",
    "UCX_ERROR_SIGNALS",
    "UCX_HANDLE_ERRORS",
    "UCX_IB_GID_INDEX",
    "UCX_IB_GPU_DIRECT_RDMA",
    "UCX_IB_NUM_PATHS",
    "UCX_IB_PCI_RELAXED_ORDERING",
    "UCX_IB_PKEY",
    "UCX_IB_PREFER_NEAREST_DEVICE",
    "UCX_IB_REG_METHODS",
    "UCX_IB_ROCE_REACHABILITY_MODE",
    "UCX_IB_RX_QUEUE_LEN",
    "UCX_IB_SL",
    "UCX_IB_TRAFFIC_CLASS",
    "UCX_IB_TX_QUEUE_LEN",
    "UCX_LOG_FILE",
    "UCX_LOG_LEVEL",
    "UCX_MAX_EAGER_RAILS",
    "UCX_MAX_RNDV_RAILS",
    "UCX_MEMTYPE_CACHE",
    "UCX_MEMTYPE_REG_WHOLE_ALLOC_TYPES",
    "UCX_MODULE_DIR",
    "UCX_NET_DEVICES",
    "UCX_PROTO_ENABLE",
    "UCX_PROTO_INFO",
    "UCX_RC_MLX5_RX_QUEUE_LEN",
    "UCX_RC_MLX5_TM_ENABLE",
    "UCX_RC_PATH_MTU",
    "UCX_RC_RETRY_COUNT",
    "UCX_RC_RNR_RETRY_COUNT",
    "UCX_RC_RX_QUEUE_LEN",
    "UCX_RC_TIMEOUT",
    "UCX_RC_TX_QUEUE_LEN",
    "UCX_RC_VERBS_RX_QUEUE_LEN",
    "UCX_RC_VERBS_TIMEOUT",
    "UCX_RC_VERBS_TX_QUEUE_LEN",
    "UCX_RCACHE_ENABLE",
    "UCX_RNDV_SCHEME",
    "UCX_RNDV_THRESH",
    "UCX_SHM_DEVICES",
    "UCX_SOCKADDR_TLS_PRIORITY",
    "UCX_STATS_DEST",
    "UCX_TCP_CM_REUSEADDR",
    "UCX_TCP_KEEPIDLE",
    "UCX_TCP_PORT_RANGE",
    "UCX_TLS",
    "UCX_TM_THRESH",
    "UCX_UD_TIMEOUT",
    "UCX_UD_VERBS_RX_QUEUE_LEN",
    "UCX_UNIFIED_MODE",
    "UCX_USE_MT_MUTEX",
    "UCX_WARN_UNUSED_ENV_VARS",
    "UCX_ZCOPY_THRESH",
];

/// Variables that are gone, each with the release since when, and what is to know.
pub const GONE: &[(&str, (u32, u32), &str)] = &[(
    "UCX_SOCKADDR_CM_ENABLE",
    (1, 11),
    "it concerned the client and server interface over addresses, which MPI does not use; newer releases warn of an unused environment \
     variable",
)];

/// Which release a version is, `1.13.1` as (1, 13).
pub fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|part| part.trim().parse::<u32>());
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_or_at_least_without_doubles() {
        let mut names = KNOWN.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOWN.len());
        assert!(GONE.iter().all(|(name, ..)| !KNOWN.contains(name)));
        assert_eq!((release("1.13.1"), release("x")), (Some((1, 13)), None));
    }
}
