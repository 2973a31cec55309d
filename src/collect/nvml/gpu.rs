//! One GPU: what moves from row to row, and what rarely changes. Each value is asked for by itself.

use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::{
    Clock, ComputeMode, EccCounter, GpuVirtualizationMode, MemoryError, PcieUtilCounter, PerformanceState,
    TemperatureSensor, TemperatureThreshold,
};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::struct_wrappers::device::{MemoryInfo, ProcessInfo};
use nvml_wrapper::{Device, Nvml};

use super::answer::{self, Answer, Refusal};
use super::fields;
use super::gpm::Counted;
use super::library::filled;
use super::links;
use super::mig::Instances;
use super::page::Page;
use crate::fabric::{Attribute, Entity, Measure, Text, Value};
use crate::probe::gpu::clock_reasons;

/// No more processes of a GPU are told.
const MOST_PROCESSES: usize = 64;

/// The longest name of a process that is asked for.
const PROCESS_NAME: usize = 256;

/// One GPU whose handle was given.
#[derive(Debug)]
pub(super) struct Gpu<'nvml> {
    /// What it is called everywhere.
    pub(super) entity: Entity,
    address: Text,
    index: u32,
    device: Device<'nvml>,
    replays: Option<(u32, Instant)>,
    counted: Option<Counted<'nvml>>,
    instances: Instances<'nvml>,
}

