//! What guests print, as people pasted it and as it was captured on real guests: what is concluded, and what is not.

use super::super::{Explained, Value, explain};
use crate::diagnose::finding::Status;
use crate::fabric::State;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../../tests/fixtures/", $name))
    };
}

fn of(text: &str) -> Explained {
    explain("-", text.as_bytes())
}

fn checks(explained: &Explained) -> Vec<&str> {
    let mut all: Vec<&str> = explained.findings.iter().map(|finding| finding.check.as_str()).collect();
    all.sort_unstable();
    all
}

fn kinds(explained: &Explained) -> Vec<&'static str> {
    explained.kinds.iter().map(|kind| kind.name()).collect()
}

fn fact(explained: &Explained, name: &str) -> String {
    let all: Vec<String> = explained.facts.iter().map(|fact| fact.name.to_string()).collect();
    let found = explained
        .facts
        .iter()
        .find(|fact| fact.name.as_str() == name)
        .unwrap_or_else(|| panic!("no {name} in {all:?}"));
    match &found.state {
        State::Known(Value::Text(text)) => text.to_string(),
        State::Known(Value::Number(number)) => number.to_string(),
        State::Known(Value::Flag(flag)) => flag.to_string(),
        other => format!("<{}>", other.name()),
    }
}

type Public = (&'static str, &'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);
type Captured = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

