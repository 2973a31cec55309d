//! Which of `esxcli` and `localcli` reads an ESXi host. Both take the same words; `esxcli` asks the host's management
//! agent (hostd), which may be dead, hang or be slow, and `localcli` does without it. Both are timed once for each
//! connection, and again when reads begin to fail, when the user asks for a read, and from time to time while `localcli`
//! stands in. `vim-cmd` has no stand-in: without hostd it fails, in hostd's own words.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::privilege::News;
use super::rounds::Sequence;
use crate::fabric::{
    Attribute, Entity, Observation, Outcome, Report, SourceId, State, TargetId, Text, Timestamp, Value,
};
use crate::probe::dialect::posix::{ESXCLI, needs_esxcli};
use crate::probe::dialect::sections::Section;
use crate::probe::{Read, Source, Word};

/// The stand-in.
pub const LOCALCLI: &str = "localcli";

/// What is run to time them: it reads little.
pub const QUESTION: Source = Source {
    name: PROBE,
    read: Read::Command {
        argv: &[Word::Plain(ESXCLI), Word::Plain("system"), Word::Plain("version"), Word::Plain("get")],
        keep: None,
    },
};

/// How long one of them may take to answer that.
pub const DEADLINE: Duration = Duration::from_secs(12);

/// The probe and source of the choice.
pub(super) const PROBE: &str = "esxi.command-line-tool";

/// `esxcli` is markedly slower if it takes this long, and so many times as long as `localcli`.
const SLOW: Duration = Duration::from_secs(3);
const TIMES: u32 = 3;

/// How long `localcli` stands in before `esxcli` is tried again.
const STAND_IN: Duration = Duration::from_mins(10);

/// What hostd's absence looks like on standard error or standard output of `esxcli`, in lower case.
const NO_HOSTD: &[&str] =
    &["connect to localhost failed", "connection failure", "connection refused", "hostd", "failed to login"];

/// What came of timing one of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When it began.
    pub at: Timestamp,
    /// How long it took, with the way there and back.
    pub took: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// What it printed.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
}

impl Attempt {
    fn answered(&self) -> bool {
        self.outcome == Outcome::Exit(0) && !self.stdout.trim().is_empty()
    }

    /// How it failed, in words.
    fn failure(&self) -> String {
        let said = self.stderr.lines().chain(self.stdout.lines()).map(Text::new).find(|line| !line.is_empty());
        match (&self.outcome, said) {
            (Outcome::TimedOut, _) => format!("did not answer within {} s", DEADLINE.as_secs()),
            (Outcome::Cut, _) => "did not answer".to_owned(),
            (Outcome::Exit(127), _) => "is not there".to_owned(),
            (Outcome::Exit(_), Some(said)) => format!("failed ({said})"),
            (Outcome::Exit(status), None) => format!("failed with status {status}"),
        }
    }
}

/// The choice and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    tool: &'static str,
    why: String,
    /// Of `esxcli`, of `localcli`.
    attempts: [Attempt; 2],
}

impl Choice {
    fn of(esxcli: Attempt, localcli: Attempt) -> Self {
        let seconds = |attempt: &Attempt| format!("{:.1} s", attempt.took.as_secs_f64());
        let (tool, why) = match (esxcli.answered(), localcli.answered()) {
            (true, true) if esxcli.took >= SLOW && esxcli.took >= localcli.took * TIMES => {
                (LOCALCLI, format!("esxcli took {}, localcli {} for the same", seconds(&esxcli), seconds(&localcli)))
            }
            (true, _) => (ESXCLI, format!("it answers in {}", seconds(&esxcli))),
            (false, true) => (LOCALCLI, format!("esxcli {}: hostd may be dead or hang", esxcli.failure())),
            (false, false) => (ESXCLI, format!("it {}, and localcli {}", esxcli.failure(), localcli.failure())),
        };
        Self { tool, why, attempts: [esxcli, localcli] }
    }

    fn in_words(&self) -> String {
        format!("{}: {}", self.tool, self.why)
    }
}

/// The tool of one connection.
#[derive(Debug, Default)]
pub struct Tool {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    choice: Option<(Instant, Choice)>,
    /// The tool that was told last.
    told: Option<&'static str>,
    news: bool,
}