/// The PCI address of a device as sysfs has it. The numbers are filled even where an old driver leaves the text out.
pub(super) fn address(device: &Device<'_>) -> Answer<Text> {
    let info = answer::of(device.pci_info())?;
    if (info.domain, info.bus, info.device) == (0, 0, 0) {
        return Err(Refusal::short()); // that is the root of every bus, and no GPU
    }
    Ok(Text::new(&format!("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device)))
}

impl<'nvml> Gpu<'nvml> {
    /// The GPU that the driver counts so. One that does not tell its address keeps the one it had, or is called by its index.
    pub(super) fn new(index: u32, device: Device<'nvml>, known: Option<&Text>) -> Self {
        let address = address(&device).unwrap_or_else(|_| known.cloned().unwrap_or_else(|| nameless(index)));
        let counted = Counted::is_supported(&device).then(|| Counted::new(None));
        Self {
            entity: Entity::Gpu(address.clone()),
            address,
            index,
            device,
            replays: None,
            counted,
            instances: Instances::default(),
        }
    }

    /// Its address.
    pub(super) fn address(&self) -> &Text {
        &self.address
    }

    /// Writes what moves. The two rates of PCIe take 20 ms each and are read only `with_rates`. Says why it is gone, if it is.
    pub(super) fn measure(&mut self, nvml: &'nvml Nvml, with_rates: bool, page: &mut Page) -> Answer<()> {
        let (device, mut asked) = (&self.device, Asked { entity: &self.entity, page, grave: None });
        let rates = answer::of(device.utilization_rates());
        let share = |share: u32| if share <= 100 { Ok(f64::from(share)) } else { Err(Refusal::short()) };
        let use_now = rates.clone().and_then(|rates| share(rates.gpu));
        asked.number(Measure::GpuUse, "nvmlDeviceGetUtilizationRates gpu", &use_now);
        let busy = rates.and_then(|rates| share(rates.memory));
        asked.number(Measure::GpuMemoryBusy, "nvmlDeviceGetUtilizationRates memory", &busy);
        let used = memory(device).map(|memory| memory.used as f64);
        asked.number(Measure::GpuMemoryUsed, "nvmlDeviceGetMemoryInfo_v2 used", &used);
        let power = answer::of(device.power_usage()).map(|milliwatts| f64::from(milliwatts) / 1000.0);
        asked.number(Measure::Power, "nvmlDeviceGetPowerUsage", &power);
        asked.plain(Measure::SmClock, "nvmlDeviceGetClockInfo SM", device.clock_info(Clock::SM));
        asked.plain(Measure::MemoryClock, "nvmlDeviceGetClockInfo memory", device.clock_info(Clock::Memory));
        asked.plain(Measure::Temperature, "nvmlDeviceGetTemperature", device.temperature(TemperatureSensor::Gpu));
        let [hot] = fields::read(device, [fields::MEMORY_TEMPERATURE]);
        // Those without such a sensor say 0 where they do not say that they have none.
        let hot = hot.and_then(|degrees| if degrees == 0 { Err(Refusal::Unsupported) } else { Ok(degrees as f64) });
        asked.number(Measure::MemoryTemperature, "nvmlDeviceGetFieldValues MEMORY_TEMP", &hot);
        let held = held_by(device).map(|bits| bits as f64);
        asked.number(Measure::ClockReasonBits, "nvmlDeviceGetCurrentClocksThrottleReasons", &held);
        let generation = device.current_pcie_link_gen();
        asked.plain(Measure::PcieGenerationNow, "nvmlDeviceGetCurrPcieLinkGeneration", generation);
        asked.plain(Measure::PcieLanesNow, "nvmlDeviceGetCurrPcieLinkWidth", device.current_pcie_link_width());
        if with_rates {
            let rate = |way| answer::of(device.pcie_throughput(way)).map(|kilobytes| f64::from(kilobytes) * 1000.0);
            asked.number(Measure::PcieSent, "nvmlDeviceGetPcieThroughput TX", &rate(PcieUtilCounter::Send));
            asked.number(Measure::PcieReceived, "nvmlDeviceGetPcieThroughput RX", &rate(PcieUtilCounter::Receive));
        }
        let replays = answer::of(device.pcie_replay_counter());
        let before = std::mem::replace(&mut self.replays, replays.as_ref().ok().map(|count| (*count, Instant::now())));
        if let Some(rate) = replay_rate(before, &replays) {
            asked.number(Measure::PcieReplayRate, "nvmlDeviceGetPcieReplayCounter, rate", &rate);
        }
        let gone = asked.grave;
        if let Some(counted) = &mut self.counted {
            counted.look(nvml, device, &self.entity, page);
        }
        self.instances.measure(nvml, device, page);
        gone.map_or(Ok(()), Err)
    }

    /// Writes what rarely changes.
    pub(super) fn describe(&mut self, nvml: &'nvml Nvml, gone: &Answer<()>, page: &mut Page) {
        let (device, gpu) = (&self.device, &self.entity);
        let health = match gone {
            Ok(()) => "yes".to_owned(),
            Err(refusal) => refusal.to_string(),
        };
        page.state(gpu, Attribute::GpuHealth, "answers", &Ok(Value::from(health.as_str())));
        page.state(gpu, Attribute::GpuIndex, "index", &Ok(Value::from(self.index)));
        let mut tell = |attribute, call: &str, answer: Answer<Value>| page.state(gpu, attribute, call, &answer);
        let text = |answer: Result<String, _>| answer::of(answer).and_then(|text| filled(&text));
        let count = |answer: Result<u32, _>| answer::of(answer).map(Value::from);

        tell(Attribute::GpuUuid, "nvmlDeviceGetUUID", text(device.uuid()));
        tell(Attribute::GpuModel, "nvmlDeviceGetName", text(device.name()));
        tell(Attribute::Vbios, "nvmlDeviceGetVbiosVersion", text(device.vbios_version()));
        let mode = answer::of(device.virtualization_mode()).map(|mode| Value::from(virtualization(&mode)));
        tell(Attribute::GpuVirtualization, "nvmlDeviceGetVirtualizationMode", mode);
        let mode = answer::of(device.compute_mode()).map(|mode| Value::from(compute_mode(mode)));
        tell(Attribute::ComputeMode, "nvmlDeviceGetComputeMode", mode);
        let on = answer::of(device.is_in_persistent_mode()).map(Value::Flag);
        tell(Attribute::PersistenceMode, "nvmlDeviceGetPersistenceMode", on);
        let mode = answer::of(device.mig_mode());
        let flag = |number: u32| if number < 2 { Ok(Value::Flag(number == 1)) } else { Err(Refusal::short()) };
        tell(Attribute::MigMode, "nvmlDeviceGetMigMode", mode.clone().and_then(|mode| flag(mode.current)));
        tell(
            Attribute::MigModePending,
            "nvmlDeviceGetMigMode pending",
            mode.clone().and_then(|mode| flag(mode.pending)),
        );
        let ecc = answer::of(device.is_ecc_enabled());
        tell(Attribute::EccMode, "nvmlDeviceGetEccMode", ecc.clone().map(|ecc| Value::Flag(ecc.currently_enabled)));
        tell(
            Attribute::EccModePending,
            "nvmlDeviceGetEccMode pending",
            ecc.map(|ecc| Value::Flag(ecc.pending_enabled)),
        );

        let total = memory(device).map(|memory| Value::Count(memory.total));
        tell(Attribute::GpuMemory, "nvmlDeviceGetMemoryInfo_v2 total", total);
        let window = answer::of(device.bar1_memory_info());
        let window =
            window.and_then(|bar| if bar.total == 0 { Err(Refusal::short()) } else { Ok(Value::Count(bar.total)) });
        tell(Attribute::Bar1Size, "nvmlDeviceGetBAR1MemoryInfo", window);
        tell(Attribute::PowerLimit, "nvmlDeviceGetEnforcedPowerLimit", count(device.enforced_power_limit()));
        let default = count(device.power_management_limit_default());
        tell(Attribute::PowerLimitDefault, "nvmlDeviceGetPowerManagementDefaultLimit", default);
        let bounds = answer::of(device.power_management_limit_constraints());
        let highest = bounds.and_then(|bounds| match bounds.max_limit {
            0 => Err(Refusal::short()),
            limit => Ok(Value::from(limit)),
        });
        tell(Attribute::PowerLimitMax, "nvmlDeviceGetPowerManagementLimitConstraints", highest);
        tell(Attribute::SmClockMax, "nvmlDeviceGetMaxClockInfo SM", count(device.max_clock_info(Clock::SM)));
        tell(
            Attribute::MemoryClockMax,
            "nvmlDeviceGetMaxClockInfo memory",
            count(device.max_clock_info(Clock::Memory)),
        );
        tell(
            Attribute::ApplicationClock,
            "nvmlDeviceGetApplicationsClock SM",
            count(device.applications_clock(Clock::SM)),
        );
        let threshold = |which| count(device.temperature_threshold(which));
        let (slows, stops) = (TemperatureThreshold::Slowdown, TemperatureThreshold::Shutdown);
        tell(Attribute::SlowdownTemperature, "nvmlDeviceGetTemperatureThreshold slowdown", threshold(slows));
        tell(Attribute::ShutdownTemperature, "nvmlDeviceGetTemperatureThreshold shutdown", threshold(stops));
        let state = answer::of(device.performance_state()).and_then(performance_state);
        tell(Attribute::PerformanceState, "nvmlDeviceGetPerformanceState", state);
        let held = held_by(device).map(clock_reasons);
        tell(Attribute::ClockReasons, "nvmlDeviceGetCurrentClocksThrottleReasons", held.and_then(named));

        tell(Attribute::PcieGeneration, "nvmlDeviceGetCurrPcieLinkGeneration", count(device.current_pcie_link_gen()));
        tell(Attribute::PcieGenerationMax, "nvmlDeviceGetMaxPcieLinkGeneration", count(device.max_pcie_link_gen()));
        tell(Attribute::PcieLanes, "nvmlDeviceGetCurrPcieLinkWidth", count(device.current_pcie_link_width()));
        tell(Attribute::PcieLanesMax, "nvmlDeviceGetMaxPcieLinkWidth", count(device.max_pcie_link_width()));
        tell(Attribute::PcieReplays, "nvmlDeviceGetPcieReplayCounter", count(device.pcie_replay_counter()));

        let errors = |kind, counter| answer::of(device.total_ecc_errors(kind, counter)).map(Value::Count);
        let (corrected, uncorrected) = (MemoryError::Corrected, MemoryError::Uncorrected);
        let call = "nvmlDeviceGetTotalEccErrors";
        tell(Attribute::EccUncorrected, call, errors(uncorrected, EccCounter::Volatile));
        tell(Attribute::EccUncorrectedEver, call, errors(uncorrected, EccCounter::Aggregate));
        tell(Attribute::EccCorrected, call, errors(corrected, EccCounter::Volatile));
        tell(Attribute::EccCorrectedEver, call, errors(corrected, EccCounter::Aggregate));
        let [correctable, uncorrectable, pending, failed, single, double, retiring, action] = fields::read(
            device,
            [
                fields::REMAPPED_CORRECTABLE,
                fields::REMAPPED_UNCORRECTABLE,
                fields::REMAP_PENDING,
                fields::REMAP_FAILED,
                fields::RETIRED_SINGLE,
                fields::RETIRED_DOUBLE,
                fields::RETIREMENT_PENDING,
                fields::RECOVERY_ACTION,
            ],
        );
        let yes = |answer: Answer<u64>| answer.map(|number| Value::Flag(number != 0));
        let call = |field: &str| format!("nvmlDeviceGetFieldValues {field}");
        tell(Attribute::RemappedCorrectable, &call("REMAPPED_COR"), correctable.map(Value::Count));
        tell(Attribute::RemappedUncorrectable, &call("REMAPPED_UNC"), uncorrectable.map(Value::Count));
        tell(Attribute::RemapPending, &call("REMAPPED_PENDING"), yes(pending));
        tell(Attribute::RemapFailed, &call("REMAPPED_FAILURE"), yes(failed));
        tell(Attribute::RetiredSingleBit, &call("RETIRED_SBE"), single.map(Value::Count));
        tell(Attribute::RetiredDoubleBit, &call("RETIRED_DBE"), double.map(Value::Count));
        tell(Attribute::RetirementPending, &call("RETIRED_PENDING"), yes(retiring));
        let action = action.map(|number| Value::from(fields::recovery_action(number).as_str()));
        tell(Attribute::RecoveryAction, &call("GET_GPU_RECOVERY_ACTION"), action);

        links::read(device, gpu, &self.address, page);
        self.processes(nvml, page);
        let is_divided = mode.is_ok_and(|mode| mode.current == 1);
        self.instances.describe(device, &self.address, is_divided, page);
    }

    /// The processes that use it. Their ids are those of this process's own namespace, as far as the driver can tell them.
    fn processes(&self, nvml: &Nvml, page: &mut Page) {
        let running = match answer::of(self.device.running_compute_processes()) {
            Ok(running) => running,
            Err(refusal) => {
                page.line(self.address.as_str(), "nvmlDeviceGetComputeRunningProcesses_v3", &refusal.to_string());
                return;
            }
        };
        for ProcessInfo { pid, used_gpu_memory, .. } in
            running.into_iter().filter(|one| one.pid != 0).take(MOST_PROCESSES)
        {
            let entity = Entity::GpuProcess { gpu: self.address.clone(), process: pid };
            let used = match used_gpu_memory {
                UsedGpuMemory::Used(bytes) if bytes > 0 => Ok(Value::Count(bytes)),
                UsedGpuMemory::Used(_) | UsedGpuMemory::Unavailable => Err(Refusal::Nothing),
            };
            let call = format!("nvmlDeviceGetComputeRunningProcesses_v3 process {pid}");
            page.state(&entity, Attribute::GpuProcessMemory, &call, &used);
            let name = answer::of(nvml.sys_process_name(pid, PROCESS_NAME)).and_then(|name| filled(&name));
            page.state(&entity, Attribute::GpuProcessName, &format!("nvmlSystemGetProcessName {pid}"), &name);
        }
    }
}

/// The numbers of one GPU as they are asked for, and the first answer that says that it is gone.
struct Asked<'a> {
    entity: &'a Entity,
    page: &'a mut Page,
    grave: Option<Refusal>,
}

impl Asked<'_> {
    fn number(&mut self, measure: Measure, call: &str, answer: &Answer<f64>) {
        if let Err(refusal @ (Refusal::Lost | Refusal::ResetRequired | Refusal::Closed)) = answer {
            self.grave.get_or_insert_with(|| refusal.clone());
        }
        self.page.number(self.entity, measure, call, answer);
    }

    fn plain(&mut self, measure: Measure, call: &str, answer: Result<u32, nvml_wrapper::error::NvmlError>) {
        self.number(measure, call, &answer::of(answer).map(f64::from));
    }
}

/// The name of a GPU that never told its address.
pub(super) fn nameless(index: u32) -> Text {
    Text::new(&format!("GPU{index}"))
}

/// What is known of the memory of a GPU or of an instance.
pub(super) fn memory(device: &Device<'_>) -> Answer<MemoryInfo> {
    let memory = answer::of(device.memory_info())?;
    let parts = memory.used.checked_add(memory.free).and_then(|sum| sum.checked_add(memory.reserved));
    // Every byte is used, free or reserved; where they do not come near the whole, the driver filled less than it said.
    if memory.total == 0 || parts.is_none_or(|parts| parts < memory.total / 2) {
        return Err(Refusal::short());
    }
    Ok(memory)
}

/// Replays a second; nothing before there are two counts.
/// What holds the clocks, as bits: also those that the wrapper has no name for, which it would drop.
fn held_by(device: &Device<'_>) -> Answer<u64> {
    match device.current_throttle_reasons_strict() {
        Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Ok(bits),
        reasons => answer::of(reasons).map(|reasons| reasons.bits()),
    }
}

fn replay_rate(before: Option<(u32, Instant)>, now: &Answer<u32>) -> Option<Answer<f64>> {
    let count = match now {
        Ok(count) => *count,
        Err(refusal) => return Some(Err(refusal.clone())),
    };
    let (earlier, at) = before?;
    let elapsed = at.elapsed();
    if elapsed < Duration::from_millis(1) {
        return None;
    }
    // A count that fell began again with the driver.
    Some(count.checked_sub(earlier).map(|more| f64::from(more) / elapsed.as_secs_f64()).ok_or(Refusal::Nothing))
}

/// Names, where there are any.
fn named(names: Vec<Text>) -> Answer<Value> {
    if names.is_empty() { Err(Refusal::Empty) } else { Ok(Value::List(names)) }
}

fn performance_state(state: PerformanceState) -> Answer<Value> {
    use PerformanceState as P;
    let all = [
        P::Zero,
        P::One,
        P::Two,
        P::Three,
        P::Four,
        P::Five,
        P::Six,
        P::Seven,
        P::Eight,
        P::Nine,
        P::Ten,
        P::Eleven,
        P::Twelve,
        P::Thirteen,
        P::Fourteen,
        P::Fifteen,
    ];
    let number = all.iter().position(|one| *one == state).ok_or(Refusal::Nothing)?;
    Ok(Value::from(format!("P{number}").as_str()))
}

fn virtualization(mode: &GpuVirtualizationMode) -> &'static str {
    match mode {
        GpuVirtualizationMode::Bare => "none",
        GpuVirtualizationMode::PassThrough => "pass-through",
        GpuVirtualizationMode::Vgpu => "vGPU",
        GpuVirtualizationMode::HostVgpu => "host vGPU",
        GpuVirtualizationMode::HostVsga => "host vSGA",
    }
}

