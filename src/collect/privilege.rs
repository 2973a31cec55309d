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
use crate::probe::privilege::{
    Become, ByRoot, LOGIN_SHOWN, Login, PROBE, login_said, refusal, sudoers, sudoers_default, without_warnings,
};
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

/// What came of asking who the login is.
#[derive(Debug)]
struct Asked {
    at: Timestamp,
    answer: String,
    /// `None` if that was no answer.
    login: Option<Login>,
}

/// How one command stands, with the first attempt that ended so.
#[derive(Clone, Debug)]
enum Standing {
    Allowed(Attempt),
    Refused(Text, Attempt),
    /// There is no `sudo` to ask.
    NoSudo,
}

impl Standing {
    fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }
}

/// What came of running a command by `sudo`.
#[derive(Clone, Debug)]
struct Attempt {
    at: Timestamp,
    duration: Option<Duration>,
    status: i32,
    stdout: String,
    stderr: String,
    /// Bytes of the output that are not kept here.
    cut: u64,
}

/// How much of an output is kept as evidence that a command ran.
const KEPT: usize = 2048;

/// The most characters of what `sudo` said that are repeated: the line to add has to be whole.
const LONGEST_REASON: usize = 120;

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
        let Some(asked) = &known.login else { return Way::AskFirst };
        let Some(login) = asked.login.as_ref().filter(|login| login.lacks(needs)) else { return Way::Plain };
        // A program that is not there is told as such by the plain way.
        let Some(command) = by_root(login, argv) else { return Way::Plain };
        if login.path("sudo").is_none() {
            known.news |= known.commands.insert(command, Standing::NoSudo).is_none();
            return Way::Plain;
        }
        match known.commands.get(&command) {
            Some(Standing::Refused(..)) => Way::Plain,
            Some(Standing::Allowed(_) | Standing::NoSudo) | None => Way::ByRoot(command),
        }
    }

    /// The login answered who it is; an answer that is none counts, too.
    pub fn learned(&self, answer: &str) {
        let mut known = self.known();
        let login = Login::parse(answer);
        known.news |= login.is_none();
        known.login = Some(Asked { at: Timestamp::now(), answer: answer.to_owned(), login });
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
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&section.stdout), text(&section.stderr));
        section.stderr = without_warnings(&stderr).into_bytes();
        let refused = refusal(status, &stdout, &stderr);
        self.came(command, refused, attempt(status, section.duration, &stdout, stderr))
    }

    /// The same for the report of a stream, where both outputs come over one way.
    pub fn answered_stream(&self, source: &Source, report: &Report) -> bool {
        let (Way::ByRoot(command), Some(observation)) = (self.way(source), report.observations.first()) else {
            return false;
        };
        let Outcome::Exit(status) = observation.outcome else { return false };
        let said = format!("{}{}", observation.stdout, observation.stderr);
        let refused = refusal(status, "", &said);
        let stdout = if refused.is_some() { "" } else { &*observation.stdout };
        let stderr = if refused.is_some() { said } else { observation.stderr.to_string() };
        self.came(&command, refused, attempt(status, observation.duration, stdout, stderr))
    }

    fn came(&self, command: &ByRoot, refused: Option<Text>, attempt: Attempt) -> bool {
        let mut known = self.known();
        let is_refused = refused.is_some();
        if known.commands.get(command).is_none_or(|standing| standing.is_allowed() == is_refused) {
            known.news = true;
            let standing = match refused {
                Some(why) => Standing::Refused(why, attempt),
                None => Standing::Allowed(attempt),
            };
            known.commands.insert(command.clone(), standing);
        }
        is_refused
    }

    /// Somebody asked for a read: who the login is and what is refused may have changed.
    pub fn try_again(&self) {
        let mut known = self.known();
        known.login = None;
        known.commands.retain(|_, standing| standing.is_allowed());
        known.news |= self.by != Become::None;
    }

    /// What is to be told now, if anything is new.
    pub fn news(&self, target: &TargetId, sequence: &Sequence) -> Option<News> {
        let mut known = self.known();
        let asked = known.login.as_ref().filter(|_| known.news)?;
        let state = match &asked.login {
            None => {
                let why = "sudo is not used: the shell there does not say who the login is (is `id` missing?)";
                State::Failed(Text::new(why))
            }
            Some(login) => state(login, &known.commands)?,
        };
        let mut attempts: Vec<Arc<Observation>> = Vec::new();
        // What was refused comes first: the fact cites it.
        for refused in [true, false] {
            attempts.extend(known.commands.iter().filter_map(|(command, standing)| match standing {
                Standing::Refused(_, attempt) if refused => Some(observation(target, sequence, command, attempt)),
                Standing::Allowed(attempt) if !refused => Some(observation(target, sequence, command, attempt)),
                _ => None,
            }));
        }
        if attempts.is_empty() {
            attempts.push(asked_observation(target, sequence, asked));
        }
        known.news = false;
        drop(known);
        let facts = vec![attempts[0].fact(Entity::Guest, Attribute::ReadByRoot, state.clone(), 0)];
        let refusal = match &state {
            State::NeedsPrivilege(text) | State::Failed(text) => Some(text.to_string()),
            _ => None,
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let refusal = refusal.filter(|text| *text != *told);
        if let Some(text) = &refusal {
            told.clone_from(text);
        }
        let report = Report { target: target.clone(), probe: SourceId::new(PROBE), observations: attempts, facts };
        Some(News { report, refusal })
    }
}

