use super::{Adapter, Advice, Form, HostSide, Item, Job, Layer, Node, Side, Sure, Way, advise, quoted};
use crate::tune::line::test_guest as guest;

fn pair(adapter: Adapter, device: &str) -> Vec<Side> {
    vec![guest("node-a", adapter, device), guest("node-b", adapter, device)]
}

fn advice(sides: &[Side]) -> Advice {
    advise(sides, &Job::default())
}

/// The first line in one.
fn line(sides: &[Side]) -> String {
    let advice = advice(sides);
    let first = advice.candidates.first().expect("a line");
    first.words().join(" ")
}

fn item<'a>(items: &'a [Item], name: &str) -> Option<&'a Item> {
    items.iter().find(|item| item.name == name)
}

#[test]
fn lines_for_each_kind_of_adapter() {
    let pvrdma = line(&pair(Adapter::Pvrdma, "rocep11s0f1"));
    for part in [
        "mpirun -np 2 --host node-a:1,node-b:1",
        "--map-by ppr:1:node --bind-to core",
        "--mca pml ucx",
        "--mca osc ucx",
        "--mca opal_common_ucx_devices any",
        "--mca btl ^openib",
        "-x UCX_TLS=rc_v,ud_v,sm,self",
        "-x UCX_NET_DEVICES=rocep11s0f1:1",
        "-x UCX_IB_GID_INDEX=1",
        "-x UCX_RC_VERBS_RX_QUEUE_LEN=1023",
    ] {
        assert!(pvrdma.contains(part), "{part}: {pvrdma}");
    }
    let mlx5 = line(&pair(Adapter::Mlx5, "mlx5_0"));
    assert!(mlx5.contains("-x UCX_TLS=rc_x,ud_x,sm,self") && !mlx5.contains("QUEUE_LEN"), "{mlx5}");
    assert!(!mlx5.contains("opal_common_ucx_devices"), "mlx* is the default: {mlx5}");
    let software = advice(&pair(Adapter::Software, "rxe0"));
    let ways: Vec<(Way, Sure)> = software.candidates.iter().map(|candidate| (candidate.way, candidate.sure)).collect();
    assert_eq!(ways, [(Way::Rdma, Sure::Possible), (Way::UcxTcp, Sure::Likely), (Way::Tcp, Sure::Likely)]);
    let tls = item(&software.candidates[0].items, "UCX_TLS").expect("told");
    assert!(tls.reason.contains("unhandled timeout"), "{tls:?}");
    for sides in [pair(Adapter::Pvrdma, "rocep11s0f1"), pair(Adapter::Mlx5, "mlx5_0"), pair(Adapter::Software, "rxe0")]
    {
        for candidate in advice(&sides).candidates {
            let words = candidate.words();
            assert!(
                !words.iter().any(|word| crate::tune::mpi::leaves_self_out(word) && word.contains("self")),
                "{words:?}"
            );
            let mca = |name: &str| words.iter().filter(|word| *word == name).count();
            assert!(mca("btl") <= 1 && mca("pml") == 1, "each once: {words:?}");
        }
    }
}

#[test]
fn what_follows_from_the_limits_of_shared_receive_queues() {
    let with = |queues, requests| {
        let mut sides = pair(Adapter::Pvrdma, "rocep11s0f1");
        for side in &mut sides {
            (side.ports[0].shared_queues, side.ports[0].shared_requests) = (queues, requests);
        }
        sides
    };
    let none = line(&with(Some(0), Some(0)));
    assert!(none.contains("UCX_TLS=ud_v,sm,self") && !none.contains("QUEUE_LEN"), "{none}");
    let enough = advice(&with(Some(100), Some(4096)));
    assert!(!enough.candidates[0].words().join(" ").contains("QUEUE_LEN"));
    let fits = item(&enough.candidates[0].items, "UCX_RC_VERBS_RX_QUEUE_LEN").expect("said");
    assert!(fits.form == Form::Note && fits.reason.contains("4096"), "{fits:?}");
    let unread = advice(&with(None, None));
    let first = &unread.candidates[0];
    assert_eq!(first.sure, Sure::Possible);
    let note = item(&first.items, "UCX_RC_VERBS_RX_QUEUE_LEN").expect("said");
    assert!(note.value == "not known" && note.decide.contains("max_srq"), "{note:?}");
    // The shortest of both ends counts, and the name is that of this UCX.
    let mut sides = with(Some(10), Some(1024));
    sides[1].ports[0].shared_requests = Some(600);
    for side in &mut sides {
        side.receive_queue = Some(("UCX_RC_VERBS_NEW_RX_QUEUE_LEN".to_owned(), Some(4095)));
    }
    assert!(line(&sides).contains("-x UCX_RC_VERBS_NEW_RX_QUEUE_LEN=511"), "{}", line(&sides));
}

