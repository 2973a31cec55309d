//! `tune --trial`: runs two ranks of a tiny program with each line until one runs, explains why the others did not, and
//! says what carried the messages of the one that did.

use std::io::IsTerminal as _;

use super::super::consent::{Consent, ask};
use super::super::lab::Subject;
use super::super::{Failure, output};
use super::Outcome;
use crate::app::Problem;
use crate::config::Defect;
use crate::diagnose::explain::explain;
use crate::diagnose::finding::{Finding, Status};
use crate::engine::trial::{self, Ran, Tried, WITHIN};
use crate::tune::advice::{Candidate, Way};
use crate::tune::mpi::used::Used;

/// How many ranks a trial has.
const RANKS: &str = "2";
/// So many lines of what it printed are shown at most.
const SHOWN: usize = 400;

/// One trial.
pub(super) struct Trial {
    /// The place of its candidate.
    pub candidate: usize,
    /// Which way it was meant to go.
    pub way: Way,
    /// What came of it.
    pub result: Result<Ran, Problem>,
    /// Why it failed, as far as its output tells.
    pub findings: Vec<Finding>,
    /// What carried the messages.
    pub used: Used,
}

impl Trial {
    /// True if the program ran to its end.
    pub(super) fn has_run(&self) -> bool {
        self.result.as_ref().is_ok_and(|ran| ran.program.is_some() && ran.status == Some(0))
    }

    /// How it ended, in words.
    pub(super) fn words(&self) -> String {
        match &self.result {
            Err(problem) => format!("was not made: {problem}"),
            Ok(Ran { program: None, status: None, .. }) => "the connection ended before it did".to_owned(),
            Ok(Ran { program: None, .. }) => {
                "was not made: none of osu_latency, NPopenmpi, NPmpi and IMB-MPI1 is installed on the first guest"
                    .to_owned()
            }
            Ok(ran) => {
                let program = ran.program.as_deref().unwrap_or_default();
                let seconds = ran.took.as_secs_f64();
                match ran.status {
                    Some(0) => format!("{program} ran to its end in {seconds:.0} s"),
                    _ if ran.timed_out => {
                        format!("{program} was not done after {} s and was ended", WITHIN.as_secs())
                    }
                    Some(status) => format!("{program} failed with status {status} after {seconds:.0} s"),
                    None => format!("{program}: the connection ended after {seconds:.0} s"),
                }
            }
        }
    }
}

/// The words of a candidate for a trial: two ranks on the first two guests, and what makes them say what they use.
fn words(candidate: &Candidate, names: &[&str]) -> Vec<String> {
    let mut words = vec!["mpirun".to_owned()];
    for item in &candidate.items {
        match item.name.as_str() {
            "-np" => words.extend(["-np".to_owned(), RANKS.to_owned()]),
            "--hostfile" | "--host" => {
                let hosts: Vec<String> = names.iter().take(2).map(|name| format!("{name}:1")).collect();
                words.extend(["--host".to_owned(), hosts.join(",")]);
            }
            _ => words.extend(item.words()),
        }
    }
    let says = ["--mca", "pml_base_verbose", "10", "-x", "UCX_LOG_LEVEL=info", "-x", "UCX_PROTO_INFO=y"];
    words.extend(says.map(str::to_owned));
    words
}