/// Each public input of a guest: name, text, what it is, what is found, and words that must be said.
const PUBLIC: &[Public] = &[
    (
        "01",
        fixture!("public/01-ibv_devinfo-v-pvrdma.txt"),
        &["ibv_devinfo"],
        &["guest.pvrdma-limits"],
        &["is PVRDMA", "1024"],
    ),
    (
        "02",
        fixture!("public/02-dmesg-vmw_pvrdma-probe-failed.txt"),
        &["dmesg"],
        &["guest.kernel-messages"],
        &["look at the host", "Net.PVRDMAVmknic"],
    ),
    (
        "07",
        fixture!("public/07-ibverbs-driver-warnings-before-banner.txt"),
        &["perftest", "ibv_devinfo"],
        &["guest.provider-library"],
        &["that is noise"],
    ),
    ("14", fixture!("public/14-rdma-statistic-wrapped.txt"), &["rdma"], &[], &[]),
    (
        "21",
        fixture!("public/21-sysfs-traffic_class-and-mlnx_qos.txt"),
        &["mlnx_qos"],
        &["guest.traffic-class"],
        &["DSCP 59 on priority 5", "PFC is on", "DevX"],
    ),
    (
        "25",
        fixture!("public/25-ib_write_bw-table-mixed-tabs.txt"),
        &["perftest"],
        &["guest.perftest-result"],
        &["0.170 Gb/s", "One direction"],
    ),
    (
        "25b",
        fixture!("public/25b-ib_write_bw-R-errors.txt"),
        &["perftest"],
        &["guest.perftest-exchange"],
        &["without -R", "iWARP"],
    ),
    ("26", fixture!("public/26-ib_write_bw-gid-decimal.txt"), &["perftest"], &[], &[]),
    (
        "27",
        fixture!("public/27-ib_write_lat-unable-to-create-qp.txt"),
        &["perftest"],
        &["guest.perftest-queue-pair"],
        &["-I 0", "not broken"],
    ),
    (
        "28",
        fixture!("public/28-perftest-socket-error-joined-line.txt"),
        &["perftest"],
        &["guest.perftest-side-channel"],
        &["no TCP connection to 192.0.2.211:18515", "firewall"],
    ),
    (
        "35",
        fixture!("public/35-perftest-port-down.txt"),
        &["perftest"],
        &["guest.port-active"],
        &["whose port is down", "-d DEVICE"],
    ),
    (
        "36",
        fixture!("public/36-rdma_link-active-but-ibv_devinfo-abi.txt"),
        &["rdma", "ibv_devinfo", "perftest"],
        &["guest.port-active", "guest.verbs-abi"],
        &["another age", "The link is not what is missing"],
    ),
    (
        "42",
        fixture!("public/42-rdma-link-mixed-ib-and-roce.txt"),
        &["rdma"],
        &["guest.port-active"],
        &["port mlx5_1/1, mlx5_3/1, mlx5_5/1 is DOWN", "sm_lid 0", "GUID", "link state"],
    ),
    (
        "43",
        fixture!("public/43-ibv_devinfo-renamed-device-active-mtu-1024.txt"),
        &["ibv_devinfo"],
        &["guest.roce-mtu"],
        &["1024 of 4096", "1500 gives 1024"],
    ),
    (
        "46",
        fixture!("public/46-ucx-no-usable-transports.txt"),
        &["ucx"],
        &["mpi.ucx-tls"],
        &["knem, dc_x, rc", "Nothing over RDMA is available at all"],
    ),
    (
        "47",
        fixture!("public/47-ucx-retry-exceeded-roce-linklocal-gid.txt"),
        &["ucx"],
        &["guest.gid-index"],
        &["GID index 0, which is link-local", "traffic class 0", "UCX_IB_GID_INDEX=3"],
    ),
    (
        "49",
        fixture!("public/49-ucx-docker0-chosen.txt"),
        &["ucx"],
        &["mpi.interface-choice"],
        &["172.17.0.1", "UCX_NET_DEVICES"],
    ),
    (
        "51",
        fixture!("public/51-ompi-openib-no-preset-parameters.txt"),
        &["open-mpi"],
        &["mpi.interface-choice", "mpi.openib-noise"],
        &["noise where UCX", "does not have"],
    ),
    (
        "53",
        fixture!("public/53-ompi-no-openfabrics-schemes-and-no-pml-ucx.txt"),
        &["open-mpi"],
        &["mpi.pml"],
        &["built without UCX", "ompi_info | grep -i ucx"],
    ),
    (
        "58",
        fixture!("public/58-show_gids-tabs-missing-version.txt"),
        &["show_gids"],
        &["guest.gid-index"],
        &["index 0 is link-local", "is 1"],
    ),
    (
        "63",
        fixture!("public/63-guest-lspci-dmesg-bar1-unassigned.txt"),
        &["lspci", "dmesg"],
        &["vm.bar-unassigned"],
        &[],
    ),
    (
        "76",
        fixture!("public/76-dmesg-nvrm-not-supported-multiline.txt"),
        &["dmesg"],
        &["gpu.driver-support"],
        &["One of three", "vGPU"],
    ),
    (
        "77",
        fixture!("public/77-nvidia-smi-q-vgpu-license.txt"),
        &["nvidia-smi"],
        &["gpu.licence"],
        &["no licence", "crawls"],
    ),
    (
        "78",
        fixture!("public/78-dmesg-fallen-off-bus-no-xid.txt"),
        &["dmesg"],
        &["gpu.fell-off-bus"],
        &["fallen off the bus"],
    ),
    ("79", fixture!("public/79-journal-xid-79.txt"), &["journal"], &["gpu.fell-off-bus"], &["power"]),
    ("82", fixture!("public/82-nvidia-smi-topo-m.txt"), &["nvidia-smi"], &["gpu.topology"], &["virtual hardware"]),
    (
        "87",
        fixture!("public/87-peermem-loaded-not-registered.txt"),
        &["nccl"],
        &["gpu.peer-memory"],
        &["lsmod", "is no proof"],
    ),
    (
        "91",
        fixture!("public/91-nvidia-smi-q-link-idle-and-x8.txt"),
        &["nvidia-smi"],
        &["gpu.pcie-link"],
        &["8 of 16 PCIe lanes", "normal then"],
    ),
    (
        "92",
        fixture!("public/92-lspci-lnksta-idle.txt"),
        &["lspci"],
        &["guest.pcie-link"],
        &["with all its lanes", "under load"],
    ),
    ("93", fixture!("public/93-lspci-vv-vmware-rootport-mail-qp.txt"), &["lspci"], &[], &[]),
    ("115", fixture!("public/115-acsctl-lines.txt"), &["lspci"], &["gpu.acs"], &["only the list of the host counts"]),
    (
        "116",
        fixture!("public/116-mpirun-no-active-ports.txt"),
        &["open-mpi"],
        &["guest.port-active"],
        &["seldom the failure", "ibv_devinfo"],
    ),
    (
        "118",
        fixture!("public/118-dmesg-nouveau-owns-gpu.txt"),
        &["dmesg"],
        &["gpu.driver-bound"],
        &["nouveau has the GPU", "would be another thing"],
    ),
    ("121", fixture!("public/121-nvidia-gridd-syslog.txt"), &["journal"], &["gpu.licence"], &["sister VMs"]),
];

