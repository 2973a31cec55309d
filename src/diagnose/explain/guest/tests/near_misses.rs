//! What is nearly a finding and is none, ordinary output, and texts that were damaged.

use proptest::prelude::*;

use super::*;

/// A text with a finding, and the change that takes it away.
const NEAR: &[(&str, &str, &str, &str)] = &[
    // Kernel messages: a later message settles it, a corrected error is none, an application's Xid is no fault.
    (
        "guest.kernel-messages",
        "vmw_pvrdma 0000:0b:00.1: failed to find paired vmxnet3 device\n",
        "failed to find paired vmxnet3 device",
        "paired device to ens192",
    ),
    (
        "guest.kernel-messages",
        "[   10.000001] mlx5_core 0000:13:00.0: device's health compromised - reached miss count\n",
        "device's health compromised - reached miss count",
        "firmware version: 16.35.3006",
    ),
    (
        "gpu.xid",
        "[   10.000001] NVRM: Xid (PCI:0000:9b:00): 119, pid=1, name=x, Timeout after 6s of waiting for RPC response\n",
        "Xid (PCI",
        "xid of (PCI",
    ),
    (
        "gpu.bar-unassigned",
        "[   10.000001] NVRM: GPU 0000:05:00.0: RmInitAdapter failed! (0x24:0x72:1447)\n",
        "RmInitAdapter failed!",
        "RmInitAdapter done",
    ),
    (
        "gpu.driver-support",
        "[   10.000001] NVRM: The NVIDIA GPU 0000:05:00.0 (PCI ID: 10de:26b9) installed in this system is not supported by the NVIDIA 570.86.15 driver release.\n",
        "not supported by the",
        "supported by the",
    ),
    (
        "gpu.fell-off-bus",
        "Apr 29 19:24:11 a kernel: NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n",
        "79, GPU has fallen off the bus.",
        "13, Graphics Exception",
    ),
    (
        "gpu.driver-bound",
        "[   15.299882] NVRM: The NVIDIA probe routine was not called for 1 device(s).\n",
        "probe routine was not called",
        "probe routine was called",
    ),
    // Ports.
    (
        "guest.port-active",
        "link mlx5_0/1 state DOWN physical_state POLLING netdev ens1\n",
        "DOWN physical_state POLLING",
        "ACTIVE physical_state LINK_UP",
    ),
    (
        "guest.infiniband-subnet-manager",
        "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state INIT physical_state LINK_UP\n",
        "state INIT",
        "state ACTIVE",
    ),
    (
        "guest.roce-mtu",
        "hca_id:\tmlx5_0\n\tport:\t1\n\t\tstate:\tPORT_ACTIVE (4)\n\t\tmax_mtu:\t4096 (5)\n\t\tactive_mtu:\t1024 (3)\n\t\tlink_layer:\tEthernet\n",
        "1024 (3)",
        "4096 (5)",
    ),
    (
        "guest.roce-mtu",
        "hca_id:\tmlx5_0\n\tport:\t1\n\t\tstate:\tPORT_ACTIVE (4)\n\t\tmax_mtu:\t4096 (5)\n\t\tactive_mtu:\t1024 (3)\n\t\tlink_layer:\tEthernet\n",
        "Ethernet",
        "InfiniBand",
    ),
    ("guest.pvrdma-limits", "hca_id:\tx0\n\tvendor_part_id:\t2080\n\tmax_qp_wr:\t1024\n", "2080", "4123"),
    (
        "guest.queue-pairs",
        "link mlx5_0/1 lqpn 25 rqpn 31 type RC state ERR rq-psn 0 sq-psn 0 pid 1234 comm ib_write_bw\n",
        "state ERR",
        "state RTS",
    ),
    (
        "guest.retransmits",
        "link rxe0/1 sent_pkts 12 rcvd_pkts 20 duplicate_request 7 out_of_seq_request 0\n",
        "duplicate_request 7",
        "duplicate_request 0",
    ),
    (
        "guest.receiver-not-ready",
        "link mlx5_0/1 rx_write_requests 12 out_of_buffer 20\n",
        "out_of_buffer 20",
        "out_of_buffer 0",
    ),
    ("guest.no-counters", "$ rdma statistic show\nerror: Invalid argument\n", "rdma statistic show", "rdma link show"),
    ("guest.rdma-device", "No IB devices found\n", "No IB devices found", "Two IB devices found"),
    (
        "guest.provider-library",
        "link mlx5_0/1 state ACTIVE physical_state LINK_UP\nNo IB devices found\n",
        "No IB devices found",
        "hca_id: mlx5_0",
    ),
    (
        "guest.gid-index",
        "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV\nqedr0\t1\t0\tfe80:0000:0000:0000:0000:00ff:fe00:0001\t\tv1\nqedr0\t1\t1\t0000:0000:0000:0000:0000:ffff:c000:0264\t192.0.2.100\tv2\tens1\n",
        "\tv2\t",
        "\tv1\t",
    ),
    (
        "guest.traffic-class",
        "Global tclass=106\nPriority trust state: dscp\n\tpriority 0 1 2 3 4 5 6 7\n\tenabled 0 0 0 0 0 0 0 0\n",
        "enabled 0 0 0 0 0 0 0 0",
        "enabled is not known",
    ),
    // Interfaces.
    (
        "guest.netdev-up",
        "Settings for ens192:\n\tSpeed: 10000Mb/s\n\tLink detected: no\n",
        "detected: no",
        "detected: yes",
    ),
    ("guest.port-errors", "NIC statistics:\n     rx_crc_errors_phy: 5\n", ": 5", ": 0"),
    ("guest.packet-loss", "NIC statistics:\n     rx_prio3_discards: 5\n", "discards", "packets"),
    // PCI.
    (
        "gpu.pcie-link",
        "05:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n\tLnkCap: Port #0, Speed 16GT/s, Width x16\n\tLnkSta: Speed 16GT/s, Width x8\n",
        "Width x8",
        "Width x16",
    ),
    (
        "guest.pcie-link",
        "05:00.0 Ethernet controller: Mellanox Technologies MT27800 Family\n\tLnkCap: Port #0, Speed 8GT/s, Width x16\n\tLnkSta: Speed 8GT/s, Width x8 (downgraded)\n",
        "LnkSta:",
        "LnkSta2:",
    ),
    (
        "guest.pcie-link",
        "05:00.0 Ethernet controller: Mellanox Technologies MT27800 Family\n\tLnkCap: Port #0, Speed 8GT/s, Width x16\n\tLnkSta: Speed 8GT/s, Width x8 (downgraded)\n",
        "Ethernet controller: Mellanox Technologies",
        "PCI bridge: VMware",
    ),
    (
        "gpu.driver-bound",
        "05:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b5] (rev a1)\n\tKernel driver in use: nouveau\n",
        "in use: nouveau",
        "in use: nvidia",
    ),
    (
        "guest.pvrdma-driver",
        "00:10.0 Ethernet controller [0200]: VMware VMXNET3 Ethernet Controller [15ad:07b0] (rev 01)\n\tKernel driver in use: vmxnet3\n00:10.1 Network controller [0280]: VMware Paravirtual RDMA controller [15ad:0820]\n\tKernel modules: vmw_pvrdma\n",
        "\tKernel modules: vmw_pvrdma",
        "\tKernel driver in use: vmw_pvrdma",
    ),
    (
        "guest.pvrdma-pairing",
        "00:00.0 Host bridge [0600]: Intel Corporation [8086:7190]\n0b:00.1 Infiniband controller [0207]: VMware Paravirtual RDMA controller [15ad:0820]\n",
        "00:00.0 Host bridge [0600]",
        "00:00.0 ISA bridge [0601]",
    ),
    (
        "guest.pci-device-lost",
        "05:00.0 Ethernet controller: Mellanox Technologies MT27800 Family (rev ff)\n",
        "(rev ff)",
        "(rev 00)",
    ),
    (
        "gpu.acs",
        "\tACSCtl: SrcValid+ TransBlk- ReqRedir+\n",
        "SrcValid+ TransBlk- ReqRedir+",
        "SrcValid- TransBlk- ReqRedir-",
    ),
    // GPUs.
    ("gpu.pcie-link", fixture!("public/91-nvidia-smi-q-link-idle-and-x8.txt"), ": 8x", ": 16x"),
    ("gpu.pcie-link", fixture!("public/91-nvidia-smi-q-link-idle-and-x8.txt"), ": 8x", ": N/A"),
    (
        "gpu.licence",
        fixture!("public/77-nvidia-smi-q-vgpu-license.txt"),
        "Unlicensed (Restricted)",
        "Licensed (Expiry: 2026-12-1)",
    ),
    (
        "gpu.driver-bound",
        "$ nvidia-smi\nNo devices were found\n",
        "No devices were found",
        "No devices were found by adb",
    ),
    ("gpu.topology", fixture!("public/82-nvidia-smi-topo-m.txt"), "CPU Affinity", "CPUs"),
    // Tests.
    (
        "guest.perftest-result",
        fixture!("soft-roce/perftest/ib_read_bw-client.txt"),
        " 65536      200",
        " nothing    200",
    ),
    // UCX.
    ("mpi.interface-choice", fixture!("public/49-ucx-docker0-chosen.txt"), "172.17.0.1", "198.51.100.1"),
    (
        "guest.gid-index",
        fixture!("public/47-ucx-retry-exceeded-roce-linklocal-gid.txt"),
        "sgix 0 dgid fe80::ff:fe00:1",
        "sgix 3 dgid ::ffff:192.0.2.1",
    ),
    ("mpi.ucx-net-devices", fixture!("soft-roce/mpi/wrong-device.txt"), "network device", "memory device"),
    (
        "mpi.ucx-verbs",
        "#      Transport: tcp\n#         Device: eth0\n#      Transport: self\n#         Device: memory\n",
        "Transport: self",
        "Transport: rc_verbs",
    ),
    // Open MPI.
    ("mpi.pml", "[a:1] select: component ob1 selected\n", "component ob1", "component ucx"),
    (
        "mpi.pml",
        "mca:pml:cm:version:\"component:4.1.4\"\nmca:pml:ob1:version:\"component:4.1.4\"\n",
        "pml:cm:",
        "pml:ucx:",
    ),
];

