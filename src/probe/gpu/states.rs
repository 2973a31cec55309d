//! What each GPU is and how it is set, out of `nvidia-smi -q`: model, modes and those that wait for a reset, memory errors and
//! what was repaired of them, power, clocks and what holds them down, the PCIe link.
//!
//! The driver's own file tells whether it is loaded: where neither that file nor the tool is there, nothing is stated of the guest,
//! and where the driver is there without the tool, that is told.

use std::sync::Arc;

use super::blocks::{self, Device, Line};
use super::cells::{self, absent, address};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const DRIVER: &str = "/proc/driver/nvidia/version";

/// States of GPUs.
pub const PROBE: Probe = Probe {
    name: "gpu.states",
    title: "NVIDIA GPUs: modes, memory errors, power, clocks, PCIe link",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "gpu.driver", read: Read::Files(&[DRIVER]) },
        Source {
            name: "gpu.query",
            read: Read::Command { argv: &[Word::Plain("nvidia-smi"), Word::Plain("-q")], keep: None },
        },
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [driver, query] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let is_loaded = version(driver, &mut facts);
    let devices = blocks::devices(query.lines());
    let count = devices.iter().filter(|device| device.address.is_some()).count();
    for device in &devices {
        match device.address.and_then(address) {
            Some(address) => of_gpu(query, &Entity::Gpu(address), device, &mut facts),
            None => of_driver(query, device, &mut facts),
        }
    }
    facts.extend(lost(query));
    let state = match trouble(query, is_loaded) {
        Some(_) if count > 0 => State::Known("nvidia-smi".into()),
        Some(state) => state,
        None if count > 0 => State::Known("nvidia-smi".into()),
        // Neither the tool nor the driver: a guest without a GPU.
        None => return facts,
    };
    facts.push(query.fact(Entity::Guest, Attribute::GpuReadBy, state, 0));
    facts
}

