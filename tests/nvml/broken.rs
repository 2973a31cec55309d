//! Every call by itself fails in every way. What depends on it is missing in the right way, and all else is as it was.

use rdmascope::fabric::{Attribute, Entity, Fact, Report, State};

use crate::stand_in::{StandIn, call_of, gpu, read, settings, shown, state};

/// Every call that one reading of states makes, except those that open the library and give the handles.
const CALLS: &[&str] = &[
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetCudaDriverVersion_v2",
    "nvmlSystemGetProcessName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetVbiosVersion",
    "nvmlDeviceGetVirtualizationMode",
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetPersistenceMode",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetEccMode",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetBAR1MemoryInfo",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetPowerManagementDefaultLimit",
    "nvmlDeviceGetPowerManagementLimitConstraints",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetApplicationsClock",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetTemperatureThreshold",
    "nvmlDeviceGetPerformanceState",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetCurrPcieLinkGeneration",
    "nvmlDeviceGetMaxPcieLinkGeneration",
    "nvmlDeviceGetCurrPcieLinkWidth",
    "nvmlDeviceGetMaxPcieLinkWidth",
    "nvmlDeviceGetPcieThroughput",
    "nvmlDeviceGetPcieReplayCounter",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetNvLinkErrorCounter",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetMinorNumber",
    "nvmlGpmQueryDeviceSupport",
    "nvmlDeviceGetSupportedEventTypes",
    "nvmlEventSetCreate",
    "nvmlDeviceRegisterEvents",
];

/// Structures and texts, which a driver may fill in part or leave empty.
const FILLED: &[&str] = &[
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetCudaDriverVersion_v2",
    "nvmlSystemGetProcessName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetVbiosVersion",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetPowerManagementLimitConstraints",
    "nvmlDeviceGetFieldValues",
];

const LINES: &str = "gpus 2\nmig 1 2\n";

async fn with(call: &str, mode: &str) -> Report {
    StandIn::new(&format!("{LINES}call {call} {mode}\n")).read().await
}

fn key(fact: &Fact) -> (&Entity, Attribute) {
    (&fact.entity, fact.attribute)
}

/// Asserts that what comes from `call` is missing in the way that `missing` wants, and that all else is as in `sound`.
fn only_that_is_missing(
    sound: &Report,
    broken: &Report,
    call: &str,
    missing: impl Fn(&State<rdmascope::fabric::Value>) -> bool,
) {
    for fact in &broken.facts {
        let from = call_of(broken, fact);
        // The kinds of thing that hang on a call which failed are told by their parent alone.
        if from == call {
            assert!(missing(&fact.reading.state), "{call} failed, and {:?} is {:?}", key(fact), fact.reading.state);
        } else if let Some(before) = sound.facts.iter().find(|one| key(one) == key(fact)) {
            assert_eq!(
                fact.reading.state,
                before.reading.state,
                "{call} failed, and {:?} comes from {from}",
                key(fact)
            );
        }
    }
    // Nothing is gone that another call gave, unless it is of a thing that nobody can name any more.
    let named = |fact: &&Fact| {
        !matches!(fact.entity, Entity::NvLink { .. } | Entity::GpuProcess { .. } | Entity::MigInstance { .. })
    };
    for fact in sound.facts.iter().filter(named) {
        let is_sum = fact.attribute == Attribute::NvLinksActive;
        assert!(
            is_sum || broken.facts.iter().any(|one| key(one) == key(fact)),
            "{call} failed, and {:?} is gone",
            key(fact)
        );
    }
}

#[tokio::test]
async fn a_call_that_is_not_supported_takes_only_its_own_value() {
    let sound = StandIn::new(LINES).read().await;
    for call in CALLS {
        let broken = with(call, "3").await;
        only_that_is_missing(&sound, &broken, call, |state| matches!(state, State::NotPublished(_)));
    }
}

#[tokio::test]
async fn a_call_that_fails_takes_only_its_own_value() {
    let sound = StandIn::new(LINES).read().await;
    for call in CALLS {
        let broken = with(call, "999").await;
        only_that_is_missing(
            &sound,
            &broken,
            call,
            |state| matches!(state, State::Failed(why) if why.contains("Unknown Error")),
        );
    }
}

#[tokio::test]
async fn a_structure_that_is_filled_in_part_gives_no_zeroes() {
    let sound = StandIn::new(LINES).read().await;
    for call in FILLED {
        let broken = with(call, "short").await;
        only_that_is_missing(&sound, &broken, call, |state| matches!(state, State::Failed(_)));
    }
}

#[tokio::test]
async fn a_version_of_a_structure_that_the_driver_refuses_is_said() {
    let report = with("nvmlDeviceGetMemoryInfo_v2", "25").await;
    let Some(State::Failed(why)) = state(&report.facts, &gpu(0), Attribute::GpuMemory) else { panic!("no reason") };
    assert!(why.contains("another version"), "{why}");
}

#[tokio::test]
async fn what_only_root_may_read_says_so() {
    let report = with("nvmlDeviceGetPerformanceState", "4").await;
    assert_eq!(shown(&report.facts, &gpu(0), Attribute::PerformanceState), "needs-privilege");
}

