//! What one tick of the verdicts on GPUs costs: rows of 64 targets with 100 series each (eight GPUs a target) are taken in,
//! and all verdicts are made anew. Less than 5 ms is the goal.

use std::time::Duration;

use rdmascope::config::GpuRule;
use rdmascope::diagnose::check::Thresholds;
use rdmascope::diagnose::join::Joined;
use rdmascope::diagnose::limit::{Limits, Says};
use rdmascope::fabric::{Entity, Fabric, Measure, Measured, SeriesStore, TargetId, Text, Timestamp};

/// How many targets there are.
const TARGETS: usize = 64;
/// GPUs of each.
const GPUS: usize = 8;
/// How many series each target has, and the rest of them belongs to the guest.
const SERIES: usize = 100;

/// What is measured of a GPU.
const MEASURES: [Measure; 12] = [
    Measure::GpuUse,
    Measure::SmActive,
    Measure::GpuMemoryUsed,
    Measure::Power,
    Measure::SmClock,
    Measure::Temperature,
    Measure::PcieSent,
    Measure::PcieReceived,
    Measure::PcieReceivedWhole,
    Measure::PcieGenerationNow,
    Measure::PcieLanesNow,
    Measure::ClockReasonBits,
];

fn main() {
    divan::main();
}

fn rows(second: i64) -> Vec<Measured> {
    let of_target = |number: usize| {
        let gpus = (0..GPUS).flat_map(|gpu| {
            let entity = Entity::Gpu(Text::new(&format!("0000:{:02x}:00.0", gpu + 5)));
            MEASURES.map(|measure| measure.of(&entity, Some(if measure == Measure::PcieLanesNow { 16.0 } else { 4.0 })))
        });
        let mut gauges: Vec<_> = gpus.collect();
        let beside = [Measure::VmBalloon, Measure::VmSwapped, Measure::Ready, Measure::CoStop];
        gauges.extend(beside.map(|measure| measure.of(&Entity::Guest, Some(0.0))));
        assert_eq!(gauges.len(), SERIES);
        Measured {
            target: TargetId::new(&format!("gpu-{number:02}")),
            at: Timestamp::from_second(second).expect("a small number"),
            stream: Text::new("gpu.stream"),
            period: Duration::from_secs(1),
            gauges,
            facts: Vec::new(),
            observation: None,
        }
    };
    (0..TARGETS).map(of_target).collect()
}

fn warm() -> Limits {
    let mut limits = Limits::default();
    for second in 1..=10 {
        for row in rows(second) {
            limits.take(&row);
        }
    }
    limits
}

/// Takes in a row of each target and makes all verdicts.
#[divan::bench]
fn a_tick(bencher: divan::Bencher<'_, '_>) {
    let (limits, next) = (warm(), rows(11));
    let (fabric, joined, thresholds) = (Fabric::default(), Joined::default(), Thresholds::default());
    bencher.with_inputs(|| limits.clone()).bench_values(|mut limits| {
        for row in &next {
            limits.take(row);
        }
        let says = Says { rule: GpuRule::default(), thresholds: &thresholds };
        limits.judge(&fabric, &joined, says, next[0].at);
        assert_eq!(limits.all().count(), TARGETS * GPUS);
        limits
    });
}

/// The series that the same rows become.
#[divan::bench]
fn the_series_of_a_tick(bencher: divan::Bencher<'_, '_>) {
    let mut store = SeriesStore::default();
    for second in 1..=10 {
        for row in &rows(second) {
            store.measured(row);
        }
    }
    let next = rows(11);
    bencher.with_inputs(|| store.clone()).bench_values(|mut store| {
        for row in &next {
            store.measured(row);
        }
        store
    });
}
