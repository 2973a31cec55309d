//! One collection of everything, for commands that print and end. Nobody is there to answer questions.

use std::io;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::again;
use super::look::{Look, Looked};
use super::offline::{self, Saved};
use super::plan::{Options, TargetPlan, Way};
use crate::app::Problem;
use crate::collect::connectors::{LocalConnector, SshConnector};
use crate::collect::kind;
use crate::collect::link::{BatchError, Connector, Link as _};
use crate::collect::nvml;
use crate::collect::rounds::{self, Sequence};
use crate::collect::setback;
use crate::fabric::{Outcome, Report, TargetId, Text};
use crate::probe::switch::SwitchSystem;

/// How long the driver of GPUs may take for its one answer; without persistence mode it first has to be loaded.
const GPUS_WITHIN: Duration = Duration::from_secs(20);

/// How many targets are read at once.
const AT_ONCE: usize = 64;

/// What a target turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// This machine.
    Local,
    /// A Linux system over SSH.
    Linux,
    /// An ESXi host.
    Esxi,
    /// A switch.
    Switch(SwitchSystem),
    /// It never said.
    Unknown,
}

/// What one target gave.
#[derive(Clone, Debug)]
pub struct Collected {
    /// Which.
    pub target: TargetId,
    /// What it is.
    pub system: System,
    /// The way there in words, or why it could not be reached.
    pub reached: Result<Text, Problem>,
    /// Why a target that was reached could not be read to the end; its probes then say which values are missing.
    pub incomplete: Option<Problem>,
    /// One report for each probe of a target that was reached, in the order of the probes.
    pub reports: Vec<Report>,
    /// The counters once more, some seconds later, where that was asked for: one report for each probe that counts.
    pub again: Vec<Report>,
    /// By how many milliseconds its clock is ahead of ours, and by how much that may be wrong; measured with the counters.
    pub clock: Option<(i64, u64)>,
}

/// How a collection ended.
#[derive(Clone, Debug)]
pub enum Once {
    /// With a result for each target, in their order.
    Collected(Vec<Collected>),
    /// By a signal to the program; its number. What it had started on this machine has ended.
    Interrupted(i32),
}

/// Reads every target once, side by side. Fails only if the system gives no threads, or takes no note of signals.
pub fn collect_once(targets: Vec<TargetPlan>, options: &Options) -> io::Result<Once> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let until = options.within.map(|within| Until { within, at: Instant::now() + within });
    let collecting = futures::stream::iter(targets).map(|plan| collect(plan, options, until)).buffered(AT_ONCE);
    let once = runtime.block_on(async {
        let interrupted = interrupted()?;
        // Dropping what is not done ends the programs that it runs here: they are in groups of their own, which a
        // terminal's Ctrl-C does not reach.
        tokio::select! {
            collected = collecting.collect() => Ok(Once::Collected(collected)),
            number = interrupted => Ok(Once::Interrupted(number)),
        }
    });
    // A thread that hangs in a driver must not keep the program from ending.
    runtime.shutdown_background();
    once
}

/// Waits for a signal that ends the program; its number.
pub(super) fn interrupted() -> io::Result<impl Future<Output = i32>> {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut signals = Vec::new();
    for kind in kinds {
        signals.push((kind.as_raw_value(), signal(kind)?));
    }
    Ok(async move {
        let waiting = signals.into_iter().map(|(number, mut signal)| {
            Box::pin(async move {
                signal.recv().await;
                number
            })
        });
        futures::future::select_all(waiting).await.0
    })
}

/// When reading ends, whatever was not read by then.
#[derive(Clone, Copy, Debug)]
struct Until {
    within: Duration,
    at: Instant,
}

/// Waits for something, but no longer than there is time; without a limit to its end.
async fn in_time<T>(until: Option<Until>, what: impl Future<Output = T>) -> Option<T> {
    match until {
        Some(until) => timeout_at(until.at, what).await.ok(),
        None => Some(what.await),
    }
}

async fn collect(plan: TargetPlan, options: &Options, until: Option<Until>) -> Collected {
    let TargetPlan { id, way, by } = plan;
    match way {
        Way::Local => Box::pin(over(id, true, &LocalConnector::new(by), options, until)).await,
        Way::Ssh { resolve, known } => {
            // Nobody can be asked: what is missing is an error that names it.
            let connector = SshConnector::new(id.clone(), resolve, None, known, by);
            Box::pin(over(id, false, &connector, options, until)).await
        }
        Way::Refused(problem) => unreached(id, problem),
        Way::Saved(path) => match in_time(until, offline::read(&id, &path, options)).await {
            Some(Ok(Saved { system, words, incomplete, reports, .. })) => Collected {
                target: id,
                system,
                reached: Ok(words),
                incomplete,
                reports,
                again: Vec::new(),
                clock: None,
            },
            Some(Err(problem)) => unreached(id, problem),
            None => unreached(id, too_late(until)),
        },
    }
}

