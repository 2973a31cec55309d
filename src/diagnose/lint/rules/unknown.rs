//! Keys that are not in the catalogue: a word about them, never a verdict.

use super::{Found, Rule, Severity, at, field, rule};
use crate::diagnose::lint::Subject;

pub(super) const RULES: &[Rule] = &[rule(
    "vmx.unknown-key",
    Severity::Info,
    "A key that is not in the catalogue",
    field("the catalogue of this program; a VMX may hold keys that no document names"),
    unknown,
)];

/// How known keys begin, in lower case.
const PREFIXES: &[&str] = &[
    ".encoding",
    "acpi.",
    "annotation",
    "answer.",
    "bios.",
    "bios440.",
    "checkpoint.",
    "chipset.",
    "cleanshutdown",
    "config.version",
    "configextendedinfo",
    "cpuid.",
    "ctkenabled",
    "debugstub.",
    "devices.",
    "disk.",
    "displayname",
    "efi.",
    "ehci.",
    "ehci:",
    "encryption.",
    "extendedconfigfile",
    "featmask.",
    "featurecompat.",
    "firmware",
    "floppy",
    "ft.",
    "gui.",
    "guestinfo",
    "guestos",
    "hgfs",
    "hpet",
    "hypervisor.",
    "ide",
    "ioapic",
    "isolation.",
    "keyboard.",
    "log.",
    "logging",
    "logger.",
    "machine.id",
    "mainmem.",
    "managedvm.",
    "mem.",
    "memsize",
    "memtrimrate",
    "memallowautoscaledown",
    "memhotadd",
    "migrate.",
    "mks.",
    "monitor",
    "monitor_control.",
    "msg.",
    "numa.",
    "numvcpus",
    "nvme",
    "nvram",
    "parallel",
    "pcibridge",
    "pcihole.",
    "policy.",
    "powertype.",
    "precisionclock",
    "priority.",
    "remotedisplay.",
    "replay.",
    "rtc.",
    "sata",
    "scsi",
    "sched.",
    "serial",
    "sharedfolder",
    "smbios.",
    "smc.",
    "snapshot.",
    "softpoweroff",
    "sound.",
    "storage.",
    "suspend.",
    "svga.",
    "tablet",
    "time.",
    "timetracker.",
    "timesync.",
    "tools.",
    "toolscripts.",
    "toolsinstallmanager.",
    "tpm.",
    "uefi.",
    "usb",
    "uuid.",
    "vapp.",
    "vc.",
    "vcpu.",
    "vhv.",
    "virtualhw.",
    "vm.",
    "vmci",
    "vmotion.",
    "vmx.",
    "vmxstats.",
    "vmxnet3.",
    "vpmc.",
    "vpmu.",
    "vrdma.",
    "vvtd.",
    "vtpm.",
    "windows.",
    "wwn.",
    "workingdir",
    "xhci",
    "unity.",
    "vmi.",
    "vprobe.",
    "virtualdisk.",
    "vmfork.",
    "vflash.",
    "latency.",
    "fdm.",
    "ulm.",
    "mac.",
    "mce.",
    "swap",
    "cpu.",
];

/// Rests of keys of a network adapter, in lower case, or how they begin.
const ADAPTER: &[&str] = &[
    "present",
    "virtualdev",
    "networkname",
    "dvs.",
    "addresstype",
    "generatedaddress",
    "address",
    "checkmacaddress",
    "connectiontype",
    "startconnected",
    "allowguestconnectioncontrol",
    "wakeonpcktrcv",
    "pcislotnumber",
    "uptcompatibility",
    "uptv2enabled",
    "features",
    "linkstatepropagation.",
    "filename",
    "vnet",
    "bsdname",
    "displayname",
    "exclude",
    "filter",
    "externalid",
    "opaquenetwork.",
    "limit",
    "reservation",
    "shares",
    "networkreservation",
    "networkshares",
    "coalescingscheme",
    "coalescingparams",
    "pnicfeatures",
    "ctxperdev",
    "udprss",
    "rss",
    "rxdatarings",
    "maxrxqueues",
    "maxtxqueues",
    "vrdma",
    "deviceprotocol",
    "protocol",
    "noprom",
    "noforged",
    "autodetect",
    "csum",
    "tso",
    "lro",
];

/// Rests of keys of a passthrough device, in lower case, or how they begin.
const DEVICE: &[&str] = &[
    "present",
    "id",
    "deviceid",
    "vendorid",
    "systemid",
    "subdeviceid",
    "subvendorid",
    "class",
    "pcislotnumber",
    "msienabled",
    "cfg.",
    "pfid",
    "networkname",
    "dvs.",
    "macaddress",
    "macaddresstype",
    "addresstype",
    "generatedaddress",
    "address",
    "checkmacaddress",
    "startconnected",
    "alloweddevices",
    "customlabel",
    "vgpu",
    "vmiop",
    "mtu",
    "allowmtuchange",
    "defaultvlan",
    "dynamicid",
    "devicegroup",
    "group",
    "maxmmio",
    "opregion",
    "externalid",
    "connectiontype",
    "virtualdev",
    "migrate",
    "vgpuid",
    "allow",
];

/// Keys of passthrough as a whole, in lower case.
const WHOLE: &[&str] = &[
    "pcipassthru.use64bitmmio",
    "pcipassthru.64bitmmiosizegb",
    "pcipassthru.allowp2p",
    "pcipassthru.relaxacscheck",
    "pcipassthru.relaxacsforp2p",
    "pcipassthru.enabledma",
    "pcipassthru.msienabled",
    "pcipassthru.nvidia",
];

/// True if a key is in the catalogue.
fn is_known(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let of = |prefix: &str, rests: &[&str]| {
        let rest = lower.strip_prefix(prefix).and_then(|tail| tail.split_once('.'));
        rest.is_some_and(|(number, rest)| {
            number.parse::<u32>().is_ok() && rests.iter().any(|known| rest == *known || rest.starts_with(known))
        })
    };
    if lower.starts_with("pcipassthru") {
        return WHOLE.iter().any(|known| lower.starts_with(known)) || of("pcipassthru", DEVICE);
    }
    if lower.starts_with("ethernet") {
        return of("ethernet", ADAPTER);
    }
    if lower.starts_with("pvrdma") {
        return false;
    }
    PREFIXES.iter().any(|known| lower.starts_with(known))
}

fn unknown(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter(|entry| {
            !is_known(&entry.key)
                && crate::diagnose::keys::find(&entry.key).is_none()
                && !super::host::is_invented(&entry.key)
                && !super::numa::is_misspelt_latency(&entry.key)
        })
        .map(|entry| at(entry, "not in our catalogue of keys: it may be real, misspelt or of no effect"))
        .collect()
}
