//! What `sudo` allows on one target, as far as it is known: which command is run by it now, which one was refused, and
//! what is told of that. A refused command is run as the login is from then on, so that its own answer is still there;
//! `sudo` is asked again only over a new connection or when the user asks for a read. Each refusal is a line in the
//! target's log of logins, and must not become one every five seconds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::rounds::Sequence;
use crate::fabric::{
    Attribute, Entity, Observation, Outcome, Report, SourceId, State, TargetId, Text, Timestamp, Value,
};
use crate::probe::dialect::sections::Section;
use crate::probe::privilege::{Become, ByRoot, Login, PROBE, refusal, sudoers, sudoers_default, without_warnings};
use crate::probe::{Read, Source, Word};

/// Where the lines for sudoers go.
const PLACE: &str = "visudo -f /etc/sudoers.d/rdmascope";

/// What `sudo` allows over one connection.
#[derive(Debug, Default)]
pub struct Privilege {
    by: Become,
    known: Mutex<Known>,
    /// What was told of the target, also over earlier connections: the same is not told twice.
    told: Arc<Mutex<String>>,
}

#[derive(Debug, Default)]
struct Known {
    /// `None` before it was asked for.
    login: Option<Asked>,
    commands: BTreeMap<ByRoot, Standing>,
    /// Whether something is new that was not told.
    news: bool,
}

#[derive(Debug)]
enum Asked {
    Login(Login),
    /// It could not be found out who the login is.
    Nothing,
}

/// How one command stands.
#[derive(Clone, Debug)]
enum Standing {
    Allowed,
    Refused(Refused),
}

/// What came of the attempt.
#[derive(Clone, Debug)]
struct Refused {
    why: Text,
    at: Timestamp,
    duration: Duration,
    status: i32,
    stderr: String,
}

/// How a privileged command is to be run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// As the login is.
    Plain,
    /// By `sudo`.
    ByRoot(ByRoot),
    /// The login is not known yet: it has to be asked first.
    AskFirst,
}

/// Something to tell.
#[derive(Debug)]
pub struct News {
    /// What is known now, for the model.
    pub report: Report,
    /// A sentence for the events, if there is a refusal that was not told yet.
    pub refusal: Option<String>,
}

impl Privilege {
    /// Nothing is known yet; privileged commands are to be run in this way.
    pub fn new(by: Become) -> Self {
        Self { by, ..Self::default() }
    }

    /// For a new connection to the same target.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { by: self.by, known: Mutex::default(), told: Arc::clone(&self.told) }
    }

    /// How privileged commands are to be run.
    pub fn by(&self) -> Become {
        self.by
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a source is to be read now.
    pub fn way(&self, source: &Source) -> Way {
        let Read::Privileged { argv, needs, .. } = source.read else { return Way::Plain };
        if self.by == Become::None {
            return Way::Plain;
        }
        let mut known = self.known();
        let login = match &known.login {
            None => return Way::AskFirst,
            Some(Asked::Login(login)) if login.lacks(needs) => login,
            Some(_) => return Way::Plain,
        };
        // A program that is not there is told as such by the plain way.
        let Some(command) = by_root(login, argv) else { return Way::Plain };
        if login.path("sudo").is_none() {
            let why = Text::new("sudo is not installed there");
            let refused =
                Refused { why, at: Timestamp::now(), duration: Duration::ZERO, status: 127, stderr: String::new() };
            known.news |= known.commands.insert(command, Standing::Refused(refused)).is_none();
            return Way::Plain;
        }
        match known.commands.get(&command) {
            Some(Standing::Refused(_)) => Way::Plain,
            Some(Standing::Allowed) | None => Way::ByRoot(command),
        }
    }

    /// The login answered who it is; an answer that is none counts, too.
    pub fn learned(&self, answer: &str) {
        let mut known = self.known();
        known.login = Some(Login::parse(answer).map_or(Asked::Nothing, Asked::Login));
        known.news |= matches!(known.login, Some(Asked::Nothing));
    }

    /// How the stream is to read queue pairs: with `true` by `sudo`; `None` as long as no batch has shown whether that
    /// is allowed (the batch reads them itself then).
    pub fn of_stream(&self, source: &Source) -> Option<bool> {
        match self.way(source) {
            Way::Plain => Some(false),
            Way::AskFirst => None,
            Way::ByRoot(command) => self.known().commands.contains_key(&command).then_some(true),
        }
    }

    /// Takes in what came of a command that was run by `sudo`; true if that refused it: it has to be run plainly. What
    /// `sudo` itself said beside an answer is taken out of it.
    pub fn answered(&self, command: &ByRoot, section: &mut Section) -> bool {
        let status = match section.outcome {
            Outcome::Exit(status) => status,
            // Nothing is known of what did not end.
            Outcome::TimedOut | Outcome::Cut => return false,
        };
        let stderr = String::from_utf8_lossy(&section.stderr).into_owned();
        let why = refusal(status, &String::from_utf8_lossy(&section.stdout), &stderr);
        section.stderr = without_warnings(&stderr).into_bytes();
        self.came(command, why, status, &stderr, section.duration.unwrap_or_default())
    }

    /// The same for the report of a stream, where both outputs come over one way.
    pub fn answered_stream(&self, source: &Source, report: &Report) -> bool {
        let (Way::ByRoot(command), Some(observation)) = (self.way(source), report.observations.first()) else {
            return false;
        };
        let Outcome::Exit(status) = observation.outcome else { return false };
        let said = format!("{}{}", observation.stdout, observation.stderr);
        self.came(&command, refusal(status, "", &said), status, &said, observation.duration)
    }

    fn came(&self, command: &ByRoot, why: Option<Text>, status: i32, stderr: &str, duration: Duration) -> bool {
        let mut known = self.known();
        let before = known.commands.get(command).map(|standing| matches!(standing, Standing::Allowed));
        let is_refused = why.is_some();
        if before != Some(!is_refused) {
            known.news = true;
            let at = Timestamp::now();
            let standing = why.map_or(Standing::Allowed, |why| {
                Standing::Refused(Refused { why, at, duration, status, stderr: stderr.to_owned() })
            });
            known.commands.insert(command.clone(), standing);
        }
        is_refused
    }

    /// Somebody asked for a read: who the login is and what is refused may have changed.
    pub fn try_again(&self) {
        let mut known = self.known();
        known.login = None;
        known.commands.retain(|_, standing| matches!(standing, Standing::Allowed));
        known.news |= self.by != Become::None;
    }

    /// What is to be told now, if anything is new.
    pub fn news(&self, target: &TargetId, sequence: &Sequence) -> Option<News> {
        let mut known = self.known();
        let Some(login) = known.login.as_ref().filter(|_| known.news) else { return None };
        let (state, observations) = match login {
            Asked::Nothing => {
                let why = "sudo is not used: the shell there does not say who the login is (is `id` missing?)";
                (State::Failed(Text::new(why)), Vec::new())
            }
            Asked::Login(login) => {
                let observations = known
                    .commands
                    .iter()
                    .map(|(command, standing)| Arc::new(observation(target, sequence, command, standing)));
                (state(login, &known.commands)?, observations.collect())
            }
        };
        known.news = false;
        let refusal = match &state {
            State::NeedsPrivilege(text) | State::Failed(text) => Some(text.to_string()),
            _ => None,
        };
        drop(known);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let refusal = refusal.filter(|text| *text != *told);
        if let Some(text) = &refusal {
            told.clone_from(text);
        }
        let report = report(target, sequence, state, observations);
        Some(News { report, refusal })
    }
}