#[test]
fn guests_that_differ() {
    let mut sides = pair(Adapter::Pvrdma, "rocep11s0f1");
    sides[1].ports[0].device = "vmw_pvrdma0".to_owned();
    sides[1].ports[0].gids[1].index = 2;
    let advice = advice(&sides);
    let words = advice.candidates[0].words().join(" ");
    assert!(words.contains("UCX_NET_DEVICES=rocep11s0f1:1,vmw_pvrdma0:1") && !words.contains("GID_INDEX"), "{words}");
    let indices: Vec<&str> = advice.candidates[0]
        .items
        .iter()
        .filter(|item| item.name == "UCX_IB_GID_INDEX" && item.form == Form::OnGuest)
        .map(|item| item.value.as_str())
        .collect();
    assert_eq!(indices, ["1", "2"]);
    sides[1].open_mpi = Some("5.0.3".to_owned());
    sides[1].components = Some(vec!["pml ob1".to_owned()]);
    let advice = super::advise(&sides, &Job::default());
    assert!(advice.candidates.iter().all(|candidate| candidate.way == Way::Tcp), "no UCX on one of them");
    let titles: Vec<&str> = advice.build.iter().map(|remark| remark.title.as_str()).collect();
    for part in ["differs between the guests", "built without UCX", "not on node-b"] {
        assert!(titles.iter().any(|title| title.contains(part)), "{part}: {titles:?}");
    }
}

#[test]
fn without_rdma_it_is_tcp_over_the_network_that_is_shared() {
    let mut sides = pair(Adapter::Pvrdma, "rocep11s0f1");
    for side in &mut sides {
        side.ports.clear();
    }
    let advice = advice(&sides);
    assert_eq!(advice.candidates.iter().map(|one| one.way).collect::<Vec<_>>(), [Way::UcxTcp, Way::Tcp]);
    let ucx = advice.candidates[0].words().join(" ");
    assert!(ucx.contains("UCX_NET_DEVICES=ens192") && ucx.contains("opal_common_ucx_tls any"), "{ucx}");
    let tcp = advice.candidates[1].words().join(" ");
    assert!(tcp.contains("--mca btl tcp,self,vader --mca btl_tcp_if_include 192.168.100.0/24"), "{tcp}");
}

#[test]
fn release_five_binds_in_its_own_words() {
    let mut sides = pair(Adapter::Mlx5, "mlx5_0");
    for side in &mut sides {
        side.nodes = (0..2)
            .map(|number| Node { number, processors: Some(format!("{}-{}", number * 2, number * 2 + 1)) })
            .collect();
        side.ports[0].node = Some(Some(1));
    }
    assert!(line(&sides).contains("--cpu-set 2,3"), "{}", line(&sides));
    for side in &mut sides {
        side.open_mpi = Some("5.0.3".to_owned());
    }
    let five = line(&sides);
    assert!(five.contains("--map-by pe-list=2,3:ordered") && !five.contains("--cpu-set"), "{five}");
    assert!(advice(&sides).candidates.last().expect("tcp").words().join(" ").contains("tcp,self,sm"));
}

