//! Rows of the streams beside the ticks (GPUs, `esxtop`): their numbers become series, their states facts.

use super::model::Model;
use super::update::streamed;
use crate::fabric::Measured;

/// Takes in one row. Rows without states leave those of the stream as they are.
pub(super) fn take_in(model: &mut Model, row: &Measured) {
    model.now = model.now.max(row.at);
    if !model.targets.contains_key(&row.target) {
        return; // it was closed while this was on its way
    }
    model.series.measured(row);
    model.limits.take(row);
    if row.facts.is_empty() {
        return;
    }
    if let Some(observation) = &row.observation {
        model.raw.keep(observation);
    }
    streamed(model, row.at, &row.target, row.stream.as_str(), &row.facts);
}