/// Why a target was not reached in the time that there was.
fn too_late(until: Option<Until>) -> Problem {
    let seconds = until.map_or(0, |until| until.within.as_secs());
    Problem::new(
        &format!("was not reached within {seconds} s"),
        "it did not answer in that time, or so many targets came before it",
        again::MORE_TIME,
    )
}

fn unreached(target: TargetId, problem: Problem) -> Collected {
    Collected {
        target,
        system: System::Unknown,
        reached: Err(problem),
        incomplete: None,
        reports: Vec::new(),
        again: Vec::new(),
        clock: None,
    }
}

async fn over(
    target: TargetId,
    is_local: bool,
    connector: &impl Connector,
    options: &Options,
    until: Option<Until>,
) -> Collected {
    let link = match in_time(until, connector.connect()).await {
        Some(Ok(link)) => link,
        Some(Err(failure)) => return unreached(target, failure.problem),
        None => return unreached(target, too_late(until)),
    };
    let (system, probes) = match link.system() {
        kind::System::Esxi => (System::Esxi, &*options.esxi),
        kind::System::Switch(system) => (System::Switch(system), system.probes()),
        kind::System::Linux if is_local => (System::Local, &*options.probes),
        kind::System::Linux => (System::Linux, &*options.probes),
    };
    let via = link.described();
    let gpus = is_local.then(|| {
        let within = until.map_or(GPUS_WITHIN, |until| (until.at - Instant::now()).min(GPUS_WITHIN));
        let settings = nvml::Settings::new(options.period, options.gpu_library.clone());
        tokio::spawn(nvml::read_once(target.clone(), settings, within))
    });
    let sequence = Sequence::default();
    let look = Look::of(&link, &target, &sequence, probes);
    // What a host does meanwhile costs nothing there; elsewhere a second look would only make the first one longer.
    let meanwhile = system == System::Esxi;
    let Looked { result, mut reports, mut again, not_again } = match until {
        None => look.at_all(options.again, meanwhile, std::future::pending()).await,
        Some(until) => look.at_all(options.again, meanwhile, sleep_until(until.at)).await,
    };
    if let Some(gpus) = gpus {
        reports.extend(gpus.await.ok().flatten());
    }
    reports.extend(link.news(&target, &sequence).into_iter().filter_map(|news| news.report));
    let unread: Vec<&str> = probes
        .iter()
        .map(|probe| probe.name)
        .filter(|name| !reports.iter().any(|report| report.probe.as_str() == *name))
        .collect();
    let is_up = !matches!(&result, Some(Err(error)) if again::is_gone(error));
    let clock = match options.again {
        Some(_) if is_up => in_time(until, again::clock(&link, &target, &sequence)).await.flatten(),
        _ => None,
    };
    in_time(until, link.close()).await;
    let mut incomplete = None;
    if !matches!(result, Some(Ok(()))) {
        let (problem, outcome) = match &result {
            Some(Err(error)) => {
                let problem = setback::failure(&target, error).problem;
                if matches!(error, BatchError::NoShell { .. } | BatchError::ExecRefused | BatchError::ChannelRefused(_))
                {
                    return unreached(target, problem);
                }
                let is_late = matches!(error, BatchError::TimedOut { .. } | BatchError::Silent { .. });
                (problem, if is_late { Outcome::TimedOut } else { Outcome::Cut })
            }
            _ => (cut_short(until, &unread), Outcome::TimedOut),
        };
        for probe in probes.iter().filter(|probe| unread.contains(&probe.name)) {
            reports.push(rounds::unread_report(&target, &sequence, probe, &outcome));
        }
        incomplete = Some(problem);
    }
    if !not_again.is_empty() {
        incomplete =
            Some(again::read_once(incomplete, &not_again, until.is_some_and(|until| until.at <= Instant::now())));
    }
    // What no probe read, such as GPUs by NVML, comes behind them.
    let place =
        |report: &Report| probes.iter().position(|probe| probe.name == report.probe.as_str()).unwrap_or(probes.len());
    reports.sort_by_key(place);
    again.sort_by_key(place);
    Collected { target, system, reached: Ok(via), incomplete, reports, again, clock }
}

