//! Rows of streams for tests, made of what the tools print: `nvidia-smi --query-gpu`, `dcgmi dmon`, `esxtop -b`.

use std::sync::Arc;
use std::time::Duration;

use crate::fabric::{Attribute, Entity, Fact, Measure, Measured, Observation, TargetId, Text, Timestamp, Value};

/// The GPU of the rows.
pub const GPU: &str = "0000:05:00.0";

/// An A100 at full work.
pub const SMI: &str = "pci.bus_id, utilization.gpu [%], memory.used [MiB], power.draw [W], power.limit [W], power.default_limit [W], clocks.current.sm [MHz], clocks.max.sm [MHz], temperature.gpu, gpu_temp.slowdown, pcie.link.gen.gpucurrent, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max, clocks_event_reasons.active\n\
                       00000000:05:00.0, 98 %, 31002 MiB, 287.14 W, 400.00 W, 400.00 W, 1410 MHz, 1410 MHz, 54, 92, 4, 4, 16, 16, 0x0000000000000000\n";

/// The same by DCGM: busy, with a link that is half empty.
pub const DCGM: &str =
    "#Entity   GPUTL  SMACT  PCITX         PCIRX\nID\nGPU 0     98     0.930  2101344512    6803341312\n";

/// Its host, with the VM around it and a neighbour.
pub const ESXTOP: &str = r#""(PDH-CSV 4.0) (UTC)(0)","\\esx01\Memory\Memory State","\\esx01\Memory\Memctl Current MBytes","\\esx01\Memory\Swap MBytes Read/sec","\\esx01\Group Cpu(28868:gpu-a)\% Ready","\\esx01\Group Cpu(28868:gpu-a)\% CoStop","\\esx01\Group Memory(28868:gpu-a)\Memctl MBytes","\\esx01\Group Memory(28868:gpu-a)\Swapped MBytes","\\esx01\Group Memory(28868:gpu-a)\Numa % Local","\\esx01\Group Memory(31000:batch-7)\Memctl MBytes"
"11/30/2026 22:00:00","0","0.00","0.00","9.60","0.00","0.00","0.00","100","0.00"
"#;

/// A moment, so many seconds after the beginning.
pub fn at(second: u32) -> Timestamp {
    Timestamp::from_second(i64::from(second)).expect("a small number")
}

fn number(cell: &str) -> Option<f64> {
    let cell = cell.trim().trim_matches('"');
    if let Some(bits) = cell.strip_prefix("0x") {
        return u32::from_str_radix(&bits[bits.len().saturating_sub(8)..], 16).ok().map(f64::from);
    }
    cell.split(' ').next()?.parse().ok()
}

/// One row of a stream of a guest: what `nvidia-smi` said, with what DCGM said in the same moment, if it did.
pub fn gpu(target: &str, second: u32, smi: &str, dcgm: &str) -> Measured {
    const MEASURES: [(&str, Measure, f64); 8] = [
        ("utilization.gpu", Measure::GpuUse, 1.0),
        ("memory.used", Measure::GpuMemoryUsed, 1_048_576.0),
        ("power.draw", Measure::Power, 1.0),
        ("clocks.current.sm", Measure::SmClock, 1.0),
        ("temperature.gpu", Measure::Temperature, 1.0),
        ("pcie.link.gen.gpucurrent", Measure::PcieGenerationNow, 1.0),
        ("pcie.link.width.current", Measure::PcieLanesNow, 1.0),
        ("clocks_event_reasons.active", Measure::ClockReasonBits, 1.0),
    ];
    const ATTRIBUTES: [(&str, Attribute, f64); 9] = [
        ("pcie.link.gen.gpucurrent", Attribute::PcieGeneration, 1.0),
        ("pcie.link.gen.max", Attribute::PcieGenerationMax, 1.0),
        ("pcie.link.width.current", Attribute::PcieLanes, 1.0),
        ("pcie.link.width.max", Attribute::PcieLanesMax, 1.0),
        ("power.limit", Attribute::PowerLimit, 1000.0),
        ("power.default_limit", Attribute::PowerLimitDefault, 1000.0),
        ("clocks.max.sm", Attribute::SmClockMax, 1.0),
        ("gpu_temp.slowdown", Attribute::SlowdownTemperature, 1.0),
        ("clocks_event_reasons.active", Attribute::ClockReasons, 1.0),
    ];
    const PROFILED: [(&str, Measure, f64); 3] = [
        ("SMACT", Measure::SmActive, 100.0),
        ("PCITX", Measure::PcieSentWhole, 1.0),
        ("PCIRX", Measure::PcieReceivedWhole, 1.0),
    ];
    let gpu = Entity::Gpu(Text::new(GPU));
    let mut observation = Observation::of_text("gpu.stream", smi);
    observation.target = TargetId::new(target);
    observation.sequence = 100_000 + u64::from(second);
    observation.at = at(second);
    let mut lines = smi.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(", ").collect();
    let cells: Vec<&str> = lines.next().expect("a row").split(", ").collect();
    let cell = |name: &str| {
        let place = header.iter().position(|column| column.split(" [").next() == Some(name))?;
        cells.get(place).copied()
    };
    let mut gauges: Vec<_> = MEASURES
        .iter()
        .map(|(name, measure, scale)| measure.of(&gpu, cell(name).and_then(number).map(|value| value * scale)))
        .collect();
    let mut dcgm_lines = dcgm.lines();
    let names: Vec<&str> = dcgm_lines.next().unwrap_or_default().split_whitespace().skip(1).collect();
    let values: Vec<&str> = dcgm_lines.nth(1).unwrap_or_default().split_whitespace().skip(2).collect();
    for (name, measure, scale) in PROFILED {
        let value = names.iter().position(|column| *column == name).and_then(|place| values.get(place));
        gauges.push(measure.of(&gpu, value.and_then(|cell| number(cell)).map(|value| value * scale)));
    }
    let facts: Vec<Fact> = ATTRIBUTES
        .iter()
        .filter_map(|(name, attribute, scale)| {
            // Small whole numbers.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let value = number(cell(name)?).map(|value| Value::Count((value * scale) as u64))?;
            Some(observation.known(gpu.clone(), *attribute, value, 2))
        })
        .collect();
    Measured {
        target: TargetId::new(target),
        at: at(second),
        stream: Text::new("gpu.stream"),
        period: Duration::from_secs(1),
        gauges,
        facts,
        observation: Some(Arc::new(observation)),
    }
}