fn compute_mode(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "default",
        ComputeMode::ExclusiveThread => "exclusive thread",
        ComputeMode::Prohibited => "prohibited",
        ComputeMode::ExclusiveProcess => "exclusive process",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_named_and_unknown_bits_stay() {
        assert_eq!(named(clock_reasons(0)), Err(Refusal::Empty));
        assert_eq!(clock_reasons(4 | 64), ["software power cap", "hardware thermal"].map(Text::new));
        assert_eq!(clock_reasons(1 | 0x800), ["idle", "unknown reason 0x800"].map(Text::new));
    }

    #[test]
    fn a_count_of_replays_that_fell_has_no_rate() {
        let earlier = Instant::now().checked_sub(Duration::from_secs(2)).expect("the machine is up for longer");
        assert_eq!(replay_rate(None, &Ok(3)), None);
        let rate = replay_rate(Some((10, earlier)), &Ok(30)).expect("two counts").expect("a rate");
        assert!((rate - 10.0).abs() < 0.5, "{rate}");
        assert_eq!(replay_rate(Some((10, earlier)), &Ok(3)), Some(Err(Refusal::Nothing)));
        assert_eq!(replay_rate(Some((10, earlier)), &Err(Refusal::Lost)), Some(Err(Refusal::Lost)));
    }

    #[test]
    fn performance_states_have_their_numbers() {
        assert_eq!(performance_state(PerformanceState::Zero), Ok(Value::from("P0")));
        assert_eq!(performance_state(PerformanceState::Fifteen), Ok(Value::from("P15")));
        assert_eq!(performance_state(PerformanceState::Unknown), Err(Refusal::Nothing));
    }
}
