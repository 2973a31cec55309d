//! What a text is, told from its own words: no file name is needed, though `local.sh` helps.

use std::sync::LazyLock;

use super::guest;
use super::parts::Line;
use super::power_on::{self, is_failure};
use super::tables::cut_row;
use super::vmx_lines::{is_snapshot_key, is_together, is_vmx_key};
use crate::diagnose::myth::is_command;
use crate::probe::needles::Needles;
use crate::probe::switch::SwitchSystem;

/// What a text, or a part of it, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Configuration of a VM.
    Vmx,
    /// List of the snapshots of a VM.
    Vmsd,
    /// Output of esxcli or localcli, or a command of theirs.
    Esxcli,
    /// Output of vim-cmd, or a command of it.
    VimCmd,
    /// Output of an esxcfg command, or a command of theirs.
    Esxcfg,
    /// Log of a VM.
    VmwareLog,
    /// Log of the VMkernel.
    VmkernelLog,
    /// The script that an ESXi host runs at its start.
    LocalSh,
    /// Another script, or lines of shell.
    Shell,
    /// Text of `/etc/vmware/esx.conf`.
    EsxConf,
    /// Boot arguments: GRUB's, a kernel's, or ESXi's `kernelopt`.
    BootArguments,
    /// Parameters of a driver module.
    ModuleOptions,
    /// A table of advanced settings, as reports print them.
    SettingsTable,
    /// What was said when a VM did not start.
    PowerOnError,
    /// Version and build as `vmware -vl` prints them.
    EsxiVersion,
    /// What `net-dvs -l` prints.
    NetDvs,
    /// A node of the VMkernel's tree.
    Vsish,
    /// What `esxtop -b` writes.
    Esxtop,
    /// Output of a physical switch of this system.
    Switch(SwitchSystem),
    /// A command of a physical switch, of which nothing tells the system.
    SwitchCommand,
    /// Kernel messages of a guest.
    KernelLog,
    /// The journal or the syslog of a guest.
    Journal,
    /// Tests of perftest, or what they say when they fail.
    Perftest,
    /// Output of `ibv_devinfo` or `ibv_devices`, or what the verbs library says.
    IbvDevinfo,
    /// Output of ibstat.
    Ibstat,
    /// Output of `rdma` of iproute2.
    RdmaTool,
    /// A GID table as `show_gids` prints it.
    ShowGids,
    /// Output of `mlnx_qos`.
    MlnxQos,
    /// Output of ethtool.
    Ethtool,
    /// Output of `ip link` and `ip addr`.
    Ip,
    /// Files of `/sys/class/infiniband` and `/sys/class/net`.
    Sysfs,
    /// Output of lsmod.
    Lsmod,
    /// Output of `numactl --hardware`.
    Numactl,
    /// Output of lspci.
    Lspci,
    /// Output of nvidia-smi.
    NvidiaSmi,
    /// Output of UCX.
    Ucx,
    /// Output of Open MPI.
    OpenMpi,
    /// Output of NCCL.
    Nccl,
    /// A snapshot of this program.
    Snapshot,
    /// What the script of this program's `collector` saved.
    Archive,
    /// That script.
    Collector,
    /// A recording of this program's console.
    Recording,
    /// Another document of this program.
    Document,
    /// Other text with something to say about it.
    Text,
}

