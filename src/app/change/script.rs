//! A remedy as a file for a person: a script for `sh`, or the lines of a switch's configuration mode.

use super::Change;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::TargetId;
use crate::probe::dialect::posix::quote;

/// What a person does stops the script until it is done: what follows rests on it.
const BY_HAND: &str = "by_hand() {\n    printf 'by hand: %s\\n' \"$1\"\n    printf 'done? [y/N] '\n    answer=n\n    \
                       read -r answer || true\n    [ \"$answer\" = y ] || { echo 'stopped'; exit 1; }\n}";

impl Change {
    /// What the file's name ends in.
    pub fn ending(&self) -> &'static str {
        if is_configuration(self.steps()) { "cfg" } else { "sh" }
    }

    /// As a file for a person to run, or to type in, elsewhere.
    pub fn script(&self) -> Option<String> {
        Some(of(&self.matter, self.cure()?, self.undo))
    }
}

/// True for what is typed into a switch.
fn is_configuration(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Configure(_)))
}

/// The file for a remedy against a matter, or for its way back.
pub fn of(matter: &str, cure: &Cure, undo: bool) -> String {
    let (steps, way_back) = if undo { (&cure.undo, &cure.steps) } else { (&cure.steps, &cure.undo) };
    let is_configuration = is_configuration(steps);
    let sign = if is_configuration { '!' } else { '#' };
    let mut lines = Vec::new();
    if !is_configuration {
        lines.push("#!/bin/sh".to_owned());
    }
    // One line each, whatever stands in it.
    let mut say = |text: &str| {
        lines.push(format!("{sign} {}", text.replace(|c: char| c.is_control(), " ")));
    };
    say(matter);
    say(&cure.title);
    say(&format!("on: {}", cure.on.as_ref().map_or("no target", TargetId::as_str)));
    say(&format!("risk: {}", cure.risk.words()));
    if !cure.note.is_empty() {
        say(&cure.note);
    }
    for step in way_back {
        say(&format!("undo: {}", step.shown()));
    }
    if way_back.is_empty() {
        say(&format!("undo: none: {}", cure.no_undo()));
    }
    for check in &cure.verify {
        say(&format!("verify: check {check}"));
    }
    if is_configuration {
        lines.extend(steps.iter().map(|step| match step {
            Step::Configure(line) => line.clone(),
            Step::Run(_) | Step::ByHand(_) => format!("! {}", step.shown()),
        }));
    } else {
        lines.push("set -eu".to_owned());
        if steps.iter().any(|step| matches!(step, Step::ByHand(_))) {
            lines.push(BY_HAND.to_owned());
        }
        lines.extend(steps.iter().map(|step| match step {
            Step::ByHand(what) => format!("by_hand {}", quote(what)),
            Step::Run(_) | Step::Configure(_) => step.shown(),
        }));
    }
    lines.join("\n") + "\n"
}
