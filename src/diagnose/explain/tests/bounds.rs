//! What is no input of a host, what is only nearly one, and what was made to do harm.

use super::*;

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        let _ = explain("-", &bytes);
    }

    #[test]
    fn any_mixture_of_lines_is_survived(picks in proptest::collection::vec((0_usize..CASES.len(), 0_usize..12, 0_usize..90), 0..12)) {
        let mut text = String::new();
        for (case, line, cut) in picks {
            let lines: Vec<&str> = CASES[case].text.lines().collect();
            text.extend(lines[line % lines.len()].chars().take(cut));
            text.push('\n');
        }
        let _ = explain("-", text.as_bytes());
    }
}

#[test]
fn what_guests_print_is_no_output_of_a_host() {
    for text in [
        fixture!("07-ibverbs-driver-warnings-before-banner"),
        fixture!("25-ib_write_bw-table-mixed-tabs"),
        fixture!("26-ib_write_bw-gid-decimal"),
        fixture!("51-ompi-openib-no-preset-parameters"),
        fixture!("53-ompi-no-openfabrics-schemes-and-no-pml-ucx"),
        fixture!("58-show_gids-tabs-missing-version"),
    ] {
        let explained = explain("-", text.as_bytes());
        let of_host = |finding: &Finding| finding.check.starts_with("host.") || finding.check.starts_with("vm");
        assert!(!explained.findings.iter().any(of_host), "{explained:?}\n{text}");
        assert!(explained.is_recognised() && !explained.kinds.contains(&Kind::Esxcli), "{explained:?}\n{text}");
    }
}

/// A prompt and words of English are no input that is known.
#[test]
fn prompts_and_sentences_are_not_recognised() {
    for text in [
        "[user@node7 scripts]$ ./a.out\nWe have 28 processes.\nProcess 1 reporting for duty.\n",
        "$ cat /etc/motd\nWelcome to node7, the link to RDMA is on the left\n",
        "root@testpod1:/# date\nMon Nov 30 16:49:14 UTC 2026\n",
        "service was restored to all customers at nine\n",
        "ip addresses are handed out by the router\n",
        "cat and dog\necho of the past\nls is short\n",
        "rdma is remote direct memory access\n",
        "identity = \"me\"\nusbmode = 1\nideal = \"x\"\n",
    ] {
        let explained = explain("-", text.as_bytes());
        assert_eq!((explained.kinds, explained.findings), (vec![], vec![]), "{text}");
    }
    // Commands alone, and a command that is judged, are.
    for text in [
        "nvidia-smi -L\n",
        "$ ip link show\n# modprobe vmw_pvrdma\n",
        "systemctl status x\nok\n$ nvidia-smi -q -d PCI\n",
        "# service vpxa stop\n",
    ] {
        assert_eq!(explain("-", text.as_bytes()).kinds, [Kind::Shell], "{text}");
    }
}

#[test]
fn a_dump_that_is_nested_too_deep_is_not_read_whole() {
    let deep = format!("[root@a:~] vim-cmd vmsvc/get.config 1\n{}{}", "(vim.A) {\n a = ".repeat(90), "}".repeat(90));
    let explained = explain("-", deep.as_bytes());
    assert_eq!(explained.kinds, [Kind::VimCmd]);
    assert!(
        explained.not_read[0].contains("nested too deep") && explained.not_read[0].contains("line 66"),
        "{explained:?}"
    );
    let flat = "[root@a:~] vim-cmd vmsvc/get.config 1\n(vim.A) {\n a = (vim.B) {\n b = 1\n }\n}\n";
    assert_eq!(explain("-", flat.as_bytes()).not_read, Vec::<String>::new());
}

/// Lines as programs write them every day. None of them says that something is wrong.
const ORDINARY: [&str; 25] = [
    "2025-01-19T19:12:20.894Z In(182) vmkernel: cpu6:2097709)RDMA: registered device vmrdma0 of nmlx5_rdma",
    "2025-01-19T19:12:20.894Z In(182) vmkernel: cpu6:2097709)nmlx5_core: vmnic2: PFC is enabled for priority 3",
    "2025-01-19T19:12:20.894Z In(182) vmkernel: cpu6:2097709)PCIPassthru: 3873: pcipDevInfo allocated for 0000:a9:00.0",
    "2025-01-19T19:12:20.894Z In(182) vmkernel: cpu6:2097709)Usb: 1045: Adapter removed.",
    "2025-01-19T19:12:20.894Z cpu6:2097709)PCI: 1395: 0000:05:00.0: device reset succeeded, PCIe link to the device is up",
    "2024-02-01T10:00:00.000Z In(05) vmx - PCIPassthru: Device 0000:42:00.0 registered for the guest",
    "2024-02-01T10:00:00.000Z In(05) vmx - PVRDMA: virtual device at 0000:0b:00.1 uses protocol rocev2",
    "2024-02-01T10:00:00.000Z In(05) vcpu-0 - MONITOR MODE: allowed modes; power on of the monitor was successful",
    "2021-02-20T11:50:10.598+08:00| vmx| I125: VMXNET3 hosted: ethernet0 is present and connected",
    "2025-01-19T19:12:20Z hostd[2099]: info [Originator@6876 sub=Hostsvc.RdmaSystem] PVRDMA uses vmk2",
    "2025-01-19T19:12:20Z vpxa[2100]: verbose pcipassthru configuration is unchanged since the last update",
    "Jan 19 19:12:20 node7 kernel: vmw_pvrdma 0000:0b:00.1: paired device to ens192",
    "Jan 19 19:12:20 node7 kernel: mlx5_core 0000:3b:00.0: firmware version: 16.35.3006",
    "Jan 19 19:12:20 node7 kernel: mlx5_core 0000:3b:00.0: 126.016 Gb/s available PCIe bandwidth",
    "Jan 19 19:12:20 node7 kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03",
    "Jan 19 19:12:20 node7 kernel: vfio_pci: add [10de:20b5[ffffffff:ffffffff]] class 0x000000/00000000",
    "Jan 19 19:12:20 node7 kernel: DMAR: Intel(R) Virtualization Technology for Directed I/O; iommu: default domain type",
    "Jan 19 19:12:20 node7 systemd[1]: Started RDMA Node Description Daemon.",
    "Jan 19 19:12:20 node7 NetworkManager[900]: <info> device (ib0): IPoIB child created, mtu 2044",
    "Jan 19 19:12:20 node7 kubelet[1200]: registered device plugin rdma/hca_shared_devices with 8 devices",
    "Jan 19 19:12:20 node7 sshd[1300]: Accepted publickey for rdma from 192.0.2.7 port 51515 ssh2",
    "Jan 19 19:12:20 node7 nvidia-persistenced[800]: GPU 0000:17:00.0 - persistence mode enabled.",
    "[2025-01-19 19:12:20.497641] rdma.c:1332:nvmf_rdma_connect: *NOTICE*: Host (Initiator) connected over RDMA",
    "node7: NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens192; GPU Direct RDMA enabled",
    "the queue pair of PVRDMA was destroyed by its owner; 0 errors; SR-IOV and ACS are not used by the adapter",
];

