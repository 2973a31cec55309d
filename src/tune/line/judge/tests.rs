use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::super::Verdict;
use super::judge;
use crate::fabric::TargetId;
use crate::tune::advice::{Adapter, Entry, Port, Side};

/// A guest with one adapter, as it usually is.
pub fn guest(name: &str, adapter: Adapter, device: &str) -> Side {
    let last = if name.ends_with('a') { 10 } else { 11 };
    let address = IpAddr::V4(Ipv4Addr::new(192, 168, 100, last));
    let entry =
        |index, words: &str, is_v2_of_ipv4| Entry { index, words: words.to_owned(), is_v2_of_ipv4, address: None };
    let transports: &[&str] = match adapter {
        Adapter::Mlx5 => &["rc_verbs", "ud_verbs", "rc_mlx5", "ud_mlx5", "dc_mlx5"],
        _ => &["rc_verbs", "ud_verbs"],
    };
    let mut list: Vec<(String, String)> =
        transports.iter().map(|transport| ((*transport).to_owned(), format!("{device}:1"))).collect();
    list.push(("tcp".to_owned(), "ens192".to_owned()));
    Side {
        guest: TargetId::new(name),
        hostname: Some(name.to_owned()),
        ports: vec![Port {
            device: device.to_owned(),
            number: 1,
            adapter,
            is_infiniband: false,
            is_active: Some(true),
            netdev: Some("ens192".to_owned()),
            gids: vec![entry(0, "IB/RoCE v1 fe80::1", false), entry(1, "RoCE v2 192.168.100.10", true)],
            shared_queues: Some(32768),
            shared_requests: Some(1024),
            node: Some(None),
        }],
        open_mpi: Some("4.1.4".to_owned()),
        components: Some(["pml ucx", "pml ob1", "osc ucx", "btl openib", "btl tcp"].map(str::to_owned).to_vec()),
        ucx: Some("1.13.1".to_owned()),
        transports: Some(list),
        receive_queue: Some(("UCX_RC_VERBS_RX_QUEUE_LEN".to_owned(), Some(4095))),
        variables: BTreeMap::new(),
        memlock: Some(u64::MAX),
        is_root: false,
        huge_pages: (Some("madvise".to_owned()), Some("madvise".to_owned())),
        processors: Some(16),
        nodes: Vec::new(),
        interfaces: vec![("ens192".to_owned(), vec![(address, 24)]), ("lo".to_owned(), Vec::new())],
        gpus: 0,
        host: None,
    }
}

fn pair(adapter: Adapter, device: &str) -> Vec<Side> {
    vec![guest("node-a", adapter, device), guest("node-b", adapter, device)]
}

fn pvrdma() -> Vec<Side> {
    pair(Adapter::Pvrdma, "rocep11s0f1")
}

fn verdict(text: &str, sides: &[Side]) -> Verdict {
    let comments = judge(text, sides);
    comments.iter().find(|comment| comment.written != "(missing)").unwrap_or_else(|| panic!("{text}")).verdict
}

