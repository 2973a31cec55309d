//! What the configuration says about the checks, held against the catalogue: a key or an id that no check has is a defect
//! with its place.

use crate::config::error::suggestion;
use crate::config::{Defect, Rules, SiteThreshold};
use crate::diagnose::check::{self, Threshold, Thresholds};

/// The numbers in force, or all that is wrong with what was said.
pub fn thresholds(rules: &Rules) -> Result<Thresholds, Vec<Defect>> {
    let ids: Vec<&str> = check::all().map(|check| check.id).collect();
    let known: Vec<Threshold> = check::all().flat_map(|check| check.thresholds.iter().copied()).collect();
    in_force(rules, &ids, &known)
}

fn in_force(rules: &Rules, ids: &[&str], known: &[Threshold]) -> Result<Thresholds, Vec<Defect>> {
    let mut thresholds = Thresholds::default();
    let mut defects = Vec::new();
    for given in &rules.thresholds {
        match accepted(given, known) {
            Ok(()) => thresholds.set(&given.key, given.value),
            Err(what) => defects.push(Defect { place: given.place.clone(), line: given.line, what }),
        }
    }
    for suppression in &rules.suppressions {
        if !ids.contains(&suppression.check.as_str()) {
            let what = unknown("check", &suppression.check, ids);
            defects.push(Defect { place: suppression.place.clone(), line: suppression.line, what });
        }
    }
    if defects.is_empty() { Ok(thresholds) } else { Err(defects) }
}

fn accepted(given: &SiteThreshold, known: &[Threshold]) -> Result<(), String> {
    let Some(threshold) = known.iter().find(|threshold| threshold.key == given.key) else {
        let keys: Vec<&str> = known.iter().map(|threshold| threshold.key).collect();
        return Err(unknown("threshold", &given.key, &keys));
    };
    match &given.unit {
        Some(unit) if unit != threshold.unit => {
            let unit = crate::fabric::Text::new(unit);
            let meant = if threshold.unit.is_empty() { "a plain number" } else { threshold.unit };
            Err(format!("{} is in {meant}, not in \"{unit}\"", given.key))
        }
        _ => Ok(()),
    }
}

/// There are too many to list them all: only a near one is told, and where the list is.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = match suggestion(name, known.iter().copied()) {
        hint if hint.contains("did you mean") => hint,
        _ => "; `rdmascope checks` lists them".to_owned(),
    };
    format!("unknown {what} \"{}\"{hint}", crate::fabric::Text::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Configuration;

    const ERRORS: Threshold = Threshold {
        key: "host.uplink-errors.per-second",
        default: 1.0,
        unit: "a second",
        meaning: "errors",
        source: "field report",
    };

    fn told(text: &str) -> Result<f64, Vec<String>> {
        let rules = Configuration::parse("c.toml", text).expect(text).rules;
        in_force(&rules, &["host.uplink-errors", "host.lag"], &[ERRORS])
            .map(|thresholds| thresholds.of(&ERRORS))
            .map_err(|defects| defects.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn numbers_come_into_force() {
        assert_eq!(told(""), Ok(1.0));
        assert_eq!(told("[thresholds]\n\"host.uplink-errors.per-second\" = 5\n"), Ok(5.0));
        assert_eq!(told("[thresholds]\n\"host.uplink-errors.per-second\" = \"2.5 a second\"\n"), Ok(2.5));
    }

    #[test]
    fn what_no_check_has_is_told_with_its_place_and_what_was_meant() {
        let text = "[thresholds]\nhost.uplink-errors.per-secnd = 5\n\"x.y\" = 1\n\"host.uplink-errors.per-second\" = \"5 %\"\n\
                    [[suppress]]\ncheck = \"host.lga\"\nreason = \"r\"\n";
        let mut wrong = told(text).expect_err("all of it is wrong");
        wrong.sort();
        assert_eq!(
            wrong,
            [
                "c.toml:2: unknown threshold \"host.uplink-errors.per-secnd\"; did you mean \"host.uplink-errors.per-second\"?",
                "c.toml:3: unknown threshold \"x.y\"; `rdmascope checks` lists them",
                "c.toml:4: host.uplink-errors.per-second is in a second, not in \"%\"",
                "c.toml:5: unknown check \"host.lga\"; did you mean \"host.lag\"?",
            ]
        );
    }

    #[test]
    fn the_catalogue_is_asked() {
        let rules = |text: &str| Configuration::parse("c.toml", text).expect(text).rules;
        let accepted = "[[suppress]]\ncheck = \"host.pvrdma-ruleset\"\nreason = \"r\"\n";
        assert!(thresholds(&rules(accepted)).is_ok());
        assert!(thresholds(&rules(&accepted.replace("ruleset", "rulset"))).is_err());
    }
}
