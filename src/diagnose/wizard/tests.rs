//! The wizard over whole sites.

use std::collections::BTreeSet;

use super::prepare::REQUIREMENTS;
use super::{SYMPTOMS, Standing, by_name, prepare, questions, walk};
use crate::diagnose::cause::diagnose;
use crate::diagnose::check::by_id;
use crate::diagnose::check::testing::{Site, fails, says};
use crate::diagnose::finding::Status;
use crate::fabric::TargetId;

const CLOSED: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma       false\n";

fn all(names: &[&str]) -> BTreeSet<TargetId> {
    names.iter().map(|name| TargetId::new(name)).collect()
}

#[test]
fn symptoms_have_names_of_their_own_and_lead_over_checks_that_exist() {
    let names: BTreeSet<&str> = SYMPTOMS.iter().map(|symptom| symptom.name).collect();
    assert_eq!(names.len(), SYMPTOMS.len());
    let steps = SYMPTOMS.iter().flat_map(|symptom| symptom.steps);
    let ids = steps.flat_map(|step| step.checks).chain(REQUIREMENTS.iter().flat_map(|one| one.checks));
    let missing: BTreeSet<&&str> = ids.filter(|id| by_id(id).is_none()).collect();
    assert!(missing.is_empty(), "no such checks: {missing:?}");
}

#[test]
fn a_closed_ruleset_is_found_from_the_symptom_that_it_makes() {
    let site = Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED));
    let diagnosis = diagnose(site.examine(), site.fabric());
    let symptom = by_name("slow").expect("a symptom");
    let walked = walk(symptom, &diagnosis, &all(&["pv-a", "pv-b", "esx01", "esx02"]), &|_| false);
    let place = walked.steps.iter().position(|step| step.standing == Standing::Found).expect("a step finds it");
    assert!(walked.steps[place].step.checks.contains(&"host.pvrdma-ruleset"));
    assert_eq!(walked.causes[0].found.check.id, "host.pvrdma-ruleset");
    // Seen from another pair it is not the cause.
    let other = walk(symptom, &diagnosis, &all(&["hca-a", "hca-b"]), &|_| false);
    assert!(other.causes.is_empty());
}

#[test]
fn what_is_still_read_runs_and_what_cannot_be_seen_is_asked() {
    let about = all(&["esx02"]);
    let silent = Site::sound().silent("esx02", "no route to host");
    let diagnosis = diagnose(silent.examine(), silent.fabric());
    let symptom = by_name("moved").expect("a symptom");
    for step in walk(symptom, &diagnosis, &about, &|_| true).steps {
        assert!(matches!(step.standing, Standing::Running | Standing::Skipped), "{step:?}");
    }
    let failed = Site::sound().with("esx02", fails("esxi.firewall-rulesets", 1, "Connect to localhost failed"));
    let found = failed.examine();
    assert!(
        questions(&found).iter().all(|question| question.check != "host.pvrdma-ruleset"),
        "it failed, nobody knows"
    );
}

#[test]
fn a_pair_is_prepared_step_by_step() {
    let about = all(&["pv-a", "pv-b", "esx01", "esx02"]);
    let site = Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED));
    let found = site.examine();
    let steps = prepare(&found, &about);
    assert_eq!(steps.len(), REQUIREMENTS.len());
    let ruleset = steps.iter().find(|step| step.requirement.checks == ["host.pvrdma-ruleset"]).expect("a step");
    assert_eq!(ruleset.status, Some(Status::Fail));
    assert_eq!(ruleset.found.len(), 2, "one for each host");
    assert!(ruleset.found[0].judged.cures[0].title.contains("ruleset"));
    assert_eq!(steps.last().map(|step| step.requirement.checks), Some(&["guest.transport"][..]));
}
