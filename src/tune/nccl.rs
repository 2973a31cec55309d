//! NCCL: which of its variables a guest with GPUs needs, how it matches names, and what its variables are.

use crate::tune::advice::{Adapter, Form, Item, Layer, Side, Sure};

const GUIDE: &str = "NVIDIA NCCL user guide: environment variables";

/// True if a list of NCCL takes a name: beginnings count, unless the list begins with `=`; `^` turns it round.
pub fn takes(list: &str, name: &str) -> bool {
    let (turned, rest) = list.strip_prefix('^').map_or((false, list), |rest| (true, rest));
    let (exact, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
    let words =
        rest.split(',').map(|word| word.split(':').next().unwrap_or(word).trim()).filter(|word| !word.is_empty());
    let mut matching = words.filter(|word| if exact { *word == name } else { name.starts_with(*word) });
    matching.next().is_some() != turned
}

/// Variables for jobs on guests with GPUs; none where no guest has one.
pub fn items(sides: &[Side]) -> Vec<Item> {
    let mut items = Vec::new();
    if sides.iter().all(|side| side.gpus == 0) {
        return items;
    }
    for side in sides {
        let Some(port) = side.port(sides) else { continue };
        let item = |form, name: &str, value: &str, reason: String, sure| {
            Item::new(Layer::Nccl, form, name, value, reason, GUIDE, sure).of(&side.guest)
        };
        let variable = |name, value: &str, reason, sure| item(Form::Variable, name, value, reason, sure);
        let mut reason =
            format!("the RDMA port of {} by its exact name; without = it would take all that begin so", side.guest);
        if port.adapter == Adapter::Pvrdma {
            reason.push_str(". A PVRDMA device is not called mlx5_0");
        }
        items.push(
            variable("NCCL_IB_HCA", &format!("={}", port.name()), reason, Sure::Proved)
                .decided_by("NCCL_DEBUG=INFO: \"NET/IB : Using\" names the port".to_owned()),
        );
        if let Some(entry) = port.gid().filter(|_| !port.is_infiniband) {
            items.push(variable(
                "NCCL_IB_GID_INDEX",
                &entry.index.to_string(),
                format!("index {} is {}; NCCL 2.21 and newer find it by themselves", entry.index, entry.words),
                Sure::Proved,
            ));
        }
        if let Some(netdev) = &port.netdev {
            items.push(variable(
                "NCCL_SOCKET_IFNAME",
                &format!("={netdev}"),
                "NCCL begins over TCP, RDMA or not: the interface under the RDMA port leads to the others, a bridge of containers does not"
                    .to_owned(),
                Sure::Likely,
            ));
        }
        if port.adapter == Adapter::Pvrdma {
            items.push(item(
                Form::Note,
                "NCCL_NET_GDR_LEVEL",
                "leave unset",
                "PVRDMA has no GPUDirect RDMA at all (its driver registers no memory of other devices): no level makes it work, and what \
                 GPUs send is copied through the memory of the guest"
                    .to_owned(),
                Sure::Proved,
            ));
        } else if port.adapter == Adapter::Mlx5 {
            items.push(
                item(
                    Form::Note,
                    "NCCL_NET_GDR_LEVEL",
                    "SYS, after a test",
                    "in a VM all slots look alike to NCCL, which may leave GPUDirect RDMA off for the distance that it sees; only where \
                     nvidia_peermem or dma-buf work, and only if all_reduce_perf is faster with it"
                        .to_owned(),
                    Sure::Possible,
                )
                .decided_by("NCCL_DEBUG=INFO: \"GPU Direct RDMA Enabled/Disabled\"; all_reduce_perf with and without it".to_owned()),
            );
        }
    }
    items
}

/// Variables that it has, as far as they matter to networks; others are not in this catalogue.
pub const KNOWN: &[&str] = &[
    "NCCL_ALGO",
    "NCCL_BUFFSIZE",
    "NCCL_COLLNET_ENABLE",
    "NCCL_COMM_ID",
    "NCCL_CROSS_NIC",
    "NCCL_CUMEM_ENABLE",
    "NCCL_DEBUG",
    "NCCL_DEBUG_FILE",
    "NCCL_DEBUG_SUBSYS",
    "NCCL_DMABUF_ENABLE",
    "NCCL_IB_ADAPTIVE_ROUTING",
    "NCCL_IB_ADDR_FAMILY",
    "NCCL_IB_ADDR_RANGE",
    "NCCL_IB_DISABLE",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_HCA",
    "NCCL_IB_PCI_RELAXED_ORDERING",
    "NCCL_IB_PKEY",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_RETRY_CNT",
    "NCCL_IB_ROCE_VERSION_NUM",
    "NCCL_IB_SL",
    "NCCL_IB_SPLIT_DATA_ON_QPS",
    "NCCL_IB_TC",
    "NCCL_IB_TIMEOUT",
    "NCCL_LAUNCH_MODE",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MAX_NRINGS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MIN_NRINGS",
    "NCCL_NET",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NET_GDR_READ",
    "NCCL_NET_PLUGIN",
    "NCCL_NSOCKS_PERTHREAD",
    "NCCL_NTHREADS",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_PROTO",
    "NCCL_PXN_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_FAMILY",
    "NCCL_SOCKET_IFNAME",
    "NCCL_SOCKET_NTHREADS",
    "NCCL_TOPO_DUMP_FILE",
    "NCCL_TOPO_FILE",
];

/// Variables that are gone, each with since when and what stands in their place.
pub const GONE: &[(&str, &str, &str)] = &[("NCCL_IB_CUDA_SUPPORT", "2.4.0", "NCCL_NET_GDR_LEVEL")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_by_their_beginnings() {
        assert!(takes("mlx5", "mlx5_0") && !takes("=mlx5", "mlx5_0") && takes("=mlx5_0:1", "mlx5_0"));
        assert!(!takes("^mlx5", "mlx5_0") && takes("^mlx5", "rocep11s0f1"));
    }
}
