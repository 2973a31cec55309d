//! Graphs of GPUs: use, memory, power, temperature, clocks, PCIe each way against what the link can carry as it is trained now,
//! and NVLink. Who measures them, NVML, `nvidia-smi` or DCGM, is told by the evidence.

use super::measured::{lines, whole};
use super::{Ceiling, Graph, GraphUnit, Line};
use crate::app::model::Model;
use crate::app::{format, gpu};
use crate::fabric::{Attribute, EntityId, Measure, TargetId};

/// The graphs of the GPUs of a guest, by their indices.
pub(super) fn of_guest(model: &Model, guest: &TargetId) -> Vec<Graph> {
    gpu::gpus(model, guest).iter().flat_map(|gpu| of_gpu(model, gpu)).collect()
}

fn of_gpu(model: &Model, gpu: &EntityId) -> Vec<Graph> {
    let name = gpu::label(model, gpu);
    let lines = |wanted: &[(&'static str, Measure)]| lines(model, gpu, wanted);
    let known = |attribute, scale: f64, words: &dyn Fn(f64) -> String| match gpu::count(model, gpu, attribute) {
        Some(count) => Ceiling::Known(count as f64 * scale, words(count as f64 * scale)),
        None => Ceiling::None,
    };
    let mut graphs = Vec::new();
    let mut push = |what: &str, unit, lines: Vec<Line>, ceiling, sentence: Option<String>, attribute| {
        if !lines.is_empty() {
            graphs.push(Graph {
                id: gpu.clone(),
                title: format!("{name} {what}"),
                unit,
                lines,
                ceiling,
                sentence,
                attribute,
            });
        }
    };
    let used = lines(&[
        ("use", Measure::GpuUse),
        ("SM active", Measure::SmActive),
        ("tensor", Measure::TensorActive),
        ("DRAM", Measure::DramActive),
    ]);
    // A kernel that runs on one of a hundred multiprocessors counts as full use.
    let has_profile = used.iter().any(|line| line.label == "SM active");
    let weak =
        (!has_profile && !used.is_empty()).then(|| "use: a kernel ran, not how much of the GPU worked".to_owned());
    push("use", GraphUnit::Percent, used, whole(), weak, Attribute::PerformanceState);
    let (link, received, sent) = link(model, gpu);
    let both = lines(&[("to the GPU", received), ("from the GPU", sent)]);
    push("PCIe", GraphUnit::BytesPerSecond, both, link, None, Attribute::PcieLanes);
    let memory = known(Attribute::GpuMemory, 1.0, &|bytes| format!("{} of memory", super::measured::bytes(bytes)));
    let used = lines(&[("memory", Measure::GpuMemoryUsed)]);
    push("memory", GraphUnit::Bytes, used, memory, None, Attribute::GpuMemory);
    let limit = known(Attribute::PowerLimit, 0.001, &|watts| format!("limit of {watts:.0} W"));
    push("power", GraphUnit::Watts, lines(&[("power", Measure::Power)]), limit, None, Attribute::PowerLimit);
    let slows = known(Attribute::SlowdownTemperature, 1.0, &|celsius| format!("slows down at {celsius:.0} °C"));
    let heat = lines(&[("GPU", Measure::Temperature), ("memory", Measure::MemoryTemperature)]);
    push("temperature", GraphUnit::Celsius, heat, slows, None, Attribute::SlowdownTemperature);
    let highest = known(Attribute::SmClockMax, 1.0, &|megahertz| format!("SM up to {megahertz:.0} MHz"));
    let held = model
        .fabric
        .value(gpu, Attribute::ClockReasons)
        .map(|reasons| format!("held by {}", format::value(Attribute::ClockReasons, reasons)));
    push("clock", GraphUnit::Megahertz, lines(&[("SM", Measure::SmClock)]), highest, held, Attribute::ClockReasons);
    let both = lines(&[("tx", Measure::NvLinkSent), ("rx", Measure::NvLinkReceived)]);
    push("NVLink", GraphUnit::BytesPerSecond, both, Ceiling::None, None, Attribute::NvLinksActive);
    graphs
}

/// What the link can carry each way as it is trained now, and the measures that are held against it: where DCGM counts, the headers of packets are
/// among it.
fn link(model: &Model, gpu: &EntityId) -> (Ceiling, Measure, Measure) {
    let newest = |measure: Measure| model.series.get(&measure.key(gpu))?.at(model.cursor_time())?.value;
    let link = gpu::link::of(model, gpu, newest);
    let ceiling = match (link.trained, link.carries) {
        (None, _) => Ceiling::Unknown("generation and width of the link are not told".to_owned()),
        (Some((generation, lanes)), Some(carries)) => {
            let headers = if link.with_headers { " with headers" } else { "" };
            let number = format::bytes_per_second(carries);
            Ceiling::Known(carries, format!("Gen{generation} x{lanes} {number}{headers}"))
        }
        (Some((generation, lanes)), None) => {
            Ceiling::Unknown(format!("there is no link of generation {generation} with {lanes} lanes"))
        }
    };
    (ceiling, link.received, link.sent)
}
