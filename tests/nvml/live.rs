//! GPUs that are followed: rows, gaps, events, a driver that hangs, and the end.

use std::time::{Duration, Instant};

use rdmascope::app::{Message, Severity};
use rdmascope::collect::nvml::follow;
use rdmascope::engine::plan::{Options, TargetPlan, Way};
use rdmascope::engine::run::Engine;
use rdmascope::fabric::series::GaugeValue;
use rdmascope::fabric::{Attribute, Entity, Measure, Measured, State, TargetId, Text};
use rdmascope::probe::privilege::Become;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::stand_in::{StandIn, gpu, shown, state};

/// What a test waits for comes within this, however busy the machine is.
const SOON: Duration = Duration::from_secs(30);

/// The library of a test and what is told of it.
struct Watched {
    stand_in: StandIn,
    messages: mpsc::Receiver<Message>,
    cancelled: CancellationToken,
    following: JoinHandle<()>,
}

impl Watched {
    fn new(lines: &str) -> Self {
        let stand_in = StandIn::new(lines);
        let (sender, messages) = mpsc::channel(64);
        let cancelled = CancellationToken::new();
        let settings = stand_in.settings();
        let following = tokio::spawn(follow(TargetId::new("local"), settings, sender, cancelled.clone()));
        Self { stand_in, messages, cancelled, following }
    }

    /// The next row that is as it is wanted.
    async fn row(&mut self, mut wanted: impl FnMut(&Measured) -> bool) -> Measured {
        let found = async {
            loop {
                if let Message::Measured(row) = self.messages.recv().await.expect("it lives")
                    && wanted(&row)
                {
                    return *row;
                }
            }
        };
        timeout(SOON, found).await.expect("such a row comes")
    }

    /// The next event that is as it is wanted.
    async fn notice(&mut self, mut wanted: impl FnMut(&str) -> bool) -> (Severity, String) {
        let found = async {
            loop {
                if let Message::Notice { severity, text, .. } = self.messages.recv().await.expect("it lives")
                    && wanted(&text)
                {
                    return (severity, text.to_string());
                }
            }
        };
        timeout(SOON, found).await.expect("it is told")
    }
}

/// The number of a measure: none where there is no series of it.
#[expect(clippy::option_option, reason = "no series, a gap and a number are three things")]
fn number(row: &Measured, entity: &Entity, measure: Measure) -> Option<Option<f64>> {
    let is = |gauge: &&GaugeValue| gauge.entity == *entity && gauge.name.as_str() == measure.name();
    row.gauges.iter().find(is).map(|gauge| gauge.value)
}

/// For what must not be told before something else is.
fn panics_if(is_wrong: bool) -> bool {
    assert!(!is_wrong, "it does not answer yet");
    false
}

fn health(row: &Measured, index: u32) -> String {
    shown(&row.facts, &gpu(index), Attribute::GpuHealth)
}

