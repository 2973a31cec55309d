//! `tune`: the command line and environment for a job between given guests, with reason and source for each item; what an
//! existing one does there; and, where it is wanted, a trial that shows which line really runs and what carried its
//! messages.

mod document;
#[cfg(test)]
mod tests;
mod text;
mod trial;

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use super::args::{Format, Global, TuneArguments};
use super::consent::Consent;
use super::lab::Subject;
use super::{Exit, Failure, output};
use crate::app::Problem;
use crate::collect::reason::reason;
use crate::config::{Defect, Kind, Target};
use crate::diagnose::sides::side;
use crate::engine::examined::Examined;
use crate::engine::plan::Options;
use crate::fabric::text::clean_line;
use crate::fabric::{TargetId, Timestamp};
use crate::tune::advice::{Advice, Job, Side, advise};
use crate::tune::line::{self, Comment, hostfile};

use trial::Trial;

/// No more of a file is read.
const LONGEST: u64 = 1024 * 1024;

/// One guest, and how it fared.
struct Guest {
    target: TargetId,
    reachable: bool,
    problem: Option<Problem>,
}

/// All that there is to say.
struct Outcome {
    at: Timestamp,
    guests: Vec<Guest>,
    /// Hosts that were read beside the guests, for where the adapters are.
    hosts: Vec<Guest>,
    sides: Vec<Side>,
    advice: Advice,
    comments: Option<Vec<Comment>>,
    trials: Vec<Trial>,
    /// Lines of the file of hosts that are of no form that is known.
    strange: Vec<(u32, String)>,
}

impl Outcome {
    /// The candidate to put first: the one that a trial ran, else the first.
    fn chosen(&self) -> Option<usize> {
        let ran = self.trials.iter().find(|trial| trial.has_run()).map(|trial| trial.candidate);
        ran.or_else(|| (!self.advice.candidates.is_empty()).then_some(0))
    }
}

/// Advises.
pub fn run(global: &Global, arguments: &TuneArguments) -> Result<Exit, Failure> {
    let (words, job, strange) = guests(arguments)?;
    let line = arguments.line.as_deref().map(|path| contents(path, "--line")).transpose()?;
    let consent = Consent::of(arguments.yes);
    if arguments.trial && consent == Consent::Nobody {
        let what = "needs --yes where there is no terminal to ask at; nothing was started";
        return Err(Defect::somewhere("--trial", what).into());
    }
    let mut subject = Subject::open(global, arguments.scenario.as_deref(), &words)?;
    let count = subject.session.targets.len();
    if count < 2 {
        return Err(Defect::somewhere("tune", "a job needs two guests or more, each named once").into());
    }
    hosts(&mut subject, count)?;
    let at = Timestamp::now();
    let examined = match collect(&subject, at)? {
        Ok(examined) => examined,
        Err(signal) => return Ok(ended_by(signal)),
    };
    let (guests, beside) = fared(&examined, count);
    let examination = &examined.examination;
    let sides: Vec<Side> =
        guests.iter().map(|guest| side(&examination.fabric, &examination.joined, &guest.target)).collect();
    let advice = advise(&sides, &job);
    let comments = line.as_deref().map(|text| line::judge(text, &sides));
    let mut outcome = Outcome { at, guests, hosts: beside, sides, advice, comments, trials: Vec::new(), strange };
    if arguments.trial {
        match trial::run(&subject, &outcome, consent)? {
            Ok(trials) => outcome.trials = trials,
            Err(signal) => return Ok(ended_by(signal)),
        }
    }
    match global.format {
        Format::Json => output::print(&output::json(&document::document(&outcome))?)?,
        Format::Text | Format::Sarif | Format::Junit => output::print(&text::text(&outcome))?,
    }
    Ok(if outcome.guests.iter().all(|guest| guest.reachable) { Exit::Done } else { Exit::Incomplete })
}

fn ended_by(signal: i32) -> Exit {
    Exit::Signal(128_u8.saturating_add(u8::try_from(signal).unwrap_or_default()))
}

/// The guests that are named, by words or by a file of hosts.
#[allow(clippy::type_complexity, reason = "three things of one file")]
fn guests(arguments: &TuneArguments) -> Result<(Vec<String>, Job, Vec<(u32, String)>), Failure> {
    let Some(path) = &arguments.hostfile else { return Ok((arguments.guests.clone(), Job::default(), Vec::new())) };
    if arguments.line.as_deref() == Some(Path::new("-")) && path.as_os_str() == "-" {
        return Err(
            Defect::somewhere("--hostfile", "standard input can be the file of hosts or the line, not both").into()
        );
    }
    let hosts = hostfile::read(&contents(path, "--hostfile")?);
    if hosts.hosts.is_empty() {
        let what = format!("{} names no host", clean_line(&path.display().to_string()));
        return Err(Defect::somewhere("--hostfile", what).into());
    }
    let words = hosts.hosts.iter().map(|host| host.name.clone()).collect();
    let name = if path.as_os_str() == "-" { "HOSTFILE".to_owned() } else { path.display().to_string() };
    let job = Job { hostfile: Some((clean_line(&name), hosts.slots())) };
    Ok((words, job, hosts.strange))
}

/// A file of text; `-` is standard input.
fn contents(path: &Path, option: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes).map(|_| ()))
    };
    match read {
        Ok(()) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => {
            let what = format!("{} cannot be read: {}", clean_line(&path.display().to_string()), reason(&error));
            Err(Defect::somewhere(option, what).into())
        }
    }
}

/// Adds the hosts that may say where the adapters are: those that the inventory ties to the guests; where it ties none, all
/// hosts that it has. In the lab: all of its hosts.
fn hosts(subject: &mut Subject, count: usize) -> Result<(), Failure> {
    let own: Vec<Target> = subject.session.targets[..count].to_vec();
    let is_host = |target: &&Target| target.kind == Some(Kind::Esxi) && !own.contains(target);
    if let Some(all) = subject.machines()? {
        subject.session.targets.extend(all.into_iter().filter(|target| is_host(&target)));
        return Ok(());
    }
    let inventory = &subject.session.inventory;
    let tied: Vec<&str> = own.iter().filter_map(|target| target.links.host.as_deref()).collect();
    let wanted = |target: &&Target| is_host(target) && (tied.is_empty() || tied.contains(&target.name.as_str()));
    let more: Vec<Target> = inventory.targets.iter().filter(wanted).cloned().collect();
    subject.session.targets.extend(more);
    Ok(())
}

/// Reads all targets once; the number of the signal that ended it before it was done.
fn collect(subject: &Subject, at: Timestamp) -> Result<Result<Examined, i32>, Failure> {
    let session = &subject.session;
    let options = Options { period: Duration::from_secs(1).max(session.period()), ..Options::default() };
    let results = match subject.collect(&options)? {
        Ok(results) => results,
        Err(signal) => return Ok(Err(signal)),
    };
    let kinds: Vec<_> = session.targets.iter().map(|target| target.kind).collect();
    Ok(Ok(Examined::of(&kinds, &results, session.site(), at)))
}

/// The guests, and the hosts that were read beside them.
fn fared(examined: &Examined, count: usize) -> (Vec<Guest>, Vec<Guest>) {
    let mut all: Vec<Guest> = examined
        .targets
        .iter()
        .map(|fared| Guest { target: fared.name.clone(), reachable: fared.reachable, problem: fared.problem.clone() })
        .collect();
    let beside = all.split_off(count.min(all.len()));
    (all, beside)
}
