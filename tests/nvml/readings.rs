//! What is read of GPUs that answer.

use rdmascope::fabric::{Attribute, Entity, State, Text, Value};

use crate::stand_in::{StandIn, gpu, shown, state};

/// What the stand-in says of each of its GPUs, and how it must be told.
const SAID: &[(Attribute, &str)] = &[
    (Attribute::GpuHealth, "yes"),
    (Attribute::GpuModel, "NVIDIA A100-SXM4-40GB"),
    (Attribute::Vbios, "92.00.45.00.03"),
    (Attribute::GpuVirtualization, "pass-through"),
    (Attribute::ComputeMode, "exclusive process"),
    (Attribute::PersistenceMode, "yes"),
    (Attribute::MigMode, "no"),
    (Attribute::MigModePending, "no"),
    (Attribute::EccMode, "yes"),
    (Attribute::EccModePending, "yes"),
    (Attribute::GpuMemory, "42949672960"),
    (Attribute::Bar1Size, "68719476736"),
    (Attribute::PowerLimit, "400000"),
    (Attribute::PowerLimitDefault, "400000"),
    (Attribute::PowerLimitMax, "400000"),
    (Attribute::SmClockMax, "1410"),
    (Attribute::MemoryClockMax, "1216"),
    (Attribute::ApplicationClock, "1095"),
    (Attribute::SlowdownTemperature, "89"),
    (Attribute::ShutdownTemperature, "92"),
    (Attribute::PerformanceState, "P0"),
    (Attribute::ClockReasons, "software power cap"),
    (Attribute::PcieGeneration, "4"),
    (Attribute::PcieGenerationMax, "4"),
    (Attribute::PcieLanes, "16"),
    (Attribute::PcieLanesMax, "16"),
    (Attribute::PcieReplays, "0"),
    (Attribute::EccCorrected, "0"),
    (Attribute::EccCorrectedEver, "1"),
    (Attribute::EccUncorrected, "2"),
    (Attribute::EccUncorrectedEver, "3"),
    (Attribute::RemappedCorrectable, "3"),
    (Attribute::RemappedUncorrectable, "4"),
    (Attribute::RemapPending, "yes"),
    (Attribute::RemapFailed, "no"),
    (Attribute::RetiredSingleBit, "5"),
    (Attribute::RetiredDoubleBit, "6"),
    (Attribute::RetirementPending, "yes"),
    (Attribute::RecoveryAction, "reset the GPU"),
    (Attribute::NvLinks, "12"),
    (Attribute::NvLinksActive, "11"),
];

#[tokio::test]
async fn eight_gpus_are_read_each_with_everything() {
    let report = StandIn::new("gpus 8\n").read().await;
    let facts = &report.facts;
    assert_eq!(shown(facts, &Entity::Guest, Attribute::NvidiaDriver), "535.129.03");
    assert_eq!(shown(facts, &Entity::Guest, Attribute::CudaVersion), "12.2");
    assert_eq!(shown(facts, &Entity::Guest, Attribute::GpuReadBy), "NVML");
    for index in 0..8 {
        for (attribute, said) in SAID {
            assert_eq!(shown(facts, &gpu(index), *attribute), *said, "{attribute:?} of GPU {index}");
        }
        assert_eq!(shown(facts, &gpu(index), Attribute::GpuIndex), index.to_string());
        assert!(shown(facts, &gpu(index), Attribute::GpuUuid).starts_with("GPU-838f60d9"));
    }
    assert!(state(facts, &gpu(8), Attribute::GpuHealth).is_none(), "there are eight");
}

#[tokio::test]
async fn every_fact_has_its_line_of_evidence() {
    let report = StandIn::new("gpus 2\nmig 1 3\n").read().await;
    let text = &report.observations[0].stdout;
    for fact in &report.facts {
        let line = text.lines().nth(fact.reading.line as usize - 1).expect("a line");
        if let State::Known(value) = &fact.reading.state {
            assert!(line.ends_with(&value.to_string()) || value.to_string().is_empty(), "{line} says {value}");
        }
    }
    assert!(report.observations[0].command.contains("nvidia-smi -q"));
}

#[tokio::test]
async fn links_have_speed_and_errors_and_one_that_is_down_has_neither() {
    let report = StandIn::new("").read().await;
    let link = |link| Entity::NvLink { gpu: Text::new("0000:0b:00.0"), link };
    assert_eq!(shown(&report.facts, &link(2), Attribute::NvLinkActive), "yes");
    assert_eq!(shown(&report.facts, &link(2), Attribute::NvLinkErrors), "17");
    assert_eq!(shown(&report.facts, &link(0), Attribute::NvLinkErrors), "0");
    assert_eq!(shown(&report.facts, &link(0), Attribute::NvLinkSpeed), "206248000000");
    assert_eq!(shown(&report.facts, &link(11), Attribute::NvLinkActive), "no");
    assert_eq!(shown(&report.facts, &link(11), Attribute::NvLinkErrors), "not told");
    assert!(state(&report.facts, &link(12), Attribute::NvLinkActive).is_none(), "there are twelve");
}

#[tokio::test]
async fn a_process_whose_memory_is_not_told_uses_no_zero_bytes() {
    let report = StandIn::new("").read().await;
    let process = |process| Entity::GpuProcess { gpu: Text::new("0000:0b:00.0"), process };
    assert_eq!(shown(&report.facts, &process(4711), Attribute::GpuProcessMemory), (30_000_u64 << 20).to_string());
    assert_eq!(shown(&report.facts, &process(4711), Attribute::GpuProcessName), "/usr/bin/python3");
    assert_eq!(state(&report.facts, &process(4712), Attribute::GpuProcessMemory), Some(&State::NotAvailable));
}

#[tokio::test]
async fn a_divided_gpu_has_its_instances() {
    let report = StandIn::new("gpus 2\nmig 1 3\n").read().await;
    assert_eq!(shown(&report.facts, &gpu(0), Attribute::MigMode), "no");
    assert_eq!(shown(&report.facts, &gpu(1), Attribute::MigMode), "yes");
    for instance in 7..10 {
        let instance = Entity::MigInstance { gpu: Text::new("0000:0c:00.0"), instance, compute: Some(0) };
        assert_eq!(shown(&report.facts, &instance, Attribute::MigProfile), "1g.5gb");
        assert_eq!(shown(&report.facts, &instance, Attribute::GpuMemory), (5120_u64 << 20).to_string());
    }
    let instances = report.facts.iter().filter(|fact| matches!(fact.entity, Entity::MigInstance { .. }));
    assert_eq!(instances.filter(|fact| fact.attribute == Attribute::MigUuid).count(), 3);
}

#[tokio::test]
async fn a_driver_without_gpus_is_told_as_such() {
    let report = StandIn::new("gpus 0\n").read().await;
    assert_eq!(state(&report.facts, &Entity::Guest, Attribute::GpuReadBy), Some(&State::Known(Value::from("NVML"))));
    assert!(report.facts.iter().all(|fact| fact.entity == Entity::Guest), "{:?}", report.facts);
}

#[tokio::test]
async fn text_of_the_driver_is_cleaned() {
    let report = StandIn::new("driver 535\x1b[31m.1\n").read().await;
    assert_eq!(shown(&report.facts, &Entity::Guest, Attribute::NvidiaDriver), "535.1");
    assert!(!report.observations[0].stdout.contains('\x1b'));
}