/// Makes the trials, in the order of the candidates, until one runs; the number of the signal that ended them.
pub(super) fn run(subject: &Subject, outcome: &Outcome, consent: Consent) -> Result<Result<Vec<Trial>, i32>, Failure> {
    let unreached: Vec<&str> =
        outcome.guests.iter().take(2).filter(|guest| !guest.reachable).map(|guest| guest.target.as_str()).collect();
    if !unreached.is_empty() {
        output::complain(&format!("rdmascope: no trial is made: {} was not reached", unreached.join(", ")));
        return Ok(Ok(Vec::new()));
    }
    let names: Vec<&str> = outcome.sides.iter().map(crate::tune::advice::Side::name).collect();
    let (first, second) = (names.first().copied().unwrap_or_default(), names.get(1).copied().unwrap_or_default());
    if consent == Consent::Ask {
        let question = format!(
            "Start two ranks of a tiny MPI program on {first} and {second}, up to {} times for at most {} s each?",
            outcome.advice.candidates.len(),
            WITHIN.as_secs()
        );
        if !ask(&question) {
            return Ok(Ok(Vec::new()));
        }
    }
    let Some(plan) = subject.plans().into_iter().next() else {
        return Err(Defect::somewhere("--trial", "the first guest has no way to it").into());
    };
    let mut trials = Vec::new();
    for (place, candidate) in outcome.advice.candidates.iter().enumerate() {
        if std::io::stderr().is_terminal() {
            output::complain(&format!("rdmascope: trying {} ...", candidate.way.words()));
        }
        let tried = trial::run(plan.clone(), &words(candidate, &names), WITHIN)
            .map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
        let result = match tried {
            Tried::Ran(ran) => Ok(ran),
            Tried::Refused(problem) => Err(problem),
            Tried::Interrupted(signal) => return Ok(Err(signal)),
        };
        let trial = judged(place, candidate.way, result, first);
        let is_over = trial.has_run() || !matches!(&trial.result, Ok(ran) if ran.program.is_some());
        trials.push(trial);
        if is_over {
            break;
        }
    }
    Ok(Ok(trials))
}

/// What a trial's output says.
fn judged(candidate: usize, way: Way, result: Result<Ran, Problem>, node: &str) -> Trial {
    let mut trial = Trial { candidate, way, result, findings: Vec::new(), used: Used::default() };
    let Ok(ran) = &trial.result else { return trial };
    let program = ran.program.clone().unwrap_or_default();
    // The kernel keeps fifteen letters of a name.
    let short: String = program.chars().take(15).collect();
    if trial.has_run() {
        trial.used = Used::of_text(&ran.printed).with_listed(node, &ran.queue_pairs, |command| command == short);
    } else {
        let lines: Vec<&str> = ran.printed.lines().filter(|line| !line.contains("components_")).take(SHOWN).collect();
        let findings = explain("-", lines.join("\n").as_bytes()).findings;
        trial.findings =
            findings.into_iter().filter(|finding| matches!(finding.status, Status::Fail | Status::Warn)).collect();
    }
    trial
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tune::mpi::used::Carrier;

    fn of(printed: &str, status: u32) -> Trial {
        let ran = Ran {
            program: Some("NPopenmpi".to_owned()),
            status: Some(status),
            timed_out: status == 124,
            took: Duration::from_secs(46),
            printed: printed.to_owned(),
            queue_pairs: String::new(),
        };
        judged(0, Way::Rdma, Ok(ran), "softroce1")
    }

    #[test]
    fn a_real_failure_is_explained() {
        let trial = of(include_str!("../../../tests/fixtures/soft-roce/mpi/trial-ucx-rdma.txt"), 134);
        assert!(!trial.has_run());
        assert!(trial.findings.iter().any(|finding| finding.title.contains("over UD")), "{:?}", trial.findings);
        assert_eq!(trial.used.carrier(), None, "what did not run used nothing");
        assert!(trial.words().contains("failed with status 134"));
    }

    #[test]
    fn a_real_run_says_tcp() {
        let trial = of(include_str!("../../../tests/fixtures/soft-roce/mpi/trial-ucx-tcp.txt"), 0);
        assert!(trial.has_run() && trial.findings.is_empty());
        assert_eq!(trial.used.carrier(), Some(Carrier::Tcp));
    }

    #[test]
    fn what_hung_is_no_run() {
        let trial = of("", 124);
        assert!(!trial.has_run() && trial.words().contains("was ended"), "{}", trial.words());
    }
}
