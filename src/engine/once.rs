//! One collection of everything, for commands that print and end. Nobody is there to answer questions.

use std::io;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::again;
use super::offline::{self, Saved};
use super::plan::{Options, TargetPlan, Way};
use crate::app::Problem;
use crate::collect::connectors::{LocalConnector, SshConnector};
use crate::collect::governor;
use crate::collect::kind;
use crate::collect::lanes;
use crate::collect::link::{BatchError, Connector, Failure, Link};
use crate::collect::rounds::{self, RoundEnd, Sequence};
use crate::collect::setback;
use crate::fabric::{Outcome, Report, TargetId, Text};
use crate::probe::Probe;
use crate::probe::switch::SwitchSystem;

/// How many targets are read at once.
const AT_ONCE: usize = 64;

/// A slow target gets so many batches to answer everything, as long as each of them brings something.
const MOST_ROUNDS: usize = 4;

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
    let collecting = futures::stream::iter(targets).map(|plan| collect(plan, options)).buffered(AT_ONCE);
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
fn interrupted() -> io::Result<impl Future<Output = i32>> {
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

async fn collect(plan: TargetPlan, options: &Options) -> Collected {
    let TargetPlan { id, way, by } = plan;
    match way {
        Way::Local => over(id, true, &LocalConnector::new(by), options).await,
        Way::Ssh { resolve, known } => {
            // Nobody can be asked: what is missing is an error that names it.
            let connector = SshConnector::new(id.clone(), resolve, None, known, by);
            over(id, false, &connector, options).await
        }
        Way::Refused(problem) => unreached(id, problem),
        Way::Saved(path) => match offline::read(&id, &path, options).await {
            Ok(Saved { system, words, incomplete, reports, .. }) => Collected {
                target: id,
                system,
                reached: Ok(words),
                incomplete,
                reports,
                again: Vec::new(),
                clock: None,
            },
            Err(problem) => unreached(id, problem),
        },
    }
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

async fn over(target: TargetId, is_local: bool, connector: &impl Connector, options: &Options) -> Collected {
    let until = options.within.map(|within| (within, Instant::now() + within));
    let link = match connector.connect().await {
        Ok(link) => link,
        Err(failure) => return unreached(target, failure.problem),
    };
    let (system, probes) = match link.system() {
        kind::System::Esxi => (System::Esxi, &*options.esxi),
        kind::System::Switch(system) => (System::Switch(system), system.probes()),
        kind::System::Linux if is_local => (System::Local, &*options.probes),
        kind::System::Linux => (System::Linux, &*options.probes),
    };
    let via = link.described();
    let sequence = Sequence::default();
    let (sender, mut received) = mpsc::channel(probes.len().max(1));
    let reading = async {
        let mut due: Vec<&Probe> = probes.iter().collect();
        due.sort_by_key(|probe| (probe.rhythm.turn, probe.pace));
        if system == System::Esxi {
            let end = by_parts(&link, &target, &sequence, &due, &sender).await;
            drop(sender);
            return end;
        }
        let mut rounds = 1;
        let end = loop {
            let end = rounds::round(&link, &target, &sequence, due.clone(), &sender).await;
            let slow = matches!(end.result, Err(BatchError::TimedOut { begun: true, .. })) && !end.read.is_empty();
            if !slow || rounds == MOST_ROUNDS {
                break end;
            }
            rounds += 1;
            due.retain(|probe| end.unread.contains(&probe.name));
        };
        drop(sender);
        end
    };
    let reading = async {
        let Some((within, at)) = until else { return reading.await };
        timeout_at(at, reading).await.unwrap_or_else(|_| RoundEnd {
            result: Err(BatchError::TimedOut { begun: true, after: within, said: Text::new("") }),
            read: Vec::new(),
            unread: probes.iter().map(|probe| probe.name).collect(),
            changed: Vec::new(),
            moved: Vec::new(),
        })
    };
    let gathering = async {
        let mut reports: Vec<Report> = Vec::new();
        while let Some(report) = received.recv().await {
            reports.push(report);
        }
        reports
    };
    let (RoundEnd { result, mut unread, .. }, mut reports) = tokio::join!(reading, gathering);
    reports.extend(link.news(&target, &sequence).into_iter().filter_map(|news| news.report));
    let (mut again, mut clock) = (Vec::new(), None);
    if let (Some(after), Ok(())) = (options.again, &result) {
        let second = async {
            again = again::counters(&link, &target, &sequence, probes, &reports, after).await;
            clock = again::clock(&link, &target, &sequence).await;
        };
        match until {
            None => second.await,
            Some((_, at)) => drop(timeout_at(at, second).await),
        }
    }
    unread.retain(|name| !reports.iter().any(|report| report.probe.as_str() == *name));
    link.close().await;
    let mut incomplete = None;
    if let Err(error) = result {
        let failure = match options.within {
            Some(within) if error == (BatchError::TimedOut { begun: true, after: within, said: Text::new("") }) => {
                Failure::passing(cut_short(within, &unread))
            }
            _ => setback::failure(&target, &error),
        };
        if matches!(error, BatchError::NoShell { .. } | BatchError::ExecRefused | BatchError::ChannelRefused(_)) {
            return unreached(target, failure.problem);
        }
        let outcome = if matches!(error, BatchError::TimedOut { .. } | BatchError::Silent { .. }) {
            Outcome::TimedOut
        } else {
            Outcome::Cut
        };
        for probe in probes.iter().filter(|probe| unread.contains(&probe.name)) {
            reports.push(rounds::unread_report(&target, &sequence, probe, &outcome));
        }
        incomplete = Some(failure.problem);
    }
    let place = |report: &Report| probes.iter().position(|probe| probe.name == report.probe.as_str());
    reports.sort_by_key(place);
    Collected { target, system, reached: Ok(via), incomplete, reports, again, clock }
}

/// Why a target was not read to its end in the time that there was, and what of it was not.
fn cut_short(within: Duration, unread: &[&str]) -> Problem {
    Problem::new(
        &format!("was not read to its end within {} s", within.as_secs()),
        &format!("not read: {}", unread.join(", ")),
        "give it more time with --within, or leave that out",
    )
}

/// Reads the probes of an ESXi host, a few at a time: all of them at once would take longer than a batch may.
async fn by_parts<L: Link>(
    link: &L,
    target: &TargetId,
    sequence: &Sequence,
    due: &[&Probe],
    reports: &mpsc::Sender<Report>,
) -> RoundEnd {
    let mut whole =
        RoundEnd { result: Ok(()), read: Vec::new(), unread: Vec::new(), changed: Vec::new(), moved: Vec::new() };
    let mut rest = due;
    while !rest.is_empty() {
        let (part, later) =
            rest.split_at(governor::part(rest.iter().map(|probe| governor::cost(probe.sources)), lanes::MOST_COST));
        rest = later;
        let mut part = part.to_vec();
        let mut rounds = 1;
        // A host that allows one shell at a time may not get through what is meant for several: it is asked again.
        let end = loop {
            let end = rounds::round(link, target, sequence, part.clone(), reports).await;
            let slow = matches!(end.result, Err(BatchError::TimedOut { begun: true, .. })) && !end.read.is_empty();
            whole.read.extend(&end.read);
            if !slow || end.unread.is_empty() || rounds == MOST_ROUNDS {
                break end;
            }
            rounds += 1;
            part.retain(|probe| end.unread.contains(&probe.name));
        };
        whole.unread.extend(end.unread);
        let goes_on = matches!(end.result, Ok(()) | Err(BatchError::TimedOut { begun: true, .. }));
        if whole.result.is_ok() {
            whole.result = end.result;
        }
        if !goes_on {
            whole.unread.extend(rest.iter().map(|probe| probe.name));
            break;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::collect::change::Given;
    use crate::collect::privilege::Privilege;
    use crate::collect::testing::{Act, Behaviour, Fake, FakeConnector};
    use crate::collect::transport::{Exec, TransportError};
    use crate::collect::work::Work;
    use crate::probe::dialect::sections::Section;
    use crate::probe::privilege::Become;
    use crate::probe::{Pace, Read, Rhythm, Source, Word};

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
        let collected = over(TargetId::new("t"), false, &connector, &options()).await;
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
        let options = Options { within: Some(Duration::from_secs(7)), ..options() };
        let began = Instant::now();
        let collected = over(TargetId::new("t"), false, &connector, &options).await;
        assert_eq!(began.elapsed(), Duration::from_secs(7));
        let problem = collected.incomplete.expect("a reason");
        assert_eq!(problem.what.as_str(), "was not read to its end within 7 s");
        assert_eq!(problem.cause.as_str(), "not read: test.slow, test.uptime");
        assert_eq!(collected.reports.len(), 2, "and each of them says so");
    }

    /// A host that gets through one source in the time that a batch has.
    #[derive(Default)]
    struct Slow(Privilege);

    impl Link for Slow {
        fn described(&self) -> Text {
            Text::new("slow")
        }

        async fn batch(
            &self,
            sources: &[Source],
            sections: &mpsc::Sender<Section>,
            _work: &Work,
        ) -> Result<(), BatchError> {
            let (outcome, stdout, stderr) = (Outcome::Exit(0), Vec::new(), Vec::new());
            let section = Section { index: 0, outcome, duration: None, stdout, stderr, cut: 0, command: None };
            let _ = sections.send(section).await;
            let after = Duration::from_secs(90);
            let late = BatchError::TimedOut { begun: true, after, said: Text::new("") };
            if sources.len() > 1 { Err(late) } else { Ok(()) }
        }

        async fn stream(&self, _: &str) -> Result<Exec, TransportError> {
            Err(TransportError::ExecRefused)
        }

        async fn run(&self, _: &[String]) -> Result<Given, BatchError> {
            Err(BatchError::ExecRefused)
        }

        fn privilege(&self) -> &Privilege {
            &self.0
        }

        async fn closed(&self) -> Text {
            std::future::pending().await
        }

        async fn close(self) {}
    }

    #[tokio::test]
    async fn what_a_host_does_not_get_through_is_asked_for_again() {
        let (target, sequence) = (TargetId::new("esx"), Sequence::default());
        let due: Vec<&Probe> = PROBES.iter().collect();
        let (sender, mut reports) = mpsc::channel(16);
        let end = by_parts(&Slow::default(), &target, &sequence, &due, &sender).await;
        assert_eq!((end.result, end.read.len()), (Ok(()), 2));
        assert!(end.unread.is_empty());
        for probe in PROBES {
            assert_eq!(reports.try_recv().expect("a report").probe.as_str(), probe.name);
        }
    }

    #[tokio::test]
    async fn a_target_without_a_shell_counts_as_not_reached() {
        let connector = FakeConnector::new(&Behaviour::of([])).first(Ok(Fake::new(&Behaviour::of([Act::Say(
            "",
            "sh: not found\n",
            127,
        )]))));
        let collected = over(TargetId::new("t"), false, &connector, &options()).await;
        assert!(collected.reached.expect_err("no shell").what.contains("sh: not found"));
    }
}
