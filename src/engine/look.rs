//! How a target is looked at once: everything is read, and what counts a second time. On a host whose commands take long the
//! second look goes on beside the rest of the first one.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::again;
use crate::collect::link::{BatchError, Link};
use crate::collect::rounds::{self, Sequence};
use crate::fabric::{Report, TargetId};
use crate::probe::{Probe, Turn};

/// A slow target gets so many batches to answer everything, as long as each of them brings something.
pub const MOST_ROUNDS: usize = 4;

/// One look at one target.
#[derive(Debug)]
pub struct Look<'a, L> {
    link: &'a L,
    target: &'a TargetId,
    sequence: &'a Sequence,
    probes: &'a [Probe],
}

/// What it gave.
#[derive(Debug)]
pub struct Looked {
    /// How the first look ended; `None` if there was no more time.
    pub result: Option<Result<(), BatchError>>,
    /// One report for each probe that was read.
    pub reports: Vec<Report>,
    /// The same of those that count, read later.
    pub again: Vec<Report>,
    /// Names of those that count and were not read again, with why.
    pub not_again: Vec<(&'static str, String)>,
}

/// How far the first look is.
#[derive(Clone, Copy, Debug, Default)]
struct Far {
    /// How many of the probes that count have told.
    counted: usize,
    /// All has been told that will be.
    is_over: bool,
    /// The connection is gone.
    is_gone: bool,
}

impl<'a, L: Link> Look<'a, L> {
    /// A look at all that these probes tell.
    pub fn of(link: &'a L, target: &'a TargetId, sequence: &'a Sequence, probes: &'a [Probe]) -> Self {
        Self { link, target, sequence, probes }
    }

    /// Reads everything once, and what counts once more `after` that, if at all; `meanwhile` beside the rest. Ends when
    /// `late` does: what was read by then stands.
    pub async fn at_all(&self, after: Option<Duration>, meanwhile: bool, late: impl Future<Output = ()>) -> Looked {
        let counting = self.probes.iter().filter(|probe| probe.counts()).count();
        let (far, mut seen) = watch::channel(Far::default());
        let reports: Mutex<Vec<Report>> = Mutex::default();
        let all = || reports.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, mut received) = mpsc::channel(self.probes.len().max(1));
        let again: Mutex<Vec<Report>> = Mutex::default();
        let (mut result, mut not_again) = (None, Vec::new());
        let first = async {
            let end = self.first(&sender).await;
            far.send_modify(|far| far.is_gone = end.as_ref().is_err_and(again::is_gone));
            result = Some(end);
            drop(sender);
        };
        let gathering = async {
            while let Some(report) = received.recv().await {
                let counts = self.probes.iter().any(|probe| probe.name == report.probe.as_str() && probe.counts());
                all().push(report);
                far.send_modify(|far| far.counted += usize::from(counts));
            }
            far.send_modify(|far| far.is_over = true);
        };
        let later = async {
            let Some(after) = after else { return };
            let is_time = |far: &Far| {
                let is_read = counting > 0 && far.counted >= counting;
                far.is_over || (meanwhile && is_read && self.link.has_room())
            };
            let is_gone = seen.wait_for(is_time).await.map_or(true, |far| far.is_gone);
            if !is_gone {
                let first = all().clone();
                let of = |probe: &&Probe| probe.counts() || again::counts_on_a_switch(probe, &first);
                let due: Vec<&Probe> = self.probes.iter().filter(of).collect();
                let place = (self.link, self.target, self.sequence);
                not_again = again::counters(place, &due, &first, after, &again).await;
            }
        };
        let is_late = tokio::select! {
            _ = async { tokio::join!(first, gathering, later) } => false,
            () = late => true,
        };
        let reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        let again = again.into_inner().unwrap_or_else(PoisonError::into_inner);
        if is_late && after.is_some() {
            let is_in = |reports: &[Report], probe: &Probe| reports.iter().any(|one| one.probe.as_str() == probe.name);
            let once =
                self.probes.iter().filter(|probe| probe.counts() && is_in(&reports, probe) && !is_in(&again, probe));
            not_again = once.map(|probe| (probe.name, "there was no more time".to_owned())).collect();
        }
        Looked { result, reports, again, not_again }
    }