/// Captures of real guests.
const CAPTURED: &[Captured] = &[
    ("rdma link", fixture!("pvrdma-guest/02-rdma-d-link-show.txt"), &["rdma"], &[]),
    ("rdma link, JSON", fixture!("pvrdma-guest/03-rdma-j-d-link-show.txt"), &["rdma"], &[]),
    ("rdma dev", fixture!("pvrdma-guest/04-rdma-d-dev-show.txt"), &["rdma"], &[]),
    ("rdma dev, JSON", fixture!("pvrdma-guest/05-rdma-j-d-dev-show.txt"), &["rdma"], &[]),
    ("rdma res", fixture!("pvrdma-guest/07-rdma-res-show.txt"), &["rdma"], &[]),
    ("rdma res qp", fixture!("soft-roce/09-rdma-res-show-qp.txt"), &["rdma"], &[]),
    ("rdma statistic", fixture!("soft-roce/11-rdma-statistic-show.txt"), &["rdma"], &[]),
    ("rdma statistic, JSON", fixture!("soft-roce/12-rdma-j-statistic-show.txt"), &["rdma"], &[]),
    ("ibstat of PVRDMA", fixture!("pvrdma-guest/15-ibstat.txt"), &["ibstat"], &[]),
    ("ibstat of soft-RoCE", fixture!("soft-roce/15-ibstat.txt"), &["ibstat"], &[]),
    ("ibv_devices", fixture!("pvrdma-guest/16-ibv-devices.txt"), &["ibv_devinfo"], &[]),
    ("ibv_devinfo of PVRDMA", fixture!("pvrdma-guest/17-ibv-devinfo.txt"), &["ibv_devinfo"], &["guest.roce-mtu"]),
    ("ibv_devinfo of soft-RoCE", fixture!("soft-roce/17-ibv-devinfo.txt"), &["ibv_devinfo"], &[]),
    ("lspci", fixture!("pvrdma-guest/18-lspci-nnk.txt"), &["lspci"], &[]),
    ("ethtool -i", fixture!("pvrdma-guest/22-ethtool-i-eth1.txt"), &["ethtool"], &[]),
    ("ethtool -S of vmxnet3", fixture!("pvrdma-guest/23-ethtool-s-eth1.txt"), &["ethtool"], &[]),
    ("ethtool -k", fixture!("pvrdma-guest/24-ethtool-k-eth1-head-30.txt"), &["ethtool"], &[]),
    ("ucx_info -v", fixture!("soft-roce/29-ucx-info-v.txt"), &["ucx"], &[]),
    ("ompi_info", fixture!("soft-roce/30-ompi-info-parsable-2-dev-null-grep-ie-ident.txt"), &["open-mpi"], &[]),
    ("no nvidia-smi", fixture!("soft-roce/31-nvidia-smi.txt"), &["shell"], &["tool.not-installed"]),
    ("dmesg of PVRDMA", fixture!("pvrdma-guest/33-dmesg-tail-20.txt"), &["dmesg"], &[]),
    ("dmesg of soft-RoCE", fixture!("soft-roce/33-dmesg-tail-20.txt"), &["dmesg"], &[]),
    ("no dmesg", fixture!("soft-roce-unprivileged/33-dmesg-tail-20.txt"), &["dmesg"], &["guest.kernel-log-refused"]),
    (
        "ib_read_bw",
        fixture!("soft-roce/perftest/ib_read_bw-client.txt"),
        &["perftest"],
        &["guest.perftest-inline", "guest.perftest-result"],
    ),
    (
        "ib_send_bw -R",
        fixture!("soft-roce/perftest/ib_send_bw-cm-server.txt"),
        &["perftest"],
        &["guest.perftest-result"],
    ),
    (
        "all sizes",
        fixture!("soft-roce/perftest/ib_write_bw-all-sizes-client.txt"),
        &["perftest"],
        &["guest.perftest-result"],
    ),
    (
        "no way",
        fixture!("soft-roce/perftest/ib_write_bw-cm-unreachable-client.txt"),
        &["perftest"],
        &["guest.neighbour"],
    ),
    (
        "by time",
        fixture!("soft-roce/perftest/ib_write_bw-duration-gbits-client.txt"),
        &["perftest"],
        &["guest.perftest-result"],
    ),
    (
        "loss",
        fixture!("soft-roce/perftest/ib_write_bw-loss60-client.txt"),
        &["perftest"],
        &["guest.perftest-exchange", "guest.perftest-result"],
    ),
    ("memlock", fixture!("soft-roce/perftest/ib_write_bw-memlock-client.txt"), &["perftest"], &["guest.memlock"]),
    (
        "no device",
        fixture!("soft-roce/perftest/ib_write_bw-no-device-client.txt"),
        &["perftest"],
        &["guest.rdma-device"],
    ),
    (
        "no server",
        fixture!("soft-roce/perftest/ib_write_bw-no-server-client.txt"),
        &["perftest"],
        &["guest.perftest-side-channel"],
    ),
    (
        "infinite",
        fixture!("soft-roce/perftest/ib_write_bw-run-infinitely-client.txt"),
        &["perftest"],
        &["guest.perftest-result"],
    ),
    (
        "infinite, server",
        fixture!("soft-roce/perftest/ib_write_bw-run-infinitely-server.txt"),
        &["perftest"],
        &["guest.perftest-exchange"],
    ),
    (
        "wrong index",
        fixture!("soft-roce/perftest/ib_write_bw-wrong-gid-client.txt"),
        &["perftest"],
        &["guest.gid-index"],
    ),
    ("latency", fixture!("soft-roce/perftest/ib_write_lat-client.txt"), &["perftest"], &["guest.perftest-result"]),
    ("link down under a test", fixture!("soft-roce/perftest/link-down.txt"), &["rdma"], &["guest.port-active"]),
    ("after loss", fixture!("soft-roce/perftest/after-loss.txt"), &["rdma"], &["guest.retransmits"]),
    (
        "a BTL list without tcp and self",
        fixture!("soft-roce/mpi/btl-no-tcp-self.txt"),
        &["open-mpi"],
        &["mpi.btl-parameters", "mpi.openib-noise"],
    ),
    ("ob1 chosen", fixture!("soft-roce/mpi/default-verbose.txt"), &["open-mpi"], &["mpi.pml"]),
    ("UCX with the default index", fixture!("soft-roce/mpi/ucx-default-gid.txt"), &["ucx"], &["guest.no-answer"]),
    ("UCX with rc_x", fixture!("soft-roce/mpi/ucx-rc_x.txt"), &["ucx", "open-mpi"], &["mpi.ucx-tls"]),
    ("UCX with tcp", fixture!("soft-roce/mpi/ucx-tcp.txt"), &["open-mpi"], &["mpi.pml"]),
    (
        "UCX with a wrong device",
        fixture!("soft-roce/mpi/wrong-device.txt"),
        &["ucx", "open-mpi"],
        &["mpi.ucx-net-devices"],
    ),
];