#[test]
fn the_host_says_where_the_adapter_really_is() {
    let note = |host: Option<HostSide>| {
        let mut sides = pair(Adapter::Pvrdma, "rocep11s0f1");
        sides[0].host = host;
        let items = advice(&sides).items;
        items.into_iter().find(|item| item.layer == Layer::Binding).expect("told")
    };
    let host = HostSide { host: "esx01".to_owned(), node: Some(1), nodes: Some(2), ..HostSide::default() };
    assert!(note(None).reason.contains("not among what was read"));
    let far = note(Some(HostSide { bound: Some("0".to_owned()), ..host.clone() }));
    assert_eq!((far.value.as_str(), far.sure), ("far", Sure::Proved), "{far:?}");
    let near = note(Some(HostSide { homes: vec![1], ..host.clone() }));
    assert_eq!((near.value.as_str(), near.sure), ("near", Sure::Likely), "{near:?}");
    let open = note(Some(host));
    assert_eq!(open.sure, Sure::Possible);
    assert!(open.reason.contains("esx01") && open.reason.contains("node 1"), "{open:?}");
    let single = note(Some(HostSide { host: "esx01".to_owned(), nodes: Some(1), ..HostSide::default() }));
    assert_eq!(single.sure, Sure::Proved);
}

#[test]
fn nccl_never_gets_gpudirect_on_pvrdma() {
    let with = |adapter, device| {
        let mut sides = pair(adapter, device);
        for side in &mut sides {
            side.gpus = 1;
        }
        advice(&sides).items.into_iter().filter(|item| item.layer == Layer::Nccl).collect::<Vec<_>>()
    };
    let items = with(Adapter::Pvrdma, "rocep11s0f1");
    assert_eq!(item(&items, "NCCL_IB_HCA").expect("told").value, "=rocep11s0f1:1");
    assert_eq!(item(&items, "NCCL_IB_GID_INDEX").expect("told").value, "1");
    assert_eq!(item(&items, "NCCL_SOCKET_IFNAME").expect("told").value, "=ens192");
    let direct = item(&items, "NCCL_NET_GDR_LEVEL").expect("told");
    assert!(direct.form == Form::Note && direct.value == "leave unset", "{direct:?}");
    assert!(
        with(Adapter::Mlx5, "mlx5_0")
            .iter()
            .any(|item| item.name == "NCCL_NET_GDR_LEVEL" && item.sure == Sure::Possible)
    );
    assert!(advice(&pair(Adapter::Pvrdma, "r")).items.iter().all(|item| item.layer != Layer::Nccl), "no GPU, no NCCL");
}

#[test]
fn limits_and_huge_pages_with_what_they_are_now() {
    let mut sides = pair(Adapter::Pvrdma, "rocep11s0f1");
    sides[0].memlock = Some(65536);
    sides[0].huge_pages = (Some("always".to_owned()), Some("always".to_owned()));
    let items = advice(&sides).items;
    let own: Vec<&Item> = items
        .iter()
        .filter(|item| item.guest.as_ref() == Some(&sides[0].guest) && item.layer == Layer::System)
        .collect();
    assert_eq!(own.len(), 2);
    assert!(own.iter().all(|item| item.form == Form::OnGuest && item.present.is_some()), "{own:?}");
    assert_eq!(own[0].present.as_deref(), Some("64 kB"));
}

#[test]
fn every_item_says_why_and_where_that_is_written() {
    for adapter in [Adapter::Pvrdma, Adapter::Mlx5, Adapter::Other, Adapter::Software, Adapter::Unclear] {
        let mut sides = pair(adapter, "rdma0");
        for side in &mut sides {
            side.gpus = 2;
        }
        let advice = advice(&sides);
        for item in advice.candidates.iter().flat_map(|candidate| &candidate.items).chain(&advice.items) {
            assert!(!item.reason.is_empty() && !item.source.is_empty() && !item.name.is_empty(), "{item:?}");
        }
    }
}

#[test]
fn a_file_of_hosts_gives_ranks_and_hosts() {
    let sides = pair(Adapter::Mlx5, "mlx5_0");
    let job = Job { hostfile: Some(("my hosts".to_owned(), 24)) };
    let advice = advise(&sides, &job);
    let line = advice.candidates[0].line("./PROGRAM");
    assert!(line.starts_with("mpirun \\\n  -np 24 \\\n  --hostfile 'my hosts'"), "{line}");
}

#[test]
fn words_are_quoted_for_a_shell() {
    for (word, expected) in
        [("a:1,b", "a:1,b"), ("^openib", "'^openib'"), ("it's", r"'it'\''s'"), ("", "''"), ("$(x)", "'$(x)'")]
    {
        assert_eq!(quoted(word), expected);
        assert_eq!(shlex::split(&quoted(word)), Some(vec![word.to_owned()]));
    }
}
