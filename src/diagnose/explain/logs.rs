//! What messages of logs and of failed commands mean, wherever they stand and however they were broken into lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::messages::MESSAGES;
use super::parts::Line;
use super::power_on::{self, Failures};
use super::squeezed::{self, number, squeezed};
use super::{Explained, Kind, Value, kind, vmx};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;
use crate::probe::logs::{Severity, vmkernel};
use crate::probe::needles::Needles;
use crate::probe::vmx::Dictionary;

/// Words of the messages that are told with their numbers.
const PAGES: &str = "total number of pages needed (";
const MEMORY: &str = "memory reservation (sched.mem.min) should be equal to memsize(";
const BAR: &str = "barIndex";
const UNASSIGNED: &str = "Memory at <unassigned>";
const EFI: &str = "firmware=\"efi\"";

/// All words that are looked for.
static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let of_messages = MESSAGES.iter().flat_map(|message| {
        message.words.iter().chain(message.unless).chain(message.with.iter().copied().flatten()).copied()
    });
    let all: BTreeSet<&str> =
        of_messages.chain([PAGES, MEMORY, BAR, UNASSIGNED, EFI, power_on::REGISTER, power_on::FAILED]).collect();
    all.into_iter().collect()
});
static NEEDLES: LazyLock<Needles> =
    LazyLock::new(|| Needles::new(WORDS.iter().map(|words| squeezed(words)).zip(0_u8..)));

/// So many different windows, BARs and names are told of one text.
const MOST_TOLD: usize = 64;

/// Where the words were found: for each of [`WORDS`] the first lines.
struct Seen(Vec<Vec<u32>>);

impl Seen {
    fn lines(&self, words: &str) -> &[u32] {
        WORDS.binary_search(&words).ok().and_then(|at| self.0.get(at)).map_or(&[], Vec::as_slice)
    }

    fn any(&self, words: &[&str]) -> bool {
        words.iter().any(|words| !self.lines(words).is_empty())
    }
}

/// The numbers of messages.
#[derive(Default)]
struct Numbers {
    /// Pages that were needed and the limit, with the lines that say so.
    windows: BTreeMap<(u64, Option<u64>), Vec<u32>>,
    /// Number and place of a BAR, with its size and the first line that says so.
    bars: BTreeMap<(u64, String), (u64, u32)>,
    /// The memory that should be reserved, in MB, and the line.
    memory: Option<(u64, u32)>,
    /// What kept a VM from starting.
    failures: Failures,
}

impl Numbers {
    fn add(&mut self, words: &str, line: u32, rest: &str) {
        match words {
            PAGES => {
                let Some(needed) = number(rest) else { return };
                let limit = rest.split("limit(").nth(1).and_then(number);
                if self.windows.len() < MOST_TOLD || self.windows.contains_key(&(needed, limit)) {
                    let lines = self.windows.entry((needed, limit)).or_default();
                    if lines.len() < super::MOST_EVIDENCE {
                        lines.push(line);
                    }
                }
            }
            BAR => {
                let mut pieces = rest.splitn(3, "size");
                let (place, size) = (pieces.next().unwrap_or_default(), pieces.next().and_then(number));
                if let (Some(index), Some(size)) = (number(rest), size)
                    && self.bars.len() < MOST_TOLD
                {
                    self.bars.entry((index, place.to_owned())).or_insert((size, line));
                }
            }
            power_on::REGISTER => self.failures.device(line, rest),
            power_on::FAILED => self.failures.line(line),
            MEMORY => self.memory = self.memory.or_else(|| Some((number(rest)?, line))),
            _ => {}
        }
    }
}

