//! The window above 4 GiB for the BARs of large devices, with the arithmetic.

use super::device::{Device, NVIDIA, devices};
use super::gpu::{Gpu, SMALL_WINDOW};
use super::{Found, Rule, Severity, at, documented, efi, field, missing, rule, shown};
use crate::diagnose::lint::Subject;
use crate::probe::vmx::Entry;

/// The keys.
const ENABLE: &str = "pciPassthru.use64bitMMIO";
const SIZE: &str = "pciPassthru.64bitMMIOSizeGB";

/// The vendor's article, and what the sizes rest on.
const ARTICLE: &str = "KB 2142307; vhpc-toolkit docs/sample-operations.md; BAR1 totals of public nvidia-smi -q outputs and \
                       regions of public lspci outputs (cloud-hypervisor issue 434, kata-containers pull request 4358, \
                       fastfetch issue 1658)";

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.efi-missing",
        Severity::Error,
        "A device with a large BAR needs EFI firmware",
        documented("KB 2142307; frankdenneman.nl/2023/05/30"),
        efi_missing,
    ).starts(),
    rule("vmx.mmio-off", Severity::Error, "A device with a large BAR needs 64-bit MMIO", documented(ARTICLE), off),
    rule(
        "vmx.mmio-small",
        Severity::Error,
        "The 64-bit MMIO window is smaller than the BARs",
        documented(ARTICLE),
        small,
    ),
    rule(
        "vmx.mmio-tight",
        Severity::Warning,
        "The 64-bit MMIO window is smaller than the next power of two",
        documented(ARTICLE),
        tight,
    ),
    rule(
        "vmx.mmio-unproved",
        Severity::Warning,
        "The 64-bit MMIO window is too small if the BARs of a GPU are what they are said to be",
        field("own knowledge of the BAR sizes of A30, A100 80GB PCIe and H100 PCIe; lspci -vs on the host shows the truth"),
        unproved,
    )
    .open(),
    rule(
        "vmx.mmio-by-memory",
        Severity::Info,
        "The 64-bit MMIO window is smaller than twice the memory of GPUs whose BARs are not known",
        documented("vhpc-toolkit docs/sample-operations.md; frankdenneman.nl/2023/05/30: twice the memory"),
        by_memory,
    ),
    rule(
        "vmx.mmio-size-malformed",
        Severity::Error,
        "The size of the 64-bit MMIO window is no number of GB",
        documented("KB 2142307"),
        malformed,
    ),
    rule(
        "vmx.mmio-size-alone",
        Severity::Warning,
        "A 64-bit MMIO window has a size but is not switched on",
        documented("KB 2142307"),
        alone,
    ),
    rule(
        "vmx.mmio-without-efi",
        Severity::Warning,
        "64-bit MMIO is of no use without EFI firmware",
        documented("KB 2142307"),
        without_efi,
    ),
    rule(
        "vmx.mmio-unneeded",
        Severity::Info,
        "No device of the VM needs 64-bit MMIO",
        documented("BAR sizes of network adapters and of GPUs with a small BAR are below 3.5 GiB"),
        unneeded,
    ),
];

/// The window where the file switches it on and gives no size, in GB.
const DEFAULT_WINDOW: u64 = 32;

/// What the large devices need.
struct Need {
    /// MiB in all.
    mib: u64,
    /// `2 x A100-PCIE-40GB (65536 + 32 MiB)`.
    sum: String,
    /// Number of the first.
    first: u32,
}

impl Need {
    /// The need in GiB, with two decimals.
    fn gib(&self) -> f64 {
        self.mib as f64 / 1024.0
    }

    /// Next power of two in GB.
    fn rounded(&self) -> u64 {
        self.mib.div_ceil(1024).next_power_of_two()
    }

    /// The arithmetic in words.
    fn words(&self) -> String {
        format!("64-bit BARs: {} = {} MiB = {:.2} GiB", self.sum, self.mib, self.gib())
    }

    /// What the host says.
    fn failure(&self) -> String {
        format!(
            "'PCIPassthru: total number of pages needed exceeds limit': at least {} pages of 4 KiB, for {}",
            self.mib * 256,
            self.sum
        )
    }
}

