//! What a target did not answer, so that nobody trusts a picture with holes.

use crate::diagnose::check::{Answer, Check, Judged, MachineKind, Reached, Scene, Source};
use crate::fabric::{Entity, EntityId, TargetId};

/// Every target answered what it was asked.
pub const CHECK: Check = Check {
    id: "tool.completeness",
    title: "Every target answered everything that it was asked",
    gate: "all targets",
    rule: "is unclear for a target that was not reached, or not read to its end; informs about sources that failed",
    source: Source { text: "what was asked and what came back", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Most sources that are named.
const NAMED: usize = 6;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.machines.keys().filter_map(|target| of_target(scene, target)).collect()
}

fn of_target(scene: &Scene<'_>, target: &TargetId) -> Option<Judged> {
    let machine = scene.machines.get(target)?;
    let id = EntityId::new(
        target,
        match machine.kind {
            MachineKind::Guest => Entity::Guest,
            MachineKind::Host => Entity::Host,
            MachineKind::Switch => Entity::Switch,
        },
    );
    if machine.reached != Reached::Yes {
        let (lack, why) = scene.silence(target);
        let decide = match target.as_str().strip_prefix("offline:") {
            Some(file) => format!("a new file in the place of {file}: of rdmascope snapshot, or of the collector"),
            None => format!("ssh {target} true, with the login of the inventory"),
        };
        return Some(Judged::unknown(&id, lack, why, decide));
    }
    let failed: Vec<(&str, &str)> = machine
        .answers
        .0
        .iter()
        .filter_map(|(source, answer)| match answer {
            // A file that is not there is an answer.
            Answer::Failed(why) if why.as_str().contains("No such file or directory") => None,
            Answer::Failed(why) => Some((source.as_str(), why.as_str())),
            // What the login may not see is no failure; another check tells it.
            Answer::Read | Answer::NotInstalled | Answer::NotPermitted(_) => None,
        })
        .collect();
    if failed.is_empty() {
        return Some(Judged::pass(&id, format!("{target} answered everything that it was asked")));
    }
    let named: Vec<String> = failed.iter().take(NAMED).map(|(source, why)| format!("{source} ({why})")).collect();
    let more = failed.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut judged = Judged::info(
        &id,
        format!("{target}: {} of {} sources failed", failed.len(), machine.answers.0.len()),
        format!(
            "{}{more}. Checks that need them say that they do not know; nothing is taken for well because of it",
            named.join(", ")
        ),
    )
    .decided_by(format!("on {target}: the command of the source, as its raw output shows it"));
    judged.evidence.push(crate::diagnose::check::Exhibit::thing(&id, "all else was read"));
    Some(judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || Site::sound().with("pv-a", fails("linux.ip-addresses", 1, "sh: 1: Cannot fork")),
        healthy: Site::sound,
        unclear: || Site::sound().silent("esx02", "connection refused"),
    };

    #[test]
    fn a_program_that_is_not_installed_is_no_failure() {
        let site = Site::sound().with("pv-a", fails("linux.ucx-version", 127, "ucx_info: not found"));
        assert!(site.statuses(&CHECK).iter().all(|status| *status == Status::Pass));
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let told = judged.iter().find(|judged| judged.status == Status::Info).expect("told");
        assert!(told.cause.contains("linux.ip-addresses (sh: 1: Cannot fork)"), "{}", told.cause);
    }
}
