//! Logs as machines write them every day. They are full of the words that mean trouble elsewhere: RDMA, error, timeout,
//! reset, down, failed. Nothing of it calls for attention, so nothing may be found in it.

use super::checks;
use rdmascope::diagnose::explain::explain;

/// One thing after the other, always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What the VMkernel says. `%n` is a small number, `%d` a larger one, `%x` eight hexadecimal digits, `%a` an address of a
/// device, `%v` a physical port, `%i` an address of a network.
const VMKERNEL: &[&str] = &[
    "SunRPC: 1096: Destroying world 0x%x",
    "NFS: 340: Restored connection to the server %i mount point /zbs/vol%n, mounted as %x-%x-0000-000000000000 (\"vol%n\")",
    "NFS: 317: NFS mount succeeded for %i:/zbs/vol%n volume vol%n.",
    "World: 12231: VC opID vim-cmd-%n-dba4 maps to vmkernel opID %x",
    "NRandomHwrng: 500: Out of entropy, refreshing.",
    "Config: 727: \"TrackMigrations\" = %n, Old Value: 0, (Status: 0x0)",
    "Uplink: 537: %v: Driver claims supporting 0 RX queues, and 0 queues are accepted.",
    "Uplink: 11689: Device %v not yet opened, link state is down until then",
    "RDMA: registered device vmrdma%n of nmlx5_rdma, 0 errors",
    "nmlx5_rdma: nmlx5_QueryPort:12 port %n rdma link active, timeout 0, retries 0",
    "nmlx5_core: %v: PFC is enabled for priority 3, 0 pause storms",
    "nmlx5_core: %v: nmlx5_en_TransceiverEvent: module %n plugged, status OK",
    "nvmerdma:%d [ctlr %n, queue %n] connected, 0 errors, keep alive timeout %d ms",
    "PCIPassthru: 3873: pcipDevInfo(0x%x) allocated for %a",
    "PCIPassthru: 1039: pcipdevInfo: 0x%x (%a), state 0, destroyed",
    "PCI: 1395: %a: device reset succeeded, PCIe link to the device is up",
    "Usb: 1045: Adapter removed.",
    "VMotion: 4949: 0x%x S: VMotion bandwidth test: 0 errors, RDMA is not used",
    "NetPort: 1580: enabled port 0x%x with mac 00:00:00:00:00:00",
    "NetSched: 654: vmnic%n: shaping is off, pfc counters cleared",
    "vrdma: 112: port 0x%x: queue pair %d created and destroyed, error count 0",
    "Vob: ImplContextAddList:1191: Vob add (@&!*@*@(vob.net.pg.uplink.transition.up)Uplink:%v is up. 0 portgroups)",
    "ScsiDeviceIO: 4124: Cmd(0x%x) 0x1a, CmdSN 0x%n from world 0 to dev \"mpx.vmhba0:C0:T0:L0\" completed, H:0x0 D:0x2 P:0x0 Valid sense data: 0x5 0x24 0x0.",
    "Jumpstart plugin swapobjd activated.",
    "SchedVsi: 1098: Group: host/vim/vmvisor/vmx(%d): min=0 max=-1 minLimit=-1, units: mhz",
];

/// What a VM's log says.
const VMWARE: &[&str] = &[
    "Log for VMware ESX pid=%d version=8.0.3 build=build-24022510 option=Release",
    "PCIPassthru: Device %a registered for the guest, error count 0",
    "PVRDMA: virtual device at 0000:0b:00.1 uses protocol rocev2",
    "MONITOR MODE: allowed modes          : ULM HV",
    "VMXNET3 hosted: ethernet%n is present and connected, reset 0",
    "Guest: toolbox: Version: build-%d, timeout %n",
    "Vix: [mainDispatch.c:4127]: VMAutomation_ReportPowerOpFinished: statevar=1, newAppState=1873, success=1 additionalError=0",
    "Tools: State change '3' progress: last event 0, event 1, success 1.",
    "SnapshotVMXTakeSnapshotComplete: Done with snapshot 'nightly_%n': %n",
    "MKSVMX: Vigor requested a screenshot",
    "MKSXlib: Failed to open libXi.so.6",
    "DISKLIB-VMFS  : \"/vmfs/volumes/%x/vm/vm.vmdk\" : open successful (%d) size = %d, hd = 0. Type 8",
    "numa: Resuming from checkpoint using VPD = %n",
    "GuestRpc: Got error for channel 0 connection %n: 0 is no error",
    "Chipset: The guest has requested that the virtual machine be hard reset.",
];