impl Tool {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is used now; `None` if that is to be found out first.
    pub fn in_force(&self) -> Option<&'static str> {
        let known = self.known();
        let (since, choice) = known.choice.as_ref()?;
        (choice.tool == ESXCLI || since.elapsed() < STAND_IN).then_some(choice.tool)
    }

    /// Both were timed; what is used from now on.
    pub fn timed(&self, esxcli: Attempt, localcli: Attempt) -> &'static str {
        let choice = Choice::of(esxcli, localcli);
        let tool = choice.tool;
        let mut known = self.known();
        known.news = true;
        known.choice = Some((Instant::now(), choice));
        tool
    }

    /// Somebody asked for a read: both are timed again before it.
    pub fn try_again(&self) {
        self.known().choice = None;
    }

    /// Takes in what came of a source that was read with `tool`: where hostd is gone both are timed again before the next
    /// batch. Says which command was run, if that was another than the source's own.
    pub fn answered(&self, tool: &str, source: &Source, section: &mut Section) {
        if !needs_esxcli(&source.read) {
            return;
        }
        if tool == ESXCLI {
            let is_without_hostd = || {
                let said = [&section.stdout[..section.stdout.len().min(4096)], &section.stderr].concat();
                let said = String::from_utf8_lossy(&said).to_lowercase();
                NO_HOSTD.iter().any(|words| said.contains(words))
            };
            let lost = match section.outcome {
                Outcome::TimedOut => true,
                Outcome::Exit(0) | Outcome::Cut => false,
                Outcome::Exit(_) => is_without_hostd(),
            };
            if lost {
                self.known().choice = None;
            }
        } else {
            let shown = section.command.take().unwrap_or_else(|| source.read.shown());
            section.command = Some(match shown.strip_prefix(ESXCLI) {
                Some(rest) => format!("{tool}{rest}"),
                None => shown,
            });
        }
    }

    /// What is to be told now, if both were timed since it was told.
    pub fn news(&self, target: &TargetId, sequence: &Sequence) -> Option<News> {
        let mut known = self.known();
        if !std::mem::take(&mut known.news) {
            return None;
        }
        let choice = known.choice.as_ref().map(|(_, choice)| choice.clone())?;
        // That all is as it should be is no event.
        let is_new = match known.told {
            None => choice.tool == LOCALCLI,
            Some(told) => told != choice.tool,
        };
        known.told = Some(choice.tool);
        drop(known);
        let observations: Vec<Arc<Observation>> = [ESXCLI, LOCALCLI]
            .into_iter()
            .zip(&choice.attempts)
            .map(|(tool, attempt)| {
                Arc::new(Observation {
                    target: target.clone(),
                    source: SourceId::new(PROBE),
                    sequence: sequence.next(),
                    command: Arc::from(format!("{tool} system version get")),
                    at: attempt.at,
                    duration: Some(attempt.took),
                    outcome: attempt.outcome.clone(),
                    stdout: Arc::from(attempt.stdout.as_str()),
                    stderr: Arc::from(attempt.stderr.as_str()),
                    cut: 0,
                })
            })
            .collect();
        let state = State::Known(Value::from(Text::new(&choice.in_words())));
        let facts = vec![observations[0].fact(Entity::Host, Attribute::CommandLineTool, state, 0)];
        let report = Report { target: target.clone(), probe: SourceId::new(PROBE), observations, facts };
        Some(News { report, refusal: is_new.then(|| format!("is read with {}", choice.in_words())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(took: u64, outcome: Outcome, stderr: &str) -> Attempt {
        let stdout = if outcome == Outcome::Exit(0) { "   Product: VMware ESXi\n" } else { "" };
        Attempt {
            at: Timestamp::UNIX_EPOCH,
            took: Duration::from_millis(took),
            outcome,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }

    fn good(took: u64) -> Attempt {
        attempt(took, Outcome::Exit(0), "")
    }

    #[test]
    fn esxcli_is_used_unless_it_fails_hangs_or_is_markedly_slower() {
        let dead = || attempt(30, Outcome::Exit(1), "Connect to localhost failed: Connection failure\n");
        for (esxcli, localcli, tool, why) in [
            (good(700), good(200), ESXCLI, "it answers in 0.7 s"),
            (good(2900), good(200), ESXCLI, "it answers in 2.9 s"),
            (good(6000), good(4000), ESXCLI, "it answers in 6.0 s"),
            (good(6000), good(400), LOCALCLI, "esxcli took 6.0 s, localcli 0.4 s for the same"),
            (dead(), good(400), LOCALCLI, "esxcli failed (Connect to localhost failed: Connection failure): hostd"),
            (attempt(12_000, Outcome::TimedOut, ""), good(400), LOCALCLI, "esxcli did not answer within 12 s"),
            (good(700), attempt(3, Outcome::Exit(127), "not found"), ESXCLI, "it answers"),
            (dead(), attempt(3, Outcome::Exit(127), "x"), ESXCLI, "and localcli is not there"),
        ] {
            let choice = Choice::of(esxcli, localcli);
            assert_eq!(choice.tool, tool, "{choice:?}");
            assert!(choice.why.contains(why), "{choice:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_choice_is_a_fact_and_a_change_is_an_event() {
        let (tool, target, sequence) = (Tool::default(), TargetId::new("esx"), Sequence::default());
        assert_eq!(tool.in_force(), None);
        assert!(tool.news(&target, &sequence).is_none());
        tool.timed(good(700), good(200));
        let news = tool.news(&target, &sequence).expect("a fact");
        assert_eq!(news.refusal, None, "what is usual is no event");
        assert_eq!(
            news.report.facts[0].reading.state,
            State::Known(Value::from(Text::new("esxcli: it answers in 0.7 s")))
        );
        assert!(tool.news(&target, &sequence).is_none(), "told once");
        let mut section = Section {
            index: 0,
            outcome: Outcome::Exit(1),
            duration: None,
            stdout: vec![],
            stderr: b"Connect to localhost failed: Connection failure\n".to_vec(),
            cut: 0,
            command: None,
        };
        tool.answered(ESXCLI, &QUESTION, &mut section);
        assert_eq!(tool.in_force(), None, "hostd is gone: both are timed again");
        tool.timed(attempt(30, Outcome::Exit(1), "no hostd"), good(200));
        assert_eq!(tool.in_force(), Some(LOCALCLI));
        let event = tool.news(&target, &sequence).expect("a fact").refusal.expect("an event");
        assert!(event.starts_with("is read with localcli: esxcli failed (no hostd)"), "{event}");
        tool.answered(LOCALCLI, &QUESTION, &mut section);
        assert_eq!(section.command.as_deref(), Some("localcli system version get"));
        tokio::time::advance(Duration::from_secs(601)).await;
        assert_eq!(tool.in_force(), None, "esxcli is tried again");
    }
}
