//! How a comparison is printed: the JSON document of `schema/comparison-1.json`, and text at 80 columns.

use std::fmt::Write as _;

use serde::Serialize;

use super::super::text::{Row, rows, wrap};
use crate::fabric::text::clean_line;
use crate::fabric::{Text, Timestamp};
use crate::tune::baseline::{Baseline, Comparison, MetricComparison, ParameterDifference};
use crate::tune::compare::summary::PERCENTILES;
use crate::tune::compare::words::{direction, sentence};
use crate::tune::compare::{Better, NotComparable, Summary, several};
use crate::tune::fingerprint::{Changed, Changes, Unread};
use crate::tune::settings::LAYERS;

/// So many marks that were not read are named in the text.
const MOST_UNREAD: usize = 5;

/// Two measurements under the names they were given by, and what came of them.
pub(super) struct Compared<'a> {
    pub before: (&'a str, &'a Baseline),
    pub after: (&'a str, &'a Baseline),
    pub found: &'a Comparison,
}

#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    rdmascope: &'static str,
    before: Side<'a>,
    after: Side<'a>,
    regression: bool,
    complete: bool,
    level: f64,
    level_method: &'static str,
    percentiles: &'static str,
    parameters: &'a [ParameterDifference],
    metrics: Vec<MetricDocument<'a>>,
    changed: &'a [Changed],
    not_read: &'a [Unread],
    same: usize,
}

#[derive(Debug, Serialize)]
struct Side<'a> {
    name: &'a str,
    at: Option<Timestamp>,
    pair: &'a [Text],
    rdmascope: Option<&'a Text>,
}

#[derive(Debug, Serialize)]
struct MetricDocument<'a> {
    name: &'a Text,
    unit: &'a Text,
    better: Option<Better>,
    verdict: &'static str,
    says: String,
    before: Option<Summary>,
    after: Option<Summary>,
    difference: Option<DifferenceDocument>,
    smallest_called: Option<f64>,
    detectable: Option<f64>,
    test: Option<&'static str>,
    notes: &'a [String],
    not_comparable: Option<&'a NotComparable>,
}

#[derive(Debug, Serialize)]
struct DifferenceDocument {
    shift: f64,
    low: f64,
    high: f64,
    part: Option<f64>,
    part_low: Option<f64>,
    part_high: Option<f64>,
    chance: f64,
}

/// When and between whom something was measured.
pub(super) fn origin(baseline: &Baseline) -> String {
    let at = baseline.at.map(|at| format!("measured {}", at.strftime("%Y-%m-%d %H:%M:%SZ")));
    let pair: Vec<&str> = baseline.pair.iter().map(Text::as_str).collect();
    let pair = (!pair.is_empty()).then(|| pair.join(" -> "));
    at.into_iter().chain(pair).collect::<Vec<_>>().join(", ")
}

