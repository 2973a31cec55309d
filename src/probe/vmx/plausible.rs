//! Whether a file can be the configuration of a VM at all: other files have the same grammar, and people name wrong files.

use super::dictionary::{Content, Dictionary};

/// How names begin that nearly every VMX has, and those of the devices that matter here.
const USUAL: &[&str] = &[
    "config.version",
    "virtualHW.",
    "memSize",
    "numvcpus",
    "displayName",
    "guestOS",
    "guestinfo.",
    "ethernet",
    "pciPassthru",
    "pciBridge",
    "pvrdma",
    "vrdma",
    "scsi",
    "sata",
    "nvme",
    "sched.",
    "numa.",
    "cpuid.",
    "vhv.",
    "hypervisor.",
    "firmware",
    "uefi.",
    "mem.",
    "monitor",
    "mks.",
    "svga.",
    "vmci",
    "tools.",
    "isolation.",
    "msg.",
    "uuid.",
    "floppy",
    "extendedConfigFile",
    "latency.",
];

/// How names begin in files that are no VMX but have its grammar.
const OTHERS: &[&str] = &["snapshot", "ddb.", "cid", "parentcid", "createtype", "encoding"];

impl Dictionary {
    /// True for a name that begins as those do that nearly every VMX has.
    pub(super) fn is_usual(key: &str) -> bool {
        is_usual(key.as_bytes())
    }

    /// True if this can be the configuration of a VM: a line begins with a name that such files hold, or each line is an
    /// assignment in quotes that belongs to none of the other files of that grammar (VMSD, disk descriptor).
    pub fn is_plausible(&self) -> bool {
        if self.bytes.contains(&0) {
            return false;
        }
        let mut entries = 0;
        let mut all_quoted = true;
        for line in &self.lines {
            match &line.content {
                Content::Blank | Content::Comment => {}
                Content::Entry(entry) => {
                    let other = OTHERS.iter().any(|name| entry.key.to_ascii_lowercase().starts_with(name));
                    if is_usual(entry.key.as_bytes()) {
                        return true;
                    }
                    all_quoted &= entry.quoted && !other;
                    entries += usize::from(!entry.key.starts_with('.'));
                }
                Content::Malformed(_) => {
                    let text = self.bytes.get(line.place.clone()).unwrap_or_default().trim_ascii_start();
                    // A word alone is prose; `ethernet0.present TRUE` is a line of a VMX that lost its `=`.
                    let name = text.split(|byte| matches!(byte, b' ' | b'\t' | b'=')).next().unwrap_or_default();
                    if is_usual(name) && name.contains(&b'.') {
                        return true;
                    }
                    all_quoted = false;
                }
            }
        }
        entries > 0 && all_quoted
    }
}

fn is_usual(key: &[u8]) -> bool {
    USUAL.iter().any(|name| key.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes())))
}