#[test]
fn each_conclusion_has_a_near_miss_that_does_not_get_it() {
    let mut wrong = Vec::new();
    for (check, text, from, to) in NEAR {
        assert!(text.contains(from), "{from} in {text}");
        let graver = |text: &str, than: Option<Status>| {
            let found = of(text).findings;
            let own = found.iter().filter(|finding| finding.check == *check);
            own.map(|finding| finding.status)
                .find(|status| than.is_none_or(|than| than == Status::Info || *status != Status::Info))
        };
        let Some(status) = graver(text, None) else {
            wrong.push(format!("no {check} in {:?}: {text}", checks(&of(text))));
            continue;
        };
        let near = text.replace(from, to);
        // Where the finding is more than news, news may be left.
        if graver(&near, Some(status)).is_some() {
            wrong.push(format!("{check} in {near}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Two hosts whose ports do not fit; the same with ports that do.
#[test]
fn what_two_hosts_print_is_compared() {
    let host = |name: &str, mtu: &str| {
        format!(
            "root@{name}:~# ibv_devinfo\nhca_id:\tmlx5_0\n\tport:\t1\n\t\tstate:\tPORT_ACTIVE (4)\n\t\tmax_mtu:\t4096 (5)\n\t\tactive_mtu:\t{mtu}\n\t\tlink_layer:\tEthernet\n"
        )
    };
    let unlike = host("a", "1024 (3)") + &host("b", "4096 (5)");
    let explained = of(&unlike);
    assert_eq!(checks(&explained), ["guest.mtu-pair", "guest.roce-mtu"]);
    assert_eq!(fact(&explained, "b:mlx5_0/1.active_mtu"), "4096");
    let alike = host("a", "4096 (5)") + &host("b", "4096 (5)");
    assert_eq!(checks(&of(&alike)), Vec::<&str>::new());
    // The two banners of one test.
    let client = fixture!("soft-roce/perftest/ib_write_lat-client.txt");
    let server = fixture!("soft-roce/perftest/ib_write_lat-server.txt");
    let both = format!("{client}{server}");
    assert_eq!(checks(&of(&both)), ["guest.perftest-result", "guest.perftest-result"]);
    let other = format!("{client}{}", server.replace("GID index       : 1", "GID index       : 3"));
    assert_eq!(checks(&of(&other)), ["guest.gid-index", "guest.perftest-result", "guest.perftest-result"]);
    let smaller = format!("{client}{}", server.replace("1024[B]", "512[B]"));
    assert!(checks(&of(&smaller)).contains(&"guest.mtu-pair"));
}

/// Lines as these tools print them every day; none of them says that something is wrong.
const ORDINARY: [&str; 26] = [
    "[  217.241817] vmw_pvrdma 0000:00:10.1: device version 20, driver version 20",
    "[  217.278457] vmw_pvrdma 0000:00:10.1: paired device to eth1",
    "[  218.102794] mlx5_core 0000:13:00.0 ens256np0: Link up",
    "[   15.259805] nvidia: module license 'NVIDIA' taints kernel.",
    "[   15.282012] nvidia: module verification failed: signature and/or  required key missing - tainting kernel",
    "Jan 19 19:12:20 node7 kernel: infiniband mlx5_0: set active",
    "Jan 19 19:12:20 node7 kernel: rdma_rxe: loaded",
    "Jan 19 19:12:20 node7 systemd[1]: rdma-load-modules@rdma.service: Succeeded.",
    "Jan 19 19:12:20 node7 nvidia-gridd[700]: License acquired successfully. (Info: 192.0.2.7, NVIDIA Virtual Compute Server)",
    "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0",
    "link mlx5_0/1 lqpn 25 rqpn 31 type RC state RTS rq-psn 8371451 sq-psn 5422340 path-mig-state MIGRATED pdn 4 pid 1234 comm ib_write_bw",
    "0: mlx5_0: pd 3 cq 5 qp 4 cm_id 0 mr 2 ctx 0 srq 2",
    "[1641472459.969228] [node7:2648 :0]          ucp_context.c:1774 UCX  INFO  UCP version is 1.12 (release 0)",
    "[1641472459.969228] [node7:2648 :0]            ucp_worker.c:1783 UCX  INFO  ep_cfg[1]: tag(self/memory rc_mlx5/mlx5_0:1)",
    "node7:185309:185309 [7] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens192:192.0.2.7<0>",
    "node7:185309:185309 [7] NCCL INFO Using network IB",
    "node7:185309:185309 [7] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
    "node7:185309:185309 [7] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
    "[node7:00350] select: initializing pml component ucx",
    "[node7:00350] mca: base: components_open: found loaded component ucx",
    "We have 28 processes. Process 1 reporting for duty.",
    "GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-00000000-0000-0000-0000-000000000001)",
    "the driver failed with status 12 of 30 nodes, and the port number 1 of the switch is fine",
    "Couldn't connect to the printer; the queue was created and no device is down",
    "warning: the job was not given a port, and the device was not found in the rack",
    "Permission denied (publickey,password).",
];

#[test]
fn a_thousand_ordinary_lines_give_no_finding() {
    for line in ORDINARY {
        let found = of(&format!("{line}\n"));
        assert!(found.findings.iter().all(|finding| finding.status == Status::Info), "{line}: {:?}", found.findings);
        assert_eq!(checks(&found), Vec::<&str>::new(), "{line}");
    }
    let text: String = (0..40).flat_map(|_| ORDINARY.iter().flat_map(|line| [*line, "\n"])).collect();
    assert!(text.lines().count() > 1_000);
    assert_eq!(checks(&of(&text)), Vec::<&str>::new());
    // Words of tools in sentences are no input that is known.
    for text in [
        "The link is ACTIVE and RDMA works.\nWe use ibstat and ethtool every day.\n",
        "driver: good\nversion: 2\n",
        "state: fine\nmax_mtu: 4\n",
        "GPU prices rise\n[drm] is a module\n",
        "# Version of this text\n# Device: my phone\n# Transport: by bus\n",
        "Speed: 10\nLink detected: no\n",
    ] {
        let explained = of(text);
        assert_eq!((kinds(&explained), checks(&explained)), (vec![], vec![]), "{text}");
    }
}

fn is_plain(text: &str) -> bool {
    text.len() < 4096 && !text.contains(|c: char| c.is_control() || c == '\u{202e}')
}

/// Whatever becomes of the texts, what is told stays bounded and plain, and lines stay those of the text.
fn assert_bounded(text: &str) -> Result<(), TestCaseError> {
    let explained = of(text);
    // A carriage return that stands alone ends a line, too.
    let text_lines = text.replace("\r\n", "\n").replace('\r', "\n").lines().count().max(1);
    let lines = u32::try_from(text_lines).unwrap_or(u32::MAX);
    for fact in &explained.facts {
        prop_assert!(fact.line <= lines && is_plain(fact.name.as_str()), "{fact:?}");
    }
    for finding in &explained.findings {
        prop_assert!(
            is_plain(&finding.title) && is_plain(&finding.cause) && is_plain(finding.subject.as_str()),
            "{finding:?}"
        );
        prop_assert!(finding.evidence.iter().all(|shown| shown.line.is_some_and(|line| line <= lines)), "{finding:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn damaged_output_is_survived(
        text in crate::probe::testing::mutated_texts(&[
            fixture!("public/42-rdma-link-mixed-ib-and-roce.txt"),
            fixture!("public/36-rdma_link-active-but-ibv_devinfo-abi.txt"),
            fixture!("public/43-ibv_devinfo-renamed-device-active-mtu-1024.txt"),
            fixture!("public/58-show_gids-tabs-missing-version.txt"),
            fixture!("public/21-sysfs-traffic_class-and-mlnx_qos.txt"),
            fixture!("public/47-ucx-retry-exceeded-roce-linklocal-gid.txt"),
            fixture!("public/46-ucx-no-usable-transports.txt"),
            fixture!("public/91-nvidia-smi-q-link-idle-and-x8.txt"),
            fixture!("public/82-nvidia-smi-topo-m.txt"),
            fixture!("public/118-dmesg-nouveau-owns-gpu.txt"),
            fixture!("public/25-ib_write_bw-table-mixed-tabs.txt"),
            fixture!("soft-roce/perftest/after-loss.txt"),
            fixture!("soft-roce/perftest/ib_write_lat-client.txt"),
            fixture!("soft-roce/15-ibstat.txt"),
            fixture!("pvrdma-guest/18-lspci-nnk.txt"),
            fixture!("pvrdma-guest/23-ethtool-s-eth1.txt"),
        ]),
    ) {
        assert_bounded(&text)?;
    }
}