/// Why a target was not read to its end in the time that there was, and what of it was not.
fn cut_short(until: Option<Until>, unread: &[&str]) -> Problem {
    let seconds = until.map_or(0, |until| until.within.as_secs());
    Problem::new(
        &format!("was not read to its end within {seconds} s"),
        &format!("not read: {}", unread.join(", ")),
        again::MORE_TIME,
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::collect::testing::{Act, Behaviour, Fake, FakeConnector};
    use crate::probe::privilege::Become;
    use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

    const PROBES: &[Probe] = &[
        Probe {
            name: "test.slow",
            title: "",
            privilege_adds: "",
            pace: Pace::Slow,
            rhythm: Rhythm::PACE,
            sources: &[Source {
                name: "test.slow",
                read: Read::Command { argv: &[Word::Plain("sleep"), Word::Plain("0.2")], keep: None },
            }],
            parse: |_| vec![],
        },
        Probe {
            name: "test.uptime",
            title: "",
            privilege_adds: "",
            pace: Pace::Fast,
            rhythm: Rhythm::PACE,
            sources: &[Source { name: "test.uptime", read: Read::Files(&["/proc/uptime"]) }],
            parse: |_| vec![],
        },
    ];

    fn options() -> Options {
        Options { probes: Arc::from(PROBES), ..Options::default() }
    }

    #[test]
    fn every_target_is_read_once_in_its_place() {
        let options = options();
        let plan = |name: &str, way| TargetPlan { id: TargetId::new(name), way, by: Become::None };
        let targets = vec![plan("local", Way::Local), plan("esx1", Way::Refused(Problem::new("not read", "", "")))];
        let Once::Collected(collected) = collect_once(targets, &options).expect("threads") else {
            panic!("nobody sent a signal")
        };
        assert_eq!(collected.len(), 2);
        let names: Vec<&str> = collected[0].reports.iter().map(|report| report.probe.as_str()).collect();
        assert_eq!(names, ["test.slow", "test.uptime"]);
        assert_eq!(collected[0].system, System::Local);
        assert!(collected[0].reached.is_ok() && collected[0].incomplete.is_none());
        assert_eq!(collected[1].system, System::Unknown);
        assert!(collected[1].reached.is_err() && collected[1].reports.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_read_says_so() {
        let connector = FakeConnector::new(&Behaviour::of([Act::Hang]));
        let collected = Box::pin(over(TargetId::new("t"), false, &connector, &options(), None)).await;
        assert!(collected.reached.is_ok());
        let problem = collected.incomplete.expect("a reason");
        assert!(problem.what.contains("did not begin to work"), "{problem}");
        let outcomes: Vec<&Outcome> =
            collected.reports.iter().flat_map(|report| &report.observations).map(|seen| &seen.outcome).collect();
        assert_eq!(outcomes, [&Outcome::TimedOut, &Outcome::TimedOut]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_read_in_the_time_that_there_is_is_named() {
        let connector = FakeConnector::new(&Behaviour::of([Act::Hang]));
        let within = Duration::from_secs(7);
        let options = Options { within: Some(within), ..options() };
        let began = Instant::now();
        let until = Some(Until { within, at: began + within });
        let collected = Box::pin(over(TargetId::new("t"), false, &connector, &options, until)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(7));
        let problem = collected.incomplete.expect("a reason");
        assert_eq!(problem.what.as_str(), "was not read to its end within 7 s");
        assert_eq!(problem.cause.as_str(), "not read: test.slow, test.uptime");
        assert_eq!(collected.reports.len(), 2, "and each of them says so");
    }

    /// A target to which no connection comes about, and none is refused either.
    struct Nowhere;

    impl Connector for Nowhere {
        type Link = crate::collect::shell::ShellLink<Fake>;

        async fn connect(&self) -> Result<Self::Link, crate::collect::link::Failure> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_that_there_is_bounds_connecting_and_files_too() {
        let within = Duration::from_secs(4);
        let began = Instant::now();
        let until = Some(Until { within, at: began + within });
        let collected = Box::pin(over(TargetId::new("t"), false, &Nowhere, &options(), until)).await;
        assert_eq!(began.elapsed(), within);
        let problem = collected.reached.expect_err("not reached");
        assert_eq!(problem.what.as_str(), "was not reached within 4 s");
        // What begins later has no time left.
        let collected = Box::pin(over(TargetId::new("u"), false, &Nowhere, &options(), until)).await;
        assert!(collected.reached.is_err() && began.elapsed() == within);
    }

    #[tokio::test]
    async fn a_target_without_a_shell_counts_as_not_reached() {
        let connector = FakeConnector::new(&Behaviour::of([])).first(Ok(Fake::new(&Behaviour::of([Act::Say(
            "",
            "sh: not found\n",
            127,
        )]))));
        let collected = Box::pin(over(TargetId::new("t"), false, &connector, &options(), None)).await;
        assert!(collected.reached.expect_err("no shell").what.contains("sh: not found"));
    }
}