/// What the daemons of a host say.
const HOSTD: &[&str] = &[
    "In(166) Hostd[%d]: [Originator@6876 sub=Vimsvc.ha-eventmgr] Event %n : User root@%i logged in as VMware-client/6.5.0",
    "In(166) Hostd[%d]: [Originator@6876 sub=Hostsvc.RdmaSystem] PVRDMA uses vmk2, ruleset pvrdma is open",
    "In(166) Hostd[%d]: [Originator@6876 sub=Vimsvc.TaskManager opID=%x] Task Completed : haTask-%n-vim.VirtualMachine.powerOn-%d Status success",
    "Db(167) Hostd[%d]: [Originator@6876 sub=Vmsvc.vm:/vmfs/volumes/%x/a/a.vmx] pcipassthru configuration is unchanged since the last update",
    "Er(163) Hostd[%d]: [Originator@6876 sub=Default] IpmiIfcOpenIpmiOpen: open(/dev/ipmi0, RDWR) failed 2 m",
    "In(14) vobd[%d]:  [UserLevelCorrelator] %d: [vob.user.ssh.session.closed] SSH session was closed for 'root@%i'.",
    "In(14) shell[%d]: [root]: ls -l /tmp",
    "Wa(164) Vpxa[%d]: [Originator@6876 sub=hostdds] retry %n of statistics, no RDMA counters asked for",
];

/// What the kernel of a guest or of a bare machine says.
const KERNEL: &[&str] = &[
    "mlx5_core %a: firmware version: 16.35.%d",
    "mlx5_core %a: 126.016 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x16 link)",
    "mlx5_core %a: Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps",
    "mlx5_core %a: E-Switch: Total vports %n, per vport: max uc(128) max mc(2048)",
    "mlx5_core %a: Port module event: module %n, Cable plugged",
    "mlx5_core %a ens1f0np0: Link up",
    "mlx5_core %a: MLX5E: StrdRq(1) RqSz(8) StrdSz(2048) RxCqeCmprss(0 basic)",
    "vmw_pvrdma 0000:0b:00.1: paired device to ens192",
    "vmw_pvrdma 0000:0b:00.1: device version %n, driver version 20",
    "vmxnet3 0000:0b:00.0 ens192: NIC Link is Up 10000 Mbps",
    "infiniband rocep11s0f1: set active",
    "RDMA: Registered rdma transport module, 0 errors",
    "Loading iSCSI transport class v2.0-870, RDMA timeout %n",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023",
    "nvidia %a: enabling device (0000 -> 0003)",
    "nvidia-uvm: Loaded the UVM driver, major device number %n.",
    "vfio_pci: add [10de:20b5[ffffffff:ffffffff]] class 0x000000/00000000",
    "DMAR: Intel(R) Virtualization Technology for Directed I/O; iommu: default domain type: Translated",
    "pcieport %a: pciehp: Slot #%n AttnBtn+ PwrCtrl+ MRL- AttnInd- PwrInd- HotPlug+ Surprise- Interlock- NoCompl+",
    "perf: interrupt took too long (%d > %d), lowering kernel.perf_event_max_sample_rate to %d",
    "TCP: request_sock_TCP: Possible SYN flooding on port %d. Sending cookies.",
    "EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
    "ib_core: loaded; ib_uverbs: no failed devices",
    "nfs: server %i not responding, still trying",
    "nfs: server %i OK",
];

/// What programs write to the journal.
const JOURNAL: &[&str] = &[
    "systemd[1]: Started RDMA Node Description Daemon.",
    "systemd[1]: Reached target RDMA Hardware.",
    "systemd[1]: rdma-load-modules@infiniband.service: Succeeded.",
    "rdma-ndd[%d]: adding mlx5_%n (mlx5_%n): node%n",
    "NetworkManager[%d]: <info>  [17%d.%d] device (ib0): IPoIB child created, mtu 2044, reason 'none'",
    "kubelet[%d]: I1207 13:38:49.%d %d manager.go:%n] registered device plugin rdma/hca_shared_devices with %n devices",
    "sshd[%d]: Accepted publickey for rdma from %i port %d ssh2",
    "nvidia-persistenced[%d]: device %a - persistence mode enabled.",
    "slurmd[%d]: task/cgroup: job %d: timeout 0, error code 0, ucx and pmix plugins loaded",
    "chronyd[%d]: Selected source %i, 0 errors",
    "opensm[%d]: SUBNET UP; 0 errors, sweep %n done",
    "collectd[%d]: rdma plugin: np_cnp_sent %d, out_of_sequence 0, local_ack_timeout_err 0, rnr_nak_retry_err 0",
    "mpirun-wrapper[%d]: job %d finished: failed ranks 0, dropped 0, retries 0",
    "dockerd[%d]: time=\"2026-01-02T03:04:05Z\" level=info msg=\"loading plugin rdma-cni, pfc false, error=<nil>\"",
];