impl Kind {
    /// The kind as documents print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vmx => "vmx",
            Self::Vmsd => "vmsd",
            Self::Esxcli => "esxcli",
            Self::VimCmd => "vim-cmd",
            Self::Esxcfg => "esxcfg",
            Self::VmwareLog => "vmware.log",
            Self::VmkernelLog => "vmkernel.log",
            Self::LocalSh => "local.sh",
            Self::Shell => "shell",
            Self::EsxConf => "esx.conf",
            Self::BootArguments => "boot-arguments",
            Self::ModuleOptions => "module-options",
            Self::SettingsTable => "settings-table",
            Self::PowerOnError => "power-on-error",
            Self::EsxiVersion => "esxi-version",
            Self::NetDvs => "net-dvs",
            Self::Vsish => "vsish",
            Self::Esxtop => "esxtop",
            Self::Switch(system) => system.name(),
            Self::SwitchCommand => "switch",
            Self::KernelLog => "dmesg",
            Self::Journal => "journal",
            Self::Perftest => "perftest",
            Self::IbvDevinfo => "ibv_devinfo",
            Self::Ibstat => "ibstat",
            Self::RdmaTool => "rdma",
            Self::ShowGids => "show_gids",
            Self::MlnxQos => "mlnx_qos",
            Self::Ethtool => "ethtool",
            Self::Ip => "ip",
            Self::Sysfs => "sysfs",
            Self::Lsmod => "lsmod",
            Self::Numactl => "numactl",
            Self::Lspci => "lspci",
            Self::NvidiaSmi => "nvidia-smi",
            Self::Ucx => "ucx",
            Self::OpenMpi => "open-mpi",
            Self::Nccl => "nccl",
            Self::Snapshot => "rdmascope-snapshot",
            Self::Archive => "rdmascope-archive",
            Self::Collector => "rdmascope-collector",
            Self::Recording => "rdmascope-recording",
            Self::Document => "rdmascope-document",
            Self::Text => "text",
        }
    }

    /// True for logs: nobody knows all messages of one.
    pub fn has_messages(self) -> bool {
        use Kind::{Journal, KernelLog, Nccl, OpenMpi, Ucx, VmkernelLog, VmwareLog};
        matches!(self, VmwareLog | VmkernelLog | KernelLog | Journal | Ucx | OpenMpi | Nccl)
    }
}

/// All that is known, in words for people; help and refusals list it.
pub const KNOWN: &str = "vmware.log and vmkernel.log; what was said when a VM did not start; VMX and VMSD files; output of esxcli, localcli \
                         (also as JSON, CSV and key-value pairs), esxcfg-* and vim-cmd, with or without the command; local.sh, other scripts and command lines; esx.conf; boot \
                         arguments; parameters of driver modules; tables of advanced settings; net-dvs, vsish, esxtop \
                         -b; output of switches (Arista EOS, Cisco NX-OS, Cumulus Linux, Onyx, SONiC); dmesg and the journal of \
                         guests; output of perftest, ibv_devinfo, ibstat, rdma, show_gids, mlnx_qos, ethtool, ip, lspci, lsmod, \
                         numactl, files of /sys/class/infiniband, nvidia-smi, \
                         UCX, Open MPI and NCCL; files of rdmascope itself";