fn by_root(login: &Login, argv: &[Word]) -> Option<ByRoot> {
    let Some(Word::Plain(program)) = argv.first() else { return None };
    ByRoot::new(login.path(program)?, argv)
}

fn attempt(status: i32, duration: Option<Duration>, stdout: &str, stderr: String) -> Attempt {
    let kept = stdout.floor_char_boundary(KEPT);
    let cut = u64::try_from(stdout.len() - kept).unwrap_or(u64::MAX);
    Attempt { at: Timestamp::now(), duration, status, stdout: stdout[..kept].to_owned(), stderr, cut }
}

/// What is read by `sudo`, or what was refused and what would allow it; `None` while nothing was tried.
fn state(login: &Login, commands: &BTreeMap<ByRoot, Standing>) -> Option<State<Value>> {
    let names = |commands: &[&ByRoot]| commands.iter().map(|command| command.plain()).collect::<Vec<_>>().join(" and ");
    let of = |wanted: fn(&Standing) -> bool| -> Vec<&ByRoot> {
        commands.iter().filter(|(_, standing)| wanted(standing)).map(|(command, _)| command).collect()
    };
    let without = of(|standing| matches!(standing, Standing::NoSudo));
    if !without.is_empty() {
        return Some(State::NeedsPrivilege(Text::new(&format!(
            "sudo is not installed there, so {} is read without privilege; install it, or log in as root",
            names(&without)
        ))));
    }
    let why = commands.values().find_map(|standing| match standing {
        Standing::Refused(why, _) => Some(why.as_str().chars().take(LONGEST_REASON).collect::<String>()),
        Standing::Allowed(_) | Standing::NoSudo => None,
    });
    let Some(why) = why else {
        let allowed: Vec<Text> = commands.keys().map(|command| Text::new(&command.shown())).collect();
        return (!allowed.is_empty()).then(|| State::Known(Value::from(allowed)));
    };
    let refused = names(&of(|standing| matches!(standing, Standing::Refused(..))));
    // One line for all of them, also for those that are allowed: it may replace an earlier one.
    let mut lines: Vec<String> = sudoers_default(&login.user, &why).into_iter().collect();
    lines.push(sudoers(&login.user, commands.keys()));
    Some(State::NeedsPrivilege(Text::new(&format!(
        "sudo refused {refused} ({why}), so this is read without privilege; to allow it, put into a file by `{PLACE}`: {}",
        lines.join(" and the line ")
    ))))
}

fn observation(target: &TargetId, sequence: &Sequence, command: &ByRoot, attempt: &Attempt) -> Arc<Observation> {
    let program = command.path.rsplit('/').next().unwrap_or_default();
    Arc::new(Observation {
        target: target.clone(),
        source: SourceId::new(&format!("{PROBE}-{program}")),
        sequence: sequence.next(),
        command: Arc::from(command.shown()),
        at: attempt.at,
        duration: attempt.duration,
        outcome: Outcome::Exit(attempt.status),
        stdout: Arc::from(attempt.stdout.as_str()),
        stderr: Arc::from(attempt.stderr.as_str()),
        cut: attempt.cut,
    })
}

/// What the login said of itself, where nothing was run by `sudo` at all.
fn asked_observation(target: &TargetId, sequence: &Sequence, asked: &Asked) -> Arc<Observation> {
    Arc::new(Observation {
        target: target.clone(),
        source: SourceId::new(PROBE),
        sequence: sequence.next(),
        command: Arc::from(LOGIN_SHOWN),
        at: asked.at,
        duration: None,
        outcome: Outcome::Exit(0),
        stdout: Arc::from(login_said(&asked.answer)),
        stderr: Arc::from(""),
        cut: 0,
    })
}
