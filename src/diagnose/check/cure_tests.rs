//! What every remedy of the catalogue owes: what it can break, the way back or why there is none, the state it was made for,
//! and which check shows that it helped.

use std::collections::BTreeSet;

use super::testing::Site;
use super::{Judged, all, by_id};
use crate::diagnose::cause::Found;
use crate::diagnose::remedy::{Cure, Risk, Step};

/// What a command can break at least, by how it begins.
const LEAST: &[(&[&str], Risk)] = &[
    (&["ip", "link", "set"], Risk::DisruptsRdma),
    (&["modprobe", "-r"], Risk::DisruptsRdma),
    (&["esxcli", "network", "nic", "down"], Risk::DisruptsRdma),
    (&["esxcli", "network", "nic", "pauseParams"], Risk::DisruptsRdma),
    (&["systemctl", "restart"], Risk::RestartsService),
    (&["/etc/init.d/hostd", "restart"], Risk::RestartsService),
    (&["reboot"], Risk::RebootsGuest),
    (&["esxcli", "system", "module", "set"], Risk::RebootsHost),
    (&["esxcli", "system", "module", "parameters"], Risk::RebootsHost),
    (&["esxcli", "graphics", "host", "set"], Risk::RebootsHost),
];

/// An interface that is switched on disturbs nobody.
fn is_harmless(words: &[String]) -> bool {
    words.starts_with(&["ip".to_owned(), "link".to_owned()]) && words.last().is_some_and(|word| word == "up")
}

/// Everything that any check says helps, on the sites in which some check finds its trouble.
fn each(mut look: impl FnMut(&Site, &str, &Judged, &Cure)) {
    for check in all() {
        let site = (check.samples.trouble)();
        for Found { check, judged } in site.examine() {
            for cure in &judged.cures {
                look(&site, check.id, &judged, cure);
            }
        }
    }
}

fn is_automatic(cure: &Cure) -> bool {
    cure.steps.iter().any(|step| !matches!(step, Step::ByHand(_)))
}

#[test]
fn every_remedy_says_what_it_breaks_how_it_is_taken_back_and_what_shows_that_it_helped() {
    let (mut wrong, mut seen) = (BTreeSet::new(), BTreeSet::new());
    each(|site, id, judged, cure| {
        let mut lacks = |what: &str| {
            wrong.insert(format!("{id}: \"{}\": {what}", cure.title));
        };
        seen.insert(id.to_owned());
        if cure.title.is_empty() || cure.title.ends_with('.') || cure.steps.is_empty() {
            lacks("does not say what is done");
        }
        for verify in &cure.verify {
            if by_id(verify).is_none() {
                lacks(&format!("is verified by {verify}, which is no check"));
            }
        }
        if !is_automatic(cure) {
            return;
        }
        if cure.on.is_none() {
            lacks("has commands and no target");
        }
        if cure.verify.is_empty() {
            lacks("no check shows that it helped");
        }
        if cure.undo.is_empty() == cure.final_because.is_empty() {
            lacks("has either a way back, or a reason why there is none");
        }
        let shown = judged.evidence.iter().filter_map(|one| Some((one.about.clone(), one.attribute?)));
        let bases: Vec<_> = if cure.rests_on.is_empty() { shown.collect() } else { cure.rests_on.clone() };
        let is_known = |(id, attribute): &_| site.fabric().reading(id, *attribute).is_some();
        if !bases.iter().any(is_known) {
            lacks("rests on nothing that was read");
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    assert!(seen.len() > 100, "remedies of {} checks", seen.len());
}

#[test]
fn every_command_is_whole_quoted_and_as_risky_as_it_says() {
    let (mut wrong, mut commands) = (BTreeSet::new(), 0);
    each(|_, id, _, cure| {
        for (step, is_undo) in
            cure.steps.iter().map(|step| (step, false)).chain(cure.undo.iter().map(|one| (one, true)))
        {
            let mut lacks = |what: &str| {
                wrong.insert(format!("{id}: {}: {what}", step.shown()));
            };
            let words = match step {
                Step::Run(words) => words,
                Step::Configure(line) | Step::ByHand(line) => {
                    if line.trim().is_empty() || line.chars().any(char::is_control) {
                        lacks("is no line");
                    }
                    continue;
                }
            };
            commands += 1;
            if words.first().is_none_or(|program| program.is_empty() || program.contains(char::is_whitespace)) {
                lacks("has no program");
            }
            if words.iter().any(|word| word.chars().any(char::is_control)) {
                lacks("has a word that no terminal must see");
            }
            if shlex::split(&step.shown()).as_ref() != Some(words) {
                lacks("is another command once a shell took it apart");
            }
            let least = LEAST
                .iter()
                .filter(|(begin, _)| words.iter().zip(*begin).filter(|(a, b)| a == b).count() == begin.len());
            let least = least.map(|(_, risk)| *risk).max().unwrap_or(Risk::None);
            if !is_undo && !is_harmless(words) && cure.risk < least {
                lacks(&format!("risks more than \"{}\"", cure.risk.words()));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    assert!(commands > 100, "{commands} commands");
}