impl<'a> Compared<'a> {
    pub fn document(&self) -> Document<'_> {
        let side = |(name, baseline): (&'a str, &'a Baseline)| Side {
            name,
            at: baseline.at,
            pair: &baseline.pair,
            rdmascope: baseline.rdmascope.as_ref(),
        };
        let Changes { changed, unread, same } = &self.found.changes;
        Document {
            schema: "rdmascope.comparison/1",
            rdmascope: env!("CARGO_PKG_VERSION"),
            before: side(self.before),
            after: side(self.after),
            regression: self.found.has_regression(),
            complete: !self.found.is_incomplete(),
            level: self.found.level,
            level_method: several::METHOD,
            percentiles: PERCENTILES,
            parameters: &self.found.parameters,
            metrics: self.found.metrics.iter().map(metric).collect(),
            changed,
            not_read: unread,
            same: *same,
        }
    }

    pub fn text(&self) -> String {
        let end = |(name, baseline): (&str, &Baseline)| format!("{name}, {}", origin(baseline));
        let mut text =
            rows(&[Row::new("before", &clean(&end(self.before))), Row::new("after", &clean(&end(self.after)))], 0);
        text.push('\n');
        let metrics = self.found.metrics.iter();
        let lines: Vec<Row> = metrics.clone().map(|one| Row::new(&one.name, &clean(&one.sentence()))).collect();
        text.push_str(&rows(&lines, 0));
        // Each test and each note once: mostly all metrics share them.
        let mut notes: Vec<String> = Vec::new();
        let compared = metrics.filter_map(|one| one.result.as_ref().ok());
        let mut count = 0;
        for one in compared {
            count += 1;
            for note in
                std::iter::once(format!("By the {}.", one.test)).chain(one.notes.iter().map(|note| capital(note)))
            {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        if count > 1 {
            notes.push(format!(
                "{count} metrics at once: each is judged at {:.4} ({}), so that what did not change is called in 5 % of \
                 comparisons.",
                self.found.level,
                several::METHOD
            ));
        }
        if !notes.is_empty() {
            text.push('\n');
        }
        for note in notes {
            paragraph(&mut text, 0, &note);
        }
        text.push('\n');
        self.changes(&mut text);
        text
    }

    fn changes(&self, text: &mut String) {
        let Changes { changed, unread, same } = &self.found.changes;
        for one in &self.found.parameters {
            paragraph(text, 0, &format!("parameter {}: {} -> {}", one.name, one.before, one.after));
        }
        let known = if *same == 1 { "1 mark is".to_owned() } else { format!("{same} marks are") };
        if changed.is_empty() {
            paragraph(text, 0, &format!("Nothing that was read on both sides changed ({known} the same)."));
        } else {
            paragraph(text, 0, &format!("Changed since ({known} the same):"));
            let others = changed.iter().map(|one| one.layer.as_str()).filter(|layer| !LAYERS.contains(layer));
            let mut layers: Vec<&str> = LAYERS.into_iter().chain(others).collect();
            layers.dedup();
            for layer in layers {
                let mut of = changed.iter().filter(|one| one.layer.as_str() == layer).peekable();
                if of.peek().is_some() {
                    let _ = writeln!(text, "  {layer}");
                }
                for one in of {
                    paragraph(text, 4, &format!("{}: {} -> {}", one.key, shown(&one.before), shown(&one.after)));
                }
            }
        }
        if !unread.is_empty() {
            let named = unread
                .iter()
                .take(MOST_UNREAD)
                .map(|one| format!("{} {} ({}: {})", one.layer, one.key, one.side, one.why));
            let named = named.collect::<Vec<_>>().join("; ");
            let more = if unread.len() > MOST_UNREAD {
                format!("; and {} more", unread.len() - MOST_UNREAD)
            } else {
                String::new()
            };
            paragraph(text, 0, &format!("Not read on both sides, so nothing is known of: {named}{more}"));
        }
    }
}

fn metric(one: &MetricComparison) -> MetricDocument<'_> {
    let compared = one.result.as_ref().ok();
    let difference = compared.map(|compared| {
        let found = &compared.difference;
        DifferenceDocument {
            shift: found.shift,
            low: found.low,
            high: found.high,
            part: compared.part(found.shift),
            part_low: compared.part(found.low),
            part_high: compared.part(found.high),
            chance: found.chance,
        }
    });
    MetricDocument {
        name: &one.name,
        unit: &one.unit,
        better: one.better,
        verdict: one.verdict.name(),
        says: compared.map_or_else(
            || one.sentence(),
            |compared| format!("{} ({})", sentence(compared, one.verdict, &one.unit), direction(one.better)),
        ),
        before: compared.map(|compared| compared.before),
        after: compared.map(|compared| compared.after),
        difference,
        smallest_called: compared.map(|compared| compared.least),
        detectable: compared.map(crate::tune::compare::Compared::detectable),
        test: compared.map(|compared| compared.test),
        notes: compared.map_or(&[], |compared| &compared.notes),
        not_comparable: one.result.as_ref().err(),
    }
}

fn shown(text: &Text) -> &str {
    if text.is_empty() { "nothing" } else { text.as_str() }
}

fn clean(text: &str) -> String {
    clean_line(text)
}

fn capital(note: &str) -> String {
    let mut letters = note.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

fn paragraph(text: &mut String, indent: usize, what: &str) {
    for (number, piece) in wrap(&clean_line(what), 78 - indent).iter().enumerate() {
        let _ = writeln!(text, "{}{}", " ".repeat(indent + if number > 0 { 2 } else { 0 }), piece.trim_end());
    }
}
