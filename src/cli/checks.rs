//! `checks`: the catalogue. What each check looks at, when it applies, when it warns and fails, the numbers that a site may
//! set, and what all that rests on.

use std::fmt::Write as _;

use serde::Serialize;

use super::args::{Format, Global};
use super::text::wrap;
use super::{Exit, Failure, Session, lab, output};
use crate::diagnose::check::{self, Check, Threshold, Thresholds};

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    checks: Vec<CheckDocument>,
}

#[derive(Debug, Serialize)]
struct CheckDocument {
    id: &'static str,
    layer: &'static str,
    title: &'static str,
    gate: &'static str,
    rule: &'static str,
    source: &'static str,
    /// False where no public document says so.
    source_is_public: bool,
    thresholds: Vec<ThresholdDocument>,
    explains: &'static [&'static str],
}

#[derive(Debug, Serialize)]
struct ThresholdDocument {
    key: &'static str,
    /// The number in force.
    value: f64,
    default: f64,
    unit: &'static str,
    meaning: &'static str,
    source: &'static str,
}

/// Prints the catalogue with the numbers in force.
pub fn run(global: &Global) -> Result<Exit, Failure> {
    let Session { thresholds, .. } = lab::session(global)?;
    let text = match global.format {
        Format::Json => output::json(&document(&thresholds))?,
        Format::Text | Format::Sarif | Format::Junit => check::all().map(|check| text(check, &thresholds)).collect(),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn document(thresholds: &Thresholds) -> Document {
    let threshold = |one: &Threshold| ThresholdDocument {
        key: one.key,
        value: thresholds.of(one),
        default: one.default,
        unit: one.unit,
        meaning: one.meaning,
        source: one.source,
    };
    let checks = check::all().map(|check| CheckDocument {
        id: check.id,
        layer: check.layer(),
        title: check.title,
        gate: check.gate,
        rule: check.rule,
        source: check.source.text,
        source_is_public: !check.source.weak,
        thresholds: check.thresholds.iter().map(threshold).collect(),
        explains: check.explains,
    });
    Document { schema: "rdmascope.checks/1", checks: checks.collect() }
}

fn text(check: &Check, thresholds: &Thresholds) -> String {
    let mut text = format!("{}\n", check.id);
    paragraph(&mut text, check.title);
    paragraph(&mut text, &format!("applies to: {}", check.gate));
    paragraph(&mut text, &format!("rule: {}", check.rule));
    for threshold in check.thresholds {
        let unit = if threshold.unit.is_empty() { String::new() } else { format!(" {}", threshold.unit) };
        let value = thresholds.of(threshold);
        let set = if (value - threshold.default).abs() > f64::EPSILON {
            format!("{value}{unit} (set; {} unless set)", threshold.default)
        } else {
            format!("{value}{unit}")
        };
        paragraph(&mut text, &format!("{} = {set}: {} ({})", threshold.key, threshold.meaning, threshold.source));
    }
    if !check.explains.is_empty() {
        paragraph(&mut text, &format!("explains: {}", check.explains.join(", ")));
    }
    let weak = if check.source.weak { " (no public document says so)" } else { "" };
    paragraph(&mut text, &format!("source: {}{weak}", check.source.text));
    text
}

fn paragraph(text: &mut String, what: &str) {
    for (number, piece) in wrap(what, 76).iter().enumerate() {
        let _ = writeln!(text, "{}{}", if number == 0 { "  " } else { "    " }, piece.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::document::tests::check as satisfies;

    #[test]
    fn every_check_is_told_with_its_rule_and_source() {
        for one in check::all() {
            let text = text(one, &Thresholds::default());
            assert!(text.starts_with(&format!("{}\n  ", one.id)) && text.contains("source: "), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn a_number_of_the_site_is_told_beside_the_usual_one() {
        let threshold =
            Threshold { key: "a.b.most", default: 2.0, unit: "a second", meaning: "errors", source: "field report" };
        let thresholds: &'static [Threshold] = Box::leak(Box::new([threshold]));
        let one = Check { thresholds, ..*check::all().next().expect("a check") };
        let mut site = Thresholds::default();
        assert!(text(&one, &site).contains("a.b.most = 2 a second: errors (field report)\n"));
        site.set("a.b.most", 0.5);
        assert!(text(&one, &site).contains("a.b.most = 0.5 a second (set; 2 unless set): errors"));
    }

    #[test]
    fn the_document_satisfies_its_schema() {
        let schema = serde_json::from_str(include_str!("../../schema/checks-1.json")).expect("the schema is JSON");
        let mut document = serde_json::to_value(document(&Thresholds::default())).expect("a document");
        let mut wrong = Vec::new();
        satisfies(&schema, &schema, &document, "", &mut wrong);
        assert_eq!(wrong, Vec::<String>::new());
        document["checks"][0]["layer"] = "moon".into();
        satisfies(&schema, &schema, &document, "", &mut wrong);
        assert_eq!(wrong.len(), 1, "the check does find faults: {wrong:?}");
    }
}