/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 ...`; true if the driver is loaded.
fn version(driver: &Observation, facts: &mut Vec<Fact>) -> bool {
    let mut is_loaded = false;
    for (number, line) in driver.lines() {
        let Some((_, text)) = line.split_once("NVRM version:") else { continue };
        is_loaded = true;
        let is_version = |word: &&str| {
            word.contains('.')
                && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        };
        if let Some(version) = text.split_whitespace().find(is_version) {
            facts.push(driver.known(Entity::Guest, Attribute::NvidiaDriver, version, number));
        }
    }
    is_loaded
}

/// Why there is no GPU to be read, if that is so and means anything.
fn trouble(query: &Observation, is_loaded: bool) -> Option<State<Value>> {
    match query.outcome {
        Outcome::Exit(127) => return is_loaded.then(|| State::NotInstalled(Text::new("nvidia-smi"))),
        Outcome::TimedOut => {
            return Some(State::Failed(Text::new("nvidia-smi did not answer in time: the driver or a GPU hangs")));
        }
        Outcome::Cut => return Some(State::Failed(Text::new("the answer was cut off before its end"))),
        Outcome::Exit(_) => {}
    }
    let said = query.stdout.lines().chain(query.stderr.lines()).map(str::trim).find(|line| !line.is_empty());
    match (query.outcome.clone(), said) {
        (_, Some(line)) if line.starts_with("No devices were found") => {
            Some(State::Failed(Text::new("the NVIDIA driver is loaded and has no GPU: No devices were found")))
        }
        (Outcome::Exit(0), Some(_)) => None,
        (Outcome::Exit(0), None) => Some(State::Failed(Text::new("nvidia-smi said nothing"))),
        (_, Some(line)) => Some(State::Failed(Text::new(line))),
        (outcome, None) => {
            Some(State::Failed(Text::new(&format!("nvidia-smi ended with {outcome:?} and said nothing"))))
        }
    }
}

/// `Unable to determine the device handle for GPU0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU`.
fn lost(query: &Observation) -> Vec<Fact> {
    const HEAD: &str = "Unable to determine the device handle for ";
    let stdout = query.lines();
    let stderr = query.stderr.lines().map(|line| (0, line));
    stdout
        .chain(stderr)
        .filter_map(|(number, line)| {
            let rest = line.trim().strip_prefix(HEAD)?;
            let rest = rest.trim_start_matches("gpu").trim_start_matches("GPU").trim_start();
            let (place, why) = rest.split_once(": ")?;
            let gpu = address(place)?;
            let why = why.split(['.', '\n']).next().unwrap_or(why).trim();
            Some(query.known(Entity::Gpu(gpu), Attribute::GpuHealth, why, number))
        })
        .collect()
}

fn of_driver(query: &Observation, device: &Device<'_>, facts: &mut Vec<Fact>) {
    for (key, attribute) in [("Driver Version", Attribute::NvidiaDriver), ("CUDA Version", Attribute::CudaVersion)] {
        if let Some(line) = device.find(&[&[key]]).filter(|line| !cells::is_nothing(line.value)) {
            facts.push(query.known(Entity::Guest, attribute, line.value, line.number));
        }
    }
}

/// How a value is read.
type Convert = fn(&str) -> Option<Value>;

/// One attribute: the ways on which releases of the driver print it, and how it is read.
type Row = (Attribute, &'static [&'static [&'static str]], Convert);

const ROWS: &[Row] = &[
    (Attribute::GpuModel, &[&["Product Name"]], |value| Some(text(value))),
    (Attribute::GpuUuid, &[&["GPU UUID"]], |value| Some(text(value))),
    (Attribute::Vbios, &[&["VBIOS Version"]], |value| Some(text(value))),
    (Attribute::GpuVirtualization, &[&["GPU Virtualization Mode", "Virtualization Mode"]], |value| {
        Some(virtualization(value))
    }),
    (Attribute::ComputeMode, &[&["Compute Mode"]], |value| Some(compute_mode(value))),
    (Attribute::PersistenceMode, &[&["Persistence Mode"]], flag),
    (Attribute::MigMode, &[&["MIG Mode", "Current"]], flag),
    (Attribute::MigModePending, &[&["MIG Mode", "Pending"]], flag),
    (Attribute::EccMode, &[&["ECC Mode", "Current"]], flag),
    (Attribute::EccModePending, &[&["ECC Mode", "Pending"]], flag),
    (Attribute::GpuMemory, &[&["FB Memory Usage", "Total"]], mebibytes),
    (Attribute::Bar1Size, &[&["BAR1 Memory Usage", "Total"]], mebibytes),
    (
        Attribute::PowerLimit,
        &[
            &["GPU Power Readings", "Current Power Limit"],
            &["Power Readings", "Enforced Power Limit"],
            &["Power Readings", "Power Limit"],
        ],
        milliwatts,
    ),
    (
        Attribute::PowerLimitDefault,
        &[&["GPU Power Readings", "Default Power Limit"], &["Power Readings", "Default Power Limit"]],
        milliwatts,
    ),
    (
        Attribute::PowerLimitMax,
        &[&["GPU Power Readings", "Max Power Limit"], &["Power Readings", "Max Power Limit"]],
        milliwatts,
    ),
    (Attribute::SmClockMax, &[&["Max Clocks", "SM"]], count),
    (Attribute::MemoryClockMax, &[&["Max Clocks", "Memory"]], count),
    (Attribute::ApplicationClock, &[&["Applications Clocks", "Graphics"]], count),
    (Attribute::SlowdownTemperature, &[&["Temperature", "GPU Slowdown Temp"]], count),
    (Attribute::ShutdownTemperature, &[&["Temperature", "GPU Shutdown Temp"]], count),
    (Attribute::PerformanceState, &[&["Performance State"]], |value| Some(text(value))),
    (Attribute::PcieGeneration, &[&["PCI", "GPU Link Info", "PCIe Generation", "Current"]], count),
    (Attribute::PcieGenerationMax, &[&["PCI", "GPU Link Info", "PCIe Generation", "Max"]], count),
    (Attribute::PcieGenerationGpu, &[&["PCI", "GPU Link Info", "PCIe Generation", "Device Max"]], count),
    (Attribute::PcieGenerationHost, &[&["PCI", "GPU Link Info", "PCIe Generation", "Host Max"]], count),
    (Attribute::PcieLanes, &[&["PCI", "GPU Link Info", "Link Width", "Current"]], count),
    (Attribute::PcieLanesMax, &[&["PCI", "GPU Link Info", "Link Width", "Max"]], count),
    (Attribute::PcieReplays, &[&["PCI", "Replays Since Reset"]], count),
    (Attribute::RemappedCorrectable, &[&["Remapped Rows", "Correctable Error"], &["Remapped Rows"]], count),
    (Attribute::RemappedUncorrectable, &[&["Remapped Rows", "Uncorrectable Error"], &["Remapped Rows"]], count),
    (Attribute::RemapPending, &[&["Remapped Rows", "Pending"], &["Remapped Rows"]], flag),
    (Attribute::RemapFailed, &[&["Remapped Rows", "Remapping Failure Occurred"], &["Remapped Rows"]], flag),
    (Attribute::RetiredSingleBit, &[&["Retired Pages", "Single Bit ECC"]], count),
    (Attribute::RetiredDoubleBit, &[&["Retired Pages", "Double Bit ECC"]], count),
    (
        Attribute::RetirementPending,
        &[&["Retired Pages", "Pending Page Blacklist"], &["Retired Pages", "Pending"]],
        flag,
    ),
];

fn of_gpu(query: &Observation, gpu: &Entity, device: &Device<'_>, facts: &mut Vec<Fact>) {
    let mut tell = |attribute, state, line| facts.push(query.fact(gpu.clone(), attribute, state, line));
    for (attribute, ways, convert) in ROWS {
        if let Some(line) = device.find(ways) {
            tell(*attribute, cells::state(line.value, convert), line.number);
        }
    }
    if let Some(line) = device.find(&[&["Product Name"], &["GPU UUID"]]) {
        let is_lost = absent(line.value).filter(|state| matches!(state, State::Failed(_)));
        let health = is_lost.map_or_else(|| State::Known("yes".into()), |_| State::Known(line.value.into()));
        tell(Attribute::GpuHealth, health, line.number);
    }
    if let Some((state, line)) = recovery(device) {
        tell(Attribute::RecoveryAction, state, line);
    }
    if let Some((state, line)) = reasons(device) {
        tell(Attribute::ClockReasons, state, line);
    }
    for (attribute, span, kind) in [
        (Attribute::EccCorrected, "Volatile", Kind::Corrected),
        (Attribute::EccUncorrected, "Volatile", Kind::Uncorrected),
        (Attribute::EccCorrectedEver, "Aggregate", Kind::Corrected),
        (Attribute::EccUncorrectedEver, "Aggregate", Kind::Uncorrected),
    ] {
        if let Some((state, line)) = errors(device, span, kind) {
            tell(attribute, state, line);
        }
    }
}

/// What the driver wants done with it: releases since 545 name the action, those before only a reset.
fn recovery(device: &Device<'_>) -> Option<(State<Value>, u32)> {
    if let Some(line) = device.find(&[&["GPU Recovery Action"]]) {
        // Here `None` is an answer.
        let state = match line.value {
            "None" => State::Known("none".into()),
            "Reset" | "GPU Reset" => State::Known("reset the GPU".into()),
            "Reboot" | "Node Reboot" => State::Known("reboot".into()),
            other => cells::state(other, |text| Some(text.to_lowercase().as_str().into())),
        };
        return Some((state, line.number));
    }
    let reset = device.find(&[&["GPU Reset Status", "Reset Required"]])?;
    let drain = device.find(&[&["GPU Reset Status", "Drain and Reset Recommended"]]);
    let is = |line: &Line<'_>| cells::flag(line.value) == Some(true);
    Some(match (is(reset), drain.filter(|line| is(line))) {
        (true, _) => (State::Known("reset the GPU".into()), reset.number),
        (false, Some(drain)) => (State::Known("drain and reset".into()), drain.number),
        (false, None) => (
            cells::state(reset.value, |text| (cells::flag(text) == Some(false)).then(|| Value::from("none"))),
            reset.number,
        ),
    })
}

/// What holds the clocks down now. The block was renamed with release 535.
fn reasons(device: &Device<'_>) -> Option<(State<Value>, u32)> {
    const NAMES: [(&str, &str); 9] = [
        ("Idle", "idle"),
        ("Applications Clocks Setting", "application clocks"),
        ("SW Power Cap", "software power cap"),
        ("HW Slowdown", "hardware slowdown"),
        ("Sync Boost", "sync boost"),
        ("SW Thermal Slowdown", "software thermal"),
        ("HW Thermal Slowdown", "hardware thermal"),
        ("HW Power Brake Slowdown", "power brake"),
        ("Display Clock Setting", "display"),
    ];
    let is_reason =
        |line: &&Line<'_>| line.is_below(&["Clocks Throttle Reasons"]) || line.is_below(&["Clocks Event Reasons"]);
    let lines: Vec<&Line<'_>> = device.lines.iter().filter(is_reason).collect();
    let first = lines.first()?;
    let active: Vec<&&Line<'_>> = lines.iter().filter(|line| cells::flag(line.value) == Some(true)).collect();
    let Some(shown) = active.first() else {
        let known = lines.iter().any(|line| cells::flag(line.value) == Some(false));
        return Some((if known { State::Empty } else { absent(first.value)? }, first.number));
    };
    let name = |line: &&&Line<'_>| {
        let key = line.way.last().copied().unwrap_or_default();
        Text::new(NAMES.iter().find(|(known, _)| *known == key).map_or(key, |(_, name)| name))
    };
    Some((State::Known(Value::List(active.iter().map(name).collect())), shown.number))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Corrected,
    Uncorrected,
}

/// Memory errors of all its memories together. Before Ampere they are told as `Single Bit / Total` and `Double Bit / Total`.
fn errors(device: &Device<'_>, span: &str, kind: Kind) -> Option<(State<Value>, u32)> {
    let old = if kind == Kind::Corrected { "Single Bit" } else { "Double Bit" };
    if let Some(line) = device.find(&[&["ECC Errors", span, old, "Total"]]) {
        return Some((cells::state(line.value, count), line.number));
    }
    let belongs = |line: &&Line<'_>| {
        let [block, own, key] = line.way[..] else { return false };
        let is_uncorrected = key.contains("Uncorrectable");
        let is_error = is_uncorrected || key.contains("Correctable");
        block.eq_ignore_ascii_case("ECC Errors")
            && own == span
            && is_error
            && is_uncorrected == (kind == Kind::Uncorrected)
    };
    let lines: Vec<&Line<'_>> = device.lines.iter().filter(belongs).collect();
    let known: Vec<(u64, u32)> = lines
        .iter()
        .filter(|line| absent(line.value).is_none())
        .filter_map(|line| Some((cells::count(line.value)?, line.number)))
        .collect();
    // The line to show is one that says something.
    let shown = known.iter().max_by_key(|(errors, number)| (*errors, std::cmp::Reverse(*number)));
    match shown {
        Some((_, line)) => {
            let sum = known.iter().fold(0u64, |sum, (errors, _)| sum.saturating_add(*errors));
            Some((State::Known(Value::Count(sum)), *line))
        }
        None => lines.first().map(|line| (cells::state(line.value, count), line.number)),
    }
}

fn text(value: &str) -> Value {
    value.into()
}

fn flag(value: &str) -> Option<Value> {
    cells::flag(value).map(Value::Flag)
}

fn count(value: &str) -> Option<Value> {
    cells::count(value).map(Value::Count)
}

fn mebibytes(value: &str) -> Option<Value> {
    cells::mebibytes(value).map(Value::Count)
}

fn milliwatts(value: &str) -> Option<Value> {
    let (watts, unit) = cells::amount(value)?;
    (watts >= 0.0 && matches!(unit, "" | "W")).then(|| Value::Count(cells::whole(watts * 1000.0)))
}

fn virtualization(value: &str) -> Value {
    match value {
        "Pass-Through" => "pass-through".into(),
        "VGPU" => "vGPU".into(),
        "None" => "none".into(),
        "Host VGPU" => "host vGPU".into(),
        "Host VSGA" => "host vSGA".into(),
        other => other.into(),
    }
}

fn compute_mode(value: &str) -> Value {
    value.to_lowercase().replace('_', " ").as_str().into()
}

#[cfg(test)]
mod tests;
