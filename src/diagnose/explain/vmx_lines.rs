//! Which lines are of a VM's configuration or of its list of snapshots, also where something else stands beside them.

use super::kind::{Kind, is_log};
use super::parts::{Line, Part};
use super::sources;

/// True if three keys of a VMX follow each other, or if nothing but keys, at least two, stands between two empty lines.
pub(super) fn is_together(lines: &[Line<'_>], each: &[Option<Kind>]) -> bool {
    let (mut run, mut others) = (0, 0);
    let ends = std::iter::once(("", None));
    for (line, kind) in lines.iter().map(|(_, line)| line.trim()).zip(each.iter().copied()).chain(ends) {
        if line.is_empty() {
            if run > 1 && others == 0 {
                return true;
            }
            (run, others) = (0, 0);
        } else if kind == Some(Kind::Vmx) {
            run += 1;
            if run > 2 {
                return true;
            }
        } else if !is_log(kind) {
            (run, others) = (0, others + 1);
        }
    }
    false
}

/// Which lines belong to a VMX that stands beside something else: a line of which nothing is known is of what stands above
/// it, but behind an empty line, and above a line that is something else, of what comes next before another empty line. A
/// line that begins with a time is of a log.
pub(super) fn of_vmx(part: &Part<'_>, each: &[Option<Kind>]) -> Vec<bool> {
    let lines = &part.lines;
    let known = |at: usize| match each.get(at).copied().flatten() {
        Some(kind) => Some(kind == Kind::Vmx),
        None => lines.get(at).and_then(|(_, line)| sources::stamp(line)).map(|_| false),
    };
    let is_empty = |at: usize| lines.get(at).is_none_or(|(_, line)| line.trim().is_empty());
    let mut next: Vec<Option<bool>> = vec![None; lines.len() + 1];
    for at in (0..lines.len()).rev() {
        next[at] = if is_empty(at) { None } else { known(at).or(next[at + 1]) };
    }
    // What a command printed begins with its output, unless it shows a file.
    let shows = |command: &str| {
        ["cat", "more", "less", "head", "tail", "grep", "vi"].iter().any(|word| command.starts_with(word))
    };
    let mut after_gap = part.command.as_ref().is_none_or(|(_, command)| shows(command));
    let mut is_vmx = false;
    let mut all = Vec::with_capacity(lines.len());
    for (at, next) in next.iter().enumerate().take(lines.len()) {
        after_gap |= is_empty(at);
        let above_other = known(at + 1) == Some(false);
        match known(at) {
            Some(known) => (is_vmx, after_gap) = (known, false),
            None if is_empty(at) => {}
            None if after_gap || above_other => is_vmx = next.unwrap_or(is_vmx && !after_gap),
            None => {}
        }
        all.push(is_vmx);
    }
    all
}

/// True for a key that only a list of snapshots has.
pub(super) fn is_snapshot_key(line: &str) -> bool {
    let key = line.trim_start_matches(['#', ' ']).split(['=', ' ']).next().unwrap_or_default().to_ascii_lowercase();
    key == "snapshot.numsnapshots"
        || key == "snapshot.lastuid"
        || key == "snapshot.current"
        || (key.starts_with("snapshot") && (key.ends_with(".uid") || key.ends_with(".filename")))
}

/// Begins of names that VMX files have.
const VMX_KEYS: [&str; 55] = [
    ".encoding",
    "annotation",
    "bios.",
    "checkpoint.",
    "cleanshutdown",
    "config.version",
    "cpuid.",
    "displayname",
    "efi.",
    "ethernet",
    "extendedconfigfile",
    "firmware",
    "floppy",
    "guestinfo.",
    "guestos",
    "guestosaltname",
    "hpet0",
    "hypervisor.",
    "ide",
    "isolation.",
    "latency.",
    "log.",
    "mem.hotadd",
    "memsize",
    "migrate.",
    "mks.",
    "monitor.",
    "monitor_control.",
    "msg.",
    "numa.",
    "numvcpus",
    "nvme",
    "nvram",
    "pcibridge",
    "pcipassthru",
    "powertype.",
    "pvrdma",
    "replay.",
    "sata",
    "sched.",
    "scsi",
    "snapshot",
    "softpoweroff",
    "svga.",
    "tools.",
    "toolscripts.",
    "usb",
    "uuid.",
    "vcpu.hotadd",
    "vhv.",
    "virtualhw.",
    "vm.genid",
    "vmci0",
    "vrdma.",
    "vvtd.",
];

/// True if the line assigns to a key of a VMX, or would but for a lost equals sign.
pub(super) fn is_vmx_key(lower: &str) -> bool {
    // A VMSD is sometimes pasted behind `# `.
    let lower = lower
        .strip_prefix("# ")
        .filter(|rest| rest.starts_with("snapshot") || rest.starts_with(".encoding"))
        .unwrap_or(lower);
    let key: &str = lower.split(['=', ' ', '\t']).next().unwrap_or_default();
    let rest = lower[key.len()..].trim_start();
    // `ide0:0.present`, but not `identity`.
    let whole = |begin: &str, rest: &str| begin.ends_with('.') || !rest.starts_with(|c: char| c.is_ascii_alphabetic());
    let known = VMX_KEYS.iter().any(|begin| key.strip_prefix(begin).is_some_and(|rest| whole(begin, rest)))
        && !key.ends_with(':');
    let assigned = rest.starts_with('=');
    let dotted = key.contains('.')
        && !rest.is_empty()
        && ["pvrdma", "pcipassthru", "ethernet", "hypervisor"].iter().any(|begin| key.starts_with(begin));
    known && !rest.starts_with("==") && (assigned || dotted)
}