/// One row of `esxtop`; a cell that is empty is a value that is not told.
pub fn esxtop(target: &str, second: u32, text: &str) -> Measured {
    const COUNTERS: [(&str, Measure, f64); 9] = [
        ("Memory State", Measure::MemoryState, 1.0),
        ("Memctl Current MBytes", Measure::HostBalloon, 1_048_576.0),
        ("Swap MBytes Read/sec", Measure::HostSwapIn, 1_048_576.0),
        ("% Ready", Measure::Ready, 1.0),
        ("% CoStop", Measure::CoStop, 1.0),
        ("Memctl MBytes", Measure::VmBalloon, 1_048_576.0),
        ("Swapped MBytes", Measure::VmSwapped, 1_048_576.0),
        ("Numa % Local", Measure::NumaLocal, 1.0),
        ("Home Nodes", Measure::HomeNodes, 1.0),
    ];
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let cells: Vec<&str> = lines.next().expect("a row").split(',').collect();
    let gauges = header.iter().zip(&cells).filter_map(|(column, cell)| {
        let (front, counter) = column.trim_matches('"').rsplit_once('\\')?;
        let (_, measure, scale) = COUNTERS.iter().find(|(name, ..)| *name == counter)?;
        let entity = match front.rsplit_once(':') {
            Some((_, name)) => Entity::Group(Text::new(name.trim_end_matches(')'))),
            None => Entity::Host,
        };
        Some(measure.of(&entity, number(cell).map(|value| value * scale)))
    });
    Measured {
        target: TargetId::new(target),
        at: at(second),
        stream: Text::new("esxi.esxtop"),
        period: Duration::from_secs(5),
        gauges: gauges.collect(),
        facts: Vec::new(),
        observation: None,
    }
}

/// Half a minute of a GPU and its host, in which each row says the same.
pub fn half_a_minute(smi: &str, dcgm: &str, host: &str) -> Vec<Measured> {
    let mut rows = Vec::new();
    for second in 1..=30 {
        rows.push(gpu("gpu-a", second, smi, dcgm));
        if second % 5 == 0 && !host.is_empty() {
            rows.push(esxtop("esx01", second, host));
        }
    }
    rows
}

/// The same text, but a cell of its last line stands under this column.
pub fn with(text: &str, column: &str, value: &str) -> String {
    let separator = if text.starts_with('"') { "," } else { ", " };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let place = lines[0].split(separator).position(|name| name.trim_matches('"').contains(column)).expect(column);
    let mut cells: Vec<String> = lines[1].split(separator).map(str::to_owned).collect();
    value.clone_into(&mut cells[place]);
    lines[1] = cells.join(separator);
    format!("{}\n", lines.join("\n"))
}

/// What DCGM prints of these: share of busy multiprocessors, bytes per second to the GPU and from it.
pub fn dcgm(active: &str, received: &str, sent: &str) -> String {
    format!("#Entity   GPUTL  SMACT  PCITX         PCIRX\nID\nGPU 0     98     {active}  {sent}    {received}\n")
}