/// Adds up the BARs of all devices that are known; `None` if none of them is large.
fn need(devices: &[Device<'_>]) -> Option<Need> {
    need_of(devices, |_| true)
}

/// The same for the devices whose BARs a public output shows: what is an error rests on these alone.
fn proved(devices: &[Device<'_>]) -> Option<Need> {
    need_of(devices, |gpu| !gpu.weak)
}

fn need_of(devices: &[Device<'_>], counts: impl Fn(&Gpu) -> bool) -> Option<Need> {
    let known = devices.iter().filter_map(|device| Some((device.number, device.gpu()?)));
    let known: Vec<_> = known.filter(|(_, gpu)| counts(gpu)).collect();
    let first = known.iter().find(|(_, gpu)| gpu.is_large())?.0;
    let mut models: Vec<(&str, &[u64], u64)> = Vec::new();
    for (_, gpu) in &known {
        if gpu.bars.is_empty() {
            continue;
        }
        match models.iter_mut().find(|(name, ..)| *name == gpu.name) {
            Some((.., count)) => *count += 1,
            None => models.push((gpu.name, gpu.bars, 1)),
        }
    }
    let mib = models.iter().map(|(_, bars, count)| bars.iter().sum::<u64>() * count).sum();
    let terms = models.iter().map(|(name, bars, count)| {
        let bars = bars.iter().map(u64::to_string).collect::<Vec<_>>().join(" + ");
        format!("{count} x {name} ({bars} MiB)")
    });
    let sum = terms.collect::<Vec<_>>().join(" + ");
    Some(Need { mib, sum, first }).filter(|need| need.mib > SMALL_WINDOW)
}

/// The window that the file gives, in GB; `None` if it is off or its size is malformed.
fn window(subject: &Subject<'_>) -> Option<u64> {
    if subject.vmx.flag(ENABLE) != Some(true) {
        return None;
    }
    match subject.vmx.get(SIZE) {
        Some(_) => subject.vmx.number(SIZE),
        None => Some(DEFAULT_WINDOW),
    }
}

fn efi_missing(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let Some(need) = proved(&devices(vmx)).filter(|_| !efi(vmx)) else { return Vec::new() };
    let firmware = vmx.get("firmware");
    let is = firmware.map_or_else(
        || "there is no firmware key, so it is BIOS".to_owned(),
        |entry| format!("the firmware is '{}'", shown(&entry.value)),
    );
    let message = format!(
        "pciPassthru{}: {}, more than fits below 4 GiB; {is}, which cannot place BARs above: in the guest the BAR is \
         unassigned and the driver does not start. A guest installed with BIOS does not boot with EFI as it is",
        need.first,
        need.words()
    );
    let line = firmware.map(|entry| entry.line);
    // No fix: a guest that was installed with BIOS would not boot.
    vec![Found { line, ..missing("firmware", message) }]
}

fn off(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let all = devices(vmx);
    let Some(need) = proved(&all) else { return Vec::new() };
    if vmx.flag(ENABLE) == Some(true) || vmx.get(ENABLE).is_some_and(Entry::odd_quotes) {
        return Vec::new();
    }
    let message = format!("pciPassthru{}: {}; without the key 3.5 GiB can be mapped", need.first, need.words());
    let line = vmx.get(ENABLE).map(|entry| entry.line);
    let found = Found { line, ..missing(ENABLE, message) }.fatal(need.failure()).mend(ENABLE, "TRUE");
    // A size that is there and enough stays.
    let size = size_for(&all, &need);
    let enough = vmx.number(SIZE).is_some_and(|given| given >= size);
    vec![if enough { found } else { found.mend(SIZE, &size.to_string()) }]
}

/// The window to be set, in GB: for all devices, also those of which the size is not proved.
fn size_for(all: &[Device<'_>], proved: &Need) -> u64 {
    need(all).map_or(proved.rounded(), |need| need.rounded())
}

/// The window in words.
fn described(subject: &Subject<'_>, window: u64) -> String {
    if subject.vmx.get(SIZE).is_some() {
        format!("the window is {window} GB = {} MiB", window * 1024)
    } else {
        format!("no size is given, which means {window} GB = {} MiB", window * 1024)
    }
}

fn small(subject: &Subject<'_>) -> Vec<Found> {
    let all = devices(subject.vmx);
    let (Some(need), Some(window)) = (proved(&all), window(subject)) else { return Vec::new() };
    if window.saturating_mul(1024) >= need.mib {
        return Vec::new();
    }
    let message = format!("{}; {}; next power of two: {}", need.words(), described(subject, window), need.rounded());
    let line = subject.vmx.get(SIZE).map(|entry| entry.line);
    let size = size_for(&all, &need).to_string();
    vec![Found { line, ..missing(SIZE, message) }.fatal(need.failure()).mend(SIZE, &size)]
}

fn tight(subject: &Subject<'_>) -> Vec<Found> {
    let all = devices(subject.vmx);
    let (Some(need), Some(window)) = (proved(&all), window(subject)) else { return Vec::new() };
    if window.saturating_mul(1024) < need.mib || window >= need.rounded() {
        return Vec::new();
    }
    let message = format!(
        "{}; {}: enough by the sum, but the next power of two, {}, is what is recommended",
        need.words(),
        described(subject, window),
        need.rounded()
    );
    let line = subject.vmx.get(SIZE).map(|entry| entry.line);
    vec![Found { line, ..missing(SIZE, message) }.mend(SIZE, &size_for(&all, &need).to_string())]
}

/// What would be an error, were the sizes of all models proved.
fn unproved(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let all = devices(vmx);
    let weak = |device: &Device<'_>| device.gpu().filter(|gpu| gpu.weak && gpu.is_large());
    let mut names: Vec<&str> = all.iter().filter_map(weak).map(|gpu| gpu.name).collect();
    names.dedup();
    let Some(need) = need(&all).filter(|_| !names.is_empty()) else { return Vec::new() };
    let known = proved(&all);
    let is_on = vmx.flag(ENABLE) == Some(true);
    // What is certain is a finding of its own.
    let lacks = if !efi(vmx) && known.is_none() {
        "the firmware is not EFI, which alone can place BARs above 4 GiB".to_owned()
    } else if !is_on && known.is_none() && !vmx.get(ENABLE).is_some_and(Entry::odd_quotes) {
        format!("{ENABLE} is not on, so 3.5 GiB can be mapped")
    } else {
        let fits = |need: &Need, window: u64| window.saturating_mul(1024) >= need.mib;
        match window(subject) {
            Some(window) if !fits(&need, window) && known.is_none_or(|known| fits(&known, window)) => {
                described(subject, window)
            }
            _ => return Vec::new(),
        }
    };
    let message = format!(
        "{}; {lacks}. No public output shows the BARs of {}: 'lspci -vs ADDRESS' on the host, or BAR1 in 'nvidia-smi -q -d \
         MEMORY' where the card runs, shows the truth; next power of two: {} GB",
        need.words(),
        names.join(" and "),
        need.rounded()
    );
    let line = vmx.get(SIZE).map(|entry| entry.line);
    vec![Found { line, ..missing(SIZE, message) }]
}

fn by_memory(subject: &Subject<'_>) -> Vec<Found> {
    let all = devices(subject.vmx);
    let gpus: Vec<_> = all.iter().filter_map(Device::gpu).collect();
    // Only where the BARs of one at least are not known.
    if gpus.iter().all(|gpu| !gpu.bars.is_empty()) {
        return Vec::new();
    }
    let memory: u64 = gpus.iter().map(|gpu| gpu.memory).sum();
    let rounded = (2 * memory).next_power_of_two();
    let window = window(subject).unwrap_or(0);
    if window >= rounded {
        return Vec::new();
    }
    let names = gpus.iter().map(|gpu| format!("{} ({} GB)", gpu.name, gpu.memory)).collect::<Vec<_>>().join(" + ");
    let message = format!(
        "the BARs of {names} depend on a setting (resizable BAR, display mode) and are not known here: 'lspci -vv' where the card runs \
         shows them as Region 1 and 3, 'nvidia-smi -q -d MEMORY' as BAR1; the usual rule is twice the memory, \
         2 x {memory} = {} GB, rounded up to {rounded}; the window is {window} GB",
        2 * memory
    );
    let line = subject.vmx.get(SIZE).map(|entry| entry.line);
    vec![Found { line, ..missing(SIZE, message) }]
}

fn malformed(subject: &Subject<'_>) -> Vec<Found> {
    let Some(entry) = subject.vmx.get(SIZE) else { return Vec::new() };
    let value = entry.value.trim();
    if value.parse::<u64>().is_ok_and(|size| size > 0) || entry.odd_quotes() || value.starts_with(['<', '$', '{']) {
        return Vec::new();
    }
    let found = at(entry, format!("'{}' is no number of GB", shown(value)));
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = value.get(digits.len()..).unwrap_or_default().trim();
    let certain = digits.parse::<u64>().is_ok_and(|size| size > 0)
        && ["g", "gb", "gib"].iter().any(|name| unit.eq_ignore_ascii_case(name));
    vec![if certain { found.mend(SIZE, digits) } else { found }]
}

fn alone(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let Some(entry) = vmx.get(SIZE) else { return Vec::new() };
    // Where a device needs it, its absence is a finding of its own.
    let odd = vmx.get(ENABLE).is_some_and(Entry::odd_quotes);
    if vmx.flag(ENABLE) == Some(true) || odd || need(&devices(vmx)).is_some() {
        return Vec::new();
    }
    vec![at(entry, format!("the size has no effect without {ENABLE} = \"TRUE\""))]
}

fn without_efi(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let all = devices(vmx);
    let Some(entry) = vmx.get(ENABLE) else { return Vec::new() };
    let useful = all.iter().any(|device| device.is_whole() && device.gpu().is_none_or(|gpu| !gpu.is_small()));
    let useful = useful && !only_small(&all);
    if vmx.flag(ENABLE) != Some(true) || efi(vmx) || !useful || need(&all).is_some() {
        return Vec::new();
    }
    let message = "64-bit MMIO is on, but the firmware is not EFI, which alone can place BARs above 4 GiB";
    vec![at(entry, message)]
}

/// Network adapters of Intel, which makes GPUs too: the ids of the Linux drivers igb, ixgbe, i40e and ice, and of the virtual
/// functions of these.
const INTEL: &[u32] = &[
    0x10ed, 0x10f8, 0x10fb, 0x1515, 0x151c, 0x1520, 0x1521, 0x1522, 0x1528, 0x154c, 0x1557, 0x1560, 0x1563, 0x1565,
    0x1572, 0x1574, 0x1580, 0x1581, 0x1583, 0x1584, 0x1585, 0x1586, 0x1587, 0x1588, 0x1589, 0x158a, 0x158b, 0x1591,
    0x1592, 0x1593, 0x1599, 0x159a, 0x159b, 0x15ff, 0x1889, 0x37cd, 0x37ce, 0x37cf, 0x37d0, 0x37d1, 0x37d2, 0x37d3,
];

/// True for a network adapter: any function of Mellanox (15b3) and Broadcom (14e4), and the known ones of Intel (8086).
fn is_adapter(vendor: Option<u32>, model: Option<u32>) -> bool {
    match vendor {
        Some(0x15b3 | 0x14e4) => true,
        Some(0x8086) => model.is_some_and(|model| INTEL.contains(&model)),
        _ => false,
    }
}

/// True if all devices are known to need nothing above 4 GiB: network adapters and GPUs with a small BAR.
fn only_small(devices: &[Device<'_>]) -> bool {
    let adapter = |device: &Device<'_>| is_adapter(device.vendor, device.model) || !device.is_whole();
    let small =
        |device: &Device<'_>| device.vendor == Some(NVIDIA) && device.gpu().is_some_and(super::gpu::Gpu::is_small);
    !devices.is_empty() && devices.iter().all(|device| adapter(device) || small(device))
}

fn unneeded(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    match vmx.get(ENABLE) {
        Some(entry) if vmx.flag(ENABLE) == Some(true) && only_small(&devices(vmx)) => {
            let message = "network adapters and GPUs with a small BAR fit below 4 GiB: they need neither 64-bit MMIO nor \
                           EFI; the key does no harm";
            vec![at(entry, message)]
        }
        _ => Vec::new(),
    }
}