#[test]
fn a_thousand_ordinary_lines_that_speak_of_rdma_give_no_finding() {
    let text: String = (0..40).flat_map(|_| ORDINARY.iter().flat_map(|line| [*line, "\n"])).collect();
    assert_eq!(text.lines().count(), 1_000);
    assert_eq!(checks(&explain("-", text.as_bytes())), Vec::<&str>::new());
    for line in ORDINARY {
        assert_eq!(checks(&explain("-", line.as_bytes())), Vec::<&str>::new(), "{line}");
    }
}

#[test]
fn a_vmx_and_a_table_in_one_paste_are_both_explained() {
    let vmx = fixture!("75-vmx-smart-quotes");
    let table = fixture!("16-esxcli-pauseParams-list");
    for text in [
        format!("{vmx}\n[root@esx1:~] esxcli network nic pauseParams list\n{table}"),
        format!("[root@esx1:~] esxcli network nic pauseParams list\n{table}[root@esx1:~] cat vm.vmx\n{vmx}"),
        format!("{vmx}\n{table}"),
        format!("{table}\n{vmx}"),
    ] {
        let explained = explain("-", text.as_bytes());
        let found = checks(&explained);
        for check in ["vmx.odd-quotes", "vmx.hypervisor-shown", "host.pause-off", "host.pause-on"] {
            assert!(found.contains(&check), "no {check} in {found:?}:\n{text}");
        }
        assert!(
            explained.kinds.contains(&Kind::Vmx) && explained.kinds.contains(&Kind::Esxcli),
            "{:?}",
            explained.kinds
        );
    }
}

/// Whatever comes in, what is told of it is bounded and plain.
#[test]
fn hostile_texts_are_bounded() {
    let vmx = |number: usize| format!("pciPassthru{number}.present = \u{201d}TRUE\u{201d}\n");
    let long = format!("pciPassthru0.id = \"{}\"\n", "0".repeat(10 << 20));
    let escapes =
        "pvrdma0.present = \"\u{1b}]0;title\u{7}\u{202e}TRUE\"\nesxcli hardware pci pcipassthru get \u{1b}[2J\n";
    let mut invalid =
        b"firmware = \"\xff\xfe\xc3\x28\"\n[root@\xffx:~] esxcli network nic sriov list\n\0\0\0\n".to_vec();
    invalid.extend(b"\0".repeat(100_000));
    let pages: Vec<String> =
        (0..3_000).map(|at| format!("total number of pages needed ({at}) exceeds limit (1)\n")).collect();
    let texts: [Vec<u8>; 8] = [
        long.into_bytes(),
        escapes.into(),
        invalid,
        pages.concat().into_bytes(),
        (0..super::super::MOST_LINES + 500).map(vmx).collect::<String>().into_bytes(),
        "[root@esx1:~] ".repeat(4_000).into_bytes(),
        "(vim.vm.X) {\n a = \"".repeat(4_000).into_bytes(),
        "\r".repeat(1 << 15).into_bytes(),
    ];
    let mut not_read = Vec::new();
    for text in texts {
        let explained = explain("-", &text);
        not_read.extend(explained.not_read.iter().cloned());
        let begin = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
        assert!(explained.facts.len() <= MOST_FACTS && explained.findings.len() <= MOST_FINDINGS, "{begin}");
        for finding in &explained.findings {
            assert!(finding.evidence.len() <= MOST_EVIDENCE && finding.cause.len() < 4096, "{begin}");
            let excerpts = finding.evidence.iter().map(|shown| shown.excerpt.as_str());
            for said in excerpts.chain([finding.title.as_str(), &finding.cause, &finding.subject]) {
                assert!(!said.contains(|c: char| c.is_control() || c == '\u{202e}') && said.len() < 4096, "{said:?}");
            }
        }
    }
    assert!(not_read.iter().any(|what| what.contains("from line 20001 on was not read")), "{not_read:?}");
    let not_read = explain("-", &b"x".repeat(2 << 20)).not_read;
    assert!(not_read.iter().any(|what| what.starts_with("line 1 is longer")), "{not_read:?}");
}