fn filled(template: &str, dice: &mut Dice) -> String {
    let mut out = String::new();
    let mut pieces = template.split('%');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (what, rest) = piece.split_at(1);
        let value = match what {
            "n" => dice.roll(60).to_string(),
            "d" => (1000 + dice.roll(900_000)).to_string(),
            "x" => format!("{:08x}", dice.roll(u64::from(u32::MAX))),
            "a" => format!("0000:{:02x}:{:02x}.{}", dice.roll(250), dice.roll(31), dice.roll(7)),
            "v" => format!("vmnic{}", dice.roll(8)),
            "i" => format!("192.0.2.{}", 1 + dice.roll(250)),
            other => format!("%{other}"),
        };
        out.push_str(&value);
        out.push_str(rest);
    }
    out
}

/// One line of this source, with the time and the name before it as the source writes them.
fn line(source: usize, dice: &mut Dice) -> String {
    let (hour, minute, second, part) = (dice.roll(24), dice.roll(60), dice.roll(60), dice.roll(1000));
    let zulu =
        format!("2026-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{part:03}Z", 1 + dice.roll(12), 1 + dice.roll(28));
    let syslog = format!("Jan {:2} {hour:02}:{minute:02}:{second:02} node{}", 1 + dice.roll(31), dice.roll(9));
    let (cpu, world) = (dice.roll(96), 2_097_152 + dice.roll(20_000));
    let old = dice.roll(2) == 0;
    let mut pick = |all: &[&str]| {
        let at = usize::try_from(dice.roll(all.len() as u64)).expect("small");
        filled(all[at], dice)
    };
    match source {
        0 if old => format!("{zulu} cpu{cpu}:{world}){}", pick(VMKERNEL)),
        0 => format!("{zulu} In(182) vmkernel: cpu{cpu}:{world} opID=be121f44){}", pick(VMKERNEL)),
        1 if old => format!("{}+08:00| vmx| I125: {}", zulu.trim_end_matches('Z'), pick(VMWARE)),
        1 => format!("{zulu} In(05) vmx - {}", pick(VMWARE)),
        2 => format!("{zulu} {}", pick(HOSTD)),
        3 if old => format!("[{:6}.{part:06}] {}", hour * 3600 + minute, pick(KERNEL)),
        3 => format!("{syslog} kernel: {}", pick(KERNEL)),
        _ => format!("{syslog} {}", pick(JOURNAL)),
    }
}

/// Nothing is found in these lines, however they come.
fn nothing(how: &str, lines: &[String]) {
    let text = lines.join("\n") + "\n";
    let explained = explain("-", text.as_bytes());
    let told: Vec<_> = explained
        .findings
        .iter()
        .map(|finding| (&finding.check, &finding.title, finding.evidence.first().map(|shown| &shown.excerpt)))
        .collect();
    assert!(checks(&explained).is_empty(), "{how}: {told:#?}");
}

#[test]
fn a_thousand_ordinary_lines_give_no_finding() {
    let mut dice = Dice(7);
    for source in 0..5 {
        let lines: Vec<String> = (0..1000).map(|_| line(source, &mut dice)).collect();
        nothing(&format!("source {source}"), &lines);
        nothing(&format!("source {source}, in the order of letters"), &{
            let mut sorted = lines.clone();
            sorted.sort();
            sorted
        });
        // A log without a word that is known is one all the same, or it is nothing that is known: never a finding.
        let explained = explain("-", lines.join("\n").as_bytes());
        assert_eq!(explained.is_recognised(), !explained.kinds.is_empty());
    }
    let all: Vec<String> = (0..1000).map(|at| line(at % 5, &mut dice)).collect();
    nothing("all sources mixed", &all);
    nothing("quoted", &all.iter().map(|line| format!("> {line}")).collect::<Vec<_>>());
    let wrapped: Vec<String> = all
        .iter()
        .flat_map(|line| {
            line.as_bytes().chunks(72).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect::<Vec<_>>()
        })
        .collect();
    nothing("wrapped at 72", &wrapped);
}

/// Each kind of line alone, so that nothing is hidden by what stands around it.
#[test]
fn no_ordinary_line_gives_a_finding_alone() {
    let mut dice = Dice(11);
    for source in 0..5 {
        for _ in 0..200 {
            nothing("alone", &[line(source, &mut dice)]);
        }
    }
}