/// All that findings say.
fn told(explained: &Explained) -> String {
    let mut told = String::new();
    for finding in &explained.findings {
        let commands = finding.remedies.iter().flat_map(|remedy| &remedy.commands);
        for words in [&finding.title, &finding.cause, &finding.decide].into_iter().chain(commands) {
            told.push_str(words);
            told.push('\n');
        }
    }
    told
}

#[test]
fn each_public_input_is_explained() {
    let mut wrong = Vec::new();
    for (name, text, expected, findings, says) in PUBLIC {
        let explained = of(text);
        if (kinds(&explained).as_slice(), checks(&explained).as_slice()) != (*expected, *findings) {
            wrong.push(format!("{name}: {:?} {:?}", kinds(&explained), checks(&explained)));
        }
        let told = told(&explained);
        wrong.extend(
            says.iter().filter(|words| !told.contains(**words)).map(|words| format!("{name}: no {words} in {told}")),
        );
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn captures_of_real_guests_are_explained() {
    let mut wrong = Vec::new();
    for (name, text, expected, findings) in CAPTURED {
        let explained = of(text);
        if (kinds(&explained).as_slice(), checks(&explained).as_slice()) != (*expected, *findings) {
            wrong.push(format!("{name}: {:?} {:?}", kinds(&explained), checks(&explained)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What is found says what shows it and what to do next; its words stand in the text.
#[test]
fn findings_show_lines_and_say_what_is_next() {
    let texts =
        PUBLIC.iter().map(|(name, text, ..)| (name, text)).chain(CAPTURED.iter().map(|(name, text, ..)| (name, text)));
    for (name, text) in texts {
        for finding in of(text).findings {
            assert!(!finding.evidence.is_empty(), "{name}: {finding:?}");
            let lines = u32::try_from(text.lines().count()).expect("a short text");
            assert!(
                finding.evidence.iter().all(|shown| shown.line.is_some_and(|line| (1..=lines).contains(&line))),
                "{name}: {finding:?}"
            );
            assert!(
                finding.status == Status::Info || !finding.remedies.is_empty() || !finding.decide.is_empty(),
                "{name}: {finding:?}"
            );
        }
    }
}

#[test]
fn renamed_hosts_other_times_line_ends_and_blank_lines_change_nothing() {
    let mut wrong = Vec::new();
    for (name, text, _, findings, _) in PUBLIC {
        let renamed = text.replace("nodeA", "login-7").replace("hostA", "login-7").replace("node7", "n");
        let moved = renamed
            .replace("1705555968.", "1805555968.")
            .replace("Apr 29 19:", "Nov  3 04:")
            .replace("[   15.", "[86415.");
        for (how, changed) in [
            ("CRLF", moved.replace('\n', "\r\n")),
            ("behind a BOM", format!("\u{feff}{moved}")),
            ("between blank lines", format!("\n\n{moved}\n\n")),
            ("blank lines within", moved.replace('\n', "\n\n")),
            ("indented", moved.lines().flat_map(|line| ["    ", line, "\n"]).collect()),
            ("wrapped at 72", broken(&moved)),
        ] {
            // What a terminal wrapped is read unwrapped, as far as its widest line tells where.
            if checks(&of(&changed)) != *findings {
                wrong.push(format!("{name}, {how}: {:?}", checks(&of(&changed))));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Two outputs of which lines alternate, as programs write that share a terminal. Prompts in one of them, and messages
/// over several lines of the kernel, cannot be told apart then.
#[test]
fn outputs_that_are_interleaved_keep_their_conclusions() {
    let alone: Vec<_> = PUBLIC
        .iter()
        .filter(|(name, ..)| !["21", "36", "63", "76", "78", "116", "118", "26"].contains(name))
        .map(|(name, text, _, findings, _)| (name, text, findings))
        .collect();
    let mut wrong = Vec::new();
    for (at, (one, first, ones)) in alone.iter().enumerate() {
        for (other, second, others) in [1, 5].map(|step| &alone[(at + step) % alone.len()]) {
            let mut text = String::new();
            let (mut left, mut right) = (first.lines(), second.lines());
            loop {
                let both = [left.next(), right.next()];
                if both == [None, None] {
                    break;
                }
                text.extend(both.into_iter().flatten().flat_map(|line| [line, "\n"]));
            }
            let mut wanted: Vec<&str> = ones.iter().chain(others.iter()).copied().collect();
            wanted.sort_unstable();
            wanted.dedup();
            let explained = of(&text);
            let mut found = checks(&explained);
            found.dedup();
            if found != wanted {
                wrong.push(format!("{one} and {other}: {found:?} in place of {wanted:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Breaks lines as a terminal of 72 columns does.
fn broken(text: &str) -> String {
    let pieces = text.lines().map(|line| {
        let characters: Vec<char> = line.chars().collect();
        let pieces: Vec<String> = characters.chunks(72).map(|piece| piece.iter().collect()).collect();
        pieces.join("\n")
    });
    pieces.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn values_have_their_names_units_and_gaps() {
    let explained = of(fixture!("pvrdma-guest/17-ibv-devinfo.txt"));
    assert_eq!(fact(&explained, "rocep0s16f1/1.state"), "ACTIVE");
    assert_eq!(fact(&explained, "rocep0s16f1/1.active_mtu"), "1024");
    assert_eq!(fact(&explained, "rocep0s16f1.vendor_part_id"), "2080");
    let explained = of(fixture!("soft-roce/15-ibstat.txt"));
    assert_eq!(fact(&explained, "rxe0.firmware-version"), "<empty>");
    assert_eq!(fact(&explained, "rxe0/1.rate"), "2.5");
    let explained = of(fixture!("public/42-rdma-link-mixed-ib-and-roce.txt"));
    assert_eq!(fact(&explained, "mlx5_1/1.sm_lid"), "0");
    assert_eq!(fact(&explained, "mlx5_4/1.netdev"), "enp97s0f0");
    assert!(explained.facts.iter().all(|fact| fact.name.as_str() != "mlx5_4/1.sm_lid"), "RoCE has none");
    let explained = of(fixture!("public/14-rdma-statistic-wrapped.txt"));
    assert_eq!(explained.facts.len(), 30, "{:?}", explained.facts);
    assert_eq!(fact(&explained, "rocep8s0f0/1.cc_rx_cnp_pkts"), "0");
    let explained = of(fixture!("public/26-ib_write_bw-gid-decimal.txt"));
    assert_eq!(fact(&explained, "test 1.local-gid"), "11.0.0.72");
    assert_eq!(fact(&explained, "test 1.device"), "mlx5_0");
    assert_eq!(fact(&explained, "test 1.transport-type"), "IB");
    let explained = of(fixture!("soft-roce/perftest/ib_write_bw-duration-gbits-client.txt"));
    assert_eq!(fact(&explained, "test 1.65536 octets.average"), "0.075 Gb/s");
    assert_eq!(fact(&explained, "test 1.65536 octets.peak"), "<not-published>");
    let explained = of(fixture!("pvrdma-guest/22-ethtool-i-eth1.txt"));
    assert_eq!(fact(&explained, "interface.firmware-version"), "<empty>");
    let explained = of(fixture!("public/58-show_gids-tabs-missing-version.txt"));
    assert_eq!(fact(&explained, "qedr0/1.gid-1.address"), "192.0.2.100");
    assert_eq!(fact(&explained, "qedr0/1.gid-1.version"), "<not-published>");
    let explained = of(fixture!("pvrdma-guest/18-lspci-nnk.txt"));
    assert_eq!(fact(&explained, "00:10.1.driver"), "vmw_pvrdma");
}

mod gpus;
mod near_misses;
