//! Panel 9 and the graphs of GPUs: rows of the driver's own programs through the real parsers, for two GPUs, for sixteen, and
//! for one that is cut into instances.

use std::fmt::Write as _;
use std::sync::Arc;

use rdmascope::app::{Message, Model, live, update};
use rdmascope::fabric::{Observation, Report, SourceId, TargetId};
use rdmascope::probe::gpu::stream::{Event, StreamParser};
use rdmascope::probe::linux::PROBES;

use super::guest::{at, connected};
use super::{GlyphSet, act, drawn, shown, styles, text};

const HEADER: &str = "index, count, pci.bus_id, pstate, clocks_event_reasons.active, utilization.gpu [%], \
    utilization.memory [%], memory.used [MiB], power.draw [W], clocks.current.sm [MHz], clocks.current.memory [MHz], \
    temperature.gpu, temperature.memory, pcie.link.gen.gpucurrent, pcie.link.width.current";

/// So many GPUs, measured for forty seconds: the second one does not tell its power, and the link of the last is narrow.
fn measured(count: u64) -> Model {
    let mut model = connected(&["gpu-a"]);
    let target = TargetId::new("gpu-a");
    layout(&mut model, count);
    let mut parser = StreamParser::new(&target, "c0ffee");
    let mut number = 0;
    for second in 1..=40 {
        let mut lines = vec![HEADER.to_owned()];
        for index in 0..count {
            let (bus, used) = (0x10 + index, 60 + (second + i64::try_from(index).expect("small")) % 40);
            let power = if index == 1 { "[N/A]" } else { "214.20" };
            let lanes = if index + 1 == count { 8 } else { 16 };
            lines.push(format!(
                "{index}, {count}, 00000000:{bus:02X}:00.0, P0, 0x0000000000000000, {used}, 41, 31002, {power}, 1410, 1215, \
                 61, 60, 4, {lanes}"
            ));
        }
        lines.push("# gpu  rxpci  txpci ".to_owned());
        lines.push("# Idx   MB/s   MB/s ".to_owned());
        for index in 0..count {
            lines.push(format!("    {index}  {}    912 ", 4_000 + 100 * second));
        }
        for line in lines {
            let row = parser.line(&line, at(second), || {
                number += 1;
                number
            });
            if let Some(Event::Row(row)) = row {
                update(&mut model, Message::Measured(row));
            }
        }
        update(&mut model, Message::Clock(at(second)));
    }
    act(&mut model, &["panel-gpu"]);
    model
}

/// What the slow probes say of the same GPUs.
fn layout(model: &mut Model, count: u64) {
    let mut index = "index, uuid, pci.bus_id\n".to_owned();
    for gpu in 0..count {
        let bus = 0x10 + gpu;
        writeln!(index, "{gpu}, GPU-838f60d9-651f-9166-ea42-f9da674a69{gpu:02x}, 00000000:{bus:02X}:00.0")
            .expect("text");
    }
    report(model, "gpu.layout", &[("gpu.index", &index)]);
}

fn report(model: &mut Model, probe: &str, texts: &[(&str, &str)]) {
    let probe = PROBES.iter().find(|other| other.name == probe).expect("a probe of guests");
    let observations: Vec<Arc<Observation>> = probe
        .sources
        .iter()
        .map(|source| {
            let said = texts.iter().find(|(name, _)| *name == source.name).map_or("", |(_, text)| text);
            let mut observation = Observation::of_text(source.name, said);
            observation.target = TargetId::new("gpu-a");
            observation.at = at(0);
            Arc::new(observation)
        })
        .collect();
    let facts = (probe.parse)(&observations);
    let report = Report { target: TargetId::new("gpu-a"), probe: SourceId::new(probe.name), observations, facts };
    update(model, Message::Report { at: at(0), report });
}

