//! `check`: everything is read once, counters twice, and all checks of the catalogue look at it. What is found becomes
//! ranked causes; what a site has accepted is set apart, with its reason.

mod junit;
mod qualification;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::args::{CheckArguments, Format, Global, Grave};
use super::lab::Subject;
use super::{Exit, Failure, output};
use crate::config::{Rules, Suppression};
use crate::diagnose::cause::{Diagnosis, Found, diagnose};
use crate::diagnose::check::{Lack, SiteSays};
use crate::diagnose::correlate::weigh;
use crate::diagnose::finding::Status;
use crate::diagnose::qualify::Qualification;
use crate::engine::examined::Examined;
use crate::engine::once::Collected;
use crate::engine::plan::Options;
use crate::fabric::{Entity, Text, Timestamp};

/// So long after the first read counters are read once more.
const AGAIN: Duration = Duration::from_secs(3);
/// The lab counts as fast as it is asked to, and nobody works there meanwhile.
const AGAIN_IN_LAB: Duration = Duration::from_secs(1);

/// A finding that the site accepts, and where it says so.
#[derive(Clone, Debug)]
struct Accepted {
    found: Found,
    by: Suppression,
}

/// All that there is to say.
struct Outcome {
    at: Timestamp,
    examined: Examined,
    diagnosis: Diagnosis,
    /// Which hosts qualify for PVRDMA; `None` where no host with VMs was looked at.
    qualification: Option<Qualification>,
    accepted: Vec<Accepted>,
    /// Suppressions that are over.
    expired: Vec<Suppression>,
}

/// Looks at the targets and says what is wrong.
pub fn run(global: &Global, arguments: &CheckArguments) -> Result<Exit, Failure> {
    let subject = Subject::open(global, arguments.scenario.as_deref(), &arguments.targets)?;
    let at = Timestamp::now();
    let results = match collect(&subject, arguments.within.map(Duration::from_secs))? {
        Ok(results) => results,
        Err(signal) => return Ok(Exit::Signal(128u8.saturating_add(u8::try_from(signal).unwrap_or_default()))),
    };
    let session = &subject.session;
    let kinds: Vec<_> = session.targets.iter().map(|target| target.kind).collect();
    let outcome = Outcome::of(&kinds, &results, session.site(), &session.rules, at);
    let text = match global.format {
        Format::Json => output::json(&report::document(&outcome))?,
        Format::Junit => junit::document(&outcome, arguments.fail_on),
        Format::Text | Format::Sarif => report::text(&outcome),
    };
    output::print(&text)?;
    Ok(outcome.exit(arguments.fail_on))
}

/// Reads all targets, side by side; the number of the signal that ended it before it was done.
fn collect(subject: &Subject, within: Option<Duration>) -> Result<Result<Vec<Collected>, i32>, Failure> {
    let again = if subject.is_lab() { AGAIN_IN_LAB } else { AGAIN };
    let options = Options { period: subject.session.period(), within, ..Options::of_check(again) };
    subject.collect(&options)
}

impl Outcome {
    fn of(
        kinds: &[Option<crate::config::Kind>],
        results: &[Collected],
        says: SiteSays,
        rules: &Rules,
        at: Timestamp,
    ) -> Self {
        let examined = Examined::of(kinds, results, says, at);
        let today = at.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
        let (in_force, expired): (Vec<_>, Vec<_>) =
            rules.suppressions.iter().cloned().partition(|suppression| suppression.holds(today));
        let found = examined.examination.examine();
        let qualification = qualification(&examined, &found);
        let mut diagnosis = diagnose(found, &examined.examination.fabric);
        weigh(&examined.examination.scene(), &mut diagnosis);
        let accepted = accept(&mut diagnosis, &in_force);
        Self { at, examined, diagnosis, qualification, accepted, expired }
    }

    /// True if a target could not be read, or something that could not be told would be known if its target had been
    /// reached and its probe had not failed.
    fn is_incomplete(&self) -> bool {
        let lacking = |found: &Found| {
            found.judged.status == Status::Unknown
                && matches!(found.judged.lack, Some(Lack::Unreached | Lack::ProbeFailed))
        };
        self.examined.targets.iter().any(|target| target.problem.is_some()) || self.diagnosis.findings().any(lacking)
    }

    fn exit(&self, fail_on: Grave) -> Exit {
        let is_grave = |found: &Found| is_grave(found.judged.status, fail_on);
        if self.diagnosis.findings().any(is_grave) {
            Exit::Findings
        } else if self.is_incomplete() {
            Exit::Incomplete
        } else {
            Exit::Done
        }
    }
}

/// Which hosts qualify, where there is one with a VM.
fn qualification(examined: &Examined, found: &[Found]) -> Option<Qualification> {
    let scene = examined.examination.scene();
    let has_vm = scene.hosts().any(|host| scene.fabric.of_kind(host, Entity::Vm(Text::new(""))).next().is_some());
    has_vm.then(|| Qualification::of(&scene, found))
}

/// Takes out what the site accepts: causes with all that they explain, and other findings by themselves.
fn accept(diagnosis: &mut Diagnosis, in_force: &[Suppression]) -> Vec<Accepted> {
    let mut accepted = Vec::new();
    let by = |found: &Found| {
        let target = found.judged.subject.target.as_str();
        let of = |suppression: &&Suppression| suppression.is_for(found.check.id, target);
        in_force.iter().find(of).filter(|_| found.judged.status != Status::Pass).cloned()
    };
    let mut take = |found: &Found| match by(found) {
        Some(by) => {
            accepted.push(Accepted { found: found.clone(), by });
            true
        }
        None => false,
    };
    diagnosis.rest.retain(|found| !take(found));
    for cause in &mut diagnosis.causes {
        cause.symptoms.retain(|found| !take(found));
    }
    diagnosis.causes.retain(|cause| {
        let Some(by) = by(&cause.found) else { return true };
        let all = std::iter::once(&cause.found).chain(&cause.symptoms);
        accepted.extend(all.map(|found| Accepted { found: found.clone(), by: by.clone() }));
        false
    });
    accepted
}

fn is_grave(status: Status, fail_on: Grave) -> bool {
    status == Status::Fail || (status == Status::Warn && fail_on == Grave::Warn)
}