#[tokio::test]
async fn rows_carry_what_moves_in_its_units() {
    let mut watched = Watched::new("gpus 8\nreplays 100\n");
    let row = watched.row(|row| !row.facts.is_empty()).await;
    assert_eq!(row.stream.as_str(), "gpu.nvml");
    for index in 0..8 {
        let said = |measure| number(&row, &gpu(index), measure);
        assert_eq!(said(Measure::GpuUse), Some(Some(87.0)));
        assert_eq!(said(Measure::GpuMemoryBusy), Some(Some(41.0)));
        assert_eq!(said(Measure::GpuMemoryUsed), Some(Some(31002.0 * 1_048_576.0)));
        assert_eq!(said(Measure::Power), Some(Some(287.14)));
        assert_eq!(said(Measure::SmClock), Some(Some(1335.0)));
        assert_eq!(said(Measure::MemoryClock), Some(Some(1215.0)));
        assert_eq!(said(Measure::Temperature), Some(Some(54.0 + f64::from(index))));
        assert_eq!(said(Measure::MemoryTemperature), Some(Some(61.0)));
        assert_eq!(said(Measure::PcieSent), Some(Some(2_101_344_000.0)), "kilobytes are a thousand bytes");
        assert_eq!(said(Measure::PcieReceived), Some(Some(8_803_341_000.0)));
        assert_eq!(said(Measure::PcieGenerationNow), Some(Some(4.0)));
        assert_eq!(said(Measure::PcieLanesNow), Some(Some(16.0)));
        assert_eq!(said(Measure::ClockReasonBits), Some(Some(4.0)));
        assert_eq!(said(Measure::SmActive), None, "this generation does not count it");
    }
    // A row without states leaves those that are known as they are.
    let row = watched.row(|row| row.facts.is_empty()).await;
    assert!(row.observation.is_none());
    assert_eq!(number(&row, &gpu(7), Measure::GpuUse), Some(Some(87.0)));
    assert_eq!(number(&row, &gpu(7), Measure::PcieReplayRate), Some(Some(0.0)));
    let row = watched.row(|row| !row.facts.is_empty()).await;
    assert!(row.observation.is_some_and(|read| read.stdout.contains("nvmlDeviceGetPowerUsage: 287.14")));
}

#[tokio::test]
async fn replays_are_a_rate() {
    let mut watched = Watched::new("replays 5\n");
    watched.row(|row| number(row, &gpu(0), Measure::PcieReplayRate) == Some(Some(0.0))).await;
    watched.stand_in.say("replays 1005\n");
    let row =
        watched.row(|row| number(row, &gpu(0), Measure::PcieReplayRate).flatten().is_some_and(|rate| rate > 0.0)).await;
    // A thousand in one period of 20 ms, or in a longer one where the machine is busy.
    let rate = number(&row, &gpu(0), Measure::PcieReplayRate).flatten().expect("a rate");
    assert!(rate <= 50_500.0, "{rate}");
    watched.stand_in.say("replays 3\n");
    watched.row(|row| number(row, &gpu(0), Measure::PcieReplayRate) == Some(None)).await;
}

#[tokio::test]
async fn a_generation_that_counts_its_work_tells_it() {
    let mut watched = Watched::new("gpm 1\ngpus 2\nmig 1 2\n");
    let row = watched.row(|row| number(row, &gpu(0), Measure::SmActive).is_some()).await;
    assert_eq!(number(&row, &gpu(0), Measure::SmActive), Some(Some(64.3)));
    assert_eq!(number(&row, &gpu(0), Measure::PcieReceivedWhole), Some(Some(1000.0 * 1_048_576.0)));
    assert_eq!(number(&row, &gpu(0), Measure::NvLinkSent), Some(Some(1000.0 * 1_048_576.0)));
    assert_eq!(number(&row, &gpu(0), Measure::TensorActive), None, "it does not tell this one");
    let instance = Entity::MigInstance { gpu: Text::new("0000:0c:00.0"), instance: 8, compute: Some(0) };
    let row = watched.row(|row| number(row, &instance, Measure::SmActive).is_some()).await;
    assert_eq!(number(&row, &instance, Measure::SmActive), Some(Some(64.3)));
    assert_eq!(number(&row, &instance, Measure::GpuMemoryUsed), Some(Some(31002.0 * 131_072.0)));
    assert_eq!(number(&row, &gpu(1), Measure::GpuUse), None, "the use of a divided GPU is not told");
}

#[tokio::test]
async fn what_is_not_supported_has_no_series_and_what_fails_has_a_gap() {
    let mut watched = Watched::new("call nvmlDeviceGetPcieThroughput 3\ncall nvmlDeviceGetPowerUsage 999\n");
    let row = watched.row(|row| row.facts.is_empty()).await;
    assert_eq!(number(&row, &gpu(0), Measure::PcieSent), None);
    assert_eq!(number(&row, &gpu(0), Measure::Power), Some(None));
    assert_eq!(number(&row, &gpu(0), Measure::GpuUse), Some(Some(87.0)));
}