/// The script that a text is, if it is one.
pub(super) fn script(path: &str, lines: &[Line<'_>]) -> Option<Kind> {
    let filled = lines.iter().map(|(_, line)| line.trim_start_matches('\u{feff}').trim_start());
    // Other languages are source code, and read nowhere.
    let is_shell = |line: &str| {
        line.starts_with("#!")
            && !["python", "perl", "ruby", "node", "lua", "php"].iter().any(|word| line.contains(word))
    };
    let begins = filled.clone().find(|line| !line.is_empty()).is_some_and(is_shell);
    let named = path.ends_with("local.sh");
    let says = |line: &str| line.contains("local configuration options") || line.contains("/etc/rc.local.d/local.sh");
    match begins {
        true if named || filled.clone().any(says) => Some(Kind::LocalSh),
        true => Some(Kind::Shell),
        false => named.then_some(Kind::LocalSh),
    }
}

/// What a command at a prompt, and so its output, is.
pub(super) fn of_command(command: &str) -> Kind {
    let first = command.split_whitespace().next().unwrap_or_default();
    match first.rsplit('/').next().unwrap_or_default() {
        "esxcli" | "localcli" => Kind::Esxcli,
        "vim-cmd" => Kind::VimCmd,
        name if name.starts_with("esxcfg-") => Kind::Esxcfg,
        _ => Kind::Shell,
    }
}

/// What each line is.
pub(super) fn of_each(lines: &[Line<'_>]) -> Vec<Option<Kind>> {
    let mut kinds: Vec<Option<Kind>> = Vec::with_capacity(lines.len());
    let mut above: Option<&str> = None;
    for (_, line) in lines {
        // Only of a rule the line above it tells what it is; one that repeats it is the same.
        let kind = match kinds.last() {
            Some(kind) if above == Some(line) && !is_rule(line) => *kind,
            _ => of_line(line.trim_start_matches('\u{feff}'), above),
        };
        kinds.push(kind);
        above = Some(line);
    }
    kinds
}

/// What lines are of which each is this; several kinds where they are mixed.
pub(super) fn of_lines(lines: &[Line<'_>], each: &[Option<Kind>]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut snapshots = false;
    let mut keys = 0;
    // Keys that no list of snapshots has.
    let mut settings = 0;
    for ((_, line), kind) in lines.iter().zip(each) {
        let Some(kind) = *kind else { continue };
        keys += usize::from(kind == Kind::Vmx);
        let begin = line.trim_start_matches(['\u{feff}', '#', ' ']);
        settings += usize::from(kind == Kind::Vmx && !begin.starts_with("snapshot") && !begin.starts_with(".encoding"));
        snapshots |= kind == Kind::Vmx && is_snapshot_key(line.trim_start_matches('\u{feff}'));
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if snapshots && settings > 1 {
        kinds.push(Kind::Vmsd);
    } else if snapshots {
        for kind in &mut kinds {
            if *kind == Kind::Vmx {
                *kind = Kind::Vmsd;
            }
        }
    }
    // Some words of a command or of its output look like a key now and then. Keys that stand together are some.
    if kinds.len() > 1 {
        let counts = |line: &str, kind: Option<Kind>| {
            !is_log(kind) && !line.trim().is_empty() && !line.trim_start().starts_with('#')
        };
        let filled = lines.iter().zip(each).filter(|((_, line), kind)| counts(line, **kind)).count();
        if keys * 3 < filled && !is_together(lines, each) {
            kinds.retain(|kind| !matches!(kind, Kind::Vmx | Kind::Vmsd));
        }
    }
    kinds
}

/// True for kinds that messages are of: what is said there is no row of a table and no key.
pub(super) fn is_log(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::VmwareLog | Kind::VmkernelLog | Kind::PowerOnError)) || is_guest_log(kind)
}

/// True for the logs of a guest, which are told where their messages are read.
pub(super) fn is_guest_log(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::KernelLog | Kind::Journal))
}

/// True for a line of a log of a host or a VM, or for what was said when a VM did not start.
pub(super) fn is_message(line: &str) -> bool {
    let kind = of_line(line, None);
    is_log(kind) && !is_guest_log(kind)
}

/// True for a row of a table of advanced settings.
pub(super) fn is_row(line: &str) -> bool {
    of_line(line, None) == Some(Kind::SettingsTable)
}

/// True for a line of dashes and blanks with at least one run of three.
pub(super) fn is_rule(line: &str) -> bool {
    line.contains("---") && line.chars().all(|c| c == '-' || c == ' ')
}

/// True if a line of titles stands above `rule` as esxcli prints it: its titles begin with a capital and it has no tabs. Other
/// programs draw one long rule, or name their columns in small letters.
pub(super) fn is_header(before: &str, rule: &str) -> bool {
    let rule = rule.trim();
    let before = before.trim_start_matches('\u{feff}').trim_start();
    let bar = !rule.contains(' ') && rule.len() > 40;
    !bar && !before.contains('\t') && before.starts_with(|c: char| c.is_uppercase())
}

