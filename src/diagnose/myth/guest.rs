//! Wrong advice about guests, their GPUs and their MPI: names of devices that nothing has, options that no tool knows,
//! settings that do not do what is said of them.

use super::said::option;
use super::{Myth, Verdict};
use crate::tune::{mpi, ucx};

/// All of them.
pub(super) static MYTHS: &[Myth] = &[
    Myth {
        id: "guest.myth-pvr0",
        verdict: Verdict::WrongValue,
        claim: "the RDMA device in the guest is called pvr0",
        truth: "The driver names it vmw_pvrdma0; with rdma-core's naming it is rocepXsYf1 (or rdmap...). Recognise it by PCI id \
                15ad:0820. Its network interface is the paired vmxnet3, `rdma link` names it behind `netdev`.",
        source: "rdma-core kernel-boot/rdma_rename.c; Linux pvrdma_main.c",
        weak: false,
        needs: &["pvr0"],
        says: |said| said.word("pvr0") && !said.denies(),
    },
    Myth {
        id: "guest.myth-ipoib-on-pvrdma",
        verdict: Verdict::WrongLayer,
        claim: "IPoIB, a P_Key and MTU 65520 on PVRDMA",
        truth: "PVRDMA is RoCE only: IPoIB refuses such ports, P_Keys are InfiniBand's (isolation is by VLAN here), the address \
                is that of the paired vmxnet3, and the RDMA MTU is at most 4096.",
        source: "Linux ipoib_main.c, ipoib_netlink.c; include/rdma/ib_addr.h",
        weak: false,
        needs: &["ipoib", "pkey", "p_key", "65520"],
        says: |said| {
            let ipoib =
                said.has(&["type ipoib"]) || said.any(&["p_key=0x8001", "pkey=0x8001", "pkey 0x8001", "p_key 0x8001"]);
            said.of_pvrdma() && (ipoib || said.value("mtu") == Some("65520") || said.any(&["mtu 65520"]))
        },
    },
    Myth {
        id: "guest.myth-unbind-by-name",
        verdict: Verdict::WrongValue,
        claim: "`echo vmxnet3 > .../unbind`, then DPDK, makes training faster",
        truth: "unbind takes a PCI address. Taken from its driver the adapter has no interface any more and the connection is \
                gone; NCCL and Gloo use sockets or verbs, not DPDK.",
        source: "NVIDIA NCCL user guide, environment variables",
        weak: false,
        needs: &["unbind"],
        says: |said| {
            said.lower.contains("unbind")
                && said.command(&["echo"]).is_some_and(|words| words.iter().any(|word| word == "vmxnet3"))
        },
    },
    Myth {
        id: "gpu.myth-dcgm-on-esxi",
        verdict: Verdict::NoSuchCommand,
        claim: "`nvidia-smi-dcgm`, or DCGM on the ESXi host",
        truth: "DCGM runs in the Linux guest; its tool is dcgmi. There is no nvidia-smi-dcgm.",
        source: "NVIDIA DCGM documentation",
        weak: true,
        needs: &["dcgm"],
        says: |said| said.names(&["nvidia-smi-dcgm"]) || (said.context.esxi && said.runs(&["dcgmi"])),
    },
    Myth {
        id: "gpu.myth-tcc",
        verdict: Verdict::WrongLayer,
        claim: "`nvidia-smi -c 3` or `-dm 1` puts the GPU into TCC mode",
        truth: "-c sets the compute mode (3 is EXCLUSIVE_PROCESS: one process a GPU). TCC is a driver model of Windows; Linux \
                has none.",
        source: "NVML nvmlComputeMode_t, nvmlDeviceGetDriverModel",
        weak: false,
        needs: &["nvidia-smi"],
        says: |said| {
            said.command(&["nvidia-smi"]).is_some_and(|words| {
                let pair = |names: &[&str], values: &[&str]| {
                    words.windows(2).any(|pair| names.contains(&pair[0].as_str()) && values.contains(&pair[1].as_str()))
                };
                (pair(&["-c", "--compute-mode"], &["3"]) && said.word("tcc")) || pair(&["-dm", "-fdm"], &["1", "TCC"])
            })
        },
    },
    Myth {
        id: "gpu.myth-xid-69-acs",
        verdict: Verdict::WrongValue,
        claim: "Xid 69 and 70 are ACS violations between virtual functions",
        truth: "69 is a graphics engine class error, 70 an error of copy engine 3. Neither has to do with ACS; the application \
                is started again.",
        source: "NVIDIA Xid catalogue (leptonai/gpud catalog_generated.go)",
        weak: false,
        needs: &["xid"],
        says: |said| {
            let codes = said.word("69") || said.word("70");
            said.word("xid") && codes && (said.word("acs") || said.any(&["cross-vf"])) && !said.denies()
        },
    },
    Myth {
        id: "gpu.myth-nvidia-smi-pci",
        verdict: Verdict::NoSuchOption,
        claim: "`nvidia-smi -q -d PCI` shows ACS",
        truth: "nvidia-smi has no such section and no ACS field; ACS is in `lspci -vvv` on a Linux host (ACSCap, ACSCtl).",
        source: "pciutils ls-ecaps.c; own knowledge of nvidia-smi",
        weak: true,
        needs: &["nvidia-smi"],
        says: |said| {
            said.command(&["nvidia-smi"]).is_some_and(|words| {
                words.windows(2).any(|pair| pair[0] == "-d" && pair[1].eq_ignore_ascii_case("PCI"))
            })
        },
    },
    Myth {
        id: "gpu.myth-mig-list",
        verdict: Verdict::WrongValue,
        claim: "`nvidia-smi -L` prints `GPU 0000:17:00.0 (UUID..) [MIG 1g.5gb]`",
        truth: "It prints `GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-...)` and indented below it one line for each MIG device.",
        source: "NVIDIA MIG user guide; field report",
        weak: false,
        needs: &["gpu 0000:"],
        says: |said| said.lower.starts_with("gpu 0000:") && said.has(&["(uuid", "[mig"]),
    },
    Myth {
        id: "gpu.myth-mig-scheduling",
        verdict: Verdict::NoSuchKey,
        claim: "the advanced option \"MIG-aware vGPU scheduling\"",
        truth: "There is no such option; a MIG-backed vGPU profile is chosen by its name.",
        source: "no public trace of the option",
        weak: true,
        needs: &["mig-aware vgpu scheduling"],
        says: |said| said.names(&["mig-aware vgpu scheduling"]),
    },
    Myth {
        id: "guest.myth-rdma-res-qps",
        verdict: Verdict::NoSuchOption,
        claim: "`rdma res show qps`",
        truth: "The object is called qp. `qps` prints \"Unknown parameter\" and exits with 0, so a script sees an empty list.",
        source: "iproute2 rdma/res.c, rdma/utils.c",
        weak: false,
        needs: &["qps"],
        says: |said| {
            [["rdma", "res", "show", "qps"], ["rdma", "resource", "show", "qps"]].iter().any(|words| said.runs(words))
        },
    },
    Myth {
        id: "guest.myth-offloads-for-rdma",
        verdict: Verdict::Irrelevant,
        claim: "switching off the offloads of the network interface helps PVRDMA",
        truth: "`ethtool -K` is about the IP stack of the paired vmxnet3; RDMA traffic does not pass it. Without the offloads only \
                TCP becomes slower.",
        source: "Linux drivers/net/vmxnet3; own knowledge",
        weak: true,
        needs: &["ethtool"],
        says: |said| {
            said.of_pvrdma()
                && said.command(&["ethtool", "-K"]).is_some_and(|words| {
                    words.windows(2).any(|pair| {
                        pair[1] == "off" && ["tx", "rx", "sg", "tso", "gso", "gro", "lro"].contains(&pair[0].as_str())
                    })
                })
        },
    },
    Myth {
        id: "guest.myth-irqbalance-no-daemon",
        verdict: Verdict::NoSuchOption,
        claim: "`irqbalance --no-daemon`",
        truth: "irqbalance has --foreground and --oneshot, no --no-daemon; and it moves interrupts, it does not pin them.",
        source: "Irqbalance/irqbalance irqbalance.c",
        weak: false,
        needs: &["irqbalance"],
        says: |said| option(said.command(&["irqbalance"]), "--no-daemon"),
    },
    Myth {
        id: "mpi.myth-rc-x-on-pvrdma",
        verdict: Verdict::WrongValue,
        claim: "UCX_TLS=rc_x or dc_x on PVRDMA",
        truth: ucx::MLX5_ONLY,
        source: ucx::MLX5_SOURCE,
        weak: false,
        needs: &["ucx_tls"],
        says: |said| {
            let mlx5 = ["rc_x", "dc_x", "ud_x", "rc_mlx5", "dc_mlx5", "ud_mlx5", "dc"];
            let tls = said.lower.split_once("ucx_tls").map(|(_, rest)| rest.trim_start_matches(['=', ' ', '"', '\'']));
            let tls = tls.and_then(|rest| rest.split(|c: char| c.is_whitespace() || "\"';".contains(c)).next());
            said.of_pvrdma() && tls.is_some_and(|tls| tls.split(',').any(|name| mlx5.contains(&name)))
        },
    },
    Myth {
        id: "mpi.myth-btl-without-self",
        verdict: Verdict::Opposite,
        claim: "`--mca btl ^tcp,self` switches TCP off and so forces RDMA",
        truth: mpi::BTL_WITHOUT_SELF,
        source: mpi::BTL_SOURCE,
        weak: false,
        needs: &["tcp"],
        says: |said| {
            said.lower.split(|c: char| c.is_whitespace() || "\"'=".contains(c)).any(|word| {
                word.strip_prefix('^').is_some_and(|names| {
                    let names: Vec<&str> = names.split(',').collect();
                    names.contains(&"tcp") && names.contains(&"self")
                })
            }) && said.any(&["btl"])
        },
    },
    Myth {
        id: "mpi.myth-bcopy-thresh",
        verdict: Verdict::Opposite,
        claim: "UCX_BCOPY_THRESH=0 switches buffered copies off",
        truth: ucx::BCOPY_ZERO,
        source: ucx::CONTEXT_SOURCE,
        weak: false,
        needs: &["ucx_bcopy_thresh"],
        says: |said| {
            said.lower.split(|c: char| c.is_whitespace() || "\"';".contains(c)).any(|word| word == "ucx_bcopy_thresh=0")
        },
    },
];