#[tokio::test]
async fn a_gpu_that_falls_off_the_bus_and_comes_back_is_told() {
    let mut watched = Watched::new("gpus 2\n");
    watched.row(|row| health(row, 1) == "yes").await;
    watched.stand_in.say("gpus 2\ngpu 1 15\n");
    let (severity, text) = watched.notice(|text| text.contains("does not answer")).await;
    assert_eq!(severity, Severity::Error);
    assert!(text.contains("GPU 0000:0c:00.0") && text.contains("power-cycle the VM"), "{text}");
    // It keeps its name, and the other one its values.
    let row = watched.row(|row| health(row, 1) == "GPU is lost").await;
    assert_eq!(health(&row, 0), "yes");
    assert_eq!(number(&row, &gpu(0), Measure::GpuUse), Some(Some(87.0)));
    assert_eq!(number(&row, &gpu(1), Measure::GpuUse), None);
    watched.stand_in.say("gpus 2\n");
    watched.notice(|text| text == "GPU 0000:0c:00.0 answers again").await;
    watched.row(|row| health(row, 1) == "yes" && number(row, &gpu(1), Measure::GpuUse) == Some(Some(87.0))).await;
}

#[tokio::test]
async fn gpus_that_come_and_go_are_counted_anew() {
    let mut watched = Watched::new("gpus 1\n");
    watched.row(|row| health(row, 0) == "yes").await;
    watched.stand_in.say("gpus 4\n");
    watched.row(|row| health(row, 3) == "yes").await;
    watched.stand_in.say("gpus 2\n");
    watched.row(|row| health(row, 1) == "yes" && health(row, 3) == "not told").await;
}

#[tokio::test]
async fn a_driver_that_sees_no_gpu_is_told_once_and_read_all_the_same() {
    let mut watched = Watched::new("gpus 0\n");
    let (severity, text) = watched.notice(|text| text.contains("sees no GPU")).await;
    assert_eq!(severity, Severity::Warning);
    assert!(text.contains("lspci -k"), "{text}");
    let row = watched.row(|row| !row.facts.is_empty()).await;
    assert_eq!(shown(&row.facts, &Entity::Guest, Attribute::GpuReadBy), "NVML");
}

#[tokio::test]
async fn a_driver_that_is_loaded_later_is_found() {
    let mut watched = Watched::new("call nvmlInit_v2 9\n");
    let (severity, text) = watched.notice(|text| text.contains("GPUs are not read")).await;
    assert_eq!(severity, Severity::Warning);
    assert!(text.contains("modprobe nvidia"), "{text}");
    let row = watched.row(|row| !row.facts.is_empty()).await;
    assert!(matches!(state(&row.facts, &Entity::Guest, Attribute::GpuReadBy), Some(State::Failed(_))));
    watched.stand_in.say("gpus 1\n");
    watched.row(|row| health(row, 0) == "yes").await;
}

#[tokio::test]
async fn a_driver_that_is_unloaded_meanwhile_is_told_and_opened_again() {
    let mut watched = Watched::new("gpus 1\n");
    watched.row(|row| health(row, 0) == "yes").await;
    watched.stand_in.say("call nvmlDeviceGetCount_v2 1\ncall nvmlInit_v2 9\n");
    watched.notice(|text| text.contains("stopped answering")).await;
    watched.notice(|text| text.contains("modprobe nvidia")).await;
    watched.stand_in.say("gpus 1\n");
    watched.row(|row| health(row, 0) == "yes").await;
}

#[tokio::test]
async fn an_xid_is_an_event_with_what_to_do() {
    let mut watched = Watched::new("gpus 2\n");
    watched.row(|row| health(row, 1) == "yes").await;
    watched.stand_in.say("gpus 2\nxid 1 79\n");
    let (severity, text) = watched.notice(|text| text.contains("Xid 79")).await;
    assert_eq!(severity, Severity::Error);
    assert!(text.contains("GPU 0000:0c:00.0") && text.contains("fallen off the bus"), "{text}");
}