fn by_root(login: &Login, argv: &[Word]) -> Option<ByRoot> {
    let Some(Word::Plain(program)) = argv.first() else { return None };
    ByRoot::new(login.path(program)?, argv)
}

/// What is read by `sudo`, or what was refused and what would allow it; `None` while nothing was tried.
fn state(login: &Login, commands: &BTreeMap<ByRoot, Standing>) -> Option<State<Value>> {
    let refused: Vec<(&ByRoot, &Refused)> = commands
        .iter()
        .filter_map(|(command, standing)| match standing {
            Standing::Refused(refused) => Some((command, refused)),
            Standing::Allowed => None,
        })
        .collect();
    let Some((_, first)) = refused.first() else {
        let allowed: Vec<Text> = commands.keys().map(|command| Text::new(&command.shown())).collect();
        return (!allowed.is_empty()).then(|| State::Known(Value::from(allowed)));
    };
    let names: Vec<String> = refused.iter().map(|(command, _)| command.plain()).collect();
    let why = &first.why;
    if first.status == 127 {
        return Some(State::NeedsPrivilege(Text::new(&format!(
            "{}: {why}, so this is read without privilege; install sudo, or log in as root",
            names.join(", ")
        ))));
    }
    // One line for all of them, also for those that are allowed: it may replace an earlier one.
    let mut lines: Vec<String> = sudoers_default(&login.user, why).into_iter().collect();
    lines.push(sudoers(&login.user, commands.keys()));
    Some(State::NeedsPrivilege(Text::new(&format!(
        "sudo refused {} ({why}), so this is read without privilege; to allow it, put into a file by `{PLACE}`: {}",
        names.join(" and "),
        lines.join(" and the line ")
    ))))
}

fn observation(target: &TargetId, sequence: &Sequence, command: &ByRoot, standing: &Standing) -> Observation {
    let (at, duration, status, stderr) = match standing {
        Standing::Allowed => (Timestamp::now(), Duration::ZERO, 0, ""),
        Standing::Refused(refused) => (refused.at, refused.duration, refused.status, refused.stderr.as_str()),
    };
    let program = command.path.rsplit('/').next().unwrap_or_default();
    Observation {
        target: target.clone(),
        source: SourceId::new(&format!("{PROBE}-{program}")),
        sequence: sequence.next(),
        command: Arc::from(command.shown()),
        at,
        duration,
        outcome: Outcome::Exit(status),
        stdout: Arc::from(""),
        stderr: Arc::from(stderr),
        cut: 0,
    }
}

fn report(
    target: &TargetId,
    sequence: &Sequence,
    state: State<Value>,
    mut observations: Vec<Arc<Observation>>,
) -> Report {
    // The fact cites what says it: the first command that was refused.
    observations.sort_by_key(|observation| observation.outcome == Outcome::Exit(0));
    if observations.is_empty() {
        observations.push(Arc::new(Observation {
            target: target.clone(),
            source: SourceId::new(PROBE),
            sequence: sequence.next(),
            at: Timestamp::now(),
            command: Arc::from("id"),
            outcome: Outcome::Cut,
            ..Observation::of_text(PROBE, "")
        }));
    }
    let facts = vec![observations[0].fact(Entity::Guest, Attribute::ReadByRoot, state, 0)];
    Report { target: target.clone(), probe: SourceId::new(PROBE), observations, facts }
}