#[test]
fn published_recipes_on_pvrdma() {
    for (text, expected) in [
        ("export UCX_TLS=rc_x,sm,self", Verdict::WrongName),
        ("export UCX_TLS=rc_v,rc_x,ud_v,self", Verdict::Better),
        ("export UCX_TLS=ud_v,sm,self", Verdict::Fine),
        ("export UCX_TLS=rc_v,ud_v,sm,self", Verdict::Better),
        ("export UCX_TLS=rc_verbs,self", Verdict::Opposite),
        ("export UCX_TLS=tcp,self", Verdict::Opposite),
        ("export UCX_TLS=all", Verdict::Fine),
        ("export UCX_TLS=frob,ud_v", Verdict::Unknown),
        ("export UCX_NET_DEVICES=mlx5_0:1", Verdict::WrongName),
        ("export UCX_NET_DEVICES=pvr0:1", Verdict::WrongName),
        ("export UCX_NET_DEVICES=rocep11s0f1", Verdict::WrongName),
        ("export UCX_NET_DEVICES=rocep11s0f1:1", Verdict::Fine),
        ("export UCX_NET_DEVICES=ens192", Verdict::Better),
        ("export UCX_IB_GID_INDEX=1", Verdict::Fine),
        ("export UCX_IB_GID_INDEX=0", Verdict::Better),
        ("export UCX_IB_GID_INDEX=3", Verdict::WrongName),
        ("export UCX_BCOPY_THRESH=0", Verdict::Opposite),
        ("export UCX_RNDV_THRESH=8388608", Verdict::Better),
        ("export UCX_RNDV_THRESH=8k", Verdict::Fine),
        ("export UCX_MEMTYPE_CACHE=n", Verdict::Harmless),
        ("export UCX_SOCKADDR_CM_ENABLE=y", Verdict::Gone),
        ("export UCX_MAX_RNDV_RAILS=1", Verdict::Fine),
        ("export UCX_MADE_UP=1", Verdict::Unknown),
        ("export UCX_RC_VERBS_RX_QUEUE_LEN=1023", Verdict::Fine),
        ("export UCX_RC_VERBS_RX_QUEUE_LEN=4095", Verdict::Opposite),
        ("export OMPI_MCA_btl=^tcp,self", Verdict::Opposite),
        ("export OMPI_MCA_btl=tcp,vader", Verdict::Opposite),
        ("export OMPI_MCA_btl=^openib", Verdict::Fine),
        ("export OMPI_MCA_btl_openib_allow_ib=1", Verdict::Harmless),
        ("export OMPI_MCA_opal_common_ucx_devices=mlx*", Verdict::WrongName),
        ("export OMPI_MCA_opal_common_ucx_devices=any", Verdict::Fine),
        ("export OMPI_MCA_pml=ob1", Verdict::Opposite),
        ("export OMPI_MCA_btl_tcp_if_include=eth9", Verdict::WrongName),
        ("export OMPI_MCA_btl_tcp_if_include=192.168.100.0/24", Verdict::Fine),
        ("export OMPI_MCA_frobnicate=1", Verdict::Unknown),
        ("export NCCL_IB_HCA=mlx5_0", Verdict::WrongName),
        ("export NCCL_IB_DISABLE=1", Verdict::Opposite),
        ("export NCCL_NET_GDR_LEVEL=SYS", Verdict::Harmless),
        ("export NCCL_SOCKET_IFNAME=eth0", Verdict::WrongName),
        ("export NCCL_SOCKET_IFNAME==ens192", Verdict::Fine),
        ("export NCCL_IB_CUDA_SUPPORT=1", Verdict::Gone),
        ("export NCCL_MADE_UP=1", Verdict::Unknown),
        ("srun --mpi=none ./a", Verdict::Opposite),
        ("mpirun --map-by node:PE16 ./a", Verdict::WrongName),
        ("mpirun --cpus-per-proc 16 ./a", Verdict::Fine),
        ("mpirun --bind-to none ./a", Verdict::Better),
        ("mpirun --bind-to-core ./a", Verdict::Gone),
        ("mpirun --frobnicate ./a", Verdict::Unknown),
        ("mpirun -x UCX_TLS ./a", Verdict::Harmless),
    ] {
        assert_eq!(verdict(text, &pvrdma()), expected, "{text}: {:?}", judge(text, &pvrdma()));
    }
}

#[test]
fn every_comment_has_reason_and_source_and_what_is_wrong_has_a_way_out() {
    let text = "export UCX_TLS=rc_x,sm,self NCCL_IB_HCA=mlx5_0\nmpirun -np 64 --map-by node:PE=16 --mca btl ^tcp,self --mca btl_openib_allow_ib 1 -x UCX_TLS ./a\n";
    for comment in judge(text, &pvrdma()) {
        assert!(!comment.reason.is_empty() && !comment.source.is_empty(), "{comment:?}");
        if matches!(comment.verdict, Verdict::WrongName | Verdict::Gone | Verdict::Opposite) {
            assert!(!comment.instead.is_empty(), "{comment:?}");
        }
    }
}