/// Reads what such messages say.
pub(super) fn read(explained: &mut Explained, lines: &[Line<'_>]) {
    let mut seen = Seen(vec![Vec::new(); WORDS.len()]);
    let mut numbers = Numbers::default();
    squeezed::each(lines, &NEEDLES, |group, line, rest| {
        let group = usize::from(group);
        numbers.add(WORDS[group], line, rest);
        let places = &mut seen.0[group];
        if places.len() < super::MOST_EVIDENCE && places.last() != Some(&line) {
            places.push(line);
        }
    });
    let raw = |line: u32| {
        let after = lines.partition_point(|(number, _)| *number <= line);
        after.checked_sub(1).map_or("", |at| &*lines[at].1)
    };
    window(explained, &numbers, &raw);
    bars(explained, &numbers, &seen, &raw);
    for message in MESSAGES {
        let places: BTreeSet<u32> = message.words.iter().flat_map(|words| seen.lines(words)).copied().collect();
        if places.is_empty() || seen.any(message.unless) || !message.with.iter().all(|words| seen.any(words)) {
            continue;
        }
        let mut finding = Finding::new(
            message.check,
            message.status,
            message.confidence,
            message.subject,
            message.title,
            message.cause,
        );
        finding = finding.decided_by(message.decide);
        if !message.help.is_empty() {
            finding = finding.helped_by(message.help, message.commands, "");
        }
        for line in places.into_iter().take(super::MOST_EVIDENCE) {
            finding = finding.shown(line, raw(line));
        }
        if let Some(kind) = message.kind {
            explained.is(kind);
        }
        explained.finding(finding);
    }
    if let Some((needed, line)) = numbers.memory {
        let needed = i64::try_from(needed).unwrap_or(i64::MAX);
        explained.fact(line, "memsize", State::Known(Value::Number(needed)), Some("MB"));
    }
    numbers.failures.tell(explained, &raw);
    dictionary(explained, lines);
    errors(explained, lines);
}

/// Errors of drivers and devices that no message above is about: told by module and severity.
fn errors(explained: &mut Explained, lines: &[Line<'_>]) {
    if !explained.kinds.contains(&Kind::VmkernelLog) {
        return;
    }
    let told: BTreeSet<u32> =
        explained.findings.iter().flat_map(|finding| &finding.evidence).filter_map(|shown| shown.line).collect();
    let mut modules: Vec<String> = Vec::new();
    let mut meanings: Vec<String> = Vec::new();
    let mut places = Vec::new();
    for (number, raw) in lines {
        if told.contains(number) || !kind::is_message(raw) || !vmkernel::matters(raw) {
            continue;
        }
        let Some(line) = vmkernel::line(raw) else { continue };
        let meaning = vmkernel::meaning(line.text);
        let severity = meaning.as_ref().map_or(line.severity, |meaning| meaning.severity.max(line.severity));
        // What follows from a message that is explained already is no error of its own.
        if severity < Severity::Error || (meaning.is_some() && !told.is_empty()) {
            continue;
        }
        let module = line.module.unwrap_or("VMkernel").to_owned();
        if modules.len() < MOST_TOLD && !modules.contains(&module) {
            modules.push(module);
        }
        if let Some(meaning) = meaning.filter(|meaning| meanings.len() < MOST_TOLD && !meanings.contains(&meaning.text))
        {
            meanings.push(meaning.text);
        }
        if places.len() < 8 {
            places.push((*number, raw));
        }
    }
    if places.is_empty() {
        return;
    }
    let modules = modules.join(", ");
    let title = format!("The VMkernel reports errors of {modules}");
    let cause =
        if meanings.is_empty() { "What these messages mean is not published.".to_owned() } else { meanings.join(". ") };
    let finding = Finding::new("host.vmkernel-errors", Status::Warn, Confidence::Possible, &modules, &title, &cause);
    explained.finding(places.iter().fold(finding, |finding, (number, raw)| finding.shown(*number, raw)));
}

/// Bytes of a page.
const PAGE: u64 = 4096;
const GIB: u64 = 1 << 30;

fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / GIB as f64)
}

/// The 64-bit MMIO window that was too small: pages needed against the limit.
fn window<'a>(explained: &mut Explained, numbers: &Numbers, raw: &dyn Fn(u32) -> &'a str) {
    for ((needed, limit), lines) in &numbers.windows {
        let (needed, line) = (*needed, lines.first().copied().unwrap_or(1));
        let bytes = needed.saturating_mul(PAGE);
        let size = bytes.div_ceil(GIB).checked_next_power_of_two().unwrap_or(u64::MAX);
        let as_value = |number: u64| State::Known(Value::Number(i64::try_from(number).unwrap_or(i64::MAX)));
        explained.fact(line, "mmio.pages-needed", as_value(needed), Some("pages of 4 KiB"));
        let mut cause = format!("{needed} pages of 4 KiB are {}", gib(bytes));
        if let Some(limit) = *limit {
            explained.fact(line, "mmio.pages-limit", as_value(limit), Some("pages of 4 KiB"));
            cause.push_str(&format!(", the limit of {limit} pages is {}", gib(limit.saturating_mul(PAGE))));
            if limit == 917_504 {
                cause.push_str(", the 32-bit window: 64-bit MMIO is off for this VM");
            }
        }
        cause.push_str(&format!(
            ". It needs EFI firmware, pciPassthru.use64bitMMIO and a window of the next power of two, {size} GB; the host needs memory \
             mapped I/O above 4 GB in its BIOS."
        ));
        let size_line = format!("pciPassthru.64bitMMIOSizeGB = \"{size}\"");
        let finding = Finding::new(
            "vm.mmio-window",
            Status::Fail,
            Confidence::Proved,
            "pciPassthru.64bitMMIOSizeGB",
            "The BARs of the passthrough devices do not fit into the VM's MMIO window",
            &cause,
        )
        .helped_by(
            "Give the VM a 64-bit MMIO window",
            &["firmware = \"efi\"", "pciPassthru.use64bitMMIO = \"TRUE\"", &size_line],
            "the VM starts, and the line is not in its new vmware.log",
        );
        explained.finding(lines.iter().fold(finding, |finding, line| finding.shown(*line, raw(*line))));
    }
}