    /// Reads everything once.
    async fn first(&self, reports: &mpsc::Sender<Report>) -> Result<(), BatchError> {
        let mut due: Vec<&Probe> = self.probes.iter().collect();
        // What counts comes early, so that there is time until it is read again.
        due.sort_by_key(|probe| (probe.rhythm.turn != Turn::Deciding, !probe.counts(), probe.rhythm.turn, probe.pace));
        let mut rounds = 1;
        loop {
            let end = rounds::round(self.link, self.target, self.sequence, due.clone(), reports).await;
            let slow = matches!(end.result, Err(BatchError::TimedOut { begun: true, .. })) && !end.read.is_empty();
            if !slow || end.unread.is_empty() || rounds == MOST_ROUNDS {
                return end.result;
            }
            rounds += 1;
            due.retain(|probe| end.unread.contains(&probe.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::collect::change::Given;
    use crate::collect::privilege::Privilege;
    use crate::collect::transport::{Exec, TransportError};
    use crate::collect::work::Work;
    use crate::fabric::{Outcome, Text};
    use crate::probe::dialect::sections::Section;
    use crate::probe::{Pace, Read, Rhythm, Source};

    const fn probe(name: &'static str, sources: &'static [Source]) -> Probe {
        Probe {
            name,
            title: "",
            privilege_adds: "",
            pace: Pace::Fast,
            rhythm: Rhythm::PACE,
            sources,
            parse: |_| vec![],
        }
    }

    const fn source(name: &'static str) -> Source {
        Source { name, read: Read::Files(&["/proc/uptime"]) }
    }

    const PROBES: &[Probe] = &[
        probe("test.all", &[source("all")]),
        probe("test.one-statistics", &[source("one")]),
        probe("test.other-statistics", &[source("other")]),
    ];

    /// A target whose sources take so long each, side by side with other batches; in a second look the one of this name hangs
    /// with all behind it until the batch is broken off.
    struct Plays {
        takes: Duration,
        hangs: Option<&'static str>,
        seen: Mutex<Vec<&'static str>>,
        privilege: Privilege,
    }

    impl Link for Plays {
        fn described(&self) -> Text {
            Text::new("played")
        }

        async fn batch(
            &self,
            sources: &[Source],
            sections: &mpsc::Sender<Section>,
            _work: &Work,
        ) -> Result<(), BatchError> {
            for (index, source) in sources.iter().enumerate() {
                sleep(self.takes).await;
                let is_again = self.seen.lock().expect("not poisoned").contains(&source.name);
                if is_again && self.hangs == Some(source.name) {
                    let after = Duration::from_secs(90);
                    sleep(after).await;
                    return Err(BatchError::TimedOut { begun: true, after, said: Text::new("") });
                }
                self.seen.lock().expect("not poisoned").push(source.name);
                let (outcome, stdout, stderr) = (Outcome::Exit(0), Vec::new(), Vec::new());
                let section = Section { index, outcome, duration: None, stdout, stderr, cut: 0, command: None };
                let _ = sections.send(section).await;
            }
            Ok(())
        }

        async fn stream(&self, _: &str) -> Result<Exec, TransportError> {
            Err(TransportError::ExecRefused)
        }

        async fn run(&self, _: &[String]) -> Result<Given, BatchError> {
            Err(BatchError::ExecRefused)
        }

        fn privilege(&self) -> &Privilege {
            &self.privilege
        }

        async fn closed(&self) -> Text {
            std::future::pending().await
        }

        async fn close(self) {}
    }

    async fn looked(hangs: Option<&'static str>, meanwhile: bool, late: Duration) -> (Looked, Duration) {
        let takes = Duration::from_secs(2);
        let link = Plays { takes, hangs, seen: Mutex::default(), privilege: Privilege::default() };
        let (target, sequence) = (TargetId::new("t"), Sequence::default());
        let began = Instant::now();
        let look = Look::of(&link, &target, &sequence, PROBES);
        // The wall clock does not stand still with the other one, so nothing is waited for by it.
        let looked = look.at_all(Some(Duration::ZERO), meanwhile, sleep(late)).await;
        (looked, began.elapsed())
    }

    fn names(reports: &[Report]) -> Vec<&str> {
        reports.iter().map(|report| report.probe.as_str()).collect()
    }

    const HOUR: Duration = Duration::from_hours(1);

    #[tokio::test(start_paused = true)]
    async fn the_second_look_goes_on_beside_the_rest_of_the_first() {
        let (after, took) = looked(None, false, HOUR).await;
        assert_eq!(took, Duration::from_secs(10));
        let (beside, took) = looked(None, true, HOUR).await;
        assert_eq!(took, Duration::from_secs(8));
        for looked in [after, beside] {
            assert_eq!(looked.result, Some(Ok(())));
            assert_eq!(names(&looked.reports), ["test.one-statistics", "test.other-statistics", "test.all"]);
            assert_eq!(names(&looked.again), ["test.one-statistics", "test.other-statistics"]);
            assert!(looked.not_again.is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_counter_that_hangs_hides_no_other_and_is_told() {
        let (looked, _) = looked(Some("one"), false, HOUR).await;
        assert_eq!(looked.result, Some(Ok(())));
        assert_eq!(names(&looked.again), ["test.other-statistics"]);
        assert_eq!(looked.not_again, [("test.one-statistics", "not done in time".to_owned())]);
        let problem = again::read_once(None, &looked.not_again, false);
        assert_eq!(problem.what.as_str(), "whether its counters rise is not known for all of them");
        assert!(problem.cause.contains("test.one-statistics (not done in time)"), "{problem}");
        let late = crate::app::Problem::new("was late", "not read: x", "wait");
        let problem = again::read_once(Some(late), &looked.not_again, false);
        assert_eq!(problem.what.as_str(), "was late");
        assert!(problem.cause.contains("not read: x; not read a second time: test.one-statistics"), "{problem}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_there_was_no_time_for_is_told() {
        // The first of two was read again, the other one not.
        let (looked, _) = looked(None, false, Duration::from_secs(9)).await;
        assert_eq!(looked.result, Some(Ok(())));
        assert_eq!(names(&looked.again), ["test.one-statistics"]);
        assert_eq!(looked.not_again, [("test.other-statistics", "there was no more time".to_owned())]);
        let (looked, took) = self::looked(None, false, Duration::from_secs(5)).await;
        assert_eq!((looked.result, took), (None, Duration::from_secs(5)));
        assert_eq!(names(&looked.reports), ["test.one-statistics", "test.other-statistics"]);
        assert_eq!(looked.again.len(), 0);
        let not_again: Vec<&str> = looked.not_again.iter().map(|(name, _)| *name).collect();
        assert_eq!(not_again, ["test.one-statistics", "test.other-statistics"]);
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
        let (target, sequence, link) = (TargetId::new("esx"), Sequence::default(), Slow::default());
        let look = Look::of(&link, &target, &sequence, PROBES);
        let looked = look.at_all(None, true, std::future::pending()).await;
        assert_eq!(looked.result, Some(Ok(())));
        assert_eq!(looked.reports.len(), PROBES.len());
    }
}