#[test]
fn the_same_things_elsewhere() {
    let mlx5 = pair(Adapter::Mlx5, "mlx5_0");
    for (text, expected) in [
        ("export UCX_TLS=rc_x,sm,self", Verdict::Fine),
        ("export UCX_NET_DEVICES=mlx5_0:1", Verdict::Fine),
        ("export UCX_RC_VERBS_RX_QUEUE_LEN=4095", Verdict::Harmless),
        ("export OMPI_MCA_opal_common_ucx_devices=mlx*", Verdict::Fine),
        ("export NCCL_NET_GDR_LEVEL=SYS", Verdict::Fine),
    ] {
        assert_eq!(verdict(text, &mlx5), expected, "{text}");
    }
    let software = pair(Adapter::Software, "rxe0");
    assert_eq!(verdict("export UCX_TLS=tcp,sm,self", &software), Verdict::Fine);
    assert_eq!(verdict("export OMPI_MCA_pml=ob1", &software), Verdict::Fine);
}

#[test]
fn release_five_has_other_words() {
    let mut sides = pvrdma();
    for side in &mut sides {
        side.open_mpi = Some("5.0.3".to_owned());
    }
    for (text, expected) in [
        ("mpirun --cpu-set 0,1 ./a", Verdict::Better),
        ("mpirun --report-bindings ./a", Verdict::Better),
        ("mpirun --rank-by core ./a", Verdict::Gone),
        ("mpirun --map-by ppr:2:socket ./a", Verdict::Better),
        ("mpirun --prtemca plm_ssh_agent ssh ./a", Verdict::Fine),
        ("mpirun --mca btl_openib_allow_ib 1 ./a", Verdict::Gone),
        ("mpirun --mca oob_tcp_if_include eth0 ./a", Verdict::Gone),
        ("export PRTE_MCA_x=1", Verdict::Fine),
    ] {
        assert_eq!(verdict(text, &sides), expected, "{text}");
    }
    assert_eq!(verdict("mpirun --display bind ./a", &pvrdma()), Verdict::Gone, "4.1 has it not yet");
    assert_eq!(verdict("export PRTE_MCA_x=1", &pvrdma()), Verdict::Gone);
}

#[test]
fn what_is_missing_is_told() {
    let comments = judge("mpirun -np 2 ./a", &pvrdma());
    let missing: Vec<&str> = comments
        .iter()
        .filter(|comment| comment.written == "(missing)")
        .map(|comment| comment.instead.as_str())
        .collect();
    assert_eq!(missing, ["--mca pml ucx", "-x UCX_RC_VERBS_RX_QUEUE_LEN=1023"]);
    let whole = judge("mpirun -np 2 --mca pml ucx -x UCX_TLS=ud_v,self ./a", &pvrdma());
    assert!(whole.iter().all(|comment| comment.written != "(missing)"), "{whole:?}");
    assert!(judge("export X=1\n", &pvrdma()).is_empty());
    assert!(judge("", &[]).is_empty());
}

#[test]
fn more_processors_than_there_are() {
    let text = "mpirun -np 32 --map-by node:PE=16 ./a";
    let comments = judge(text, &pvrdma());
    let mapping = comments.iter().find(|comment| comment.written.contains("map-by")).expect("told");
    assert_eq!((mapping.verdict, mapping.instead.as_str()), (Verdict::Opposite, "-np 2"));
}

#[test]
fn nothing_is_known_of_the_guests() {
    for text in [
        "export UCX_TLS=rc_x UCX_NET_DEVICES=a:1 UCX_IB_GID_INDEX=1 NCCL_IB_HCA=x",
        "mpirun --mca pml ucx --map-by core ./a",
    ] {
        for comment in judge(text, &[]) {
            assert!(!matches!(comment.verdict, Verdict::WrongName), "{comment:?}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn damaged_lines_are_judged_without_harm(text in crate::probe::testing::mutated_texts(&[
        "export UCX_TLS='rc_v,ud_v' UCX_IB_GID_INDEX=1 UCX_RNDV_THRESH=8m\nmpirun -np 4 --host a:2,b:2 --map-by node:PE=2 \\\n --mca btl ^tcp,self --mca btl_tcp_if_include 10.0.0.0/8 -x UCX_NET_DEVICES=mlx5_0:1 ./a : -np 1 ./b\n",
        "srun --mpi=pmix --export=A=b -n 4 ./a\nsetenv NCCL_IB_HCA =mlx5\nexport UCX_RC_VERBS_RX_QUEUE_LEN=4095\n",
    ])) {
        for comment in judge(&text, &pvrdma()) {
            for part in [&comment.written, &comment.reason, &comment.instead] {
                proptest::prop_assert!(!part.chars().any(char::is_control), "{comment:?}");
            }
        }
    }
}