fn of_line(line: &str, before: Option<&str>) -> Option<Kind> {
    let trimmed = line.trim();
    if trimmed.is_empty() {
        return None;
    }
    let groups = WORDS.groups(trimmed);
    let has = |group: u8| groups >> group & 1 == 1;
    if has(VMWARE) {
        return Some(Kind::VmwareLog);
    }
    if has(VMKERNEL) || has(CPU) && is_at_cpu(trimmed) {
        return Some(Kind::VmkernelLog);
    }
    if let Some(kind) = guest::log(trimmed) {
        return Some(kind);
    }
    let lower = trimmed.to_ascii_lowercase();
    if has(POWER_ON) || has(FAILED) && is_failure(trimmed) || lower.starts_with("msg.") && lower.contains(": \"") {
        return Some(Kind::PowerOnError);
    }
    if has(BOOT) || lower.starts_with("linux /") {
        return Some(Kind::BootArguments);
    }
    if lower.starts_with('/') && (lower.contains(" = \"") || lower.contains("modules_load_order")) {
        return Some(Kind::EsxConf);
    }
    if trimmed.starts_with('|') && trimmed.ends_with('|') && trimmed.matches('|').count() >= 4 {
        let cell = lower.trim_start_matches(['|', ' ', '`', '/']);
        let setting = ["net", "mem", "numa", "vmkernel", "uservars", "cpu", "disk", "misc", "syslog", "security"];
        return setting
            .iter()
            .any(|group| cell.strip_prefix(group).is_some_and(|rest| rest.starts_with(['.', '/'])))
            .then_some(Kind::SettingsTable);
    }
    if has(MODULE) && lower.contains("options =") {
        return Some(Kind::Esxcfg);
    }
    if has(DUMP) || lower.starts_with("listsummary:") || lower.starts_with("vmid ") {
        return Some(Kind::VimCmd);
    }
    if is_vmx_key(&lower) {
        return Some(Kind::Vmx);
    }
    if is_options(&lower) {
        return Some(Kind::ModuleOptions);
    }
    if is_rule(line) && before.is_some_and(|before| is_header(before, line)) {
        return Some(Kind::Esxcli);
    }
    if lower.starts_with("unable to complete sysinfo operation") || lower.starts_with("unknown command or namespace") {
        return Some(Kind::Esxcli);
    }
    if is_block_key(trimmed) || cut_row(trimmed).is_some() {
        return Some(Kind::Esxcli);
    }
    is_tool(trimmed.trim_start_matches(['#', '$', ' '])).then_some(Kind::Shell)
}

/// True for a command of a tool that the list of wrong advice knows, or one that starts a job of MPI or a test. Some names of tools are words of English too: these
/// have to be followed by what only a command has.
pub(super) fn is_tool(command: &str) -> bool {
    guest::is_command_line(command) || is_known_tool(command)
}

fn is_known_tool(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
    let more = second.starts_with(['-', '/', '"', '\'', '$', '.']);
    is_command(first)
        && match first.rsplit('/').next().unwrap_or_default() {
            "ip" => {
                more || matches!(second, "a" | "addr" | "address" | "link" | "l" | "r" | "route" | "neigh" | "rule")
            }
            "rdma" => more || matches!(second, "dev" | "link" | "res" | "resource" | "statistic" | "system"),
            "service" => words.next().is_some_and(|what| {
                matches!(what, "start" | "stop" | "restart" | "status" | "reload") && words.next().is_none()
            }),
            "echo" | "ls" | "cat" => more,
            _ => true,
        }
}

/// A line of vmkernel.log: `cpu12:2097768)`, with or without what stands before and an operation's id.
fn is_at_cpu(line: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    line.match_indices(['c', 'C']).any(|(at, _)| {
        let Some(rest) = line.get(at..at + 3).filter(|word| word.eq_ignore_ascii_case("cpu")).map(|_| &line[at + 3..])
        else {
            return false;
        };
        let (cpu, rest) = rest.split_at(digits(rest));
        rest.strip_prefix(':').is_some_and(|rest| {
            let (world, rest) = rest.split_at(digits(rest));
            let operation = rest.get(..6).is_some_and(|word| word.eq_ignore_ascii_case(" opid="));
            !cpu.is_empty() && !world.is_empty() && (rest.starts_with(')') || operation)
        })
    })
}

