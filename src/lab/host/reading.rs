//! The hosts of the lab read as targets are: over SSH, by the program's own probes.

use std::time::Duration;

use crate::engine::once::{Collected, Once, collect_once};
use crate::engine::plan;
use crate::fabric::Outcome;
use crate::lab::{Delays, Lab, Options, Timing, scenario};

fn lab(delays: Delays, name: &str) -> Lab {
    let scenario = Some(scenario::by_name(name).expect("it is there"));
    Lab::start(&Options { seed: 7, delays, scenario, timing: Timing::AtOnce }).expect("a lab")
}

fn read(lab: &Lab, names: &[&str]) -> Vec<Collected> {
    let plans = names.iter().map(|name| lab.plan(name).expect("a host")).collect();
    let Once::Collected(collected) = collect_once(plans, &plan::Options::default()).expect("threads") else {
        panic!("nobody interrupts it");
    };
    collected
}

/// Commands that gave no answer, with what they said.
fn unanswered(collected: &Collected) -> Vec<String> {
    let observations = collected.reports.iter().flat_map(|report| &report.observations);
    observations
        .filter(|observation| observation.outcome != Outcome::Exit(0))
        .map(|observation| {
            format!("{}: {:?} {}{}", observation.command, observation.outcome, observation.stdout, observation.stderr)
        })
        // A file that a host need not have.
        .filter(|said| !said.contains("passthru.map"))
        .collect()
}

#[test]
fn both_hosts_answer_everything_that_is_asked() {
    let lab = lab(Delays::none(), "with-hosts");
    let names: Vec<&str> = lab.targets().iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a"]);
    for collected in read(&lab, &["esx01", "esx02"]) {
        let name = collected.target.to_string();
        assert!(collected.reached.is_ok() && collected.incomplete.is_none(), "{collected:?}");
        assert_eq!(unanswered(&collected), Vec::<String>::new());
        let facts: usize = collected.reports.iter().map(|report| report.facts.len()).sum();
        assert!(facts > 200, "{facts}");
        let served = lab.served(&name).expect("a host");
        assert_eq!((served.failures, served.refused_locked), (0, 0));
        assert!(served.logins > 0 && served.by_agent > 20, "{served:?}");
    }
}

#[test]
fn what_the_agent_costs_is_counted() {
    let lab = lab(Delays::none().with_agent(Duration::from_millis(2)), "with-hosts");
    read(&lab, &["esx01"]);
    let served = lab.served("esx01").expect("a host");
    assert!(served.busy >= Duration::from_millis(2) * u32::try_from(served.by_agent).expect("few"), "{served:?}");
}

#[test]
fn a_locked_account_and_a_stopped_service_admit_nobody() {
    let lab = lab(Delays::none(), "with-hosts");
    assert!(!lab.suffer("account-locked", "pv-a", true), "a guest locks nobody");
    assert!(lab.suffer("account-locked", "esx01", true) && lab.suffer("ssh-stopped", "esx02", true));
    let collected = read(&lab, &["esx01", "esx02"]);
    assert!(collected.iter().all(|one| one.reached.is_err()), "{collected:?}");
    let served = lab.served("esx01").expect("a host");
    assert_eq!((served.logins, served.refused_locked), (0, 1));
    assert!(lab.suffer("account-locked", "esx01", false) && lab.suffer("ssh-stopped", "esx02", false));
    assert!(read(&lab, &["esx01", "esx02"]).iter().all(|one| one.reached.is_ok()));
}

#[test]
fn a_dead_agent_is_read_around() {
    let lab = lab(Delays::none(), "with-hosts");
    assert!(lab.suffer("hostd-dead", "esx01", true));
    let collected = read(&lab, &["esx01"]).remove(0);
    assert!(collected.reached.is_ok(), "{collected:?}");
    let said = unanswered(&collected);
    // The collector's own first try of `esxcli` is told too.
    let expected = ["vim-cmd", "NAME", "esxcli system version get"];
    assert!(said.iter().all(|said| expected.iter().any(|text| said.contains(text))), "{said:?}");
}