#[tokio::test]
async fn processes_whose_memory_the_driver_left_out_have_none() {
    let report = with("nvmlDeviceGetComputeRunningProcesses_v3", "short").await;
    let told = report.facts.iter().filter(|fact| fact.attribute == Attribute::GpuProcessMemory);
    assert!(told.clone().count() > 0);
    for fact in told {
        assert!(fact.reading.state.known().is_none(), "{fact:?}");
    }
}

#[tokio::test]
async fn everything_may_be_unsupported_at_once_and_everything_may_fail_at_once() {
    for mode in ["3", "4", "999", "short", "25", "21"] {
        // The count and the handles stay: without them there is nothing to ask.
        let lines =
            format!("gpus 8\ncall nvmlDeviceGetCount_v2 0\ncall nvmlDeviceGetHandleByIndex_v2 0\ncall * {mode}\n");
        let report = StandIn::new(&lines).read().await;
        let gpus = report.facts.iter().filter(|fact| fact.attribute == Attribute::GpuHealth).count();
        assert_eq!(gpus, 8, "mode {mode}");
    }
}

#[tokio::test]
async fn an_address_is_read_where_an_old_driver_leaves_its_text_out() {
    let report = with("nvmlDeviceGetPciInfo_v3", "short").await;
    assert_eq!(shown(&report.facts, &gpu(0), Attribute::GpuHealth), "yes");
    let report = with("nvmlDeviceGetPciInfo_v3", "999").await;
    let nameless = Entity::Gpu("GPU1".into());
    assert_eq!(shown(&report.facts, &nameless, Attribute::GpuHealth), "yes", "it is told by its index");
}

#[tokio::test]
async fn a_lost_gpu_takes_no_other_with_it() {
    let report = StandIn::new("gpus 3\ngpu 1 15\n").read().await;
    let lost = Entity::Gpu("GPU1".into());
    assert_eq!(shown(&report.facts, &lost, Attribute::GpuHealth), "GPU is lost");
    assert_eq!(shown(&report.facts, &lost, Attribute::GpuIndex), "1");
    for index in [0, 2] {
        assert_eq!(shown(&report.facts, &gpu(index), Attribute::GpuHealth), "yes");
        assert_eq!(shown(&report.facts, &gpu(index), Attribute::GpuModel), "NVIDIA A100-SXM4-40GB");
    }
}

#[tokio::test]
async fn a_gpu_that_this_login_may_not_open_says_so() {
    let report = StandIn::new("gpus 2\ngpu 1 4\n").read().await;
    assert_eq!(shown(&report.facts, &Entity::Gpu("GPU1".into()), Attribute::GpuHealth), "needs-privilege");
    assert_eq!(shown(&report.facts, &gpu(0), Attribute::GpuHealth), "yes");
}

#[tokio::test]
async fn a_library_that_does_not_start_says_why_and_what_to_do() {
    for (mode, said) in [
        ("9", "modprobe nvidia"),
        ("18", "different versions"),
        ("4", "/dev/nvidiactl"),
        ("999", "dmesg | grep NVRM"),
        ("11", "interrupt"),
    ] {
        let report = StandIn::new(&format!("call nvmlInit_v2 {mode}\n")).read().await;
        let Some(State::Failed(why)) = state(&report.facts, &Entity::Guest, Attribute::GpuReadBy) else {
            panic!("mode {mode} has no reason: {:?}", report.facts)
        };
        assert!(why.contains(said), "mode {mode}: {why}");
        assert_eq!(report.facts.len(), 1, "nothing else is known");
    }
    let report = StandIn::new("call nvmlDeviceGetCount_v2 999\n").read().await;
    assert_eq!(shown(&report.facts, &Entity::Guest, Attribute::GpuReadBy), "failed");
}

#[tokio::test]
async fn a_library_that_is_not_there_and_one_that_is_another_are_told_apart() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let report = read(settings(&folder.path().join("libnvidia-ml.so.1"))).await.expect("it was named");
    assert_eq!(shown(&report.facts, &Entity::Guest, Attribute::GpuReadBy), "not-installed");
    let report = read(settings("libc.so.6".as_ref())).await.expect("it was named");
    let Some(State::Failed(why)) = state(&report.facts, &Entity::Guest, Attribute::GpuReadBy) else {
        panic!("no reason")
    };
    assert!(why.contains("not NVIDIA's management library"), "{why}");
    let broken = folder.path().join("broken.so");
    std::fs::write(&broken, "no library").expect("written");
    let report = read(settings(&broken)).await.expect("it was named");
    let Some(State::Failed(why)) = state(&report.facts, &Entity::Guest, Attribute::GpuReadBy) else {
        panic!("no reason")
    };
    assert!(why.contains("cannot be loaded"), "{why}");
}

#[tokio::test]
async fn a_call_that_never_returns_ends_in_a_reason() {
    let stand_in = StandIn::new("call nvmlDeviceGetTemperature hang\n");
    let began = std::time::Instant::now();
    let within = std::time::Duration::from_millis(500);
    let report =
        rdmascope::collect::nvml::read_once("local".into(), stand_in.settings(), within).await.expect("a reason");
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
    let Some(State::Failed(why)) = state(&report.facts, &Entity::Guest, Attribute::GpuReadBy) else {
        panic!("no reason")
    };
    assert!(why.contains("hangs in the driver"), "{why}");
}
