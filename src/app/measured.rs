//! Rows of the streams beside the ticks (GPUs, `esxtop`): their numbers become series, their states facts.

use super::diagnosis;
use super::model::Model;
use super::update::tell_changes;
use crate::fabric::{Measured, SourceId};

/// Takes in one row. Rows without states leave those of the stream as they are.
pub(super) fn take_in(model: &mut Model, row: &Measured) {
    model.now = model.now.max(row.at);
    if !model.targets.contains_key(&row.target) {
        return; // it was closed while this was on its way
    }
    model.series.measured(row);
    if row.facts.is_empty() {
        return;
    }
    if let Some(observation) = &row.observation {
        model.raw.keep(observation);
    }
    let source = SourceId::new(row.stream.as_str());
    let is_first = !model.fabric.has_reported(&row.target, &source);
    let changes = model.fabric.apply_facts(&row.target, &source, &row.facts);
    if is_first || diagnosis::is_news(&changes) {
        model.fabric_changed();
        model.unjudged = true;
    }
    tell_changes(model, row.at, &changes);
}