#[tokio::test]
async fn a_gpu_that_gives_no_events_takes_those_of_no_other() {
    let mut watched = Watched::new("gpus 3\ngpu 1 3\n");
    watched.row(|row| health(row, 2) == "yes").await;
    watched.stand_in.say("gpus 3\ngpu 1 3\nxid 2 48\n");
    watched.notice(|text| text.contains("Xid 48 of GPU 0000:0d:00.0")).await;
}

#[tokio::test]
async fn a_driver_that_hangs_is_told_what_was_known_stays_and_it_may_come_back() {
    let mut watched = Watched::new("gpus 1\n");
    watched.row(|row| health(row, 0) == "yes").await;
    watched.stand_in.say("gpus 1\ncall nvmlDeviceGetTemperature hang\n");
    let (severity, text) = watched.notice(|text| text.contains("has not answered")).await;
    assert_eq!(severity, Severity::Error);
    assert!(text.contains("power-cycle the VM"), "{text}");
    let row = watched.row(|row| shown(&row.facts, &Entity::Guest, Attribute::GpuReadBy) == "failed").await;
    assert!(row.gauges.is_empty(), "nothing moves now: that is a gap");
    assert_eq!(shown(&row.facts, &gpu(0), Attribute::GpuModel), "NVIDIA A100-SXM4-40GB");
    assert!(row.at > row.facts[0].reading.at, "what is known is as old as it is");
    // An Xid that is told meanwhile is no answer of the call that hangs.
    watched.stand_in.say("gpus 1\nxid 0 79\ncall nvmlDeviceGetTemperature hang\n");
    watched.notice(|text| text.contains("Xid 79") || panics_if(text.contains("answers again"))).await;
    watched.stand_in.say("gpus 1\n");
    watched.notice(|text| text.contains("answers again")).await;
    watched.row(|row| shown(&row.facts, &Entity::Guest, Attribute::GpuReadBy) == "NVML").await;
}

#[tokio::test]
async fn a_library_that_hangs_when_it_is_opened_is_told() {
    let mut watched = Watched::new("call nvmlInit_v2 hang\n");
    watched.notice(|text| text.contains("has not answered")).await;
}

#[tokio::test]
async fn the_end_waits_for_no_call() {
    let mut watched = Watched::new("gpus 1\n");
    watched.row(|row| health(row, 0) == "yes").await;
    watched.stand_in.say("gpus 1\ncall nvmlDeviceGetTemperature hang\n");
    watched.notice(|text| text.contains("has not answered")).await;
    let began = Instant::now();
    watched.cancelled.cancel();
    timeout(SOON, watched.following).await.expect("it ends").expect("without a panic");
    assert!(began.elapsed() < Duration::from_secs(5), "it was not waited for");
}

#[test]
fn an_engine_reads_the_gpus_of_this_machine_and_ends_though_the_driver_hangs() {
    let stand_in = StandIn::new("gpus 2\n");
    let id = TargetId::new("local");
    let plan = TargetPlan { id, way: Way::Local, by: Become::None };
    let options = Options {
        probes: std::sync::Arc::from([]),
        period: Duration::from_millis(50),
        gpu_library: Some(stand_in.path().into()),
        ..Options::default()
    };
    let (engine, mut messages) = Engine::start(vec![plan], &options).expect("threads");
    loop {
        let message = messages.blocking_recv().expect("the engine lives");
        if matches!(&message, Message::Measured(row) if health(row, 1) == "yes") {
            break;
        }
    }
    stand_in.say("gpus 2\ncall * hang\n");
    let began = Instant::now();
    engine.shutdown();
    assert!(began.elapsed() < Duration::from_secs(5), "it was not waited for");
    while messages.blocking_recv().is_some() {}
}
