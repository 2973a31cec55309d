//! The stream of GPUs over real SSH: it comes where there are GPUs that answer, shows what goes wrong with them, and ends with
//! its connection.

use super::*;
use crate::fabric::{Entity, Measure, Measured};
use crate::lab::scenario::by_name;

fn started_with_gpus() -> Lab {
    let scenario = by_name("gpu-busy");
    Lab::start(&Options { scenario, ..options() }).expect("a lab")
}

/// The next row of the machine with GPUs.
fn row(messages: &mut mpsc::Receiver<Message>) -> Measured {
    match until(messages, "a row of GPUs", |message| matches!(message, Message::Measured(_))) {
        Message::Measured(row) => *row,
        other => panic!("{other:?}"),
    }
}

/// A value of the GPU that works: the one that has the most of it.
fn most(row: &Measured, measure: Measure) -> Option<f64> {
    let of = row.gauges.iter().filter(|gauge| gauge.name.as_str() == measure.name());
    of.filter_map(|gauge| gauge.value).max_by(f64::total_cmp)
}

#[test]
fn rows_come_over_ssh_from_the_one_machine_with_gpus_and_show_its_troubles() {
    let lab = started_with_gpus();
    let (engine, mut messages) = engine(&lab);
    let first = row(&mut messages);
    assert_eq!((first.target.as_str(), first.stream.as_str()), ("gpu-a", "gpu.stream"));
    let gpus: std::collections::BTreeSet<&Entity> = first.gauges.iter().map(|gauge| &gauge.entity).collect();
    assert_eq!(gpus.len(), 2, "{gpus:?}");
    assert!(first.observation.as_ref().is_some_and(|seen| seen.stdout.starts_with("index, count")), "{first:?}");
    // What other tables say comes with the first row or the next one.
    let full = loop {
        let row = row(&mut messages);
        if most(&row, Measure::SmActive).is_some() && most(&row, Measure::PcieReceived).is_some() {
            break row;
        }
    };
    assert!(most(&full, Measure::GpuUse).is_some_and(|used| used >= 95.0), "{full:?}");
    assert!(most(&full, Measure::SmActive).is_some_and(|active| active > 80.0), "{full:?}");
    assert!(lab.suffer("gpu-narrow-link", "gpu-a", true));
    until(&mut messages, "eight lanes of generation 3", |message| {
        let Message::Measured(row) = message else { return false };
        most(row, Measure::PcieGenerationNow) == Some(3.0)
            && row.gauges.iter().any(|one| one.name.as_str() == Measure::PcieLanesNow.name() && one.value == Some(8.0))
            && most(row, Measure::PcieReceived).is_some_and(|rate| rate > 6.0e9 && rate < 7.2e9)
    });
    engine.shutdown();
}

#[test]
fn a_lost_driver_ends_the_curves_and_says_why() {
    let lab = started_with_gpus();
    let (engine, mut messages) = engine(&lab);
    row(&mut messages);
    assert!(lab.suffer("gpu-nouveau", "gpu-a", true));
    until(
        &mut messages,
        "a row without values",
        |message| matches!(message, Message::Measured(row) if row.gauges.is_empty()),
    );
    until(&mut messages, "the reason", |message| {
        matches!(message, Message::Notice { target: Some(target), text, .. }
            if target.as_str() == "gpu-a" && text.as_str().contains("the stream of GPUs ended"))
    });
    engine.shutdown();
}