/// Groups of [`WORDS`].
const VMWARE: u8 = 0;
const VMKERNEL: u8 = 1;
const CPU: u8 = 2;
const POWER_ON: u8 = 3;
const BOOT: u8 = 4;
const MODULE: u8 = 5;
const DUMP: u8 = 6;
const FAILED: u8 = 7;

/// Words that tell a kind wherever they stand in a line.
static WORDS: LazyLock<Needles> = LazyLock::new(|| {
    const ALL: &[(u8, &[&str])] = &[
        (
            VMWARE,
            &[
                "| vmx|",
                "| vcpu-",
                "| mks|",
                "| svga|",
                ") vmx - ",
                ") vmx ",
                ") vcpu-",
                ") mks - ",
                ") svga - ",
                "dict --- ",
            ],
        ),
        // A driver's line comes without all that stands before it now and then.
        (VMKERNEL, &[" vmkernel: ", " vmkwarning: ", "<nmlx_"]),
        (CPU, &["cpu"]),
        (
            POWER_ON,
            &[
                "vim.fault.",
                "memory reservation (sched.mem.min)",
                "is not a passthrough device",
                "cannot be added when nested hardware-assisted",
                "no pcie slot available",
                "too many pci devices are already",
                "failed to register the device pcipassthru",
            ],
        ),
        (BOOT, &["grub_cmdline", "boot_image=", "kernelopt=", "vfio-pci.ids="]),
        (MODULE, &[" enabled = ", " options = '"]),
        (DUMP, &["(vim."]),
        (FAILED, &[power_on::FAILED]),
    ];
    Needles::new(ALL.iter().flat_map(|(group, words)| words.iter().map(|word| (*word, *group))))
});

/// Parameters that drivers of RDMA adapters take.
const PARAMETERS: [&str; 12] = [
    "pfctx",
    "pfcrx",
    "trust_state",
    "max_vfs",
    "dscp_force",
    "dcbx",
    "pcp_force",
    "enable_rocev2",
    "rss",
    "drss",
    "ecn",
    "enable_nmlx_debug",
];

/// True for words that are all `name=number`, one of them a parameter that matters here.
fn is_options(lower: &str) -> bool {
    let lower = lower.trim_matches(['\'', '"']);
    let mut known = false;
    for word in lower.split_whitespace() {
        let Some((name, value)) = word.split_once('=') else { return false };
        if name.is_empty() || value.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return false;
        }
        known |= PARAMETERS.contains(&name);
    }
    known
}

/// Keys of blocks that commands of esxcli print and that are found nowhere else.
const BLOCK_KEYS: &[&str] = &[
    "VMkernel Name:",
    "Configured Owner:",
    "Current Owner:",
    "Module Name:",
    "Passthru Capable:",
    "Dependent Device:",
    "FPT Sharable:",
    "PFC Enabled:",
    "PFC Configuration:",
    "Sent PFC Frames:",
    "Mode: IEEE",
    "Mode: CEE",
    "Int Value:",
    "Default Int Value:",
    "Default String Value:",
    "VMX Cartel ID:",
    "Config File:",
    "VDS ID:",
    "Advertised Auto Negotiation:",
    "Queue pairs in",
    "Default Graphics Type:",
    "Graphics Type:",
    "Product: VMware ESXi",
    "Configured Ports:",
    "Portset:",
    "Netstack Instance:",
    "Physical Memory:",
    "NUMA Node Count:",
    "CPU Packages:",
    "HV Support:",
    "Hyperthreading Active:",
    "NIC statistics for ",
    "Receive packets dropped:",
    "Total receive errors:",
    "Link Detected:",
    "Driver Info:",
    "Pause RX:",
];

/// True for a line that only a block of esxcli has.
pub(super) fn is_block_key(trimmed: &str) -> bool {
    BLOCK_KEYS.iter().any(|key| trimmed.starts_with(key))
}