/// BARs as the VM's log lists them: together they tell the window that is needed.
fn bars<'a>(explained: &mut Explained, numbers: &Numbers, seen: &Seen, raw: &dyn Fn(u32) -> &'a str) {
    let mut sum = 0_u64;
    for ((index, _), (size, line)) in &numbers.bars {
        let known = State::Known(Value::Number(i64::try_from(*size).unwrap_or(i64::MAX)));
        explained.fact(*line, &format!("bar{index} (line {line})"), known, Some("bytes"));
        sum = sum.saturating_add(*size);
    }
    let first = numbers.bars.values().map(|(_, line)| *line).min();
    let unassigned = seen.lines(UNASSIGNED).first().copied();
    let efi = seen.any(&[EFI]);
    if let Some(line) = first {
        let cause = format!(
            "The BARs that the log lists are {} together. The window has to be the next power of two, {} GB.",
            gib(sum),
            sum.div_ceil(GIB).checked_next_power_of_two().unwrap_or(u64::MAX)
        );
        let finding = Finding::new(
            "vm.bar-sizes",
            Status::Info,
            Confidence::Proved,
            "BARs",
            "The host maps the BARs of the device",
            &cause,
        );
        explained.finding(finding.shown(line, raw(line)));
    }
    let Some(line) = unassigned else { return };
    if efi {
        return;
    }
    let (confidence, cause) = match first {
        Some(_) => (
            Confidence::Likely,
            "The host maps the BARs, the guest's firmware does not place them: a VM with BIOS firmware cannot reach above 4 GB.",
        ),
        None => (
            Confidence::Possible,
            "The guest's firmware did not place a BAR of the device: a VM with BIOS firmware cannot reach above 4 GB, or its MMIO window is too small.",
        ),
    };
    let finding = Finding::new(
        "vm.bar-unassigned",
        Status::Fail,
        confidence,
        "firmware",
        "A BAR of the device has no address in the guest",
        cause,
    )
    .decided_by("firmware, pciPassthru.use64bitMMIO and 64bitMMIOSizeGB in the VMX; BAR sizes in vmware.log")
    .shown(line, raw(line));
    explained.finding(finding);
}

/// The configuration that a VM's log repeats: the lines between its mark and the next one.
fn dictionary(explained: &mut Explained, lines: &[Line<'_>]) {
    let mut inside = false;
    let mut any = None;
    let mut count = 0;
    for (number, line) in lines {
        let Some((_, entry)) = line.split_once("DICT ") else { continue };
        if let Some(section) = entry.trim().strip_prefix("---") {
            inside = section.trim().eq_ignore_ascii_case("CONFIGURATION");
            if inside {
                any = Some(*number);
            }
            continue;
        }
        if inside {
            for entry in Dictionary::parse(entry.trim().as_bytes()).entries() {
                count += 1;
                explained.fact(*number, &entry.key, vmx::shown(&entry.key, &entry.value), None);
            }
        }
    }
    if let Some(line) = any {
        let (title, cause) = if count == 0 {
            (
                "The log's copy of the VMX is empty",
                "The section CONFIGURATION holds no line here, so nothing is known of the VMX.",
            )
        } else {
            (
                "The log holds a copy of the VMX",
                "The section CONFIGURATION is the VMX as it was when the VM started; it may have changed since.",
            )
        };
        let finding =
            Finding::new("vm.configuration-in-log", Status::Info, Confidence::Proved, "vmware.log", title, cause);
        explained.finding(finding.shown(line, "DICT --- CONFIGURATION"));
    }
}