#[test]
fn two_gpus() {
    let mut model = measured(2);
    insta::assert_snapshot!("gpu_two_80x24", shown(&mut model, 80, 24));
    let buffer = drawn(&mut model, 200, 50, GlyphSet::Braille);
    insta::assert_snapshot!("gpu_two_200x50", text(&buffer));
    insta::assert_snapshot!("gpu_two_200x50_styles", styles(&buffer));
}

#[test]
fn eight_and_sixteen_gpus_are_read_on_a_small_screen() {
    insta::assert_snapshot!("gpu_eight_80x24", shown(&mut measured(8), 80, 24));
    let mut sixteen = measured(16);
    insta::assert_snapshot!("gpu_sixteen_80x24", shown(&mut sixteen, 80, 24));
    insta::assert_snapshot!("gpu_sixteen_200x50", shown(&mut sixteen, 200, 50));
}

#[test]
fn instances_are_listed_with_their_gpu() {
    const GPU: &str = "GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-838f60d9-651f-9166-ea42-f9da674a6900)\n";
    let mut model = measured(1);
    let (mut list, mut gpus, mut computes) = (GPU.to_owned(), String::new(), String::new());
    for instance in 7..14 {
        let (device, place) = (instance - 7, instance - 7);
        let uuid = format!("MIG-b3061c09-52e5-5b41-9f0e-6e3c2b0a1f{instance:02}");
        writeln!(list, "  MIG 1g.5gb      Device  {device}: (UUID: {uuid})").expect("text");
        writeln!(gpus, "|   0  MIG 1g.5gb         19       {instance:2}          {place}:1     |").expect("text");
        writeln!(computes, "|   0     {instance:2}       MIG 1g.5gb           0         0          0:1     |")
            .expect("text");
    }
    let index = "index, uuid, pci.bus_id\n0, GPU-838f60d9-651f-9166-ea42-f9da674a6900, 00000000:10:00.0\n";
    let texts = [
        ("gpu.index", index),
        ("gpu.list", list.as_str()),
        ("gpu.mig-instances", gpus.as_str()),
        ("gpu.mig-computes", computes.as_str()),
    ];
    report(&mut model, "gpu.layout", &texts);
    for _ in 0..12 {
        act(&mut model, &["down"]);
    }
    insta::assert_snapshot!("gpu_instances_80x24", shown(&mut model, 80, 24));
}

#[test]
fn gpus_have_graphs_against_what_their_link_carries_now() {
    let mut model = measured(2);
    let graphs = live::graphs(&model, &TargetId::new("gpu-a"));
    let titles: Vec<&str> = graphs.iter().map(|graph| graph.title.as_str()).collect();
    assert!(titles.starts_with(&["GPU 0 use", "GPU 0 PCIe", "GPU 0 memory", "GPU 0 power"]), "{titles:?}");
    // The second GPU does not tell its power: its curve is a gap, and no line at zero.
    let power = |title: &str| {
        let graph = graphs.iter().find(|graph| graph.title == title).expect("it is drawn");
        let points = graph.lines[0].points(&model, at(0), at(40));
        points.iter().filter_map(|(_, value)| *value).collect::<Vec<f64>>()
    };
    assert!(power("GPU 0 power").iter().all(|watts| (watts - 214.2).abs() < 0.01) && power("GPU 1 power").is_empty());
    let ceiling = |title: &str| {
        let graph = graphs.iter().find(|graph| graph.title == title).expect("it is drawn");
        match &graph.ceiling {
            live::Ceiling::Known(value, words) => ((value / 1e8).round() / 10.0, words.clone()),
            other => panic!("{title}: {other:?}"),
        }
    };
    assert_eq!(ceiling("GPU 0 PCIe"), (28.8, "Gen4 x16 28.8 GB/s".to_owned()));
    assert_eq!(ceiling("GPU 1 PCIe"), (14.4, "Gen4 x8 14.4 GB/s".to_owned()));
    act(&mut model, &["panel-live"]);
    insta::assert_snapshot!("gpu_live_80x24", shown(&mut model, 80, 24));
    insta::assert_snapshot!("gpu_live_200x50", shown(&mut model, 200, 50));
}
